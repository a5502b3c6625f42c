/* resize_cuda.c: changing the dimensions on a device: what resize.c does. */
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/cuda/table_cuda.h"
#include "dcsr/store/maintained_transpose.h"

/* What the rows that are dropped are counted for, then by block of the arena the places that they leave. */
typedef struct dropped {
    dcsr_i_cuda_sums sums;
    uint32_t freed[];
} dropped;

/* In *landing, which lasts until the stream's next one. */
static dcsr_status count_dropped(dropped **landing, dcsr_matrix *matrix, const dcsr_i_table *base,
                                 uint64_t first, uint64_t blocks)
{
    dcsr_i_cuda_stream *stream = matrix->cuda->stream;
    dcsr_i_cuda_rows rows = dcsr_i_cuda_rows_of_table(matrix, base);
    size_t bytes = sizeof(dropped) + blocks * sizeof(uint32_t);
    dropped *counted = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, bytes);
    *landing = dcsr_i_cuda_landing(stream, bytes);
    dcsr_status status = counted && *landing ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_fill(stream, counted, 0, bytes);
        dcsr_i_cuda_count_rows(stream, &rows, NULL, first, base->rows - first, &counted->sums, counted->freed,
                               dcsr_i_arena_shift(&matrix->arena));
        dcsr_i_cuda_copy(stream, *landing, counted, bytes);
        status = dcsr_i_cuda_wait(stream, "resizing");
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, counted, 1, bytes);
    return status;
}

/* Makes a table of fewer rows: pages beyond are left out, the rest of the last page is emptied. */
static dcsr_status shrink_rows(dcsr_i_cuda_build *build, uint64_t rows, uint64_t cols)
{
    dcsr_matrix *matrix = build->matrix;
    const dcsr_i_table *base = build->base;
    dcsr_i_cuda_store *store = matrix->cuda;
    uint64_t blocks = dcsr_i_arena_blocks(&matrix->arena), further = 0, page = rows >> DCSR_CUDA_PAGE_SHIFT;
    dropped *dropping;
    DCSR_TRY(count_dropped(&dropping, matrix, base, rows, blocks));
    for (uint64_t b = 0; b < blocks; b++) further += dropping->freed[b] != 0;
    uint32_t first = rows & (DCSR_CUDA_PAGE_ROWS - 1);
    bool cut = first && base->root->host[page] != DCSR_CUDA_NONE;
    dcsr_i_cuda_page_need need = {.page = (uint32_t)page, .moves = DCSR_CUDA_ALL_LEVELS};
    DCSR_TRY(dcsr_i_cuda_build_begin(build, &need, cut, rows, cols, base->version + 1, further));
    if (cut)
        dcsr_i_cuda_cut_page(build->stream, build->changes,
                             (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                             (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start, first);
    dcsr_i_cuda_retire_places(build->limbo, matrix, dropping->freed, blocks);
    build->table->stored -= dropping->sums.stored;
    build->table->extra_segments -= dropping->sums.extra;
    build->table->duplicate_rows -= dropping->sums.duplicates;
    build->table->tombstone_rows -= dropping->sums.tombstones;
    return DCSR_OK;
}

static dcsr_status keep_rows(dcsr_i_cuda_build *build, uint64_t rows, uint64_t cols)
{
    DCSR_TRY(dcsr_i_cuda_build_begin(build, NULL, 0, rows, cols, build->base->version + 1, 0));
    build->table->contiguous = build->base->contiguous;
    build->table->first = build->base->first;
    return DCSR_OK;
}

static dcsr_status apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    const dcsr_i_table *base = matrix->versions.current;
    dcsr_i_cuda_build build = {.matrix = matrix, .stream = matrix->cuda->stream, .base = base};
    dcsr_i_rewritten cut = {0};
    dcsr_status status = rows < base->rows ? shrink_rows(&build, rows, cols) : keep_rows(&build, rows, cols);
    if (status == DCSR_OK) status = dcsr_i_cuda_wait(build.stream, "resizing");
    if (status == DCSR_OK && cols < base->cols) {
        const dcsr_i_table *next = build.table;
        dcsr_i_selection selection = {.kind = DCSR_I_ROWS_BEYOND, .column_limit = cols, .slack = true};
        status = dcsr_i_cuda_rewrite(&cut, matrix, next, next->version, &selection);
    }
    if (status != DCSR_OK) {
        dcsr_i_cuda_build_undo(&build);
        return status;
    }
    dcsr_i_table *next = build.table;
    dcsr_i_limbo *limbo = build.limbo;
    dcsr_i_cuda_build_end(&build);
    if (cut.table) {
        /* What was made for `next` and replaced again is in the second limbo list; of `next` only the root is
         * left. */
        limbo->next = cut.limbo;
        dcsr_i_cuda_table_free(matrix, next);
        next = cut.table;
    }
    dcsr_i_twin_resize(matrix, rows, cols);
    dcsr_i_publish(matrix, next, limbo);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    const dcsr_i_table *base = matrix->versions.current;
    if (rows == base->rows && cols == base->cols) return DCSR_OK;
    dcsr_i_cuda_enter(matrix->cuda->stream);
    const dcsr_status status = apply_resize(matrix, rows, cols);
    dcsr_i_cuda_step_out(matrix->cuda->stream);
    return status;
}
