/* support_transposed.c: comparing the transpose that a view gives with an oracle of the matrix: both are
 * brought into one list of entries by column, row and time. */
#include "tests/support/support_transposed.h"

#include "dcsr/view/view_data.h"
#include "tests/support/support_there.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct triple {
    uint64_t col, row, position, value;
} triple;

typedef struct list {
    triple *triple;
    uint64_t length, capacity;
} list;

static void append(list *l, uint64_t row, uint64_t col, uint64_t value)
{
    if (l->length == l->capacity) {
        l->capacity = 2 * l->capacity + 64;
        l->triple = realloc(l->triple, l->capacity * sizeof *l->triple);
        if (!l->triple) abort();
    }
    l->triple[l->length] = (triple){col, row, l->length, value};
    l->length++;
}

static int by_place(const triple *x, const triple *y)
{
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_time(const void *a, const void *b)
{
    const triple *x = a, *y = b;
    int order = by_place(x, y);
    return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

static int by_value(const void *a, const void *b)
{
    const triple *x = a, *y = b;
    int order = by_place(x, y);
    return order ? order : x->value < y->value ? -1 : x->value > y->value;
}

static list list_of_model(const oracle *model)
{
    list l = {0};
    for (uint64_t row = 0; row < model->rows; row++)
        for (size_t i = 0; i < model->row[row].length; i++)
            append(&l, row, model->row[row].entry[i].column, model->row[row].entry[i].value);
    return l;
}

/* Whether rows of the transpose ascend as they should. */
static bool ascends(const uint32_t *row, uint64_t n, bool strictly)
{
    for (uint64_t i = 1; i < n; i++)
        if (row[i] < row[i - 1] || (strictly && row[i] == row[i - 1])) return false;
    return true;
}

static list list_of_rows(const dcsr_i_rows *rows)
{
    list l = {0};
    size_t size = dcsr_type_size(rows->type);
    for (uint64_t col = 0; col < rows->rows; col++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, col, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++)
                append(&l, rows->columns[i], col, size ? oracle_value(rows->type, rows->values, i) : 0);
    }
    return l;
}

/* Combines what stands in one place, in order of time. */
static void combine(list *l, const oracle *model)
{
    uint64_t length = 0;
    for (uint64_t i = 0; i < l->length; i++) {
        triple *last = l->triple + length - 1;
        if (length && !by_place(last, &l->triple[i]))
            last->value = oracle_combine(model->type, model->policy, last->value, l->triple[i].value);
        else
            l->triple[length++] = l->triple[i];
    }
    l->length = length;
}

static bool same_lists(list *shown, list *wanted, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    bool keep = model->policy == DCSR_POLICY_KEEP;
    if (wanted->length) qsort(wanted->triple, wanted->length, sizeof(triple), keep ? by_value : by_time);
    if (shown->length) qsort(shown->triple, shown->length, sizeof(triple), keep ? by_value : by_time);
    if (!keep && flags & DCSR_VIEW_DUPLICATES) combine(shown, model);
    for (uint64_t i = 0; i < shown->length && i < wanted->length; i++) {
        const triple *x = &shown->triple[i], *y = &wanted->triple[i];
        if (!by_place(x, y) && x->value == y->value) continue;
        snprintf(why, TEST_WHY,
                 "flags %u, entry %" PRIu64 ": column %" PRIu64 ", row %" PRIu64 ", %#" PRIx64
                 ", not %" PRIu64 ", %" PRIu64 ", %#" PRIx64,
                 flags, i, x->col, x->row, x->value, y->col, y->row, y->value);
        return false;
    }
    if (shown->length == wanted->length) return true;
    snprintf(why, TEST_WHY, "flags %u: the transpose has %" PRIu64 " entries, not %" PRIu64, flags,
             shown->length, wanted->length);
    return false;
}

static bool rows_match(const dcsr_i_rows *rows, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    if (rows->rows != model->cols || rows->cols != model->rows || rows->type != model->type ||
        rows->on_device) {
        snprintf(why, TEST_WHY, "the transpose is %" PRIu64 " x %" PRIu64 " of %s", rows->rows, rows->cols,
                 dcsr_type_name(rows->type));
        return false;
    }
    list shown = list_of_rows(rows), wanted = list_of_model(model);
    bool same = same_lists(&shown, &wanted, model, flags, why);
    free(shown.triple);
    free(wanted.triple);
    return same;
}

/* The arrays of a CSC view. */
static bool arrays_match(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    dcsr_csc csc;
    if (dcsr_view_get_csc_on_host(view, &csc) != DCSR_OK) {
        snprintf(why, TEST_WHY, "dcsr_view_get_csc_on_host: %s", dcsr_thread_error());
        return false;
    }
    bool strictly = model->policy != DCSR_POLICY_KEEP && !(flags & DCSR_VIEW_DUPLICATES);
    if (csc.offsets[0] != 0 || csc.offsets[csc.cols] != csc.nnz || !csc.values != !dcsr_type_size(csc.type)) {
        snprintf(why, TEST_WHY, "the CSC structure does not fit");
        return false;
    }
    for (uint64_t col = 0; col < csc.cols; col++)
        if (!ascends(csc.row_indices + csc.offsets[col], csc.offsets[col + 1] - csc.offsets[col], strictly)) {
            snprintf(why, TEST_WHY, "flags %u: the rows of column %" PRIu64 " do not ascend", flags, col);
            return false;
        }
    dcsr_i_rows rows = {.type = csc.type,
                        .rows = csc.cols,
                        .cols = csc.rows,
                        .offsets = csc.offsets,
                        .columns = csc.row_indices,
                        .values = csc.values};
    return rows_match(&rows, model, flags, why);
}

static bool there_matches(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    dcsr_i_rows rows;
    dcsr_i_csr *copy = NULL;
    dcsr_status status = test_there->transposed(&rows, view);
    if (status == DCSR_OK) status = view->matrix->engine->download(&copy, view->context, &rows);
    if (status != DCSR_OK || !test_there->transpose_is_ready(view)) {
        snprintf(why, TEST_WHY, "dcsr_i_cuda_view_transposed: %s",
                 status == DCSR_OK ? "not ready" : dcsr_thread_error());
        dcsr_i_csr_release(copy);
        return false;
    }
    rows = dcsr_i_rows_of_csr(copy);
    bool same = rows_match(&rows, model, flags, why);
    dcsr_i_csr_release(copy);
    return same;
}

bool test_transpose_is_ready(dcsr_view *view)
{
    return view->form[0].rows.on_device ? test_there->transpose_is_ready(view)
                                        : dcsr_i_view_transpose_is_ready(view);
}

bool test_has_twin(dcsr_matrix *matrix)
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_i_rows *rows;
    dcsr_i_rows there;
    bool ready = test_transpose_is_ready(view);
    if (view->form[0].rows.on_device) {
        TEST_OK(test_there->transposed(&there, view));
        rows = &there;
    } else {
        TEST_OK(dcsr_i_view_transposed(&rows, view));
    }
    cr_assert(ready == (rows->table != NULL), "the transpose is ready: %d, but the rows are not", ready);
    dcsr_view_destroy(view);
    return ready;
}

bool test_transpose_matches(dcsr_view *view, const oracle *model, unsigned flags, char why[TEST_WHY])
{
    const dcsr_i_rows *rows;
    if (dcsr_i_view_transposed(&rows, view) != DCSR_OK) {
        snprintf(why, TEST_WHY, "dcsr_i_view_transposed: %s", dcsr_thread_error());
        return false;
    }
    if (!dcsr_i_view_transpose_is_ready(view)) {
        snprintf(why, TEST_WHY, "a transpose that was given is not ready");
        return false;
    }
    if (!rows_match(rows, model, flags, why)) return false;
    if (view->form[0].rows.on_device && !there_matches(view, model, flags, why)) return false;
    return dcsr_i_view_layout(view) != DCSR_LAYOUT_CSC || arrays_match(view, model, flags, why);
}

bool test_matrix_transposes(dcsr_matrix *matrix, const oracle *model, char why[TEST_WHY])
{
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++)
        for (unsigned flags = 0; flags <= (DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED); flags++) {
            dcsr_view *view = NULL;
            if (dcsr_view_create(&view, matrix, (dcsr_layout)layout, flags) != DCSR_OK) {
                snprintf(why, TEST_WHY, "dcsr_view_create: %s", dcsr_thread_error());
                return false;
            }
            bool same = test_transpose_matches(view, model, flags, why);
            dcsr_view_destroy(view);
            if (!same) return false;
        }
    return true;
}
