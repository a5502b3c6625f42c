/* matrix_add.h: adding a matrix to another as a batch of insertions.
 *
 *      C += B      each entry of B is inserted into C, by C's policy
 *
 * This is dcsr_matrix_insert() of the entries of a view, with their values cast to C's type. It returns when
 * they are queued, behind what others have queued; the ticket, which may be NULL, tells when they have been
 * applied. It costs what a batch costs, whatever C holds, while other operations rewrite all of C. Any number
 * of threads may call it.
 *
 * Errors: INVALID_ARGUMENT (C or B is NULL; B is of another context), DIMENSION_MISMATCH, OUT_OF_MEMORY,
 * BUSY, CONTEXT_DESTROYED. Cost of the call: one copy of B's entries, of 24 bytes each; in a cuda context it
 * is made on the device, unless C is durable, as its log is written from host memory. */
#ifndef DCSR_MATRIX_ADD_H
#define DCSR_MATRIX_ADD_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_add(dcsr_matrix *C, dcsr_view *B, dcsr_ticket **ticket);

#ifdef __cplusplus
}
#endif
#endif
