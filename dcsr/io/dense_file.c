/* dense_file.c: dense matrices, vectors among them, from files.
 *
 * A Matrix Market array is one number a line, column after column; so is a plain text, without the head. Both
 * are lines without indices to the parser of triples. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/runtime.h"
#include "dcsr/io/text_file.h"
#include "dcsr/io/triples.h"
#include <string.h>

/* Parses the lines into *values; *count is their number. */
static dcsr_status read_numbers(double **values, uint64_t *count, dcsr_context *context,
                                const dcsr_i_lines *lines)
{
    dcsr_i_chunks chunks;
    DCSR_TRY(dcsr_i_chunks_split(&chunks, context, lines));
    uint64_t room = chunks.capacity;
    double *numbers = dcsr_i_alloc(context, DCSR_I_SCRATCH, room, sizeof *numbers), *trimmed = NULL;
    dcsr_status status = numbers ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) status = dcsr_i_chunks_parse(&chunks, lines, &(dcsr_i_target){.values = numbers});
    if (status == DCSR_OK) {
        *count = chunks.entries;
        trimmed = dcsr_i_realloc(context, DCSR_I_SCRATCH, numbers, room, *count, sizeof *numbers);
        if (!trimmed) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK)
        *values = trimmed;
    else
        dcsr_i_free(context, DCSR_I_SCRATCH, numbers, room, sizeof *numbers);
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

static dcsr_status read_array(dcsr_dense *dense, const dcsr_i_file_input *input)
{
    dcsr_i_mtx_head head;
    DCSR_TRY(dcsr_i_mtx_read_head(&head, input));
    if (!head.array)
        return dcsr_i_fail_at(input->name, 1, "a coordinate file holds a sparse matrix; expected an array");
    if (head.symmetry != DCSR_I_GENERAL)
        return dcsr_i_fail_at(input->name, 1, "a dense matrix must be general, not symmetric");
    dcsr_i_lines lines = {.name = input->name,
                          .text = head.body,
                          .end = input->end,
                          .first_line = head.size_line + 1,
                          .type = head.field == DCSR_I_INTEGER ? DCSR_INT64 : DCSR_FP64,
                          .announced = head.entries};
    uint64_t count;
    DCSR_TRY(read_numbers(&dense->values, &count, input->context, &lines));
    if (head.field == DCSR_I_INTEGER) integers_to_doubles(dense->values, count);
    dense->rows = head.rows;
    dense->cols = head.cols;
    return DCSR_OK;
}

static dcsr_status read_plain(dcsr_dense *dense, const dcsr_i_file_input *input)
{
    dcsr_i_lines lines = {.name = input->name,
                          .text = input->text,
                          .end = input->end,
                          .first_line = 1,
                          .edges = true,
                          .type = DCSR_FP64,
                          .announced = UINT64_MAX};
    DCSR_TRY(read_numbers(&dense->values, &dense->rows, input->context, &lines));
    dense->cols = 1;
    return DCSR_OK;
}

dcsr_status dcsr_dense_read(dcsr_dense *dense, dcsr_context *context, const char *path)
{
    if (!dense)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_dense_read: dense is NULL; give it a place");
    *dense = (dcsr_dense){0};
    DCSR_TRY(dcsr_i_context_check(context));
    if (!path) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_dense_read: path is NULL");
    dcsr_i_packing packing;
    dcsr_i_format format = dcsr_i_format_of(path, &packing);
    if (format != DCSR_I_MATRIX_MARKET && format != DCSR_I_PLAIN_TEXT)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s: a dense matrix is read from a name that ends in .mtx or .txt, or in one of "
                           "them and .gz",
                           path);
    dcsr_i_textfile file;
    DCSR_TRY(dcsr_i_textfile_open(&file, context, path, false));
    dcsr_status status = dcsr_i_textfile_finish(&file, NULL);
    if (status == DCSR_OK) {
        dcsr_i_file_input input = {context, path, file.text.data, file.text.data + file.text.length};
        status = (format == DCSR_I_MATRIX_MARKET ? read_array : read_plain)(dense, &input);
    }
    dcsr_i_textfile_close(&file);
    if (status == DCSR_OK) dense->context = context;
    return status;
}

void dcsr_dense_free(dcsr_dense *dense)
{
    if (!dense) return;
    dcsr_i_free(dense->context, DCSR_I_SCRATCH, dense->values, dense->rows * dense->cols,
                sizeof *dense->values);
    *dense = (dcsr_dense){0};
}
