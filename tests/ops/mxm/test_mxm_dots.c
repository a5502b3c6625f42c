/* test_mxm_dots.c: masked products on the host, by dot products and by rows, bit for bit against the whole product. */
#include <dcsr/mxm.h>
#include <dcsr/transpose.h>
#include "tests/support/support.h"

static dcsr_context *host(int threads)
{
    dcsr_context *context;
    const dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = threads};
    TEST_OK(dcsr_context_create(&context, &options));
    return context;
}

static void put(dcsr_matrix *matrix, test_random *random, uint64_t row, uint64_t col)
{
    double value = (double)test_random_below(random, 2000) / 7 - 140;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
}

static dcsr_matrix *make_sparse(dcsr_context *context, test_random *random, uint64_t rows, uint64_t cols,
                                uint64_t n)
{
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, rows, cols, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < n; k++)
        put(matrix, random, test_random_below(random, rows), test_random_below(random, cols));
    for (uint64_t k = 0; k < cols; k += 2) put(matrix, random, 3, k);
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

/* Asserts that c has what `all` has where the mask has entries, bit for bit. */
static void check_masked(dcsr_matrix *c, dcsr_matrix *all, dcsr_matrix *mask)
{
    dcsr_csr C, T, M;
    dcsr_view *view[3] = {test_view(c, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
                          test_view(all, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
                          test_view(mask, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED)};
    TEST_OK(dcsr_view_get_csr(view[0], &C));
    TEST_OK(dcsr_view_get_csr(view[1], &T));
    TEST_OK(dcsr_view_get_csr(view[2], &M));
    const double *c_value = C.values, *t_value = T.values;
    for (uint64_t i = 0; i < C.rows; i++) {
        uint64_t at = C.offsets[i], m = M.offsets[i];
        for (uint64_t k = T.offsets[i]; k < T.offsets[i + 1]; k++) {
            while (m < M.offsets[i + 1] && M.col_indices[m] < T.col_indices[k]) m++;
            if (m == M.offsets[i + 1] || M.col_indices[m] != T.col_indices[k]) continue;
            cr_assert(at < C.offsets[i + 1] && C.col_indices[at] == T.col_indices[k] &&
                      !memcmp(&c_value[at], &t_value[k], sizeof *c_value));
            at++;
        }
        cr_assert_eq(at, C.offsets[i + 1]);
    }
    for (int k = 0; k < 3; k++) dcsr_view_destroy(view[k]);
}

/* Inserts the transpose of what a view shows, columns below 45 first, so that rows have two pieces. */
static void insert_transposed(dcsr_matrix *matrix, dcsr_matrix *from)
{
    dcsr_view *view = test_view(from, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_csr csr;
    TEST_OK(dcsr_view_get_csr(view, &csr));
    for (uint64_t i = 0; i < csr.rows; i++) {
        if (i == 45) TEST_OK(dcsr_matrix_wait(matrix));
        for (uint64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++) {
            uint64_t j = csr.col_indices[k];
            TEST_OK(dcsr_matrix_insert(matrix, 1, &j, &i, (const double *)csr.values + k, NULL));
        }
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view_destroy(view);
}

/* Few positions, rows short and long, in one piece and in two, B given as its transpose or with one at hand. */
Test(mxm_dots, few_positions)
{
    static const dcsr_semiring_name names[] = {DCSR_PLUS_TIMES, DCSR_PLUS_PAIR, DCSR_MIN_PLUS,
                                               DCSR_PLUS_FIRST};
    for (int round = 0; round < 16; round++) {
        test_random random = {(uint64_t)round};
        dcsr_context *context = host(1 + round % 2);
        const dcsr_semiring *semiring = dcsr_semiring_of(names[round % 4], DCSR_FP64);
        dcsr_matrix *a = make_sparse(context, &random, 130, 90, round & 4 ? 5000 : 500),
                    *b = make_sparse(context, &random, 90, 70, round < 8 ? 3000 : 400),
                    *mask = make_sparse(context, &random, 130, 70, 150),
                    *bt = test_matrix(context, DCSR_FP64, 70, 90, DCSR_POLICY_LAST),
                    *all = test_matrix(context, DCSR_FP64, 130, 70, DCSR_POLICY_LAST),
                    *c = test_matrix(context, DCSR_FP64, 130, 70, DCSR_POLICY_LAST);
        dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0),
                  *M = test_view(mask, DCSR_LAYOUT_SEGMENTS, 0), *columns = test_view(b, DCSR_LAYOUT_CSC, 0);
        if (round < 8)
            TEST_OK(dcsr_matrix_transpose(bt, NULL, NULL, B, NULL));
        else
            insert_transposed(bt, b);
        dcsr_view *BT = test_view(bt, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_mxm(all, NULL, NULL, semiring, A, B, NULL));
        TEST_OK(dcsr_mxm(c, M, NULL, semiring, A, BT,
                         &(dcsr_desc){.transpose_b = true, .mask_structure = true, .replace = true}));
        check_masked(c, all, mask);
        TEST_OK(dcsr_mxm(c, M, NULL, semiring, A, columns,
                         &(dcsr_desc){.mask_structure = true, .replace = true}));
        check_masked(c, all, mask);
        TEST_OK(dcsr_mxm(c, M, NULL, semiring, A, B, &(dcsr_desc){.mask_structure = true, .replace = true}));
        check_masked(c, all, mask);
        dcsr_view *const views[] = {A, B, M, columns, BT};
        dcsr_matrix *const matrices[] = {a, b, mask, bt, all, c};
        for (int k = 0; k < 5; k++) dcsr_view_destroy(views[k]);
        for (int k = 0; k < 6; k++) dcsr_matrix_destroy(matrices[k]);
        test_close(context);
    }
}
