/* test_failure.c: memory that runs out, at every point of every call in turn.
 *
 * Each case asserts three things: the status and its sentence, that the matrix is as it was, and that it can
 * be used afterwards. */
#include "tests/support/support.h"

#include "dcsr/base/alloc.h"
#include <stdlib.h>
#include <string.h>

/* A matrix with a bit of everything, and the oracle that fits it. */
typedef struct fixture {
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
    dcsr_view *view; /* what the call under test made, if it makes one */
} fixture;

enum { ROWS = 300, COLS = 200, ENTRIES = 400 };

/* Entries all over the first rows and columns, many of them in row 7. */
static void make_batch(test_random *random, size_t n, uint64_t rows, uint64_t cols, uint64_t *row,
                       uint64_t *col, int64_t *value)
{
    for (size_t i = 0; i < n; i++) {
        row[i] = test_random_below(random, 4) ? test_random_below(random, rows) : 7;
        col[i] = test_random_below(random, cols);
        value[i] = (int64_t)test_random_below(random, 100);
    }
}

static dcsr_status change(fixture *f, uint64_t seed, bool insert, bool wait)
{
    uint64_t row[ENTRIES], col[ENTRIES];
    int64_t value[ENTRIES];
    dcsr_ticket *ticket = NULL;
    test_random random = {seed};
    uint64_t rows = f->model.rows < ROWS ? f->model.rows : ROWS,
             cols = f->model.cols < COLS ? f->model.cols : COLS;
    make_batch(&random, ENTRIES, rows, cols, row, col, value);
    dcsr_status status = insert ? dcsr_matrix_insert(f->matrix, ENTRIES, row, col, value, &ticket)
                                : dcsr_matrix_remove(f->matrix, ENTRIES, row, col, &ticket);
    cr_assert((status == DCSR_OK) == (ticket != NULL));
    if (status == DCSR_OK && wait) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    if (status != DCSR_OK) return status;
    if (insert)
        oracle_insert(&f->model, ENTRIES, row, col, value);
    else
        oracle_remove(&f->model, ENTRIES, row, col);
    return DCSR_OK;
}

static void set_up(fixture *f, dcsr_policy policy)
{
    *f = (fixture){.context = test_context(2)};
    f->matrix = test_matrix(f->context, DCSR_INT64, ROWS, COLS, policy);
    oracle_create(&f->model, DCSR_INT64, policy, ROWS, COLS);
    for (uint64_t seed = 1; seed <= 6; seed++) TEST_OK(change(f, seed, seed != 4, true));
}

static void tear_down(fixture *f)
{
    dcsr_matrix_destroy(f->matrix);
    oracle_destroy(&f->model);
    test_close(f->context);
}

static dcsr_status waited(dcsr_status status, dcsr_ticket *ticket)
{
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

/* The calls under test. Each brings the oracle up to date when it succeeds. */

static dcsr_status call_insert(fixture *f)
{
    return change(f, 100, true, true);
}
static dcsr_status call_remove(fixture *f)
{
    return change(f, 2, false, true);
}

static dcsr_status resize_to(fixture *f, uint64_t rows, uint64_t cols)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = dcsr_matrix_resize(f->matrix, rows, cols, &ticket);
    status = waited(status, ticket);
    if (status == DCSR_OK) oracle_resize(&f->model, rows, cols);
    return status;
}

static dcsr_status call_grow(fixture *f)
{
    return resize_to(f, 200000, 50000);
}
static dcsr_status call_drop_rows(fixture *f)
{
    return resize_to(f, 70, COLS);
}
static dcsr_status call_drop_columns(fixture *f)
{
    return resize_to(f, ROWS, 50);
}

static dcsr_status defragment(fixture *f, dcsr_defragment_scope scope)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = dcsr_matrix_defragment(f->matrix, scope, &ticket);
    return waited(status, ticket);
}

static dcsr_status call_defragment_whole(fixture *f)
{
    return defragment(f, DCSR_DEFRAGMENT_WHOLE);
}
static dcsr_status call_defragment_selected(fixture *f)
{
    return defragment(f, DCSR_DEFRAGMENT_SELECTED);
}

static dcsr_status make_view(fixture *f, dcsr_layout layout, unsigned flags)
{
    dcsr_status status = dcsr_view_create(&f->view, f->matrix, layout, flags);
    cr_assert((status == DCSR_OK) == (f->view != NULL));
    char why[TEST_WHY];
    /* Reading takes memory on a device only. */
    if (test_on_device(f->context)) dcsr_i_fail_allocations_after(-1);
    if (f->view) cr_assert(test_view_matches(f->view, &f->model, flags, why), "%s", why);
    return status;
}

static dcsr_status call_view_segments(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_SEGMENTS, 0);
}
static dcsr_status call_view_raw(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
}
static dcsr_status call_view_sorted(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
}
static dcsr_status call_view_csr(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_CSR, 0);
}
static dcsr_status call_view_csr_raw(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_CSR, DCSR_VIEW_DUPLICATES);
}
static dcsr_status call_view_csr_sorted(fixture *f)
{
    return make_view(f, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
}

static dcsr_status call_nnz(fixture *f)
{
    uint64_t nnz = 0;
    dcsr_status status = dcsr_matrix_get_nnz(f->matrix, &nnz);
    cr_assert(status != DCSR_OK || nnz == oracle_nnz(&f->model));
    return status;
}

static dcsr_status call_get_many(fixture *f)
{
    uint64_t rows[] = {7, 0, 299}, cols[] = {3, 3, 3};
    int64_t values[3];
    bool stored[3];
    dcsr_status status = dcsr_matrix_get_many(f->matrix, 3, rows, cols, values, stored);
    uint64_t value;
    for (int i = 0; status == DCSR_OK && i < 3; i++)
        cr_assert(stored[i] == oracle_get(&f->model, rows[i], cols[i], &value));
    return status;
}

static dcsr_status call_get_info(fixture *f)
{
    dcsr_matrix_info info;
    dcsr_status status = dcsr_matrix_get_info(f->matrix, &info);
    cr_assert(status != DCSR_OK || info.rows == f->model.rows);
    return status;
}
static dcsr_status call_drop_all(fixture *f)
{
    dcsr_status status = resize_to(f, 0, 0);
    if (status != DCSR_OK) return status;
    dcsr_i_fail_allocations_after(-1);
    return resize_to(f, ROWS, COLS);
}

static const struct {
    const char *name;
    dcsr_status (*call)(fixture *f);
} calls[] = {{"insert", call_insert},
             {"remove", call_remove},
             {"resize, growing", call_grow},
             {"resize, dropping rows", call_drop_rows},
             {"resize, dropping columns", call_drop_columns},
             {"resize, dropping all", call_drop_all},
             {"defragment, whole", call_defragment_whole},
             {"defragment, selected", call_defragment_selected},
             {"view of segments", call_view_segments},
             {"view of segments with duplicates", call_view_raw},
             {"view of segments, sorted", call_view_sorted},
             {"CSR view", call_view_csr},
             {"CSR view with duplicates", call_view_csr_raw},
             {"CSR view, sorted", call_view_csr_sorted},
             {"nnz", call_nnz},
             {"get_info", call_get_info},
             {"get_many", call_get_many}};

/* Whether the matrix is still what it was: all views of it; on a device, where each takes long and failures
 * are many, one of them in turn. */
static bool still_matches(fixture *f, long n, char why[TEST_WHY])
{
    if (!test_on_device(f->context)) return test_matrix_matches(f->matrix, &f->model, why);
    unsigned flags = (unsigned)n % 4;
    dcsr_view *view = test_view(f->matrix, n / 4 % 2 ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS, flags);
    bool same = test_view_matches(view, &f->model, flags, why);
    dcsr_view_destroy(view);
    return same;
}

/* Lets the n-th allocation of the call and all later ones fail, for n = 0, 1, ... until the call succeeds; on the
 * emulator every second one, those that the other policy leaves out. */
static void fail_at_every_point(size_t i, dcsr_policy policy)
{
    const long first = test_on_emulator() && policy == DCSR_POLICY_KEEP, step = test_on_emulator() ? 2 : 1;
    fixture f;
    set_up(&f, policy);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = first; status != DCSR_OK; n += step) {
        cr_assert(n < 10000, "%s never succeeds", calls[i].name);
        TEST_OK(change(&f, 400 + (uint64_t)n, n % 2, true)); /* so that no view is cached */
        dcsr_i_fail_allocations_after(n);
        status = calls[i].call(&f);
        bool said = dcsr_thread_error()[0] != '\0';
        dcsr_i_fail_allocations_after(-1);
        if (status != DCSR_OK) {
            cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY, "%s, n = %ld: %s", calls[i].name, n,
                      dcsr_status_name(status));
            cr_assert(said, "%s, n = %ld: no sentence", calls[i].name, n);
        }
        char why[TEST_WHY];
        cr_assert(still_matches(&f, n, why), "%s, n = %ld: %s", calls[i].name, n, why);
        dcsr_view_destroy(f.view);
        f.view = NULL;
    }
    TEST_OK(change(&f, 200, true, true));
    TEST_OK(defragment(&f, DCSR_DEFRAGMENT_WHOLE));
    TEST_MATCHES(f.matrix, &f.model);
    TEST_OK(dcsr_matrix_wait(f.matrix));
    tear_down(&f);
}

Test(allocation, may_fail_at_every_point_of_a_call)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fail_at_every_point(i, DCSR_POLICY_SUM);
        fail_at_every_point(i, DCSR_POLICY_KEEP);
    }
}

Test(allocation, may_fail_while_a_context_and_a_matrix_are_created)
{
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_context *context = NULL;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU});
        dcsr_i_fail_allocations_after(-1);
        cr_assert((status == DCSR_OK) == (context != NULL));
        cr_assert(context || (status == DCSR_ERROR_OUT_OF_MEMORY && dcsr_thread_error()[0]));
    }
    dcsr_matrix *matrix = NULL;
    status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_create(&matrix, context, DCSR_FP32, 1 << 20, 5, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert((status == DCSR_OK) == (matrix != NULL));
        char why[TEST_WHY];
        cr_assert(matrix || status == DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert(matrix || test_context_is_as_new(context, why), "%s", why);
    }
    TEST_INSERT(matrix, {1 << 19, 2, 3});
    TEST_SHOWS(matrix, {1 << 19, 2, 3});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(allocation, may_fail_while_triples_become_a_matrix)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    dcsr_matrix *matrix = NULL;
    char why[TEST_WHY];
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_coo_allocate(&coo, context, DCSR_INT64, ROWS, COLS, 10);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY && !coo.row_indices && !coo.col_indices && !coo.values &&
                  !coo.nnz);
        cr_assert(test_context_is_as_new(context, why), "%s", why);
    }
    test_random random = {1};
    make_batch(&random, 10, ROWS, COLS, coo.row_indices, coo.col_indices, coo.values);
    uint64_t row = coo.row_indices[9];
    status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_coo_resize(&coo, ENTRIES);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(coo.nnz == (status == DCSR_OK ? ENTRIES : 10) && coo.row_indices[9] == row);
    }
    make_batch(&random, ENTRIES, ROWS, COLS, coo.row_indices, coo.col_indices, coo.values);
    status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_from_coo(&matrix, context, &coo, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert((status == DCSR_OK) == (matrix != NULL));
        cr_assert(matrix || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_DEFAULT, ROWS, COLS);
    oracle_insert(&model, ENTRIES, coo.row_indices, coo.col_indices, coo.values);
    TEST_MATCHES(matrix, &model);
    oracle_destroy(&model);
    dcsr_coo_free(&coo);
    dcsr_coo_free(&coo);
    dcsr_coo_free(NULL);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(allocation, of_a_later_change_may_fail_and_the_one_after_it_succeed)
{
    fixture f;
    set_up(&f, DCSR_POLICY_LAST);
    for (long n = 0; n < 60; n++) {
        uint64_t place = (uint64_t)n;
        int64_t value = n;
        dcsr_i_fail_allocations_after(n);
        dcsr_status first = dcsr_matrix_insert(f.matrix, 1, &place, &place, &value, NULL);
        if (first == DCSR_OK) first = dcsr_matrix_wait(f.matrix); /* nobody holds a ticket */
        dcsr_i_fail_allocations_after(-1);
        cr_assert(first == DCSR_OK || first == DCSR_ERROR_OUT_OF_MEMORY);
        if (first == DCSR_OK) oracle_insert(&f.model, 1, &place, &place, &value);
        TEST_OK(dcsr_matrix_wait(f.matrix));
        TEST_OK(change(&f, 300 + place, true, true));
    }
    TEST_MATCHES(f.matrix, &f.model);
    tear_down(&f);
}

/* One random change with the n-th allocation from now failing; the oracle follows when it is in. */
static void change_or_fail(fixture *f, test_random *random)
{
    uint64_t dice = test_random_below(random, 12), seed = test_random_next(random);
    dcsr_i_fail_allocations_after(test_random_below(random, 3) ? (long)test_random_below(random, 40) : -1);
    dcsr_status status;
    if (dice < 5)
        status = change(f, seed, true, true);
    else if (dice < 8)
        status = change(f, seed, false, true);
    else if (dice < 9)
        status = resize_to(f, 10 + seed % (2 * ROWS), 10 + seed / 1024 % (2 * COLS));
    else if (dice < 11)
        status = defragment(f, (dcsr_defragment_scope)(dice - 9));
    else
        status = call_nnz(f);
    dcsr_i_fail_allocations_after(-1);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_status_name(status));
}

Test(allocation, may_fail_anywhere_in_random_sequences)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(60, 15, 6));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        uint64_t seed = seeds.first + i;
        test_random random = {seed};
        test_seed_begins(seed);
        dcsr_policy policy = (dcsr_policy)(DCSR_POLICY_KEEP + seed % (DCSR_POLICY_COUNT - DCSR_POLICY_KEEP));
        dcsr_matrix_options options = {.policy = policy,
                                       .segments = DCSR_MIN_SEGMENTS + (int)(seed % 5),
                                       .defragmentation = (dcsr_defragmentation)(seed / 5 % 2)};
        fixture f = {.context = test_context(2)};
        char why[TEST_WHY];
        TEST_OK(dcsr_matrix_create(&f.matrix, f.context, DCSR_INT64, ROWS, COLS, &options));
        oracle_create(&f.model, DCSR_INT64, policy, ROWS, COLS);
        for (int step = 0; step < 40; step++) {
            dcsr_view *held = test_view(f.matrix, (dcsr_layout)(step % 2), step % 4);
            oracle before;
            oracle_copy(&before, &f.model);
            for (int more = 0; more < 3; more++) change_or_fail(&f, &random);
            TEST_OK(dcsr_matrix_wait(f.matrix)); /* each failure was told by its ticket */
            cr_assert(test_view_matches(held, &before, step % 4, why), "DCSR_TEST_SEED=%lu: %s",
                      (unsigned long)seed, why);
            cr_assert(test_matrix_matches(f.matrix, &f.model, why), "DCSR_TEST_SEED=%lu: %s",
                      (unsigned long)seed, why);
            dcsr_view_destroy(held);
            oracle_destroy(&before);
        }
        tear_down(&f);
    }
}
