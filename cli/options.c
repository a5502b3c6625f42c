/* options.c: takes the options and arguments of a command line, and says what is wrong with one.
 *
 * getopt_long() reads them by the tables of struct argp_option, whose rows argp_help() shows (help.c). Its
 * own parsing is not argp's, which does not tell whether an option is unknown, ambiguous, or its value
 * missing or not wanted. */
#include "cli/cli.h"
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_DEVICE = 1000,
    KEY_THREADS,
    KEY_JSON,
    KEY_QUIET,
    KEY_HELP = 'h',
    KEY_VERSION = 1004,
    KEY_PROGRESS
};
enum { MOST_OPTIONS = 64, MOST_THREADS = 4096, MOST_WORD = 63, MOST_DIGITS = 6 };
/* What getopt_long() returns: this for an argument, the letter of a short option, or FIRST_LONG + row. */
enum { ARGUMENT = 1, FIRST_LONG = 256 };
/* The last of alternatives that are not all. */
static const char OTHERS[] = "...";

const struct argp_option cli_common_options[] = {
    {.doc = "Options of all commands:", .group = 100},
    {"device", KEY_DEVICE, "auto|cpu|cuda|cpu:numa|cuda:all|...", 0,
     "Where to work (default auto: cuda where a usable GPU is); cuda:1 is one GPU of several, and cuda:0-3, "
     "cuda:all, "
     "cpu:4 and cpu:numa are several devices at once",
     0},
    {"threads", KEY_THREADS, "N", 0, "Threads to use (default: OMP_NUM_THREADS, else one a core)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object on standard output and nothing else", 0},
    {"quiet", KEY_QUIET, NULL, 0, "Show no progress", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Show it even where standard error is no terminal, line by line", 0},
    {"help", KEY_HELP, NULL, 0, "Show this help", 0},
    {"version", KEY_VERSION, NULL, 0, "Show the version", 0},
    {0}};

bool cli_is_last_option(const struct argp_option *option)
{
    return !option->name && !option->doc;
}

/* ---- Guessing ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many characters have to be left out, put in, changed, or exchanged with their neighbour (each once);
 * words of MOST_WORD characters at most. */
static size_t edit_distance(const char *a, size_t m, const char *b, size_t n)
{
    size_t rows[3][MOST_WORD + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *next = before;
        before = above;
        above = row;
        row = next;
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[n];
}

void cli_guess_offer(cli_guess *guess, const char *name)
{
    size_t m = strlen(guess->word), n = strlen(name);
    if (m > MOST_WORD || n > MOST_WORD) return;
    size_t distance = m > 1 && !strncmp(name, guess->word, m) ? 1 : edit_distance(guess->word, m, name, n);
    size_t most = m < 4 ? 1 : 2;
    if (distance > most || (guess->best && distance >= guess->distance)) return;
    guess->best = name;
    guess->distance = distance;
}

/* ---- The table ---- */

/* Rows of the command's table, then of that of all commands. `letters` are the short ones, for getopt_long(). */
typedef struct option_set {
    const struct argp_option *row[MOST_OPTIONS];
    struct option table[MOST_OPTIONS + 1];
    int count, own;
    char letters[2 * MOST_OPTIONS + 3];
} option_set;

/* Whether the option is also one letter. */
static bool is_letter(int key)
{
    return key > ' ' && key < 0x7f;
}

static void collect(option_set *set, const struct argp_option *options)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++) {
        if (!o->name) continue;
        assert(set->count < MOST_OPTIONS);
        set->row[set->count] = o;
        set->table[set->count] =
            (struct option){o->name, o->arg ? required_argument : no_argument, NULL, FIRST_LONG + set->count};
        set->count++;
        size_t length = strlen(set->letters);
        if (is_letter(o->key))
            snprintf(set->letters + length, sizeof set->letters - length, "%c%s", o->key, o->arg ? ":" : "");
    }
}

static const struct argp_option *find(const struct argp_option *options, const char *name)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++)
        if (o->name && !strcmp(o->name, name)) return o;
    return NULL;
}

/* ---- What is wrong ---- */

/* Appends to the text what still fits. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t room, const char *format, ...)
{
    size_t length = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + length, room - length, format, list);
    va_end(list);
}

/* --NAME that the tables do not have, or have several of that begin so. */
static int refuse_name(cli_state *cli, const option_set *set, const char *word)
{
    const char *command = cli->command ? cli->command->name : "dcsr", *after = "";
    char name[MOST_WORD + 1], all[1024] = "", same[1024] = "";
    size_t length = strcspn(word + 2, "="), matching = 0;
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : MOST_WORD, word + 2);
    cli_guess guess = {.word = name};
    for (int i = 0; i < set->count; i++) {
        const char *known = set->row[i]->name;
        cli_guess_offer(&guess, known);
        append(all, sizeof all, "%s--%s", i ? ", " : "", known);
        if (!*name || strncmp(known, word + 2, length)) continue;
        append(same, sizeof same, "%s--%s", matching++ ? " or " : "", known);
    }
    if (matching) return cli_usage(cli, "%s: '%s' is ambiguous: %s", command, word, same);
    if (!cli->command) after = " before the command";
    for (int c = 0; cli_commands[c]; c++)
        if (find(cli_commands[c]->options, name))
            return cli_usage(cli, "%s has no option '%s'%s; %s has it", command, word, after,
                             cli_commands[c]->name);
    if (guess.best)
        return cli_usage(cli, "%s has no option '%s'%s (did you mean --%s?)", command, word, after,
                         guess.best);
    return cli_usage(cli, "%s has no option '%s'%s; it has %s", command, word, after, all);
}

/* What getopt_long() has just refused. */
static int refuse(cli_state *cli, const option_set *set, int answer, const char *word)
{
    const struct argp_option *row = optopt >= FIRST_LONG ? set->row[optopt - FIRST_LONG] : NULL;
    const char *command = cli->command ? cli->command->name : "dcsr";
    if (row && answer == ':')
        return cli_usage(cli, "%s: --%s needs a value: --%s=%s", command, row->name, row->name, row->arg);
    if (row) return cli_usage(cli, "%s: '%s' has a value, and --%s takes none", command, word, row->name);
    if (optopt && answer == ':') return cli_usage(cli, "%s: -%c needs a value", command, optopt);
    if (optopt) return cli_usage(cli, "%s has no option '-%c'; there are -h, and long ones", command, optopt);
    return refuse_name(cli, set, word);
}

const char *cli_choice(const char **rest, size_t *length)
{
    const char *choice = *rest;
    *length = strcmp(choice, OTHERS) ? strcspn(choice, "|") : 0;
    *rest += *length + (choice[*length] == '|');
    return *length ? choice : NULL;
}

/* A value that has to be one of a|b|c; what may be another the option's own function looks at. */
static error_t check_choice(cli_state *cli, const struct argp_option *row, const char *value)
{
    char all[1024] = "";
    size_t length = strlen(row->arg);
    if (length > strlen(OTHERS) && !strcmp(row->arg + length - strlen(OTHERS), OTHERS)) return 0;
    for (const char *rest = row->arg, *choice; (choice = cli_choice(&rest, &length));) {
        if (strlen(value) == length && !memcmp(value, choice, length)) return 0;
        append(all, sizeof all, "%s%.*s",
               choice == row->arg ? ""
               : *rest            ? ", "
                                  : " or ",
               (int)length, choice);
    }
    cli_usage(cli, "--%s must be %s, not '%s'", row->name, all, value);
    return EINVAL;
}

/* ---- Taking ---- */

/* One device by its kind or number, or the text of several, which dcsr_multi_create() reads. */
static error_t take_device(cli_state *cli, const char *value)
{
    static const struct {
        const char *name;
        dcsr_device device;
    } kinds[] = {{"auto", DCSR_DEVICE_AUTO}, {"cpu", DCSR_DEVICE_CPU}, {"cuda", DCSR_DEVICE_CUDA}};
    const size_t length = strcspn(value, ":");
    cli->devices = NULL;
    cli->device_number = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strncmp(value, kinds[k].name, length) || kinds[k].name[length]) continue;
        cli->device = kinds[k].device;
        if (!value[length]) return 0;
        if (cli->device == DCSR_DEVICE_AUTO) break;
        const char *which = value + length + 1;
        const size_t digits = strspn(which, "0123456789");
        if (cli->device == DCSR_DEVICE_CUDA && digits && digits <= MOST_DIGITS && !which[digits])
            cli->device_number = atoi(which);
        else
            cli->devices = value;
        return 0;
    }
    cli_usage(cli,
              "--device must be auto, cpu or cuda, one GPU like cuda:1, or several devices like cuda:0-3, "
              "cuda:0,2, cuda:0/4, cuda:all, cpu:4 or cpu:numa, not '%s'",
              value);
    return EINVAL;
}

static error_t take_common(cli_state *cli, int key, const char *value)
{
    uint64_t number = 0;
    switch (key) {
    case KEY_DEVICE:
        return take_device(cli, value);
    case KEY_THREADS:
        if (cli_take_number(cli, "--threads", value, 1, MOST_THREADS, &number)) return EINVAL;
        cli->threads = (int)number;
        return 0;
    case KEY_JSON:
        return cli->json = true, 0;
    case KEY_PROGRESS:
        return cli->progress = true, 0;
    case KEY_QUIET:
        return cli->quiet = true, 0;
    case KEY_HELP:
        return cli->help = true, 0;
    case KEY_VERSION:
        return cli->version = true, 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t take(cli_state *cli, const option_set *set, int answer, const char *value)
{
    for (int r = 0; answer < FIRST_LONG && r < set->count; r++)
        if (set->row[r]->key == answer) answer = FIRST_LONG + r;
    const struct argp_option *row = set->row[answer - FIRST_LONG];
    if (row->arg && strchr(row->arg, '|') && check_choice(cli, row, value)) return EINVAL;
    bool common = answer - FIRST_LONG >= set->own;
    error_t error = common ? take_common(cli, row->key, value) : cli->command->take(cli, row->key, value);
    assert(error != ARGP_ERR_UNKNOWN && "a row of a table of options that nothing takes");
    return error;
}

int cli_parse_options(cli_state *cli, int argc, char **argv)
{
    /* In order, or up to the command; ':' tells a missing value from an unknown option. */
    option_set set = {.letters = {cli->command ? '-' : '+', ':'}};
    if (cli->command) collect(&set, cli->command->options);
    set.own = set.count;
    collect(&set, cli_common_options);
    int answer;
    cli->arguments = argv + 1; /* those that follow are moved to the front */
    cli->argument_count = 0;
    opterr = 0;
    optind = 0;
    /* Nothing after --help or --version matters. */
    while (!cli->help && !cli->version &&
           (answer = getopt_long(argc, argv, set.letters, set.table, NULL)) != -1) {
        if (answer == ARGUMENT)
            cli->arguments[cli->argument_count++] = optarg;
        else if (answer == '?' || answer == ':')
            return refuse(cli, &set, answer, argv[optind - 1]);
        else if (take(cli, &set, answer, optarg))
            return cli->exit_status;
    }
    while (optind < argc) cli->arguments[cli->argument_count++] = argv[optind++];
    return CLI_DONE;
}
