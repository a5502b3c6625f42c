/* test_durable_turns.c: the log of durable matrices has turns between the transactions of a snapshot. */
#include "persist/durable.h"
#include "dcsr/store/store.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>
#include "tests/support/support_snapshot.h"

/* Work during a snapshot, which makes a commit for each chunk. */
static atomic_int turns;         /* that the log has had */
static atomic_bool done;         /* the work is */
static atomic_bool ended;        /* the snapshot is at its end */
static atomic_bool done_in_time; /* the work was done by then */

/* Takes time, so that the work is done before the chunks are. */
static void at_point(const char *name)
{
    if (!strcmp(name, "snapshot: chunks committed")) {
        atomic_fetch_add(&turns, 1);
        if (!atomic_load(&done)) store_pause(5);
    }
    if (!strcmp(name, "snapshot: version written") && !atomic_exchange(&ended, true))
        atomic_store(&done_in_time, atomic_load(&done));
}

typedef struct making {
    dcsr_store *store;
    const char *name;
    dcsr_matrix *matrix;
    dcsr_version_info info;
    pthread_t thread;
} making;

static void *make_snapshot(void *argument)
{
    making *m = argument;
    TEST_OK(dcsr_store_snapshot(m->store, m->name, m->matrix, &m->info));
    return NULL;
}

static void start_snapshot(making *m, fixture *f, const char *name, dcsr_matrix *matrix)
{
    *m = (making){.store = f->store, .name = name, .matrix = matrix};
    atomic_store(&turns, 0);
    atomic_store(&done, false);
    atomic_store(&ended, false);
    dcsr_i_store_transaction_bytes = 1;
    dcsr_i_store_point = at_point;
    cr_assert(!pthread_create(&m->thread, NULL, make_snapshot, m));
}

static void wait_until_it_is_on_its_way(void)
{
    while (!atomic_load(&turns)) store_pause(1);
}

static void end_snapshot(making *m)
{
    atomic_store(&done, true);
    pthread_join(m->thread, NULL);
    dcsr_i_store_point = NULL;
    cr_assert(atomic_load(&turns) > 50, "%d", atomic_load(&turns));
}

static dcsr_matrix *open_durable(const fixture *f, const char *name, dcsr_recovery *report)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, f->context, f->store, name,
        &(dcsr_durable_options){
            .type = DCSR_FP64, .rows = 3000, .cols = 3000, .matrix = {.policy = DCSR_POLICY_SUM}},
        report));
    return matrix;
}

/* A durable matrix of some hundred chunks, with a 1 at (i, i). */
static dcsr_matrix *open_large(const fixture *f)
{
    enum { LENGTH = 9, ROWS = 3000 };
    dcsr_matrix *matrix = open_durable(f, "a", NULL);
    static uint64_t row[ROWS * LENGTH], col[ROWS * LENGTH];
    static double value[ROWS * LENGTH];
    for (size_t i = 0; i < ROWS * LENGTH; i++) {
        row[i] = i / LENGTH;
        col[i] = (row[i] + i % LENGTH) % ROWS;
        value[i] = 1;
    }
    TEST_OK(dcsr_matrix_insert(matrix, ROWS * LENGTH, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

static double value_at(dcsr_matrix *matrix, uint64_t row, uint64_t col)
{
    double value = 0;
    bool stored;
    TEST_OK(dcsr_matrix_get(matrix, row, col, &value, &stored));
    return stored ? value : 0;
}

Test(durable_turns, of_another_matrix_is_written)
{
    fixture f = begin(0);
    making m;
    dcsr_recovery report;
    dcsr_matrix *large = make_rows(f.context, 3000, 9), *durable = open_durable(&f, "d", NULL);
    start_snapshot(&m, &f, "m", large);
    wait_until_it_is_on_its_way();
    for (int i = 0; i < 3; i++) TEST_INSERT(durable, {1, 1, 1});
    end_snapshot(&m);
    cr_assert(atomic_load(&done_in_time), "the log waited for the whole snapshot");
    dcsr_matrix_destroy(durable);
    durable = open_durable(&f, "d", &report);
    cr_assert_eq(report.log_records, 3);
    cr_assert_eq(value_at(durable, 1, 1), 3);
    dcsr_matrix_destroy(durable);
    dcsr_matrix_destroy(large);
    end(&f);
}

/* What comes after the snapshot's view stays in the log. */
Test(durable_turns, of_the_same_matrix_is_written_and_stays)
{
    fixture f = begin(0);
    making m;
    dcsr_recovery report;
    dcsr_version_info found;
    dcsr_matrix *matrix = open_large(&f), *restored;
    start_snapshot(&m, &f, "a", matrix);
    wait_until_it_is_on_its_way();
    for (int i = 0; i < 3; i++) TEST_INSERT(matrix, {1, 1, 1});
    end_snapshot(&m);
    cr_assert(atomic_load(&done_in_time), "the log waited for the whole snapshot");
    TEST_OK(dcsr_store_find(f.store, "a", 0, &found));
    cr_assert(found.version == 2 && found.log_position == 1 && found.log_records == 3);
    cr_assert(m.info.log_records == 3);
    TEST_INSERT(matrix, {1, 1, 1});
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "a", 2, NULL));
    cr_assert_eq(value_at(restored, 1, 1), 1);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    matrix = open_durable(&f, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 4);
    cr_assert_eq(value_at(matrix, 1, 1), 5);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* What the view shows already, and the log has not had yet, is in the version alone. */
Test(durable_turns, of_what_the_snapshot_shows_counts_once)
{
    fixture f = begin(0);
    making m;
    dcsr_recovery report;
    dcsr_matrix *matrix = open_large(&f);
    uint64_t place = 1;
    double value = 1;
    dcsr_i_store_begin_writing(f.store);
    start_snapshot(&m, &f, "a", matrix);
    store_pause(20); /* it is first in the row */
    for (int i = 0; i < 3; i++) TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    while (value_at(matrix, 1, 1) < 4) store_pause(1);
    dcsr_i_store_end_writing(f.store);
    TEST_OK(dcsr_matrix_wait(matrix));
    end_snapshot(&m);
    cr_assert(m.info.log_records == 0 && m.info.log_position >= 2, "%llu",
              (unsigned long long)m.info.log_position);
    dcsr_matrix_destroy(matrix);
    matrix = open_durable(&f, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 0);
    cr_assert_eq(value_at(matrix, 1, 1), 4);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* A change that was lost while the snapshot was on its way is not in it: there is a gap until the next. */
Test(durable_turns, of_a_change_that_is_lost_needs_another_snapshot)
{
    fixture f = begin(0);
    making m;
    dcsr_recovery report;
    dcsr_matrix *matrix = open_large(&f);
    dcsr_i_durable *durable = (dcsr_i_durable *)matrix->queue.journal;
    start_snapshot(&m, &f, "a", matrix);
    wait_until_it_is_on_its_way();
    TEST_INSERT(matrix, {1, 1, 1});
    dcsr_i_store_begin_writing(f.store);
    dcsr_i_durable_break(durable, f.store, "for a test");
    dcsr_i_store_end_writing(f.store);
    uint64_t place = 2;
    double value = 1;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_DURABLE, "for a test", dcsr_matrix_wait(matrix));
    end_snapshot(&m);
    cr_assert(atomic_load(&done_in_time));
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_DURABLE, "for a test", dcsr_matrix_wait(matrix));
    dcsr_matrix *copy;
    dcsr_i_store_transaction_bytes = 1 << 20;
    TEST_OK(dcsr_store_restore(&copy, f.context, f.store, "a", 0, NULL));
    cr_assert(value_at(copy, 1, 1) == 1 && value_at(copy, 2, 2) == 1);
    dcsr_matrix_destroy(copy);
    TEST_OK(dcsr_store_snapshot(f.store, "a", matrix, NULL));
    TEST_INSERT(matrix, {2, 2, 1});
    dcsr_matrix_destroy(matrix);
    matrix = open_durable(&f, "a", &report);
    cr_assert(report.version == 3 && report.log_records == 1);
    cr_assert(value_at(matrix, 1, 1) == 2 && value_at(matrix, 2, 2) == 4);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* The result of an operation, which only a snapshot keeps. */
typedef struct replacing {
    dcsr_matrix *matrix, *one;
    dcsr_status status;
    pthread_t thread;
} replacing;

static void *replace(void *argument)
{
    replacing *r = argument;
    dcsr_view *view = test_view(r->one, DCSR_LAYOUT_SEGMENTS, 0);
    r->status = dcsr_matrix_apply(r->matrix, NULL, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64),
                                  dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view, NULL);
    dcsr_view_destroy(view);
    return NULL;
}

/* It waits for the snapshot that is on its way; the log of other matrices does not wait with it. */
Test(durable_turns, of_another_matrix_while_a_replaced_one_waits)
{
    fixture f = begin(0);
    making m;
    dcsr_recovery report;
    dcsr_matrix *large = make_rows(f.context, 3000, 9), *durable = open_durable(&f, "d", NULL);
    replacing r = {.matrix = open_durable(&f, "r", NULL),
                   .one = test_matrix(f.context, DCSR_FP64, 3000, 3000, DCSR_POLICY_LAST)};
    TEST_INSERT(r.one, {0, 0, 1});
    start_snapshot(&m, &f, "m", large);
    wait_until_it_is_on_its_way();
    cr_assert(!pthread_create(&r.thread, NULL, replace, &r));
    while (value_at(r.matrix, 0, 0) < 1) store_pause(1);
    store_pause(10);
    for (int i = 0; i < 3; i++) TEST_INSERT(durable, {1, 1, 1});
    atomic_store(&done, true);
    pthread_join(r.thread, NULL);
    TEST_OK(r.status);
    end_snapshot(&m);
    cr_assert(atomic_load(&done_in_time), "the log waited for the whole snapshot");
    TEST_INSERT(r.matrix, {0, 0, 1});
    dcsr_matrix_destroy(r.matrix);
    r.matrix = open_durable(&f, "r", &report);
    cr_assert(report.version == 2 && report.log_records == 1 && value_at(r.matrix, 0, 0) == 2);
    dcsr_matrix_destroy(r.one);
    dcsr_matrix_destroy(r.matrix);
    dcsr_matrix_destroy(durable);
    dcsr_matrix_destroy(large);
    end(&f);
}
