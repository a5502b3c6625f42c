/* matrix_add.h: adding a matrix to another as a batch of insertions, and what was new of it.
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

/* T gets the entries that N has and T has not, in place, as one version; those come back as a matrix of T's type and
 * dimensions: *fresh, which the caller destroys. This is the step of every fixed point:
 *
 *      do      N = what the entries that came last bring          (dcsr_mxm() with them alone)
 *              dcsr_matrix_union(T, N, &fresh)
 *      while   fresh has entries
 *
 * Where both have an entry that of T stays, with its value; so T's policy has to be DCSR_POLICY_ANY, which it is for a
 * pattern-only matrix by default. Values of N are cast to T's type. fresh may be NULL. The call waits for what is
 * queued on T before, and returns when it is done. If several threads unite with one matrix, each entry is fresh for
 * one of them.
 *
 * Errors: INVALID_ARGUMENT (NULL, N of another context, another policy, a durable T: add to it with
 * dcsr_matrix_insert() and compare views by dcsr_view_diff()), DIMENSION_MISMATCH, OUT_OF_MEMORY, CONTEXT_DESTROYED,
 * DEVICE, DEADLOCK (from an operator of an operation into T). If there is no memory for *fresh the entries may be in T
 * nevertheless; then *fresh is NULL.
 * Cost: O(entries of N, times log(row of T)), and now and then that of a row of T, which is moved when what came behind
 * it is a sixteenth of it; with DCSR_RESOLVE_ON_READ, of all entries of the rows that N touches. */
DCSR_API dcsr_status dcsr_matrix_union(dcsr_matrix *T, dcsr_view *N, dcsr_matrix **fresh);

#ifdef __cplusplus
}
#endif
#endif
