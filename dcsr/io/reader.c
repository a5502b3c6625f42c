/* reader.c: which reader a file is for. */
#include <dcsr/reader.h>
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/runtime.h"
#include "dcsr/io/input.h"
#include <limits.h>
#include <string.h>

/* Whether the first `length` characters of the name end in the suffix; if so *length becomes what is before
 * it. */
static bool strip_suffix(const char *name, size_t *length, const char *suffix)
{
    size_t n = strlen(suffix);
    if (*length <= n || !dcsr_i_same_letters(name + *length - n, suffix, n)) return false;
    *length -= n;
    return true;
}

dcsr_i_format dcsr_i_format_of(const char *path, dcsr_i_packing *packing)
{
    static const struct {
        const char *suffix;
        dcsr_i_format format;
    } known[] = {{".mtx", DCSR_I_MATRIX_MARKET}, {".el", DCSR_I_EDGE_LIST},   {".tsv", DCSR_I_EDGE_LIST},
                 {".csv", DCSR_I_EDGE_LIST},     {".facts", DCSR_I_RELATION}, {".txt", DCSR_I_PLAIN_TEXT}};
    size_t length = strlen(path);
    *packing = strip_suffix(path, &length, ".gz")    ? DCSR_I_GZIP
               : strip_suffix(path, &length, ".zst") ? DCSR_I_ZSTD
                                                     : DCSR_I_PLAIN;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strip_suffix(path, &length, known[i].suffix)) return known[i].format;
    return DCSR_I_UNKNOWN;
}

int dcsr_i_descriptor_of(const char *path)
{
    static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (int d = 0; d < 3; d++)
        if (!strcmp(path, standard[d])) return d;
    for (int f = 0; f < 2; f++) {
        uint64_t number;
        const size_t length = strlen(folders[f]);
        if (strncmp(path, folders[f], length)) continue;
        const char *end = dcsr_i_scan_unsigned(path + length, &number);
        if (end != path + length && !*end && number <= INT_MAX) return (int)number;
    }
    return -1;
}

dcsr_status dcsr_i_unknown_format(const char *path)
{
    return dcsr_i_fail(
        DCSR_ERROR_FORMAT,
        "%s: the name says no format that is known; it must end in .mtx, .el, .tsv, .csv, .txt or .facts, "
        "or in one of them and .gz or .zst",
        path);
}

/* -- Texts ----------------------------------------------------------------------------------------------- */

bool dcsr_i_is_market(const dcsr_i_file_input *input)
{
    static const char banner[] = "%%matrixmarket";
    dcsr_i_packing packing;
    const dcsr_i_format format = dcsr_i_format_of(input->name, &packing);
    if (format != DCSR_I_UNKNOWN) return format == DCSR_I_MATRIX_MARKET;
    return input->text != input->end && dcsr_i_same_letters(input->text, banner, sizeof banner - 1);
}

dcsr_status dcsr_i_read_text(dcsr_coo *coo, const dcsr_i_text *text, const char *name,
                             const dcsr_read_options *options)
{
    dcsr_i_file_input input = {text->context, name, text->data, text->data + text->length};
    return dcsr_i_is_market(&input) ? dcsr_i_read_mtx(coo, &input) : dcsr_i_read_edges(coo, &input, options);
}

/* What all ways in have in common. */
static dcsr_status check_name(dcsr_context *context, const char *name)
{
    DCSR_TRY(dcsr_i_context_check(context));
    if (!name) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the name of the file to be read is NULL");
    return DCSR_OK;
}

/* *coo is all zero afterwards. */
static dcsr_status check_place(dcsr_coo *coo)
{
    if (!coo) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "coo is NULL; give the triples a place");
    memset(coo, 0, sizeof *coo);
    return DCSR_OK;
}

dcsr_status dcsr_coo_read_buffer(dcsr_coo *coo, dcsr_context *context, const char *name, const char *text,
                                 size_t length, const dcsr_read_options *options)
{
    dcsr_i_packing packing;
    DCSR_TRY(check_place(coo));
    DCSR_TRY(check_name(context, name));
    if (dcsr_i_format_of(name, &packing) == DCSR_I_UNKNOWN) return dcsr_i_unknown_format(name);
    if (!text && length) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the text is NULL", name);
    if (dcsr_i_packing_of(text, length))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: the text is compressed; inflate it first", name);
    bool whole = !length || text[length - 1] == '\n';
    dcsr_i_text lines = {.context = context, .data = (char *)(uintptr_t)text, .length = length};
    if (!whole) DCSR_TRY(dcsr_i_text_copy(&lines, context, text, length));
    dcsr_status status = dcsr_i_read_text(coo, &lines, name, options);
    if (!whole) dcsr_i_text_free(&lines);
    return status;
}

/* -- Files ----------------------------------------------------------------------------------------------- */

static dcsr_status open_input(dcsr_input **input, dcsr_context *context, const char *path,
                              const dcsr_line_format *format)
{
    DCSR_TRY(check_name(context, path));
    const size_t length = strlen(path) + 1, bytes = sizeof(dcsr_input) + length;
    dcsr_input *opened = dcsr_i_calloc(context, DCSR_I_SCRATCH, bytes, 1);
    if (!opened) return DCSR_ERROR_OUT_OF_MEMORY;
    opened->bytes = bytes;
    opened->plain = true;
    memcpy(opened->name, path, length);
    dcsr_status status = dcsr_i_textfile_open(&opened->file, context, opened->name, format);
    if (status == DCSR_OK && format) {
        status = dcsr_i_input_describe(opened, format);
        if (status != DCSR_OK) dcsr_i_textfile_close(&opened->file);
    }
    if (status == DCSR_OK)
        *input = opened;
    else
        dcsr_i_free(context, DCSR_I_SCRATCH, opened, bytes, 1);
    return status;
}

dcsr_status dcsr_input_open(dcsr_input **input, dcsr_context *context, const char *path)
{
    if (!input) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_input_open: input is NULL");
    *input = NULL;
    return open_input(input, context, path, NULL);
}

dcsr_status dcsr_input_open_lines(dcsr_input **input, dcsr_context *context, const char *path,
                                  const dcsr_line_format *format)
{
    if (!input) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_input_open_lines: input is NULL");
    *input = NULL;
    if (!format)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_input_open_lines: format is NULL; dcsr_input_open() needs none");
    return open_input(input, context, path, format);
}

static dcsr_status check_unread(const dcsr_input *input, const char *function)
{
    if (!input) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: input is NULL", function);
    DCSR_TRY(dcsr_i_context_check(input->file.text.context));
    if (!input->read && !input->batches.begun) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: it has been read already; open it again",
                       input->name);
}

/* Where a look has got to: characters of whole lines without an entry, and those searched for the end of a
 * line. */
typedef struct look {
    size_t passed, searched;
} look;

/* By the lines that are there so far; *found is false where they do not tell. */
static dcsr_status find_type(bool *found, dcsr_type *type, const dcsr_input *input, look *at)
{
    const dcsr_i_text *text = &input->file.text;
    const char *last = NULL;
    if (text->length > at->searched)
        last = memrchr(text->data + at->searched, '\n', text->length - at->searched);
    *found = false;
    at->searched = text->length;
    if (!last) return DCSR_OK;
    dcsr_i_file_input lines = {text->context, input->name, text->data, last + 1};
    if (!input->described && dcsr_i_is_market(&lines)) {
        *found = true;
        return dcsr_i_mtx_type(type, &lines);
    }
    *found = dcsr_i_input_type(type, input, lines.text + (input->described ? 0 : at->passed), lines.end);
    at->passed = (size_t)(lines.end - lines.text);
    return DCSR_OK;
}

dcsr_status dcsr_input_look(dcsr_input *input, dcsr_type *type, bool *stream)
{
    DCSR_TRY(check_unread(input, "dcsr_input_look"));
    if (stream) *stream = input->file.stream;
    if (!type) return DCSR_OK;
    *type = DCSR_PATTERN;
    look at = {0};
    for (bool found = false;;) {
        DCSR_TRY(find_type(&found, type, input, &at));
        if (found || input->file.ended) return DCSR_OK;
        DCSR_TRY(dcsr_i_textfile_more(&input->file));
    }
}

/* That the last line, which may be half a number, is whole, where that is wanted. */
static dcsr_status check_end(const dcsr_i_textfile *file, const dcsr_read_options *options)
{
    if (!file->broken_off || !options || !options->whole_lines) return DCSR_OK;
    const char *p = file->text.data, *end = p + file->text.length;
    uint64_t line = 0;
    for (; p < end; p = (const char *)rawmemchr(p, '\n') + 1) line++;
    return dcsr_i_fail_at(file->path, line,
                          "the input stops within this line; its writer must end it with a newline");
}

dcsr_status dcsr_input_read(dcsr_coo *coo, dcsr_input *input, const dcsr_read_options *options)
{
    DCSR_TRY(check_place(coo));
    DCSR_TRY(check_unread(input, "dcsr_input_read"));
    dcsr_i_textfile *file = &input->file;
    input->read = true;
    if (input->described)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: it was opened with a format of lines; read it in batches", input->name);
    DCSR_TRY(dcsr_i_textfile_finish(file, options));
    dcsr_status status = dcsr_i_read_text(coo, &file->text, input->name, options);
    if (status == DCSR_OK) status = check_end(file, options);
    if (status != DCSR_OK) dcsr_coo_free(coo);
    if (options && options->report)
        *options->report =
            (dcsr_read_report){.ignored_bytes = file->ignored, .ignored_from = file->ignored_from};
    dcsr_i_text_free(&file->text);
    return status;
}

void dcsr_input_close(dcsr_input *input)
{
    if (!input) return;
    dcsr_context *context = input->file.text.context;
    dcsr_i_batches_free(input);
    dcsr_i_textfile_close(&input->file);
    dcsr_i_free(context, DCSR_I_SCRATCH, input, input->bytes, 1);
}

dcsr_status dcsr_coo_read(dcsr_coo *coo, dcsr_context *context, const char *path,
                          const dcsr_read_options *options)
{
    dcsr_input *input;
    DCSR_TRY(check_place(coo));
    DCSR_TRY(dcsr_input_open(&input, context, path));
    dcsr_status status = dcsr_input_read(coo, input, options);
    dcsr_input_close(input);
    return status;
}
