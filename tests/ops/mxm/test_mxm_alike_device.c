/* test_mxm_alike_device.c: products on a device whose rows are shifts of a few rows, and of which C has the pattern
 * already: every border of kinds and strips, rows between that are others, too many kinds. The cpu's product is what is
 * expected, bit for bit. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include "ops/mxm/mxm_alike_cuda.h"
#include "tests/support/support_triples.h"
#include <dcsr/mxm.h>

/* ---- Problems ---- */

enum { LEAST = DCSR_CUDA_MXM_LEAST_ALIKE }; /* rows of which kinds are looked for */

static const dcsr_semiring *plus_times(dcsr_type type)
{
    return dcsr_semiring_of(DCSR_PLUS_TIMES, type);
}

/* Rows of `width` entries, `apart` columns from one to the next, from column i on. */
static matrices make_band(parity *p, dcsr_type type, uint64_t rows, uint64_t width, uint64_t apart,
                          int batches)
{
    triples t = {.rows = rows, .cols = rows + (width - 1) * apart};
    for (int half = 0; half < batches; half++) /* so that rows come in pieces */
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t k = 0; k < width; k++)
                if ((int)(k % (uint64_t)batches) == half)
                    test_add(&t, i, i + k * apart, 1 / (1.0 + (double)test_random_below(&p->random, 1000)));
    return parity_make(p, &t, type, batches);
}

/* The grid's stencil: of 5 or 9 points (depth 1), 7 or 27. */
static matrices make_stencil(parity *p, dcsr_type type, int side, int depth, bool corners)
{
    triples t = {.rows = (uint64_t)(side * side * depth)};
    t.cols = t.rows;
    for (int i = 0; i < (int)t.rows; i++)
        for (int n = 0; n < 27; n++) {
            const int d[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1},
                      at[3] = {i % side, i / side % side, i / side / side};
            bool inside = corners || abs(d[0]) + abs(d[1]) + abs(d[2]) <= 1;
            for (int k = 0; k < 3; k++) {
                const int end = k < 2 ? side : depth;
                inside = inside && at[k] + d[k] >= 0 && at[k] + d[k] < end;
            }
            if (inside)
                test_add(&t, (uint64_t)i, (uint64_t)(i + d[0] + side * (d[1] + side * d[2])),
                         1 / (1.0 + (double)test_random_below(&p->random, 1000)));
        }
    return parity_make(p, &t, type, 1);
}

static matrices make_C(parity *p, const matrices *A, const matrices *B, dcsr_type type)
{
    matrices C;
    dcsr_matrix_info a, b;
    TEST_OK(dcsr_matrix_get_info(A->in[HERE], &a));
    TEST_OK(dcsr_matrix_get_info(B->in[HERE], &b));
    for (int c = 0; c < PLACES; c++) C.in[c] = test_matrix(p->in[c], type, a.rows, b.cols, DCSR_POLICY_LAST);
    return C;
}

static void multiply(const matrices *C, const matrices *A, const matrices *B, const dcsr_semiring *ring,
                     bool repeat)
{
    dcsr_report report[PLACES];
    for (int c = 0; c < PLACES; c++) {
        const dcsr_desc how = {
            .same_pattern = repeat && c == THERE, .deterministic = true, .report = &report[c]};
        TEST_OK(dcsr_mxm(C->in[c], NULL, NULL, ring, A->view[c], B->view[c], &how));
    }
    cr_assert_eq(report[THERE].device, DCSR_DEVICE_CUDA);
}

static void compare(const matrices *C, const char *what)
{
    dcsr_view *view[PLACES];
    dcsr_matrix_info info[PLACES];
    for (int c = 0; c < PLACES; c++) {
        view[c] = test_view(C->in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        TEST_OK(dcsr_matrix_get_info(C->in[c], &info[c]));
    }
    cr_assert(parity_same_entries(view[HERE], view[THERE]), "%s", what);
    cr_assert_eq(info[HERE].stored, info[THERE].stored, "%s", what);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
}

static void free_C(matrices *C)
{
    for (int c = 0; c < PLACES; c++) dcsr_matrix_destroy(C->in[c]);
}

/* A product, and its repeat. Returns whether the rows stand in order, as they do where all have a kind. */
static bool check(parity *p, const matrices *A, const matrices *B, const dcsr_semiring *ring, dcsr_type type,
                  const char *what)
{
    matrices C = make_C(p, A, B, type);
    multiply(&C, A, B, ring, false);
    compare(&C, what);
    multiply(&C, A, B, ring, true);
    compare(&C, what);
    const bool in_order = C.in[THERE]->versions.current->contiguous;
    free_C(&C);
    return in_order;
}

/* ---- Kinds and strips ---- */

Test(mxm_alike_device, multiplies_stencils)
{
    static const struct {
        int side, depth;
        bool corners;
    } grids[] = {{40, 1, false}, {40, 1, true}, {20, 6, false}, {20, 6, true}, {97, 2, true}, {10, 11, true}};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 1);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g += TEST_VARIANT(1, 2, 2)) {
        matrices a = make_stencil(&p, DCSR_FP64, grids[g].side, grids[g].depth, grids[g].corners);
        cr_assert(check(&p, &a, &a, plus_times(DCSR_FP64), DCSR_FP64, "stencil"), "%d", (int)g);
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* Up to 32 entries in rows of A and B, and 256 in rows of C; groups of 32 rows that are cut off. Wide gaps make rows
 * of B that take more memory than there is. */
Test(mxm_alike_device, works_at_the_borders_of_kinds)
{
    static const struct {
        uint64_t a, a_apart, b, b_apart;
    } widths[] = {{1, 1, 1, 1},    {2, 1, 33, 1},   {31, 1, 32, 1},  {32, 1, 3, 1},   {33, 1, 3, 1},
                  {4, 2, 5, 3},    {16, 17, 16, 1}, {15, 17, 17, 1}, {16, 17, 17, 1}, {32, 40, 8, 1},
                  {8, 100, 32, 1}, {32, 1, 32, 7},  {3, 300, 2, 700}};
    static const uint64_t lengths[] = {0, 1, 16, 17, 64, 136, 193};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 2);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w += TEST_VARIANT(1, 2, 2)) {
        const uint64_t rows = LEAST + lengths[w % (sizeof lengths / sizeof *lengths)];
        matrices a = make_band(&p, DCSR_FP64, rows, widths[w].a, widths[w].a_apart, 1);
        const uint64_t inner = rows + (widths[w].a - 1) * widths[w].a_apart;
        matrices b = make_band(&p, DCSR_FP64, inner, widths[w].b, widths[w].b_apart, 1);
        check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, "band");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

Test(mxm_alike_device, takes_any_type_and_semiring)
{
    static const struct {
        dcsr_semiring_name name;
        dcsr_type type, of_a, of_c;
    } rings[] = {{DCSR_PLUS_TIMES, DCSR_FP32, DCSR_FP32, DCSR_FP32},
                 {DCSR_PLUS_TIMES, DCSR_INT8, DCSR_INT8, DCSR_INT8},
                 {DCSR_PLUS_TIMES, DCSR_FP64, DCSR_PATTERN, DCSR_FP64},
                 {DCSR_MIN_PLUS, DCSR_FP64, DCSR_FP64, DCSR_FP64},
                 {DCSR_MAX_PLUS, DCSR_INT32, DCSR_INT32, DCSR_INT32},
                 {DCSR_PLUS_TIMES, DCSR_FP64, DCSR_FP64, DCSR_PATTERN},
                 {DCSR_ANY_PAIR, DCSR_BOOL, DCSR_FP64, DCSR_BOOL}};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 3);
    for (size_t k = 0; k < sizeof rings / sizeof *rings; k++) {
        matrices a = make_stencil(&p, rings[k].of_a, 20, 5, k % 2);
        check(&p, &a, &a, dcsr_semiring_of(rings[k].name, rings[k].type), rings[k].of_c, "ring");
        parity_free_matrix(&a);
    }
    parity_close(&p);
    close_device();
}

/* Rows in between that are others: an entry more, fewer, further away, or a row in several pieces; and rows of B. */
Test(mxm_alike_device, leaves_out_other_rows)
{
    enum { ROWS = 400 + LEAST };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 4);
    for (int round = 0; round < 4; round++) {
        matrices m[2] = {make_band(&p, DCSR_FP64, ROWS, 9, 1, 1 + (round == 3)),
                         make_band(&p, DCSR_FP64, ROWS + 8, 9, 1, 1)};
        for (int n = 0; n < 5; n++) {
            const uint64_t row = 13 + test_random_below(&p.random, ROWS - 50), other = row + 20;
            const double value = 3;
            for (int c = 0; c < PLACES; c++) {
                if (round != 1) TEST_OK(dcsr_matrix_insert(m[n % 2].in[c], 1, &row, &other, &value, NULL));
                if (round) TEST_OK(dcsr_matrix_remove(m[n % 2].in[c], 1, &row, &row, NULL));
                TEST_OK(dcsr_matrix_wait(m[n % 2].in[c]));
            }
        }
        for (int k = 0; k < 2; k++)
            for (int c = 0; c < PLACES; c++) {
                dcsr_view_destroy(m[k].view[c]);
                /* Sorted, so that both go through A's entries alike. */
                m[k].view[c] = test_view(m[k].in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
            }
        check(&p, &m[0], &m[1], plus_times(DCSR_FP64), DCSR_FP64, "spoilt");
        parity_free_matrix(&m[0]), parity_free_matrix(&m[1]);
    }
    parity_close(&p);
    close_device();
}

/* Factors that are read in place where their rows have grown. */
Test(mxm_alike_device, reads_rows_in_pieces)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 5);
    for (int batches = 2; batches <= 5; batches++) {
        matrices a = make_band(&p, DCSR_INT64, 100 + LEAST, 10, 1, batches),
                 b = make_band(&p, DCSR_INT64, 109 + LEAST, 12, 2, 6 - batches);
        check(&p, &a, &b, plus_times(DCSR_INT64), DCSR_INT64, "pieces");
        parity_free_matrix(&a), parity_free_matrix(&b);
    }
    parity_close(&p);
    close_device();
}

/* Kinds up to as many as there may be, and more: in order, and by turns. */
Test(mxm_alike_device, meets_many_kinds)
{
    enum { ROWS = 1200 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 10);
    for (int kinds = 50; kinds <= 800; kinds *= TEST_VARIANT(2, 4, 4))
        for (int by_turns = 0; by_turns < 2; by_turns++) {
            triples t = {.rows = ROWS, .cols = ROWS};
            for (int i = 0; i < ROWS; i++) {
                const int kind = by_turns ? i % kinds : i * kinds / ROWS;
                test_add(&t, (uint64_t)i, (uint64_t)i, 1 / (1.0 + i));
                test_add(&t, (uint64_t)i, (uint64_t)(i + 1 + kind) % ROWS, 1 / (2.0 + i));
            }
            matrices a = parity_make(&p, &t, DCSR_FP64, 1);
            check(&p, &a, &a, plus_times(DCSR_FP64), DCSR_FP64, "kinds");
            parity_free_matrix(&a);
        }
    parity_close(&p);
    close_device();
}

/* Half of the rows have a kind, or just fewer; the others are too long, or empty. */
Test(mxm_alike_device, leaves_half_of_the_rows)
{
    enum { ROWS = (300 + LEAST) / 2 * 2 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 11);
    for (int kept = ROWS / 2 - 1; kept <= ROWS / 2 + 1; kept++)
        for (int length = 0; length <= 40; length += 40) {
            triples t = {.rows = ROWS, .cols = ROWS + 80};
            for (int i = 0; i < ROWS; i++)
                for (int k = 0; k < (i < kept ? 3 : length); k++)
                    test_add(&t, (uint64_t)i, (uint64_t)(i + k + k * k % 7), 1 / (1.0 + i + k));
            triples u = {.rows = ROWS + 80, .cols = ROWS + 100};
            for (int i = 0; i < ROWS + 80; i++)
                for (int k = 0; k < 4; k++)
                    test_add(&u, (uint64_t)i, (uint64_t)(i + 5 * k), 1 / (3.0 + i + k));
            matrices a = parity_make(&p, &t, DCSR_FP64, 1), b = parity_make(&p, &u, DCSR_FP64, 1);
            check(&p, &a, &b, plus_times(DCSR_FP64), DCSR_FP64, "half");
            parity_free_matrix(&a), parity_free_matrix(&b);
        }
    parity_close(&p);
    close_device();
}

Test(mxm_alike_device, multiplies_transposed)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 6);
    matrices a = make_stencil(&p, DCSR_FP64, 20, 5, true), C = make_C(&p, &a, &a, DCSR_FP64);
    for (int way = 0; way < 8; way++) {
        const dcsr_desc how = {
            .transpose_a = way & 1, .transpose_b = way & 2, .same_pattern = way & 4, .deterministic = true};
        for (int c = 0; c < PLACES; c++)
            TEST_OK(dcsr_mxm(C.in[c], NULL, NULL, plus_times(DCSR_FP64), a.view[c], a.view[c], &how));
        compare(&C, "transposed");
    }
    free_C(&C);
    parity_free_matrix(&a);
    parity_close(&p);
    close_device();
}

/* ---- Promises ---- */

/* C has other rows than the product: entries more, fewer, tombstones, in other rows' places. The result is the product
 * nevertheless. */
Test(mxm_alike_device, multiplies_where_a_promise_is_broken)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 7);
    matrices a = make_stencil(&p, DCSR_FP64, 20, 4, true), C = make_C(&p, &a, &a, DCSR_FP64);
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(a.in[HERE], &info));
    for (int way = 0; way < 8; way++) {
        multiply(&C, &a, &a, plus_times(DCSR_FP64), false);
        for (uint64_t k = 0; k < 300; k++) {
            const uint64_t row = way == 7 ? 40 + k % 5 : test_random_below(&p.random, info.rows),
                           col = way == 1 ? row : test_random_below(&p.random, info.cols);
            const double value = 1;
            for (int c = 0; c < PLACES && way; c++)
                if (way % 3 == 1)
                    TEST_OK(dcsr_matrix_remove(C.in[c], 1, &row, &col, NULL));
                else
                    TEST_OK(dcsr_matrix_insert(C.in[c], 1, &row, &col, &value, NULL));
        }
        for (int c = 0; c < PLACES; c++) TEST_OK(dcsr_matrix_wait(C.in[c]));
        multiply(&C, &a, &a, plus_times(DCSR_FP64), true);
        compare(&C, "broken");
    }
    free_C(&C);
    parity_free_matrix(&a);
    parity_close(&p);
    close_device();
}

/* A view of the version before goes on showing its values. */
Test(mxm_alike_device, keeps_what_views_show)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 8);
    matrices a = make_stencil(&p, DCSR_FP64, 30, 3, false), b = make_stencil(&p, DCSR_FP64, 30, 3, false);
    matrices C = make_C(&p, &a, &a, DCSR_FP64);
    multiply(&C, &a, &a, plus_times(DCSR_FP64), false);
    dcsr_view *old = test_view(C.in[THERE], DCSR_LAYOUT_SEGMENTS, 0),
              *expected = test_view(C.in[HERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    for (int round = 0; round < 3; round++) {
        multiply(&C, &a, round % 2 ? &a : &b, plus_times(DCSR_FP64), true);
        compare(&C, "repeated");
    }
    dcsr_csr csr;
    TEST_OK(dcsr_view_get_csr_on_host(expected, &csr));
    for (uint64_t row = 0; row < csr.rows; row++) {
        uint64_t n = 0;
        uint32_t columns[64];
        double values[64], sum = 0, wanted = 0;
        TEST_OK(dcsr_view_get_row(old, row, 64, columns, values, &n));
        cr_assert_eq(n, csr.offsets[row + 1] - csr.offsets[row]);
        for (uint64_t k = 0; k < n; k++) sum += values[k] * (1 + columns[k] % 7);
        for (uint64_t k = csr.offsets[row]; k < csr.offsets[row + 1]; k++)
            wanted += ((const double *)csr.values)[k] * (1 + csr.col_indices[k] % 7);
        cr_assert_float_eq(sum, wanted, 1e-9);
    }
    dcsr_view_destroy(old), dcsr_view_destroy(expected);
    free_C(&C);
    parity_free_matrix(&a), parity_free_matrix(&b);
    parity_close(&p);
    close_device();
}

/* Each allocation of a repeat fails once: C is as it was, and nothing is left behind. */
Test(mxm_alike_device, leaves_nothing_behind_when_memory_runs_out)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 9);
    matrices a = make_stencil(&p, DCSR_FP64, 20, 4, true), b = make_stencil(&p, DCSR_FP64, 20, 4, true);
    matrices C = make_C(&p, &a, &a, DCSR_FP64);
    multiply(&C, &a, &a, plus_times(DCSR_FP64), false);
    dcsr_view *before = test_view(C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int failures = 0;
    for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++, failures++) {
        cr_assert(n < 1000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_mxm(C.in[THERE], NULL, NULL, plus_times(DCSR_FP64), a.view[THERE], b.view[THERE],
                          &(dcsr_desc){.same_pattern = true, .deterministic = true});
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        dcsr_view *now = test_view(C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert(parity_same_entries(before, now), "after failure %d", (int)n);
        dcsr_view_destroy(now);
    }
    TEST_OK(status);
    cr_assert(failures >= 12, "%d", failures);
    TEST_OK(dcsr_mxm(C.in[HERE], NULL, NULL, plus_times(DCSR_FP64), a.view[HERE], b.view[HERE], NULL));
    compare(&C, "at last");
    dcsr_view_destroy(before);
    free_C(&C);
    parity_free_matrix(&a), parity_free_matrix(&b);
    parity_close(&p);
    close_device();
}
