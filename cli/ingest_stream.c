/* ingest_stream.c: from sources to batches in the queue of one matrix. */
#include "cli/ingest.h"
#include <stdlib.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool deletes(const ingest_stream *stream, int s)
{
    return s >= stream->plan->first_delete;
}

/* The row with most entries; what --read bfs starts from unless told otherwise. */
static uint64_t busiest_row(const dcsr_coo *coo)
{
    uint32_t *count = calloc(coo->rows + 1, sizeof *count);
    if (!count || !coo->nnz) {
        free(count);
        return coo->nnz ? coo->row_indices[0] : 0;
    }
    uint64_t best = coo->row_indices[0];
    for (uint64_t e = 0; e < coo->nnz; e++) {
        uint64_t row = coo->row_indices[e];
        count[row]++;
        if (count[row] > count[best] || (count[row] == count[best] && row < best)) best = row;
    }
    free(count);
    return best;
}

/* The size that the matrix needs for these triples; what the user fixed stays. */
static void needed_size(const ingest_stream *stream, const dcsr_coo *coo, uint64_t *rows, uint64_t *cols)
{
    const ingest_plan *plan = stream->plan;
    bool square = plan->symmetric || plan->square;
    *rows = larger(stream->rows, coo->rows);
    *cols = larger(stream->cols, coo->cols);
    if (square) *rows = *cols = larger(*rows, *cols);
    if (plan->rows) *rows = plan->rows;
    if (plan->cols) *cols = plan->cols;
    if (square && !plan->rows) *rows = *cols;
    if (square && !plan->cols) *cols = *rows;
}

/* A stored matrix may be larger than what the user has fixed, and then would lose entries. */
static int check_fixed(const ingest_stream *stream)
{
    const ingest_plan *plan = stream->plan;
    bool rows = plan->rows && plan->rows < stream->rows, cols = plan->cols && plan->cols < stream->cols;
    if (!rows && !cols) return CLI_DONE;
    return cli_fail(stream->cli, "--%s %llu: %s#%s is %llu x %llu already, and is not made smaller",
                    rows ? "rows" : "cols", (unsigned long long)(rows ? plan->rows : plan->cols),
                    stream->target->stored.store, stream->target->stored.name,
                    (unsigned long long)stream->rows, (unsigned long long)stream->cols);
}

/* The matrix, of this size if it is new. */
static int open_matrix(ingest_stream *stream, uint64_t rows, uint64_t cols)
{
    cli_state *cli = stream->cli;
    const ingest_plan *plan = stream->plan;
    ingest_target *target = stream->target;
    dcsr_matrix_options options = {.policy = plan->policy};
    stream->rows = rows;
    stream->cols = cols;
    if (!target)
        return dcsr_matrix_create(&stream->matrix, cli->context, plan->type, rows, cols, &options)
                   ? cli_fail_library(cli)
                   : CLI_DONE;
    int status = ingest_target_open(target, &stream->matrix, plan, rows, cols);
    if (status || !target->newest.version) return status;
    if (dcsr_matrix_get_info(stream->matrix, &stream->before)) return cli_fail_library(cli);
    stream->rows = stream->before.rows;
    stream->cols = stream->before.cols;
    return check_fixed(stream);
}

/* A source that is being loaded, with a copy of the program's state: this may be left behind. */
typedef struct loading {
    cli_state cli;
    cli_source source;
    dcsr_coo coo;
    int status;
} loading;

static void load(void *user)
{
    loading *l = user;
    l->status = cli_source_load(&l->cli, &l->source, &l->coo);
}

/* Loading may take long, or for ever where it is from a pipe, and nothing waits for it that was sent. */
static int load_source(ingest_stream *stream, dcsr_coo *coo, int s)
{
    cli_state *cli = stream->cli;
    cli_source *source = &stream->sources[s];
    if (!stream->matrix) return cli_source_load(cli, source, coo);
    loading *l = malloc(sizeof *l);
    if (!l) return cli_fail(cli, "out of memory for %s", source->name);
    *l = (loading){.cli = *cli, .source = *source};
    *source = (cli_source){.name = source->name};
    if (!ingest_interruptible(load, l)) return CLI_DONE;
    int status = l->status;
    *cli = l->cli;
    *coo = l->coo;
    free(l);
    return status;
}

int ingest_open(ingest_stream *stream, dcsr_coo *coo, int s)
{
    cli_state *cli = stream->cli;
    const ingest_plan *plan = stream->plan;
    const bool bound = !deletes(stream, s);
    int status = load_source(stream, coo, s);
    if (status || ingest_interrupted()) return status;
    uint64_t rows, cols;
    needed_size(stream, coo, &rows, &cols);
    if (!stream->matrix) {
        if (plan->square) stream->first_source = busiest_row(coo);
        status = open_matrix(stream, rows, cols);
        if (status) return status;
        needed_size(stream, coo, &rows, &cols);
    }
    if (!bound || (rows == stream->rows && cols == stream->cols)) return CLI_DONE;
    stream->rows = rows;
    stream->cols = cols;
    return dcsr_matrix_resize(stream->matrix, rows, cols, NULL) ? cli_fail_library(cli) : CLI_DONE;
}

static bool make_staging(ingest_stream *stream, uint64_t entries)
{
    if (stream->staging >= entries) return true;
    free(stream->row);
    free(stream->col);
    free(stream->values);
    stream->row = malloc(entries * sizeof *stream->row);
    stream->col = malloc(entries * sizeof *stream->col);
    stream->values = malloc(entries * sizeof(double));
    stream->staging = entries;
    return stream->row && stream->col && stream->values;
}

/* Whether values of triples can become values of the matrix; single ones may be too large for it. */
static bool holds(dcsr_type matrix, dcsr_type triples)
{
    bool real = matrix == DCSR_FP32 || matrix == DCSR_FP64;
    return triples == DCSR_PATTERN || real || (triples == DCSR_INT64 && matrix != DCSR_PATTERN);
}

/* Value e of the triples, in the type of the matrix; patterns count as 1. False when it does not fit. */
static bool copy_value(void *to, uint64_t at, dcsr_type type, const dcsr_coo *coo, uint64_t e)
{
    const double real = coo->type == DCSR_FP64 ? ((const double *)coo->values)[e] : 0;
    const int64_t whole = coo->type == DCSR_INT64 ? ((const int64_t *)coo->values)[e] : 1;
    switch (type) {
    case DCSR_FP32:
        ((float *)to)[at] = coo->type == DCSR_FP64 ? (float)real : (float)whole;
        return true;
    case DCSR_FP64:
        ((double *)to)[at] = coo->type == DCSR_FP64 ? real : (double)whole;
        return true;
#define WHOLE(NAME, ctype, minimum)       \
    case DCSR_##NAME:                     \
        ((ctype *)to)[at] = (ctype)whole; \
        return (int64_t)(ctype)whole == whole && (whole >= 0 || (minimum) < 0);
        WHOLE(BOOL, bool, 0)
        WHOLE(INT8, int8_t, INT8_MIN)
        WHOLE(INT16, int16_t, INT16_MIN)
        WHOLE(INT32, int32_t, INT32_MIN)
        WHOLE(INT64, int64_t, INT64_MIN)
        WHOLE(UINT8, uint8_t, 0)
        WHOLE(UINT16, uint16_t, 0)
        WHOLE(UINT32, uint32_t, 0)
        WHOLE(UINT64, uint64_t, 0)
#undef WHOLE
    default: /* a pattern has no values */
        return true;
    }
}

/* A batch of a source, and whether it is to be deleted. */
typedef struct batch {
    const dcsr_coo *coo;
    const char *source;
    uint64_t first, n; /* triples */
    bool deleting;
} batch;

/* Puts the triples of a batch and their mirrors into staging; *n is how many entries that makes. Edges
 * outside the matrix are left out when deleting: they are not stored. */
static int stage(ingest_stream *stream, const batch *b, uint64_t *n)
{
    const ingest_plan *plan = stream->plan;
    const dcsr_coo *coo = b->coo;
    uint64_t out = 0;
    for (uint64_t e = b->first; e < b->first + b->n; e++) {
        uint64_t row = coo->row_indices[e], col = coo->col_indices[e];
        for (int mirrored = 0; mirrored <= (plan->symmetric && row != col); mirrored++) {
            uint64_t i = mirrored ? col : row, j = mirrored ? row : col;
            if (b->deleting && (i >= stream->rows || j >= stream->cols)) {
                stream->left_out++;
                continue;
            }
            stream->row[out] = i;
            stream->col[out] = j;
            if (!b->deleting && !copy_value(stream->values, out, plan->type, coo, e))
                return cli_fail(stream->cli,
                                "%s: the value %lld at (%llu,%llu) is beyond %s, the matrix's type",
                                b->source, (long long)((const int64_t *)coo->values)[e],
                                (unsigned long long)row, (unsigned long long)col, dcsr_type_name(plan->type));
            out++;
        }
    }
    *n = out;
    return CLI_DONE;
}

/* Queues a batch, straight from the arrays where the triples fit as they are. */
static int queue(ingest_stream *stream, const batch *b)
{
    const ingest_plan *plan = stream->plan;
    const uint64_t *row = b->coo->row_indices + b->first, *col = b->coo->col_indices + b->first;
    const void *values = NULL;
    uint64_t n = b->n;
    if (plan->symmetric || b->deleting || b->coo->type != plan->type) {
        int status = stage(stream, b, &n);
        if (status) return status;
        row = stream->row;
        col = stream->col;
        values = stream->values;
    } else if (plan->type) {
        values = (const char *)b->coo->values + b->first * dcsr_type_size(plan->type);
    }
    if (!n) return CLI_DONE;
    stream->batches++;
    dcsr_ticket *ticket = NULL, **wanted = stream->target && stream->target->durable ? &ticket : NULL;
    if (b->deleting ? dcsr_matrix_remove(stream->matrix, n, row, col, wanted)
                    : dcsr_matrix_insert(stream->matrix, n, row, col, plan->type ? values : NULL, wanted))
        return cli_fail_because(stream->cli, "%s: %s", b->source, dcsr_thread_error());
    return ticket ? ingest_target_take(stream->target, ticket) : CLI_DONE;
}

/* Notes the most segments of a row by now. Looking reads the row table, so not every small batch does it: it
 * may take a twentieth of the time. */
static dcsr_status look(ingest_stream *stream)
{
    dcsr_matrix_info info;
    double start = cli_now();
    if (start < stream->next_look) return DCSR_OK;
    dcsr_status status = dcsr_matrix_get_info(stream->matrix, &info);
    if (!status) stream->max_segments = larger(stream->max_segments, info.max_segments);
    stream->next_look = cli_now() + 20 * (cli_now() - start);
    return status;
}

int ingest_send(ingest_stream *stream, const dcsr_coo *coo, int s)
{
    cli_state *cli = stream->cli;
    batch b = {.coo = coo, .source = cli->arguments[s], .deleting = deletes(stream, s)};
    uint64_t most = stream->plan->batch < coo->nnz ? stream->plan->batch : coo->nnz;
    if (!b.deleting && !holds(stream->plan->type, coo->type)) {
        return cli_fail(cli, "%s: it has values of type %s, which a matrix of type %s does not hold",
                        b.source, dcsr_type_name(coo->type), dcsr_type_name(stream->plan->type));
    }
    if (!make_staging(stream, 2 * most + 1)) {
        return cli_fail(cli, "out of memory for a batch of %llu edges; use a smaller --batch",
                        (unsigned long long)most);
    }
    for (; b.first < coo->nnz && !ingest_interrupted(); b.first += b.n) {
        b.n = coo->nnz - b.first < most ? coo->nnz - b.first : most;
        cli_progress(cli, "%s %s: %3.0f%%", b.deleting ? "deleting" : "inserting", b.source,
                     100.0 * (double)b.first / (double)coo->nnz);
        int status = queue(stream, &b);
        if (status) return status;
        if (look(stream)) return cli_fail_library(cli);
    }
    return CLI_DONE;
}

int ingest_wait(ingest_stream *stream)
{
    cli_progress(stream->cli, "waiting for the store");
    if (stream->target) return ingest_target_wait(stream->target, stream->matrix);
    return dcsr_matrix_wait(stream->matrix) ? cli_fail_library(stream->cli) : CLI_DONE;
}

/* What was sent before something failed is on its way to the log, and gets there. */
void ingest_close(ingest_stream *stream)
{
    free(stream->row);
    free(stream->col);
    free(stream->values);
    if (!stream->matrix) return;
    if (stream->target && stream->target->durable) dcsr_matrix_wait(stream->matrix);
    dcsr_matrix_destroy(stream->matrix);
}
