/* mxv_compact.c: t = M u by rows, where t or u is so long that a place for each of its elements would
 * outweigh all else.
 *
 *      rows of M that have entries in columns of u    5      77      901      ->    0  1  2  ...
 *      columns                                         9  4000000  4000001    ->    their places in u's list
 *
 * What is left is a small CSR and a short, dense vector, which are multiplied as any; the places of the
 * result are row numbers again in the end. So memory and time follow the entries. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/search.h"
#include "ops/mxv/mxv_internal.h"
#include <string.h>

static bool is_listed(const dcsr_i_mxv *x)
{
    return x->mask && dcsr_i_mask_is_list(x->mask);
}

bool dcsr_i_mxv_compacts(const dcsr_i_mxv *x, const dcsr_i_mask *mask, const dcsr_i_body *u)
{
    bool many_rows = !dcsr_i_mask_is_list(mask) && dcsr_i_lines_are_sparse(x->n, x->entries),
         many_columns = !u->dense && dcsr_i_lines_are_sparse(x->length, x->entries + u->nvals);
    return x->rows->table && (many_rows || many_columns);
}

typedef struct compact {
    const dcsr_i_mxv *x;
    const dcsr_i_body *u;
    uint64_t rows, entries; /* there is room for */
    uint64_t *offsets;
    uint32_t *number, *columns;
    char *values;
    uint64_t filled; /* rows */
} compact;

/* Calls visit(c, row) for the rows that the mask's list names, or all that may have entries. */
static void for_rows(compact *c, void (*visit)(compact *c, uint64_t row))
{
    const dcsr_i_mxv *x = c->x;
    if (is_listed(x)) {
        for (uint64_t k = 0; k < x->mask->n; k++) visit(c, x->mask->list[k]);
        return;
    }
    for (uint64_t row = dcsr_i_rows_skip(x->rows, 0); row < x->n; row = dcsr_i_rows_skip(x->rows, row + 1))
        visit(c, row);
}

static void count_row(compact *c, uint64_t row)
{
    uint64_t length = dcsr_i_rows_length(c->x->rows, row);
    c->rows += length != 0;
    c->entries += length;
}

/* The place that a column has in the vector; false if it has none. */
static bool place_of(const dcsr_i_body *u, uint32_t *column)
{
    if (u->dense) return true;
    uint64_t at = dcsr_i_list_find(u->indices, 0, u->nvals, *column);
    if (at == u->nvals || u->indices[at] != *column) return false;
    *column = (uint32_t)at;
    return true;
}

static void fill_row(compact *c, uint64_t row)
{
    const dcsr_i_rows *rows = c->x->rows;
    const size_t size = dcsr_type_size(rows->type);
    uint64_t n = c->offsets[c->filled];
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    for (int k = 0; k < count; k++)
        for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
            uint32_t column = rows->columns[i];
            if (!place_of(c->u, &column)) continue;
            c->columns[n] = column;
            if (size) memcpy(c->values + n * size, (const char *)rows->values + i * size, size);
            n++;
        }
    if (n == c->offsets[c->filled]) return;
    c->number[c->filled++] = (uint32_t)row;
    c->offsets[c->filled] = n;
}

/* The product of what was filled in, and its rows' numbers. */
static dcsr_status multiply(dcsr_i_body *t, dcsr_i_mxv *x, const compact *c)
{
    const dcsr_i_rows rows = {.type = x->rows->type,
                              .rows = c->filled,
                              .cols = c->u->dense ? x->length : c->u->nvals,
                              .offsets = c->offsets,
                              .columns = c->columns,
                              .values = dcsr_type_size(x->rows->type) ? c->values : NULL};
    dcsr_i_body product;
    dcsr_i_mxv small = *x;
    small.rows = &rows;
    small.entries = c->offsets[c->filled];
    small.n = rows.rows;
    small.length = rows.cols;
    small.u_dense = true;
    small.u_bits = c->u->dense ? c->u->present : NULL;
    small.u_values = c->u->values;
    small.mask = NULL;
    small.threads = dcsr_i_threads(x->context, small.entries);
    DCSR_TRY(dcsr_i_mxv_pull(&product, &small));
    dcsr_status status = dcsr_i_body_to_sparse(t, &product, x->context, x->size, small.n);
    dcsr_i_body_free(&product, x->context, x->size);
    for (uint64_t k = 0; status == DCSR_OK && k < t->nvals; k++) t->indices[k] = c->number[t->indices[k]];
    return status;
}

dcsr_status dcsr_i_mxv_compact(dcsr_i_body *t, dcsr_i_mxv *x, const dcsr_i_body *u)
{
    dcsr_context *context = x->context;
    const size_t size = dcsr_type_size(x->rows->type);
    compact c = {.x = x, .u = u};
    for_rows(&c, count_row);
    c.offsets = dcsr_i_alloc(context, DCSR_I_SCRATCH, c.rows + 1, sizeof *c.offsets);
    c.number = dcsr_i_alloc(context, DCSR_I_SCRATCH, c.rows, sizeof *c.number);
    c.columns = dcsr_i_alloc(context, DCSR_I_SCRATCH, c.entries, sizeof *c.columns);
    c.values = dcsr_i_alloc(context, DCSR_I_SCRATCH, c.entries, size);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (c.offsets && c.number && c.columns && c.values) {
        c.offsets[0] = 0;
        for_rows(&c, fill_row);
        status = multiply(t, x, &c);
    }
    x->looked_at = c.entries;
    dcsr_i_free(context, DCSR_I_SCRATCH, c.values, c.entries, size);
    dcsr_i_free(context, DCSR_I_SCRATCH, c.columns, c.entries, sizeof *c.columns);
    dcsr_i_free(context, DCSR_I_SCRATCH, c.number, c.rows, sizeof *c.number);
    dcsr_i_free(context, DCSR_I_SCRATCH, c.offsets, c.rows + 1, sizeof *c.offsets);
    return status;
}
