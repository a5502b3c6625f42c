/* slices.c: rows in slices of eight, one a lane. */
#include "ops/spmv/portfolio/slices.h"
#include "ops/spmv/portfolio/arithmetics.h"
#include <string.h>

enum {
    ROWS = DCSR_I_SLICE_ROWS,
    PART = DCSR_I_SLICE_PART,
    TILE = DCSR_I_SLICE_TILE,
    CHUNK = DCSR_I_SLICE_CHUNK
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

dcsr_i_slice_arrays dcsr_i_slice_arrays_of(const dcsr_i_slice_block *block, size_t size)
{
    const size_t column = block->narrow ? sizeof(uint16_t) : sizeof(uint32_t);
    dcsr_i_slice_arrays a = {.slices = (dcsr_i_slice *)(block + 1)};
    a.values = a.slices + block->slices;
    a.columns = (char *)a.values + aligned(block->entries * size);
    a.rest_values = (char *)a.columns + aligned(block->entries * column);
    a.rest_columns = (uint32_t *)((char *)a.rest_values + aligned(block->rest * size));
    a.rest_rows = (uint16_t *)((char *)a.rest_columns + aligned(block->rest * sizeof *a.rest_columns));
    return a;
}

/* ---- Making blocks ---- */

uint64_t dcsr_i_slice_cut(dcsr_i_slice_part *parts, uint64_t row, uint64_t from, uint64_t end)
{
    uint64_t count = 0;
    for (; from < end; from += PART)
        parts[count++] =
            (dcsr_i_slice_part){from, (uint16_t)row, (uint16_t)(end - from < PART ? end - from : PART)};
    return count;
}

/* By counting, stably. */
void dcsr_i_slice_sort(dcsr_i_slice_part *parts, dcsr_i_slice_part *spare, uint64_t count)
{
    uint64_t begin[PART + 2] = {0};
    for (uint64_t p = 0; p < count; p++) begin[PART - parts[p].length + 1]++;
    for (int length = 0; length <= PART; length++) begin[length + 1] += begin[length];
    for (uint64_t p = 0; p < count; p++) spare[begin[PART - parts[p].length]++] = parts[p];
    memcpy(parts, spare, count * sizeof *parts);
}

/* Parts 8 s and after of a block. */
static dcsr_i_slice slice_of(const dcsr_i_slice_part *parts, uint64_t count, uint64_t s, uint64_t least)
{
    dcsr_i_slice slice = {.steps = (uint32_t)least, .common = UINT32_MAX};
    for (uint64_t lane = 0; lane < ROWS; lane++) {
        const uint64_t p = s * ROWS + lane;
        const uint16_t length = p < count ? parts[p].length : 0;
        slice.rows[lane] = p < count ? parts[p].row : 0;
        slice.lengths[lane] = length;
        if (length > slice.steps) slice.steps = length;
        if (length < slice.common) slice.common = length;
    }
    return slice;
}

dcsr_i_slice_block dcsr_i_slice_measure(const dcsr_i_slice_part *parts, uint64_t count, uint64_t least,
                                        uint64_t rest, size_t size, bool narrow)
{
    dcsr_i_slice_block block = {
        .slices = (count + ROWS - 1) / ROWS, .rest = rest, .least = least, .narrow = narrow};
    for (uint64_t s = 0; s < block.slices; s++)
        block.entries += (uint64_t)slice_of(parts, count, s, least).steps * ROWS;
    const dcsr_i_slice_arrays a = dcsr_i_slice_arrays_of(&block, size);
    block.bytes = (uint64_t)((char *)a.rest_rows - (char *)&block) + aligned(rest * sizeof *a.rest_rows);
    return block;
}

/* Entry `from` of the chunk to place `to` of the block. */
static void put(const dcsr_i_slice_arrays *a, uint64_t to, bool narrow, uint32_t column, const char *value,
                size_t size)
{
    if (narrow)
        ((uint16_t *)a->columns)[to] = (uint16_t)column;
    else
        ((uint32_t *)a->columns)[to] = column;
    memcpy((char *)a->values + to * size, value, size);
}

void dcsr_i_slice_fill(void *memory, const dcsr_i_slice_block *block, const dcsr_i_slice_part *parts,
                       uint64_t count, const uint32_t *columns, const char *values, size_t size)
{
    static const char nothing[sizeof(uint64_t)];
    memcpy(memory, block, sizeof *block);
    const dcsr_i_slice_arrays a = dcsr_i_slice_arrays_of(memory, size);
    uint64_t to = 0;
    for (uint64_t s = 0; s < block->slices; s++) {
        a.slices[s] = slice_of(parts, count, s, block->least);
        a.slices[s].begin = to;
        for (uint64_t k = 0; k < a.slices[s].steps; k++)
            for (uint64_t lane = 0; lane < ROWS; lane++, to++) {
                const bool there = k < a.slices[s].lengths[lane];
                const uint64_t from = there ? parts[s * ROWS + lane].from + k : 0;
                put(&a, to, block->narrow, there ? columns[from] : 0, there ? values + from * size : nothing,
                    size);
            }
    }
}

/* ---- Chunks of one block ---- */

uint64_t dcsr_i_slice_measure_chunk(const dcsr_i_spmv_chunk *c, uint64_t width, uint64_t least, bool sorted)
{
    dcsr_i_slice_work *w = c->work;
    uint64_t rest = 0;
    w->count = 0;
    w->width = width;
    for (uint64_t r = 0; r < c->rows; r++) {
        const uint64_t n = c->begin[r + 1] - c->begin[r], sliced = n < width ? n : width;
        w->count += dcsr_i_slice_cut(w->parts + w->count, r, c->begin[r], c->begin[r] + sliced);
        rest += n - sliced;
    }
    if (sorted) dcsr_i_slice_sort(w->parts, w->parts + w->count, w->count);
    w->block = dcsr_i_slice_measure(w->parts, w->count, least, rest, c->size, false);
    return sizeof(dcsr_i_slice_chunk) + w->block.bytes;
}

void dcsr_i_slice_fill_chunk(void *memory, const dcsr_i_spmv_chunk *c)
{
    const dcsr_i_slice_work *w = c->work;
    dcsr_i_slice_chunk *made = memory;
    made->blocks = 1;
    dcsr_i_slice_fill(made + 1, &w->block, w->parts, w->count, c->columns, c->values, c->size);
    const dcsr_i_slice_arrays a = dcsr_i_slice_arrays_of((dcsr_i_slice_block *)(made + 1), c->size);
    uint64_t to = 0;
    for (uint64_t r = 0; w->block.rest && r < c->rows; r++)
        for (uint64_t e = c->begin[r] + w->width; e < c->begin[r + 1]; e++, to++) {
            a.rest_rows[to] = (uint16_t)r;
            a.rest_columns[to] = c->columns[e];
            memcpy((char *)a.rest_values + to * c->size, c->values + e * c->size, c->size);
        }
}

/* ---- Products ---- */

typedef void slice_function(void *y, uint64_t rows, const dcsr_i_slice_chunk *chunk, const void *x,
                            const void *tiles);
#define SPMV_BODY "ops/spmv/portfolio/slices.inc"
#include "ops/spmv/portfolio/arithmetics.inc"
static slice_function *const functions[DCSR_I_SPMV_LEVELS][DCSR_TYPE_COUNT] = SPMV_INSTANCES(run_slices);

dcsr_status dcsr_i_slice_run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,
                             const dcsr_i_spmv_chunks *chunks, const void *tiles)
{
    slice_function *function = SPMV_INSTANCE(functions, dcsr_i_spmv_level_now(), A->info.type);
    const size_t size = dcsr_type_size(A->vector_type);
#pragma omp parallel for schedule(dynamic, 1) num_threads(product->threads) if (product->threads > 1)
    for (uint64_t c = 0; c < chunks->count; c++) {
        const uint64_t first = c * CHUNK, left = A->info.rows - first;
        function((char *)product->y + first * size, left < CHUNK ? left : CHUNK, chunks->chunk[c], product->x,
                 tiles);
    }
    return DCSR_OK;
}
