/* peer_csr.c: a CSR that is rebuilt for each batch.
 *
 * The batch is sorted by (row, column) and combined. The rows are shared out so that every thread has as many
 * entries of the old matrix as the others. A thread first counts, for its part of the batch, what is not
 * stored yet, which gives the place where its part of the new arrays begins; then it copies:
 *
 *      old   | a a a | b b | c c c c c c | d | e e e |          between two touched rows: one memcpy()
 *      batch               |     *   *   |                      inside a touched row: one memcpy() up to the
 *      new   | a a a | b b | c c c * c * c c | d | e e e |      position of each new entry
 */
#include "bench/peers/keysort.h"
#include "bench/peers/peers.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct peer_csr {
    bench_csr now, next;
    uint64_t now_room, next_room; /* entries that the arrays have room for */
    bench_keyed *batch, *spare;
    size_t batch_room;
};

static void give_room(bench_csr *csr, uint64_t *room, uint64_t nnz)
{
    if (nnz <= *room) return;
    free(csr->columns);
    free(csr->values);
    *room = nnz + nnz / 8;
    csr->columns = bench_alloc(*room, sizeof *csr->columns);
    csr->values = bench_alloc(*room, sizeof *csr->values);
}

peer_csr *peer_csr_create(const bench_csr *A)
{
    peer_csr *csr = bench_alloc(1, sizeof *csr);
    *csr = (peer_csr){.now = {.rows = A->rows, .cols = A->cols, .nnz = A->nnz}};
    csr->next = csr->now;
    csr->now.offsets = bench_alloc(A->rows + 1, sizeof *A->offsets);
    csr->next.offsets = bench_alloc(A->rows + 1, sizeof *A->offsets);
    give_room(&csr->now, &csr->now_room, A->nnz + A->nnz / 8);
    give_room(&csr->next, &csr->next_room, A->nnz + A->nnz / 8);
    memcpy(csr->now.offsets, A->offsets, (A->rows + 1) * sizeof *A->offsets);
    memcpy(csr->now.columns, A->columns, A->nnz * sizeof *A->columns);
    memcpy(csr->now.values, A->values, A->nnz * sizeof *A->values);
    return csr;
}

void peer_csr_destroy(peer_csr *csr)
{
    bench_csr_free(&csr->now);
    bench_csr_free(&csr->next);
    free(csr->batch);
    free(csr->spare);
    free(csr);
}

const bench_csr *peer_csr_get(const peer_csr *csr)
{
    return &csr->now;
}

/* Sorts the batch and adds up entries of the same place; returns how many are left. */
static size_t sort_batch(peer_csr *csr, const bench_entries *batch, int col_bits)
{
    if (batch->n > csr->batch_room) {
        free(csr->batch);
        free(csr->spare);
        csr->batch_room = batch->n;
        csr->batch = bench_alloc(batch->n, sizeof *csr->batch);
        csr->spare = bench_alloc(batch->n, sizeof *csr->spare);
    }
    for (size_t i = 0; i < batch->n; i++)
        csr->batch[i] = (bench_keyed){batch->row[i] << col_bits | batch->col[i], batch->value[i]};
    bench_keysort(csr->batch, csr->spare, batch->n, col_bits + bench_bits(csr->now.rows));
    size_t n = 0;
    for (size_t i = 0; i < batch->n; i++)
        if (n && csr->batch[n - 1].key == csr->batch[i].key)
            csr->batch[n - 1].value += csr->batch[i].value;
        else
            csr->batch[n++] = csr->batch[i];
    return n;
}

/* The first entry of [low, high) whose column is not below col. */
static uint64_t lower_bound(const uint32_t *columns, uint64_t low, uint64_t high, uint64_t col)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (columns[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first row of thread t of T: the entries are shared out evenly. */
static uint64_t first_row(const bench_csr *csr, int t, int T)
{
    if (t == T) return csr->rows;
    const uint64_t entry = csr->nnz * (uint64_t)t / (uint64_t)T;
    uint64_t low = 0, high = csr->rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (csr->offsets[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_of_batch(const bench_keyed *batch, size_t n, uint64_t key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (batch[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many of batch[from..to-1] are not stored. */
static uint64_t count_new(const bench_csr *now, const bench_keyed *batch, size_t from, size_t to,
                          int col_bits)
{
    const uint64_t mask = ((uint64_t)1 << col_bits) - 1;
    uint64_t fresh = 0;
    for (size_t i = from; i < to; i++) {
        uint64_t row = batch[i].key >> col_bits, col = batch[i].key & mask, end = now->offsets[row + 1];
        uint64_t place = lower_bound(now->columns, now->offsets[row], end, col);
        fresh += place == end || now->columns[place] != col;
    }
    return fresh;
}

/* Copies old entries [from, to) to place `at`; returns the place behind them. */
static uint64_t copy_run(bench_csr *next, uint64_t at, const bench_csr *now, uint64_t from, uint64_t to)
{
    memcpy(next->columns + at, now->columns + from, (to - from) * sizeof *now->columns);
    memcpy(next->values + at, now->values + from, (to - from) * sizeof *now->values);
    return at + (to - from);
}

/* Merges rows [row, end) with batch[from..to-1], which lies in them, to the arrays of `next` from place `at`
 * on. */
static void merge(bench_csr *next, uint64_t at, const bench_csr *now, uint64_t row, uint64_t end,
                  const bench_keyed *batch, size_t from, size_t to, int col_bits)
{
    const uint64_t mask = ((uint64_t)1 << col_bits) - 1;
    uint64_t old = now->offsets[row]; /* the next old entry to copy */
    for (size_t i = from; i < to; i++) {
        const uint64_t touched = batch[i].key >> col_bits, col = batch[i].key & mask,
                       stop = now->offsets[touched + 1];
        const uint64_t begin = now->offsets[touched] > old ? now->offsets[touched] : old;
        const uint64_t place = lower_bound(now->columns, begin, stop, col), shift = at - old;
        for (; row <= touched; row++) next->offsets[row] = now->offsets[row] + shift;
        at = copy_run(next, at, now, old, place);
        old = place;
        next->columns[at] = (uint32_t)col;
        next->values[at] = batch[i].value;
        if (old < stop && now->columns[old] == col) next->values[at] += now->values[old++];
        at++;
    }
    for (const uint64_t shift = at - old; row < end; row++) next->offsets[row] = now->offsets[row] + shift;
    copy_run(next, at, now, old, now->offsets[end]);
}

void peer_csr_add(peer_csr *csr, const bench_entries *batch)
{
    const bench_csr *now = &csr->now;
    bench_csr *next = &csr->next;
    const int col_bits = bench_bits(now->cols), threads = omp_get_max_threads();
    const size_t n = sort_batch(csr, batch, col_bits);
    uint64_t *fresh = bench_alloc((size_t)threads + 1, sizeof *fresh);
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num(), T = omp_get_num_threads();
        const uint64_t row = first_row(now, t, T), end = first_row(now, t + 1, T);
        const size_t from = first_of_batch(csr->batch, n, row << col_bits);
        const size_t to = t + 1 == T ? n : first_of_batch(csr->batch, n, end << col_bits);
        fresh[t + 1] = count_new(now, csr->batch, from, to, col_bits);
#pragma omp barrier
#pragma omp single
        {
            fresh[0] = 0;
            for (int i = 0; i < T; i++) fresh[i + 1] += fresh[i];
            next->nnz = now->nnz + fresh[T];
            give_room(next, &csr->next_room, next->nnz);
            next->offsets[now->rows] = next->nnz;
        }
        if (row < end)
            merge(next, now->offsets[row] + fresh[t], now, row, end, csr->batch, from, to, col_bits);
    }
    free(fresh);
    const bench_csr swap = csr->now;
    const uint64_t room = csr->now_room;
    csr->now = csr->next;
    csr->next = swap;
    csr->now_room = csr->next_room;
    csr->next_room = room;
}

static double row_sum(const uint32_t *columns, const double *values, uint64_t n, const double *x)
{
    double s[4] = {0};
    uint64_t e = 0;
    for (; e + 4 <= n; e += 4)
        for (int k = 0; k < 4; k++) s[k] += values[e + k] * x[columns[e + k]];
    for (; e < n; e++) s[0] += values[e] * x[columns[e]];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

void peer_csr_multiply(const bench_csr *csr, double *y, const double *x)
{
    enum { PARTS = 8 };
#pragma omp parallel
    {
        const int parts = PARTS * omp_get_num_threads();
#pragma omp for schedule(dynamic, 1)
        for (int part = 0; part < parts; part++)
            for (uint64_t row = first_row(csr, part, parts), end = first_row(csr, part + 1, parts); row < end;
                 row++)
                y[row] = row_sum(csr->columns + csr->offsets[row], csr->values + csr->offsets[row],
                                 csr->offsets[row + 1] - csr->offsets[row], x);
    }
}
