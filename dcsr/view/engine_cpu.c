/* engine_cpu.c: the cpu's engine. */
#include "dcsr/view/view_data.h"

static dcsr_status open_matrix(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    DCSR_TRY(dcsr_i_arena_init(&matrix->arena, &matrix->space, matrix->value_size));
    matrix->versions.current = dcsr_i_first_table(matrix, rows, cols);
    return matrix->versions.current ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void close_matrix(dcsr_matrix *matrix)
{
    const dcsr_i_held_version *origin = matrix->origin.hold;
    dcsr_i_free_unshared(matrix, matrix->versions.current, origin ? origin->base : NULL);
    if (matrix->spare.pages) dcsr_i_row_pages_drain(matrix);
    dcsr_i_arena_destroy(&matrix->arena);
}

static void trim(dcsr_matrix *matrix)
{
    dcsr_i_arena_trim(&matrix->arena);
}

static bool touched(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t first, uint64_t end,
                    uint64_t version)
{
    (void)matrix;
    const dcsr_i_row_page *page;
    for (uint64_t p = first >> DCSR_I_PAGE_SHIFT; (page = dcsr_i_next_page(table, &p)); p++) {
        if (p << DCSR_I_PAGE_SHIFT >= end) break;
        if (page->born > version) return true;
    }
    return false;
}

/* All is in host memory already. */
static dcsr_status download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows)
{
    (void)context, (void)rows;
    *csr = NULL;
    return DCSR_OK;
}

const dcsr_i_engine dcsr_i_cpu_engine = {
    .open = open_matrix,
    .close = close_matrix,
    .entries_pool = DCSR_I_SCRATCH,
    .in_place = true,
    .applied_here = 1024,
    .most_entries = SIZE_MAX / 32,
    .check_arrays = dcsr_i_check_arrays,
    .spin_nanoseconds = 20000,
    .apply_entries = dcsr_i_apply_entries,
    .apply_resize = dcsr_i_apply_resize,
    .tighten = dcsr_i_tighten,
    .fill = dcsr_i_fill,
    .adopt = dcsr_i_adopt,
    .clone = dcsr_i_share,
    .settle = dcsr_i_settle,
    .rewrite = dcsr_i_rewrite,
    .free_unshared = dcsr_i_free_unshared,
    .free_retired = dcsr_i_free_retired,
    .trim = trim,
    .rows_of = dcsr_i_rows_of,
    .rows_of_csr = dcsr_i_rows_of_csr,
    .measure = dcsr_i_measure,
    .count_live = dcsr_i_count_live,
    .look_up = dcsr_i_look_up,
    .read_row = dcsr_i_read_row,
    .csr_fill = dcsr_i_csr_fill,
    .csr_free = dcsr_i_csr_free,
    .transpose = dcsr_i_csc_create,
    .touched = touched,
    .download = download,
};
