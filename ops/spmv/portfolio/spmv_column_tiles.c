/* spmv_column_tiles.c: the kernel `column_tiles`: the columns that most entries are in come first, in tiles that the
 * second-level cache holds.
 *
 * In graphs few vertices have most of the edges, but their numbers are anywhere: a line of the cache that is read for
 * one of their elements of x has seven others beside it that nobody wants. So columns are put in order of their
 * entries, and of the first ones x is copied for each product:
 *
 *      x            order[0] order[1] ...           copied: tile 0, of 65536 columns | tile 1 | ...
 *      chunk        slices that read tile 0 | slices that read tile 1 | ... | slices that read x itself
 *
 * Within a tile a column takes 16 bits. A tile is made as long as it has an entry for each row, and for each element of
 * x that is copied; columns that few rows have stay where they are. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/sort.h"
#include "ops/spmv/portfolio/slices.h"
#include <string.h>

enum { TILE = DCSR_I_SLICE_TILE, MOST_TILES = 8 };

/* Which columns are hot, while the format is made or measured. */
typedef struct tile_columns {
    uint64_t tiles, hot; /* hot columns are in tiles */
    uint32_t *order;     /* hot columns, those of most entries first: cols */
    uint32_t *rank;      /* the place of each column in that, UINT32_MAX if it is not hot: cols */
} tile_columns;

typedef struct tile_format {
    dcsr_i_spmv_chunks *chunks;
    uint64_t hot;
    uint32_t *order; /* hot */
    void *x;         /* its elements in that order, copied for each product */
} tile_format;

/* ---- Columns in order ---- */

static void free_columns(tile_columns *t, const dcsr_i_spmv_matrix *A)
{
    dcsr_i_free(A->context, DCSR_I_SCRATCH, t->order, A->info.cols, sizeof *t->order);
    dcsr_i_free(A->context, DCSR_I_SCRATCH, t->rank, A->info.cols, sizeof *t->rank);
}

/* Entries of each column. */
static uint64_t count_entries(uint64_t *count, const dcsr_i_spmv_matrix *A)
{
    uint64_t most = 0;
    for (uint64_t row = 0; row < A->info.rows; row++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        const int n = dcsr_i_rows_pieces(A->rows, row, pieces);
        for (int p = 0; p < n; p++)
            for (uint64_t k = 0; k < pieces[p].length; k++) count[A->rows->columns[pieces[p].begin + k]]++;
    }
    for (uint64_t j = 0; j < A->info.cols; j++) most = count[j] > most ? count[j] : most;
    return most;
}

/* Of columns by entries, ascending (entries in the upper half of a word, as far as these tell), which are hot. */
static void choose_tiles(tile_columns *t, const uint64_t *sorted, const dcsr_i_spmv_matrix *A)
{
    const uint64_t cols = A->info.cols;
    memset(t->rank, 0xff, cols * sizeof *t->rank);
    for (bool pays = true; pays && t->tiles < MOST_TILES && t->hot < cols;) {
        const uint64_t end = cols - t->hot < TILE ? cols : t->hot + TILE;
        uint64_t entries = 0;
        for (uint64_t k = t->hot; k < end; k++) entries += sorted[cols - 1 - k] >> 32;
        pays = entries >= A->info.rows && entries >= end - t->hot;
        for (uint64_t k = t->hot; pays && k < end; k++) {
            t->order[k] = (uint32_t)sorted[cols - 1 - k];
            t->rank[t->order[k]] = (uint32_t)k;
        }
        if (pays) t->hot = end, t->tiles++;
    }
}

static dcsr_status find_columns(tile_columns *t, const dcsr_i_spmv_matrix *A)
{
    const uint64_t cols = A->info.cols;
    *t = (tile_columns){.order = dcsr_i_alloc(A->context, DCSR_I_SCRATCH, cols, sizeof *t->order),
                        .rank = dcsr_i_alloc(A->context, DCSR_I_SCRATCH, cols, sizeof *t->rank)};
    uint64_t *keys = dcsr_i_calloc(A->context, DCSR_I_SCRATCH, cols, 2 * sizeof *keys);
    const bool there = t->order && t->rank && keys;
    if (there) {
        const uint64_t most = count_entries(keys, A);
        for (uint64_t j = 0; j < cols; j++) keys[j] = (keys[j] < UINT32_MAX ? keys[j] : UINT32_MAX) << 32 | j;
        const int bits = dcsr_i_bits_for((most < UINT32_MAX ? most : UINT32_MAX) + 1);
        choose_tiles(t, dcsr_i_sort(keys, keys + cols, cols, 1, 32, bits, dcsr_i_spmv_threads(A)), A);
    }
    dcsr_i_free(A->context, DCSR_I_SCRATCH, keys, cols, 2 * sizeof *keys);
    if (there) return DCSR_OK;
    free_columns(t, A);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

/* ---- Chunks ---- */

/* The work memory of a chunk, whose arrays are behind it. */
typedef struct tile_work {
    dcsr_i_slice_block blocks[MOST_TILES + 1];
    uint64_t counts[MOST_TILES + 1]; /* parts of each */
    uint64_t (*ends)[MOST_TILES];    /* of each row: where its entries of each tile end */
    char *values;                    /* the entries, each row's by tile */
    uint32_t *columns;               /* hot ones by rank */
    dcsr_i_slice_part *parts;        /* of all tiles, one after the other, and room to sort those of one */
} tile_work;

static void lay_out(tile_work *w, const dcsr_i_spmv_chunk *c)
{
    const uint64_t entries = c->begin[c->rows];
    w->ends = (uint64_t(*)[MOST_TILES])(w + 1);
    w->values = (char *)(w->ends + c->rows);
    w->parts = (dcsr_i_slice_part *)(w->values + entries * sizeof(uint64_t));
    w->columns = (uint32_t *)(w->parts + c->rows * (MOST_TILES + 2) + entries / (DCSR_I_SLICE_PART / 2));
}

/* Of a row: hot entries by tile, the others last. */
static void order_row(const tile_work *w, const dcsr_i_spmv_chunk *c, uint64_t row)
{
    const tile_columns *t = c->common;
    uint64_t at[MOST_TILES + 2] = {0};
    for (uint64_t e = c->begin[row]; e < c->begin[row + 1]; e++) {
        const uint32_t rank = t->rank[c->columns[e]];
        at[(rank < t->hot ? rank / TILE : t->tiles) + 1]++;
    }
    at[0] = c->begin[row];
    for (uint64_t tile = 0; tile < t->tiles; tile++) at[tile + 1] += at[tile];
    for (uint64_t e = c->begin[row]; e < c->begin[row + 1]; e++) {
        const uint32_t column = c->columns[e], rank = t->rank[column];
        const uint64_t to = at[rank < t->hot ? rank / TILE : t->tiles]++;
        w->columns[to] = rank < t->hot ? rank : column;
        memcpy(w->values + to * c->size, c->values + e * c->size, c->size);
    }
    memcpy(w->ends[row], at, t->tiles * sizeof *at);
}

/* Parts of a tile, or of what is in none. */
static uint64_t cut_tile(dcsr_i_slice_part *parts, uint64_t tile, const tile_work *w,
                         const dcsr_i_spmv_chunk *c)
{
    const uint64_t tiles = ((const tile_columns *)c->common)->tiles;
    uint64_t count = 0;
    for (uint64_t r = 0; r < c->rows; r++)
        count += dcsr_i_slice_cut(parts + count, r, tile ? w->ends[r][tile - 1] : c->begin[r],
                                  tile < tiles ? w->ends[r][tile] : c->begin[r + 1]);
    dcsr_i_slice_sort(parts, parts + count, count);
    return count;
}

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    tile_work *w = c->work;
    const tile_columns *t = c->common;
    uint64_t bytes = sizeof(dcsr_i_slice_chunk);
    lay_out(w, c);
    for (uint64_t r = 0; r < c->rows; r++) order_row(w, c, r);
    dcsr_i_slice_part *parts = w->parts;
    for (uint64_t tile = 0; tile <= t->tiles; tile++) {
        w->counts[tile] = cut_tile(parts, tile, w, c);
        w->blocks[tile] = dcsr_i_slice_measure(parts, w->counts[tile], 0, 0, c->size, tile < t->tiles);
        bytes += w->blocks[tile].bytes;
        parts += w->counts[tile];
    }
    return bytes;
}

static void fill_chunk(void *memory, const dcsr_i_spmv_chunk *c)
{
    const tile_work *w = c->work;
    dcsr_i_slice_chunk *made = memory;
    const dcsr_i_slice_part *parts = w->parts;
    char *to = (char *)(made + 1);
    made->blocks = ((const tile_columns *)c->common)->tiles + 1;
    for (uint64_t b = 0; b < made->blocks; b++) {
        dcsr_i_slice_fill(to, &w->blocks[b], parts, w->counts[b], w->columns, w->values, c->size);
        parts += w->counts[b];
        to += w->blocks[b].bytes;
    }
}

static const dcsr_i_spmv_chunked chunked = {.rows = DCSR_I_SLICE_CHUNK,
                                            .work_row = sizeof(uint64_t[MOST_TILES]) +
                                                        (MOST_TILES + 2) * sizeof(dcsr_i_slice_part) + 1,
                                            .work_entry = sizeof(uint64_t) + sizeof(uint32_t) + 1,
                                            .measure = measure_chunk,
                                            .fill = fill_chunk};

/* ---- The format ---- */

static dcsr_status measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A)
{
    tile_columns t;
    DCSR_TRY(find_columns(&t, A));
    const dcsr_status status = dcsr_i_spmv_chunks_measure(bytes, &chunked, A, &t);
    *bytes += sizeof(tile_format) + t.hot * (sizeof *t.order + dcsr_type_size(A->vector_type));
    free_columns(&t, A);
    return status;
}

static void discard(void *format, const dcsr_i_spmv_matrix *A)
{
    tile_format *f = format;
    if (!f) return;
    dcsr_i_spmv_chunks_discard(f->chunks, A);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->order, f->hot, sizeof *f->order);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->x, f->hot, dcsr_type_size(A->vector_type));
    dcsr_i_free(A->context, DCSR_I_MATRIX, f, 1, sizeof *f);
}

static dcsr_status build(void **format, const dcsr_i_spmv_matrix *A)
{
    tile_columns t;
    *format = NULL;
    DCSR_TRY(find_columns(&t, A));
    tile_format *f = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *f);
    if (f) {
        f->hot = t.hot;
        f->order = dcsr_i_alloc(A->context, DCSR_I_MATRIX, t.hot, sizeof *f->order);
        f->x = dcsr_i_alloc(A->context, DCSR_I_MATRIX, t.hot, dcsr_type_size(A->vector_type));
    }
    dcsr_status status = f && f->order && f->x ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (!status) status = dcsr_i_spmv_chunks_build(&f->chunks, &chunked, A, &t);
    if (!status) memcpy(f->order, t.order, t.hot * sizeof *f->order);
    free_columns(&t, A);
    if (status)
        discard(f, A);
    else
        *format = f;
    return status;
}

/* to[k] = x[order[k]] */
static void copy_hot(void *to, const void *x, const uint32_t *order, uint64_t n, size_t size, int threads)
{
    char *copy = to;
    const char *from = x;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t k = 0; k < n; k++) {
        if (size == sizeof(uint64_t)) /* what most have, in one move */
            memcpy(copy + k * sizeof(uint64_t), from + order[k] * sizeof(uint64_t), sizeof(uint64_t));
        else
            memcpy(copy + k * size, from + order[k] * size, size);
    }
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const tile_format *f = format;
    copy_hot(f->x, product->x, f->order, f->hot, dcsr_type_size(A->vector_type), product->threads);
    return dcsr_i_slice_run(product, A, f->chunks, f->x);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_column_tiles = {
    .told = {.name = "column_tiles",
             .summary = "columns of most entries first, in tiles that the second-level cache holds"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure,
    .build = build,
    .run = run,
    .discard = discard,
};
