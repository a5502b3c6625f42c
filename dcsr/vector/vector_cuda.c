/* vector_cuda.c: vectors on a device: bodies taken and freed, elements brought there and back. */
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include <pthread.h>
#include <stdatomic.h>

/* ---- Bodies ---- */

static dcsr_status make_count(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream)
{
    body->count = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *body->count);
    if (!body->count) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(stream, body->count, 0, sizeof *body->count);
    return DCSR_OK;
}

static dcsr_status make_bits(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream)
{
    uint64_t words = dcsr_i_cuda_bit_words(body->size);
    body->present = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *body->present);
    return body->present ? DCSR_OK : dcsr_i_no_memory();
}

/* A dense body without a count, nothing of which is initialised. */
static dcsr_status make_dense(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                              uint64_t size, bool with_bits)
{
    *body = (dcsr_i_cuda_body){.dense = true, .size = size, .nvals = size, .capacity = size};
    body->values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, size, value_size);
    dcsr_status status = body->values ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK && with_bits) status = make_bits(body, stream);
    if (status != DCSR_OK) dcsr_i_cuda_body_free(body, stream, value_size);
    return status;
}

/* The same for kernels to fill. Values without an element are copied and cast with the others. */
static dcsr_status make_clear(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                              uint64_t size, bool with_bits)
{
    DCSR_TRY(make_dense(body, stream, value_size, size, with_bits));
    if (with_bits) dcsr_i_cuda_fill(stream, body->values, 0, size * value_size);
    return DCSR_OK;
}

static dcsr_status make_sparse(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                               uint64_t size, uint64_t capacity)
{
    *body = (dcsr_i_cuda_body){.size = size, .nvals = capacity, .capacity = capacity};
    body->indices = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, capacity, sizeof *body->indices);
    if (body->indices) body->values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, capacity, value_size);
    if (body->values) return DCSR_OK;
    dcsr_i_cuda_body_free(body, stream, value_size);
    return dcsr_i_no_memory();
}

static dcsr_status counted(dcsr_status status, dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream,
                           size_t value_size)
{
    if (status == DCSR_OK && (status = make_count(body, stream)) != DCSR_OK)
        dcsr_i_cuda_body_free(body, stream, value_size);
    return status;
}

dcsr_status dcsr_i_cuda_body_dense(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                                   uint64_t size, bool with_bits)
{
    dcsr_status status = make_clear(body, stream, value_size, size, with_bits);
    return with_bits ? counted(status, body, stream, value_size) : status;
}

dcsr_status dcsr_i_cuda_body_add_bits(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, bool with_count)
{
    DCSR_TRY(make_bits(body, stream));
    return with_count ? make_count(body, stream) : DCSR_OK;
}

dcsr_status dcsr_i_cuda_body_sparse(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                                    uint64_t size, uint64_t capacity)
{
    return counted(make_sparse(body, stream, value_size, size, capacity), body, stream, value_size);
}

void dcsr_i_cuda_body_free(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size)
{
    uint64_t words = dcsr_i_cuda_bit_words(body->size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->present, words, sizeof *body->present);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->indices, body->capacity, sizeof *body->indices);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->values, body->capacity, value_size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->count, 1, sizeof *body->count);
    *body = (dcsr_i_cuda_body){0};
}

dcsr_status dcsr_i_cuda_body_finish(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, const char *operation)
{
    if (!body->count) return dcsr_i_cuda_wait(stream, operation);
    unsigned long long *landing = dcsr_i_cuda_landing(stream, sizeof *landing);
    if (landing) dcsr_i_cuda_copy(stream, landing, body->count, sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(stream, operation));
    body->nvals = *landing;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->count, 1, sizeof *body->count);
    body->count = NULL;
    return DCSR_OK;
}

/* ---- What a vector has on the device ---- */

typedef struct dcsr_i_elsewhere {
    pthread_mutex_t lock;           /* for what reading makes */
    atomic_bool ahead;              /* the newest: the vector's body has no arrays */
    dcsr_i_cuda_body dense, sparse; /* those that are there have values */
    void *made;                     /* the event behind what made them; NULL until there is one */
} dcsr_i_elsewhere;

static dcsr_i_cuda_body *form_of(const dcsr_vector *vector, bool dense)
{
    return dense ? &vector->elsewhere->dense : &vector->elsewhere->sparse;
}

/* Bodies that are there have values, if of no bytes. */
static bool is_there(const dcsr_i_cuda_body *body)
{
    return body->values != NULL;
}

static bool is_ahead(const dcsr_vector *vector)
{
    return atomic_load_explicit(&vector->elsewhere->ahead, memory_order_acquire);
}

bool dcsr_i_cuda_vector_is_there(const dcsr_vector *vector)
{
    pthread_mutex_t *lock = &vector->elsewhere->lock;
    pthread_mutex_lock(lock);
    bool there = is_there(form_of(vector, true)) || is_there(form_of(vector, false));
    pthread_mutex_unlock(lock);
    return there;
}

/* The host's elements, which are the newest, to the device in the form that they have. */
static dcsr_status upload(const dcsr_vector *vector, dcsr_i_cuda_stream *stream)
{
    const dcsr_i_body *from = &vector->body;
    dcsr_i_cuda_body *to = form_of(vector, from->dense);
    size_t size = vector->value_size;
    DCSR_TRY(from->dense ? make_dense(to, stream, size, vector->size, from->present != NULL)
                         : make_sparse(to, stream, size, vector->size, from->nvals));
    to->nvals = from->nvals;
    if (to->present)
        dcsr_i_cuda_copy(stream, to->present, from->present, from->words * sizeof *from->present);
    if (to->indices)
        dcsr_i_cuda_copy(stream, to->indices, from->indices, from->nvals * sizeof *from->indices);
    dcsr_i_cuda_copy(stream, to->values, from->values, (from->dense ? vector->size : from->nvals) * size);
    return DCSR_OK;
}

static dcsr_status convert(const dcsr_vector *vector, dcsr_i_cuda_stream *stream, bool dense)
{
    dcsr_i_cuda_body *to = form_of(vector, dense), *from = form_of(vector, !dense);
    size_t size = vector->value_size;
    uint64_t nvals = from->nvals;
    if (dense) {
        DCSR_TRY(make_clear(to, stream, size, vector->size, nvals < vector->size));
        dcsr_i_cuda_spread(stream, to, from, size);
    } else {
        DCSR_TRY(dcsr_i_cuda_body_sparse(to, stream, size, vector->size, nvals));
        dcsr_status status =
            dcsr_i_cuda_compact(to, stream, size, from->present, vector->size, NULL, from->values);
        if (status != DCSR_OK) {
            dcsr_i_cuda_body_free(to, stream, size);
            return status;
        }
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, to->count, 1, sizeof *to->count);
        to->count = NULL;
    }
    to->nvals = nvals;
    return DCSR_OK;
}

/* With the lock. */
static bool is_dense(const dcsr_vector *vector, dcsr_i_cuda_form form)
{
    const bool list = is_there(form_of(vector, false)), bits = is_there(form_of(vector, true));
    if (form == DCSR_CUDA_EITHER && (list || bits)) return !list;
    return form == DCSR_CUDA_AS_IT_IS || form == DCSR_CUDA_EITHER ? vector->body.dense
                                                                  : form == DCSR_CUDA_DENSE;
}

static dcsr_status read_locked(dcsr_i_cuda_body *body, const dcsr_vector *vector, dcsr_i_cuda_stream *stream,
                               bool dense)
{
    dcsr_i_elsewhere *elsewhere = vector->elsewhere;
    dcsr_i_cuda_body *wanted = form_of(vector, dense), *other = form_of(vector, !dense);
    dcsr_status status = DCSR_OK;
    if (elsewhere->made) dcsr_i_cuda_mark_wait(stream, elsewhere->made);
    if (!is_there(wanted)) {
        DCSR_TRY(dcsr_i_cuda_mark_create(stream, &elsewhere->made));
        if (!is_there(other)) status = upload(vector, stream);
        if (status == DCSR_OK && !is_there(wanted)) status = convert(vector, stream, dense);
        dcsr_i_cuda_mark_record(stream, elsewhere->made);
    }
    if (status == DCSR_OK) *body = *wanted;
    return status;
}

dcsr_status dcsr_i_cuda_vector_read(dcsr_i_cuda_body *body, const dcsr_vector *vector,
                                    dcsr_i_cuda_stream *stream, dcsr_i_cuda_form form)
{
    *body = (dcsr_i_cuda_body){0};
    pthread_mutex_t *lock = &vector->elsewhere->lock;
    pthread_mutex_lock(lock);
    dcsr_status status = read_locked(body, vector, stream, is_dense(vector, form));
    pthread_mutex_unlock(lock);
    return status;
}

/* Whether it is there in that form; then later work on the stream may read it. */
static bool read_if_there(dcsr_i_cuda_body *body, const dcsr_vector *vector, dcsr_i_cuda_stream *stream,
                          dcsr_i_cuda_form form)
{
    dcsr_i_elsewhere *elsewhere = vector->elsewhere;
    pthread_mutex_lock(&elsewhere->lock);
    *body = *form_of(vector, is_dense(vector, form));
    if (is_there(body) && elsewhere->made) dcsr_i_cuda_mark_wait(stream, elsewhere->made);
    pthread_mutex_unlock(&elsewhere->lock);
    return is_there(body);
}

dcsr_status dcsr_i_cuda_vector_read_from(dcsr_i_cuda_body *body, const dcsr_vector *vector,
                                         dcsr_i_cuda_stream *stream, dcsr_i_cuda_form form)
{
    if (dcsr_i_cuda_device_of(stream) == vector->context->cuda)
        return dcsr_i_cuda_vector_read(body, vector, stream, form);
    if (read_if_there(body, vector, stream, form)) return DCSR_OK;
    dcsr_i_cuda_stream *own = dcsr_i_stream_borrow(vector->context);
    if (!own) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_vector_read(body, vector, own, form),
                waited = dcsr_i_cuda_wait(own, "reading a vector");
    dcsr_i_stream_return(vector->context, own);
    return status == DCSR_OK ? waited : status;
}

dcsr_status dcsr_i_cuda_vector_values(const void **values, const dcsr_vector *vector)
{
    static const char reading[] = "reading a vector";
    const dcsr_i_elsewhere *elsewhere = vector->elsewhere;
    pthread_mutex_lock(&vector->elsewhere->lock);
    const bool there = is_there(&elsewhere->dense);
    dcsr_status status = there && elsewhere->made
                             ? dcsr_i_cuda_event_wait(elsewhere->made, vector->context->cuda, reading)
                             : DCSR_OK;
    *values = elsewhere->dense.values;
    pthread_mutex_unlock(&vector->elsewhere->lock);
    if (there) return status;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(vector->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body body;
    status = dcsr_i_cuda_vector_read(&body, vector, stream, DCSR_CUDA_DENSE);
    dcsr_status waited = dcsr_i_cuda_wait(stream, reading);
    dcsr_i_stream_return(vector->context, stream);
    *values = body.values;
    return status == DCSR_OK ? waited : status;
}

void *dcsr_i_cuda_vector_own_values(const dcsr_vector *vector)
{
    dcsr_i_elsewhere *elsewhere = vector->elsewhere;
    pthread_mutex_lock(&elsewhere->lock);
    const dcsr_i_cuda_body *dense = &elsewhere->dense;
    const bool own = is_ahead(vector) && is_there(dense) && !dense->present && !is_there(&elsewhere->sparse);
    void *values = own ? dense->values : NULL;
    pthread_mutex_unlock(&elsewhere->lock);
    return values;
}

dcsr_status dcsr_i_cuda_vector_make_own(dcsr_vector *vector, void **values)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(vector->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body body = {0};
    dcsr_status status = make_dense(&body, stream, vector->value_size, vector->size, false),
                waited = dcsr_i_cuda_wait(stream, "making a vector");
    if (status == DCSR_OK) status = waited;
    *values = body.values;
    if (status == DCSR_OK)
        dcsr_i_cuda_vector_put(vector, &body, stream);
    else
        dcsr_i_cuda_body_free(&body, stream, vector->value_size);
    dcsr_i_stream_return(vector->context, stream);
    return status;
}

/* Frees those arrays of a body that are not in the other. */
static void free_others(dcsr_i_cuda_body *body, const dcsr_i_cuda_body *kept, dcsr_i_cuda_stream *stream,
                        size_t value_size)
{
    if (body->present == kept->present) body->present = NULL;
    if (body->indices == kept->indices) body->indices = NULL;
    if (body->values == kept->values) body->values = NULL;
    dcsr_i_cuda_body_free(body, stream, value_size);
}

void dcsr_i_cuda_vector_put(dcsr_vector *vector, dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream)
{
    size_t size = vector->value_size;
    free_others(form_of(vector, true), body, stream, size);
    free_others(form_of(vector, false), body, stream, size);
    if (body->present && body->nvals == body->size) {
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, body->present, dcsr_i_cuda_bit_words(body->size),
                         sizeof *body->present);
        body->present = NULL;
    }
    *form_of(vector, body->dense) = *body;
    dcsr_i_body says = {.dense = body->dense, .nvals = body->nvals};
    says.dense = dcsr_i_vector_form(vector, &says) == DCSR_VECTOR_DENSE;
    says.capacity = says.dense ? vector->size : says.nvals;
    if (says.dense && says.nvals < vector->size) says.words = dcsr_i_words(vector->size);
    dcsr_i_body_free(&vector->body, vector->context, size);
    vector->body = says;
    *body = (dcsr_i_cuda_body){0};
    atomic_store_explicit(&vector->elsewhere->ahead, true, memory_order_release);
}

static dcsr_status copy_body(dcsr_i_cuda_body *to, const dcsr_vector *vector, dcsr_i_cuda_stream *stream)
{
    size_t size = vector->value_size;
    dcsr_i_cuda_body from;
    DCSR_TRY(dcsr_i_cuda_vector_read(&from, vector, stream, DCSR_CUDA_AS_IT_IS));
    DCSR_TRY(from.dense ? make_dense(to, stream, size, from.size, from.present != NULL)
                        : make_sparse(to, stream, size, from.size, from.nvals));
    to->nvals = from.nvals;
    if (from.present)
        dcsr_i_cuda_copy(stream, to->present, from.present,
                         dcsr_i_cuda_bit_words(from.size) * sizeof *to->present);
    if (!from.dense) dcsr_i_cuda_copy(stream, to->indices, from.indices, from.nvals * sizeof *to->indices);
    dcsr_i_cuda_copy(stream, to->values, from.values, to->capacity * size);
    return DCSR_OK;
}

static dcsr_status copy(dcsr_vector *to, const dcsr_vector *from)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(from->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body body = {0};
    dcsr_status status = copy_body(&body, from, stream),
                waited = dcsr_i_cuda_wait(stream, "copying a vector");
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK)
        dcsr_i_cuda_vector_put(to, &body, stream);
    else
        dcsr_i_cuda_body_free(&body, stream, from->value_size);
    dcsr_i_stream_return(from->context, stream);
    return status;
}

static dcsr_status lend(dcsr_vector *vector, void **values)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(vector->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_body body;
    dcsr_status status = dcsr_i_cuda_vector_read(&body, vector, stream, DCSR_CUDA_DENSE),
                waited = dcsr_i_cuda_wait(stream, "lending a vector");
    if (!status) status = waited;
    if (!status) {
        *values = body.values;
        dcsr_i_cuda_vector_put(vector, &body, stream); /* the caller may write there */
    }
    dcsr_i_stream_return(vector->context, stream);
    return status;
}

/* ---- Back to the host ---- */

static dcsr_status download(dcsr_i_body *to, const dcsr_vector *vector, dcsr_i_cuda_stream *stream)
{
    bool dense = vector->body.dense;
    size_t size = vector->value_size;
    dcsr_i_cuda_body from;
    DCSR_TRY(read_locked(&from, vector, stream, dense));
    DCSR_TRY(dense ? dcsr_i_body_dense(to, vector->context, size, vector->size, from.present != NULL)
                   : dcsr_i_body_sparse(to, vector->context, size, from.nvals));
    if (dense)
        dcsr_i_cuda_copy(stream, to->present, from.present, to->words * sizeof *to->present);
    else
        dcsr_i_cuda_copy(stream, to->indices, from.indices, from.nvals * sizeof *to->indices);
    dcsr_i_cuda_copy(stream, to->values, from.values, (dense ? vector->size : from.nvals) * size);
    return DCSR_OK;
}

static dcsr_status fetch_locked(dcsr_vector *vector)
{
    if (!is_ahead(vector)) return DCSR_OK; /* another thread has fetched it */
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(vector->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_body body = {0};
    dcsr_status status = download(&body, vector, stream),
                waited = dcsr_i_cuda_wait(stream, "reading a vector");
    if (status == DCSR_OK) status = waited;
    dcsr_i_stream_return(vector->context, stream);
    if (status != DCSR_OK) {
        dcsr_i_body_free(&body, vector->context, vector->value_size);
        return status;
    }
    /* The rest has been as it is now, and other threads may look at it. */
    vector->body.present = body.present;
    vector->body.indices = body.indices;
    vector->body.values = body.values;
    atomic_store_explicit(&vector->elsewhere->ahead, false, memory_order_release);
    return DCSR_OK;
}

static dcsr_status fetch(const dcsr_vector *vector)
{
    if (!is_ahead(vector)) return DCSR_OK;
    dcsr_vector *own = (dcsr_vector *)vector; /* what it holds stays the same */
    pthread_mutex_lock(&own->elsewhere->lock);
    dcsr_status status = fetch_locked(own);
    pthread_mutex_unlock(&own->elsewhere->lock);
    return status;
}

/* All work on it has been waited for. */
static void free_idle(dcsr_vector *vector, dcsr_i_cuda_body *body)
{
    dcsr_i_cuda_device *device = vector->context->cuda;
    uint64_t words = dcsr_i_cuda_bit_words(body->size);
    dcsr_i_cuda_free_idle(device, DCSR_I_SCRATCH, body->present, words, sizeof *body->present);
    dcsr_i_cuda_free_idle(device, DCSR_I_SCRATCH, body->indices, body->capacity, sizeof *body->indices);
    dcsr_i_cuda_free_idle(device, DCSR_I_SCRATCH, body->values, body->capacity, vector->value_size);
    *body = (dcsr_i_cuda_body){0};
}

static void forget(dcsr_vector *vector)
{
    free_idle(vector, &vector->elsewhere->dense);
    free_idle(vector, &vector->elsewhere->sparse);
    atomic_store_explicit(&vector->elsewhere->ahead, false, memory_order_release);
}

static dcsr_status open(dcsr_vector *vector)
{
    vector->elsewhere = dcsr_i_calloc(vector->context, DCSR_I_MATRIX, 1, sizeof *vector->elsewhere);
    if (!vector->elsewhere) return dcsr_i_no_memory();
    pthread_mutex_init(&vector->elsewhere->lock, NULL);
    return DCSR_OK;
}

static void close(dcsr_vector *vector)
{
    dcsr_i_elsewhere *elsewhere = vector->elsewhere;
    forget(vector);
    dcsr_i_cuda_event_destroy(elsewhere->made, vector->context->cuda);
    pthread_mutex_destroy(&elsewhere->lock);
    dcsr_i_free(vector->context, DCSR_I_MATRIX, elsewhere, 1, sizeof *elsewhere);
}

const dcsr_i_vector_device dcsr_i_cuda_vectors = {.open = open,
                                                  .close = close,
                                                  .copy = copy,
                                                  .lend = lend,
                                                  .is_ahead = is_ahead,
                                                  .fetch = fetch,
                                                  .forget = forget};
