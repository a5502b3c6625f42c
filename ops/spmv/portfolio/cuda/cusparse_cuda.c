/* cusparse_cuda.c: finding cuSPARSE. */
#include "ops/spmv/portfolio/cuda/cusparse_cuda.h"
#include "dcsr/base/late_library.h"
#include <pthread.h>

static struct {
    pthread_once_t once;
    bool there;
    dcsr_i_cusparse functions;
    const dcsr_i_cusparse *stand_in;
} found = {.once = PTHREAD_ONCE_INIT};

/* Where each function goes; the last may be missing. */
static const dcsr_i_late_function functions[] = {
    {"cusparseCreate", offsetof(dcsr_i_cusparse, create)},
    {"cusparseDestroy", offsetof(dcsr_i_cusparse, destroy)},
    {"cusparseSetStream", offsetof(dcsr_i_cusparse, set_stream)},
    {"cusparseGetErrorString", offsetof(dcsr_i_cusparse, error_text)},
    {"cusparseCreateCsr", offsetof(dcsr_i_cusparse, create_csr)},
    {"cusparseCreateCoo", offsetof(dcsr_i_cusparse, create_coo)},
    {"cusparseDestroySpMat", offsetof(dcsr_i_cusparse, destroy_matrix)},
    {"cusparseCreateDnVec", offsetof(dcsr_i_cusparse, create_vector)},
    {"cusparseDestroyDnVec", offsetof(dcsr_i_cusparse, destroy_vector)},
    {"cusparseDnVecSetValues", offsetof(dcsr_i_cusparse, set_values)},
    {"cusparseSpMV_bufferSize", offsetof(dcsr_i_cusparse, buffer_size)},
    {"cusparseSpMV", offsetof(dcsr_i_cusparse, multiply)},
    {"cusparseSpMV_preprocess", offsetof(dcsr_i_cusparse, preprocess)},
};

static void look(void)
{
#ifdef DCSR_SIMT
    return; /* it knows nothing of the emulator's memory */
#endif
    static const char *const names[] = {"libcusparse.so.13", "libcusparse.so.12", "libcusparse.so.11",
                                        "libcusparse.so", NULL};
    found.there = dcsr_i_late_library(&found.functions, functions, sizeof functions / sizeof *functions, 1,
                                      "DCSR_CUSPARSE", names);
}

const dcsr_i_cusparse *dcsr_i_cusparse_find(void)
{
    if (found.stand_in) return found.stand_in;
    pthread_once(&found.once, look);
    return found.there ? &found.functions : NULL;
}

void dcsr_i_cusparse_stand_in(const dcsr_i_cusparse *library)
{
    found.stand_in = library;
}
