/* vector_data.c: the bodies of vectors: taken and freed, copied, brought from one form into the other. */
#include "dcsr/vector/vector_data.h"
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include <omp.h>
#include <string.h>

enum { MOST_THREADS = 256 };

dcsr_status dcsr_i_vector_admit(const dcsr_vector *vector, const char *what)
{
    if (!vector) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s is NULL; create a vector first", what);
    return dcsr_i_context_check(vector->context);
}

dcsr_status dcsr_i_vector_check(const dcsr_vector *vector, const char *what)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, what));
    return vector->device ? vector->device->fetch(vector) : DCSR_OK;
}

bool dcsr_i_vector_is_ahead(const dcsr_vector *vector)
{
    return vector->device && vector->device->is_ahead(vector);
}

void dcsr_i_vector_touch(dcsr_vector *vector)
{
    if (vector->device) vector->device->forget(vector);
}

/* ---- Taking, freeing, copying ---- */

dcsr_status dcsr_i_body_dense(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t size,
                              bool with_bits)
{
    *body = (dcsr_i_body){.dense = true, .capacity = size, .nvals = with_bits ? 0 : size};
    body->values = with_bits && value_size == 1 ? dcsr_i_calloc(context, DCSR_I_SCRATCH, size, 1)
                                                : dcsr_i_alloc(context, DCSR_I_SCRATCH, size, value_size);
    if (with_bits && body->values) {
        body->words = dcsr_i_words(size);
        body->present = dcsr_i_calloc(context, DCSR_I_SCRATCH, body->words, sizeof *body->present);
    }
    if (body->values && (!with_bits || body->present)) return DCSR_OK;
    dcsr_i_body_free(body, context, value_size);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_body_sparse(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t capacity)
{
    *body = (dcsr_i_body){.capacity = capacity};
    if (!capacity) return DCSR_OK; /* an empty vector takes no memory */
    body->indices = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *body->indices);
    if (body->indices) body->values = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, value_size);
    if (body->values) return DCSR_OK;
    dcsr_i_body_free(body, context, value_size);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

void dcsr_i_body_free(dcsr_i_body *body, dcsr_context *context, size_t value_size)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, body->present, body->words, sizeof *body->present);
    dcsr_i_free(context, DCSR_I_SCRATCH, body->indices, body->capacity, sizeof *body->indices);
    if (body->release)
        body->release(body->values, body->release_user);
    else
        dcsr_i_free(context, DCSR_I_SCRATCH, body->values, body->capacity, value_size);
    *body = (dcsr_i_body){0};
}

/* memcpy() by several threads. */
static void copy_bytes(void *to, const void *from, uint64_t bytes, const dcsr_context *context)
{
    uint64_t threads = (uint64_t)dcsr_i_threads(context, bytes / sizeof(uint64_t));
    if (threads <= 1) {
        if (bytes) memcpy(to, from, bytes);
        return;
    }
#pragma omp parallel for num_threads((int)threads)
    for (uint64_t t = 0; t < threads; t++) {
        uint64_t first = bytes * t / threads, end = bytes * (t + 1) / threads;
        memcpy((char *)to + first, (const char *)from + first, end - first);
    }
}

dcsr_status dcsr_i_body_copy(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                             size_t value_size, uint64_t size)
{
    if (from->dense) {
        DCSR_TRY(dcsr_i_body_dense(to, context, value_size, size, from->present != NULL));
        if (to->present) copy_bytes(to->present, from->present, to->words * sizeof *to->present, context);
        copy_bytes(to->values, from->values, size * value_size, context);
    } else {
        DCSR_TRY(dcsr_i_body_sparse(to, context, value_size, from->nvals));
        copy_bytes(to->indices, from->indices, from->nvals * sizeof *to->indices, context);
        copy_bytes(to->values, from->values, from->nvals * value_size, context);
    }
    to->nvals = from->nvals;
    return DCSR_OK;
}

/* ---- From one form into the other ---- */

/* The entries first .. end-1 of a sparse body to their places. */
static void scatter(dcsr_i_body *to, const dcsr_i_body *from, size_t value_size, uint64_t first, uint64_t end)
{
#define SCATTER(ctype)                                         \
    do {                                                       \
        const ctype *value = from->values;                     \
        ctype *place = to->values;                             \
        for (uint64_t p = first; p < end; p++) {               \
            uint32_t i = from->indices[p];                     \
            place[i] = value[p];                               \
            if (bits) bits[i >> 6] |= (uint64_t)1 << (i & 63); \
        }                                                      \
    } while (0)
    uint64_t *bits = to->present;
    DCSR_I_BY_SIZE(value_size, SCATTER)
#undef SCATTER
}

dcsr_status dcsr_i_body_to_dense(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                                 size_t value_size, uint64_t size)
{
    if (from->dense) return dcsr_i_body_copy(to, from, context, value_size, size);
    DCSR_TRY(dcsr_i_body_dense(to, context, value_size, size, from->nvals < size));
    to->nvals = from->nvals;
    uint64_t threads = (uint64_t)dcsr_i_threads(context, from->nvals);
    if (threads <= 1) {
        scatter(to, from, value_size, 0, from->nvals);
        return DCSR_OK;
    }
    /* Threads share no word of bits. */
#pragma omp parallel for num_threads((int)threads)
    for (uint64_t t = 0; t < threads; t++) {
        uint64_t low = dcsr_i_words(size) * t / threads * 64,
                 high = dcsr_i_words(size) * (t + 1) / threads * 64;
        scatter(to, from, value_size, dcsr_i_list_find(from->indices, 0, from->nvals, low),
                dcsr_i_list_find(from->indices, 0, from->nvals, high));
    }
    return DCSR_OK;
}

/* The elements of words first .. end-1, as entries from `at` on. */
static void gather(dcsr_i_body *to, const dcsr_i_body *from, size_t value_size, uint64_t first, uint64_t end,
                   uint64_t at)
{
#define GATHER(ctype)                                                  \
    do {                                                               \
        const ctype *place = from->values;                             \
        ctype *value = to->values;                                     \
        for (uint64_t w = first; w < end; w++) {                       \
            for (uint64_t word = from->present[w]; word; at++) {       \
                uint64_t i = w * 64 + (unsigned)__builtin_ctzll(word); \
                to->indices[at] = (uint32_t)i;                         \
                value[at] = place[i];                                  \
                word &= word - 1;                                      \
            }                                                          \
        }                                                              \
    } while (0)
    DCSR_I_BY_SIZE(value_size, GATHER)
#undef GATHER
}

static uint64_t count_bits(const uint64_t *words, uint64_t first, uint64_t end)
{
    uint64_t count = 0;
    for (uint64_t w = first; w < end; w++) count += (unsigned)__builtin_popcountll(words[w]);
    return count;
}

dcsr_status dcsr_i_body_to_sparse(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                                  size_t value_size, uint64_t size)
{
    if (!from->dense) return dcsr_i_body_copy(to, from, context, value_size, size);
    DCSR_TRY(dcsr_i_body_sparse(to, context, value_size, from->nvals));
    to->nvals = from->nvals;
    if (!from->present) { /* all of them */
        for (uint64_t i = 0; i < size; i++) to->indices[i] = (uint32_t)i;
        copy_bytes(to->values, from->values, size * value_size, context);
        return DCSR_OK;
    }
    uint64_t words = from->words, begin[MOST_THREADS + 1] = {0};
    int threads = dcsr_i_threads(context, words + from->nvals);
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (threads <= 1) {
        gather(to, from, value_size, 0, words, 0);
        return DCSR_OK;
    }
#pragma omp parallel num_threads(threads)
    {
        uint64_t me = (uint64_t)omp_get_thread_num(), team = (uint64_t)omp_get_num_threads();
        uint64_t first = words * me / team, end = words * (me + 1) / team;
        begin[me + 1] = count_bits(from->present, first, end);
#pragma omp barrier
        uint64_t at = 0;
        for (uint64_t t = 0; t <= me; t++) at += begin[t];
        gather(to, from, value_size, first, end, at);
    }
    return DCSR_OK;
}

/* ---- A vector's own body ---- */

dcsr_vector_format dcsr_i_vector_form(const dcsr_vector *vector, const dcsr_i_body *body)
{
    if (vector->format != DCSR_VECTOR_AUTO) return vector->format;
    if (body->nvals < vector->size / 32) return DCSR_VECTOR_SPARSE;
    if (body->nvals > vector->size / 8) return DCSR_VECTOR_DENSE;
    return body->dense ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE;
}

void dcsr_i_vector_put(dcsr_vector *vector, dcsr_i_body *body)
{
    dcsr_i_vector_touch(vector);
    if (body != &vector->body) {
        dcsr_i_body_free(&vector->body, vector->context, vector->value_size);
        vector->body = *body;
        body = &vector->body;
    }
    if (body->present && body->nvals == vector->size) {
        dcsr_i_free(vector->context, DCSR_I_SCRATCH, body->present, body->words, sizeof *body->present);
        body->present = NULL;
        body->words = 0;
    }
    bool dense = dcsr_i_vector_form(vector, body) == DCSR_VECTOR_DENSE;
    if (dense == body->dense) return;
    dcsr_i_body other;
    dcsr_status status =
        dense ? dcsr_i_body_to_dense(&other, body, vector->context, vector->value_size, vector->size)
              : dcsr_i_body_to_sparse(&other, body, vector->context, vector->value_size, vector->size);
    if (status != DCSR_OK) return;
    dcsr_i_body_free(body, vector->context, vector->value_size);
    *body = other;
}
