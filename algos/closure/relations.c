/* relations.c: relations that grow by rules until nothing is new. */
#include "algos/closure/relations.h"
#include <dcsr/convert.h>
#include <stdlib.h>
#include <string.h>

/* Lists up to this long are looked through. */
enum { SHORT = 8 };
#define EMPTY UINT32_MAX
/* A bitmap from one column of so many on. */
enum { BITMAP_SHARE = 64 };

/* ---- Directories ---- */

static uint64_t slot_of(const dcsr_i_relation_directory *d, uint64_t key)
{
    uint64_t slot = (key * 0x9e3779b97f4a7c15u) >> 20 & (d->slots - 1);
    while (d->key[slot] != key && d->key[slot] != UINT64_MAX) slot = (slot + 1) & (d->slots - 1);
    return slot;
}

/* The number of a key; EMPTY if it has none. */
static uint32_t look_up(const dcsr_i_relation_directory *d, uint64_t key)
{
    if (d->array) return d->array[key] - 1;
    if (!d->slots) return EMPTY;
    const uint64_t slot = slot_of(d, key);
    return d->key[slot] == key ? d->value[slot] : EMPTY;
}

static dcsr_status enlarge(dcsr_i_relation_directory *d, dcsr_i_work *work)
{
    const dcsr_i_relation_directory old = *d;
    dcsr_i_relation_directory grown = {.slots = old.slots ? 2 * old.slots : 256, .used = old.used};
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &grown.key, grown.slots, sizeof *grown.key, "the rows"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &grown.value, grown.slots, sizeof *grown.value, "the rows"));
    memset(grown.key, -1, grown.slots * sizeof *grown.key);
    for (uint64_t s = 0; s < old.slots; s++) {
        if (old.key[s] == UINT64_MAX) continue;
        const uint64_t slot = slot_of(&grown, old.key[s]);
        grown.key[slot] = old.key[s];
        grown.value[slot] = old.value[s];
    }
    dcsr_i_work_drop(work, old.key);
    dcsr_i_work_drop(work, old.value);
    *d = grown;
    return DCSR_OK;
}

/* Room for one key more. */
static dcsr_status prepare_entry(dcsr_i_relation_directory *d, dcsr_i_work *work)
{
    return d->array || d->used < d->slots / 2 ? DCSR_OK : enlarge(d, work);
}

static void enter(dcsr_i_relation_directory *d, uint64_t key, uint32_t number)
{
    if (d->array) {
        d->array[key] = number + 1;
        return;
    }
    const uint64_t slot = slot_of(d, key);
    d->key[slot] = key;
    d->value[slot] = number;
    d->used++;
}

static uint64_t key_of(const dcsr_i_relations *r, uint64_t index, uint64_t vertex)
{
    return index * r->vertices + vertex;
}

/* ---- Lists and rows ---- */

static dcsr_status append(dcsr_i_list *list, dcsr_i_words *pool, uint32_t item)
{
    if (!list->item || list->count >> list->k) {
        const int k = list->item ? list->k + 1 : 2;
        uint32_t *grown = dcsr_i_words_take(pool, k);
        if (!grown) return dcsr_thread_status();
        if (list->item) memcpy(grown, list->item, list->count * sizeof *grown);
        dcsr_i_words_give(pool, list->item, list->k);
        list->item = grown;
        list->k = k;
    }
    list->item[list->count++] = item;
    return DCSR_OK;
}

static uint32_t *member_slot(const dcsr_i_relation_row *row, uint32_t column)
{
    const uint32_t mask = ((uint32_t)1 << row->members_k) - 1;
    uint32_t slot = (column * 0x9e3779b1u) >> (32 - row->members_k) & mask;
    while (row->members[slot] != column && row->members[slot] != EMPTY) slot = (slot + 1) & mask;
    return &row->members[slot];
}

static bool has(const dcsr_i_relation_row *row, uint32_t column)
{
    if (row->bitmap) return row->members[column / 32] >> column % 32 & 1;
    if (row->members) return *member_slot(row, column) == column;
    for (uint32_t e = 0; e < row->list.count; e++)
        if (row->list.item[e] == column) return true;
    return false;
}

static void note(dcsr_i_relation_row *row, uint32_t column)
{
    if (row->bitmap)
        row->members[column / 32] |= (uint32_t)1 << column % 32;
    else if (row->members)
        *member_slot(row, column) = column;
}

static int power_above(uint64_t n)
{
    int k = 2;
    while ((uint64_t)1 << k < n) k++;
    return k;
}

/* Another table or a bitmap, for a list that is twice as long. */
static dcsr_status renew_members(dcsr_i_relations *r, dcsr_i_relation_row *row)
{
    const uint64_t length = 2 * (uint64_t)row->list.count;
    const bool bitmap = length * BITMAP_SHARE >= r->vertices;
    const int k = power_above(bitmap ? r->vertices / 32 + 1 : 2 * length);
    uint32_t *members = dcsr_i_words_take(&r->pool, k);
    if (!members) return dcsr_thread_status();
    memset(members, bitmap ? 0 : -1, sizeof *members << k);
    dcsr_i_words_give(&r->pool, row->members, row->members_k);
    row->members = members;
    row->members_k = k;
    row->bitmap = bitmap;
    for (uint32_t e = 0; e < row->list.count; e++) note(row, row->list.item[e]);
    return DCSR_OK;
}

/* The row of a symbol, made if need be. */
static dcsr_status row_at(dcsr_i_relations *r, uint32_t symbol, uint64_t index, uint64_t vertex,
                          uint32_t *number)
{
    dcsr_i_relation_directory *rows = &r->symbol[symbol].rows;
    *number = look_up(rows, key_of(r, index, vertex));
    if (*number != EMPTY) return DCSR_OK;
    if (r->rows == r->row_room) {
        const uint64_t room = r->row_room ? 2 * r->row_room : 1024;
        if (room >= EMPTY)
            return dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "%s: more than 2^31 rows", r->work->call);
        DCSR_I_WORK_TRY(dcsr_i_work_grow(r->work, &r->row, r->rows, room, sizeof *r->row, "the rows"));
        r->row_room = room;
    }
    DCSR_I_WORK_TRY(prepare_entry(rows, r->work));
    *number = (uint32_t)r->rows++;
    r->row[*number] =
        (dcsr_i_relation_row){.symbol = symbol, .vertex = (uint32_t)vertex, .index = (uint32_t)index};
    enter(rows, key_of(r, index, vertex), *number);
    return DCSR_OK;
}

static dcsr_status add_to_column(dcsr_i_relations *r, dcsr_i_symbol *symbol, uint64_t key, uint32_t item)
{
    uint32_t number = look_up(&symbol->columns, key);
    if (number == EMPTY) {
        if (r->columns == r->column_room) {
            const uint64_t room = r->column_room ? 2 * r->column_room : 1024;
            DCSR_I_WORK_TRY(
                dcsr_i_work_grow(r->work, &r->column, r->columns, room, sizeof *r->column, "the columns"));
            r->column_room = room;
        }
        DCSR_I_WORK_TRY(prepare_entry(&symbol->columns, r->work));
        number = (uint32_t)r->columns++;
        r->column[number] = (dcsr_i_list){0};
        enter(&symbol->columns, key, number);
    }
    return append(&r->column[number], &r->pool, item);
}

/* A column that the row does not have. */
static dcsr_status add_new(dcsr_i_relations *r, dcsr_i_relation_row *row, uint32_t column)
{
    dcsr_i_symbol *symbol = &r->symbol[row->symbol];
    DCSR_I_WORK_TRY(append(&row->list, &r->pool, column));
    const uint32_t count = row->list.count;
    /* When the list has become twice as long as it was. */
    if (count > SHORT && !row->bitmap && (!(count & (count - 1)) || !row->members))
        DCSR_I_WORK_TRY(renew_members(r, row));
    else
        note(row, column);
    symbol->pairs++;
    r->pairs++;
    return symbol->by_column ? add_to_column(r, symbol, key_of(r, row->index, column), row->vertex) : DCSR_OK;
}

/* A row that has grown is looked at in the next round, unless it is waiting for that. */
static dcsr_status put_off(dcsr_i_relations *r, uint32_t number)
{
    if (r->row[number].queued) return DCSR_OK;
    if (r->queued == r->queue_room) {
        const uint64_t room = r->queue_room ? 2 * r->queue_room : 1024;
        DCSR_I_WORK_TRY(dcsr_i_work_grow(r->work, &r->later, r->queued, room, sizeof *r->later, "the queue"));
        r->queue_room = room;
    }
    r->later[r->queued++] = number;
    r->row[number].queued = true;
    return DCSR_OK;
}

/* Adds the n columns of a list to a row. */
static dcsr_status add_list(dcsr_i_relations *r, dcsr_i_relation_row *row, const uint32_t *item, uint32_t n)
{
    for (uint32_t e = 0; e < n; e++)
        if (!has(row, item[e])) DCSR_I_WORK_TRY(add_new(r, row, item[e]));
    return DCSR_OK;
}

/* Adds all of a row to another, both with bitmaps: 64 columns at a time. */
static dcsr_status add_bitmap(dcsr_i_relations *r, dcsr_i_relation_row *row, const dcsr_i_relation_row *from)
{
    for (uint32_t w = 0; w < (uint32_t)1 << row->members_k; w += 2) {
        uint64_t there, fresh;
        memcpy(&there, row->members + w, sizeof there);
        memcpy(&fresh, from->members + w, sizeof fresh);
        for (fresh &= ~there; fresh; fresh &= fresh - 1)
            DCSR_I_WORK_TRY(add_new(r, row, w * 32 + (uint32_t)__builtin_ctzll(fresh)));
    }
    return DCSR_OK;
}

/* Adds columns begin .. end - 1 of a row's list, or all that it has, to another row, which may be the same: then
 * nothing is new. */
static dcsr_status add_row(dcsr_i_relations *r, uint32_t number, uint32_t from, uint32_t begin, uint32_t end)
{
    dcsr_i_relation_row *row = &r->row[number];
    const dcsr_i_relation_row *source = &r->row[from];
    const uint32_t before = row->list.count;
    if (row->bitmap && source->bitmap && end - begin > r->vertices / 64)
        DCSR_I_WORK_TRY(add_bitmap(r, row, source));
    else
        DCSR_I_WORK_TRY(add_list(r, row, source->list.item + begin, end - begin));
    return row->list.count == before ? DCSR_OK : put_off(r, number);
}

dcsr_status dcsr_i_relations_add(dcsr_i_relations *r, uint32_t symbol, uint64_t index, uint64_t from,
                                 uint64_t to)
{
    uint32_t number;
    DCSR_I_WORK_TRY(row_at(r, symbol, index, from, &number));
    if (has(&r->row[number], (uint32_t)to)) return DCSR_OK;
    DCSR_I_WORK_TRY(add_new(r, &r->row[number], (uint32_t)to));
    return put_off(r, number);
}

/* ---- Rules ---- */

dcsr_status dcsr_i_relations_begin(dcsr_i_relations *r, dcsr_i_work *work, uint64_t vertices,
                                   uint64_t indices)
{
    r->work = work;
    r->pool = (dcsr_i_words){.work = work};
    r->vertices = vertices;
    r->indices = indices;
    for (uint32_t k = 0; k < r->rules; k++) r->symbol[r->rule[k].made].made = true;
    for (uint32_t k = 0; k < r->rules; k++) {
        dcsr_i_rule *rule = &r->rule[k];
        const bool two = rule->second != DCSR_I_NO_SYMBOL;
        /* Of two that are complete one is enough. */
        rule->by_second = two && r->symbol[rule->second].made;
        rule->by_first = !rule->by_second || r->symbol[rule->first].made;
        if (rule->by_second) r->symbol[rule->first].by_column = true;
    }
    for (uint32_t s = 0; s < r->symbols; s++) {
        dcsr_i_symbol *symbol = &r->symbol[s];
        if (symbol->family) continue;
        DCSR_I_WORK_TRY(dcsr_i_work_take(work, &symbol->rows.array, vertices, sizeof(uint32_t), "the rows"));
        if (symbol->by_column)
            DCSR_I_WORK_TRY(
                dcsr_i_work_take(work, &symbol->columns.array, vertices, sizeof(uint32_t), "the columns"));
    }
    return DCSR_OK;
}

/* What is new in a row, begin .. end - 1 of its list. */
typedef struct growth {
    uint32_t row, begin, end;
} growth;

/* made <- first second, where `first` has grown: row by row of `second`. */
static dcsr_status join_first(dcsr_i_relations *r, const dcsr_i_rule *rule, growth g, uint64_t index)
{
    const dcsr_i_relation_row source = r->row[g.row];
    const dcsr_i_symbol *second = &r->symbol[rule->second];
    uint32_t made = EMPTY;
    for (uint32_t e = g.begin; e < g.end; e++) {
        /* The list may move when the row grows, by a rule that makes what it reads. */
        const uint32_t middle = r->row[g.row].list.item[e];
        const uint32_t found = look_up(&second->rows, key_of(r, second->family ? index : 0, middle));
        if (found == EMPTY) continue;
        if (made == EMPTY)
            DCSR_I_WORK_TRY(
                row_at(r, rule->made, r->symbol[rule->made].family ? index : 0, source.vertex, &made));
        DCSR_I_WORK_TRY(add_row(r, made, found, 0, r->row[found].list.count));
    }
    return DCSR_OK;
}

/* made <- first second, where `second` has grown: all of it to the rows of `first` that lead there. */
static dcsr_status join_second(dcsr_i_relations *r, const dcsr_i_rule *rule, growth g, uint64_t index)
{
    const dcsr_i_symbol *first = &r->symbol[rule->first];
    const uint64_t made_index = r->symbol[rule->made].family ? index : 0;
    const uint32_t found =
        look_up(&first->columns, key_of(r, first->family ? index : 0, r->row[g.row].vertex));
    if (found == EMPTY) return DCSR_OK;
    const uint32_t count = r->column[found].count;
    for (uint32_t e = 0; e < count; e++) {
        uint32_t made;
        DCSR_I_WORK_TRY(row_at(r, rule->made, made_index, r->column[found].item[e], &made));
        DCSR_I_WORK_TRY(add_row(r, made, g.row, g.begin, g.end));
    }
    return DCSR_OK;
}

static dcsr_status apply(dcsr_i_relations *r, const dcsr_i_rule *rule, growth g, uint64_t index)
{
    const uint32_t symbol = r->row[g.row].symbol;
    if (rule->second == DCSR_I_NO_SYMBOL) {
        uint32_t made;
        DCSR_I_WORK_TRY(
            row_at(r, rule->made, r->symbol[rule->made].family ? index : 0, r->row[g.row].vertex, &made));
        return add_row(r, made, g.row, g.begin, g.end);
    }
    if (rule->first == symbol && rule->by_first) DCSR_I_WORK_TRY(join_first(r, rule, g, index));
    if (rule->second == symbol && rule->by_second) DCSR_I_WORK_TRY(join_second(r, rule, g, index));
    return DCSR_OK;
}

static dcsr_status apply_rules(dcsr_i_relations *r, growth g)
{
    const uint32_t symbol = r->row[g.row].symbol;
    for (uint32_t k = 0; k < r->rules; k++) {
        const dcsr_i_rule *rule = &r->rule[k];
        const bool two = rule->second != DCSR_I_NO_SYMBOL;
        if (rule->first != symbol && !(two && rule->second == symbol)) continue;
        const bool family = r->symbol[rule->made].family || r->symbol[rule->first].family ||
                            (two && r->symbol[rule->second].family);
        /* The index of the row, or where it has none, every one that the others have. */
        uint64_t begin = 0, end = family ? r->indices : 1;
        if (r->symbol[symbol].family) begin = r->row[g.row].index, end = begin + 1;
        for (uint64_t index = begin; index < end; index++) DCSR_I_WORK_TRY(apply(r, rule, g, index));
    }
    return DCSR_OK;
}

/* Rounds may take long: now and then within them, too. */
static void tell(const dcsr_i_relations *r, uint64_t step)
{
    enum { ONE_IN = 1024 };
    dcsr_i_work *work = r->work;
    if (work->progress && step % ONE_IN == 0)
        work->progress(work->user, r->rounds, 0, r->symbol[r->told].pairs);
}

dcsr_status dcsr_i_relations_grow(dcsr_i_relations *r)
{
    for (r->rounds = 0; r->queued; r->rounds++) {
        uint32_t *now = r->later;
        const uint64_t n = r->queued;
        r->later = NULL;
        r->queued = r->queue_room = 0;
        for (uint64_t k = 0; k < n; k++) {
            if (r->enough && r->pairs >= r->enough) return DCSR_OK;
            tell(r, k);
            dcsr_i_relation_row *row = &r->row[now[k]];
            const growth g = {now[k], row->done, row->list.count};
            row->done = row->list.count;
            row->queued = false;
            DCSR_I_WORK_TRY(apply_rules(r, g));
        }
        dcsr_i_work_drop(r->work, now);
    }
    tell(r, 0);
    return DCSR_OK;
}

/* ---- Results ---- */

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

dcsr_status dcsr_i_relations_to_matrix(dcsr_matrix **matrix, dcsr_i_relations *r, uint32_t symbol)
{
    const uint64_t pairs = r->symbol[symbol].pairs, copy = pairs * sizeof(uint32_t);
    uint64_t *offsets;
    uint32_t *cols;
    DCSR_I_WORK_TRY(dcsr_i_work_charge(r->work, copy, "the result"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(r->work, &offsets, r->vertices + 2, sizeof *offsets, "the result"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(r->work, &cols, pairs, sizeof *cols, "the result"));
    for (uint64_t k = 0; k < r->rows; k++)
        if (r->row[k].symbol == symbol) offsets[r->row[k].vertex + 2] += r->row[k].list.count;
    for (uint64_t v = 0; v < r->vertices; v++) offsets[v + 2] += offsets[v + 1];
    for (uint64_t k = 0; k < r->rows; k++) {
        const dcsr_i_relation_row *row = &r->row[k];
        if (row->symbol != symbol || !row->list.count) continue;
        memcpy(cols + offsets[row->vertex + 1], row->list.item, row->list.count * sizeof *cols);
        offsets[row->vertex + 1] += row->list.count;
    }
    for (uint64_t v = 0; v < r->vertices; v++)
        qsort(cols + offsets[v], offsets[v + 1] - offsets[v], sizeof *cols, ascending);
    const dcsr_csr csr = {r->vertices, r->vertices, pairs, DCSR_PATTERN, offsets, cols, NULL};
    return dcsr_matrix_from_csr(matrix, r->work->context, &csr, NULL);
}
