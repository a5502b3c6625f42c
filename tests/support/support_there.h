/* support_there.h: what suites for all devices ask of one below the library's interface. */
#ifndef DCSR_TESTS_SUPPORT_THERE_H
#define DCSR_TESTS_SUPPORT_THERE_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable.h"
#include "tests/support/support.h"

typedef struct test_device {
    void (*fill)(dcsr_context *context, char *place, int byte, size_t bytes);
    void (*read)(dcsr_context *context, void *to, const char *from, size_t bytes);
    /* As test_pieces(). */
    int (*pieces)(dcsr_view *view, uint64_t row, const uint32_t **first);
    /* The rows of the transpose that operations on the device walk; whether they are there already. */
    dcsr_status (*transposed)(dcsr_i_rows *rows, dcsr_view *view);
    bool (*transpose_is_ready)(const dcsr_view *view);
} test_device;

/* support_cuda.c; NULL in builds without CUDA. */
extern const test_device test_cuda_device;
static const test_device *const test_there = DCSR_I_IN_CUDA(test_cuda_device);

#endif
