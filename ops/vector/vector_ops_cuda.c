/* vector_ops_cuda.c: operations on vectors element by element, on a device: where T may have elements, a pass
 * that computes them, and writing T. */
#include "ops/vector/vector_ops_cuda.h"
#include "ops/vector/write_vector.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "ops/vector/vector_pass_cuda.h"
#include <string.h>

/* ---- What all have in common ---- */

typedef struct computing {
    const dcsr_i_vector_output *out;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_body list;  /* whose indices T has elements at most; of zeros: all */
    bool own_list;          /* it is to become part of T, or to be freed */
    bool full;              /* T has an element at each place of the pass */
    dcsr_type type;         /* of T's values */
    dcsr_i_cuda_pass *pass; /* what is launched by `run`, as a part of `what` */
    void (*run)(dcsr_i_cuda_stream *stream, const void *what);
    const void *what;
} computing;

static bool is_full(const dcsr_i_cuda_body *body)
{
    return body->dense && !body->present;
}

/* T's values are of w's type, so that it can be moved there, unless they are to be accumulated. */
static dcsr_type type_of_T(const dcsr_i_vector_output *out, dcsr_type type)
{
    return out->accum ? type : out->w->type;
}

/* The mask's list where T need not be computed elsewhere, and that is shorter than n places; else *list
 * stays. */
static dcsr_status use_mask(computing *c, uint64_t n)
{
    const dcsr_i_vector_output *out = c->out;
    const dcsr_vector *mask = out->mask;
    bool complement = out->desc && out->desc->mask_complement;
    if (!mask || mask->body.dense || complement || mask->body.nvals >= n) return DCSR_OK;
    c->own_list = c->full = false;
    return dcsr_i_cuda_vector_read(&c->list, mask, c->stream, DCSR_CUDA_SPARSE);
}

/* Makes T a sparse body with the list's indices: a list of our own becomes part of T. */
static dcsr_status take_list(computing *c, dcsr_i_cuda_body *T, size_t size)
{
    dcsr_i_cuda_body *list = &c->list;
    if (!c->own_list) {
        DCSR_TRY(dcsr_i_cuda_body_sparse(T, c->stream, size, list->size, list->nvals));
        dcsr_i_cuda_copy(c->stream, T->indices, list->indices, list->nvals * sizeof *T->indices);
        dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, T->count, 1, sizeof *T->count);
        T->count = NULL;
        return DCSR_OK;
    }
    void *values = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, list->capacity, size);
    if (!values) return dcsr_i_no_memory();
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, list->values, list->capacity, 0);
    *T = *list;
    T->values = values;
    c->own_list = false;
    return DCSR_OK;
}

/* The indices of T are those of the list, all of them. */
static dcsr_status compute_listed(computing *c, dcsr_i_cuda_body *T)
{
    const dcsr_i_cuda_body *list = &c->list;
    DCSR_TRY(take_list(c, T, dcsr_type_size(c->type)));
    *c->pass = (dcsr_i_cuda_pass){
        .n = list->nvals, .list = list->indices, .length = list->count, .values = T->values};
    c->run(c->stream, c->what);
    return DCSR_OK;
}

/* Some of them. */
static dcsr_status compute_chosen(computing *c, dcsr_i_cuda_body *T)
{
    dcsr_i_cuda_stream *stream = c->stream;
    const dcsr_i_cuda_body *list = &c->list;
    size_t size = dcsr_type_size(c->type);
    uint64_t n = list->nvals, words = dcsr_i_cuda_bit_words(n);
    DCSR_TRY(dcsr_i_cuda_body_sparse(T, stream, size, list->size, n));
    uint32_t *bits = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *bits);
    void *values = bits ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, size) : NULL;
    dcsr_status status = values ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        *c->pass = (dcsr_i_cuda_pass){
            .n = n, .list = list->indices, .length = list->count, .present = bits, .values = values};
        c->run(stream, c->what);
        status = dcsr_i_cuda_compact(T, stream, size, bits, n, list->indices, values);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, values, n, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, bits, words, sizeof *bits);
    if (status != DCSR_OK) dcsr_i_cuda_body_free(T, stream, size);
    return status;
}

static dcsr_status compute_all(computing *c, dcsr_i_cuda_body *T)
{
    uint64_t size = c->out->w->size;
    DCSR_TRY(dcsr_i_cuda_body_dense(T, c->stream, dcsr_type_size(c->type), size, !c->full));
    *c->pass = (dcsr_i_cuda_pass){.n = size, .present = T->present, .count = T->count, .values = T->values};
    c->run(c->stream, c->what);
    return DCSR_OK;
}

static dcsr_status compute_and_write(computing *c)
{
    const dcsr_i_vector_output *out = c->out;
    dcsr_i_cuda_body T = {0};
    DCSR_TRY(!c->list.indices ? compute_all(c, &T) : c->full ? compute_listed(c, &T) : compute_chosen(c, &T));
    return dcsr_i_cuda_vector_write(out->call, c->stream, out->w, out->mask, out->accum, out->desc, c->type,
                                    &T);
}

/* Runs an operation with a stream, and waits for that. */
typedef dcsr_status operation(computing *c, const void *operands);

static dcsr_status with_stream(const dcsr_i_vector_output *out, operation *op, const void *operands)
{
    dcsr_context *context = out->w->context;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    computing c = {.out = out, .stream = stream};
    dcsr_status status = op(&c, operands);
    if (c.own_list) dcsr_i_cuda_body_free(&c.list, stream, 0);
    dcsr_status waited = status == DCSR_OK ? DCSR_OK : dcsr_i_cuda_wait(stream, out->call);
    dcsr_i_stream_return(context, stream);
    return waited == DCSR_ERROR_DEVICE ? waited : status;
}

/* ---- Two vectors ---- */

typedef struct two {
    const dcsr_binary_op *op;
    const dcsr_vector *u, *v;
    bool either;
} two;

static void run_binary(dcsr_i_cuda_stream *stream, const void *what)
{
    dcsr_i_cuda_run_binary(stream, what);
}

/* Where T may have elements, and whether it has all of them. */
static dcsr_status find_list_of_two(computing *c, const two *op)
{
    const dcsr_vector *u = op->u, *v = op->v;
    dcsr_i_cuda_body a, b;
    if (u->body.dense && v->body.dense) return use_mask(c, u->size);
    if (!op->either) {
        const dcsr_vector *shorter =
            v->body.dense || (!u->body.dense && u->body.nvals <= v->body.nvals) ? u : v;
        DCSR_TRY(dcsr_i_cuda_vector_read(&c->list, shorter, c->stream, DCSR_CUDA_SPARSE));
        return use_mask(c, shorter->body.nvals);
    }
    if (u->body.dense || v->body.dense) return use_mask(c, u->size);
    DCSR_TRY(use_mask(c, u->body.nvals + v->body.nvals));
    if (c->list.indices) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_vector_read(&a, u, c->stream, DCSR_CUDA_SPARSE));
    DCSR_TRY(dcsr_i_cuda_vector_read(&b, v, c->stream, DCSR_CUDA_SPARSE));
    DCSR_TRY(dcsr_i_cuda_body_sparse(&c->list, c->stream, 0, u->size, a.nvals + b.nvals));
    c->own_list = c->full = true;
    return dcsr_i_cuda_unite(&c->list, c->stream, &a, &b);
}

static dcsr_status compute_ewise(computing *c, const void *operands)
{
    const two *op = operands;
    dcsr_i_cuda_body a, b;
    DCSR_TRY(find_list_of_two(c, op));
    dcsr_i_cuda_form form = c->list.indices ? DCSR_CUDA_AS_IT_IS : DCSR_CUDA_DENSE;
    DCSR_TRY(dcsr_i_cuda_vector_read(&a, op->u, c->stream, form));
    DCSR_TRY(dcsr_i_cuda_vector_read(&b, op->v, c->stream, form));
    if (!c->list.indices) c->full = op->either ? is_full(&a) || is_full(&b) : is_full(&a) && is_full(&b);
    dcsr_i_cuda_binary_pass pass = {.name = op->op->name,
                                    .type = op->op->xtype,
                                    .ztype = op->op->ztype,
                                    .x = dcsr_i_cuda_source_of(&a, op->u->type, c->list.indices),
                                    .y = dcsr_i_cuda_source_of(&b, op->v->type, c->list.indices),
                                    .either = op->either};
    c->type = pass.out = type_of_T(c->out, op->op->ztype);
    c->pass = &pass.pass;
    c->what = &pass;
    c->run = run_binary;
    return compute_and_write(c);
}

static dcsr_status ewise(const dcsr_i_vector_output *out, const dcsr_binary_op *op, const dcsr_vector *u,
                         const dcsr_vector *v, bool either)
{
    return with_stream(out, compute_ewise, &(two){op, u, v, either});
}

/* ---- One vector ---- */

/* Reads it; T has elements where it has. */
static dcsr_status read_one(computing *c, dcsr_i_cuda_write_source *x, const dcsr_vector *u)
{
    dcsr_i_cuda_body body;
    if (!u->body.dense) DCSR_TRY(dcsr_i_cuda_vector_read(&c->list, u, c->stream, DCSR_CUDA_SPARSE));
    c->full = !u->body.dense || u->body.nvals == u->size;
    DCSR_TRY(use_mask(c, u->body.dense ? u->size : u->body.nvals));
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, u, c->stream, DCSR_CUDA_AS_IT_IS));
    *x = dcsr_i_cuda_source_of(&body, u->type, c->list.indices);
    return DCSR_OK;
}

typedef struct one {
    const dcsr_vector *u;
    const dcsr_unary_op *unary; /* one of these; or none: the elements as they are */
    const dcsr_binary_op *binary;
    const dcsr_index_op *index;
    const void *scalar; /* the operand, or the thunk */
    bool first, select;
} one;

static void run_unary(dcsr_i_cuda_stream *stream, const void *what)
{
    dcsr_i_cuda_run_unary(stream, what);
}

static dcsr_status compute_apply(computing *c, const void *operands)
{
    const one *op = operands;
    dcsr_i_cuda_unary_pass pass = {.name = op->unary ? op->unary->name : DCSR_UNARY_IDENTITY,
                                   .type = op->unary ? op->unary->xtype : op->u->type};
    DCSR_TRY(read_one(c, &pass.x, op->u));
    c->type = pass.out = type_of_T(c->out, op->unary ? op->unary->ztype : op->u->type);
    c->pass = &pass.pass;
    c->what = &pass;
    c->run = run_unary;
    return compute_and_write(c);
}

static dcsr_status apply(const dcsr_i_vector_output *out, const dcsr_unary_op *op, const dcsr_vector *u)
{
    return with_stream(out, compute_apply, &(one){.u = u, .unary = op});
}

static dcsr_status compute_bound(computing *c, const void *operands)
{
    const one *op = operands;
    dcsr_type type = op->binary->xtype;
    dcsr_i_cuda_write_source x, scalar = {.how = DCSR_CUDA_BY_BITS, .type = type};
    memcpy(&scalar.one, op->scalar, dcsr_type_size(type));
    DCSR_TRY(read_one(c, &x, op->u));
    dcsr_i_cuda_binary_pass pass = {.name = op->binary->name,
                                    .type = type,
                                    .ztype = op->binary->ztype,
                                    .x = op->first ? scalar : x,
                                    .y = op->first ? x : scalar};
    c->type = pass.out = type_of_T(c->out, op->binary->ztype);
    c->pass = &pass.pass;
    c->what = &pass;
    c->run = run_binary;
    return compute_and_write(c);
}

static dcsr_status bound(const dcsr_i_vector_output *out, const dcsr_binary_op *op, const void *scalar,
                         const dcsr_vector *u, bool first)
{
    return with_stream(out, compute_bound, &(one){.u = u, .binary = op, .scalar = scalar, .first = first});
}

static void run_index(dcsr_i_cuda_stream *stream, const void *what)
{
    dcsr_i_cuda_run_index(stream, what);
}

static dcsr_status compute_index(computing *c, const void *operands)
{
    const one *op = operands;
    dcsr_i_cuda_index_pass pass = {.name = op->index->name, .type = op->index->xtype, .select = op->select};
    memcpy(&pass.thunk, op->scalar, dcsr_type_size(op->index->thunk));
    DCSR_TRY(read_one(c, &pass.x, op->u));
    if (op->select) c->full = false;
    c->type = pass.out = op->select ? op->u->type : type_of_T(c->out, op->index->ztype);
    c->pass = &pass.pass;
    c->what = &pass;
    c->run = run_index;
    return compute_and_write(c);
}

static dcsr_status apply_index(const dcsr_i_vector_output *out, const dcsr_index_op *op, const dcsr_vector *u,
                               const void *thunk, bool select)
{
    return with_stream(out, compute_index, &(one){.u = u, .index = op, .scalar = thunk, .select = select});
}

/* ---- By number ---- */

typedef struct gather {
    dcsr_i_cuda_pass pass;
    dcsr_i_cuda_write_source x;
    const uint64_t *indices; /* on the device */
} gather;

static void run_gather(dcsr_i_cuda_stream *stream, const void *what)
{
    const gather *g = what;
    dcsr_i_cuda_run_gather(stream, &g->pass, &g->x, g->indices);
}

typedef struct extraction {
    const dcsr_vector *u;
    const uint64_t *indices;
    uint64_t n;
} extraction;

static dcsr_status compute_extract(computing *c, const void *operands)
{
    const extraction *op = operands;
    dcsr_i_cuda_body body;
    DCSR_TRY(use_mask(c, op->n));
    /* Looking up many elements of a list is worth a dense copy. */
    dcsr_i_cuda_form form = op->n > op->u->size / 16 ? DCSR_CUDA_DENSE : DCSR_CUDA_AS_IT_IS;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, op->u, c->stream, form));
    uint64_t *indices = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, op->n, sizeof *indices);
    if (!indices) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(c->stream, indices, op->indices, op->n * sizeof *indices);
    gather pass = {.x = dcsr_i_cuda_source_of(&body, op->u->type, NULL), .indices = indices};
    if (!c->list.indices) c->full = is_full(&body);
    c->type = op->u->type;
    c->pass = &pass.pass;
    c->what = &pass;
    c->run = run_gather;
    dcsr_status status = compute_and_write(c);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, indices, op->n, sizeof *indices);
    return status;
}

static dcsr_status extract(const dcsr_i_vector_output *out, const dcsr_vector *u, const uint64_t *indices,
                           uint64_t n)
{
    if (!indices) return with_stream(out, compute_apply, &(one){.u = u});
    return with_stream(out, compute_extract, &(extraction){u, indices, n});
}

/* ---- To places of another, and the sum of all ---- */

/* What an assignment takes for itself: the indices, and for all places of w bits of where they are, and the
 * last element of u that each is given. */
typedef struct places {
    dcsr_i_cuda_stream *stream;
    uint64_t size, n;
    uint64_t *indices;
    uint32_t *region, *number;
} places;

static void *take(places *p, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, count, size);
}

static dcsr_status open_places(places *p, const uint64_t *indices)
{
    uint64_t words = dcsr_i_cuda_bit_words(p->size);
    if (!(p->indices = take(p, p->n, sizeof *indices))) return dcsr_i_no_memory();
    if (!(p->region = take(p, words, sizeof *p->region))) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(p->stream, p->indices, indices, p->n * sizeof *indices);
    dcsr_i_cuda_fill(p->stream, p->region, 0, words * sizeof *p->region);
    dcsr_i_cuda_run_mark(p->stream, p->region, p->indices, p->n);
    return DCSR_OK;
}

static void close_places(places *p)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->indices, p->n, sizeof *p->indices);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->region, dcsr_i_cuda_bit_words(p->size), sizeof *p->region);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->number, p->size, sizeof *p->number);
}

/* u's elements at the places of w: of those for one place the last. */
static dcsr_status place(dcsr_i_cuda_body *T, places *p, const dcsr_vector *u)
{
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, u, p->stream, DCSR_CUDA_DENSE));
    if (!(p->number = take(p, p->size, sizeof *p->number))) return dcsr_i_no_memory();
    DCSR_TRY(dcsr_i_cuda_body_dense(T, p->stream, u->value_size, p->size, true));
    dcsr_i_cuda_write_source x = dcsr_i_cuda_source_of(&body, u->type, NULL);
    dcsr_i_cuda_fill(p->stream, p->number, 0, p->size * sizeof *p->number);
    dcsr_i_cuda_run_number(p->stream, p->number, &x, p->indices, p->n);
    x.how = DCSR_CUDA_BY_NUMBER;
    x.number = p->number;
    const dcsr_i_cuda_pass pass = {
        .n = p->size, .present = T->present, .count = T->count, .values = T->values};
    dcsr_i_cuda_run_gather(p->stream, &pass, &x, NULL);
    return DCSR_OK;
}

/* Writes T, or what stands for it, and gives the stream back. */
static dcsr_status finish(const dcsr_i_vector_output *out, places *p, const dcsr_i_cuda_written *what,
                          dcsr_status status)
{
    if (status == DCSR_OK)
        status = dcsr_i_cuda_vector_write_what(out->call, p->stream, out->w, out->mask, out->desc, what);
    else
        dcsr_i_cuda_settle(p->stream, out->call);
    close_places(p);
    dcsr_i_stream_return(out->w->context, p->stream);
    return status;
}

static dcsr_status assign(const dcsr_i_vector_output *out, const dcsr_vector *u, const uint64_t *indices,
                          uint64_t n)
{
    if (!indices) return extract(out, u, NULL, n);
    places p = {.stream = dcsr_i_stream_borrow(out->w->context), .size = out->w->size, .n = n};
    if (!p.stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body T = {0};
    dcsr_status status = open_places(&p, indices);
    if (status == DCSR_OK) status = place(&T, &p, u);
    const dcsr_i_cuda_written what = {.accum = out->accum,
                                      .type = u->type,
                                      .T = &T,
                                      .region = p.region,
                                      .complete = u->body.nvals == u->size};
    return finish(out, &p, &what, status);
}

static dcsr_status assign_scalar(const dcsr_i_vector_output *out, const void *value, dcsr_type type,
                                 const uint64_t *indices, uint64_t n)
{
    places p = {.stream = dcsr_i_stream_borrow(out->w->context), .size = out->w->size, .n = n};
    if (!p.stream) return dcsr_i_no_memory();
    dcsr_status status = indices ? open_places(&p, indices) : DCSR_OK;
    dcsr_i_cuda_written what = {.accum = out->accum,
                                .type = out->accum ? out->accum->ytype : type,
                                .region = p.region,
                                .complete = true};
    dcsr_i_cast(out->w->type, &what.one, type, value, 1);
    dcsr_i_cast(what.type, &what.operand, type, value, 1);
    return finish(out, &p, &what, status);
}

/* ---- The sum ---- */

static dcsr_status add_up(dcsr_i_scalar *sum, dcsr_i_cuda_stream *stream, const dcsr_monoid *monoid,
                          const dcsr_vector *u)
{
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, u, stream, DCSR_CUDA_AS_IT_IS));
    const dcsr_i_cuda_write_source x = dcsr_i_cuda_source_of(&body, u->type, body.indices);
    uint64_t n = body.dense ? body.size : body.nvals, sums = dcsr_i_cuda_partial_sums(stream, n);
    dcsr_i_scalar *landing = dcsr_i_cuda_landing(stream, sizeof *landing);
    if (!landing) return dcsr_i_cuda_wait(stream, "vector_reduce");
    dcsr_i_cuda_sum_of_vector *partial = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, sums, sizeof *partial);
    if (!partial) return dcsr_i_no_memory();
    dcsr_i_cuda_run_reduce(stream, partial, monoid->op->name, dcsr_i_monoid_type(monoid), &x, n);
    dcsr_i_cuda_copy(stream, landing, &partial->value, sizeof *landing);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, partial, sums, sizeof *partial);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "vector_reduce"));
    *sum = *landing;
    return DCSR_OK;
}

static dcsr_status sum(dcsr_i_scalar *total, const dcsr_monoid *monoid, const dcsr_vector *u)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(u->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = add_up(total, stream, monoid, u);
    if (status != DCSR_OK) dcsr_i_cuda_settle(stream, "vector_reduce");
    dcsr_i_stream_return(u->context, stream);
    return status;
}

const dcsr_i_vector_ops dcsr_i_cuda_vector_ops = {.ewise = ewise,
                                                  .apply = apply,
                                                  .bound = bound,
                                                  .index = apply_index,
                                                  .extract = extract,
                                                  .assign = assign,
                                                  .assign_scalar = assign_scalar,
                                                  .sum = sum};
