/* cmd_info.c: `dcsr info`: a matrix in figures, and what it is on; without one, that alone. */
#include "cli/stored.h"
#include <dcsr/features.h>
#include <math.h>
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

static void put_memory(cli_report *report, const dcsr_context_info *context)
{
    cli_put_text(report, "allocator", "allocator", context->allocator);
    cli_put_bytes(report, "allocator_active", "  active", context->allocator_active);
    cli_put_bytes(report, "allocator_resident", "  resident", context->allocator_resident);
    cli_put_bytes(report, "matrix_bytes", NULL, context->matrix_bytes);
    cli_put_bytes(report, "scratch_bytes", NULL, context->scratch_bytes);
    cli_put_bytes(report, "peak_bytes", "peak memory", context->peak_bytes);
}

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
    if (status) {
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
    return cli->argument_count ? show_matrix(cli) : show_context(cli);
}

const cli_command cli_info_command = {
    .name = "info",
    .arguments = "[MATRIX]",
    .summary = "Show what a matrix is made of, and the device it is on",
    .help =
        "Without a MATRIX it shows the device alone, and what this program was built for.\n\n"
        "nonzeros and row lengths count live entries, after duplicates are combined; segments, stored "
        "entries and memory are those of the store right after one insertion.\n\n"
        "Features (docs/SELECTION.md) of a large matrix are those of some thousand rows that stand for all; "
        "row lengths are always exact.\n\n"
        "Example:\n  dcsr info rmat:16,16\n  dcsr info poisson3d27:60 --features\n",
    .least = 0,
    .most = 1,
    .options = options,
    .take = take,
    .run = run_info,
};
