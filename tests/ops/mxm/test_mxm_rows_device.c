/* test_mxm_rows_device.c: products on a device row by row: every bin and its borders, estimates that are wrong, tables
 * that are too small, windows of columns, rows in pieces, the order of terms. The cpu's product is what is expected. */
#include "dcsr/base/alloc.h"
#include "ops/mxm/mxm_rows_cuda.h"
#include "tests/support/support_triples.h"
#include <dcsr/mxm.h>
#include <math.h>

/* ---- Problems ---- */

/* Multiplies in both contexts and compares, also what C says of itself. */
static void check(parity *p, const matrices *A, const matrices *B, const dcsr_semiring *ring, dcsr_type type,
                  const dcsr_desc *how, const char *what)
{
    dcsr_csr a, b;
    dcsr_matrix *C[PLACES];
    dcsr_view *view[PLACES];
    dcsr_report report;
    dcsr_desc desc = how ? *how : (dcsr_desc){0};
    desc.report = &report;
    TEST_OK(dcsr_view_get_csr_on_host(view[HERE] = test_view(A->in[HERE], DCSR_LAYOUT_CSR, 0), &a));
    TEST_OK(dcsr_view_get_csr_on_host(view[THERE] = test_view(B->in[HERE], DCSR_LAYOUT_CSR, 0), &b));
    const uint64_t rows = desc.transpose_a ? a.cols : a.rows, cols = desc.transpose_b ? b.rows : b.cols;
    uint64_t products = 0;
    for (uint64_t k = 0; k < a.nnz && !desc.transpose_a && !desc.transpose_b; k++)
        products += b.offsets[a.col_indices[k] + 1] - b.offsets[a.col_indices[k]];
    dcsr_view_destroy(view[HERE]), dcsr_view_destroy(view[THERE]);
    for (int c = 0; c < PLACES; c++) {
        C[c] = test_matrix(p->in[c], type, rows, cols, DCSR_POLICY_LAST);
        for (int round = 0; round < 2; round++) /* the second in place of the first */
            TEST_OK(dcsr_mxm(C[c], NULL, NULL, ring, A->view[c], B->view[c], &desc));
        view[c] = test_view(C[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    }
    cr_assert_eq(report.device, DCSR_DEVICE_CUDA, "%s", what);
    cr_assert(desc.transpose_a || desc.transpose_b || report.entries == products, "%s: not row by row", what);
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    dcsr_matrix_info info;
    dcsr_csr csr;
    TEST_OK(dcsr_matrix_get_info(C[THERE], &info));
    TEST_OK(dcsr_view_get_csr_on_host(view[HERE], &csr));
    cr_assert_eq(info.stored, csr.nnz, "%s", what);
    cr_assert_eq(info.unresolved_rows, 0, "%s", what);
    /* It takes further changes. */
    if (csr.rows && csr.cols) {
        const uint64_t row[] = {csr.rows - 1, 0}, col[] = {0, csr.cols - 1};
        for (int c = 0; c < PLACES; c++) {
            dcsr_view_destroy(view[c]);
            TEST_OK(dcsr_matrix_remove(C[c], 2, row, col, NULL));
            TEST_OK(dcsr_matrix_wait(C[c]));
            view[c] = test_view(C[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        }
        cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s: after removing", what);
    }
    for (int c = 0; c < PLACES; c++) {
        dcsr_view_destroy(view[c]);
        dcsr_matrix_destroy(C[c]);
    }
}

static const dcsr_semiring *plus_times(dcsr_type type)
{
    return dcsr_semiring_of(DCSR_PLUS_TIMES, type);
}

/* ---- Bins ---- */

/* Row i of A has as many products as it says, which meet in one of `share` columns or so, or not at all. */
static void draw_row(triples *A, uint64_t row, uint64_t products, uint64_t inner)
{
    for (uint64_t k = 0; k < products; k++) test_add(A, row, (row * 7 + k) % inner, 1 + (double)(row % 3));
}

/* Rows at the borders of classes and methods, with products that meet often, seldom and never. */
Test(mxm_rows_device, works_at_the_borders_of_bins)
{
    static const uint64_t sizes[] = {0,  1,   2,   15,  16,  17,  31,  32,  33,  62,  63,  64,  65,   85,
                                     86, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 700, 1023, 1025};
    enum { SIZES = sizeof sizes / sizeof *sizes, INNER = 1100, REPEATS = 3 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 11);
    for (uint64_t apart = 1; apart <= 400; apart *= 20) {
        triples A = {.rows = SIZES * REPEATS, .cols = INNER}, B = {.rows = INNER, .cols = 3000};
        for (uint64_t i = 0; i < A.rows; i++) draw_row(&A, i, sizes[i % SIZES], INNER);
        for (uint64_t i = 0; i < INNER; i++) /* one entry in each row of B */
            test_add(&B, i, i * apart * 37 % (1 + B.cols * apart / 400), 1 + (double)(i % 5));
        matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
        check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, NULL, "borders");
        check(&p, &a, &b, dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), DCSR_PATTERN, NULL, "pattern");
        /* Any term of a sum: here all are alike. */
        check(&p, &a, &b, dcsr_semiring_of(DCSR_ANY_FIRST, DCSR_INT16), DCSR_INT16, NULL, "any");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* Of a minimum numbers count; but where there is none, it is NaN. */
Test(mxm_rows_device, finds_minima_beside_nan)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 21);
    for (uint64_t width = 4; width <= 1024; width *= TEST_VARIANT(4, 16, 16)) {
        triples A = {.rows = 20, .cols = width}, B = {.rows = width, .cols = 40};
        for (uint64_t i = 0; i < 20; i++)
            for (uint64_t k = 0; k < width; k++)
                test_add(&A, i, k, i % 3 && (i % 3 == 1 || k % 2) ? (double)NAN : 7);
        for (uint64_t k = 0; k < width; k++) test_add(&B, k, k / 2 % 40, (double)(k % 5));
        matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
        check(&p, &a, &b, dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_FP64), DCSR_FP64, NULL, "NaN");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* Stencils: all rows are of one bin, short or not, and alike. */
Test(mxm_rows_device, multiplies_stencils)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 12);
    for (int points = 3; points <= 27; points *= 3) {
        const int side = TEST_VARIANT(12, 7, 7);
        triples A = {.rows = (uint64_t)(side * side * side), .cols = (uint64_t)(side * side * side)};
        for (int i = 0; i < (int)A.rows; i++)
            for (int n = 0; n < 27; n++) {
                int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1},
                    at[3] = {i % side, i / side % side, i / side / side};
                bool inside = points == 27 || (points == 9 && !d[2]) || (!d[2] && !d[1]);
                for (int k = 0; k < 3; k++) inside = inside && at[k] + d[k] >= 0 && at[k] + d[k] < side;
                if (inside)
                    test_add(&A, (uint64_t)i, (uint64_t)(i + d[0] + side * (d[1] + side * d[2])),
                             d[0] || d[1] || d[2] ? -1 : 26);
            }
        matrices a = parity_make(&p, &A, DCSR_FP64, 1);
        check(&p, &a, &a, plus_times(DCSR_FP64), DCSR_FP64, NULL, "stencil");
        check(&p, &a, &a, dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_FP64), DCSR_FP64, NULL, "min-plus");
        check(&p, &a, &a, plus_times(DCSR_FP64), DCSR_FP64,
              &(dcsr_desc){.transpose_a = true, .transpose_b = true}, "transposed");
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* Bands: rows are shifts of one another, but for some in between that have another number of entries, or the same with
 * a column further away, or one twice. B's columns are wider apart, so that entries are shifted by more than one. */
Test(mxm_rows_device, multiplies_rows_that_are_alike)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 14);
    for (int width = 1; width <= 13; width += TEST_VARIANT(6, 12, 12))
        for (int spoilt = 0; spoilt < 3; spoilt++) {
            enum { ROWS = 700 };
            triples A = {.rows = ROWS, .cols = ROWS}, B = {.rows = ROWS, .cols = 3 * ROWS + 100};
            for (int i = 0; i < ROWS; i++)
                for (int d = -width / 2; d <= width / 2; d++) {
                    bool other = spoilt && i % 97 == 11 && d == width / 2;
                    if (i + d < 0 || i + d >= ROWS || (other && spoilt == 1)) continue;
                    test_add(&A, (uint64_t)i, (uint64_t)(other ? (i + 300) % ROWS : i + d),
                             1 + (i + d + 9) % 7);
                    test_add(&B, (uint64_t)i, (uint64_t)(3 * i + (other ? 99 : 2 * d + width)),
                             1 + (i + 3 * d + 50) % 5);
                }
            matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
            check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, NULL, "bands");
            check(&p, &a, &a, plus_times(DCSR_FP64), DCSR_FP64, NULL, "a band squared");
            check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, &(dcsr_desc){.transpose_a = true},
                  "transposed");
            check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_PATTERN, NULL, "pattern of bands");
            parity_free_matrix(&a), parity_free_matrix(&b);
        }
    parity_close(&p);
    close_device();
}

/* A row with everything, over more columns than a window has; and a column with everything. */
Test(mxm_rows_device, multiplies_one_row_with_everything)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 13);
    triples A = {.rows = 300, .cols = 300}, B = {.rows = 300, .cols = 5000};
    for (uint64_t k = 0; k < 300; k++) test_add(&A, 150, k, 1 + (double)(k % 3)), test_add(&A, k, 7, 2);
    for (uint64_t i = 0; i < 300; i++)
        for (uint64_t k = 0; k < 40; k++)
            test_add(&B, i, test_random_below(&p.random, 5000), (double)test_random_below(&p.random, 4));
    for (uint64_t k = 0; k < 2500; k++) test_add(&B, 7, 2 * k, 1);
    matrices a = parity_make(&p, &A, DCSR_INT64, 1), b = parity_make(&p, &B, DCSR_INT64, 2);
    check(&p, &a, &b, plus_times(DCSR_INT64), DCSR_INT64, NULL, "full row");
    check(&p, &a, &b, dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), DCSR_BOOL, NULL, "full row, ones");
    check(&p, &b, &a, plus_times(DCSR_INT64), DCSR_INT64,
          &(dcsr_desc){.transpose_a = true, .transpose_b = true}, "full column");
    parity_free_matrix(&a), parity_free_matrix(&b);
    parity_close(&p);
    close_device();
}

/* Long rows: of few long terms and of many short ones, more than a block has threads; rows of B in one piece, in
 * several, and empty; all columns in one window, and windows of which some have none. */
static void multiply_long_rows(parity *p, dcsr_type type, uint64_t width, int batches)
{
    enum { ROWS = 12, INNER = 400 };
    const uint64_t low = width < 700 ? width : 700;
    triples A = {.rows = ROWS, .cols = INNER}, B = {.rows = INNER, .cols = width};
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t k = 0; k < INNER; k++)
            if (i % 3 == 0 || (i % 3 == 1 && k % 40 == i) || (i % 3 == 2 && k < 70))
                test_add(&A, i, k, 1 + (double)((i + k) % 3));
    for (uint64_t k = 0; k < 300; k++)
        for (uint64_t i = 0; i < INNER; i++)
            if (k < (i % 40 < 12 ? 300 : i % 7))
                test_add(&B, i, k % 2 ? (i * 31 + k * 17) % low : width - 1 - (i * 7 + k * 5) % low,
                         1 + (double)(k % 4));
    matrices a = parity_make(p, &A, type, 1), b = parity_make(p, &B, type, batches);
    for (int ordered = 0; ordered < 2; ordered++)
        check(p, &a, &b, plus_times(type), type, &(dcsr_desc){.deterministic = ordered}, "long rows");
    check(p, &a, &b, plus_times(type), DCSR_PATTERN, NULL, "long rows of a pattern");
    parity_free_matrix(&a), parity_free_matrix(&b);
}

Test(mxm_rows_device, multiplies_long_rows)
{
    static const uint64_t widths[] = {1, 64, 2500, 100000};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 23);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w += TEST_VARIANT(1, 3, 3))
        for (int batches = 1; batches <= 3; batches += 2) {
            if (TEST_VARIANT(true, batches == 1, batches == 1))
                multiply_long_rows(&p, DCSR_FP64, widths[w], batches);
            if (TEST_VARIANT(true, batches > 1, batches > 1))
                multiply_long_rows(&p, DCSR_INT64, widths[w], batches);
        }
    parity_close(&p);
    close_device();
}

/* Sums that cancel stay: entries of value 0. */
Test(mxm_rows_device, keeps_sums_that_cancel)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 14);
    for (uint64_t width = 4; width <= 1024; width *= TEST_VARIANT(4, 16, 16)) {
        triples A = {.rows = 20, .cols = 2 * width}, B = {.rows = 2 * width, .cols = 50};
        for (uint64_t i = 0; i < 20; i++)
            for (uint64_t k = 0; k < 2 * width; k++) test_add(&A, i, k, k % 2 ? 1 : -1);
        for (uint64_t k = 0; k < 2 * width; k++) test_add(&B, k, k / 2 % 50, 3);
        matrices a = parity_make(&p, &A, DCSR_FP32, 1), b = parity_make(&p, &B, DCSR_FP32, 1);
        check(&p, &a, &b, plus_times(DCSR_FP32), DCSR_FP32, NULL, "cancels");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* ---- Wrong estimates ---- */

/* The rows that a sample meets - the first of every few - sum up to one entry; the others do not at all, so that
 * neither tables nor room suffice. And the other way round. */
Test(mxm_rows_device, recovers_from_wrong_estimates)
{
    enum { ROWS = 400, TERMS = 100 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 15);
    for (int few = 0; few < 2; few++) {
        triples A = {.rows = ROWS, .cols = 2 * TERMS}, B = {.rows = 2 * TERMS, .cols = 2 * TERMS};
        uint64_t step = ROWS / 16 + 1; /* as in the emulator */
        for (uint64_t i = 0; i < ROWS; i++)
            for (uint64_t k = 0; k < TERMS; k++) test_add(&A, i, k + ((i % step == 0) != few ? 0 : TERMS), 1);
        for (uint64_t k = 0; k < 2 * TERMS; k++) test_add(&B, k, k < TERMS ? 5 : k, (double)k);
        matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
        check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, NULL, "misled");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* Columns that all begin to look for their place at the same one, in tables of any size. */
Test(mxm_rows_device, survives_columns_that_collide)
{
    enum { COLUMNS = 200 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 16);
    const uint64_t rows = TEST_VARIANT(30, 3, 3);
    triples A = {.rows = rows, .cols = COLUMNS}, B = {.rows = COLUMNS, .cols = DCSR_MAX_COLS};
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t k = 0; k < COLUMNS; k++) test_add(&A, i, k, 1);
    /* h * inverse of the hash's factor, for h below 2^18: the topmost 14 bits are 0. */
    uint32_t inverse = 1;
    for (int i = 0; i < 5; i++) inverse *= 2 - 0x9e3779b1u * inverse;
    uint64_t found = 0;
    for (uint32_t h = 1; found < COLUMNS; h++)
        if (h * inverse < DCSR_MAX_COLS - 1) test_add(&B, found++, h * inverse, (double)h);
    matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
    /* Of 2^31 columns no CSC or window of all is made: rows are. */
    check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, NULL, "collide");
    parity_free_matrix(&a), parity_free_matrix(&b);
    parity_close(&p);
    close_device();
}

/* ---- Rows in pieces, types, order ---- */

Test(mxm_rows_device, reads_rows_in_pieces)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 17);
    for (int round = 0; round < 6; round++) {
        uint64_t n = (uint64_t[]){60, 400, 4000}[round % 3];
        matrices a = parity_matrix(&p, DCSR_INT32, 90, 120, n, 1, 5, DCSR_POLICY_LAST),
                 b = parity_matrix(&p, DCSR_INT32, 120, 2000, 3 * n, 1, 5, DCSR_POLICY_LAST);
        dcsr_type type = round < 3 ? DCSR_INT32 : DCSR_UINT8;
        check(&p, &a, &b, plus_times(type), type, NULL, "pieces");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* Numbers that round: in the order of A's entries the sums are the cpu's, whatever the method. */
Test(mxm_rows_device, adds_in_order_where_asked)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 18);
    triples A = {.rows = 60, .cols = 800}, B = {.rows = 800, .cols = 400};
    for (uint64_t i = 0; i < A.rows; i++)
        for (uint64_t k = 0; k < i * i / 5 + 1; k++)
            test_add(&A, i, test_random_below(&p.random, 800),
                     -1 / (1.0 + (double)test_random_below(&p.random, 1000)));
    for (uint64_t i = 0; i < B.rows; i++)
        for (uint64_t k = 0; k < 1 + i % 9; k++)
            test_add(&B, i, test_random_below(&p.random, i % 3 ? 40 : 400),
                     1 / (1.0 + (double)test_random_below(&p.random, 1000)));
    matrices a = parity_make(&p, &A, DCSR_FP64, 1), b = parity_make(&p, &B, DCSR_FP64, 1);
    for (int c = 0; c < PLACES; c++) { /* sorted rows, so that both go through A's entries alike */
        dcsr_view_destroy(a.view[c]), dcsr_view_destroy(b.view[c]);
        a.view[c] = test_view(a.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        b.view[c] = test_view(b.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    }
    check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, &(dcsr_desc){.deterministic = true}, "in order");
    parity_free_matrix(&a), parity_free_matrix(&b);
    parity_close(&p);
    close_device();
}

/* C is both factors; views of what it was go on showing that. */
Test(mxm_rows_device, takes_its_own_factors)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 19);
    matrices m = parity_matrix(&p, DCSR_INT64, 100, 100, 600, 1, 2, DCSR_POLICY_LAST);
    dcsr_view *before[PLACES], *after[PLACES];
    for (int c = 0; c < PLACES; c++) {
        before[c] = test_view(m.in[c], DCSR_LAYOUT_SEGMENTS, 0);
        for (int round = 0; round < 3; round++) {
            dcsr_view *now = test_view(m.in[c], DCSR_LAYOUT_SEGMENTS, 0);
            TEST_OK(dcsr_mxm(m.in[c], NULL, NULL, plus_times(DCSR_INT64), now, now, NULL));
            dcsr_view_destroy(now);
        }
        after[c] = test_view(m.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    }
    cr_assert(parity_same_entries(after[HERE], after[THERE]));
    uint64_t length[PLACES];
    for (uint64_t row = 0; row < 100; row++) {
        for (int c = 0; c < PLACES; c++)
            TEST_OK(dcsr_view_get_row(before[c], row, 0, NULL, NULL, &length[c]));
        cr_assert_eq(length[HERE], length[THERE]);
    }
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(before[c]), dcsr_view_destroy(after[c]);
    parity_free_matrix(&m);
    parity_close(&p);
    close_device();
}

/* Each allocation of the call fails once: C is as it was, and nothing is left behind. */
Test(mxm_rows_device, leaves_nothing_behind_when_memory_runs_out)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 20);
    matrices a = parity_matrix(&p, DCSR_FP64, 150, 150, 2000, 1, 1, DCSR_POLICY_LAST),
             c = parity_matrix(&p, DCSR_FP64, 150, 150, 100, 1, 1, DCSR_POLICY_LAST);
    dcsr_view *before = test_view(c.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int failures = 0;
    for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++) {
        cr_assert(n < 1000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_mxm(c.in[THERE], NULL, NULL, plus_times(DCSR_FP64), a.view[THERE], a.view[THERE], NULL);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        failures++;
        dcsr_view *now = test_view(c.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert(parity_same_entries(before, now), "after failure %d", (int)n);
        dcsr_view_destroy(now);
    }
    TEST_OK(status);
    cr_assert(failures >= 8, "%d", failures);
    TEST_OK(dcsr_mxm(c.in[HERE], NULL, NULL, plus_times(DCSR_FP64), a.view[HERE], a.view[HERE], NULL));
    dcsr_view *here = test_view(c.in[HERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
              *there = test_view(c.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(parity_same_entries(here, there));
    dcsr_view_destroy(before), dcsr_view_destroy(here), dcsr_view_destroy(there);
    parity_free_matrix(&a), parity_free_matrix(&c);
    parity_close(&p);
    close_device(); /* which checks that all memory has been given back */
}

/* ---- A limit of memory ---- */

/* With less and less, by rows and (with an accumulator) by expanding: first all at once, then in slices, down to the
 * longest row, which is refused with C as it was. */
Test(mxm_rows_device, stays_below_a_limit_of_memory)
{
    enum { ROWS = 90, INNER = 120 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 22);
    for (int round = 0; round < 4; round++) {
        const dcsr_binary_op *accum = round & 1 ? dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT32) : NULL;
        matrices a = parity_matrix(&p, DCSR_INT32, ROWS, INNER, 700, 1, 1, DCSR_POLICY_LAST),
                 b = parity_matrix(&p, DCSR_INT32, INNER, 2000, round < 2 ? 1500 : 9000, 0, 2,
                                   DCSR_POLICY_LAST),
                 C = parity_matrix(&p, DCSR_INT32, ROWS, 2000, 50, 0, 1, DCSR_POLICY_LAST);
        dcsr_status status = DCSR_OK;
        int done = 0;
        for (uint64_t limit = 1 << 20; status == DCSR_OK; limit = limit * 3 / 4, done++) {
            dcsr_view *view[PLACES];
            const dcsr_desc desc = {.memory_limit = limit};
            const dcsr_semiring *ring = plus_times(DCSR_INT32);
            status = dcsr_mxm(C.in[THERE], NULL, accum, ring, a.view[THERE], b.view[THERE], &desc);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
            if (status == DCSR_OK)
                TEST_OK(dcsr_mxm(C.in[HERE], NULL, accum, ring, a.view[HERE], b.view[HERE], NULL));
            for (int c = 0; c < PLACES; c++) view[c] = test_view(C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
            cr_assert(parity_same_entries(view[HERE], view[THERE]), "limit %d", (int)limit);
            for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
        }
        cr_assert(done > 3, "%d", done);
        cr_assert(strstr(dcsr_thread_error(), "memory_limit"), "%s", dcsr_thread_error());
        cr_assert(strstr(dcsr_thread_error(), "mxm: row "), "%s", dcsr_thread_error());
        /* Too little for anything. */
        const dcsr_desc least = {.memory_limit = 100};
        TEST_REFUSED(
            DCSR_ERROR_OUT_OF_MEMORY, "memory_limit is 100",
            dcsr_mxm(C.in[THERE], NULL, accum, plus_times(DCSR_INT32), a.view[THERE], b.view[THERE], &least));
        parity_free_matrix(&a), parity_free_matrix(&b), parity_free_matrix(&C);
    }
    parity_close(&p);
    close_device();
}
