/* split_cuda.c: splitting the chunks of a change on the GPUs that have them, and bringing each owner its shares.
 *
 * Chunks that follow one another on one device are a group, which that device splits at once; where entries have no
 * values the order of calls does not matter, and all that a device has are one group. All groups are put on their
 * devices' streams before any is waited for; then the same with what each owner copies of them. So the coordinator
 * waits twice, whatever the numbers of groups and owners. A share has what the groups have for it in their order.
 * Streams of several devices are held at once: kernels are launched on the one that was borrowed last, whose device is
 * the thread's current one, and streams are given back in the reverse order. */
#include "multi/split_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"

static const char doing[] = "splitting a batch";

/* Chunks on one device, and what splitting takes there. */
typedef struct group {
    dcsr_context *context;
    const dcsr_i_operation *chunk; /* the first of `chunks` */
    uint64_t chunks;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_batch batch;
    uint64_t *block;               /* all of the following: */
    dcsr_i_cuda_chunk *list;       /* of several chunks: where they are */
    uint64_t *whole, *whole_words; /* keys of the whole matrix, of several chunks */
    uint32_t *owner, *owner_spare, *number, *number_spare;
    uint64_t *keys, *words, *begins; /* by owner; where those of each begin */
    uint64_t first[DCSR_MAX_DEVICES + 1];
} group;

typedef struct splitting {
    const dcsr_multi_matrix *matrix;
    dcsr_i_split *split;
    bool values;
    group *group;
    uint64_t groups;
    dcsr_i_cuda_stream *stream[DCSR_MAX_DEVICES]; /* of owners: what they copy */
} splitting;

static uint64_t device_of(const splitting *s, const dcsr_context *context)
{
    uint64_t k = 0;
    while (k + 1 < s->matrix->parts && dcsr_i_multi_context(s->matrix->devices, k) != context) k++;
    return k;
}

/* ---- Groups ---- */

static uint64_t count_groups(const dcsr_i_operation *chunk)
{
    uint64_t count = 0;
    for (const dcsr_context *last = NULL; chunk; last = chunk->context, chunk = chunk->next)
        count += chunk->context != last;
    return count;
}

/* Puts the chunks of each device behind one another. */
static void sort_by_device(splitting *s)
{
    dcsr_i_split *split = s->split;
    dcsr_i_operation *all = split->chunks, **link = &split->chunks;
    for (uint64_t k = 0; k < s->matrix->parts; k++) {
        const dcsr_context *context = dcsr_i_multi_context(s->matrix->devices, k);
        for (dcsr_i_operation **from = &all; *from;) {
            dcsr_i_operation *chunk = *from;
            if (chunk->context != context) {
                from = &chunk->next;
                continue;
            }
            *from = chunk->next;
            chunk->next = NULL;
            *link = split->last_chunk = chunk;
            link = &chunk->next;
        }
    }
}

static dcsr_status make_groups(splitting *s)
{
    const dcsr_i_split *split = s->split;
    if (!s->values) sort_by_device(s);
    const uint64_t count = count_groups(split->chunks);
    s->group = dcsr_i_calloc(s->matrix->home, DCSR_I_SCRATCH, count, sizeof *s->group);
    if (!s->group) return dcsr_i_no_memory();
    s->groups = count;
    group *g = s->group - 1;
    const dcsr_context *last = NULL;
    for (const dcsr_i_operation *chunk = split->chunks; chunk; chunk = chunk->next) {
        if (chunk->context != last) {
            *++g = (group){.context = chunk->context,
                           .chunk = chunk,
                           .batch = {.column_bits = (uint32_t)chunk->batch.column_bits,
                                     .parts = (uint32_t)split->borders->parts}};
            memcpy(g->batch.begin, split->borders->begin, sizeof g->batch.begin);
            last = chunk->context;
        }
        g->chunks++;
        g->batch.n += chunk->batch.n;
    }
    return DCSR_OK;
}

/* One chunk is split where it is. */
static uint64_t gathered(const group *g)
{
    return g->chunks > 1 ? g->batch.n : 0;
}

static uint64_t listed(const group *g)
{
    return g->chunks > 1 ? g->chunks : 0;
}

/* Everything is in one block: first what is of 8 bytes. */
static uint64_t words_of(const group *g, bool values)
{
    const uint64_t n = g->batch.n;
    return listed(g) * (sizeof *g->list / sizeof *g->block) + (gathered(g) + n) * (values ? 2 : 1) +
           g->batch.parts + 1 + 2 * n;
}

static dcsr_status open_group(group *g, bool values)
{
    const uint64_t n = g->batch.n, n_whole = gathered(g);
    g->block = dcsr_i_cuda_alloc(g->stream, DCSR_I_SCRATCH, words_of(g, values), sizeof *g->block);
    if (!g->block) return dcsr_i_no_memory();
    g->list = (dcsr_i_cuda_chunk *)g->block;
    g->whole = (uint64_t *)(g->list + listed(g));
    g->whole_words = g->whole + n_whole;
    g->keys = g->whole_words + (values ? n_whole : 0);
    g->words = g->keys + n;
    g->begins = g->words + (values ? n : 0);
    g->owner = (uint32_t *)(g->begins + g->batch.parts + 1);
    g->owner_spare = g->owner + n;
    g->number = g->owner_spare + n;
    g->number_spare = g->number + n;
    g->batch.keys = n_whole ? g->whole : g->chunk->batch.arrival.keys;
    g->batch.words = !values ? NULL : n_whole ? g->whole_words : g->chunk->batch.arrival.words;
    return DCSR_OK;
}

static void close_group(const group *g, bool values)
{
    dcsr_i_cuda_free(g->stream, DCSR_I_SCRATCH, g->block, words_of(g, values), sizeof *g->block);
}

/* ---- Splitting ---- */

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

/* All chunks of a group one behind the other, if they are several. */
static dcsr_status gather(const group *g)
{
    const dcsr_i_operation *chunk = g->chunk;
    const size_t bytes = listed(g) * sizeof *g->list;
    dcsr_i_cuda_chunk *list = dcsr_i_cuda_landing(g->stream, bytes);
    uint64_t first = 0;
    if (!list) return dcsr_i_no_memory();
    for (uint64_t i = 0; i < g->chunks; i++, first += chunk->batch.n, chunk = chunk->next) {
        DCSR_TRY(receive(chunk));
        if (listed(g))
            list[i] = (dcsr_i_cuda_chunk){chunk->batch.arrival.keys, chunk->batch.arrival.words, first};
    }
    if (!listed(g)) return DCSR_OK;
    dcsr_i_cuda_copy(g->stream, g->list, list, bytes);
    dcsr_i_cuda_split_gather(g->stream, g->list, g->chunks, g->batch.n, g->whole,
                             g->batch.words ? g->whole_words : NULL);
    return DCSR_OK;
}

/* Puts on the group's stream: keys and words by owner, and where those of each begin. */
static dcsr_status put_split(group *g, bool values)
{
    const uint32_t parts = g->batch.parts;
    const size_t bytes = (parts + 1) * sizeof *g->begins;
    DCSR_TRY(open_group(g, values));
    DCSR_TRY(gather(g));
    dcsr_i_cuda_split_find(g->stream, &g->batch, g->owner, g->number);
    if (parts > 1)
        DCSR_TRY(dcsr_i_cuda_sort_u32(g->stream, &g->owner, &g->owner_spare, &g->number, &g->number_spare,
                                      g->batch.n, dcsr_i_bits_for(parts)));
    dcsr_i_cuda_find_begins_u32(g->stream, g->owner, g->batch.n, parts, g->begins);
    dcsr_i_cuda_split_pack(g->stream, &g->batch, g->owner, g->number, g->keys,
                           g->batch.words ? g->words : NULL);
    void *landing = dcsr_i_cuda_landing(g->stream, bytes);
    if (landing) dcsr_i_cuda_copy(g->stream, landing, g->begins, bytes);
    return DCSR_OK; /* without a landing the wait says why */
}

static dcsr_status split_all(splitting *s)
{
    dcsr_status status = DCSR_OK;
    for (uint64_t i = 0; i < s->groups && status == DCSR_OK; i++) {
        group *g = &s->group[i];
        g->stream = dcsr_i_stream_borrow_to_write(g->context);
        status = g->stream ? put_split(g, s->values) : dcsr_i_no_memory();
        if (status == DCSR_ERROR_OUT_OF_MEMORY || status == DCSR_ERROR_DEVICE)
            status = dcsr_i_multi_blame(s->matrix, device_of(s, g->context), status);
    }
    for (uint64_t i = 0; i < s->groups && status == DCSR_OK; i++) {
        group *g = &s->group[i];
        const size_t bytes = (g->batch.parts + 1) * sizeof *g->begins;
        status = dcsr_i_cuda_wait(g->stream, doing);
        if (status == DCSR_OK)
            memcpy(g->first, dcsr_i_cuda_landing(g->stream, bytes), bytes);
        else
            status = dcsr_i_multi_blame(s->matrix, device_of(s, g->context), status);
    }
    return status;
}

/* ---- Shares ---- */

static uint64_t share_of(const splitting *s, uint64_t j)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < s->groups; i++) n += s->group[i].first[j + 1] - s->group[i].first[j];
    return n;
}

/* Puts on the owner's stream the copies of its share, which its operation has from then on. */
static dcsr_status put_copies(splitting *s, uint64_t j)
{
    dcsr_i_operation *operation = s->split->operation[j];
    dcsr_i_cuda_stream *stream = s->stream[j];
    const dcsr_i_cuda_device *to = dcsr_i_cuda_device_of(stream);
    dcsr_i_arrival *arrival = &operation->batch.arrival;
    uint64_t at = 0;
    DCSR_TRY(dcsr_i_cuda_take_arrival(stream, operation));
    for (uint64_t i = 0; i < s->groups; i++) {
        const group *g = &s->group[i];
        const dcsr_i_cuda_device *from = dcsr_i_cuda_device_of(g->stream);
        const uint64_t first = g->first[j], n = g->first[j + 1] - first;
        dcsr_i_cuda_copy_peer(stream, arrival->keys + at, to, g->keys + first, from, n * sizeof *g->keys);
        if (arrival->words)
            dcsr_i_cuda_copy_peer(stream, arrival->words + at, to, g->words + first, from,
                                  n * sizeof *g->words);
        at += n;
    }
    return DCSR_OK;
}

static dcsr_status bring(splitting *s, uint64_t j)
{
    dcsr_i_operation *operation = s->split->operation[j];
    const uint64_t n = share_of(s, j);
    if (!n) return DCSR_OK;
    s->stream[j] = dcsr_i_stream_borrow_to_write(operation->context);
    if (!s->stream[j]) return dcsr_i_no_memory();
    dcsr_i_cuda_expect_entries(operation, n);
    operation->batch.ascending = false; /* for all that is known */
    return put_copies(s, j);
}

/* All owners copy at once. */
static dcsr_status bring_all(splitting *s)
{
    const uint64_t parts = s->split->borders->parts;
    dcsr_status status = DCSR_OK;
    for (uint64_t j = 0; j < parts && status == DCSR_OK; j++) {
        status = bring(s, j);
        if (status != DCSR_OK) status = dcsr_i_multi_blame(s->matrix, j, status);
    }
    for (uint64_t j = parts; j-- > 0;) {
        if (!s->stream[j]) continue;
        dcsr_status waited = dcsr_i_cuda_wait(s->stream[j], doing);
        if (status == DCSR_OK && waited != DCSR_OK) status = dcsr_i_multi_blame(s->matrix, j, waited);
        dcsr_i_stream_return(dcsr_i_multi_context(s->matrix->devices, j), s->stream[j]);
    }
    return status;
}

/* ---- The whole ---- */

/* What is said of a failure stays what is said. */
static void close_splitting(splitting *s)
{
    for (uint64_t i = s->groups; i-- > 0;) {
        const group *g = &s->group[i];
        if (!g->stream) continue;
        close_group(g, s->values);
        dcsr_i_cuda_settle(g->stream, doing);
        dcsr_i_stream_return(g->context, g->stream);
    }
    dcsr_i_free(s->matrix->home, DCSR_I_SCRATCH, s->group, s->groups, sizeof *s->group);
    dcsr_i_split_drop_chunks(s->split);
}

dcsr_status dcsr_i_cuda_split_chunks(dcsr_i_split *split, const dcsr_multi_matrix *matrix)
{
    splitting s = {.matrix = matrix, .split = split, .values = split->chunks->batch.value_size != 0};
    char text[DCSR_I_MESSAGE];
    dcsr_status status = make_groups(&s);
    if (status == DCSR_OK) status = split_all(&s);
    if (status == DCSR_OK) status = bring_all(&s);
    dcsr_i_error_format(text, sizeof text, "%s", status == DCSR_OK ? "" : dcsr_i_error_text());
    close_splitting(&s);
    return status == DCSR_OK ? DCSR_OK : dcsr_i_fail(status, "%s", text);
}

bool dcsr_i_cuda_split_is_read(const dcsr_i_operation *chunk)
{
    const dcsr_i_arrival *arrival = &chunk->batch.arrival;
    return !arrival->packed ||
           (dcsr_i_cuda_split_has_been(arrival->packed) && arrival->verdict->outside == UINT64_MAX);
}

void dcsr_i_cuda_split_drop(dcsr_i_operation *chunk)
{
    dcsr_i_arrival *arrival = &chunk->batch.arrival;
    if (arrival->packed) {
        dcsr_i_cuda_event_settle(arrival->packed, chunk->context->cuda, doing);
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
