/* csc.c: the rows of a transposed matrix, made from those of a view: CSC, as the matrix's own columns see it.
 *
 * Sending each entry straight to its column would write to as many places as there are columns, a line of the
 * cache each. So entries first go to buckets of neighbouring columns, few enough that all their open lines
 * stay in the cache, and from there to their columns, which for one bucket are few again:
 *
 *      rows of A        thread 0's, thread 1's, ...           count: entries per thread and bucket
 *        | spread: in order of rows
 *        v
 *      buckets          | columns 0..2047 | 2048..4095 | ...  {column, row, value}
 *        | sort: one thread a bucket
 *        v
 *      columns          offsets, row numbers, values
 *
 * Both steps keep the order, so row numbers ascend within a column. Entries go straight to their columns,
 * counted per thread and column, where the lines written to stay in the cache by themselves: columns or
 * entries are few, or those of neighbouring rows are near each other, as in most matrices that come from a
 * grid or mesh. */
#include "dcsr/view/view_data.h"
#include <string.h>

enum {
    FEW_COLUMNS = 4096,     /* so many columns are their own buckets, */
    FEW_ENTRIES = 1 << 19,  /* and those of so few entries */
    BUCKET_ENTRIES = 16384, /* of a bucket, about, so that it fits the second-level cache */
    MOST_BUCKETS = 2048     /* whose open lines fit there too */
};

typedef struct transposition {
    const dcsr_i_rows *rows;
    dcsr_i_csr *csc;
    int shift; /* column >> shift is the bucket */
    uint64_t buckets;
    uint64_t *first; /* row of each thread, and the number of rows */
    uint64_t *next;  /* per thread and bucket: how many entries; then where the next one goes */
    uint64_t *begin; /* of each bucket, and the number of entries */
    void *moved;     /* the entries by bucket */
} transposition;

#define INCLUDED "dcsr/view/csc.inc"
#include "dcsr/base/value_sizes.inc"

static void transpose(const transposition *t, int threads)
{
    switch (t->csc->value_size) {
    case 0:
        transpose_of_0(t, threads);
        break;
    case 1:
        transpose_of_1(t, threads);
        break;
    case 2:
        transpose_of_2(t, threads);
        break;
    case 4:
        transpose_of_4(t, threads);
        break;
    default:
        transpose_of_8(t, threads);
    }
}

static size_t moved_size(size_t value_size)
{
    return value_size == 0 ? sizeof(entry_of_0) : value_size == 8 ? sizeof(entry_of_8) : sizeof(entry_of_4);
}

/* ---- Sharing out ---- */

/* Cuts the rows into one stretch per thread, of about as many entries each. */
static void share_rows(transposition *t, int threads)
{
    uint64_t nnz = t->csc->nnz, seen = 0;
    int thread = 1;
    t->first[0] = 0;
    for (uint64_t row = dcsr_i_rows_skip(t->rows, 0); row < t->rows->rows && thread < threads;
         row = dcsr_i_rows_skip(t->rows, row + 1)) {
        seen += dcsr_i_rows_length(t->rows, row);
        while (thread < threads && seen >= nnz / (uint64_t)threads * (uint64_t)thread)
            t->first[thread++] = row + 1;
    }
    while (thread <= threads) t->first[thread++] = t->rows->rows;
}

static void count(const transposition *t, int thread)
{
    uint64_t *counts = t->next + (uint64_t)thread * t->buckets;
    const uint32_t *columns = t->rows->columns;
    int shift = t->shift;
    memset(counts, 0, t->buckets * sizeof *counts);
    for (uint64_t row = dcsr_i_rows_skip(t->rows, t->first[thread]); row < t->first[thread + 1];
         row = dcsr_i_rows_skip(t->rows, row + 1)) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int pieces_count = dcsr_i_rows_pieces(t->rows, row, pieces);
        for (int k = 0; k < pieces_count; k++)
            for (uint64_t i = pieces[k].begin, end = i + pieces[k].length; i < end; i++)
                counts[columns[i] >> shift]++;
    }
}

/* From how many entries each thread has for each bucket to where they go. */
static void sum_counts(const transposition *t, int threads)
{
    uint64_t sum = 0;
    for (uint64_t bucket = 0; bucket < t->buckets; bucket++) {
        t->begin[bucket] = sum;
        for (int thread = 0; thread < threads; thread++) {
            uint64_t *next = &t->next[(uint64_t)thread * t->buckets + bucket], entries = *next;
            *next = sum;
            sum += entries;
        }
    }
    t->begin[t->buckets] = sum;
}

static void make_transpose(transposition *t, int threads)
{
    share_rows(t, threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (int thread = 0; thread < threads; thread++) count(t, thread);
    sum_counts(t, threads);
    transpose(t, threads);
}

/* How many columns the entries of a few rows from `row` on span. */
static uint64_t span(const dcsr_i_rows *rows, uint64_t row)
{
    enum { ROWS = 8, ENTRIES = 64 };
    uint64_t least = UINT64_MAX, most = 0;
    for (uint64_t r = row; r < row + ROWS && r < rows->rows; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, r, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t i = pieces[k].begin, end = i + pieces[k].length,
                          step = pieces[k].length / ENTRIES + 1;
                 i < end; i += step) {
                if (rows->columns[i] < least) least = rows->columns[i];
                if (rows->columns[i] > most) most = rows->columns[i];
            }
    }
    return most > least ? most - least : 0;
}

/* Whether entries of neighbouring rows are near each other, by a sample. */
static bool is_banded(const dcsr_i_rows *rows)
{
    enum { SAMPLES = 64, NEAR = 32768 };
    uint64_t far = 0;
    for (uint64_t s = 0; s < SAMPLES; s++) far += span(rows, rows->rows / SAMPLES * s) > NEAR;
    return far <= SAMPLES / 8;
}

static bool goes_straight(const transposition *t, int threads)
{
    uint64_t columns = t->csc->rows, nnz = t->csc->nnz;
    if (columns <= FEW_COLUMNS || nnz < BUCKET_ENTRIES) return true;
    /* Counters are not to weigh more than what they count. */
    if (columns > nnz / (uint64_t)threads) return false;
    return nnz <= FEW_ENTRIES || is_banded(t->rows);
}

static void choose_buckets(transposition *t, int threads)
{
    if (!goes_straight(t, threads)) {
        uint64_t wanted = t->csc->nnz / BUCKET_ENTRIES;
        if (wanted > MOST_BUCKETS) wanted = MOST_BUCKETS;
        while ((t->csc->rows - 1) >> t->shift >= wanted) t->shift++;
    }
    t->buckets = t->csc->rows ? ((t->csc->rows - 1) >> t->shift) + 1 : 0;
}

dcsr_status dcsr_i_csc_fill(dcsr_i_csr *csc, const dcsr_i_rows *rows)
{
    dcsr_context *context = csc->context;
    transposition t = {.rows = rows, .csc = csc};
    int threads = dcsr_i_threads(context, csc->nnz);
    choose_buckets(&t, threads);
    size_t size = moved_size(csc->value_size);
    uint64_t moved = t.shift ? csc->nnz : 0, counters = (uint64_t)threads * t.buckets;
    t.first = dcsr_i_alloc(context, DCSR_I_SCRATCH, (uint64_t)threads + 1, sizeof *t.first);
    t.next = dcsr_i_alloc(context, DCSR_I_SCRATCH, counters, sizeof *t.next);
    t.begin = dcsr_i_alloc(context, DCSR_I_SCRATCH, t.buckets + 1, sizeof *t.begin);
    t.moved = dcsr_i_alloc(context, DCSR_I_SCRATCH, moved, size);
    bool ready = t.first && t.next && t.begin && t.moved;
    if (ready) make_transpose(&t, threads);
    dcsr_i_free(context, DCSR_I_SCRATCH, t.moved, moved, size);
    dcsr_i_free(context, DCSR_I_SCRATCH, t.begin, t.buckets + 1, sizeof *t.begin);
    dcsr_i_free(context, DCSR_I_SCRATCH, t.next, counters, sizeof *t.next);
    dcsr_i_free(context, DCSR_I_SCRATCH, t.first, (uint64_t)threads + 1, sizeof *t.first);
    return ready ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* ---- The whole ---- */

dcsr_status dcsr_i_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                              uint64_t version)
{
    dcsr_i_csr *created = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *created);
    *csc = NULL;
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    atomic_init(&created->references, 1);
    created->context = context;
    created->engine = &dcsr_i_cpu_engine;
    created->version = version;
    created->type = rows->type;
    created->rows = rows->cols;
    created->cols = rows->rows;
    created->nnz = dcsr_i_rows_entries(rows);
    created->value_size = dcsr_type_size(rows->type);
    created->offsets = dcsr_i_offsets_create(context, "columns", created->rows);
    if (created->offsets)
        created->columns = dcsr_i_alloc(context, DCSR_I_MATRIX, created->nnz, sizeof *created->columns);
    if (created->columns && created->value_size)
        created->values = dcsr_i_alloc(context, DCSR_I_MATRIX, created->nnz, created->value_size);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (created->columns && (created->values || !created->value_size))
        status = dcsr_i_csc_fill(created, rows);
    if (status != DCSR_OK) {
        dcsr_i_csr_release(created);
        return status;
    }
    *csc = created;
    return DCSR_OK;
}
