/* spmv.c: sparse matrix times dense vector.
 *
 * The unit of work is a block of 64 rows: one page of the row table, or 64 offsets of a CSR view. Threads
 * take chunks of blocks as they become free, so rows of very different length even out; a single row is never
 * shared.
 *
 * There is one kernel per type. The portable one (spmv.inc) serves every type; where the compiler may use
 * AVX-512, fp64, fp32 and pattern have one with 8 lanes (spmv_avx512.h). Both sum a row by the position of
 * its entries in the row, wherever the pieces of the row lie, so that y does not change when a matrix is
 * fragmented, defragmented or shown as CSR. */
#include <dcsr/spmv.h>
#include "dcsr/base/error.h"
#include "dcsr/store/rowtable.h"
#include "ops/algebra/avx512.h"
#include "ops/spmv/spmv_internal.h"
#include "ops/spmv/spmv_cuda.h"
#include <string.h>

/* NULL in builds without CUDA. */
static const dcsr_i_spmv_ops *const device_ops = DCSR_I_IN_CUDA(dcsr_i_cuda_spmv_ops);

/* Computes the rows of blocks first .. last-1. */
typedef void spmv_kernel(void *y, const dcsr_i_rows *rows, const void *x, uint64_t first, uint64_t last);

/* How many entries ahead of the current one columns and values are asked for: 2 KiB of fp64. The processor's
 * own prefetchers restart at each 4 KiB page and know nothing of the next piece. */
enum { SPMV_AHEAD = 256 };

/* Functions that only prefetch are inlined by force: gcc takes a call of one for a call without effect. */
#define SPMV_PREFETCH static inline __attribute__((always_inline)) void

/* Asks for the cache line at p, which need not be mapped. */
SPMV_PREFETCH prefetch(uintptr_t p)
{
    __builtin_prefetch((const void *)p, 0, 3);
}

/* Asks for the table entries of a page that is about to be walked. */
SPMV_PREFETCH prefetch_page(const dcsr_i_table *table, uint64_t p)
{
    const dcsr_i_row_page *page = p < dcsr_i_page_count(table) ? dcsr_i_page(table, p) : NULL;
    if (!page) return;
    for (size_t at = 0; at < sizeof page->length; at += 64) prefetch((uintptr_t)page->length + at);
    int segments = page->fragmented ? table->segments_per_row : 1;
    for (int k = 0; k < segments && page->segment[k]; k++)
        for (size_t at = 0; at < sizeof *page->segment[k]; at += 64)
            prefetch((uintptr_t)page->segment[k] + at);
}

#ifdef DCSR_I_AVX512
#include "ops/spmv/spmv_avx512.h"
#else
#define SPMV_PORTABLE_FLOATS 1
#endif

/* Integers wrap around, so their sums are unsigned. A sum of bools counts the true products, of which a row
 * has fewer than 2^32, so it is zero exactly when all are false. */
#define SPMV_THIS(part) spmv_bool##part
#define SPMV_TYPE       bool
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_int8##part
#define SPMV_TYPE       int8_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_int16##part
#define SPMV_TYPE       int16_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_int32##part
#define SPMV_TYPE       int32_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_int64##part
#define SPMV_TYPE       int64_t
#define SPMV_SUM        uint64_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_uint8##part
#define SPMV_TYPE       uint8_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_uint16##part
#define SPMV_TYPE       uint16_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_uint32##part
#define SPMV_TYPE       uint32_t
#define SPMV_SUM        uint32_t
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_uint64##part
#define SPMV_TYPE       uint64_t
#define SPMV_SUM        uint64_t
#include "ops/spmv/spmv.inc"
#ifdef SPMV_PORTABLE_FLOATS
#define SPMV_THIS(part) spmv_fp32##part
#define SPMV_TYPE       float
#define SPMV_SUM        float
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_fp64##part
#define SPMV_TYPE       double
#define SPMV_SUM        double
#include "ops/spmv/spmv.inc"
#define SPMV_THIS(part) spmv_pattern##part
#define SPMV_TYPE       double
#define SPMV_SUM        double
#define SPMV_PATTERN    1
#include "ops/spmv/spmv.inc"
#endif

static spmv_kernel *const kernels[DCSR_TYPE_COUNT] = {
    [DCSR_PATTERN] = spmv_pattern,
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = spmv_##name,
#include <dcsr/types.def>
#undef DCSR_X
};

uint64_t dcsr_i_rows_in_use(const dcsr_i_rows *rows, uint64_t block)
{
    uint64_t row = block << DCSR_I_PAGE_SHIFT, word = 0;
    unsigned n = (unsigned)(rows->rows - row < DCSR_I_PAGE_ROWS ? rows->rows - row : DCSR_I_PAGE_ROWS);
    const uint64_t *offset = rows->offsets ? rows->offsets + row : NULL;
    const dcsr_i_row_page *page = offset ? NULL : dcsr_i_page(rows->table, block);
#ifdef DCSR_I_AVX512
    if (n == DCSR_I_PAGE_ROWS && offset) {
        for (unsigned r = 0; r < n; r += 8) {
            __m512i begin = _mm512_loadu_si512(offset + r), end = _mm512_loadu_si512(offset + r + 1);
            word |= (uint64_t)_mm512_cmpneq_epu64_mask(begin, end) << r;
        }
        return word;
    }
    for (unsigned r = 0; page && n == DCSR_I_PAGE_ROWS && r < n; r += 16) {
        __m512i length = _mm512_loadu_si512(page->length + r);
        word |= (uint64_t)_mm512_test_epi32_mask(length, length) << r;
    }
    if (n == DCSR_I_PAGE_ROWS) return word;
#endif
    for (unsigned r = 0; offset && r < n; r++) word |= (uint64_t)(offset[r] != offset[r + 1]) << r;
    for (unsigned r = 0; page && r < n; r++) word |= (uint64_t)(page->length[r] != 0) << r;
    return word;
}

/* Blocks first .. last-1, and their words of `present` while the lengths of rows are in cache. */
static uint64_t spmv_blocks(void *y, uint64_t *present, const dcsr_i_rows *rows, const void *x,
                            uint64_t first, uint64_t last)
{
    uint64_t count = 0;
    kernels[rows->type](y, rows, x, first, last);
    for (uint64_t block = first; present && block < last; block++) {
        present[block] = dcsr_i_rows_in_use(rows, block);
        count += (uint64_t)__builtin_popcountll(present[block]);
    }
    return count;
}

uint64_t dcsr_i_spmv_rows(void *y, uint64_t *present, const dcsr_i_rows *rows, const void *x, int threads)
{
    uint64_t blocks = (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT, count = 0;
    if (threads <= 1 && !present) return spmv_blocks(y, NULL, rows, x, 0, blocks);
    /* Chunks small enough to even out long rows, large enough that the prefetches across blocks pay. */
    uint64_t chunk = blocks / ((uint64_t)threads * 32);
    chunk = chunk < 1 ? 1 : chunk > 64 ? 64 : chunk;
    uint64_t chunks = (blocks + chunk - 1) / chunk;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : count) if (threads > 1)
    for (uint64_t c = 0; c < chunks; c++) {
        uint64_t last = (c + 1) * chunk;
        count += spmv_blocks(y, present, rows, x, c * chunk, last < blocks ? last : blocks);
    }
    return count;
}

static dcsr_status check(const char *call, const void *y, const dcsr_view *A, const void *x)
{
    DCSR_TRY(dcsr_i_view_check(A));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    if (!y && rows->rows)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: y is NULL; give it rows elements", call);
    if (!x && rows->cols)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: x is NULL; give it cols elements", call);
    return DCSR_OK;
}

dcsr_status dcsr_spmv(void *y, dcsr_view *A, const void *x)
{
    DCSR_TRY(check("spmv", y, A, x));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    if (rows->on_device) {
        DCSR_TRY(device_ops->anywhere(y, A, x));
    } else {
        uint64_t stored = rows->offsets ? rows->offsets[rows->rows] : rows->table->stored;
        int threads = dcsr_i_threads(dcsr_i_view_context(A), stored + rows->rows);
        dcsr_i_spmv_rows(y, NULL, rows, x, threads);
    }
    dcsr_i_view_was_read(A);
    return DCSR_OK;
}

dcsr_status dcsr_spmv_on_stream(void *y, dcsr_view *A, const void *x, void *stream)
{
    DCSR_TRY(check("spmv_on_stream", y, A, x));
    if (!device_ops)
        return dcsr_i_fail(DCSR_ERROR_NOT_BUILT,
                           "spmv_on_stream: this library was not built with CUDA; use dcsr_spmv()");
    if (!dcsr_i_view_rows(A)->on_device)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "spmv_on_stream: the view is of a cpu context, which has no streams; use dcsr_spmv()");
    DCSR_TRY(device_ops->on_stream(y, A, x, stream));
    dcsr_i_view_was_read(A);
    return DCSR_OK;
}
