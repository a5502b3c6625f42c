/* cmd_gc.c: `dcsr gc`: deletes old versions, or a matrix. */
#include "cli/stored.h"

enum { KEY_KEEP = 1, KEY_DELETE };

static struct {
    uint64_t keep; /* 0: not given */
    bool delete;
} settings;

static const struct argp_option options[] = {
    {"keep", KEY_KEEP, "N", 0, "Keep the newest N versions of each matrix (default 1)", 0},
    {"delete", KEY_DELETE, NULL, 0, "Delete the matrix NAME with all its versions and its log", 0},
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_KEEP:
        return cli_take_number(cli, "--keep", value, 1, UINT64_MAX, &settings.keep);
    case KEY_DELETE:
        settings.delete = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What was freed, or NULL for a matrix that was deleted. */
static int print(cli_state *cli, dcsr_store *store, const cli_stored *stored, const dcsr_store_freed *freed)
{
    dcsr_store_info info;
    cli_report report;
    if (dcsr_store_get_info(store, &info)) return cli_fail_library(cli);
    cli_report_begin(&report, cli);
    cli_put_text(&report, "store", NULL, stored->store);
    if (freed) {
        cli_put_count(&report, "versions", "versions deleted", freed->versions);
        cli_put_count(&report, "chunks", "chunks deleted", freed->chunks);
        cli_put_bytes(&report, "bytes", "bytes freed", freed->bytes);
    } else {
        cli_put_text(&report, "deleted", "deleted", stored->name);
    }
    cli_put_bytes(&report, "file_bytes", "the file", info.file_bytes);
    cli_put_bytes(&report, "free_bytes", "  free of it", info.free_bytes);
    return cli_report_print(&report);
}

static int run_gc(cli_state *cli)
{
    cli_stored stored;
    dcsr_store *store;
    dcsr_store_freed freed;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_OR_NAME);
    if (status) return status;
    const char *name = *stored.name ? stored.name : NULL;
    if (settings.delete &&settings.keep) return cli_usage(cli, "--delete keeps nothing; leave --keep out");
    if (settings.delete &&!name)
        return cli_usage(cli, "--delete is about one matrix: name it, %s#NAME", stored.store);
    status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.must_exist = true});
    if (status) return status;
    dcsr_status freeing = settings.delete
                              ? dcsr_store_delete(store, name)
                              : dcsr_store_gc(store, name, settings.keep ? settings.keep : 1, &freed);
    return freeing ? cli_fail_library(cli) : print(cli, store, &stored, settings.delete ? NULL : &freed);
}

const cli_command cli_gc_command = {
    .name = "gc",
    .arguments = "STORE[#NAME]",
    .summary = "Delete old versions of stored matrices",
    .help = "Of all matrices, or of NAME. Chunks that no version has any more are freed, and what killed "
            "processes have left. The file gets no smaller: what is written next goes into the room.\n\n"
            "Examples:\n"
            "  dcsr gc graphs --keep 5\n"
            "  dcsr gc graphs#web --delete\n",
    .least = 1,
    .most = 1,
    .options = options,
    .take = take,
    .run = run_gc,
};
