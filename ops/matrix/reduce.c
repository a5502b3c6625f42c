/* reduce.c: all entries of a matrix added up to one value.
 *
 * Each thread adds up parts of its own, and the sums of the parts are added in their order. */
#include <dcsr/reduce.h>
#include "ops/matrix/write_matrix.h"
#include "ops/rows/reduce_block.h"
#include "ops/matrix/reduce_cuda.h"
#include <omp.h>

static const char call[] = "matrix_reduce";

/* Adds entries that stand one behind the other. */
static bool add_stretch(dcsr_i_sum *sum, const dcsr_monoid *monoid, const dcsr_i_rows *rows,
                        const dcsr_i_piece *stretch)
{
    _Alignas(64) char cast[DCSR_I_LANES * sizeof(dcsr_i_scalar)];
    dcsr_type type = dcsr_i_monoid_type(monoid);
    size_t size = dcsr_type_size(rows->type);
    const char *values = (const char *)rows->values + stretch->begin * size;
    const dcsr_i_sum_loops *loops = dcsr_i_sum_loops_of(monoid);
    if (!stretch->length) return true;
    if (loops && rows->type == type) {
        loops->row(cast, values, stretch->length);
        return dcsr_i_sum_add(sum, monoid, cast, 1);
    }
    for (uint64_t done = 0, n; done < stretch->length; done += n) {
        n = stretch->length - done < DCSR_I_LANES ? stretch->length - done : DCSR_I_LANES;
        if (rows->type != type) dcsr_i_cast(type, cast, rows->type, values, n);
        if (!dcsr_i_sum_add(sum, monoid, rows->type != type ? cast : values, n)) return false;
        values += n * size;
    }
    return true;
}

static bool add_pages(dcsr_i_sum *sum, const dcsr_monoid *monoid, const dcsr_i_rows *rows, uint64_t first,
                      uint64_t end)
{
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block b;
    for (uint64_t p = first; (p = dcsr_i_rows_next_page(rows, p)) < end; p++) {
        uint64_t row = p << DCSR_I_PAGE_SHIFT, left = rows->rows - row;
        dcsr_i_row_block_of(&b, rows, row, left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS,
                            lengths);
        for (unsigned s = 0; s < b.stretches; s++)
            if (!add_stretch(sum, monoid, rows, &b.stretch[s])) return false;
    }
    return true;
}

/* Part number `part` of so many; *any says whether there was anything to add. Where all rows lie one behind
 * the other they are one stretch. */
static bool add_part(const dcsr_monoid *monoid, const dcsr_i_rows *rows, uint64_t part, uint64_t parts,
                     dcsr_i_scalar *total, bool *any)
{
    dcsr_i_sum sum;
    bool added;
    sum.used = 0;
    if (rows->offsets || rows->table->contiguous) {
        uint64_t n = dcsr_i_rows_stored(rows), first = n * part / parts, end = n * (part + 1) / parts;
        uint64_t begin = rows->offsets ? 0 : rows->table->first;
        added = add_stretch(&sum, monoid, rows, &(dcsr_i_piece){begin + first, end - first});
    } else {
        uint64_t n = (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
        added = add_pages(&sum, monoid, rows, n * part / parts, n * (part + 1) / parts);
    }
    *any = added && sum.used;
    return added && (!*any || dcsr_i_sum_total(&sum, monoid, total));
}

/* *any says whether there are entries. */
static bool add_all(const dcsr_monoid *monoid, const dcsr_i_rows *rows, const dcsr_context *context,
                    dcsr_i_scalar *total, bool *any)
{
    uint64_t stored = dcsr_i_rows_stored(rows);
    int shares = dcsr_i_shares(context, stored), threads = dcsr_i_threads(context, stored);
    dcsr_i_scalar part[DCSR_I_MAX_BATCH_THREADS];
    bool some[DCSR_I_MAX_BATCH_THREADS] = {false};
    int failed = 0;
    if (shares > DCSR_I_MAX_BATCH_THREADS) shares = DCSR_I_MAX_BATCH_THREADS;
    if (shares == 1) return add_part(monoid, rows, 0, 1, total, any);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : failed) if (threads > 1)
    for (int t = 0; t < shares; t++)
        failed += !add_part(monoid, rows, (uint64_t)t, (uint64_t)shares, &part[t], &some[t]);
    *any = false;
    for (int t = 0; t < shares && !failed; t++) {
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

/* The sum of all entries, on the host; the identity if there are none. */
static dcsr_status add_up(dcsr_i_scalar *sum, const dcsr_monoid *monoid, dcsr_view *A)
{
    dcsr_i_input a;
    dcsr_status status = dcsr_i_input_of(&a, A, false);
    if (status == DCSR_OK) {
        uint64_t stored = dcsr_i_rows_stored(a.rows);
        bool any = stored != 0, added;
        if (a.rows->type == DCSR_PATTERN)
            added = !any || dcsr_i_sum_of_ones(monoid, stored, sum);
        else
            added = add_all(monoid, a.rows, dcsr_i_view_context(A), sum, &any);
        if (!any) *sum = monoid->identity;
        if (!added) status = dcsr_i_fail_callback(call, monoid->op->text);
    }
    dcsr_i_input_free(&a);
    return status;
}

static dcsr_status find_sum(dcsr_i_scalar *sum, const dcsr_monoid *monoid, dcsr_view *A)
{
#ifdef DCSR_CUDA
    if (dcsr_i_view_rows(A)->on_device && !dcsr_i_monoid_is_users(monoid))
        return dcsr_i_cuda_matrix_sum(sum, monoid, A);
#endif
    return add_up(sum, monoid, A);
}

dcsr_status dcsr_matrix_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                               dcsr_view *A)
{
    if (!total) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: total is NULL", call);
    if (!A) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is NULL; create a view", call);
    DCSR_TRY(dcsr_i_view_check(A));
    if (!monoid) return dcsr_i_fail_operator(call, "monoid");
    dcsr_i_scalar sum;
    DCSR_TRY(find_sum(&sum, monoid, A));
    if (!put_total(total, accum, dcsr_i_monoid_type(monoid), &sum))
        return dcsr_i_fail_callback(call, accum->text);
    return DCSR_OK;
}
