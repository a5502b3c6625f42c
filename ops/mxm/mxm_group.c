/* mxm_group.c: looking up the runs of neighbouring rows. The rows of B may be those of a product themselves,
 * which are computed for one group at a time. */
#include "dcsr/base/sort.h"
#include "ops/mxm/mxm_look_up.h"
#include "ops/rows/row_prefetch.h"

dcsr_status dcsr_i_mxm_read_a(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, const dcsr_i_row_block *block,
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
    t->shape.count = 0; /* its runs are among those that are overwritten */
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
                                           uint32_t end, dcsr_i_mxm_run *run, uint64_t *products)
{
    const uint32_t *which = t->made.which.bytes, *columns = t->made.columns.bytes;
    const char *values = t->made.values.bytes;
    for (; entry < end; entry++) {
        const uint64_t *at = (const uint64_t *)t->made.begin.bytes + which[entry];
        uint64_t n = at[1] - at[0];
        if (!n) continue;
        *products += n;
        *run++ = (dcsr_i_mxm_run){columns + at[0], size ? values + at[0] * size : NULL, (uint32_t)n, entry};
    }
    return run;
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

/* Looks up rows one by one, with what the compiler sees is one of three ways. Of how many: those that have few
 * products together. */
#define LOOK_UP_ROWS(look_up_one)                                 \
    do {                                                          \
        for (; k < n; k++) {                                      \
            uint64_t products = 0;                                \
            const dcsr_i_mxm_run *begin = run;                    \
            run = look_up_one;                                    \
            entry += lengths[k];                                  \
            if ((sum += products) > m->most_products && k) break; \
            g->of_one |= (uint64_t)(run - begin <= 1) << k;       \
            g->end[k] = (uint64_t)(run - g->runs);                \
            g->products[k] = products;                            \
        }                                                         \
    } while (0)
static unsigned look_up_rows(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, const uint32_t *columns,
                             const uint32_t *lengths, unsigned n)
{
    dcsr_i_mxm_rows b = {
        .rows = m->b, .size = m->reads_b && m->values ? dcsr_type_size(m->b->type) : 0, .number = UINT64_MAX};
    dcsr_i_mxm_group *g = &t->group;
    dcsr_i_mxm_run *run = t->runs.bytes;
    uint64_t sum = 0;
    uint32_t entry = 0;
    unsigned k = 0;
    g->runs = run;
    g->of_one = 0;
    if (m->inner)
        LOOK_UP_ROWS(look_up_made(t, b.size, entry, entry + lengths[k], run, &products));
    else if (m->b->offsets)
        LOOK_UP_ROWS(dcsr_i_mxm_look_up_offsets(&b, columns, entry, entry + lengths[k], run, &products));
    else
        LOOK_UP_ROWS(dcsr_i_mxm_look_up(&b, columns, entry, entry + lengths[k], run, &products));
    if (entry) dcsr_i_page_prefetch(m->b, (columns[entry - 1] >> DCSR_I_PAGE_SHIFT) + 1);
    return k;
}
#undef LOOK_UP_ROWS

dcsr_status dcsr_i_mxm_group_open(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned *count)
{
    uint64_t segments = m->b->table ? (uint64_t)m->b->table->segments_per_row : 1;
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    const uint32_t *columns = NULL;
    dcsr_i_row_block block;
    t->row = t->group.first = first;
    dcsr_i_row_block_of(&block, m->a, first, *count, lengths);
    if (block.entries > m->most_entries) {
        *count = rows_of_few(lengths, *count, m->most_entries);
        dcsr_i_row_block_of(&block, m->a, first, *count, lengths);
    }
    dcsr_i_page_prefetch(m->a, (first >> DCSR_I_PAGE_SHIFT) + 1);
    if (block.entries) DCSR_TRY(dcsr_i_mxm_read_a(m, t, &block, &columns));
    if (m->inner && block.entries) DCSR_TRY(make_rows(m, t, columns, block.entries));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->runs, block.entries * segments * sizeof(dcsr_i_mxm_run)));
    *count = look_up_rows(m, t, columns, lengths, *count);
    return DCSR_OK;
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
