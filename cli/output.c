/* output.c: what the program says: results, errors, progress.
 *
 * Results are gathered twice at the same time, as a JSON object and as aligned text, and one of them is
 * printed at the end, so that a command that fails half way prints no half result. */
#include "cli/cli.h"
#include <dcsr/features.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LABEL_WIDTH = 16 };
static const double PROGRESS_INTERVAL = 0.1;

/* ---- Failing ---- */

/* What programs are told of the library's failures. */
static const char *const status_names[] = {[-DCSR_ERROR_INVALID_ARGUMENT] = "invalid_argument",
                                           [-DCSR_ERROR_OUT_OF_MEMORY] = "out_of_memory",
                                           [-DCSR_ERROR_INDEX_OUT_OF_RANGE] = "index_out_of_range",
                                           [-DCSR_ERROR_DIMENSION_MISMATCH] = "dimension_mismatch",
                                           [-DCSR_ERROR_TYPE_MISMATCH] = "type_mismatch",
                                           [-DCSR_ERROR_TOO_LARGE] = "too_large",
                                           [-DCSR_ERROR_IO] = "io",
                                           [-DCSR_ERROR_FORMAT] = "format",
                                           [-DCSR_ERROR_NOT_BUILT] = "not_built",
                                           [-DCSR_ERROR_NO_DEVICE] = "no_device",
                                           [-DCSR_ERROR_CONTEXT_DESTROYED] = "context_destroyed",
                                           [-DCSR_ERROR_BUSY] = "busy",
                                           [-DCSR_ERROR_CANCELLED] = "cancelled",
                                           [-DCSR_ERROR_NOT_FOUND] = "not_found",
                                           [-DCSR_ERROR_DEVICE] = "device",
                                           [-DCSR_ERROR_CALLBACK] = "callback",
                                           [-DCSR_ERROR_CORRUPT] = "corrupt",
                                           [-DCSR_ERROR_NOT_DURABLE] = "not_durable",
                                           [-DCSR_ERROR_DEADLOCK] = "deadlock"};
enum { STATUSES = sizeof status_names / sizeof *status_names };
static const char failed[] = "failed";

static const char *status_name(dcsr_status status)
{
    return status < 0 && -status < STATUSES ? status_names[-status] : failed;
}

/* The text as a JSON string, also where it is not UTF-8. */
static json_t *json_text(char *text)
{
    json_t *string = json_string(text);
    for (char *c = text; !string && *c; c++)
        if (!isascii((unsigned char)*c)) *c = '?';
    return string ? string : json_string(text);
}

/* Prints one line, whatever the text holds: file names may contain anything. Returns the text, allocated, or
 * NULL. */
static char *print_line(cli_state *cli, const char *format, va_list list, const char *hint)
{
    cli_progress_end(cli);
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0) text = NULL;
    for (char *c = text; c && *c; c++) {
        if (iscntrl((unsigned char)*c)) *c = '?';
    }
    fprintf(stderr, "dcsr: %s%s", text ? text : "out of memory", hint);
    if (*hint)
        fprintf(stderr, " 'dcsr%s%s --help'", cli->command ? " " : "",
                cli->command ? cli->command->name : "");
    fputc('\n', stderr);
    return text;
}

static int fail(cli_state *cli, const char *status, int exit_status, const char *format, va_list list)
{
    char *text = print_line(cli, format, list, exit_status == CLI_WRONG_USAGE ? "; see" : "");
    if (cli->json_failures && !cli->error && text)
        cli->error =
            json_pack("{s:s, s:i, s:o, s:s?}", "status", status, "exit_status", exit_status, "message",
                      json_text(text), "command", cli->command ? cli->command->name : NULL);
    free(text);
    return cli->exit_status = exit_status;
}

int cli_fail_as(cli_state *cli, const char *status, int exit_status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(cli, status, exit_status, format, list);
    va_end(list);
    return exit_status;
}

int cli_fail(cli_state *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(cli, failed, CLI_FAILED, format, list);
    va_end(list);
    return CLI_FAILED;
}

int cli_fail_because(cli_state *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(cli, status_name(dcsr_thread_status()), CLI_FAILED, format, list);
    va_end(list);
    return CLI_FAILED;
}

int cli_usage(cli_state *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail(cli, "usage", CLI_WRONG_USAGE, format, list);
    va_end(list);
    return CLI_WRONG_USAGE;
}

int cli_fail_library(cli_state *cli)
{
    return cli_fail_because(cli, "%s", dcsr_thread_error());
}

void cli_warn(cli_state *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    free(print_line(cli, format, list, ""));
    va_end(list);
}

static void print_json(cli_state *cli, const json_t *object)
{
    json_dumpf(object, stdout, JSON_REAL_PRECISION(17));
    putchar('\n');
    cli->printed = true;
}

void cli_end_failures(cli_state *cli)
{
    json_t *object = cli->error && !cli->printed ? json_pack("{s:O}", "error", cli->error) : NULL;
    if (object) {
        print_json(cli, object);
        fflush(stdout); /* where that fails, too, there is nothing left to say */
    }
    json_decref(object);
    json_decref(cli->error);
    cli->error = NULL;
}

/* ---- Results ---- */

int cli_flush(cli_state *cli)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return CLI_DONE;
    return cli_fail(cli, "cannot write the result to standard output: %s; send it to a place with room",
                    strerror(errno ? errno : EIO));
}

error_t cli_take_number(cli_state *cli, const char *option, const char *value, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    static const struct {
        char letter;
        uint64_t factor;
    } suffixes[] = {{'k', 1000}, {'M', 1000000}, {'G', 1000000000}};
    char *end = NULL;
    errno = 0;
    uint64_t parsed = isdigit((unsigned char)*value) ? strtoull(value, &end, 10) : 0;
    bool good = end && !errno;
    for (size_t s = 0; good && s < sizeof suffixes / sizeof *suffixes; s++) {
        if (*end != suffixes[s].letter) continue;
        end++;
        good = !__builtin_mul_overflow(parsed, suffixes[s].factor, &parsed);
        break;
    }
    if (!good || *end || parsed < least || parsed > most) {
        cli_usage(cli, "%s must be a whole number from %llu to %llu, not '%s'", option,
                  (unsigned long long)least, (unsigned long long)most, value);
        return EINVAL;
    }
    *number = parsed;
    return 0;
}

error_t cli_take_duration(cli_state *cli, const char *option, const char *value, double unit, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const bool number = *value == '.' || isdigit((unsigned char)*value);
    char *end = NULL;
    *seconds = number ? strtod(value, &end) : 0;
    bool good = number && !*end;
    for (size_t u = 0; number && !good && u < sizeof units / sizeof *units; u++) {
        good = !strcmp(end, units[u].name);
        if (good) unit = units[u].seconds;
    }
    *seconds *= unit;
    if (good && *seconds > 0 && isfinite(*seconds)) return 0;
    cli_usage(cli, "%s must be a time, such as 100ms, 10s, 5m, 1h or 2d, not '%s'", option, value);
    return EINVAL;
}

void cli_progress(cli_state *cli, const char *format, ...)
{
    if (cli->quiet || cli_now() - cli->progress_last < PROGRESS_INTERVAL) return;
    const bool terminal = isatty(STDERR_FILENO);
    cli->progress_last = cli_now();
    if (!terminal && !cli->progress) return;
    cli->progress_shown = terminal;
    fputs(terminal ? "\r\033[K" : "dcsr: ", stderr);
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    if (!terminal) fputc('\n', stderr);
    fflush(stderr);
}

void cli_show_progress(void *user, uint64_t done, uint64_t total)
{
    const cli_doing *d = user;
    char number[CLI_NUMBER];
    if (total)
        cli_progress(d->cli, "%s: %3.0f%%", d->what, 100.0 * (double)done / (double)total);
    else
        cli_progress(d->cli, "%s: round %s", d->what, cli_grouped(number, done));
}

void cli_progress_end(cli_state *cli)
{
    if (cli->progress_shown) fputs("\r\033[K", stderr);
    cli->progress_shown = false;
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cli_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_quantile(const double *ascending, size_t n, double q)
{
    if (!n) return NAN;
    size_t rank = (size_t)ceil(q * (double)n);
    return ascending[rank ? rank - 1 : 0];
}

int cli_measure(cli_state *cli, const cli_measured *what, double *seconds)
{
    const unsigned long long repeat = what->repeat;
    double *times = malloc(what->repeat * sizeof *times);
    if (!times) return cli_fail(cli, "out of memory for %llu times", repeat);
    int status = what->warm_up && what->run(what->user) ? cli_fail_library(cli) : CLI_DONE;
    for (uint64_t r = 0; r < what->repeat && !status; r++) {
        cli_progress(cli, "%s %llu of %llu", what->name, (unsigned long long)r + 1, repeat);
        double start = cli_now();
        if (what->run(what->user)) status = cli_fail_library(cli);
        times[r] = cli_now() - start;
    }
    if (!status) {
        qsort(times, what->repeat, sizeof *times, cli_compare_doubles);
        *seconds = cli_quantile(times, what->repeat, 0.5);
    }
    free(times);
    return status;
}

const char *cli_grouped(char buffer[CLI_NUMBER], uint64_t value)
{
    char digits[CLI_NUMBER];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), out = 0;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) buffer[out++] = ',';
        buffer[out++] = digits[i];
    }
    buffer[out] = '\0';
    return buffer;
}

const char *cli_duration(char buffer[CLI_NUMBER], double seconds)
{
    if (seconds < 1e-3) {
        snprintf(buffer, CLI_NUMBER, "%.3g us", seconds * 1e6);
    } else if (seconds < 1) {
        snprintf(buffer, CLI_NUMBER, "%.3g ms", seconds * 1e3);
    } else {
        snprintf(buffer, CLI_NUMBER, "%.2f s", seconds);
    }
    return buffer;
}

const char *cli_bytes(char buffer[CLI_NUMBER], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double scaled = (double)bytes;
    size_t unit = 0;
    for (; scaled >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) scaled /= 1024;
    snprintf(buffer, CLI_NUMBER, "%.*f %s", unit ? 1 : 0, scaled, units[unit]);
    return buffer;
}

void cli_report_begin(cli_report *report, cli_state *cli)
{
    *report = (cli_report){.cli = cli, .object = json_object()};
    report->stream = open_memstream(&report->text, &report->length);
    if (cli->loaded) cli_put_count(report, "combined", NULL, cli->combined);
    if (!cli->from_store) return;
    cli_put_count(report, "pending", NULL, cli->pending);
    cli_put_count(report, "replayed", cli->replayed ? "replayed changes" : NULL, cli->replayed);
}

void cli_put_line(cli_report *report, const char *label, const char *format, ...)
{
    if (!report->stream) return;
    if (label) fprintf(report->stream, "%-*s ", LABEL_WIDTH, label);
    va_list list;
    va_start(list, format);
    vfprintf(report->stream, format, list);
    va_end(list);
    fputc('\n', report->stream);
}

/* Takes the value, which is NULL where there was no memory for it. */
static void put_json(cli_report *report, const char *key, json_t *value)
{
    json_object_set_new(report->item ? report->item : report->object, key, value ? value : json_null());
}

void cli_put_list(cli_report *report, const char *key)
{
    put_json(report, key, json_array());
}

/* Makes it the object where values go; it is `missing` where there was no memory for it. */
static void fill_item(cli_report *report, json_t *item, bool missing)
{
    report->item = item;
    if (!missing) return;
    json_decref(report->object); /* no memory: cli_report_print() says so */
    report->object = report->item = NULL;
}

void cli_begin_object(cli_report *report, const char *key)
{
    json_t *item = json_object();
    fill_item(report, item, json_object_set_new(report->object, key, item) != 0);
}

void cli_begin_item(cli_report *report, const char *key)
{
    json_t *item = json_object();
    fill_item(report, item, json_array_append_new(json_object_get(report->object, key), item) != 0);
}

void cli_end_item(cli_report *report)
{
    report->item = NULL;
}

void cli_put_integer(cli_report *report, const char *key, int64_t value)
{
    put_json(report, key, json_integer(value));
}

void cli_put_count(cli_report *report, const char *key, const char *label, uint64_t value)
{
    char number[CLI_NUMBER];
    put_json(report, key, value > INT64_MAX ? json_real((double)value) : json_integer((json_int_t)value));
    if (label) cli_put_line(report, label, "%s", cli_grouped(number, value));
}

static void put_json_real(cli_report *report, const char *key, double value)
{
    put_json(report, key, isfinite(value) ? json_real(value) : json_null());
}

void cli_put_real(cli_report *report, const char *key, const char *label, double value, const char *unit)
{
    put_json_real(report, key, value);
    if (label) cli_put_line(report, label, "%.4g%s%s", value, *unit ? " " : "", unit);
}

void cli_put_seconds(cli_report *report, const char *key, const char *label, double seconds)
{
    char number[CLI_NUMBER];
    put_json_real(report, key, seconds);
    if (label) cli_put_line(report, label, "%s", cli_duration(number, seconds));
}

void cli_put_bytes(cli_report *report, const char *key, const char *label, uint64_t bytes)
{
    char number[CLI_NUMBER];
    cli_put_count(report, key, NULL, bytes);
    if (label) cli_put_line(report, label, "%s", cli_bytes(number, bytes));
}

void cli_put_text(cli_report *report, const char *key, const char *label, const char *value)
{
    put_json(report, key, json_string(value)); /* null where it is not UTF-8 */
    if (label) cli_put_line(report, label, "%s", value);
}

void cli_put_numbers(cli_report *report, const char *key, uint64_t bits)
{
    json_t *list = json_array();
    for (int number = 0; number < 64; number++)
        if (bits >> number & 1) json_array_append_new(list, json_integer(number));
    put_json(report, key, list);
}

void cli_put_scored(cli_report *report, const char *key, const char *label, uint64_t vertex, double score,
                    bool real, const char *name)
{
    char number[CLI_NUMBER];
    json_t *item = real ? json_pack("[I,f]", (json_int_t)vertex, score)
                        : json_pack("[I,I]", (json_int_t)vertex, (json_int_t)score);
    if (name && item) json_array_append_new(item, json_string(name));
    json_array_append_new(json_object_get(report->object, key), item);
    snprintf(number, sizeof number, "%llu", (unsigned long long)vertex);
    cli_put_line(report, label, real ? "%-*s %.6g" : "%-*s %.0f", LABEL_WIDTH, name ? name : number, score);
}

int cli_report_print(cli_report *report)
{
    cli_state *cli = report->cli;
    cli_progress_end(cli);
    bool whole = report->stream && fclose(report->stream) == 0 && report->object;
    int status = CLI_DONE;
    if (!whole) {
        status = cli_fail(cli, "out of memory while the result was put together");
    } else if (cli->json) {
        if (cli->error) json_object_set(report->object, "error", cli->error);
        print_json(cli, report->object);
    } else {
        fputs(report->text, stdout);
    }
    json_decref(report->object);
    free(report->text);
    return status ? status : cli_flush(cli);
}

int cli_report_drop(cli_report *report, int status)
{
    if (report->stream) fclose(report->stream);
    json_decref(report->object);
    free(report->text);
    return status;
}

void cli_put_model(cli_report *report)
{
    dcsr_model_info info;
    if (dcsr_model_get_info(&info, report->cli->context)) return;
    const bool none = !*info.made;
    cli_put_line(report, "model", "%s%s%s", none ? "none for this device" : info.made, *info.file ? ", " : "",
                 info.file);
    cli_put_text(report, "model", NULL, none ? "none" : *info.file ? info.file : "default");
    cli_put_text(report, "model_machine", none ? NULL : "  measured on", info.machine);
    cli_put_text(report, "model_made", NULL, info.made);
    if (*info.refused) cli_put_text(report, "model_refused", "  in place of", info.refused);
}
