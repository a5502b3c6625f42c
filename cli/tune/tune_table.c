/* tune_table.c: what was measured, as a text with a line a matrix and words apart by tabs: notes ("# key value"), a
 * head with the names of the columns, then name, family, features, for each kernel seconds, build and joules, and for
 * each product with a sparse vector the seconds by columns, rows and tiles and of what is taken by itself, which of
 * these that is, and what there was to do. A line is written when its matrix has been measured, so that measuring may
 * be stopped and go on at any time. */
#include "cli/tune/tune.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What there is of each kernel. */
static const struct {
    const char *name;
    size_t at;
} kinds[] = {{"seconds", offsetof(tune_cost, seconds)},
             {"build", offsetof(tune_cost, build)},
             {"joules", offsetof(tune_cost, joules)}};
/* What there is of each product with a sparse vector. */
static const struct {
    const char *name;
    size_t at;
} vector_kinds[] = {
    {"columns", offsetof(tune_vector_cost, way[0])},  {"rows", offsetof(tune_vector_cost, way[1])},
    {"tiles", offsetof(tune_vector_cost, way[2])},    {"auto", offsetof(tune_vector_cost, way[3])},
    {"taken", offsetof(tune_vector_cost, taken)},     {"elements", offsetof(tune_vector_cost, elements)},
    {"entries", offsetof(tune_vector_cost, entries)}, {"wanted", offsetof(tune_vector_cost, wanted)}};
enum { KINDS = sizeof kinds / sizeof *kinds, VECTOR_KINDS = sizeof vector_kinds / sizeof *vector_kinds };

/* Writes the notes and the head. */
static int write_head(cli_state *cli, FILE *to)
{
    char machine[128];
    dcsr_context_info info;
    const dcsr_spmv_kernel *kernel;
    if (dcsr_model_get_machine(cli->context, machine, sizeof machine) ||
        dcsr_context_get_info(cli->context, &info))
        return cli_fail_library(cli);
    fprintf(to, "# device %s\n# machine %s\n# groups ", info.device == DCSR_DEVICE_CUDA ? "cuda" : "cpu",
            machine);
    for (uint64_t i = 0; dcsr_feature_at(i); i++)
        fprintf(to, "%s%s", i ? "," : "", dcsr_feature_at(i)->group);
    fprintf(to, "\n# varies ");
    for (uint64_t k = 0, n = 0; (kernel = dcsr_spmv_kernel_at(info.device, k)); k++)
        if (kernel->varies) fprintf(to, "%s%s", n++ ? "," : "", kernel->name);
    fprintf(to, "\nmatrix\tfamily");
    for (uint64_t i = 0; dcsr_feature_at(i); i++) fprintf(to, "\t%s", dcsr_feature_at(i)->name);
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(info.device, k)); k++)
            fprintf(to, "\t%s:%s", kinds[kind].name, kernel->name);
    for (int k = 0; k < VECTOR_KINDS; k++)
        for (int p = 0; p < TUNE_PRODUCTS; p++)
            fprintf(to, "\t%s:%s", vector_kinds[k].name, tune_products[p].name);
    fprintf(to, "\n");
    return CLI_DONE;
}

static int make_folders(cli_state *cli, const char *path)
{
    char folder[sizeof((tune_table *)NULL)->path];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        if (mkdir(folder, 0777) && errno != EEXIST)
            return cli_fail(cli, "%s: cannot be made: %s", folder, strerror(errno));
    }
    return CLI_DONE;
}

/* Notes a matrix of a line; a line without its end was being written when the program was killed, and is cut off. */
static int note_lines(cli_state *cli, tune_table *table)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    long end = ftell(table->file);
    int status = CLI_DONE;
    while (!status && (length = getline(&line, &size, table->file)) > 0 && line[length - 1] == '\n') {
        end = ftell(table->file);
        char **names = realloc(table->names, (table->count + 1) * sizeof *names), *name = NULL;
        if (names) {
            table->names = names;
            name = strndup(line, strcspn(line, "\t"));
        }
        if (!name) status = cli_fail(cli, "out of memory for the names of matrices");
        if (name) table->names[table->count++] = name;
    }
    free(line);
    if (!status &&
        (fflush(table->file) || ftruncate(fileno(table->file), end) || fseek(table->file, end, SEEK_SET)))
        status = cli_fail(cli, "%s: cannot be written: %s", table->path, strerror(errno));
    return status;
}

/* The head of a table that is there must be what it would be now. */
static int check_head(cli_state *cli, tune_table *table, const char *head, size_t length)
{
    char *is = malloc(length + 1);
    if (!is) return cli_fail(cli, "out of memory for the head of a table");
    const size_t got = fread(is, 1, length, table->file);
    const bool same = got == length && !memcmp(is, head, length);
    free(is);
    if (got && !same)
        return cli_fail(
            cli,
            "%s: this table is of another machine, or of other kernels or features; remove it, or name "
            "another with --table",
            table->path);
    if (got) return note_lines(cli, table);
    return fwrite(head, 1, length, table->file) == length && !fflush(table->file)
               ? CLI_DONE
               : cli_fail(cli, "%s: cannot be written: %s", table->path, strerror(errno));
}

int tune_table_open(cli_state *cli, tune_table *table)
{
    char *head = NULL;
    size_t length = 0;
    int status = make_folders(cli, table->path);
    if (status) return status;
    FILE *to = open_memstream(&head, &length);
    if (!to) return cli_fail(cli, "out of memory for the head of a table");
    status = write_head(cli, to);
    fclose(to);
    /* Made if it is not there, read from the beginning, and appended to. */
    table->file = fopen(table->path, "a+e");
    if (!status && !table->file)
        status = cli_fail(cli, "%s: cannot be opened: %s", table->path, strerror(errno));
    if (!status) {
        rewind(table->file);
        status = check_head(cli, table, head, length);
    }
    free(head);
    return status;
}

bool tune_table_has(const tune_table *table, const char *name)
{
    for (uint64_t i = 0; i < table->count; i++)
        if (!strcmp(table->names[i], name)) return true;
    return false;
}

static void put(FILE *to, double value)
{
    if (isnan(value))
        fputs("\t-", to);
    else
        fprintf(to, "\t%.9g", value);
}

int tune_table_add(cli_state *cli, tune_table *table, const tune_matrix *matrix, const tune_result *result)
{
    FILE *to = table->file;
    dcsr_context_info info;
    if (dcsr_context_get_info(cli->context, &info)) return cli_fail_library(cli);
    fprintf(to, "%s\t%s", matrix->name, matrix->family);
    for (uint64_t i = 0; dcsr_feature_at(i); i++) put(to, dcsr_feature_value(&result->features, i));
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t k = 0; dcsr_spmv_kernel_at(info.device, k); k++)
            put(to, *(const double *)((const char *)&result->cost[k] + kinds[kind].at));
    for (int k = 0; k < VECTOR_KINDS; k++)
        for (int p = 0; p < TUNE_PRODUCTS; p++)
            put(to, *(const double *)((const char *)&result->vector[p] + vector_kinds[k].at));
    fputc('\n', to);
    return fflush(to) ? cli_fail(cli, "%s: cannot be written: %s", table->path, strerror(errno)) : CLI_DONE;
}

int tune_table_close(cli_state *cli, tune_table *table, int status)
{
    for (uint64_t i = 0; i < table->count; i++) free(table->names[i]);
    free(table->names);
    if (table->file && fclose(table->file) && !status)
        status = cli_fail(cli, "%s: cannot be written: %s", table->path, strerror(errno));
    return status;
}
