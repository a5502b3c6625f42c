/* writer.c: sparse and dense matrices to files.
 *
 * Numbers are printed so that reading gives the same bits: integers in full, others with 17 significant
 * digits. */
#include "dcsr/io/coo_build.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include "dcsr/io/out_file.h"
#include "dcsr/io/parse.h"
#include "dcsr/base/runtime.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- Numbers --------------------------------------------------------------------------------------------- */

static char *print_unsigned(char *to, uint64_t number)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count) *to++ = digits[--count];
    return to;
}

static char *print_signed(char *to, int64_t number)
{
    if (number >= 0) return print_unsigned(to, (uint64_t)number);
    *to++ = '-';
    return print_unsigned(to, 0 - (uint64_t)number);
}

/* printf()'s %.17g, with a point whatever the locale has instead. */
static char *print_double(char *to, double number)
{
    const double exact = 1e15; /* integers below are printed by %.17g as such, without an exponent */
    if (fabs(number) < exact && number == (double)(int64_t)number) {
        if (signbit(number) && number == 0) *to++ = '-';
        return print_signed(to, (int64_t)number);
    }
    if (isnan(number) || isinf(number)) {
        if (signbit(number)) *to++ = '-';
        return stpcpy(to, isnan(number) ? "nan" : "inf");
    }
    char text[64];
    snprintf(text, sizeof text, "%.17g", number);
    for (const char *p = text; *p; p++) {
        if (dcsr_i_is_digit(*p) || *p == '-' || *p == '+' || *p == 'e')
            *to++ = *p;
        else if (to[-1] != '.') /* of a point of several bytes only the first counts */
            *to++ = '.';
    }
    return to;
}

/* -- Values ---------------------------------------------------------------------------------------------- */

typedef char *value_printer(char *to, const void *values, uint64_t i);

#define PRINT(value)                 \
    _Generic((value), float          \
             : print_double, double  \
             : print_double, int8_t  \
             : print_signed, int16_t \
             : print_signed, int32_t \
             : print_signed, int64_t \
             : print_signed, default \
             : print_unsigned)

#define DCSR_X(NAME, name, ctype, minimum, maximum)                     \
    static char *print_##name(char *to, const void *values, uint64_t i) \
    {                                                                   \
        ctype value = ((const ctype *)values)[i];                       \
        return PRINT(value)(to, value);                                 \
    }
#include <dcsr/types.def>
#undef DCSR_X

static value_printer *const value_printers[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = print_##name,
#include <dcsr/types.def>
#undef DCSR_X
};

/* -- Matrices -------------------------------------------------------------------------------------------- */

static bool is_floating(dcsr_type type)
{
    return type == DCSR_FP32 || type == DCSR_FP64;
}

/* What could be written but not be read again. */
static dcsr_status check_entries(const dcsr_coo *coo, const char *path)
{
    for (uint64_t i = 0; i < coo->nnz; i++)
        if (coo->row_indices[i] >= coo->rows || coo->col_indices[i] >= coo->cols)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                               "%s: entry number %" PRIu64 " is (%" PRIu64 ", %" PRIu64
                               "), outside the matrix of %" PRIu64 " x %" PRIu64,
                               path, i, coo->row_indices[i], coo->col_indices[i], coo->rows, coo->cols);
    const uint64_t *large = coo->type == DCSR_UINT64 ? coo->values : NULL;
    for (uint64_t i = 0; large && i < coo->nnz; i++)
        if (large[i] > INT64_MAX)
            return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                               "%s: value %" PRIu64 " of entry number %" PRIu64
                               " is beyond the 64-bit integers that can be "
                               "read again",
                               path, large[i], i);
    return DCSR_OK;
}

/* Of a symmetric matrix, what is on the diagonal and below. */
static bool is_listed(const dcsr_coo *coo, uint64_t i, bool lower)
{
    return !lower || coo->row_indices[i] >= coo->col_indices[i];
}

static void write_mtx_head(dcsr_i_output *out, const dcsr_coo *coo, bool lower)
{
    uint64_t listed = 0;
    for (uint64_t i = 0; i < coo->nnz; i++) listed += is_listed(coo, i, lower);
    const char *field = coo->type == DCSR_PATTERN ? "pattern" : is_floating(coo->type) ? "real" : "integer";
    char *to = dcsr_i_output_room(out);
    to += sprintf(to, "%%%%MatrixMarket matrix coordinate %s %s\n%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                  field, lower ? "symmetric" : "general", coo->rows, coo->cols, listed);
    dcsr_i_output_take(out, to);
}

/* The value, if there is one, and the end of the line. */
static char *print_rest(char *to, const dcsr_coo *coo, char separator, uint64_t i)
{
    value_printer *print_value = value_printers[coo->type];
    if (print_value) {
        *to++ = separator;
        to = print_value(to, coo->values, i);
    }
    *to++ = '\n';
    return to;
}

static void write_entries(dcsr_i_output *out, const dcsr_coo *coo, uint64_t base, char separator, bool lower)
{
    for (uint64_t i = 0; i < coo->nnz; i++) {
        if (!is_listed(coo, i, lower)) continue;
        char *to = dcsr_i_output_room(out);
        to = print_unsigned(to, coo->row_indices[i] + base);
        *to++ = separator;
        to = print_unsigned(to, coo->col_indices[i] + base);
        dcsr_i_output_take(out, print_rest(to, coo, separator, i));
    }
}

/* A name as dcsr_input_open_lines() reads it: in quotes where it would not be one field, or a comment; in facts, which
 * have no quotes, as it is. */
static dcsr_status write_name(dcsr_i_output *out, dcsr_names *names, uint64_t vertex, bool facts)
{
    dcsr_text name;
    DCSR_TRY(dcsr_names_get(names, 1, &vertex, &name));
    bool quoted = *name.bytes == '#' || *name.bytes == '%';
    for (size_t i = 0; i < name.length; i++) {
        const unsigned char c = (unsigned char)name.bytes[i];
        if (c == '\n' || (c == '\t' && facts))
            return dcsr_i_fail(DCSR_ERROR_FORMAT,
                               "%s: the name of vertex %" PRIu64
                               " holds %s, which no %s of a file can; write numbers%s",
                               out->path, vertex, c == '\n' ? "the end of a line" : "a tab",
                               c == '\n' ? "line" : "symbol", c == '\n' ? "" : ", or .tsv");
        quoted |= c <= ' ' || c == ',' || c == '"';
    }
    if (!quoted || facts) {
        dcsr_i_output_put(out, name.bytes, name.length);
        return DCSR_OK;
    }
    dcsr_i_output_put(out, "\"", 1);
    for (size_t begin = 0, i = 0; i <= name.length; i++) {
        const bool quote = i < name.length && name.bytes[i] == '"';
        if (i < name.length && !quote) continue;
        dcsr_i_output_put(out, name.bytes + begin, i + quote - begin); /* a quote is written twice */
        begin = i;
    }
    dcsr_i_output_put(out, "\"", 1);
    return DCSR_OK;
}

static void write_named_entries(dcsr_i_output *out, const dcsr_coo *coo, dcsr_names *names, char separator,
                                bool facts)
{
    for (uint64_t i = 0; i < coo->nnz && !out->status; i++) {
        dcsr_status status = write_name(out, names, coo->row_indices[i], facts);
        dcsr_i_output_put(out, &separator, 1);
        if (!status) status = write_name(out, names, coo->col_indices[i], facts);
        dcsr_i_output_take(out, print_rest(dcsr_i_output_room(out), coo, separator, i));
        if (!out->status) out->status = status;
    }
}

static char separator_of(const char *path)
{
    size_t length = strlen(path), suffix = strlen(".gz");
    if (length > suffix && dcsr_i_same_letters(path + length - suffix, ".gz", suffix)) length -= suffix;
    suffix = strlen(".csv");
    return length > suffix && dcsr_i_same_letters(path + length - suffix, ".csv", suffix) ? ',' : '\t';
}

static dcsr_status check_call(const dcsr_coo *coo, const char *path)
{
    DCSR_TRY(dcsr_i_coo_check(coo));
    DCSR_TRY(dcsr_i_context_check(coo->context));
    if (!path) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_coo_write: path is NULL");
    return DCSR_OK;
}

/* `symmetric` is NULL where a symmetric matrix is to be written as any other, `names` where vertices are numbers. */
static dcsr_status write_matrix(const dcsr_coo *coo, const char *path, dcsr_names *names, bool *symmetric)
{
    bool lower = false;
    dcsr_i_packing packing;
    dcsr_i_format format = dcsr_i_format_of(path, &packing);
    if (format == DCSR_I_UNKNOWN) {
        if (!dcsr_i_is_stream(path)) return dcsr_i_unknown_format(path);
        format = names ? DCSR_I_EDGE_LIST : DCSR_I_MATRIX_MARKET;
    }
    if (format == DCSR_I_RELATION && coo->type != DCSR_PATTERN)
        return dcsr_i_fail(
            DCSR_ERROR_FORMAT,
            "%s: a relation has no place for the values of the matrix, which are %s; write .el or .tsv", path,
            dcsr_type_name(coo->type));
    if (names && format != DCSR_I_EDGE_LIST && format != DCSR_I_RELATION)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s: only an edge list has names; write .el, .tsv, .csv or .facts", path);
    DCSR_TRY(check_entries(coo, path));

    dcsr_i_output out;
    if (symmetric && format == DCSR_I_MATRIX_MARKET) DCSR_TRY(dcsr_i_coo_is_symmetric(coo, &lower));
    if (symmetric) *symmetric = lower;
    DCSR_TRY(dcsr_i_output_open(&out, coo->context, path));
    if (format == DCSR_I_MATRIX_MARKET) {
        write_mtx_head(&out, coo, lower);
        write_entries(&out, coo, 1, ' ', lower);
    } else if (names) {
        write_named_entries(&out, coo, names, separator_of(path), format == DCSR_I_RELATION);
    } else {
        write_entries(&out, coo, 0, separator_of(path), false);
    }
    return dcsr_i_output_close(&out);
}

dcsr_status dcsr_coo_write(const dcsr_coo *coo, const char *path)
{
    DCSR_TRY(check_call(coo, path));
    return write_matrix(coo, path, NULL, NULL);
}

dcsr_status dcsr_coo_write_symmetric(const dcsr_coo *coo, const char *path, bool *symmetric)
{
    bool unused;
    DCSR_TRY(check_call(coo, path));
    return write_matrix(coo, path, NULL, symmetric ? symmetric : &unused);
}

dcsr_status dcsr_coo_write_named(const dcsr_coo *coo, dcsr_names *names, const char *path)
{
    DCSR_TRY(check_call(coo, path));
    if (!names) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_coo_write_named: names is NULL");
    return write_matrix(coo, path, names, NULL);
}

/* -- Dense matrices -------------------------------------------------------------------------------------- */

static dcsr_status check_dense(const dcsr_dense *dense, const char *path, uint64_t *elements)
{
    if (!dense || !path)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_dense_write: %s is NULL",
                           dense ? "path" : "dense");
    DCSR_TRY(dcsr_i_context_check(dense->context));
    if (__builtin_mul_overflow(dense->rows, dense->cols, elements))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "dcsr_dense_write: %llu x %llu elements are too many",
                           (unsigned long long)dense->rows, (unsigned long long)dense->cols);
    if (*elements && !dense->values)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_dense_write: values is NULL");
    return DCSR_OK;
}

dcsr_status dcsr_dense_write(const dcsr_dense *dense, const char *path)
{
    uint64_t elements = 0;
    dcsr_i_packing packing;
    DCSR_TRY(check_dense(dense, path, &elements));
    if (dcsr_i_format_of(path, &packing) != DCSR_I_MATRIX_MARKET)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s: a dense matrix is written to a name that ends in .mtx or .mtx.gz", path);
    dcsr_i_output out;
    DCSR_TRY(dcsr_i_output_open(&out, dense->context, path));
    char *to = dcsr_i_output_room(&out);
    to += sprintf(to, "%%%%MatrixMarket matrix array real general\n%" PRIu64 " %" PRIu64 "\n", dense->rows,
                  dense->cols);
    dcsr_i_output_take(&out, to);
    for (uint64_t i = 0; i < elements; i++) {
        to = print_double(dcsr_i_output_room(&out), dense->values[i]);
        *to++ = '\n';
        dcsr_i_output_take(&out, to);
    }
    return dcsr_i_output_close(&out);
}

/* -- Others ---------------------------------------------------------------------------------------------- */

dcsr_status dcsr_file_write(dcsr_context *context, const char *path, const void *bytes, size_t length)
{
    DCSR_TRY(dcsr_i_context_check(context));
    if (!path || (length && !bytes))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_file_write: %s is NULL",
                           path ? "bytes" : "path");
    dcsr_i_output out;
    DCSR_TRY(dcsr_i_output_open(&out, context, path));
    dcsr_i_output_put(&out, bytes, length);
    return dcsr_i_output_close(&out);
}
