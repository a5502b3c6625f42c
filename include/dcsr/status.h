/* status.h: what a call returns.
 *
 * Every function of the library that can fail returns a dcsr_status: DCSR_OK (zero) or one of the negative
 * numbers below. The library never prints and never exits; dcsr_thread_error() keeps one sentence that says
 * what failed, where, and what to do about it. (OpenMP's runtime, which it uses, does both where the system refuses it
 * a thread.) Threads that call it need 256 KiB of stack. After a fork() the child should not go on with it, but execute
 * another program: OpenMP's threads, and CUDA, are the parent's. */
#ifndef DCSR_STATUS_H
#define DCSR_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports; everything else stays inside it. */
#define DCSR_API __attribute__((visibility("default")))

typedef enum dcsr_status {
    DCSR_OK = 0,
    DCSR_ERROR_INVALID_ARGUMENT = -1,   /* a null pointer, an unknown constant: the message names it */
    DCSR_ERROR_OUT_OF_MEMORY = -2,      /* of the system, or the context's limit; the object is unchanged */
    DCSR_ERROR_INDEX_OUT_OF_RANGE = -3, /* a row or column outside the matrix: nothing was applied */
    DCSR_ERROR_DIMENSION_MISMATCH = -4, /* operands whose shapes do not fit together */
    DCSR_ERROR_TYPE_MISMATCH = -5,      /* values given to a pattern-only matrix, or the other way round */
    DCSR_ERROR_TOO_LARGE = -6,          /* a size that overflows or is beyond what the format can address */
    DCSR_ERROR_IO = -7,                 /* the operating system refused to open, read or write a file */
    DCSR_ERROR_FORMAT = -8,             /* a malformed input file: the message gives file, line, reason */
    DCSR_ERROR_NOT_BUILT = -9,          /* the feature was left out when the library was built */
    DCSR_ERROR_NO_DEVICE = -10,         /* the requested device is missing or unusable */
    DCSR_ERROR_CONTEXT_DESTROYED = -11, /* the object outlived its context; it can only be destroyed */
    DCSR_ERROR_BUSY = -12,              /* a full queue, a locked store; the caller asked not to wait */
    DCSR_ERROR_CANCELLED = -13,         /* the queued change was dropped because its matrix was destroyed */
    DCSR_ERROR_NOT_FOUND = -14,         /* there is nothing of that name or version */
    DCSR_ERROR_DEVICE = -15,            /* the device has failed: its context can only be destroyed */
    DCSR_ERROR_CALLBACK = -16,          /* a function that the caller gave to an operation returned false */
    DCSR_ERROR_CORRUPT = -17,           /* what is stored is not what was written: the message says where */
    DCSR_ERROR_NOT_DURABLE = -18, /* applied in memory, but not safe on the disk: the message says why */
    DCSR_ERROR_DEADLOCK = -19     /* a user's operator made a call that would wait for the operation
                                     itself: dcsr/operators.h says which calls it may make */
} dcsr_status;

/* A short name of the status in words ("out of memory"); never NULL, even for a number that is not a status.
 * The text is constant. Any thread may call it. */
DCSR_API const char *dcsr_status_name(dcsr_status status);

/* One sentence about the last call of this thread that failed, on any object: what failed, where, what to do.
 * Never NULL; empty if nothing has failed yet. The text belongs to the library and lasts until the thread's
 * next failing call; calls that destroy something leave it, unless they refuse. */
DCSR_API const char *dcsr_thread_error(void);
/* The status that the same call returned; DCSR_OK if nothing has failed yet. */
DCSR_API dcsr_status dcsr_thread_status(void);

#ifdef __cplusplus
}
#endif
#endif
