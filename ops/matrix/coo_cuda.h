/* coo_cuda.h: the entries of a matrix as a list on a device, and what is made of lists (internal; for C and
 * for kernels).
 *
 *      keys        row << 32 | column, each once, ascending
 *      values      of `type`, in the same order; NULL for a pattern
 *
 * Operations whose result is a matrix work on lists there: a matrix that is read becomes one, whatever its
 * layout; what an operation computes, T, is one; and mask, accumulator and what C holds are brought to T by
 * unions, intersections and differences of lists (write_matrix_cuda.h). So kernels know one form, and their
 * work is shared by entries, whatever the lengths of the rows.
 *
 *      coo_cuda.c      lists out of views, memory, choosing entries
 *      list.cu          its kernels
 *      coo_merge.cu    union, intersection, difference
 *
 * Unless it is said otherwise work is put on the stream; those that have to know how many entries there are
 * wait for it. Errors: OUT_OF_MEMORY, and where a function waits also DEVICE. A list that a function is to
 * make is closed after a failure, and one that it is to change stays open. */
#ifndef DCSR_COO_CUDA_H
#define DCSR_COO_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"
#include "dcsr/base/search.h"
#include <dcsr/view.h>
#include "ops/algebra/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_i_cuda_coo {
    uint64_t rows, cols;
    uint64_t n;        /* entries */
    uint64_t capacity; /* entries that there is room for */
    dcsr_type type;
    uint64_t *keys;
    void *values;
} dcsr_i_cuda_coo;

static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_cuda_coo_key(uint64_t row, uint64_t column)
{
    return row << 32 | column;
}

/* Memory for up to `capacity` entries; n is that too. */
dcsr_status dcsr_i_cuda_coo_open(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_type type,
                                 uint64_t rows, uint64_t cols, uint64_t capacity);
/* Frees it; of a list of zeros it does nothing. */
void dcsr_i_cuda_coo_close(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream);

/* All entries of rows as they stand there, also duplicates that they have: those of a place in the order in which they
 * were stored. May wait. */
dcsr_status dcsr_i_cuda_coo_as_stored(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_cuda_rows *rows);
/* The entries that a view shows, or those of the transpose. Duplicates that are there still are combined by
 * the matrix's policy, those of DCSR_POLICY_KEEP summed. Waits. */
dcsr_status dcsr_i_cuda_coo_of_view(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_view *view,
                                    bool transposed);
/* The same for a matrix that is written (desc.h): where its policy keeps duplicates, *duplicates are the
 * entries of places that have several, equal keys in the order in which they were stored; else it is empty. */
dcsr_status dcsr_i_cuda_coo_of_output(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates,
                                      dcsr_i_cuda_stream *stream, dcsr_view *view);
/* The same for some rows of what it holds in its turn, on its stream: `count` numbers in device memory, ascending. Rows
 * keep their numbers. `duplicates` may be NULL, and need not be wanted. */
dcsr_status dcsr_i_cuda_coo_of_held(dcsr_i_cuda_coo *list, dcsr_i_cuda_coo *duplicates, dcsr_matrix *matrix,
                                    const uint32_t *rows, uint64_t count);
/* The same of a view for a list of `count` row numbers in device memory, in any order, also repeatedly: they become
 * rows 0, 1, ... NULL: all rows. */
dcsr_status dcsr_i_cuda_coo_of_rows(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_view *view,
                                    bool transposed, const uint32_t *rows, uint64_t count);

/* Brings keys that stand in any order into order; equal ones stay in theirs. */
dcsr_status dcsr_i_cuda_coo_sort(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream);
/* Of ascending keys that may be equal each is kept once, with its values added up by a built-in monoid on the
 * list's type, whose dcsr_binary_name this is. In which order is not fixed, so sums of floating-point numbers
 * agree up to rounding. Waits. */
dcsr_status dcsr_i_cuda_coo_add_up(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, int name);
/* Keeps entries k with keep[k] = 1; of the others it is 0. Waits. */
dcsr_status dcsr_i_cuda_coo_choose(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, const uint32_t *keep);
/* The rows that have entries: *count of them in *rows, ascending, which the caller frees (DCSR_I_SCRATCH). NULL where
 * they are more than `most`. Waits. */
dcsr_status dcsr_i_cuda_coo_rows_used(uint32_t **rows, uint64_t *count, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_cuda_coo *list, uint64_t most);
/* Adds the entries of another list, of one type and shape, none of whose keys it has; equal keys of that stay
 * in their order. */
dcsr_status dcsr_i_cuda_coo_append(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream,
                                   const dcsr_i_cuda_coo *other);
/* Casts the values. To DCSR_PATTERN: drops them. Those of a pattern are 1. */
dcsr_status dcsr_i_cuda_coo_cast(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, dcsr_type type);
/* Where the entries of each row begin: rows + 1 places. */
void dcsr_i_cuda_coo_offsets(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint64_t *offsets);

/* What becomes of entries of two lists of one shape. */
typedef struct dcsr_i_cuda_merging {
    bool x, y, both;          /* whether entries are kept that only x has, only y, both */
    const dcsr_binary_op *op; /* built in: of both; NULL: the value is x's */
    dcsr_type type;           /* of the result, to which values are cast; that of both from op's */
} dcsr_i_cuda_merging;
/* Waits. z is neither of the others. */
dcsr_status dcsr_i_cuda_coo_merge(dcsr_i_cuda_coo *z, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *x,
                                  const dcsr_i_cuda_coo *y, const dcsr_i_cuda_merging *how);

#ifdef __cplusplus
}
#endif
#endif
