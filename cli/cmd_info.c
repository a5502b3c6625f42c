/* cmd_info.c: `dcsr info`: a matrix in figures, and what it is on; without one, that alone. */
#include "cli/stored.h"
#include <dcsr/features.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_FEATURES = 1, KEY_EXACT };

static struct {
    bool features, exact;
} settings;

static const struct argp_option options[] = {
    {"features", KEY_FEATURES, NULL, 0,
     "Also what models choose kernels by: the shape of the matrix in some numbers", 0},
    {"exact", KEY_EXACT, NULL, 0, "These from all entries, not from some thousand rows", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_EXACT:
        settings.exact = true; /* fall through */
    case KEY_FEATURES:
        settings.features = true;
        return 0;
    default:
        return cli_op_take(cli, key, value);
    }
}

/* One for each device. */
typedef struct parts {
    dcsr_multi_info devices;
    dcsr_multi_matrix_info info;
    dcsr_multi_view_info live;
    dcsr_view_info part[DCSR_MAX_DEVICES];
} parts;

static const char *device_text(dcsr_device device)
{
    return device == DCSR_DEVICE_CUDA ? "cuda" : "cpu";
}

static void put_matrix(cli_report *report, const dcsr_matrix_info *info, const dcsr_view_info *live)
{
    char rows[CLI_NUMBER], cols[CLI_NUMBER];
    cli_put_line(report, "size", "%s x %s, %s", cli_grouped(rows, live->rows), cli_grouped(cols, live->cols),
                 dcsr_type_name(info->type));
    cli_put_count(report, "rows", NULL, live->rows);
    cli_put_count(report, "cols", NULL, live->cols);
    cli_put_text(report, "type", NULL, dcsr_type_name(info->type));
    cli_put_text(report, "op", NULL, dcsr_policy_name(info->policy));
    cli_put_count(report, "nnz", "nonzeros", live->nnz);
    cli_put_count(report, "max_row", "longest row", live->max_row);
    cli_put_real(report, "mean_row", "mean row", live->mean_row, "");
    cli_put_real(report, "row_std", "row deviation", live->row_std, "");
    cli_put_count(report, "stored", "stored entries", info->stored);
    cli_put_count(report, "unresolved_rows", "unresolved rows", info->unresolved_rows);
    cli_put_count(report, "segments", "segments", info->segments);
    cli_put_count(report, "max_segments", NULL, info->max_segments);
    cli_put_count(report, "arena_entries", NULL, info->arena_entries);
    cli_put_real(report, "slack", "slack", info->slack, "");
    cli_put_bytes(report, "bytes", "memory", info->bytes);
    cli_put_real(report, "bytes_per_nnz", "bytes a nonzero",
                 live->nnz ? (double)info->bytes / (double)live->nnz : NAN, "");
}

/* The features by name, and what they were read from. */
static void put_features(cli_report *report, const dcsr_features *features)
{
    cli_begin_object(report, "features");
    cli_put_line(report, "features", features->exact ? "of all entries" : "of %llu rows, %llu entries",
                 (unsigned long long)features->rows_read, (unsigned long long)features->entries_read);
    for (uint64_t i = 0; dcsr_feature_at(i); i++) {
        char label[CLI_NUMBER];
        snprintf(label, sizeof label, "  %s", dcsr_feature_at(i)->name);
        cli_put_real(report, dcsr_feature_at(i)->name, label, dcsr_feature_value(features, i), "");
    }
    cli_put_count(report, "rows_read", NULL, features->rows_read);
    cli_put_count(report, "entries_read", NULL, features->entries_read);
    cli_end_item(report);
}

static void put_device(cli_report *report, const dcsr_context_info *context)
{
    const char *device = device_text(context->device);
    bool named = strcmp(device, context->device_name), cuda = context->device == DCSR_DEVICE_CUDA;
    cli_put_line(report, "device", "%s%s%s, %d threads", device, named ? ": " : "",
                 named ? context->device_name : "", context->threads);
    cli_put_text(report, "device", NULL, device);
    cli_put_text(report, "device_name", NULL, context->device_name);
    cli_put_count(report, "threads", NULL, (uint64_t)context->threads);
    cli_put_bytes(report, "device_memory", cuda ? "  its memory" : NULL, context->device_memory);
    cli_put_bytes(report, "device_free", cuda ? "  free of it" : NULL, context->device_free);
    int driver = context->driver_version, runtime = context->runtime_version;
    if (cuda) {
        cli_put_line(report, "  CUDA", "%d.%d in the driver, %d.%d in dcsr", driver / 1000,
                     driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    cli_put_integer(report, "driver", driver);
    cli_put_integer(report, "runtime", runtime);
    cli_put_text(report, "built_for", "built for", context->built_for);
    cli_put_model(report);
}

/* ---- Several devices ---- */

/* What the parts show, as one view. */
static dcsr_view_info sum_up(const parts *p)
{
    dcsr_view_info whole = {.rows = p->live.rows, .cols = p->live.cols, .nnz = p->live.nnz};
    double squares = 0;
    for (uint64_t k = 0; k < p->live.parts; k++) {
        const dcsr_view_info *part = &p->part[k];
        if (part->max_row > whole.max_row) whole.max_row = part->max_row;
        squares += (double)part->rows * (part->row_std * part->row_std + part->mean_row * part->mean_row);
    }
    if (!whole.rows) return whole;
    whole.mean_row = (double)whole.nnz / (double)whole.rows;
    const double variance = squares / (double)whole.rows - whole.mean_row * whole.mean_row;
    whole.row_std = variance > 0 ? sqrt(variance) : 0;
    return whole;
}

/* "0-3, 5": which devices this one reaches without the host, itself left out. */
static void list_peers(char *text, size_t room, const dcsr_multi_info *devices, uint64_t k)
{
    size_t length = 0;
    *text = '\0';
    for (uint64_t j = 0; j < devices->devices && length < room; j++)
        if (j != k && devices->peers[k] >> j & 1)
            length += (size_t)snprintf(text + length, room - length, "%s%llu", length ? ", " : "",
                                       (unsigned long long)j);
}

static void put_part_device(cli_report *report, const parts *p, uint64_t k, const dcsr_context_info *context)
{
    char peers[4 * DCSR_MAX_DEVICES], name[CLI_NUMBER], label[CLI_NUMBER];
    list_peers(peers, sizeof peers, &p->devices, k);
    snprintf(label, sizeof label, "device %llu", (unsigned long long)k);
    snprintf(name, sizeof name, "cpu, %d threads", context->threads);
    if (context->device == DCSR_DEVICE_CUDA) {
        snprintf(name, sizeof name, "cuda:%d", context->device_number);
        cli_put_line(report, label, "%s: %s, reaches %s%s%s", name, context->device_name,
                     *peers ? "the memory of " : "", *peers ? peers : "others",
                     *peers ? "" : " by way of the host");
    } else {
        cli_put_line(report, label, "%s", name);
    }
    cli_put_text(report, "device", NULL, device_text(context->device));
    cli_put_text(report, "device_name", NULL, context->device_name);
    cli_put_integer(report, "device_number", context->device_number);
    cli_put_count(report, "threads", NULL, (uint64_t)context->threads);
    cli_put_bytes(report, "device_memory", NULL, context->device_memory);
    cli_put_bytes(report, "device_free", NULL, context->device_free);
    cli_put_bytes(report, "matrix_bytes", NULL, context->matrix_bytes);
    cli_put_bytes(report, "peak_bytes", NULL, context->peak_bytes);
    cli_put_numbers(report, "peers", p->devices.peers[k] & ~((uint64_t)1 << k));
}

/* The devices, and what each has of the matrix, if there is one. */
static int put_parts(cli_report *report, const parts *p, bool matrix)
{
    char rows[CLI_NUMBER], entries[CLI_NUMBER];
    cli_put_list(report, "parts");
    for (uint64_t k = 0; k < p->devices.devices; k++) {
        dcsr_context_info context;
        if (dcsr_context_get_info(p->devices.context[k], &context)) return cli_fail_library(report->cli);
        cli_begin_item(report, "parts");
        put_part_device(report, p, k, &context);
        if (matrix) {
            const uint64_t first = p->live.border[k], count = p->live.border[k + 1] - first;
            cli_put_line(report, "  its part", "%s rows from %llu on, %s nonzeros", cli_grouped(rows, count),
                         (unsigned long long)first, cli_grouped(entries, p->live.nnz_of[k]));
            cli_put_count(report, "first_row", NULL, first);
            cli_put_count(report, "rows", NULL, count);
            cli_put_count(report, "nnz", NULL, p->live.nnz_of[k]);
            cli_put_count(report, "stored", NULL, p->info.stored[k]);
        }
        cli_end_item(report);
    }
    return CLI_DONE;
}

static void put_memory(cli_report *report, const dcsr_context_info *context)
{
    cli_put_text(report, "allocator", "allocator", context->allocator);
    cli_put_bytes(report, "allocator_active", "  active", context->allocator_active);
    cli_put_bytes(report, "allocator_resident", "  resident", context->allocator_resident);
    cli_put_bytes(report, "matrix_bytes", NULL, context->matrix_bytes);
    cli_put_bytes(report, "scratch_bytes", NULL, context->scratch_bytes);
    cli_put_bytes(report, "peak_bytes", "peak memory", context->peak_bytes);
}

static void put_nccl(cli_report *report, int version)
{
    if (version)
        cli_put_line(report, "NCCL", "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    cli_put_integer(report, "nccl", version);
}

static int show_devices(cli_state *cli)
{
    parts p = {0};
    cli_report report;
    if (dcsr_multi_get_info(cli->multi, &p.devices)) return cli_fail_library(cli);
    cli_report_begin(&report, cli);
    cli_put_text(&report, "version", "version", dcsr_version());
    cli_put_text(&report, "device", NULL, device_text(p.devices.device));
    cli_put_count(&report, "devices", "devices", p.devices.devices);
    put_nccl(&report, p.devices.nccl);
    const int status = put_parts(&report, &p, false);
    return status ? cli_report_drop(&report, status) : cli_report_print(&report);
}

static dcsr_status ask_parts(parts *p, cli_state *cli, dcsr_multi_matrix *matrix, dcsr_multi_view *view)
{
    dcsr_status status = dcsr_multi_get_info(cli->multi, &p->devices);
    if (!status) status = dcsr_multi_matrix_get_info(matrix, &p->info);
    if (!status) status = dcsr_multi_view_get_info(view, &p->live);
    for (uint64_t k = 0; k < p->live.parts && !status; k++) {
        dcsr_view *part;
        status = dcsr_multi_view_get_part(view, k, &part);
        if (!status) status = dcsr_view_get_info(part, &p->part[k]);
    }
    return status;
}

static int print_parts(cli_state *cli, const parts *p, uint64_t names, double seconds)
{
    cli_report report;
    const dcsr_view_info live = sum_up(p);
    cli_report_begin(&report, cli);
    put_matrix(&report, &p->info.whole, &live);
    cli_put_count(&report, "names", names ? "names" : NULL, names);
    cli_put_seconds(&report, "insert_seconds", "inserted in", seconds);
    cli_put_text(&report, "device", NULL, device_text(p->devices.device));
    cli_put_parts(&report, &p->live);
    const int status = put_parts(&report, p, true);
    return status ? cli_report_drop(&report, status) : cli_report_print(&report);
}

/* `seconds` is what inserting has taken before; *matrix is destroyed. */
static int show_parts(cli_state *cli, dcsr_matrix **matrix, uint64_t names, double seconds)
{
    dcsr_multi_matrix *made = NULL;
    dcsr_multi_view *view = NULL;
    parts *p = calloc(1, sizeof *p);
    const double start = cli_now();
    int status =
        p ? cli_parts_make(cli, &made, &view, matrix, 0) : cli_fail(cli, "out of memory to begin with");
    seconds += cli_now() - start;
    if (!status && ask_parts(p, cli, made, view)) status = cli_fail_library(cli);
    if (!status) status = print_parts(cli, p, names, seconds);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(made);
    free(p);
    return status;
}

/* ---- One device ---- */

static int show_context(cli_state *cli)
{
    dcsr_context_info context;
    if (dcsr_context_get_info(cli->context, &context)) return cli_fail_library(cli);
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "version", "version", dcsr_version());
    put_device(&report, &context);
    put_memory(&report, &context);
    return cli_report_print(&report);
}

/* How many vertices of the MATRIX have names. */
static int count_names(cli_state *cli, uint64_t *count)
{
    dcsr_names *names;
    int status = cli_names_open(cli, cli->arguments[0], &names);
    *count = 0;
    if (names && dcsr_names_get_count(names, count)) status = cli_fail_library(cli);
    dcsr_names_destroy(names);
    return status;
}

static int show_matrix(cli_state *cli)
{
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    double seconds = 0;
    uint64_t names;
    int status = cli_load_matrix(cli, &matrix, cli->arguments[0], &seconds);
    if (!status) status = count_names(cli, &names);
    if (!status && cli->multi) status = show_parts(cli, &matrix, names, seconds);
    if (status || cli->multi) {
        dcsr_matrix_destroy(matrix);
        return status;
    }
    dcsr_view_info live;
    dcsr_features features;
    dcsr_matrix_info info;
    dcsr_context_info context;
    if (dcsr_matrix_get_info(matrix, &info) || dcsr_context_get_info(cli->context, &context) ||
        dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0) || dcsr_view_get_info(view, &live) ||
        (settings.features &&
         dcsr_view_get_features(&features, view, &(dcsr_features_options){.exact = settings.exact}))) {
        status = cli_fail_library(cli);
    } else {
        cli_report report;
        cli_report_begin(&report, cli);
        put_matrix(&report, &info, &live);
        cli_put_count(&report, "names", names ? "names" : NULL, names);
        cli_put_seconds(&report, "insert_seconds", "inserted in", seconds);
        if (settings.features) put_features(&report, &features);
        put_device(&report, &context);
        put_memory(&report, &context);
        status = cli_report_print(&report);
    }
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

static int run_info(cli_state *cli)
{
    if (settings.features && !cli->argument_count)
        return cli_usage(cli, "--features are those of a MATRIX; name one");
    const int status = settings.features ? cli_parts_refuse(cli, "--features") : CLI_DONE;
    if (status) return status;
    if (cli->argument_count) return show_matrix(cli);
    return cli->multi ? show_devices(cli) : show_context(cli);
}

const cli_command cli_info_command = {
    .name = "info",
    .arguments = "[MATRIX]",
    .summary = "Show what a matrix is made of, and the device it is on",
    .help =
        "Without a MATRIX it shows the device alone, and what this program was built for.\n\n"
        "nonzeros and row lengths count live entries, after duplicates are combined; segments, stored "
        "entries and memory are those of the store right after one insertion.\n\n"
        "With several devices (--device cuda:0-3, say) it lists them, with the part of the matrix that each "
        "has, and "
        "which others it reaches without the host.\n\n"
        "Features (docs/SELECTION.md) of a large matrix are those of some thousand rows that stand for all; "
        "row lengths are always exact.\n\n"
        "Example:\n  dcsr info rmat:16,16\n  dcsr info poisson3d27:60 --features\n",
    .least = 0,
    .most = 1,
    .several = true,
    .options = options,
    .take = take,
    .run = run_info,
};
