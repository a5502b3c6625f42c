/* vector_extract.c: elements of a vector by number. */
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_indices.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_ops_cuda.h"

typedef struct extract {
    const dcsr_i_body *u; /* dense, or searched for each element */
    dcsr_type type;
    const uint64_t *indices;
} extract;

/* Where in the body the element is; false where it is not there. */
static bool find(const dcsr_i_body *u, uint64_t index, uint64_t *place)
{
    *place = index;
    if (u->dense) return dcsr_i_body_has(u, index);
    *place = dcsr_i_list_find(u->indices, 0, u->nvals, index);
    return *place < u->nvals && u->indices[*place] == index;
}

static bool produce_extract(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const extract *p = operands;
    const uint32_t *list = at->list;
    const uint64_t *indices = list ? p->indices : p->indices + at->first;
    uint64_t places[DCSR_I_BLOCK], *words = T->words;
    bool search = !p->u->dense || p->u->present;
    for (size_t w = 0; w * 64 < at->n; w++) {
        words[w] = search ? 0 : dcsr_i_full_word(at->n, w);
        for (size_t k = w * 64; k < at->n && k < w * 64 + 64; k++) {
            places[k] = indices[list ? list[k] : k];
            if (!search) continue;
            bool has = find(p->u, places[k], &places[k]);
            words[w] |= (uint64_t)has << (k & 63);
            if (!has) places[k] = 0; /* there is a first one; it is not used */
        }
    }
    T->values = room;
    T->bits = words;
    if (!p->u->capacity) {
        memset(room, 0, at->n * dcsr_type_size(p->type));
        return true;
    }
#define EXTRACT(ctype)                                              \
    do {                                                            \
        const ctype *from = p->u->values;                           \
        ctype *to = room;                                           \
        for (size_t k = 0; k < at->n; k++) to[k] = from[places[k]]; \
    } while (0)
    DCSR_I_BY_SIZE(dcsr_type_size(p->type), EXTRACT)
#undef EXTRACT
    return true;
}

/* Looking up many elements of a sparse vector is worth a dense copy. */
static bool is_worth_a_copy(const dcsr_i_body *u, uint64_t size, uint64_t n)
{
    return !u->dense && n > size / 16;
}

dcsr_status dcsr_vector_extract(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                const dcsr_vector *u, const uint64_t *indices, uint64_t n,
                                const dcsr_desc *desc)
{
    const char *call = "vector_extract";
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, w));
    uint64_t length = indices ? n : u->size;
    if (length != w->size)
        return dcsr_i_fail(
            DCSR_ERROR_DIMENSION_MISMATCH,
            "%s: %llu elements are extracted, the output has %llu; give an output of that size", call,
            (unsigned long long)length, (unsigned long long)w->size);
    if (indices) DCSR_TRY(dcsr_i_check_indices(call, u->context, u->size, indices, n, NULL));
    bool on_device;
    DCSR_TRY(dcsr_i_place_vectors(&on_device, w, mask, accum, desc, false, u, NULL));
#ifdef DCSR_CUDA
    if (on_device)
        return dcsr_i_cuda_vector_extract(&(dcsr_i_cuda_output){call, w, mask, accum, desc}, u, indices, n);
#endif
    dcsr_i_vector_job job = {.call = call,
                             .w = w,
                             .mask = mask,
                             .accum = accum,
                             .desc = desc,
                             .type = u->type,
                             .full = u->body.nvals == u->size,
                             .reads_output = u == w};
    if (!indices) {
        const dcsr_i_source all = {&u->body, u->type, u->type};
        job.produce = dcsr_i_produce_source;
        job.operands = &all;
        job.listed = !u->body.dense;
        job.list_full = true;
        job.list = u->body.indices;
        job.n = u->body.nvals;
        return dcsr_i_vector_run(&job);
    }
    dcsr_i_body copy = u->body;
    bool copied = is_worth_a_copy(&u->body, u->size, n);
    if (copied) DCSR_TRY(dcsr_i_body_to_dense(&copy, &u->body, u->context, u->value_size, u->size));
    const extract operands = {&copy, u->type, indices};
    job.produce = produce_extract;
    job.operands = &operands;
    job.reads_elsewhere = u == w && !copied;
    dcsr_status status = dcsr_i_vector_run(&job);
    if (copied) dcsr_i_body_free(&copy, u->context, dcsr_type_size(job.type));
    return status;
}
