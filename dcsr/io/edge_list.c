/* edge_list.c: edge lists: `row col [value]` a line, of a relation `row col`; ids from 0. */
#include "dcsr/io/coo_build.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/triples.h"
#include <string.h>

dcsr_status dcsr_i_edge_bounds(dcsr_i_lines *lines, uint64_t rows, uint64_t cols)
{
    if (rows > DCSR_MAX_ROWS || cols > DCSR_MAX_COLS)
        return dcsr_i_fail(
            DCSR_ERROR_FORMAT,
            "%s: %llu x %llu was asked for, which is too large: a matrix has at most 2^32 rows and 2^31 "
            "columns",
            lines->name, (unsigned long long)rows, (unsigned long long)cols);
    lines->rows = rows ? rows : cols ? DCSR_MAX_ROWS : DCSR_MAX_COLS;
    lines->cols = cols ? cols : DCSR_MAX_COLS;
    lines->bounded_by = rows || cols ? "by the dimensions asked for" : "that a square matrix can have";
    return DCSR_OK;
}

static dcsr_status read_lines(dcsr_coo *coo, const dcsr_i_lines *lines, const dcsr_read_options *options,
                              dcsr_i_chunks *chunks)
{
    DCSR_TRY(dcsr_i_coo_allocate(coo, lines->name, chunks->context, lines->type, 0, 0, chunks->capacity));
    const dcsr_i_target to = {.row = coo->row_indices, .col = coo->col_indices, .values = coo->values};
    DCSR_TRY(dcsr_i_chunks_parse(chunks, lines, &to));
    uint64_t rows = options ? options->rows : 0, cols = options ? options->cols : 0;
    uint64_t needed_rows = chunks->entries ? chunks->max_row + 1 : 0;
    uint64_t needed_cols = chunks->entries ? chunks->max_col + 1 : 0;
    if (!rows && !cols) needed_rows = needed_cols = needed_rows > needed_cols ? needed_rows : needed_cols;
    coo->rows = rows ? rows : needed_rows;
    coo->cols = cols ? cols : needed_cols;
    return dcsr_i_coo_trim(coo, chunks->entries);
}

dcsr_status dcsr_i_read_edges(dcsr_coo *coo, const dcsr_i_file_input *input, const dcsr_read_options *options)
{
    memset(coo, 0, sizeof *coo);
    dcsr_i_packing packing;
    const bool relation = dcsr_i_format_of(input->name, &packing) == DCSR_I_RELATION;
    const bool valued = !relation && dcsr_i_edge_values(input->text, input->end) > 0;
    dcsr_i_lines lines = {.name = input->name,
                          .text = input->text,
                          .end = input->end,
                          .first_line = 1,
                          .indexed = true,
                          .edges = true,
                          .relation = relation,
                          .type = valued ? DCSR_FP64 : DCSR_PATTERN,
                          .announced = UINT64_MAX};
    DCSR_TRY(dcsr_i_edge_bounds(&lines, options ? options->rows : 0, options ? options->cols : 0));
    dcsr_i_chunks chunks;
    DCSR_TRY(dcsr_i_chunks_split(&chunks, input->context, &lines));
    dcsr_status status = read_lines(coo, &lines, options, &chunks);
    if (status != DCSR_OK) dcsr_coo_free(coo);
    dcsr_i_chunks_free(&chunks);
    return status;
}
