/* threads.h: how many threads so much work deserves, and how they wait (internal). */
#ifndef DCSR_THREADS_H
#define DCSR_THREADS_H

#include "dcsr/base/runtime.h"

/* Threads that an operation on `work` entries should use: 1 when it is too little to share, on a busy machine
 * sooner than on others. */
int dcsr_i_threads(const dcsr_context *context, uint64_t work);
/* How many shares to cut that work into where the result depends on it, as sums of floating-point numbers do:
 * as many as there would be threads, however busy the machine is. */
int dcsr_i_shares(const dcsr_context *context, uint64_t work);
/* For tests: the machine is busy from now on (1), or is not (0), whatever it is; -1: what it is. */
void dcsr_i_assume_busy(int busy);

/* ---- Waiting ---- */

/* Between two looks at what a thread waits for. */
void dcsr_i_pause(void);
uint64_t dcsr_i_nanoseconds(void); /* of a clock that only goes forward, and that nobody sets */
/* A condition to wait for until a time of that clock. */
void dcsr_i_condition_init(pthread_cond_t *condition);
/* Waits for the condition, with the lock; false when it was not signalled until then. */
bool dcsr_i_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until);

#endif
