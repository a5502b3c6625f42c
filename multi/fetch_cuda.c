/* fetch_cuda.c: elements of a vector that are on other GPUs, as one vector on this one.
 *
 * A list is copied to where it belongs and its indices are moved. Of dense parts values are copied and bits are
 * shifted into place; of lists that become part of a dense vector each element is put where it belongs. All on one
 * stream of the device that fetches: the others only make a form of theirs that is not there yet. */
#include "multi/fetch_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"

void dcsr_i_cuda_open_to_peers(dcsr_context *const *contexts, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t j = 0; j < count; j++)
            if (i != j && dcsr_i_cuda_can_access(contexts[i]->cuda, contexts[j]->cuda))
                dcsr_i_cuda_enable_peer(contexts[i]->cuda, contexts[j]->cuda);
}

/* A vector that is being made. */
typedef struct making {
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_device *device;
    size_t size; /* of a value */
    dcsr_i_cuda_body body;
} making;

/* From a part's memory to this device's. */
static void bring(const making *m, void *to, const dcsr_vector *part, const void *from, size_t bytes)
{
    if (part->context->cuda == m->device)
        dcsr_i_cuda_copy(m->stream, to, from, bytes);
    else
        dcsr_i_cuda_copy_peer(m->stream, to, m->device, from, part->context->cuda, bytes);
}

/* Where the part's list has the elements of the range: at place *from, *n of them. */
static dcsr_status find_on(dcsr_i_cuda_stream *stream, const dcsr_i_fetch_range *r, uint64_t *from,
                           uint64_t *n)
{
    dcsr_i_cuda_body list;
    uint64_t at[2];
    DCSR_TRY(dcsr_i_cuda_vector_read(&list, r->part, stream, DCSR_CUDA_SPARSE));
    uint64_t *places = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 2, sizeof *places);
    if (!places) return dcsr_i_no_memory();
    dcsr_i_cuda_fetch_find(stream, places, list.indices, list.nvals, r->first, r->last);
    dcsr_status status = dcsr_i_cuda_read_back(stream, at, places, sizeof at, "fetching a vector");
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, places, 2, sizeof *places);
    if (status != DCSR_OK) return status;
    *from = at[0];
    *n = at[1] - at[0];
    return DCSR_OK;
}

/* The same by the device that has the list. */
static dcsr_status find(const making *m, const dcsr_i_fetch_range *r, uint64_t *from, uint64_t *n)
{
    *from = 0;
    *n = r->part->body.nvals;
    if ((!r->first && r->last == r->part->size) || !*n) return DCSR_OK;
    if (r->part->context->cuda == m->device) return find_on(m->stream, r, from, n);
    dcsr_i_cuda_stream *own = dcsr_i_stream_borrow(r->part->context);
    if (!own) return dcsr_i_no_memory();
    dcsr_status status = find_on(own, r, from, n), waited = dcsr_i_cuda_wait(own, "fetching a vector");
    dcsr_i_stream_return(r->part->context, own);
    return status == DCSR_OK ? waited : status;
}

/* ---- A list ---- */

static dcsr_status make_list(making *m, const dcsr_i_fetch *f, uint64_t size)
{
    uint64_t from[DCSR_MAX_DEVICES], n[DCSR_MAX_DEVICES], all = 0, to = 0;
    for (uint64_t k = 0; k < f->count; k++) {
        DCSR_TRY(find(m, &f->range[k], &from[k], &n[k]));
        all += n[k];
    }
    DCSR_TRY(dcsr_i_cuda_body_sparse(&m->body, m->stream, m->size, size, all));
    for (uint64_t k = 0; k < f->count; k++) {
        const dcsr_i_fetch_range *r = &f->range[k];
        dcsr_i_cuda_body list;
        DCSR_TRY(dcsr_i_cuda_vector_read_from(&list, r->part, m->stream, DCSR_CUDA_SPARSE));
        uint32_t *indices = m->body.indices + to;
        bring(m, indices, r->part, list.indices + from[k], n[k] * sizeof *indices);
        bring(m, (char *)m->body.values + to * m->size, r->part, (char *)list.values + from[k] * m->size,
              n[k] * m->size);
        dcsr_i_cuda_fetch_shift(m->stream, indices, n[k], (uint32_t)(r->at - r->first));
        to += n[k];
    }
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, m->body.count, 1, sizeof *m->body.count);
    m->body.count = NULL;
    m->body.nvals = all;
    return DCSR_OK;
}

/* ---- With bits ---- */

static dcsr_status add_list(making *m, const dcsr_i_fetch_range *r, const dcsr_i_cuda_body *list)
{
    uint64_t from, n;
    DCSR_TRY(find(m, r, &from, &n));
    uint32_t *indices = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, n, sizeof *indices);
    void *values = indices ? dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, n, m->size) : NULL;
    if (values) {
        bring(m, indices, r->part, list->indices + from, n * sizeof *indices);
        bring(m, values, r->part, (char *)list->values + from * m->size, n * m->size);
        dcsr_i_cuda_fetch_spread(m->stream, &m->body, m->size, indices, values, n,
                                 (uint32_t)(r->at - r->first));
    }
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, values, n, m->size);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, indices, n, sizeof *indices);
    return values ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status add_dense(making *m, const dcsr_i_fetch_range *r, const dcsr_i_cuda_body *from)
{
    const uint64_t n = r->last - r->first, begin = r->first / 32, words = (r->last + 31) / 32 - begin;
    bring(m, (char *)m->body.values + r->at * m->size, r->part, (char *)from->values + r->first * m->size,
          n * m->size);
    if (!m->body.present) return DCSR_OK;
    if (!from->present) {
        dcsr_i_cuda_fetch_bits(m->stream, m->body.present, r->at, NULL, 0, n);
        return DCSR_OK;
    }
    uint32_t *bits = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, words, sizeof *bits);
    if (!bits) return dcsr_i_no_memory();
    bring(m, bits, r->part, from->present + begin, words * sizeof *bits);
    dcsr_i_cuda_fetch_bits(m->stream, m->body.present, r->at, bits, r->first & 31, n);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, bits, words, sizeof *bits);
    return DCSR_OK;
}

static dcsr_status make_dense(making *m, const dcsr_i_fetch *f, uint64_t size)
{
    const uint64_t words = dcsr_i_cuda_bit_words(size);
    DCSR_TRY(dcsr_i_cuda_body_dense(&m->body, m->stream, m->size, size, !f->full));
    if (!f->full) dcsr_i_cuda_fill(m->stream, m->body.present, 0, words * sizeof *m->body.present);
    for (uint64_t k = 0; k < f->count; k++) {
        const dcsr_i_fetch_range *r = &f->range[k];
        dcsr_i_cuda_body from;
        DCSR_TRY(dcsr_i_cuda_vector_read_from(&from, r->part, m->stream, DCSR_CUDA_AS_IT_IS));
        DCSR_TRY(from.dense ? add_dense(m, r, &from) : add_list(m, r, &from));
    }
    if (!f->full) dcsr_i_cuda_fetch_count(m->stream, m->body.count, m->body.present, words);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_multi_fetch(dcsr_vector *fetched, const dcsr_i_fetch *fetch)
{
    dcsr_context *context = fetched->context;
    making m = {
        .stream = dcsr_i_stream_borrow(context), .device = context->cuda, .size = fetched->value_size};
    if (!m.stream) return dcsr_i_no_memory();
    dcsr_status status =
                    fetch->dense ? make_dense(&m, fetch, fetched->size) : make_list(&m, fetch, fetched->size),
                finished = status == DCSR_OK ? dcsr_i_cuda_body_finish(&m.body, m.stream, "fetching a vector")
                                             : dcsr_i_cuda_wait(m.stream, "fetching a vector");
    if (status == DCSR_OK) status = finished;
    if (status == DCSR_OK)
        dcsr_i_cuda_vector_put(fetched, &m.body, m.stream);
    else
        dcsr_i_cuda_body_free(&m.body, m.stream, m.size);
    dcsr_i_stream_return(context, m.stream);
    return status;
}
