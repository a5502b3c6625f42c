/* sorted.c: rows brought into ascending order of columns, each once, for operations that merge rows.
 *
 * The rows of a matrix stand in the order in which entries came. Where they do not ascend they are copied as
 * CSR: each row is sorted there by the keys column << 32 | position, and entries of one column, which then
 * are in order of time, are combined. */
#include "dcsr/view/sorted.h"
#include <string.h>

bool dcsr_i_row_ascends(const dcsr_i_rows *rows, uint64_t row)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    int64_t previous = -1;
    for (int k = 0; k < count; k++)
        for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
            if (rows->columns[i] <= previous || rows->columns[i] & DCSR_I_TOMBSTONE) return false;
            previous = rows->columns[i];
        }
    return true;
}

/* The longest row of a page that does not ascend strictly, if it is longer than `longest`. */
static uint64_t longest_in_page(const dcsr_i_rows *rows, uint64_t p, uint64_t longest)
{
    uint64_t row = p << DCSR_I_PAGE_SHIFT, end = row + DCSR_I_PAGE_ROWS;
    for (; row < end && row < rows->rows; row++) {
        uint64_t length = dcsr_i_rows_length(rows, row);
        if (length > longest && !dcsr_i_row_ascends(rows, row)) longest = length;
    }
    return longest;
}

/* The length of the longest row that does not ascend strictly; 0 when all do. Threads take the pages that are
 * there as they become free. */
static uint64_t longest_unsorted(const dcsr_i_rows *rows, int threads)
{
    enum { PORTION = 16 };
    const uint64_t pages = dcsr_i_rows_pages(rows);
    _Atomic uint64_t next = 0;
    uint64_t longest = 0;
#pragma omp parallel num_threads(threads) reduction(max : longest) if (threads > 1)
    for (uint64_t end;;) {
        uint64_t from = atomic_load(&next), p;
        do {
            p = dcsr_i_rows_next_page(rows, from);
            end = p + PORTION < pages ? p + PORTION : pages;
        } while (p < end && !atomic_compare_exchange_weak(&next, &from, end));
        if (p >= end) break;
        for (; p < end; p = dcsr_i_rows_next_page(rows, p + 1)) longest = longest_in_page(rows, p, longest);
    }
    return longest;
}

dcsr_i_combine dcsr_i_sorting_combiner(dcsr_type type, dcsr_policy policy)
{
    return dcsr_i_combiner(type, policy == DCSR_POLICY_KEEP ? DCSR_POLICY_SUM : policy);
}

uint64_t dcsr_i_keys_fold(const uint64_t *keys, uint64_t n, const dcsr_i_rows *rows,
                          const dcsr_i_piece *pieces, bool keep, dcsr_i_combine combine, uint32_t *columns,
                          void *values)
{
    uint64_t group = 0, out = 0, before = UINT64_MAX;
    size_t size = dcsr_type_size(rows->type);
    for (uint64_t e = 0; e < n; e++) {
        uint64_t position = keys[e] & UINT32_MAX, column = keys[e] >> 32;
        int k = 0;
        for (; position >= pieces[k].length; k++) position -= pieces[k].length;
        uint64_t at = pieces[k].begin + position;
        const char *value = size ? (const char *)rows->values + at * size : NULL;
        if (column != before) group = out;
        before = column;
        if (rows->columns[at] & DCSR_I_TOMBSTONE) {
            out = group;
        } else if (out > group && !keep) {
            if (combine) combine((char *)values + group * size, value);
        } else {
            columns[out] = (uint32_t)column;
            if (size) memcpy((char *)values + out * size, value, size);
            out++;
        }
    }
    return out;
}

uint64_t dcsr_i_row_sort(uint64_t *keys, uint64_t *spare, const dcsr_i_rows *rows, uint64_t row, bool keep,
                         dcsr_i_combine combine, uint32_t *columns, void *values)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    uint64_t n = 0;
    for (int k = 0; k < count; k++)
        for (uint64_t i = 0; i < pieces[k].length; i++, n++)
            keys[n] = (uint64_t)(rows->columns[pieces[k].begin + i] & ~DCSR_I_TOMBSTONE) << 32 | n;
    keys = dcsr_i_sort(keys, spare, n, 1, 32, 31, 1);
    return dcsr_i_keys_fold(keys, n, rows, pieces, keep, combine, columns, values);
}

static void copy_row(dcsr_i_csr *csr, const dcsr_i_rows *rows, uint64_t row)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    uint64_t to = csr->offsets[row];
    size_t size = csr->value_size;
    for (int k = 0; k < count; to += pieces[k++].length) {
        memcpy(csr->columns + to, rows->columns + pieces[k].begin, pieces[k].length * sizeof *csr->columns);
        if (size)
            memcpy((char *)csr->values + to * size, (const char *)rows->values + pieces[k].begin * size,
                   pieces[k].length * size);
    }
}

/* All rows, with what is left of each in left[]. */
static dcsr_status sort_rows(dcsr_i_csr *csr, const dcsr_i_rows *rows, dcsr_policy policy, uint64_t longest,
                             int threads, uint64_t *left)
{
    dcsr_i_combine combine = dcsr_i_sorting_combiner(csr->type, policy);
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : failed) if (threads > 1)
    {
        uint64_t *keys = dcsr_i_alloc(csr->context, DCSR_I_SCRATCH, 2 * longest, sizeof *keys);
        failed += !keys;
#pragma omp for schedule(dynamic, 256)
        for (uint64_t i = 0; i < csr->rows; i++) {
            if (!keys) continue;
            if (dcsr_i_row_ascends(rows, i)) {
                copy_row(csr, rows, i);
                left[i] = csr->offsets[i + 1] - csr->offsets[i];
            } else {
                uint64_t to = csr->offsets[i];
                left[i] = dcsr_i_row_sort(keys, keys + longest, rows, i, false, combine, csr->columns + to,
                                          (char *)csr->values + to * csr->value_size);
            }
        }
        dcsr_i_free(csr->context, DCSR_I_SCRATCH, keys, 2 * longest, sizeof *keys);
    }
    return failed ? dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "sorting rows: no memory for their keys") : DCSR_OK;
}

/* Returns the memory behind the first n entries. */
static dcsr_status shorten(dcsr_i_csr *csr, uint64_t n)
{
    dcsr_context *context = csr->context;
    uint64_t all = csr->nnz;
    uint32_t *columns = dcsr_i_realloc(context, DCSR_I_MATRIX, csr->columns, all, n, sizeof *columns);
    void *values = NULL;
    if (columns && csr->values)
        values = dcsr_i_realloc(context, DCSR_I_MATRIX, csr->values, all, n, csr->value_size);
    if (columns && (values || !csr->values)) {
        csr->columns = columns;
        csr->values = values;
        csr->nnz = n;
        return DCSR_OK;
    }
    /* The arrays may differ in length now, of which the CSR knows but one: they are freed here. */
    dcsr_i_free(context, DCSR_I_MATRIX, columns ? columns : csr->columns, columns ? n : all, sizeof *columns);
    dcsr_i_free(context, DCSR_I_MATRIX, csr->values, all, csr->value_size);
    csr->columns = NULL;
    csr->values = NULL;
    return DCSR_ERROR_OUT_OF_MEMORY;
}

/* Moves the rows together where entries were combined. */
static dcsr_status close_gaps(dcsr_i_csr *csr, const uint64_t *left)
{
    uint64_t to = 0, all = csr->nnz;
    size_t size = csr->value_size;
    for (uint64_t i = 0; i < csr->rows; i++) {
        uint64_t from = csr->offsets[i];
        csr->offsets[i] = to;
        if (from != to) {
            memmove(csr->columns + to, csr->columns + from, left[i] * sizeof *csr->columns);
            if (size)
                memmove((char *)csr->values + to * size, (char *)csr->values + from * size, left[i] * size);
        }
        to += left[i];
    }
    csr->offsets[csr->rows] = to;
    return to < all ? shorten(csr, to) : DCSR_OK;
}

static dcsr_status fill(dcsr_i_csr *csr, const dcsr_i_rows *rows, dcsr_policy policy, uint64_t longest)
{
    dcsr_context *context = csr->context;
    csr->offsets = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->rows + 1, sizeof *csr->offsets);
    if (!csr->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < csr->rows; i++) {
        csr->offsets[i] = csr->nnz;
        csr->nnz += dcsr_i_rows_length(rows, i);
    }
    csr->offsets[csr->rows] = csr->nnz;
    csr->columns = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->nnz, sizeof *csr->columns);
    if (!csr->columns) return DCSR_ERROR_OUT_OF_MEMORY;
    if (csr->value_size) {
        csr->values = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->nnz, csr->value_size);
        if (!csr->values) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    uint64_t *left = dcsr_i_alloc(context, DCSR_I_SCRATCH, csr->rows, sizeof *left);
    if (!left) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = sort_rows(csr, rows, policy, longest, dcsr_i_threads(context, csr->nnz), left);
    if (status == DCSR_OK) status = close_gaps(csr, left);
    dcsr_i_free(context, DCSR_I_SCRATCH, left, csr->rows, sizeof *left);
    return status;
}

/* ---- Far more rows than entries ---- */

/* All entries, as a batch of insertions takes them. */
static void pack(uint64_t *entries, const dcsr_i_rows *rows, int column_bits)
{
    const size_t size = dcsr_type_size(rows->type);
    for (uint64_t row = dcsr_i_rows_skip(rows, 0); row < rows->rows; row = dcsr_i_rows_skip(rows, row + 1)) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, row, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
                *entries++ = row << column_bits | rows->columns[i];
                if (!size) continue;
                *entries = 0;
                memcpy(entries++, (const char *)rows->values + i * size, size);
            }
    }
}

/* A batch is sorted, and its duplicates combined, before it is applied. */
static dcsr_status insert_all(dcsr_matrix *inner, const dcsr_i_rows *rows)
{
    dcsr_i_operation operation = {.context = inner->context,
                                  .kind = DCSR_I_INSERT,
                                  .batch = {.n = dcsr_i_rows_entries(rows),
                                            .stride = inner->value_size ? 2 : 1,
                                            .column_bits = dcsr_i_bits_for(rows->cols),
                                            .row_bits = dcsr_i_bits_for(rows->rows),
                                            .value_size = inner->value_size,
                                            .rows = rows->rows,
                                            .cols = rows->cols}};
    dcsr_i_packed *batch = &operation.batch;
    uint64_t words = batch->n * (uint64_t)batch->stride;
    batch->entries = dcsr_i_alloc(inner->context, DCSR_I_SCRATCH, words, sizeof *batch->entries);
    if (!batch->entries) return DCSR_ERROR_OUT_OF_MEMORY;
    pack(batch->entries, rows, batch->column_bits);
    dcsr_status status = inner->engine->apply_entries(inner, &operation);
    dcsr_i_free(inner->context, DCSR_I_SCRATCH, batch->entries, words, sizeof *batch->entries);
    return status;
}

static dcsr_status sort_into_matrix(dcsr_i_form *sorted, const dcsr_matrix *matrix, const dcsr_i_rows *rows)
{
    dcsr_policy policy = matrix->policy == DCSR_POLICY_KEEP ? DCSR_POLICY_SUM : matrix->policy;
    dcsr_matrix *inner;
    DCSR_TRY(dcsr_i_matrix_open_inner(&inner, matrix, rows->rows, rows->cols, policy, DCSR_DEFRAGMENT_OFF));
    dcsr_status status = insert_all(inner, rows);
    if (status == DCSR_OK) status = dcsr_i_held_version_create(&sorted->hold, inner);
    if (status == DCSR_OK) sorted->rows = dcsr_i_rows_of(inner, sorted->hold->base);
    dcsr_i_matrix_release(inner);
    return status;
}

/* ---- The whole ---- */

static dcsr_status sort_into_csr(dcsr_i_form *sorted, const dcsr_matrix *matrix, const dcsr_i_rows *rows,
                                 uint64_t longest)
{
    dcsr_i_csr *made = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    atomic_init(&made->references, 1);
    made->context = matrix->context;
    made->engine = &dcsr_i_cpu_engine;
    made->type = rows->type;
    made->value_size = dcsr_type_size(rows->type);
    made->rows = rows->rows;
    made->cols = rows->cols;
    dcsr_status status = fill(made, rows, matrix->policy, longest);
    if (status != DCSR_OK) {
        dcsr_i_csr_release(made);
        return status;
    }
    sorted->csr = made;
    sorted->rows = dcsr_i_rows_of_csr(made);
    return DCSR_OK;
}

dcsr_status dcsr_i_rows_sort(dcsr_i_form *sorted, dcsr_matrix *matrix, const dcsr_i_rows *rows)
{
    uint64_t entries = dcsr_i_rows_entries(rows),
             longest = longest_unsorted(rows, dcsr_i_threads(matrix->context, entries));
    *sorted = (dcsr_i_form){0};
    if (!longest) return DCSR_OK;
    return rows->table && dcsr_i_lines_are_sparse(rows->rows, entries)
               ? sort_into_matrix(sorted, matrix, rows)
               : sort_into_csr(sorted, matrix, rows, longest);
}

void dcsr_i_form_release(dcsr_i_form *form)
{
    dcsr_i_csr_release(form->csr);
    dcsr_i_held_version_release(form->hold);
    *form = (dcsr_i_form){0};
}
