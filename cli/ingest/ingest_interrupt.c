/* ingest_interrupt.c: SIGINT, SIGTERM and SIGUSR1 while edges are ingested.
 *
 * The first of them ends the stream of edges, not the process: what was sent is applied, logged, stored and
 * reported as at its regular end. The second ends the process at once, as either would have done before.
 * SIGUSR1 asks how far it is, from the beginning on. */
#include "cli/ingest/ingest.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static const int numbers[] = {SIGINT, SIGTERM};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t interrupted, asked;
static sem_t changed; /* interrupted, or a work is done */

static void note(int number)
{
    int before = errno;
    interrupted = number;
    for (int i = 0; i < NUMBERS; i++) signal(numbers[i], SIG_DFL);
    sem_post(&changed);
    errno = before;
}

static void note_question(int number)
{
    (void)number;
    asked = 1;
}

void ingest_questions_begin(void)
{
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = note_question, .sa_flags = SA_RESTART}, NULL);
}

bool ingest_asked(void)
{
    const bool was = asked;
    if (was) asked = 0;
    return was;
}

void ingest_interrupt_begin(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART}, before;
    sem_init(&changed, 0, 0);
    for (int i = 0; i < NUMBERS; i++) sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < NUMBERS; i++) {
        bool ignored = !sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_IGN;
        if (!ignored) sigaction(numbers[i], &action, NULL); /* who has it ignored wants no end */
    }
}

int ingest_interrupted(void)
{
    return interrupted;
}

void ingest_interrupt_end(void)
{
    raise(interrupted); /* the default action, since it was noted */
}

/* ---- Work that may be left behind ---- */

typedef struct job {
    void (*work)(void *user);
    void *user;
    atomic_bool done;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    j->work(j->user);
    atomic_store(&j->done, true);
    sem_post(&changed);
    return NULL;
}

bool ingest_interruptible(void (*work)(void *user), void *user)
{
    pthread_t thread;
    job *j = interrupted ? NULL : malloc(sizeof *j);
    if (interrupted) return false;
    if (j) *j = (job){.work = work, .user = user};
    if (!j || pthread_create(&thread, NULL, run_job, j)) {
        free(j);
        work(user); /* then not to be interrupted */
        return true;
    }
    while (!atomic_load(&j->done) && !interrupted) sem_wait(&changed);
    if (!atomic_load(&j->done)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    free(j);
    return true;
}
