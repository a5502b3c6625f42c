/* merge_row.c: mask, accumulator and the old row of C brought to a row of T.
 *
 * First the columns are merged: for each that stays it is noted where its value comes from, the old row, T,
 * or both. Then values are gathered, and where both have one the accumulator is applied, block by block. */
#include "dcsr/view/sorted.h"
#include "ops/matrix/merge_row.h"
#include "dcsr/base/search.h"
#include "ops/matrix/ewise_merge.h"

/* ---- Regions ---- */

/* Whether the indices are consecutive. */
static bool is_range(const dcsr_i_index_list *list)
{
    return !list->indices || !list->n || list->indices[list->n - 1] - list->indices[0] == list->n - 1;
}

/* Whether a bit of the words is set from `first` to end - 1. */
static bool any_bit(const uint64_t *bits, uint64_t first, uint64_t end)
{
    uint64_t last = end - 1, from = UINT64_MAX << first % 64, to = UINT64_MAX >> (63 - last % 64);
    for (uint64_t w = first / 64; w < last / 64; w++, from = UINT64_MAX)
        if (bits[w] & from) return true;
    return bits[last / 64] & from & to;
}

bool dcsr_i_index_list_meets(const dcsr_i_index_list *list, uint64_t first, uint64_t end)
{
    uint64_t n = list->n;
    if (!list->indices) return true;
    if (list->bits) return any_bit(list->bits, first, end < list->size ? end : list->size);
    if (n && is_range(list)) return first <= list->indices[n - 1] && end > list->indices[0];
    uint64_t at = dcsr_i_list_find(list->indices, 0, n, first);
    return at < n && list->indices[at] < end;
}

uint64_t dcsr_i_region_rows(const dcsr_i_region *region, uint64_t first, unsigned count)
{
    const dcsr_i_index_list *list = region ? &region->rows : NULL;
    uint64_t bits = 0, end = first + count;
    if (!list || !list->indices) return UINT64_MAX >> (64 - count);
    if (list->bits) return list->bits[first / 64] & UINT64_MAX >> (64 - count);
    for (uint64_t at = dcsr_i_list_find(list->indices, 0, list->n, first);
         at < list->n && list->indices[at] < end; at++)
        bits |= (uint64_t)1 << (list->indices[at] - first);
    return bits;
}

/* ---- Which rows of C change ---- */

dcsr_i_change dcsr_i_change_of(const dcsr_i_matrix_output *out)
{
    const dcsr_desc *desc = out->desc;
    if (out->mask && desc && desc->replace) return (dcsr_i_change){0};
    return (dcsr_i_change){.in_T = out->accum != NULL,
                           .in_mask = out->mask && !(desc && desc->mask_complement),
                           .in_region = out->region && out->region->rows.indices};
}

/* ---- What C holds ---- */

dcsr_status dcsr_i_old_open(dcsr_i_old *old, dcsr_matrix *C)
{
    *old = (dcsr_i_old){.keep = C->policy == DCSR_POLICY_KEEP,
                        .combine = dcsr_i_sorting_combiner(C->type, C->policy)};
    if (dcsr_i_result_collects(C)) {
        DCSR_TRY(dcsr_view_create(&old->view, C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
        old->ascends = !old->keep || atomic_load(&C->versions.ascending) == C->versions.current->version;
        return dcsr_i_view_host_rows(&old->rows, old->view);
    }
    old->ascends = atomic_load(&C->versions.ascending) == C->versions.current->version;
    old->current = dcsr_i_rows_of(C, C->versions.current);
    old->rows = &old->current;
    return DCSR_OK;
}

void dcsr_i_old_close(dcsr_i_old *old)
{
    dcsr_view_destroy(old->view);
    old->view = NULL;
}

void dcsr_i_old_reader_free(dcsr_i_old_reader *reader)
{
    dcsr_context *context = reader->rows.context;
    dcsr_i_row_reader_free(&reader->rows);
    dcsr_i_scratch *const all[] = {&reader->keys, &reader->columns, &reader->values, &reader->all_columns,
                                   &reader->all_values};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) dcsr_i_scratch_free(all[k], context);
}

/* The row to two of the reader's arrays, resolved and sorted; `keep`: with its duplicates. */
static dcsr_status sort_row(dcsr_i_old_reader *reader, uint64_t number, bool keep, dcsr_i_row *row)
{
    const dcsr_i_rows *rows = reader->old->rows;
    dcsr_context *context = reader->rows.context;
    dcsr_i_scratch *columns = keep ? &reader->all_columns : &reader->columns,
                   *values = keep ? &reader->all_values : &reader->values;
    uint64_t length = dcsr_i_rows_length(rows, number);
    DCSR_TRY(dcsr_i_scratch_room(&reader->keys, context, 2 * length * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_scratch_room(columns, context, length * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(values, context, length * reader->rows.value_size));
    uint64_t *keys = reader->keys.bytes,
             n = dcsr_i_row_sort(keys, keys + length, rows, number, keep, reader->old->combine,
                                 columns->bytes, values->bytes);
    *row = (dcsr_i_row){n, columns->bytes, reader->rows.value_size ? values->bytes : NULL};
    return DCSR_OK;
}

dcsr_status dcsr_i_old_row(dcsr_i_old_reader *reader, uint64_t number, dcsr_i_row *row, dcsr_i_row *all)
{
    *all = (dcsr_i_row){0};
    if (reader->old->ascends || dcsr_i_row_ascends(reader->old->rows, number))
        return dcsr_i_row_get(&reader->rows, number, row);
    DCSR_TRY(sort_row(reader, number, false, row));
    if (!reader->old->keep) return DCSR_OK;
    DCSR_TRY(sort_row(reader, number, true, all));
    if (all->n == row->n) *all = (dcsr_i_row){0};
    return DCSR_OK;
}

/* ---- Entries that are picked ---- */

enum { BLOCK = 256, WIDEST = 8 };
#define NONE UINT32_MAX

/* Where an entry of the result comes from: positions in the old row and in T. */
typedef struct pick {
    uint32_t old, new;
} pick;

void dcsr_i_merger_free(dcsr_i_merger *merger, dcsr_context *context)
{
    dcsr_i_scratch_free(&merger->picks, context);
    dcsr_i_scratch_free(&merger->cast, context);
    dcsr_i_scratch_free(&merger->meetings, context);
    dcsr_i_scratch_free(&merger->columns, context);
    dcsr_i_scratch_free(&merger->values, context);
}

/* Whether the column is among those ascending from *at on, which advances to it: by doubling steps and
 * bisection, for the list may be much longer than the rows that are merged, or as dense. */
static inline bool reaches(const uint32_t *columns, uint64_t n, uint64_t *at, uint32_t column)
{
    *at = dcsr_i_list_find_near(columns, *at, n, column);
    return *at < n && columns[*at] == column;
}

/* Writes the columns of the result and where each comes from; *both says how many come from both. */
static uint64_t pick_entries(const dcsr_i_merging *m, bool outside, const dcsr_i_row_mask *mask,
                             const dcsr_i_row *old, const dcsr_i_row *T, uint32_t *columns, pick *picks,
                             uint64_t *both)
{
    uint64_t i = 0, j = 0, k = 0, at_mask = 0, at_region = 0;
    const dcsr_i_region *region = m->region;
    *both = 0;
    while (i < old->n || j < T->n) {
        uint32_t a = i < old->n ? old->columns[i] : NONE, b = j < T->n ? T->columns[j] : NONE,
                 column = a < b ? a : b;
        pick p = {a == column ? (uint32_t)i++ : NONE, b == column ? (uint32_t)j++ : NONE};
        if (mask && reaches(mask->columns, mask->n, &at_mask, column) == mask->complement) {
            p.new = NONE;
            if (m->replace) p.old = NONE;
        } else if (!m->accum && p.old != NONE) {
            bool kept = outside || (region && region->cols.indices &&
                                    !reaches(region->cols.indices, region->cols.n, &at_region, column));
            if (!kept || p.new != NONE) p.old = NONE;
        }
        if (p.old == NONE && p.new == NONE) continue;
        *both += p.old != NONE && p.new != NONE;
        columns[k] = column;
        picks[k++] = p;
    }
    return k;
}

/* Values of entries that come from one row alone; of the others T's, for now. */
#define GATHER(ctype)                                                                                     \
    do {                                                                                                  \
        const ctype *a = old, *b = new;                                                                   \
        ctype *z = to;                                                                                    \
        for (uint64_t k = 0; k < n; k++) z[k] = picks[k].new != NONE ? b[picks[k].new] : a[picks[k].old]; \
    } while (0)

static void gather(size_t size, void *to, const void *old, const void *new, const pick *picks, uint64_t n)
{
    switch (size) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    default:
        GATHER(uint64_t);
        break;
    }
}

/* Entries that both rows have: up to BLOCK of them at a time go through the accumulator. */
static bool accumulate(const dcsr_i_merging *m, char *to, const dcsr_i_row *old, const dcsr_i_row *T,
                       const pick *picks, uint64_t n)
{
    size_t size = dcsr_type_size(m->type), source_size = dcsr_type_size(m->source);
    _Alignas(64) char x[BLOCK * WIDEST], y[BLOCK * WIDEST], z[BLOCK * WIDEST], cast[BLOCK * WIDEST];
    uint64_t at[BLOCK];
    for (uint64_t k = 0; k < n;) {
        size_t count = 0;
        for (; k < n && count < BLOCK; k++) {
            if (picks[k].old == NONE || picks[k].new == NONE) continue;
            memcpy(x + count * size, (const char *)old->values + picks[k].old * size, size);
            if (source_size)
                memcpy(y + count * source_size, (const char *)T->values + picks[k].new *source_size,
                       source_size);
            at[count++] = k;
        }
        dcsr_i_cast(m->accum->xtype, cast, m->type, x, count);
        dcsr_i_cast(m->accum->ytype, z, m->source, y, count);
        if (!dcsr_i_apply_binary(m->accum, x, cast, z, count)) return false;
        dcsr_i_cast(m->type, y, m->accum->ztype, x, count);
        for (size_t c = 0; c < count; c++) memcpy(to + at[c] * size, y + c * size, size);
    }
    return true;
}

/* ---- Rows that are put together of pieces ---- */

/* Entries from .. end-1 of a row to the place `at` of the result; returns the place behind them. */
static uint64_t put(const dcsr_i_merging *m, dcsr_type source, const dcsr_i_row *row, uint64_t from,
                    uint64_t end, dcsr_i_room room, uint64_t at)
{
    enum { FEW = 16 }; /* entries, that are copied here rather than by a call */
    uint64_t n = end - from;
    size_t size = dcsr_type_size(m->type), source_size = dcsr_type_size(source);
    if (!n) return at;
    if (n <= FEW && (!room.values || (source == m->type && size == sizeof(uint64_t)))) {
        for (uint64_t e = 0; e < n; e++) room.columns[at + e] = row->columns[from + e];
        for (uint64_t e = 0; room.values && e < n; e++)
            ((uint64_t *)room.values)[at + e] = ((const uint64_t *)row->values)[from + e];
        return at + n;
    }
    memcpy(room.columns + at, row->columns + from, n * sizeof *room.columns);
    if (room.values)
        dcsr_i_cast(m->type, (char *)room.values + at * size, source,
                    source_size ? (const char *)row->values + from * source_size : NULL, n);
    return at + n;
}

/* The row is one of the two as it stands. */
static dcsr_status copy(const dcsr_i_merging *m, dcsr_type source, const dcsr_i_row *from, dcsr_i_room room,
                        uint32_t *length)
{
    *length = (uint32_t)put(m, source, from, 0, from->n, room, 0);
    return DCSR_OK;
}

/* C(row, first .. last) = T, where nothing else decides: what stands before, T, what stands behind. */
static dcsr_status splice(const dcsr_i_merging *m, const dcsr_i_row *old, const dcsr_i_row *T,
                          dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_index_list *cols = &m->region->cols;
    uint64_t from = 0, behind = old->n, at;
    if (cols->indices) {
        from = cols->n ? dcsr_i_list_find(old->columns, 0, old->n, cols->indices[0]) : 0;
        behind = cols->n
                     ? dcsr_i_list_find(old->columns, from, old->n, (uint64_t)cols->indices[cols->n - 1] + 1)
                     : 0;
    }
    at = put(m, m->type, old, 0, from, room, 0);
    at = put(m, m->source, T, 0, T->n, room, at);
    *length = (uint32_t)put(m, m->type, old, behind, old->n, room, at);
    return DCSR_OK;
}

/* A sum of rows: what both have goes through an operator on the one type of C and T. */
static dcsr_status unite(dcsr_i_merger *merger, const dcsr_i_merging *m, const dcsr_binary_op *op,
                         const dcsr_i_row *old, const dcsr_i_row *T, dcsr_i_room room, uint32_t *length)
{
    DCSR_TRY(dcsr_i_scratch_room(&merger->meetings, m->context, sizeof(dcsr_i_meetings)));
    dcsr_i_meetings *meetings = merger->meetings.bytes;
    size_t size = room.values ? dcsr_type_size(m->type) : 0;
    dcsr_i_merge merge = {.a = *old, .b = *T, .z = room};
    meetings->n = 0;
    bool united = dcsr_i_unite_rows(&merge, meetings, op, size) &&
                  dcsr_i_combine_union(meetings, op, size, room.values);
    *length = (uint32_t)merge.k;
    return united ? DCSR_OK : dcsr_i_fail_callback(m->call, op->text);
}

/* T's values in C's type. */
static dcsr_status cast_values(dcsr_i_merger *merger, const dcsr_i_merging *m, const dcsr_i_row *T,
                               const void **values)
{
    *values = T->values;
    if (m->source == m->type || !T->n) return DCSR_OK;
    DCSR_TRY(dcsr_i_scratch_room(&merger->cast, m->context, T->n * dcsr_type_size(m->type)));
    dcsr_i_cast(m->type, merger->cast.bytes, m->source, T->values, T->n);
    *values = merger->cast.bytes;
    return DCSR_OK;
}

/* T, and the entries of the old row that it does not have; with the bits of a region: those outside of it. */
static dcsr_status overlay(dcsr_i_merger *merger, const dcsr_i_merging *m, const dcsr_i_row *old,
                           const dcsr_i_row *T, const uint64_t *region, dcsr_i_room room, uint32_t *length)
{
    dcsr_i_merge merge = {.a = *old, .b = *T, .z = room};
    size_t size = room.values ? dcsr_type_size(m->type) : 0;
    if (size) DCSR_TRY(cast_values(merger, m, T, &merge.b.values));
    if (region)
        dcsr_i_replace_rows(&merge, region, size);
    else
        dcsr_i_overlay_rows(&merge, size);
    *length = (uint32_t)merge.k;
    return DCSR_OK;
}

/* Copies of the values that stand at the places `at`. */
#define PICK(ctype)                                                                   \
    for (uint64_t k = 0; k < n; k++) ((ctype *)to)[k] = ((const ctype *)from)[at[k]]; \
    break
static void pick_values(size_t size, void *to, const void *from, const uint32_t *at, uint64_t n)
{
    switch (size) {
    case 1:
        PICK(uint8_t);
    case 2:
        PICK(uint16_t);
    case 4:
        PICK(uint32_t);
    default:
        PICK(uint64_t);
    }
}

/* The entries of the old row whose columns are outside of the region, of which there are no bits. */
static dcsr_status leave_region(dcsr_i_merger *merger, const dcsr_i_merging *m, const dcsr_i_row *old,
                                bool values, dcsr_i_row *left)
{
    const dcsr_i_index_list *cols = &m->region->cols;
    uint64_t n = 0, at_region = 0;
    DCSR_TRY(dcsr_i_scratch_room(&merger->picks, m->context, old->n * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&merger->columns, m->context, old->n * sizeof(uint32_t)));
    uint32_t *at = merger->picks.bytes, *columns = merger->columns.bytes;
    for (uint64_t e = 0; e < old->n; e++) {
        uint32_t column = columns[n] = old->columns[e];
        at[n] = (uint32_t)e;
        n += !reaches(cols->indices, cols->n, &at_region, column);
    }
    *left = (dcsr_i_row){n, columns, NULL};
    if (!values) return DCSR_OK;
    size_t size = dcsr_type_size(m->type);
    DCSR_TRY(dcsr_i_scratch_room(&merger->values, m->context, n * size));
    pick_values(size, merger->values.bytes, old->values, at, n);
    left->values = merger->values.bytes;
    return DCSR_OK;
}

dcsr_status dcsr_i_merge_row(dcsr_i_merger *merger, const dcsr_i_merging *m, bool outside,
                             const dcsr_i_row_mask *mask, const dcsr_i_row *old, const dcsr_i_row *T,
                             dcsr_i_room room, uint32_t *length)
{
    if (!old->n && !mask) return copy(m, m->source, T, room, length);
    bool old_stays = m->accum || outside;
    if (!T->n && old_stays && !(mask && m->replace)) return copy(m, m->type, old, room, length);

    if (!mask && !m->accum && is_range(&m->region->cols)) return splice(m, old, T, room, length);
    if (!mask && !m->accum) {
        dcsr_i_row left = *old;
        const uint64_t *region = m->region->cols.bits;
        if (!region) DCSR_TRY(leave_region(merger, m, old, room.values != NULL, &left));
        return overlay(merger, m, &left, T, region, room, length);
    }

    /* C where T stands wherever the mask is true, which is how scalars are assigned; and accum(C, T). */
    bool covered = mask && !mask->complement && T->columns == mask->columns && T->n == mask->n;
    bool same = covered && old->n == T->n && !memcmp(old->columns, T->columns, T->n * sizeof *T->columns);
    if (covered && !m->accum && (m->replace || same)) return copy(m, m->source, T, room, length);
    if (covered && !m->accum) return overlay(merger, m, old, T, NULL, room, length);
    if ((mask ? covered && !m->replace : m->accum != NULL) && (m->one_type || !room.values))
        return unite(merger, m, m->accum, old, T, room, length);

    uint64_t most = old->n + T->n, both;
    DCSR_TRY(dcsr_i_scratch_room(&merger->picks, m->context, most * sizeof(pick)));
    pick *picks = merger->picks.bytes;
    uint64_t n = pick_entries(m, outside, mask, old, T, room.columns, picks, &both);
    *length = (uint32_t)n;
    if (!room.values) return DCSR_OK;
    size_t size = dcsr_type_size(m->type);
    const void *new;
    DCSR_TRY(cast_values(merger, m, T, &new));
    gather(size, room.values, old->values, new, picks, n);
    if (both && !accumulate(m, room.values, old, T, picks, n))
        return dcsr_i_fail_callback(m->call, m->accum->text);
    return DCSR_OK;
}

/* ---- Duplicates ---- */

/* Where the search for a column goes on in each list; columns ascend from call to call. */
typedef struct search {
    uint64_t mask, region, T;
} search;

/* Whether an entry of the old row at this column stays as it is. */
static bool stays(const dcsr_i_merging *m, bool outside, const dcsr_i_row_mask *mask, const dcsr_i_row *T,
                  uint32_t column, search *at)
{
    const dcsr_i_index_list *cols = m->region ? &m->region->cols : NULL;
    if (mask && reaches(mask->columns, mask->n, &at->mask, column) == mask->complement) return !m->replace;
    if (m->accum) return !reaches(T->columns, T->n, &at->T, column);
    return outside || (cols && cols->indices && !reaches(cols->indices, cols->n, &at->region, column));
}

dcsr_status dcsr_i_merge_duplicates(dcsr_i_merger *merger, const dcsr_i_merging *m, bool outside,
                                    const dcsr_i_row_mask *mask, const dcsr_i_row *all, const dcsr_i_row *T,
                                    dcsr_i_room room, uint32_t *length)
{
    uint64_t n = *length, from = 0, to = 0;
    size_t size = room.values ? dcsr_type_size(m->type) : 0;
    search at = {0};
    DCSR_TRY(dcsr_i_scratch_room(&merger->columns, m->context, n * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&merger->values, m->context, n * size));
    dcsr_i_row merged = {n, merger->columns.bytes, size ? merger->values.bytes : NULL};
    memcpy(merger->columns.bytes, room.columns, n * sizeof *room.columns);
    if (size) memcpy(merger->values.bytes, room.values, n * size);
    for (uint64_t e = 0, end; e < all->n; e = end) {
        uint32_t column = all->columns[e];
        for (end = e + 1; end < all->n && all->columns[end] == column;) end++;
        if (end - e < 2 || !stays(m, outside, mask, T, column, &at)) continue;
        uint64_t before = dcsr_i_list_find_near(merged.columns, from, n, column);
        to = put(m, m->type, &merged, from, before, room, to);
        to = put(m, m->type, all, e, end, room, to);
        from = before + 1;
    }
    *length = (uint32_t)put(m, m->type, &merged, from, n, room, to);
    return DCSR_OK;
}
