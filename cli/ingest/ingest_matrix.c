/* ingest_matrix.c: the matrix in memory that edges go into: on one device, or in parts on several, which does not
 * grow. */
#include "cli/ingest/ingest.h"

bool ingest_matrix_is_open(const ingest_stream *stream)
{
    return stream->matrix || stream->parts;
}

int ingest_matrix_create(ingest_stream *stream, uint64_t rows, uint64_t cols)
{
    const ingest_plan *plan = stream->plan;
    cli_state *cli = stream->cli;
    const dcsr_status status =
        cli->multi
            ? dcsr_multi_matrix_create(&stream->parts, cli->multi, plan->type, rows, cols, &plan->options)
            : dcsr_matrix_create(&stream->matrix, cli->context, plan->type, rows, cols, &plan->options);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

int ingest_matrix_resize(ingest_stream *stream, uint64_t rows, uint64_t cols)
{
    cli_state *cli = stream->cli;
    if (stream->parts)
        return cli_fail(
            cli,
            "edges up to %llu x %llu: on several devices a matrix does not grow; give --rows and --cols "
            "that are large enough for all",
            (unsigned long long)rows, (unsigned long long)cols);
    return dcsr_matrix_resize(stream->matrix, rows, cols, NULL) ? cli_fail_library(cli) : CLI_DONE;
}

dcsr_status ingest_matrix_change(ingest_stream *stream, const ingest_staged *staged, const uint64_t *row,
                                 const uint64_t *col, const void *values, dcsr_ticket **ticket)
{
    const uint64_t n = staged->n;
    if (!stream->parts)
        return staged->deleting
                   ? dcsr_matrix_remove_tagged(stream->matrix, n, row, col, staged->tag, ticket)
                   : dcsr_matrix_insert_tagged(stream->matrix, n, row, col, values, staged->tag, ticket);
    return staged->deleting ? dcsr_multi_matrix_remove(stream->parts, n, row, col, ticket)
                            : dcsr_multi_matrix_insert(stream->parts, n, row, col, values, ticket);
}

dcsr_status ingest_matrix_wait(ingest_stream *stream)
{
    return stream->parts ? dcsr_multi_matrix_wait(stream->parts) : dcsr_matrix_wait(stream->matrix);
}

dcsr_status ingest_matrix_get_info(const ingest_stream *stream, dcsr_matrix_info *info)
{
    if (!stream->parts) return dcsr_matrix_get_info(stream->matrix, info);
    dcsr_multi_matrix_info all;
    const dcsr_status status = dcsr_multi_matrix_get_info(stream->parts, &all);
    *info = all.whole;
    return status;
}

dcsr_status ingest_matrix_get_nnz(const ingest_stream *stream, uint64_t *nnz, dcsr_multi_view_info *parts)
{
    if (!stream->parts) return dcsr_matrix_get_nnz(stream->matrix, nnz);
    dcsr_multi_view *view;
    dcsr_status status = dcsr_multi_view_create(&view, stream->parts, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_multi_view_get_info(view, parts);
    dcsr_multi_view_destroy(view);
    if (!status) *nnz = parts->nnz;
    return status;
}

void ingest_matrix_destroy(ingest_stream *stream)
{
    dcsr_matrix_destroy(stream->matrix);
    dcsr_multi_matrix_destroy(stream->parts);
}
