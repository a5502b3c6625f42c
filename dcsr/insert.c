/* insert.c: applying a batch of insertions or deletions.
 *
 *      entries (any order)
 *        | sort by (row, column), combine equal places             sort.c, combine.c
 *        v
 *      groups: the entries of one page of 64 rows
 *        | plan: for each row, is there room in its last segment? else how large a new one; or is the row to
 * be moved, |       because its segments have run out?                 -> places needed, pages to copy |
 * allocate: one prefix sum over groups, one bump of the arena for the whole batch | scatter: write entries,
 * table entries, lengths of the new pages
 *        v
 *      publish
 *
 * Planning and scattering run in parallel over groups and decide the same thing from the same state; nothing
 * that a reader can see is written before all that can fail is behind. Insertions do not look for what is
 * stored: the rows are marked instead (rewrite.c). */
#include "dcsr/store.h"
#include <assert.h>
#include <omp.h>
#include <string.h>

/* An entry costs a few cache misses, as much as this many entries that are read in passing. */
enum { WORK_PER_ENTRY = 4 };

/* The entries for the rows of one page. */
typedef struct group {
    uint64_t page;
    uint64_t first, end; /* entries */
    const dcsr_i_row_page *old;
    dcsr_i_row_page *fresh;
    uint64_t places; /* needed, then where they begin */
    uint64_t ranges; /* segments that moved rows leave behind */
    uint64_t tail;   /* where its first row ends, to be fetched ahead */
} group;

typedef struct batch {
    dcsr_matrix *matrix;
    const dcsr_i_table *base;
    dcsr_i_operation *operation;
    uint64_t *entries; /* sorted: the operation's or the spare array */
    uint64_t n;        /* after combining */
    int stride, column_bits;
    uint32_t mark; /* DCSR_I_TOMBSTONE or 0 */
    bool bulk;     /* into an empty matrix: rows are laid out tight */
    group *groups;
    uint64_t group_count, group_capacity;
    uint64_t longest; /* rows that move */
    int threads;
    dcsr_i_table *next;
    dcsr_i_grave *grave;
    uint64_t begin, places;
} batch;

static inline uint64_t key_at(const batch *b, uint64_t i)
{
    return b->entries[i * (uint64_t)b->stride];
}

static inline unsigned row_in_page(const batch *b, uint64_t key)
{
    return (unsigned)(key >> b->column_bits) & (DCSR_I_PAGE_ROWS - 1);
}

/* The end of the entries of the row that entry i is of. */
static inline uint64_t row_end(const batch *b, const group *g, uint64_t i)
{
    uint64_t row = key_at(b, i) >> b->column_bits;
    do i++;
    while (i < g->end && key_at(b, i) >> b->column_bits == row);
    return i;
}

/* ---- Sort, combine, group ---- */

/* Closes up entries of the same place, first come first kept, and cuts the rest into pages. One pass. */
static void combine_and_group(batch *b)
{
    bool keep = b->matrix->policy == DCSR_POLICY_KEEP && !b->mark;
    dcsr_i_combine combine = b->mark ? NULL : dcsr_i_combiner(b->matrix->type, b->matrix->policy);
    int page_shift = b->column_bits + DCSR_I_PAGE_SHIFT;
    uint64_t stride = (uint64_t)b->stride, out = 0, page = UINT64_MAX, previous = UINT64_MAX;
    for (uint64_t i = 0; i < b->n; i++) {
        uint64_t key = b->entries[i * stride];
        if (key == previous && !keep) {
            if (combine && stride > 1)
                combine(&b->entries[(out - 1) * stride + 1], &b->entries[i * stride + 1]);
            continue;
        }
        if (key >> page_shift != page) {
            page = key >> page_shift;
            b->groups[b->group_count++] = (group){.page = page, .first = out};
        }
        if (out != i)
            for (uint64_t w = 0; w < stride; w++) b->entries[out * stride + w] = b->entries[i * stride + w];
        previous = key;
        out++;
    }
    b->n = out;
    for (uint64_t g = 0; g < b->group_count; g++) {
        b->groups[g].end = g + 1 < b->group_count ? b->groups[g + 1].first : out;
        b->groups[g].old = dcsr_i_page(b->base, b->groups[g].page);
    }
}

/* ---- Plan ---- */

/* How a row takes up n more entries. */
typedef struct growth {
    uint64_t room;     /* free places in its last segment */
    uint64_t tail;     /* where they begin */
    uint64_t capacity; /* of a new segment; of the moved row; 0: there is room */
    int segments;      /* that it has */
    bool moves;        /* its segments have run out: into one new segment */
} growth;

static growth grow_row(const batch *b, const dcsr_i_row_page *page, unsigned r, uint64_t n)
{
    growth grows = {0};
    uint64_t length = page ? page->length[r] : 0, total = 0;
    if (page && page->packed) {
        grows.segments = length != 0;
    } else if (page) {
        /* A row that is not fragmented has no second segment, and there is no need to look. */
        int k = 0, most = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
        for (; k < most && page->segment[k]; k++) {
            uint64_t capacity = page->segment[k]->capacity[r];
            if (!capacity) break;
            grows.tail = page->segment[k]->begin[r] + length - total;
            total += capacity;
        }
        grows.segments = k;
        grows.room = total - length;
    }
    if (n <= grows.room) return grows;
    uint64_t slack = b->bulk ? 0 : dcsr_i_slack(length + n);
    grows.moves = grows.segments == b->matrix->segments_per_row;
    grows.capacity = (grows.moves ? length + n : n - grows.room) + slack;
    return grows;
}

/* Nothing is to be deleted from an empty row. */
static inline bool skips(const batch *b, const dcsr_i_row_page *page, unsigned r)
{
    return b->mark && !(page && page->length[r]);
}

/* Gives the fresh page the segment pages that it cannot share: all of them when a row moves, or when the
 * first has no capacities yet; and those that no row of the page had before. */
static bool make_segment_pages(const batch *b, group *g, bool moves, unsigned levels)
{
    bool packed = g->old && g->old->packed;
    if (moves || packed) g->fresh->moved = b->base->version + 1;
    g->fresh->packed = 0;
    for (int k = 0; k < b->matrix->segments_per_row; k++) {
        dcsr_i_segment_page *old = g->old ? g->old->segment[k] : NULL;
        if (old && !moves && !packed) continue;
        g->fresh->segment[k] = NULL;
        if (!old && !(levels >> k & 1)) continue;
        g->fresh->segment[k] =
            dcsr_i_segment_page_create(b->matrix, old, old && packed ? g->old->length : NULL);
        if (!g->fresh->segment[k]) return false;
    }
    return true;
}

static dcsr_status plan_group(const batch *b, group *g, uint64_t *longest)
{
    unsigned levels = 0;
    bool moves = false;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        end = row_end(b, g, i);
        unsigned r = row_in_page(b, key_at(b, i));
        if (skips(b, g->old, r)) continue;
        growth grows = grow_row(b, g->old, r, end - i);
        if (i == g->first) g->tail = grows.tail;
        uint64_t length = g->old ? g->old->length[r] : 0;
        if (length + (end - i) > UINT32_MAX / 2)
            return dcsr_i_fail(
                DCSR_ERROR_TOO_LARGE,
                "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                (unsigned long long)(key_at(b, i) >> b->column_bits));
        g->places += grows.capacity;
        if (grows.moves) {
            moves = true;
            g->ranges += (uint64_t)grows.segments;
            if (length > *longest) *longest = length;
        } else if (grows.capacity) {
            levels |= 1u << grows.segments;
        }
    }
    g->fresh = dcsr_i_row_page_create(b->matrix, g->old, b->base->version + 1);
    if (!g->fresh) return DCSR_ERROR_OUT_OF_MEMORY;
    return make_segment_pages(b, g, moves, levels) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* The pages of a small batch lie anywhere and each is used for a row or two, so planning is bound by the
 * latency of memory: pages are fetched well ahead, and what they point to a little later. */
enum { PAGES_AHEAD = 12, SEGMENTS_AHEAD = 5, ENTRIES_AHEAD = 8 };

static inline void fetch_ahead(const batch *b, uint64_t g)
{
    if (g + PAGES_AHEAD < b->group_count) {
        const char *page = (const char *)b->groups[g + PAGES_AHEAD].old;
        for (size_t line = 0; page && line < sizeof(dcsr_i_row_page) + 64; line += 64)
            __builtin_prefetch(page + line);
    }
    if (g + SEGMENTS_AHEAD < b->group_count) {
        const group *soon = &b->groups[g + SEGMENTS_AHEAD];
        const dcsr_i_row_page *page = soon->old;
        for (uint64_t i = soon->first; page && i < soon->end && i < soon->first + ENTRIES_AHEAD; i++) {
            unsigned r = row_in_page(b, key_at(b, i));
            int levels = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
            for (int k = 0; k < levels && page->segment[k]; k++) {
                __builtin_prefetch(&page->segment[k]->begin[r]);
                if (!page->packed) __builtin_prefetch(&page->segment[k]->capacity[r]);
            }
        }
    }
}

static dcsr_status plan(batch *b)
{
    dcsr_status status = DCSR_OK;
    uint64_t longest = 0;
    char message[200] = "";
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 64) \
    reduction(max                                                      \
              : longest) if (b->threads > 1)
    for (uint64_t g = 0; g < b->group_count; g++) {
        fetch_ahead(b, g);
        dcsr_status here = plan_group(b, &b->groups[g], &longest);
        if (here == DCSR_OK) continue;
#pragma omp critical(dcsr_insert_plan)
        {
            status = here;
            strncpy(message, dcsr_i_error_text(), sizeof message - 1);
        }
    }
    b->longest = longest;
    /* The sentence may have been another thread's. */
    return status == DCSR_OK ? DCSR_OK : dcsr_i_fail(status, "%s", message);
}

/* ---- Allocate ---- */

/* The root and the directories of the next version, and the grave. */
static dcsr_status allocate(batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    b->next = dcsr_i_table_copy(matrix, b->base, b->base->rows, b->base->cols);
    if (!b->next) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t remains = 1;
    for (uint64_t g = 0; g < b->group_count; g++) {
        group *this = &b->groups[g];
        uint64_t d = this->page >> DCSR_I_DIRECTORY_SHIFT;
        if (b->next->directory[d] == b->base->directory[d]) {
            dcsr_i_directory *copy = dcsr_i_directory_create(matrix, b->base->directory[d], b->next->version);
            if (!copy) return DCSR_ERROR_OUT_OF_MEMORY;
            b->next->directory[d] = copy;
            remains++;
        }
        b->next->directory[d]->page[this->page & (DCSR_I_DIRECTORY_PAGES - 1)] = this->fresh;
        remains += 1 + this->ranges + (uint64_t)matrix->segments_per_row;
        uint64_t places = this->places;
        this->places = b->places;
        b->places += places;
    }
    b->grave = dcsr_i_grave_create(matrix, remains);
    if (!b->grave) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_arena_take(&matrix->arena, b->places, b->next->version, &b->begin);
    if (status != DCSR_OK) b->places = 0;
    return status;
}

/* Frees what a failed batch has made. The pages are not all in the table yet, so they are freed from the
 * groups. */
static void undo(batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    for (uint64_t g = 0; g < b->group_count; g++) {
        dcsr_i_row_page *fresh = b->groups[g].fresh;
        const dcsr_i_row_page *old = b->groups[g].old;
        for (int k = 0; fresh && k < matrix->segments_per_row; k++)
            if (fresh->segment[k] && !(old && old->segment[k] == fresh->segment[k]))
                dcsr_i_segment_page_free(matrix, fresh->segment[k], false);
        dcsr_i_row_page_free(matrix, fresh);
    }
    for (uint64_t d = 0; b->next && d < b->next->directories; d++)
        if (b->next->directory[d] != b->base->directory[d])
            dcsr_i_directory_free(matrix, b->next->directory[d]);
    dcsr_i_table_free(matrix, b->next);
    dcsr_i_grave_free(matrix, b->grave);
    dcsr_i_arena_give(&matrix->arena, b->begin, b->places);
}

/* ---- Scatter ---- */

/* Writes n of the batch's entries, from the i-th on, to place `to`. */
static void store_entries(const batch *b, uint64_t i, uint64_t n, uint64_t to)
{
    uint32_t *columns = b->matrix->arena.columns + to;
    uint64_t column_mask = ((uint64_t)1 << b->column_bits) - 1;
    if (b->stride == 1) {
        for (uint64_t e = 0; e < n; e++) columns[e] = (uint32_t)(b->entries[i + e] & column_mask) | b->mark;
        return;
    }
    const uint64_t *entries = b->entries + 2 * i;
    for (uint64_t e = 0; e < n; e++) columns[e] = (uint32_t)(entries[2 * e] & column_mask) | b->mark;
    char *values = b->matrix->arena.values + to * b->matrix->value_size;
    switch (b->matrix->value_size) {
#define STORE_VALUES(ctype)                                                            \
    for (uint64_t e = 0; e < n; e++) ((ctype *)values)[e] = (ctype)entries[2 * e + 1]; \
    break
    case 1:
        STORE_VALUES(uint8_t);
    case 2:
        STORE_VALUES(uint16_t);
    case 4:
        STORE_VALUES(uint32_t);
    case 8:
        STORE_VALUES(uint64_t);
#undef STORE_VALUES
    }
}

typedef struct change {
    uint64_t stored, extra, duplicates, tombstones, rewrites;
} change;

/* Moves row r of the page to place `to`, resolved if it was marked. Its old places stay as they are for older
 * versions. */
static void move_row(const batch *b, group *g, dcsr_i_resolver *resolver, unsigned r, uint64_t to,
                     change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_row_pieces(page, r, pieces);
    uint64_t length = page->length[r], left = 0, bit = (uint64_t)1 << r;
    if ((page->duplicates | page->tombstones) & bit) {
        left = dcsr_i_resolve_row(resolver, b->matrix, pieces, count, DCSR_MAX_COLS, to);
        sum->duplicates -= page->duplicates >> r & 1;
        sum->tombstones -= page->tombstones >> r & 1;
        page->duplicates &= ~bit;
        page->tombstones &= ~bit;
    } else {
        for (int k = 0; k < count; left += pieces[k++].length)
            dcsr_i_copy_entries(b->matrix, to + left, pieces[k].begin, pieces[k].length);
    }
    for (int k = 0; k < b->matrix->segments_per_row; k++) page->segment[k]->capacity[r] = 0;
    sum->extra -= (uint64_t)count - 1;
    sum->stored -= length - left;
    sum->rewrites++;
    page->fragmented &= ~bit;
    page->length[r] = (uint32_t)left;
}

/* Row r takes up entries i to end, new places from `to` on. */
static void scatter_row(const batch *b, group *g, dcsr_i_resolver *resolver, unsigned r, const growth *grows,
                        uint64_t i, uint64_t end, uint64_t to, change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    uint64_t n = end - i, bit = (uint64_t)1 << r;
    if (grows->moves) {
        move_row(b, g, resolver, r, to, sum);
        /* Resolving may have made the row shorter than was planned for; without giving back the rest, a row
         * that gets the same entries again and again would grow for ever. */
        uint64_t capacity = page->length[r] + n + dcsr_i_slack(page->length[r] + n);
        dcsr_i_arena_give(&b->matrix->arena, to + capacity, grows->capacity - capacity);
        page->segment[0]->begin[r] = to;
        page->segment[0]->capacity[r] = (uint32_t)capacity;
        store_entries(b, i, n, to + page->length[r]);
    } else {
        uint64_t fits = n < grows->room ? n : grows->room;
        store_entries(b, i, fits, grows->tail);
        if (fits < n) {
            int k = grows->segments;
            page->segment[k]->begin[r] = to;
            page->segment[k]->capacity[r] = (uint32_t)grows->capacity;
            store_entries(b, i + fits, n - fits, to);
            if (k) page->fragmented |= bit;
            sum->extra += k != 0;
        }
    }
    if (b->mark) {
        sum->tombstones += !(page->tombstones & bit);
        page->tombstones |= bit;
    } else if (b->matrix->policy != DCSR_POLICY_KEEP && page->length[r]) {
        sum->duplicates += !(page->duplicates & bit);
        page->duplicates |= bit;
    }
    page->length[r] += (uint32_t)n;
    sum->stored += n;
}

static inline void fetch_tail(const batch *b, uint64_t tail)
{
    __builtin_prefetch(b->matrix->arena.columns + tail, 1);
    if (b->matrix->value_size) __builtin_prefetch(b->matrix->arena.values + tail * b->matrix->value_size, 1);
}

/* Two passes, so that the cache lines of the rows' ends, which lie anywhere in the arena, are on their way
 * before they are written. */
static void scatter_group(const batch *b, group *g, dcsr_i_resolver *resolver, change *sum)
{
    growth grows[DCSR_I_PAGE_ROWS];
    uint64_t ends[DCSR_I_PAGE_ROWS];
    unsigned count = 0;
    for (uint64_t i = g->first; i < g->end; i = ends[count++]) {
        ends[count] = row_end(b, g, i);
        grows[count] = grow_row(b, g->fresh, row_in_page(b, key_at(b, i)), ends[count] - i);
        if (grows[count].room) fetch_tail(b, grows[count].tail);
    }
    uint64_t to = b->begin + g->places;
    uint64_t i = g->first;
    for (unsigned c = 0; c < count; i = ends[c++]) {
        unsigned r = row_in_page(b, key_at(b, i));
        if (skips(b, g->fresh, r)) continue;
        scatter_row(b, g, resolver, r, &grows[c], i, ends[c], to, sum);
        to += grows[c].capacity;
    }
}

static void bury_group(const batch *b, const group *g)
{
    const dcsr_i_row_page *old = g->old;
    if (!old) return;
    for (int k = 0; k < b->matrix->segments_per_row; k++)
        if (old->segment[k] && old->segment[k] != g->fresh->segment[k])
            dcsr_i_bury(b->grave, old->packed ? DCSR_I_PACKED_SEGMENT_PAGE : DCSR_I_SEGMENT_PAGE, old->moved,
                        old->segment[k], 0);
    dcsr_i_bury(b->grave, DCSR_I_ROW_PAGE, old->born, (void *)old, 0);
    if (!g->ranges) return;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        end = row_end(b, g, i);
        unsigned r = row_in_page(b, key_at(b, i));
        if (skips(b, old, r) || !grow_row(b, old, r, end - i).moves) continue;
        for (int k = 0; k < b->matrix->segments_per_row; k++)
            dcsr_i_bury_range(b->grave, &b->matrix->arena, old->segment[k]->begin[r],
                              old->segment[k]->capacity[r]);
    }
}

/* Everything that can fail is done before this is called, but for the room to sort in: with `resolvers` it is
 * there too. */
static void scatter(batch *b, dcsr_i_resolver *resolvers)
{
    uint64_t stored = 0, extra = 0, duplicates = 0, tombstones = 0, rewrites = 0;
#pragma omp parallel num_threads(b->threads) reduction(+ : stored, extra, duplicates, tombstones, rewrites) if (b->threads > 1)
    {
        change sum = {0};
        dcsr_i_resolver *resolver = &resolvers[b->threads > 1 ? omp_get_thread_num() : 0];
#pragma omp for schedule(dynamic, 64)
        for (uint64_t g = 0; g < b->group_count; g++) {
            if (g + SEGMENTS_AHEAD < b->group_count) fetch_tail(b, b->groups[g + SEGMENTS_AHEAD].tail);
            scatter_group(b, &b->groups[g], resolver, &sum);
        }
        stored += sum.stored, extra += sum.extra, duplicates += sum.duplicates;
        tombstones += sum.tombstones, rewrites += sum.rewrites;
    }
    b->next->stored += stored;
    b->next->extra_segments += extra;
    b->next->duplicate_rows += duplicates;
    b->next->tombstone_rows += tombstones;
    atomic_fetch_add(&b->matrix->row_rewrites, rewrites);
}

/* ---- The whole ---- */

static dcsr_status scatter_and_publish(batch *b)
{
    dcsr_context *context = b->matrix->context;
    dcsr_i_resolver resolver[DCSR_I_MAX_BATCH_THREADS];
    int ready = 0;
    dcsr_status status = DCSR_OK;
    while (ready < b->threads && status == DCSR_OK)
        status = dcsr_i_resolver_init(&resolver[ready++], context, b->longest);
    if (status == DCSR_OK) {
        for (uint64_t d = 0; d < b->base->directories; d++)
            if (b->base->directory[d] && b->next->directory[d] != b->base->directory[d])
                dcsr_i_bury(b->grave, DCSR_I_DIRECTORY, b->base->directory[d]->born, b->base->directory[d],
                            0);
        for (uint64_t g = 0; g < b->group_count; g++) bury_group(b, &b->groups[g]);
        scatter(b, resolver);
        b->next->contiguous = b->bulk && b->places == b->n;
        b->next->first = b->begin;
        dcsr_i_publish(b->matrix, b->next, b->grave);
    }
    while (ready) dcsr_i_resolver_free(&resolver[--ready]);
    return status;
}

dcsr_status dcsr_i_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_context *context = matrix->context;
    batch b = {.matrix = matrix,
               .base = matrix->current,
               .operation = operation,
               .entries = operation->entries,
               .n = operation->n,
               .stride = operation->stride,
               .column_bits = operation->column_bits,
               .mark = operation->kind == DCSR_I_REMOVE ? DCSR_I_TOMBSTONE : 0};
    b.threads = dcsr_i_threads(context, b.n * WORK_PER_ENTRY);
    if (b.threads > DCSR_I_MAX_BATCH_THREADS) b.threads = DCSR_I_MAX_BATCH_THREADS;
    b.bulk = b.base->stored == 0 && !b.mark;
    uint64_t words = b.n * (uint64_t)b.stride, *spare = NULL;
    dcsr_status status = DCSR_OK;
    if (!operation->ascending) {
        spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, words, sizeof *spare);
        if (!spare) return DCSR_ERROR_OUT_OF_MEMORY;
        b.entries = dcsr_i_sort(b.entries, spare, b.n, b.stride, 0, operation->row_bits + b.column_bits,
                                dcsr_i_threads(context, b.n));
    }
    uint64_t pages = dcsr_i_page_count(b.base);
    b.group_capacity = b.n < pages ? b.n : pages;
    b.groups = dcsr_i_alloc(context, DCSR_I_SCRATCH, b.group_capacity, sizeof *b.groups);
    if (b.groups) {
        combine_and_group(&b);
        status = plan(&b);
        if (status == DCSR_OK) status = allocate(&b);
        if (status == DCSR_OK) status = scatter_and_publish(&b);
        if (status == DCSR_OK)
            dcsr_i_changed(matrix, b.mark ? b.n : 0);
        else
            undo(&b);
    } else {
        status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, b.groups, b.group_capacity, sizeof *b.groups);
    dcsr_i_free(context, DCSR_I_SCRATCH, spare, words, sizeof *spare);
    return status;
}
