/* cmd_row.c: `dcsr row`: the entries of one row. */
#include "cli/stored.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_LIMIT = 1 };

static struct {
    uint64_t limit;
} settings = {.limit = 1000};

static const struct argp_option options[] = {
    {"limit", KEY_LIMIT, "N", 0, "Print the first N entries (default 1000)", 0}, CLI_OP_OPTION, {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key == KEY_LIMIT) return cli_take_number(cli, "--limit", value, 0, DCSR_MAX_COLS, &settings.limit);
    return cli_op_take(cli, key, value);
}

/* A row, by ascending columns. */
typedef struct row {
    uint64_t number, length;
    dcsr_type type;
    uint32_t *cols;
    void *values;
} row;

static int read_row(cli_state *cli, row *r, dcsr_view *view)
{
    if (dcsr_view_get_row(view, r->number, 0, NULL, NULL, &r->length)) return cli_fail_library(cli);
    r->cols = malloc((r->length + 1) * sizeof *r->cols);
    r->values = malloc((r->length + 1) * sizeof(double));
    if (!r->cols || !r->values)
        return cli_fail(cli, "out of memory for a row of %" PRIu64 " entries", r->length);
    return dcsr_view_get_row(view, r->number, r->length, r->cols, r->type ? r->values : NULL, &r->length)
               ? cli_fail_library(cli)
               : CLI_DONE;
}

/* Value e, as text; in the report's object as a number. */
static void put_value(cli_report *report, const row *r, uint64_t e, char text[CLI_NUMBER])
{
    double real = 0;
    int64_t whole = 0;
    *text = 0;
    switch (r->type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                                        \
    case DCSR_##NAME:                                                                                      \
        real = (double)((const ctype *)r->values)[e];                                                      \
        whole = r->type == DCSR_FP32 || r->type == DCSR_FP64 ? 0 : (int64_t)((const ctype *)r->values)[e]; \
        break;
#include <dcsr/types.def>
#undef DCSR_X
    default: /* a pattern has no values */
        return;
    }
    if (r->type == DCSR_FP32 || r->type == DCSR_FP64) {
        snprintf(text, CLI_NUMBER, "%.9g", real);
        cli_put_real(report, "value", NULL, real, "");
    } else if (r->type == DCSR_UINT64) {
        snprintf(text, CLI_NUMBER, "%" PRIu64, (uint64_t)whole);
        cli_put_count(report, "value", NULL, (uint64_t)whole);
    } else {
        snprintf(text, CLI_NUMBER, "%" PRId64, whole);
        cli_put_integer(report, "value", whole);
    }
}

static void put_entry(cli_report *report, const row *r, uint64_t e, dcsr_names *names)
{
    char number[CLI_NUMBER], value[CLI_NUMBER];
    const uint64_t col = r->cols[e];
    dcsr_text name = {0};
    char *copy = NULL;
    cli_begin_item(report, "entries");
    cli_put_count(report, "col", NULL, col);
    if (names && !dcsr_names_get(names, 1, &col, &name)) copy = strndup(name.bytes, name.length);
    if (copy) cli_put_text(report, "name", NULL, copy);
    put_value(report, r, e, value);
    cli_end_item(report);
    snprintf(number, sizeof number, "%" PRIu64, col);
    cli_put_line(report, NULL, "%s%s%s", copy ? copy : number, *value ? "\t" : "", value);
    free(copy);
}

static int print(cli_state *cli, const row *r, dcsr_names *names)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "row", NULL, r->number);
    if (names) cli_put_text(&report, "name", NULL, cli->arguments[1]);
    cli_put_count(&report, "length", NULL, r->length);
    cli_put_list(&report, "entries");
    const uint64_t shown = r->length < settings.limit ? r->length : settings.limit;
    for (uint64_t e = 0; e < shown; e++) put_entry(&report, r, e, names);
    if (shown < r->length)
        cli_put_line(&report, NULL, "and %" PRIu64 " more; see --limit", r->length - shown);
    return cli_report_print(&report);
}

static int run_row(cli_state *cli)
{
    const char *source = cli->arguments[0];
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    dcsr_names *names = NULL;
    dcsr_view_info info;
    row r = {0};
    int status = cli_load_matrix(cli, &matrix, source, NULL);
    if (status) return status;
    status = cli_names_open(cli, source, &names);
    if (!status) status = cli_vertex_find(cli, names, "the row", cli->arguments[1], &r.number);
    if (!status && (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED) ||
                    dcsr_view_get_info(view, &info)))
        status = cli_fail_library(cli);
    if (!status && r.number >= info.rows)
        status = cli_fail(cli, "%s: it has %" PRIu64 " rows, counted from 0; there is no row %" PRIu64,
                          source, (uint64_t)info.rows, r.number);
    if (!status) {
        r.type = info.type;
        status = read_row(cli, &r, view);
    }
    if (!status) status = print(cli, &r, names);
    free(r.cols);
    free(r.values);
    dcsr_view_destroy(view);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_row_command = {
    .name = "row",
    .arguments = "MATRIX ROW",
    .summary = "Print the entries of a row",
    .help =
        "One entry a line: the column, and the value if there are values. Of a stored matrix whose vertices "
        "have names (dcsr ingest --names) the ROW is one, and columns are shown by theirs.\n\n"
        "Examples:\n  dcsr row rmat:16,16 17\n  dcsr row graphs#web@live example.org\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_row,
};
