/* vector_linear_cuda.c: sums of products and combinations of full vectors, on a device. */
#include "ops/vector/vector_linear.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/vector/vector_data.h"

/* A pass over vectors, with a sum unless total is NULL. */
typedef struct pass {
    const char *call;
    double *total;
    dcsr_type type;
    uint64_t n;
    const void *u, *v;
    void *w; /* NULL: of the dot product */
    double a, b;
} pass;

static void launch(const pass *p, dcsr_i_cuda_stream *stream, double *sums)
{
    if (p->w)
        dcsr_i_cuda_run_axpby(stream, sums, p->type, p->w, p->a, p->u, p->b, p->n);
    else
        dcsr_i_cuda_run_dot(stream, sums, p->type, p->u, p->v, p->n);
}

static dcsr_status run_on(const pass *p, dcsr_i_cuda_stream *stream)
{
    if (!p->total) {
        launch(p, stream, NULL);
        return dcsr_i_cuda_wait(stream, p->call);
    }
    const uint64_t count = dcsr_i_cuda_linear_sums(stream, p->n);
    double *sums = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof *sums),
           *landing = sums ? dcsr_i_cuda_landing(stream, sizeof *landing) : NULL;
    if (landing) {
        launch(p, stream, sums);
        dcsr_i_cuda_copy(stream, landing, sums, sizeof *landing);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, sums, count, sizeof *sums);
    if (!sums) return dcsr_i_no_memory();
    DCSR_TRY(dcsr_i_cuda_wait(stream, p->call)); /* which also tells that there is no landing */
    *p->total = *landing;
    return DCSR_OK;
}

static dcsr_status run(const pass *p, dcsr_context *context)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = run_on(p, stream);
    dcsr_i_stream_return(context, stream);
    return status;
}

static dcsr_status dot(double *total, const dcsr_vector *u, const dcsr_vector *v)
{
    pass p = {.call = "vector_dot", .total = total, .type = u->type, .n = u->size};
    DCSR_TRY(dcsr_i_cuda_vector_values(&p.u, u));
    DCSR_TRY(dcsr_i_cuda_vector_values(&p.v, v));
    return run(&p, u->context);
}

static dcsr_status axpby(dcsr_vector *w, double a, const dcsr_vector *u, double b, double *square)
{
    pass p = {.call = "vector_axpby", .total = square, .type = u->type, .n = u->size, .a = a, .b = b};
    p.w = dcsr_i_cuda_vector_own_values(w);
    if (!p.w) DCSR_TRY(w->device->lend(w, &p.w));
    DCSR_TRY(dcsr_i_cuda_vector_values(&p.u, u));
    return run(&p, w->context);
}

const dcsr_i_vector_linear dcsr_i_cuda_vector_linear = {.dot = dot, .axpby = axpby};
