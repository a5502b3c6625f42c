/* result_collect.c: results of matrices whose entries are on a device: rows are collected in host memory,
 * each thread's in arrays of its own, and put together as CSR, which the engine then makes the content. */
#include "dcsr/store/result.h"
#include <string.h>

/* The entries of a page of 64 rows: so many from `at` on in the arrays of a thread. */
typedef struct place {
    uint64_t at, entries;
    int thread;
} place;

struct dcsr_i_collected {
    uint64_t *offsets; /* rows + 1; until all is collected, the lengths of rows */
    place *places;
    uint64_t rows, pages;
};

dcsr_status dcsr_i_collect_begin(dcsr_i_result *result)
{
    dcsr_context *context = result->matrix->context;
    struct dcsr_i_collected *c = dcsr_i_calloc(context, DCSR_I_SCRATCH, 1, sizeof *c);
    if (!c) return DCSR_ERROR_OUT_OF_MEMORY;
    result->collected = c;
    c->rows = result->matrix->versions.current->rows;
    result->csr = (dcsr_csr){
        .rows = c->rows, .cols = result->matrix->versions.current->cols, .type = result->matrix->type};
    c->offsets = dcsr_i_calloc(context, DCSR_I_SCRATCH, c->rows + 1, sizeof *c->offsets);
    if (!c->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    c->pages = (c->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    c->places = dcsr_i_calloc(context, DCSR_I_SCRATCH, c->pages, sizeof *c->places);
    return c->places ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status make_arrays(dcsr_i_result *result, uint64_t entries)
{
    dcsr_context *context = result->matrix->context;
    size_t size = result->matrix->value_size;
    result->csr.nnz = entries;
    result->csr.offsets = result->collected->offsets;
    result->csr.col_indices = dcsr_i_alloc(context, DCSR_I_SCRATCH, entries, sizeof *result->csr.col_indices);
    if (!result->csr.col_indices) return DCSR_ERROR_OUT_OF_MEMORY;
    if (size) result->csr.values = dcsr_i_alloc(context, DCSR_I_SCRATCH, entries, size);
    return size && !result->csr.values ? DCSR_ERROR_OUT_OF_MEMORY : DCSR_OK;
}

static void free_arrays(dcsr_i_result *result, dcsr_i_result_thread *t)
{
    dcsr_context *context = result->matrix->context;
    dcsr_i_free(context, DCSR_I_SCRATCH, t->columns, t->end, sizeof *t->columns);
    dcsr_i_free(context, DCSR_I_SCRATCH, t->values, t->end, result->matrix->value_size);
}

dcsr_status dcsr_i_collect_room(dcsr_i_result *result, int thread, uint64_t entries)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    dcsr_context *context = result->matrix->context;
    size_t size = result->matrix->value_size;
    if (t->end - t->next >= entries && t->columns) return DCSR_OK;
    uint64_t least = t->next + (entries > result->slab ? entries : result->slab),
             capacity = least > 2 * t->end ? least : 2 * t->end;
    uint32_t *columns = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *columns);
    char *values = columns ? dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, size) : NULL;
    if (!values) {
        dcsr_i_free(context, DCSR_I_SCRATCH, columns, capacity, sizeof *columns);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (t->next) {
        memcpy(columns, t->columns, t->next * sizeof *columns);
        memcpy(values, t->values, t->next * size);
    }
    free_arrays(result, t);
    t->columns = columns;
    t->values = values;
    t->end = capacity;
    return DCSR_OK;
}

void dcsr_i_collect_add(dcsr_i_result *result, int thread, uint64_t first, unsigned count,
                        const uint32_t *lengths)
{
    struct dcsr_i_collected *c = result->collected;
    place *at = &c->places[first >> DCSR_I_PAGE_SHIFT];
    if (!at->entries) *at = (place){.at = result->thread[thread].next, .thread = thread};
    for (unsigned r = 0; r < count; r++) {
        c->offsets[first + r] = lengths[r];
        at->entries += lengths[r];
    }
}

/* The entries of all pages in order. */
static dcsr_status put_together(dcsr_i_result *result)
{
    struct dcsr_i_collected *c = result->collected;
    size_t size = result->matrix->value_size;
    uint64_t sum = 0, to = 0;
    for (uint64_t i = 0; i <= c->rows; i++) {
        uint64_t length = c->offsets[i];
        c->offsets[i] = sum;
        sum += length;
    }
    DCSR_TRY(make_arrays(result, sum));
    for (uint64_t p = 0; p < c->pages; to += c->places[p++].entries) {
        const place *from = &c->places[p];
        if (!from->entries) continue;
        const dcsr_i_result_thread *t = &result->thread[from->thread];
        memcpy((uint32_t *)result->csr.col_indices + to, t->columns + from->at,
               from->entries * sizeof *t->columns);
        if (size)
            memcpy((char *)result->csr.values + to * size, t->values + from->at * size, from->entries * size);
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_collect_publish(dcsr_i_result *result)
{
    DCSR_TRY(put_together(result));
    return result->matrix->engine->replace(result->matrix, &result->csr);
}

void dcsr_i_collect_end(dcsr_i_result *result)
{
    dcsr_context *context = result->matrix->context;
    struct dcsr_i_collected *c = result->collected;
    size_t size = result->matrix->value_size;
    for (int i = 0; result->thread && i < result->threads; i++) free_arrays(result, &result->thread[i]);
    dcsr_i_free(context, DCSR_I_SCRATCH, (void *)result->csr.col_indices, result->csr.nnz, sizeof(uint32_t));
    dcsr_i_free(context, DCSR_I_SCRATCH, (void *)result->csr.values, result->csr.nnz, size);
    if (!c) return;
    dcsr_i_free(context, DCSR_I_SCRATCH, c->offsets, c->rows + 1, sizeof *c->offsets);
    dcsr_i_free(context, DCSR_I_SCRATCH, c->places, c->pages, sizeof *c->places);
    dcsr_i_free(context, DCSR_I_SCRATCH, c, 1, sizeof *c);
}
