/* reader.c: which reader a file is for. */
#include "dcsr/reader.h"
#include "dcsr/error.h"
#include "dcsr/fileformat.h"
#include "dcsr/parse.h"
#include "dcsr/runtime.h"
#include "dcsr/textfile.h"
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

dcsr_i_format dcsr_i_format_of(const char *path, bool *compressed)
{
    static const struct {
        const char *suffix;
        dcsr_i_format format;
    } known[] = {{".mtx", DCSR_I_MATRIX_MARKET}, {".el", DCSR_I_EDGE_LIST},    {".tsv", DCSR_I_EDGE_LIST},
                 {".csv", DCSR_I_EDGE_LIST},     {".facts", DCSR_I_EDGE_LIST}, {".txt", DCSR_I_PLAIN_TEXT}};
    size_t length = strlen(path);
    *compressed = strip_suffix(path, &length, ".gz");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strip_suffix(path, &length, known[i].suffix)) return known[i].format;
    return DCSR_I_UNKNOWN;
}

dcsr_status dcsr_i_unknown_format(const char *path)
{
    return dcsr_i_fail(
        DCSR_ERROR_FORMAT,
        "%s: the name says no format that is known; it must end in .mtx, .el, .tsv, .csv, .txt or .facts, "
        "or in one of them and .gz",
        path);
}

static dcsr_status read_text(dcsr_coo *coo, const dcsr_i_text *text, const char *name,
                             const dcsr_read_options *options)
{
    bool compressed;
    dcsr_i_input input = {text->context, name, text->data, text->data + text->length};
    if (dcsr_i_format_of(name, &compressed) == DCSR_I_MATRIX_MARKET) return dcsr_i_read_mtx(coo, &input);
    return dcsr_i_read_edges(coo, &input, options);
}

/* What both ways in have in common; *coo is all zero afterwards. */
static dcsr_status check_arguments(dcsr_coo *coo, dcsr_context *context, const char *name)
{
    if (!coo) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "coo is NULL; give the triples a place");
    memset(coo, 0, sizeof *coo);
    DCSR_TRY(dcsr_i_context_check(context));
    if (!name) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the name of the file to be read is NULL");
    bool compressed;
    return dcsr_i_format_of(name, &compressed) == DCSR_I_UNKNOWN ? dcsr_i_unknown_format(name) : DCSR_OK;
}

dcsr_status dcsr_read_matrix(dcsr_coo *coo, dcsr_context *context, const char *path,
                             const dcsr_read_options *options)
{
    DCSR_TRY(check_arguments(coo, context, path));
    dcsr_i_text text;
    DCSR_TRY(dcsr_i_text_load(&text, context, path, options));
    dcsr_status status = read_text(coo, &text, path, options);
    dcsr_i_text_free(&text);
    return status;
}

dcsr_status dcsr_read_matrix_buffer(dcsr_coo *coo, dcsr_context *context, const char *name, const char *text,
                                    size_t length, const dcsr_read_options *options)
{
    DCSR_TRY(check_arguments(coo, context, name));
    if (!text && length) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the text is NULL", name);
    if (dcsr_i_is_gzip(text, length))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: the text is compressed; inflate it first", name);
    bool whole = !length || text[length - 1] == '\n';
    dcsr_i_text lines = {.context = context, .data = (char *)(uintptr_t)text, .length = length};
    if (!whole) DCSR_TRY(dcsr_i_text_copy(&lines, context, text, length));
    dcsr_status status = read_text(coo, &lines, name, options);
    if (!whole) dcsr_i_text_free(&lines);
    return status;
}
