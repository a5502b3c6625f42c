/* threads.c: how many threads so much work deserves, and how they wait.
 *
 * A parallel region ends when the last of its threads has arrived. Where other programs want the processors
 * too, that one may not even have begun: it waits for a slice of some milliseconds, and meanwhile the others
 * spin, as OpenMP's libraries do, which takes slices from it. So on a busy machine work that takes a thread
 * less than a few milliseconds stays in the calling thread.
 *
 * That the machine is busy is told by how often threads of this process were preempted: on a machine with
 * processors to spare some times a second, else after each slice. */
#include "dcsr/base/threads.h"
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

/* In entries. Below LEAST_SHARED_WORK a parallel region costs more than it saves; above it each thread should
 * get WORK_PER_THREAD. On a busy machine less than LEAST_ON_BUSY is not shared. */
enum { LEAST_SHARED_WORK = 32768, WORK_PER_THREAD = 16384, LEAST_ON_BUSY = 1 << 20 };

int dcsr_i_shares(const dcsr_context *context, uint64_t work)
{
    if (work < LEAST_SHARED_WORK || omp_in_parallel()) return 1;
    uint64_t useful = work / WORK_PER_THREAD;
    return useful < (uint64_t)context->threads ? (int)useful : context->threads;
}

/* Nanoseconds: between looks; of processor time that a judgement is based on, and for which a busy machine
 * lets a thread run at most. */
enum { LOOK = 1000000, WINDOW = 40000000, SLICE = 20000000 };

/* Of the process. Whoever moves `looked` on is alone with the rest for as long as a look, if not for longer:
 * then a judgement may be off. */
static struct {
    _Atomic uint64_t looked, processor, preempted; /* at the beginning of the window */
    atomic_bool busy;
} machine;

static uint64_t nanoseconds_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static bool is_busy(void)
{
    uint64_t now = dcsr_i_nanoseconds(), looked = atomic_load_explicit(&machine.looked, memory_order_relaxed);
    struct rusage used;
    if (now - looked < LOOK || !atomic_compare_exchange_strong(&machine.looked, &looked, now) ||
        getrusage(RUSAGE_SELF, &used))
        return machine.busy;
    uint64_t processor = nanoseconds_of(used.ru_utime) + nanoseconds_of(used.ru_stime),
             preempted = (uint64_t)used.ru_nivcsw, spent = processor - machine.processor;
    if (spent < WINDOW) return machine.busy;
    machine.busy = (preempted - machine.preempted) * SLICE > spent;
    machine.processor = processor;
    machine.preempted = preempted;
    return machine.busy;
}

/* dcsr_i_assume_busy() */
static atomic_int assumed = -1;

void dcsr_i_assume_busy(int busy)
{
    assumed = busy;
}

int dcsr_i_threads(const dcsr_context *context, uint64_t work)
{
    int shares = dcsr_i_shares(context, work);
    if (shares == 1 || work >= LEAST_ON_BUSY) return shares;
    bool busy = assumed < 0 ? is_busy() : assumed;
    return busy ? 1 : shares;
}

/* ---- Waiting ---- */

uint64_t dcsr_i_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void dcsr_i_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool dcsr_i_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until)
{
    const struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                                  .tv_nsec = (long)(until % 1000000000u)};
    return pthread_cond_timedwait(condition, lock, &time) != ETIMEDOUT;
}

/* Tells the core that this thread only waits. */
static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void dcsr_i_pause(void)
{
    for (int i = 0; i < 16; i++) relax();
    sched_yield();
}
