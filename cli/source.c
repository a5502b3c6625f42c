/* source.c: turns a MATRIX argument into triples or a matrix: a file, a generator, a stored matrix; and what --rhs
 * names into a right side. */
#include "cli/stored.h"
#include <dcsr/apply.h>
#include <dcsr/extend.h>
#include <string.h>
#include <unistd.h>

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
        wide.row_indices[e] = coo->row_indices[e];
        wide.col_indices[e] = coo->col_indices[e];
        fits = widen_value(wide.values, coo, e);
    }
    dcsr_coo_free(fits ? coo : &wide);
    if (!fits) return cli_fail(cli, "%s: a value is beyond the largest int64", source);
    *coo = wide;
    return CLI_DONE;
}

static int restore(cli_state *cli, dcsr_matrix **matrix, const char *source)
{
    cli_stored stored;
    int status = cli_stored_parse(cli, &stored, source, CLI_STORE_NAME_VERSION);
    if (status) return status;
    cli_progress(cli, "restoring %s", source);
    return cli_stored_load(cli, &stored, matrix, NULL);
}

static int load_stored_coo(cli_state *cli, dcsr_coo *coo, const char *source)
{
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    int status = restore(cli, &matrix, source);
    if (status) return status;
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0) || dcsr_view_to_coo(coo, view))
        status = cli_fail_library(cli);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    if (!status) status = widen(cli, coo, source);
    if (status) dcsr_coo_free(coo);
    return status;
}

/* ---- Files ---- */

typedef struct reading {
    cli_state *cli;
    const char *source;
} reading;

static void show_reading(void *user, uint64_t done, uint64_t total)
{
    reading *r = user;
    char bytes[CLI_NUMBER];
    if (total)
        cli_progress(r->cli, "reading %s: %3.0f%%", r->source, 100.0 * (double)done / (double)total);
    else
        cli_progress(r->cli, "reading %s: %s", r->source, cli_bytes(bytes, done));
}

const char *cli_source_file(const char *name)
{
    return strcmp(name, "-") ? name : "/dev/stdin";
}

bool cli_source_is_file(const char *name)
{
    dcsr_type type;
    return !is_stored(name) && dcsr_generator_get_type(name, &type) == DCSR_ERROR_NOT_FOUND;
}

int cli_source_open(cli_state *cli, cli_source *source)
{
    const char *file = cli_source_file(source->name);
    if (source->input) return CLI_DONE;
    int refused = cli_stored_refuse_folder(cli, file);
    if (refused) return refused;
    return (source->lines ? dcsr_input_open_lines(&source->input, cli->context, file, source->lines)
                          : dcsr_input_open(&source->input, cli->context, file))
               ? cli_fail_library(cli)
               : CLI_DONE;
}

/* Opens it, unless it is open, reads it and closes it. */
static int read_file(cli_state *cli, cli_source *source, dcsr_coo *coo)
{
    reading user = {cli, source->name};
    dcsr_read_report report = {0};
    dcsr_read_options options = {.rows = source->rows,
                                 .cols = source->cols,
                                 .progress = show_reading,
                                 .user = &user,
                                 .whole_lines = true,
                                 .report = &report};
    int opened = cli_source_open(cli, source);
    if (opened) return opened;
    int status = dcsr_input_read(coo, source->input, &options) ? cli_fail_library(cli) : CLI_DONE;
    dcsr_input_close(source->input);
    source->input = NULL;
    if (!status && report.ignored_bytes)
        cli_warn(
            cli,
            "%s: %llu bytes behind the compressed data, from byte %llu on, were ignored: they are not gzip",
            source->name, (unsigned long long)report.ignored_bytes, (unsigned long long)report.ignored_from);
    return status;
}

/* ---- Sources ---- */

static int look_at_stored(cli_state *cli, dcsr_type *type, const char *name)
{
    cli_stored stored;
    dcsr_version_info info;
    int status = cli_stored_parse(cli, &stored, name, CLI_STORE_NAME_VERSION);
    if (!status) status = cli_stored_find(cli, &stored, &info);
    if (!status) *type = triple_type(info.type);
    return status;
}

int cli_source_look(cli_state *cli, cli_source *source, bool last, dcsr_type *type)
{
    bool stream;
    *type = DCSR_PATTERN;
    if (is_stored(source->name)) return look_at_stored(cli, type, source->name);
    if (!dcsr_generator_get_type(source->name, type)) return CLI_DONE;
    int status = cli_source_open(cli, source);
    if (status) return status;
    if (dcsr_input_look(source->input, NULL, &stream)) return cli_fail_library(cli);
    if (last || !stream) return dcsr_input_look(source->input, type, NULL) ? cli_fail_library(cli) : CLI_DONE;
    status = read_file(cli, source, &source->coo);
    source->loaded = !status;
    *type = source->coo.type;
    return status;
}

int cli_source_load(cli_state *cli, cli_source *source, dcsr_coo *coo)
{
    *coo = source->coo;
    source->coo = (dcsr_coo){0};
    if (source->loaded) return CLI_DONE;
    if (source->input) return read_file(cli, source, coo);
    if (is_stored(source->name)) return load_stored_coo(cli, coo, source->name);
    cli_progress(cli, "loading %s", source->name);
    dcsr_status status = dcsr_coo_generate(coo, cli->context, source->name);
    if (status == DCSR_ERROR_INVALID_ARGUMENT) return cli_usage(cli, "%s", dcsr_thread_error());
    if (status == DCSR_ERROR_NOT_FOUND) return read_file(cli, source, coo);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

void cli_source_close(cli_source *source)
{
    dcsr_input_close(source->input);
    dcsr_coo_free(&source->coo);
}

/* ---- Matrices ---- */

error_t cli_op_take(cli_state *cli, int key, const char *value)
{
    if (key != CLI_KEY_OP) return ARGP_ERR_UNKNOWN;
    cli->op = DCSR_POLICY_DEFAULT;
    do cli->op++;
    while (cli->op < DCSR_POLICY_COUNT && strcmp(value, dcsr_policy_name(cli->op)));
    return 0;
}

/* A stored matrix keeps the policy that it was made with. */
static int check_op(cli_state *cli, dcsr_matrix *matrix, const char *source)
{
    dcsr_matrix_info info;
    if (dcsr_matrix_get_info(matrix, &info)) return cli_fail_library(cli);
    if (!cli->op || info.policy == cli->op) return CLI_DONE;
    return cli_fail(cli, "--op %s: %s has been made with --op %s, and keeps that; leave --op out",
                    dcsr_policy_name(cli->op), source, dcsr_policy_name(info.policy));
}

/* Entries that stand behind an equal one in a matrix that keeps them. */
static dcsr_status count_repeated(dcsr_matrix *matrix, uint64_t *repeated)
{
    dcsr_view *view = NULL;
    dcsr_coo coo = {0};
    *repeated = 0;
    dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    if (!status) status = dcsr_view_to_coo(&coo, view);
    for (uint64_t e = 1; e < coo.nnz; e++)
        *repeated +=
            coo.row_indices[e] == coo.row_indices[e - 1] && coo.col_indices[e] == coo.col_indices[e - 1];
    dcsr_coo_free(&coo);
    dcsr_view_destroy(view);
    return status;
}

/* Counts what has become of `read` triples in a matrix that was empty; what a generator makes is as it should
 * be, and needs no word. */
static int tell_combined(cli_state *cli, dcsr_matrix *matrix, const char *source, uint64_t read)
{
    static const char *const done[] = {[DCSR_POLICY_SUM] = "values were added",
                                       [DCSR_POLICY_MIN] = "the least value stays",
                                       [DCSR_POLICY_MAX] = "the largest value stays",
                                       [DCSR_POLICY_LAST] = "the last value stays",
                                       [DCSR_POLICY_ANY] = "one of them stays"};
    dcsr_matrix_info info;
    dcsr_type made;
    uint64_t nnz, kept = 0;
    if (dcsr_matrix_get_info(matrix, &info) || dcsr_matrix_get_nnz(matrix, &nnz))
        return cli_fail_library(cli);
    cli->combined = read - nnz;
    if (!dcsr_generator_get_type(source, &made)) return CLI_DONE;
    if (info.policy == DCSR_POLICY_KEEP && count_repeated(matrix, &kept)) return cli_fail_library(cli);
    const unsigned long long all = read, number = kept ? kept : cli->combined;
    if (kept)
        cli_warn(
            cli,
            "%s: %llu of %llu entries repeat an earlier one; with --op keep they stand side by side, and nnz "
            "counts them",
            source, number, all);
    else if (number)
        cli_warn(cli,
                 "%s: %llu of %llu entries repeat an earlier one and were combined with it: %s (--op %s)",
                 source, number, all, info.type == DCSR_PATTERN ? "one of them stays" : done[info.policy],
                 dcsr_policy_name(info.policy));
    return CLI_DONE;
}

int cli_load_matrix(cli_state *cli, dcsr_matrix **matrix, const char *source, double *seconds)
{
    cli_source file = {.name = source};
    dcsr_coo coo = {0};
    double start = cli_now(), took;
    int status;
    *matrix = NULL;
    cli->loaded = true;
    cli->combined = 0;
    if (is_stored(source)) {
        status = restore(cli, matrix, source);
        took = cli_now() - start;
        if (!status) status = check_op(cli, *matrix, source);
    } else {
        dcsr_matrix_options options = {.policy = cli->op};
        status = cli_source_load(cli, &file, &coo);
        if (status) return status;
        cli_progress(cli, "inserting %s", source);
        start = cli_now();
        if (dcsr_matrix_from_coo(matrix, cli->context, &coo, &options)) status = cli_fail_library(cli);
        took = cli_now() - start;
        if (!status) status = tell_combined(cli, *matrix, source, coo.nnz);
    }
    if (seconds) *seconds = took;
    dcsr_coo_free(&coo);
    if (!status) return CLI_DONE;
    dcsr_matrix_destroy(*matrix);
    *matrix = NULL;
    return status;
}

/* ---- Right sides ---- */

int cli_rhs_make(cli_state *cli, dcsr_dense *b, const char *name, uint64_t rows)
{
    if (!strcmp(name, CLI_RHS_ONES)) {
        *b = (dcsr_dense){.rows = rows, .cols = 1, .context = cli->context};
        b->values = dcsr_context_allocate(cli->context, rows, sizeof *b->values);
        if (!b->values) return cli_fail_library(cli);
        for (uint64_t i = 0; i < rows; i++) b->values[i] = 1;
        return CLI_DONE;
    }
    if (dcsr_dense_read(b, cli->context, name)) return cli_fail_library(cli);
    if (b->rows == rows && b->cols) return CLI_DONE;
    return cli_fail(cli, "%s: b needs a column of %llu numbers, or more than one; this is %llu x %llu", name,
                    (unsigned long long)rows, (unsigned long long)b->rows, (unsigned long long)b->cols);
}

void cli_rhs_free(dcsr_dense *b, const char *name)
{
    if (!strcmp(name, CLI_RHS_ONES))
        dcsr_context_free(b->context, b->values, b->rows, sizeof *b->values);
    else
        dcsr_dense_free(b);
}

/* ---- A MATRIX on several devices: loaded as for one, on the cpu, and then shared out ---- */

int cli_parts_make(cli_state *cli, dcsr_multi_matrix **parts, dcsr_multi_view **view, dcsr_matrix **matrix,
                   unsigned flags)
{
    dcsr_view *whole = NULL;
    dcsr_matrix_info info;
    cli_progress(cli, "sharing it out to the devices");
    dcsr_status status = dcsr_matrix_get_info(*matrix, &info);
    if (!status) status = dcsr_view_create(&whole, *matrix, DCSR_LAYOUT_CSR, 0);
    if (!status)
        status = dcsr_multi_matrix_from_view(parts, cli->multi, whole,
                                             &(dcsr_matrix_options){.policy = info.policy});
    dcsr_view_destroy(whole);
    dcsr_matrix_destroy(*matrix);
    *matrix = NULL;
    if (!status) status = dcsr_multi_view_create(view, *parts, DCSR_LAYOUT_SEGMENTS, flags);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

void cli_put_parts(cli_report *report, const dcsr_multi_view_info *info)
{
    cli_put_line(report, "devices", "%llu: %s, the largest part %.3g times its share",
                 (unsigned long long)info->parts, report->cli->devices, info->balance);
    cli_put_count(report, "devices", NULL, info->parts);
    cli_put_real(report, "balance", NULL, info->balance, "");
}

static dcsr_status to_fp64(dcsr_matrix **matrix, const cli_state *cli)
{
    dcsr_matrix_info info;
    dcsr_matrix *real;
    dcsr_view *view = NULL;
    dcsr_status status = dcsr_matrix_get_info(*matrix, &info);
    if (status || info.type == DCSR_FP64) return status;
    status = dcsr_matrix_create(&real, cli->context, DCSR_FP64, info.rows, info.cols, NULL);
    if (status) return status;
    status = dcsr_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status)
        status =
            dcsr_matrix_apply(real, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view, NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(status ? real : *matrix);
    if (!status) *matrix = real;
    return status;
}

int cli_to_fp64(cli_state *cli, dcsr_matrix **matrix)
{
    return to_fp64(matrix, cli) ? cli_fail_library(cli) : CLI_DONE;
}

int cli_parts_refuse(cli_state *cli, const char *option)
{
    if (!cli->multi) return CLI_DONE;
    return cli_usage(cli, "%s: %s is there on one device alone; leave it out, or give --device %s",
                     cli->command->name, option, cli->device == DCSR_DEVICE_CUDA ? "cuda" : "cpu");
}
