/* multi_vector.c: vectors on several devices: their parts, single elements, arrays. */
#include "multi/multi_vector.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "multi/exchange.h"
#include <dcsr/vector_ops.h>
#include <string.h>

/* ---- Parts ---- */

/* The block whose slices are parts; the last of them frees it. */
typedef struct block {
    _Atomic uint64_t references;
    dcsr_multi *devices;
    size_t bytes;
    void *values;
} block;

static void release_block(void *values, void *user)
{
    block *shared = user;
    (void)values;
    if (!dcsr_i_give_up(&shared->references)) return;
    dcsr_multi *devices = shared->devices;
    dcsr_context *home = dcsr_i_multi_home(devices);
    dcsr_i_free(home, DCSR_I_SCRATCH, shared->values, shared->bytes, 1);
    dcsr_i_free(home, DCSR_I_SCRATCH, shared, 1, sizeof *shared);
    dcsr_i_multi_release(devices);
}

dcsr_status dcsr_i_multi_slices(dcsr_vector *parts[DCSR_MAX_DEVICES], void **values, dcsr_multi *devices,
                                const dcsr_i_borders *borders, dcsr_type type)
{
    dcsr_context *home = dcsr_i_multi_home(devices);
    const size_t size = dcsr_type_size(type), bytes = borders->begin[borders->parts] * size;
    memset(parts, 0, borders->parts * sizeof *parts);
    block *shared = dcsr_i_alloc(home, DCSR_I_SCRATCH, 1, sizeof *shared);
    if (!shared) return DCSR_ERROR_OUT_OF_MEMORY;
    *shared = (block){.references = 1, .devices = devices, .bytes = bytes};
    shared->values = dcsr_i_alloc(home, DCSR_I_SCRATCH, bytes, 1);
    if (!shared->values) {
        dcsr_i_free(home, DCSR_I_SCRATCH, shared, 1, sizeof *shared);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_multi_retain(devices);
    *values = shared->values;
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < borders->parts && status == DCSR_OK; k++) {
        status = dcsr_vector_import(&parts[k], dcsr_i_multi_context(devices, k), type,
                                    borders->begin[k + 1] - borders->begin[k],
                                    (char *)shared->values + borders->begin[k] * size, release_block, shared);
        if (status == DCSR_OK) atomic_fetch_add(&shared->references, 1);
    }
    if (status != DCSR_OK) dcsr_i_multi_parts_destroy(parts, borders->parts);
    release_block(NULL, shared);
    return status;
}

void dcsr_i_multi_parts_destroy(dcsr_vector *parts[DCSR_MAX_DEVICES], uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        dcsr_vector_destroy(parts[k]);
        parts[k] = NULL;
    }
}

void dcsr_i_multi_vector_put(dcsr_multi_vector *vector, dcsr_vector *const parts[DCSR_MAX_DEVICES],
                             dcsr_i_borders *borders)
{
    dcsr_i_multi_parts_destroy(vector->part, borders->parts);
    memcpy(vector->part, parts, borders->parts * sizeof *parts);
    dcsr_i_borders *before = vector->borders;
    vector->borders = dcsr_i_borders_hold(borders);
    dcsr_i_borders_release(before);
}

/* ---- Life ---- */

dcsr_status dcsr_i_multi_vector_check(const dcsr_multi_vector *vector, const char *what)
{
    if (!vector)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s is NULL; create it with dcsr_multi_vector_create()", what);
    return dcsr_i_multi_check(vector->devices);
}

uint64_t dcsr_i_multi_vector_size(const dcsr_multi_vector *vector)
{
    return vector->borders->begin[vector->borders->parts];
}

dcsr_status dcsr_multi_vector_create(dcsr_multi_vector **vector, dcsr_multi_view *like, dcsr_type type,
                                     bool by_columns)
{
    if (!vector)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_vector_create: vector is NULL; give it a place");
    *vector = NULL;
    if (!like)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_vector_create: like is NULL; give the view that the vector is for");
    DCSR_TRY(dcsr_i_multi_check(like->devices));
    dcsr_context *home = dcsr_i_multi_home(like->devices);
    dcsr_multi_vector *created = dcsr_i_calloc(home, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->devices = like->devices;
    created->type = type;
    dcsr_i_multi_retain(like->devices);
    created->borders = dcsr_i_borders_hold(by_columns ? like->cols : like->rows);
    const dcsr_i_borders *borders = created->borders;
    for (uint64_t k = 0; k < borders->parts; k++) {
        dcsr_status status = dcsr_vector_create(&created->part[k], dcsr_i_multi_context(like->devices, k),
                                                type, borders->begin[k + 1] - borders->begin[k]);
        if (status != DCSR_OK) {
            dcsr_multi_vector_destroy(created);
            return status;
        }
    }
    *vector = created;
    return DCSR_OK;
}

void dcsr_multi_vector_destroy(dcsr_multi_vector *vector)
{
    if (!vector) return;
    dcsr_multi *devices = vector->devices;
    dcsr_i_multi_parts_destroy(vector->part, vector->borders->parts);
    dcsr_i_borders_release(vector->borders);
    dcsr_i_free(dcsr_i_multi_home(devices), DCSR_I_MATRIX, vector, 1, sizeof *vector);
    dcsr_i_multi_release(devices);
}

/* ---- All elements ---- */

typedef struct setting {
    const dcsr_multi_vector *vector;
    dcsr_vector *part[DCSR_MAX_DEVICES];
    char *to; /* where the parts are slices; NULL: they are made by their devices */
    const char *from;
    bool same;
} setting;

static dcsr_status set_slice(const setting *s, uint64_t begin, uint64_t end, size_t size)
{
    if (s->same)
        for (uint64_t i = begin; i < end; i++) memcpy(s->to + i * size, s->from, size);
    else
        memcpy(s->to + begin * size, s->from + begin * size, (end - begin) * size);
    return DCSR_OK;
}

static dcsr_status set_part(void *user, uint64_t k)
{
    setting *s = user;
    const dcsr_multi_vector *v = s->vector;
    const uint64_t begin = v->borders->begin[k], end = v->borders->begin[k + 1];
    const size_t size = dcsr_type_size(v->type);
    dcsr_context *context = dcsr_i_multi_context(v->devices, k);
    if (s->to) return set_slice(s, begin, end, size);
    if (!s->same)
        return dcsr_i_multi_on_gpus->load(&s->part[k], context, v->type, end - begin, s->from + begin * size);
    DCSR_TRY(dcsr_vector_create(&s->part[k], context, v->type, end - begin));
    return dcsr_vector_assign_scalar(s->part[k], NULL, NULL, s->from, v->type, NULL,
                                     &(dcsr_desc){.device = DCSR_DEVICE_CUDA});
}

/* Values from an array, or the same everywhere: each device writes its own, so that its memory has them. */
static dcsr_status set_all(dcsr_multi_vector *vector, const void *values, bool same, const char *call)
{
    setting s = {.vector = vector, .from = values, .same = same};
    void *to = NULL;
    DCSR_TRY(dcsr_i_multi_vector_check(vector, call));
    if (!values) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the value, or array, is NULL", call);
    if (!dcsr_i_multi_is_on_gpus(vector->devices))
        DCSR_TRY(dcsr_i_multi_slices(s.part, &to, vector->devices, vector->borders, vector->type));
    s.to = to;
    dcsr_status status = dcsr_multi_run(vector->devices, set_part, &s);
    if (status == DCSR_OK)
        dcsr_i_multi_vector_put(vector, s.part, vector->borders);
    else
        dcsr_i_multi_parts_destroy(s.part, vector->borders->parts);
    return status;
}

dcsr_status dcsr_multi_vector_fill(dcsr_multi_vector *vector, const void *value)
{
    return set_all(vector, value, true, "multi_vector_fill");
}

dcsr_status dcsr_multi_vector_from_array(dcsr_multi_vector *vector, const void *values)
{
    return set_all(vector, values, false, "multi_vector_from_array");
}

typedef struct reading {
    const dcsr_multi_vector *vector;
    const void *missing;
    char *to;
} reading;

static dcsr_status read_part(void *user, uint64_t k)
{
    const reading *r = user;
    const dcsr_vector *part = r->vector->part[k];
    void *to = r->to + r->vector->borders->begin[k] * part->value_size;
    if (dcsr_i_vector_is_ahead(part) && part->body.nvals == part->size)
        return dcsr_i_multi_on_gpus->store(part, to);
    return dcsr_vector_to_array(part, r->missing, to);
}

dcsr_status dcsr_multi_vector_to_array(const dcsr_multi_vector *vector, const void *missing, void *values)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, "multi_vector_to_array: vector"));
    if (!missing || !values)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_vector_to_array: %s is NULL",
                           missing ? "values" : "missing");
    return dcsr_multi_run(vector->devices, read_part, &(reading){vector, missing, values});
}

dcsr_status dcsr_multi_vector_clear(dcsr_multi_vector *vector)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, "multi_vector_clear: vector"));
    for (uint64_t k = 0; k < vector->borders->parts; k++) DCSR_TRY(dcsr_vector_clear(vector->part[k]));
    return DCSR_OK;
}

dcsr_status dcsr_multi_vector_get_nvals(const dcsr_multi_vector *vector, uint64_t *nvals)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, "multi_vector_get_nvals: vector"));
    if (!nvals) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_vector_get_nvals: nvals is NULL");
    *nvals = 0;
    for (uint64_t k = 0; k < vector->borders->parts; k++) {
        uint64_t here;
        DCSR_TRY(dcsr_vector_get_nvals(vector->part[k], &here));
        *nvals += here;
    }
    return DCSR_OK;
}

/* ---- Single elements and parts ---- */

/* The part that has the element, whose number there is *index afterwards. */
static dcsr_status find(const dcsr_multi_vector *vector, uint64_t *index, const char *call,
                        dcsr_vector **part)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, call));
    if (*index >= dcsr_i_multi_vector_size(vector))
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: index %llu of a vector of %llu elements", call,
                           (unsigned long long)*index, (unsigned long long)dcsr_i_multi_vector_size(vector));
    const uint64_t k = dcsr_i_owner(vector->borders, *index);
    *index -= vector->borders->begin[k];
    *part = vector->part[k];
    return DCSR_OK;
}

dcsr_status dcsr_multi_vector_set(dcsr_multi_vector *vector, uint64_t index, const void *value)
{
    dcsr_vector *part = NULL;
    DCSR_TRY(find(vector, &index, "multi_vector_set", &part));
    return dcsr_vector_set(part, index, value);
}

dcsr_status dcsr_multi_vector_get(const dcsr_multi_vector *vector, uint64_t index, void *value, bool *stored)
{
    dcsr_vector *part = NULL;
    DCSR_TRY(find(vector, &index, "multi_vector_get", &part));
    return dcsr_vector_get(part, index, value, stored);
}

dcsr_status dcsr_multi_vector_get_part(dcsr_multi_vector *vector, uint64_t k, dcsr_vector **part,
                                       uint64_t *first)
{
    if (part) *part = NULL;
    DCSR_TRY(dcsr_i_multi_vector_check(vector, "multi_vector_get_part: vector"));
    if (!part || !first)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_vector_get_part: %s is NULL",
                           part ? "first" : "part");
    if (k >= vector->borders->parts)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "multi_vector_get_part: part %llu of %llu",
                           (unsigned long long)k, (unsigned long long)vector->borders->parts);
    *part = vector->part[k];
    *first = vector->borders->begin[k];
    return DCSR_OK;
}
