/* vector_ewise.c: two vectors, element by element. */
#include "dcsr/base/runtime.h"
#include "ops/algebra/dispatch.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_ops_cuda.h"
#include "ops/vector/vector_run.h"

static dcsr_status check(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                         const dcsr_binary_op *op, const dcsr_vector *u, const dcsr_vector *v,
                         const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, w));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "v", v, w));
    if (!op) return dcsr_i_fail_no_operator(call);
    if (u->size != w->size || v->size != w->size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "%s: u has %llu elements, v %llu, the output %llu; give three of one size", call,
                           (unsigned long long)u->size, (unsigned long long)v->size,
                           (unsigned long long)w->size);
    return DCSR_OK;
}

static bool is_full(const dcsr_vector *vector)
{
    return vector->body.nvals == vector->size;
}

/* T = u and v united. */
static dcsr_status add(dcsr_i_vector_job *job, const dcsr_binary_op *op, const dcsr_vector *u,
                       const dcsr_vector *v)
{
    const dcsr_i_body *a = &u->body, *b = &v->body;
    const dcsr_i_union operands = {op, a, b, u->type, v->type, op->ztype};
    dcsr_context *context = u->context;
    job->produce = dcsr_i_produce_union;
    job->operands = &operands;
    job->full = is_full(u) || is_full(v);
    if (a->dense || b->dense) return dcsr_i_vector_run(job);
    uint32_t *list;
    DCSR_TRY(dcsr_i_list_unite(&list, &job->n, context, a->indices, a->nvals, b->indices, b->nvals));
    job->listed = job->list_full = true;
    job->list = list;
    uint64_t capacity = a->nvals + b->nvals; /* w may be u or v */
    dcsr_status status = dcsr_i_vector_run(job);
    dcsr_i_free(context, DCSR_I_SCRATCH, list, capacity, sizeof *list);
    return status;
}

/* Both, by an operator on what both have. */
typedef struct product {
    const dcsr_binary_op *op;
    dcsr_i_source u, v;
} product;

static bool produce_product(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const product *p = operands;
    dcsr_i_elements x, y;
    dcsr_i_fetch(&x, &p->u, at);
    dcsr_i_fetch(&y, &p->v, at);
    T->values = room;
    T->bits = NULL;
    if (x.bits || y.bits) {
        for (size_t w = 0; w * 64 < at->n; w++)
            T->words[w] = dcsr_i_word_of(x.bits, at->n, w) & dcsr_i_word_of(y.bits, at->n, w);
        T->bits = T->words;
    }
    return dcsr_i_apply_binary_where(p->op, room, x.values, y.values, T->bits, at->n);
}

/* T = the products of what both have. */
static dcsr_status multiply(dcsr_i_vector_job *job, const dcsr_binary_op *op, const dcsr_vector *u,
                            const dcsr_vector *v)
{
    const dcsr_i_body *a = &u->body, *b = &v->body;
    const product operands = {op, {a, u->type, op->xtype}, {b, v->type, op->ytype}};
    job->produce = produce_product;
    job->operands = &operands;
    job->full = is_full(u) && is_full(v);
    if (!a->dense || !b->dense) {
        const dcsr_i_body *shorter = b->dense || (!a->dense && a->nvals <= b->nvals) ? a : b;
        job->listed = true;
        job->list_full = shorter == a ? is_full(v) : is_full(u);
        job->list = shorter->indices;
        job->n = shorter->nvals;
    }
    return dcsr_i_vector_run(job);
}

static dcsr_status ewise(const dcsr_i_vector_output *out, bool adds, const dcsr_binary_op *op,
                         const dcsr_vector *u, const dcsr_vector *v)
{
    DCSR_TRY(check(out->call, out->w, out->mask, op, u, v, out->desc));
    bool on_device;
    DCSR_TRY(dcsr_i_dispatch_vectors(&on_device, out->w, out->mask, out->accum, out->desc, !op->loop, u, v));
    if (on_device) return dcsr_i_device_vector_ops->ewise(out, op, u, v, adds);
    dcsr_i_vector_job job = {.call = out->call,
                             .w = out->w,
                             .mask = out->mask,
                             .accum = out->accum,
                             .desc = out->desc,
                             .type = op->ztype,
                             .users = op->loop ? NULL : op->text,
                             .reads_output = u == out->w || v == out->w};
    return adds ? add(&job, op, u, v) : multiply(&job, op, u, v);
}

dcsr_status dcsr_vector_ewise_add(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                  const dcsr_binary_op *op, const dcsr_vector *u, const dcsr_vector *v,
                                  const dcsr_desc *desc)
{
    return ewise(&(dcsr_i_vector_output){"vector_ewise_add", w, mask, accum, desc}, true, op, u, v);
}

dcsr_status dcsr_vector_ewise_mult(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                   const dcsr_binary_op *op, const dcsr_vector *u, const dcsr_vector *v,
                                   const dcsr_desc *desc)
{
    return ewise(&(dcsr_i_vector_output){"vector_ewise_mult", w, mask, accum, desc}, false, op, u, v);
}
