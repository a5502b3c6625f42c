/* matrix_add.h: a matrix added to another as a batch of insertions.
 *
 *      C += B      each entry of B is inserted into C, where C's policy says what that means
 *
 * This is dcsr_matrix_insert() of the entries of a view, with their values cast to C's type: it returns when
 * they are queued; the ticket, which may be NULL, tells when they are in; what others have queued goes first.
 * It costs what a batch costs, whatever C holds, while the other operations write C anew.
 *
 * Errors: INVALID_ARGUMENT (C or B is NULL; B is of another context), DIMENSION_MISMATCH, OUT_OF_MEMORY,
 * BUSY, CONTEXT_DESTROYED. Cost here: one copy of B's entries, at 24 bytes each for the time of the call; on
 * a cuda context it is made on the device, but for a durable C, whose log is written from host memory. */
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
