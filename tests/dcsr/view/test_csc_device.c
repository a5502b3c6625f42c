/* test_csc_device.c: transposes on a device: columns of all lengths; rows
 * in pieces; more entries than are numbered; into a view and right into a matrix. The cpu's transpose is expected. */
#include "tests/support/support_triples.h"
#include <dcsr/transpose.h>

/* As CSC views of the same layouts, and as matrices: of C's type or a pattern. */
static void check(parity *p, const matrices *A, dcsr_type type, unsigned flags, const char *what)
{
    dcsr_csc csc[PLACES];
    dcsr_view *view[PLACES], *turned[PLACES];
    dcsr_matrix *C[PLACES];
    for (int c = 0; c < PLACES; c++) {
        dcsr_view *from = test_view(A->in[c], DCSR_LAYOUT_SEGMENTS, flags);
        dcsr_matrix_info info;
        TEST_OK(dcsr_matrix_get_info(A->in[c], &info));
        C[c] = test_matrix(p->in[c], type, info.cols, info.rows, DCSR_POLICY_LAST);
        for (int round = 0; round < 2; round++) /* the second in place of the first */
            TEST_OK(dcsr_matrix_transpose(C[c], NULL, NULL, from, NULL));
        dcsr_view_destroy(from);
        turned[c] = test_view(C[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        view[c] = test_view(A->in[c], DCSR_LAYOUT_CSC, flags);
        TEST_OK(dcsr_view_get_csc_on_host(view[c], &csc[c]));
    }
    const dcsr_csc *x = &csc[HERE], *y = &csc[THERE];
    cr_assert_eq(x->nnz, y->nnz, "%s", what);
    cr_assert(!memcmp(x->offsets, y->offsets, (x->cols + 1) * sizeof *x->offsets), "%s", what);
    cr_assert(!memcmp(x->row_indices, y->row_indices, x->nnz * sizeof *x->row_indices), "%s", what);
    cr_assert(!x->values || !memcmp(x->values, y->values, x->nnz * dcsr_type_size(x->type)), "%s", what);
    cr_assert(parity_same_entries(turned[HERE], turned[THERE]), "%s: as a matrix", what);
    for (int c = 0; c < PLACES; c++) {
        dcsr_view_destroy(view[c]), dcsr_view_destroy(turned[c]);
        dcsr_matrix_destroy(C[c]);
    }
}

/* The lengths at which another way is taken: 8 and 64 in the emulator, 32 and 8192 on a GPU. */
Test(csc_device, transposes_columns_of_all_lengths)
{
    static const uint64_t lengths[] = {0, 1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, ROWS = 300 };
    static const dcsr_type types[] = {DCSR_FP64, DCSR_INT8, DCSR_PATTERN, DCSR_FP32, DCSR_INT16};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 41);
    for (int round = 0; round < 5; round++) {
        const int batches = 1 + round % 3;
        triples A = {.rows = ROWS, .cols = 3 * LENGTHS};
        for (uint64_t c = 0; c < A.cols; c++) /* rows at random, each once */
            for (uint64_t k = 0, at = test_random_below(&p.random, ROWS); k < lengths[c % LENGTHS]; k++)
                test_add(&A, (at + k * 7) % ROWS, c, (double)test_random_below(&p.random, 100));
        matrices a = parity_make(&p, &A, types[round], batches);
        check(&p, &a, types[round], 0, "lengths");
        check(&p, &a, DCSR_PATTERN, DCSR_VIEW_SORTED, "as a pattern");
        check(&p, &a, DCSR_INT64, 0, "with a cast");
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* One column or row with everything; nothing at all; many empty rows and columns; entries that stand twice. */
Test(csc_device, transposes_what_is_uneven)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 42);
    for (int round = 0; round < 6; round++) {
        triples A = {.rows = 2000, .cols = 2500};
        for (uint64_t k = 0; k < 2000 && round & 1; k++)
            test_add(&A, k, 77, (double)k), test_add(&A, k, 78, 1);
        for (uint64_t k = 0; k < 2500 && round & 2; k++) test_add(&A, 1999, k, (double)k);
        if (round == 4) test_add(&A, 1000, 1000, 3);
        matrices a = parity_make(&p, &A, DCSR_INT32, round == 3 ? 3 : 1);
        check(&p, &a, DCSR_INT32, 0, "uneven");
        parity_free_matrix(&a);
    }
    for (int policy = 0; policy < 2; policy++) {
        matrices a =
            parity_matrix(&p, DCSR_INT32, 50, 60, 3000, 1, 3, policy ? DCSR_POLICY_KEEP : DCSR_POLICY_SUM);
        check(&p, &a, DCSR_INT32, policy ? 0 : DCSR_VIEW_DUPLICATES, "entries that stand twice");
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* More entries than are numbered: 20000 in the emulator. */
Test(csc_device, transposes_more_than_it_numbers)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 43);
    for (int pattern = 0; pattern < 2; pattern++) {
        const dcsr_type type = pattern ? DCSR_PATTERN : DCSR_FP64;
        matrices a = parity_matrix(&p, type, 300, 400, 30000, 0, 2, DCSR_POLICY_LAST);
        check(&p, &a, type, 0, "many");
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* Each allocation fails once: C is as it was, and nothing is left behind. */
Test(csc_device, leaves_nothing_behind_when_memory_runs_out)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 44);
    for (int whole = 0; whole < 2; whole++) { /* into a matrix, into a view */
        matrices a = parity_matrix(&p, DCSR_FP64, 80, 70, 3000, 1, 2, DCSR_POLICY_LAST),
                 C = parity_matrix(&p, DCSR_FP64, 70, 80, 50, 0, 1, DCSR_POLICY_LAST);
        dcsr_view *before = test_view(C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED), *made = NULL;
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        int failures = 0;
        for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++, failures++) {
            cr_assert(n < 1000);
            dcsr_i_fail_allocations_after(n);
            status = whole ? dcsr_matrix_transpose(C.in[THERE], NULL, NULL, a.view[THERE], NULL)
                           : dcsr_view_create(&made, a.in[THERE], DCSR_LAYOUT_CSC, 0);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            dcsr_view *now = test_view(C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
            cr_assert(parity_same_entries(before, now), "after failure %d", (int)n);
            dcsr_view_destroy(now);
        }
        TEST_OK(status);
        cr_assert(failures > 8, "%d", failures);
        dcsr_view_destroy(before), dcsr_view_destroy(made);
        check(&p, &a, DCSR_FP64, 0, "when there was memory");
        parity_free_matrix(&a), parity_free_matrix(&C);
    }
    parity_close(&p);
    close_device();
}
