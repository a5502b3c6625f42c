/* split_cuda.c: splitting the chunks of a change on the GPU that has them, and bringing each owner its share. */
#include "multi/split_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"

static const char doing[] = "splitting a batch";

/* What splitting takes on the device of the chunks. */
typedef struct splitting {
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_batch batch;
    uint64_t *whole, *whole_words; /* keys of the whole matrix, all chunks */
    uint32_t *owner, *owner_spare, *number, *number_spare;
    uint64_t *keys, *words, *begins; /* by owner; where those of each begin */
    uint64_t first[DCSR_MAX_DEVICES + 1];
} splitting;

static void *take(const splitting *s, uint64_t n, size_t size)
{
    return dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, n, size);
}

static dcsr_status open_splitting(splitting *s, bool values)
{
    const uint64_t n = s->batch.n, n_words = values ? n : 0;
    const bool taken =
        (s->whole = take(s, n, sizeof *s->whole)) && (s->whole_words = take(s, n_words, sizeof *s->words)) &&
        (s->owner = take(s, n, sizeof *s->owner)) && (s->owner_spare = take(s, n, sizeof *s->owner)) &&
        (s->number = take(s, n, sizeof *s->number)) && (s->number_spare = take(s, n, sizeof *s->number)) &&
        (s->keys = take(s, n, sizeof *s->keys)) && (s->words = take(s, n_words, sizeof *s->words)) &&
        (s->begins = take(s, s->batch.parts + 1, sizeof *s->begins));
    s->batch.keys = s->whole;
    s->batch.words = values ? s->whole_words : NULL;
    return taken ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void give(const splitting *s, void *block, uint64_t n, size_t size)
{
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, block, n, size);
}

static void close_splitting(const splitting *s, bool values)
{
    const uint64_t n = s->batch.n, n_words = values ? n : 0;
    give(s, s->whole, n, sizeof *s->whole);
    give(s, s->whole_words, n_words, sizeof *s->words);
    give(s, s->owner, n, sizeof *s->owner);
    give(s, s->owner_spare, n, sizeof *s->owner);
    give(s, s->number, n, sizeof *s->number);
    give(s, s->number_spare, n, sizeof *s->number);
    give(s, s->keys, n, sizeof *s->keys);
    give(s, s->words, n_words, sizeof *s->words);
    give(s, s->begins, s->batch.parts + 1, sizeof *s->begins);
}

/* Waits for a chunk from arrays on the device to have been read, and looks at what was found in them. */
static dcsr_status receive(const dcsr_i_operation *chunk)
{
    const dcsr_i_packed *batch = &chunk->batch;
    const dcsr_i_cuda_verdict *found = batch->arrival.verdict;
    if (!batch->arrival.packed) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_event_wait(batch->arrival.packed, chunk->context->cuda, doing));
    if (found->outside == UINT64_MAX) return DCSR_OK;
    return dcsr_i_fail_outside(chunk->kind == DCSR_I_INSERT ? "dcsr_multi_matrix_insert_device"
                                                            : "dcsr_multi_matrix_remove_device",
                               found->outside, batch->n, found->row, found->col, batch->rows, batch->cols);
}

/* All chunks one behind the other. */
static dcsr_status gather(const splitting *s, const dcsr_i_operation *first)
{
    uint64_t at = 0;
    for (const dcsr_i_operation *chunk = first; chunk; chunk = chunk->next) {
        const dcsr_i_packed *batch = &chunk->batch;
        DCSR_TRY(receive(chunk));
        dcsr_i_cuda_copy(s->stream, s->whole + at, batch->arrival.keys, batch->n * sizeof *s->whole);
        if (s->batch.words)
            dcsr_i_cuda_copy(s->stream, s->whole_words + at, batch->arrival.words,
                             batch->n * sizeof *s->whole_words);
        at += batch->n;
    }
    return DCSR_OK;
}

/* Keys and words by owner, and where those of each begin. */
static dcsr_status split_there(splitting *s, const dcsr_i_operation *chunks)
{
    const uint32_t parts = s->batch.parts;
    DCSR_TRY(gather(s, chunks));
    dcsr_i_cuda_split_find(s->stream, &s->batch, s->owner, s->number);
    if (parts > 1)
        DCSR_TRY(dcsr_i_cuda_sort_u32(s->stream, &s->owner, &s->owner_spare, &s->number, &s->number_spare,
                                      s->batch.n, dcsr_i_bits_for(parts)));
    dcsr_i_cuda_find_begins_u32(s->stream, s->owner, s->batch.n, parts, s->begins);
    dcsr_i_cuda_split_pack(s->stream, &s->batch, s->owner, s->number, s->keys,
                           s->batch.words ? s->words : NULL);
    return dcsr_i_cuda_read_back(s->stream, s->first, s->begins, (parts + 1) * sizeof *s->begins, doing);
}

/* Copies a part's share to its device, where the operation has it from then on. */
static dcsr_status bring_on(dcsr_i_cuda_stream *stream, const splitting *s, dcsr_i_operation *operation,
                            uint64_t first)
{
    const uint64_t n = operation->batch.n;
    const dcsr_i_cuda_device *from = dcsr_i_cuda_device_of(s->stream), *to = dcsr_i_cuda_device_of(stream);
    dcsr_i_arrival *arrival = &operation->batch.arrival;
    void *values;
    DCSR_TRY(dcsr_i_cuda_take_arrival(stream, operation, &values));
    if (values != arrival->words) /* words come as such */
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, values, n, operation->batch.value_size);
    dcsr_i_cuda_copy_peer(stream, arrival->keys, to, s->keys + first, from, n * sizeof *s->keys);
    if (arrival->words)
        dcsr_i_cuda_copy_peer(stream, arrival->words, to, s->words + first, from, n * sizeof *s->words);
    return DCSR_OK;
}

static dcsr_status bring(const splitting *s, dcsr_i_operation *operation, uint64_t first, uint64_t end)
{
    dcsr_context *context = operation->context;
    if (first == end) return DCSR_OK;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow_to_write(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_expect_entries(operation, end - first);
    operation->batch.ascending = false; /* for all that is known */
    dcsr_status status = bring_on(stream, s, operation, first), waited = dcsr_i_cuda_wait(stream, doing);
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK ? waited : status;
}

static void drop_chunks(dcsr_i_split *split)
{
    for (dcsr_i_operation *chunk = split->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        dcsr_i_cuda_split_drop(chunk);
    }
    split->chunks = split->last_chunk = NULL;
}

dcsr_status dcsr_i_cuda_split_chunks(dcsr_i_split *split, const dcsr_multi_matrix *matrix)
{
    const bool values = split->chunks->batch.value_size != 0;
    splitting s = {.batch = {.n = split->n,
                             .column_bits = (uint32_t)split->chunks->batch.column_bits,
                             .parts = (uint32_t)split->borders->parts}};
    memcpy(s.batch.begin, split->borders->begin, sizeof s.batch.begin);
    dcsr_context *context = split->chunks->context;
    s.stream = dcsr_i_stream_borrow_to_write(context);
    if (!s.stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = open_splitting(&s, values);
    if (status == DCSR_OK) status = split_there(&s, split->chunks);
    if (status == DCSR_ERROR_OUT_OF_MEMORY) status = dcsr_i_multi_blame(matrix, split->device, status);
    for (uint64_t j = 0; j < split->borders->parts && status == DCSR_OK; j++) {
        status = bring(&s, split->operation[j], s.first[j], s.first[j + 1]);
        if (status != DCSR_OK) status = dcsr_i_multi_blame(matrix, j, status);
    }
    close_splitting(&s, values);
    dcsr_status waited = dcsr_i_cuda_wait(s.stream, doing);
    dcsr_i_stream_return(context, s.stream);
    drop_chunks(split);
    return status == DCSR_OK ? waited : status;
}

void dcsr_i_cuda_split_drop(dcsr_i_operation *chunk)
{
    dcsr_i_arrival *arrival = &chunk->batch.arrival;
    if (arrival->packed) {
        dcsr_i_cuda_event_wait(arrival->packed, chunk->context->cuda, doing);
        dcsr_i_cuda_event_destroy(arrival->packed, chunk->context->cuda);
        dcsr_i_free(chunk->context, DCSR_I_PINNED, arrival->verdict, 1, sizeof *arrival->verdict);
    }
    dcsr_i_cuda_drop_staged(chunk);
    dcsr_i_operation_release(chunk);
}

uint64_t dcsr_i_cuda_split_where(const dcsr_multi_matrix *matrix, const void *array)
{
    uint64_t k = 0;
    while (k < matrix->parts &&
           dcsr_i_cuda_where(dcsr_i_multi_context(matrix->devices, k)->cuda, array) != DCSR_CUDA_ON_DEVICE)
        k++;
    return k;
}
