/* vector_move.c: elements of a vector, or one value, from and to places of another.
 *
 * To assign, with I the indices: Z is w with what I names replaced (or, with accum, united with T), and w<mask> = Z.
 * So w gets T's elements where the mask is true, and of its others
 *
 *      with accum, or where T has an element at every index of I       all, with `replace` those in the mask
 *      else those that are not in both I and the mask                  with `replace` those in the mask, but
 *                                                                      not in I */
#include "dcsr/base/runtime.h"
#include "dcsr/base/sort.h"
#include "dcsr/base/threads.h"
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_run.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_ops_cuda.h"
#include <string.h>

/* ---- Lists of indices ---- */

/* The array of a list as it is worked with here: NULL for all, and only then. */
static const uint64_t *indices_of(const dcsr_index_list *list)
{
    static const uint64_t none;
    return list && !list->indices ? &none : list ? list->indices : NULL;
}

/* INDEX_OUT_OF_RANGE, naming the first offender, unless all are below `size`; *ascending, which may be NULL,
 * becomes whether each is above the one before. */
static dcsr_status check_indices(const char *call, const dcsr_context *context, uint64_t size,
                                 const uint64_t *indices, uint64_t n, bool *ascending)
{
    uint64_t out_of_range = 0, descents = 0;
    int threads = dcsr_i_threads(context, n);
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(+ : out_of_range, descents)
    for (uint64_t k = 0; k < n; k++) {
        out_of_range += indices[k] >= size;
        descents += k && indices[k - 1] >= indices[k];
    }
    if (ascending) *ascending = !descents;
    if (!out_of_range) return DCSR_OK;
    uint64_t k = 0;
    while (indices[k] < size) k++;
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: indices[%llu] is %llu, of a vector of %llu elements; nothing was changed", call,
                       (unsigned long long)k, (unsigned long long)indices[k], (unsigned long long)size);
}

/* Puts the entries of a body, whose indices are in no order, in ascending order; of those of one index the
 * last stays. */
static dcsr_status sort_body(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t size)
{
    uint64_t n = body->nvals, *words = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *words), *spare = NULL;
    if (words) spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *spare);
    dcsr_i_body sorted;
    dcsr_status status =
        spare ? dcsr_i_body_sparse(&sorted, context, value_size, n) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        /* An index above the entry's number. */
        for (uint64_t p = 0; p < n; p++) words[p] = (uint64_t)body->indices[p] << 32 | p;
        int bits = 64 - __builtin_clzll(size);
        const uint64_t *order = dcsr_i_sort(words, spare, n, 1, 32, bits, dcsr_i_threads(context, n));
        uint64_t to = 0;
        for (uint64_t p = 0; p < n; p++) {
            if (p + 1 < n && order[p] >> 32 == order[p + 1] >> 32) continue;
            sorted.indices[to] = (uint32_t)(order[p] >> 32);
            memcpy((char *)sorted.values + to * value_size,
                   (const char *)body->values + (uint32_t)order[p] * value_size, value_size);
            to++;
        }
        sorted.nvals = to;
        dcsr_i_body_free(body, context, value_size);
        *body = sorted;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, words, n, sizeof *words);
    dcsr_i_free(context, DCSR_I_SCRATCH, spare, n, sizeof *spare);
    return status;
}

/* ---- Extract ---- */

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
                                const dcsr_vector *u, const dcsr_index_list *list, const dcsr_desc *desc)
{
    const uint64_t *indices = indices_of(list), n = list ? list->n : 0;
    const char *call = "vector_extract";
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, w));
    DCSR_TRY(dcsr_i_check_list(call, "index", list));
    uint64_t length = indices ? n : u->size;
    if (length != w->size)
        return dcsr_i_fail(
            DCSR_ERROR_DIMENSION_MISMATCH,
            "%s: %llu elements are extracted, the output has %llu; give an output of that size", call,
            (unsigned long long)length, (unsigned long long)w->size);
    if (indices) DCSR_TRY(check_indices(call, u->context, u->size, indices, n, NULL));
    bool on_device;
    DCSR_TRY(dcsr_i_dispatch_vectors(&on_device, w, mask, accum, desc, false, u, NULL));
    if (on_device)
        return dcsr_i_device_vector_ops->extract(&(dcsr_i_vector_output){call, w, mask, accum, desc}, u,
                                                 indices, n);
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

/* ---- Assign ---- */

/* Bits of what w keeps in the last case; `mask` has bits. */
static dcsr_status keep_others(dcsr_i_mask *keep, const dcsr_i_mask *mask, bool replace,
                               const uint64_t *indices, uint64_t n)
{
    uint64_t words = dcsr_i_words(mask->size);
    uint64_t *bits = dcsr_i_alloc(mask->context, DCSR_I_SCRATCH, words, sizeof *bits);
    if (!bits) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t w = 0; w < words; w++)
        bits[w] = (replace ? dcsr_i_mask_word(mask, w) : UINT64_MAX) & dcsr_i_full_word(mask->size, w);
    for (uint64_t k = 0; k < n; k++)
        if (replace || dcsr_i_mask_has(mask, indices[k]))
            bits[indices[k] >> 6] &= ~((uint64_t)1 << (indices[k] & 63));
    *keep = (dcsr_i_mask){.size = mask->size, .context = mask->context, .bits = bits, .own_bits = bits};
    return DCSR_OK;
}

/* T, consumed, to w where the mask is true. `complete`: T has an element at every index. */
static dcsr_status write_places(const dcsr_i_vector_output *out, dcsr_type type, dcsr_i_body *T,
                                const uint64_t *indices, uint64_t n, bool complete)
{
    dcsr_vector *w = out->w;
    const dcsr_binary_op *accum = out->accum;
    const dcsr_desc *desc = out->desc;
    bool replace = desc && desc->replace;
    dcsr_i_mask mask, keep = dcsr_i_mask_all(w->size), own = {0};
    dcsr_status status = dcsr_i_mask_open(&mask, w->context, w->size, out->mask, desc);
    if (status == DCSR_OK) status = dcsr_i_body_filter(T, w->context, dcsr_type_size(type), &mask);
    if (accum || complete) {
        if (replace) keep = mask;
    } else {
        if (status == DCSR_OK) status = dcsr_i_mask_use_bits(&mask);
        if (status == DCSR_OK) status = keep_others(&own, &mask, replace, indices, n);
        keep = own;
    }
    if (status == DCSR_OK)
        status = dcsr_i_write_entries(out->call, w, accum, &keep, type, T);
    else
        dcsr_i_body_free(T, w->context, dcsr_type_size(type));
    dcsr_i_mask_close(&mask);
    if (own.own_bits) dcsr_i_mask_close(&own);
    if (status == DCSR_OK && desc && desc->report) *desc->report = (dcsr_report){.device = DCSR_DEVICE_CPU};
    return status;
}

/* u's elements at the places of w, in ascending order. */
static dcsr_status place(dcsr_i_body *T, const dcsr_vector *u, const uint64_t *indices, bool ascending,
                         uint64_t size)
{
    DCSR_TRY(dcsr_i_body_to_sparse(T, &u->body, u->context, u->value_size, u->size));
    int threads = dcsr_i_threads(u->context, T->nvals);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t p = 0; p < T->nvals; p++) T->indices[p] = (uint32_t)indices[T->indices[p]];
    dcsr_status status = ascending ? DCSR_OK : sort_body(T, u->context, u->value_size, size);
    if (status != DCSR_OK) dcsr_i_body_free(T, u->context, u->value_size);
    return status;
}

dcsr_status dcsr_vector_assign(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                               const dcsr_vector *u, const dcsr_index_list *list, const dcsr_desc *desc)
{
    const uint64_t *indices = indices_of(list), n = list ? list->n : 0;
    const char *call = "vector_assign";
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, w));
    DCSR_TRY(dcsr_i_check_list(call, "index", list));
    uint64_t length = indices ? n : w->size;
    if (length != u->size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "%s: u has %llu elements for %llu places; give as many as there are indices", call,
                           (unsigned long long)u->size, (unsigned long long)length);
    bool ascending = true, on_device;
    if (indices) DCSR_TRY(check_indices(call, w->context, w->size, indices, n, &ascending));
    DCSR_TRY(dcsr_i_dispatch_vectors(&on_device, w, mask, accum, desc, indices && n >= UINT32_MAX, u, NULL));
    if (on_device)
        return dcsr_i_device_vector_ops->assign(&(dcsr_i_vector_output){call, w, mask, accum, desc}, u,
                                                indices, n);
    if (!indices) {
        const dcsr_i_source all = {&u->body, u->type, u->type};
        const dcsr_i_vector_job job = {.call = call,
                                       .w = w,
                                       .mask = mask,
                                       .accum = accum,
                                       .desc = desc,
                                       .produce = dcsr_i_produce_source,
                                       .operands = &all,
                                       .type = u->type,
                                       .full = u->body.nvals == u->size,
                                       .reads_output = u == w,
                                       .listed = !u->body.dense,
                                       .list_full = true,
                                       .list = u->body.indices,
                                       .n = u->body.nvals};
        return dcsr_i_vector_run(&job);
    }
    dcsr_i_body T;
    dcsr_type type = u->type;
    DCSR_TRY(place(&T, u, indices, ascending, w->size));
    return write_places(&(dcsr_i_vector_output){call, w, mask, accum, desc}, type, &T, indices, n,
                        u->body.nvals == u->size);
}

/* ---- One value ---- */

typedef struct constant {
    _Alignas(64) char values[DCSR_I_BLOCK * sizeof(uint64_t)]; /* a block of it */
} constant;

static bool produce_constant(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    (void)at, (void)room;
    const constant *c = operands;
    T->values = c->values;
    T->bits = NULL;
    return true;
}

/* The value at the places that are named, in ascending order. */
static dcsr_status place_value(dcsr_i_body *T, dcsr_context *context, const dcsr_i_scalar *value,
                               dcsr_type type, const uint64_t *indices, uint64_t n, bool ascending,
                               uint64_t size)
{
    DCSR_TRY(dcsr_i_body_sparse(T, context, dcsr_type_size(type), n));
    T->nvals = n;
    for (uint64_t k = 0; k < n; k++) T->indices[k] = (uint32_t)indices[k];
    if (n) dcsr_i_broadcast(type, T->values, value, n);
    dcsr_status status = ascending ? DCSR_OK : sort_body(T, context, dcsr_type_size(type), size);
    if (status != DCSR_OK) dcsr_i_body_free(T, context, dcsr_type_size(type));
    return status;
}

dcsr_status dcsr_vector_assign_scalar(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                      const void *value, dcsr_type type, const dcsr_index_list *list,
                                      const dcsr_desc *desc)
{
    const uint64_t *indices = indices_of(list), n = list ? list->n : 0;
    const char *call = "vector_assign_scalar";
    DCSR_TRY(dcsr_i_vector_admit_output(call, w, mask, desc));
    if (!value || !dcsr_type_size(type))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: value is NULL, or %d is none of the value types; give one value and its type",
                           call, (int)type);
    DCSR_TRY(dcsr_i_check_list(call, "index", list));
    bool ascending = true, on_device;
    if (indices) DCSR_TRY(check_indices(call, w->context, w->size, indices, n, &ascending));
    const dcsr_vector *const vectors[] = {w, mask};
    DCSR_TRY(dcsr_i_dispatch(&on_device, w->context, desc, accum && !accum->loop,
                             indices ? n
                             : mask  ? dcsr_i_vector_work(mask)
                                     : w->size,
                             vectors, 2));
    if (on_device)
        return dcsr_i_device_vector_ops->assign_scalar(&(dcsr_i_vector_output){call, w, mask, accum, desc},
                                                       value, type, indices, n);
    dcsr_i_scalar scalar = {0};
    memcpy(&scalar, value, dcsr_type_size(type));
    if (!accum) { /* cast once */
        dcsr_i_scalar cast = {0};
        dcsr_i_cast(w->type, &cast, type, &scalar, 1);
        scalar = cast;
        type = w->type;
    }
    if (indices) {
        dcsr_i_body T;
        DCSR_TRY(place_value(&T, w->context, &scalar, type, indices, n, ascending, w->size));
        return write_places(&(dcsr_i_vector_output){call, w, mask, accum, desc}, type, &T, indices, n, true);
    }
    constant operands; /* too large to be initialised */
    dcsr_i_broadcast(type, operands.values, &scalar, w->size < DCSR_I_BLOCK ? (size_t)w->size : DCSR_I_BLOCK);
    const dcsr_i_vector_job job = {.call = call,
                                   .w = w,
                                   .mask = mask,
                                   .accum = accum,
                                   .desc = desc,
                                   .produce = produce_constant,
                                   .operands = &operands,
                                   .type = type,
                                   .full = true};
    return dcsr_i_vector_run(&job);
}
