/* test_input.c: inputs that are looked at before they are read, and streams. */
#include <dcsr/generate.h>
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"

/* What was looked at is read all the same, with a writer that waits for that. */
Test(input, a_pipe_can_be_looked_at)
{
    static const struct {
        const char *name, *first, *rest;
        dcsr_type type;
        uint64_t nnz;
    } pipes[] = {
        {"p.el", "# c\n\n0 1\n", "2 3\n", DCSR_PATTERN, 2},
        {"p.csv", "# c\n0,1,2.5\n1", ",3,7\n", DCSR_FP64, 2},
        {"p.facts", "0 1\n", "", DCSR_PATTERN, 1},
        {"p.mtx", "%%MatrixMarket matrix coordinate integer general\n", "2 2 1\n1 1 5\n", DCSR_INT64, 1},
        {"pipe", "%%MatrixMarket matrix coordinate real general\n2", " 2 1\n1 1 5\n", DCSR_FP64, 1},
        {"pipe", "0 1 2.5\n", "", DCSR_FP64, 1}};
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        int ends[2];
        char descriptor[40];
        cr_assert_eq(pipe(ends), 0);
        snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", ends[0]);
        const char *path = test_path(pipes[i].name);
        cr_assert_eq(symlink(descriptor, path), 0);
        dcsr_input *input;
        dcsr_type type;
        dcsr_coo coo;
        bool stream = false;
        TEST_OK(dcsr_input_open(&input, context, path));
        cr_assert(write(ends[1], pipes[i].first, strlen(pipes[i].first)) > 0);
        for (int look = 0; look < 2; look++) {
            TEST_OK(dcsr_input_look(input, &type, &stream));
            cr_assert(type == pipes[i].type && stream, "%s", pipes[i].first);
        }
        cr_assert(write(ends[1], pipes[i].rest, strlen(pipes[i].rest)) >= 0 && !close(ends[1]));
        TEST_OK(dcsr_input_read(&coo, input, &(dcsr_read_options){.whole_lines = true}));
        cr_assert(coo.nnz == pipes[i].nnz && coo.type == type);
        dcsr_coo_free(&coo);
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "read already", dcsr_input_read(&coo, input, NULL));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "read already", dcsr_input_look(input, &type, NULL));
        dcsr_input_close(input);
        close(ends[0]);
        unlink(path);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(input, a_file_is_looked_at_as_far_as_its_first_entry)
{
    dcsr_context *context = test_context(1);
    size_t length = (size_t)3 << 20;
    char *data = test_allocate(length + 10, 1);
    for (size_t i = 0; i < length; i += 4) memcpy(data + i, "#  \n", 4);
    for (int valued = 0; valued < 2; valued++) {
        strcpy(data + length, valued ? "0 1 3\n" : "0 1\n");
        const char *path = test_write_file("a.el", data, strlen(data));
        dcsr_input *input;
        dcsr_type type;
        bool stream;
        dcsr_coo coo;
        TEST_OK(dcsr_input_open(&input, context, path));
        TEST_OK(dcsr_input_look(input, &type, &stream));
        cr_assert(type == (valued ? DCSR_FP64 : DCSR_PATTERN) && !stream);
        TEST_OK(dcsr_input_read(&coo, input, NULL));
        cr_assert(coo.nnz == 1 && coo.type == type);
        dcsr_coo_free(&coo);
        dcsr_input_close(input);
    }
    free(data);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* Whichever allocation fails, of looking or of reading, and whether or not reading is tried after a look that
 * failed. */
Test(input, survives_allocation_failures)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo, made;
    TEST_OK(dcsr_coo_generate(&made, context, "path:30000"));
    static const char *const names[] = {"a.el", "a.el.gz", "a.mtx.gz"};
    for (int i = 0; i < 3; i++) {
        const char *path = test_path(names[i]);
        const uint64_t before = test_scratch_bytes(context);
        TEST_OK(dcsr_coo_write(&made, path));
        dcsr_status read = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; read != DCSR_OK; n++) {
            dcsr_input *input;
            dcsr_type type;
            dcsr_i_fail_allocations_after(n);
            dcsr_status opened = dcsr_input_open(&input, context, path), looked = opened;
            if (opened == DCSR_OK) looked = dcsr_input_look(input, &type, NULL);
            cr_assert(looked == DCSR_OK || looked == DCSR_ERROR_OUT_OF_MEMORY);
            if (n % 2 && looked != DCSR_OK) dcsr_i_fail_allocations_after(-1);
            if (opened == DCSR_OK) read = dcsr_input_read(&coo, input, NULL);
            dcsr_i_fail_allocations_after(-1);
            dcsr_input_close(input);
            cr_assert(read == DCSR_ERROR_OUT_OF_MEMORY || coo.nnz == made.nnz);
            if (read == DCSR_OK) dcsr_coo_free(&coo);
            if (n % 2 && looked != DCSR_OK) read = DCSR_ERROR_OUT_OF_MEMORY;
            cr_assert_eq(test_scratch_bytes(context), before, "failure %ld leaks", n);
        }
    }
    dcsr_coo_free(&made);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* Streams: what their writers have not finished. */
Test(input, streams_that_stop_within_a_line)
{
    static const struct {
        const char *name, *text, *words;
    } streams[] = {
        {"p.el", "0 1\n1 2", "p.el:2: the input stops within this line"},
        {"pipe", "0 1\n\n1 2 ", "pipe:3: "},
        {"p.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0.5", "p.mtx:3: the input"}};
    dcsr_context *context = test_context(1);
    dcsr_read_options options = {.whole_lines = true};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        int ends[2];
        char descriptor[40];
        cr_assert_eq(pipe(ends), 0);
        cr_assert(write(ends[1], streams[i].text, strlen(streams[i].text)) > 0 && !close(ends[1]));
        snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", ends[0]);
        const char *path = test_path(streams[i].name);
        cr_assert_eq(symlink(descriptor, path), 0);
        dcsr_coo coo;
        TEST_REFUSED(DCSR_ERROR_FORMAT, streams[i].words, dcsr_coo_read(&coo, context, path, &options));
        cr_assert(test_is_zero(&coo));
        close(ends[0]);
        unlink(path);
        TEST_OK(dcsr_coo_read(&coo, context, /* a file is whole */
                              test_write_file(*streams[i].name == 'p' && strchr(streams[i].name, '.')
                                                  ? streams[i].name
                                                  : "p.el",
                                              streams[i].text, strlen(streams[i].text)),
                              &options));
        dcsr_coo_free(&coo);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}
