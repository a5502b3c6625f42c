/* vector_places_cuda.c: elements of a vector, or one value, to places of another, on a device; and the sum of
 * all. */
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "ops/vector/vector_ops_cuda.h"
#include "ops/vector/vector_pass_cuda.h"
#include <string.h>

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
    if (!(p->indices = take(p, p->n, sizeof *indices))) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!(p->region = take(p, words, sizeof *p->region))) return DCSR_ERROR_OUT_OF_MEMORY;
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
    if (!(p->number = take(p, p->size, sizeof *p->number))) return DCSR_ERROR_OUT_OF_MEMORY;
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
static dcsr_status finish(const dcsr_i_cuda_output *out, places *p, const dcsr_i_cuda_written *what,
                          dcsr_status status)
{
    if (status == DCSR_OK)
        status = dcsr_i_cuda_vector_write_what(out->call, p->stream, out->w, out->mask, out->desc, what);
    else
        dcsr_i_cuda_wait(p->stream, out->call);
    close_places(p);
    dcsr_i_stream_return(out->w->context, p->stream);
    return status;
}

dcsr_status dcsr_i_cuda_vector_assign(const dcsr_i_cuda_output *out, const dcsr_vector *u,
                                      const uint64_t *indices, uint64_t n)
{
    if (!indices) return dcsr_i_cuda_vector_extract(out, u, NULL, n);
    places p = {.stream = dcsr_i_stream_borrow(out->w->context), .size = out->w->size, .n = n};
    if (!p.stream) return DCSR_ERROR_OUT_OF_MEMORY;
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

dcsr_status dcsr_i_cuda_vector_assign_scalar(const dcsr_i_cuda_output *out, const void *value, dcsr_type type,
                                             const uint64_t *indices, uint64_t n)
{
    places p = {.stream = dcsr_i_stream_borrow(out->w->context), .size = out->w->size, .n = n};
    if (!p.stream) return DCSR_ERROR_OUT_OF_MEMORY;
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
    if (!partial) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_run_reduce(stream, partial, monoid->op->name, dcsr_i_monoid_type(monoid), &x, n);
    dcsr_i_cuda_copy(stream, landing, &partial->value, sizeof *landing);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, partial, sums, sizeof *partial);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "vector_reduce"));
    *sum = *landing;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_vector_sum(dcsr_i_scalar *sum, const dcsr_monoid *monoid, const dcsr_vector *u)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(u->context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = add_up(sum, stream, monoid, u);
    if (status != DCSR_OK) dcsr_i_cuda_wait(stream, "vector_reduce");
    dcsr_i_stream_return(u->context, stream);
    return status;
}
