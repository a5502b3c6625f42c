/* device_format_cuda.c: the kernels of the portfolio that have a format on a device: a table of their recipes, and what
 * all of them do in the same way. */
#include "ops/spmv/portfolio/cuda/device_format.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

static dcsr_i_spmv_format shape_of(const dcsr_i_spmv_matrix *A)
{
    return (dcsr_i_spmv_format){.rows = A->info.rows,
                                .cols = A->info.cols,
                                .nnz = A->info.nnz,
                                .longest = A->info.max_row,
                                .type = A->info.type,
                                .value_size = (uint32_t)dcsr_type_size(A->info.type),
                                .sum_size = (uint32_t)dcsr_type_size(A->vector_type)};
}

/* ---- Making ---- */

static dcsr_i_spmv_making making_of(const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_recipe *recipe,
                                    dcsr_i_cuda_stream *stream)
{
    const dcsr_i_table *table = A->rows->table;
    return (dcsr_i_spmv_making){.stream = stream,
                                .rows = A->rows->device,
                                .contiguous = A->rows->device.offsets || (table && table->contiguous),
                                .first = table ? table->first : 0,
                                .lanes = recipe->lanes};
}

static dcsr_status begin(dcsr_i_spmv_making *m, uint64_t **offsets, const dcsr_i_spmv_matrix *A,
                         const dcsr_i_spmv_recipe *recipe)
{
    *m = making_of(A, recipe, dcsr_i_stream_borrow(A->context));
    if (!m->stream) return dcsr_i_no_memory();
    m->offsets = m->rows.offsets;
    if (m->offsets) return DCSR_OK;
    *offsets = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, A->info.rows + 1, sizeof **offsets);
    if (!*offsets) return dcsr_i_no_memory();
    m->offsets = *offsets;
    return dcsr_i_cuda_sum_lengths(m->stream, &m->rows, NULL, A->info.rows, *offsets);
}

/* What has been put on the stream has run. */
static dcsr_status end(const dcsr_i_spmv_making *m, uint64_t *offsets, const dcsr_i_spmv_matrix *A)
{
    if (!m->stream) return DCSR_OK;
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, offsets, A->info.rows + 1, sizeof *offsets);
    const dcsr_status status = dcsr_i_cuda_wait(m->stream, "making a format for spmv");
    dcsr_i_stream_return(A->context, m->stream);
    return status;
}

/* ---- Which matrices ---- */

/* Why the entries do not suit it. What fails here will fail when the format is measured, and is reported then. */
static const char *look(const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_format *shape,
                        const dcsr_i_spmv_recipe *recipe)
{
    dcsr_i_spmv_making m;
    uint64_t *offsets = NULL;
    const char *reason = NULL;
    if (begin(&m, &offsets, A, recipe) == DCSR_OK) recipe->unfit(&reason, shape, &m);
    end(&m, offsets, A);
    return reason;
}

const char *dcsr_i_spmv_format_refuses(const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_recipe *recipe)
{
    enum { MARGIN = 1 << 16 }; /* so that no sum of a place and what is under way wraps around */
    const dcsr_i_spmv_format shape = shape_of(A);
    if (A->info.type != DCSR_PATTERN && shape.value_size < sizeof(uint32_t))
        return "multiplies fp64, fp32, patterns and integers of 4 and 8 bytes";
    if (A->info.nnz + A->info.rows > UINT32_MAX - MARGIN)
        return "counts rows and entries in 32 bits, and the matrix has more";
    if (dcsr_i_lines_are_sparse(A->info.rows, A->info.nnz))
        return "needs a number for each row, of which the matrix has far more than entries";
    if (recipe->by_column && dcsr_i_lines_are_sparse(A->info.cols, A->info.nnz))
        return "needs a number for each column, of which the matrix has far more than entries";
    const char *reason = recipe->refuses ? recipe->refuses(&shape) : NULL;
    return reason || !recipe->unfit ? reason : look(A, &shape, recipe);
}

/* ---- Formats ---- */

static uint64_t bytes_of(const dcsr_i_spmv_format *format)
{
    uint64_t bytes = sizeof *format;
    for (const dcsr_i_spmv_array *a = format->array; a < format->array + DCSR_SPMV_ARRAYS; a++)
        if (!a->lent) bytes += a->count * a->size;
    return bytes;
}

dcsr_status dcsr_i_spmv_format_measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                                       const dcsr_i_spmv_recipe *recipe)
{
    dcsr_i_spmv_format format = shape_of(A);
    dcsr_i_spmv_making m;
    uint64_t *offsets = NULL;
    dcsr_status status = begin(&m, &offsets, A, recipe);
    if (!status) status = recipe->plan(&format, &m);
    const dcsr_status waited = end(&m, offsets, A);
    *bytes = bytes_of(&format);
    return status ? status : waited;
}

/* Products have been waited for. */
void dcsr_i_spmv_format_discard(void *made, const dcsr_i_spmv_matrix *A)
{
    dcsr_i_spmv_format *format = made;
    for (dcsr_i_spmv_array *a = format->array; a < format->array + DCSR_SPMV_ARRAYS; a++)
        if (!a->lent) dcsr_i_cuda_free_idle(A->context->cuda, DCSR_I_MATRIX, a->at, a->count, a->size);
    dcsr_i_free(A->context, DCSR_I_MATRIX, format, 1, sizeof *format);
}

static dcsr_status take_arrays(dcsr_i_spmv_format *format, dcsr_i_cuda_stream *stream)
{
    for (dcsr_i_spmv_array *a = format->array; a < format->array + DCSR_SPMV_ARRAYS; a++) {
        if (a->lent || !a->size) continue;
        a->at = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, a->count, a->size);
        if (!a->at) return dcsr_i_no_memory();
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_format_build(void **format, const dcsr_i_spmv_matrix *A,
                                     const dcsr_i_spmv_recipe *recipe)
{
    dcsr_i_spmv_making m = {0};
    uint64_t *offsets = NULL;
    *format = NULL;
    dcsr_i_spmv_format *made = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return dcsr_i_no_memory();
    *made = shape_of(A);
    dcsr_status status = begin(&m, &offsets, A, recipe);
    if (!status) status = recipe->plan(made, &m);
    if (!status) status = take_arrays(made, m.stream);
    if (!status) status = recipe->fill(made, &m);
    const dcsr_status waited = end(&m, offsets, A);
    if (!status) status = waited;
    if (status)
        dcsr_i_spmv_format_discard(made, A);
    else
        *format = made;
    return status;
}

/* ---- Refreshing ---- */

static bool may_refresh(const void *made, const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_recipe *recipe)
{
    const dcsr_i_spmv_format now = shape_of(A);
    const dcsr_i_spmv_making m = making_of(A, recipe, NULL);
    return recipe->refresh && (!recipe->may_refresh || recipe->may_refresh(made, &m, &now));
}

/* Puts all of it onto the stream of the list, and waits once; *differ as kernels have told. */
static dcsr_status refresh_rows(bool *differ, dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m,
                                const dcsr_i_changed_there *rows, const dcsr_i_spmv_recipe *recipe)
{
    uint32_t raised = 0;
    if (!dcsr_i_cuda_landing(m->stream, sizeof raised)) return dcsr_i_no_memory();
    uint32_t *flag = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, 1, sizeof *flag);
    if (!flag) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(m->stream, flag, 0, sizeof *flag);
    const dcsr_i_spmv_changed changed = {
        {m->rows, rows->list, rows->count, rows->offsets}, rows->entries, rows->offsets, flag};
    dcsr_status status = recipe->refresh(format, m, &changed);
    if (!status)
        status =
            dcsr_i_cuda_read_back(m->stream, &raised, flag, sizeof raised, "refreshing a format for spmv");
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, flag, 1, sizeof *flag);
    *differ = raised;
    return status;
}

static dcsr_status refresh(void **made, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                           const dcsr_i_changed_rows *rows, const dcsr_i_spmv_recipe *recipe)
{
    dcsr_i_spmv_format *format = *made;
    const dcsr_i_spmv_making m = making_of(A, recipe, rows->there.stream);
    bool differ = false;
    *bytes = bytes_of(format);
    if (rows->count) DCSR_TRY(refresh_rows(&differ, format, &m, &rows->there, recipe));
    *done = !differ;
    if (*done) format->nnz = A->info.nnz;
    return DCSR_OK;
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format,
                       const dcsr_i_spmv_recipe *recipe)
{
    const dcsr_i_spmv_put put = {product->stream, product->on, product->y, product->x};
    if (A->info.rows) recipe->run(format, &A->rows->device, &put);
    return DCSR_OK;
}

/* ---- The kernels ---- */

#define KERNEL_BY(BY_LONGEST, NAME, RECIPE, SUMMARY)                                                 \
    static const char *refuses_##NAME(const dcsr_i_spmv_matrix *A)                                   \
    {                                                                                                \
        return dcsr_i_spmv_format_refuses(A, &(RECIPE));                                             \
    }                                                                                                \
    static dcsr_status measure_##NAME(uint64_t *bytes, const dcsr_i_spmv_matrix *A)                  \
    {                                                                                                \
        return dcsr_i_spmv_format_measure(bytes, A, &(RECIPE));                                      \
    }                                                                                                \
    static dcsr_status build_##NAME(void **format, const dcsr_i_spmv_matrix *A)                      \
    {                                                                                                \
        return dcsr_i_spmv_format_build(format, A, &(RECIPE));                                       \
    }                                                                                                \
    static bool may_refresh_##NAME(const void *format, const dcsr_i_spmv_matrix *A,                  \
                                   const dcsr_i_spmv_matrix *before)                                 \
    {                                                                                                \
        (void)before;                                                                                \
        return may_refresh(format, A, &(RECIPE));                                                    \
    }                                                                                                \
    static dcsr_status refresh_##NAME(void **format, bool *done, uint64_t *bytes,                    \
                                      const dcsr_i_spmv_matrix *A, dcsr_i_changed_rows *changed)     \
    {                                                                                                \
        return refresh(format, done, bytes, A, changed, &(RECIPE));                                  \
    }                                                                                                \
    static dcsr_status run_##NAME(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,   \
                                  const void *format)                                                \
    {                                                                                                \
        return run(product, A, format, &(RECIPE));                                                   \
    }                                                                                                \
    const dcsr_i_spmv_kernel dcsr_i_cuda_spmv_##NAME = {.told = {.name = #NAME, .summary = SUMMARY}, \
                                                        .by_longest = BY_LONGEST,                    \
                                                        .refuses = refuses_##NAME,                   \
                                                        .measure = measure_##NAME,                   \
                                                        .build = build_##NAME,                       \
                                                        .may_refresh = may_refresh_##NAME,           \
                                                        .refresh = refresh_##NAME,                   \
                                                        .run = run_##NAME,                           \
                                                        .discard = dcsr_i_spmv_format_discard};
#define KERNEL(NAME, RECIPE, SUMMARY) KERNEL_BY(false, NAME, RECIPE, SUMMARY)

KERNEL(csr, dcsr_i_spmv_recipe_csr, "CSR, as many lanes to each row as the mean length keeps busy")
KERNEL(csr_scalar, dcsr_i_spmv_recipe_lanes[0], "CSR, a lane to each row")
KERNEL(csr_vector2, dcsr_i_spmv_recipe_lanes[1], "CSR, 2 lanes to each row")
KERNEL(csr_vector4, dcsr_i_spmv_recipe_lanes[2], "CSR, 4 lanes to each row")
KERNEL(csr_vector8, dcsr_i_spmv_recipe_lanes[3], "CSR, 8 lanes to each row")
KERNEL(csr_vector16, dcsr_i_spmv_recipe_lanes[4], "CSR, 16 lanes to each row")
KERNEL(csr_vector32, dcsr_i_spmv_recipe_lanes[5], "CSR, a warp to each row")
KERNEL(csr_dynamic, dcsr_i_spmv_recipe_dynamic,
       "CSR, rows taken from a counter by groups of lanes (LightSpMV)")
KERNEL(csr_adaptive, dcsr_i_spmv_recipe_adaptive,
       "CSR, blocks of rows: by shared memory, by warps, or in parts")
KERNEL(merge, dcsr_i_spmv_recipe_merge,
       "CSR, entries shared out evenly, with a bit for each that tells where rows end")
KERNEL(hubs, dcsr_i_spmv_recipe_hubs,
       "columns by their entries: the elements of x of the first of them in shared memory")
KERNEL(pcsr, dcsr_i_spmv_recipe_pcsr, "CSR, all products first, then their sums by way of shared memory")
KERNEL_BY(true, ell, dcsr_i_spmv_recipe_ell, "all rows padded to the longest, column by column")
KERNEL(sellp, dcsr_i_spmv_recipe_sellp, "slices of 32 rows, each padded to its longest (SELL-P)")
KERNEL(hyb, dcsr_i_spmv_recipe_hyb, "rows up to the mean length padded, the rest as a list of entries")
KERNEL(coo, dcsr_i_spmv_recipe_coo, "a list of entries with their rows, by segmented sums")
KERNEL(adcsr, dcsr_i_spmv_recipe_adcsr, "rows in place, in bins of like length")
KERNEL(dictionary, dcsr_i_spmv_recipe_dictionary,
       "slices; a byte or two for a column, one for a value, by tables of those that repeat")
