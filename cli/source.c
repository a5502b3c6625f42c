/* source.c: turns a MATRIX argument into triples or a matrix: a file, a generator, a stored matrix. */
#include "cli/stored.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

typedef struct reading {
    cli_state *cli;
    const char *source;
} reading;

static void show_reading(void *user, uint64_t done, uint64_t total)
{
    reading *r = user;
    if (total) cli_progress(r->cli, "reading %s: %3.0f%%", r->source, 100.0 * (double)done / (double)total);
}

/* STORE#NAME[@VERSION], unless a file has that very name. */
static bool is_stored(const char *source)
{
    return strchr(source, '#') && access(source, F_OK);
}

/* ---- Triples ---- */

/* The type of triples that hold such values. */
static dcsr_type triple_type(dcsr_type type)
{
    if (type == DCSR_PATTERN) return DCSR_PATTERN;
    return type == DCSR_FP32 || type == DCSR_FP64 ? DCSR_FP64 : DCSR_INT64;
}

/* Value e as an int64, or as the double that triples of floating point have. False when it does not fit. */
static bool widen_value(void *to, const dcsr_coo *from, uint64_t e)
{
    int64_t *whole = (int64_t *)to + e;
    double *real = (double *)to + e;
    switch (from->type) {
    case DCSR_FP32:
        *real = (double)((const float *)from->values)[e];
        return true;
    case DCSR_FP64:
        *real = ((const double *)from->values)[e];
        return true;
#define WHOLE(NAME, ctype)                                  \
    case DCSR_##NAME:                                       \
        *whole = (int64_t)((const ctype *)from->values)[e]; \
        return DCSR_##NAME != DCSR_UINT64 || *whole >= 0;
        WHOLE(BOOL, bool)
        WHOLE(INT8, int8_t)
        WHOLE(INT16, int16_t)
        WHOLE(INT32, int32_t)
        WHOLE(INT64, int64_t)
        WHOLE(UINT8, uint8_t)
        WHOLE(UINT16, uint16_t)
        WHOLE(UINT32, uint32_t)
        WHOLE(UINT64, uint64_t)
#undef WHOLE
    default:
        return false;
    }
}

/* Gives the triples of a stored matrix one of the three types that those of files have. */
static int widen(cli_state *cli, dcsr_coo *coo, const char *source)
{
    dcsr_type type = triple_type(coo->type);
    dcsr_coo wide;
    if (type == coo->type) return CLI_DONE;
    if (dcsr_coo_allocate(&wide, cli->context, type, coo->rows, coo->cols, coo->nnz))
        return cli_fail_library(cli);
    bool fits = true;
    for (uint64_t e = 0; e < coo->nnz && fits; e++) {
        wide.row[e] = coo->row[e];
        wide.col[e] = coo->col[e];
        fits = widen_value(wide.values, coo, e);
    }
    dcsr_coo_free(fits ? coo : &wide);
    if (!fits) return cli_fail(cli, "%s: a value is beyond the largest int64", source);
    *coo = wide;
    return CLI_DONE;
}

static int load_stored_coo(cli_state *cli, dcsr_coo *coo, const char *source)
{
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    int status = cli_load_matrix(cli, &matrix, source, NULL);
    if (status) return status;
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0) || dcsr_view_to_coo(coo, view))
        status = cli_fail_library(cli);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    if (!status) status = widen(cli, coo, source);
    if (status) dcsr_coo_free(coo);
    return status;
}

int cli_load_coo(cli_state *cli, dcsr_coo *coo, const char *source, uint64_t rows, uint64_t cols)
{
    *coo = (dcsr_coo){0};
    if (is_stored(source)) return load_stored_coo(cli, coo, source);
    int refused = cli_stored_refuse_folder(cli, source);
    if (refused) return refused;
    cli_progress(cli, "loading %s", source);
    dcsr_status status = dcsr_generate(coo, cli->context, source);
    if (status == DCSR_ERROR_INVALID_ARGUMENT) return cli_usage(cli, "%s", dcsr_context_error(cli->context));
    if (status == DCSR_ERROR_NOT_FOUND) {
        reading user = {cli, source};
        dcsr_read_options options = {.rows = rows, .cols = cols, .progress = show_reading, .user = &user};
        status = dcsr_read_matrix(coo, cli->context, source, &options);
    }
    return status ? cli_fail_library(cli) : CLI_DONE;
}

/* ---- Matrices ---- */

static int restore(cli_state *cli, dcsr_matrix **matrix, const char *source)
{
    cli_stored stored;
    int status = cli_stored_parse(cli, &stored, source, CLI_STORE_NAME_VERSION);
    if (status) return status;
    cli_progress(cli, "restoring %s", source);
    return cli_stored_load(cli, &stored, matrix, NULL);
}

int cli_load_matrix(cli_state *cli, dcsr_matrix **matrix, const char *source, double *seconds)
{
    dcsr_coo coo = {0};
    double start = cli_now();
    int status;
    if (is_stored(source)) {
        status = restore(cli, matrix, source);
    } else {
        status = cli_load_coo(cli, &coo, source, 0, 0);
        if (status) return status;
        cli_progress(cli, "inserting %s", source);
        start = cli_now();
        if (dcsr_matrix_from_coo(matrix, cli->context, &coo, NULL)) status = cli_fail_library(cli);
    }
    if (seconds) *seconds = cli_now() - start;
    dcsr_coo_free(&coo);
    return status;
}

/* ---- Types ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcasecmp(text + length - part, end);
}

/* Fields of an edge list line: blanks, tabs and commas separate. */
static int count_fields(const char *line)
{
    int fields = 0;
    for (const char *c = line; *c;) {
        size_t gap = strspn(c, " \t\r\n,"), field = strcspn(c + gap, " \t\r\n,");
        if (!field) break;
        fields++;
        c += gap + field;
    }
    return fields;
}

/* A pattern, where there is nothing to look at; loading says why. */
static dcsr_type peek_file(const char *source)
{
    if (!strncmp(source, "poisson", strlen("poisson")) && access(source, F_OK)) return DCSR_FP64;
    gzFile file = gzopen(source, "rb"); /* reads plain files as they are */
    if (!file) return DCSR_PATTERN;
    bool market = ends_with(source, ".mtx") || ends_with(source, ".mtx.gz");
    dcsr_type type = DCSR_PATTERN;
    char line[4096];
    while (gzgets(file, line, sizeof line)) {
        for (char *c = line; *c; c++) *c = (char)tolower((unsigned char)*c);
        if (market) {
            if (strstr(line, " real")) type = DCSR_FP64;
            if (strstr(line, " integer")) type = DCSR_INT64;
            break;
        }
        int fields = *line == '#' || *line == '%' ? 0 : count_fields(line);
        if (!fields) continue;
        if (fields > 2) type = DCSR_FP64;
        break;
    }
    gzclose(file);
    return type;
}

int cli_peek_type(cli_state *cli, dcsr_type *type, const char *source)
{
    cli_stored stored;
    dcsr_version_info info;
    *type = DCSR_PATTERN;
    if (!is_stored(source)) {
        *type = peek_file(source);
        return CLI_DONE;
    }
    int status = cli_stored_parse(cli, &stored, source, CLI_STORE_NAME_VERSION);
    if (!status) status = cli_stored_find(cli, &stored, &info);
    if (!status) *type = triple_type(info.type);
    return status;
}
