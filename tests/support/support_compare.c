/* support_compare.c: whether a view shows what an oracle holds.
 *
 * Each row is read in three ways (dcsr_view_get_row(), the pieces that operations walk or the copy of a view on a
 * device, the CSR arrays), which must agree, and is then brought into the oracle's form: sorted by column;
 * duplicates, where they are allowed, combined in the order in which they were stored, or for
 * DCSR_POLICY_KEEP compared as a multiset.
 */
#include "tests/support/support.h"

#include "dcsr/store/rowtable.h"
#include "dcsr/base/runtime.h"
#include "tests/support/support_there.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 64 };

/* Asking a device for a row takes a launch and a wait; so there, of most rows the view's copy in host memory is looked
 * at, and of one in so many what dcsr_view_get_row() gives too: of those that are empty in a matrix of many rows, of
 * about EMPTY_ASKED in all. */
enum { ASKED_OF_DEVICE = 16, EMPTY_ASKED = 256 };

typedef struct reading {
    dcsr_view *view;
    const oracle *model;
    unsigned flags;
    char *why;
    dcsr_view_info info;
    dcsr_csr csr;
    uint64_t row; /* the one that is compared now */
    uint64_t length, capacity;
    uint32_t *columns;
    char *values;
    oracle_entry *entries, *wanted;
    uint64_t nnz, longest, occupied, pieces; /* over the rows so far */
    double squares;
} reading;

__attribute__((format(printf, 2, 3))) static bool differs(const reading *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int used = snprintf(r->why, TEST_WHY, "%s view, flags %u, version %" PRIu64 ": ",
                        r->info.layout == DCSR_LAYOUT_CSR   ? "CSR"
                        : r->info.layout == DCSR_LAYOUT_CSC ? "CSC"
                                                            : "segments",
                        r->flags, r->info.version);
    vsnprintf(r->why + used, (size_t)(TEST_WHY - used), format, list);
    va_end(list);
    return false;
}

static void make_room(reading *r)
{
    uint64_t need = r->length > r->model->row[r->row].length ? r->length : r->model->row[r->row].length;
    if (need <= r->capacity) return;
    r->capacity = need * 2;
    r->columns = realloc(r->columns, r->capacity * sizeof *r->columns);
    r->values = realloc(r->values, r->capacity * 8);
    r->entries = realloc(r->entries, r->capacity * sizeof *r->entries);
    r->wanted = realloc(r->wanted, r->capacity * sizeof *r->wanted);
    if (!r->columns || !r->values || !r->entries || !r->wanted) abort();
}

/* From the view's copy. */
static bool copy_row(reading *r)
{
    const dcsr_i_rows *rows;
    if (dcsr_i_view_host_rows(&rows, r->view) != DCSR_OK)
        return differs(r, "dcsr_i_view_host_rows: %s", dcsr_thread_error());
    r->length = dcsr_i_rows_length(rows, r->row);
    make_room(r);
    uint64_t begin = rows->offsets[r->row];
    size_t size = dcsr_type_size(r->info.type);
    if (r->length) memcpy(r->columns, rows->columns + begin, r->length * sizeof *r->columns);
    if (r->length && size) memcpy(r->values, (const char *)rows->values + begin * size, r->length * size);
    return true;
}

static bool is_asked_for(const reading *r)
{
    const uint64_t step = ASKED_OF_DEVICE * (r->model->rows / (ASKED_OF_DEVICE * EMPTY_ASKED) + 1);
    return r->row % (r->model->row[r->row].length ? ASKED_OF_DEVICE : step) == 0;
}

static bool fetch_row(reading *r)
{
    if (dcsr_i_view_rows(r->view)->on_device && !is_asked_for(r)) return copy_row(r);
    if (dcsr_view_get_row(r->view, r->row, 0, NULL, NULL, &r->length) != DCSR_OK)
        return differs(r, "dcsr_view_get_row of row %" PRIu64 ": %s", r->row, dcsr_thread_error());
    make_room(r);
    uint64_t length = 0;
    dcsr_status status = dcsr_view_get_row(r->view, r->row, r->length, r->columns, r->values, &length);
    if (status != DCSR_OK || length != r->length)
        return differs(r, "row %" PRIu64 " has %" PRIu64 " entries, then %" PRIu64 " (%s)", r->row, r->length,
                       length, dcsr_status_name(status));
    return true;
}

int test_pieces(dcsr_view *view, uint64_t row, const uint32_t **first)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(view);
    if (rows->on_device) return test_there->pieces(view, row, first);
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    if (first) *first = rows->columns + pieces[0].begin;
    return count;
}

/* The pieces of the row, which on the cpu are those that operations walk. */
static bool same_pieces(reading *r)
{
    size_t size = dcsr_type_size(r->info.type);
    dcsr_piece piece[DCSR_MAX_SEGMENTS];
    int count;
    uint64_t at = 0;
    if (dcsr_view_get_pieces(r->view, r->row, piece, &count) != DCSR_OK)
        return differs(r, "dcsr_view_get_pieces of row %" PRIu64 ": %s", r->row, dcsr_thread_error());
    for (int k = 0; k < count; at += piece[k++].length) {
        uint64_t length = piece[k].length;
        if (!length || length > r->length - at)
            return differs(r, "row %" PRIu64 ": piece %d of length %" PRIu64, r->row, k, length);
        if (memcmp(piece[k].cols, r->columns + at, length * sizeof *r->columns) ||
            !size != !piece[k].values ||
            (size && memcmp(piece[k].values, r->values + at * size, length * size)))
            return differs(r, "row %" PRIu64 ": piece %d differs from dcsr_view_get_row()", r->row, k);
    }
    if (at != r->length)
        return differs(r, "row %" PRIu64 ": pieces of %" PRIu64 " of %" PRIu64 " entries", r->row, at,
                       r->length);
    if (r->info.layout != DCSR_LAYOUT_CSR && !dcsr_i_view_rows(r->view)->on_device)
        r->pieces += (uint64_t)count;
    return true;
}

static bool same_arrays(reading *r)
{
    const uint64_t *offsets = r->csr.offsets;
    if (offsets[r->row] != r->nnz || offsets[r->row + 1] != r->nnz + r->length)
        return differs(r,
                       "CSR offsets of row %" PRIu64 ": %" PRIu64 ", %" PRIu64 ", not %" PRIu64 ", %" PRIu64,
                       r->row, offsets[r->row], offsets[r->row + 1], r->nnz, r->nnz + r->length);
    size_t size = dcsr_type_size(r->info.type);
    if (r->length &&
        (memcmp(r->csr.col_indices + r->nnz, r->columns, r->length * sizeof *r->columns) ||
         (size && memcmp((const char *)r->csr.values + r->nnz * size, r->values, r->length * size))))
        return differs(r, "CSR arrays of row %" PRIu64 " differ from dcsr_view_get_row()", r->row);
    return true;
}

static int by_position(const void *a, const void *b)
{
    const oracle_entry *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static int by_value(const void *a, const void *b)
{
    const oracle_entry *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Checks the order that the view promises, then sorts the entries. */
static bool take_entries(reading *r)
{
    bool sorted = true, distinct = true, keep = r->model->policy == DCSR_POLICY_KEEP;
    for (uint64_t i = 0; i < r->length; i++) {
        if (r->columns[i] >= r->model->cols)
            return differs(r, "row %" PRIu64 ": column %" PRIu32, r->row, r->columns[i]);
        r->entries[i] = (oracle_entry){r->columns[i], (uint32_t)i, oracle_value(r->info.type, r->values, i)};
        if (i && r->columns[i] < r->columns[i - 1]) sorted = false;
    }
    if ((r->flags & DCSR_VIEW_SORTED) && !sorted)
        return differs(r, "row %" PRIu64 ": columns do not ascend", r->row);
    if (r->length && (!sorted || keep))
        qsort(r->entries, r->length, sizeof *r->entries, keep ? by_value : by_position);
    for (uint64_t i = 1; i < r->length; i++) distinct &= r->entries[i].column != r->entries[i - 1].column;
    if (!distinct && !keep && !(r->flags & DCSR_VIEW_DUPLICATES))
        return differs(r, "row %" PRIu64 ": a column stands twice", r->row);
    return true;
}

static bool same_entries(reading *r)
{
    const oracle_row *row = &r->model->row[r->row];
    oracle_entry *wanted = row->entry;
    uint64_t length = 0;
    if (r->model->policy == DCSR_POLICY_KEEP) {
        length = r->length;
        wanted = r->wanted;
        if (row->length) {
            memcpy(wanted, row->entry, row->length * sizeof *wanted);
            qsort(wanted, row->length, sizeof *wanted, by_value);
        }
    }
    for (uint64_t i = 0; i < r->length && r->model->policy != DCSR_POLICY_KEEP; i++) {
        oracle_entry *last = r->entries + length - 1;
        if (length && last->column == r->entries[i].column)
            last->value = oracle_combine(r->info.type, r->model->policy, last->value, r->entries[i].value);
        else
            r->entries[length++] = r->entries[i];
    }
    if (length != row->length)
        return differs(r, "row %" PRIu64 " has %" PRIu64 " entries, not %zu", r->row, length, row->length);
    for (uint64_t i = 0; i < length; i++)
        if (r->entries[i].column != wanted[i].column || r->entries[i].value != wanted[i].value)
            return differs(r, "row %" PRIu64 ": (%" PRIu32 ", %#" PRIx64 "), not (%" PRIu32 ", %#" PRIx64 ")",
                           r->row, r->entries[i].column, r->entries[i].value, wanted[i].column,
                           wanted[i].value);
    return true;
}

static bool same_rows(reading *r)
{
    for (r->row = 0; r->row < r->model->rows; r->row++) {
        if (!fetch_row(r) || !same_pieces(r)) return false;
        if (r->info.layout == DCSR_LAYOUT_CSR && !same_arrays(r)) return false;
        if (!take_entries(r) || !same_entries(r)) return false;
        r->nnz += r->length;
        r->squares += (double)r->length * (double)r->length;
        if (r->length > r->longest) r->longest = r->length;
        r->occupied += r->length != 0;
    }
    return true;
}

/* Places of a few stored entries and their neighbours, spread over the rows. */
static size_t choose_places(const oracle *model, uint64_t rows[PLACES], uint64_t cols[PLACES])
{
    uint64_t step = model->rows / (PLACES / 4) + 1;
    size_t n = 0;
    for (uint64_t start = 0; model->cols && start < model->rows && n + 2 <= PLACES; start += step) {
        uint64_t r = start, end = start + step < model->rows ? start + step : model->rows;
        while (r + 1 < end && !model->row[r].length) r++;
        const oracle_row *row = &model->row[r];
        uint64_t col = row->length ? row->entry[(start + row->length) % row->length].column : model->cols / 2;
        rows[n] = r, cols[n++] = col;
        rows[n] = r, cols[n++] = col + 1 < model->cols ? col + 1 : 0;
    }
    return n;
}

static bool same_places(reading *r)
{
    uint64_t rows[PLACES], cols[PLACES], values[PLACES];
    bool stored[PLACES];
    size_t n = choose_places(r->model, rows, cols), size = dcsr_type_size(r->info.type);
    memset(values, 0xa5, sizeof values);
    if (dcsr_view_get_many(r->view, n, rows, cols, size ? values : NULL, stored) != DCSR_OK)
        return differs(r, "dcsr_view_get_many: %s", dcsr_thread_error());
    for (size_t i = 0; i < n; i++) {
        uint64_t untouched = oracle_value(r->info.type, "\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", 0),
                 value = untouched;
        bool there = oracle_get(r->model, rows[i], cols[i], &value);
        if (stored[i] != there || oracle_value(r->info.type, values, i) != (size ? value : 0))
            return differs(
                r, "dcsr_view_get_many at (%" PRIu64 ", %" PRIu64 "): %s, %#" PRIx64 ", not %s, %#" PRIx64,
                rows[i], cols[i], stored[i] ? "stored" : "not stored", oracle_value(r->info.type, values, i),
                there ? "stored" : "not stored", value);
    }
    return true;
}

static bool same_statistics(reading *r)
{
    const dcsr_view_info *info = &r->info;
    double rows = info->rows ? (double)info->rows : 1, mean = (double)r->nnz / rows;
    double deviation = sqrt(fmax(0, r->squares / rows - mean * mean));
    if (info->nnz != r->nnz) return differs(r, "nnz %" PRIu64 ", not %" PRIu64, info->nnz, r->nnz);
    if (info->max_row != r->longest)
        return differs(r, "max_row %" PRIu64 ", not %" PRIu64, info->max_row, r->longest);
    bool on_device = dcsr_i_view_rows(r->view)->on_device, csr = info->layout == DCSR_LAYOUT_CSR;
    uint64_t segments = csr ? r->occupied : r->pieces;
    bool right = info->segments == segments;
    if (on_device && !csr)
        right = info->segments >= r->occupied && info->segments <= r->occupied * DCSR_MAX_SEGMENTS;
    if (!right) return differs(r, "segments %" PRIu64 ", not %" PRIu64, info->segments, segments);
    if (fabs(info->mean_row - mean) > 1e-9 * (1 + mean))
        return differs(r, "mean_row %g, not %g", info->mean_row, mean);
    if (fabs(info->row_std - deviation) > 1e-6 * (1 + (double)r->longest))
        return differs(r, "row_std %g, not %g", info->row_std, deviation);
    return true;
}

static bool same_shape(reading *r)
{
    dcsr_view_shape shape;
    if (dcsr_view_get_info(r->view, &r->info) != DCSR_OK)
        return differs(r, "dcsr_view_get_info: %s", dcsr_thread_error());
    if (r->info.type != r->model->type || r->info.rows != r->model->rows || r->info.cols != r->model->cols)
        return differs(r, "%s %" PRIu64 " x %" PRIu64 ", not %s %" PRIu64 " x %" PRIu64,
                       dcsr_type_name(r->info.type), r->info.rows, r->info.cols,
                       dcsr_type_name(r->model->type), r->model->rows, r->model->cols);
    if (dcsr_view_get_shape(r->view, &shape) != DCSR_OK)
        return differs(r, "dcsr_view_get_shape: %s", dcsr_thread_error());
    if (shape.rows != r->info.rows || shape.cols != r->info.cols || shape.nnz != r->info.nnz ||
        (shape.device == DCSR_DEVICE_CUDA) != test_on_device(shape.context))
        return differs(r, "dcsr_view_get_shape: %" PRIu64 " x %" PRIu64 ", %" PRIu64 " entries on device %d",
                       shape.rows, shape.cols, shape.nnz, (int)shape.device);
    dcsr_status status = dcsr_view_get_csr_on_host(r->view, &r->csr);
    if (r->info.layout != DCSR_LAYOUT_CSR)
        return status == DCSR_ERROR_INVALID_ARGUMENT ||
               differs(r, "dcsr_view_get_csr_on_host: %s", dcsr_status_name(status));
    if (status != DCSR_OK) return differs(r, "dcsr_view_get_csr_on_host: %s", dcsr_thread_error());
    if (r->csr.rows != r->info.rows || r->csr.cols != r->info.cols || r->csr.nnz != r->info.nnz ||
        r->csr.type != r->info.type || !r->csr.offsets || r->csr.offsets[0] != 0)
        return differs(r, "the CSR structure does not fit the view");
    if (r->info.type == DCSR_PATTERN && r->csr.values) return differs(r, "a pattern with values");
    return true;
}

bool test_view_matches(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    reading r = {.view = view, .model = model, .flags = flags, .why = why};
    bool same = same_shape(&r) && same_rows(&r) && same_statistics(&r) && same_places(&r);
    free(r.columns);
    free(r.values);
    free(r.entries);
    free(r.wanted);
    return same;
}

bool test_matrix_matches(dcsr_matrix *matrix, const oracle *model, char why[TEST_WHY])
{
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        for (unsigned flags = 0; flags <= (DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED); flags++) {
            dcsr_view *view = NULL;
            if (dcsr_view_create(&view, matrix, (dcsr_layout)layout, flags) != DCSR_OK) {
                snprintf(why, TEST_WHY, "dcsr_view_create: %s", dcsr_thread_error());
                return false;
            }
            bool same = test_view_matches(view, model, flags, why);
            dcsr_view_destroy(view);
            if (!same) return false;
        }
    }
    uint64_t nnz = 0, wanted = oracle_nnz(model);
    if (dcsr_matrix_get_nnz(matrix, &nnz) != DCSR_OK || nnz != wanted) {
        snprintf(why, TEST_WHY, "dcsr_matrix_get_nnz: %" PRIu64 ", not %" PRIu64, nnz, wanted);
        return false;
    }
    return true;
}

bool test_view_shows(dcsr_view *view, size_t n, const test_entry *entries, char why[TEST_WHY])
{
    dcsr_view_info info;
    oracle model;
    reading r = {.view = view, .model = &model, .flags = DCSR_VIEW_DUPLICATES, .why = why};
    if (dcsr_view_get_info(view, &info) != DCSR_OK) return differs(&r, "%s", dcsr_thread_error());
    oracle_create(&model, info.type, DCSR_POLICY_KEEP, info.rows, info.cols);
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;
        test_encode(info.type, entries[i].value, &value);
        oracle_insert(&model, 1, &entries[i].row, &entries[i].col, &value);
    }
    bool same = same_shape(&r) && same_rows(&r) && same_statistics(&r);
    free(r.columns);
    free(r.values);
    free(r.entries);
    free(r.wanted);
    oracle_destroy(&model);
    return same;
}

bool test_matrix_shows(dcsr_matrix *matrix, size_t n, const test_entry *entries, char why[TEST_WHY])
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    bool same = test_view_shows(view, n, entries, why);
    dcsr_view_destroy(view);
    return same;
}
