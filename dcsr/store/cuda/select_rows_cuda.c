/* select_rows_cuda.c: which rows are to be rewritten, on a device. */
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The marks that mean a row is selected. */
static unsigned marks_of(dcsr_i_rows_kind kind)
{
    switch (kind) {
    case DCSR_I_TOMBSTONE_ROWS:
        return DCSR_CUDA_MARKED_TOMBSTONES;
    case DCSR_I_UNRESOLVED_OR_SPLIT_ROWS:
        return DCSR_CUDA_MARKED_TOMBSTONES | DCSR_CUDA_MARKED_DUPLICATES | DCSR_CUDA_MARKED_FRAGMENTED;
    case DCSR_I_ROWS_BEYOND:
        return 0;
    default:
        return DCSR_CUDA_MARKED_TOMBSTONES | DCSR_CUDA_MARKED_DUPLICATES;
    }
}

/* Whether telling which rows are meant takes reading their entries. */
static bool reads_entries(dcsr_i_rows_kind kind)
{
    return kind == DCSR_I_UNSORTED_ROWS || kind == DCSR_I_ROWS_BEYOND;
}

/* Whether there can be any, by what the table counts. */
static bool may_be_any(const dcsr_i_table *base, dcsr_i_rows_kind kind)
{
    unsigned marks = marks_of(kind);
    if (reads_entries(kind)) return base->stored != 0;
    return base->tombstone_rows || (marks & DCSR_CUDA_MARKED_DUPLICATES && base->duplicate_rows) ||
           (marks & DCSR_CUDA_MARKED_FRAGMENTED && base->extra_segments);
}

static dcsr_status select_by_entries(uint32_t *bitmap, dcsr_i_cuda_stream *stream,
                                     const dcsr_i_cuda_rows *rows, const dcsr_i_selection *selection)
{
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_walk walk = {.rows = *rows, .count = rows->rows, .offsets = offsets};
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, offsets);
    if (status == DCSR_OK && selection->kind == DCSR_I_UNSORTED_ROWS)
        dcsr_i_cuda_select_unsorted(stream, &walk, rows->stored, false, bitmap);
    else if (status == DCSR_OK)
        dcsr_i_cuda_select_beyond(stream, &walk, rows->stored, selection->column_limit, bitmap);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    return status;
}

/* Which rows to list: those of a selection, those in blocks of the arena, or, without either, all that have entries. */
typedef struct search {
    const dcsr_i_selection *selection;
    const uint8_t *chosen; /* on the device: of each block, whether it is meant */
    int shift;             /* a block is 2^shift places */
} search;

/* The bitmap, and how many of its bits are before each word. */
static dcsr_status fill_bitmap(uint32_t *bitmap, uint64_t *before, dcsr_i_cuda_stream *stream,
                               const dcsr_i_cuda_rows *rows, const search *of)
{
    const dcsr_i_selection *selection = of->selection;
    if (of->chosen)
        dcsr_i_cuda_select_in_blocks(stream, rows, of->chosen, of->shift, bitmap);
    else
        dcsr_i_cuda_select_marked(stream, rows, selection ? marks_of(selection->kind) : DCSR_CUDA_IN_USE,
                                  bitmap);
    if (selection && reads_entries(selection->kind))
        DCSR_TRY(select_by_entries(bitmap, stream, rows, selection));
    return dcsr_i_cuda_count_bits(stream, bitmap, dcsr_i_cuda_bitmap_words(rows->rows), before);
}

static dcsr_status list_rows(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                             const dcsr_i_cuda_rows *rows, const search *of)
{
    uint64_t words = dcsr_i_cuda_bitmap_words(rows->rows);
    *list = NULL;
    *count = 0;
    uint32_t *bitmap = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    uint64_t *before = bitmap ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words + 1, sizeof *before) : NULL;
    dcsr_status status = before ? fill_bitmap(bitmap, before, stream, rows, of) : dcsr_i_no_memory();
    uint64_t *landing = status == DCSR_OK ? dcsr_i_cuda_landing(stream, sizeof *landing) : NULL;
    if (landing) dcsr_i_cuda_copy(stream, landing, before + words, sizeof *landing);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "looking for rows");
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK && *landing) {
        *count = *landing;
        *list = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, *count, sizeof **list);
        if (*list)
            dcsr_i_cuda_coo_rows(stream, bitmap, words, before, *list);
        else
            status = dcsr_i_no_memory();
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

dcsr_status dcsr_i_cuda_rows_in_use(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    const dcsr_i_cuda_rows *rows)
{
    return list_rows(list, count, stream, rows, &(search){0});
}

/* ---- Rows in blocks that are to be emptied ---- */

/* Blocks by how much of them is in use, in 64ths; those of less than three quarters are sparse. A version that has been
 * held over so many others is going to be held longer: what it sees is not freed by being moved. */
enum { LEVEL_BITS = 6, SPARSE_LEVELS = 48, LONG_HELD = 8 };

/* The latest version that has been held for long; 0: none. */
static uint64_t long_held(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->versions.lock);
    uint64_t i = matrix->versions.pin_count, version = 0;
    while (i && matrix->versions.pins[i - 1].version + LONG_HELD > matrix->versions.current->version) i--;
    if (i) version = matrix->versions.pins[i - 1].version;
    pthread_mutex_unlock(&matrix->versions.lock);
    return version;
}

/* How full a block is; SPARSE_LEVELS: it had better stay as it is. */
static int level_of(const dcsr_i_block *block, int shift, uint64_t held)
{
    const int level = (int)(block->live >> (shift - LEVEL_BITS));
    const bool stays = !block->live || block->retired || block->foreign || block->born <= held;
    return stays || level > SPARSE_LEVELS ? SPARSE_LEVELS : level;
}

/* Greedy, as cleaners of log-structured stores are (Rosenblum and Ousterhout 1992): the emptiest blocks first, which
 * gives most back for what is moved, as long as no more than `most` places are in use in all of them. Returns whether
 * there are any. */
static bool choose_blocks(uint8_t *chosen, uint64_t blocks, dcsr_matrix *matrix, uint64_t most)
{
    dcsr_i_arena *arena = &matrix->arena;
    const uint64_t held = long_held(matrix);
    const int shift = dcsr_i_arena_shift(arena);
    uint64_t in_use[SPARSE_LEVELS + 1] = {0}, left = most;
    int last = 0;
    bool any = false;
    pthread_mutex_lock(&arena->space->lock);
    for (uint64_t b = 0; b < blocks; b++)
        in_use[level_of(&arena->space->block[b], shift, held)] += arena->space->block[b].live;
    while (last < SPARSE_LEVELS && in_use[last] <= left) left -= in_use[last++];
    for (uint64_t b = 0; b < blocks; b++) {
        const int level = level_of(&arena->space->block[b], shift, held);
        const uint64_t live = arena->space->block[b].live;
        chosen[b] = level < SPARSE_LEVELS && (level < last || (level == last && live <= left));
        if (chosen[b] && level == last) left -= live;
        any |= chosen[b];
    }
    pthread_mutex_unlock(&arena->space->lock);
    return any;
}

static dcsr_status select_untidy(uint32_t **list, uint64_t *count, dcsr_matrix *matrix,
                                 const dcsr_i_cuda_rows *rows, uint64_t most)
{
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    const uint64_t blocks = dcsr_i_arena_blocks(&matrix->arena);
    uint8_t *landing = dcsr_i_cuda_landing(stream, blocks);
    if (!landing) return dcsr_i_no_memory();
    if (!choose_blocks(landing, blocks, matrix, most)) return DCSR_OK;
    uint8_t *chosen = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, blocks, sizeof *chosen);
    if (!chosen) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(stream, chosen, landing, blocks);
    const search of = {.chosen = chosen, .shift = dcsr_i_arena_shift(&matrix->arena)};
    dcsr_status status = list_rows(list, count, stream, rows, &of);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, chosen, blocks, sizeof *chosen);
    return status;
}

dcsr_status dcsr_i_cuda_select_rows(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    dcsr_matrix *matrix, const dcsr_i_table *base,
                                    const dcsr_i_cuda_rows *rows, const dcsr_i_selection *selection)
{
    *list = NULL;
    *count = 0;
    if (selection->kind == DCSR_I_UNTIDY_ROWS)
        return select_untidy(list, count, matrix, rows, selection->most);
    const search of = {.selection = selection};
    return may_be_any(base, selection->kind) ? list_rows(list, count, stream, rows, &of) : DCSR_OK;
}
