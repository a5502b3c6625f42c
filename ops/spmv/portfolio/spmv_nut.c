/* spmv_nut.c: the kernel `nut`: non-uniform tiles, within which x stays in the second-level cache. */
#include "dcsr/nut/nut_tiles.h"
#include "ops/nut/nut_multiply.h"
#include "ops/spmv/portfolio/spmv_nut.h"

const char *dcsr_i_spmv_nut_refuses(const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_lines_are_sparse(A->info.rows, A->info.nnz) ||
                   dcsr_i_lines_are_sparse(A->info.cols, A->info.nnz)
               ? "numbers rows and columns, of which the matrix has far more than entries"
               : NULL;
}

static dcsr_i_nut_order order_of(const dcsr_i_spmv_matrix *A)
{
    return (dcsr_i_nut_order){
        .context = A->context, .rows = A->rows, .budget = dcsr_i_nut_budget_for(A->context, A->info.type)};
}

dcsr_status dcsr_i_spmv_nut_measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A)
{
    const dcsr_i_nut_order order = order_of(A);
    return dcsr_i_nut_measure(bytes, &order);
}

dcsr_status dcsr_i_spmv_nut_build(void **format, const dcsr_i_spmv_matrix *A)
{
    const dcsr_i_nut_order order = order_of(A);
    dcsr_i_nut *nut;
    const dcsr_status status = dcsr_i_nut_create(&nut, &order);
    *format = nut;
    return status;
}

dcsr_status dcsr_i_spmv_nut_refresh(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                                    dcsr_i_changed_rows *changed)
{
    dcsr_i_nut_order order = order_of(A);
    dcsr_i_nut *nut, *last = *format;
    DCSR_TRY(dcsr_i_changed_rows_bring(changed));
    const dcsr_index_list rows = {.indices = changed->rows, .n = changed->count};
    *done = true; /* panels whose rows have changed are made anew */
    order.last = last;
    order.changed = dcsr_i_nut_list_changed;
    order.user = &rows;
    DCSR_TRY(dcsr_i_nut_create(&nut, &order));
    dcsr_i_nut_release(last);
    *format = nut;
    *bytes = dcsr_i_nut_bytes(nut);
    return DCSR_OK;
}

void dcsr_i_spmv_nut_discard(void *format, const dcsr_i_spmv_matrix *A)
{
    (void)A;
    dcsr_i_nut_release(format);
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const dcsr_i_nut *nut = format;
    return dcsr_i_nut_spmv(product->y, A->context, &nut->shown, product->x, product->threads);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_nut = {
    .told = {.name = "nut", .summary = "tiles within which x stays in cache, with indices of 16 bits"},
    .refuses = dcsr_i_spmv_nut_refuses,
    .measure = dcsr_i_spmv_nut_measure,
    .build = dcsr_i_spmv_nut_build,
    .refresh = dcsr_i_spmv_nut_refresh,
    .run = run,
    .discard = dcsr_i_spmv_nut_discard,
};
