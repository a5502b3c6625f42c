/* reduce.c: the entries of a matrix added up: all to one value, or those of each row, or column, to one element
 * of a vector.
 *
 * For all, each thread adds up parts of its own, and the sums of the parts are added in their order.
 *
 * Columns are rows of the transpose where the view has that; else each thread adds its rows to sums of its
 * own, one for each column; or where columns are far more than entries, these are sorted by column. */
#include <dcsr/reduce.h>
#include "ops/matrix/write_matrix.h"
#include "ops/rows/reduce_block.h"
#include "ops/matrix/reduce_cuda.h"
#include <omp.h>
#include "ops/algebra/dispatch.h"
#include "ops/vector/write_vector.h"

/* NULL in builds without CUDA. */
static const dcsr_i_matrix_sums *const device_sums = DCSR_I_IN_CUDA(dcsr_i_cuda_matrix_sums);

/* ---- All entries ---- */

static const char reduce_call[] = "matrix_reduce";

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
        if (!added) status = dcsr_i_fail_callback(reduce_call, monoid->op->text);
    }
    dcsr_i_input_free(&a);
    return status;
}

static dcsr_status find_sum(dcsr_i_scalar *sum, const dcsr_monoid *monoid, dcsr_view *A)
{
    if (dcsr_i_view_rows(A)->on_device && !dcsr_i_monoid_is_users(monoid))
        return device_sums->all(sum, monoid, A);
    return add_up(sum, monoid, A);
}

dcsr_status dcsr_matrix_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                               dcsr_view *A)
{
    if (!total) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: total is NULL", reduce_call);
    if (!A) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is NULL; create a view", reduce_call);
    DCSR_TRY(dcsr_i_view_check(A));
    if (!monoid) return dcsr_i_fail_operator(reduce_call, "monoid");
    dcsr_i_scalar sum;
    DCSR_TRY(find_sum(&sum, monoid, A));
    if (!put_total(total, accum, dcsr_i_monoid_type(monoid), &sum))
        return dcsr_i_fail_callback(reduce_call, accum->text);
    return DCSR_OK;
}

static const char rows_call[] = "matrix_reduce_rows";

enum { WIDEST = 8 };

typedef struct job {
    const dcsr_monoid *monoid;
    dcsr_context *context;
    dcsr_type type; /* of the monoid */
    size_t size;
    dcsr_i_input a;
    const dcsr_i_sum_loops *loops; /* NULL: the monoid is none of the usual ones */
} job;

/* ---- Rows ---- */

/* A row of any length and type. */
static dcsr_status add_row(const job *j, dcsr_i_row_reader *reader, uint64_t number, char *sum)
{
    dcsr_i_row row;
    bool added = true;
    if (j->a.rows->type == DCSR_PATTERN) {
        added = dcsr_i_sum_of_ones(j->monoid, dcsr_i_rows_length(j->a.rows, number), sum);
    } else {
        DCSR_TRY(dcsr_i_row_get(reader, number, &row));
        if (j->loops && j->a.rows->type == j->type)
            j->loops->row(sum, row.values, row.n);
        else
            added = dcsr_i_sum_of(j->monoid, j->a.rows->type, row.values, row.n, sum);
    }
    return added ? DCSR_OK : dcsr_i_fail_callback(rows_call, j->monoid->op->text);
}

/* A bit for each of these rows that has entries, and their lengths, of which those of other rows may be left
 * out. */
static uint64_t rows_in_use(const dcsr_i_rows *rows, uint64_t first, unsigned count, const uint32_t **length,
                            uint32_t room[DCSR_I_PAGE_ROWS])
{
    uint64_t present = 0;
    *length = room;
    if (rows->offsets) {
        const uint64_t *offsets = rows->offsets + first;
        for (unsigned r = 0; r < count; r++) room[r] = (uint32_t)(offsets[r + 1] - offsets[r]);
    } else {
        const dcsr_i_row_page *page = dcsr_i_page(rows->table, first >> DCSR_I_PAGE_SHIFT);
        if (!page) return 0;
        *length = page->length;
    }
    for (unsigned r = 0; r < count; r++) present |= (uint64_t)((*length)[r] != 0) << r;
    return present;
}

/* Rows first to first + count - 1, which are a page or the beginning of one; *present gets a bit for each
 * that has entries. Those that stand in one piece are added up by one loop, where there is one. */
static dcsr_status add_rows(const job *j, dcsr_i_row_reader *reader, uint64_t first, unsigned count,
                            char *sums, uint64_t *present)
{
    const dcsr_i_rows *rows = j->a.rows;
    uint32_t room[DCSR_I_PAGE_ROWS];
    const uint32_t *length;
    uint64_t left = *present = rows_in_use(rows, first, count, &length, room);
    if (left && j->loops && rows->type == j->type) {
        const dcsr_i_row_page *page =
            rows->offsets ? NULL : dcsr_i_page(rows->table, first >> DCSR_I_PAGE_SHIFT);
        uint64_t whole = page ? left & ~page->fragmented : left, begin[DCSR_I_PAGE_ROWS] = {0};
        for (uint64_t mask = page ? whole : 0; mask; mask &= mask - 1) {
            const unsigned r = (unsigned)__builtin_ctzll(mask);
            begin[r] = dcsr_i_begin_of(page, 0, r);
        }
        j->loops->rows(sums, rows->values, page ? begin : rows->offsets + first, length, whole);
        left &= ~whole;
    }
    for (; left; left &= left - 1) {
        unsigned r = (unsigned)__builtin_ctzll(left);
        DCSR_TRY(add_row(j, reader, first + r, sums + r * j->size));
    }
    return DCSR_OK;
}

/* All rows to a dense body; bits are left out where no row is empty. */
static dcsr_status add_to_dense(const job *j, dcsr_i_body *T)
{
    uint64_t rows = j->a.rows->rows, pages = (rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT, nvals = 0;
    int threads = dcsr_i_threads(j->context, dcsr_i_rows_stored(j->a.rows) + rows), out_of_memory = 0,
        callback = 0;
    DCSR_TRY(dcsr_i_body_dense(T, j->context, j->size, rows, true));
#pragma omp parallel num_threads(threads) reduction(+ : nvals, out_of_memory, callback) if (threads > 1)
    {
        dcsr_i_row_reader reader = dcsr_i_row_reader_of(j->context, j->a.rows);
#pragma omp for schedule(dynamic, 16)
        for (uint64_t p = 0; p < pages; p++) {
            uint64_t first = p << DCSR_I_PAGE_SHIFT, left = rows - first;
            unsigned count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
            dcsr_status status =
                add_rows(j, &reader, first, count, (char *)T->values + first * j->size, &T->present[p]);
            nvals += (uint64_t)__builtin_popcountll(T->present[p]);
            out_of_memory += status == DCSR_ERROR_OUT_OF_MEMORY;
            callback += status == DCSR_ERROR_CALLBACK;
        }
        dcsr_i_row_reader_free(&reader);
    }
    T->nvals = nvals;
    /* The sentence may have been another thread's. */
    if (callback) return dcsr_i_fail_callback(rows_call, j->monoid->op->text);
    return out_of_memory ? dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: no memory for rows", rows_call)
                         : DCSR_OK;
}

/* Few rows have entries: a list of them. */
static dcsr_status add_to_sparse(const job *j, dcsr_i_body *T)
{
    const dcsr_i_rows *rows = j->a.rows;
    uint64_t pages = (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT,
             most = dcsr_i_rows_stored(rows);
    dcsr_i_row_reader reader = dcsr_i_row_reader_of(j->context, rows);
    DCSR_TRY(dcsr_i_body_sparse(T, j->context, j->size, most));
    dcsr_status status = DCSR_OK;
    for (uint64_t p = 0; status == DCSR_OK && (p = dcsr_i_rows_next_page(rows, p)) < pages; p++) {
        _Alignas(64) char sums[DCSR_I_PAGE_ROWS * WIDEST];
        uint64_t present, first = p << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
        status = add_rows(j, &reader, first, left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS,
                          sums, &present);
        for (; present && status == DCSR_OK; present &= present - 1) {
            unsigned r = (unsigned)__builtin_ctzll(present);
            T->indices[T->nvals] = (uint32_t)(first + r);
            memcpy((char *)T->values + T->nvals++ * j->size, sums + r * j->size, j->size);
        }
    }
    dcsr_i_row_reader_free(&reader);
    return status;
}

/* ---- Columns ---- */

/* The sums of the columns of a thread's rows, and which have any. */
typedef struct columns {
    char *sums;
    uint8_t *present;
} columns;

/* Entries, each to the sum of its column. */
static bool add_scattered(const job *j, const columns *c, const uint32_t *at, const char *values, uint64_t n)
{
    if (j->loops) {
        j->loops->scatter(c->sums, c->present, at, values, n);
        return true;
    }
    for (uint64_t e = 0; e < n; e++) {
        char *sum = c->sums + at[e] * j->size;
        if (!c->present[at[e]])
            memcpy(sum, values + e * j->size, j->size);
        else if (!dcsr_i_apply_binary(j->monoid->op, sum, sum, values + e * j->size, 1))
            return false;
        c->present[at[e]] = 1;
    }
    return true;
}

/* Neighbouring entries. */
static bool add_stretch_to_columns(const job *j, const columns *c, const dcsr_i_piece *stretch)
{
    const dcsr_i_rows *rows = j->a.rows;
    _Alignas(64) char cast[DCSR_I_VALUES_AT_ONCE * WIDEST];
    bool straight = rows->type == j->type;
    size_t from = dcsr_type_size(rows->type);
    for (uint64_t done = 0, n; done < stretch->length; done += n) {
        uint64_t at = stretch->begin + done;
        const char *values = from ? (const char *)rows->values + at * from : NULL;
        n = stretch->length - done;
        if (!straight && n > DCSR_I_VALUES_AT_ONCE) n = DCSR_I_VALUES_AT_ONCE;
        if (!straight) dcsr_i_cast(j->type, cast, rows->type, values, n);
        if (!add_scattered(j, c, rows->columns + at, straight ? values : cast, n)) return false;
    }
    return true;
}

/* The rows of pages first to end - 1. */
static bool add_to_columns(const job *j, const columns *c, uint64_t first, uint64_t end)
{
    const dcsr_i_rows *rows = j->a.rows;
    for (uint64_t p = first; (p = dcsr_i_rows_next_page(rows, p)) < end; p++) {
        uint64_t row = p << DCSR_I_PAGE_SHIFT, left = rows->rows - row;
        uint32_t lengths[DCSR_I_PAGE_ROWS];
        dcsr_i_row_block b;
        dcsr_i_row_block_of(&b, rows, row, left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS,
                            lengths);
        for (unsigned k = 0; k < b.stretches; k++)
            if (!add_stretch_to_columns(j, c, &b.stretch[k])) return false;
    }
    return true;
}

/* Adds what one thread has to the result, columns `first` on. */
static bool add_columns(const job *j, dcsr_i_body *T, const columns *c, uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        if (!c->present[i]) continue;
        char *sum = (char *)T->values + i * j->size;
        uint64_t bit = (uint64_t)1 << (i & 63);
        if (!(T->present[i >> 6] & bit))
            memcpy(sum, c->sums + i * j->size, j->size);
        else if (!dcsr_i_apply_binary(j->monoid->op, sum, sum, c->sums + i * j->size, 1))
            return false;
        T->present[i >> 6] |= bit;
    }
    return true;
}

static dcsr_status scatter_rows(const job *j, dcsr_i_body *T, columns *c, int shares)
{
    const dcsr_i_rows *rows = j->a.rows;
    uint64_t pages = (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT, words = (rows->cols + 63) / 64,
             nvals = 0;
    int failed = 0, threads = dcsr_i_threads(j->context, dcsr_i_rows_stored(rows));
    if (threads > shares) threads = shares;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : failed) if (threads > 1)
    for (int t = 0; t < shares; t++)
        failed += !add_to_columns(j, &c[t], pages * (uint64_t)t / (uint64_t)shares,
                                  pages * ((uint64_t)t + 1) / (uint64_t)shares);
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : failed, nvals) if (threads > 1)
    for (int part = 0; part < shares; part++) {
        uint64_t first = words * (uint64_t)part / (uint64_t)shares,
                 end = words * ((uint64_t)part + 1) / (uint64_t)shares;
        for (int t = 0; t < shares && !failed; t++)
            failed += !add_columns(j, T, &c[t], first * 64, end * 64 < rows->cols ? end * 64 : rows->cols);
        for (uint64_t w = first; w < end; w++) nvals += (uint64_t)__builtin_popcountll(T->present[w]);
    }
    T->nvals = nvals;
    return failed ? dcsr_i_fail_callback(rows_call, j->monoid->op->text) : DCSR_OK;
}

static dcsr_status add_columns_up(const job *j, dcsr_i_body *T)
{
    dcsr_context *context = j->context;
    uint64_t cols = j->a.rows->cols, stored = dcsr_i_rows_stored(j->a.rows);
    int shares = dcsr_i_shares(context, stored);
    /* Their sums must not outweigh the entries. */
    while (shares > 1 && (uint64_t)shares * cols > 4 * stored) shares--;
    DCSR_TRY(dcsr_i_body_dense(T, context, j->size, cols, true));
    columns *c = dcsr_i_calloc(context, DCSR_I_SCRATCH, (size_t)shares, sizeof *c);
    bool ready = c != NULL;
    for (int t = 0; ready && t < shares; t++) {
        c[t].sums = dcsr_i_alloc(context, DCSR_I_SCRATCH, cols, j->size);
        c[t].present = c[t].sums ? dcsr_i_calloc(context, DCSR_I_SCRATCH, cols, 1) : NULL;
        ready = c[t].present != NULL;
    }
    dcsr_status status = ready ? scatter_rows(j, T, c, shares) : DCSR_ERROR_OUT_OF_MEMORY;
    for (int t = 0; c && t < shares; t++) {
        dcsr_i_free(context, DCSR_I_SCRATCH, c[t].sums, cols, j->size);
        dcsr_i_free(context, DCSR_I_SCRATCH, c[t].present, cols, 1);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, c, (size_t)shares, sizeof *c);
    return status;
}

/* The entries of far more columns: which they are of, and where they stand. */
static void list_columns(const dcsr_i_rows *rows, uint64_t *keys, char *values, size_t size)
{
    uint64_t n = 0;
    for (uint64_t row = dcsr_i_rows_skip(rows, 0); row < rows->rows; row = dcsr_i_rows_skip(rows, row + 1)) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, row, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t at = pieces[k].begin; at < pieces[k].begin + pieces[k].length; at++, n++) {
                keys[n] = (uint64_t)rows->columns[at] << 32 | n;
                if (size) memcpy(values + n * size, (const char *)rows->values + at * size, size);
            }
    }
}

/* Adds up those of each column, in the order of rows; `run` has room for the values of one. */
static bool add_sorted(const job *j, dcsr_i_body *T, const uint64_t *keys, uint64_t n, const char *values,
                       char *run)
{
    dcsr_type type = j->a.rows->type;
    size_t size = dcsr_type_size(type);
    for (uint64_t k = 0, length; k < n; k += length) {
        const uint64_t column = keys[k] >> 32;
        for (length = 0; k + length < n && keys[k + length] >> 32 == column; length++)
            if (size) memcpy(run + length * size, values + (keys[k + length] & UINT32_MAX) * size, size);
        char *sum = (char *)T->values + T->nvals * j->size;
        bool added = size ? dcsr_i_sum_of(j->monoid, type, run, length, sum)
                          : dcsr_i_sum_of_ones(j->monoid, length, sum);
        if (!added) return false;
        T->indices[T->nvals++] = (uint32_t)column;
    }
    return true;
}

static dcsr_status add_sparse_columns(const job *j, dcsr_i_body *T)
{
    dcsr_context *context = j->context;
    const dcsr_i_rows *rows = j->a.rows;
    uint64_t stored = dcsr_i_rows_stored(rows);
    size_t size = dcsr_type_size(rows->type);
    uint64_t *keys = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * stored, sizeof *keys);
    char *values = keys ? dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * stored, size) : NULL;
    dcsr_status status = values ? dcsr_i_body_sparse(T, context, j->size, stored) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        list_columns(rows, keys, values, size);
        const uint64_t *sorted = dcsr_i_sort(keys, keys + stored, stored, 1, 32, 31, 1);
        if (!add_sorted(j, T, sorted, stored, values, values + stored * size))
            status = dcsr_i_fail_callback(rows_call, j->monoid->op->text);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, values, 2 * stored, size);
    dcsr_i_free(context, DCSR_I_SCRATCH, keys, 2 * stored, sizeof *keys);
    return status;
}

/* ---- The rows_call ---- */

static dcsr_status add_up_lines(const job *j, bool columns_of_a, dcsr_i_body *T)
{
    enum { SPARSE = 32 };
    *T = (dcsr_i_body){0};
    if (columns_of_a && dcsr_i_lines_are_sparse(j->a.rows->cols, dcsr_i_rows_stored(j->a.rows)))
        return add_sparse_columns(j, T);
    if (columns_of_a) return add_columns_up(j, T);
    return dcsr_i_rows_stored(j->a.rows) < j->a.rows->rows / SPARSE ? add_to_sparse(j, T)
                                                                    : add_to_dense(j, T);
}

/* What is on a device is added up there, however little: bringing it to the host takes longer. */
static dcsr_status place(bool *on_device, const dcsr_vector *w, const dcsr_vector *mask,
                         const dcsr_binary_op *accum, const dcsr_monoid *monoid, const dcsr_desc *desc)
{
    const dcsr_vector *const vectors[] = {w, mask};
    bool users = dcsr_i_monoid_is_users(monoid) || (accum && !accum->loop);
    return dcsr_i_dispatch(on_device, w->context, desc, users, DCSR_I_WORTH_DEVICE, vectors, 2);
}

dcsr_status dcsr_matrix_reduce_rows(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                    const dcsr_monoid *monoid, dcsr_view *A, const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_output(rows_call, w, mask, desc));
    DCSR_TRY(dcsr_i_check_view(rows_call, "A", A, w->context));
    if (!monoid) return dcsr_i_fail_operator(rows_call, "monoid");
    bool transposed = desc && desc->transpose_a;
    const dcsr_i_rows *shape = dcsr_i_view_rows(A);
    uint64_t size = transposed ? shape->cols : shape->rows;
    if (w->size != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: w has %llu elements, but A has %llu %s",
                           rows_call, (unsigned long long)w->size, (unsigned long long)size,
                           transposed ? "columns" : "rows");
    bool on_device;
    DCSR_TRY(place(&on_device, w, mask, accum, monoid, desc));
    if (on_device)
        return device_sums->rows(&(dcsr_i_vector_output){rows_call, w, mask, accum, desc}, monoid, A);
    job j = {.monoid = monoid,
             .context = w->context,
             .type = dcsr_i_monoid_type(monoid),
             .loops = dcsr_i_sum_loops_of(monoid)};
    j.size = dcsr_type_size(j.type);
    bool ready = transposed && dcsr_i_view_transpose_is_ready(A);
    dcsr_status status = dcsr_i_input_of(&j.a, A, ready);
    if (status == DCSR_OK) {
        dcsr_i_body T;
        status = add_up_lines(&j, transposed && !ready, &T);
        if (status == DCSR_OK)
            status = dcsr_i_vector_write(rows_call, w, mask, accum, desc, j.type, &T);
        else
            dcsr_i_body_free(&T, j.context, j.size);
    }
    if (status == DCSR_OK) dcsr_i_report(desc, dcsr_i_rows_stored(j.a.rows));
    dcsr_i_input_free(&j.a);
    return status;
}
