/* tune_ahead.c: the matrices of the collection, one after the other, each made by a thread of its own. On a GPU threads
 * are some matrices ahead of what is measured, as making one keeps the processor busy for as long as measuring it keeps
 * the GPU. On the cpu nothing may run beside what is measured, so none is. */
#include "cli/tune/tune.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AHEAD = 4, MESSAGE = 512 };

typedef struct making {
    pthread_t thread;
    const tune_ahead *from;
    uint64_t number;
    tune_matrix matrix;
    dcsr_status status;
    char message[MESSAGE]; /* where it failed */
} making;

struct tune_ahead {
    dcsr_context *context;
    tune_scale scale;
    uint64_t seed;
    const uint64_t *numbers;
    uint64_t count, begun, taken, ahead;
    making making[MOST_AHEAD]; /* number k of them in place k % MOST_AHEAD */
};

static void *make(void *argument)
{
    making *m = argument;
    const tune_ahead *a = m->from;
    m->status = tune_collection_make(a->context, &m->matrix, m->number, a->scale, a->seed, false);
    if (m->status) snprintf(m->message, sizeof m->message, "%s", dcsr_thread_error());
    return NULL;
}

int tune_ahead_open(tune_ahead **ahead, cli_state *cli, tune_scale scale, uint64_t seed,
                    const uint64_t *numbers, uint64_t count)
{
    tune_ahead *a = *ahead = calloc(1, sizeof *a);
    if (!a) return cli_fail(cli, "out of memory for matrices to measure");
    a->context = cli->context;
    a->scale = scale;
    a->seed = seed;
    a->numbers = numbers;
    a->count = count;
    a->ahead = scale == TUNE_CUDA ? MOST_AHEAD : 1;
    return CLI_DONE;
}

int tune_ahead_next(tune_ahead *a, cli_state *cli, tune_matrix *matrix)
{
    for (; a->begun < a->count && a->begun < a->taken + a->ahead; a->begun++) {
        making *m = &a->making[a->begun % MOST_AHEAD];
        *m = (making){.from = a, .number = a->numbers[a->begun]};
        const int error = pthread_create(&m->thread, NULL, make, m);
        if (error) return cli_fail(cli, "a thread cannot be started: %s", strerror(error));
    }
    making *m = &a->making[a->taken++ % MOST_AHEAD];
    pthread_join(m->thread, NULL);
    *matrix = m->matrix;
    return m->status ? cli_fail_because(cli, "%s", m->message) : CLI_DONE;
}

void tune_ahead_close(tune_ahead *a)
{
    for (; a && a->taken < a->begun; a->taken++) {
        making *m = &a->making[a->taken % MOST_AHEAD];
        pthread_join(m->thread, NULL);
        dcsr_coo_free(&m->matrix.coo);
    }
    free(a);
}
