/* turn.c: the turn of each thread, and the waits within turns. */
#include "dcsr/base/turn.h"

static _Thread_local const dcsr_i_turn *innermost;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the list */
static dcsr_i_turn_wait *waits;

/* ---- Turns ---- */

const dcsr_i_turn *dcsr_i_turn_of_thread(void)
{
    return innermost;
}

const dcsr_i_turn *dcsr_i_turn_enter(const dcsr_i_turn *turn)
{
    const dcsr_i_turn *before = innermost;
    innermost = turn;
    return before;
}

bool dcsr_i_turn_is_in_context(const dcsr_context *context)
{
    const dcsr_i_turn *turn = innermost;
    while (turn && turn->context != context) turn = turn->outer;
    return turn != NULL;
}

/* ---- Waits ---- */

static bool is_within(const dcsr_i_turn *turn, uint64_t matrix)
{
    while (turn && turn->matrix != matrix) turn = turn->outer;
    return turn != NULL;
}

/* Whether the matrix's queue waits for the end of one of these turns: by waits of operators that are called
 * in the matrix's own turn, or in that of one that these wait for. With the lock. */
static bool waits_for(uint64_t matrix, const dcsr_i_turn *turn)
{
    if (is_within(turn, matrix)) return true;
    for (dcsr_i_turn_wait *w = waits; w; w = w->next) {
        if (w->seen || !is_within(w->turn, matrix)) continue;
        w->seen = true;
        if (waits_for(w->matrix, turn)) return true;
    }
    return false;
}

dcsr_status dcsr_i_turn_wait_begin(dcsr_i_turn_wait *wait, const char *call, uint64_t matrix)
{
    *wait = (dcsr_i_turn_wait){.turn = innermost, .matrix = matrix};
    if (!innermost) return DCSR_OK;
    if (is_within(innermost, matrix))
        return dcsr_i_fail(DCSR_ERROR_DEADLOCK,
                           "%s: an operator of an operation into this matrix calls it, and would wait until "
                           "that has ended; let the operator read a view, or make the call afterwards",
                           call);
    pthread_mutex_lock(&lock);
    for (dcsr_i_turn_wait *w = waits; w; w = w->next) w->seen = false;
    bool never_ends = waits_for(matrix, innermost);
    if (!never_ends) {
        wait->next = waits;
        waits = wait;
    }
    pthread_mutex_unlock(&lock);
    if (!never_ends) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_DEADLOCK,
        "%s: an operator calls it, and an operator of an operation into this matrix waits for the operation "
        "that this one belongs to; let operators read views, or make the calls after the operations",
        call);
}

void dcsr_i_turn_wait_end(dcsr_i_turn_wait *wait)
{
    if (!wait->turn) return;
    pthread_mutex_lock(&lock);
    dcsr_i_turn_wait **link = &waits;
    while (*link != wait) link = &(*link)->next;
    *link = wait->next;
    pthread_mutex_unlock(&lock);
}
