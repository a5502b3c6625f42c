/* matrix_ops_cuda.c: operations on all entries of a matrix, on a device: lists of what is read, and the
 * kernels of coo_apply.cu on them. */
#include "ops/matrix/matrix_ops_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/store.h"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/matrix/write_matrix.h"

static bool takes_transpose_of_a(const dcsr_i_matrix_output *out)
{
    return out->desc && out->desc->transpose_a;
}

/* Entries that reading a view goes through. */
static uint64_t work_of(const dcsr_view *view)
{
    return dcsr_i_view_rows(view)->device.stored;
}

/* T's values are of C's type, which spares a pass, unless they are to be accumulated; of a pattern there are
 * none. */
static dcsr_type type_of_T(const dcsr_i_matrix_output *out, dcsr_type type)
{
    return out->accum && out->C->type != DCSR_PATTERN ? type : out->C->type;
}

/* ---- Operators on entries ---- */

typedef struct applying {
    const dcsr_i_matrix_output *out;
    dcsr_view *A;
    /* One of these. */
    const dcsr_unary_op *unary;
    const dcsr_binary_op *binary;
    const dcsr_index_op *index;
    const void *operand; /* the scalar, or the thunk */
    bool first;
} applying;

static bool looks_at_values(const dcsr_index_op *op)
{
    return op->name >= DCSR_INDEX_VALUE_EQ && op->name <= DCSR_INDEX_VALUE_GE;
}

static void run_pass(const applying *a, dcsr_i_cuda_stream *stream, dcsr_i_cuda_coo_pass *pass)
{
    if (a->unary) {
        pass->name = a->unary->name;
        pass->type = a->unary->xtype;
        dcsr_i_cuda_coo_unary(stream, pass);
    } else if (a->binary) {
        pass->name = a->binary->name;
        pass->type = a->binary->xtype;
        memcpy(&pass->operand, a->operand, dcsr_type_size(pass->type));
        dcsr_i_cuda_coo_bound(stream, pass, a->first);
    } else {
        pass->name = a->index->name;
        pass->type = a->index->xtype;
        memcpy(&pass->operand, a->operand, dcsr_type_size(a->index->thunk));
        if (!looks_at_values(a->index)) pass->xtype = DCSR_PATTERN;
        dcsr_i_cuda_coo_index(stream, pass);
    }
}

/* Gives the list values of that type, which are computed from those that it has. */
static dcsr_status apply_to(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const applying *a,
                            dcsr_type type)
{
    size_t size = dcsr_type_size(type), before = dcsr_type_size(list->type);
    void *values = list->values;
    if (size != before) values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, list->capacity, size);
    if (!values) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_pass pass = {.x = list, .xtype = list->type, .ztype = type, .z = values};
    run_pass(a, stream, &pass);
    if (values != list->values)
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, list->values, list->capacity, before);
    list->values = values;
    list->type = type;
    return DCSR_OK;
}

static dcsr_status compute_apply(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const applying *a = user;
    dcsr_type ztype = a->unary ? a->unary->ztype : a->binary ? a->binary->ztype : a->index->ztype;
    dcsr_type type = type_of_T(a->out, ztype);
    DCSR_TRY(dcsr_i_cuda_coo_of_view(T, stream, a->A, takes_transpose_of_a(a->out)));
    return type == DCSR_PATTERN ? dcsr_i_cuda_coo_cast(T, stream, type) : apply_to(T, stream, a, type);
}

static dcsr_status apply(const dcsr_i_matrix_output *out, const dcsr_unary_op *op, dcsr_view *A)
{
    const applying a = {.out = out, .A = A, .unary = op};
    return dcsr_i_cuda_matrix_run(out, compute_apply, &a, work_of(A));
}

static dcsr_status bound(const dcsr_i_matrix_output *out, const dcsr_binary_op *op, const void *scalar,
                         dcsr_view *A, bool first)
{
    const applying a = {.out = out, .A = A, .binary = op, .operand = scalar, .first = first};
    return dcsr_i_cuda_matrix_run(out, compute_apply, &a, work_of(A));
}

/* ---- Select ---- */

static dcsr_status choose_with(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const applying *a,
                               uint32_t *keep)
{
    dcsr_i_cuda_coo_pass pass = {.x = list,
                                 .name = a->index->name,
                                 .type = a->index->xtype,
                                 .xtype = looks_at_values(a->index) ? list->type : DCSR_PATTERN};
    memcpy(&pass.operand, a->operand, dcsr_type_size(a->index->thunk));
    dcsr_i_cuda_coo_test(stream, &pass, keep);
    /* Values that C does not store need not be moved. */
    if (a->out->C->type == DCSR_PATTERN) DCSR_TRY(dcsr_i_cuda_coo_cast(list, stream, DCSR_PATTERN));
    return dcsr_i_cuda_coo_choose(list, stream, keep);
}

static dcsr_status compute_select(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const applying *a = user;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(T, stream, a->A, takes_transpose_of_a(a->out)));
    uint64_t n = T->n;
    uint32_t *keep = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    dcsr_status status = choose_with(T, stream, a, keep);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, keep, n, sizeof *keep);
    return status;
}

static dcsr_status apply_index(const dcsr_i_matrix_output *out, const dcsr_index_op *op, const void *thunk,
                               dcsr_view *A, bool select)
{
    const applying a = {.out = out, .A = A, .index = op, .operand = thunk};
    return dcsr_i_cuda_matrix_run(out, select ? compute_select : compute_apply, &a, work_of(A));
}

/* ---- Transpose ---- */

typedef struct copying {
    dcsr_view *A;
    bool transposed;
} copying;

static dcsr_status compute_copy(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const copying *c = user;
    return dcsr_i_cuda_coo_of_view(T, stream, c->A, c->transposed);
}

static dcsr_status copy(const dcsr_i_matrix_output *out, dcsr_view *A, bool transposed)
{
    bool taken = false;
    if (transposed) DCSR_TRY(dcsr_i_cuda_transpose_into(&taken, out, A));
    if (taken) return DCSR_OK;
    return dcsr_i_cuda_matrix_run(out, compute_copy, &(copying){A, transposed}, work_of(A));
}

/* ---- Kronecker ---- */

typedef struct product {
    const dcsr_i_matrix_output *out;
    const dcsr_binary_op *op;
    dcsr_view *A, *B;
} product;

static dcsr_status multiply(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const product *p,
                            const dcsr_i_cuda_coo *a, const dcsr_i_cuda_coo *b)
{
    uint64_t n, *a_offsets, *b_offsets;
    if (__builtin_mul_overflow(a->n, b->n, &n)) n = UINT64_MAX; /* for which there is no memory */
    DCSR_TRY(dcsr_i_cuda_coo_open(T, stream, type_of_T(p->out, p->op->ztype), a->rows * b->rows,
                                  a->cols * b->cols, n));
    a_offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a->rows + 1, sizeof *a_offsets);
    b_offsets = a_offsets ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, b->rows + 1, sizeof *b_offsets) : NULL;
    if (b_offsets) {
        dcsr_i_cuda_coo_offsets(stream, a, a_offsets);
        dcsr_i_cuda_coo_offsets(stream, b, b_offsets);
        dcsr_i_cuda_coo_kronecker(stream, &(dcsr_i_cuda_coo_product){.a = *a,
                                                                     .b = *b,
                                                                     .z = *T,
                                                                     .a_offsets = a_offsets,
                                                                     .b_offsets = b_offsets,
                                                                     .name = p->op->name,
                                                                     .type = p->op->xtype});
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, b_offsets, b->rows + 1, sizeof *b_offsets);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a_offsets, a->rows + 1, sizeof *a_offsets);
    return b_offsets ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status compute_kronecker(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const product *p = user;
    const dcsr_desc *desc = p->out->desc;
    dcsr_i_cuda_coo a, b;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(&a, stream, p->A, desc && desc->transpose_a));
    dcsr_status status = dcsr_i_cuda_coo_of_view(&b, stream, p->B, desc && desc->transpose_b);
    if (status == DCSR_OK) {
        status = multiply(T, stream, p, &a, &b);
        dcsr_i_cuda_coo_close(&b, stream);
    }
    dcsr_i_cuda_coo_close(&a, stream);
    return status;
}

static dcsr_status kronecker(const dcsr_i_matrix_output *out, const dcsr_binary_op *op, dcsr_view *A,
                             dcsr_view *B)
{
    uint64_t work;
    if (__builtin_mul_overflow(work_of(A), work_of(B), &work)) work = UINT64_MAX;
    return dcsr_i_cuda_matrix_run(out, compute_kronecker, &(product){out, op, A, B}, work);
}

/* ---- C += B ---- */

/* Queues the entries of a list, whose keys become row numbers. */
static dcsr_status insert(dcsr_matrix *C, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                          dcsr_ticket **ticket)
{
    uint64_t *cols = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, list->n, sizeof *cols);
    if (!cols) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_split(stream, list, cols);
    dcsr_status status = dcsr_i_matrix_insert_device(C, "matrix_add", list->n, list->keys, cols, list->values,
                                                     dcsr_i_cuda_handle(stream), ticket);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, cols, list->n, sizeof *cols);
    return status;
}

static dcsr_status add(dcsr_matrix *C, dcsr_view *B, dcsr_ticket **ticket)
{
    dcsr_i_cuda_coo list = {0};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(C->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_coo_as_stored(&list, stream, &dcsr_i_view_rows(B)->device);
    if (status == DCSR_OK) status = dcsr_i_cuda_coo_cast(&list, stream, C->type);
    if (status == DCSR_OK) status = insert(C, stream, &list, ticket);
    dcsr_i_cuda_coo_close(&list, stream);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "matrix_add");
    dcsr_i_stream_return(C->context, stream);
    if (status != DCSR_OK) return status;
    if (waited == DCSR_OK)
        dcsr_i_view_was_read(B);
    else if (ticket) {
        dcsr_ticket_destroy(*ticket);
        *ticket = NULL;
    }
    return waited;
}

/* ---- Sums and products of two matrices, entry by entry ---- */

typedef struct operands {
    const dcsr_i_matrix_output *out;
    bool add;
    const dcsr_binary_op *op;
    dcsr_view *A, *B;
} operands;

static dcsr_status merge(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const operands *o,
                         const dcsr_i_cuda_coo *a, const dcsr_i_cuda_coo *b)
{
    DCSR_TRY(dcsr_i_check_shape(o->out->call, "A", a->rows, a->cols, "B", b->rows, b->cols));
    bool values = o->out->C->type != DCSR_PATTERN;
    dcsr_i_cuda_merging how = {
        .x = o->add, .y = o->add, .both = true, .op = o->op, .type = values ? o->op->ztype : DCSR_PATTERN};
    return dcsr_i_cuda_coo_merge(T, stream, a, b, &how);
}

static dcsr_status compute(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const operands *o = user;
    const dcsr_desc *desc = o->out->desc;
    dcsr_i_cuda_coo a, b;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(&a, stream, o->A, desc && desc->transpose_a));
    dcsr_status status = dcsr_i_cuda_coo_of_view(&b, stream, o->B, desc && desc->transpose_b);
    if (status == DCSR_OK) {
        status = merge(T, stream, o, &a, &b);
        dcsr_i_cuda_coo_close(&b, stream);
    }
    dcsr_i_cuda_coo_close(&a, stream);
    return status;
}

static dcsr_status ewise(const dcsr_i_matrix_output *out, bool add, const dcsr_binary_op *op, dcsr_view *A,
                         dcsr_view *B)
{
    operands o = {out, add, op, A, B};
    return dcsr_i_cuda_matrix_run(
        out, compute, &o, dcsr_i_rows_stored(dcsr_i_view_rows(A)) + dcsr_i_rows_stored(dcsr_i_view_rows(B)));
}

const dcsr_i_matrix_ops dcsr_i_cuda_matrix_ops = {.apply = apply,
                                                  .bound = bound,
                                                  .index = apply_index,
                                                  .copy = copy,
                                                  .kronecker = kronecker,
                                                  .add = add,
                                                  .ewise = ewise};
