/* split.c: splitting batches by owner, into what the parts' stores are given: keys of 8 bytes, with their values.
 *
 * Each thread counts its share of the entries by part, then packs them behind those of the threads before it, so that
 * entries of a part stay in their order. Where there is one part, its store packs them as it always does. */
#include "multi/split_cuda.h"

enum { MOST_THREADS = 64, LEAST_CAPACITY = 64, FEW_PARTS = 8 };

/* What one thread has of each part. */
typedef struct share {
    uint64_t of[DCSR_MAX_DEVICES]; /* entries; then where the next one goes */
    uint64_t first_key[DCSR_MAX_DEVICES], last_key[DCSR_MAX_DEVICES];
    bool some[DCSR_MAX_DEVICES], descends[DCSR_MAX_DEVICES]; /* of these keys */
    uint64_t outside;                                        /* the first entry that is; UINT64_MAX: none */
} share;

/* As dcsr_i_owner(); the next comparison need not wait for this one where parts are few. */
static inline uint64_t owner_of(const dcsr_i_borders *borders, uint64_t row)
{
    uint64_t k = 0;
    if (borders->parts > FEW_PARTS) return dcsr_i_owner(borders, row);
    for (uint64_t j = 1; j < borders->parts; j++) k += row >= borders->begin[j];
    return k;
}

static void count(share *mine, const dcsr_i_borders *borders, uint64_t cols, const dcsr_i_entries *e,
                  uint64_t first, uint64_t end)
{
    const uint64_t rows = dcsr_i_borders_end(borders);
    *mine = (share){.outside = UINT64_MAX};
    for (uint64_t i = first; i < end; i++) {
        if (e->rows[i] >= rows || e->cols[i] >= cols) {
            mine->outside = i;
            return;
        }
        mine->of[owner_of(borders, e->rows[i])]++;
    }
}

/* The bytes of a value, then zeros. */
static inline uint64_t word_of(const void *values, size_t size, uint64_t i)
{
    switch (size) {
    case 1:
        return ((const uint8_t *)values)[i];
    case 2:
        return ((const uint16_t *)values)[i];
    case 4:
        return ((const uint32_t *)values)[i];
    default:
        return ((const uint64_t *)values)[i];
    }
}

static void pack(const dcsr_i_split *split, share *mine, const dcsr_i_entries *e, uint64_t first,
                 uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = owner_of(split->borders, e->rows[i]), to = mine->of[k]++;
        const dcsr_i_packed *batch = &split->operation[k]->batch;
        const uint64_t key = (e->rows[i] - split->borders->begin[k]) << batch->column_bits | e->cols[i];
        *dcsr_i_key(batch, to) = key;
        if (batch->stride == 2)
            *(dcsr_i_key(batch, to) + 1) = word_of(e->values, batch->value_size, i);
        else if (batch->value_size)
            memcpy(dcsr_i_values(batch) + to * batch->value_size,
                   (const char *)e->values + i * batch->value_size, batch->value_size);
        if (!mine->some[k])
            mine->first_key[k] = key;
        else if (key <= mine->last_key[k])
            mine->descends[k] = true;
        mine->some[k] = true;
        mine->last_key[k] = key;
    }
}

/* Room for what has been counted, and places for it: those of a part one behind the other, by thread. */
static dcsr_status place(const dcsr_i_split *split, const dcsr_multi_matrix *matrix, share *shares,
                         int threads)
{
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        dcsr_i_packed *batch = &split->operation[k]->batch;
        uint64_t n = batch->n;
        for (int t = 0; t < threads; t++) n += shares[t].of[k];
        if (n <= batch->capacity) continue;
        const uint64_t more = batch->n ? 2 * n : n;
        dcsr_status status =
            dcsr_i_entries_room(split->operation[k], more > LEAST_CAPACITY ? more : LEAST_CAPACITY);
        if (status != DCSR_OK) return dcsr_i_multi_blame(matrix, k, status);
    }
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        uint64_t next = split->operation[k]->batch.n;
        for (int t = 0; t < threads; t++) {
            const uint64_t n = shares[t].of[k];
            shares[t].of[k] = next;
            next += n;
        }
    }
    return DCSR_OK;
}

/* The entries are there: how many, and whether they still ascend. */
static void close_shares(const dcsr_i_split *split, const share *shares, int threads)
{
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        dcsr_i_packed *batch = &split->operation[k]->batch;
        bool some = batch->n;
        uint64_t last = some ? *dcsr_i_key(batch, batch->n - 1) : 0;
        for (int t = 0; t < threads; t++) {
            if (!shares[t].some[k]) continue;
            if (shares[t].descends[k] || (some && shares[t].first_key[k] <= last)) batch->ascending = false;
            some = true;
            last = shares[t].last_key[k];
        }
        batch->n = shares[threads - 1].of[k];
        batch->calls = split->calls;
    }
}

static dcsr_status split_and_pack(const dcsr_i_split *split, const dcsr_multi_matrix *matrix, share *shares,
                                  int threads, const dcsr_i_entries *e)
{
    const uint64_t n = e->n, each = n / (uint64_t)threads, rest = n % (uint64_t)threads,
                   cols = split->operation[0]->batch.cols;
#define FIRST(t) (each * (uint64_t)(t) + ((uint64_t)(t) < rest ? (uint64_t)(t) : rest))
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) count(&shares[t], split->borders, cols, e, FIRST(t), FIRST(t + 1));
    for (int t = 0; t < threads; t++) {
        const uint64_t i = shares[t].outside;
        if (i != UINT64_MAX)
            return dcsr_i_fail_outside(e->call, i, n, e->rows[i], e->cols[i],
                                       dcsr_i_borders_end(split->borders), cols);
    }
    DCSR_TRY(place(split, matrix, shares, threads));
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) pack(split, &shares[t], e, FIRST(t), FIRST(t + 1));
#undef FIRST
    close_shares(split, shares, threads);
    return DCSR_OK;
}

/* One part: the entries are its own as they are. */
static dcsr_status pack_whole(const dcsr_i_split *split, const dcsr_i_entries *e, int threads)
{
    dcsr_i_operation *operation = split->operation[0];
    const dcsr_i_packed *batch = &operation->batch;
    if (batch->entries && batch->n + e->n > batch->capacity)
        DCSR_TRY(dcsr_i_entries_room(operation, 2 * (batch->n + e->n)));
    return dcsr_i_entries_pack(operation, e, threads);
}

dcsr_status dcsr_i_split_add(dcsr_i_split *split, const dcsr_multi_matrix *matrix, const dcsr_i_entries *e)
{
    dcsr_context *context = matrix->home;
    int threads = dcsr_i_threads(context, e->n);
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (split->borders->parts == 1) {
        status = pack_whole(split, e, threads);
    } else {
        share *shares = dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)threads, sizeof *shares);
        if (shares) status = split_and_pack(split, matrix, shares, threads, e);
        dcsr_i_free(context, DCSR_I_SCRATCH, shares, (size_t)threads, sizeof *shares);
    }
    if (status != DCSR_OK) return status;
    split->n += e->n;
    split->calls++;
    return DCSR_OK;
}

dcsr_status dcsr_i_split_open(dcsr_i_split *split, const dcsr_multi_matrix *matrix, const dcsr_i_entries *e)
{
    split->borders = dcsr_i_borders_hold(matrix->row_borders);
    for (uint64_t k = 0; k < matrix->parts; k++) {
        const uint64_t rows = split->borders->begin[k + 1] - split->borders->begin[k];
        dcsr_status status =
            dcsr_i_entries_operation(&split->operation[k], matrix->part[k], e, rows, matrix->cols);
        if (status == DCSR_OK) continue;
        dcsr_i_split_free(split);
        return status;
    }
    if (!split->entry_bytes) split->entry_bytes = split->operation[0]->batch.entry_bytes;
    return DCSR_OK;
}

static void drop(dcsr_i_operation *operation)
{
    if (operation && operation->engine->unstage) operation->engine->unstage(operation);
    dcsr_i_operation_release(operation);
}

/* NULL in builds without CUDA, which have no chunks. */
static void (*const drop_chunk)(dcsr_i_operation *) = DCSR_I_IN_CUDA(dcsr_i_cuda_split_drop);

void dcsr_i_split_free(dcsr_i_split *split)
{
    for (dcsr_i_operation *chunk = split->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        drop_chunk(chunk);
    }
    for (uint64_t k = 0; split->borders && k < split->borders->parts; k++) drop(split->operation[k]);
    dcsr_i_borders_release(split->borders);
    *split = (dcsr_i_split){.n = split->n, .calls = split->calls, .entry_bytes = split->entry_bytes};
}

/* ---- At other borders ---- */

/* What a part was to be given, with rows of the whole matrix. Entries of one row have one owner, so that part after
 * part is an order that gives the same as theirs. */
static void unpack(uint64_t *rows, uint64_t *cols, char *values, const dcsr_i_packed *batch, uint64_t begin)
{
    const size_t size = batch->value_size;
    const uint64_t columns = (UINT64_C(1) << batch->column_bits) - 1;
    for (uint64_t i = 0; i < batch->n; i++) {
        const uint64_t *key = dcsr_i_key(batch, i);
        rows[i] = begin + (*key >> batch->column_bits);
        cols[i] = *key & columns;
        if (size)
            memcpy(values + i * size,
                   batch->stride == 2 ? (const char *)(key + 1) : dcsr_i_values(batch) + i * size, size);
    }
}

dcsr_status dcsr_i_split_again(dcsr_i_split *split, dcsr_multi_matrix *matrix)
{
    const dcsr_i_operation *first = split->operation[0];
    const size_t size = first->batch.value_size, bytes = 2 * sizeof(uint64_t) + size;
    const uint64_t n = split->n, calls = split->calls;
    uint64_t *rows = dcsr_i_alloc(matrix->home, DCSR_I_SCRATCH, n, bytes), *cols = rows + n, at = 0;
    if (!rows) return DCSR_ERROR_OUT_OF_MEMORY;
    char *values = (char *)(cols + n);
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        const dcsr_i_packed *batch = &split->operation[k]->batch;
        unpack(rows + at, cols + at, values + at * size, batch, split->borders->begin[k]);
        at += batch->n;
    }
    const dcsr_i_entries e = {.call = "splitting a batch again",
                              .kind = first->kind,
                              .n = n,
                              .rows = rows,
                              .cols = cols,
                              .values = size ? values : NULL};
    dcsr_i_split again = {.entry_bytes = split->entry_bytes};
    dcsr_status status = dcsr_i_split_open(&again, matrix, &e);
    if (status == DCSR_OK) {
        status = dcsr_i_split_add(&again, matrix, &e);
        again.calls = calls;
        if (status != DCSR_OK) dcsr_i_split_free(&again);
    }
    dcsr_i_free(matrix->home, DCSR_I_SCRATCH, rows, n, bytes);
    if (status != DCSR_OK) return status;
    dcsr_i_split_free(split);
    *split = again;
    return DCSR_OK;
}
