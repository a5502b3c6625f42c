/* test_catalog.c: stores as such: opening them, names, versions, deleting; and what is refused. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dcsr_store *open_store(const char *folder)
{
    dcsr_store *store;
    TEST_OK(dcsr_store_open(&store, folder, NULL));
    return store;
}

static dcsr_matrix *one_entry(dcsr_context *context, dcsr_type type, double value)
{
    dcsr_matrix *matrix = test_matrix(context, type, 3, 3, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 2, value});
    return matrix;
}

Test(catalog, lists_matrices_and_versions)
{
    char *folder = store_new_folder();
    dcsr_context *context = test_context(1);
    dcsr_store *store = open_store(folder);
    dcsr_matrix *matrix = one_entry(context, DCSR_FP32, 1);
    char **names;
    uint64_t count;
    TEST_OK(dcsr_store_get_names(store, &names, &count));
    cr_assert_eq(count, 0);
    dcsr_store_list_free(names);
    TEST_OK(dcsr_store_snapshot(store, "second", matrix, NULL));
    TEST_OK(dcsr_store_snapshot(store, "first-1.0_x", matrix, NULL));
    TEST_INSERT(matrix, {0, 0, 5});
    TEST_OK(dcsr_store_snapshot(store, "second", matrix, NULL));
    TEST_OK(dcsr_store_get_names(store, &names, &count));
    cr_assert_eq(count, 2);
    cr_assert_str_eq(names[0], "first-1.0_x");
    cr_assert_str_eq(names[1], "second");
    dcsr_store_list_free(names);
    dcsr_version_info *versions, found;
    TEST_OK(dcsr_store_get_versions(store, "second", &versions, &count));
    cr_assert_eq(count, 2);
    cr_assert_eq(versions[0].version, 1);
    cr_assert_eq(versions[0].nnz, 1);
    cr_assert_eq(versions[1].version, 2);
    cr_assert_eq(versions[1].nnz, 2);
    cr_assert_eq(versions[1].type, DCSR_FP32);
    cr_assert_eq(versions[1].rows, 3);
    cr_assert_gt(versions[1].created, 1500000000);
    dcsr_store_list_free(versions);
    TEST_OK(dcsr_store_find(store, "second", 0, &found));
    cr_assert_eq(found.version, 2);
    dcsr_store_info info;
    TEST_OK(dcsr_store_get_info(store, &info));
    cr_assert_eq(info.matrices, 2);
    cr_assert_eq(info.format, DCSR_I_FIRST_FORMAT);
    cr_assert_gt(info.file_bytes, info.free_bytes);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    store_remove_folder(folder);
    test_close(context);
}

Test(catalog, refuses_what_is_not_there_or_not_allowed)
{
    char *folder = store_new_folder();
    dcsr_context *context = test_context(1);
    dcsr_store *store = open_store(folder), *other;
    dcsr_matrix *matrix = one_entry(context, DCSR_FP64, 1), *none,
                *pattern = one_entry(context, DCSR_PATTERN, 1);
    dcsr_version_info found, *versions;
    uint64_t count;
    TEST_OK(dcsr_store_snapshot(store, "m", matrix, NULL));
    static const char *const bad[] = {"", ".", ".m", "a/b", "a@1", "a#b", "a b", "\xc3\xa4", "a\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "no name",
                     dcsr_store_snapshot(store, bad[i], matrix, NULL));
    char longest[DCSR_STORE_MAX_NAME + 2];
    memset(longest, 'x', sizeof longest);
    longest[DCSR_STORE_MAX_NAME + 1] = '\0';
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "no name", dcsr_store_snapshot(store, longest, matrix, NULL));
    longest[DCSR_STORE_MAX_NAME] = '\0';
    TEST_OK(dcsr_store_snapshot(store, longest, matrix, NULL));
    TEST_OK(dcsr_store_find(store, longest, 1, &found));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "type fp64, this one of type pattern",
                 dcsr_store_snapshot(store, "m", pattern, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix 'x'",
                 dcsr_store_restore(&none, context, store, "x", 0, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "the newest is 1",
                 dcsr_store_restore(&none, context, store, "m", 2, NULL));
    cr_assert_null(none);
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix", dcsr_store_get_versions(store, "x", &versions, &count));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix", dcsr_store_gc(store, "x", 1, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix", dcsr_store_delete(store, "x"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "keep is 0", dcsr_store_gc(store, NULL, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_BUSY, "already", dcsr_store_open(&other, folder, NULL));
    cr_assert_null(other);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_store_snapshot(NULL, "m", matrix, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_store_snapshot(store, "m", NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_store_snapshot(store, NULL, matrix, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_store_open(&other, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "compression 20",
                 dcsr_store_open(&other, folder, &(dcsr_store_options){.compression = 20}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "chunks of 100 bytes",
                 dcsr_store_open(&other, folder, &(dcsr_store_options){.chunk_bytes = 100}));
    dcsr_store_close(store);

    TEST_OK(dcsr_store_open(&store, folder, &(dcsr_store_options){.read_only = true}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "reading only", dcsr_store_snapshot(store, "m", matrix, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "reading only", dcsr_store_gc(store, NULL, 1, NULL));
    TEST_OK(dcsr_store_restore(&none, context, store, "m", 1, NULL));
    TEST_SHOWS(none, {1, 2, 1});
    dcsr_matrix_destroy(none);
    dcsr_store_close(store);
    store_remove_folder(folder);

    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(pattern);
    test_close(context);
}

Test(catalog, knows_names)
{
    static const char good[] = "azAZ09._-+=";
    char longest[DCSR_STORE_MAX_NAME + 1];
    memset(longest, 'x', sizeof longest);
    cr_assert(dcsr_store_is_name(good, sizeof good - 1));
    for (size_t i = 0; i < sizeof good - 1; i++)
        cr_assert(dcsr_store_is_name(&good[i], 1) == (good[i] != '.'), "%c", good[i]);
    cr_assert(dcsr_store_is_name("m.@3", 2) && !dcsr_store_is_name("m.@3", 3));
    cr_assert(!dcsr_store_is_name(good, sizeof good), "the zero behind a name is not of it");
    cr_assert(!dcsr_store_is_name("m", 0) && !dcsr_store_is_name(NULL, 0));
    cr_assert(dcsr_store_is_name(longest, DCSR_STORE_MAX_NAME) &&
              !dcsr_store_is_name(longest, DCSR_STORE_MAX_NAME + 1));
    int allowed = 0;
    for (int c = 0; c < 256; c++) allowed += dcsr_store_is_name((char[]){'m', (char)c}, 2);
    cr_assert_eq(allowed, 26 + 26 + 10 + 5);
}

Test(catalog, opens_nothing_but_stores)
{
    char *folder = store_new_folder(), path[4096];
    dcsr_store *store;
    snprintf(path, sizeof path, "%s/none", folder);
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no store",
                 dcsr_store_open(&store, path, &(dcsr_store_options){.read_only = true}));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no store",
                 dcsr_store_open(&store, path, &(dcsr_store_options){.must_exist = true}));
    snprintf(path, sizeof path, "%s/none/below", folder);
    TEST_REFUSED(DCSR_ERROR_IO, "No such file", dcsr_store_open(&store, path, NULL));
    store_write_file(folder, "file", "text", 4);
    snprintf(path, sizeof path, "%s/file", folder);
    TEST_REFUSED(DCSR_ERROR_FORMAT, "a store is a folder", dcsr_store_open(&store, path, NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, "there are files in it", dcsr_store_open(&store, folder, NULL));
    store_write_file(folder, "data.mdb", "text", 4);
    cr_assert_neq(dcsr_store_open(&store, folder, NULL), DCSR_OK);
    store_write_file(folder, "data.mdb", "", 0);
    TEST_REFUSED(DCSR_ERROR_CORRUPT, "empty", dcsr_store_open(&store, folder, NULL));
    cr_assert_null(store);
    store_remove_folder(folder);
}

/* Keeps the newest versions with what they share, and nothing else. */
Test(catalog, frees_old_versions)
{
    char *folder = store_new_folder();
    dcsr_context *context = test_context(1);
    dcsr_store *store = open_store(folder);
    dcsr_matrix *matrix = one_entry(context, DCSR_FP64, 0), *restored;
    for (int v = 0; v < 6; v++) {
        TEST_INSERT(matrix, {0, 0, (double)v});
        TEST_OK(dcsr_store_snapshot(store, "m", matrix, NULL));
        if (v < 2) TEST_OK(dcsr_store_snapshot(store, "other", matrix, NULL));
    }
    dcsr_store_freed freed;
    TEST_OK(dcsr_store_gc(store, "m", 2, &freed));
    cr_assert_eq(freed.versions, 4);
    cr_assert_eq(freed.chunks, 4);
    cr_assert_gt(freed.bytes, 0);
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no version 4",
                 dcsr_store_restore(&restored, context, store, "m", 4, NULL));
    for (uint64_t v = 5; v <= 6; v++) {
        TEST_OK(dcsr_store_restore(&restored, context, store, "m", v, NULL));
        TEST_SHOWS(restored, {0, 0, (double)v - 1}, {1, 2, 0});
        dcsr_matrix_destroy(restored);
    }
    TEST_OK(dcsr_store_gc(store, NULL, 1, &freed));
    cr_assert_eq(freed.versions, 2);
    TEST_OK(dcsr_store_gc(store, NULL, 1, &freed));
    cr_assert_eq(freed.versions + freed.chunks + freed.bytes, 0);
    TEST_OK(dcsr_store_delete(store, "m"));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix",
                 dcsr_store_restore(&restored, context, store, "m", 0, NULL));
    TEST_OK(dcsr_store_restore(&restored, context, store, "other", 0, NULL));
    dcsr_matrix_destroy(restored);
    /* The name is free again, and its versions begin anew. */
    dcsr_version_info info;
    TEST_OK(dcsr_store_snapshot(store, "m", matrix, &info));
    cr_assert_eq(info.version, 1);
    dcsr_store_check check;
    TEST_OK(dcsr_store_verify(store, NULL, NULL, &check));
    cr_assert_eq(check.matrices, 2);
    cr_assert_eq(check.corrupt, 0);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    store_remove_folder(folder);
    test_close(context);
}

/* What a process knows of the versions that it has made is found, whatever the order of names. */
Test(catalog, keeps_many_names_apart)
{
    enum { NAMES = 300, STEP = 7 };
    char *folder = store_new_folder(), name[20];
    /* A GPU has no addresses to set aside so much for each of so many. */
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 1, .reserve_bytes = 1 << 28}));
    dcsr_store *store = open_store(folder);
    dcsr_matrix *matrix[NAMES];
    dcsr_version_info info;
    dcsr_store_info all;
    for (int i = 0; i < NAMES; i++) {
        matrix[i] = one_entry(context, DCSR_FP64, i);
        snprintf(name, sizeof name, "m%d", i * STEP % NAMES);
        TEST_OK(dcsr_store_snapshot(store, name, matrix[i], NULL));
    }
    for (int i = 0; i < NAMES; i += 3) {
        snprintf(name, sizeof name, "m%d", i * STEP % NAMES);
        TEST_OK(dcsr_store_delete(store, name));
    }
    dcsr_store_close(store);
    store = open_store(folder);
    for (int round = 1; round <= 2; round++)
        for (int k = 0; k < NAMES; k++) {
            int i = k * 11 % NAMES;
            snprintf(name, sizeof name, "m%d", i * STEP % NAMES);
            if (i % 2) TEST_INSERT(matrix[i], {2, 2, (double)round});
            TEST_OK(dcsr_store_snapshot(store, name, matrix[i], &info));
            bool deleted = i % 3 == 0, changed = i % 2, same = !changed && (!deleted || round > 1);
            cr_assert_eq(info.version, (uint64_t)(!deleted + (changed ? round : deleted)));
            cr_assert_eq(info.written_bytes == 0, same, "%d in round %d", i, round);
        }
    TEST_OK(dcsr_store_get_info(store, &all));
    cr_assert_eq(all.matrices, NAMES);
    for (int i = 0; i < NAMES; i++) {
        dcsr_matrix *restored;
        snprintf(name, sizeof name, "m%d", i * STEP % NAMES);
        TEST_OK(dcsr_store_restore(&restored, context, store, name, 0, NULL));
        if (i % 2)
            TEST_SHOWS(restored, {1, 2, (double)i}, {2, 2, 2});
        else
            TEST_SHOWS(restored, {1, 2, (double)i});
        dcsr_matrix_destroy(restored);
        dcsr_matrix_destroy(matrix[i]);
    }
    dcsr_store_close(store);
    store_remove_folder(folder);
    test_close(context);
}

/* As a process leaves it that is killed during the first snapshot of a matrix. */
Test(catalog, does_not_count_what_has_no_version)
{
    char *folder = store_new_folder();
    dcsr_store *store = open_store(folder);
    dcsr_i_matrix_record record = {.number = 1, .next_chunk = 5, .next_position = 1, .named_chunks = 1};
    dcsr_store_info info;
    dcsr_store_check check;
    char **names;
    uint64_t count;
    MDB_txn *txn;
    TEST_OK(dcsr_i_txn_begin(&txn, store, true));
    TEST_OK(dcsr_i_matrix_record_put(store, txn, "unfinished", &record));
    TEST_OK(dcsr_i_txn_commit(txn, store));
    TEST_OK(dcsr_store_get_info(store, &info));
    TEST_OK(dcsr_store_get_names(store, &names, &count));
    TEST_OK(dcsr_store_verify(store, NULL, NULL, &check));
    cr_assert(info.matrices == 0 && count == 0 && check.matrices == 0 && check.corrupt == 0);
    dcsr_store_list_free(names);
    dcsr_store_close(store);
    store_remove_folder(folder);
}
