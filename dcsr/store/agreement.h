/* agreement.h: changes that several matrices make together or not at all (internal).
 *
 * Each gets its share as an operation with an agreement, which is asked once, by whoever applies the operation: when
 * all that can fail has been done, and before anything that others see. Who asks usually waits there until the others
 * have asked too:
 *
 *      worker of A0   sort, plan, allocate ... agree(ready) ---+--- yes: publish
 *      worker of A1   sort, plan: no memory    agree(not)   ---+    no: undone, CANCELLED
 *
 * Such an operation is never joined with others, never applied in the thread of the call, never in place; so each of
 * the matrices has a thread of its own that asks. */
#ifndef DCSR_AGREEMENT_H
#define DCSR_AGREEMENT_H

#include "dcsr/store/entries.h"

/* The entries' agreement is kept with the operation. Where this call fails nothing has been queued, and nobody asks;
 * where it succeeds, somebody does once, with ready = false if the operation fails before it could be asked, or is
 * cancelled. A change that was not agreed to leaves no trace: its ticket says DCSR_ERROR_CANCELLED. Arguments and
 * errors as of dcsr_matrix_insert(); `agreement` of the entries may be NULL. */
dcsr_status dcsr_i_matrix_change(dcsr_matrix *matrix, dcsr_i_entries *e, dcsr_ticket **ticket);

/* The same with an operation whose entries have been packed for such a matrix, of the same context, type and dimensions
 * (dcsr_i_entries_operation). Takes the reference, whatever happens; agreement may be NULL. */
dcsr_status dcsr_i_matrix_change_packed(dcsr_matrix *matrix, dcsr_i_operation *operation,
                                        const dcsr_i_agreement *agreement, dcsr_ticket **ticket);

/* For who applies an operation: asks its agreement, if it has one. CANCELLED: it is to be undone. */
dcsr_status dcsr_i_agree(dcsr_i_operation *operation);
/* The operation has failed, or is cancelled: tells its agreement, unless that has been asked. */
void dcsr_i_disagree(dcsr_i_operation *operation);

#endif
