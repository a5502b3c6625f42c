/* vector_apply.c: operators on each element of a vector, and choosing elements by one. */
#include "ops/algebra/dispatch.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_ops_cuda.h"
#include "ops/vector/vector_run.h"

/* ---- What all have in common ---- */

static dcsr_status check(const char *call, const dcsr_vector *w, const dcsr_vector *mask, const void *op,
                         const dcsr_vector *u, const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, w));
    if (!op) return dcsr_i_fail_no_operator(call);
    if (u->size != w->size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "%s: u has %llu elements, the output %llu; give two of one size", call,
                           (unsigned long long)u->size, (unsigned long long)w->size);
    return DCSR_OK;
}

static dcsr_status check_scalar(const char *call, const char *name, const void *scalar)
{
    if (scalar) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; point it to a value", call, name);
}

/* T has elements where u has. */
static dcsr_i_vector_job job_over(const char *call, dcsr_vector *w, const dcsr_vector *mask,
                                  const dcsr_binary_op *accum, const dcsr_vector *u, const dcsr_desc *desc)
{
    return (dcsr_i_vector_job){.call = call,
                               .w = w,
                               .mask = mask,
                               .accum = accum,
                               .desc = desc,
                               .full = u->body.nvals == u->size,
                               .reads_output = u == w,
                               .listed = !u->body.dense,
                               .list_full = true,
                               .list = u->body.indices,
                               .n = u->body.nvals};
}

/* ---- Unary operators ---- */

typedef struct image {
    const dcsr_unary_op *op;
    dcsr_i_source u;
} image;

static bool produce_image(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const image *p = operands;
    dcsr_i_fetch(T, &p->u, at);
    if (p->op->name == DCSR_UNARY_IDENTITY) return true;
    const void *x = T->values;
    T->values = room;
    return dcsr_i_apply_unary_where(p->op, room, x, T->bits, at->n);
}

dcsr_status dcsr_vector_apply(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                              const dcsr_unary_op *op, const dcsr_vector *u, const dcsr_desc *desc)
{
    DCSR_TRY(check("vector_apply", w, mask, op, u, desc));
    bool on_device;
    DCSR_TRY(dcsr_i_dispatch_vectors(&on_device, w, mask, accum, desc, !op->loop, u, NULL));
    if (on_device)
        return dcsr_i_device_vector_ops->apply(&(dcsr_i_vector_output){"vector_apply", w, mask, accum, desc},
                                               op, u);
    const image operands = {op, {&u->body, u->type, op->xtype}};
    dcsr_i_vector_job job = job_over("vector_apply", w, mask, accum, u, desc);
    job.produce = produce_image;
    job.operands = &operands;
    job.type = op->ztype;
    job.users = op->loop ? NULL : op->text;
    return dcsr_i_vector_run(&job);
}

/* ---- Binary operators with a scalar ---- */

typedef struct bound {
    const dcsr_binary_op *op;
    dcsr_i_source u;
    bool first;                                                /* the scalar is the first operand */
    _Alignas(64) char scalar[DCSR_I_BLOCK * sizeof(uint64_t)]; /* a block of it */
} bound;

static bool produce_bound(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const bound *p = operands;
    dcsr_i_fetch(T, &p->u, at);
    const void *u = T->values;
    T->values = room;
    return dcsr_i_apply_binary_where(p->op, room, p->first ? p->scalar : u, p->first ? u : p->scalar, T->bits,
                                     at->n);
}

/* With the scalar as the operator's first operand or its second. */
static dcsr_status apply_bound(const dcsr_i_vector_output *out, const dcsr_binary_op *op, const void *scalar,
                               bool first, const dcsr_vector *u)
{
    DCSR_TRY(check(out->call, out->w, out->mask, op, u, out->desc));
    DCSR_TRY(check_scalar(out->call, first ? "x" : "y", scalar));
    bool on_device;
    DCSR_TRY(
        dcsr_i_dispatch_vectors(&on_device, out->w, out->mask, out->accum, out->desc, !op->loop, u, NULL));
    if (on_device) return dcsr_i_device_vector_ops->bound(out, op, scalar, u, first);
    dcsr_i_vector_job job = job_over(out->call, out->w, out->mask, out->accum, u, out->desc);
    bound operands; /* too large to be initialised */
    operands.op = op;
    operands.u = (dcsr_i_source){&u->body, u->type, first ? op->ytype : op->xtype};
    operands.first = first;
    dcsr_i_broadcast(first ? op->xtype : op->ytype, operands.scalar, scalar,
                     u->size < DCSR_I_BLOCK ? (size_t)u->size : DCSR_I_BLOCK);
    job.produce = produce_bound;
    job.operands = &operands;
    job.type = op->ztype;
    job.users = op->loop ? NULL : op->text;
    return dcsr_i_vector_run(&job);
}

dcsr_status dcsr_vector_apply_first(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                    const dcsr_binary_op *op, const void *x, const dcsr_vector *u,
                                    const dcsr_desc *desc)
{
    return apply_bound(&(dcsr_i_vector_output){"vector_apply_first", w, mask, accum, desc}, op, x, true, u);
}

dcsr_status dcsr_vector_apply_second(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                     const dcsr_binary_op *op, const dcsr_vector *u, const void *y,
                                     const dcsr_desc *desc)
{
    return apply_bound(&(dcsr_i_vector_output){"vector_apply_second", w, mask, accum, desc}, op, y, false, u);
}

/* ---- Index operators ---- */

typedef struct indexed {
    const dcsr_index_op *op;
    dcsr_i_source u; /* as the operator wants it */
    const void *thunk;
} indexed;

/* Where the elements of a block are: their list, or one that is made in `room`. */
static dcsr_i_positions positions_of(const dcsr_i_at *at, uint32_t room[DCSR_I_BLOCK])
{
    if (at->list) return (dcsr_i_positions){.i = at->list};
    for (size_t k = 0; k < at->n; k++) room[k] = (uint32_t)(at->first + k);
    return (dcsr_i_positions){.i = room};
}

static bool produce_indexed(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const indexed *p = operands;
    uint32_t numbers[DCSR_I_BLOCK];
    dcsr_i_positions places = positions_of(at, numbers);
    dcsr_i_fetch(T, &p->u, at);
    const void *x = T->values;
    T->values = room;
    return dcsr_i_apply_index_where(p->op, room, x, &places, p->thunk, T->bits, at->n);
}

static bool produce_selected(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    (void)room; /* what is selected is as it was in u */
    const indexed *p = operands;
    const dcsr_i_source as_is = {p->u.body, p->u.from, p->u.from};
    _Alignas(64) char z[DCSR_I_BLOCK * sizeof(uint64_t)];
    bool chosen[DCSR_I_BLOCK];
    uint32_t numbers[DCSR_I_BLOCK];
    dcsr_i_positions places = positions_of(at, numbers);
    dcsr_i_elements x;
    dcsr_i_fetch(T, &as_is, at);
    const void *values = T->values;
    if (p->u.from != p->op->xtype) {
        dcsr_i_fetch(&x, &p->u, at);
        values = x.values;
    }
    if (!dcsr_i_apply_index_where(p->op, z, values, &places, p->thunk, T->bits, at->n)) return false;
    dcsr_i_cast(DCSR_BOOL, chosen, p->op->ztype, z, at->n);
    uint64_t words[DCSR_I_BLOCK_WORDS];
    dcsr_i_pack(words, chosen, at->n);
    for (size_t w = 0; w * 64 < at->n; w++) T->words[w] = words[w] & dcsr_i_word_of(T->bits, at->n, w);
    T->bits = T->words;
    return true;
}

/* The operator's results, or those elements of u that it is true for. */
static dcsr_status apply_indexed(const dcsr_i_vector_output *out, const dcsr_index_op *op,
                                 const dcsr_vector *u, const void *thunk, bool select)
{
    DCSR_TRY(check(out->call, out->w, out->mask, op, u, out->desc));
    DCSR_TRY(check_scalar(out->call, "thunk", thunk));
    bool on_device;
    DCSR_TRY(
        dcsr_i_dispatch_vectors(&on_device, out->w, out->mask, out->accum, out->desc, !op->loop, u, NULL));
    if (on_device) return dcsr_i_device_vector_ops->index(out, op, u, thunk, select);
    dcsr_i_vector_job job = job_over(out->call, out->w, out->mask, out->accum, u, out->desc);
    const indexed operands = {op, {&u->body, u->type, op->xtype}, thunk};
    job.produce = select ? produce_selected : produce_indexed;
    job.operands = &operands;
    job.type = select ? u->type : op->ztype;
    job.users = op->loop ? NULL : op->text;
    job.full &= !select;
    job.list_full &= !select;
    return dcsr_i_vector_run(&job);
}

dcsr_status dcsr_vector_apply_index(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                    const dcsr_index_op *op, const dcsr_vector *u, const void *thunk,
                                    const dcsr_desc *desc)
{
    return apply_indexed(&(dcsr_i_vector_output){"vector_apply_index", w, mask, accum, desc}, op, u, thunk,
                         false);
}

dcsr_status dcsr_vector_select(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                               const dcsr_index_op *op, const dcsr_vector *u, const void *thunk,
                               const dcsr_desc *desc)
{
    return apply_indexed(&(dcsr_i_vector_output){"vector_select", w, mask, accum, desc}, op, u, thunk, true);
}
