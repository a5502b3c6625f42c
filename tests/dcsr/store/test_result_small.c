/* test_result_small.c: small results that replace each other: what they leave behind is used again, and stays
 * for who still sees it. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include "tests/support/support_dense.h"

#include <pthread.h>
#include <stdatomic.h>

/* 30 entries of one page of rows, and a matrix for results. */
typedef struct subject {
    dcsr_context *context;
    dcsr_matrix *A, *C;
    dcsr_view *a;
} subject;

static void set_up(subject *s)
{
    s->context = test_context(2);
    s->A = test_matrix(s->context, DCSR_FP64, 100, 100, DCSR_POLICY_LAST);
    s->C = test_matrix(s->context, DCSR_FP64, 100, 100, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < 30; k++) TEST_INSERT(s->A, {k * 2, (k * 37) % 100, (double)k + 1});
    s->a = test_view(s->A, DCSR_LAYOUT_SEGMENTS, 0);
}

static void tear_down(subject *s)
{
    dcsr_view_destroy(s->a);
    dcsr_matrix_destroy(s->A);
    dcsr_matrix_destroy(s->C);
    test_close(s->context);
}

/* C = A times a number. */
static void write_result(subject *s, double times)
{
    TEST_OK(dcsr_matrix_apply_second(s->C, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_FP64), s->a,
                                     &times, NULL));
}

static void check(dcsr_view *view, const subject *s, double times)
{
    dense expected = dense_of_view(s->a), found = dense_of_view(view);
    for (uint64_t i = 0; i < 100 * 100; i++) expected.value[i] *= times;
    dense_compare(&found, &expected, "a small result");
    dense_free(&expected);
    dense_free(&found);
}

static void check_newest(const subject *s, double times)
{
    dcsr_view *view = test_view(s->C, DCSR_LAYOUT_SEGMENTS, 0);
    check(view, s, times);
    dcsr_view_destroy(view);
}

/* Together they have many times the places of a block of the arena. */
Test(result_small, give_their_places_back)
{
    subject s;
    set_up(&s);
    uint64_t bytes = 0;
    for (int k = 0; k < 2000; k++) {
        write_result(&s, k);
        if (k == 500) bytes = test_info(s.C).bytes;
    }
    check_newest(&s, 1999);
    cr_assert_eq(test_info(s.C).arena_entries, 30);
    cr_assert_leq(test_info(s.C).bytes, bytes + bytes / 4);
    tear_down(&s);
}

Test(result_small, stay_for_the_views_that_see_them)
{
    enum { VIEWS = 5 };
    subject s;
    set_up(&s);
    dcsr_view *view[VIEWS];
    for (int v = 0; v < VIEWS; v++) {
        for (int k = 0; k < 50; k++) write_result(&s, 100 * v + k);
        view[v] = test_view(s.C, DCSR_LAYOUT_SEGMENTS, 0);
    }
    for (int k = 0; k < 500; k++) write_result(&s, -k);
    for (int v = 0; v < VIEWS; v++) check(view[v], &s, 100 * v + 49);
    check_newest(&s, -499);
    cr_assert_eq(test_info(s.C).arena_entries, 30 * (VIEWS + 1));
    for (int v = 0; v < VIEWS; v++) dcsr_view_destroy(view[v]);
    cr_assert_eq(test_info(s.C).arena_entries, 30);
    tear_down(&s);
}

typedef struct reader {
    dcsr_matrix *C;
    atomic_bool stop;
} reader;

/* Holds a version for a moment, over and over; what it leaves behind is then given back by this thread. */
static void *look(void *argument)
{
    reader *r = argument;
    while (!atomic_load(&r->stop)) {
        dcsr_view *view;
        dcsr_view_info info = {0};
        if (dcsr_view_create(&view, r->C, DCSR_LAYOUT_SEGMENTS, 0) != DCSR_OK) return "no view";
        if (dcsr_view_get_info(view, &info) != DCSR_OK || info.nnz != 30) return "a version is not whole";
        dcsr_view_destroy(view);
    }
    return NULL;
}

Test(result_small, while_others_look, .timeout = 120)
{
    subject s;
    set_up(&s);
    write_result(&s, 0);
    reader r = {.C = s.C};
    pthread_t thread[2];
    for (int t = 0; t < 2; t++) cr_assert(!pthread_create(&thread[t], NULL, look, &r));
    int results = TEST_SIZE(20000, 5000, 2000);
    for (int k = 0; k < results; k++) write_result(&s, k);
    atomic_store(&r.stop, true);
    for (int t = 0; t < 2; t++) {
        void *failure;
        cr_assert(!pthread_join(thread[t], &failure));
        cr_assert_null(failure, "%s", (const char *)failure);
    }
    check_newest(&s, results - 1);
    cr_assert_eq(test_info(s.C).arena_entries, 30);
    tear_down(&s);
}

/* Rows with room to grow, several segments or deletions are more than one stretch of the arena. */
Test(result_small, after_what_is_not_contiguous)
{
    subject s;
    set_up(&s);
    for (int round = 0; round < 20; round++) {
        for (uint64_t k = 0; k < 10; k++) TEST_INSERT(s.C, {k, k + (uint64_t)round, 1}, {k + 60, k, 2});
        uint64_t rows[] = {3, 63}, cols[] = {3, 3};
        TEST_OK(dcsr_matrix_remove(s.C, 2, rows, cols, NULL));
        write_result(&s, round);
        check_newest(&s, round);
        cr_assert_eq(test_info(s.C).arena_entries, 30);
    }
    tear_down(&s);
}

#ifdef DCSR_JEMALLOC
Test(result_small, take_nothing_from_the_allocator)
{
    subject s;
    set_up(&s);
    if (test_on_device(s.context)) cr_skip_test("results of a device are collected in host memory");
    for (int k = 0; k < 20; k++) write_result(&s, k);
    uint64_t before = dcsr_i_allocations();
    for (int k = 0; k < 100; k++) write_result(&s, k);
    cr_assert_lt(dcsr_i_allocations() - before, 10, "%d allocations for 100 results",
                 (int)(dcsr_i_allocations() - before));
    tear_down(&s);
}
#endif
