/* fuzz_reader.h: what the fuzzers of the readers check: whatever the bytes, either triples that are whole, or
 * an error that names the file and leaves nothing behind. */
#ifndef DCSR_TESTS_FUZZ_READER_H
#define DCSR_TESTS_FUZZ_READER_H

#include <dcsr/reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(condition)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

static inline void fuzz_check_triples(const dcsr_coo *coo, const dcsr_read_options *options, size_t size)
{
    FUZZ_CHECK(coo->type == DCSR_PATTERN || coo->type == DCSR_INT64 || coo->type == DCSR_FP64);
    FUZZ_CHECK(!coo->values == (coo->type == DCSR_PATTERN));
    FUZZ_CHECK(coo->rows <= DCSR_MAX_ROWS && coo->cols <= DCSR_MAX_COLS);
    FUZZ_CHECK(coo->nnz <= size); /* an entry takes 4 bytes at least, and stands for two at most */
    if (options && options->rows) FUZZ_CHECK(coo->rows == options->rows);
    if (options && options->cols) FUZZ_CHECK(coo->cols == options->cols);
    for (uint64_t i = 0; i < coo->nnz; i++)
        FUZZ_CHECK(coo->row_indices[i] < coo->rows && coo->col_indices[i] < coo->cols);
}

/* A context whose limit catches allocations that the input does not warrant. */
static inline dcsr_context *fuzz_context(void)
{
    static dcsr_context *context;
    dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = 1, .memory_limit = 64 << 20};
    if (!context) FUZZ_CHECK(dcsr_context_create(&context, &options) == DCSR_OK);
    return context;
}

static inline void fuzz_read(const char *name, const uint8_t *data, size_t size,
                             const dcsr_read_options *options)
{
    dcsr_context *context = fuzz_context();
    dcsr_context_info info;
    dcsr_coo coo;
    char *text = malloc(size ? size : 1); /* of exactly this size, so that reading beyond it is seen */
    FUZZ_CHECK(text);
    if (size) memcpy(text, data, size);
    dcsr_status status = dcsr_coo_read_buffer(&coo, context, name, text, size, options);
    if (status == DCSR_OK) {
        fuzz_check_triples(&coo, options, size);
    } else {
        FUZZ_CHECK(status == DCSR_ERROR_FORMAT);
        FUZZ_CHECK(!strncmp(dcsr_thread_error(), name, strlen(name)));
        FUZZ_CHECK(!coo.row_indices && !coo.col_indices && !coo.values && !coo.nnz);
    }
    dcsr_coo_free(&coo);
    FUZZ_CHECK(dcsr_context_get_info(context, &info) == DCSR_OK && info.scratch_bytes == 0);
    free(text);
}

#endif
