/* cmd_watch.c: `dcsr watch`: a stored matrix that another process fills. */
#include "cli/stored.h"
#include <inttypes.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

enum { KEY_EVERY = 1, KEY_COUNT, HEADING = 20 };

static struct {
    double every;
    uint64_t count; /* 0: until it is stopped */
} settings = {.every = 1};

static const struct argp_option options[] = {
    {"every", KEY_EVERY, "TIME", 0, "Look so often (default 1s)", 0},
    {"count", KEY_COUNT, "N", 0, "Look N times (default: until it is stopped)", 0},
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_EVERY:
        return cli_take_duration(cli, "--every", value, 1, &settings.every);
    case KEY_COUNT:
        return cli_take_number(cli, "--count", value, 1, UINT64_C(1) << 40, &settings.count);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What a look has found. */
typedef struct look {
    dcsr_version_info info;
    dcsr_store_info store;
    uint64_t names;
    dcsr_tag tag; /* how much of its input is in */
    double time;  /* when, and how long it took */
    double latency;
} look;

static int take_look(cli_state *cli, look *l, dcsr_store *store, const cli_stored *stored)
{
    bool known;
    *l = (look){.time = cli_now()};
    if (dcsr_store_find(store, stored->name, 0, &l->info) || dcsr_store_get_info(store, &l->store) ||
        dcsr_store_get_name_count(store, stored->name, &l->names) ||
        dcsr_store_get_tag(store, stored->name, &l->tag, &known))
        return cli_fail_library(cli);
    l->latency = cli_now() - l->time;
    return CLI_DONE;
}

/* NaN where there is nothing to compare with. */
static double rate(uint64_t now, uint64_t before, const look *last, const look *l)
{
    return last->time > 0 ? ((double)now - (double)before) / (l->time - last->time) : NAN;
}

/* Changes in the log since it began. */
static uint64_t records(const look *l)
{
    return l->info.log_position + l->info.log_records;
}

static int report_look(cli_state *cli, const look *l, const look *last)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "version", NULL, l->info.version);
    cli_put_count(&report, "rows", NULL, l->info.rows);
    cli_put_count(&report, "cols", NULL, l->info.cols);
    cli_put_count(&report, "nnz", NULL, l->info.nnz);
    cli_put_count(&report, "names", NULL, l->names);
    cli_put_count(&report, "log_records", NULL, l->info.log_records);
    cli_put_count(&report, "position", NULL, l->tag.position);
    cli_put_count(&report, "file_bytes", NULL, l->store.file_bytes);
    cli_put_real(&report, "versions_per_second", NULL, rate(l->info.version, last->info.version, last, l),
                 "");
    cli_put_real(&report, "records_per_second", NULL, rate(records(l), records(last), last, l), "");
    cli_put_real(&report, "bytes_per_second", NULL, rate(l->tag.position, last->tag.position, last, l), "");
    cli_put_real(&report, "age_seconds", NULL, (double)time(NULL) - (double)l->info.created, "");
    cli_put_real(&report, "latency_ms", NULL, 1e3 * l->latency, "");
    return cli_report_print(&report);
}

/* One line a look; on a terminal it replaces the one before. */
static int print_look(cli_state *cli, const look *l, const look *last, uint64_t number)
{
    const bool terminal = isatty(STDOUT_FILENO);
    char nnz[CLI_NUMBER], file[CLI_NUMBER], age[CLI_NUMBER], latency[CLI_NUMBER], read[CLI_NUMBER] = "-";
    const double bytes = rate(l->tag.position, last->tag.position, last, l);
    const double logged = rate(records(l), records(last), last, l);
    if (number == 0 || (!terminal && number % HEADING == 0))
        printf("%8s %10s %15s %10s %12s %12s %12s %10s\n", "version", "age", "nonzeros", "log", "records/s",
               "input/s", "file", "latency");
    if (bytes >= 0) cli_bytes(read, (uint64_t)bytes);
    printf("%s%8" PRIu64 " %10s %15s %10" PRIu64 " %12.4g %12s %12s %10s%s", terminal && number ? "\r" : "",
           l->info.version, cli_duration(age, (double)time(NULL) - (double)l->info.created),
           cli_grouped(nnz, l->info.nnz), l->info.log_records, isfinite(logged) ? logged : 0.0, read,
           cli_bytes(file, l->store.file_bytes), cli_duration(latency, l->latency),
           terminal ? "\033[K" : "\n");
    if (terminal && number + 1 == settings.count) putchar('\n');
    return cli_flush(cli);
}

static void pause_for(double seconds)
{
    if (seconds <= 0) return;
    const double whole = floor(seconds);
    nanosleep(&(struct timespec){(time_t)whole, (long)((seconds - whole) * 1e9)}, NULL);
}

static int run_watch(cli_state *cli)
{
    cli_stored stored;
    dcsr_store *store;
    look last = {0}, l;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_NAME);
    if (!status) status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.read_only = true});
    const double start = cli_now();
    for (uint64_t n = 0; !status && (!settings.count || n < settings.count); n++) {
        pause_for(start + (double)n * settings.every - cli_now());
        status = take_look(cli, &l, store, &stored);
        if (!status) status = cli->json ? report_look(cli, &l, &last) : print_look(cli, &l, &last, n);
        last = l;
    }
    return status;
}

const cli_command cli_watch_command = {
    .name = "watch",
    .arguments = "STORE#NAME",
    .summary = "Show how a stored matrix grows while another process fills it",
    .help = "A line for each look: the newest version and its age, its entries, the records of the log "
            "behind it; "
            "since the look before, the records and the text of its input that came in a second; the "
            "file's size, and how long the look took. On a terminal the line is refreshed. With --json each "
            "look is "
            "one object on a line of its own.\n\n"
            "Example:\n  dcsr watch graphs#web --every 5s\n",
    .least = 1,
    .most = 1,
    .options = options,
    .take = take,
    .run = run_watch,
};
