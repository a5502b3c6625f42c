/* support_files.h: what the tests of files and generators share: a folder of their own, files by content, and
 * triples. */
#ifndef DCSR_TESTS_SUPPORT_FILES_H
#define DCSR_TESTS_SUPPORT_FILES_H

#include "dcsr/base/alloc.h"
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file name in a folder that is this test's alone; the last eight stay valid. Test processes end with
 * test_remove_files(). */
static char test_folder[200];

static inline const char *test_path(const char *name)
{
    static char path[8][300];
    static int next;
    if (!*test_folder) {
        const char *base = getenv("TMPDIR");
        snprintf(test_folder, sizeof test_folder, "%s/dcsr-test-XXXXXX",
                 base && strlen(base) < 150 ? base : "/tmp");
        cr_assert(mkdtemp(test_folder), "cannot make the folder %s", test_folder);
    }
    char *result = path[next++ % 8];
    snprintf(result, sizeof path[0], "%s/%s", test_folder, name);
    return result;
}

/* Removes the folder; returns how many files were in it. */
static inline int test_remove_files(void)
{
    int files = 0;
    DIR *folder = *test_folder ? opendir(test_folder) : NULL;
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        files++;
        unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    rmdir(test_folder);
    *test_folder = 0;
    return files;
}

static inline const char *test_write_file(const char *name, const void *data, size_t length)
{
    const char *path = test_path(name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, length, file) == length && fclose(file) == 0, "cannot write %s", path);
    return path;
}

/* The content of a file, with a zero behind it; free() it. */
static inline char *test_read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file, "cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *data = test_allocate(*length + 1, 1);
    cr_assert(fread(data, 1, *length, file) == *length);
    fclose(file);
    return data;
}

/* Whether two triples are the same to the last bit. */
static inline bool test_same_coo(const dcsr_coo *a, const dcsr_coo *b)
{
    size_t bytes = a->nnz * sizeof(uint64_t);
    return a->type == b->type && a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
           (!a->nnz || (!memcmp(a->row_indices, b->row_indices, bytes) &&
                        !memcmp(a->col_indices, b->col_indices, bytes) &&
                        (!a->values || !memcmp(a->values, b->values, a->nnz * dcsr_type_size(a->type)))));
}

static inline bool test_is_zero(const dcsr_coo *coo)
{
    return !coo->type && !coo->rows && !coo->cols && !coo->nnz && !coo->row_indices && !coo->col_indices &&
           !coo->values && !coo->context;
}

static inline uint64_t test_scratch_bytes(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.scratch_bytes;
}

/* Runs `call`, which gives a dcsr_status, with the first allocation failing, then the second and so on until
 * it succeeds. Each failure must be OUT_OF_MEMORY and leave `*coo` all zero and no memory behind. Afterwards
 * the call's result stands. */
#define TEST_SURVIVES_ALLOCATION_FAILURES(context, coo, call)                                \
    do {                                                                                     \
        uint64_t before_ = test_scratch_bytes(context);                                      \
        dcsr_status status_ = DCSR_ERROR_OUT_OF_MEMORY;                                      \
        for (long n_ = 0; status_ != DCSR_OK; n_++) {                                        \
            dcsr_i_fail_allocations_after(n_);                                               \
            status_ = (call);                                                                \
            dcsr_i_fail_allocations_after(-1);                                               \
            if (status_ == DCSR_OK) {                                                        \
                cr_assert(n_ > 0, "no allocation failed");                                   \
                break;                                                                       \
            }                                                                                \
            cr_assert_eq(status_, DCSR_ERROR_OUT_OF_MEMORY, "failure %ld gives: %s", n_,     \
                         dcsr_thread_error());                                               \
            cr_assert(test_is_zero(coo), "failure %ld leaves something in the triples", n_); \
            cr_assert_eq(test_scratch_bytes(context), before_, "failure %ld leaks", n_);     \
        }                                                                                    \
    } while (0)

#endif
