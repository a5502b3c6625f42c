/* source.c: turns a MATRIX argument into triples or a matrix: a file, a generator, later a stored matrix. */
#include "cli/cli.h"
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

int cli_load_coo(cli_state *cli, dcsr_coo *coo, const char *source, uint64_t rows, uint64_t cols)
{
    *coo = (dcsr_coo){0};
    if (is_stored(source)) {
        return cli_fail(
            cli, "%s: stored matrices are not built into this version; name a file or a generator", source);
    }
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

int cli_load_matrix(cli_state *cli, dcsr_matrix **matrix, const char *source, double *seconds)
{
    dcsr_coo coo;
    int status = cli_load_coo(cli, &coo, source, 0, 0);
    if (status) return status;
    cli_progress(cli, "inserting %s", source);
    double start = cli_now();
    if (dcsr_matrix_from_coo(matrix, cli->context, &coo, NULL)) status = cli_fail_library(cli);
    if (seconds) *seconds = cli_now() - start;
    dcsr_coo_free(&coo);
    return status;
}

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

dcsr_type cli_peek_type(const char *source)
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
