/* test_durable_log.c: the log of durable matrices: groups, snapshots while it is written, and what becomes of
 * changes that it cannot take. */
#include "dcsr/store/journal.h"
#include "dcsr/store/store.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>
#include "persist/store_data.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <pthread.h>
#include <string.h>

/* ---- Groups ---- */

enum { WRITERS = 6, BATCHES = 20 };

/* Writers that have batches to come or wait for one, and those of them that wait. */
static atomic_int syncs, writing, waiting;

/* A sync that takes longer than all the rest of a batch: until every writer waits, on a busy machine too. */
static void slow_disk(const char *point)
{
    enum { LONGEST = 100 };
    if (strcmp(point, "log: written") != 0) return;
    atomic_fetch_add(&syncs, 1);
    for (int pauses = 0; !pauses || (pauses < LONGEST && waiting < writing); pauses++) store_pause(5);
}

/* Batches of one entry each, each waited for; *failed counts those that did not become safe. */
typedef struct writer {
    dcsr_matrix *matrix;
    int batches;
    int failed;
} writer;

static void *write_one_by_one(void *argument)
{
    writer *w = argument;
    atomic_fetch_add(&writing, 1);
    for (uint64_t i = 0; i < (uint64_t)w->batches; i++) {
        uint64_t row = i % 10, col = i / 10 % 10;
        double value = 1;
        dcsr_ticket *ticket;
        if (dcsr_matrix_insert(w->matrix, 1, &row, &col, &value, &ticket) != DCSR_OK) {
            w->failed++;
            continue;
        }
        atomic_fetch_add(&waiting, 1);
        w->failed += dcsr_ticket_wait(ticket) != DCSR_OK;
        atomic_fetch_sub(&waiting, 1);
        dcsr_ticket_destroy(ticket);
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

/* What so many batches of such a writer add up to. */
static double sum_of(dcsr_matrix *matrix)
{
    double sum = 0;
    for (uint64_t i = 0; i < 100; i++) {
        double value = 0;
        bool stored;
        TEST_OK(dcsr_matrix_get(matrix, i / 10, i % 10, &value, &stored));
        if (stored) sum += value;
    }
    return sum;
}

Test(durable_log, syncs_once_for_many_matrices)
{
    durable_place p = durable_open_place();
    writer writers[WRITERS];
    pthread_t thread[WRITERS];
    char name[2] = "a";
    for (int i = 0; i < WRITERS; i++, name[0]++)
        writers[i] = (writer){durable_open_small(&p, name, NULL), BATCHES, 0};
    dcsr_i_store_point = slow_disk;
    for (int i = 0; i < WRITERS; i++)
        cr_assert(!pthread_create(&thread[i], NULL, write_one_by_one, &writers[i]));
    for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
    dcsr_i_store_point = NULL;
    /* Each sync took longer than all the rest of a batch, so that the others waited for it, and shared the
     * next. */
    cr_assert(syncs >= BATCHES && syncs < WRITERS * BATCHES / 2, "%d syncs", syncs);
    name[0] = 'a';
    for (int i = 0; i < WRITERS; i++, name[0]++) {
        cr_assert(!writers[i].failed);
        dcsr_matrix_destroy(writers[i].matrix);
        dcsr_matrix *matrix = durable_open_small(&p, name, NULL);
        cr_assert(sum_of(matrix) == BATCHES);
        dcsr_matrix_destroy(matrix);
    }
    durable_close_place(&p);
}

/* A batch is applied while the one before is being synced, and a reader sees it; its ticket comes later. */
static atomic_bool go_on;
static void wait_to_go_on(const char *point)
{
    while (!strcmp(point, "log: written") && !atomic_load(&go_on)) store_pause(1);
}

Test(durable_log, applies_while_it_syncs)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    uint64_t place = 3;
    double value = 1;
    bool stored, done;
    dcsr_ticket *ticket[3];
    dcsr_i_store_point = wait_to_go_on;
    for (int i = 0; i < 3; i++) {
        TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket[i]));
        double seen = 0;
        TEST_OK(dcsr_matrix_get(matrix, 3, 3, &seen, &stored));
        cr_assert(seen == i + 1);
    }
    cr_assert(test_info(matrix).pending_bytes);
    for (int i = 0; i < 3; i++) {
        TEST_OK(dcsr_ticket_poll(ticket[i], &done));
        cr_assert(!done);
    }
    atomic_store(&go_on, true);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(!test_info(matrix).pending_bytes);
    for (int i = 0; i < 3; i++) {
        TEST_OK(dcsr_ticket_poll(ticket[i], &done));
        cr_assert(done);
        dcsr_ticket_destroy(ticket[i]);
    }
    dcsr_i_store_point = NULL;
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* ---- Snapshots meanwhile ---- */

Test(durable_log, is_emptied_by_a_snapshot)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_version_info info;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1});
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &info));
    cr_assert(info.version == 2 && info.log_position == 1 && info.nnz == 1);
    TEST_INSERT(matrix, {1, 1, 2});
    /* Back to what the version holds, but by way of the log: this has to be another version. */
    TEST_INSERT(matrix, {1, 1, -2});
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &info));
    cr_assert(info.version == 3 && info.log_position == 3);
    TEST_INSERT(matrix, {2, 2, 7});
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 3 && report.log_records == 1);
    TEST_SHOWS(matrix, {1, 1, 1}, {2, 2, 7});
    dcsr_store_check check;
    TEST_OK(dcsr_store_verify(p.store, NULL, NULL, &check));
    cr_assert(check.log_records == 1 && !check.corrupt);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* Sums tell of a batch that is in the snapshot and replayed as well, or in neither. */
Test(durable_log, goes_with_snapshots_at_any_time)
{
    durable_place p = durable_open_place();
    writer w = {durable_open_small(&p, "a", NULL), TEST_SIZE(2000, 800, 300), 0};
    pthread_t thread;
    cr_assert(!pthread_create(&thread, NULL, write_one_by_one, &w));
    for (int i = 0; i < TEST_SIZE(40, 20, 10); i++) {
        TEST_OK(dcsr_store_snapshot(p.store, "a", w.matrix, NULL));
        store_pause(1);
    }
    pthread_join(thread, NULL);
    cr_assert(!w.failed);
    TEST_OK(dcsr_store_gc(p.store, "a", 1, NULL));
    dcsr_matrix_destroy(w.matrix);
    durable_reopen(&p);
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    cr_assert(sum_of(matrix) == w.batches);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* C += A for a matrix A with a 1 at (0, 0): the result of an operation. */
static dcsr_status add_one(dcsr_matrix *matrix, dcsr_matrix *one)
{
    dcsr_view *view = test_view(one, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_status status = dcsr_matrix_apply(matrix, NULL, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64),
                                           dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view, NULL);
    dcsr_view_destroy(view);
    return status;
}

static dcsr_matrix *matrix_of_one(dcsr_context *context)
{
    dcsr_matrix *one = test_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    TEST_INSERT(one, {0, 0, 1});
    return one;
}

Test(durable_log, goes_with_operations_at_any_time)
{
    enum { OPERATIONS = 20 };
    durable_place p = durable_open_place();
    dcsr_matrix *one = matrix_of_one(p.context);
    writer w = {durable_open_small(&p, "a", NULL), TEST_SIZE(1000, 400, 200), 0};
    pthread_t thread;
    cr_assert(!pthread_create(&thread, NULL, write_one_by_one, &w));
    for (int i = 0; i < OPERATIONS; i++) {
        TEST_OK(add_one(w.matrix, one));
        store_pause(1);
    }
    pthread_join(thread, NULL);
    cr_assert(!w.failed && sum_of(w.matrix) == w.batches + OPERATIONS);
    dcsr_matrix_destroy(w.matrix);
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    cr_assert(sum_of(matrix) == w.batches + OPERATIONS);
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(one);
    durable_close_place(&p);
}

/* A snapshot can show a change before the log has been handed it. */
static const durable_place *snapshot_place;
static dcsr_status (*hand_over)(dcsr_i_journal *journal, dcsr_i_operation *operation);
static dcsr_matrix *handed;

static void *make_snapshot(void *unused)
{
    (void)unused;
    TEST_OK(dcsr_store_snapshot(snapshot_place->store, "a", handed, NULL));
    return NULL;
}

static dcsr_status hand_over_late(dcsr_i_journal *journal, dcsr_i_operation *operation)
{
    pthread_t thread;
    cr_assert(!pthread_create(&thread, NULL, make_snapshot, NULL));
    pthread_join(thread, NULL);
    return hand_over(journal, operation);
}

Test(durable_log, has_nothing_that_a_snapshot_saw_before)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    handed = durable_open_small(&p, "a", NULL);
    snapshot_place = &p;
    hand_over = handed->queue.journal->applied;
    handed->queue.journal->applied = hand_over_late;
    TEST_INSERT(handed, {1, 1, 1});
    handed->queue.journal->applied = hand_over;
    TEST_INSERT(handed, {2, 2, 2});
    dcsr_matrix_destroy(handed);
    dcsr_matrix *matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 1);
    TEST_SHOWS(matrix, {1, 1, 1}, {2, 2, 2});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* ---- What the log cannot take ---- */

enum { LARGE = 8000 };

/* A batch that takes up 128 KiB of the log; adds 1 to every place of a 10 x 10 matrix, 80 times. */
static dcsr_status insert_large(dcsr_matrix *matrix)
{
    static uint64_t row[LARGE], col[LARGE];
    static double value[LARGE];
    for (uint64_t i = 0; i < LARGE; i++) row[i] = i % 10, col[i] = i / 10 % 10, value[i] = 1;
    dcsr_ticket *ticket;
    TEST_OK(dcsr_matrix_insert(matrix, LARGE, row, col, value, &ticket));
    dcsr_status status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

static void store_filler(const durable_place *p, const char *name)
{
    enum { SIDE = 200 };
    dcsr_matrix *matrix = test_matrix(p->context, DCSR_FP64, SIDE, SIDE, DCSR_POLICY_LAST);
    for (uint64_t r = 0; r < SIDE; r++)
        for (uint64_t c = 0; c < SIDE; c++) {
            double value = (double)(r * c);
            TEST_OK(dcsr_matrix_insert(matrix, 1, &r, &c, &value, NULL));
        }
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_snapshot(p->store, name, matrix, NULL));
    dcsr_matrix_destroy(matrix);
}

Test(durable_log, that_is_full_says_so_and_a_snapshot_mends_it)
{
    durable_place p = durable_open_place();
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.max_bytes = 2 << 20}));
    store_filler(&p, "filler");
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    int safe = 0;
    dcsr_status status = insert_large(matrix);
    while (status == DCSR_OK && safe < 100) {
        safe++;
        status = insert_large(matrix);
    }
    cr_assert(safe >= 3, "%d", safe);
    cr_assert(status == DCSR_ERROR_NOT_DURABLE && test_says("in memory and not in the log") &&
              test_says("has reached its limit of 2097152 bytes"));
    /* It goes on in memory, and says so each time, to tickets, to who waits, and to operations, whose result
     * is there nevertheless. */
    dcsr_matrix *one = matrix_of_one(p.context);
    TEST_STATUS(DCSR_ERROR_NOT_DURABLE, insert_large(matrix));
    TEST_STATUS(DCSR_ERROR_NOT_DURABLE, add_one(matrix, one));
    dcsr_matrix_destroy(one);
    cr_assert(sum_of(matrix) == (safe + 2.0) * LARGE + 1);
    TEST_OK(dcsr_matrix_resize(matrix, 11, 10, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_DURABLE, "not in the log", dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_wait(matrix));

    TEST_OK(dcsr_store_delete(p.store, "filler"));
    TEST_STATUS(DCSR_ERROR_NOT_DURABLE, insert_large(matrix));
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    TEST_OK(insert_large(matrix));
    dcsr_matrix_destroy(matrix);
    durable_reopen(&p);
    dcsr_recovery report;
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 1);
    cr_assert(test_info(matrix).rows == 11 && sum_of(matrix) == (safe + 4.0) * LARGE + 1);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* What was told to be safe is there, and no change after a gap. */
Test(durable_log, that_is_full_keeps_what_is_in_it)
{
    durable_place p = durable_open_place();
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.max_bytes = 1 << 20}));
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    int safe = 0;
    while (insert_large(matrix) == DCSR_OK && safe < 100) safe++;
    uint64_t place = 0;
    double value = 1000;
    dcsr_ticket *ticket;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket));
    TEST_STATUS(DCSR_ERROR_NOT_DURABLE, dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    dcsr_matrix_destroy(matrix);
    durable_reopen(&p);
    dcsr_recovery report;
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(safe && report.log_records == (uint64_t)safe && sum_of(matrix) == safe * (double)LARGE);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}
