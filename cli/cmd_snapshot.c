/* cmd_snapshot.c: `dcsr snapshot`: any MATRIX becomes the next version of a stored one. */
#include "cli/stored.h"

enum { KEY_CHUNK = 1, KEY_COMPRESS, MOST_LEVEL = 19 };

static struct {
    uint64_t chunk, level; /* 0: not given */
} settings;

static const struct argp_option options[] = {
    {"chunk", KEY_CHUNK, "BYTES", 0,
     "Of a new store: data goes into chunks of some so many bytes (default 1 MiB)", 0},
    {"compress", KEY_COMPRESS, "LEVEL", 0,
     "Of a new store: compress chunks with zstd, 1 (fast) to 19 (small) (default: no compression)", 0},
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_CHUNK:
        return cli_take_number(cli, "--chunk", value, DCSR_STORE_MIN_CHUNK, DCSR_STORE_MAX_CHUNK,
                               &settings.chunk);
    case KEY_COMPRESS:
        return cli_take_number(cli, "--compress", value, 1, MOST_LEVEL, &settings.level);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The store that is written to; what a store was made with it keeps. */
static int open_store(cli_state *cli, dcsr_store **store, const char *path)
{
    dcsr_store_info info;
    dcsr_store_options wanted = {.chunk_bytes = settings.chunk, .compression = (int)settings.level};
    int status = cli_store_open(cli, store, path, &wanted);
    if (status) return status;
    if (dcsr_store_get_info(*store, &info)) return cli_fail_library(cli);
    if (settings.chunk && settings.chunk != info.chunk_bytes)
        return cli_fail(cli, "%s: the store was made with chunks of %llu bytes; leave --chunk out", path,
                        (unsigned long long)info.chunk_bytes);
    if (settings.level && (int)settings.level != info.compression)
        return cli_fail(cli, "%s: the store was made with compression %d; leave --compress out", path,
                        info.compression);
    return CLI_DONE;
}

static int print(cli_state *cli, const cli_stored *stored, const dcsr_version_info *info,
                 const dcsr_recovery *recovery, double seconds)
{
    char rows[CLI_NUMBER], cols[CLI_NUMBER];
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_recovery(&report, recovery);
    cli_put_version(&report, stored, info);
    cli_put_line(&report, "size", "%s x %s, %s", cli_grouped(rows, info->rows), cli_grouped(cols, info->cols),
                 dcsr_type_name(info->type));
    cli_put_count(&report, "rows", NULL, info->rows);
    cli_put_count(&report, "cols", NULL, info->cols);
    cli_put_text(&report, "type", NULL, dcsr_type_name(info->type));
    cli_put_count(&report, "nnz", "nonzeros", info->nnz);
    cli_put_seconds(&report, "seconds", "time", seconds);
    return cli_report_print(&report);
}

static int run(cli_state *cli)
{
    cli_stored stored;
    dcsr_version_info info;
    dcsr_recovery recovery;
    dcsr_store *store;
    dcsr_matrix *matrix = NULL;
    int status = cli_stored_parse(cli, &stored, cli->arguments[1], CLI_STORE_NAME);
    /* Before the MATRIX, which may be this very one; a new store is made when there is something for it. */
    if (!status) status = cli_stored_prepare(cli, &stored, &info, &recovery);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status) status = open_store(cli, &store, stored.store);
    if (!status) {
        cli_progress(cli, "writing %s", cli->arguments[1]);
        double start = cli_now();
        status = dcsr_store_snapshot(store, stored.name, matrix, &info)
                     ? cli_fail_library(cli)
                     : print(cli, &stored, &info, &recovery, cli_now() - start);
    }
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_snapshot_command = {
    .name = "snapshot",
    .arguments = "MATRIX STORE#NAME",
    .summary = "Store a matrix as the next version of NAME",
    .help = "STORE is a folder, and made when it is not there. Only chunks whose rows have changed since the "
            "version before are written; where nothing has changed no version is made, and the one before is "
            "reported. A version is there in whole or not at all, whatever happens meanwhile.\n\n"
            "Examples:\n"
            "  dcsr snapshot rmat:18,16 graphs#web\n"
            "  dcsr snapshot graphs#web@1 graphs#web      # version 1 is the newest again\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run,
};
