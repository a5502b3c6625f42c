/* ingest_stream.c: from sources to batches in the queue of one matrix. */
#include "cli/ingest/ingest.h"
#include <stdlib.h>
#include <string.h>

/* How long it waits for edges before it looks for signals, and whether something is due. */
static const double TICK = 0.05;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool deletes(const ingest_stream *stream, int s)
{
    return s >= stream->plan->first_delete;
}

/* ---- The matrix ---- */

/* The row with most entries; what --read bfs starts from unless told otherwise. */
static uint64_t busiest_row(const dcsr_edge_batch *batch)
{
    uint32_t *count = batch->n ? calloc(batch->rows + 1, sizeof *count) : NULL;
    uint64_t best = batch->n ? batch->row_indices[0] : 0;
    for (uint64_t e = 0; count && e < batch->n; e++) {
        uint64_t row = batch->row_indices[e];
        count[row]++;
        if (count[row] > count[best] || (count[row] == count[best] && row < best)) best = row;
    }
    free(count);
    return best;
}

/* The size that the matrix needs for this; what the user fixed stays. */
static void needed_size(const ingest_stream *stream, const dcsr_edge_batch *batch, uint64_t *rows,
                        uint64_t *cols)
{
    const ingest_plan *plan = stream->plan;
    bool square = plan->symmetric || plan->square;
    *rows = larger(stream->rows, batch->rows);
    *cols = larger(stream->cols, batch->cols);
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
    stream->rows = rows;
    stream->cols = cols;
    if (!target) return ingest_matrix_create(stream, rows, cols);
    int status = ingest_target_open(target, &stream->matrix, plan, rows, cols);
    if (status || !target->newest.version) return status;
    if (dcsr_matrix_get_info(stream->matrix, &stream->before)) return cli_fail_library(cli);
    stream->rows = stream->before.rows;
    stream->cols = stream->before.cols;
    return check_fixed(stream);
}

/* What reads the matrix while it changes. */
static int begin_reading(ingest_stream *stream, const dcsr_edge_batch *batch)
{
    const ingest_settings *given = &ingest_given;
    if (!given->read && !given->follow) return CLI_DONE;
    const uint64_t source = given->have_source ? given->source : busiest_row(batch);
    if (given->follow) {
        stream->followers = ingest_followers_create(stream->cli, given->follow, source);
        if (!stream->followers) return cli_fail(stream->cli, "out of memory for what is to follow");
    }
    return given->read
               ? ingest_reader_start(&stream->reader, stream->cli, stream->matrix, given->read, source)
               : CLI_DONE;
}

/* Creates or opens it (the first time), or grows it to fit. */
static int fit_matrix(ingest_stream *stream, const dcsr_edge_batch *batch, bool deleting)
{
    uint64_t rows, cols;
    needed_size(stream, batch, &rows, &cols);
    if (!ingest_matrix_is_open(stream)) {
        int status = open_matrix(stream, rows, cols);
        if (!status) status = begin_reading(stream, batch);
        if (status) return status;
        needed_size(stream, batch, &rows, &cols);
    }
    if (deleting || (rows == stream->rows && cols == stream->cols)) return CLI_DONE;
    stream->rows = rows;
    stream->cols = cols;
    return ingest_matrix_resize(stream, rows, cols);
}

/* ---- Batches ---- */

/* Queues entries of a batch, straight from its arrays where they fit as they are. */
static int queue(ingest_stream *stream, ingest_staged *staged)
{
    const ingest_plan *plan = stream->plan;
    const dcsr_edge_batch *batch = staged->batch;
    const uint64_t *row = batch->row_indices, *col = batch->col_indices;
    const void *values = batch->values;
    staged->n = batch->n;
    if (plan->symmetric || staged->deleting || staged->chosen || batch->type != plan->type) {
        int status = ingest_stage(stream, staged);
        if (status) return status;
        row = stream->staging.row;
        col = stream->staging.col;
        values = stream->staging.values;
    }
    if (!staged->n && !staged->tag) return CLI_DONE;
    dcsr_ticket *ticket = NULL, **wanted = stream->target && stream->target->durable ? &ticket : NULL;
    if (ingest_matrix_change(stream, staged, row, col, plan->type ? values : NULL, wanted))
        return cli_fail_because(stream->cli, "%s: %s", staged->source, dcsr_thread_error());
    return ticket ? ingest_target_take(stream->target, ticket) : CLI_DONE;
}

/* Removes what leaves the window with this batch, and says what of the batch stays in it. A batch that is stored
 * already only moves the window. */
static int slide(ingest_stream *stream, ingest_staged *staged, bool known)
{
    cli_state *cli = stream->cli;
    const dcsr_edge_batch *batch = staged->batch;
    dcsr_edge_batch gone = {0};
    if (!batch->n) return CLI_DONE;
    if (stream->stays_room < batch->n) {
        free(stream->stays);
        stream->stays = malloc(batch->n * sizeof *stream->stays);
        stream->stays_room = stream->stays ? batch->n : 0;
    }
    if (!stream->stays || !ingest_window_take(stream->window, batch, stream->stays, &gone.row_indices,
                                              &gone.col_indices, &gone.n))
        return cli_fail(cli, "out of memory for a window of %llu edges",
                        (unsigned long long)ingest_window_size(stream->window));
    staged->chosen = stream->stays;
    ingest_staged removed = {.batch = &gone, .source = staged->source, .deleting = true};
    return gone.n && !known ? queue(stream, &removed) : CLI_DONE;
}

/* Notes the most segments of a row by now. Looking reads the row table, so not every small batch does it: it
 * may take a twentieth of the time. */
static int look(ingest_stream *stream)
{
    dcsr_matrix_info info;
    double start = cli_now();
    if (start < stream->next_look) return CLI_DONE;
    if (ingest_matrix_get_info(stream, &info)) return cli_fail_library(stream->cli);
    stream->max_segments = larger(stream->max_segments, info.max_segments);
    stream->stored = info.stored;
    stream->bytes = info.bytes;
    stream->next_look = cli_now() + 20 * (cli_now() - start);
    return CLI_DONE;
}

static int send_batch(ingest_stream *stream, const dcsr_edge_batch *batch, int s)
{
    cli_state *cli = stream->cli;
    ingest_staged staged = {.batch = batch, .source = cli->arguments[s], .deleting = deletes(stream, s)};
    if (!staged.deleting && !ingest_holds(stream->plan->type, batch->type))
        return cli_fail(cli, "%s: it has values of type %s, which a matrix of type %s does not hold",
                        staged.source, dcsr_type_name(batch->type), dcsr_type_name(stream->plan->type));
    const dcsr_tag tag = {batch->place.position, batch->place.mark};
    const bool known = stream->resume.position && batch->place.position <= stream->resume.position;
    if (stream->tagged && tag.position) staged.tag = &tag;
    if (stream->target && !stream->matrix) stream->target->late = !stream->sources[s].waits;
    if (known && tag.position == stream->resume.position && tag.mark != stream->resume.mark)
        return cli_fail(cli,
                        "%s: it is not the text of which %llu bytes were ingested before; leave --resume out",
                        staged.source, (unsigned long long)tag.position);
    int status = fit_matrix(stream, batch, staged.deleting);
    if (!status && stream->window) status = slide(stream, &staged, known);
    if (!status && !known) status = queue(stream, &staged);
    if (status || known) return status;
    stream->edges += batch->n;
    stream->batches += batch->n != 0;
    stream->place = batch->place;
    return look(stream);
}

/* ---- Sources ---- */

static void tell(ingest_stream *stream, const dcsr_edge_batch *batch, const char *source)
{
    stream->skipped = stream->skipped_before + batch->skipped;
    if (batch->event) stream->resume.position = 0;
    if (batch->event == DCSR_INPUT_ROTATED)
        cli_warn(stream->cli, "%s: another file has this name now; going on with that", source);
    if (batch->event == DCSR_INPUT_TRUNCATED)
        cli_warn(stream->cli, "%s: it has become shorter; going on from its beginning", source);
}

/* All that comes, until that ends. What has been read when it is interrupted is sent still. */
static int send_all(ingest_stream *stream, int s)
{
    cli_state *cli = stream->cli;
    ingest_source *source = &stream->sources[s];
    dcsr_batch_limits limits = {.most = stream->plan->batch,
                                .every = stream->plan->every,
                                .wait = TICK,
                                .rows = deletes(stream, s) ? 0 : stream->plan->rows,
                                .cols = deletes(stream, s) ? 0 : stream->plan->cols};
    if (stream->window) limits.until = stream->resume.position;
    for (dcsr_edge_batch batch = {0}; !batch.ended;) {
        const bool last = ingest_interrupted();
        if (last && !source->waits) return CLI_DONE;
        if (last) limits.every = limits.wait = 1e-9;
        int status = ingest_source_next(cli, source, &limits, &batch);
        if (status) return status;
        tell(stream, &batch, cli->arguments[s]);
        if (batch.report.ignored_bytes)
            cli_warn(cli,
                     "%s: %llu bytes behind the compressed data, from byte %llu on, were ignored: they are "
                     "not part of it",
                     cli->arguments[s], (unsigned long long)batch.report.ignored_bytes,
                     (unsigned long long)batch.report.ignored_from);
        if (batch.n || batch.ended) status = send_batch(stream, &batch, s);
        if (status) return status;
        if (stream->target && stream->matrix) ingest_target_tick(stream->target, stream->matrix);
        if (stream->followers) ingest_followers_tick(stream->followers, stream->matrix);
        ingest_metrics_tick(stream->metrics, stream, cli->arguments[s]);
        if (last) return CLI_DONE;
    }
    return CLI_DONE;
}

int ingest_send(ingest_stream *stream, int s)
{
    ingest_source *source = &stream->sources[s];
    int status = ingest_source_open(stream->cli, source, ingest_matrix_is_open(stream));
    if (!status && !s) ingest_interrupt_begin();
    stream->tagged = stream->target && stream->cli->argument_count == 1 && source->from.input;
    if (!status && stream->resume.position && source->from.input)
        status = ingest_source_resume(stream->cli, source, &stream->resume, stream->window);
    if (!status && !(ingest_interrupted() && !source->from.input)) status = send_all(stream, s);
    if (status && source->waits) stream->broken = status;
    stream->skipped_before = stream->skipped;
    ingest_source_close(source);
    return stream->broken ? CLI_DONE : status;
}

int ingest_wait(ingest_stream *stream)
{
    const dcsr_edge_batch none = {0};
    int status = ingest_matrix_is_open(stream) ? CLI_DONE : fit_matrix(stream, &none, false);
    if (status) return status;
    cli_progress(stream->cli, "waiting for the store");
    if (stream->target)
        status = ingest_target_wait(stream->target, stream->matrix);
    else if (ingest_matrix_wait(stream))
        status = cli_fail_library(stream->cli);
    stream->next_look = 0;
    return status ? status : look(stream);
}

/* What was sent before something failed is on its way to the log, and gets there. */
void ingest_close(ingest_stream *stream)
{
    free(stream->staging.row);
    free(stream->staging.col);
    free(stream->staging.values);
    free(stream->stays);
    ingest_window_destroy(stream->window);
    if (stream->matrix && stream->target && stream->target->durable) dcsr_matrix_wait(stream->matrix);
    ingest_matrix_destroy(stream);
    dcsr_names_destroy(stream->names);
}
