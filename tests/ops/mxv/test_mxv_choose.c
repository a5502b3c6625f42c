/* test_mxv_choose.c: which way products with vectors are computed where several could serve. */
#include "ops/mxv/mxv_internal.h"
#include "tests/support/support.h"
#include <dcsr/mxv.h>
#include <stdlib.h>
#include <string.h>

/* A square matrix of a million rows with 16 million entries, and a full vector. */
static dcsr_i_mxv_situation full(void)
{
    const uint64_t n = 1000000, entries = 16 * n;
    return (dcsr_i_mxv_situation){.n = n,
                                  .length = n,
                                  .entries = entries,
                                  .nvals = n,
                                  .dense = true,
                                  .pulled_nvals = n,
                                  .pulled_dense = true,
                                  .wanted = n,
                                  .mean = 16,
                                  .work = entries,
                                  .plus_times = true,
                                  .can_push = true,
                                  .can_pull = true,
                                  .can_tile = true};
}

/* The same with a thousandth of the elements. */
static dcsr_i_mxv_situation sparse(void)
{
    dcsr_i_mxv_situation s = full();
    s.nvals = s.pulled_nvals = s.n / 1000;
    s.work = s.entries / 1000;
    s.dense = s.pulled_dense = false;
    return s;
}

Test(mxv_choose, takes_tiles_for_full_vectors_alone)
{
    dcsr_i_mxv_situation s = full();
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_TILES);
    s.can_tile = false;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
    s = sparse();
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PUSH);
    s.can_push = false;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
    s.can_pull = false, s.can_push = true;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PUSH);
}

Test(mxv_choose, pulls_where_little_is_wanted_or_a_term_decides)
{
    dcsr_i_mxv_situation s = full();
    s.wanted = 100;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
    s = full();
    s.any = s.bits = true;
    s.plus_times = false;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
}

/* A fifth of the elements: estimates are near each other; up to the density that was learnt columns are taken. */
Test(mxv_choose, asks_what_was_learnt_where_estimates_are_near)
{
    dcsr_i_mxv_situation s = full();
    s.can_tile = false;
    cr_assert_not(dcsr_i_mxv_asks_crossover(&s), "of a full vector");
    s.nvals = s.pulled_nvals = s.n / 5;
    s.work = s.entries / 5;
    cr_assert(dcsr_i_mxv_asks_crossover(&s));
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PUSH);
    s.mean = 1; /* of the rows, as if entries were in others */
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
    s.crossover = 0.19;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PULL);
    s.crossover = 0.21;
    cr_assert_eq(dcsr_i_mxv_decide(&s), DCSR_DIRECTION_PUSH);
    s.wanted = s.n / 2;
    cr_assert_not(dcsr_i_mxv_asks_crossover(&s), "under a mask");
    s = sparse();
    cr_assert_not(dcsr_i_mxv_asks_crossover(&s), "of hardly any element");
}

/* Vectors are larger than what is taken for a cache. */
enum { ROWS = 140000, ENTRIES = 3 * ROWS };

static dcsr_direction way_of(dcsr_vector *w, dcsr_view *A, const dcsr_vector *u, dcsr_direction asked)
{
    dcsr_report report;
    TEST_OK(dcsr_mxv(w, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), A, u,
                     &(dcsr_desc){.direction = asked, .device = DCSR_DEVICE_CPU, .report = &report}));
    return report.direction;
}

Test(mxv_choose, is_reported)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, ROWS, DCSR_POLICY_LAST);
    test_random random = {1};
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    double *values = test_allocate(ENTRIES, sizeof *values);
    for (uint64_t k = 0; k < ENTRIES; k++) {
        rows[k] = test_random_below(&random, ROWS), cols[k] = test_random_below(&random, ROWS);
        values[k] = 1;
    }
    TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_vector *u, *w;
    TEST_OK(dcsr_vector_create(&w, context, DCSR_FP64, ROWS));
    TEST_OK(dcsr_vector_create(&u, context, DCSR_FP64, ROWS));
    for (uint64_t i = 0; i < ROWS; i++) rows[i] = i;
    TEST_OK(dcsr_vector_build(u, ROWS, rows, values, DCSR_POLICY_LAST));
    dcsr_view *tiles = test_view(matrix, DCSR_LAYOUT_NUT, 0),
              *segments = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert_eq(way_of(w, tiles, u, DCSR_DIRECTION_AUTO), DCSR_DIRECTION_TILES);
    cr_assert_eq(way_of(w, tiles, u, DCSR_DIRECTION_PULL), DCSR_DIRECTION_PULL);
    cr_assert_eq(way_of(w, segments, u, DCSR_DIRECTION_AUTO), DCSR_DIRECTION_PULL);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_LAYOUT_NUT",
                 dcsr_mxv(w, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), segments, u,
                          &(dcsr_desc){.direction = DCSR_DIRECTION_TILES}));
    /* Of the transpose they are made when they are asked for, and from then on taken where the vector is full. */
    const dcsr_direction asked[] = {DCSR_DIRECTION_PULL, DCSR_DIRECTION_TILES, DCSR_DIRECTION_AUTO};
    uint64_t n[3];
    double *sums[3];
    for (int k = 0; k < 3; k++) {
        dcsr_report report;
        sums[k] = test_allocate(ROWS, sizeof *sums[k]);
        TEST_OK(dcsr_vxm(w, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), u, tiles,
                         &(dcsr_desc){.direction = asked[k], .replace = true, .report = &report}));
        cr_assert_eq(report.direction, k ? DCSR_DIRECTION_TILES : DCSR_DIRECTION_PULL);
        TEST_OK(dcsr_vector_get_entries(w, ROWS, rows, sums[k], &n[k]));
        cr_assert(n[k] == n[0] && !memcmp(sums[k], sums[0], n[0] * sizeof *sums[0])); /* of ones */
    }
    for (int k = 0; k < 3; k++) free(sums[k]);
    for (uint64_t i = 0; i < ROWS; i++) rows[i] = i;
    TEST_OK(dcsr_vector_build(u, 3, rows, values, DCSR_POLICY_LAST));
    TEST_OK(dcsr_vector_set_format(u, DCSR_VECTOR_SPARSE));
    cr_assert_neq(way_of(w, tiles, u, DCSR_DIRECTION_AUTO), DCSR_DIRECTION_TILES);
    dcsr_view_destroy(tiles);
    dcsr_view_destroy(segments);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    dcsr_matrix_destroy(matrix);
    free(rows);
    free(cols);
    free(values);
    test_close(context);
}
