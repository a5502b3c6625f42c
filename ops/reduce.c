/* reduce.c: all entries of a matrix added up to one value.
 *
 * Each thread adds up the pages of a stretch of its own, and the threads' sums are added in their order. */
#include "ops/reduce.h"
#include "ops/reduce_block.h"
#include <omp.h>

static const char call[] = "matrix_reduce";

/* Adds the entries of one page. */
static bool add_page(dcsr_i_sum *sum, const dcsr_monoid *monoid, const dcsr_i_rows *rows, uint64_t p)
{
    _Alignas(64) char cast[DCSR_I_LANES * sizeof(dcsr_i_scalar)];
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
    dcsr_type type = dcsr_i_monoid_type(monoid);
    size_t size = dcsr_type_size(rows->type);
    const dcsr_i_sum_loops *loops = dcsr_i_sum_loops_of(monoid);
    dcsr_i_row_block b;
    dcsr_i_row_block_of(&b, rows, first, left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS,
                        lengths);
    for (unsigned s = 0; s < b.stretches; s++) {
        const char *values = (const char *)rows->values + b.stretch[s].begin * size;
        if (loops && rows->type == type) {
            loops->row(cast, values, b.stretch[s].length);
            if (!dcsr_i_sum_add(sum, monoid, cast, 1)) return false;
            continue;
        }
        for (uint64_t done = 0, n; done < b.stretch[s].length; done += n) {
            n = b.stretch[s].length - done < DCSR_I_LANES ? b.stretch[s].length - done : DCSR_I_LANES;
            if (rows->type != type) dcsr_i_cast(type, cast, rows->type, values, n);
            if (!dcsr_i_sum_add(sum, monoid, rows->type != type ? cast : values, n)) return false;
            values += n * size;
        }
    }
    return true;
}

/* A thread's sum; *any says whether there was anything to add. */
static bool add_pages(const dcsr_monoid *monoid, const dcsr_i_rows *rows, uint64_t first, uint64_t end,
                      dcsr_i_scalar *total, bool *any)
{
    dcsr_i_sum sum;
    sum.used = 0;
    for (uint64_t p = first; p < end; p++)
        if (!add_page(&sum, monoid, rows, p)) return false;
    *any = sum.used != 0;
    return !*any || dcsr_i_sum_total(&sum, monoid, total);
}

/* *any says whether there are entries. */
static bool add_all(const dcsr_monoid *monoid, const dcsr_i_rows *rows, int threads, dcsr_i_scalar *total,
                    bool *any)
{
    dcsr_i_scalar part[DCSR_I_MAX_BATCH_THREADS];
    bool some[DCSR_I_MAX_BATCH_THREADS] = {false};
    uint64_t pages = (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    int failed = 0;
    if (threads > DCSR_I_MAX_BATCH_THREADS) threads = DCSR_I_MAX_BATCH_THREADS;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : failed) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        uint64_t first = pages * (uint64_t)t / (uint64_t)threads,
                 end = pages * ((uint64_t)t + 1) / (uint64_t)threads;
        failed += !add_pages(monoid, rows, first, end, &part[t], &some[t]);
    }
    *any = false;
    for (int t = 0; t < threads && !failed; t++) {
        if (!some[t]) continue;
        if (*any && !dcsr_i_apply_binary(monoid->op, total, total, &part[t], 1)) return false;
        if (!*any) *total = part[t];
        *any = true;
    }
    return !failed;
}

/* *total = accum(*total, sum), or the sum. */
static bool put_total(void *total, const dcsr_binary_op *accum, dcsr_type type, const dcsr_i_scalar *sum)
{
    if (!accum) {
        memcpy(total, sum, dcsr_type_size(type));
        return true;
    }
    dcsr_i_scalar x = dcsr_i_scalar_as(accum->xtype, type, total),
                  y = dcsr_i_scalar_as(accum->ytype, type, sum), z = {0};
    if (!dcsr_i_apply_binary(accum, &z, &x, &y, 1)) return false;
    dcsr_i_cast(type, total, accum->ztype, &z, 1);
    return true;
}

dcsr_status dcsr_matrix_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                               dcsr_view *A)
{
    if (!total) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: total is NULL", call);
    if (!A) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is NULL; create a view", call);
    DCSR_TRY(dcsr_i_view_check(A));
    if (!monoid) return dcsr_i_fail_operator(call, "monoid");
    dcsr_i_input a;
    dcsr_status status = dcsr_i_input_of(&a, A, false);
    if (status == DCSR_OK) {
        dcsr_i_scalar sum = monoid->identity;
        uint64_t stored = dcsr_i_rows_stored(a.rows);
        bool any = stored != 0, added;
        if (a.rows->type == DCSR_PATTERN)
            added = !any || dcsr_i_sum_of_ones(monoid, stored, &sum);
        else
            added = add_all(monoid, a.rows, dcsr_i_threads(dcsr_i_view_context(A), stored), &sum, &any);
        if (!any) sum = monoid->identity;
        if (!added)
            status = dcsr_i_fail_callback(call, monoid->op->text);
        else if (!put_total(total, accum, dcsr_i_monoid_type(monoid), &sum))
            status = dcsr_i_fail_callback(call, accum->text);
    }
    dcsr_i_input_free(&a);
    return status;
}
