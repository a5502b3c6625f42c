/* chunks.c: cuts rows into chunks and writes their data.
 *
 * A chunk has whole rows of some `target` bytes. Where a version is there already its cuts are kept, so that
 * what has not changed can be shared; chunks that have become twice as large as they should be are cut again,
 * and small neighbours that must be written anyway are joined. Long runs of empty rows become a chunk without
 * data; a row of several targets has several chunks of its own. */
#include "persist/chunks.h"
#include "persist/store_iter.h"
#include <string.h>

enum {
    LONG_ROW = 4,       /* targets from which on a row is cut */
    LONG_GAP = 1 << 15, /* empty rows from which on they have a chunk of their own */
    TOO_LARGE = 2,      /* targets: cut again beyond that */
    TOO_SMALL = 4       /* a target over this: joined below */
};

/* LMDB writes a value by one call, of which the system takes less than 2 GiB. What is more than this is cut,
 * however large chunks should be. */
static const uint64_t most_bytes = (uint64_t)3 << 29;

/* ---- The list ---- */

static dcsr_status append(dcsr_i_chunk_plan *plan, const dcsr_i_planned *planned)
{
    dcsr_i_planned *chunks =
        dcsr_i_room_for_one(plan->chunks, plan->count, &plan->capacity, sizeof *plan->chunks, DCSR_I_SCRATCH);
    if (!chunks) return DCSR_ERROR_OUT_OF_MEMORY;
    plan->chunks = chunks;
    plan->chunks[plan->count++] = *planned;
    return DCSR_OK;
}

void dcsr_i_plan_free(dcsr_i_chunk_plan *plan)
{
    dcsr_i_free(NULL, DCSR_I_SCRATCH, plan->chunks, plan->capacity, sizeof *plan->chunks);
    plan->chunks = NULL;
    plan->count = plan->capacity = 0;
}

static uint64_t bytes_of(const dcsr_i_chunk_plan *plan, uint64_t rows, uint64_t entries)
{
    return dcsr_i_chunk_layout_of(rows, entries, plan->value_size).bytes;
}

uint64_t dcsr_i_planned_bytes(const dcsr_i_chunk_plan *plan, const dcsr_i_planned *planned)
{
    return bytes_of(plan, planned->chunk.rows, planned->chunk.entries);
}

/* ---- Cutting ---- */

static dcsr_status add_rows(dcsr_i_chunk_plan *plan, uint64_t first, uint64_t end, uint64_t entries)
{
    if (first == end) return DCSR_OK;
    return append(plan,
                  &(dcsr_i_planned){.chunk = {.first_row = first, .rows = end - first, .entries = entries},
                                    .state = entries ? DCSR_I_CHUNK_NEW : DCSR_I_CHUNK_STORED});
}

/* A row in chunks of its own. */
static dcsr_status cut_row(dcsr_i_chunk_plan *plan, uint64_t row, uint64_t length)
{
    uint64_t most = plan->target / (sizeof(uint32_t) + plan->value_size);
    for (uint64_t skip = 0; skip < length; skip += most) {
        bool goes_on = length - skip > most;
        dcsr_i_planned part = {.chunk = {.first_row = row,
                                         .rows = 1,
                                         .entries = goes_on ? most : length - skip,
                                         .flags = goes_on ? DCSR_I_ROW_GOES_ON : 0},
                               .skip = skip};
        DCSR_TRY(append(plan, &part));
    }
    return DCSR_OK;
}

/* So many targets, as far as one value holds them. */
static uint64_t targets(const dcsr_i_chunk_plan *plan, uint64_t times)
{
    return times * plan->target < most_bytes ? times * plan->target : most_bytes;
}

static bool is_long(const dcsr_i_chunk_plan *plan, uint64_t length)
{
    return bytes_of(plan, 1, length) > targets(plan, LONG_ROW);
}

/* The first row from `row` on that has entries; `end` if there is none before. */
static uint64_t skip_empty(const dcsr_i_rows *rows, uint64_t row, uint64_t end)
{
    while (row < end) {
        row = dcsr_i_rows_skip(rows, row);
        if (row >= end || dcsr_i_rows_length(rows, row)) break;
        row++;
    }
    return row < end ? row : end;
}

/* Entries of the page that begins with a row. */
static uint64_t page_entries(const dcsr_i_rows *rows, uint64_t row)
{
    if (rows->offsets) return rows->offsets[row + DCSR_I_PAGE_ROWS] - rows->offsets[row];
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, row >> DCSR_I_PAGE_SHIFT);
    uint64_t sum = 0;
    for (int r = 0; page && r < DCSR_I_PAGE_ROWS; r++) sum += page->length[r];
    return sum;
}

/* Where a page goes into the chunk as a whole its rows are not looked at one by one. */
static dcsr_status cut(dcsr_i_chunk_plan *plan, uint64_t first, uint64_t end)
{
    uint64_t entries = 0, row = first;
    while (row < end) {
        if (row % DCSR_I_PAGE_ROWS == 0 && end - row >= DCSR_I_PAGE_ROWS) {
            uint64_t more = page_entries(plan->rows, row), rows = row + DCSR_I_PAGE_ROWS - first;
            if (more && bytes_of(plan, rows, entries + more) <= plan->target) {
                entries += more;
                row += DCSR_I_PAGE_ROWS;
                continue;
            }
        }
        uint64_t length = dcsr_i_rows_length(plan->rows, row);
        if (!length) {
            uint64_t next = skip_empty(plan->rows, row, end);
            if (next - row >= LONG_GAP) {
                DCSR_TRY(add_rows(plan, first, row, entries));
                DCSR_TRY(add_rows(plan, row, next, 0));
                first = next;
                entries = 0;
            }
            row = next;
            continue;
        }
        bool alone = is_long(plan, length);
        if (alone || (entries && bytes_of(plan, row + 1 - first, entries + length) > plan->target)) {
            DCSR_TRY(add_rows(plan, first, row, entries));
            first = row;
            entries = 0;
        }
        if (alone) {
            DCSR_TRY(cut_row(plan, row, length));
            first = row + 1;
        } else {
            entries += length;
        }
        row++;
    }
    return add_rows(plan, first, end, entries);
}

/* ---- What is there already ---- */

/* Whether the rows are known to be what they were in version `version` of the table. */
static bool untouched(const dcsr_i_rows *rows, uint64_t version, uint64_t first, uint64_t end)
{
    if (!version || !rows->table || end > rows->rows) return false;
    uint64_t last = (end - 1) >> DCSR_I_PAGE_SHIFT;
    for (uint64_t p = first >> DCSR_I_PAGE_SHIFT; p <= last; p++) {
        const dcsr_i_directory *directory = dcsr_i_directory_of(rows->table, p);
        if (!directory) return false;
        const dcsr_i_row_page *page = directory->page[p & (DCSR_I_DIRECTORY_PAGES - 1)];
        if (page ? page->born > version : directory->born > version) return false;
    }
    return true;
}

static uint64_t entries_in(const dcsr_i_rows *rows, uint64_t first, uint64_t end)
{
    if (rows->offsets) return rows->offsets[end] - rows->offsets[first];
    uint64_t sum = 0;
    for (uint64_t row = first; (row = skip_empty(rows, row, end)) < end; row++)
        sum += dcsr_i_rows_length(rows, row);
    return sum;
}

/* The chunk before can take these rows too, as neither is shared and one of them is small. */
static bool can_join(const dcsr_i_chunk_plan *plan, uint64_t rows, uint64_t entries)
{
    if (!plan->count || !entries) return false;
    const dcsr_i_planned *before = &plan->chunks[plan->count - 1];
    uint64_t small = plan->target / TOO_SMALL;
    return before->state == DCSR_I_CHUNK_NEW && !before->chunk.flags && !before->skip &&
           (bytes_of(plan, rows, entries) < small || dcsr_i_planned_bytes(plan, before) < small) &&
           bytes_of(plan, before->chunk.rows + rows, before->chunk.entries + entries) <= plan->target;
}

/* Rows that stood in one chunk and may have changed; `whole` says that all of its rows are still there. */
static dcsr_status take_again(dcsr_i_chunk_plan *plan, const dcsr_i_chunk *old, uint64_t end, bool whole)
{
    uint64_t entries = entries_in(plan->rows, old->first_row, end), rows = end - old->first_row;
    if (whole && entries == old->entries)
        return append(plan, &(dcsr_i_planned){.chunk = *old,
                                              .state = entries ? DCSR_I_CHUNK_COMPARE : DCSR_I_CHUNK_STORED});
    if (bytes_of(plan, rows, entries) > targets(plan, TOO_LARGE)) return cut(plan, old->first_row, end);
    if (can_join(plan, rows, entries)) {
        dcsr_i_chunk *before = &plan->chunks[plan->count - 1].chunk;
        before->rows += rows;
        before->entries += entries;
        return DCSR_OK;
    }
    return add_rows(plan, old->first_row, end, entries);
}

/* A row that stood in `count` chunks of its own and may have changed: those whose place it still fills are
 * compared. */
static dcsr_status take_row_again(dcsr_i_chunk_plan *plan, const dcsr_i_chunk *old, uint64_t count)
{
    uint64_t first = plan->count, row = old->first_row;
    DCSR_TRY(cut(plan, row, row + 1));
    for (uint64_t c = 0; c < count && first + c < plan->count; c++) {
        dcsr_i_planned *planned = &plan->chunks[first + c];
        if (planned->chunk.entries != old[c].entries || !old[c].entries) break;
        uint32_t goes_on = planned->chunk.flags & DCSR_I_ROW_GOES_ON;
        planned->chunk = old[c];
        planned->chunk.flags = (old[c].flags & DCSR_I_COMPRESSED) | goes_on;
        planned->state = DCSR_I_CHUNK_COMPARE;
    }
    return DCSR_OK;
}

static dcsr_status take_base(dcsr_i_chunk_plan *plan, const dcsr_i_version *base, uint64_t version)
{
    uint64_t rows = plan->rows->rows;
    for (uint64_t c = 0, next; c < base->record.chunks && base->chunks[c].first_row < rows; c = next) {
        const dcsr_i_chunk *old = &base->chunks[c];
        uint64_t end = old->first_row + old->rows;
        bool whole = end <= rows;
        for (next = c + 1; base->chunks[next - 1].flags & DCSR_I_ROW_GOES_ON; next++) continue;
        if (untouched(plan->rows, version, old->first_row, end)) {
            uint64_t skip = 0;
            for (; c < next; skip += base->chunks[c++].entries)
                DCSR_TRY(append(
                    plan,
                    &(dcsr_i_planned){.chunk = base->chunks[c], .skip = skip, .state = DCSR_I_CHUNK_STORED}));
        } else if (next - c > 1) {
            DCSR_TRY(take_row_again(plan, old, next - c));
        } else {
            DCSR_TRY(take_again(plan, old, whole ? end : rows, whole));
        }
    }
    return base->record.rows < rows ? cut(plan, base->record.rows, rows) : DCSR_OK;
}

dcsr_status dcsr_i_plan_make(dcsr_i_chunk_plan *plan, const dcsr_i_rows *rows, uint64_t target,
                             const dcsr_i_version *base, uint64_t version)
{
    *plan = (dcsr_i_chunk_plan){.rows = rows, .value_size = dcsr_type_size(rows->type), .target = target};
    dcsr_status status = base ? take_base(plan, base, version) : cut(plan, 0, rows->rows);
    if (status != DCSR_OK) dcsr_i_plan_free(plan);
    return status;
}

/* ---- Data ---- */

/* Copies runs of entries that lie one behind the other as one. */
typedef struct copying {
    const dcsr_i_chunk_plan *plan;
    char *columns, *values;
    dcsr_i_piece run;
} copying;

static void flush(copying *c)
{
    const dcsr_i_rows *rows = c->plan->rows;
    size_t size = c->plan->value_size;
    memcpy(c->columns, rows->columns + c->run.begin, c->run.length * sizeof *rows->columns);
    c->columns += c->run.length * sizeof *rows->columns;
    if (size) memcpy(c->values, (const char *)rows->values + c->run.begin * size, c->run.length * size);
    c->values += c->run.length * size;
    c->run = (dcsr_i_piece){0, 0};
}

static void copy(copying *c, dcsr_i_piece piece)
{
    if (c->run.length && c->run.begin + c->run.length != piece.begin) flush(c);
    if (!c->run.length) c->run.begin = piece.begin;
    c->run.length += piece.length;
}

void dcsr_i_planned_fill(const dcsr_i_chunk_plan *plan, const dcsr_i_planned *planned, void *data)
{
    const dcsr_i_chunk *chunk = &planned->chunk;
    dcsr_i_chunk_layout layout = dcsr_i_chunk_layout_of(chunk->rows, chunk->entries, plan->value_size);
    uint64_t *offsets = data, stored = 0, skip = planned->skip, left = chunk->entries;
    copying c = {
        .plan = plan, .columns = (char *)data + layout.columns, .values = (char *)data + layout.values};
    if (plan->value_size)
        memset((char *)data + layout.columns + chunk->entries * sizeof(uint32_t), 0,
               layout.values - layout.columns - chunk->entries * sizeof(uint32_t));
    for (uint64_t r = 0; r < chunk->rows; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(plan->rows, chunk->first_row + r, pieces);
        offsets[r] = stored;
        for (int k = 0; k < count && left; k++) {
            uint64_t over = skip < pieces[k].length ? skip : pieces[k].length,
                     length = pieces[k].length - over;
            skip -= over;
            if (length > left) length = left;
            if (!length) continue;
            copy(&c, (dcsr_i_piece){pieces[k].begin + over, length});
            stored += length;
            left -= length;
        }
    }
    offsets[chunk->rows] = stored;
    flush(&c);
}
