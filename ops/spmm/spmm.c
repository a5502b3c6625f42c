/* spmm.c: sparse matrix times dense matrix: checks, and carrying out what spmm_share.c has shared out.
 *
 * A row of Y is computed where it is to be, unless accum stands in between: then in a row of the thread's
 * own. Where a function of a user's may fail, Y is a copy until all is done. */
#include "ops/algebra/dispatch.h"
#include "ops/algebra/semiring.h"
#include <dcsr/spmm.h>
#include "ops/spmm/spmm_share.h"
#ifdef DCSR_CUDA
#include "ops/spmm/spmm_cuda.h"
#endif
#include <omp.h>
#include <string.h>

/* Values that are cast at once. */
enum { BLOCK = 256 };

/* ---- Rows ---- */

/* Adds the products of the entries at positions first .. last-1 of a row of A to the row at y. */
static bool add_entries(const dcsr_i_spmm *p, void *y, bool fresh, uint64_t row, uint64_t first,
                        uint64_t last)
{
    const dcsr_i_rows *rows = p->rows;
    size_t size = dcsr_type_size(rows->type);
    dcsr_i_scalar cast[BLOCK];
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int n = dcsr_i_rows_pieces(rows, row, pieces);
    uint64_t at = 0; /* position of the piece in its row */
    for (int k = 0; k < n && at < last; at += pieces[k].length, k++) {
        uint64_t from = first > at ? first - at : 0,
                 to = last - at < pieces[k].length ? last - at : pieces[k].length;
        while (from < to) {
            uint64_t place = pieces[k].begin + from, take = to - from;
            const void *values = p->values ? (const char *)rows->values + place * size : NULL;
            if (p->cast) {
                take = take < BLOCK ? take : BLOCK;
                dcsr_i_cast(p->semiring->multiply->xtype, cast, rows->type, values, take);
                values = cast;
            }
            if (!p->kernel(p->semiring, y, rows->columns + place, values, take, p->X, p->width, fresh))
                return false;
            fresh = false;
            from += take;
        }
    }
    return true;
}

/* y = accum(y, t) for a row of each. */
static bool accumulate(const dcsr_i_spmm *p, char *y, const char *t)
{
    const dcsr_binary_op *accum = p->accum;
    dcsr_i_scalar a[BLOCK], b[BLOCK], c[BLOCK];
    for (uint64_t at = 0; at < p->width; at += BLOCK) {
        size_t n = p->width - at < BLOCK ? (size_t)(p->width - at) : BLOCK;
        dcsr_i_cast(accum->xtype, a, p->type, y + at * p->size, n);
        dcsr_i_cast(accum->ytype, b, p->type, t + at * p->size, n);
        if (!dcsr_i_apply_binary(accum, c, a, b, n)) return false;
        dcsr_i_cast(p->type, y + at * p->size, accum->ztype, c, n);
    }
    return true;
}

/* All of a row of Y, also where the mask leaves it out or the row of A is empty. */
static bool whole_row(const dcsr_i_spmm *p, uint64_t row, char *scratch)
{
    char *y = p->Y + row * p->row_bytes;
    if (!dcsr_i_mask_has(p->mask, row)) {
        if (p->replace) dcsr_i_broadcast(p->type, y, &p->semiring->add->identity, p->width);
        return true;
    }
    uint64_t length = dcsr_i_rows_length(p->rows, row);
    if (!length) {
        if (!p->accum) dcsr_i_broadcast(p->type, y, &p->semiring->add->identity, p->width);
        return true;
    }
    if (!p->accum || p->accum_adds) return add_entries(p, y, !p->accum, row, 0, length);
    return add_entries(p, scratch, true, row, 0, length) && accumulate(p, y, scratch);
}

/* The rows of a share. The parts of its first and last row, where others have the rest, go to the share's own
 * rows. */
static bool run_share(const dcsr_i_spmm *p, uint64_t s, char *scratch)
{
    dcsr_i_spmm_place from = p->place[s], to = p->place[s + 1];
    uint64_t row = from.row;
    if (from.entry) {
        uint64_t last = to.row == row ? to.entry : dcsr_i_rows_length(p->rows, row);
        if (!add_entries(p, dcsr_i_spmm_head(p, s), true, row, from.entry, last)) return false;
        if (to.row == row) return true;
        row++;
    }
    for (; row < to.row; row++)
        if (!whole_row(p, row, scratch)) return false;
    return !to.entry || add_entries(p, dcsr_i_spmm_tail(p, s), true, row, 0, to.entry);
}

/* Adds up the parts of rows that several shares had a part of. */
static bool join_parts(const dcsr_i_spmm *p)
{
    const dcsr_binary_op *add = p->semiring->add->op;
    for (uint64_t s = 1; s < p->shares;) {
        if (!p->place[s].entry) {
            s++;
            continue;
        }
        uint64_t row = p->place[s].row;
        char *total = dcsr_i_spmm_tail(p, s - 1), *y = p->Y + row * p->row_bytes;
        for (; s < p->shares && p->place[s].row == row && p->place[s].entry; s++)
            if (!dcsr_i_apply_binary(add, total, total, dcsr_i_spmm_head(p, s), p->width)) return false;
        if (!p->accum)
            memcpy(y, total, p->row_bytes);
        else if (!accumulate(p, y, total))
            return false;
    }
    return true;
}

static bool multiply_shares(const dcsr_i_spmm *p)
{
    if (p->shares == 1) return run_share(p, 0, p->scratch);
    bool good = true;
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads) reduction(&& : good) if (p->threads > 1)
    for (uint64_t s = 0; s < p->shares; s++)
        good = good && run_share(p, s, p->scratch + (uint64_t)omp_get_thread_num() * p->scratch_bytes);
    return good && join_parts(p);
}

/* ---- The operation ---- */

static dcsr_status check(void *Y, const dcsr_vector *mask, const dcsr_semiring *semiring, const dcsr_view *A,
                         const void *X, uint64_t columns, const dcsr_desc *desc)
{
    bool transpose = desc && desc->transpose_a;
    DCSR_TRY(dcsr_i_view_check(A));
    DCSR_TRY(dcsr_i_check_desc("spmm", desc, dcsr_i_view_context(A)));
    if (!semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "spmm: the semiring is NULL: there is none of that name on that type");
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    uint64_t out = transpose ? rows->cols : rows->rows, in = transpose ? rows->rows : rows->cols;
    if ((!Y && out && columns) || (!X && in && columns))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmm: %s is NULL; give it %llu x %llu elements",
                           Y ? "X" : "Y", (unsigned long long)(Y ? in : out), (unsigned long long)columns);
    if (columns > SIZE_MAX / 8 / (out > in ? out + 1 : in + 1))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "spmm: %llu columns are more than memory can hold",
                           (unsigned long long)columns);
    if (!mask) return DCSR_OK;
    DCSR_TRY(dcsr_i_vector_admit(mask, "spmm: mask"));
    if (mask->context != dcsr_i_view_context(A))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmm: mask and A are of different contexts");
    if (mask->size != out)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "spmm: the mask has %llu elements, Y %llu rows",
                           (unsigned long long)mask->size, (unsigned long long)out);
    return DCSR_OK;
}

/* Y to write into: the caller's, or a copy of it where a function of a user's may say that all was for
 * nothing. */
static dcsr_status open_output(dcsr_i_spmm *p, dcsr_context *context, void *Y)
{
    p->Y = Y;
    bool may_fail = dcsr_i_semiring_is_users(p->semiring) || (p->accum && !p->accum->loop);
    if (!may_fail || !p->rows->rows) return DCSR_OK;
    p->copy = dcsr_i_alloc(context, DCSR_I_SCRATCH, p->rows->rows, p->row_bytes);
    if (!p->copy) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(p->copy, Y, p->rows->rows * p->row_bytes);
    p->Y = p->copy;
    return DCSR_OK;
}

/* The name of the function that may have said so. */
static const char *users_name(const dcsr_i_spmm *p)
{
    const dcsr_binary_op *multiply = p->semiring->multiply, *add = p->semiring->add->op;
    return !multiply->loop ? multiply->text : !add->loop ? add->text : p->accum->text;
}

static void report(const dcsr_desc *desc, const dcsr_i_rows *rows)
{
    if (desc && desc->report)
        *desc->report = (dcsr_report){.device = DCSR_DEVICE_CPU, .entries = dcsr_i_spmm_stored(rows)};
}

dcsr_status dcsr_spmm_by(dcsr_spmm_mapping *mapping, void *Y, const dcsr_vector *mask,
                         const dcsr_binary_op *accum, const dcsr_semiring *semiring, dcsr_view *A,
                         const void *X, uint64_t columns, const dcsr_desc *desc)
{
    bool transpose = desc && desc->transpose_a;
    DCSR_TRY(check(Y, mask, semiring, A, X, columns, desc));
    if (!mapping || (unsigned)*mapping > DCSR_SPMM_MERGE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "spmm: the mapping is %s; use DCSR_SPMM_AUTO, _ROW_SPLIT or _MERGE",
                           mapping ? "none of those" : "NULL");
#ifdef DCSR_CUDA
    const dcsr_i_cuda_spmm_call there = {Y, mask, accum, semiring, A, X, columns, desc};
    bool takes;
    DCSR_TRY(dcsr_i_cuda_spmm_takes(&takes, &there));
    if (takes) return dcsr_i_cuda_spmm_run(mapping, &there);
#endif
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows;
    DCSR_TRY(transpose ? dcsr_i_view_transposed(&rows, A) : dcsr_i_view_host_rows(&rows, A));
    const dcsr_semiring *ones = rows->type == DCSR_PATTERN ? dcsr_i_semiring_of_ones(semiring) : NULL;
    const dcsr_semiring *used = ones ? ones : semiring;
    dcsr_i_mask allowed = {0};
    dcsr_i_spmm p = {.semiring = used,
                     .kernel = dcsr_i_spmm_kernel_of(used),
                     .accum = accum,
                     .accum_adds = accum && accum == used->add->op && accum->loop,
                     .type = dcsr_i_monoid_type(used->add),
                     .rows = rows,
                     .mask = &allowed,
                     .replace = desc && desc->replace,
                     .X = X,
                     .width = columns};
    p.size = dcsr_type_size(p.type);
    p.row_bytes = columns * p.size;
    bool reads = dcsr_i_reads_x(used->multiply);
    p.values = reads && rows->type != DCSR_PATTERN;
    p.cast = reads && rows->type != used->multiply->xtype;
    dcsr_status status = dcsr_i_mask_open(&allowed, context, rows->rows, mask, desc);
    if (status == DCSR_OK && allowed.listed) status = dcsr_i_mask_use_bits(&allowed);
    if (status == DCSR_OK) status = open_output(&p, context, Y);
    if (status == DCSR_OK) status = dcsr_i_spmm_share(&p, context, mapping);
    if (status == DCSR_OK && !multiply_shares(&p)) status = dcsr_i_fail_callback("spmm", users_name(&p));
    if (status == DCSR_OK && p.copy) memcpy(Y, p.copy, rows->rows * p.row_bytes);
    if (status == DCSR_OK) {
        report(desc, rows);
        if (!transpose) dcsr_i_view_was_read(A);
    }
    dcsr_i_spmm_end(&p, context);
    if (p.copy) dcsr_i_free(context, DCSR_I_SCRATCH, p.copy, rows->rows, p.row_bytes);
    dcsr_i_mask_close(&allowed);
    return status;
}

dcsr_status dcsr_spmm(void *Y, const dcsr_vector *mask, const dcsr_binary_op *accum,
                      const dcsr_semiring *semiring, dcsr_view *A, const void *X, uint64_t columns,
                      const dcsr_desc *desc)
{
    dcsr_spmm_mapping mapping = DCSR_SPMM_AUTO;
    return dcsr_spmm_by(&mapping, Y, mask, accum, semiring, A, X, columns, desc);
}
