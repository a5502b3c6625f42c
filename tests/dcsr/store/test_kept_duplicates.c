/* test_kept_duplicates.c: what operations leave of duplicates in a matrix of DCSR_POLICY_KEEP that they
 * write: at places that are not written each entry is as it was (dcsr/desc.h). */
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/mxm.h>
#include "tests/ops/algebra.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 90, COLS = 70, MOST = 3 }; /* rows of two pages; entries at a place */

/* C before an operation, what that computes, and what it is let through by. */
typedef struct problem_of_keep {
    test_random random;
    dcsr_context *context;
    dcsr_matrix *C;
    double before[ROWS][COLS][MOST];
    int count[ROWS][COLS];
    grid T, mask;
    dcsr_matrix *A, *M;
    dcsr_view *view, *mask_view;
    bool rows[ROWS], cols[COLS]; /* the region; all of them where it is none */
    const dcsr_binary_op *accum;
    dcsr_desc desc;
} keep_problem;

static bool once_in(keep_problem *p, uint64_t n)
{
    return test_random_once_in(&p->random, n);
}

/* An entry in about one of `sparsity` places of every `each`-th row. */
static dcsr_matrix *draw_matrix(keep_problem *p, grid *holds, uint64_t sparsity, uint64_t each)
{
    dcsr_matrix *matrix = test_matrix(p->context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    uint64_t *row = test_allocate(ROWS * COLS, sizeof *row), *col = test_allocate(ROWS * COLS, sizeof *col);
    double *value = test_allocate(ROWS * COLS, sizeof *value);
    size_t n = 0;
    *holds = grid_create(DCSR_FP64, ROWS, COLS);
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLS; c++) {
            if (r % each || !once_in(p, sparsity)) continue;
            row[n] = r, col[n] = c, value[n] = (double)test_random_below(&p->random, 3);
            grid_set(holds, grid_at(holds, r, c), (dcsr_i_scalar){.as_fp64 = value[n++]});
        }
    TEST_OK(dcsr_matrix_insert(matrix, n, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(row), free(col), free(value);
    return matrix;
}

/* Up to MOST entries at a place, of several batches, the last of which are perhaps still queued; some have
 * been removed in between. */
static void draw_output(keep_problem *p)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_KEEP,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF,
                                         .maintain_transpose = once_in(p, 3)};
    TEST_OK(dcsr_matrix_create(&p->C, p->context, DCSR_FP64, ROWS, COLS, &options));
    for (int b = 0; b < MOST; b++) {
        const bool remove = b == 1 && once_in(p, 2);
        uint64_t row[ROWS * COLS / 4], col[ROWS * COLS / 4];
        double value[ROWS * COLS / 4];
        size_t n = 0;
        for (uint64_t k = 0; k < ROWS * COLS; k += 1 + test_random_below(&p->random, 2 * MOST)) {
            uint64_t r = k % ROWS, c = k / ROWS;
            if (r % 7 == 3 || n == sizeof row / sizeof *row) continue;
            row[n] = r, col[n] = c, value[n] = (double)(1 + test_random_below(&p->random, 99));
            if (remove)
                p->count[r][c] = 0;
            else
                p->before[r][c][p->count[r][c]++] = value[n];
            n++;
        }
        TEST_OK(remove ? dcsr_matrix_remove(p->C, n, row, col, NULL)
                       : dcsr_matrix_insert(p->C, n, row, col, value, NULL));
        if (once_in(p, 2)) TEST_OK(dcsr_matrix_wait(p->C));
    }
}

static void open_problem(keep_problem *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->random.state = seed;
    p->context = test_context(once_in(p, 2) ? 1 : 3);
    draw_output(p);
    const uint64_t each = once_in(p, 2) ? 1 : 20;
    p->A = draw_matrix(p, &p->T, 4, each);
    p->view = test_view(p->A, DCSR_LAYOUT_SEGMENTS, 0);
    p->M = draw_matrix(p, &p->mask, 1 + test_random_below(&p->random, 3), once_in(p, 2) ? 1 : 15);
    if (once_in(p, 2)) p->mask_view = test_view(p->M, DCSR_LAYOUT_SEGMENTS, 0);
    if (once_in(p, 2)) p->accum = dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_FP64);
    if (once_in(p, 3)) p->desc.device = DCSR_DEVICE_CPU;
    p->desc.mask_complement = p->mask_view && once_in(p, 2);
    p->desc.mask_structure = once_in(p, 2);
    p->desc.replace = once_in(p, 3);
    memset(p->rows, true, sizeof p->rows);
    memset(p->cols, true, sizeof p->cols);
}

static void close_problem(keep_problem *p)
{
    grid_free(&p->T), grid_free(&p->mask);
    dcsr_view_destroy(p->view), dcsr_view_destroy(p->mask_view);
    dcsr_matrix_destroy(p->A), dcsr_matrix_destroy(p->M), dcsr_matrix_destroy(p->C);
    test_close(p->context);
}

/* The entries that a place is to have afterwards. */
static int expected_at(const keep_problem *p, uint64_t r, uint64_t c, double entry[MOST])
{
    const size_t cell = grid_at(&p->T, r, c);
    const int count = p->count[r][c];
    double sum = 0;
    bool is_true = p->mask.present[cell] && (p->desc.mask_structure || p->mask.value[cell].as_fp64 != 0);
    if (p->mask_view) is_true = is_true != p->desc.mask_complement;
    if (!p->mask_view) is_true = true;
    for (int k = 0; k < count; k++) sum += entry[k] = p->before[r][c][k];
    if (!is_true) return p->desc.replace ? 0 : count;
    if (!p->rows[r] || !p->cols[c] || (p->accum && !p->T.present[cell])) return count;
    if (!p->T.present[cell]) return 0;
    entry[0] = p->accum && count ? sum - p->T.value[cell].as_fp64 : p->T.value[cell].as_fp64;
    return 1;
}

static void assert_output(keep_problem *p, uint64_t seed, const char *operation)
{
    dcsr_view *view = test_view(p->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    for (uint64_t r = 0; r < ROWS; r++) {
        uint32_t columns[MOST * COLS];
        double values[MOST * COLS], entry[MOST];
        uint64_t n, at = 0;
        TEST_OK(dcsr_view_get_row(view, r, MOST * COLS, columns, values, &n));
        for (uint64_t c = 0; c < COLS; c++) {
            int wanted = expected_at(p, r, c, entry), got = 0;
            for (; at < n && columns[at] == c; at++, got++)
                cr_assert(got < wanted && values[at] == entry[got], "%s, seed %d: entry %d of (%d, %d) is %g",
                          operation, (int)seed, got, (int)r, (int)c, values[at]);
            cr_assert(got == wanted, "%s, seed %d: (%d, %d) has %d entries, not %d", operation, (int)seed,
                      (int)r, (int)c, got, wanted);
        }
        cr_assert(at == n, "%s, seed %d: row %d has others", operation, (int)seed, (int)r);
    }
    dcsr_view_destroy(view);
}

/* A random region, of few rows or of many. */
static uint64_t draw_region(keep_problem *p, bool *in, uint64_t size, uint64_t *list)
{
    const uint64_t from = test_random_below(&p->random, size), few = once_in(p, 2) ? 4 : size / 2;
    uint64_t n = 0;
    for (uint64_t k = 0; k < size; k++) {
        in[k] = k >= from && k < from + few && !(k % 3 == 1);
        if (in[k]) list[n++] = k;
    }
    return n;
}

static void solve_apply(keep_problem *p)
{
    const dcsr_unary_op *identity = dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64);
    if (!p->accum && !p->mask_view) memset(p->count, 0, sizeof p->count); /* nothing of C stays */
    TEST_OK(dcsr_matrix_apply(p->C, p->mask_view, p->accum, identity, p->view, &p->desc));
}

/* A times the identity, which is of another shape's width in no case. */
static void solve_mxm(keep_problem *p)
{
    dcsr_matrix *unit = test_matrix(p->context, DCSR_FP64, COLS, COLS, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < COLS; k++) TEST_OK(dcsr_matrix_insert(unit, 1, &k, &k, &(double){1}, NULL));
    TEST_OK(dcsr_matrix_wait(unit));
    dcsr_view *view = test_view(unit, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(p->C, p->mask_view, p->accum, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), p->view,
                     view, &p->desc));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(unit);
}

static void solve_assign_scalar(keep_problem *p)
{
    uint64_t rows[ROWS], cols[COLS], nrows = draw_region(p, p->rows, ROWS, rows),
                                     ncols = draw_region(p, p->cols, COLS, cols);
    const double five = 5;
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLS; c++) {
            p->T.present[grid_at(&p->T, r, c)] = false;
            if (p->rows[r] && p->cols[c])
                grid_set(&p->T, grid_at(&p->T, r, c), (dcsr_i_scalar){.as_fp64 = five});
        }
    TEST_OK(dcsr_matrix_assign_scalar(p->C, p->mask_view, p->accum, &five, DCSR_FP64,
                                      &(dcsr_index_list){rows, nrows}, &(dcsr_index_list){cols, ncols},
                                      &p->desc));
}

/* A is assigned in its own place: of its rows and columns those of the region. */
static void solve_assign(keep_problem *p)
{
    uint64_t rows[ROWS], nrows = draw_region(p, p->rows, ROWS, rows);
    dcsr_matrix *part = test_matrix(p->context, DCSR_FP64, nrows, COLS, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < nrows; k++)
        for (uint64_t c = 0; c < COLS; c++) {
            const size_t cell = grid_at(&p->T, rows[k], c);
            if (p->T.present[cell])
                TEST_OK(dcsr_matrix_insert(part, 1, &k, &c, &p->T.value[cell].as_fp64, NULL));
        }
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLS && !p->rows[r]; c++) p->T.present[grid_at(&p->T, r, c)] = false;
    TEST_OK(dcsr_matrix_wait(part));
    dcsr_view *view = test_view(part, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_assign(p->C, p->mask_view, p->accum, view, &(dcsr_index_list){rows, nrows}, NULL,
                               &p->desc));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(part);
}

/* Row 64 or column 5 becomes that of A: all of it is written. */
static void solve_line(keep_problem *p, bool column)
{
    dcsr_vector *u;
    const uint64_t line = column ? 5 : 64, size = column ? ROWS : COLS;
    TEST_OK(dcsr_vector_create(&u, p->context, DCSR_FP64, size));
    dcsr_view_destroy(p->mask_view);
    p->mask_view = NULL;
    p->accum = NULL;
    p->desc.mask_complement = p->desc.replace = false;
    for (uint64_t k = 0; k < size; k++) {
        const size_t cell = column ? grid_at(&p->T, k, line) : grid_at(&p->T, line, k);
        if (p->T.present[cell]) TEST_OK(dcsr_vector_set(u, k, &p->T.value[cell]));
    }
    for (uint64_t r = 0; r < ROWS && !column; r++) p->rows[r] = r == line;
    for (uint64_t c = 0; c < COLS && column; c++) p->cols[c] = c == line;
    TEST_OK(column ? dcsr_matrix_assign_column(p->C, NULL, NULL, u, line, &p->desc)
                   : dcsr_matrix_assign_row(p->C, NULL, NULL, u, line, &p->desc));
    dcsr_vector_destroy(u);
}
static void solve_row(keep_problem *p)
{
    solve_line(p, false);
}
static void solve_column(keep_problem *p)
{
    solve_line(p, true);
}

Test(kept_duplicates, stay_at_places_that_are_not_written)
{
    static const struct {
        const char *name;
        void (*solve)(keep_problem *p);
    } operations[] = {
        {"apply", solve_apply},   {"mxm", solve_mxm},        {"assign_scalar", solve_assign_scalar},
        {"assign", solve_assign}, {"assign_row", solve_row}, {"assign_column", solve_column}};
    const test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 20, 10));
    keep_problem *p = test_allocate(1, sizeof *p);
    for (uint64_t s = 0; s < seeds.rounds; s++)
        for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
            const uint64_t seed = seeds.first + s;
            test_seed_begins(seed);
            open_problem(p, seed);
            operations[o].solve(p);
            assert_output(p, seed, operations[o].name);
            close_problem(p);
        }
    free(p);
}

/* The simplest case: a row far away keeps its three entries. */
Test(kept_duplicates, of_a_row_that_is_not_assigned_to_stay)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, 100, 100, DCSR_POLICY_KEEP);
    const uint64_t row = 50, col = 1;
    const double five = 5;
    TEST_INSERT(C, {0, 7, 1}, {0, 7, 2}, {0, 7, 3}, {50, 1, 4}, {50, 1, 6});
    TEST_OK(dcsr_matrix_assign_scalar(C, NULL, NULL, &five, DCSR_FP64, &(dcsr_index_list){&row, 1},
                                      &(dcsr_index_list){&col, 1}, NULL));
    TEST_SHOWS(C, {0, 7, 1}, {0, 7, 2}, {0, 7, 3}, {50, 1, 5});
    dcsr_matrix_destroy(C);
    test_close(context);
}
