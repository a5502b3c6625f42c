/* test_snapshot.c: versions of matrices in a store: what is written, what comes back, what is shared. */
#include "dcsr/base/alloc.h"
#include "persist/chunks.h"
#include "tests/support/support_snapshot.h"
#include <stdlib.h>
#include <string.h>

static void expect_stored(fixture *f, const char *name, uint64_t version, const oracle *model)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_restore(&matrix, f->context, f->store, name, version, NULL));
    TEST_MATCHES(matrix, model);
    dcsr_matrix_destroy(matrix);
}

/* A random batch for the matrix and its oracle: removals once in four times. */
static void change(dcsr_matrix *matrix, oracle *model, test_random *random, size_t n)
{
    size_t size = dcsr_type_size(model->type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = test_allocate(n, sizeof(uint64_t));
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(random, 3) ? 5 % model->rows : test_random_below(random, model->rows);
        cols[i] = test_random_below(random, model->cols);
        if (size)
            test_encode(model->type, (double)test_random_below(random, model->type == DCSR_BOOL ? 2 : 50),
                        values + i * size);
    }
    if (test_random_once_in(random, 4)) {
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        oracle_remove(model, n, rows, cols);
    } else {
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
        oracle_insert(model, n, rows, cols, size ? values : NULL);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

/* Any type and policy, versions of a matrix that changes, each compared with an oracle of its own; written by
 * one matrix, by what was restored of it, and by a store that was opened again. */
Test(snapshot, brings_every_version_back)
{
    enum { VERSIONS = 5 };
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(24, 8, 4));
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_seed_begins(seeds.first + s);
        test_random random = {seeds.first + s};
        fixture f = begin(test_random_once_in(&random, 3) ? 1 : 0);
        dcsr_type type = (dcsr_type)test_random_below(&random, DCSR_TYPE_COUNT);
        dcsr_policy policy = (dcsr_policy)(1 + test_random_below(&random, DCSR_POLICY_COUNT - 1));
        uint64_t rows = 1 + test_random_below(&random, 700), cols = 1 + test_random_below(&random, 400);
        oracle model, old[VERSIONS];
        oracle_create(&model, type, policy, rows, cols);
        dcsr_matrix *matrix = test_matrix(f.context, type, rows, cols, policy);
        for (int v = 0; v < VERSIONS; v++) {
            change(matrix, &model, &random, 1 + test_random_below(&random, 3000));
            if (test_random_once_in(&random, 3)) {
                rows = 1 + test_random_below(&random, 700);
                TEST_OK(dcsr_matrix_resize(matrix, rows, cols, NULL));
                oracle_resize(&model, rows, cols);
            }
            if (test_random_once_in(&random, 3))
                TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
            TEST_OK(dcsr_matrix_wait(matrix));
            dcsr_version_info info = snapshot(&f, "m", matrix);
            oracle_copy(&old[v], &model);
            if (info.version != (uint64_t)v + 1) { /* nothing has changed: make it so */
                cr_assert_eq(info.written_bytes, 0);
                oracle_destroy(&old[v--]);
                continue;
            }
            cr_assert_eq(info.nnz, oracle_nnz(&model));
            if (test_random_once_in(&random, 3)) { /* another matrix of the same content goes on */
                dcsr_matrix_destroy(matrix);
                TEST_OK(dcsr_store_restore(&matrix, f.context, f.store, "m", 0, NULL));
            }
            if (test_random_once_in(&random, 4)) reopen(&f, NULL);
        }
        for (int v = 0; v < VERSIONS; v++) {
            expect_stored(&f, "m", (uint64_t)v + 1, &old[v]);
            oracle_destroy(&old[v]);
        }
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
        end(&f);
    }
}

Test(snapshot, writes_only_chunks_whose_rows_have_changed)
{
    fixture f = begin(0);
    dcsr_matrix *matrix = make_rows(f.context, 2000, 10), *restored;
    dcsr_version_info first = snapshot(&f, "m", matrix);
    cr_assert_geq(first.chunks, 50);
    cr_assert_eq(first.written_bytes, first.stored_bytes);
    cr_assert_geq(first.stored_bytes, (uint64_t)20000 * 12);

    dcsr_version_info same = snapshot(&f, "m", matrix);
    cr_assert_eq(same.version, 1, "nothing has changed");
    cr_assert_eq(same.written_bytes, 0);

    TEST_INSERT(matrix, {1000, 3, -1});
    dcsr_version_info second = snapshot(&f, "m", matrix);
    cr_assert_eq(second.version, 2);
    cr_assert_leq(second.written_bytes, 2 * SMALL_CHUNK);
    cr_assert_gt(second.written_bytes, 0);

    /* Rows that are moved are the same rows; and a matrix that was restored is known by its checksums. */
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert_eq(snapshot(&f, "m", matrix).written_bytes, 0);
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL));
    cr_assert_eq(snapshot(&f, "m", restored).written_bytes, 0);
    TEST_INSERT(restored, {1999, 3, -1});
    dcsr_version_info third = snapshot(&f, "m", restored);
    cr_assert_eq(third.version, 3);
    cr_assert_leq(third.written_bytes, 2 * SMALL_CHUNK);

    /* What one matrix has written is no base for another. */
    TEST_INSERT(matrix, {0, 0, 77});
    snapshot(&f, "m", matrix);
    dcsr_matrix_destroy(restored);
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 4, NULL));
    double value;
    bool stored;
    TEST_OK(dcsr_matrix_get(restored, 1999, 3, &value, &stored));
    cr_assert_eq(value, 19993);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* Short rows, of which whole pages go into a chunk, and longer ones: no chunk is larger than it should be,
 * and none so small that the first row of the next had room. */
Test(snapshot, fills_chunks)
{
    enum { ROWS = 20000 };
    fixture f = begin(0);
    dcsr_matrix *matrix = test_matrix(f.context, DCSR_FP64, ROWS, ROWS, DCSR_POLICY_LAST);
    static uint64_t row[2 * ROWS], col[2 * ROWS], length[ROWS];
    static double value[2 * ROWS];
    size_t n = 0;
    for (uint64_t r = 0; r < ROWS; r++) {
        length[r] = r < ROWS / 2 ? r % 3 : r % 97 == 0 ? 90 : 1;
        for (uint64_t e = 0; e < length[r]; e++, n++) row[n] = r, col[n] = e, value[n] = (double)n;
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert_eq(snapshot(&f, "m", matrix).nnz, n);
    MDB_txn *txn;
    dcsr_i_version version;
    TEST_OK(dcsr_i_txn_begin(&txn, f.store, false));
    TEST_OK(dcsr_i_version_get(f.store, txn, "m", 0, &version));
    cr_assert_geq(version.record.chunks, 50);
    for (uint64_t c = 0; c < version.record.chunks; c++) {
        const dcsr_i_chunk *chunk = &version.chunks[c];
        uint64_t entries = 0, next = chunk->first_row + chunk->rows;
        for (uint64_t r = chunk->first_row; r < next; r++) entries += length[r];
        cr_assert_eq(chunk->entries, entries);
        cr_assert_leq(chunk->stored, SMALL_CHUNK);
        if (next < ROWS)
            cr_assert_gt(
                dcsr_i_chunk_layout_of(chunk->rows + 1, entries + length[next], sizeof(double)).bytes,
                SMALL_CHUNK);
    }
    dcsr_i_version_free(&version);
    mdb_txn_abort(txn);
    dcsr_matrix *restored;
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL));
    cr_assert_eq(snapshot(&f, "m", restored).written_bytes, 0);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* Rows that are longer than chunks, gaps of a million rows, and none at all. */
Test(snapshot, cuts_long_rows_and_leaves_out_gaps)
{
    enum { ROWS = 3000000, LONG = 9000 };
    fixture f = begin(0);
    dcsr_matrix *matrix = test_matrix(f.context, DCSR_FP64, ROWS, LONG, DCSR_POLICY_KEEP);
    uint64_t *row = test_allocate(LONG, sizeof *row), *col = test_allocate(LONG, sizeof *col);
    double *value = test_allocate(LONG, sizeof *value);
    for (size_t i = 0; i < LONG; i++) {
        row[i] = 1500000;
        col[i] = i;
        value[i] = (double)i;
    }
    TEST_OK(dcsr_matrix_insert(matrix, LONG, row, col, value, NULL));
    TEST_INSERT(matrix, {0, 1, 2}, {ROWS - 1, 0, 5}, {1500001, 7, 8});
    dcsr_version_info info = snapshot(&f, "m", matrix);
    cr_assert_leq(info.stored_bytes, (uint64_t)1 << 21, "%llu bytes", (unsigned long long)info.stored_bytes);
    cr_assert_geq(info.chunks, 20);
    /* One entry more in the long row: the parts before it are shared. */
    TEST_INSERT(matrix, {1500000, 3, 4});
    dcsr_version_info second = snapshot(&f, "m", matrix);
    cr_assert_eq(second.nnz, LONG + 4);
    cr_assert_leq(second.written_bytes, 4 * SMALL_CHUNK);
    dcsr_matrix *restored;
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL));
    dcsr_view *a = test_view(matrix, DCSR_LAYOUT_CSR, 0), *b = test_view(restored, DCSR_LAYOUT_CSR, 0);
    dcsr_csr x, y;
    TEST_OK(dcsr_view_get_csr_on_host(a, &x));
    TEST_OK(dcsr_view_get_csr_on_host(b, &y));
    cr_assert_eq(x.nnz, y.nnz);
    cr_assert_arr_eq(x.offsets, y.offsets, (ROWS + 1) * sizeof *x.offsets);
    cr_assert_arr_eq(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices);
    cr_assert_arr_eq(x.values, y.values, x.nnz * sizeof(double));
    dcsr_view_destroy(a);
    dcsr_view_destroy(b);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    free(row);
    free(col);
    free(value);

    for (uint64_t rows = 0; rows < 2; rows++) {
        matrix = test_matrix(f.context, DCSR_PATTERN, rows, 0, DCSR_POLICY_ANY);
        snapshot(&f, rows ? "one_row" : "nothing", matrix);
        TEST_OK(dcsr_store_restore(&restored, f.context, f.store, rows ? "one_row" : "nothing", 0, NULL));
        cr_assert_eq(test_info(restored).rows, rows);
        dcsr_matrix_destroy(restored);
        dcsr_matrix_destroy(matrix);
    }
    end(&f);
}

/* LMDB writes a value by one call, of which the system takes less than 2 GiB. Planning looks at no entries.
 */
Test(snapshot, cuts_what_no_value_may_hold)
{
    enum { ROWS = 8 };
    const uint64_t most = (uint64_t)1 << 31, target = DCSR_STORE_MAX_CHUNK, entry = 12;
    for (uint64_t gigas = 1; gigas <= 5; gigas++) {
        dcsr_i_chunk_plan plan;
        uint64_t offsets[ROWS + 1] = {0}, covered = 0, length = (gigas << 30) / entry;
        for (uint64_t r = 0; r < ROWS; r++) offsets[r + 1] = offsets[r] + (r == 3 ? length : r == 5 ? 10 : 0);
        dcsr_i_rows rows = {.type = DCSR_FP64, .rows = ROWS, .cols = (uint64_t)1 << 30, .offsets = offsets};
        TEST_OK(dcsr_i_plan_make(&plan, &rows, target, NULL, 0));
        for (uint64_t c = 0; c < plan.count; c++) {
            cr_assert_lt(dcsr_i_planned_bytes(&plan, &plan.chunks[c]), most - 4096, "a row of %llu GiB",
                         (unsigned long long)gigas);
            covered += plan.chunks[c].chunk.entries;
        }
        cr_assert_eq(covered, length + 10);
        dcsr_i_plan_free(&plan);

        /* All rows stood in one chunk, and have grown. */
        dcsr_i_chunk old = {.number = 1, .rows = ROWS, .entries = 5, .stored = 100};
        dcsr_i_version base = {.record = {.rows = ROWS, .chunks = 1}, .chunks = &old};
        for (uint64_t r = 0; r < ROWS; r++) offsets[r + 1] = (r + 1) * (length / ROWS);
        TEST_OK(dcsr_i_plan_make(&plan, &rows, target, &base, 0));
        for (uint64_t c = 0; c < plan.count; c++)
            cr_assert_lt(dcsr_i_planned_bytes(&plan, &plan.chunks[c]), most - 4096, "rows of %llu GiB",
                         (unsigned long long)gigas);
        dcsr_i_plan_free(&plan);
    }
}

Test(snapshot, keeps_the_options)
{
    fixture f = begin(0);
    dcsr_matrix_options options = {.policy = DCSR_POLICY_MAX,
                                   .segments = 3,
                                   .defragmentation = DCSR_DEFRAGMENT_OFF,
                                   .queue_limit = 12345,
                                   .refuse_when_full = true,
                                   .maintain_transpose = true,
                                   .resolve = DCSR_RESOLVE_ON_READ,
                                   .slack = 0.25,
                                   .grow = true};
    dcsr_matrix *matrix, *restored;
    TEST_OK(dcsr_matrix_create(&matrix, f.context, DCSR_INT32, 4, 5, &options));
    TEST_INSERT(matrix, {1, 2, 7}, {3, 0, -1});
    snapshot(&f, "m", matrix);
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL));
    TEST_SHOWS(restored, {1, 2, 7}, {3, 0, -1});
    cr_assert_eq(test_info(restored).policy, DCSR_POLICY_MAX);
    cr_assert_eq(test_info(restored).slack, 0.25);
    TEST_INSERT(restored, {1, 2, 3}, {3, 0, 5});
    TEST_SHOWS(restored, {1, 2, 7}, {3, 0, 5});
    snapshot(&f, "n", restored);
    dcsr_i_version first, second;
    MDB_txn *txn;
    TEST_OK(dcsr_i_txn_begin(&txn, f.store, false));
    TEST_OK(dcsr_i_version_get(f.store, txn, "m", 0, &first));
    TEST_OK(dcsr_i_version_get(f.store, txn, "n", 0, &second));
    cr_assert_eq(first.record.segments, 3);
    cr_assert_eq(first.record.queue_limit, 12345);
    cr_assert_eq(first.record.segments, second.record.segments);
    cr_assert_eq(first.record.queue_limit, second.record.queue_limit);
    cr_assert_eq(first.record.flags, second.record.flags);
    const unsigned wanted = DCSR_I_REFUSE_WHEN_FULL | DCSR_I_RESOLVED_ON_READ | DCSR_I_GROW;
    cr_assert_eq(first.record.flags & wanted, wanted);
    mdb_txn_abort(txn);
    dcsr_i_version_free(&first);
    dcsr_i_version_free(&second);
    dcsr_matrix_destroy(restored);
    /* Others instead. */
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0,
                               &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    TEST_INSERT(restored, {1, 2, 3});
    TEST_SHOWS(restored, {1, 2, 10}, {3, 0, -1});
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* A snapshot shows a version while others write. */
Test(snapshot, is_taken_beside_a_writer)
{
    fixture f = begin(0);
    dcsr_matrix *matrix = test_matrix(f.context, DCSR_PATTERN, 500, 500, DCSR_POLICY_ANY);
    test_writer writer = {
        .matrix = matrix, .size = 500, .entries = 2000, .batches = (size_t)TEST_SIZE(60, 30, 20)};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, test_write_batches, &writer), 0);
    uint64_t before = 0;
    for (int i = 0; i < 200 && !atomic_load(&writer.done); i++) {
        dcsr_version_info info = snapshot(&f, "m", matrix);
        cr_assert_geq(info.nnz, before);
        before = info.nnz;
    }
    pthread_join(thread, NULL);
    dcsr_version_info last = snapshot(&f, "m", matrix);
    uint64_t nnz, count;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert_eq(last.nnz, nnz);
    dcsr_version_info *versions;
    TEST_OK(dcsr_store_get_versions(f.store, "m", &versions, &count));
    for (uint64_t v = 0; v < count; v++) {
        dcsr_matrix *restored;
        TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", versions[v].version, NULL));
        TEST_OK(dcsr_matrix_get_nnz(restored, &nnz));
        cr_assert_eq(nnz, versions[v].nnz);
        dcsr_matrix_destroy(restored);
    }
    dcsr_store_list_free(versions);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* Large snapshots are written by several transactions. */
Test(snapshot, may_take_several_transactions)
{
    fixture f = begin(0);
    dcsr_i_store_transaction_bytes = 4 * SMALL_CHUNK;
    dcsr_matrix *matrix = make_rows(f.context, 3000, 9), *restored;
    dcsr_version_info info = snapshot(&f, "m", matrix);
    cr_assert_eq(info.written_bytes, info.stored_bytes);
    TEST_OK(dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL));
    cr_assert_eq(snapshot(&f, "m", restored).written_bytes, 0);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    end(&f);
}

/* Wherever there is no memory the store is as it was, and the next attempt succeeds. */
/* Large enough for the disk to begin early, in chunks of the usual size, twice. */
Test(snapshot, of_some_megabytes_is_written_and_read)
{
    enum { ROWS = 60000, LENGTH = 12 };
    fixture f = begin(0);
    char *folder = store_new_folder();
    dcsr_store *store;
    dcsr_matrix *matrix = make_rows(f.context, ROWS, LENGTH), *restored;
    TEST_OK(dcsr_store_open(&store, folder, NULL));
    dcsr_i_store_transaction_bytes = (uint64_t)5 << 20;
    for (uint64_t v = 1; v <= 2; v++) {
        dcsr_version_info info;
        TEST_INSERT(matrix, {7, 7, (double)v});
        TEST_OK(dcsr_store_snapshot(store, "m", matrix, &info));
        cr_assert(info.version == v && info.nnz == (uint64_t)ROWS * LENGTH);
        TEST_OK(dcsr_store_restore(&restored, f.context, store, "m", 0, NULL));
        dcsr_view *a = test_view(matrix, DCSR_LAYOUT_CSR, 0), *b = test_view(restored, DCSR_LAYOUT_CSR, 0);
        dcsr_csr x, y;
        TEST_OK(dcsr_view_get_csr_on_host(a, &x));
        TEST_OK(dcsr_view_get_csr_on_host(b, &y));
        cr_assert_eq(x.nnz, y.nnz);
        cr_assert_arr_eq(x.offsets, y.offsets, (ROWS + 1) * sizeof *x.offsets);
        cr_assert_arr_eq(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices);
        cr_assert_arr_eq(x.values, y.values, x.nnz * sizeof(double));
        dcsr_view_destroy(a);
        dcsr_view_destroy(b);
        dcsr_matrix_destroy(restored);
    }
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    store_remove_folder(folder);
    end(&f);
}

Test(snapshot, survives_lack_of_memory)
{
    fixture f = begin(1);
    dcsr_i_store_transaction_bytes = 2 * SMALL_CHUNK;
    dcsr_matrix *matrix = make_rows(f.context, 900, 9), *restored;
    snapshot(&f, "m", matrix);
    TEST_INSERT(matrix, {3, 3, 3}, {400, 3, 3}, {899, 3, 3});
    long n = 0;
    dcsr_status status;
    do {
        dcsr_i_fail_allocations_after(n++);
        status = dcsr_store_snapshot(f.store, "m", matrix, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        dcsr_store_check check;
        TEST_OK(dcsr_store_verify(f.store, NULL, NULL, &check));
        cr_assert_eq(check.corrupt, 0);
        cr_assert_eq(check.versions, status == DCSR_OK ? 2 : 1);
    } while (status != DCSR_OK);
    cr_assert_gt(n, 5);
    n = 0;
    do {
        dcsr_i_fail_allocations_after(n++);
        status = dcsr_store_restore(&restored, f.context, f.store, "m", 0, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    } while (status != DCSR_OK);
    cr_assert_gt(n, 5);
    cr_assert_eq(snapshot(&f, "m", restored).written_bytes, 0);
    dcsr_matrix_destroy(restored);
    dcsr_matrix_destroy(matrix);
    end(&f);
}
