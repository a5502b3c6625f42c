/* describe.c: what the lines of an input are, as its caller describes them. */
#include "dcsr/io/input.h"
#include "dcsr/base/error.h"
#include "dcsr/io/parse.h"
#include <string.h>

static dcsr_status give_role(dcsr_input *input, uint32_t column, dcsr_i_role role, const char *what)
{
    dcsr_i_fields *fields = &input->fields;
    if (column > DCSR_I_MOST_COLUMN || column == 0)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: column %u for the %s; columns are 1 to %d",
                           input->name, (unsigned)column, what, DCSR_I_MOST_COLUMN);
    if (fields->role[column])
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: column %u is to be two things, one of them the %s", input->name,
                           (unsigned)column, what);
    fields->role[column] = (uint8_t)role;
    if (column > fields->last) fields->last = column;
    return DCSR_OK;
}

static dcsr_status take_columns(dcsr_input *input)
{
    const dcsr_line_format *format = &input->format;
    const bool none = !format->row && !format->col;
    input->automatic = none && !format->value && !format->time;
    DCSR_TRY(give_role(input, none ? 1 : format->row, DCSR_I_ROW, "row"));
    DCSR_TRY(give_role(input, none ? 2 : format->col, DCSR_I_COLUMN, "column"));
    if (format->value) DCSR_TRY(give_role(input, format->value, DCSR_I_VALUE, "value"));
    if (format->time) DCSR_TRY(give_role(input, format->time, DCSR_I_TIME, "time"));
    input->fields.strict = input->automatic;
    input->fields.named = format->number;
    input->fields.timed = format->time;
    return DCSR_OK;
}

/* Relations of names are as Souffle has them: tabs separate, and all between two of them is a name. */
static bool is_of_symbols(const dcsr_input *input)
{
    dcsr_i_packing packing;
    return !input->format.separator && input->format.number &&
           dcsr_i_format_of(input->name, &packing) == DCSR_I_RELATION;
}

dcsr_status dcsr_i_input_describe(dcsr_input *input, const dcsr_line_format *format)
{
    const char c = format->separator;
    input->described = true;
    input->format = *format;
    input->batches.header = format->header;
    input->file.follow = format->follow;
    if (c == '"' || c == '\n' || c == '\r' || c == '#' || c == '.' || c == '-' || dcsr_i_is_digit(c))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: '%c' cannot separate columns, as it stands within them", input->name,
                           c > ' ' ? c : '?');
    if (format->follow && input->file.stream)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: only a file can be followed; a stream is read until its writers end it",
                           input->name);
    DCSR_TRY(take_columns(input));
    input->fields.verbatim = is_of_symbols(input);
    input->fields.separator = input->fields.verbatim ? '\t' : format->separator;
    input->plain = input->automatic && !input->fields.separator && !format->number;
    return DCSR_OK;
}

/* Behind the lines of a header that is still to come; NULL where there are not enough. */
static const char *behind_header(const dcsr_input *input, const char *text, const char *end)
{
    for (uint64_t line = 0; line < input->batches.header; line++) {
        if (text == end) return NULL;
        text = (const char *)rawmemchr(text, '\n') + 1;
    }
    return text;
}

/* As dcsr_i_edge_values(). */
static int count_values(const dcsr_input *input, const char *text, const char *end)
{
    const dcsr_i_lines lines = {.text = text, .end = end, .edges = true, .fields = &input->fields};
    const char *first = dcsr_i_first_entry(&lines);
    return first ? dcsr_i_fields_count(&input->fields, first) > 2 : -1;
}

bool dcsr_i_input_type(dcsr_type *type, const dcsr_input *input, const char *text, const char *end)
{
    *type = input->format.value ? DCSR_FP64 : DCSR_PATTERN;
    if (!input->plain && !input->automatic) return true;
    text = behind_header(input, text, end);
    if (!text) return false;
    const int values = input->plain ? dcsr_i_edge_values(text, end) : count_values(input, text, end);
    if (values > 0) *type = DCSR_FP64;
    return values >= 0;
}
