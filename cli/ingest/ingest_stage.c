/* ingest_stage.c: entries as the matrix takes them: of its type, with their mirrors, of a batch that may have more
 * than are wanted. */
#include "cli/ingest/ingest.h"
#include <stdlib.h>

static bool make_room(ingest_staging *staging, uint64_t entries)
{
    if (staging->room >= entries) return true;
    free(staging->row);
    free(staging->col);
    free(staging->values);
    staging->row = malloc(entries * sizeof *staging->row);
    staging->col = malloc(entries * sizeof *staging->col);
    staging->values = malloc(entries * sizeof(double));
    staging->room = staging->row && staging->col && staging->values ? entries : 0;
    return staging->room;
}

bool ingest_holds(dcsr_type matrix, dcsr_type batch)
{
    bool real = matrix == DCSR_FP32 || matrix == DCSR_FP64;
    return batch == DCSR_PATTERN || real || (batch == DCSR_INT64 && matrix != DCSR_PATTERN);
}

/* Value e of the batch, in the type of the matrix; patterns count as 1. False when it does not fit. */
static bool copy_value(void *to, uint64_t at, dcsr_type type, const dcsr_edge_batch *batch, uint64_t e)
{
    const double real = batch->type == DCSR_FP64 ? ((const double *)batch->values)[e] : 0;
    const int64_t whole = batch->type == DCSR_INT64 ? ((const int64_t *)batch->values)[e] : 1;
    switch (type) {
    case DCSR_FP32:
        ((float *)to)[at] = batch->type == DCSR_FP64 ? (float)real : (float)whole;
        return true;
    case DCSR_FP64:
        ((double *)to)[at] = batch->type == DCSR_FP64 ? real : (double)whole;
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

int ingest_stage(ingest_stream *stream, ingest_staged *staged)
{
    const ingest_plan *plan = stream->plan;
    const dcsr_edge_batch *batch = staged->batch;
    ingest_staging *to = &stream->staging;
    uint64_t out = 0;
    if (!make_room(to, 2 * batch->n + 1))
        return cli_fail(stream->cli, "out of memory for a batch of %llu edges; use a smaller --batch",
                        (unsigned long long)batch->n);
    for (uint64_t e = 0; e < batch->n; e++) {
        uint64_t row = batch->row_indices[e], col = batch->col_indices[e];
        if (staged->chosen && !staged->chosen[e]) continue;
        for (int mirrored = 0; mirrored <= (plan->symmetric && row != col); mirrored++) {
            uint64_t i = mirrored ? col : row, j = mirrored ? row : col;
            if (staged->deleting && (i >= stream->rows || j >= stream->cols)) {
                stream->left_out++;
                continue;
            }
            to->row[out] = i;
            to->col[out] = j;
            if (!staged->deleting && !copy_value(to->values, out, plan->type, batch, e))
                return cli_fail(stream->cli,
                                "%s: the value %lld at (%llu,%llu) is beyond %s, the matrix's type",
                                staged->source, (long long)((const int64_t *)batch->values)[e],
                                (unsigned long long)row, (unsigned long long)col, dcsr_type_name(plan->type));
            out++;
        }
    }
    staged->n = out;
    return CLI_DONE;
}
