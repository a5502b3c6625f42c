/* test_take_out.c: deleting batches of entries of rows that nobody tidies, where they are: from rows in one piece and
 * in several, with duplicates, until they are empty; beside versions that are held, where tombstones are written. */
#include "tests/support/support.h"

enum { ROWS = 150, COLS = 64, MOST = 600 };

typedef struct batch {
    size_t n;
    uint64_t rows[MOST], cols[MOST];
    double values[MOST];
} batch;

static void insert(dcsr_matrix *matrix, oracle *model, const batch *b)
{
    const void *values = model->type == DCSR_PATTERN ? NULL : b->values;
    TEST_OK(dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    oracle_insert(model, b->n, b->rows, b->cols, values);
}

static void take_out(dcsr_matrix *matrix, oracle *model, const batch *b)
{
    TEST_OK(dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    oracle_remove(model, b->n, b->rows, b->cols);
}

/* Some columns of some rows; those of row 7 all, now and then. */
static void fill(batch *b, test_random *random, size_t n, bool whole)
{
    for (b->n = 0; b->n < n; b->n++) {
        b->rows[b->n] = test_random_below(random, ROWS);
        b->cols[b->n] = test_random_below(random, COLS);
        b->values[b->n] = (double)test_random_below(random, 9);
    }
    for (uint64_t c = 0; whole && c < COLS; c++) {
        b->rows[b->n] = 7, b->cols[b->n] = c;
        b->values[b->n++] = 1;
    }
}

static void live(dcsr_context *context, dcsr_type type, dcsr_policy policy, int segments, bool holds)
{
    const dcsr_matrix_options options = {.policy = policy,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF,
                                         .resolve = DCSR_RESOLVE_ON_READ,
                                         .segments = segments};
    static batch b;
    dcsr_matrix *matrix;
    oracle model;
    dcsr_view *view = NULL;
    char why[TEST_WHY];
    test_random random = {(uint64_t)policy + 10 * (uint64_t)segments};
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    oracle_create(&model, type, policy, ROWS, COLS);
    for (int step = 0; step < 24; step++) {
        oracle then;
        oracle_copy(&then, &model);
        if (holds) TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        fill(&b, &random, 200, step % 5 == 1);
        insert(matrix, &model, &b);
        fill(&b, &random, step % 7 == 3 ? 500 : 150, step % 5 == 2);
        take_out(matrix, &model, &b);
        if (holds)
            cr_assert(test_view_matches(view, &then, DCSR_VIEW_DUPLICATES, why), "step %d, held: %s", step,
                      why);
        if (holds) dcsr_view_destroy(view);
        oracle_destroy(&then);
        TEST_MATCHES(matrix, &model);
        dcsr_matrix_info info;
        TEST_OK(dcsr_matrix_get_info(matrix, &info));
        /* Where duplicates are kept only a tombstone makes a row one that is unresolved. Those of long rows, of which
         * many entries go, get some. */
        if (policy == DCSR_POLICY_KEEP && step < 2 && !holds && !test_on_device(context))
            cr_assert(info.unresolved_rows == 0, "step %d: %llu rows", step,
                      (unsigned long long)info.unresolved_rows);
    }
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
}

Test(take_out, all_policies)
{
    for (int threads = 1; threads <= 2; threads++) {
        dcsr_context *context = test_context(threads);
        for (int policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++)
            for (int segments = 2; segments <= 8; segments *= 2) {
                live(context, DCSR_FP64, (dcsr_policy)policy, segments, false);
                live(context, DCSR_FP64, (dcsr_policy)policy, segments, true);
            }
        live(context, DCSR_PATTERN, DCSR_POLICY_ANY, 4, false);
        test_close(context);
    }
}
