/* status.c: statuses in words. */
#include <dcsr/status.h>

const char *dcsr_status_name(dcsr_status status)
{
    switch (status) {
    case DCSR_OK:
        return "no error";
    case DCSR_ERROR_INVALID_ARGUMENT:
        return "invalid argument";
    case DCSR_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case DCSR_ERROR_INDEX_OUT_OF_RANGE:
        return "index out of range";
    case DCSR_ERROR_DIMENSION_MISMATCH:
        return "dimension mismatch";
    case DCSR_ERROR_TYPE_MISMATCH:
        return "type mismatch";
    case DCSR_ERROR_TOO_LARGE:
        return "too large";
    case DCSR_ERROR_IO:
        return "input or output failed";
    case DCSR_ERROR_FORMAT:
        return "malformed input";
    case DCSR_ERROR_NOT_BUILT:
        return "not built into this library";
    case DCSR_ERROR_NO_DEVICE:
        return "no such device";
    case DCSR_ERROR_CONTEXT_DESTROYED:
        return "context destroyed";
    case DCSR_ERROR_BUSY:
        return "busy";
    case DCSR_ERROR_CANCELLED:
        return "cancelled";
    case DCSR_ERROR_NOT_FOUND:
        return "not found";
    case DCSR_ERROR_DEVICE:
        return "device failed";
    case DCSR_ERROR_CALLBACK:
        return "callback failed";
    case DCSR_ERROR_CORRUPT:
        return "stored data is damaged";
    case DCSR_ERROR_NOT_DURABLE:
        return "not durable";
    case DCSR_ERROR_DEADLOCK:
        return "would wait for itself";
    }
    return "unknown status";
}
