/* vector.c: creating vectors, their form, single elements, and arrays that the caller lends or gives. */
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/vector/vector_data.h"
#include <string.h>

static void *place_of(const dcsr_vector *vector, uint64_t p)
{
    return (char *)vector->body.values + p * vector->value_size;
}

/* ---- Life ---- */

static dcsr_status make(dcsr_vector **vector, dcsr_context *context, dcsr_type type, uint64_t size,
                        const char *call)
{
    if (!vector) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: vector is NULL; give it a place", call);
    *vector = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    if (!dcsr_type_size(type))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: type %d has no values; use one of the value types of dcsr_type", call,
                           (int)type);
    if (size > DCSR_MAX_SIZE)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: %llu elements are beyond the longest vector, 2^32",
                           call, (unsigned long long)size);
    dcsr_vector *created = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->context = context;
    created->type = type;
    created->value_size = dcsr_type_size(type);
    created->size = size;
    created->device = context->cuda ? DCSR_I_IN_CUDA(dcsr_i_cuda_vectors) : NULL;
    if (created->device && created->device->open(created) != DCSR_OK) {
        dcsr_i_free(context, DCSR_I_MATRIX, created, 1, sizeof *created);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_context_retain(context);
    *vector = created;
    return DCSR_OK;
}

dcsr_status dcsr_vector_create(dcsr_vector **vector, dcsr_context *context, dcsr_type type, uint64_t size)
{
    return make(vector, context, type, size, "vector_create");
}

void dcsr_vector_destroy(dcsr_vector *vector)
{
    if (!vector) return;
    dcsr_context *context = vector->context;
    if (vector->device) vector->device->close(vector);
    dcsr_i_body_free(&vector->body, context, vector->value_size);
    dcsr_i_free(context, DCSR_I_MATRIX, vector, 1, sizeof *vector);
    dcsr_i_context_release(context);
}

/* Where they are. */
static dcsr_status copy_elements(dcsr_vector *to, const dcsr_vector *from)
{
    if (dcsr_i_vector_is_ahead(from)) return from->device->copy(to, from);
    return dcsr_i_body_copy(&to->body, &from->body, to->context, to->value_size, to->size);
}

dcsr_status dcsr_vector_duplicate(dcsr_vector **copy, const dcsr_vector *vector)
{
    if (copy) *copy = NULL;
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_duplicate: vector"));
    dcsr_vector *made;
    DCSR_TRY(make(copy ? &made : NULL, vector->context, vector->type, vector->size, "vector_duplicate"));
    made->format = vector->format;
    dcsr_status status = copy_elements(made, vector);
    if (status == DCSR_OK)
        *copy = made;
    else
        dcsr_vector_destroy(made);
    return status;
}

dcsr_status dcsr_vector_clear(dcsr_vector *vector)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_clear: vector"));
    dcsr_i_vector_put(vector, &(dcsr_i_body){0});
    return DCSR_OK;
}

/* ---- Form and size ---- */

dcsr_status dcsr_vector_set_format(dcsr_vector *vector, dcsr_vector_format format)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_set_format: vector"));
    if ((unsigned)format > DCSR_VECTOR_SPARSE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "vector_set_format: format is %d; use DCSR_VECTOR_AUTO, _DENSE or _SPARSE",
                           (int)format);
    vector->format = format;
    dcsr_i_vector_put(vector, &vector->body);
    return DCSR_OK;
}

/* The elements below `size` of a dense body, as one of that size. */
static dcsr_status resize_dense(dcsr_i_body *to, const dcsr_vector *vector, uint64_t size)
{
    const dcsr_i_body *from = &vector->body;
    uint64_t kept = size < vector->size ? size : vector->size;
    DCSR_TRY(dcsr_i_body_dense(to, vector->context, vector->value_size, size, true));
    if (kept) memcpy(to->values, from->values, kept * vector->value_size);
    for (uint64_t w = 0; w < dcsr_i_words(kept); w++) {
        uint64_t word = from->present ? from->present[w] : UINT64_MAX, left = kept - w * 64;
        to->present[w] = left < 64 ? word & (((uint64_t)1 << left) - 1) : word;
        to->nvals += (unsigned)__builtin_popcountll(to->present[w]);
    }
    return DCSR_OK;
}

dcsr_status dcsr_vector_resize(dcsr_vector *vector, uint64_t size)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_resize: vector"));
    if (size > DCSR_MAX_SIZE)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "vector_resize: %llu elements are beyond the longest vector, 2^32",
                           (unsigned long long)size);
    if (size == vector->size) return DCSR_OK;
    dcsr_i_body *body = &vector->body, resized;
    if (body->dense) {
        DCSR_TRY(resize_dense(&resized, vector, size));
        body = &resized;
    } else {
        body->nvals = dcsr_i_list_find(body->indices, 0, body->nvals, size);
    }
    vector->size = size;
    dcsr_i_vector_put(vector, body);
    return DCSR_OK;
}

dcsr_status dcsr_vector_get_info(const dcsr_vector *vector, dcsr_vector_info *info)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_get_info: vector"));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_get_info: info is NULL");
    const dcsr_i_body *body = &vector->body;
    *info = (dcsr_vector_info){.type = vector->type,
                               .size = vector->size,
                               .nvals = body->nvals,
                               .format = body->dense ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE};
    info->bytes = sizeof *vector + body->capacity * vector->value_size + body->words * sizeof *body->present;
    if (body->indices) info->bytes += body->capacity * sizeof *body->indices;
    return DCSR_OK;
}

dcsr_status dcsr_vector_get_nvals(const dcsr_vector *vector, uint64_t *nvals)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_get_nvals: vector"));
    if (!nvals) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_get_nvals: nvals is NULL");
    *nvals = vector->body.nvals;
    return DCSR_OK;
}

/* ---- Single elements ---- */

static dcsr_status check_element(const dcsr_vector *vector, uint64_t index, const char *call)
{
    DCSR_TRY(dcsr_i_vector_check(vector, call));
    if (index >= vector->size)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s has %llu elements; there is no element %llu",
                           call, (unsigned long long)vector->size, (unsigned long long)index);
    return DCSR_OK;
}

/* Where in a sparse body the element is, or would be. */
static uint64_t find(const dcsr_vector *vector, uint64_t index, bool *stored)
{
    const dcsr_i_body *body = &vector->body;
    uint64_t last = body->nvals;
    /* Elements often come in ascending order. */
    uint64_t p =
        last && body->indices[last - 1] < index ? last : dcsr_i_list_find(body->indices, 0, last, index);
    *stored = p < last && body->indices[p] == index;
    return p;
}

/* Room for one entry more: half as much again, so that adding many one by one copies each a few times. */
static dcsr_status grow(dcsr_vector *vector)
{
    dcsr_i_body *body = &vector->body, larger;
    DCSR_TRY(dcsr_i_body_sparse(&larger, vector->context, vector->value_size,
                                body->capacity + body->capacity / 2 + 8));
    if (body->nvals) {
        memcpy(larger.indices, body->indices, body->nvals * sizeof *body->indices);
        memcpy(larger.values, body->values, body->nvals * vector->value_size);
    }
    larger.nvals = body->nvals;
    dcsr_i_body_free(body, vector->context, vector->value_size);
    *body = larger;
    return DCSR_OK;
}

/* Moves the entries from p on by one place: up to make room, down to close a gap before them. */
static void shift(dcsr_vector *vector, uint64_t p, int by)
{
    dcsr_i_body *body = &vector->body;
    uint64_t n = body->nvals - p, to = by > 0 ? p + 1 : p - 1;
    if (!n) return;
    memmove(body->indices + to, body->indices + p, n * sizeof *body->indices);
    memmove(place_of(vector, to), place_of(vector, p), n * vector->value_size);
}

dcsr_status dcsr_vector_set(dcsr_vector *vector, uint64_t index, const void *value)
{
    DCSR_TRY(check_element(vector, index, "vector_set: vector"));
    if (!value) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_set: value is NULL");
    dcsr_i_body *body = &vector->body;
    uint64_t place = index;
    bool stored;
    if (body->dense) {
        stored = dcsr_i_body_has(body, index);
        if (!stored) body->present[index >> 6] |= (uint64_t)1 << (index & 63);
    } else {
        place = find(vector, index, &stored);
        if (!stored && body->nvals == body->capacity) DCSR_TRY(grow(vector));
        if (!stored) {
            shift(vector, place, 1);
            body->indices[place] = (uint32_t)index;
        }
    }
    dcsr_i_vector_touch(vector);
    memcpy(place_of(vector, place), value, vector->value_size);
    if (stored) return DCSR_OK;
    body->nvals++;
    dcsr_i_vector_put(vector, body);
    return DCSR_OK;
}

dcsr_status dcsr_vector_get(const dcsr_vector *vector, uint64_t index, void *value, bool *stored)
{
    DCSR_TRY(check_element(vector, index, "vector_get: vector"));
    if (!stored) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_get: stored is NULL");
    uint64_t place = index;
    if (vector->body.dense)
        *stored = dcsr_i_body_has(&vector->body, index);
    else
        place = find(vector, index, stored);
    if (*stored && value) memcpy(value, place_of(vector, place), vector->value_size);
    return DCSR_OK;
}

/* Bits that say that every element of a dense body is there, which had none because of that. */
static dcsr_status add_bits(dcsr_vector *vector)
{
    dcsr_i_body *body = &vector->body;
    uint64_t words = dcsr_i_words(vector->size);
    body->present = dcsr_i_alloc(vector->context, DCSR_I_SCRATCH, words, sizeof *body->present);
    if (!body->present) return DCSR_ERROR_OUT_OF_MEMORY;
    body->words = words;
    memset(body->present, 0xff, words * sizeof *body->present);
    if (vector->size & 63) body->present[words - 1] = ((uint64_t)1 << (vector->size & 63)) - 1;
    return DCSR_OK;
}

dcsr_status dcsr_vector_remove(dcsr_vector *vector, uint64_t index)
{
    DCSR_TRY(check_element(vector, index, "vector_remove: vector"));
    dcsr_i_body *body = &vector->body;
    bool stored;
    if (body->dense) {
        stored = dcsr_i_body_has(body, index);
        if (stored && !body->present) DCSR_TRY(add_bits(vector));
        if (stored) body->present[index >> 6] &= ~((uint64_t)1 << (index & 63));
    } else {
        uint64_t place = find(vector, index, &stored);
        if (stored) shift(vector, place + 1, -1);
    }
    if (!stored) return DCSR_OK;
    body->nvals--;
    dcsr_i_vector_put(vector, body);
    return DCSR_OK;
}

/* ---- Arrays without copying ---- */

/* How a lent array is freed. */
static void leave_alone(void *values, void *user)
{
    (void)values, (void)user;
}

dcsr_status dcsr_vector_import(dcsr_vector **vector, dcsr_context *context, dcsr_type type, uint64_t size,
                               void *values, void (*release)(void *values, void *user), void *user)
{
    if (vector) *vector = NULL;
    if (!values && size)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_import: values is NULL; give %llu of them",
                           (unsigned long long)size);
    DCSR_TRY(make(vector, context, type, size, "vector_import"));
    (*vector)->body = (dcsr_i_body){.dense = true,
                                    .nvals = size,
                                    .capacity = size,
                                    .values = values,
                                    .release = release ? release : leave_alone,
                                    .release_user = user};
    return DCSR_OK;
}

/* Whether every element is there; `call` is for messages. */
static dcsr_status check_full(const dcsr_vector *vector, void *const *values, const char *call)
{
    if (!values) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: values is NULL", call);
    if (vector->body.nvals == vector->size) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT, "%s: %llu of %llu elements are missing; dcsr_vector_fill() them first",
        call, (unsigned long long)(vector->size - vector->body.nvals), (unsigned long long)vector->size);
}

dcsr_status dcsr_vector_get_values(dcsr_vector *vector, void **values)
{
    DCSR_TRY(dcsr_i_vector_check(vector, "vector_get_values: vector"));
    DCSR_TRY(check_full(vector, values, "vector_get_values"));
    dcsr_i_body *body = &vector->body, dense;
    if (!body->dense) {
        DCSR_TRY(dcsr_i_body_to_dense(&dense, body, vector->context, vector->value_size, vector->size));
        dcsr_i_body_free(body, vector->context, vector->value_size);
        *body = dense;
    }
    dcsr_i_vector_touch(vector); /* the caller may write there */
    *values = body->values;
    return DCSR_OK;
}

dcsr_status dcsr_vector_get_values_on_device(dcsr_vector *vector, void **values)
{
    DCSR_TRY(dcsr_i_vector_admit(vector, "vector_get_values_on_device: vector"));
    if (!vector->device)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "vector_get_values_on_device: the vector is of a cpu context, whose elements are in "
            "host memory; use dcsr_vector_get_values()");
    DCSR_TRY(check_full(vector, values, "vector_get_values_on_device"));
    return vector->device->lend(vector, values);
}
