/* test_mxv.c: products with a vector by hand: meaning, ways, refusals, failures. Random ones:
 * test_mxv_random.c. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/rowtable.h"
#include <dcsr/mxv.h>
#include "tests/support/support.h"
#include <stdio.h>

enum { N = 4 };

/*      . 2 . .
 *      3 . 5 .
 *      . . . .
 *      . 7 . 1     and a vector of type T. */
typedef struct subject {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_vector *u, *w;
} subject;

static void set_up(subject *s, dcsr_type type)
{
    s->context = test_context(2);
    s->matrix = test_matrix(s->context, type, N, N, DCSR_POLICY_LAST);
    TEST_INSERT(s->matrix, {0, 1, 2}, {1, 0, 3}, {1, 2, 5}, {3, 1, 7}, {3, 3, 1});
    s->view = test_view(s->matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_vector_create(&s->u, s->context, DCSR_INT32, N));
    TEST_OK(dcsr_vector_create(&s->w, s->context, DCSR_INT32, N));
}

static void tear_down(subject *s)
{
    dcsr_vector_destroy(s->u);
    dcsr_vector_destroy(s->w);
    dcsr_view_destroy(s->view);
    dcsr_matrix_destroy(s->matrix);
    test_close(s->context);
}

/* Elements as text, "." for what is missing; in either direction. */
static void put(dcsr_vector *vector, const char *elements)
{
    TEST_OK(dcsr_vector_clear(vector));
    for (uint64_t i = 0; elements[i]; i++) {
        int32_t value = elements[i] - '0';
        if (elements[i] != '.') TEST_OK(dcsr_vector_set(vector, i, &value));
    }
}

#define SHOWS(vector, ...) shows(vector, #__VA_ARGS__, (const int[]){__VA_ARGS__})
enum { NONE = -1000 };
static void shows(const dcsr_vector *vector, const char *text, const int expected[N])
{
    for (uint64_t i = 0; i < N; i++) {
        int32_t value = NONE;
        bool stored;
        TEST_OK(dcsr_vector_get(vector, i, &value, &stored));
        cr_assert(value == expected[i], "element %d is %d, not as in %s", (int)i, value, text);
    }
}

static const dcsr_semiring *of(dcsr_semiring_name name)
{
    return dcsr_semiring_of(name, DCSR_INT32);
}

static const dcsr_direction ways[] = {DCSR_DIRECTION_AUTO, DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PULL};
enum { WAYS = 3 };

Test(mxv, is_the_sum_of_products_that_exist)
{
    subject s;
    set_up(&s, DCSR_INT32);
    for (int way = 0; way < WAYS; way++) {
        dcsr_desc plain = {.direction = ways[way]};
        dcsr_desc transposed = {.direction = ways[way], .transpose_a = true, .transpose_b = true};
        put(s.u, "12.4");
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_PLUS_TIMES), s.view, s.u, &plain));
        SHOWS(s.w, 4, 3, NONE, 18);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, of(DCSR_PLUS_TIMES), s.u, s.view, &transposed));
        SHOWS(s.w, 4, 3, NONE, 18);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, of(DCSR_PLUS_TIMES), s.u, s.view, &plain));
        SHOWS(s.w, 6, 30, 10, 4);
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_PLUS_TIMES), s.view, s.u, &transposed));
        SHOWS(s.w, 6, 30, 10, 4);
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_MIN_PLUS), s.view, s.u, &plain));
        SHOWS(s.w, 4, 4, NONE, 5);
    }
    tear_down(&s);
}

Test(mxv, multiplies_in_the_order_of_its_name)
{
    subject s;
    set_up(&s, DCSR_INT32);
    for (int way = 0; way < WAYS; way++) {
        dcsr_desc desc = {.direction = ways[way]};
        put(s.u, ".9..");
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_ANY_FIRST), s.view, s.u, &desc));
        SHOWS(s.w, 2, NONE, NONE, 7);
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_ANY_SECOND), s.view, s.u, &desc));
        SHOWS(s.w, 9, NONE, NONE, 9);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, of(DCSR_ANY_FIRST), s.u, s.view, &desc));
        SHOWS(s.w, 9, NONE, 9, NONE);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, of(DCSR_PLUS_SECOND), s.u, s.view, &desc));
        SHOWS(s.w, 3, NONE, 5, NONE);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, of(DCSR_PLUS_PAIR), s.u, s.view, &desc));
        SHOWS(s.w, 1, NONE, 1, NONE);
        /* A pair that is in no table. */
        dcsr_semiring *minus;
        TEST_OK(dcsr_semiring_create(&minus, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT32),
                                     dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_INT32)));
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, minus, s.view, s.u, &desc));
        SHOWS(s.w, -7, NONE, NONE, -2);
        TEST_OK(dcsr_vxm(s.w, NULL, NULL, minus, s.u, s.view, &desc));
        SHOWS(s.w, 6, NONE, 4, NONE);
        dcsr_semiring_destroy(minus);
    }
    tear_down(&s);
}

Test(mxv, any_takes_one_of_the_terms)
{
    subject s;
    set_up(&s, DCSR_INT32);
    for (int way = 0; way < WAYS; way++) {
        dcsr_desc desc = {.direction = ways[way]};
        int32_t value = 0;
        bool stored;
        put(s.u, "1234");
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_ANY_SECOND), s.view, s.u, &desc));
        TEST_OK(dcsr_vector_get(s.w, 1, &value, &stored));
        cr_assert(stored && (value == 1 || value == 3));
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, of(DCSR_ANY_FIRST), s.view, s.u, &desc));
        TEST_OK(dcsr_vector_get(s.w, 3, &value, &stored));
        cr_assert(stored && (value == 7 || value == 1));
    }
    tear_down(&s);
}

Test(mxv, counts_an_entry_as_often_as_it_stands)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, N, N, DCSR_POLICY_KEEP);
    TEST_INSERT(matrix, {1, 2, 3}, {1, 2, 4});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    dcsr_vector *u, *w;
    TEST_OK(dcsr_vector_create(&u, context, DCSR_INT32, N));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_INT32, N));
    put(u, "..2.");
    for (int way = 0; way < WAYS; way++) {
        dcsr_desc desc = {.direction = ways[way]};
        TEST_OK(dcsr_mxv(w, NULL, NULL, of(DCSR_PLUS_TIMES), view, u, &desc));
        SHOWS(w, NONE, 14, NONE, NONE);
        TEST_OK(dcsr_mxv(w, NULL, NULL, of(DCSR_PLUS_PAIR), view, u, &desc));
        SHOWS(w, NONE, 2, NONE, NONE);
    }
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(mxv, goes_the_way_that_is_asked_for_and_else_the_cheaper_one)
{
    enum { SIZE = 5000 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, SIZE, SIZE, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(SIZE * 10, sizeof *rows), *cols = test_allocate(SIZE * 10, sizeof *cols);
    for (uint64_t k = 0; k < SIZE * 10; k++) rows[k] = k % SIZE, cols[k] = (k * 7 + k / SIZE) % SIZE;
    TEST_OK(dcsr_matrix_insert(matrix, SIZE * 10, rows, cols, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_vector *few, *all, *w;
    TEST_OK(dcsr_vector_create(&few, context, DCSR_BOOL, SIZE));
    TEST_OK(dcsr_vector_create(&all, context, DCSR_BOOL, SIZE));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_BOOL, SIZE));
    TEST_OK(dcsr_vector_set(few, 17, &(bool){true}));
    TEST_OK(dcsr_vector_fill(all, &(bool){true}));
    dcsr_report report;
    dcsr_desc desc = {.report = &report, .device = DCSR_DEVICE_CPU};
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    /* Without the transpose there is one way, and the other makes it. */
    TEST_OK(dcsr_mxv(w, NULL, NULL, semiring, view, few, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PULL && report.device == DCSR_DEVICE_CPU);
    TEST_OK(dcsr_vxm(w, NULL, NULL, semiring, all, view, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PUSH && report.entries == SIZE * 10);
    desc.direction = DCSR_DIRECTION_PULL;
    TEST_OK(dcsr_vxm(w, NULL, NULL, semiring, all, view, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PULL);
    desc.direction = DCSR_DIRECTION_AUTO;
    TEST_OK(dcsr_mxv(w, NULL, NULL, semiring, view, few, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PUSH && report.entries == 10);
    TEST_OK(dcsr_vxm(w, NULL, NULL, semiring, few, view, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PUSH && report.entries == 10);
    TEST_OK(dcsr_vxm(w, NULL, NULL, semiring, all, view, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PULL);
    /* A mask of one element: one row. */
    desc.mask_structure = true;
    TEST_OK(dcsr_vxm(w, few, NULL, semiring, all, view, &desc));
    cr_assert(report.direction == DCSR_DIRECTION_PULL && report.entries <= 1);
    dcsr_vector_destroy(few);
    dcsr_vector_destroy(all);
    dcsr_vector_destroy(w);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* w<not visited> = A u over `name`; returns how many elements that has. */
static uint64_t step(subject *s, const dcsr_vector *visited, dcsr_semiring_name name, dcsr_desc desc)
{
    uint64_t n;
    desc.mask_complement = desc.mask_structure = desc.replace = true;
    desc.device = DCSR_DEVICE_CPU;
    TEST_OK(dcsr_mxv(s->w, visited, NULL, of(name), s->view, s->u, &desc));
    TEST_OK(dcsr_vector_get_nvals(s->w, &n));
    return n;
}

/* A step of a search gives the same with the vector that was visited last and with all that were. Told that
 * it does where it does not, the product shows which of them it has read. */
Test(mxv, pulls_from_the_mask_where_that_is_said_to_do)
{
    const dcsr_desc pull = {.direction = DCSR_DIRECTION_PULL, .pull_from_mask = true};
    subject s;
    dcsr_vector *visited;
    set_up(&s, DCSR_INT32);
    TEST_OK(dcsr_vector_create(&visited, s.context, DCSR_INT32, N));
    for (int dense = 0; dense < 2; dense++)
        for (int k = 0; k < WAYS; k++)
            for (int from_mask = 0; from_mask < 2; from_mask++) {
                const dcsr_desc desc = {.direction = ways[k], .pull_from_mask = from_mask};
                put(visited, ".1..");
                put(s.u, ".0..");
                TEST_OK(dcsr_vector_set_format(visited, dense ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE));
                cr_assert_eq(step(&s, visited, DCSR_ANY_PAIR, desc), 2);
                SHOWS(s.w, 1, NONE, NONE, 1);
                put(visited, "21.2");
                put(s.u, "2..2");
                cr_assert_eq(step(&s, visited, DCSR_PLUS_PAIR, desc), 0);
            }
    put(visited, ".1..");
    put(s.u, "....");
    TEST_OK(dcsr_vector_set_format(visited, DCSR_VECTOR_DENSE));
    cr_assert_eq(step(&s, visited, DCSR_ANY_PAIR, pull), 2, "the mask was not read");
    cr_assert_eq(step(&s, visited, DCSR_PLUS_FIRST, pull), 2, "the mask was not read");
    cr_assert_eq(step(&s, visited, DCSR_PLUS_SECOND, pull), 0, "u was not read, whose values are wanted");
    TEST_OK(dcsr_vector_set_format(visited, DCSR_VECTOR_SPARSE));
    cr_assert_eq(step(&s, visited, DCSR_ANY_PAIR, pull), 0, "a mask in the wrong form was read");
    dcsr_vector_destroy(visited);
    tear_down(&s);
}

Test(mxv, refuses_what_does_not_fit)
{
    subject s;
    set_up(&s, DCSR_INT32);
    dcsr_context *elsewhere = test_context(1);
    dcsr_vector *longer, *foreign;
    TEST_OK(dcsr_vector_create(&longer, s.context, DCSR_INT32, N + 1));
    TEST_OK(dcsr_vector_create(&foreign, elsewhere, DCSR_INT32, N));
    const dcsr_semiring *semiring = of(DCSR_PLUS_TIMES);
    put(s.w, "12.4");
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "mxv", dcsr_mxv(NULL, NULL, NULL, semiring, s.view, s.u, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "u", dcsr_mxv(s.w, NULL, NULL, semiring, s.view, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view", dcsr_vxm(s.w, NULL, NULL, semiring, s.u, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "semiring is NULL",
                 dcsr_mxv(s.w, NULL, NULL, dcsr_semiring_of(DCSR_LOR_LAND, DCSR_INT32), s.view, s.u, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "4 x 4",
                 dcsr_mxv(longer, NULL, NULL, semiring, s.view, s.u, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "vxm",
                 dcsr_vxm(s.w, NULL, NULL, semiring, longer, s.view, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "mask",
                 dcsr_mxv(s.w, longer, NULL, semiring, s.view, s.u, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "context",
                 dcsr_mxv(s.w, NULL, NULL, semiring, s.view, foreign, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "context",
                 dcsr_mxv(foreign, NULL, NULL, semiring, s.view, foreign, NULL));
    SHOWS(s.w, 1, 2, NONE, 4);
    dcsr_vector_destroy(longer);
    dcsr_vector_destroy(foreign);
    tear_down(&s);
    test_close(elsewhere);
}

/* A sum, or a product, that fails the call it is told to: *user is how many it has left. */
static bool plus(void *z, const void *x, const void *y, void *user)
{
    *(int32_t *)z = *(const int32_t *)x + *(const int32_t *)y;
    return !user || (*(int *)user)-- > 0;
}

Test(mxv, passes_on_what_a_users_function_says)
{
    subject s;
    set_up(&s, DCSR_INT32);
    int left = 0;
    dcsr_binary_op *add, *multiply;
    dcsr_monoid *monoid;
    dcsr_semiring *semiring;
    TEST_OK(dcsr_binary_op_create(&add, "add", DCSR_INT32, DCSR_INT32, DCSR_INT32, plus, NULL));
    TEST_OK(dcsr_binary_op_create(&multiply, "join", DCSR_INT32, DCSR_INT32, DCSR_INT32, plus, &left));
    TEST_OK(dcsr_monoid_create(&monoid, add, &(int32_t){0}, NULL));
    TEST_OK(dcsr_semiring_create(&semiring, monoid, multiply));
    put(s.u, "12.4");
    for (int way = 0; way < WAYS; way++) {
        dcsr_desc desc = {.direction = ways[way]};
        for (int most = 0; most < 4; most++) {
            put(s.w, "9..9");
            left = most;
            TEST_REFUSED(DCSR_ERROR_CALLBACK, "join",
                         dcsr_mxv(s.w, NULL, NULL, semiring, s.view, s.u, &desc));
            SHOWS(s.w, 9, NONE, NONE, 9);
        }
        left = 4;
        TEST_OK(dcsr_mxv(s.w, NULL, NULL, semiring, s.view, s.u, &desc));
        SHOWS(s.w, 4, 4, NONE, 14);
    }
    dcsr_semiring_destroy(semiring);
    dcsr_monoid_destroy(monoid);
    dcsr_binary_op_destroy(add);
    dcsr_binary_op_destroy(multiply);
    tear_down(&s);
}

/* One element, or all, of a longer vector, so that each way of collecting a push is met. */
static void fail_every_allocation(dcsr_semiring_name name, uint64_t size, bool full, dcsr_direction way,
                                  bool masked)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, size, size, DCSR_POLICY_LAST);
    for (uint64_t i = 0; i < 8; i++) TEST_INSERT(matrix, {i, 3 * i, 1}, {i, 2 * i, 2});
    dcsr_vector *u, *w, *mask;
    TEST_OK(dcsr_vector_create(&u, context, DCSR_FP32, size));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_INT32, size));
    TEST_OK(dcsr_vector_create(&mask, context, DCSR_INT32, size));
    if (full) TEST_OK(dcsr_vector_fill(u, &(float){1}));
    for (uint64_t i = 0; i < 5; i++) TEST_OK(dcsr_vector_set(u, i, &(float){2}));
    for (uint64_t i = 0; i < 9; i++) TEST_OK(dcsr_vector_set(mask, i, &(int32_t){i % 4 != 0}));
    TEST_OK(dcsr_vector_set(w, 5, &(int32_t){77}));
    const dcsr_desc desc = {
        .direction = way, .mask_complement = masked && size % 2, .replace = true, .device = DCSR_DEVICE_CPU};
    const dcsr_semiring *semiring = dcsr_semiring_of(name, DCSR_INT64);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t most = 0;
    for (; status == DCSR_ERROR_OUT_OF_MEMORY; most++) {
        uint64_t n;
        int32_t value = 0;
        bool stored;
        dcsr_i_fail_allocations_after((long)most);
        status = dcsr_mxv(w, masked ? mask : NULL, NULL, semiring, view, u, &desc);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
        TEST_OK(dcsr_vector_get_nvals(w, &n));
        TEST_OK(dcsr_vector_get(w, 5, &value, &stored));
        cr_assert(n == 1 && value == 77, "the output has been touched by a call that failed");
    }
    cr_assert(status == DCSR_OK && most > 0, "no allocation was made to fail");
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    dcsr_vector_destroy(mask);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(mxv, leaves_the_output_alone_when_memory_runs_out)
{
    static const dcsr_semiring_name names[] = {DCSR_PLUS_TIMES, DCSR_ANY_PAIR, DCSR_ANY_FIRST};
    /* The largest are for what the host does with many elements. */
#ifdef DCSR_SIMT
    static const uint64_t sizes[] = {50, 51, 3000};
#else
    static const uint64_t sizes[] = {50, 51, 3000, 200000, 200001};
#endif
    for (size_t name = 0; name < sizeof names / sizeof *names; name++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++)
            for (int k = 0; k < 8; k++)
                fail_every_allocation(names[name], sizes[size], k & 1,
                                      k & 2 ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL, k & 4);
}
