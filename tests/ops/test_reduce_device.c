/* test_reduce_device.c: the entries of a matrix added up on a device, to a number and to vectors: the bits
 * that the cpu gives, over every monoid and type. */
#include "ops/algebra/operator.h"
#include <dcsr/reduce.h>
#include "tests/support/support_parity.h"

enum { ROWS = 70, COLS = 90 };

typedef enum state { ONE_PIECE, PIECES, TIGHT, KEPT, TWICE, EMPTY, STATES } state;

/* A matrix in one piece a row, in several, defragmented, with what stands twice, and without entries. */
static matrices draw(parity *p, dcsr_type type, state s)
{
    matrices A = parity_matrix(p, type, ROWS, COLS, s == EMPTY ? 0 : 900, 1, s == ONE_PIECE ? 1 : 3,
                               s == KEPT ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST);
    dcsr_layout layout = test_random_once_in(&p->random, 3) ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS;
    for (int c = 0; c < PLACES; c++) {
        if (s == TIGHT) TEST_OK(dcsr_matrix_defragment(A.in[c], DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(A.in[c]));
        dcsr_view_destroy(A.view[c]);
        A.view[c] = test_view(A.in[c], layout, s == TWICE ? DCSR_VIEW_DUPLICATES : 0);
    }
    return A;
}

/* The type itself, another, or none. */
static dcsr_type like(parity *p, dcsr_type type)
{
    switch (test_random_below(&p->random, 5)) {
    case 0:
        return DCSR_PATTERN;
    case 1:
        return parity_type(p);
    default:
        return type;
    }
}

/* Calls test(p, monoid, state) for every monoid whose sums are the same in any order: of floating-point
 * numbers products may round. */
static void for_monoids(uint64_t seed, void (*test)(parity *p, const dcsr_monoid *monoid, state s))
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, seed);
    int one_in = TEST_VARIANT(1, 5, 9) * test_one_in(), number = 0;
    for (int name = 0; name < DCSR_BINARY_NAMES; name++)
        for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
            const dcsr_monoid *monoid = dcsr_monoid_of((dcsr_binary_name)name, (dcsr_type)type);
            bool rounds = name == DCSR_BINARY_TIMES && (type == DCSR_FP32 || type == DCSR_FP64);
            if (!monoid || rounds || number++ % one_in) continue;
            p.ones = name == DCSR_BINARY_ANY;
            state s = (state)test_random_below(&p.random, STATES);
            test(&p, monoid, p.ones && s == KEPT ? PIECES : s);
        }
    parity_close(&p);
    close_device();
}

/* ---- To a number ---- */

static void assert_same_total(parity *p, const dcsr_monoid *monoid, state s)
{
    dcsr_type type = dcsr_i_monoid_type(monoid);
    const dcsr_binary_op *accum =
        test_random_once_in(&p->random, 2) ? dcsr_binary_op_of(DCSR_BINARY_PLUS, parity_type(p)) : NULL;
    matrices A = draw(p, like(p, type), s);
    dcsr_i_scalar total[PLACES] = {{0}};
    for (int c = 0; c < PLACES; c++) {
        test_encode(type, 1, &total[c]);
        TEST_OK(dcsr_matrix_reduce(&total[c], accum, monoid, A.view[c]));
    }
    cr_assert_eq(total[HERE].word, total[THERE].word, "%s on %s, state %d", monoid->op->text,
                 dcsr_type_name(type), (int)s);
    parity_free_matrix(&A);
}

Test(reduce_device, gives_the_number_of_the_cpu)
{
    for_monoids(1, assert_same_total);
}

/* ---- To a vector ---- */

typedef struct problem {
    const dcsr_monoid *monoid;
    const dcsr_binary_op *accum;
    matrices A;
    vectors w, mask;
    bool masked;
    dcsr_desc desc;
} problem;

static dcsr_status call(const problem *x, int c, dcsr_report *report)
{
    dcsr_desc desc = x->desc;
    desc.report = report;
    return dcsr_matrix_reduce_rows(x->w.in[c], x->masked ? x->mask.in[c] : NULL, x->accum, x->monoid,
                                   x->A.view[c], &desc);
}

static problem draw_problem(parity *p, const dcsr_monoid *monoid, state s)
{
    dcsr_type type = dcsr_i_monoid_type(monoid);
    problem x = {.monoid = monoid, .masked = test_random_once_in(&p->random, 2)};
    x.A = draw(p, like(p, type), s);
    x.desc = (dcsr_desc){.transpose_a = test_random_once_in(&p->random, 2),
                         .mask_complement = test_random_once_in(&p->random, 3),
                         .mask_structure = test_random_once_in(&p->random, 2),
                         .replace = test_random_once_in(&p->random, 2)};
    if (test_random_once_in(&p->random, 2)) x.accum = dcsr_binary_op_of(DCSR_BINARY_PLUS, parity_type(p));
    uint64_t size = x.desc.transpose_a ? COLS : ROWS;
    x.w = parity_vector(p, test_random_once_in(&p->random, 2) ? type : parity_type(p), size, 4);
    x.mask = parity_vector(p, parity_type(p), size, 4);
    return x;
}

static void free_problem(problem *x)
{
    parity_free_matrix(&x->A);
    parity_free_vector(&x->w), parity_free_vector(&x->mask);
}

static void assert_same_sums(parity *p, const dcsr_monoid *monoid, state s)
{
    problem x = draw_problem(p, monoid, s);
    /* With the transpose at hand, and without. */
    if (test_random_once_in(&p->random, 3)) {
        dcsr_view_destroy(x.A.view[THERE]);
        x.A.view[THERE] = test_view(x.A.in[THERE], DCSR_LAYOUT_CSC, s == TWICE ? DCSR_VIEW_DUPLICATES : 0);
    }
    dcsr_report report = {.entries = UINT64_MAX};
    TEST_OK(call(&x, HERE, NULL));
    TEST_OK(call(&x, THERE, &report));
    cr_assert_eq(report.device, DCSR_DEVICE_CUDA);
    cr_assert(report.entries <= 900 && (s == EMPTY) == !report.entries);
    cr_assert(parity_same(&x.w), "%s on %s, state %d, %s", monoid->op->text,
              dcsr_type_name(dcsr_i_monoid_type(monoid)), (int)s, x.desc.transpose_a ? "columns" : "rows");
    free_problem(&x);
}

Test(reduce_device, gives_the_vectors_of_the_cpu)
{
    for_monoids(2, assert_same_sums);
    for_monoids(3, assert_same_sums);
}

/* ---- The host, and failures ---- */

/* What cannot run on the device runs on the host, and says so. */
Test(reduce_device, leaves_the_rest_to_the_host)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 4);
    const double zero = 0;
    dcsr_binary_op *mine = parity_user_operator();
    dcsr_monoid *sum;
    TEST_OK(dcsr_monoid_create(&sum, mine, &zero, NULL));
    for (int i = 0; i < 3; i++) {
        problem x =
            draw_problem(&p, i == 1 ? sum : dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64), (state)(PIECES + i));
        x.accum = i == 2 ? mine : NULL;
        if (i == 0) x.desc.device = DCSR_DEVICE_CPU;
        dcsr_report report;
        TEST_OK(call(&x, HERE, NULL));
        TEST_OK(call(&x, THERE, &report));
        cr_assert_eq(report.device, DCSR_DEVICE_CPU);
        cr_assert(parity_same(&x.w));
        if (i) assert_same_total(&p, sum, PIECES);
        free_problem(&x);
    }
    dcsr_monoid_destroy(sum);
    dcsr_binary_op_destroy(mine);
    parity_close(&p);
    close_device();
}

static dcsr_status call_in(void *x, int c)
{
    return call(x, c, NULL);
}

/* Whatever memory is refused, w is as it was. */
static void run_short(void (*fail_after)(long), bool columns, state s)
{
    parity p;
    parity_open(&p, 5);
    problem x = draw_problem(&p, dcsr_monoid_of(DCSR_BINARY_MAX, DCSR_INT16), s);
    if (columns != x.desc.transpose_a) {
        parity_free_vector(&x.w), parity_free_vector(&x.mask);
        x.w = parity_vector(&p, DCSR_FP32, columns ? COLS : ROWS, 4);
        x.mask = parity_vector(&p, DCSR_INT8, columns ? COLS : ROWS, 4);
        x.desc.transpose_a = columns;
    }
    parity_run_short(fail_after, call_in, &x, &x.w);
    dcsr_i_scalar total[PLACES] = {{0}};
    TEST_OK(dcsr_matrix_reduce(&total[HERE], NULL, x.monoid, x.A.view[HERE]));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (; status != DCSR_OK; n++) {
        fail_after(n);
        status = dcsr_matrix_reduce(&total[THERE], NULL, x.monoid, x.A.view[THERE]);
        fail_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !total[THERE].word));
    }
    cr_assert(n > 1 && total[HERE].word == total[THERE].word);
    free_problem(&x);
    parity_close(&p);
}

Test(reduce_device, survives_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    for (int columns = 0; columns < 2; columns++) {
        run_short(dcsr_i_fail_allocations_after, columns, KEPT);
#ifdef DCSR_SIMT
        run_short(simt_fail_allocations_after, columns, PIECES);
#endif
    }
    close_device();
}
