/* test_mxm_places_device.c: products on a device at places that are known, of a mask or of C: every table and its
 * borders, places that need several, dots, the order of terms, broken promises. The cpu's product is expected. */
#include "tests/support/support_triples.h"
#include <dcsr/mxm.h>

/* One call, in both contexts. */
typedef struct problem {
    const matrices *A, *B, *mask; /* mask: NULL for none */
    const dcsr_semiring *ring;
    const dcsr_binary_op *accum;
    dcsr_type type; /* of C */
    uint64_t held;  /* entries of C before, about */
    dcsr_desc desc;
} problem;

static void run(parity *p, const problem *x, const char *what)
{
    dcsr_view *view[PLACES];
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(x->mask->in[HERE], &info));
    matrices C = parity_matrix(p, x->type, info.rows, info.cols, x->held, 1, 1, DCSR_POLICY_LAST);
    for (int c = 0; c < PLACES; c++) {
        dcsr_report report;
        dcsr_desc desc = x->desc;
        desc.report = &report;
        TEST_OK(dcsr_mxm(C.in[c], x->mask->view[c], x->accum, x->ring, x->A->view[c], x->B->view[c], &desc));
        cr_assert_eq(report.device, c == THERE ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, "%s", what);
        view[c] = test_view(C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    }
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
    parity_free_matrix(&C);
}

/* With each kind of mask, over some semirings and types, into C that is empty and that is not; or one in `step` of
 * these. */
static void run_all(parity *p, problem x, int step, const char *what)
{
    const struct {
        const dcsr_semiring *ring;
        dcsr_type type;
    } rings[] = {{dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), DCSR_FP64},
                 {dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), DCSR_INT16},
                 {dcsr_semiring_of(DCSR_PLUS_PAIR, DCSR_INT64), DCSR_INT64},
                 {dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_UINT8), DCSR_UINT8},
                 {dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), DCSR_PATTERN}};
    for (int k = 0; k < 14; k += step) {
        x.desc.mask_complement = k >= 10; /* rows without regard to places, of which some are dropped then */
        x.ring = rings[k % 5].ring;
        x.type = rings[k % 5].type;
        x.desc.mask_structure = k & 1;
        x.desc.replace = k / 2 & 1;
        x.held = k % 3 ? 300 : 0;
        x.accum = k % 4 == 3 ? dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT32) : NULL;
        run(p, &x, what);
    }
}

/* Rows of the mask at the borders of tables and of what these hold, with products in all columns or in few. */
Test(mxm_places_device, works_at_the_borders_of_tables)
{
    static const uint64_t sizes[] = {0,  1,  2,  15, 16, 17, 23, 24,  25,  31, 32,
                                     47, 48, 49, 63, 64, 96, 97, 192, 193, 400};
    enum { SIZES = sizeof sizes / sizeof *sizes, INNER = 60, COLS = 900 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 31);
    for (int batches = 1; batches <= 3; batches += 2) {
        triples A = {.rows = 3 * SIZES, .cols = INNER}, B = {.rows = INNER, .cols = COLS},
                M = {.rows = 3 * SIZES, .cols = COLS};
        for (uint64_t i = 0; i < A.rows; i++) {
            const uint64_t terms = i < SIZES ? 1 : i < 2 * SIZES ? 5 : i % 2 * INNER;
            for (uint64_t k = 0; k < terms; k++) test_add(&A, i, (i * 7 + k) % INNER, 1 + (double)(k % 3));
            for (uint64_t k = 0; k < sizes[i % SIZES]; k++)
                test_add(&M, i, (i + k * (i % 3 + 1)) % COLS, (double)(k % 4));
        }
        for (uint64_t i = 0; i < INNER; i++)
            for (uint64_t k = 0; k < 1 + i % 40; k++)
                test_add(&B, i, (i * 31 + k * k) % COLS, (double)(k % 5));
        matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, batches),
                 mask = parity_make(&p, &M, DCSR_INT8, batches);
        run_all(&p, (problem){.A = &a, .B = &b, .mask = &mask}, 1, "borders");
        parity_free_matrix(&a), parity_free_matrix(&b), parity_free_matrix(&mask);
    }
    parity_close(&p);
    close_device();
}

/* A row of A and one of the mask with everything; rows without anything; columns that nothing names. */
Test(mxm_places_device, multiplies_one_row_with_everything)
{
    enum { SIDE = 260, COLS = 1500 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 32);
    triples A = {.rows = SIDE, .cols = SIDE}, B = {.rows = SIDE, .cols = COLS},
            M = {.rows = SIDE, .cols = COLS};
    for (uint64_t k = 0; k < SIDE; k++) test_add(&A, 100, k, 1), test_add(&A, k, 7, 2);
    for (uint64_t i = 0; i < SIDE; i++)
        for (uint64_t k = 0; k < 30; k++)
            test_add(&B, i, test_random_below(&p.random, COLS), 1 + (double)(k % 3));
    for (uint64_t k = 0; k < COLS; k++) test_add(&M, 100, k, (double)(k % 3)), test_add(&M, k % SIDE, 3, 1);
    matrices a = parity_make(&p, &A, DCSR_INT32, 1), b = parity_make(&p, &B, DCSR_INT32, 2),
             mask = parity_make(&p, &M, DCSR_FP32, 1);
    run_all(&p, (problem){.A = &a, .B = &b, .mask = &mask}, 1, "a full row");
    parity_free_matrix(&a), parity_free_matrix(&b), parity_free_matrix(&mask);
    parity_close(&p);
    close_device();
}

/* ---- Dots ---- */

/* A mask of few places, and rows of B^T that are asked for or at hand: sorted, where places are dots, and in pieces,
 * where they cannot be; rows of most lengths, alike and not. */
Test(mxm_places_device, takes_dots_of_rows)
{
    enum { ROWS = 90, INNER = 400, COLS = 70 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 33);
    for (int round = 0; round < 8; round++) {
        const bool turned = round & 1, ordered = round >= 6;
        const int batches = round & 2 ? 3 : 1;
        triples A = {.rows = ROWS, .cols = INNER}, M = {.rows = ROWS, .cols = COLS},
                B = {.rows = turned ? COLS : INNER, .cols = turned ? INNER : COLS};
        for (uint64_t i = 0; i < ROWS; i++)
            for (uint64_t k = 0; k < INNER; k += 1 + i % 20 * (i % 20))
                test_add(&A, i, k, 1 + (double)(k % 3));
        for (uint64_t i = 0; i < COLS; i++)
            for (uint64_t k = i % 3; k < INNER; k += 1 + i % 7)
                test_add(&B, turned ? i : k, turned ? k : i, (double)(k % 4));
        for (uint64_t i = 0; i < 120; i++)
            test_add(&M, test_random_below(&p.random, ROWS), test_random_below(&p.random, COLS),
                     (double)(i % 3));
        matrices a = parity_make(&p, &A, DCSR_FP64, batches), b = parity_make(&p, &B, DCSR_FP64, batches),
                 mask = parity_make(&p, &M, DCSR_BOOL, 1);
        if (!turned) /* a CSC view leaves the transpose there for others */
            for (int c = 0; c < PLACES; c++) dcsr_view_destroy(test_view(b.in[c], DCSR_LAYOUT_CSC, 0));
        run_all(
            &p,
            (problem){
                .A = &a, .B = &b, .mask = &mask, .desc = {.transpose_b = turned, .deterministic = ordered}},
            3, turned ? "rows of B" : "a transpose at hand");
        parity_free_matrix(&a), parity_free_matrix(&b), parity_free_matrix(&mask);
    }
    parity_close(&p);
    close_device();
}

/* Numbers that round: in the order of A's entries sums are the cpu's, by tables and by dots. */
Test(mxm_places_device, adds_in_order_where_asked)
{
    enum { SIDE = 120 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 34);
    for (int dense = 0; dense < 2; dense++) {
        triples A = {.rows = SIDE, .cols = SIDE}, B = {.rows = SIDE, .cols = SIDE},
                M = {.rows = SIDE, .cols = SIDE};
        for (uint64_t i = 0; i < SIDE; i++)
            for (uint64_t k = 0; k < SIDE; k++) {
                if (k % (1 + i % 5) == 0)
                    test_add(&A, i, k, 1 / (1.0 + (double)test_random_below(&p.random, 999)));
                if (k % (1 + i % 3) == 0)
                    test_add(&B, i, k, -1 / (1.0 + (double)test_random_below(&p.random, 999)));
                if ((i + k) % (dense ? 2 : 50) == 0) test_add(&M, i, k, 1);
            }
        matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1),
                 mask = parity_make(&p, &M, DCSR_BOOL, 1);
        problem x = {.A = &a,
                     .B = &b,
                     .mask = &mask,
                     .ring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64),
                     .type = DCSR_FP64,
                     .desc = {.deterministic = true, .transpose_b = true}};
        run(&p, &x, "in order");
        x.desc.transpose_b = false;
        run(&p, &x, "in order, B as it is");
        parity_free_matrix(&a), parity_free_matrix(&b), parity_free_matrix(&mask);
    }
    parity_close(&p);
    close_device();
}

static void assert_same(const matrices *C, const char *what)
{
    dcsr_view *view[PLACES];
    for (int c = 0; c < PLACES; c++) view[c] = test_view(C->in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
}

/* Each allocation of the call fails once: C is as it was, and nothing is left behind. */
Test(mxm_places_device, leaves_nothing_behind_when_memory_runs_out)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 36);
    for (int round = 0; round < 2; round++) {
        matrices a = parity_matrix(&p, DCSR_FP64, 60, 60, 900, 0, 1, DCSR_POLICY_LAST),
                 mask = parity_matrix(&p, DCSR_FP64, 60, 60, round ? 40 : 900, 0, 1, DCSR_POLICY_LAST),
                 C = parity_matrix(&p, DCSR_FP64, 60, 60, 0, 0, 1, DCSR_POLICY_LAST);
        const dcsr_semiring *ring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
        const dcsr_desc desc = {.transpose_b = round == 1, .replace = true};
        for (int c = 0; c < PLACES; c++)
            TEST_OK(dcsr_mxm(C.in[c], NULL, NULL, ring, a.view[c], a.view[c], &desc));
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        int failures = 0;
        for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++, failures++) {
            cr_assert(n < 1000);
            dcsr_i_fail_allocations_after(n);
            status = dcsr_mxm(C.in[THERE], mask.view[THERE], NULL, ring, a.view[THERE], a.view[THERE], &desc);
            dcsr_i_fail_allocations_after(-1);
            if (status != DCSR_OK) assert_same(&C, "after a failure");
        }
        TEST_OK(status);
        cr_assert(failures > 10, "%d", failures);
        TEST_OK(dcsr_mxm(C.in[HERE], mask.view[HERE], NULL, ring, a.view[HERE], a.view[HERE], &desc));
        assert_same(&C, "when there was memory");
        parity_free_matrix(&a), parity_free_matrix(&mask), parity_free_matrix(&C);
    }
    parity_close(&p);
    close_device(); /* which checks that all memory has been given back */
}
