/* mxv_pull.c: t = M u, row by row, for the rows that the mask allows.
 *
 *      position p      0 1 2 3 ... 63 | 64 ...        row p, or row list[p] where the mask is a list
 *      t               s . s s ... .  | ...           one value a position
 *      found           1 0 1 1 ... 0  | ...           one word a block of 64 positions
 *
 * A block is worked on by one thread; threads take chunks of blocks as they become free. A row that holds a
 * good part of all entries is put off, and then worked on by all of them in parts.
 *
 * Where t or u is so long that a place for each of its elements would outweigh all else, M is made compact:
 *
 *      rows of M that have entries in columns of u    5      77      901      ->    0  1  2  ...
 *      columns                                         9  4000000  4000001    ->    their places in u's list
 *
 * What is left is a small CSR and a short, dense vector, which are multiplied as any; the places of the
 * result are row numbers again in the end. So memory and time follow the entries. */
#include "dcsr/base/alloc.h"
#include "ops/mxv/mxv_internal.h"
#include "ops/spmv/spmv_internal.h"
#include "ops/vector/vector_run.h"
#include <stdatomic.h>
#include <string.h>
#include "dcsr/base/search.h"

enum {
    CHUNKS = 32,      /* that each thread gets, about */
    MOST_BLOCKS = 64, /* in a chunk */
    PARTS = 4,        /* of a long row, for each thread */
    LEAST_LONG_ROW = 1 << 16,
    LONG_ROWS = 8 /* as many make a thread's share of all entries */
};

typedef struct pull {
    dcsr_i_mxv *x;
    const uint32_t *list; /* rows, by position; NULL: all */
    uint64_t positions;
    char *values;
    uint64_t *found;
    uint64_t long_length; /* of a row that is put off */
    uint64_t *long_positions;
    _Atomic uint64_t next_block, long_count, looked_at;
    atomic_bool failed;
} pull;

/* Adds a row's pieces to the sum at `slot` of batch->t. */
static inline void pull_row(const dcsr_i_mxv *x, dcsr_i_mxv_batch *batch, const dcsr_i_piece *pieces,
                            int count, uint32_t slot)
{
    for (int k = 0; k < count; k++) {
        uint64_t at = pieces[k].begin, n = pieces[k].length, bit = (uint64_t)1 << slot;
        bool has = *batch->found & bit;
        if (x->any)
            has = dcsr_i_mxv_any_pull(x, at, n, batch->t, slot, &batch->looked_at);
        else if (x->decided_early && x->u_bits)
            has = dcsr_i_mxv_finish_pull(x, at, n, (bool *)batch->t + slot, has, &batch->looked_at);
        else
            dcsr_i_batch_add(batch, at, n, slot);
        if (!has) continue;
        *batch->found |= bit;
        if (x->any) return;
    }
}

/* The positions of a block that the mask allows, and whose rows are not known to be empty. */
static uint64_t wanted(const pull *p, uint64_t block)
{
    uint64_t left = p->positions - (block << 6), all = left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
    if (p->list) return all;
    if (p->x->mask) all &= dcsr_i_mask_word(p->x->mask, block);
    return all ? all & dcsr_i_rows_in_use(p->x->rows, block) : 0;
}

/* Adds up a row, or puts it off where it is long. */
static inline void pull_pieces(pull *p, dcsr_i_mxv_batch *batch, uint64_t position,
                               const dcsr_i_piece *pieces, int count)
{
    uint64_t length = 0;
    for (int k = 0; k < count; k++) length += pieces[k].length;
    if (length >= p->long_length)
        p->long_positions[atomic_fetch_add_explicit(&p->long_count, 1, memory_order_relaxed)] = position;
    else
        pull_row(p->x, batch, pieces, count, position & 63);
}

/* Rows of a list. */
static void pull_listed(pull *p, dcsr_i_mxv_batch *batch, uint64_t first, uint64_t n)
{
    const dcsr_i_mxv *x = p->x;
    dcsr_i_row_location places[DCSR_I_PAGE_ROWS];
    dcsr_i_rows_locate(places, x->rows, p->list + first, n, dcsr_i_mxv_value_size(x));
    for (uint64_t k = 0; k < n; k++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = places[k].pieces;
        if (count == 1)
            pieces[0] = places[k].first;
        else if (count)
            dcsr_i_rows_pieces(x->rows, p->list[first + k], pieces);
        pull_pieces(p, batch, first + k, pieces, count);
    }
}

/* Rows of a page. */
static void pull_page(pull *p, dcsr_i_mxv_batch *batch, uint64_t block, uint64_t word)
{
    const dcsr_i_rows *rows = p->x->rows;
    const dcsr_i_row_page *page = rows->table ? dcsr_i_page(rows->table, block) : NULL;
    for (; word; word &= word - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(word);
        uint64_t row = block << 6 | slot;
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = page ? dcsr_i_row_pieces(page, slot, pieces) : dcsr_i_rows_pieces(rows, row, pieces);
        pull_pieces(p, batch, row, pieces, count);
    }
}

static void pull_block(pull *p, dcsr_i_mxv_batch *batch, uint64_t block)
{
    const dcsr_i_mxv *x = p->x;
    batch->t = p->values + (block << 6) * x->size;
    batch->found = p->found + block;
    uint64_t word = wanted(p, block);
    if (p->list)
        pull_listed(p, batch, block << 6, (unsigned)__builtin_popcountll(word));
    else if (x->any && !x->u_bits && !x->reads_matrix && !x->reads_vector)
        *batch->found = word; /* every entry meets an element, and no value is looked at */
    else
        pull_page(p, batch, block, word);
    dcsr_i_batch_flush(batch);
}

/* What one thread does: chunks of blocks, as long as there are any. */
static void pull_chunks(pull *p, uint64_t blocks, uint64_t chunk)
{
    dcsr_i_mxv_batch batch;
    dcsr_i_batch_init(&batch, p->x, false);
    for (;;) {
        uint64_t first = atomic_fetch_add_explicit(&p->next_block, chunk, memory_order_relaxed);
        uint64_t end = first + chunk < blocks ? first + chunk : blocks;
        if (first >= blocks) break;
        for (uint64_t b = first; b < end && !batch.failed; b++) pull_block(p, &batch, b);
    }
    if (batch.failed) atomic_store(&p->failed, true);
    atomic_fetch_add_explicit(&p->looked_at, batch.looked_at, memory_order_relaxed);
}

static void pull_blocks(pull *p)
{
    uint64_t blocks = dcsr_i_words(p->positions), chunk = blocks / ((uint64_t)p->x->threads * CHUNKS);
    chunk = chunk < 1 ? 1 : chunk > MOST_BLOCKS ? MOST_BLOCKS : chunk;
    if (p->x->threads <= 1) {
        pull_chunks(p, blocks, blocks);
        return;
    }
#pragma omp parallel num_threads(p->x->threads)
    pull_chunks(p, blocks, chunk);
}

/* ---- Long rows ---- */

/* One part of a long row, whose sum goes to *sum. */
static void pull_part(pull *p, uint64_t row, uint64_t first, uint64_t end, void *sum, uint64_t *found)
{
    dcsr_i_mxv_batch batch;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    dcsr_i_batch_init(&batch, p->x, false);
    batch.t = sum;
    batch.found = found;
    pull_row(p->x, &batch, pieces, dcsr_i_row_part(p->x->rows, row, first, end, pieces), 0);
    dcsr_i_batch_flush(&batch);
    if (batch.failed) atomic_store(&p->failed, true);
    atomic_fetch_add_explicit(&p->looked_at, batch.looked_at, memory_order_relaxed);
}

/* Adds the sums of a row's parts, in their order. */
static void add_parts(pull *p, uint64_t position, const char *sums, const uint64_t *found, uint64_t parts)
{
    const dcsr_i_mxv *x = p->x;
    char *sum = p->values + position * x->size;
    bool has = false;
    for (uint64_t part = 0; part < parts; part++) {
        if (!found[part]) continue;
        dcsr_i_scalar both = {0};
        const void *term = sums + part * x->size;
        if (has && x->any) break;
        if (has && !dcsr_i_apply_binary(x->semiring->add->op, &both, sum, term, 1)) {
            atomic_store(&p->failed, true);
            return;
        }
        memcpy(sum, has ? &both : term, x->size);
        has = true;
    }
    if (has) p->found[position >> 6] |= (uint64_t)1 << (position & 63);
}

static dcsr_status pull_long_rows(pull *p)
{
    dcsr_context *context = p->x->context;
    uint64_t parts = (uint64_t)p->x->shares * PARTS;
    char *sums = dcsr_i_calloc(context, DCSR_I_SCRATCH, parts, p->x->size);
    uint64_t *found = sums ? dcsr_i_alloc(context, DCSR_I_SCRATCH, parts, sizeof *found) : NULL;
    for (uint64_t r = 0; found && r < p->long_count && !p->failed; r++) {
        uint64_t position = p->long_positions[r], row = p->list ? p->list[position] : position;
        uint64_t length = dcsr_i_rows_length(p->x->rows, row);
        memset(found, 0, parts * sizeof *found);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->x->threads) if (p->x->threads > 1)
        for (uint64_t part = 0; part < parts; part++)
            pull_part(p, row, length * part / parts, length * (part + 1) / parts, sums + part * p->x->size,
                      &found[part]);
        add_parts(p, position, sums, found, parts);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, found, parts, sizeof *found);
    dcsr_i_free(context, DCSR_I_SCRATCH, sums, parts, p->x->size);
    return found ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* ---- All of it ---- */

/* All positions, with room for the long rows among them. */
static dcsr_status pull_all(pull *p)
{
    dcsr_i_mxv *x = p->x;
    uint64_t share = x->entries / ((uint64_t)x->shares * LONG_ROWS), most = 0;
    p->long_length = UINT64_MAX;
    if (x->shares > 1) {
        p->long_length = share > LEAST_LONG_ROW ? share : LEAST_LONG_ROW;
        most = x->entries / p->long_length + 1;
        p->long_positions = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, most, sizeof *p->long_positions);
        if (!p->long_positions) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    pull_blocks(p);
    dcsr_status status = p->long_count ? pull_long_rows(p) : DCSR_OK;
    dcsr_i_free(x->context, DCSR_I_SCRATCH, p->long_positions, most, sizeof *p->long_positions);
    x->looked_at = p->looked_at;
    if (p->failed) return dcsr_i_fail_callback(x->call, x->semiring->multiply->text);
    return status;
}

static uint64_t count_bits(const uint64_t *words, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t w = 0; w < n; w++) count += (uint64_t)__builtin_popcountll(words[w]);
    return count;
}

void dcsr_i_mxv_drop_bits_if_full(dcsr_i_body *t, const dcsr_i_mxv *x)
{
    if (t->nvals < x->n) return;
    dcsr_i_free(x->context, DCSR_I_SCRATCH, t->present, t->words, sizeof *t->present);
    t->present = NULL;
    t->words = 0;
}

static dcsr_status pull_dense(dcsr_i_body *t, dcsr_i_mxv *x)
{
    DCSR_TRY(dcsr_i_body_dense(t, x->context, x->size, x->n, true));
    pull p = {.x = x, .positions = x->n, .values = t->values, .found = t->present};
    dcsr_status status = pull_all(&p);
    if (status != DCSR_OK) {
        dcsr_i_body_free(t, x->context, x->size);
        return status;
    }
    t->nvals = count_bits(t->present, t->words);
    dcsr_i_mxv_drop_bits_if_full(t, x);
    return DCSR_OK;
}

/* Sums at the positions of a list, of which those that were found stay. */
static dcsr_status pull_list(dcsr_i_body *t, dcsr_i_mxv *x)
{
    uint64_t n = x->mask->n, words = dcsr_i_words(n);
    DCSR_TRY(dcsr_i_body_sparse(t, x->context, x->size, n));
    uint64_t *found = dcsr_i_calloc(x->context, DCSR_I_SCRATCH, words, sizeof *found);
    pull p = {.x = x, .list = x->mask->list, .positions = n, .values = t->values, .found = found};
    dcsr_status status = found ? pull_all(&p) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        memcpy(t->indices, p.list, n * sizeof *t->indices);
        t->nvals = n;
        dcsr_i_body_compact(t, x->context, x->size, found);
    } else {
        dcsr_i_body_free(t, x->context, x->size);
    }
    dcsr_i_free(x->context, DCSR_I_SCRATCH, found, words, sizeof *found);
    return status;
}

bool dcsr_i_mxv_is_plus_times(const dcsr_i_mxv *x, dcsr_type matrix_type)
{
    if (!x->kernels || x->type == DCSR_BOOL) return false;
    return matrix_type == DCSR_PATTERN ? x->type == DCSR_FP64 && x->semiring->name == DCSR_PLUS_SECOND
                                       : matrix_type == x->type && x->semiring->name == DCSR_PLUS_TIMES;
}

bool dcsr_i_mxv_is_spmv(const dcsr_i_mxv *x)
{
    return !x->u_bits && !x->mask && dcsr_i_mxv_is_plus_times(x, x->rows->type);
}

dcsr_status dcsr_i_mxv_pull(dcsr_i_body *t, dcsr_i_mxv *x)
{
    if (dcsr_i_mxv_is_spmv(x)) {
        DCSR_TRY(dcsr_i_body_dense(t, x->context, x->size, x->n, true));
        t->nvals = dcsr_i_spmv_rows(t->values, t->present, x->rows, x->u_values, x->threads);
        dcsr_i_mxv_drop_bits_if_full(t, x);
        x->looked_at = x->entries;
        return DCSR_OK;
    }
    DCSR_TRY(x->mask && dcsr_i_mask_is_list(x->mask) ? pull_list(t, x) : pull_dense(t, x));
    if (x->any && !x->reads_matrix && !x->reads_vector) dcsr_i_mxv_ones(x, t);
    return DCSR_OK;
}

/* ---- Of the rows and columns in use alone ---- */

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
