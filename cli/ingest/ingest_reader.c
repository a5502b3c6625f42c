/* ingest_reader.c: a thread that asks the matrix questions while it changes, and notes how long each takes.
 *
 * A read is all that a user would wait for: taking the view and the search, or the product. */
#include "cli/ingest/ingest.h"
#include <dcsr/bfs.h>
#include <dcsr/spmv.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ingest_reader {
    cli_state *cli;
    dcsr_matrix *matrix;
    ingest_read kind;
    uint64_t source;
    unsigned view_flags;
    pthread_t thread;
    atomic_bool stop;
    double *milliseconds; /* of each read; ascending once stopped */
    size_t count, capacity;
    uint64_t versions, last_version;
    uint64_t reached; /* by the last search */
    void *x, *y;      /* vectors, or the levels in y */
    uint64_t x_room, y_room;
    char *error; /* a sentence, when reading failed */
};

static bool make_room(void **array, uint64_t *room, uint64_t elements)
{
    if (*array && *room >= elements) return true;
    free(*array);
    *array = malloc((elements + 1) * sizeof(double));
    *room = *array ? elements : 0;
    return *array;
}

/* All ones, in the type of a product with the matrix. */
static void fill_ones(void *x, dcsr_type type, uint64_t n)
{
    for (uint64_t j = 0; j < n; j++) {
        switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        ((ctype *)x)[j] = 1;                        \
        break;
#include <dcsr/types.def>
#undef DCSR_X
        default: /* pattern */
            ((double *)x)[j] = 1;
        }
    }
}

/* Before the clock starts: vectors as large as the matrix is now. It may have grown again by the time of the
 * view. */
static bool prepare(ingest_reader *reader, const dcsr_view_info *info)
{
    uint64_t had = reader->x ? reader->x_room : 0;
    if (!make_room(&reader->y, &reader->y_room, info->rows)) return false;
    if (reader->kind == INGEST_READ_BFS) return true;
    if (!make_room(&reader->x, &reader->x_room, info->cols)) return false;
    if (reader->x_room != had) fill_ones(reader->x, info->type, info->cols);
    return true;
}

static dcsr_status query(ingest_reader *reader, dcsr_view *view, const dcsr_view_info *info)
{
    if (reader->kind == INGEST_READ_SPMV) return dcsr_spmv(reader->y, view, reader->x);
    if (reader->source >= info->rows) return DCSR_OK; /* the matrix has not grown that far yet */
    dcsr_bfs_result result;
    dcsr_status status = dcsr_bfs(reader->y, &result, view, reader->source);
    if (!status) reader->reached = result.reached;
    return status;
}

static bool note(ingest_reader *reader, double milliseconds)
{
    if (reader->count == reader->capacity) {
        size_t capacity = reader->capacity ? 2 * reader->capacity : 1024;
        double *grown = realloc(reader->milliseconds, capacity * sizeof *grown);
        if (!grown) return false;
        reader->milliseconds = grown;
        reader->capacity = capacity;
    }
    reader->milliseconds[reader->count++] = milliseconds;
    return true;
}

static bool read_once(ingest_reader *reader)
{
    dcsr_view *view = NULL;
    dcsr_view_info info;
    dcsr_status status = DCSR_OK;
    double start = cli_now(), unclocked = 0;
    bool room = true;
    status = dcsr_view_create(&view, reader->matrix, DCSR_LAYOUT_SEGMENTS, reader->view_flags);
    if (!status) status = dcsr_view_get_info(view, &info);
    if (!status) {
        unclocked = cli_now();
        room = prepare(reader, &info);
        unclocked = cli_now() - unclocked;
        if (room) status = query(reader, view, &info);
    }
    double milliseconds = 1e3 * (cli_now() - start - unclocked);
    dcsr_view_destroy(view);
    if (status || !room || !note(reader, milliseconds)) {
        reader->error = strdup(status ? dcsr_thread_error() : "out of memory");
        return false;
    }
    if (!reader->versions || info.version != reader->last_version) reader->versions++;
    reader->last_version = info.version;
    return true;
}

static void *loop(void *user)
{
    ingest_reader *reader = user;
    for (bool last = false; !last;) {
        last = atomic_load(&reader->stop); /* the last read begins after the last change */
        if (!read_once(reader)) break;
    }
    return NULL;
}

int ingest_reader_start(ingest_reader **out, cli_state *cli, dcsr_matrix *matrix, ingest_read kind,
                        uint64_t source)
{
    *out = NULL;
    dcsr_matrix_info info;
    if (dcsr_matrix_get_info(matrix, &info)) return cli_fail_library(cli);
    ingest_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return cli_fail(cli, "out of memory for the reader");
    reader->cli = cli;
    reader->matrix = matrix;
    reader->kind = kind;
    reader->source = source;
    atomic_init(&reader->stop, false);
    if (kind == INGEST_READ_BFS || info.policy == DCSR_POLICY_SUM) reader->view_flags = DCSR_VIEW_DUPLICATES;
    if (pthread_create(&reader->thread, NULL, loop, reader)) {
        free(reader);
        return cli_fail(cli, "the system refused a thread for --read; check the limits (ulimit -u)");
    }
    *out = reader;
    return CLI_DONE;
}

int ingest_reader_stop(ingest_reader *reader)
{
    atomic_store(&reader->stop, true);
    pthread_join(reader->thread, NULL);
    qsort(reader->milliseconds, reader->count, sizeof *reader->milliseconds, cli_compare_doubles);
    return reader->error ? cli_fail(reader->cli, "reading while edges came in: %s", reader->error) : CLI_DONE;
}

void ingest_reader_put(const ingest_reader *reader, cli_report *report)
{
    static const struct {
        const char *key;
        double q;
    } quantiles[] = {{"read_p50_ms", 0.5}, {"read_p90_ms", 0.9}, {"read_p99_ms", 0.99}, {"read_max_ms", 1.0}};
    double at[4];
    char text[4][CLI_NUMBER];
    bool search = reader->kind == INGEST_READ_BFS;
    char count[CLI_NUMBER], versions[CLI_NUMBER], reached[CLI_NUMBER];
    cli_put_text(report, "read", NULL, search ? "bfs" : "spmv");
    cli_put_count(report, "read_count", NULL, reader->count);
    cli_put_count(report, "read_versions", NULL, reader->versions);
    for (int i = 0; i < 4; i++) {
        at[i] = cli_quantile(reader->milliseconds, reader->count, quantiles[i].q);
        cli_put_real(report, quantiles[i].key, NULL, at[i], "");
    }
    cli_put_line(report, "reads meanwhile", "%s %s, %s versions seen", cli_grouped(count, reader->count),
                 search ? "searches" : "products", cli_grouped(versions, reader->versions));
    cli_put_line(report, "  latency", "median %s, 90%% %s, 99%% %s, worst %s",
                 cli_duration(text[0], at[0] / 1e3), cli_duration(text[1], at[1] / 1e3),
                 cli_duration(text[2], at[2] / 1e3), cli_duration(text[3], at[3] / 1e3));
    if (!search) return;
    cli_put_count(report, "read_source", NULL, reader->source);
    cli_put_count(report, "read_reached", NULL, reader->reached);
    cli_put_line(report, "  last search", "%s vertices from vertex %llu",
                 cli_grouped(reached, reader->reached), (unsigned long long)reader->source);
}

void ingest_reader_free(ingest_reader *reader)
{
    if (!reader) return;
    free(reader->milliseconds);
    free(reader->x);
    free(reader->y);
    free(reader->error);
    free(reader);
}
