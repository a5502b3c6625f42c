/* journal.h: what keeps the changes of a durable matrix, as the matrix sees it (internal).
 *
 * A store hangs a journal on a matrix that it keeps (persist/journal.c). A change then is told of when it is
 * safe, not when it is applied, and the next one is applied meanwhile:
 *
 *      who has the matrix's turn (queue.c)         the journal's thread
 *      -----------------------------------         --------------------
 *      record(): a copy, as applying sorts the
 *                entries where they are
 *      apply, publish
 *      applied(): hands it over ---------------->  writes and syncs it, with others
 *      the turn ends; the next change              dcsr_i_queue_report(): its tickets, and room in the queue
 *
 * Maintenance changes nothing that would have to be kept, and has no part in this. */
#ifndef DCSR_JOURNAL_H
#define DCSR_JOURNAL_H

#include "dcsr/store/queue.h"

typedef struct dcsr_i_journal dcsr_i_journal;
struct dcsr_i_journal {
    /* Before an operation is applied: keeps what will be needed of it in operation->journal, or nothing, where
     * there is no memory. */
    void (*record)(dcsr_i_journal *journal, dcsr_i_operation *operation);
    /* An operation has been applied; operation->journal.version shows it. Called in the order of the changes, with
     * the queue's lock. The journal takes the reference, and reports the operation later, also in this order.
     * On failure it does not, and the change is not durable. */
    dcsr_status (*applied)(dcsr_i_journal *journal, dcsr_i_operation *operation);
    /* The matrix goes; all that was applied has been reported. */
    void (*close)(dcsr_i_journal *journal);
};

/* Tells what has become of an operation that the journal took; takes the reference. Any thread, without locks
 * of the matrix. */
void dcsr_i_queue_report(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_status status,
                         const char *message);

#endif
