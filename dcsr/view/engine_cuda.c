/* engine_cuda.c: the engine of a device: its functions, opening and closing a matrix. */
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The smallest batch takes longer than falling asleep does: as long as one of a million entries. */
#ifdef DCSR_SIMT
enum { SPIN_NANOSECONDS = 20000, APPLIED_HERE = 64 };
#else
enum { SPIN_NANOSECONDS = 1000000, APPLIED_HERE = 1024 };
#endif

static dcsr_status open_store(dcsr_matrix *matrix)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    DCSR_TRY(dcsr_i_cuda_slots_init(&store->row_pages, matrix, sizeof(dcsr_i_cuda_row_page), true));
    DCSR_TRY(dcsr_i_cuda_slots_init(&store->segment_pages, matrix, sizeof(dcsr_i_cuda_segment_page), false));
    return dcsr_i_arena_init(&matrix->arena, &matrix->space, matrix->value_size);
}

/* The first version. */
static dcsr_status make_empty(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    dcsr_i_cuda_build build = {.matrix = matrix, .stream = matrix->cuda->stream};
    DCSR_TRY(dcsr_i_cuda_build_begin(&build, NULL, 0, rows, cols, 1, 0));
    dcsr_status status = dcsr_i_cuda_wait(build.stream, "creating a matrix");
    if (status != DCSR_OK) {
        dcsr_i_cuda_build_undo(&build);
        return status;
    }
    dcsr_i_limbo_free(matrix, build.limbo);
    dcsr_i_cuda_build_end(&build);
    matrix->versions.current = build.table;
    return DCSR_OK;
}

static dcsr_status open_matrix(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    matrix->cuda = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *matrix->cuda);
    if (!matrix->cuda) return dcsr_i_no_memory();
    DCSR_TRY(open_store(matrix));
    matrix->cuda->stream = dcsr_i_stream_borrow_to_write(matrix->context);
    if (!matrix->cuda->stream) return dcsr_i_no_memory();
    dcsr_status status = make_empty(matrix, rows, cols);
    dcsr_i_cuda_leave(matrix->cuda->stream);
    return status;
}

/* Another matrix may have it next. */
static void give_stream(dcsr_matrix *matrix, dcsr_i_cuda_stream *stream)
{
    if (!stream) return;
    dcsr_i_cuda_enter(stream); /* by the thread that returns it */
    dcsr_i_cuda_settle(stream, "destroying a matrix");
    dcsr_i_stream_return(matrix->context, stream);
}

static void close_matrix(dcsr_matrix *matrix)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    if (!store) return;
    dcsr_i_cuda_free_unshared(matrix, matrix->versions.current, NULL);
    dcsr_i_arena_destroy(&matrix->arena);
    dcsr_i_cuda_slots_destroy(&store->segment_pages, matrix);
    dcsr_i_cuda_slots_destroy(&store->row_pages, matrix);
    give_stream(matrix, store->transfers);
    give_stream(matrix, store->stream);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, store, 1, sizeof *store);
}

static void trim(dcsr_matrix *matrix)
{
    dcsr_i_arena_trim(&matrix->arena);
    dcsr_i_cuda_slots_trim(&matrix->cuda->segment_pages, matrix);
    dcsr_i_cuda_slots_trim(&matrix->cuda->row_pages, matrix);
}

static bool touched(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t first, uint64_t end,
                    uint64_t version)
{
    const dcsr_i_cuda_root *root = table->root;
    bool is = false;
    pthread_mutex_lock(&matrix->spare.lock);
    const uint64_t *born = matrix->cuda->row_pages.born;
    for (uint64_t p = first >> DCSR_CUDA_PAGE_SHIFT; p <= (end - 1) >> DCSR_CUDA_PAGE_SHIFT && !is; p++)
        is = root->host[p] != DCSR_CUDA_NONE && born[root->host[p]] > version;
    pthread_mutex_unlock(&matrix->spare.lock);
    return is;
}

const dcsr_i_engine dcsr_i_cuda_engine = {
    .open = open_matrix,
    .close = close_matrix,
    .entries_pool = DCSR_I_PINNED,
    .values_apart = true,
    .joins = true,
    .most_entries = DCSR_CUDA_MOST_ENTRIES,
    .applied_here = APPLIED_HERE,
    .check_arrays = dcsr_i_cuda_check_arrays,
    .spin_nanoseconds = SPIN_NANOSECONDS,
    .stage = dcsr_i_cuda_stage_entries,
    .unstage = dcsr_i_cuda_drop_staged,
    .expect = dcsr_i_cuda_expect_batch,
    .arrive = dcsr_i_cuda_arrive_batch,
    .cancel = dcsr_i_cuda_cancel_arrival,
    .apply_entries = dcsr_i_cuda_apply_entries,
    .insert_transposed = dcsr_i_cuda_insert_transposed,
    .apply_resize = dcsr_i_cuda_apply_resize,
    .tighten = dcsr_i_cuda_tighten,
    .fill = dcsr_i_cuda_fill_matrix,
    .fill_from_device = dcsr_i_cuda_fill_from_device,
    .replace = dcsr_i_cuda_replace,
    .rewrite = dcsr_i_cuda_rewrite,
    .free_unshared = dcsr_i_cuda_free_unshared,
    .free_retired = dcsr_i_cuda_free_retired,
    .trim = trim,
    .rows_of = dcsr_i_cuda_rows_of,
    .rows_of_csr = dcsr_i_cuda_rows_of_csr,
    .measure = dcsr_i_cuda_measure,
    .look_up = dcsr_i_cuda_look_up,
    .read_row = dcsr_i_cuda_read_row,
    .csr_fill = dcsr_i_cuda_csr_fill,
    .csr_free = dcsr_i_cuda_csr_free,
    .transpose = dcsr_i_cuda_csc_create,
    .touched = touched,
    .download = dcsr_i_cuda_download,
    .find_candidates = dcsr_i_cuda_find_candidates,
    .finds_changed = &dcsr_i_cuda_finds_changed,
};
