/* split.c: splitting a batch by owner: each thread counts its share of the entries by part, then writes them behind
 * those of the threads before it, so that entries of a part stay in their order. */
#include "multi/multi_data.h"

enum { MOST_THREADS = 64 };

/* What one thread has of each part: first how many entries, then where the next one goes. */
typedef struct share {
    uint64_t of[DCSR_MAX_DEVICES];
    uint64_t outside; /* the first entry that is; UINT64_MAX: none */
} share;

static void count(share *mine, const dcsr_i_borders *borders, uint64_t cols, const dcsr_i_entries *e,
                  uint64_t first, uint64_t end)
{
    const uint64_t rows = borders->begin[borders->parts];
    for (uint64_t k = 0; k < borders->parts; k++) mine->of[k] = 0;
    mine->outside = UINT64_MAX;
    for (uint64_t i = first; i < end; i++) {
        if (e->rows[i] >= rows || e->cols[i] >= cols) {
            mine->outside = i;
            return;
        }
        mine->of[dcsr_i_owner(borders, e->rows[i])]++;
    }
}

static void scatter(const dcsr_i_split *split, share *mine, const dcsr_i_entries *e, uint64_t first,
                    uint64_t end)
{
    const size_t size = split->value_size;
    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = dcsr_i_owner(split->borders, e->rows[i]), to = mine->of[k]++;
        split->rows[to] = e->rows[i] - split->borders->begin[k];
        split->cols[to] = e->cols[i];
        if (size) memcpy(split->values + to * size, (const char *)e->values + i * size, size);
    }
}

/* Turns counts into places: those of a part one behind the other, by thread. */
static void place(dcsr_i_split *split, share *shares, int threads)
{
    uint64_t next = 0;
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        split->offset[k] = next;
        for (int t = 0; t < threads; t++) {
            const uint64_t n = shares[t].of[k];
            shares[t].of[k] = next;
            next += n;
        }
    }
    split->offset[split->borders->parts] = next;
}

static size_t entry_bytes(const dcsr_i_split *split)
{
    return 2 * sizeof(uint64_t) + split->value_size;
}

static dcsr_status take_memory(dcsr_i_split *split, uint64_t n)
{
    split->rows = dcsr_i_alloc(split->context, DCSR_I_MATRIX, n, entry_bytes(split));
    if (!split->rows) return DCSR_ERROR_OUT_OF_MEMORY;
    split->n = n;
    split->cols = split->rows + n;
    split->values = split->value_size ? (char *)(split->cols + n) : NULL;
    return DCSR_OK;
}

dcsr_status dcsr_i_split_make(dcsr_i_split *split, dcsr_context *context, dcsr_i_borders *borders,
                              uint64_t cols, size_t value_size, const dcsr_i_entries *e)
{
    const uint64_t n = e->n;
    int threads = dcsr_i_threads(context, n);
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    share *shares = dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)threads, sizeof *shares);
    *split = (dcsr_i_split){.context = context, .value_size = value_size};
    if (!shares) return DCSR_ERROR_OUT_OF_MEMORY;
    const uint64_t each = n / (uint64_t)threads, rest = n % (uint64_t)threads;
#define FIRST(t) (each * (uint64_t)(t) + ((uint64_t)(t) < rest ? (uint64_t)(t) : rest))
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) count(&shares[t], borders, cols, e, FIRST(t), FIRST(t + 1));
    dcsr_status status = DCSR_OK;
    for (int t = 0; t < threads && status == DCSR_OK; t++) {
        const uint64_t i = shares[t].outside;
        if (i != UINT64_MAX)
            status = dcsr_i_fail_outside(e->call, i, n, e->rows[i], e->cols[i],
                                         borders->begin[borders->parts], cols);
    }
    if (status == DCSR_OK) status = take_memory(split, n);
    if (status == DCSR_OK) {
        split->borders = dcsr_i_borders_hold(borders);
        place(split, shares, threads);
#pragma omp parallel for num_threads(threads) if (threads > 1)
        for (int t = 0; t < threads; t++) scatter(split, &shares[t], e, FIRST(t), FIRST(t + 1));
    }
#undef FIRST
    dcsr_i_free(context, DCSR_I_SCRATCH, shares, (size_t)threads, sizeof *shares);
    return status;
}

void dcsr_i_split_free(dcsr_i_split *split)
{
    if (!split->borders) return;
    dcsr_i_free(split->context, DCSR_I_MATRIX, split->rows, split->n, entry_bytes(split));
    dcsr_i_borders_release(split->borders);
    split->borders = NULL;
}

/* Appends the entries of a batch, with rows of the whole matrix. */
static void append(dcsr_i_split *all, const dcsr_i_split *batch)
{
    const size_t size = all->value_size;
    uint64_t *rows = all->rows + all->offset[0];
    for (uint64_t k = 0; k < batch->borders->parts; k++)
        for (uint64_t i = batch->offset[k]; i < batch->offset[k + 1]; i++)
            rows[i] = batch->rows[i] + batch->borders->begin[k];
    memcpy(all->cols + all->offset[0], batch->cols, batch->n * sizeof *batch->cols);
    if (size) memcpy(all->values + all->offset[0] * size, batch->values, batch->n * size);
    all->offset[0] += batch->n;
}

/* Batches split at the same borders, one behind the other in each part. */
static void concatenate(dcsr_i_split *split, const dcsr_i_multi_change *first, const dcsr_i_multi_change *end)
{
    const size_t size = split->value_size;
    uint64_t to = 0;
    for (uint64_t k = 0; k < split->borders->parts; k++) {
        split->offset[k] = to;
        for (const dcsr_i_multi_change *c = first; c != end; c = c->next) {
            const uint64_t from = c->batch.offset[k], n = c->batch.offset[k + 1] - from;
            memcpy(split->rows + to, c->batch.rows + from, n * sizeof *split->rows);
            memcpy(split->cols + to, c->batch.cols + from, n * sizeof *split->cols);
            if (size) memcpy(split->values + to * size, c->batch.values + from * size, n * size);
            to += n;
        }
    }
    split->offset[split->borders->parts] = to;
}

/* Entries of one row have one owner, so that those of a batch are in an order that gives the same as theirs. */
dcsr_status dcsr_i_split_join(dcsr_i_split *split, const dcsr_multi_matrix *matrix,
                              const dcsr_i_multi_change *first, const dcsr_i_multi_change *end)
{
    dcsr_i_split all = {.context = matrix->home, .value_size = first->batch.value_size};
    uint64_t n = 0;
    bool alike = true;
    for (const dcsr_i_multi_change *c = first; c != end; c = c->next) {
        n += c->batch.n;
        alike = alike && c->batch.borders == matrix->row_borders;
    }
    DCSR_TRY(take_memory(&all, n));
    if (alike) {
        all.borders = dcsr_i_borders_hold(matrix->row_borders);
        concatenate(&all, first, end);
        *split = all;
        return DCSR_OK;
    }
    for (const dcsr_i_multi_change *c = first; c != end; c = c->next) append(&all, &c->batch);
    const dcsr_i_entries e = {
        .call = "joining batches", .n = n, .rows = all.rows, .cols = all.cols, .values = all.values};
    dcsr_status status =
        dcsr_i_split_make(split, matrix->home, matrix->row_borders, matrix->cols, all.value_size, &e);
    dcsr_i_free(all.context, DCSR_I_MATRIX, all.rows, n, entry_bytes(&all));
    return status;
}
