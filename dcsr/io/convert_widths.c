/* convert_widths.c: CSR in and out with offsets and columns of other widths than the library's own.
 *
 * In: what differs from 64-bit offsets and 32-bit columns is converted into arrays of these, which go the way of
 * dcsr_matrix_from_csr(). Out: a view's rows, whatever its layout, straight into the caller's arrays, in two passes
 * over blocks of rows: how many entries each block has, then the entries. */
#include "dcsr/io/convert_out.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/load.h"
#include "dcsr/store/store.h"

/* ---- Numbers of one width from those of another ---- */

/* Returns the first that is negative or too large, n if there is none. */
#define CONVERT(name, from_type, to_type)                                                                    \
    static uint64_t name(void *to, const void *from, uint64_t n, int threads)                                \
    {                                                                                                        \
        const from_type *a = from;                                                                           \
        to_type *b = to;                                                                                     \
        uint64_t first = n;                                                                                  \
        _Pragma(                                                                                             \
            "omp parallel for num_threads(threads) reduction(min : first) if (threads > 1)") for (uint64_t   \
                                                                                                      i = 0; \
                                                                                                  i < n;     \
                                                                                                  i++)       \
        {                                                                                                    \
            b[i] = (to_type)a[i];                                                                            \
            if (((int64_t)a[i] < 0 || (from_type)b[i] != a[i]) && i < first) first = i;                      \
        }                                                                                                    \
        return first;                                                                                        \
    }
CONVERT(widen_int32, int32_t, uint64_t)
CONVERT(widen_int64, int64_t, uint64_t)
CONVERT(widen_uint32, uint32_t, uint64_t)
CONVERT(narrow_int64, int64_t, uint32_t)
CONVERT(narrow_uint64, uint64_t, uint32_t)
CONVERT(narrow_to_int32, uint64_t, int32_t)
CONVERT(narrow_to_uint32, uint64_t, uint32_t)
CONVERT(widen_to_64, uint32_t, uint64_t)

typedef uint64_t convert(void *to, const void *from, uint64_t n, int threads);

/* What to do with indices of a type. */
typedef struct width {
    dcsr_type type;
    size_t size;
    uint64_t most;              /* the largest */
    convert *widen, *narrow;    /* to offsets, to columns; NULL: they are the same */
    convert *offsets, *columns; /* from these; NULL: the same bits */
} width;

static const width widths[] = {
    {DCSR_INT32, 4, INT32_MAX, widen_int32, NULL, narrow_to_int32, NULL},
    {DCSR_INT64, 8, INT64_MAX, widen_int64, narrow_int64, NULL, widen_to_64},
    {DCSR_UINT32, 4, UINT32_MAX, widen_uint32, NULL, narrow_to_uint32, NULL},
    {DCSR_UINT64, 8, UINT64_MAX, NULL, narrow_uint64, NULL, widen_to_64},
};

static const width *width_of(dcsr_type type)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (widths[i].type == type) return &widths[i];
    return NULL;
}

static dcsr_status check_widths(const char *call, const dcsr_csr_arrays *arrays)
{
    const bool offsets = width_of(arrays->offset_type) != NULL;
    if (offsets && width_of(arrays->index_type)) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: %s is %d; use DCSR_INT32, DCSR_INT64, DCSR_UINT32 or DCSR_UINT64", call,
                       offsets ? "index_type" : "offset_type",
                       (int)(offsets ? arrays->index_type : arrays->offset_type));
}

/* ---- In ---- */

static dcsr_status fail_at(const char *call, const char *name, const void *array, dcsr_type type, uint64_t i)
{
    const bool is_signed = type == DCSR_INT32 || type == DCSR_INT64;
    long long value = type == DCSR_INT32 ? ((const int32_t *)array)[i] : ((const long long *)array)[i];
    if (is_signed && value < 0)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: %s[%llu] is %lld; it must not be negative",
                           call, name, (unsigned long long)i, value);
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: %s[%llu] is %llu, beyond the largest matrix, 2^32 x 2^31", call, name,
                       (unsigned long long)i, (unsigned long long)value);
}

/* Arrays of the library's widths: the caller's, or converted ones. */
typedef struct taken {
    const char *call;
    dcsr_context *context;
    uint64_t *offsets;
    uint32_t *columns;
} taken;

static dcsr_status take_offsets(taken *t, dcsr_csr *csr, const dcsr_csr_arrays *arrays)
{
    const uint64_t n = arrays->rows + 1;
    const width *w = width_of(arrays->offset_type);
    csr->offsets = arrays->offsets;
    if (!w->widen || !arrays->offsets) return DCSR_OK;
    t->offsets = dcsr_i_alloc(t->context, DCSR_I_SCRATCH, n, sizeof *t->offsets);
    if (!t->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    csr->offsets = t->offsets;
    uint64_t first = w->widen(t->offsets, arrays->offsets, n, dcsr_i_threads(t->context, n));
    return first == n ? DCSR_OK : fail_at(t->call, "offsets", arrays->offsets, arrays->offset_type, first);
}

/* The first of n that is negative; n if there is none. */
static uint64_t first_negative(const int32_t *array, uint64_t n, int threads)
{
    uint64_t first = n;
#pragma omp parallel for num_threads(threads) reduction(min : first) if (threads > 1)
    for (uint64_t i = 0; i < n; i++)
        if (array[i] < 0 && i < first) first = i;
    return first;
}

static dcsr_status take_columns(taken *t, dcsr_csr *csr, const dcsr_csr_arrays *arrays)
{
    const uint64_t n = arrays->nnz;
    const width *w = width_of(arrays->index_type);
    uint64_t first = n;
    csr->col_indices = arrays->col_indices;
    if (!arrays->col_indices) return DCSR_OK;
    if (w->narrow) {
        t->columns = dcsr_i_alloc(t->context, DCSR_I_SCRATCH, n, sizeof *t->columns);
        if (!t->columns) return DCSR_ERROR_OUT_OF_MEMORY;
        csr->col_indices = t->columns;
        first = w->narrow(t->columns, arrays->col_indices, n, dcsr_i_threads(t->context, n));
    } else if (w->type == DCSR_INT32) {
        first = first_negative(arrays->col_indices, n, dcsr_i_threads(t->context, n));
    }
    return first == n ? DCSR_OK
                      : fail_at(t->call, "col_indices", arrays->col_indices, arrays->index_type, first);
}

/* The arrays as a CSR of the library's widths; t->offsets and t->columns, which may have been made on failure too, are
 * freed with free_taken(). */
static dcsr_status take(taken *t, dcsr_csr *csr, dcsr_matrix **matrix, const dcsr_csr_arrays *arrays)
{
    DCSR_TRY(dcsr_i_load_check(matrix, arrays, t->call));
    DCSR_TRY(dcsr_i_context_check(t->context));
    DCSR_TRY(check_widths(t->call, arrays));
    DCSR_TRY(dcsr_i_check_dimensions(t->call, arrays->rows, arrays->cols));
    *csr = (dcsr_csr){.rows = arrays->rows,
                      .cols = arrays->cols,
                      .nnz = arrays->nnz,
                      .type = arrays->type,
                      .values = arrays->values};
    DCSR_TRY(take_offsets(t, csr, arrays));
    /* Offsets that are refused later say nothing of how many columns there are. */
    if (!csr->offsets || csr->offsets[csr->rows] != csr->nnz) return DCSR_OK;
    return take_columns(t, csr, arrays);
}

static void free_taken(taken *t, const dcsr_csr *csr)
{
    if (t->columns) dcsr_i_free(t->context, DCSR_I_SCRATCH, t->columns, csr->nnz, sizeof *t->columns);
    if (t->offsets) dcsr_i_free(t->context, DCSR_I_SCRATCH, t->offsets, csr->rows + 1, sizeof *t->offsets);
}

dcsr_status dcsr_matrix_from_csr_arrays(dcsr_matrix **matrix, dcsr_context *context,
                                        const dcsr_csr_arrays *arrays, const dcsr_matrix_options *options)
{
    taken t = {.call = "dcsr_matrix_from_csr_arrays", .context = context};
    dcsr_csr csr = {0};
    dcsr_status status = take(&t, &csr, matrix, arrays);
    if (status == DCSR_OK) status = dcsr_i_matrix_from_csr(matrix, t.call, context, &csr, options);
    free_taken(&t, &csr);
    return status;
}

/* An array whose elements lie where the machine reads them slowly or not at all is copied. */
static bool is_aligned(const void *array, size_t size)
{
    return !size || (uintptr_t)array % size == 0;
}

dcsr_status dcsr_matrix_import_csr(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csr_arrays *arrays,
                                   void (*release)(uint32_t *col_indices, void *values, void *user),
                                   void *user, const dcsr_matrix_options *options)
{
    taken t = {.call = "dcsr_matrix_import_csr", .context = context};
    dcsr_csr csr = {0};
    bool kept = false;
    dcsr_status status = take(&t, &csr, matrix, arrays);
    if (status == DCSR_OK) {
        const dcsr_i_home given = {.places = csr.nnz,
                                   .columns = arrays->col_indices,
                                   .values = arrays->values,
                                   .given = true,
                                   .release = release,
                                   .user = user};
        const bool fits = !t.columns && is_aligned(given.columns, sizeof *given.columns) &&
                          is_aligned(given.values, dcsr_type_size(csr.type));
        status = dcsr_i_matrix_adopt_csr(matrix, t.call, context, &csr, fits ? &given : NULL, &kept, options);
    }
    free_taken(&t, &csr);
    if (status == DCSR_OK && !kept && release) release(arrays->col_indices, arrays->values, user);
    return status;
}

/* ---- Out ---- */

/* Rows that are copied together; their offsets are converted together, too. */
enum { BLOCK_ROWS = 1024 };

typedef struct copying {
    const dcsr_i_rows *rows;
    const dcsr_csr_arrays *to;
    const width *offsets, *columns;
    uint64_t blocks;
    uint64_t *before; /* entries in the blocks before; one more than those */
} copying;

static uint64_t end_of(const copying *c, uint64_t block)
{
    uint64_t end = (block + 1) * BLOCK_ROWS;
    return end < c->rows->rows ? end : c->rows->rows;
}

/* The entries of a row to places `at` and on; returns the place behind them. */
static uint64_t copy_row(const copying *c, uint64_t row, uint64_t at)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_rows_pieces(c->rows, row, pieces);
    const size_t size = dcsr_type_size(c->rows->type);
    for (int k = 0; k < count; at += pieces[k++].length) {
        const uint32_t *columns = c->rows->columns + pieces[k].begin;
        const char *values = (const char *)c->rows->values + pieces[k].begin * size;
        char *to = (char *)c->to->col_indices + at * c->columns->size;
        if (c->to->col_indices && c->columns->columns)
            c->columns->columns(to, columns, pieces[k].length, 1);
        else if (c->to->col_indices)
            memcpy(to, columns, pieces[k].length * sizeof *columns);
        if (c->to->values && size) memcpy((char *)c->to->values + at * size, values, pieces[k].length * size);
    }
    return at;
}

static void copy_block(const copying *c, uint64_t block)
{
    const uint64_t first = block * BLOCK_ROWS, end = end_of(c, block);
    uint64_t offsets[BLOCK_ROWS], at = c->before[block];
    for (uint64_t row = first; row < end; row++) {
        offsets[row - first] = at;
        at = copy_row(c, row, at);
    }
    char *to = (char *)c->to->offsets + first * c->offsets->size;
    if (!c->to->offsets) return;
    if (c->offsets->offsets)
        c->offsets->offsets(to, offsets, end - first, 1);
    else
        memcpy(to, offsets, (end - first) * sizeof *offsets);
}

/* Counts, then copies if there is room. */
static dcsr_status copy_rows(const copying *c, dcsr_context *context, const char *call)
{
    const uint64_t nnz = dcsr_i_rows_entries(c->rows), rows = c->rows->rows;
    if (c->to->rows < rows || c->to->nnz < nnz)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: the arrays have room for %llu rows and %llu entries, but the view has %llu and %llu", call,
            (unsigned long long)c->to->rows, (unsigned long long)c->to->nnz, (unsigned long long)rows,
            (unsigned long long)nnz);
    if (c->to->offsets && nnz > c->offsets->most)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "%s: %llu entries are too many for offsets of %s; use a wider type", call,
                           (unsigned long long)nnz, dcsr_type_name(c->offsets->type));
    int threads = dcsr_i_threads(context, nnz + rows);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t block = 0; block < c->blocks; block++) {
        uint64_t sum = 0, end = end_of(c, block);
        for (uint64_t row = dcsr_i_rows_skip(c->rows, block * BLOCK_ROWS); row < end; row++)
            sum += dcsr_i_rows_length(c->rows, row);
        c->before[block + 1] = sum;
    }
    c->before[0] = 0;
    for (uint64_t block = 0; block < c->blocks; block++) c->before[block + 1] += c->before[block];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (threads > 1)
    for (uint64_t block = 0; block < c->blocks; block++) copy_block(c, block);
    if (!c->to->offsets) return DCSR_OK;
    char *last = (char *)c->to->offsets + rows * c->offsets->size;
    if (c->offsets->offsets)
        c->offsets->offsets(last, &nnz, 1, 1);
    else
        memcpy(last, &nnz, sizeof nnz);
    return DCSR_OK;
}

dcsr_status dcsr_view_copy_csr(dcsr_view *view, dcsr_csr_arrays *arrays)
{
    static const char call[] = "dcsr_view_copy_csr";
    const dcsr_i_rows *rows;
    dcsr_context *context;
    if (!arrays) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: arrays is NULL", call);
    DCSR_TRY(check_widths(call, arrays));
    DCSR_TRY(dcsr_i_convert_begin(view, &rows, &context));
    copying c = {.rows = rows,
                 .to = arrays,
                 .offsets = width_of(arrays->offset_type),
                 .columns = width_of(arrays->index_type),
                 .blocks = (rows->rows + BLOCK_ROWS - 1) / BLOCK_ROWS};
    c.before = dcsr_i_alloc(context, DCSR_I_SCRATCH, c.blocks + 1, sizeof *c.before);
    if (!c.before) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = copy_rows(&c, context, call);
    dcsr_i_free(context, DCSR_I_SCRATCH, c.before, c.blocks + 1, sizeof *c.before);
    if (status != DCSR_OK) return status;
    arrays->rows = rows->rows;
    arrays->cols = rows->cols;
    arrays->nnz = dcsr_i_rows_entries(rows);
    arrays->type = rows->type;
    return DCSR_OK;
}
