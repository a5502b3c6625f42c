/* turn.h: in whose turn a thread works, and that it never waits for the end of that (internal).
 *
 * An operation that writes a matrix C has C's turn in its queue until the result is published, and calls
 * functions of the user's meanwhile. Such a function may call the library, but what waits for C's queue would
 * wait for itself. So each thread that works in a turn carries it as a mark, and whatever waits for a queue
 * says so first, here:
 *
 *      operation into C    turn of C        operator calls dcsr_matrix_get(C): refused
 *        operator
 *          operation into D    turn of D in C's      its operator's calls on C and on D: refused
 *
 * An operator may wait for any other matrix. Where that one's operation waits for C in its operators, neither
 * would end: the second of the two waits is refused. For that, waits within turns, and these alone, are kept
 * in a list.
 *
 * Matrices are told apart by their serial numbers, so that one that is gone is never taken for another. */
#ifndef DCSR_TURN_H
#define DCSR_TURN_H

#include "dcsr/base/runtime.h"

typedef struct dcsr_i_turn {
    const dcsr_context *context;
    uint64_t matrix;                 /* the serial number of the one whose turn it is */
    const struct dcsr_i_turn *outer; /* in which the thread worked when it took this one; NULL: in none */
} dcsr_i_turn;

/* What the calling thread works in; NULL: in no turn. */
const dcsr_i_turn *dcsr_i_turn_of_thread(void);
/* Makes the thread work in a turn, one that helps another thread in that thread's; returns what it worked in
 * before, to be entered again. */
const dcsr_i_turn *dcsr_i_turn_enter(const dcsr_i_turn *turn);
/* Whether the thread works in the turn of a matrix of the context. */
bool dcsr_i_turn_is_in_context(const dcsr_context *context);

/* One wait for a matrix's queue. */
typedef struct dcsr_i_turn_wait {
    const dcsr_i_turn *turn; /* in which it is; NULL: in none, and it is in no list */
    uint64_t matrix;         /* the serial number */
    bool seen;
    struct dcsr_i_turn_wait *next;
} dcsr_i_turn_wait;

/* Before and after a wait for the queue of the matrix with this serial number; `call` is for the message.
 * Fails with DCSR_ERROR_DEADLOCK where the wait would never end; then there is no end to be called. Costs
 * nothing outside of turns. The caller may hold a queue's lock. */
dcsr_status dcsr_i_turn_wait_begin(dcsr_i_turn_wait *wait, const char *call, uint64_t matrix);
void dcsr_i_turn_wait_end(dcsr_i_turn_wait *wait);

#endif
