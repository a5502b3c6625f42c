/* vector.h: the vector: elements of one type, some of which may be missing.
 *
 * It is held in one of two forms, which operations see but the user need not: dense, a place for every
 * element and a bit whether it is there, or sparse, the list of those that are there. After each change a
 * vector is in the form that suits it: sparse below 1/32 of its elements, dense above 1/8, and as it was
 * between; or always in the form that dcsr_vector_set_format() asked for.
 *
 * Threads: calls that take the vector as const may be made by any number of threads at once, also where they
 * are inputs of operations; nothing else may run on a vector while it is being changed. */
#ifndef DCSR_VECTOR_H
#define DCSR_VECTOR_H

#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_vector dcsr_vector;

typedef enum dcsr_vector_format {
    DCSR_VECTOR_AUTO = 0,
    DCSR_VECTOR_DENSE,
    DCSR_VECTOR_SPARSE
} dcsr_vector_format;

/* The longest vector: an index is stored in 32 bits. */
#define DCSR_MAX_SIZE DCSR_MAX_ROWS

/* Creates a vector without elements. type is a value type, not DCSR_PATTERN. *vector is NULL on failure.
 * Errors: TOO_LARGE, INVALID_ARGUMENT, OUT_OF_MEMORY. Cost: O(1). */
DCSR_API dcsr_status dcsr_vector_create(dcsr_vector **vector, dcsr_context *context, dcsr_type type,
                                        uint64_t size);
/* Frees it. NULL does nothing. */
DCSR_API void dcsr_vector_destroy(dcsr_vector *vector);
/* A copy with memory of its own. */
DCSR_API dcsr_status dcsr_vector_duplicate(dcsr_vector **copy, const dcsr_vector *vector);
/* Takes all elements out. */
DCSR_API dcsr_status dcsr_vector_clear(dcsr_vector *vector);
/* Elements beyond a smaller size are dropped; those of a larger one are missing. */
DCSR_API dcsr_status dcsr_vector_resize(dcsr_vector *vector, uint64_t size);
/* The form that the vector is to be held in from now on. */
DCSR_API dcsr_status dcsr_vector_set_format(dcsr_vector *vector, dcsr_vector_format format);

typedef struct dcsr_vector_info {
    dcsr_type type;
    uint64_t size;
    uint64_t nvals;            /* elements that are there */
    dcsr_vector_format format; /* the form it is in: never AUTO */
    uint64_t bytes;            /* of memory */
} dcsr_vector_info;
DCSR_API dcsr_status dcsr_vector_get_info(const dcsr_vector *vector, dcsr_vector_info *info);
/* The number of elements that are there. O(1). */
DCSR_API dcsr_status dcsr_vector_nvals(const dcsr_vector *vector, uint64_t *nvals);

/* Single elements. value points to one value of the vector's type. get() leaves *value alone where *stored
 * says that there is none. Errors: INDEX_OUT_OF_RANGE. Cost: O(1) in a dense vector; in a sparse one O(log
 * nvals) to find, O(nvals) to add or remove. */
DCSR_API dcsr_status dcsr_vector_set(dcsr_vector *vector, uint64_t index, const void *value);
DCSR_API dcsr_status dcsr_vector_get(const dcsr_vector *vector, uint64_t index, void *value, bool *stored);
DCSR_API dcsr_status dcsr_vector_remove(dcsr_vector *vector, uint64_t index);
/* Every element gets the value. */
DCSR_API dcsr_status dcsr_vector_fill(dcsr_vector *vector, const void *value);

/* The vector gets these n elements and no others. They may be in any order; what stands more than once is
 * combined by the policy in the order given (DEFAULT is last; KEEP is refused). Errors: INDEX_OUT_OF_RANGE
 * naming the first offender, OUT_OF_MEMORY; the vector is then as it was. Cost: O(n) where indices ascend,
 * else a radix sort. */
DCSR_API dcsr_status dcsr_vector_build(dcsr_vector *vector, size_t n, const uint64_t *indices,
                                       const void *values, dcsr_policy policy);
/* The first `capacity` elements in ascending order to indices and values, each of which may be NULL; *n is
 * how many there are. */
DCSR_API dcsr_status dcsr_vector_entries(const dcsr_vector *vector, uint64_t capacity, uint64_t *indices,
                                         void *values, uint64_t *n);

/* Arrays without copying. */

/* A vector of which every element is there, whose values are the caller's array of `size` values. The array
 * is the vector's from then on, which calls release(values, user) when it needs it no more. NULL for release:
 * the array is lent, and must outlive the vector or its next change of form; operations write into it where
 * they can. On failure the array is still the caller's. */
DCSR_API dcsr_status dcsr_vector_import(dcsr_vector **vector, dcsr_context *context, dcsr_type type,
                                        uint64_t size, void *values,
                                        void (*release)(void *values, void *user), void *user);
/* Lends the values of a vector of which every element is there: an array of `size` values, to be read and
 * written until anything else is done with the vector. Errors: INVALID_ARGUMENT where an element is missing
 * (the message says how many; dcsr_vector_fill() first). The vector becomes dense. */
DCSR_API dcsr_status dcsr_vector_values(dcsr_vector *vector, void **values);

#ifdef __cplusplus
}
#endif
#endif
