/* insert.c: applying a batch of insertions or deletions.
 *
 *      entries (any order)
 *        | sort by (row, column), combine equal places          sort.c, combine.c
 *        v
 *      groups: the entries of one page of 64 rows
 *        | plan: is there room in the row's last segment?       plan.c (find_batch.c, merge_batch.c,
 *        |       else how large a new one? or is the row        if rows are kept resolved)
 *        |       to be moved, because its segments ran out?
 *        | allocate: one prefix sum over groups, one bump
 *        |       of the arena for the whole batch
 *        | scatter: entries, table entries, lengths             scatter.c
 *        v
 *      publish                                                  version.c
 *
 * Planning and scattering run in parallel over groups and decide the same thing from the same state; nothing
 * that a reader can see is written before all that can fail is behind. Insertions do not look for what is
 * stored: the rows are marked instead (rewrite.c).
 *
 * Where nobody holds a version the batch claims it (version.c): the pages of the current version are changed themselves
 * instead of copies, and what they no longer need is free at once. */
#include "dcsr/store/cpu/batch.h"
#include "dcsr/store/agreement.h"
#include "dcsr/store/maintained_transpose.h"

/* An entry costs a few cache misses, as much as this many entries that are read in passing; more where it is looked
 * for, and its row is moved. */
enum { WORK_PER_ENTRY = 4, WORK_PER_MERGED_ENTRY = 16 };

/* A batch of so many entries may be applied in place: who asks for a version meanwhile has to wait. Where it is merged
 * it should not bring more than this share of what is stored: then most rows are copied in passing in less time than
 * their entries are looked for, and leave whole blocks behind. */
enum { MOST_IN_PLACE = 1 << 20, IN_PLACE_SHARE = 64 };

/* ---- Sort, combine, group ---- */

/* Closes up entries of the same place, first come first kept, and cuts the rest into pages. One pass. */
static void combine_and_group(dcsr_i_batch *b)
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
            b->groups[b->group_count++] = (dcsr_i_group){.page = page, .first = out};
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

/* ---- Allocate ---- */

/* Places for all groups: in one piece into an empty matrix, else in portions, for which there is room where
 * blocks are free here and there. */
static dcsr_status take_places(dcsr_i_batch *b)
{
    enum { PORTION = 1 << 16 };
    while (b->housed < b->group_count) {
        uint64_t end = b->housed, needed = 0, begin;
        while (end < b->group_count && (b->bulk || needed < PORTION)) needed += b->groups[end++].needed;
        DCSR_TRY(dcsr_i_arena_take(&b->matrix->arena, needed, b->version, &begin));
        for (; b->housed < end; b->housed++) {
            b->groups[b->housed].places = begin;
            begin += b->groups[b->housed].needed;
        }
    }
    return DCSR_OK;
}

static uint64_t needed_places(const dcsr_i_batch *b)
{
    uint64_t needed = 0;
    for (uint64_t g = 0; g < b->group_count; g++) needed += b->groups[g].needed;
    return needed;
}

/* Of those, the ones that rows have taken one by one: where whole pages move, what they leave behind is free. */
static uint64_t scattered_places(const dcsr_i_batch *b)
{
    uint64_t places = 0;
    for (uint64_t g = 0; g < b->group_count; g++) places += b->groups[g].whole ? 0 : b->groups[g].needed;
    return places;
}

/* The root and the directories of the next version, and the limbo list. In place directories that are missing. */
static dcsr_status allocate(dcsr_i_batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    const dcsr_i_table *base = b->in_place ? NULL : b->base;
    b->next = b->in_place ? matrix->versions.current
                          : dcsr_i_table_copy(matrix, b->base, b->base->rows, b->base->cols);
    if (!b->next) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t retired = 0;
    for (; b->placed < b->group_count; b->placed++) {
        dcsr_i_group *this = &b->groups[b->placed];
        this->retired = retired;
        if (this->stays) continue;
        dcsr_i_row_page **slot = dcsr_i_page_slot(matrix, b->next, base, this->page, NULL);
        if (!slot) return DCSR_ERROR_OUT_OF_MEMORY;
        if (!b->in_place) *slot = this->fresh;
        this->slot = slot;
        retired += this->replaced;
    }
    b->limbo = dcsr_i_limbo_create(matrix, retired + dcsr_i_count_replaced(b->base, b->next) + 1);
    if (!b->limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    b->limbo->count = retired; /* written by dcsr_i_scatter_batch() */
    return take_places(b);
}

/* Frees what a failed batch has made: the pages that are in the table, and the others. */
static void undo(dcsr_i_batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    for (uint64_t g = b->in_place ? 0 : b->placed; g < b->group_count; g++) {
        dcsr_i_unshift_rows(b, &b->groups[g]);
        if (b->groups[g].fresh != b->groups[g].old)
            dcsr_i_page_free(matrix, b->groups[g].fresh, b->groups[g].old);
    }
    if (!b->in_place) dcsr_i_free_unshared(matrix, b->next, b->base);
    dcsr_i_limbo_free(matrix, b->limbo);
    for (uint64_t g = 0; g < b->housed; g++)
        dcsr_i_arena_give(&matrix->arena, b->groups[g].places, b->groups[g].needed);
    if (b->in_place) dcsr_i_unclaim_version(matrix);
}

/* ---- The whole ---- */

static int threads_for(const dcsr_context *context, uint64_t work)
{
    int threads = dcsr_i_threads(context, work);
    return threads < DCSR_I_MAX_BATCH_THREADS ? threads : DCSR_I_MAX_BATCH_THREADS;
}

static void publish(dcsr_i_batch *b, dcsr_i_operation *operation)
{
    dcsr_matrix *matrix = b->matrix;
    if (b->in_place) {
        dcsr_i_arena_drop_left(&matrix->arena);
        dcsr_i_publish_claimed(matrix, b->limbo);
        dcsr_i_row_pages_drain(matrix); /* those of batches that copied pages */
    } else {
        dcsr_i_row_pages_expect(matrix, b->group_count);
        dcsr_i_twin_entries(matrix, operation, b->entries, b->n);
        dcsr_i_publish(matrix, b->next, b->limbo);
    }
}

static dcsr_status scatter_and_publish(dcsr_i_batch *b, dcsr_i_operation *operation)
{
    dcsr_context *context = b->matrix->context;
    dcsr_i_resolver resolver[DCSR_I_MAX_BATCH_THREADS];
    int ready = 0;
    dcsr_status status = DCSR_OK;
    if (b->merges) b->threads = threads_for(context, b->n * WORK_PER_MERGED_ENTRY + needed_places(b));
    while (ready < b->threads && status == DCSR_OK)
        status = dcsr_i_resolver_init(&resolver[ready++], context, b->longest);
    if (status == DCSR_OK) status = dcsr_i_agree(operation);
    if (status == DCSR_OK) {
        dcsr_i_retire_replaced(b->limbo, b->base, b->next);
        dcsr_i_scatter_batch(b, resolver);
        b->next->contiguous = b->bulk && needed_places(b) == b->n;
        b->next->first = b->group_count ? b->groups[0].places : 0;
        atomic_fetch_add(&b->matrix->due.taken, scattered_places(b) + b->n);
        atomic_store_explicit(&b->matrix->due.latest, b->n, memory_order_relaxed);
        publish(b, operation);
    }
    while (ready) dcsr_i_resolver_free(&resolver[--ready]);
    return status;
}

/* Entries were checked when they were queued, against dimensions that a resize before them was to bring.
 * Should that have failed, they are checked again. */
static dcsr_status check_again(const dcsr_i_packed *batch, const dcsr_i_table *table)
{
    if (batch->rows <= table->rows && batch->cols <= table->cols) return DCSR_OK;
    uint64_t column_mask = ((uint64_t)1 << batch->column_bits) - 1;
    for (uint64_t i = 0; i < batch->n; i++) {
        uint64_t key = *dcsr_i_key(batch, i);
        uint64_t row = key >> batch->column_bits, column = key & column_mask;
        if (row >= table->rows || column >= table->cols)
            return dcsr_i_fail_outside_now(i, row, column, table->rows, table->cols);
    }
    return DCSR_OK;
}

/* Room that only merging needs; false if there is no memory. */
static bool prepare_merging(dcsr_i_batch *b, uint64_t n)
{
    dcsr_context *context = b->matrix->context;
    if (!b->merges) return true;
    b->found = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *b->found);
    b->columns = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *b->columns);
    b->values =
        b->matrix->value_size ? dcsr_i_alloc(context, DCSR_I_SCRATCH, n, b->matrix->value_size) : NULL;
    return b->found && b->columns && (b->values || !b->matrix->value_size);
}

/* Whether the pages of the current version may be changed; then nobody can hold it until the batch is published, or
 * has failed. Not where others have to agree, who may take their time, nor what a clone shares. */
static bool claim(const dcsr_i_batch *b, const dcsr_i_operation *operation)
{
    dcsr_matrix *matrix = b->matrix;
    uint64_t seen;
    if (b->merges && !b->mark && b->n > b->base->stored / IN_PLACE_SHARE + 1) return false;
    return !b->bulk && b->n <= MOST_IN_PLACE && !operation->agreement.agree && !matrix->transpose.owner &&
           !matrix->transpose.maintained && !matrix->origin.hold && dcsr_i_may_claim_version(matrix, &seen) &&
           !seen && dcsr_i_claim_version(matrix, seen);
}

dcsr_status dcsr_i_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    const dcsr_i_packed *batch = &operation->batch;
    DCSR_TRY(check_again(batch, matrix->versions.current));
    dcsr_context *context = matrix->context;
    dcsr_i_batch b = {.matrix = matrix,
                      .base = matrix->versions.current,
                      .version = matrix->versions.current->version + 1,
                      .entries = batch->entries,
                      .n = batch->n,
                      .stride = batch->stride,
                      .column_bits = batch->column_bits,
                      .mark = operation->kind == DCSR_I_REMOVE ? DCSR_I_TOMBSTONE : 0};
    b.bulk = b.base->stored == 0 && !b.mark;
    b.merges = dcsr_i_resolves_on_insert(matrix) && !b.bulk &&
               (matrix->policy != DCSR_POLICY_KEEP || b.mark || b.base->tombstone_rows);
    b.threads = threads_for(context, b.n * (b.merges ? WORK_PER_MERGED_ENTRY : WORK_PER_ENTRY));
    uint64_t words = b.n * (uint64_t)b.stride, *spare = NULL;
    dcsr_status status = DCSR_OK;
    if (!batch->ascending) {
        spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, words, sizeof *spare);
        if (!spare) return DCSR_ERROR_OUT_OF_MEMORY;
        int bits = batch->row_bits + b.column_bits, ordered = batch->ordered_bits;
        b.entries = dcsr_i_sort(b.entries, spare, b.n, b.stride, ordered, bits - ordered,
                                dcsr_i_threads(context, b.n));
    }
    uint64_t pages = dcsr_i_page_count(b.base);
    b.group_capacity = b.n < pages ? b.n : pages;
    b.groups = dcsr_i_alloc(context, DCSR_I_SCRATCH, b.group_capacity, sizeof *b.groups);
    b.growth = dcsr_i_alloc(context, DCSR_I_SCRATCH, batch->n, sizeof *b.growth);
    if (b.groups && b.growth && prepare_merging(&b, batch->n)) {
        combine_and_group(&b);
        b.in_place = claim(&b, operation);
        status = dcsr_i_plan_batch(&b);
        if (status == DCSR_OK) status = allocate(&b);
        if (status == DCSR_OK) status = scatter_and_publish(&b, operation);
        if (status == DCSR_OK)
            dcsr_i_changed(matrix, b.deletions);
        else
            undo(&b);
    } else {
        status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, b.found, batch->n, sizeof *b.found);
    dcsr_i_free(context, DCSR_I_SCRATCH, b.columns, batch->n, sizeof *b.columns);
    dcsr_i_free(context, DCSR_I_SCRATCH, b.values, batch->n, matrix->value_size);
    dcsr_i_free(context, DCSR_I_SCRATCH, b.growth, batch->n, sizeof *b.growth);
    dcsr_i_free(context, DCSR_I_SCRATCH, b.groups, b.group_capacity, sizeof *b.groups);
    dcsr_i_free(context, DCSR_I_SCRATCH, spare, words, sizeof *spare);
    return status;
}
