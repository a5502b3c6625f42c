/* count.c: how many entries some rows have. */
#include <dcsr/reduce.h>
#include "dcsr/vector/vector_data.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_reader.h"
#include "ops/matrix/reduce_cuda.h"

static const char call[] = "view_count";

static const dcsr_i_matrix_sums *const device_sums = DCSR_I_IN_CUDA(dcsr_i_cuda_matrix_sums);

static uint64_t count_listed(const dcsr_i_rows *rows, const dcsr_i_body *body, int threads)
{
    uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) if (threads > 1)
    for (uint64_t k = 0; k < body->nvals; k++) sum += dcsr_i_rows_length(rows, body->indices[k]);
    return sum;
}

/* The vector lacks some element, so it has bits. */
static uint64_t count_marked(const dcsr_i_rows *rows, const dcsr_i_body *body, int threads)
{
    uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) if (threads > 1)
    for (uint64_t w = 0; w < body->words; w++)
        for (uint64_t bits = body->present[w]; bits; bits &= bits - 1)
            sum += dcsr_i_rows_length(rows, w << 6 | (uint64_t)__builtin_ctzll(bits));
    return sum;
}

static dcsr_status count(uint64_t *entries, dcsr_view *A, const dcsr_vector *rows)
{
    const dcsr_i_rows *of = dcsr_i_view_rows(A);
    if (rows->body.nvals == of->rows) {
        *entries = dcsr_i_rows_stored(of);
        return DCSR_OK;
    }
    if (of->on_device) return device_sums->count(entries, A, rows);
    DCSR_TRY(dcsr_i_vector_check(rows, call));
    const dcsr_i_body *body = &rows->body;
    int threads = dcsr_i_threads(rows->context, body->nvals);
    *entries = body->dense ? count_marked(of, body, threads) : count_listed(of, body, threads);
    return DCSR_OK;
}

dcsr_status dcsr_view_count(dcsr_view *A, const dcsr_vector *rows, uint64_t *entries)
{
    if (!entries) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: entries is NULL", call);
    DCSR_TRY(dcsr_i_vector_admit(rows, "view_count: rows"));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, rows->context));
    uint64_t size = dcsr_i_view_rows(A)->rows;
    if (rows->size != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: rows has %llu elements, but A has %llu rows",
                           call, (unsigned long long)rows->size, (unsigned long long)size);
    return count(entries, A, rows);
}
