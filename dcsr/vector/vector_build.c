/* vector_build.c: vectors from arrays of entries and back; the same value everywhere. */
#include "dcsr/base/runtime.h"
#include "dcsr/base/combine.h"
#include "dcsr/base/sort.h"
#include "dcsr/base/threads.h"
#include <string.h>
#include "dcsr/vector/vector_data.h"

/* The range of indices is checked, and whether they ascend, each once, is found out. */
static dcsr_status check_indices(const dcsr_vector *vector, uint64_t n, const uint64_t *indices,
                                 bool *ascending)
{
    bool in_order = true;
    uint64_t most = 0;
    for (size_t k = 0; k < n; k++) {
        most = indices[k] > most ? indices[k] : most;
        in_order &= !k || indices[k - 1] < indices[k];
    }
    *ascending = in_order;
    if (!n || most < vector->size) return DCSR_OK;
    size_t k = 0;
    while (indices[k] < vector->size) k++;
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "vector_build: entry %zu is for element %llu of a vector of %llu; nothing was changed",
                       k, (unsigned long long)indices[k], (unsigned long long)vector->size);
}

/* Entries in any order, each word an index above the entry's number: sorted stably by the index, those of one
 * index folded in the order given. */
static dcsr_status build_sorted(dcsr_i_body *body, const dcsr_vector *vector, uint64_t n,
                                const uint64_t *indices, const void *values, dcsr_i_combine combine)
{
    dcsr_context *context = vector->context;
    size_t size = vector->value_size;
    uint64_t *words = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *words), *spare = NULL;
    if (words) spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *spare);
    dcsr_status status = spare ? dcsr_i_body_sparse(body, context, size, n) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        for (size_t k = 0; k < n; k++) words[k] = indices[k] << 32 | k;
        int bits = 64 - __builtin_clzll(vector->size);
        const uint64_t *sorted = dcsr_i_sort(words, spare, n, 1, 32, bits, dcsr_i_threads(context, n));
        char *to = body->values;
        for (size_t k = 0; k < n; k++) {
            uint32_t index = (uint32_t)(sorted[k] >> 32);
            const char *value = (const char *)values + (uint32_t)sorted[k] * size;
            if (body->nvals && body->indices[body->nvals - 1] == index) {
                combine(to + (body->nvals - 1) * size, value);
            } else {
                memcpy(to + body->nvals * size, value, size);
                body->indices[body->nvals++] = index;
            }
        }
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, words, n, sizeof *words);
    dcsr_i_free(context, DCSR_I_SCRATCH, spare, n, sizeof *spare);
    return status;
}

dcsr_status dcsr_vector_build(dcsr_vector *vector, uint64_t n, const uint64_t *indices, const void *values,
                              dcsr_policy policy)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_build: vector"));
    if (n && (!indices || !values))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_build: %s is NULL, but n is %zu",
                           indices ? "values" : "indices", n);
    if ((unsigned)policy >= DCSR_POLICY_COUNT || policy == DCSR_POLICY_KEEP)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "vector_build: policy is %d; use one of DCSR_POLICY_* but keep, for an element has "
            "one value",
            (int)policy);
    if (n > DCSR_MAX_SIZE)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "vector_build: %zu entries; give at most 2^32", n);
    bool ascending;
    DCSR_TRY(check_indices(vector, n, indices, &ascending));
    dcsr_i_body body;
    if (ascending) {
        DCSR_TRY(dcsr_i_body_sparse(&body, vector->context, vector->value_size, n));
        for (size_t k = 0; k < n; k++) body.indices[k] = (uint32_t)indices[k];
        if (n) memcpy(body.values, values, n * vector->value_size);
        body.nvals = n;
    } else {
        dcsr_i_combine combine =
            dcsr_i_combiner(vector->type, policy == DCSR_POLICY_DEFAULT ? DCSR_POLICY_LAST : policy);
        DCSR_TRY(build_sorted(&body, vector, n, indices, values, combine));
    }
    dcsr_i_vector_put(vector, &body);
    return DCSR_OK;
}

/* Of a dense body: goes through the bits. */
static void list_dense(const dcsr_vector *vector, uint64_t count, uint64_t *indices, void *values)
{
    size_t size = vector->value_size;
    uint64_t k = 0;
    for (uint64_t i = 0; k < count; i++) {
        if (!dcsr_i_body_has(&vector->body, i)) continue;
        if (indices) indices[k] = i;
        if (values) memcpy((char *)values + k * size, (const char *)vector->body.values + i * size, size);
        k++;
    }
}

dcsr_status dcsr_vector_get_entries(const dcsr_vector *vector, uint64_t capacity, uint64_t *indices,
                                    void *values, uint64_t *n)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_get_entries: vector"));
    if (!n) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_get_entries: n is NULL");
    const dcsr_i_body *body = &vector->body;
    uint64_t count = capacity < body->nvals ? capacity : body->nvals;
    *n = body->nvals;
    if (!count || (!indices && !values)) return DCSR_OK;
    if (body->dense) {
        list_dense(vector, count, indices, values);
        return DCSR_OK;
    }
    for (uint64_t k = 0; indices && k < count; k++) indices[k] = body->indices[k];
    if (values) memcpy(values, body->values, count * vector->value_size);
    return DCSR_OK;
}

/* z[k] = *value for k < n, by the size of the values. */
static void repeat(void *z, const void *value, size_t size, uint64_t n)
{
#define REPEAT(ctype)                                 \
    do {                                              \
        ctype one = *(const ctype *)value, *to = z;   \
        for (uint64_t k = 0; k < n; k++) to[k] = one; \
    } while (0)
    DCSR_I_BY_SIZE(size, REPEAT)
#undef REPEAT
}

dcsr_status dcsr_vector_fill(dcsr_vector *vector, const void *value)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_fill: vector"));
    if (!value) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_fill: value is NULL");
    dcsr_i_body *body = &vector->body, fresh;
    size_t size = vector->value_size;
    if (!body->dense) {
        DCSR_TRY(dcsr_i_body_dense(&fresh, vector->context, size, vector->size, false));
        body = &fresh;
    }
    uint64_t one = 0;
    memcpy(&one, value, size); /* which may be one of the values */
    uint64_t threads = (uint64_t)dcsr_i_threads(vector->context, vector->size), n = vector->size;
#pragma omp parallel for num_threads((int)threads)
    for (uint64_t t = 0; t < threads; t++)
        repeat((char *)body->values + n * t / threads * size, &one, size,
               n * (t + 1) / threads - n * t / threads);
    body->nvals = n;
    dcsr_i_vector_put(vector, body);
    return DCSR_OK;
}

/* Elements of words first .. last-1 of a dense vector, of which many may be missing. The loops are such that the
 * compiler can use vectors. */
static void copy_words(void *values, const dcsr_vector *vector, const void *missing, uint64_t first,
                       uint64_t last)
{
    const dcsr_i_body *body = &vector->body;
#define COPY(ctype)                                                                    \
    do {                                                                               \
        ctype none = *(const ctype *)missing;                                          \
        for (uint64_t w = first; w < last; w++) {                                      \
            uint64_t at = w << 6, n = vector->size - at < 64 ? vector->size - at : 64; \
            uint64_t word = body->present ? body->present[w] : UINT64_MAX;             \
            const ctype *from = (const ctype *)body->values + at;                      \
            ctype *to = (ctype *)values + at;                                          \
            for (uint64_t i = 0; i < n; i++) to[i] = none;                             \
            for (uint64_t i = 0; word && i < n; i++)                                   \
                if (word >> i & 1) to[i] = from[i];                                    \
        }                                                                              \
    } while (0)
    DCSR_I_BY_SIZE(vector->value_size, COPY)
#undef COPY
}

dcsr_status dcsr_vector_to_array(const dcsr_vector *vector, const void *missing, void *values)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_to_array: vector"));
    if (!missing || (!values && vector->size))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_to_array: %s is NULL",
                           missing ? "values" : "missing");
    const dcsr_i_body *body = &vector->body;
    size_t size = vector->value_size;
    uint64_t threads = (uint64_t)dcsr_i_threads(vector->context, vector->size),
             n = dcsr_i_words(vector->size);
#pragma omp parallel for num_threads((int)threads)
    for (uint64_t t = 0; t < threads; t++) {
        uint64_t first = n * t / threads, last = n * (t + 1) / threads, end = last << 6;
        if (body->dense)
            copy_words(values, vector, missing, first, last);
        else
            repeat((char *)values + (first << 6) * size, missing, size,
                   (end < vector->size ? end : vector->size) - (first << 6));
    }
    for (uint64_t k = 0; !body->dense && k < body->nvals; k++)
        memcpy((char *)values + body->indices[k] * size, (const char *)body->values + k * size, size);
    return DCSR_OK;
}
