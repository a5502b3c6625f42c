/* test_algebra_products.c: the products against their definitions. */
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include "tests/ops/algebra.h"

#include <stdlib.h>

Test(algebra_products, are_what_the_definitions_say)
{
    algebra_test_random(product_operations, (uint64_t)TEST_SIZE(400, 100, 40));
}

Test(algebra_products, leave_their_output_alone_when_they_fail)
{
    algebra_test_failures(product_operations, (uint64_t)TEST_SIZE(60, 20, 10));
}

Test(algebra_products, refuse_what_makes_no_sense)
{
    algebra_test_arguments(product_operations, (uint64_t)TEST_SIZE(60, 20, 10));
}

/* A semiring that may take any term: whatever it takes, it has to be one of them. */

enum { SIZE = 70 };

/* An entry in a third of the places; no two values are alike. */
static dcsr_matrix *different_values(dcsr_context *context, grid *holds, uint64_t seed, int64_t first)
{
    test_random random = {seed};
    uint64_t *rows = test_allocate(SIZE * SIZE, sizeof *rows),
             *cols = test_allocate(SIZE * SIZE, sizeof *cols), n = 0;
    int64_t *values = test_allocate(SIZE * SIZE, sizeof *values);
    *holds = grid_create(DCSR_INT64, SIZE, SIZE);
    for (uint64_t c = 0; c < SIZE * SIZE; c++) {
        if (!test_random_once_in(&random, 3) || c / SIZE % 9 == 4) continue;
        rows[n] = c / SIZE, cols[n] = c % SIZE, values[n] = first + (int64_t)c;
        grid_set(holds, c, (dcsr_i_scalar){.as_int64 = values[n++]});
    }
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, SIZE, SIZE, DCSR_POLICY_LAST);
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows), free(cols), free(values);
    return matrix;
}

/* Asserts that T(i,j) is A(i,k), or B(k,j), of some k for which both are there; and that there is none else.
 */
static void assert_some_term(const grid *T, const grid *A, const grid *B, bool second)
{
    for (uint64_t i = 0; i < T->rows; i++)
        for (uint64_t j = 0; j < T->cols; j++) {
            const size_t t = grid_at(T, i, j);
            bool any = false, found = false;
            for (uint64_t k = 0; k < A->cols; k++) {
                const size_t a = grid_at(A, i, k), b = grid_at(B, k, j);
                if (!A->present[a] || !B->present[b]) continue;
                any = true;
                found = found || T->value[t].word == (second ? B->value[b].word : A->value[a].word);
            }
            cr_assert(any == T->present[t] && (!any || found), "(%d, %d) is no term of its sum", (int)i,
                      (int)j);
        }
}

Test(algebra_products, any_takes_one_of_the_terms)
{
    static const dcsr_semiring_name names[] = {DCSR_ANY_FIRST, DCSR_ANY_SECOND};
    char why[TEST_WHY];
    dcsr_context *context = test_context(3);
    grid a, b, u, t;
    dcsr_matrix *A = different_values(context, &a, 1, 1000), *B = different_values(context, &b, 2, 100000),
                *C;
    dcsr_view *view = test_view(A, DCSR_LAYOUT_SEGMENTS, 0), *other = test_view(B, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_vector *vector, *w;
    TEST_OK(dcsr_vector_create(&vector, context, DCSR_INT64, SIZE));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_INT64, SIZE));
    for (int64_t k = 0; k < SIZE; k += 3) TEST_OK(dcsr_vector_set(vector, (uint64_t)k, &(int64_t){7 + k}));
    cr_assert(grid_of_vector(&u, vector, why), "%s", why);
    C = test_matrix(context, DCSR_INT64, SIZE, SIZE, DCSR_POLICY_LAST);
    for (int k = 0; k < 2; k++) {
        const dcsr_semiring *any = dcsr_semiring_of(names[k], DCSR_INT64);
        for (int way = DCSR_DIRECTION_AUTO; way <= DCSR_DIRECTION_PULL; way++) {
            TEST_OK(
                dcsr_mxv(w, NULL, NULL, any, view, vector, &(dcsr_desc){.direction = (dcsr_direction)way}));
            cr_assert(grid_of_vector(&t, w, why), "%s", why);
            assert_some_term(&t, &a, &u, k == 1);
            grid_free(&t);
        }
        TEST_OK(dcsr_mxm(C, NULL, NULL, any, view, other, NULL));
        cr_assert(grid_of_matrix(&t, C, why), "%s", why);
        assert_some_term(&t, &a, &b, k == 1);
        grid_free(&t);
    }
    grid_free(&a), grid_free(&b), grid_free(&u);
    dcsr_view_destroy(view), dcsr_view_destroy(other);
    dcsr_matrix_destroy(A), dcsr_matrix_destroy(B), dcsr_matrix_destroy(C);
    dcsr_vector_destroy(vector), dcsr_vector_destroy(w);
    test_close(context);
}
