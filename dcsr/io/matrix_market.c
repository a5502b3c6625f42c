/* matrix_market.c: Matrix Market coordinate files.
 *
 * The format follows "The Matrix Market Exchange Formats: Initial Design" (Boisvert, Pozo, Remington, NISTIR
 * 5935): banner, comments, a size line, one entry a line, indices from 1. A symmetric file lists the lower
 * triangle and is expanded here. */
#include "dcsr/io/coo_build.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/threads.h"
#include "dcsr/io/triples.h"
#include <string.h>

/* -- Head ------------------------------------------------------------------------------------------------ */

typedef struct keyword {
    const char *word;
    int value; /* -1: known, but not supported */
} keyword;

enum { WORDS = 6 };
static const keyword objects[WORDS] = {{"matrix", 0}, {"vector", -1}};
static const keyword layouts[WORDS] = {{"coordinate", false}, {"array", true}};
static const keyword fields[WORDS] = {{"real", DCSR_I_REAL},
                                      {"integer", DCSR_I_INTEGER},
                                      {"pattern", DCSR_I_NO_FIELD},
                                      {"complex", -1},
                                      {"unsigned-integer", -1}};
static const keyword symmetries[WORDS] = {{"general", DCSR_I_GENERAL},
                                          {"symmetric", DCSR_I_SYMMETRIC},
                                          {"skew-symmetric", DCSR_I_SKEW_SYMMETRIC},
                                          {"hermitian", -1}};

/* The word at *p, which must be one of the list; moves *p behind it and its blanks. */
static dcsr_status banner_word(const dcsr_i_file_input *input, const char **p, const keyword words[WORDS],
                               const char *what, int *value)
{
    char quoted[DCSR_I_QUOTED], expected[128] = "";
    const char *end = dcsr_i_word_end(*p);
    for (int i = 0; i < WORDS && words[i].word; i++) {
        size_t length = strlen(words[i].word);
        if (length == (size_t)(end - *p) && dcsr_i_same_letters(*p, words[i].word, length)) {
            if (words[i].value < 0)
                return dcsr_i_fail_at(input->name, 1, "%s Matrix Market files are not supported",
                                      words[i].word);
            *value = words[i].value;
            *p = dcsr_i_skip_blanks(end);
            return DCSR_OK;
        }
        if (words[i].value < 0) continue;
        if (*expected) strcat(expected, ", ");
        strcat(expected, words[i].word);
    }
    return dcsr_i_fail_at(input->name, 1, "the %s of the matrix is %s; expected one of: %s", what,
                          dcsr_i_quote(quoted, *p), expected);
}

static dcsr_status read_banner(dcsr_i_mtx_head *head, const dcsr_i_file_input *input)
{
    static const char banner[] = "%%matrixmarket";
    char quoted[DCSR_I_QUOTED];
    const char *p = input->text;
    if (p == input->end)
        return dcsr_i_fail_at(input->name, 1, "the file is empty; expected %%%%MatrixMarket");
    size_t length = sizeof banner - 1;
    if (!dcsr_i_same_letters(p, banner, length) || dcsr_i_word_end(p) != p + length)
        return dcsr_i_fail_at(input->name, 1,
                              "not a Matrix Market file: it begins with %s, not with %%%%MatrixMarket",
                              dcsr_i_quote(quoted, p));
    p = dcsr_i_skip_blanks(p + length);
    int object, array, field, symmetry;
    DCSR_TRY(banner_word(input, &p, objects, "object", &object));
    DCSR_TRY(banner_word(input, &p, layouts, "layout", &array));
    DCSR_TRY(banner_word(input, &p, fields, "field", &field));
    DCSR_TRY(banner_word(input, &p, symmetries, "symmetry", &symmetry));
    if (*p != '\n')
        return dcsr_i_fail_at(input->name, 1, "%s after the end of the banner", dcsr_i_quote(quoted, p));
    if (field == DCSR_I_NO_FIELD && symmetry == DCSR_I_SKEW_SYMMETRIC)
        return dcsr_i_fail_at(input->name, 1, "a pattern cannot be skew-symmetric: it has no signs");
    if (field == DCSR_I_NO_FIELD && array)
        return dcsr_i_fail_at(input->name, 1, "an array cannot be a pattern: it has no positions");
    head->array = array;
    head->field = (dcsr_i_field)field;
    head->symmetry = (dcsr_i_symmetry)symmetry;
    head->size_line = 1;
    head->body = p + 1;
    return DCSR_OK;
}

/* The numbers of the size line. */
static dcsr_status read_size_line(dcsr_i_mtx_head *head, const dcsr_i_file_input *input)
{
    static const char *const names[] = {"number of rows", "number of columns", "number of entries"};
    uint64_t *const numbers[] = {&head->rows, &head->cols, &head->entries};
    char quoted[DCSR_I_QUOTED];
    const char *p = head->body;
    for (int i = 0; i < (head->array ? 2 : 3); i++) {
        const char *end = dcsr_i_scan_unsigned(p, numbers[i]);
        if (end == p || !(dcsr_i_is_blank(*end) || *end == '\n'))
            return dcsr_i_fail_at(input->name, head->size_line, "expected the %s, found %s", names[i],
                                  dcsr_i_quote(quoted, p));
        p = dcsr_i_skip_blanks(end);
    }
    if (*p != '\n')
        return dcsr_i_fail_at(input->name, head->size_line, "%s after the end of the size line",
                              dcsr_i_quote(quoted, p));
    head->body = p + 1;
    return DCSR_OK;
}

/* What the sizes must fulfil, whatever comes after them. */
static dcsr_status check_sizes(dcsr_i_mtx_head *head, const dcsr_i_file_input *input)
{
    unsigned long long rows = head->rows, cols = head->cols;
    if (head->symmetry != DCSR_I_GENERAL && rows != cols)
        return dcsr_i_fail_at(input->name, head->size_line,
                              "a symmetric matrix must be square, not %llu x %llu", rows, cols);
    if (head->array && __builtin_mul_overflow(head->rows, head->cols, &head->entries))
        return dcsr_i_fail_at(input->name, head->size_line,
                              "%llu x %llu entries are more than memory can address", rows, cols);
    if (!head->array && (rows > DCSR_MAX_ROWS || cols > DCSR_MAX_COLS))
        return dcsr_i_fail_at(input->name, head->size_line,
                              "%llu x %llu is too large: a matrix has at most 2^32 rows and 2^31 columns",
                              rows, cols);
    /* Held against the file before anything is allocated for it. */
    dcsr_i_lines lines = {.indexed = !head->array,
                          .type = head->field == DCSR_I_NO_FIELD ? DCSR_PATTERN : DCSR_FP64};
    uint64_t room = dcsr_i_most_entries(&lines, (uint64_t)(input->end - head->body));
    if (head->entries > room)
        return dcsr_i_fail_at(
            input->name, head->size_line,
            "%llu entries are announced, but the rest of the file has room for %llu at most",
            (unsigned long long)head->entries, (unsigned long long)room);
    return DCSR_OK;
}

dcsr_status dcsr_i_mtx_read_head(dcsr_i_mtx_head *head, const dcsr_i_file_input *input)
{
    *head = (dcsr_i_mtx_head){0};
    DCSR_TRY(read_banner(head, input));
    for (const char *p = head->body;; p = (const char *)rawmemchr(p, '\n') + 1) {
        if (p == input->end)
            return dcsr_i_fail_at(input->name, head->size_line, "the file ends before the size line");
        head->size_line++;
        head->body = p = dcsr_i_skip_blanks(p);
        if (*p != '%' && *p != '\n') break;
    }
    DCSR_TRY(read_size_line(head, input));
    return check_sizes(head, input);
}

/* -- Expanding symmetric files --------------------------------------------------------------------------- */

/* Entry (i, j) below the diagonal gets a mirror (j, i), in the same order behind all that the file lists. */
typedef struct mirror_block {
    uint64_t begin, end; /* entries of the file */
    uint64_t mirrors;    /* first the number in this block, then where they begin */
} mirror_block;

enum { BLOCK_ENTRIES = 1 << 16 };

static void write_mirrors(const mirror_block *block, dcsr_coo *coo, bool negate)
{
    uint64_t at = block->mirrors;
    for (uint64_t i = block->begin; i < block->end; i++) {
        if (coo->row_indices[i] == coo->col_indices[i]) continue;
        coo->row_indices[at] = coo->col_indices[i];
        coo->col_indices[at] = coo->row_indices[i];
        if (coo->type == DCSR_FP64) {
            double *values = coo->values;
            values[at] = negate ? -values[i] : values[i];
        } else if (coo->type == DCSR_INT64) {
            int64_t *values = coo->values;
            values[at] = negate ? -values[i] : values[i];
        }
        at++;
    }
}

/* The arrays have room for twice `listed` entries; *nnz becomes the number with mirrors. */
static dcsr_status expand(dcsr_coo *coo, uint64_t listed, bool negate, uint64_t *nnz)
{
    uint64_t count = (listed + BLOCK_ENTRIES - 1) / BLOCK_ENTRIES;
    mirror_block *blocks = dcsr_i_alloc(coo->context, DCSR_I_SCRATCH, count, sizeof *blocks);
    if (!blocks) return DCSR_ERROR_OUT_OF_MEMORY;
    int threads = dcsr_i_threads(coo->context, listed);
#pragma omp parallel for num_threads(threads)
    for (uint64_t b = 0; b < count; b++) {
        uint64_t begin = b * BLOCK_ENTRIES, end = begin + BLOCK_ENTRIES;
        if (end > listed) end = listed;
        blocks[b] = (mirror_block){.begin = begin, .end = end};
        for (uint64_t i = begin; i < end; i++)
            blocks[b].mirrors += coo->row_indices[i] != coo->col_indices[i];
    }
    *nnz = listed;
    for (uint64_t b = 0; b < count; b++) {
        uint64_t mirrors = blocks[b].mirrors;
        blocks[b].mirrors = *nnz;
        *nnz += mirrors;
    }
#pragma omp parallel for num_threads(threads)
    for (uint64_t b = 0; b < count; b++) write_mirrors(&blocks[b], coo, negate);
    dcsr_i_free(coo->context, DCSR_I_SCRATCH, blocks, count, sizeof *blocks);
    return DCSR_OK;
}

/* -- The type -------------------------------------------------------------------------------------------- */

static const dcsr_type types[] = {
    [DCSR_I_REAL] = DCSR_FP64, [DCSR_I_INTEGER] = DCSR_INT64, [DCSR_I_NO_FIELD] = DCSR_PATTERN};

dcsr_status dcsr_i_mtx_type(dcsr_type *type, const dcsr_i_file_input *input)
{
    dcsr_i_mtx_head head = {0};
    DCSR_TRY(read_banner(&head, input));
    *type = types[head.field];
    return DCSR_OK;
}

/* -- The whole file -------------------------------------------------------------------------------------- */

static dcsr_status read_body(dcsr_coo *coo, const dcsr_i_mtx_head *head, const dcsr_i_lines *lines,
                             dcsr_i_chunks *chunks)
{
    bool expands = head->symmetry != DCSR_I_GENERAL;
    uint64_t capacity = chunks->capacity << expands;
    DCSR_TRY(dcsr_i_coo_allocate(coo, lines->name, chunks->context, lines->type, head->rows, head->cols,
                                 capacity));
    const dcsr_i_target to = {.row = coo->row_indices, .col = coo->col_indices, .values = coo->values};
    DCSR_TRY(dcsr_i_chunks_parse(chunks, lines, &to));
    uint64_t nnz = chunks->entries;
    if (expands) DCSR_TRY(expand(coo, nnz, head->symmetry == DCSR_I_SKEW_SYMMETRIC, &nnz));
    return dcsr_i_coo_trim(coo, nnz);
}

dcsr_status dcsr_i_read_mtx(dcsr_coo *coo, const dcsr_i_file_input *input)
{
    static const dcsr_i_triangle triangles[] = {DCSR_I_WHOLE, DCSR_I_LOWER, DCSR_I_STRICTLY_LOWER};
    dcsr_i_mtx_head head;
    memset(coo, 0, sizeof *coo);
    DCSR_TRY(dcsr_i_mtx_read_head(&head, input));
    if (head.array)
        return dcsr_i_fail_at(
            input->name, 1,
            "an array file holds a dense matrix, which is read as a vector; expected coordinate");
    dcsr_i_lines lines = {.name = input->name,
                          .text = head.body,
                          .end = input->end,
                          .first_line = head.size_line + 1,
                          .indexed = true,
                          .type = types[head.field],
                          .base = 1,
                          .rows = head.rows,
                          .cols = head.cols,
                          .bounded_by = "by the size line",
                          .triangle = triangles[head.symmetry],
                          .announced = head.entries};
    dcsr_i_chunks chunks;
    DCSR_TRY(dcsr_i_chunks_split(&chunks, input->context, &lines));
    dcsr_status status = read_body(coo, &head, &lines, &chunks);
    if (status != DCSR_OK) dcsr_coo_free(coo);
    dcsr_i_chunks_free(&chunks);
    return status;
}
