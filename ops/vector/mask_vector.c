/* mask_vector.c: masks of vectors. */
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_block.h"
#include <string.h>

/* The bits of where a dense vector has elements that are not 0. */
static dcsr_status open_values(dcsr_i_mask *mask, const dcsr_vector *vector)
{
    uint64_t words = dcsr_i_words(mask->size), blocks = (mask->size + DCSR_I_BLOCK - 1) / DCSR_I_BLOCK;
    uint64_t *bits = dcsr_i_alloc(mask->context, DCSR_I_SCRATCH, words, sizeof *bits);
    if (!bits) return DCSR_ERROR_OUT_OF_MEMORY;
    mask->bits = mask->own_bits = bits;
    const dcsr_i_source source = {&vector->body, vector->type, DCSR_BOOL};
    int threads = dcsr_i_threads(mask->context, mask->size);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t first = b * DCSR_I_BLOCK, left = mask->size - first;
        dcsr_i_elements block;
        dcsr_i_at at = {.first = first, .n = left < DCSR_I_BLOCK ? (size_t)left : DCSR_I_BLOCK};
        dcsr_i_fetch(&block, &source, &at);
        dcsr_i_pack(bits + first / 64, block.values, at.n);
        for (size_t w = 0; block.bits && w * 64 < at.n; w++) bits[first / 64 + w] &= block.bits[w];
    }
    return DCSR_OK;
}

/* Those entries of a sparse vector that are not 0. Mostly all are: then the list is the vector's own. */
static dcsr_status open_sparse_values(dcsr_i_mask *mask, const dcsr_vector *vector)
{
    const dcsr_i_body *body = &vector->body;
    size_t size = vector->value_size;
    uint64_t kept = 0;
    for (uint64_t first = 0; first < body->nvals; first += DCSR_I_BLOCK) {
        size_t n = body->nvals - first < DCSR_I_BLOCK ? (size_t)(body->nvals - first) : DCSR_I_BLOCK;
        bool is_true[DCSR_I_BLOCK];
        dcsr_i_cast(DCSR_BOOL, is_true, vector->type, (const char *)body->values + first * size, n);
        for (size_t k = 0; k < n; k++) {
            if (!is_true[k] && !mask->own_list) {
                mask->own_list =
                    dcsr_i_alloc(mask->context, DCSR_I_SCRATCH, body->nvals, sizeof *mask->own_list);
                if (!mask->own_list) return DCSR_ERROR_OUT_OF_MEMORY;
                mask->own_capacity = body->nvals;
                memcpy(mask->own_list, body->indices, kept * sizeof *mask->own_list);
            }
            if (mask->own_list) mask->own_list[kept] = body->indices[first + k];
            kept += is_true[k];
        }
    }
    if (mask->own_list) mask->list = mask->own_list;
    mask->n = kept;
    return DCSR_OK;
}

dcsr_status dcsr_i_mask_open(dcsr_i_mask *mask, dcsr_context *context, uint64_t size,
                             const dcsr_vector *vector, const dcsr_desc *desc)
{
    *mask = (dcsr_i_mask){.size = size, .context = context, .complement = desc && desc->mask_complement};
    if (!vector) return DCSR_OK;
    const dcsr_i_body *body = &vector->body;
    bool structure = desc && desc->mask_structure;
    if (body->dense) {
        if (!structure) return open_values(mask, vector);
        mask->bits = body->present;
        return DCSR_OK;
    }
    mask->listed = true;
    mask->list = body->indices;
    mask->n = body->nvals;
    return structure ? DCSR_OK : open_sparse_values(mask, vector);
}

void dcsr_i_mask_close(dcsr_i_mask *mask)
{
    dcsr_i_free(mask->context, DCSR_I_SCRATCH, mask->own_bits, dcsr_i_words(mask->size),
                sizeof *mask->own_bits);
    dcsr_i_free(mask->context, DCSR_I_SCRATCH, mask->own_list, mask->own_capacity, sizeof *mask->own_list);
    *mask = (dcsr_i_mask){0};
}

dcsr_status dcsr_i_mask_use_bits(dcsr_i_mask *mask)
{
    if (!mask->listed) return DCSR_OK;
    uint64_t *bits =
        dcsr_i_calloc(mask->context, DCSR_I_SCRATCH, dcsr_i_words(mask->size), sizeof *mask->own_bits);
    if (!bits) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; p < mask->n; p++) bits[mask->list[p] >> 6] |= (uint64_t)1 << (mask->list[p] & 63);
    mask->bits = mask->own_bits = bits;
    mask->listed = false;
    return DCSR_OK;
}

/* ---- Checks ---- */

dcsr_status dcsr_i_vector_admit_input(const char *call, const char *name, const dcsr_vector *u,
                                      const dcsr_vector *w)
{
    if (!u)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; create a vector first", call, name);
    DCSR_TRY(dcsr_i_context_check(u->context));
    if (w && u->context != w->context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: %s is of another context than the output; create both from one", call, name);
    return DCSR_OK;
}

dcsr_status dcsr_i_vector_admit_output(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                                       const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_input(call, "w", w, NULL));
    DCSR_TRY(dcsr_i_check_desc(call, desc, w->context));
    if (!mask) return DCSR_OK;
    DCSR_TRY(dcsr_i_vector_admit_input(call, "the mask", mask, w));
    if (mask->size != w->size)
        return dcsr_i_fail(
            DCSR_ERROR_DIMENSION_MISMATCH,
            "%s: the mask has %llu elements, the output %llu; give a mask of the output's size", call,
            (unsigned long long)mask->size, (unsigned long long)w->size);
    return DCSR_OK;
}

dcsr_status dcsr_i_fail_no_operator(const char *call)
{
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: the operator is NULL: there is none of that name on that type", call);
}

dcsr_status dcsr_i_vector_check_input(const char *call, const char *name, const dcsr_vector *u,
                                      const dcsr_vector *w)
{
    DCSR_TRY(dcsr_i_vector_admit_input(call, name, u, w));
    return dcsr_i_vector_check(u, name);
}

dcsr_status dcsr_i_vector_check_output(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                                       const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_check(w, "w"));
    return mask ? dcsr_i_vector_check(mask, "the mask") : DCSR_OK;
}
