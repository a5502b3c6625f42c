/* fuzz_stream.c: any bytes as a stream that tells by its content what it is: looked at, then read; and, where
 * they are not compressed, the same as from memory. */
#include "tests/fuzz/fuzz_reader.h"
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool begins(const uint8_t *data, size_t size, const char *text)
{
    return size >= strlen(text) && !strncasecmp((const char *)data, text, strlen(text));
}

/* What reading found must be what the text holds. */
static void compare(const dcsr_coo *coo, dcsr_status status, const uint8_t *data, size_t size)
{
    const char *name = begins(data, size, "%%MatrixMarket") ? "fuzz.mtx" : "fuzz.el";
    dcsr_coo same;
    FUZZ_CHECK(dcsr_coo_read_buffer(&same, fuzz_context(), name, (const char *)data, size, NULL) == status);
    FUZZ_CHECK(coo->type == same.type && coo->nnz == same.nnz && coo->rows == same.rows &&
               coo->cols == same.cols);
    for (uint64_t i = 0; i < coo->nnz; i++)
        FUZZ_CHECK(coo->row_indices[i] == same.row_indices[i] && coo->col_indices[i] == same.col_indices[i]);
    dcsr_coo_free(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dcsr_context *context = fuzz_context();
    dcsr_context_info info;
    char path[40];
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0);
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    dcsr_input *input;
    dcsr_coo coo = {0};
    dcsr_type type = DCSR_PATTERN;
    dcsr_read_report report = {0};
    const dcsr_read_options options = {.report = &report};
    FUZZ_CHECK(dcsr_input_open(&input, context, path) == DCSR_OK);
    const dcsr_status looked = dcsr_input_look(input, &type, NULL),
                      status = dcsr_input_read(&coo, input, &options);
    FUZZ_CHECK(status == DCSR_OK || status == DCSR_ERROR_FORMAT || status == DCSR_ERROR_OUT_OF_MEMORY);
    FUZZ_CHECK(status != DCSR_OK || (looked == DCSR_OK && type == coo.type));
    FUZZ_CHECK(report.ignored_from + report.ignored_bytes <= size);
    for (uint64_t i = 0; i < coo.nnz; i++)
        FUZZ_CHECK(coo.row_indices[i] < coo.rows && coo.col_indices[i] < coo.cols);
    const bool gzip = begins(data, size, "\x1f\x8b"), zstd = begins(data, size, "\x28\xb5\x2f\xfd");
    if (!gzip && !zstd) compare(&coo, status, data, size);
    dcsr_coo_free(&coo);
    dcsr_input_close(input);
    FUZZ_CHECK(dcsr_context_get_info(context, &info) == DCSR_OK && info.scratch_bytes == 0);
    close(file);
    return 0;
}
