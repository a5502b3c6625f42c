/* reduce_cuda.c: the entries of a matrix added up, and counted, on a device.
 *
 * All of them are added where they lie, if that is one behind the other, and else as a list. Of rows, and of
 * columns, which a sort brings together, a list becomes one of sums. */
#include "ops/matrix/reduce_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/vector/vector_data.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/reduce_block.h"
#include "ops/vector/vector_pass_cuda.h"
#include "ops/vector/write_vector.h"

/* ---- To a number ---- */

typedef struct adding {
    dcsr_i_cuda_stream *stream;
    const dcsr_monoid *monoid;
    dcsr_view *A;
    dcsr_i_cuda_coo list; /* A's entries, where they do not lie one behind the other */
} adding;

/* What is added up, n values of some type. */
static dcsr_status find_values(adding *a, dcsr_i_cuda_write_source *x, uint64_t *n)
{
    const dcsr_i_rows *rows = &a->A->form[0].rows;
    const dcsr_i_cuda_rows *device = &rows->device;
    bool once = !a->A->shows_duplicates && a->A->matrix->policy != DCSR_POLICY_KEEP;
    *x = (dcsr_i_cuda_write_source){.how = DCSR_CUDA_BY_BITS, .type = rows->type};
    *n = device->stored;
    if (once && (rows->type == DCSR_PATTERN || rows->offsets || rows->table->contiguous)) {
        if (device->values)
            x->values = device->values + (rows->table ? rows->table->first * device->value_size : 0);
        dcsr_i_view_was_read(a->A);
        return DCSR_OK;
    }
    DCSR_TRY(dcsr_i_cuda_coo_of_view(&a->list, a->stream, a->A, false));
    *n = a->list.n;
    x->values = a->list.values;
    return DCSR_OK;
}

static dcsr_status add_values(dcsr_i_scalar *sum, const adding *a, const dcsr_i_cuda_write_source *x,
                              uint64_t n)
{
    uint64_t sums = dcsr_i_cuda_partial_sums(a->stream, n);
    dcsr_i_scalar *landing = dcsr_i_cuda_landing(a->stream, sizeof *landing);
    if (!landing) return dcsr_i_cuda_wait(a->stream, "matrix_reduce");
    dcsr_i_cuda_sum_of_vector *partial = dcsr_i_cuda_alloc(a->stream, DCSR_I_SCRATCH, sums, sizeof *partial);
    if (!partial) return dcsr_i_no_memory();
    dcsr_i_cuda_run_reduce(a->stream, partial, a->monoid->op->name, dcsr_i_monoid_type(a->monoid), x, n);
    dcsr_i_cuda_copy(a->stream, landing, &partial->value, sizeof *landing);
    dcsr_i_cuda_free(a->stream, DCSR_I_SCRATCH, partial, sums, sizeof *partial);
    DCSR_TRY(dcsr_i_cuda_wait(a->stream, "matrix_reduce"));
    *sum = *landing;
    return DCSR_OK;
}

static dcsr_status add_all(dcsr_i_scalar *sum, adding *a)
{
    dcsr_i_cuda_write_source x;
    uint64_t n;
    DCSR_TRY(find_values(a, &x, &n));
    if (n && x.type != DCSR_PATTERN) return add_values(sum, a, &x, n);
    *sum = a->monoid->identity;
    if (n) dcsr_i_sum_of_ones(a->monoid, n, sum);
    return DCSR_OK;
}

static dcsr_status sum_all(dcsr_i_scalar *sum, const dcsr_monoid *monoid, dcsr_view *A)
{
    adding a = {.stream = dcsr_i_stream_borrow(A->context), .monoid = monoid, .A = A};
    if (!a.stream) return dcsr_i_no_memory();
    dcsr_status status = add_all(sum, &a);
    dcsr_i_cuda_coo_close(&a.list, a.stream);
    if (status != DCSR_OK) dcsr_i_cuda_settle(a.stream, "matrix_reduce");
    dcsr_i_stream_return(A->context, a.stream);
    return status;
}

/* ---- To a vector ---- */

/* T with the sums of a list. */
static dcsr_status make_vector(dcsr_i_cuda_body *T, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *sums,
                               uint64_t size)
{
    size_t value_size = dcsr_type_size(sums->type);
    DCSR_TRY(dcsr_i_cuda_body_sparse(T, stream, value_size, size, sums->n));
    dcsr_i_cuda_take_low(stream, sums->keys, sums->n, 32, T->indices);
    dcsr_i_cuda_copy(stream, T->values, sums->values, sums->n * value_size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, T->count, 1, sizeof *T->count);
    T->count = NULL;
    return DCSR_OK;
}

static dcsr_status add_rows(dcsr_i_cuda_body *T, dcsr_i_cuda_stream *stream, const dcsr_i_vector_output *out,
                            const dcsr_monoid *monoid, dcsr_view *A)
{
    bool columns = out->desc && out->desc->transpose_a;
    bool turned = columns && dcsr_i_cuda_view_transpose_is_ready(A);
    dcsr_i_cuda_coo list;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(&list, stream, A, turned));
    dcsr_status status = dcsr_i_cuda_coo_cast(&list, stream, dcsr_i_monoid_type(monoid));
    if (status == DCSR_OK)
        status = dcsr_i_cuda_coo_add_lines(&list, stream, columns && !turned, monoid->op->name);
    if (status == DCSR_OK) status = make_vector(T, stream, &list, out->w->size);
    dcsr_i_cuda_coo_close(&list, stream);
    return status;
}

static dcsr_status sum_rows(const dcsr_i_vector_output *out, const dcsr_monoid *monoid, dcsr_view *A)
{
    dcsr_context *context = A->context;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body T = {0};
    dcsr_status status = add_rows(&T, stream, out, monoid, A);
    if (status == DCSR_OK)
        status = dcsr_i_cuda_vector_write(out->call, stream, out->w, out->mask, out->accum, out->desc,
                                          dcsr_i_monoid_type(monoid), &T);
    dcsr_status waited = dcsr_i_cuda_wait(stream, out->call);
    dcsr_i_stream_return(context, stream);
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK && out->desc && out->desc->report)
        out->desc->report->entries = A->form[0].rows.device.stored;
    return status;
}

/* ---- Counting ---- */

/* Entries of `n` rows whose numbers are on the device; the stream has been waited for. */
static dcsr_status count_listed(uint64_t *entries, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                const uint32_t *list, uint64_t n)
{
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    uint64_t *total = dcsr_i_cuda_landing(stream, sizeof *total);
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, list, n, offsets);
    if (status == DCSR_OK && total) dcsr_i_cuda_copy(stream, total, offsets + n, sizeof *total);
    if (status == DCSR_OK) status = dcsr_i_cuda_wait(stream, "view_count");
    if (status == DCSR_OK) *entries = *total;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, n + 1, sizeof *offsets);
    return status;
}

static dcsr_status count_rows(uint64_t *entries, dcsr_view *A, const dcsr_vector *rows)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(A->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body listed;
    dcsr_status status = dcsr_i_cuda_vector_read(&listed, rows, stream, DCSR_CUDA_SPARSE);
    if (status == DCSR_OK)
        status = count_listed(entries, stream, &A->form[0].rows.device, listed.indices, listed.nvals);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "view_count");
    dcsr_i_stream_return(A->context, stream);
    return status == DCSR_OK ? waited : status;
}

const dcsr_i_matrix_sums dcsr_i_cuda_matrix_sums = {.all = sum_all, .rows = sum_rows, .count = count_rows};
