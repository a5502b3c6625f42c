/* cmd_tune.c: `dcsr tune`: measures kernels on many matrices, and trains the model by which `auto` chooses here. */
#include "cli/tune/tune.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_QUICK = 1,
    KEY_REPORT,
    KEY_TABLE,
    KEY_MODEL,
    KEY_MATRICES,
    KEY_SEED,
    KEY_NO_MODEL,
    KEY_ENERGY,
    KEY_LIMIT,
    KEY_PART,
    KEY_ALSO,
    VARIANTS = 3
};
enum { PATH = 4096 };

static struct {
    const char *table, *model;
    uint64_t matrices, seed, energy;
    uint64_t part, parts; /* the first is 1 */
    const char *also[TUNE_TABLES];
    int also_count;
    double limit; /* seconds */
    bool quick, report, no_model;
} settings = {.matrices = UINT64_MAX, .seed = 1, .energy = 1, .part = 1, .parts = 1, .limit = INFINITY};

static const struct argp_option options[] = {
    {"quick", KEY_QUICK, NULL, 0, "Fewer and smaller matrices: some minutes", 0},
    {"report", KEY_REPORT, NULL, 0, "Show how good the model is, by cross-validation", 0},
    {"table", KEY_TABLE, "FILE", 0, "Where measurements are kept and looked for (default: beside the model)",
     0},
    {"model", KEY_MODEL, "FILE", 0, "Where the model goes (default: where it is looked for)", 0},
    {"no-model", KEY_NO_MODEL, NULL, 0, "Measure, and report, but leave the model as it is", 0},
    {"matrices", KEY_MATRICES, "N", 0, "Only the first N of the collection; 0: only those named", 0},
    {"energy", KEY_ENERGY, "N", 0,
     "Measure energy, where the machine tells it, of every Nth matrix and its variants; 0: of none (default "
     "1)",
     0},
    {"limit", KEY_LIMIT, "TIME", 0, "Measure for so long at most, and train on what there is then", 0},
    {"part", KEY_PART, "K/N", 0, "Of the collection only the Kth of N parts, as on the Kth of N GPUs", 0},
    {"also", KEY_ALSO, "FILE", 0, "Train on this table, too, as of another part; may be repeated", 0},
    {"seed", KEY_SEED, "N", 0, "Another collection, and other trees (default 1)", 0},
    {0}};

static error_t take_part(cli_state *cli, const char *value)
{
    char rest;
    if (sscanf(value, "%" SCNu64 "/%" SCNu64 "%c", &settings.part, &settings.parts, &rest) == 2 &&
        settings.part && settings.part <= settings.parts && *value != '-')
        return 0;
    cli_usage(cli, "--part %s: give the number of a part and of all, as 2/4", value);
    return EINVAL;
}

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_QUICK:
        settings.quick = true;
        return 0;
    case KEY_REPORT:
        settings.report = true;
        return 0;
    case KEY_NO_MODEL:
        settings.no_model = true;
        return 0;
    case KEY_TABLE:
        settings.table = value;
        return 0;
    case KEY_MODEL:
        settings.model = value;
        return 0;
    case KEY_MATRICES:
        return cli_take_number(cli, "--matrices", value, 0, UINT64_MAX, &settings.matrices);
    case KEY_ENERGY:
        return cli_take_number(cli, "--energy", value, 0, UINT32_MAX, &settings.energy);
    case KEY_LIMIT:
        return cli_take_duration(cli, "--limit", value, 1, &settings.limit);
    case KEY_PART:
        return take_part(cli, value);
    case KEY_ALSO:
        if (settings.also_count == TUNE_TABLES - 1) {
            cli_usage(cli, "--also: there are too many tables, put some into one");
            return EINVAL;
        }
        settings.also[settings.also_count++] = value;
        return 0;
    case KEY_SEED:
        return cli_take_number(cli, "--seed", value, 0, UINT32_MAX, &settings.seed);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Stopping ---- */

static volatile sig_atomic_t stopped;

/* The matrix that is being measured is the last; a second signal ends the program. */
static void note_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void listen(void)
{
    const struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- Measuring ---- */

typedef struct tuning {
    cli_state *cli;
    tune_table table;
    tune_scale scale;
    uint64_t done, all, added;
    double start;
    bool energy; /* can be measured */
} tuning;

static bool goes_on(const tuning *t)
{
    return !stopped && cli_now() - t->start < settings.limit;
}

static int measure(tuning *t, const tune_matrix *matrix, uint64_t number)
{
    tune_result result;
    cli_progress(t->cli, "%llu of %llu: %s", (unsigned long long)t->done + 1, (unsigned long long)t->all,
                 matrix->name);
    const bool energy = t->energy && settings.energy && number / VARIANTS % settings.energy == 0;
    int status = tune_measure(t->cli, &result, matrix, energy);
    if (!status) status = tune_table_add(t->cli, &t->table, matrix, &result);
    t->added += !status;
    return status;
}

/* The numbers of those that are not in the table; how many. A matrix and its variants are of one part. */
static uint64_t list_missing(const tuning *t, uint64_t *numbers, uint64_t matrices)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < matrices; i++) {
        tune_matrix matrix;
        if (i / VARIANTS % settings.parts != settings.part - 1) continue;
        tune_collection_make(t->cli->context, &matrix, i, t->scale, settings.seed, true); /* its name */
        if (!tune_table_has(&t->table, matrix.name)) numbers[n++] = i;
    }
    return n;
}

static int measure_collection(tuning *t, uint64_t matrices)
{
    uint64_t *numbers = malloc((matrices + 1) * sizeof *numbers);
    if (!numbers) return cli_fail(t->cli, "out of memory for the numbers of matrices");
    const uint64_t missing = list_missing(t, numbers, matrices);
    tune_ahead *ahead;
    t->all += missing;
    int status = tune_ahead_open(&ahead, t->cli, t->scale, settings.seed, numbers, missing);
    for (uint64_t i = 0; i < missing && !status && goes_on(t); i++, t->done++) {
        tune_matrix matrix;
        status = tune_ahead_next(ahead, t->cli, &matrix);
        /* Of a part every Nth for its energy, whatever the number of parts. */
        if (!status) status = measure(t, &matrix, numbers[i] / settings.parts);
        dcsr_coo_free(&matrix.coo);
    }
    tune_ahead_close(ahead);
    free(numbers);
    return status;
}

static int measure_users(tuning *t)
{
    int status = CLI_DONE;
    for (int a = 0; a < t->cli->argument_count && !status && goes_on(t); a++) {
        cli_source source = {.name = t->cli->arguments[a]};
        dcsr_coo coo = {0};
        status = cli_source_load(t->cli, &source, &coo);
        for (int variant = 0; variant < VARIANTS && !status && goes_on(t); variant++, t->done++) {
            tune_matrix matrix;
            status = tune_users_make(t->cli, &matrix, &coo, source.name, variant, settings.seed);
            if (!status && !tune_table_has(&t->table, matrix.name)) status = measure(t, &matrix, t->done);
            dcsr_coo_free(&matrix.coo);
        }
        dcsr_coo_free(&coo);
        cli_source_close(&source);
    }
    return status;
}

/* ---- The command ---- */

static int print(const tuning *t, const char *model)
{
    cli_report report;
    cli_report_begin(&report, t->cli);
    cli_put_text(&report, "table", "table", t->table.path);
    cli_put_count(&report, "matrices", "matrices in it", t->table.count + t->added);
    cli_put_count(&report, "measured", "measured now", t->added);
    cli_put_text(&report, "energy", "energy",
                 !settings.energy ? "not measured"
                 : t->energy      ? "measured"
                                  : "not measured: this machine does not tell it");
    if (model) cli_put_text(&report, "model", "model", model);
    return cli_report_print(&report);
}

static int prepare(tuning *t, char model[PATH], tune_table *table)
{
    cli_state *cli = t->cli;
    dcsr_context_info info;
    if (dcsr_context_get_info(cli->context, &info)) return cli_fail_library(cli);
    t->scale = settings.quick ? TUNE_QUICK : info.device == DCSR_DEVICE_CUDA ? TUNE_CUDA : TUNE_CPU;
    t->energy = tune_energy_is_known(cli);
    t->start = cli_now();
    if (!settings.model && dcsr_model_get_path(cli->context, model, PATH)) return cli_fail_library(cli);
    if (settings.model) snprintf(model, PATH, "%s", settings.model);
    const int n = settings.table ? snprintf(table->path, sizeof table->path, "%s", settings.table)
                                 : snprintf(table->path, sizeof table->path, "%s.tsv", model);
    return n < (int)sizeof table->path ? tune_table_open(cli, table)
                                       : cli_fail(cli, "%s: the path is too long", model);
}

static int run_tune(cli_state *cli)
{
    char model[PATH];
    tuning t = {.cli = cli};
    int status = prepare(&t, model, &t.table);
    const uint64_t size = tune_collection_size(t.scale),
                   matrices = settings.matrices < size ? settings.matrices : size;
    t.all = (uint64_t)cli->argument_count * VARIANTS;
    if (!status) {
        listen();
        status = measure_collection(&t, matrices);
    }
    if (!status) status = measure_users(&t);
    cli_progress_end(cli);
    if (!status && stopped)
        status = cli_fail(cli, "stopped: %s has %llu matrices, and the same command goes on from there",
                          t.table.path, (unsigned long long)(t.table.count + t.added));
    const char *tables[TUNE_TABLES + 1] = {t.table.path};
    memcpy(tables + 1, settings.also, sizeof settings.also);
    if (!status && (!settings.no_model || settings.report))
        status = tune_train(cli, tables, settings.no_model ? NULL : model, settings.report, settings.seed);
    if (!status && !(settings.report && cli->json)) status = print(&t, settings.no_model ? NULL : model);
    return tune_table_close(cli, &t.table, status);
}

const cli_command cli_tune_command = {
    .name = "tune",
    .arguments = "[MATRIX]...",
    .summary = "Measure the kernels of products here, and train the model that chooses",
    .help =
        "Measures every kernel of `dcsr spmv --kernel list` on a collection of generated matrices, and on "
        "the "
        "MATRIXes: each as it is, with columns left out, and the transpose of that. Then a model is trained "
        "(docs/SELECTION.md), checked, and put where `--kernel auto` looks for it. Training needs Python "
        "with "
        "scikit-learn.\n\n"
        "What was measured stays in the table; a matrix that is in it is not measured again. SIGINT stops "
        "after "
        "the matrix being measured, and the same command goes on later.\n\n"
        "Nothing else should run meanwhile: all takes about a quarter of an hour.\n\n"
        "Example:\n  dcsr tune --quick --report\n",
    .least = 0,
    .most = -1,
    .options = options,
    .take = take,
    .run = run_tune,
};
