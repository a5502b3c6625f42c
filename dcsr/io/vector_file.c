/* vector_file.c: dense vectors and tall dense matrices from files.
 *
 * A Matrix Market array is one number a line, column after column; so is a plain text, without the head. Both
 * are lines without indices to the parser of triples. */
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/runtime.h"
#include "dcsr/io/text_file.h"
#include "dcsr/io/triples.h"
#include <stdlib.h>
#include <string.h>

/* Parses the lines into *values, allocated with malloc(); *count is their number. */
static dcsr_status read_numbers(double **values, uint64_t *count, dcsr_context *context,
                                const dcsr_i_lines *lines)
{
    dcsr_i_chunks chunks;
    DCSR_TRY(dcsr_i_chunks_split(&chunks, context, lines));
    double *numbers = malloc(chunks.capacity ? chunks.capacity * sizeof *numbers : 1);
    dcsr_status status = DCSR_OK;
    if (!numbers)
        status = dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: the system refused memory for %llu numbers",
                             lines->name, (unsigned long long)chunks.capacity);
    if (status == DCSR_OK) status = dcsr_i_chunks_parse(&chunks, lines, NULL, NULL, numbers);
    if (status == DCSR_OK) {
        *values = numbers;
        *count = chunks.entries;
    } else {
        free(numbers);
    }
    dcsr_i_chunks_free(&chunks);
    return status;
}

/* int64 and double have the same size: converted in place. */
static void integers_to_doubles(double *values, uint64_t count)
{
    _Static_assert(sizeof(int64_t) == sizeof(double), "converted in place");
    for (uint64_t i = 0; i < count; i++) {
        int64_t integer;
        memcpy(&integer, &values[i], sizeof integer);
        values[i] = (double)integer;
    }
}

static dcsr_status read_array(double **values, uint64_t *rows, uint64_t *cols, const dcsr_i_file_input *input)
{
    dcsr_i_mtx_head head;
    DCSR_TRY(dcsr_i_mtx_read_head(&head, input));
    if (!head.array)
        return dcsr_i_fail_at(input->name, 1, "a coordinate file holds a sparse matrix; expected an array");
    if (head.symmetry != DCSR_I_GENERAL)
        return dcsr_i_fail_at(input->name, 1, "a dense vector must be general, not symmetric");
    dcsr_i_lines lines = {.name = input->name,
                          .text = head.body,
                          .end = input->end,
                          .first_line = head.size_line + 1,
                          .type = head.field == DCSR_I_INTEGER ? DCSR_INT64 : DCSR_FP64,
                          .announced = head.entries};
    uint64_t count;
    DCSR_TRY(read_numbers(values, &count, input->context, &lines));
    if (head.field == DCSR_I_INTEGER) integers_to_doubles(*values, count);
    *rows = head.rows;
    *cols = head.cols;
    return DCSR_OK;
}

static dcsr_status read_plain(double **values, uint64_t *rows, uint64_t *cols, const dcsr_i_file_input *input)
{
    dcsr_i_lines lines = {.name = input->name,
                          .text = input->text,
                          .end = input->end,
                          .first_line = 1,
                          .edges = true,
                          .type = DCSR_FP64,
                          .announced = UINT64_MAX};
    *cols = 1;
    return read_numbers(values, rows, input->context, &lines);
}

dcsr_status dcsr_read_dense(double **values, uint64_t *rows, uint64_t *cols, dcsr_context *context,
                            const char *path)
{
    if (!values || !rows || !cols || !path)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "reading a vector: %s is NULL",
                           path ? "a result" : "path");
    *values = NULL;
    *rows = *cols = 0;
    DCSR_TRY(dcsr_i_context_check(context));
    bool compressed;
    dcsr_i_format format = dcsr_i_format_of(path, &compressed);
    if (format != DCSR_I_MATRIX_MARKET && format != DCSR_I_PLAIN_TEXT)
        return dcsr_i_fail(
            DCSR_ERROR_FORMAT,
            "%s: a vector is read from a name that ends in .mtx or .txt, or in one of them and .gz", path);
    dcsr_i_textfile file;
    DCSR_TRY(dcsr_i_textfile_open(&file, context, path));
    dcsr_status status = dcsr_i_textfile_finish(&file, NULL);
    if (status == DCSR_OK) {
        dcsr_i_file_input input = {context, path, file.text.data, file.text.data + file.text.length};
        status = (format == DCSR_I_MATRIX_MARKET ? read_array : read_plain)(values, rows, cols, &input);
    }
    dcsr_i_textfile_close(&file);
    return status;
}

dcsr_status dcsr_read_vector(double **values, uint64_t *length, dcsr_context *context, const char *path)
{
    uint64_t cols = 0;
    DCSR_TRY(dcsr_read_dense(values, length, &cols, context, path));
    if (cols == 1) return DCSR_OK;
    free(*values);
    *values = NULL;
    *length = 0;
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: a vector has one column, not %llu", path,
                       (unsigned long long)cols);
}
