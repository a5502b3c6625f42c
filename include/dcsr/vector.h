/* vector.h: the vector: elements of one type, some of which may be missing.
 *
 * It is held in one of two forms, which matter to operations but not to the user: dense, with a slot for
 * every element and a bit that says whether it is present, or sparse, a list of those that are present. After
 * each change a vector takes the form that suits it: sparse if less than 1/32 of its elements are present,
 * dense if more than 1/8, unchanged in between; or always the form that dcsr_vector_set_format() asked for.
 *
 * Threads: calls that take the vector as const, and operations that only read it, may be made by any number
 * of threads at once; while a vector is being changed nothing else may use it. */
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
/* Frees the vector. NULL does nothing. */
DCSR_API void dcsr_vector_destroy(dcsr_vector *vector);
/* Copies a vector. *copy is NULL on failure. Errors: OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_vector_duplicate(dcsr_vector **copy, const dcsr_vector *vector);
/* Removes all elements. */
DCSR_API dcsr_status dcsr_vector_clear(dcsr_vector *vector);
/* Changes the size. Elements beyond a smaller size are dropped; the new elements of a larger one are
 * missing. */
DCSR_API dcsr_status dcsr_vector_resize(dcsr_vector *vector, uint64_t size);
/* Sets the form in which the vector is held from now on. */
DCSR_API dcsr_status dcsr_vector_set_format(dcsr_vector *vector, dcsr_vector_format format);

typedef struct dcsr_vector_info {
    dcsr_type type;
    uint64_t size;
    uint64_t nvals;            /* elements that are present */
    dcsr_vector_format format; /* the form it is in: never AUTO */
    uint64_t bytes;            /* of memory */
} dcsr_vector_info;
DCSR_API dcsr_status dcsr_vector_get_info(const dcsr_vector *vector, dcsr_vector_info *info);
/* The number of elements that are present. O(1). */
DCSR_API dcsr_status dcsr_vector_get_nvals(const dcsr_vector *vector, uint64_t *nvals);

/* Single elements. value points to one value of the vector's type. dcsr_vector_get() sets *stored to whether
 * the element is present, and leaves *value alone if it is not. Errors: INDEX_OUT_OF_RANGE. Cost: O(1) in a
 * dense vector; in a sparse one O(log nvals) to find, O(nvals) to add or remove. */
DCSR_API dcsr_status dcsr_vector_set(dcsr_vector *vector, uint64_t index, const void *value);
DCSR_API dcsr_status dcsr_vector_get(const dcsr_vector *vector, uint64_t index, void *value, bool *stored);
DCSR_API dcsr_status dcsr_vector_remove(dcsr_vector *vector, uint64_t index);
/* Sets every element to the value. */
DCSR_API dcsr_status dcsr_vector_fill(dcsr_vector *vector, const void *value);

/* Replaces the vector's elements by these n. They may be in any order; elements of the same index are
 * combined by the policy in the order given (DEFAULT is last; KEEP is refused). Errors: INDEX_OUT_OF_RANGE
 * naming the first offender, OUT_OF_MEMORY; the vector is then as it was. Cost: O(n) if indices ascend, else
 * a radix sort. */
DCSR_API dcsr_status dcsr_vector_build(dcsr_vector *vector, uint64_t n, const uint64_t *indices,
                                       const void *values, dcsr_policy policy);
/* Copies the first `capacity` elements in ascending order to indices and values, each of which may be NULL;
 * *n gets the number of elements that are present. */
DCSR_API dcsr_status dcsr_vector_get_entries(const dcsr_vector *vector, uint64_t capacity, uint64_t *indices,
                                             void *values, uint64_t *n);
/* Copies all elements to an array of `size` values, with *missing where there is none. Cost: O(size). */
DCSR_API dcsr_status dcsr_vector_to_array(const dcsr_vector *vector, const void *missing, void *values);

/* Arrays without copying. */

/* Creates a vector with every element present, whose values are the caller's array of `size` values. The
 * vector then owns the array, and calls release(values, user) when it no longer needs it. If release is NULL
 * the array is lent, and must outlive the vector or its next change of form; operations write into it where
 * they can. On failure the array is still the caller's. */
DCSR_API dcsr_status dcsr_vector_import(dcsr_vector **vector, dcsr_context *context, dcsr_type type,
                                        uint64_t size, void *values,
                                        void (*release)(void *values, void *user), void *user);
/* Lends the values of a vector with every element present: an array of `size` values, which may be read and
 * written until the next call on the vector. The vector becomes dense. Errors: INVALID_ARGUMENT if an element
 * is missing (the message says how many; call dcsr_vector_fill() first). */
DCSR_API dcsr_status dcsr_vector_get_values(dcsr_vector *vector, void **values);
/* The same in device memory, for a vector of a cuda context: kernels may read and write the array until the
 * next call on the vector, by which all work on it must have run. From then on the newest elements are there;
 * whoever needs them in host memory, as dcsr_vector_get_values() does, brings them back. The elements are there
 * when the call returns.
 * Errors: also INVALID_ARGUMENT for a vector of a cpu context, OUT_OF_MEMORY, DEVICE. Cost: a copy of `size`
 * values to the device, where the newest are not there already. */
DCSR_API dcsr_status dcsr_vector_get_values_on_device(dcsr_vector *vector, void **values);

#ifdef __cplusplus
}
#endif
#endif
