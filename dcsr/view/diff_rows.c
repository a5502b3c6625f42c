/* diff_rows.c: comparing the rows of two versions, in host memory.
 *
 * Pages that both versions share are skipped, and rows whose pieces are the same: entries that a held version sees
 * stay where they are, and as they are. The others are resolved and merged by column. Most of them are a row that
 * both have, perhaps a hub's with many entries, and a few that were appended since; what differs is then in the
 * columns of these few. So the rows are read as far as both are the same, and of all that stands before only the
 * entries that may be in one of the columns are resolved; a bitmap of hashed columns tells (a Bloom filter with one
 * function). One too many does no harm, as it is in both. Where batches were resolved as they were inserted, what was
 * appended is known to be new, and nothing else is read.
 *
 * Threads take runs of pages and note what differs, in order; the notes are distributed to the lists at the end. */
#include "dcsr/view/diff_data.h"
#include "dcsr/view/sorted.h"
#include <string.h>

/* One entry that differs. */
typedef struct note {
    uint32_t row, col;
    uint64_t old, new; /* the bytes of the values, the rest zero */
    int kind;
} note;

/* An array that grows. */
typedef struct words {
    uint64_t *at;
    uint64_t capacity;
} words;

/* Where a row is in one version, and its entries in the order in which they are compared: there, or a copy. */
typedef struct row {
    const dcsr_i_rows *rows;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count;
    uint64_t stored; /* entries in the pieces */
    const uint32_t *columns;
    const char *values;
    uint64_t length;
    words keys, room; /* the room is for other keys, values and columns: a word each */
} row;

/* Some columns: bit h is set if one of them is hashed to h. */
typedef struct filter {
    words bits;
    int shift;
} filter;

/* A run of pages. */
typedef struct part {
    dcsr_context *context;
    const dcsr_i_row_pairs *pairs;
    dcsr_i_combine combine;
    size_t value_size;
    row from, to;
    filter filter;
    words notes; /* `count` of them */
    uint64_t count;
    uint64_t of_kind[DCSR_I_DIFFERENCES], rows, rows_compared;
    bool failed; /* no memory */
} part;

/* ---- Memory ---- */

enum { ROOM_WORDS = 3, NOTE_WORDS = sizeof(note) / sizeof(uint64_t), FIRST_CAPACITY = 256 };

/* Room for n words, of which those that are there stay. */
static bool reserve(words *w, dcsr_context *context, uint64_t n)
{
    uint64_t capacity = w->capacity ? w->capacity : FIRST_CAPACITY;
    if (n <= w->capacity) return true;
    while (capacity < n) capacity *= 2;
    uint64_t *larger = dcsr_i_realloc(context, DCSR_I_SCRATCH, w->at, w->capacity, capacity, sizeof *larger);
    if (!larger) return false;
    *w = (words){larger, capacity};
    return true;
}

static void free_words(words *w, dcsr_context *context)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, w->at, w->capacity, sizeof *w->at);
}

/* ---- Columns in which rows may differ ---- */

static inline uint64_t hash_of(const filter *f, uint32_t column)
{
    return (column & ~DCSR_I_TOMBSTONE) * UINT32_C(0x9e3779b1) >> f->shift;
}

static inline bool may_have(const filter *f, uint32_t column)
{
    uint64_t hash = hash_of(f, column);
    return f->bits.at[hash / 64] >> (hash & 63) & 1;
}

/* The columns of a row's entries from position `first` on. */
static void add_columns(filter *f, const row *r, uint64_t first)
{
    for (int k = 0; k < r->count; k++) {
        uint64_t skip = first < r->pieces[k].length ? first : r->pieces[k].length;
        const uint32_t *columns = r->rows->columns + r->pieces[k].begin;
        first -= skip;
        for (uint64_t e = skip; e < r->pieces[k].length; e++) {
            uint64_t hash = hash_of(f, columns[e]);
            f->bits.at[hash / 64] |= (uint64_t)1 << (hash & 63);
        }
    }
}

/* Of both rows, which are the same before that position. */
static bool make_filter(part *p, uint64_t first)
{
    enum { BITS_PER_COLUMN = 16, LEAST_BITS = 9, MOST_BITS = 32 };
    int bits = dcsr_i_bits_for((p->from.stored + p->to.stored - 2 * first) * BITS_PER_COLUMN);
    if (bits < LEAST_BITS) bits = LEAST_BITS;
    if (bits > MOST_BITS) bits = MOST_BITS;
    const uint64_t n = (uint64_t)1 << bits >> 6;
    if (!reserve(&p->filter.bits, p->context, n)) return false;
    memset(p->filter.bits.at, 0, n * sizeof *p->filter.bits.at);
    p->filter.shift = MOST_BITS - bits;
    add_columns(&p->filter, &p->from, first);
    add_columns(&p->filter, &p->to, first);
    return true;
}

/* ---- One row ---- */

/* Finds row i, which is empty where the version has fewer rows. */
static void find(row *r, const dcsr_i_rows *rows, uint64_t i)
{
    r->rows = rows;
    r->count = i < rows->rows ? dcsr_i_rows_pieces(rows, i, r->pieces) : 0;
    r->stored = 0;
    for (int k = 0; k < r->count; k++) r->stored += r->pieces[k].length;
}

/* Whether the versions have what is stored of rows in one arena, and say where. */
static bool have_places(const part *p)
{
    return !p->pairs->apart && p->from.rows->table && p->to.rows->table;
}

/* Whether both versions have the row at the same places of the arena. */
static bool is_shared(const part *p)
{
    const row *from = &p->from, *to = &p->to;
    if (from->count != to->count || from->stored != to->stored) return false;
    if (from->count && !have_places(p)) return false;
    for (int k = 0; k < from->count; k++)
        if (from->pieces[k].begin != to->pieces[k].begin || from->pieces[k].length != to->pieces[k].length)
            return false;
    return true;
}

static bool equal_entries(const part *p, uint64_t from, uint64_t to, uint64_t n)
{
    const dcsr_i_rows *a = p->from.rows, *b = p->to.rows;
    const size_t size = p->value_size;
    return !memcmp(a->columns + from, b->columns + to, n * sizeof *a->columns) &&
           (!size ||
            !memcmp((const char *)a->values + from * size, (const char *)b->values + to * size, n * size));
}

/* Up to which position both rows have the same entries; at most some entries less. */
static uint64_t common_beginning(const part *p)
{
    enum { STEP = 64 };
    const row *from = &p->from, *to = &p->to;
    uint64_t position = 0, i = 0, j = 0; /* i and j are in pieces k and l */
    for (int k = 0, l = 0; k < from->count && l < to->count;) {
        dcsr_i_piece a = from->pieces[k], b = to->pieces[l];
        uint64_t n = a.length - i < b.length - j ? a.length - i : b.length - j;
        bool same_places = a.begin + i == b.begin + j && have_places(p);
        if (n > STEP && !same_places) n = STEP;
        if (!same_places && !equal_entries(p, a.begin + i, b.begin + j, n)) return position;
        position += n, i += n, j += n;
        if (i == a.length) k++, i = 0;
        if (j == b.length) l++, j = 0;
    }
    return position;
}

/* Keys of the entries whose columns the filter may have; of all if there is none. */
static bool take_keys(row *r, const part *p, const filter *f, uint64_t *n)
{
    uint64_t position = 0;
    *n = 0;
    for (int k = 0; k < r->count; k++) {
        const uint32_t *column = r->rows->columns + r->pieces[k].begin, *end = column + r->pieces[k].length;
        for (; column < end; column++, position++) {
            if (f && !may_have(f, *column)) continue;
            if (*n == r->keys.capacity && !reserve(&r->keys, p->context, *n + 1)) return false;
            r->keys.at[(*n)++] = (uint64_t)(*column & ~DCSR_I_TOMBSTONE) << 32 | position;
        }
    }
    return true;
}

static bool resolve(row *r, const part *p, const filter *f)
{
    uint64_t n;
    if (!take_keys(r, p, f, &n)) return false;
    if (!n) return true;
    if (!reserve(&r->room, p->context, ROOM_WORDS * n)) return false;
    char *values = (char *)(r->room.at + n);
    uint32_t *columns = (uint32_t *)(r->room.at + 2 * n);
    const uint64_t *keys = dcsr_i_keys_sort(r->keys.at, r->room.at, n);
    r->length = dcsr_i_keys_fold(keys, n, r->rows, r->pieces, p->pairs->policy == DCSR_POLICY_KEEP,
                                 p->combine, columns, values);
    r->columns = columns;
    r->values = values;
    return true;
}

/* The entries of row i, in order. */
static bool read_row(row *r, const part *p, const filter *f, uint64_t i)
{
    r->length = 0;
    if (!r->count) return true;
    if (f || r->count > 1 || !dcsr_i_row_ascends(r->rows, i)) return resolve(r, p, f);
    r->length = r->stored;
    r->columns = r->rows->columns + r->pieces[0].begin;
    if (p->value_size) r->values = (const char *)r->rows->values + r->pieces[0].begin * p->value_size;
    return true;
}

static bool take_note(part *p, const note *taken)
{
    if (!reserve(&p->notes, p->context, NOTE_WORDS * (p->count + 1))) return false;
    ((note *)p->notes.at)[p->count++] = *taken;
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

/* Drops the first n entries of a row. */
static void drop_first(row *r, uint64_t n)
{
    int k = 0;
    r->stored -= n;
    for (; k < r->count && n >= r->pieces[k].length; k++) n -= r->pieces[k].length;
    r->count -= k;
    memmove(r->pieces, r->pieces + k, (size_t)r->count * sizeof *r->pieces);
    if (!r->count) return;
    r->pieces[0].begin += n;
    r->pieces[0].length -= n;
}

/* Whether it is known of row i that no column stands in it twice, and none is deleted. */
static bool is_resolved(const part *p, const row *r, uint64_t i)
{
    if (!r->rows->table || p->pairs->policy == DCSR_POLICY_KEEP) return false;
    const dcsr_i_row_page *page = dcsr_i_page(r->rows->table, i >> DCSR_I_PAGE_SHIFT);
    return page && !((page->duplicates | page->tombstones) >> (i & (DCSR_I_PAGE_ROWS - 1)) & 1);
}

static bool compare_row(part *p, uint64_t i)
{
    row *from = &p->from, *to = &p->to;
    const uint64_t before = p->count;
    const filter *f = NULL;
    find(from, p->pairs->from, i);
    find(to, p->pairs->to, i);
    if (is_shared(p)) return true;
    p->rows_compared++;
    const uint64_t same = common_beginning(p);
    if (same == from->stored && same == to->stored) return true;
    if (same == from->stored && is_resolved(p, to, i)) {
        /* What was appended is new, whatever stands before. */
        drop_first(to, same);
        from->count = 0;
    } else if (same > from->stored - same + to->stored - same) {
        if (!make_filter(p, same)) return false;
        f = &p->filter;
    }
    if (!read_row(from, p, f, i) || !read_row(to, p, f, i)) return false;
    if (!merge(p, p->pairs->numbers ? p->pairs->numbers[i] : (uint32_t)i)) return false;
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
    words *used[] = {&p->from.keys, &p->from.room, &p->to.keys, &p->to.room, &p->filter.bits};
    for (int i = 0; i < (int)(sizeof used / sizeof *used); i++) free_words(used[i], p->context);
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
        for (uint64_t i = 0; i < parts[t].count; i++) {
            const note *n = (const note *)parts[t].notes.at + i;
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
    diff->info.rows_differing = rows;
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
    for (uint64_t t = 0; t < parts; t++) free_words(&all[t].notes, diff->context);
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
