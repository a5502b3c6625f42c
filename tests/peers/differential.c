/* differential.c: random sessions beside SuiteSparse:GraphBLAS; `make test-peers` runs it.
 *
 * usage: differential [--seed N] [--sessions N] [--steps N] [--device cpu|cuda] [--verbose]
 *
 * Session N + k has the seed N + k. One that fails says its seed, step and call, and ends; `--seed N
 * --sessions 1` plays it again. The last line counts steps that agreed and sessions that failed. */
#include "tests/peers/differential.h"

#include <string.h>

static void play(session *s, uint64_t steps, uint64_t *agreed)
{
    static const uint64_t sizes[] = {0, 1, 2, 5, 17, 31, 32, 33, 63, 64, 65, 100, 130, 200};
    const dcsr_type types[] = {DCSR_TYPE_COUNT, DCSR_TYPE_COUNT,
                               (dcsr_type)(1 + draw_below(&s->draw, DCSR_TYPE_COUNT - 1))};
    s->draw.wild = draw_once_in(&s->draw, 4);
    s->type = types[draw_below(&s->draw, 3)];
    for (int k = 0; k < SIZES; k++) s->sizes[k] = sizes[draw_below(&s->draw, sizeof sizes / sizeof *sizes)];
    for (int k = 0; k < MATRICES; k++)
        matrix_make(s, &s->matrices[k], s->sizes[draw_below(&s->draw, SIZES)],
                    s->sizes[draw_below(&s->draw, SIZES)]);
    for (int k = 0; k < VECTORS; k++) vector_make(s, &s->vectors[k], s->sizes[draw_below(&s->draw, SIZES)]);
    for (s->step = 0; s->step < steps && !s->failed; s->step++) {
        const operation *next = &operations[draw_below(&s->draw, operation_count)];
        s->name = next->name;
        next->run(s);
        if (!s->failed) ++*agreed;
    }
    for (int k = 0; k < MATRICES; k++) matrix_free(&s->matrices[k]);
    for (int k = 0; k < VECTORS; k++) vector_free(&s->vectors[k]);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, sessions = 200, steps = 100, agreed = 0, failed = 0;
    dcsr_device device = DCSR_DEVICE_CPU;
    bool verbose = false;
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (!strcmp(argv[k], "--verbose")) {
            verbose = true;
            continue;
        }
        if (!strcmp(argv[k], "--seed"))
            seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[k], "--sessions"))
            sessions = strtoull(value, NULL, 10);
        else if (!strcmp(argv[k], "--steps"))
            steps = strtoull(value, NULL, 10);
        else if (!strcmp(argv[k], "--device"))
            device = !strcmp(value, "cuda") ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU;
        else {
            fprintf(stderr,
                    "usage: %s [--seed N] [--sessions N] [--steps N] [--device cpu|cuda] [--verbose]\n",
                    argv[0]);
            return 2;
        }
        k++;
    }
    THEIRS(GrB_init(GrB_BLOCKING));
    THEIRS(GxB_Global_Option_set(GxB_HYPER_SWITCH, GxB_NEVER_HYPER));
    THEIRS(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 1));
    for (uint64_t k = 0; k < sessions; k++) {
        session s = {.seed = seed + k, .draw.state = seed + k, .verbose = verbose};
        draw_bits(&s.draw);
        const dcsr_context_options options = {.device = device, .threads = (int)(1 + draw_below(&s.draw, 3))};
        OURS(dcsr_context_create(&s.context, &options));
        play(&s, steps, &agreed);
        dcsr_context_destroy(s.context);
        failed += s.failed;
    }
    THEIRS(GrB_finalize());
    printf("%llu passed, %llu failed\n", (unsigned long long)agreed, (unsigned long long)failed);
    return failed ? 1 : 0;
}
