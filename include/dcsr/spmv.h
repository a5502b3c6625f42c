/* spmv.h: sparse matrix times dense vector.
 *
 *      y = A x         y[i] = sum over the entries (i, j, a) of A of a * x[j]
 */
#ifndef DCSR_SPMV_H
#define DCSR_SPMV_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = A x over the ordinary plus and times, for a view of any layout: segments are read in place.
 *
 * x has one element per column, y one per row; they may not overlap, and may be NULL if they have no
 * elements. Their type is that of the matrix; fp64 for a pattern-only matrix, each of whose entries counts as
 * 1; for bool, plus is "or" and times is "and"; integers wrap around. An entry that the view shows more than
 * once counts each time. In a cuda context each of x and y may be in the device's memory or in the host's,
 * from and to which it is copied; y is complete when the call returns. Work of other streams on x or y must
 * be complete before the call.
 *
 * Parallel over rows; any number of threads may use one view. How a row is summed depends only on its length,
 * on the order in which its entries are stored, and in a cuda context on the lengths of the other rows: the
 * result is bitwise the same for any number of threads, and before and after a defragmentation that only
 * moves entries.
 *
 * Errors: INVALID_ARGUMENT (NULL), CONTEXT_DESTROYED; y is then as it was. In a cuda context also
 * OUT_OF_MEMORY and DEVICE. Memory: none on the cpu; on a device that of x and y if they are in host memory,
 * and, for as long as the view lasts, 36 bytes for each row of more than 128 entries and 12 for each further
 * 1024 of them; where segments are not defragmented as a whole also a map of their pieces, at most 5 bytes a row
 * and 8 for each segment of the row among its neighbours that has the most, but none where memory is short.
 * Cost: O(rows + nnz); at best nnz x (4 + value size) bytes, the row table, x and y are each moved once. */
DCSR_API dcsr_status dcsr_spmv(void *y, dcsr_view *A, const void *x);

/* The same on the caller's stream (a cudaStream_t; NULL is the default stream), for a view of a cuda context:
 * the product is put onto the stream, behind what it holds, and the call returns. Only the first product with
 * a view waits, for the rows to be counted. x and y are in the device's memory; they, and the view, must last
 * until the product has run, so the caller has to wait for the stream.
 *
 * Errors: INVALID_ARGUMENT (NULL, host memory, a cpu context), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED,
 * NOT_BUILT; nothing has then been put onto the stream. What fails while the product runs is reported by the
 * caller's next wait for the stream. */
DCSR_API dcsr_status dcsr_spmv_on_stream(void *y, dcsr_view *A, const void *x, void *stream);

#ifdef __cplusplus
}
#endif
#endif
