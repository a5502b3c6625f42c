/* diff_rows.c: comparing the rows of two versions, in host memory.
 *
 * Pages that both versions share are skipped, and rows whose pieces are the same: entries that a held version
 * sees stay where they are, and as they are. Rows that have only moved are found by comparing them as they stand.
 * The others are brought into order, with duplicates combined and deletions applied, and merged. Threads take
 * runs of pages and note what differs, in order; the notes are distributed to the lists at the end.
 */
#include "dcsr/view/diff_data.h"
#include "dcsr/view/sorted.h"
#include <string.h>

/* One entry that differs. */
typedef struct note {
    uint32_t row, col;
    uint64_t old, new; /* the bytes of the values, the rest zero */
    int kind;
} note;

/* Room for an entry that is sorted: two words for keys, one for the value, one for the column. */
enum { ROOM_WORDS = 4, LEAST_ROOM = 64 };

/* A row as it is to be compared: where it is, if its columns ascend there, else a copy. */
typedef struct row {
    const uint32_t *columns;
    const char *values;
    uint64_t length;
    uint64_t *room;
    uint64_t capacity; /* entries */
} row;

/* A run of pages. */
typedef struct part {
    dcsr_context *context;
    const dcsr_i_row_pairs *pairs;
    dcsr_i_combine combine;
    size_t value_size;
    row from, to;
    note *notes;
    uint64_t count, capacity;
    uint64_t of_kind[DCSR_I_DIFFERENCES], rows, rows_compared;
    bool failed; /* no memory */
} part;

/* ---- One row ---- */

static void free_room(row *r, dcsr_context *context)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, r->room, ROOM_WORDS * r->capacity, sizeof *r->room);
}

static bool make_room(row *r, dcsr_context *context, uint64_t entries)
{
    uint64_t capacity = r->capacity ? r->capacity : LEAST_ROOM;
    if (entries <= r->capacity) return true;
    while (capacity < entries) capacity *= 2;
    free_room(r, context);
    r->room = dcsr_i_alloc(context, DCSR_I_SCRATCH, ROOM_WORDS * capacity, sizeof *r->room);
    r->capacity = r->room ? capacity : 0;
    return r->room != NULL;
}

/* Row i, which is empty where the version has fewer rows. */
static bool read_row(row *r, const part *p, const dcsr_i_rows *rows, uint64_t i)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = i < rows->rows ? dcsr_i_rows_pieces(rows, i, pieces) : 0;
    r->length = 0;
    if (!count) return true;
    if (count == 1 && dcsr_i_row_ascends(rows, i)) {
        r->length = pieces[0].length;
        r->columns = rows->columns + pieces[0].begin;
        if (p->value_size) r->values = (const char *)rows->values + pieces[0].begin * p->value_size;
        return true;
    }
    if (!make_room(r, p->context, dcsr_i_rows_length(rows, i))) return false;
    char *values = (char *)(r->room + 2 * r->capacity);
    uint32_t *columns = (uint32_t *)(r->room + 3 * r->capacity);
    r->length = dcsr_i_row_sort(r->room, r->room + r->capacity, rows, i, p->pairs->policy == DCSR_POLICY_KEEP,
                                p->combine, columns, values);
    r->columns = columns;
    r->values = values;
    return true;
}

static bool take_note(part *p, const note *taken)
{
    enum { FIRST = 64 };
    if (p->count == p->capacity) {
        uint64_t capacity = p->capacity ? 2 * p->capacity : FIRST;
        note *larger =
            dcsr_i_realloc(p->context, DCSR_I_SCRATCH, p->notes, p->capacity, capacity, sizeof *larger);
        if (!larger) return false;
        p->notes = larger;
        p->capacity = capacity;
    }
    p->notes[p->count++] = *taken;
    p->of_kind[taken->kind]++;
    return true;
}

static uint64_t value_of(const part *p, const row *r, uint64_t e)
{
    uint64_t word = 0;
    if (p->value_size) memcpy(&word, r->values + e * p->value_size, p->value_size);
    return word;
}

/* Where a column stands several times in both, the first entry meets the first, and so on. */
static bool merge(part *p, uint32_t number)
{
    const row *a = &p->from, *b = &p->to;
    for (uint64_t i = 0, j = 0; i < a->length || j < b->length;) {
        uint64_t in_a = i < a->length ? a->columns[i] : UINT64_MAX,
                 in_b = j < b->length ? b->columns[j] : UINT64_MAX;
        note n = {.row = number, .col = (uint32_t)(in_a < in_b ? in_a : in_b)};
        n.kind = in_a == in_b ? DCSR_I_CHANGED : in_a < in_b ? DCSR_I_REMOVED : DCSR_I_INSERTED;
        if (in_a <= in_b) n.old = value_of(p, a, i++);
        if (in_b <= in_a) n.new = value_of(p, b, j++);
        if ((in_a != in_b || n.old != n.new) && !take_note(p, &n)) return false;
    }
    return true;
}

/* Where a row is in both versions. */
typedef struct pair {
    dcsr_i_piece from[DCSR_MAX_SEGMENTS], to[DCSR_MAX_SEGMENTS];
    int in_from, in_to;
} pair;

static pair find(const dcsr_i_row_pairs *pairs, uint64_t i)
{
    pair found;
    found.in_from = i < pairs->from->rows ? dcsr_i_rows_pieces(pairs->from, i, found.from) : 0;
    found.in_to = i < pairs->to->rows ? dcsr_i_rows_pieces(pairs->to, i, found.to) : 0;
    return found;
}

/* Whether both have it at the same places of the arena. */
static bool is_shared(const dcsr_i_row_pairs *pairs, const pair *found)
{
    if (found->in_from != found->in_to) return false;
    if (found->in_from && !(pairs->from->table && pairs->to->table)) return false;
    for (int k = 0; k < found->in_from; k++)
        if (found->from[k].begin != found->to[k].begin || found->from[k].length != found->to[k].length)
            return false;
    return true;
}

static bool equal_entries(const part *p, uint64_t in_from, uint64_t in_to, uint64_t n)
{
    const dcsr_i_rows *from = p->pairs->from, *to = p->pairs->to;
    const size_t size = p->value_size;
    return !memcmp(from->columns + in_from, to->columns + in_to, n * sizeof *to->columns) &&
           (!size || !memcmp((const char *)from->values + in_from * size,
                             (const char *)to->values + in_to * size, n * size));
}

/* Whether both have the same entries in the same order, as rows have that only moved. */
static bool has_only_moved(const part *p, pair found)
{
    int k = 0, l = 0;
    while (k < found.in_from && l < found.in_to) {
        dcsr_i_piece *from = &found.from[k], *to = &found.to[l];
        uint64_t n = from->length < to->length ? from->length : to->length;
        if (!equal_entries(p, from->begin, to->begin, n)) return false;
        *from = (dcsr_i_piece){from->begin + n, from->length - n};
        *to = (dcsr_i_piece){to->begin + n, to->length - n};
        k += !from->length;
        l += !to->length;
    }
    return k == found.in_from && l == found.in_to;
}

static bool compare_row(part *p, uint64_t i)
{
    const dcsr_i_row_pairs *pairs = p->pairs;
    const pair found = find(pairs, i);
    const uint64_t before = p->count;
    if (is_shared(pairs, &found)) return true;
    p->rows_compared++;
    if (has_only_moved(p, found)) return true;
    if (!read_row(&p->from, p, pairs->from, i) || !read_row(&p->to, p, pairs->to, i)) return false;
    if (!merge(p, pairs->numbers ? pairs->numbers[i] : (uint32_t)i)) return false;
    p->rows += p->count > before;
    return true;
}

/* ---- Pages, shared among threads ---- */

static uint64_t most_rows(const dcsr_i_row_pairs *pairs)
{
    return pairs->from->rows > pairs->to->rows ? pairs->from->rows : pairs->to->rows;
}

/* The next page to be looked at. */
static uint64_t next_page(const dcsr_i_row_pairs *pairs, uint64_t p)
{
    if (!pairs->from->table || !pairs->to->table) return p;
    return dcsr_i_next_unshared_page(pairs->from->table, pairs->to->table, p);
}

static dcsr_status list_pages(dcsr_i_page_list *list, dcsr_context *context, const dcsr_i_row_pairs *pairs)
{
    const uint64_t pages = (most_rows(pairs) + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    uint64_t count = 0;
    for (uint64_t p = 0; (p = next_page(pairs, p)) < pages; p++) count++;
    *list = (dcsr_i_page_list){.capacity = count};
    list->page = dcsr_i_alloc(context, DCSR_I_SCRATCH, count, sizeof *list->page);
    if (!list->page) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; (p = next_page(pairs, p)) < pages; p++) list->page[list->count++] = (uint32_t)p;
    return DCSR_OK;
}

static void compare_pages(part *p, const uint32_t *page, uint64_t count)
{
    const uint64_t rows = most_rows(p->pairs);
    for (uint64_t n = 0; n < count && !p->failed; n++) {
        uint64_t i = (uint64_t)page[n] << DCSR_I_PAGE_SHIFT, end = i + DCSR_I_PAGE_ROWS;
        for (; i < end && i < rows && !p->failed; i++) p->failed = !compare_row(p, i);
    }
    free_room(&p->from, p->context);
    free_room(&p->to, p->context);
}

/* ---- The lists ---- */

static dcsr_status alloc_list(dcsr_i_differences *list, const dcsr_diff *diff, int kind, uint64_t n)
{
    dcsr_context *context = diff->context;
    list->nnz = n;
    list->rows = dcsr_i_alloc(context, DCSR_I_MATRIX, n, sizeof *list->rows);
    if (!list->rows) return DCSR_ERROR_OUT_OF_MEMORY;
    list->cols = dcsr_i_alloc(context, DCSR_I_MATRIX, n, sizeof *list->cols);
    if (!list->cols) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!diff->value_size) return DCSR_OK;
    if (kind != DCSR_I_INSERTED) {
        list->old = dcsr_i_alloc(context, DCSR_I_MATRIX, n, diff->value_size);
        if (!list->old) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (kind == DCSR_I_REMOVED) return DCSR_OK;
    list->new = dcsr_i_alloc(context, DCSR_I_MATRIX, n, diff->value_size);
    return list->new ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void distribute(dcsr_diff *diff, const part *parts, uint64_t count)
{
    const size_t size = diff->value_size;
    uint64_t rows = 0, next[DCSR_I_DIFFERENCES] = {0}, last = UINT64_MAX;
    for (uint64_t t = 0; t < count; t++)
        for (const note *n = parts[t].notes; n < parts[t].notes + parts[t].count; n++) {
            dcsr_i_differences *list = &diff->list[n->kind];
            uint64_t at = next[n->kind]++;
            list->rows[at] = n->row;
            list->cols[at] = n->col;
            if (list->old) memcpy(list->old + at * size, &n->old, size);
            if (list->new) memcpy(list->new + at *size, &n->new, size);
            if (n->row != last) diff->rows[rows++] = n->row;
            last = n->row;
        }
}

static dcsr_status make_lists(dcsr_diff *diff, const part *parts, uint64_t count)
{
    uint64_t of_kind[DCSR_I_DIFFERENCES] = {0}, rows = 0;
    for (uint64_t t = 0; t < count; t++) {
        if (parts[t].failed)
            return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "dcsr_view_diff: no memory for what differs");
        for (int k = 0; k < DCSR_I_DIFFERENCES; k++) of_kind[k] += parts[t].of_kind[k];
        rows += parts[t].rows;
        diff->info.rows_compared += parts[t].rows_compared;
    }
    diff->rows = dcsr_i_alloc(diff->context, DCSR_I_MATRIX, rows, sizeof *diff->rows);
    if (!diff->rows) return DCSR_ERROR_OUT_OF_MEMORY;
    diff->info.rows = rows;
    for (int k = 0; k < DCSR_I_DIFFERENCES; k++) DCSR_TRY(alloc_list(&diff->list[k], diff, k, of_kind[k]));
    distribute(diff, parts, count);
    return DCSR_OK;
}

static dcsr_status compare_list(dcsr_diff *diff, const dcsr_i_row_pairs *pairs, const dcsr_i_page_list *list)
{
    enum { PARTS_PER_THREAD = 16 };
    const int threads = dcsr_i_threads(diff->context, list->count << DCSR_I_PAGE_SHIFT);
    const uint64_t parts = threads > 1 ? PARTS_PER_THREAD * (uint64_t)threads : 1;
    part *all = dcsr_i_calloc(diff->context, DCSR_I_SCRATCH, parts, sizeof *all);
    if (!all) return DCSR_ERROR_OUT_OF_MEMORY;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (uint64_t t = 0; t < parts; t++) {
        uint64_t first = list->count * t / parts, end = list->count * (t + 1) / parts;
        all[t] = (part){.context = diff->context,
                        .pairs = pairs,
                        .combine = dcsr_i_combiner(diff->info.type, pairs->policy),
                        .value_size = diff->value_size};
        compare_pages(&all[t], list->page + first, end - first);
    }
    dcsr_status status = make_lists(diff, all, parts);
    for (uint64_t t = 0; t < parts; t++)
        dcsr_i_free(diff->context, DCSR_I_SCRATCH, all[t].notes, all[t].capacity, sizeof *all[t].notes);
    dcsr_i_free(diff->context, DCSR_I_SCRATCH, all, parts, sizeof *all);
    return status;
}

dcsr_status dcsr_i_diff_fill(dcsr_diff *diff, const dcsr_i_row_pairs *pairs)
{
    dcsr_i_page_list list;
    dcsr_status status = list_pages(&list, diff->context, pairs);
    if (status == DCSR_OK) status = compare_list(diff, pairs, &list);
    dcsr_i_page_list_free(&list, diff->context);
    return status;
}
