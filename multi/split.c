/* split.c: splitting batches by owner, into what the parts' stores are given: keys of 8 bytes, with their values.
 *
 * Each thread counts its share of the entries by part, then packs them behind those of the threads before it, so that
 * entries of a part stay in their order. Where there is one part, its store packs them as it always does. */
#include "multi/split_cuda.h"

/* BLOCK: entries whose rows stay in a core's cache while they are compared with one border after the other. */
enum { MOST_THREADS = 64, LEAST_CAPACITY = 64, FEW_PARTS = 8, BLOCK = 4096 };

/* What one thread has of each part, and what is wrong with its entries. */
typedef struct share {
    uint64_t of[DCSR_MAX_DEVICES]; /* entries; then where the next one goes */
    bool outside, descends;
} share;

/* As dcsr_i_owner(); the next comparison need not wait for this one where parts are few. */
static inline uint64_t owner_of(const dcsr_i_borders *borders, uint64_t row)
{
    uint64_t k = 0;
    if (borders->parts > FEW_PARTS) return dcsr_i_owner(borders, row);
    for (uint64_t j = 1; j < borders->parts; j++) k += row >= borders->begin[j];
    return k;
}

/* How many of the rows each part has: of few parts those behind each border, which processors count for several rows at
 * once. */
static void count_rows(uint64_t *of, const dcsr_i_borders *borders, const uint64_t *rows, uint64_t n)
{
    if (borders->parts > FEW_PARTS) {
        for (uint64_t i = 0; i < n; i++) of[dcsr_i_owner(borders, rows[i])]++;
        return;
    }
    uint64_t behind = n;
    for (uint64_t k = 0; k < borders->parts; k++) {
        const uint64_t end = borders->begin[k + 1];
        uint64_t further = 0;
        for (uint64_t i = 0; k + 1 < borders->parts && i < n; i++) further += rows[i] >= end;
        of[k] += behind - further;
        behind = further;
    }
}

static void count(share *mine, const dcsr_i_borders *borders, uint64_t cols, const dcsr_i_entries *e,
                  uint64_t first, uint64_t end)
{
    const uint64_t *row = e->rows, *col = e->cols, rows = dcsr_i_borders_end(borders);
    *mine = (share){.outside = false};
    for (uint64_t begin = first; begin < end && !mine->outside; begin += BLOCK) {
        const uint64_t until = end - begin < BLOCK ? end : begin + BLOCK;
        uint64_t outside = 0;
        for (uint64_t i = begin; i < until; i++) outside |= (row[i] >= rows) | (col[i] >= cols);
        mine->outside = outside;
        count_rows(mine->of, borders, row + begin, until - begin);
    }
    for (uint64_t i = first ? first : 1; i < end && !mine->descends; i++)
        mine->descends = row[i] < row[i - 1] || (row[i] == row[i - 1] && col[i] <= col[i - 1]);
}

/* Where what is packed for a part begins. */
typedef struct target {
    uint64_t begin; /* its first row */
    uint64_t *keys;
    char *values;
} target;

/* Sets the value behind its key, in a word of its own, or among the others. */
static inline void put_value(const target *t, int stride, size_t size, uint64_t to, const char *value)
{
    if (stride == 2) {
        t->keys[2 * to + 1] = 0;
        dcsr_i_copy_one(&t->keys[2 * to + 1], value, size);
    } else {
        dcsr_i_copy_one(t->values + to * size, value, size);
    }
}

static void pack(const dcsr_i_split *split, share *mine, const dcsr_i_entries *e, uint64_t first,
                 uint64_t end)
{
    const dcsr_i_borders *borders = split->borders;
    const dcsr_i_packed *any = &split->operation[0]->batch;
    const int bits = any->column_bits, stride = any->stride;
    const size_t size = any->value_size;
    target targets[DCSR_MAX_DEVICES];
    for (uint64_t k = 0; k < borders->parts; k++) {
        const dcsr_i_packed *batch = &split->operation[k]->batch;
        targets[k] = (target){borders->begin[k], batch->entries, dcsr_i_values(batch)};
    }
    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = owner_of(borders, e->rows[i]), to = mine->of[k]++;
        const target *t = &targets[k];
        t->keys[to * (uint64_t)stride] = (e->rows[i] - t->begin) << bits | e->cols[i];
        if (size) put_value(t, stride, size, to, (const char *)e->values + i * size);
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

/* The entries are there: how many, and whether they still ascend. They do in each part if they do in the whole. */
static void close_shares(const dcsr_i_split *split, const share *shares, int threads)
{
    bool descends = false;
    for (int t = 0; t < threads; t++) descends |= shares[t].descends;
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        dcsr_i_packed *batch = &split->operation[k]->batch;
        const uint64_t before = batch->n;
        batch->n = shares[threads - 1].of[k];
        batch->calls = split->calls + 1;
        if (descends ||
            (before && before < batch->n && *dcsr_i_key(batch, before) <= *dcsr_i_key(batch, before - 1)))
            batch->ascending = false;
    }
}

static dcsr_status fail_outside(const dcsr_i_split *split, const dcsr_i_entries *e)
{
    const uint64_t rows = dcsr_i_borders_end(split->borders), cols = split->operation[0]->batch.cols;
    uint64_t i = 0;
    while (i + 1 < e->n && e->rows[i] < rows && e->cols[i] < cols) i++;
    return dcsr_i_fail_outside(e->call, i, e->n, e->rows[i], e->cols[i], rows, cols);
}

static dcsr_status split_and_pack(const dcsr_i_split *split, const dcsr_multi_matrix *matrix, share *shares,
                                  int threads, const dcsr_i_entries *e)
{
    const uint64_t each = e->n / (uint64_t)threads, rest = e->n % (uint64_t)threads,
                   cols = split->operation[0]->batch.cols;
#define FIRST(t) (each * (uint64_t)(t) + ((uint64_t)(t) < rest ? (uint64_t)(t) : rest))
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) count(&shares[t], split->borders, cols, e, FIRST(t), FIRST(t + 1));
    for (int t = 0; t < threads; t++)
        if (shares[t].outside) return fail_outside(split, e);
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

/* NULL in builds without CUDA, which have no chunks. */
static void (*const drop_chunk)(dcsr_i_operation *) = DCSR_I_IN_CUDA(dcsr_i_cuda_split_drop);

void dcsr_i_split_drop_chunks(dcsr_i_split *split)
{
    for (dcsr_i_operation *chunk = split->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        drop_chunk(chunk);
    }
    split->chunks = split->last_chunk = NULL;
}

void dcsr_i_split_free(dcsr_i_split *split)
{
    dcsr_i_split_drop_chunks(split);
    for (uint64_t k = 0; split->borders && k < split->borders->parts; k++)
        dcsr_i_operation_discard(split->operation[k]);
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
    const uint64_t n = split->n;
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
    /* Adding counts one call. */
    dcsr_i_split again = {.calls = split->calls - 1, .entry_bytes = split->entry_bytes};
    dcsr_status status = dcsr_i_split_open(&again, matrix, &e);
    if (status == DCSR_OK) {
        status = dcsr_i_split_add(&again, matrix, &e);
        if (status != DCSR_OK) dcsr_i_split_free(&again);
    }
    dcsr_i_free(matrix->home, DCSR_I_SCRATCH, rows, n, bytes);
    if (status != DCSR_OK) return status;
    dcsr_i_split_free(split);
    *split = again;
    return DCSR_OK;
}
