/* vector_data.h: what a vector is made of (internal).
 *
 *      dense       values  | a b . d . f . . |     size places
 *                  present | 1 1 0 1 0 1 0 0 |     one bit each, in words of 64; NULL: every element is there
 *      sparse      indices | 0 1 3 5 |             ascending
 *                  values  | a b d f |
 *
 * Operations compute a body of their own and put it into the output at the end, when nothing can fail any
 * more; or change a body in place where all that could fail has been done. So an input may be the output, and
 * a failure leaves the output as it was.
 *
 * Bodies are from the pool of temporary work, as the one that an operation computes becomes the output's and
 * the output's own is freed: that pool keeps freed blocks for whoever computes next. */
#ifndef DCSR_VECTOR_DATA_H
#define DCSR_VECTOR_DATA_H

#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/base/search.h"
#include <dcsr/vector.h>

/* Values that are moved and not looked at, by their size. */
typedef uint8_t dcsr_i_bytes1;
typedef uint16_t __attribute__((may_alias)) dcsr_i_bytes2;
typedef uint32_t __attribute__((may_alias)) dcsr_i_bytes4;
typedef uint64_t __attribute__((may_alias)) dcsr_i_bytes8;

/* Carries out CODE(ctype) for the type of that many bytes. */
#define DCSR_I_BY_SIZE(size, CODE) \
    switch (size) {                \
    case 1:                        \
        CODE(dcsr_i_bytes1);       \
        break;                     \
    case 2:                        \
        CODE(dcsr_i_bytes2);       \
        break;                     \
    case 4:                        \
        CODE(dcsr_i_bytes4);       \
        break;                     \
    default:                       \
        CODE(dcsr_i_bytes8);       \
        break;                     \
    }

typedef struct dcsr_i_body {
    bool dense;
    uint64_t nvals;    /* elements that are there */
    uint64_t capacity; /* places in values, and in indices of a sparse body; size for a dense one */
    uint64_t words;    /* in present; 0 where that is NULL */
    uint64_t *present; /* bits beyond size are 0 */
    uint32_t *indices; /* NULL for a dense body */
    void *values;      /* those of elements that are not there are not initialised; single bytes are, as
                          not every byte is a bool */
    /* Of values that came from the caller: how they are freed; NULL for the library's own. */
    void (*release)(void *values, void *user);
    void *release_user;
} dcsr_i_body;

/* What a device does for the vectors of its contexts (vector_cuda.h). */
typedef struct dcsr_i_vector_device {
    /* As a vector begins: makes `elsewhere`, OUT_OF_MEMORY; and as it ends. */
    dcsr_status (*open)(dcsr_vector *vector);
    void (*close)(dcsr_vector *vector);
    /* Gives `to`, of the same type, size and format and without elements, those of `from`, on the device:
     * OUT_OF_MEMORY. */
    dcsr_status (*copy)(dcsr_vector *to, const dcsr_vector *from);
    /* Whether the newest elements are on the device alone. */
    bool (*is_ahead)(const dcsr_vector *vector);
    /* Brings them to the host if they are: OUT_OF_MEMORY, DEVICE. */
    dcsr_status (*fetch)(const dcsr_vector *vector);
    /* Lends the values of a vector without missing elements, which are dense and on the device alone from now on:
     * OUT_OF_MEMORY, DEVICE. */
    dcsr_status (*lend)(dcsr_vector *vector, void **values);
    /* Drops what the device has, as the host has changed the elements or is about to. */
    void (*forget)(dcsr_vector *vector);
} dcsr_i_vector_device;

struct dcsr_vector {
    dcsr_context *context;
    dcsr_type type;
    size_t value_size;
    uint64_t size;
    dcsr_vector_format format; /* what the user asked for */
    dcsr_i_body body;
    const dcsr_i_vector_device *device; /* NULL on the cpu */
    struct dcsr_i_elsewhere *elsewhere; /* what the device has of the elements */
};

/* DCSR_OK when the vector may be used: INVALID_ARGUMENT for NULL, naming `what` ("mxv: u"),
 * CONTEXT_DESTROYED. */
dcsr_status dcsr_i_vector_admit(const dcsr_vector *vector, const char *what);
/* The same for those who look at its elements on the host: also brings them there where a device has the
 * newest; OUT_OF_MEMORY. May be called by several threads at once. */
dcsr_status dcsr_i_vector_check(const dcsr_vector *vector, const char *what);
/* Whether a device alone has the newest of its elements. */
bool dcsr_i_vector_is_ahead(const dcsr_vector *vector);
/* Its elements are about to be changed in place on the host, other than by dcsr_i_vector_put(): what a device
 * has is dropped. */
void dcsr_i_vector_touch(dcsr_vector *vector);

/* A body to be filled: dense, with bits that are all clear, or without, so that every element is there;
 * sparse, without elements and with room for `capacity`. On failure *body is as empty as it can be, and
 * nothing is left behind. */
dcsr_status dcsr_i_body_dense(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t size,
                              bool with_bits);
dcsr_status dcsr_i_body_sparse(dcsr_i_body *body, dcsr_context *context, size_t value_size,
                               uint64_t capacity);
void dcsr_i_body_free(dcsr_i_body *body, dcsr_context *context, size_t value_size);

/* The body in the other form, in memory of its own. */
dcsr_status dcsr_i_body_to_dense(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                                 size_t value_size, uint64_t size);
dcsr_status dcsr_i_body_to_sparse(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                                  size_t value_size, uint64_t size);

/* The body in the same form, in memory of its own. */
dcsr_status dcsr_i_body_copy(dcsr_i_body *to, const dcsr_i_body *from, dcsr_context *context,
                             size_t value_size, uint64_t size);

/* Puts the body into the vector, whose own is freed, and brings it into the form that suits it: the one that
 * was asked for, else sparse below 1/32 and dense above 1/8 of the elements, and as it is between. When there
 * is no memory for the other form it stays in this one: cannot fail. `body` may be the vector's own, after
 * it has been changed in place. */
void dcsr_i_vector_put(dcsr_vector *vector, dcsr_i_body *body);

/* The form that the body of a vector should have, as said there. */
dcsr_vector_format dcsr_i_vector_form(const dcsr_vector *vector, const dcsr_i_body *body);

static inline uint64_t dcsr_i_words(uint64_t size)
{
    return (size + 63) / 64;
}

static inline bool dcsr_i_body_has(const dcsr_i_body *dense, uint64_t index)
{
    return !dense->present || dense->present[index >> 6] >> (index & 63) & 1;
}

#endif
