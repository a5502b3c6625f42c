/* features.c: what a matrix looks like, in numbers.
 *
 * Row lengths are counted by the store's own measures, for all rows. All else is computed from the columns and values
 * of rows that are read: all of them, or some that are drawn. One pass over a row's columns in ascending order gives
 * the segments for all panel widths at once: a column c behind b begins a new segment of panels of 2^s columns exactly
 * if b and c differ in a bit from s on, so it is enough to count the highest bit in which neighbours differ. */
#include "dcsr/base/cuda.h"
#include "dcsr/base/random.h"
#include "dcsr/base/sort.h"
#include "dcsr/view/view_data.h"
#include "ops/choice/features_cuda.h"
#include "ops/rows/row_reader.h"
#include <dcsr/features.h>
#include <math.h>
#include <stdlib.h>

enum {
    WHOLE_ENTRIES = 1 << 15, /* that are read as a whole, and that rows are drawn to have */
    LEAST_ROWS = 256,        /* that are drawn */
    MOST_ROWS = 2048,
    AT_MOST = 4, /* times as many entries are read, where the rows drawn are longer than most */
    LONGEST_ROW = AT_MOST * WHOLE_ENTRIES, /* of longer ones the first entries are looked at */
    MOST_ENTRIES = 8 * LONGEST_ROW,        /* of those that are drawn, however few they are */
    FIRST_PANEL_SHIFT = 7,
    NEAR = 65535, /* what fits 16 bits */
    DISTINCT_SLOTS = 1024,
    FEATURES_PURPOSE = 17 /* of the random numbers */
};

/* NULL in builds without CUDA. */
static dcsr_i_features_download_function *const download_rows = DCSR_I_IN_CUDA(dcsr_i_features_download);

/* What has been seen of the rows that were read. */
typedef struct reading {
    dcsr_context *context;
    size_t value_size;
    uint64_t *columns; /* of all entries, rows one behind the other, ascending within each */
    uint64_t entries, capacity;
    uint64_t rows, rows_in_use; /* read */
    uint64_t
        highest[33]; /* neighbours in a row whose columns differ in bit b - 1 and none above; 0: in none */
    uint64_t near, pairs;
    double span;
    uint64_t distinct;
    uint64_t slot[DISTINCT_SLOTS]; /* the values, hashed */
    bool taken[DISTINCT_SLOTS];
} reading;

/* ---- Rows ---- */

static dcsr_status make_room(reading *r, uint64_t entries)
{
    if (entries <= r->capacity) return DCSR_OK;
    uint64_t larger = entries > 2 * r->capacity ? entries : 2 * r->capacity;
    uint64_t *columns =
        dcsr_i_realloc(r->context, DCSR_I_SCRATCH, r->columns, r->capacity, larger, sizeof *columns);
    if (!columns) return DCSR_ERROR_OUT_OF_MEMORY;
    r->columns = columns;
    r->capacity = larger;
    return DCSR_OK;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Notes the values of a row, until there are too many to tell apart. */
static void note_values(reading *r, const dcsr_i_row *row)
{
    for (uint64_t k = 0; k < row->n && r->distinct <= DCSR_MOST_DISTINCT; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)row->values + k * r->value_size, r->value_size);
        uint64_t at = dcsr_i_mix(bits) % DISTINCT_SLOTS;
        while (r->taken[at] && r->slot[at] != bits) at = (at + 1) % DISTINCT_SLOTS;
        if (r->taken[at]) continue;
        r->taken[at] = true;
        r->slot[at] = bits;
        r->distinct++;
    }
}

static dcsr_status note_row(reading *r, const dcsr_i_row *whole)
{
    dcsr_i_row first = *whole;
    const dcsr_i_row *row = &first;
    if (first.n > LONGEST_ROW) first.n = LONGEST_ROW;
    r->rows++;
    if (!row->n) return DCSR_OK;
    DCSR_TRY(make_room(r, r->entries + row->n));
    uint64_t *columns = r->columns + r->entries;
    bool ascends = true;
    for (uint64_t k = 0; k < row->n; k++) {
        columns[k] = row->columns[k];
        ascends &= !k || columns[k] >= columns[k - 1];
    }
    if (!ascends) qsort(columns, row->n, sizeof *columns, ascending);
    for (uint64_t k = 1; k < row->n; k++) {
        const uint64_t differ = columns[k] ^ columns[k - 1];
        r->highest[differ ? 64 - __builtin_clzll(differ) : 0]++;
        r->near += columns[k] - columns[k - 1] <= NEAR;
    }
    r->pairs += row->n - 1;
    r->span += (double)(columns[row->n - 1] - columns[0] + 1);
    r->rows_in_use++;
    r->entries += row->n;
    if (r->value_size) note_values(r, row);
    return DCSR_OK;
}

static dcsr_status read_all(reading *r, const dcsr_i_rows *rows)
{
    dcsr_i_row_reader reader = dcsr_i_row_reader_of(r->context, rows);
    dcsr_status status = DCSR_OK;
    for (uint64_t row = 0; (row = dcsr_i_rows_skip(rows, row)) < rows->rows && status == DCSR_OK; row++) {
        dcsr_i_row entries;
        status = dcsr_i_row_get(&reader, row, &entries);
        if (status == DCSR_OK) status = note_row(r, &entries);
    }
    dcsr_i_row_reader_free(&reader);
    return status;
}

/* Rows drawn from pages in use; *drawn_from gets how many rows these have. */
static dcsr_status read_drawn(reading *r, const dcsr_i_rows *rows, uint64_t draws, double *drawn_from)
{
    const uint64_t key = dcsr_i_random_key(1, FEATURES_PURPOSE);
    dcsr_i_page_list pages;
    DCSR_TRY(dcsr_i_page_list_create(&pages, r->context, rows));
    dcsr_i_row_reader reader = dcsr_i_row_reader_of(r->context, rows);
    dcsr_status status = DCSR_OK;
    *drawn_from = (double)pages.count * DCSR_I_PAGE_ROWS;
    for (uint64_t i = 0; i < draws && status == DCSR_OK; i++) {
        const uint64_t bits = dcsr_i_random(key, i), n = pages.count * DCSR_I_PAGE_ROWS,
                       at = dcsr_i_random_below(bits, n),
                       row = ((uint64_t)pages.page[at >> DCSR_I_PAGE_SHIFT] << DCSR_I_PAGE_SHIFT) +
                             (at & (DCSR_I_PAGE_ROWS - 1));
        dcsr_i_row entries = {0}; /* as has a row that would follow the last one in its page */
        if (row < rows->rows) status = dcsr_i_row_get(&reader, row, &entries);
        if (status == DCSR_OK) status = note_row(r, &entries);
        if (r->entries >= (r->rows >= LEAST_ROWS ? AT_MOST * WHOLE_ENTRIES : MOST_ENTRIES)) break;
    }
    dcsr_i_row_reader_free(&reader);
    dcsr_i_page_list_free(&pages, r->context);
    return status;
}

/* How many rows to draw, if a row has so many entries on average. */
static uint64_t draws_of(double entries)
{
    const double wanted = entries > 0 ? WHOLE_ENTRIES / entries : MOST_ROWS;
    return wanted < LEAST_ROWS ? LEAST_ROWS : wanted > MOST_ROWS ? MOST_ROWS : (uint64_t)wanted;
}

/* The same for a GPU, which sends whole rows: fewer, but at least two, if rows in use have many entries (`used`). */
static uint64_t draws_of_whole(double entries, double used)
{
    const uint64_t draws = draws_of(entries);
    const double most = used > 0 ? MOST_ENTRIES / used : MOST_ROWS;
    return most >= (double)draws ? draws : most > 2 ? (uint64_t)most : 2;
}

/* On a device: all rows, or rows drawn from all, are gathered there and then read here. Where hardly any are in use
 * it is these alone. */
static dcsr_status read_there(reading *r, dcsr_view *view, uint64_t draws, uint64_t in_use,
                              double *drawn_from)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(view);
    const uint64_t key = dcsr_i_random_key(1, FEATURES_PURPOSE);
    dcsr_i_csr *copy = NULL;
    *drawn_from = (double)rows->rows;
    if (rows->table && dcsr_i_lines_are_sparse(rows->rows, rows->device.stored)) {
        *drawn_from = (double)in_use;
        DCSR_TRY(download_rows(&copy, r->context, rows, NULL, draws, key));
    } else if (!draws) {
        DCSR_TRY(dcsr_i_view_matrix(view)->engine->download(&copy, r->context, rows));
    } else {
        uint32_t *list = dcsr_i_alloc(r->context, DCSR_I_SCRATCH, draws, sizeof *list);
        if (!list) return DCSR_ERROR_OUT_OF_MEMORY;
        for (uint64_t i = 0; i < draws; i++)
            list[i] = (uint32_t)dcsr_i_random_below(dcsr_i_random(key, i), rows->rows);
        dcsr_status status = download_rows(&copy, r->context, rows, list, draws, key);
        dcsr_i_free(r->context, DCSR_I_SCRATCH, list, draws, sizeof *list);
        if (status != DCSR_OK) return status;
    }
    const dcsr_i_rows here = dcsr_i_rows_of_csr(copy);
    dcsr_status status = read_all(r, &here);
    dcsr_i_csr_release(copy);
    return status;
}

/* ---- From what was read ---- */

/* The deviation of the number of entries of a column. The squares of these numbers add up to the pairs of entries that
 * are in one column, an entry with itself included. Of pairs of draws that have a column in common there are, by the
 * mean, draws (draws - 1) / drawn_from^2 times as many as of pairs of rows. */
static dcsr_status put_col_std(dcsr_features *f, reading *r, double drawn_from)
{
    const double cols = f->cols ? (double)f->cols : 1, mean = (double)f->nnz / cols, draws = (double)r->rows;
    double alike = 0, squares = 0;
    uint64_t *spare = dcsr_i_alloc(r->context, DCSR_I_SCRATCH, r->entries, sizeof *spare);
    if (!spare) return DCSR_ERROR_OUT_OF_MEMORY;
    const uint64_t *sorted = dcsr_i_sort(r->columns, spare, r->entries, 1, 0, dcsr_i_bits_for(f->cols),
                                         dcsr_i_threads(r->context, r->entries));
    for (uint64_t k = 0, end; k < r->entries; k = end) {
        for (end = k + 1; end < r->entries && sorted[end] == sorted[k]; end++) {
        }
        const double count = (double)(end - k);
        squares += count * count;
        alike += count * (count - 1);
    }
    dcsr_i_free(r->context, DCSR_I_SCRATCH, spare, r->entries, sizeof *spare);
    if (!f->exact) squares = alike * drawn_from * drawn_from / (draws * (draws - 1));
    const double variance = squares / cols - mean * mean;
    f->col_std = variance > 0 ? sqrt(variance) : 0;
    return DCSR_OK;
}

static void put_shares(dcsr_features *f, const reading *r)
{
    f->rows_read = r->rows;
    f->entries_read = r->entries;
    f->near = r->pairs ? (double)r->near / (double)r->pairs : 1;
    f->distinct = (double)r->distinct;
    if (!r->rows_in_use) return;
    f->bandwidth = r->span / (double)r->rows_in_use;
    uint64_t segments = r->rows_in_use;
    for (int bit = 32; bit > FIRST_PANEL_SHIFT; bit--) {
        segments += r->highest[bit];
        const int k = bit - 1 - FIRST_PANEL_SHIFT;
        if (k < DCSR_CLUSTERING_FACTORS) f->clustering[k] = (double)r->entries / (double)segments;
    }
}

static dcsr_status compute(dcsr_features *features, dcsr_i_measures *measured, dcsr_view *view, bool exact)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(view);
    dcsr_context *context = dcsr_i_view_context(view);
    DCSR_TRY(dcsr_i_view_matrix(view)->engine->measure(measured, context, rows));
    const dcsr_i_measures measures = *measured;
    const double n = rows->rows ? (double)rows->rows : 1;
    const double used = measures.rows_in_use ? (double)measures.rows_in_use : 1;
    dcsr_features f = {
        .type = rows->type,
        .rows = rows->rows,
        .cols = rows->cols,
        .nnz = measures.nnz,
        .min_row = measures.rows_in_use == rows->rows ? measures.shortest : 0,
        .max_row = measures.longest,
        .mean_row = (double)measures.nnz / n,
        .row_std = sqrt(measures.squares / n),
        .pieces = rows->table && measures.rows_in_use ? 1 + (double)rows->table->extra_segments / used : 1,
        .exact = exact || measures.nnz <= WHOLE_ENTRIES};
    reading *r = dcsr_i_calloc(context, DCSR_I_SCRATCH, 1, sizeof *r);
    if (!r) return DCSR_ERROR_OUT_OF_MEMORY;
    r->context = context;
    r->value_size = dcsr_type_size(rows->type);
    const uint64_t draws = f.exact           ? 0
                           : rows->on_device ? draws_of_whole(f.mean_row, (double)measures.nnz / used)
                                             : draws_of(f.mean_row);
    double drawn_from = 0;
    dcsr_status status = rows->on_device ? read_there(r, view, draws, measures.rows_in_use, &drawn_from)
                         : draws         ? read_drawn(r, rows, draws, &drawn_from)
                                         : read_all(r, rows);
    if (status == DCSR_OK) status = put_col_std(&f, r, drawn_from);
    if (status == DCSR_OK) put_shares(&f, r);
    dcsr_i_free(context, DCSR_I_SCRATCH, r->columns, r->capacity, sizeof *r->columns);
    dcsr_i_free(context, DCSR_I_SCRATCH, r, 1, sizeof *r);
    if (status == DCSR_OK) *features = f;
    return status;
}

/* ---- Kept with a version ---- */

static dcsr_status compute_facts(dcsr_i_facts *facts, dcsr_view *view)
{
    return compute(&facts->features, &facts->measures, view, false);
}

dcsr_status dcsr_view_get_features(dcsr_features *features, dcsr_view *view,
                                   const dcsr_features_options *options)
{
    if (!features)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_features: features is NULL");
    *features = (dcsr_features){0};
    DCSR_TRY(dcsr_i_view_check(view));
    dcsr_i_facts *facts;
    DCSR_TRY(dcsr_i_view_facts(&facts, view, compute_facts));
    if (options && options->exact && !facts->features.exact)
        return compute(features, &(dcsr_i_measures){0}, view, true);
    *features = facts->features;
    return DCSR_OK;
}
