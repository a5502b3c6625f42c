/* test_rap_device.c: the product of three matrices on a device, at once where rows of R do not overlap and as two
 * products where they do: every bin, types, rows in pieces, C as a factor. The cpu's product is what is expected. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_triples.h"
#include <dcsr/mxm.h>

typedef struct problem {
    matrices R, A, P, C;
    uint64_t terms; /* r a p */
} problem;

/* P^T: row j has the entries of column j. */
static void add_both(triples *R, triples *P, uint64_t i, uint64_t j, double value)
{
    test_add(P, i, j, value);
    test_add(R, j, i, value);
}

static uint64_t entries_of(const dcsr_csr *csr, uint64_t row)
{
    return csr->offsets[row + 1] - csr->offsets[row];
}

static void count_terms(problem *x)
{
    dcsr_csr r, a, p;
    dcsr_view *view[3] = {test_view(x->R.in[HERE], DCSR_LAYOUT_CSR, 0),
                          test_view(x->A.in[HERE], DCSR_LAYOUT_CSR, 0),
                          test_view(x->P.in[HERE], DCSR_LAYOUT_CSR, 0)};
    TEST_OK(dcsr_view_get_csr_on_host(view[0], &r));
    TEST_OK(dcsr_view_get_csr_on_host(view[1], &a));
    TEST_OK(dcsr_view_get_csr_on_host(view[2], &p));
    x->terms = 0;
    for (uint64_t e = 0; e < r.nnz; e++)
        for (uint64_t k = a.offsets[r.col_indices[e]]; k < a.offsets[r.col_indices[e] + 1]; k++)
            x->terms += entries_of(&p, a.col_indices[k]);
    for (int k = 0; k < 3; k++) dcsr_view_destroy(view[k]);
}

/* A line of `rows` points, each with `width` neighbours; aggregates of growing size, up to `largest`. The `overlap`
 * next points belong to an aggregate too. */
static problem make(parity *p, dcsr_type type, uint64_t rows, uint64_t width, uint64_t largest,
                    uint64_t overlap)
{
    triples R = {.cols = rows}, A = {.rows = rows, .cols = rows}, P = {.rows = rows};
    uint64_t coarse = 0;
    for (uint64_t i = 0, size = 1; i < rows; i += size, size = size % largest + 1, coarse++)
        for (uint64_t k = 0; k < size + overlap && i + k < rows; k++)
            if ((i + k) % 11 != 5) add_both(&R, &P, i + k, coarse, 1 + (double)((i + k) % 3));
    R.rows = P.cols = coarse;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t k = 0; k < width; k++)
            test_add(&A, i, (i + k * k) % rows, (double)test_random_below(&p->random, 4) - 1);
    problem x = {.R = parity_make(p, &R, type, 1),
                 .A = parity_make(p, &A, type, 1 + (int)(width % 3)),
                 .P = parity_make(p, &P, type, 1 + (int)(overlap % 2))};
    for (int c = 0; c < PLACES; c++)
        x.C.in[c] = test_matrix(p->in[c], type, coarse, coarse, DCSR_POLICY_LAST);
    count_terms(&x);
    return x;
}

static dcsr_status multiply(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_rap(x->C.in[c], x->R.view[c], x->A.view[c], x->P.view[c], desc);
}

static void compare(const problem *x, const char *what)
{
    dcsr_view *view[PLACES];
    for (int c = 0; c < PLACES; c++) view[c] = test_view(x->C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
}

/* Computes it in both; whether it was at once. */
static bool check(const problem *x, dcsr_desc how, const char *what)
{
    dcsr_report report;
    TEST_OK(multiply(x, HERE, NULL));
    how.report = &report;
    TEST_OK(multiply(x, THERE, &how));
    cr_assert_eq(report.device, DCSR_DEVICE_CUDA, "%s", what);
    compare(x, what);
    return report.entries == x->terms;
}

static void free_problem(problem *x)
{
    parity_free_matrix(&x->R), parity_free_matrix(&x->A), parity_free_matrix(&x->P);
    for (int c = 0; c < PLACES; c++) dcsr_matrix_destroy(x->C.in[c]);
}

Test(rap_device, multiplies_at_once_where_rows_do_not_overlap)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP32, DCSR_INT16, DCSR_PATTERN};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 1);
    for (uint64_t width = 1; width <= 16; width += 5)
        for (uint64_t largest = 1; largest <= 16; largest *= 2) {
            problem x = make(&p, types[(width + largest) % 4], 300, width, largest, 0);
            /* Tables of the emulator have room for rows of up to 127 terms. */
            const bool at_once = check(&x, (dcsr_desc){0}, "aggregates");
            cr_assert(at_once || width * largest > 127, "%d %d", (int)width, (int)largest);
            check(&x, (dcsr_desc){.same_pattern = true}, "again");
            free_problem(&x);
        }
    parity_close(&p);
    close_device();
}

/* As two products: where rows of R overlap much, where there is a limit to keep, an order of terms, or a row that no
 * table holds. */
Test(rap_device, multiplies_twice_where_that_is_cheaper)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 2);
    problem x = make(&p, DCSR_FP64, 400, 9, 3, 25);
    cr_assert(!check(&x, (dcsr_desc){0}, "overlap"));
    free_problem(&x);
    x = make(&p, DCSR_INT64, 300, 6, 7, 0);
    cr_assert(check(&x, (dcsr_desc){0}, "without a limit"));
    cr_assert(!check(&x, (dcsr_desc){.memory_limit = 1 << 24}, "a limit"));
    cr_assert(!check(&x, (dcsr_desc){.deterministic = true}, "in order"));
    const dcsr_desc too_little = {.memory_limit = 16};
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "memory_limit", multiply(&x, THERE, &too_little));
    compare(&x, "after a failure");
    free_problem(&x);
    x = make(&p, DCSR_INT64, TEST_EMULATOR ? 300 : 3000, TEST_EMULATOR ? 16 : 120, 100, 0);
    cr_assert(!check(&x, (dcsr_desc){0}, "too many terms"));
    free_problem(&x);
    parity_close(&p);
    close_device();
}

/* C is A, and P chooses and orders points: an injection. */
Test(rap_device, takes_its_own_factor)
{
    enum { ROWS = 120 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 3);
    triples P = {.rows = ROWS, .cols = ROWS}, R = P;
    for (uint64_t i = 0; i < ROWS; i++)
        if (i % 4) add_both(&R, &P, i, (i * 7) % ROWS, 1);
    problem x = {.A = parity_matrix(&p, DCSR_INT32, ROWS, ROWS, 900, 1, 3, DCSR_POLICY_LAST),
                 .R = parity_make(&p, &R, DCSR_INT32, 2),
                 .P = parity_make(&p, &P, DCSR_INT32, 1)};
    memcpy(x.C.in, x.A.in, sizeof x.C.in);
    count_terms(&x);
    for (int round = 0; round < 3; round++) {
        check(&x, (dcsr_desc){0}, "into A");
        for (int c = 0; c < PLACES; c++) {
            dcsr_view_destroy(x.A.view[c]);
            x.A.view[c] = test_view(x.A.in[c], DCSR_LAYOUT_SEGMENTS, 0);
        }
    }
    parity_free_matrix(&x.R), parity_free_matrix(&x.A), parity_free_matrix(&x.P);
    parity_close(&p);
    close_device();
}

/* Nothing, of any factor. */
Test(rap_device, multiplies_nothing)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 4);
    for (int none = 0; none < 4; none++) {
        triples R = {.rows = 5, .cols = 9}, A = {.rows = 9, .cols = 9}, P = {.rows = 9, .cols = 5};
        if (none == 3) R.rows = P.cols = 0;
        if (none != 0 && none != 3) test_add(&R, 2, 3, 1);
        if (none != 1) test_add(&A, 3, 4, 1);
        if (none != 2 && none != 3) test_add(&P, 4, 1, 1);
        problem x = {.R = parity_make(&p, &R, DCSR_FP64, 1),
                     .A = parity_make(&p, &A, DCSR_FP64, 1),
                     .P = parity_make(&p, &P, DCSR_FP64, 1)};
        for (int c = 0; c < PLACES; c++) {
            const uint64_t n = none == 3 ? 0 : 5;
            x.C.in[c] = test_matrix(p.in[c], DCSR_FP64, n, n, DCSR_POLICY_LAST);
        }
        check(&x, (dcsr_desc){0}, "nothing");
        free_problem(&x);
    }
    parity_close(&p);
    close_device();
}

/* Each allocation fails once: C is as it was, or the product, where two calls take less; nothing is left behind. */
Test(rap_device, leaves_nothing_behind_when_memory_runs_out)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 5);
    problem x = make(&p, DCSR_FP64, 200, 6, 7, 0);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int failures = 0;
    uint64_t nnz;
    for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++, failures++) {
        cr_assert(n < 1000);
        dcsr_i_fail_allocations_after(n);
        status = multiply(&x, THERE, NULL);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        TEST_OK(dcsr_matrix_get_nnz(x.C.in[THERE], &nnz));
        cr_assert_eq(nnz, 0);
    }
    TEST_OK(status);
    cr_assert(failures >= 9, "%d", failures);
    TEST_OK(multiply(&x, HERE, NULL));
    compare(&x, "at last");
    free_problem(&x);
    parity_close(&p);
    close_device();
}
