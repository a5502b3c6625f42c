/* vector_cuda.h: where the elements of a vector are, on a context with a device (internal; for C and for
 * kernels).
 *
 * The newest elements of a vector are in host memory (dcsr_vector.body), on the device, or the same in both:
 *
 *      newest       body                                           on the device
 *      host         as ever                                        nothing
 *      both         as ever                                        the elements dense, sparse, or both
 *      device       says form and nvals as ever, has no arrays     the elements dense, sparse, or both
 *
 * What is made by reading - a copy there, the other form - is kept with the vector until it changes.
 * Everything that works on the host begins with dcsr_i_vector_check(), which brings the elements there where
 * the device has the newest; everything on the device with dcsr_i_cuda_vector_read(). Both may be called by
 * several threads at once for one vector that nobody changes.
 *
 * Order: what dcsr_i_cuda_vector_read() gives may be used by later work on the stream it was given, whichever
 * stream it was made on: an event lies between. An operation waits for its stream before it returns, also
 * after a failure; so when a vector is changed or destroyed, all that used its memory on the device is over.
 */
#ifndef DCSR_VECTOR_CUDA_H
#define DCSR_VECTOR_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/base/search.h"
#include <dcsr/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements on the device; kernels get it by value. All pointers are to device memory.
 *
 *      dense       values   size places; what has no element holds some value of the type
 *                  present  bits, in dcsr_i_cuda_bit_words(size) words of 32, those beyond size 0;
 *                           NULL: every element is there
 *      sparse      indices  ascending; the first ones of `capacity` places
 *                  values   likewise
 *
 * How many elements are there is nvals, or what kernels have counted in *count, where that is not NULL: nvals
 * is then what it is at most. */
typedef struct dcsr_i_cuda_body {
    bool dense;
    uint64_t size, nvals, capacity;
    uint32_t *present;
    uint32_t *indices;
    void *values;
    unsigned long long *count;
} dcsr_i_cuda_body;

/* Words of bits for that many elements: those of the host's words of 64. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_cuda_bit_words(uint64_t size)
{
    return (size + 63) / 64 * 2;
}

typedef enum dcsr_i_cuda_form {
    DCSR_CUDA_AS_IT_IS, /* what the vector's body says: the form that suits it */
    DCSR_CUDA_DENSE,
    DCSR_CUDA_SPARSE,
    DCSR_CUDA_EITHER /* without a conversion: what is there, and of both the list */
} dcsr_i_cuda_form;

/* ---- Bodies: vector_cuda.c ---- */

/* A body to be filled by kernels. Dense: with bits, not initialised, values of 0 and a *count of 0, or
 * without bits and count, so that every element is there. Sparse: with room for `capacity` elements and a
 * *count of 0, nvals is capacity. OUT_OF_MEMORY: nothing is left behind. */
dcsr_status dcsr_i_cuda_body_dense(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                                   uint64_t size, bool with_bits);
dcsr_status dcsr_i_cuda_body_sparse(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size,
                                    uint64_t size, uint64_t capacity);
/* Gives a dense body without them bits, not initialised, and unless nvals is known a *count of 0: of a body
 * whose values are all written, or are not needed where there is no element, and need not be cleared.
 * OUT_OF_MEMORY: the body is to be freed. */
dcsr_status dcsr_i_cuda_body_add_bits(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, bool with_count);
/* Behind all work on the stream so far. Arrays that are NULL are not freed; a body of zeros does nothing. */
void dcsr_i_cuda_body_free(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream, size_t value_size);
/* Waits for the stream, and sets nvals to what has been counted; `operation` is for the message of a failure.
 */
dcsr_status dcsr_i_cuda_body_finish(dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream,
                                    const char *operation);

/* ---- A vector's own: vector_cuda.c ---- */

/* The vector's elements in that form: copied to the device, or converted there, if need be. They stay the
 * vector's, and are not to be changed but by an operation whose output the vector is, which then puts them.
 * The count is known. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_vector_read(dcsr_i_cuda_body *body, const dcsr_vector *vector,
                                    dcsr_i_cuda_stream *stream, dcsr_i_cuda_form form);
/* The same for work on a stream of another device, which may touch this one's memory or copies from it: what has to be
 * made first is made by the vector's own device, and waited for. Any thread of any device. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_vector_read_from(dcsr_i_cuda_body *body, const dcsr_vector *vector,
                                         dcsr_i_cuda_stream *stream, dcsr_i_cuda_form form);
/* The body, whose count is known, becomes the vector's, and what the vector has had is freed; *body is then
 * empty. It may be the vector's own (of dcsr_i_cuda_vector_read) after it has been changed in place, with bits
 * added or nvals changed. The form that suits the vector is decided as dcsr_i_vector_put() does, and made
 * when it is first asked for: cannot fail. */
void dcsr_i_cuda_vector_put(dcsr_vector *vector, dcsr_i_cuda_body *body, dcsr_i_cuda_stream *stream);
/* The values of a vector without missing elements, dense on the device, and complete when this returns: copied there or
 * converted if need be. They may be read until the vector changes. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_vector_values(const void **values, const dcsr_vector *vector);
/* The same where the device alone has the newest elements, and in that form alone, so that they may be overwritten;
 * else NULL, and nothing is done. */
void *dcsr_i_cuda_vector_own_values(const dcsr_vector *vector);
/* Makes it so for a vector without elements: all are there from now on, of no known value. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_vector_make_own(dcsr_vector *vector, void **values);
/* Whether the newest elements are on the device, if not there alone. */
bool dcsr_i_cuda_vector_is_there(const dcsr_vector *vector);

/* What vector_data.h says of a device. */
extern const struct dcsr_i_vector_device dcsr_i_cuda_vectors;

/* ---- Bits and lists, whatever the type: vector.cu ---- */

/* Entry k of n, whose value is values[k] and whose index is list[k] (list NULL: k), is taken where bit k is
 * set (bits NULL: everywhere). Those go to `to`, a sparse body with room for them, whose *count becomes their
 * number. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_compact(dcsr_i_cuda_body *to, dcsr_i_cuda_stream *stream, size_t value_size,
                                const uint32_t *bits, uint64_t n, const uint32_t *list, const void *values);
/* The indices of two sparse bodies, each once, to the list of `to`, which has room for both; its *count
 * becomes their number. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_unite(dcsr_i_cuda_body *to, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *a,
                              const dcsr_i_cuda_body *b);
/* The entries of a sparse body to their places in a dense one, and its bits. */
void dcsr_i_cuda_spread(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *to, const dcsr_i_cuda_body *from,
                        size_t value_size);
/* Sets the bits of all of `size` elements. */
void dcsr_i_cuda_set_bits(dcsr_i_cuda_stream *stream, uint32_t *present, uint64_t size);

/* An event (a cudaEvent_t) that marks a place on a stream; later work on other streams can be put behind it.
 * Made if *event is NULL: OUT_OF_MEMORY. Given back by dcsr_i_cuda_event_destroy(). */
dcsr_status dcsr_i_cuda_mark_create(dcsr_i_cuda_stream *stream, void **event);
void dcsr_i_cuda_mark_record(dcsr_i_cuda_stream *stream, void *event);
void dcsr_i_cuda_mark_wait(dcsr_i_cuda_stream *stream, void *event);

#ifdef __cplusplus
}
#endif
#endif
