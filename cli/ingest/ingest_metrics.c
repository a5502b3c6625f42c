/* ingest_metrics.c: how far an ingestion is: on the terminal, when SIGUSR1 asks, and each second in a file in the
 * text format of Prometheus, which is replaced as a whole, so that who reads it never sees half of it. */
#include "cli/ingest/ingest.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 8192 };

struct ingest_metrics {
    cli_state *cli;
    const char *file;
    double start, next;
    bool failed; /* that has been said */
    char text[MOST_TEXT];
    size_t length;
};

ingest_metrics *ingest_metrics_create(cli_state *cli, const char *file)
{
    ingest_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) return NULL;
    metrics->cli = cli;
    metrics->file = file;
    metrics->start = cli_now();
    return metrics;
}

void ingest_metrics_destroy(ingest_metrics *metrics)
{
    free(metrics);
}

static void put(ingest_metrics *m, const char *name, const char *type, const char *help, double value)
{
    const size_t room = MOST_TEXT - m->length;
    const int length = snprintf(m->text + m->length, room,
                                "# HELP dcsr_ingest_%s %s\n# TYPE dcsr_ingest_%s %s\ndcsr_ingest_%s %.17g\n",
                                name, help, name, type, name, value);
    if (length > 0 && (size_t)length < room) m->length += (size_t)length;
}

static void fill(ingest_metrics *m, const ingest_stream *stream)
{
    const ingest_window *window = stream->window;
    const ingest_target *target = stream->target;
    m->length = 0;
    put(m, "edges_total", "counter", "Edges that were read and sent to the matrix.", (double)stream->edges);
    put(m, "batches_total", "counter", "Batches of them.", (double)stream->batches);
    put(m, "skipped_lines_total", "counter", "Lines that could not be read.", (double)stream->skipped);
    put(m, "position_bytes", "gauge", "Text of the input up to the last batch.",
        (double)stream->place.position);
    put(m, "seconds", "gauge", "Time since it began.", cli_now() - m->start);
    put(m, "matrix_rows", "gauge", "Rows of the matrix.", (double)stream->rows);
    put(m, "matrix_stored", "gauge", "Entries stored, uncombined ones included.", (double)stream->stored);
    put(m, "matrix_bytes", "gauge", "Memory of the matrix.", (double)stream->bytes);
    if (window) {
        put(m, "window_edges", "gauge", "Different edges in the window.", (double)ingest_window_size(window));
        put(m, "late_edges_total", "counter", "Edges whose time was before that of an earlier one.",
            (double)ingest_window_late(window));
    }
    if (target) {
        put(m, "versions_total", "counter", "Versions made.", (double)target->versions);
        put(m, "unacknowledged_batches", "gauge", "Batches that are on their way to the log.",
            (double)(target->sent - target->told));
        put(m, "lost_batches_total", "counter", "Batches in memory alone, as the log could not be written.",
            (double)target->lost);
    }
}

static void write_file(ingest_metrics *m, const ingest_stream *stream)
{
    if (!m->file) return;
    fill(m, stream);
    if (!dcsr_file_write(m->cli->context, m->file, m->text, m->length)) return;
    if (!m->failed) cli_warn(m->cli, "%s; going on without", dcsr_thread_error());
    m->failed = true;
}

static void answer(const ingest_metrics *m, const ingest_stream *stream)
{
    char edges[CLI_NUMBER], batches[CLI_NUMBER], skipped[CLI_NUMBER], time[CLI_NUMBER];
    const double seconds = cli_now() - m->start;
    cli_progress_end(m->cli);
    cli_warn(m->cli, "%s edges in %s batches, %s lines skipped, after %s: %.4g million edges/s",
             cli_grouped(edges, stream->edges), cli_grouped(batches, stream->batches),
             cli_grouped(skipped, stream->skipped), cli_duration(time, seconds),
             1e-6 * (double)stream->edges / seconds);
}

void ingest_metrics_tick(ingest_metrics *metrics, const ingest_stream *stream, const char *source)
{
    char edges[CLI_NUMBER];
    const double now = cli_now();
    cli_progress(metrics->cli, "%s: %s edges", source, cli_grouped(edges, stream->edges));
    if (ingest_asked()) answer(metrics, stream);
    if (now < metrics->next) return;
    write_file(metrics, stream);
    metrics->next = now + 1;
}

void ingest_metrics_end(ingest_metrics *metrics, const ingest_stream *stream)
{
    write_file(metrics, stream);
}
