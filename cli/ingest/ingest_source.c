/* ingest_source.c: one of the EDGES, in batches: a file or a pipe as it is read, anything else as the triples that
 * it stands for. */
#include "cli/ingest/ingest.h"
#include <stdlib.h>

/* A source that is being opened, with a copy of the program's state: this may be left behind. */
typedef struct opening {
    cli_state cli;
    cli_source from;
    dcsr_coo coo;
    int status;
} opening;

static void open_source(void *user)
{
    opening *o = user;
    const bool file = !o->from.loaded && (o->from.input || cli_source_is_file(o->from.name));
    o->status = file ? cli_source_open(&o->cli, &o->from) : cli_source_load(&o->cli, &o->from, &o->coo);
}

/* Opening may take long, or for ever where it is a pipe without a writer, and nothing waits for it that was
 * sent. */
int ingest_source_open(cli_state *cli, ingest_source *source, bool late)
{
    opening *o = malloc(sizeof *o);
    if (!o) return cli_fail(cli, "out of memory for %s", source->from.name);
    *o = (opening){.cli = *cli, .from = source->from};
    source->from = (cli_source){.name = source->from.name, .lines = source->from.lines};
    if (!late)
        open_source(o);
    else if (!ingest_interruptible(open_source, o))
        return CLI_DONE;
    int status = o->status;
    *cli = o->cli;
    source->from = o->from;
    source->coo = o->coo;
    free(o);
    if (status || !source->from.input) return status;
    if (dcsr_input_look(source->from.input, NULL, &source->waits)) return cli_fail_library(cli);
    source->waits = source->waits || (source->from.lines && source->from.lines->follow);
    return CLI_DONE;
}

static int open_anew(cli_state *cli, ingest_source *source)
{
    dcsr_input_close(source->from.input);
    source->from.input = NULL;
    return cli_source_open(cli, &source->from);
}

int ingest_source_resume(cli_state *cli, ingest_source *source, dcsr_input_place *place, bool again)
{
    bool stream = false;
    dcsr_input_look(source->from.input, NULL, &stream);
    if (stream && again) return CLI_DONE;
    const bool follows = source->from.lines && source->from.lines->follow;
    const dcsr_status status = dcsr_input_seek(source->from.input, place);
    if (status == DCSR_ERROR_INVALID_ARGUMENT && !follows)
        return cli_fail_because(cli, "%s, without --resume", dcsr_thread_error());
    if (status && status != DCSR_ERROR_INVALID_ARGUMENT) return cli_fail_library(cli);
    if (status)
        cli_warn(cli, "%s: another file has this name now; going on with that", source->from.name);
    else if (again)
        return open_anew(cli, source);
    *place = (dcsr_input_place){0};
    return status ? open_anew(cli, source) : CLI_DONE;
}

int ingest_source_next(cli_state *cli, ingest_source *source, const dcsr_batch_limits *limits,
                       dcsr_edge_batch *batch)
{
    const dcsr_coo *coo = &source->coo;
    *batch = (dcsr_edge_batch){0};
    if (source->from.input) {
        dcsr_batch_limits timed = *limits;
        if (source->waits && !(timed.every > 0)) timed.every = 1;
        return dcsr_input_read_batch(batch, source->from.input, &timed) ? cli_fail_library(cli) : CLI_DONE;
    }
    const uint64_t left = coo->nnz - source->next;
    *batch = (dcsr_edge_batch){.n = left < limits->most ? left : limits->most,
                               .rows = coo->rows,
                               .cols = coo->cols,
                               .row_indices = coo->row_indices + source->next,
                               .col_indices = coo->col_indices + source->next,
                               .type = coo->type};
    if (coo->type) batch->values = (const char *)coo->values + source->next * dcsr_type_size(coo->type);
    source->next += batch->n;
    batch->ended = source->next == coo->nnz;
    return CLI_DONE;
}

void ingest_source_close(ingest_source *source)
{
    cli_source_close(&source->from);
    source->from.input = NULL;
    dcsr_coo_free(&source->coo);
}
