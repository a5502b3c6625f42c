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
        return coo->nnz ? coo->row[0] : 0;
    }
    uint64_t best = coo->row[0];
    for (uint64_t e = 0; e < coo->nnz; e++) {
        uint64_t row = coo->row[e];
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
    *rows = larger(stream->rows, square ? larger(coo->rows, coo->cols) : coo->rows);
    *cols = larger(stream->cols, square ? larger(coo->rows, coo->cols) : coo->cols);
    if (plan->rows) *rows = plan->rows;
    if (plan->cols) *cols = plan->cols;
    if (square && !plan->rows) *rows = *cols;
    if (square && !plan->cols) *cols = *rows;
}

int ingest_open(ingest_stream *stream, dcsr_coo *coo, int s)
{
    cli_state *cli = stream->cli;
    const ingest_plan *plan = stream->plan;
    bool bound = !deletes(stream, s);
    int status = cli_load_coo(cli, coo, cli->arguments[s], bound ? plan->rows : 0, bound ? plan->cols : 0);
    if (status) return status;
    uint64_t rows, cols;
    needed_size(stream, coo, &rows, &cols);
    dcsr_status result = DCSR_OK;
    if (!stream->matrix) {
        dcsr_matrix_options options = {.policy = plan->policy};
        result = dcsr_matrix_create(&stream->matrix, cli->context, plan->type, rows, cols, &options);
        if (plan->square) stream->first_source = busiest_row(coo);
    } else if (bound && (rows != stream->rows || cols != stream->cols)) {
        result = dcsr_matrix_resize(stream->matrix, rows, cols, NULL);
    } else {
        return CLI_DONE;
    }
    stream->rows = rows;
    stream->cols = cols;
    return result ? cli_fail_library(cli) : CLI_DONE;
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

/* Value e of the triples, in the type of the matrix; patterns count as 1. */
static void copy_value(void *to, uint64_t at, dcsr_type type, const dcsr_coo *coo, uint64_t e)
{
    if (type == DCSR_INT64) {
        ((int64_t *)to)[at] = coo->type == DCSR_INT64 ? ((const int64_t *)coo->values)[e] : 1;
    } else if (type == DCSR_FP64) {
        ((double *)to)[at] = coo->type == DCSR_FP64    ? ((const double *)coo->values)[e]
                             : coo->type == DCSR_INT64 ? (double)((const int64_t *)coo->values)[e]
                                                       : 1;
    }
}

/* Puts triples first .. first+n-1 and their mirrors into staging; returns how many entries that makes. Edges
 * outside the matrix are left out when deleting: they are not stored. */
static uint64_t stage(ingest_stream *stream, const dcsr_coo *coo, uint64_t first, uint64_t n, bool deleting)
{
    const ingest_plan *plan = stream->plan;
    uint64_t out = 0;
    for (uint64_t e = first; e < first + n; e++) {
        uint64_t row = coo->row[e], col = coo->col[e];
        for (int mirrored = 0; mirrored <= (plan->symmetric && row != col); mirrored++) {
            uint64_t i = mirrored ? col : row, j = mirrored ? row : col;
            if (deleting && (i >= stream->rows || j >= stream->cols)) {
                stream->left_out++;
                continue;
            }
            stream->row[out] = i;
            stream->col[out] = j;
            copy_value(stream->values, out, plan->type, coo, e);
            out++;
        }
    }
    return out;
}

/* Queues triples first .. first+n-1, straight from the arrays where they fit as they are. */
static dcsr_status queue(ingest_stream *stream, const dcsr_coo *coo, uint64_t first, uint64_t n,
                         bool deleting)
{
    const ingest_plan *plan = stream->plan;
    const uint64_t *row = coo->row + first, *col = coo->col + first;
    const void *values = plan->type ? (const char *)coo->values + first * dcsr_type_size(plan->type) : NULL;
    if (plan->symmetric || deleting || coo->type != plan->type) {
        n = stage(stream, coo, first, n, deleting);
        row = stream->row;
        col = stream->col;
        values = plan->type ? stream->values : NULL;
    }
    if (!n) return DCSR_OK;
    stream->batches++;
    return deleting ? dcsr_matrix_remove(stream->matrix, n, row, col, NULL)
                    : dcsr_matrix_insert(stream->matrix, n, row, col, values, NULL);
}

int ingest_send(ingest_stream *stream, const dcsr_coo *coo, int s)
{
    cli_state *cli = stream->cli;
    const char *source = cli->arguments[s];
    uint64_t batch = stream->plan->batch < coo->nnz ? stream->plan->batch : coo->nnz;
    if (coo->type > stream->plan->type && !deletes(stream, s)) {
        return cli_fail(cli, "%s: it has values of type %s, the matrix has type %s; name this input alone",
                        source, dcsr_type_name(coo->type), dcsr_type_name(stream->plan->type));
    }
    if (!make_staging(stream, 2 * batch + 1)) {
        return cli_fail(cli, "out of memory for a batch of %llu edges; use a smaller --batch",
                        (unsigned long long)batch);
    }
    for (uint64_t first = 0; first < coo->nnz; first += batch) {
        uint64_t n = coo->nnz - first < batch ? coo->nnz - first : batch;
        cli_progress(cli, "%s %s: %3.0f%%", deletes(stream, s) ? "deleting" : "inserting", source,
                     100.0 * (double)first / (double)coo->nnz);
        if (queue(stream, coo, first, n, deletes(stream, s))) {
            return cli_fail(cli, "%s: %s", source, dcsr_context_error(cli->context));
        }
        dcsr_matrix_info info;
        if (dcsr_matrix_get_info(stream->matrix, &info)) return cli_fail_library(cli);
        stream->max_segments = larger(stream->max_segments, info.max_segments);
    }
    return CLI_DONE;
}

void ingest_close(ingest_stream *stream)
{
    free(stream->row);
    free(stream->col);
    free(stream->values);
    dcsr_matrix_destroy(stream->matrix);
}
