/* support.c: seeded random numbers, the oracle, and comparing a view with it. */
#include "tests/support/support.h"
#include "dcsr/base/threads.h"
#include "dcsr/store/rowtable.h"
#include "dcsr/store/store.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *test_allocate(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block) abort();
    return block;
}

void *test_copy(const void *block, size_t bytes)
{
    void *copy = test_allocate(bytes, 1);
    if (bytes) memcpy(copy, block, bytes);
    return copy;
}

/* Before all tests: so that threads meet, whatever else runs beside them. */
__attribute__((constructor)) static void assume_idle_machine(void)
{
    dcsr_i_assume_busy(0);
}

bool test_says(const char *words)
{
    return strstr(dcsr_thread_error(), words) != NULL;
}

dcsr_context_info test_context_info(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info;
}

int test_device_number(void)
{
    const char *number = getenv("DCSR_TEST_DEVICE_NUMBER");
    return number ? atoi(number) : 0;
}

dcsr_device test_device_of_auto(void)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 1}));
    dcsr_device chosen = test_context_info(context).device;
    test_close(context);
    return chosen;
}

bool test_on_emulator(void)
{
    const char *device = getenv("DCSR_DEVICE");
    return TEST_EMULATOR && !(device && !strcmp(device, "cpu"));
}

int test_size(int n)
{
    return test_on_emulator() || getenv("DCSR_TEST_SMALL") ? 1 + n / 48 : n;
}

/* Random numbers and seeds */

uint64_t test_random_next(test_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t test_random_below(test_random *random, uint64_t n)
{
    return test_random_next(random) % n;
}

bool test_random_once_in(test_random *random, uint64_t n)
{
    return test_random_below(random, n) == 0;
}

test_seeds test_seeds_from_environment(uint64_t rounds)
{
    const char *seed = getenv("DCSR_TEST_SEED"), *number = getenv("DCSR_TEST_ROUNDS");
    test_seeds seeds = {1, rounds};
    if (seed) seeds = (test_seeds){strtoull(seed, NULL, 0), 1};
    if (number) seeds.rounds = strtoull(number, NULL, 0);
    return seeds;
}

static char seed_line[80];

static void print_seed(void)
{
    if (write(STDERR_FILENO, seed_line, strlen(seed_line)) < 0) return;
}

static void crashed(int number)
{
    print_seed();
    raise(number); /* the handler is gone by now */
}

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

void test_seed_begins(uint64_t seed)
{
    if (!seed_line[0]) {
        struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};
        sigaction(SIGABRT, &action, NULL);
        if (__sanitizer_set_death_callback) {
            __sanitizer_set_death_callback(print_seed);
        } else {
            sigaction(SIGSEGV, &action, NULL);
            sigaction(SIGBUS, &action, NULL);
        }
    }
    snprintf(seed_line, sizeof seed_line, "crashed with DCSR_TEST_SEED=%" PRIu64 "\n", seed);
}

/* Cases by hand */

void test_encode(dcsr_type type, double number, void *value)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        *(ctype *)value = (ctype)number;            \
        break;
#include <dcsr/types.def>
#undef DCSR_X
    case DCSR_PATTERN:
    case DCSR_TYPE_COUNT:
        break;
    }
}

double test_decode(dcsr_type type, const void *value)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        return (double)*(const ctype *)value;
#include <dcsr/types.def>
#undef DCSR_X
    case DCSR_PATTERN:
    case DCSR_TYPE_COUNT:
        break;
    }
    return 1;
}

dcsr_context *test_context(int threads)
{
    dcsr_context *context = NULL;
    const dcsr_context_options options = {
        .device = DCSR_DEVICE_AUTO, .threads = threads, .device_number = test_device_number()};
    TEST_OK(dcsr_context_create(&context, &options));
    return context;
}

bool test_on_device(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.device == DCSR_DEVICE_CUDA;
}

bool test_context_is_as_new(dcsr_context *context, char why[TEST_WHY])
{
    dcsr_context_info info = {0};
    dcsr_status status = dcsr_context_get_info(context, &info);
    snprintf(why, TEST_WHY,
             "left behind: %" PRIu64 " matrices, %" PRIu64 " bytes of matrices, %" PRIu64
             " bytes of scratch (%s)",
             info.matrices, info.matrix_bytes, info.scratch_bytes, dcsr_status_name(status));
    return status == DCSR_OK && !info.matrices && !info.matrix_bytes && !info.scratch_bytes;
}

void test_close(dcsr_context *context)
{
    char why[TEST_WHY];
    cr_assert(test_context_is_as_new(context, why), "%s", why);
    dcsr_context_destroy(context);
}

dcsr_matrix *test_matrix(dcsr_context *context, dcsr_type type, uint64_t rows, uint64_t cols,
                         dcsr_policy policy)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {.policy = policy, .defragmentation = DCSR_DEFRAGMENT_OFF};
    TEST_OK(dcsr_matrix_create(&matrix, context, type, rows, cols, &options));
    return matrix;
}

dcsr_matrix_info test_info(dcsr_matrix *matrix)
{
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    return info;
}

void test_settle(dcsr_matrix *matrix)
{
    uint64_t queued;
    do {
        queued = atomic_load(&matrix->queue.queued);
        TEST_OK(dcsr_matrix_wait(matrix));
    } while (atomic_load(&matrix->queue.queued) != queued);
}

void test_wait_for_bytes(dcsr_matrix *matrix, uint64_t below)
{
    while (test_info(matrix).bytes >= below) usleep(10000);
}

dcsr_view_info test_view_info(dcsr_view *view)
{
    dcsr_view_info info;
    TEST_OK(dcsr_view_get_info(view, &info));
    return info;
}

dcsr_view *test_view(dcsr_matrix *matrix, dcsr_layout layout, unsigned flags)
{
    dcsr_view *view = NULL;
    TEST_OK(dcsr_view_create(&view, matrix, layout, flags));
    return view;
}

static void change(dcsr_matrix *matrix, bool insert, size_t n, const test_entry *entries)
{
    dcsr_type type = test_info(matrix).type;
    size_t size = dcsr_type_size(type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = test_allocate(n, 8);
    for (size_t i = 0; i < n; i++) {
        rows[i] = entries[i].row;
        cols[i] = entries[i].col;
        test_encode(type, entries[i].value, values + i * size);
    }
    if (insert)
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
    else
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
    free(rows);
    free(cols);
    free(values);
    TEST_OK(dcsr_matrix_wait(matrix));
}

void test_insert(dcsr_matrix *matrix, size_t n, const test_entry *entries)
{
    change(matrix, true, n, entries);
}

void test_remove(dcsr_matrix *matrix, size_t n, const test_entry *entries)
{
    change(matrix, false, n, entries);
}

void *test_write_batches(void *argument)
{
    test_writer *w = argument;
    test_random random = {99};
    uint64_t *rows = test_allocate(w->entries, sizeof *rows), *cols = test_allocate(w->entries, sizeof *cols);
    double *values = test_allocate(w->entries, sizeof *values);
    for (size_t b = 0; b < w->batches; b++) {
        for (size_t k = 0; k < w->entries; k++) {
            rows[k] = test_random_below(&random, w->size);
            cols[k] = test_random_below(&random, w->size);
            values[k] = (double)k;
        }
        TEST_OK(dcsr_matrix_insert(w->matrix, w->entries, rows, cols, w->values ? values : NULL, NULL));
        TEST_OK(dcsr_matrix_wait(w->matrix));
    }
    free(rows), free(cols), free(values);
    atomic_store(&w->done, true);
    return NULL;
}
