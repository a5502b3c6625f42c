/* support_snapshot.h: what the suites of snapshots share: a store with small chunks, and matrices to put
 * there. */
#ifndef DCSR_TESTS_SUPPORT_SNAPSHOT_H
#define DCSR_TESTS_SUPPORT_SNAPSHOT_H

#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include <stdlib.h>

enum { SMALL_CHUNK = 4096 };

/* A store in a new folder, with chunks that are small, on a context. */
typedef struct fixture {
    char *folder;
    dcsr_context *context;
    dcsr_store *store;
} fixture;

static inline void reopen(fixture *f, const dcsr_store_options *options)
{
    dcsr_store_close(f->store);
    TEST_OK(dcsr_store_open(&f->store, f->folder, options));
}

static inline fixture begin(int compression)
{
    fixture f = {.folder = store_new_folder(), .context = test_context(2)};
    TEST_OK(dcsr_store_open(&f.store, f.folder,
                            &(dcsr_store_options){.chunk_bytes = SMALL_CHUNK, .compression = compression}));
    return f;
}

static inline void end(fixture *f)
{
    dcsr_store_check check;
    TEST_OK(dcsr_store_verify(f->store, NULL, NULL, &check));
    cr_assert_eq(check.corrupt, 0);
    dcsr_store_close(f->store);
    store_remove_folder(f->folder);
    test_close(f->context);
}

static inline dcsr_version_info snapshot(fixture *f, const char *name, dcsr_matrix *matrix)
{
    dcsr_version_info info;
    TEST_OK(dcsr_store_snapshot(f->store, name, matrix, &info));
    return info;
}

/* n rows of `length` entries. */
static inline dcsr_matrix *make_rows(dcsr_context *context, uint64_t rows, uint64_t length)
{
    dcsr_matrix *matrix =
        test_matrix(context, DCSR_FP64, rows, rows > length ? rows : length, DCSR_POLICY_LAST);
    size_t n = rows * length;
    uint64_t *row = test_allocate(n, sizeof *row), *col = test_allocate(n, sizeof *col);
    double *value = test_allocate(n, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        row[i] = i / length;
        col[i] = i % length;
        value[i] = (double)i;
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(row);
    free(col);
    free(value);
    return matrix;
}

#endif
