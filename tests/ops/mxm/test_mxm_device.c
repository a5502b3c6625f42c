/* test_mxm_device.c: sparse matrix times sparse matrix on a device: the bits that the cpu gives, over every
 * semiring and type, with masks, accumulators and transposes, in one portion and in many. */
#include <dcsr/mxm.h>
#include "ops/mxm/mxm_cuda.h"
#include "tests/support/support_parity.h"

/* One call, in both contexts. */
typedef struct problem {
    const dcsr_semiring *semiring;
    const dcsr_binary_op *accum;
    matrices A, B, C, mask;
    bool masked;
    dcsr_desc desc;
} problem;

static dcsr_status call(const problem *x, int c, dcsr_report *report)
{
    dcsr_desc desc = x->desc;
    desc.report = report;
    return dcsr_mxm(x->C.in[c], x->masked ? x->mask.view[c] : NULL, x->accum, x->semiring, x->A.view[c],
                    x->B.view[c], &desc);
}

/* Of C in both contexts; returns how many there are. */
static uint64_t assert_same_content(const problem *x, const char *what)
{
    dcsr_csr csr;
    dcsr_view *view[PLACES];
    for (int c = 0; c < PLACES; c++) view[c] = test_view(x->C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    TEST_OK(dcsr_view_get_csr_on_host(view[HERE], &csr));
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
    return csr.nnz;
}

/* Carries it out in both. */
static uint64_t assert_same(const problem *x, const char *what)
{
    dcsr_report report[PLACES];
    for (int c = 0; c < PLACES; c++) TEST_OK(call(x, c, &report[c]));
    cr_assert_eq(report[THERE].device, DCSR_DEVICE_CUDA, "%s", what);
    return assert_same_content(x, what);
}

enum { ROWS = 40, INNER = 50, COLS = 45 };

/* Factors of about n entries, of which `hubs` in 4 are in one row; C and mask with some at random. */
static void draw(parity *p, problem *x, dcsr_type a, dcsr_type b, dcsr_type c, uint64_t n, uint64_t hubs,
                 dcsr_policy policy)
{
    test_random *random = &p->random;
    bool ta = test_random_once_in(random, 3), tb = test_random_once_in(random, 3);
    x->desc = (dcsr_desc){.transpose_a = ta,
                          .transpose_b = tb,
                          .mask_complement = test_random_once_in(random, 3),
                          .mask_structure = test_random_once_in(random, 2),
                          .replace = test_random_once_in(random, 2)};
    x->masked = test_random_once_in(random, 2);
    x->A = parity_matrix(p, a, ta ? INNER : ROWS, ta ? ROWS : INNER, n, hubs, 3, policy);
    x->B = parity_matrix(p, b, tb ? COLS : INNER, tb ? INNER : COLS, n, hubs, 2, policy);
    x->C = parity_matrix(p, c, ROWS, COLS, 200, 0, 1, DCSR_POLICY_LAST);
    x->mask = parity_matrix(p, parity_type(p), ROWS, COLS, 600, 1, 1, DCSR_POLICY_LAST);
}

static void free_problem(problem *x)
{
    parity_free_matrix(&x->A), parity_free_matrix(&x->B);
    parity_free_matrix(&x->C), parity_free_matrix(&x->mask);
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

Test(mxm_device, gives_the_bits_of_the_cpu)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 1);
    int one_in = TEST_VARIANT(TEST_EMULATOR ? 3 : 1, 6, 12) * test_one_in(), number = 0;
    for (int name = 0; name < DCSR_SEMIRING_NAMES; name++)
        for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
            problem x = {.semiring = dcsr_semiring_of((dcsr_semiring_name)name, (dcsr_type)type)};
            if (!x.semiring || number++ % one_in) continue;
            p.ones = parity_is_any((dcsr_semiring_name)name);
            draw(&p, &x, like(&p, (dcsr_type)type), like(&p, (dcsr_type)type), like(&p, (dcsr_type)type), 150,
                 1, DCSR_POLICY_LAST);
            if (test_random_once_in(&p.random, 2))
                x.accum = dcsr_binary_op_of(DCSR_BINARY_PLUS, parity_type(&p));
            char what[100];
            snprintf(what, sizeof what, "semiring %d on %s", name, dcsr_type_name((dcsr_type)type));
            assert_same(&x, what);
            free_problem(&x);
        }
    parity_close(&p);
    close_device();
}

Test(mxm_device, takes_semirings_of_parts)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 2);
    for (size_t i = 0; i < 2 * PARITY_SEMIRINGS; i++) {
        const parity_parts parts = parity_semiring_of_parts(i / 2);
        problem x = {.semiring = parts.semiring};
        draw(&p, &x, parts.type, like(&p, parts.type), i & 1 ? parts.sum_type : parity_type(&p), 150, 1,
             DCSR_POLICY_LAST);
        x.masked = i & 1;
        assert_same(&x, dcsr_type_name(parts.type));
        free_problem(&x);
        dcsr_semiring_destroy(parts.semiring);
    }
    parity_close(&p);
    close_device();
}

/* ---- Portions ---- */

/* Products of the row of the result that has most, and of all. */
static uint64_t count_products(const problem *x, uint64_t *all)
{
    dcsr_csr a, b;
    uint64_t most = 0;
    TEST_OK(dcsr_view_get_csr_on_host(x->A.view[HERE], &a));
    TEST_OK(dcsr_view_get_csr_on_host(x->B.view[HERE], &b));
    *all = 0;
    for (uint64_t row = 0; row < a.rows; row++) {
        uint64_t of_row = 0;
        for (uint64_t k = a.offsets[row]; k < a.offsets[row + 1]; k++)
            of_row += b.offsets[a.col_indices[k] + 1] - b.offsets[a.col_indices[k]];
        if (of_row > most) most = of_row;
        *all += of_row;
    }
    return most;
}

static void use_csr(matrices *m)
{
    for (int c = 0; c < PLACES; c++) {
        dcsr_view_destroy(m->view[c]);
        m->view[c] = test_view(m->in[c], DCSR_LAYOUT_CSR, 0);
    }
}

/* Rows that together have many more products than a portion; and one that alone has. */
Test(mxm_device, works_in_portions)
{
    enum { SIDE = 100, FULL_ROWS = 10 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 3);
    for (int round = 0; round < 6; round++) {
        bool full = round % 3 == 2, values = round % 2;
        problem x = {.semiring = dcsr_semiring_of(values ? DCSR_PLUS_TIMES : DCSR_ANY_PAIR, DCSR_INT32),
                     .masked = round % 3 == 1,
                     .desc.replace = true};
        /* Rows that are kept twice are not multiplied as they stand (test_mxm_rows_device.c). */
        x.A = parity_matrix(&p, DCSR_INT32, full ? FULL_ROWS : SIDE, SIDE, 900, full ? 3 : 0, 2,
                            DCSR_POLICY_KEEP);
        x.B = parity_matrix(&p, DCSR_INT32, SIDE, SIDE, 3000, 1, 2, DCSR_POLICY_LAST);
        x.C = parity_matrix(&p, DCSR_INT32, full ? FULL_ROWS : SIDE, SIDE, 10, 0, 1, DCSR_POLICY_LAST);
        x.mask = parity_matrix(&p, DCSR_INT32, full ? FULL_ROWS : SIDE, SIDE, 3000, 0, 1, DCSR_POLICY_LAST);
        use_csr(&x.A), use_csr(&x.B);
        uint64_t all, most = count_products(&x, &all), n = assert_same(&x, full ? "full rows" : "many rows");
        cr_assert(!TEST_EMULATOR || all > 3 * DCSR_CUDA_MXM_PRODUCTS, "%d products", (int)all);
        cr_assert(!TEST_EMULATOR || full == (most > DCSR_CUDA_MXM_PRODUCTS), "%d in a row", (int)most);
        /* The first portion's memory does not hold the rest. */
        cr_assert(full || x.masked || !TEST_EMULATOR || n > DCSR_CUDA_MXM_PRODUCTS, "%d entries", (int)n);
        free_problem(&x);
    }
    parity_close(&p);
    close_device();
}

/* Nothing to multiply: no entries, no rows, no places that the mask names. */
Test(mxm_device, gives_nothing_of_nothing)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 4);
    for (int round = 0; round < 5; round++) {
        uint64_t rows = round == 1 ? 0 : ROWS, inner = round == 2 ? 0 : INNER, cols = round == 3 ? 0 : COLS;
        problem x = {.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), .masked = round == 4};
        x.A = parity_matrix(&p, DCSR_FP64, rows, inner, round ? 200 : 0, 1, 1, DCSR_POLICY_LAST);
        x.B = parity_matrix(&p, DCSR_FP64, inner, cols, 200, 1, 1, DCSR_POLICY_LAST);
        x.C = parity_matrix(&p, DCSR_FP64, rows, cols, 50, 0, 1, DCSR_POLICY_LAST);
        x.mask = parity_matrix(&p, DCSR_FP64, rows, cols, 0, 0, 1, DCSR_POLICY_LAST);
        x.desc.replace = true;
        cr_assert_eq(assert_same(&x, "nothing"), 0);
        free_problem(&x);
    }
    parity_close(&p);
    close_device();
}

/* Entries that a view shows twice are combined before they are multiplied. */
Test(mxm_device, combines_what_stands_twice)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 5);
    for (int round = 0; round < 8; round++) {
        problem x = {.semiring = dcsr_semiring_of(DCSR_MAX_TIMES, DCSR_INT32)};
        draw(&p, &x, DCSR_INT32, DCSR_INT16, DCSR_INT32, 1500, 1,
             round % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_MAX);
        matrices *const factors[] = {&x.A, &x.B};
        for (int k = 0; k < 2; k++)
            for (int c = 0; c < PLACES; c++) {
                dcsr_view_destroy(factors[k]->view[c]);
                factors[k]->view[c] =
                    test_view(factors[k]->in[c], DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
            }
        assert_same(&x, round % 2 ? "kept" : "not combined yet");
        free_problem(&x);
    }
    parity_close(&p);
    close_device();
}

/* ---- The host, and failures ---- */

/* What cannot run on the device runs on the host, and says so. */
Test(mxm_device, leaves_the_rest_to_the_host)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 6);
    const double zero = 0;
    dcsr_binary_op *mine = parity_user_operator();
    dcsr_monoid *sum;
    dcsr_semiring *times;
    TEST_OK(dcsr_monoid_create(&sum, mine, &zero, NULL));
    TEST_OK(dcsr_semiring_create(&times, sum, dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_FP64)));
    for (int i = 0; i < 3; i++) {
        problem x = {.semiring = i == 1 ? times : dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64),
                     .accum = i == 2 ? mine : NULL};
        draw(&p, &x, DCSR_FP64, DCSR_FP64, DCSR_FP64, 200, 1, DCSR_POLICY_LAST);
        if (i == 0) x.desc.device = DCSR_DEVICE_CPU;
        dcsr_report report[PLACES];
        for (int c = 0; c < PLACES; c++) TEST_OK(call(&x, c, &report[c]));
        cr_assert_eq(report[THERE].device, DCSR_DEVICE_CPU);
        cr_assert_eq(report[THERE].entries, report[HERE].entries);
        assert_same_content(&x, "on the host");
        free_problem(&x);
    }
    dcsr_semiring_destroy(times);
    dcsr_monoid_destroy(sum);
    dcsr_binary_op_destroy(mine);
    parity_close(&p);
    close_device();
}

Test(mxm_device, refuses_shapes_that_do_not_fit)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 7);
    const dcsr_semiring *ring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    matrices A = parity_matrix(&p, DCSR_FP64, 20, 30, 100, 1, 1, DCSR_POLICY_LAST),
             C = parity_matrix(&p, DCSR_FP64, 20, 20, 100, 1, 1, DCSR_POLICY_LAST);
    dcsr_view *a = A.view[THERE], *c = C.view[THERE];
    dcsr_matrix *out = C.in[THERE];
    const dcsr_desc turned_a = {.transpose_a = true}, turned_b = {.transpose_b = true};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "A is 20 x 30, but B is 20 x 30",
                 dcsr_mxm(out, NULL, NULL, ring, a, a, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "C is 20 x 20, but the result is 30 x 30",
                 dcsr_mxm(out, NULL, NULL, ring, a, a, &turned_a));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "the mask is 20 x 30, but the result is 20 x 20",
                 dcsr_mxm(out, a, NULL, ring, a, a, &turned_b));
    TEST_OK(dcsr_mxm(out, c, NULL, ring, a, a, &turned_b));
    parity_free_matrix(&A), parity_free_matrix(&C);
    parity_close(&p);
    close_device();
}

/* Whatever memory is refused, C is as it was. */
static void run_short(void (*fail_after)(long), bool masked, dcsr_policy policy)
{
    parity p;
    parity_open(&p, 8);
    problem x = {.semiring = dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_INT16),
                 .accum = dcsr_binary_op_of(DCSR_BINARY_MAX, DCSR_INT32)};
    draw(&p, &x, DCSR_INT32, DCSR_INT8, DCSR_FP32, 600, 1, policy);
    x.masked = masked;
    x.desc.mask_complement = false;
    dcsr_view *before = test_view(x.C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(call(&x, HERE, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (; status != DCSR_OK; n += TEST_VARIANT(1, 2, 2)) {
        fail_after(n);
        status = call(&x, THERE, NULL);
        fail_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        dcsr_view *after = test_view(x.C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert(status == DCSR_OK || parity_same_entries(before, after),
                  "C changes when %d allocations succeed", n);
        dcsr_view_destroy(after);
    }
    cr_assert(n > 10, "a product takes memory in many places");
    assert_same_content(&x, "when there was memory");
    dcsr_view_destroy(before);
    free_problem(&x);
    parity_close(&p);
}

Test(mxm_device, survives_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    for (int masked = 0; masked < 2; masked++) {
        run_short(dcsr_i_fail_allocations_after, masked, masked ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST);
#ifdef DCSR_SIMT
        run_short(simt_fail_allocations_after, masked, masked ? DCSR_POLICY_LAST : DCSR_POLICY_KEEP);
#endif
    }
    close_device();
}
