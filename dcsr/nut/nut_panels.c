/* nut_panels.c: the tiles of panels, made on the cpu: a panel by one thread.
 *
 *      mark      a bit for each column that is active, and how many there are before each word of bits
 *      count     items of each tile: entries, and a marker for each row that has some there
 *      deal      row by row, each entry to the tile of its column; a tile's items follow one another, so that it
 *                takes a pen for each tile that knows the next place
 *
 * The number of an active column is a count of bits; so columns are never sorted, and each entry is read three times
 * while its panel is in cache. */
#include "dcsr/nut/nut_tiles.h"
#include "dcsr/store/store.h"
#include <stdatomic.h>
#include <string.h>

/* Where the next item of a tile goes. */
typedef struct pen {
    int16_t *indices;
    char *values;
    uint64_t lane, row, height, higher; /* lanes below `higher` have one item more than `height` */
} pen;

/* A tile as it is counted. */
typedef struct counted {
    uint64_t entries, rows;
} counted;

/* What one thread works with. */
typedef struct worker {
    dcsr_context *context;
    const dcsr_i_rows *rows;
    const dcsr_i_nut_budget *budget;
    size_t value_size;
    bool measures;
    uint64_t words;
    uint64_t *bits;                 /* of active columns, all clear between panels */
    uint32_t *before;               /* active columns before each word */
    uint64_t first_word, words_end; /* in which there are any */
    /* One row: the numbers of its active columns, ascending, and where its entries are. */
    uint32_t *number;
    uint64_t *place, *keys, *spare;
    uint64_t capacity, length;
} worker;

static bool open_worker(worker *w, const dcsr_i_nut_order *order)
{
    *w = (worker){.context = order->context,
                  .rows = order->rows,
                  .budget = &order->budget,
                  .measures = order->measures,
                  .value_size = dcsr_type_size(order->rows->type),
                  .words = order->rows->cols / 64 + 1};
    w->bits = dcsr_i_calloc(w->context, DCSR_I_SCRATCH, w->words, sizeof *w->bits);
    w->before = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->words, sizeof *w->before);
    return w->bits && w->before;
}

static void free_row(worker *w)
{
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->number, w->capacity, sizeof *w->number);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->place, w->capacity, sizeof *w->place);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->keys, w->capacity, sizeof *w->keys);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->spare, w->capacity, sizeof *w->spare);
}

static void close_worker(worker *w)
{
    free_row(w);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->before, w->words, sizeof *w->before);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->bits, w->words, sizeof *w->bits);
}

/* ---- Active columns ---- */

static void mark(worker *w, const dcsr_nut_panel *panel)
{
    w->first_word = w->words;
    w->words_end = 0;
    for (uint64_t row = panel->row; row < panel->row + panel->rows; row++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        const int pieces_there = dcsr_i_rows_pieces(w->rows, row, pieces);
        for (int k = 0; k < pieces_there; k++)
            for (uint64_t e = pieces[k].begin; e < pieces[k].begin + pieces[k].length; e++) {
                const uint32_t column = w->rows->columns[e];
                const uint64_t word = column >> 6;
                w->bits[word] |= (uint64_t)1 << (column & 63);
                if (word < w->first_word) w->first_word = word;
                if (word >= w->words_end) w->words_end = word + 1;
            }
    }
}

/* Numbers the active columns; returns how many they are. */
static uint64_t number_columns(worker *w)
{
    uint32_t n = 0;
    for (uint64_t word = w->first_word; word < w->words_end; word++) {
        w->before[word] = n;
        n += (uint32_t)__builtin_popcountll(w->bits[word]);
    }
    return n;
}

/* Writes the active columns, and clears the bits. */
static void take_columns(worker *w, uint32_t *columns)
{
    for (uint64_t word = w->first_word; word < w->words_end; word++) {
        for (uint64_t bits = w->bits[word]; bits; bits &= bits - 1)
            *columns++ = (uint32_t)(word << 6) | (unsigned)__builtin_ctzll(bits);
        w->bits[word] = 0;
    }
}

/* ---- Rows ---- */

static bool make_room(worker *w, uint64_t n)
{
    enum { LEAST = 1024 };
    if (n <= w->capacity) return true;
    free_row(w);
    w->capacity = 2 * n > LEAST ? 2 * n : LEAST;
    w->number = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->capacity, sizeof *w->number);
    w->place = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->capacity, sizeof *w->place);
    w->keys = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->capacity, sizeof *w->keys);
    w->spare = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->capacity, sizeof *w->spare);
    return w->number && w->place && w->keys && w->spare;
}

/* Brings the entries of the row into the order of their columns; of one, they stay in theirs. */
static void sort_row(worker *w)
{
    for (uint64_t e = 0; e < w->length; e++) w->keys[e] = (uint64_t)w->number[e] << 32 | e;
    const uint64_t *sorted = dcsr_i_keys_sort(w->keys, w->spare, w->length);
    uint64_t *places = sorted == w->keys ? w->spare : w->keys;
    memcpy(places, w->place, w->length * sizeof *places);
    for (uint64_t e = 0; e < w->length; e++) {
        w->number[e] = (uint32_t)(sorted[e] >> 32);
        w->place[e] = places[(uint32_t)sorted[e]];
    }
}

static bool read_row(worker *w, uint64_t row)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int pieces_there = dcsr_i_rows_pieces(w->rows, row, pieces);
    uint64_t length = 0;
    for (int k = 0; k < pieces_there; k++) length += pieces[k].length;
    if (!make_room(w, length)) return false;
    bool ascends = true;
    uint32_t last = 0;
    w->length = 0;
    for (int k = 0; k < pieces_there; k++)
        for (uint64_t e = pieces[k].begin; e < pieces[k].begin + pieces[k].length; e++) {
            const uint32_t column = w->rows->columns[e];
            const uint64_t word = column >> 6, below = ((uint64_t)1 << (column & 63)) - 1;
            const uint32_t number = w->before[word] + (uint32_t)__builtin_popcountll(w->bits[word] & below);
            w->place[w->length] = e;
            w->number[w->length++] = number;
            ascends &= number >= last;
            last = number;
        }
    if (!ascends) sort_row(w);
    return true;
}

/* ---- Tiles ---- */

static bool count_items(worker *w, const dcsr_nut_panel *panel, counted *counts)
{
    const uint32_t columns = w->budget->columns;
    for (uint64_t row = panel->row; row < panel->row + panel->rows; row++) {
        if (!read_row(w, row)) return false;
        for (uint64_t e = 0; e < w->length;) {
            const uint64_t tile = w->number[e] / columns, end = (tile + 1) * columns, begin = e;
            while (e < w->length && w->number[e] < end) e++;
            counts[tile].entries += e - begin;
            counts[tile].rows++;
        }
    }
    return true;
}

/* Says what each tile has; returns the elements of all. */
static uint64_t lay_out(const worker *w, const counted *counts, uint64_t tiles, uint64_t columns,
                        dcsr_nut_tile *tile)
{
    uint64_t begin = 0;
    for (uint64_t t = 0; t < tiles; t++) {
        const uint64_t first = t * w->budget->columns, left = columns - first;
        tile[t] = (dcsr_nut_tile){.begin = begin,
                                  .elements = w->budget->lanes + counts[t].entries + counts[t].rows,
                                  .column = (uint32_t)first,
                                  .columns = left < w->budget->columns ? (uint32_t)left : w->budget->columns};
        begin += dcsr_i_nut_room(tile[t].elements);
    }
    return begin;
}

/* Begins a tile: heads of lanes without items, and what is between it and the next, are markers of row 0. */
static void open_pen(pen *p, const worker *w, const dcsr_nut_panel *panel, const dcsr_nut_tile *tile)
{
    const uint64_t lanes = w->budget->lanes, items = tile->elements - lanes,
                   room = dcsr_i_nut_room(tile->elements);
    int16_t *indices = (int16_t *)panel->indices + tile->begin;
    char *values = w->value_size ? (char *)panel->values + tile->begin * w->value_size : NULL;
    memset(indices, 0xff, lanes * sizeof *indices);
    memset(indices + tile->elements, 0xff, (room - tile->elements) * sizeof *indices);
    if (values) {
        memset(values, 0, lanes * w->value_size);
        memset(values + tile->elements * w->value_size, 0, (room - tile->elements) * w->value_size);
    }
    *p = (pen){.indices = indices, .values = values, .height = items / lanes, .higher = items % lanes};
}

/* Writes the next item, which is of row r; returns the element that it has become. */
static inline uint64_t put(pen *p, uint64_t lanes, int16_t index, uint64_t r)
{
    if (p->row == p->height + (p->lane < p->higher)) {
        p->row = 0;
        p->lane++;
    }
    if (!p->row) p->indices[p->lane] = (int16_t)~r;
    const uint64_t element = ++p->row * lanes + p->lane;
    p->indices[element] = index;
    return element;
}

static inline void copy_value(void *to, uint64_t i, const void *from, uint64_t j, size_t size)
{
    switch (size) {
    case 1:
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[j];
        break;
    case 2:
        memcpy((char *)to + 2 * i, (const char *)from + 2 * j, 2);
        break;
    case 4:
        memcpy((char *)to + 4 * i, (const char *)from + 4 * j, 4);
        break;
    case 8:
        memcpy((char *)to + 8 * i, (const char *)from + 8 * j, 8);
        break;
    }
}

static bool deal(worker *w, const dcsr_nut_panel *panel, pen *pens)
{
    const uint32_t columns = w->budget->columns;
    const uint64_t lanes = w->budget->lanes;
    for (uint64_t r = 0; r < panel->rows; r++) {
        if (!read_row(w, panel->row + r)) return false;
        for (uint64_t e = 0; e < w->length;) {
            const uint64_t tile = w->number[e] / columns, first = tile * columns, end = first + columns;
            pen *p = &pens[tile];
            uint64_t element = put(p, lanes, (int16_t)~r, r);
            if (p->values) memset(p->values + element * w->value_size, 0, w->value_size);
            for (; e < w->length && w->number[e] < end; e++) {
                element = put(p, lanes, (int16_t)(w->number[e] - first), r);
                copy_value(p->values, element, w->rows->values, w->place[e], w->value_size);
            }
        }
    }
    return true;
}

/* Gives the block memory for its tiles, and fills it. */
static bool fill_tiles(worker *w, dcsr_i_nut_block *block, const counted *counts, uint64_t tiles,
                       uint64_t columns)
{
    dcsr_nut_tile *tile = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, tiles, sizeof *tile);
    pen *pens = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, tiles, sizeof *pens);
    bool done = false;
    if (tile && pens && w->measures) {
        block->bytes =
            dcsr_i_nut_layout_of(tiles, columns, lay_out(w, counts, tiles, columns, tile), w->value_size)
                .bytes;
        memset(w->bits + w->first_word, 0, (w->words_end - w->first_word) * sizeof *w->bits);
        done = true;
    } else if (tile && pens) {
        const uint64_t elements = lay_out(w, counts, tiles, columns, tile);
        const dcsr_i_nut_layout layout = dcsr_i_nut_layout_of(tiles, columns, elements, w->value_size);
        block->memory = dcsr_i_alloc(w->context, DCSR_I_MATRIX, layout.bytes, 1);
        if (block->memory) {
            block->bytes = layout.bytes;
            block->shown.tile_count = tiles;
            dcsr_i_nut_show(block, &layout, w->value_size);
            memcpy((void *)block->shown.tiles, tile, tiles * sizeof *tile);
            for (uint64_t t = 0; t < tiles; t++) open_pen(&pens[t], w, &block->shown, &tile[t]);
            done = deal(w, &block->shown, pens);
        }
    }
    dcsr_i_free(w->context, DCSR_I_SCRATCH, pens, tiles, sizeof *pens);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, tile, tiles, sizeof *tile);
    return done;
}

static bool fill_panel(worker *w, dcsr_i_nut_block *block)
{
    mark(w, &block->shown);
    const uint64_t columns = number_columns(w),
                   tiles = (columns + w->budget->columns - 1) / w->budget->columns;
    counted *counts = dcsr_i_calloc(w->context, DCSR_I_SCRATCH, tiles, sizeof *counts);
    const bool done =
        counts && count_items(w, &block->shown, counts) && fill_tiles(w, block, counts, tiles, columns);
    if (done && !w->measures) take_columns(w, (uint32_t *)block->shown.col_indices);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, counts, tiles, sizeof *counts);
    return done;
}

/* ---- All of them ---- */

typedef struct job {
    dcsr_i_nut *nut;
    const dcsr_i_nut_order *order;
    const uint32_t *list;
    uint64_t count;
    _Atomic uint64_t next;
    atomic_bool failed;
} job;

static void fill_some(job *j)
{
    worker w;
    bool works = open_worker(&w, j->order);
    while (works && !atomic_load(&j->failed)) {
        const uint64_t i = atomic_fetch_add(&j->next, 1);
        if (i >= j->count) break;
        works = fill_panel(&w, j->nut->block[j->list[i]]);
    }
    if (!works) atomic_store(&j->failed, true);
    close_worker(&w);
}

dcsr_status dcsr_i_nut_fill_on_host(dcsr_i_nut *nut, const dcsr_i_nut_order *order, const uint32_t *list,
                                    uint64_t count)
{
    job j = {.nut = nut, .order = order, .list = list, .count = count};
    uint64_t entries = 0;
    for (uint64_t i = 0; i < count; i++) entries += nut->block[list[i]]->shown.nnz;
    int threads = dcsr_i_threads(nut->context, entries);
    if ((uint64_t)threads > count) threads = (int)count;
    if (threads <= 1) {
        fill_some(&j);
    } else {
#pragma omp parallel num_threads(threads)
        fill_some(&j);
    }
    return j.failed ? dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "making tiles: no memory for %llu entries",
                                  (unsigned long long)entries)
                    : DCSR_OK;
}
