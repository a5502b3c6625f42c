/* row_chunks.c: formats that are made of chunks of rows, each by itself. */
#include "ops/spmv/portfolio/row_chunks.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    SORTED_AT_MOST = 256,
    BYTES_OF_EACH = sizeof(uint64_t) + sizeof(void *) /* chunk, besides its own */
};

const char *dcsr_i_spmv_refuses_sparse_lines(const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_lines_are_sparse(A->info.rows, A->info.nnz)
               ? "needs room for each row, of which the matrix has far more than entries"
               : NULL;
}

static uint64_t chunk_count(const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A)
{
    return (A->info.rows + kernel->rows - 1) / kernel->rows;
}

static uint64_t rows_of_chunk(const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A, uint64_t c)
{
    const uint64_t first = c * kernel->rows, left = A->info.rows - first;
    return left < kernel->rows ? left : kernel->rows;
}

/* ---- Reading rows ---- */

/* Memory of one thread, for the longest chunk. */
typedef struct room {
    uint64_t begin, columns, values, work, all; /* bytes from its start; of the whole */
} room;

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* For some chunks, or, if `which` is NULL, the first ones. */
static room find_room(const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A, const uint64_t *which,
                      uint64_t chunks)
{
    uint64_t most = 0;
    for (uint64_t k = 0; k < chunks; k++) {
        const uint64_t c = which ? which[k] : k, first = c * kernel->rows, rows = rows_of_chunk(kernel, A, c);
        uint64_t entries = 0;
        for (uint64_t r = 0; r < rows; r++) entries += dcsr_i_rows_length(A->rows, first + r);
        if (entries > most) most = entries;
    }
    room r = {.begin = 0};
    r.columns = aligned((kernel->rows + 1) * sizeof(uint64_t));
    r.values = r.columns + aligned(most * sizeof(uint32_t));
    r.work = r.values + aligned(most * dcsr_type_size(A->info.type));
    r.all = r.work + aligned(kernel->rows * kernel->work_row) + aligned(most * kernel->work_entry);
    return r;
}

/* By insertion: rows that are not in order are nearly so, or short. */
static void sort_row(uint32_t *columns, char *values, size_t size, uint64_t n)
{
    char moved[sizeof(uint64_t)];
    for (uint64_t i = 1; i < n; i++) {
        const uint32_t column = columns[i];
        uint64_t at = i;
        if (columns[i - 1] <= column) continue;
        memcpy(moved, values + i * size, size);
        for (; at && columns[at - 1] > column; at--) {
            columns[at] = columns[at - 1];
            memcpy(values + at * size, values + (at - 1) * size, size);
        }
        columns[at] = column;
        memcpy(values + at * size, moved, size);
    }
}

static dcsr_i_spmv_chunk read_chunk(const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A,
                                    uint64_t c, char *memory, const room *r, const void *common)
{
    dcsr_i_spmv_chunk chunk = {.first = c * kernel->rows,
                               .rows = rows_of_chunk(kernel, A, c),
                               .begin = (uint64_t *)(memory + r->begin),
                               .columns = (uint32_t *)(memory + r->columns),
                               .values = memory + r->values,
                               .size = dcsr_type_size(A->info.type),
                               .type = A->info.type,
                               .work = memory + r->work,
                               .common = common};
    uint64_t at = 0;
    for (uint64_t row = 0; row < chunk.rows; row++) {
        uint32_t *columns = chunk.columns + at;
        char *values = chunk.values + at * chunk.size;
        const uint64_t n = dcsr_i_spmv_copy_row(A->rows, chunk.first + row, columns, values);
        if (n <= SORTED_AT_MOST) sort_row(columns, values, chunk.size, n);
        chunk.begin[row] = at;
        at += n;
    }
    chunk.begin[chunk.rows] = at;
    return chunk;
}

/* ---- Chunks ---- */

/* Some chunks that are measured, or measured and made. */
typedef struct walk {
    const dcsr_i_spmv_chunked *kernel;
    const dcsr_i_spmv_matrix *A;
    const void *common;
    const uint64_t *which; /* NULL: all */
    uint64_t count;
    void **made;     /* NULL: they are measured only */
    uint64_t *bytes; /* NULL: their sum is enough */
    uint64_t total;
} walk;

/* All of them, or none and OUT_OF_MEMORY. */
static dcsr_status walk_chunks(walk *w)
{
    const dcsr_i_spmv_matrix *A = w->A;
    const room r = find_room(w->kernel, A, w->which, w->count);
    int threads = dcsr_i_spmv_threads(A);
    if ((uint64_t)threads > w->count) threads = w->count ? (int)w->count : 1;
    char *memory = dcsr_i_alloc(A->context, DCSR_I_SCRATCH, (size_t)threads, r.all);
    if (!memory) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t total = 0;
    atomic_bool failed = false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : total) if (threads > 1)
    for (uint64_t k = 0; k < w->count; k++) {
        if (failed) continue;
        const dcsr_i_spmv_chunk chunk =
            read_chunk(w->kernel, A, w->which ? w->which[k] : k,
                       memory + (uint64_t)omp_get_thread_num() * r.all, &r, w->common);
        const uint64_t bytes = w->kernel->measure(&chunk);
        total += bytes;
        if (!w->made) continue;
        w->bytes[k] = bytes;
        w->made[k] = dcsr_i_alloc(A->context, DCSR_I_MATRIX, bytes, 1);
        if (w->made[k])
            w->kernel->fill(w->made[k], &chunk);
        else
            failed = true;
    }
    dcsr_i_free(A->context, DCSR_I_SCRATCH, memory, (size_t)threads, r.all);
    w->total = total;
    if (!failed) return DCSR_OK;
    for (uint64_t k = 0; k < w->count; k++) {
        if (w->made[k]) dcsr_i_free(A->context, DCSR_I_MATRIX, w->made[k], w->bytes[k], 1);
        w->made[k] = NULL;
    }
    return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                       "spmv: no memory for the format of the kernel; take one that reads rows in place");
}

dcsr_status dcsr_i_spmv_chunks_measure(uint64_t *bytes, const dcsr_i_spmv_chunked *kernel,
                                       const dcsr_i_spmv_matrix *A, const void *common)
{
    walk w = {.kernel = kernel, .A = A, .common = common, .count = chunk_count(kernel, A)};
    DCSR_TRY(walk_chunks(&w));
    *bytes = sizeof(dcsr_i_spmv_chunks) + w.count * BYTES_OF_EACH + w.total;
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_chunks_build(dcsr_i_spmv_chunks **chunks, const dcsr_i_spmv_chunked *kernel,
                                     const dcsr_i_spmv_matrix *A, const void *common)
{
    *chunks = NULL;
    dcsr_i_spmv_chunks *f = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *f);
    if (!f) return DCSR_ERROR_OUT_OF_MEMORY;
    f->count = chunk_count(kernel, A);
    f->bytes = dcsr_i_calloc(A->context, DCSR_I_MATRIX, f->count, sizeof *f->bytes);
    f->chunk = dcsr_i_calloc(A->context, DCSR_I_MATRIX, f->count, sizeof *f->chunk);
    walk w = {kernel, A, common, NULL, f->count, f->chunk, f->bytes, 0};
    const dcsr_status status = f->bytes && f->chunk ? walk_chunks(&w) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status) {
        dcsr_i_spmv_chunks_discard(f, A);
        return status;
    }
    *chunks = f;
    return DCSR_OK;
}

/* The chunks that hold the rows, each once; returns how many. */
static uint64_t chunks_of(uint64_t *which, const dcsr_i_spmv_chunked *kernel,
                          const dcsr_i_changed_rows *changed)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < changed->count; i++) {
        const uint64_t c = changed->rows[i] / kernel->rows;
        if (!count || which[count - 1] != c) which[count++] = c;
    }
    return count;
}

/* New chunks are all there before the first takes the place of an old one. */
dcsr_status dcsr_i_spmv_chunks_refresh(dcsr_i_spmv_chunks *chunks, uint64_t *bytes,
                                       const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A,
                                       const void *common, const dcsr_i_changed_rows *changed)
{
    enum { PARTS = 3 }; /* of the memory: numbers, chunks, their bytes */
    const uint64_t most = changed->count < chunks->count ? changed->count : chunks->count;
    uint64_t *memory = dcsr_i_calloc(A->context, DCSR_I_SCRATCH, PARTS * most, sizeof(uint64_t));
    if (!memory) return DCSR_ERROR_OUT_OF_MEMORY;
    void **made = (void **)(memory + most);
    walk w = {kernel, A, common, memory, 0, made, memory + 2 * most, 0};
    w.count = chunks_of(memory, kernel, changed);
    const dcsr_status status = walk_chunks(&w);
    for (uint64_t k = 0; !status && k < w.count; k++) {
        const uint64_t c = memory[k];
        dcsr_i_free(A->context, DCSR_I_MATRIX, chunks->chunk[c], chunks->bytes[c], 1);
        chunks->chunk[c] = made[k];
        chunks->bytes[c] = w.bytes[k];
    }
    dcsr_i_free(A->context, DCSR_I_SCRATCH, memory, PARTS * most, sizeof(uint64_t));
    *bytes = sizeof *chunks + chunks->count * BYTES_OF_EACH;
    for (uint64_t c = 0; c < chunks->count; c++) *bytes += chunks->bytes[c];
    return status;
}

void dcsr_i_spmv_chunks_discard(dcsr_i_spmv_chunks *chunks, const dcsr_i_spmv_matrix *A)
{
    if (!chunks) return;
    for (uint64_t c = 0; chunks->chunk && chunks->bytes && c < chunks->count; c++)
        dcsr_i_free(A->context, DCSR_I_MATRIX, chunks->chunk[c], chunks->bytes[c], 1);
    dcsr_i_free(A->context, DCSR_I_MATRIX, chunks->chunk, chunks->count, sizeof *chunks->chunk);
    dcsr_i_free(A->context, DCSR_I_MATRIX, chunks->bytes, chunks->count, sizeof *chunks->bytes);
    dcsr_i_free(A->context, DCSR_I_MATRIX, chunks, 1, sizeof *chunks);
}
