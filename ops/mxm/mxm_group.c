/* mxm_group.c: looking up the runs of neighbouring rows. The rows of B may be those of a product themselves,
 * which are computed for one group at a time. */
#include "dcsr/base/sort.h"
#include "ops/mxm/mxm_row.h"
#include "ops/rows/row_block.h"

/* The columns of the group's rows of A, in one piece, and its values as the multiplication takes them. */
static dcsr_status read_a(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, const dcsr_i_row_block *block,
                          const uint32_t **columns)
{
    const dcsr_i_rows *a = m->a;
    uint64_t first = block->stretch[0].begin;
    dcsr_type type = m->semiring->multiply->xtype;
    *columns = a->columns + first;
    if (block->stretches > 1) {
        DCSR_TRY(dcsr_i_mxm_room(m, t, &t->columns, block->entries * sizeof(uint32_t)));
        dcsr_i_row_block_columns(block, a, t->columns.bytes);
        *columns = t->columns.bytes;
    }
    if (!m->reads_a || !m->values) return DCSR_OK;
    if (block->stretches == 1 && a->type == type) {
        t->group.a = (const char *)a->values + first * dcsr_type_size(type);
        return DCSR_OK;
    }
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->a, block->entries * dcsr_type_size(type)));
    dcsr_i_row_block_values(block, a, type, t->a.bytes);
    t->group.a = t->a.bytes;
    return DCSR_OK;
}

/* The rows of B, and the page of the one that was looked up last, which is often that of the next. */
typedef struct rows_of_b {
    const dcsr_i_rows *rows;
    size_t size; /* of a value; 0: none is looked at */
    uint64_t number;
    const dcsr_i_row_page *page;
} rows_of_b;

/* Where a row of B is. */
static inline int find_pieces(rows_of_b *b, uint32_t row, dcsr_i_piece *pieces)
{
    if (b->rows->offsets) return dcsr_i_rows_pieces(b->rows, row, pieces);
    uint32_t r = row & (DCSR_I_PAGE_ROWS - 1);
    if (row >> DCSR_I_PAGE_SHIFT != b->number) {
        b->number = row >> DCSR_I_PAGE_SHIFT;
        b->page = dcsr_i_page(b->rows->table, b->number);
    }
    if (!b->page || !b->page->length[r]) return 0;
    if (b->page->fragmented >> r & 1) return dcsr_i_row_pieces(b->page, r, pieces);
    *pieces = (dcsr_i_piece){b->page->segment[0]->begin[r], b->page->length[r]};
    return 1;
}

/* Appends the runs of entry `entry` of A, in this column, and asks for what is there. Returns their end. */
static inline dcsr_i_mxm_run *look_up(rows_of_b *b, uint32_t column, uint32_t entry, dcsr_i_mxm_run *run,
                                      uint64_t *products)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int n = find_pieces(b, column, pieces);
    for (int k = 0; k < n; k++, run++) {
        *run = (dcsr_i_mxm_run){b->rows->columns + pieces[k].begin,
                                b->size ? (const char *)b->rows->values + pieces[k].begin * b->size : NULL,
                                (uint32_t)pieces[k].length, entry};
        __builtin_prefetch(run->columns);
        __builtin_prefetch(run->values);
        *products += pieces[k].length;
    }
    return run;
}

/* ---- Rows of B that are a product themselves ---- */

/* Room for more in an array that keeps its content. */
static dcsr_status grow(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, dcsr_i_scratch *scratch, size_t used,
                        size_t bytes)
{
    dcsr_i_scratch larger = {0};
    if (bytes <= scratch->size && scratch->bytes) return DCSR_OK;
    DCSR_TRY(dcsr_i_mxm_room(m, t, &larger, bytes + bytes / 2));
    if (used) memcpy(larger.bytes, scratch->bytes, used);
    t->taken -= scratch->size;
    dcsr_i_scratch_free(scratch, m->context);
    *scratch = larger;
    return DCSR_OK;
}

/* Rows first to first + *count - 1 of m->inner, or some of them, behind what has been made. */
static dcsr_status make_block(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned *count,
                              uint64_t *begin)
{
    dcsr_i_mxm_thread *inner = &m->inner->thread[t - m->thread];
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    uint64_t at = *begin, most = 0;
    size_t size = m->inner->values ? m->inner->size : 0;
    DCSR_TRY(dcsr_i_mxm_group_open(m->inner, inner, first, count));
    for (unsigned k = 0; k < *count; k++) most += dcsr_i_mxm_most(m->inner, inner, k);
    DCSR_TRY(grow(m, t, &t->made.columns, at * sizeof(uint32_t), (at + most) * sizeof(uint32_t)));
    if (size) DCSR_TRY(grow(m, t, &t->made.values, at * size, (at + most) * size));
    dcsr_i_room room = {(uint32_t *)t->made.columns.bytes + at,
                        size ? (char *)t->made.values.bytes + at * size : NULL};
    DCSR_TRY(dcsr_i_mxm_group_write(m->inner, inner, *count, room, lengths));
    for (unsigned k = 0; k < *count; k++) begin[k + 1] = begin[k] + lengths[k];
    return DCSR_OK;
}

/* Makes the rows that these entries of A ask for, each once, and notes which is whose. */
static dcsr_status make_rows(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, const uint32_t *columns, uint64_t n)
{
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->keys, n * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->spare, n * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->made.which, n * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->made.begin, (n + 1) * sizeof(uint64_t)));
    uint64_t *keys = t->keys.bytes, *begin = t->made.begin.bytes, rows = 0;
    uint32_t *which = t->made.which.bytes;
    for (uint64_t e = 0; e < n; e++) keys[e] = (uint64_t)columns[e] << 32 | e;
    keys = dcsr_i_sort(keys, t->spare.bytes, n, 1, 32, dcsr_i_bits_for(m->b->rows), 1);
    *begin = 0;
    for (uint64_t e = 0; e < n;) {
        uint64_t first = keys[e] >> 32, count = 0;
        for (uint64_t c; e < n; e++) {
            c = keys[e] >> 32;
            if (c - first > count || c >> DCSR_I_PAGE_SHIFT != first >> DCSR_I_PAGE_SHIFT) break;
            count += c - first == count;
            which[(uint32_t)keys[e]] = (uint32_t)(rows + count - 1);
        }
        for (unsigned made; count; count -= made, first += made, rows += made) {
            made = (unsigned)count;
            DCSR_TRY(make_block(m, t, first, &made, begin + rows));
        }
    }
    return DCSR_OK;
}

static inline dcsr_i_mxm_run *look_up_made(const dcsr_i_mxm_thread *t, size_t size, uint32_t entry,
                                           dcsr_i_mxm_run *run, uint64_t *products)
{
    const uint64_t *at =
        (const uint64_t *)t->made.begin.bytes + ((const uint32_t *)t->made.which.bytes)[entry];
    uint64_t n = at[1] - at[0];
    if (!n) return run;
    *run =
        (dcsr_i_mxm_run){(const uint32_t *)t->made.columns.bytes + at[0],
                         size ? (const char *)t->made.values.bytes + at[0] * size : NULL, (uint32_t)n, entry};
    *products += n;
    return run + 1;
}

/* ---- Groups ---- */

/* So many of the first `count` rows, at least one, have few entries of A. */
static unsigned rows_of_few(const uint32_t *lengths, unsigned count, uint64_t most)
{
    uint64_t entries = lengths[0];
    unsigned n = 1;
    while (n < count && (entries += lengths[n]) <= most) n++;
    return n;
}

dcsr_status dcsr_i_mxm_group_open(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned *count)
{
    dcsr_i_mxm_group *g = &t->group;
    rows_of_b b = {m->b, m->reads_b && m->values ? dcsr_type_size(m->b->type) : 0, UINT64_MAX, NULL};
    uint64_t segments = m->b->table ? (uint64_t)m->b->table->segments_per_row : 1, sum = 0;
    uint32_t lengths[DCSR_I_PAGE_ROWS], entry = 0;
    const uint32_t *columns = NULL;
    dcsr_i_row_block block;
    t->row = g->first = first;
    dcsr_i_row_block_of(&block, m->a, first, *count, lengths);
    unsigned n = rows_of_few(lengths, *count, m->most_entries);
    if (n < *count) dcsr_i_row_block_of(&block, m->a, first, n, lengths);
    if (block.entries) DCSR_TRY(read_a(m, t, &block, &columns));
    if (m->inner && block.entries) DCSR_TRY(make_rows(m, t, columns, block.entries));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->runs, block.entries * segments * sizeof(dcsr_i_mxm_run)));
    dcsr_i_mxm_run *run = t->runs.bytes;
    g->runs = run;
    *count = n;
    for (unsigned k = 0; k < n; k++) {
        uint64_t products = 0;
        for (uint32_t end = entry + lengths[k]; entry < end; entry++)
            run = m->inner ? look_up_made(t, b.size, entry, run, &products)
                           : look_up(&b, columns[entry], entry, run, &products);
        if (k && (sum += products) > m->most_products) {
            *count = k;
            break;
        }
        g->end[k] = (uint64_t)(run - g->runs);
        g->products[k] = products;
        if (!k) sum = products;
    }
    return DCSR_OK;
}

uint64_t dcsr_i_mxm_most(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t, unsigned k)
{
    return t->group.products[k] < m->b->cols ? t->group.products[k] : m->b->cols;
}

void dcsr_i_mxm_row_of(dcsr_i_mxm_row *r, const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, unsigned k)
{
    const dcsr_i_mxm_group *g = &t->group;
    uint64_t begin = k ? g->end[k - 1] : 0, before = k > 1 ? g->end[k - 2] : 0;
    t->row = g->first + k;
    *r = (dcsr_i_mxm_row){.m = m,
                          .t = t,
                          .runs = g->runs + begin,
                          .count = g->end[k] - begin,
                          .before = g->runs + before,
                          .count_before = begin - before,
                          .products = g->products[k]};
}

void dcsr_i_mxm_bounds(dcsr_i_mxm_row *r)
{
    r->first = UINT32_MAX;
    r->last = 0;
    for (const dcsr_i_mxm_run *run = r->runs; run < r->runs + r->count; run++) {
        uint32_t first = run->columns[0], last = run->columns[run->n - 1];
        if (first < r->first) r->first = first;
        if (last > r->last) r->last = last;
    }
}
