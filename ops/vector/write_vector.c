/* write_vector.c: masks, and writing what was computed into a vector, through mask and accum. */
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_block.h"
#include <string.h>
#include "ops/vector/write_vector.h"
#include "ops/vector/vector_run.h"

/* ---- Masks ---- */

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

dcsr_status dcsr_i_vector_check_output(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                                       const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_check(w, "w"));
    return mask ? dcsr_i_vector_check(mask, "the mask") : DCSR_OK;
}

/* ---- Writing ---- */

/* ---- Into a dense output, in place ---- */

/* Sets the elements first .. end-1 of T; returns how many of them are new. */
static uint64_t scatter(dcsr_i_body *w, const dcsr_i_body *T, size_t size, uint64_t first, uint64_t end)
{
    uint64_t fresh = 0;
#define SCATTER(ctype)                                                      \
    do {                                                                    \
        ctype *to = w->values;                                              \
        const ctype *from = T->values;                                      \
        for (uint64_t p = first; p < end; p++) to[T->indices[p]] = from[p]; \
    } while (0)
    DCSR_I_BY_SIZE(size, SCATTER)
#undef SCATTER
    for (uint64_t p = first; w->present && p < end; p++) {
        uint64_t *word = &w->present[T->indices[p] >> 6], bit = (uint64_t)1 << (T->indices[p] & 63);
        fresh += !(*word & bit);
        *word |= bit;
    }
    return fresh;
}

static void scatter_all(dcsr_vector *w, const dcsr_i_body *T)
{
    dcsr_i_body *body = &w->body;
    uint64_t pieces = (uint64_t)dcsr_i_threads(w->context, T->nvals), fresh = 0, n = T->nvals;
    if (pieces <= 1) {
        body->nvals += scatter(body, T, w->value_size, 0, n);
        return;
    }
    /* Cut where a word of bits ends, so that threads share none. */
#pragma omp parallel for num_threads((int)pieces) reduction(+ : fresh)
    for (uint64_t t = 0; t < pieces; t++) {
        uint64_t first = n * t / pieces, end = n * (t + 1) / pieces;
        if (t) first = dcsr_i_list_find(T->indices, 0, n, T->indices[first] & ~(uint64_t)63);
        if (t + 1 < pieces) end = dcsr_i_list_find(T->indices, 0, n, T->indices[end] & ~(uint64_t)63);
        fresh += scatter(body, T, w->value_size, first, end);
    }
    body->nvals += fresh;
}

/* Takes out the elements where `keep` is false. */
static void delete_others(dcsr_vector *w, const dcsr_i_mask *keep)
{
    dcsr_i_body *body = &w->body;
    if (keep->listed) { /* complemented: the indices in the list go */
        for (uint64_t p = 0; p < keep->n; p++) {
            uint64_t *word = &body->present[keep->list[p] >> 6], bit = (uint64_t)1 << (keep->list[p] & 63);
            body->nvals -= (*word & bit) != 0;
            *word &= ~bit;
        }
        return;
    }
    uint64_t nvals = 0;
    int threads = dcsr_i_threads(w->context, body->words);
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(+ : nvals)
    for (uint64_t k = 0; k < body->words; k++) {
        body->present[k] &= dcsr_i_mask_word(keep, k);
        nvals += (unsigned)__builtin_popcountll(body->present[k]);
    }
    body->nvals = nvals;
}

/* What T has as values of w's type, with accum(w, T) where both have one. */
static dcsr_status accumulated(dcsr_i_body *V, const char *call, dcsr_vector *w, const dcsr_binary_op *accum,
                               dcsr_type ttype, const dcsr_i_body *T)
{
    const dcsr_i_source source = {T, ttype, w->type};
    const dcsr_i_union both = {accum, &w->body, T, w->type, ttype, w->type};
    const dcsr_i_vector_job job = {.call = call,
                                   .w = w,
                                   .produce = accum ? dcsr_i_produce_union : dcsr_i_produce_source,
                                   .operands = accum ? (const void *)&both : &source,
                                   .type = w->type,
                                   .users = accum ? accum->text : NULL,
                                   .full = true};
    return dcsr_i_vector_compute(V, &job, T->indices, T->nvals);
}

static dcsr_status write_in_place(dcsr_vector *w, const dcsr_i_mask *keep, const dcsr_i_body *V)
{
    dcsr_i_body *body = &w->body;
    if (!dcsr_i_mask_is_all(keep)) {
        if (!body->present) {
            uint64_t words = dcsr_i_words(w->size);
            uint64_t *present = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, words, sizeof *present);
            if (!present) return DCSR_ERROR_OUT_OF_MEMORY;
            for (uint64_t k = 0; k < words; k++) present[k] = dcsr_i_full_word(w->size, k);
            body->present = present;
            body->words = words;
        }
        delete_others(w, keep);
    }
    scatter_all(w, V);
    dcsr_i_vector_put(w, body);
    return DCSR_OK;
}

/* ---- Into a sparse one ---- */

static dcsr_status write_merged(const char *call, dcsr_vector *w, const dcsr_binary_op *accum,
                                const dcsr_i_mask *keep, dcsr_type ttype, const dcsr_i_body *T)
{
    size_t size = w->value_size;
    dcsr_i_body kept = w->body, merged;
    bool all = dcsr_i_mask_is_all(keep);
    if (!all) DCSR_TRY(dcsr_i_body_copy(&kept, &w->body, w->context, size, w->size));
    uint32_t *list = NULL;
    uint64_t n = 0, capacity = 0;
    dcsr_status status = all ? DCSR_OK : dcsr_i_body_filter(&kept, w->context, size, keep);
    if (status == DCSR_OK) {
        capacity = kept.nvals + T->nvals;
        status = dcsr_i_list_unite(&list, &n, w->context, kept.indices, kept.nvals, T->indices, T->nvals);
    }
    if (status == DCSR_OK) {
        const dcsr_i_union both = {accum, &kept, T, w->type, ttype, w->type};
        const dcsr_i_vector_job job = {.call = call,
                                       .w = w,
                                       .produce = dcsr_i_produce_union,
                                       .operands = &both,
                                       .type = w->type,
                                       .users = accum ? accum->text : NULL,
                                       .full = true};
        status = dcsr_i_vector_compute(&merged, &job, list, n);
    }
    dcsr_i_free(w->context, DCSR_I_SCRATCH, list, capacity, sizeof *list);
    if (!all) dcsr_i_body_free(&kept, w->context, size);
    if (status == DCSR_OK) dcsr_i_vector_put(w, &merged);
    return status;
}

/* ---- Either ---- */

/* The mask without what it owns: what is made of it here is freed here. */
static dcsr_i_mask borrowed(const dcsr_i_mask *mask)
{
    dcsr_i_mask lent = *mask;
    lent.own_bits = NULL;
    lent.own_list = NULL;
    return lent;
}

dcsr_status dcsr_i_write_entries(const char *call, dcsr_vector *w, const dcsr_binary_op *accum,
                                 const dcsr_i_mask *keep, dcsr_type ttype, dcsr_i_body *T)
{
    dcsr_context *context = w->context;
    size_t tsize = dcsr_type_size(ttype);
    bool dense = w->body.dense, none = dcsr_i_mask_is_none(keep) || (!dense && !w->body.nvals);
    dcsr_status status = DCSR_OK;
    dcsr_i_mask kept = borrowed(keep);
    dcsr_i_body V = {0};
    if (!none && !dense) {
        status = write_merged(call, w, accum, keep, ttype, T);
    } else if (ttype != w->type || (accum && !none)) {
        status = accumulated(&V, call, w, none ? NULL : accum, ttype, T);
    } else { /* T as it is */
        V = *T;
        *T = (dcsr_i_body){0};
    }
    if (status == DCSR_OK && none) {
        dcsr_i_vector_put(w, &V);
        V = (dcsr_i_body){0};
    } else if (status == DCSR_OK && dense) {
        if (dcsr_i_mask_is_list(keep)) status = dcsr_i_mask_use_bits(&kept);
        if (status == DCSR_OK) status = write_in_place(w, &kept, &V);
    }
    dcsr_i_mask_close(&kept);
    dcsr_i_body_free(&V, context, w->value_size);
    dcsr_i_body_free(T, context, tsize);
    return status;
}

/* The elements of a dense T where the mask, a list, may be true. */
static dcsr_status take_listed(const char *call, dcsr_vector *w, const dcsr_i_mask *mask, dcsr_type ttype,
                               dcsr_i_body *T)
{
    const dcsr_i_source source = {T, ttype, ttype};
    const dcsr_i_vector_job job = {.call = call,
                                   .w = w,
                                   .produce = dcsr_i_produce_source,
                                   .operands = &source,
                                   .type = ttype,
                                   .full = !T->present};
    dcsr_i_body listed;
    DCSR_TRY(dcsr_i_vector_compute(&listed, &job, mask->list, mask->n));
    dcsr_i_body_free(T, w->context, dcsr_type_size(ttype));
    *T = listed;
    return DCSR_OK;
}

static dcsr_status write_dense(const char *call, dcsr_vector *w, const dcsr_i_mask *mask,
                               const dcsr_binary_op *accum, bool replace, dcsr_type ttype, dcsr_i_body *T)
{
    if (dcsr_i_mask_is_all(mask) && !accum && ttype == w->type) {
        dcsr_i_vector_put(w, T);
        return DCSR_OK;
    }
    const dcsr_i_source source = {T, ttype, ttype};
    const dcsr_i_vector_job job = {.call = call,
                                   .w = w,
                                   .accum = accum,
                                   .produce = dcsr_i_produce_source,
                                   .operands = &source,
                                   .type = ttype,
                                   .full = !T->present};
    dcsr_i_mask inside = borrowed(mask);
    dcsr_i_mask outside = replace ? dcsr_i_mask_none(w->size) : dcsr_i_mask_all(w->size);
    dcsr_status status = dcsr_i_mask_use_bits(&inside);
    if (status == DCSR_OK) status = dcsr_i_write_blocks(&job, &inside, &outside);
    dcsr_i_mask_close(&inside);
    dcsr_i_body_free(T, w->context, dcsr_type_size(ttype));
    return status;
}

dcsr_status dcsr_i_vector_write_through(const char *call, dcsr_vector *w, const dcsr_i_mask *mask,
                                        bool confined, const dcsr_binary_op *accum, const dcsr_desc *desc,
                                        dcsr_type ttype, dcsr_i_body *T)
{
    const dcsr_i_mask everywhere = dcsr_i_mask_all(w->size);
    bool replace = desc && desc->replace;
    if (confined && replace == !accum) mask = &everywhere; /* where it is false w keeps, or loses, all */
    bool all = dcsr_i_mask_is_all(mask);
    dcsr_status status = DCSR_OK;
    if (T->dense && dcsr_i_mask_is_list(mask)) status = take_listed(call, w, mask, ttype, T);
    if (status == DCSR_OK && T->dense) return write_dense(call, w, mask, accum, replace, ttype, T);
    if (status == DCSR_OK && !confined)
        status = dcsr_i_body_filter(T, w->context, dcsr_type_size(ttype), mask);
    if (status != DCSR_OK) {
        dcsr_i_body_free(T, w->context, dcsr_type_size(ttype));
        return status;
    }
    /* What w keeps where T has nothing. */
    dcsr_i_mask keep = dcsr_i_mask_all(w->size);
    if (accum ? replace && !all : all || replace) {
        keep = accum ? *mask : dcsr_i_mask_none(w->size);
    } else if (!accum) {
        keep = *mask;
        keep.complement = !keep.complement;
    }
    return dcsr_i_write_entries(call, w, accum, &keep, ttype, T);
}

dcsr_status dcsr_i_vector_write(const char *call, dcsr_vector *w, const dcsr_vector *mask,
                                const dcsr_binary_op *accum, const dcsr_desc *desc, dcsr_type ttype,
                                dcsr_i_body *T)
{
    dcsr_i_mask opened;
    dcsr_status status = dcsr_i_mask_open(&opened, w->context, w->size, mask, desc);
    if (status == DCSR_OK)
        status = dcsr_i_vector_write_through(call, w, &opened, false, accum, desc, ttype, T);
    else
        dcsr_i_body_free(T, w->context, dcsr_type_size(ttype));
    dcsr_i_mask_close(&opened);
    if (status == DCSR_OK && desc && desc->report) *desc->report = (dcsr_report){.device = DCSR_DEVICE_CPU};
    return status;
}
