/* test_context.c: contexts, what happens to objects that outlive them, the error text, names and statuses. */
#include <dcsr/matrix.h>
#include "dcsr/store/rowtable.h"
#include "dcsr/base/runtime.h"
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/spmm.h>
#include <dcsr/vector_ops.h>
#include "tests/support/support.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A member as a matrix is one: close() waits for work that is under way. */
typedef struct member {
    dcsr_i_member member; /* first */
    dcsr_context *context;
    atomic_int closed;
    atomic_bool hold; /* close() does not return before this is false */
} member;

static void close_member(dcsr_i_member *base)
{
    member *self = (member *)base;
    cr_assert_eq(dcsr_i_context_check(self->context), DCSR_ERROR_CONTEXT_DESTROYED,
                 "the context is not closed yet");
    atomic_fetch_add(&self->closed, 1);
    while (atomic_load(&self->hold)) usleep(100);
}

static void join(member *self, dcsr_context *context, bool hold)
{
    *self = (member){.member.close = close_member, .context = context};
    atomic_init(&self->hold, hold);
    dcsr_i_context_retain(context);
    TEST_OK(dcsr_i_context_join(context, &self->member));
}

static void leave(member *self)
{
    dcsr_i_context_leave(self->context, &self->member);
    dcsr_i_context_release(self->context);
}

static uint64_t matrices(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.matrices;
}

Test(context, defaults)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, NULL));
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert_geq(info.threads, 1);
    cr_assert(!strncmp(info.allocator, "jemalloc 5", 10) || !strcmp(info.allocator, "system"), "%s",
              info.allocator);
    cr_assert_eq(info.memory_limit, 0);
    cr_assert_eq(info.matrix_bytes, 0);
    cr_assert_eq(info.scratch_bytes, 0);
    cr_assert_eq(info.peak_bytes, 0);
    cr_assert_eq(info.matrices, 0);
    if (info.device == DCSR_DEVICE_CPU)
        cr_assert_geq(context->reserve_bytes,
                      (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    dcsr_context_destroy(context);
}

Test(context, options)
{
    dcsr_context *context;
    const dcsr_context_options options = {
        .device = DCSR_DEVICE_CPU, .threads = 3, .memory_limit = 1000, .reserve_bytes = 1 << 20};
    TEST_OK(dcsr_context_create(&context, &options));
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert_eq(info.threads, 3);
    cr_assert_eq(info.memory_limit, 1000);
    cr_assert_eq(context->reserve_bytes, 1 << 20);
    dcsr_context_destroy(context);

    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = INT32_MAX}));
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert_eq(info.threads, DCSR_I_MAX_THREADS);
    dcsr_context_destroy(context);
}

Test(context, wrong_options)
{
    dcsr_context *context = (dcsr_context *)&context; /* must become NULL */
#define REFUSED(status, words, ...)                                                                       \
    do {                                                                                                  \
        context = (dcsr_context *)&context;                                                               \
        TEST_REFUSED(status, words, dcsr_context_create(&context, &(dcsr_context_options){__VA_ARGS__})); \
        cr_assert_null(context);                                                                          \
    } while (0)
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "options.device is 7; use DCSR_DEVICE_AUTO, _CPU or _CUDA",
            .device = (dcsr_device)7);
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "options.threads is -1", .threads = -1);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "context is NULL", dcsr_context_create(NULL, NULL));
    dcsr_context_info info;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "context is NULL", dcsr_context_get_info(NULL, &info));
    TEST_OK(dcsr_context_create(&context, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "info is NULL", dcsr_context_get_info(context, NULL));
    dcsr_context_destroy(context);
    dcsr_context_destroy(NULL);
}

Test(context, out_of_memory)
{
    dcsr_context *context = (dcsr_context *)&context;
    dcsr_i_fail_allocations_after(0);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "refused", dcsr_context_create(&context, NULL));
    cr_assert_null(context);
    dcsr_i_fail_allocations_after(-1);
    TEST_OK(dcsr_context_create(&context, NULL));
    dcsr_context_destroy(context);
}

Test(context, many_come_and_go)
{
    for (int i = 0; i < TEST_SIZE(5000, 1000, 500); i++) {
        dcsr_context *context;
        TEST_OK(dcsr_context_create(&context, NULL));
        void *block = dcsr_i_alloc(context, i & 1, 100, 8);
        cr_assert_not_null(block);
        dcsr_i_free(context, i & 1, block, 100, 8);
        dcsr_context_destroy(context);
    }
}

Test(context, closes_its_members_once)
{
    dcsr_context *context;
    member members[4];
    TEST_OK(dcsr_context_create(&context, NULL));
    for (int i = 0; i < 4; i++) join(&members[i], context, false);
    cr_assert_eq(matrices(context), 4);
    leave(&members[1]);
    cr_assert_eq(matrices(context), 3);
    dcsr_context_destroy(context);
    for (int i = 0; i < 4; i++) cr_assert_eq(atomic_load(&members[i].closed), i != 1);
    for (int i = 0; i < 4; i++)
        if (i != 1) leave(&members[i]);
}

/* After dcsr_context_destroy() whatever still holds the context is told so, and can be destroyed. */
Test(context, outlived)
{
    dcsr_context *context;
    member early, late = {.member.close = close_member};
    TEST_OK(dcsr_context_create(&context, NULL));
    join(&early, context, false);
    void *block = dcsr_i_alloc(context, DCSR_I_MATRIX, 10, 8);
    dcsr_context_destroy(context);

    dcsr_context_info info;
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "has been destroyed", dcsr_context_get_info(context, &info));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_i_context_check(context));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_i_context_join(context, &late.member));
    dcsr_i_context_leave(context, &late.member); /* never joined */
    cr_assert_eq(atomic_load(&late.closed), 0);
    dcsr_i_free(context, DCSR_I_MATRIX, block, 10, 8);
    leave(&early);
}

Test(context, outlived_by_a_matrix)
{
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view, *another;
    const uint64_t place = 3;
    bool stored;
    TEST_OK(dcsr_context_create(&context, NULL));
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 8, 8, NULL));
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    cr_assert_eq(matrices(context), 1);
    dcsr_context_destroy(context);

    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_matrix_insert(matrix, 1, &place, &place, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_matrix_get(matrix, 3, 3, NULL, &stored));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_matrix_wait(matrix));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_view_create(&another, matrix, DCSR_LAYOUT_CSR, 0));
    cr_assert_null(another);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_view_get_many(view, 1, &place, &place, NULL, &stored));
    dcsr_matrix_destroy(matrix);
    dcsr_view_destroy(view);
}

/* Closing applies what is queued: the tickets say so. */
Test(context, applies_what_is_queued)
{
    enum { BATCHES = 50, ENTRIES = 200 };
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_ticket *tickets[BATCHES];
    uint64_t rows[ENTRIES], cols[ENTRIES];
    for (uint64_t i = 0; i < ENTRIES; i++) rows[i] = i, cols[i] = ENTRIES - 1 - i;
    TEST_OK(dcsr_context_create(&context, NULL));
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, ENTRIES, ENTRIES, NULL));
    for (int b = 0; b < BATCHES; b++)
        TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, NULL, &tickets[b]));
    dcsr_context_destroy(context);
    for (int b = 0; b < BATCHES; b++) {
        bool done = false;
        TEST_OK(dcsr_ticket_poll(tickets[b], &done));
        cr_assert(done, "batch %d is not applied", b);
        TEST_OK(dcsr_ticket_wait(tickets[b]));
        dcsr_ticket_destroy(tickets[b]);
    }
    dcsr_matrix_destroy(matrix);
}

static void *leave_in_thread(void *self)
{
    leave(self);
    return NULL;
}

static void *destroy_in_thread(void *context)
{
    dcsr_context_destroy(context);
    return NULL;
}

/* A member that leaves while it is being closed waits for that; another need not. */
Test(context, leaving_waits_for_closing)
{
    dcsr_context *context;
    member slow, other;
    pthread_t destroyer, leaver;
    TEST_OK(dcsr_context_create(&context, NULL));
    join(&other, context, false);
    join(&slow, context, true); /* closed first: the list begins with the last */
    pthread_create(&destroyer, NULL, destroy_in_thread, context);
    while (!atomic_load(&slow.closed)) usleep(100);
    leave(&other);
    pthread_create(&leaver, NULL, leave_in_thread, &slow);
    usleep(20000);
    cr_assert_eq(context->closing, &slow.member);
    atomic_store(&slow.hold, false);
    pthread_join(leaver, NULL);
    pthread_join(destroyer, NULL);
    cr_assert_eq(atomic_load(&slow.closed), 1);
    cr_assert_eq(atomic_load(&other.closed), 0);
}

static void *come_and_go(void *context)
{
    for (int i = 0; i < 200; i++) {
        member self = {.member.close = close_member, .context = context};
        dcsr_i_context_retain(context);
        (void)dcsr_i_context_join(context, &self.member); /* refused once the context is closed */
        leave(&self);
    }
    dcsr_i_context_release(context);
    return NULL;
}

/* Members come and go in several threads while the context is closed. */
Test(context, closing_races_with_members)
{
    enum { THREADS = 4 };
    for (int round = 0; round < 20; round++) {
        dcsr_context *context;
        pthread_t threads[THREADS];
        TEST_OK(dcsr_context_create(&context, NULL));
        for (int t = 0; t < THREADS; t++) {
            dcsr_i_context_retain(context);
            pthread_create(&threads[t], NULL, come_and_go, context);
        }
        usleep((unsigned)round * 20);
        dcsr_context_destroy(context);
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    }
}

Test(context, threads_for_work)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 4}));
    cr_assert_eq(dcsr_i_threads(context, 0), 1);
    cr_assert_eq(dcsr_i_threads(context, 32767), 1);
    cr_assert_eq(dcsr_i_threads(context, 32768), 2);
    cr_assert_eq(dcsr_i_threads(context, 65535), 3);
    cr_assert_eq(dcsr_i_threads(context, UINT64_MAX), 4);
    int inside = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        inside = dcsr_i_threads(context, UINT64_MAX);
    }
    cr_assert_eq(inside, 1, "a parallel region within another would be started");
    dcsr_context_destroy(context);
}

/* ---- Which device a context gets ---- */

static dcsr_status create_on(dcsr_context **made, dcsr_device wanted)
{
    return dcsr_context_create(made, &(dcsr_context_options){.device = wanted, .threads = 1});
}

Test(choice, environment_decides_for_auto)
{
    dcsr_context *made;
    setenv("DCSR_DEVICE", "cpu", 1);
    cr_assert_eq(test_device_of_auto(), DCSR_DEVICE_CPU);
    setenv("DCSR_DEVICE", "gpu", 1);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "\"gpu\"", create_on(&made, DCSR_DEVICE_AUTO));
    TEST_OK(create_on(&made, DCSR_DEVICE_CPU)); /* nobody asks the environment */
    test_close(made);
    unsetenv("DCSR_DEVICE");
    dcsr_device otherwise = test_device_of_auto();
    setenv("DCSR_DEVICE", "", 1);
    cr_assert_eq(test_device_of_auto(), otherwise);
    setenv("DCSR_DEVICE", "auto", 1);
    cr_assert_eq(test_device_of_auto(), otherwise);
}

Test(choice, of_the_cpu_is_told)
{
    dcsr_context *made;
    TEST_OK(create_on(&made, DCSR_DEVICE_CPU));
    dcsr_context_info info = test_context_info(made);
    cr_assert_eq(info.device, DCSR_DEVICE_CPU);
    cr_assert_str_eq(info.device_name, "cpu");
    cr_assert_eq(strncmp(info.built_for, "cpu", 3), 0);
    cr_assert(!info.device_memory && !info.device_free && !info.driver_version && !info.runtime_version);
    test_close(made);
}

Test(choice, of_cuda_needs_a_build_with_it)
{
    if (TEST_CUDA) cr_skip_test("this build has it");
    dcsr_context *made;
    TEST_REFUSED(DCSR_ERROR_NOT_BUILT, "not built with CUDA", create_on(&made, DCSR_DEVICE_CUDA));
    cr_assert_null(made);
    setenv("DCSR_DEVICE", "cuda", 1);
    TEST_REFUSED(DCSR_ERROR_NOT_BUILT, "not built with CUDA", create_on(&made, DCSR_DEVICE_AUTO));
    unsetenv("DCSR_DEVICE");
    cr_assert_eq(test_device_of_auto(), DCSR_DEVICE_CPU);
    TEST_OK(create_on(&made, DCSR_DEVICE_AUTO));
    cr_assert_str_eq(test_context_info(made).built_for, "cpu");
    test_close(made);
}

static void *fail_in_thread(void *text)
{
    cr_assert_str_eq(dcsr_thread_error(), "");
    cr_assert_eq(dcsr_thread_status(), DCSR_OK);
    dcsr_i_fail(DCSR_ERROR_IO, "the other thread's %d", 1);
    strcpy(text, dcsr_thread_error());
    return NULL;
}

Test(error, is_kept_per_thread)
{
    cr_assert_str_eq(dcsr_thread_error(), "", "nothing has failed yet");
    cr_assert_eq(dcsr_i_fail(DCSR_ERROR_FORMAT, "%s:%d: this thread's", "file", 12), DCSR_ERROR_FORMAT);
    char other[64];
    pthread_t thread;
    pthread_create(&thread, NULL, fail_in_thread, other);
    pthread_join(thread, NULL);
    cr_assert_str_eq(other, "the other thread's 1");
    cr_assert_str_eq(dcsr_thread_error(), "file:12: this thread's");
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_FORMAT);
    dcsr_i_fail(DCSR_ERROR_FORMAT, "again: %s", dcsr_i_error_text());
    cr_assert_str_eq(dcsr_thread_error(), "again: file:12: this thread's");
}

Test(error, is_cut_where_it_is_too_long)
{
    char name[5000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    dcsr_i_fail(DCSR_ERROR_IO, "%s", name);
    size_t length = strlen(dcsr_thread_error());
    cr_assert(length >= 512 && length < sizeof name);
}

Test(status, has_words_for_every_number)
{
    for (int a = DCSR_OK; a >= DCSR_ERROR_DEADLOCK; a--) {
        const char *words = dcsr_status_name((dcsr_status)a);
        cr_assert(words && *words);
        cr_assert_str_neq(words, "unknown status", "%d has no words", a);
        for (int b = DCSR_OK; b > a; b--) cr_assert_str_neq(words, dcsr_status_name((dcsr_status)b));
    }
    const int unknown[] = {1, 1000, DCSR_ERROR_DEADLOCK - 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_assert_str_eq(dcsr_status_name((dcsr_status)unknown[i]), "unknown status");
}

Test(types, sizes_and_names)
{
    cr_assert_eq(dcsr_type_size(DCSR_PATTERN), 0);
    cr_assert_str_eq(dcsr_type_name(DCSR_PATTERN), "pattern");
#define DCSR_X(NAME, name, ctype, minimum, maximum)           \
    cr_assert_eq(dcsr_type_size(DCSR_##NAME), sizeof(ctype)); \
    cr_assert_str_eq(dcsr_type_name(DCSR_##NAME), #name);
#include <dcsr/types.def>
#undef DCSR_X
    const int unknown[] = {-1, DCSR_TYPE_COUNT, INT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        cr_assert_eq(dcsr_type_size((dcsr_type)unknown[i]), 0);
        cr_assert_null(dcsr_type_name((dcsr_type)unknown[i]));
        cr_assert_null(dcsr_policy_name((dcsr_policy)unknown[i] + (unknown[i] == DCSR_TYPE_COUNT)));
    }
    static const char *const policies[] = {"default", "keep", "sum", "min", "max", "last", "any"};
    for (int policy = 0; policy < DCSR_POLICY_COUNT; policy++)
        cr_assert_str_eq(dcsr_policy_name((dcsr_policy)policy), policies[policy]);
    cr_assert_null(dcsr_policy_name(DCSR_POLICY_COUNT));
}

Test(version, is_three_numbers)
{
    unsigned major, minor, patch;
    char rest;
    cr_assert_eq(sscanf(dcsr_version(), "%u.%u.%u%c", &major, &minor, &patch, &rest), 3, "%s",
                 dcsr_version());
}

/* ---- Threads ---- */

enum { BUSY_ROWS = 3000, BUSY_ENTRIES = 200000, BUSY_COLUMNS = 3 };

/* Sums of which the last bits depend on how the work is cut. */
typedef struct busy_sums {
    double total, of_vector, pushed[BUSY_ROWS], pulled[BUSY_ROWS], of_columns[BUSY_ROWS];
    double dense[BUSY_ROWS * BUSY_COLUMNS];
} busy_sums;

static void read_vector(const dcsr_vector *w, double *values)
{
    uint64_t n;
    TEST_OK(dcsr_vector_get_entries(w, BUSY_ROWS, NULL, values, &n));
    cr_assert_eq(n, BUSY_ROWS);
}

static void take_sums(busy_sums *sums, dcsr_context *context, dcsr_view *view, const double *numbers)
{
    const dcsr_monoid *plus = dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64);
    const dcsr_semiring *ring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_vector *u, *w, *large;
    TEST_OK(dcsr_vector_create(&u, context, DCSR_FP64, BUSY_ROWS));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_FP64, BUSY_ROWS));
    TEST_OK(dcsr_vector_create(&large, context, DCSR_FP64, BUSY_ENTRIES));
    for (uint64_t i = 1; i < BUSY_ROWS; i++) TEST_OK(dcsr_vector_set(u, i, &numbers[i]));
    for (uint64_t i = 0; i < BUSY_ENTRIES; i++) TEST_OK(dcsr_vector_set(large, i, &numbers[i]));
    TEST_OK(dcsr_matrix_reduce(&sums->total, NULL, plus, view));
    TEST_OK(dcsr_vector_reduce(&sums->of_vector, NULL, plus, large));
    TEST_OK(dcsr_matrix_reduce_rows(w, NULL, NULL, plus, view, &(dcsr_desc){.transpose_a = true}));
    read_vector(w, sums->of_columns);
    TEST_OK(dcsr_mxv(w, NULL, NULL, ring, view, u, &(dcsr_desc){.direction = DCSR_DIRECTION_PULL}));
    read_vector(w, sums->pulled);
    TEST_OK(dcsr_mxv(w, NULL, NULL, ring, view, u, &(dcsr_desc){.direction = DCSR_DIRECTION_PUSH}));
    read_vector(w, sums->pushed);
    TEST_OK(dcsr_spmm(sums->dense, NULL, NULL, ring, view, numbers, BUSY_COLUMNS, NULL));
    dcsr_vector_destroy(u), dcsr_vector_destroy(w), dcsr_vector_destroy(large);
}

/* On a busy machine little work stays in the calling thread, and much does not; what comes out has the same
 * bits. */
Test(threads, little_work_is_not_shared_on_a_busy_machine)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 3}));
    uint64_t *rows = test_allocate(BUSY_ENTRIES, sizeof *rows),
             *cols = test_allocate(BUSY_ENTRIES, sizeof *cols);
    double *numbers = test_allocate(BUSY_ENTRIES, sizeof *numbers);
    test_random random = {1};
    for (uint64_t i = 0; i < BUSY_ENTRIES; i++) {
        rows[i] = i % 2 ? 7 : i / 2 % BUSY_ROWS; /* half of them in one row */
        cols[i] = test_random_below(&random, BUSY_ROWS);
        numbers[i] = 1 / (1 + (double)(test_random_next(&random) >> 11));
    }
    busy_sums *sums = test_allocate(2, sizeof *sums);
    for (int busy = 0; busy < 2; busy++) {
        dcsr_i_assume_busy(busy);
        cr_assert_eq(dcsr_i_threads(context, 1000), 1);
        cr_assert_eq(dcsr_i_threads(context, 200000), busy ? 1 : 3);
        cr_assert_eq(dcsr_i_threads(context, 10000000), 3);
        cr_assert_eq(dcsr_i_shares(context, 200000), 3);
        /* A matrix each, since a transpose that the first sums ask for would serve the others too. */
        dcsr_matrix *A = test_matrix(context, DCSR_FP64, BUSY_ROWS, BUSY_ROWS, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(A, BUSY_ENTRIES, rows, cols, numbers, NULL));
        TEST_OK(dcsr_matrix_wait(A));
        dcsr_view *view = test_view(A, DCSR_LAYOUT_SEGMENTS, 0);
        take_sums(&sums[busy], context, view, numbers);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(A);
    }
    cr_assert(sums[0].total == sums[1].total && sums[0].of_vector == sums[1].of_vector);
    cr_assert(!memcmp(sums[0].pushed, sums[1].pushed, sizeof sums->pushed), "push");
    cr_assert(!memcmp(sums[0].pulled, sums[1].pulled, sizeof sums->pulled), "pull");
    cr_assert(!memcmp(sums[0].of_columns, sums[1].of_columns, sizeof sums->of_columns), "columns");
    cr_assert(!memcmp(sums[0].dense, sums[1].dense, sizeof sums->dense), "spmm");
    dcsr_i_assume_busy(-1);
    cr_assert_geq(dcsr_i_threads(context, 200000), 1);
    dcsr_i_assume_busy(0);
    free(rows), free(cols), free(numbers), free(sums);
    test_close(context);
}
