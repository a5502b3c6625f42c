/* graph_answer.c: the answer of a graph algorithm, vertex by vertex: in a file, and the best. */
#include "cli/graph/graph_task.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

double graph_number(const graph_task *t, int column, uint64_t v)
{
    const void *answer = t->answer[column];
    switch (t->algorithm->columns[column].type) {
    case DCSR_BOOL: /* who is no member has no answer */
        return ((const bool *)answer)[v] ? 1 : NAN;
    case DCSR_INT32: /* -1: it has none */
        return ((const int32_t *)answer)[v] < 0 ? NAN : ((const int32_t *)answer)[v];
    case DCSR_UINT32: /* DCSR_NO_VERTEX: the same */
        return ((const uint32_t *)answer)[v] == UINT32_MAX ? NAN : ((const uint32_t *)answer)[v];
    case DCSR_UINT64:
        return (double)((const uint64_t *)answer)[v];
    default:
        return ((const double *)answer)[v];
    }
}

static dcsr_text name_of(const graph_task *t, uint64_t v)
{
    dcsr_text name = {0};
    if (t->names && dcsr_names_get(t->names, 1, &v, &name)) name.length = 0;
    return name;
}

/* ---- --out ---- */

int graph_check_out(cli_state *cli)
{
    struct stat in, out;
    const char *file = graph_given.out, *matrix = cli->arguments[0];
    if (!file) return CLI_DONE;
    if (!strcmp(file, "-")) file = graph_given.out = "/dev/stdout";
    if (cli->json && cli_is_standard_output(file))
        return cli_fail(cli, "%s: it is standard output, where --json puts its object; leave one of them out",
                        file);
    if (stat(file, &out) || stat(matrix, &in) || in.st_dev != out.st_dev || in.st_ino != out.st_ino ||
        !S_ISREG(out.st_mode))
        return CLI_DONE;
    return cli_fail(cli, "--out %s: it is the graph itself; give the answer another name", file);
}

/* Whether a name is one field of a line as it stands. */
static bool is_plain(const dcsr_text *name)
{
    for (size_t i = 0; i < name->length; i++)
        if (strchr(" \t\",\r\n", name->bytes[i])) return false;
    return name->length && *name->bytes != '#' && *name->bytes != '%';
}

/* A vertex by its name, in quotes where it would not be one field, or by its number. */
static void write_vertex(FILE *out, const graph_task *t, uint64_t v)
{
    const dcsr_text name = name_of(t, v);
    if (!name.length) {
        fprintf(out, "%" PRIu64, v);
    } else if (is_plain(&name)) {
        fwrite(name.bytes, 1, name.length, out);
    } else {
        fputc('"', out);
        for (size_t i = 0; i < name.length; i++) {
            if (name.bytes[i] == '"') fputc('"', out);
            fputc(name.bytes[i], out);
        }
        fputc('"', out);
    }
}

static void write_line(FILE *out, const graph_task *t, uint64_t v)
{
    const graph_column *columns = t->algorithm->columns;
    const double first = graph_number(t, 0, v);
    if (isnan(first) || (first == INFINITY && columns[0].type == DCSR_FP64)) return;
    write_vertex(out, t, v);
    for (int c = 0; c < GRAPH_COLUMNS && t->answer[c]; c++) {
        fputc('\t', out);
        if (columns[c].vertex && !isnan(graph_number(t, c, v)))
            write_vertex(out, t, (uint64_t)graph_number(t, c, v));
        else if (columns[c].vertex)
            fputc('-', out);
        else if (columns[c].type == DCSR_FP64)
            fprintf(out, "%.17g", graph_number(t, c, v));
        else
            fprintf(out, "%.0f", graph_number(t, c, v));
    }
    fputc('\n', out);
}

int graph_write_out(const graph_task *t)
{
    char *text = NULL;
    size_t length = 0;
    const char *file = graph_given.out;
    FILE *out = open_memstream(&text, &length);
    if (!out) return cli_fail(t->cli, "%s: out of memory for the answer", file);
    cli_progress(t->cli, "writing %s", file);
    for (uint64_t v = 0; v < t->vertices; v++) write_line(out, t, v);
    const bool failed = ferror(out);
    int status =
        fclose(out) || failed ? cli_fail(t->cli, "%s: out of memory for the answer", file) : CLI_DONE;
    if (!status && dcsr_file_write(t->cli->context, file, text, length)) status = cli_fail_library(t->cli);
    free(text);
    return status;
}

/* ---- --top ---- */

/* A heap of the best so far, the worst of them at its root: lower score, of equals the higher vertex. */
typedef struct ranking {
    const double *score;
    uint64_t *heap, count;
} ranking;

static bool is_worse(const ranking *r, uint64_t u, uint64_t v)
{
    return r->score[u] < r->score[v] || (r->score[u] == r->score[v] && u > v);
}

static void sift_down(ranking *r, uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < r->count; at = child) {
        if (child + 1 < r->count && is_worse(r, r->heap[child + 1], r->heap[child])) child++;
        if (is_worse(r, r->heap[at], r->heap[child])) return;
        const uint64_t v = r->heap[at];
        r->heap[at] = r->heap[child];
        r->heap[child] = v;
    }
}

/* The best `most` of n vertices, best first. */
static void select_best(ranking *r, uint64_t n, uint64_t most)
{
    for (uint64_t v = 0; v < n && most; v++) {
        if (!(r->score[v] > 0)) continue;
        if (r->count < most) {
            r->heap[r->count++] = v;
            if (r->count == most)
                for (uint64_t at = most / 2; at--;) sift_down(r, at);
        } else if (is_worse(r, r->heap[0], v)) {
            r->heap[0] = v;
            sift_down(r, 0);
        }
    }
    const uint64_t found = r->count;
    if (found < most)
        for (uint64_t at = found / 2; at--;) sift_down(r, at);
    while (r->count > 1) {
        const uint64_t worst = r->heap[0];
        r->heap[0] = r->heap[--r->count];
        r->heap[r->count] = worst;
        sift_down(r, 0);
    }
    r->count = found;
}

int graph_put_top(cli_report *report, graph_task *t)
{
    const graph_algorithm *a = t->algorithm;
    const uint64_t most = graph_given.top < t->vertices ? graph_given.top : t->vertices;
    double *score = calloc(t->vertices + 1, sizeof *score);
    ranking r = {.score = score, .heap = calloc(most + 1, sizeof *r.heap)};
    int status = CLI_DONE;
    if (!score || !r.heap) {
        status = cli_fail(t->cli, "out of memory for the best of %" PRIu64 " vertices", t->vertices);
    } else {
        if (a->rank)
            a->rank(score, t);
        else
            for (uint64_t v = 0; v < t->vertices; v++) score[v] = graph_number(t, 0, v);
        select_best(&r, t->vertices, most);
        cli_put_list(report, "top");
        for (uint64_t i = 0; i < r.count; i++) {
            const dcsr_text name = name_of(t, r.heap[i]);
            char *copy = name.length ? strndup(name.bytes, name.length) : NULL;
            cli_put_scored(report, "top", i ? "" : "top", r.heap[i], score[r.heap[i]],
                           !a->rank && a->columns[0].type == DCSR_FP64, copy);
            free(copy);
        }
    }
    free(r.heap);
    free(score);
    return status;
}
