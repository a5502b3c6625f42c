/* diff_rows.c: comparing the rows of two versions, in host memory.
 *
 * Pages that both versions share are skipped, and rows whose pieces are the same: entries that a held version sees
 * stay where they are, and as they are. Rows of the others that ascend are merged by column from where they begin to
 * differ, runs that are the same skipped many entries at a time. What does not ascend is resolved first. Most of these
 * are a row that both have, perhaps a hub's with many entries, and a few that were appended since; what differs is then
 * in the columns of these few. So the rows are read as far as both are the same, and of all that stands before only the
 * entries that may be in one of the columns are resolved: they are compared with all columns if these are very few,
 * else a bitmap of hashed columns tells (a Bloom filter with one function). One too many does no harm, as it is in
 * both. Where batches were resolved as they were inserted, what was appended is known to be new, and nothing else is
 * read.
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
    int count, dropped; /* pieces; and how many before them have been left out */
    uint64_t stored;    /* entries in the pieces */
    const uint32_t *columns;
    const char *values;
    uint64_t length;
    words keys, room; /* the room is for other keys, values and columns: a word each */
} row;

/* Some columns: a few of them, some perhaps several times; or bit h is set if one of them is hashed to h. */
enum { FEW = 4 };
typedef struct filter {
    uint32_t column[FEW];
    bool few;
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
    if (f->few) {
        column &= ~DCSR_I_TOMBSTONE;
        return column == f->column[0] || column == f->column[1] || column == f->column[2] ||
               column == f->column[3];
    }
    const uint64_t hash = hash_of(f, column);
    return f->bits.at[hash / 64] >> (hash & 63) & 1;
}

/* Whether one of BLOCK entries may be of one of the columns. A loop without branches that the compiler makes one of
 * vectors. */
enum { BLOCK = 32 };
static inline bool block_may_have(const filter *f, const uint32_t *columns)
{
    const uint32_t *wanted = f->column;
    uint32_t hit = 0;
    if (!f->few) return true;
    for (int e = 0; e < BLOCK; e++) {
        const uint32_t column = columns[e] & ~DCSR_I_TOMBSTONE;
        hit |= (column == wanted[0]) | (column == wanted[1]) | (column == wanted[2]) | (column == wanted[3]);
    }
    return hit;
}

/* The part of piece k in which positions from `first` on stand, of which as many pieces before have been subtracted. */
static const uint32_t *rest_of_piece(const row *r, int k, uint64_t *first, uint64_t *n)
{
    const dcsr_i_piece *piece = &r->pieces[k];
    const uint64_t skip = *first < piece->length ? *first : piece->length;
    *first -= skip;
    *n = piece->length - skip;
    return r->rows->columns + piece->begin + skip;
}

/* The columns of a row's entries from position `first` on; *known of a few are there. */
static void add_columns(filter *f, const row *r, uint64_t first, int *known)
{
    for (int k = 0; k < r->count; k++) {
        uint64_t n;
        const uint32_t *columns = rest_of_piece(r, k, &first, &n);
        for (uint64_t e = 0; e < n; e++)
            if (f->few) {
                f->column[(*known)++] = columns[e] & ~DCSR_I_TOMBSTONE;
            } else {
                uint64_t hash = hash_of(f, columns[e]);
                f->bits.at[hash / 64] |= (uint64_t)1 << (hash & 63);
            }
    }
}

/* Of both rows, which are the same before that position. */
static bool make_filter(part *p, uint64_t first)
{
    enum { BITS_PER_COLUMN = 16, LEAST_BITS = 9, MOST_BITS = 32 };
    const uint64_t columns = p->from.stored + p->to.stored - 2 * first;
    filter *f = &p->filter;
    int known = 0;
    f->few = columns <= FEW;
    if (!f->few) {
        int bits = dcsr_i_bits_for(columns * BITS_PER_COLUMN);
        if (bits < LEAST_BITS) bits = LEAST_BITS;
        if (bits > MOST_BITS) bits = MOST_BITS;
        const uint64_t n = (uint64_t)1 << bits >> 6;
        if (!reserve(&f->bits, p->context, n)) return false;
        memset(f->bits.at, 0, n * sizeof *f->bits.at);
        f->shift = MOST_BITS - bits;
    }
    add_columns(f, &p->from, first, &known);
    add_columns(f, &p->to, first, &known);
    for (; f->few && known < FEW; known++) f->column[known] = f->column[0];
    return true;
}

/* ---- One row ---- */

/* Finds row i, which is empty where the version has fewer rows. */
static void find(row *r, const dcsr_i_rows *rows, uint64_t i)
{
    r->rows = rows;
    r->dropped = 0;
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

/* Entries that are compared at once. */
enum { STEP = 64 };

/* Up to which position both rows have the same entries; at most some entries less. */
static uint64_t common_beginning(const part *p)
{
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

/* Adds the keys of n entries from a position on, whose columns the filter may have; of all if there is none. */
static bool take_keys_of(row *r, const part *p, const filter *f, const uint32_t *columns, uint64_t n,
                         uint64_t position)
{
    for (uint64_t block = 0; block < n; block += BLOCK) {
        const uint64_t end = n - block < BLOCK ? n : block + BLOCK;
        if (f && end - block == BLOCK && !block_may_have(f, columns + block)) continue;
        for (uint64_t e = block; e < end; e++) {
            if (f && !may_have(f, columns[e])) continue;
            if (r->length == r->keys.capacity && !reserve(&r->keys, p->context, r->length + 1)) return false;
            r->keys.at[r->length++] = (uint64_t)(columns[e] & ~DCSR_I_TOMBSTONE) << 32 | (position + e);
        }
    }
    return true;
}

/* The same of the entries at positions from `first` to `end`. */
static bool take_keys(row *r, const part *p, const filter *f, uint64_t first, uint64_t end)
{
    uint64_t position = first, skip = first, n;
    for (int k = 0; k < r->count && position < end; k++, position += n) {
        const uint32_t *columns = rest_of_piece(r, k, &skip, &n);
        if (n > end - position) n = end - position;
        if (!take_keys_of(r, p, f, columns, n, position)) return false;
    }
    return true;
}

/* Makes the entries of the keys, in order. */
static bool resolve(row *r, const part *p)
{
    const uint64_t n = r->length;
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

/* Whether row i, of which some first entries may have been dropped, is in one piece whose columns ascend strictly, and
 * none is a tombstone. */
static bool ascends(const row *r, uint64_t i)
{
    if (r->count > 1) return false;
    if (!r->count || (!r->dropped && dcsr_i_first_piece_ascends(r->rows->table, i))) return true;
    const uint32_t *columns = r->rows->columns + r->pieces[0].begin;
    int64_t previous = -1;
    for (uint64_t e = 0; e < r->pieces[0].length; previous = columns[e++])
        if (columns[e] <= previous || columns[e] & DCSR_I_TOMBSTONE) return false;
    return true;
}

/* The entries of such a row, where they are. */
static void lend_row(row *r, const part *p)
{
    r->length = r->stored;
    if (!r->count) return;
    r->columns = r->rows->columns + r->pieces[0].begin;
    if (p->value_size) r->values = (const char *)r->rows->values + r->pieces[0].begin * p->value_size;
}

/* The entries of row i, in order. */
static bool read_row(row *r, const part *p, uint64_t i)
{
    r->length = 0;
    if (!ascends(r, i)) return take_keys(r, p, NULL, 0, r->stored) && resolve(r, p);
    lend_row(r, p);
    return true;
}

/* Of both rows, which are the same before position `same`, the entries in columns that stand behind it. */
static bool read_differing(part *p, uint64_t same)
{
    row *from = &p->from, *to = &p->to;
    const filter *f = &p->filter;
    from->length = 0;
    if (!make_filter(p, same) || !take_keys(from, p, f, 0, same)) return false;
    to->length = from->length;
    if (!reserve(&to->keys, p->context, to->length)) return false;
    if (to->length) memcpy(to->keys.at, from->keys.at, to->length * sizeof *to->keys.at);
    return take_keys(from, p, NULL, same, from->stored) && take_keys(to, p, NULL, same, to->stored) &&
           resolve(from, p) && resolve(to, p);
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

/* Entries that are compared at once where a difference is near. */
enum { SHORT_STEP = 8 };

/* How many entries from i and j on are the same; less than SHORT_STEP less. */
static uint64_t equal_run(const part *p, uint64_t i, uint64_t j)
{
    const row *a = &p->from, *b = &p->to;
    const size_t size = p->value_size;
    uint64_t n = 0;
    for (; i + n + STEP <= a->length && j + n + STEP <= b->length; n += STEP)
        if (memcmp(a->columns + i + n, b->columns + j + n, STEP * sizeof *a->columns) ||
            (size && memcmp(a->values + (i + n) * size, b->values + (j + n) * size, STEP * size)))
            break;
    for (; i + n + SHORT_STEP <= a->length && j + n + SHORT_STEP <= b->length; n += SHORT_STEP) {
        uint32_t differ = 0;
        for (int e = 0; e < SHORT_STEP; e++) differ |= a->columns[i + n + e] ^ b->columns[j + n + e];
        if (differ ||
            (size && memcmp(a->values + (i + n) * size, b->values + (j + n) * size, SHORT_STEP * size)))
            break;
    }
    return n;
}

/* Where a column stands several times in both, the first entry meets the first, and so on. */
static bool merge(part *p, uint32_t number)
{
    const row *a = &p->from, *b = &p->to;
    uint64_t look = 0; /* from there on for a run */
    for (uint64_t i = 0, j = 0; i < a->length || j < b->length;) {
        if (i >= look) {
            const uint64_t run = equal_run(p, i, j);
            i += run, j += run;
            look = i + SHORT_STEP;
            if (run) continue;
        }
        uint64_t in_a = i < a->length ? a->columns[i] : UINT64_MAX,
                 in_b = j < b->length ? b->columns[j] : UINT64_MAX;
        note n = {.row = number, .col = (uint32_t)(in_a < in_b ? in_a : in_b)};
        n.kind = in_a == in_b ? DCSR_I_CHANGED : in_a < in_b ? DCSR_I_REMOVED : DCSR_I_INSERTED;
        if (in_a <= in_b) n.old = value_of(p, a, i++);
        if (in_b <= in_a) n.new = value_of(p, b, j++);
        if (in_a == in_b && n.old == n.new) continue;
        if (!take_note(p, &n)) return false;
        look = i;
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
    r->dropped += k;
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
    find(from, p->pairs->from, i);
    find(to, p->pairs->to, i);
    if (is_shared(p)) return true;
    p->rows_compared++;
    const uint64_t same = common_beginning(p);
    if (same == from->stored && same == to->stored) return true;
    if (same == from->stored && is_resolved(p, to, i)) {
        /* What was appended is new, whatever stands before. */
        drop_first(to, same);
        from->length = 0;
        if (!read_row(to, p, i)) return false;
    } else if (ascends(from, i) && ascends(to, i)) {
        drop_first(from, same);
        drop_first(to, same);
        lend_row(from, p);
        lend_row(to, p);
    } else if (same > from->stored - same + to->stored - same) {
        if (!read_differing(p, same)) return false;
    } else if (!read_row(from, p, i) || !read_row(to, p, i)) {
        return false;
    }
    if (!merge(p, p->pairs->numbers ? p->pairs->numbers[i] : (uint32_t)i)) return false;
    p->rows += p->count > before;
    return true;
}

/* ---- Pages, shared among threads ---- */

/* The rows of page[n] that may differ, whose entries are then on their way. */
static uint64_t look_at_page(const part *p, const uint32_t *page, uint64_t n, uint64_t count)
{
    const uint64_t found = dcsr_i_diff_candidates(p->pairs, page, n, count);
    if (found) dcsr_i_diff_fetch(p->pairs, p->value_size, page[n], found);
    return found;
}

static void compare_pages(part *p, const uint32_t *page, uint64_t count)
{
    const uint64_t rows = dcsr_i_diff_most_rows(p->pairs);
    uint64_t next = look_at_page(p, page, 0, count);
    for (uint64_t n = 0; n < count && !p->failed; n++) {
        uint64_t candidates = next;
        next = look_at_page(p, page, n + 1, count);
        for (; candidates && !p->failed; candidates &= candidates - 1) {
            const uint64_t i = (uint64_t)page[n] << DCSR_I_PAGE_SHIFT | (uint64_t)__builtin_ctzll(candidates);
            if (i < rows) p->failed = !compare_row(p, i);
        }
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
    dcsr_status status = dcsr_i_diff_list_pages(&list, diff->context, pairs);
    if (status == DCSR_OK) status = compare_list(diff, pairs, &list);
    dcsr_i_page_list_free(&list, diff->context);
    return status;
}
