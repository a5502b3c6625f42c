/* mxm_rows_cuda.c: sparse matrix times sparse matrix on a device, row by row: bins, room, rounds. */
#include "ops/mxm/mxm_rows_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/result.h"
#include "dcsr/view/view_data.h"
#include "ops/mxm/mxm_alike_cuda.h"
#include "ops/matrix/write_matrix.h"
#include <string.h>

static const char operation[] = "multiplying matrices";

/* ---- What is chosen ---- */

/* A table is to be filled to a third by what is expected. */
enum { TIMES_EXPECTED = 3 };
#ifdef DCSR_SIMT
enum { BLOCK_WARPS = 2 };
#else
enum { BLOCK_WARPS = 16 };
#endif
/* A bin whose rows are fewer than one in so many of those with the next larger table joins these. */
enum { FEW_ROWS = 8 };
/* Classes of 0 to 63 products; entries that are expected at most in the smaller of the tables of short rows. */
enum { SHORT_CLASSES = 7, SHORT_FULL = 20 };

typedef enum method { NOTHING, SHORT, WARP, BLOCK, LONG } method;

typedef struct choice {
    method method;
    int bits; /* of the table; of a long row 1 where its sums fit half of the shared memory */
} choice;

static choice choose(double expected, int block_bits)
{
    double wanted = expected * TIMES_EXPECTED;
    int bits = DCSR_CUDA_MXM_LEAST_BITS;
    while ((double)((uint64_t)1 << bits) < wanted && bits < 40) bits++;
    method how = bits <= DCSR_CUDA_MXM_WARP_BITS ? WARP : bits <= block_bits ? BLOCK : LONG;
    return (choice){how, how == LONG ? 0 : bits};
}

/* ---- What a product has ---- */

/* Counters that kernels write, in one array. */
enum { NEXT, LEFT, TICKET, BY_CLASS, COUNTERS = BY_CLASS + DCSR_CUDA_MXM_CLASSES };

typedef struct multiplication {
    const dcsr_i_matrix_output *out;
    dcsr_view *A, *B;
    dcsr_i_cuda_mxm_job job;
    bool transpose_a, transpose_b;
    uint64_t work; /* products */
    size_t shared_bytes;
    int block_bits; /* of the largest table that fits them */
    uint64_t used;  /* entries of the latest room */
    /* With a limit of memory that might be exceeded: the most entries that there may be room for at a time; else 0.
     * The rows that are left, in order of their classes, and products of all rows, are on the host then. */
    uint64_t slice, entry_bytes;
    uint32_t *listed, *known_products;
    /* While it is computed. */
    dcsr_i_cuda_sink *sink;    /* without a matrix where the result becomes a list */
    uint64_t filled, capacity; /* entries of its arrays, then */
    dcsr_i_cuda_stream *stream;
    uint64_t *a_heads, *b_heads;
    uint32_t *products, *list, *left;
    unsigned long long *counters, *status;
    uint64_t status_count;
    dcsr_i_cuda_mxm_census *census, known;
} multiplication;

static void *allocate(const multiplication *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static void release(const multiplication *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static bool is_one_matrix(const multiplication *m)
{
    const dcsr_i_cuda_rows *a = &m->job.a, *b = &m->job.b;
    return a->root == b->root && a->offsets == b->offsets && a->rows == b->rows;
}

static dcsr_status open_product(multiplication *m)
{
    /* Kernels have some of it besides what they are launched with. */
    m->shared_bytes = dcsr_i_cuda_describe(dcsr_i_cuda_device_of(m->stream))->shared_bytes - 1024;
    m->block_bits = DCSR_CUDA_MXM_BLOCK_BITS;
    while (dcsr_i_cuda_mxm_block_bytes(
               &(dcsr_i_cuda_mxm_table){.bits = m->block_bits, .warps = BLOCK_WARPS}) > m->shared_bytes)
        m->block_bits--;
    uint64_t rows = m->job.a.rows, inner = m->job.b.rows;
    bool one = is_one_matrix(m);
    m->b_heads = allocate(m, inner, sizeof *m->b_heads);
    m->a_heads = one ? NULL : allocate(m, rows, sizeof *m->a_heads);
    m->products = allocate(m, rows, sizeof *m->products);
    m->counters = allocate(m, COUNTERS, sizeof *m->counters);
    m->census = allocate(m, 1, sizeof *m->census);
    m->left = allocate(m, rows, sizeof *m->left);
    if (!m->b_heads || (!one && !m->a_heads) || !m->products || !m->counters || !m->census || !m->left)
        return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_heads(m->stream, &m->job.b, m->b_heads);
    if (!one) dcsr_i_cuda_mxm_heads(m->stream, &m->job.a, m->a_heads);
    m->job.b_heads = m->b_heads;
    m->job.a_heads = one ? m->b_heads : m->a_heads;
    return DCSR_OK;
}

static void close_product(multiplication *m)
{
    uint64_t rows = m->job.a.rows, inner = m->job.b.rows;
    dcsr_context *context = m->out->C->context;
    dcsr_i_free(context, DCSR_I_SCRATCH, m->listed, rows, sizeof *m->listed);
    dcsr_i_free(context, DCSR_I_SCRATCH, m->known_products, rows, sizeof *m->known_products);
    release(m, m->status, m->status_count, sizeof *m->status);
    release(m, m->list, rows, sizeof *m->list);
    release(m, m->left, rows, sizeof *m->left);
    release(m, m->census, 1, sizeof *m->census);
    release(m, m->counters, COUNTERS, sizeof *m->counters);
    release(m, m->products, rows, sizeof *m->products);
    release(m, m->a_heads, rows, sizeof *m->a_heads);
    release(m, m->b_heads, inner, sizeof *m->b_heads);
}

/* ---- What is known ---- */

static dcsr_status count_products(multiplication *m)
{
    uint64_t rows = m->job.a.rows, step = rows / DCSR_CUDA_MXM_SAMPLED_ROWS + 1;
    dcsr_i_cuda_fill(m->stream, m->census, 0, sizeof *m->census);
    dcsr_i_cuda_mxm_products(m->stream, &m->job, m->products, m->census);
    dcsr_i_cuda_mxm_sample(m->stream, &m->job, m->products, step, 32, m->census);
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &m->known, m->census, sizeof m->known, operation));
    m->work = 0;
    for (int k = 0; k < DCSR_CUDA_MXM_CLASSES; k++) m->work += m->known.products[k];
    return DCSR_OK;
}

/* The entries of a row of class k that are expected; or, with `most`, as many as there can be. */
static double expect(const multiplication *m, int k, bool most)
{
    const dcsr_i_cuda_mxm_census *c = &m->known;
    if (!c->rows[k]) return 0;
    double entries = (double)c->products[k] / (double)c->rows[k], cols = (double)m->job.b.cols;
    if (most) entries = k < 32 ? (double)((uint64_t)1 << k) : cols; /* 2^32 - 1 products, or more */
    if (!most && c->sampled_products[k])
        entries *= (double)c->sampled_outputs[k] / (double)c->sampled_products[k];
    return entries < cols ? entries : cols;
}

/* How a long row of class k is computed. Rows of classes that no sample has seen are taken to be like shorter ones. */
static choice choose_long(const multiplication *m, int k)
{
    const dcsr_i_cuda_mxm_census *c = &m->known;
    int like = k;
    while (like && !c->sampled_products[like]) like--;
    double entries = expect(m, k, false);
    if (like < k && like) entries *= (double)c->sampled_outputs[like] / (double)c->sampled_products[like];
    return (choice){LONG, dcsr_i_cuda_mxm_fits_half(m->job.b.cols, m->shared_bytes, entries)};
}

/* The method of each class. */
static void choose_methods(const multiplication *m, int round, choice by_class[DCSR_CUDA_MXM_CLASSES])
{
    uint64_t above = 0; /* rows with the table of the class above */
    for (int k = DCSR_CUDA_MXM_CLASSES - 1; k > 0; k--) {
        uint64_t rows = m->known.rows[k];
        const double expected = expect(m, k, round > 0);
        by_class[k] = choose(expected, m->block_bits);
        if (k < SHORT_CLASSES) by_class[k] = (choice){SHORT, expected <= SHORT_FULL || k < 6 ? 5 : 6};
        if (by_class[k].method == LONG || (k >= SHORT_CLASSES && round > 1)) by_class[k] = choose_long(m, k);
        choice next = k + 1 < DCSR_CUDA_MXM_CLASSES ? by_class[k + 1] : by_class[k];
        const bool alike = by_class[k].method == next.method && next.method <= WARP;
        if (!rows || (alike && rows < above / FEW_ROWS)) by_class[k] = next;
        bool same = by_class[k].method == next.method && by_class[k].bits == next.bits;
        above = same ? above + rows : rows;
    }
    by_class[0] = (choice){NOTHING, 0};
}

/* ---- Rounds ---- */

/* Rows of one method, that stand side by side in the list; or all. */
typedef struct bin {
    choice how;
    uint64_t first, count;
} bin;

static int find_bins(const multiplication *m, const choice by_class[DCSR_CUDA_MXM_CLASSES],
                     bin bins[DCSR_CUDA_MXM_CLASSES])
{
    int n = 0;
    uint64_t at = m->known.rows[0];
    for (int k = 1; k < DCSR_CUDA_MXM_CLASSES; k++) {
        uint64_t rows = m->known.rows[k];
        choice how = by_class[k];
        if (rows && n && bins[n - 1].how.method == how.method && bins[n - 1].how.bits == how.bits)
            bins[n - 1].count += rows;
        else if (rows)
            bins[n++] = (bin){how, at, rows};
        at += rows;
    }
    return n;
}

/* For a list: arrays that grow. */
static dcsr_status grow_arrays(multiplication *m, uint64_t entries)
{
    dcsr_i_cuda_mxm_job *job = &m->job;
    const uint64_t capacity = m->filled + entries;
    const size_t size = job->ones ? 0 : job->value_size;
    uint32_t *columns = allocate(m, capacity, sizeof *columns);
    void *values = size ? allocate(m, capacity, size) : NULL;
    const bool grows = columns && (values || !size);
    if (grows && m->filled) dcsr_i_cuda_copy(m->stream, columns, job->columns, m->filled * sizeof *columns);
    if (grows && m->filled && size) dcsr_i_cuda_copy(m->stream, values, job->values, m->filled * size);
    release(m, grows ? job->values : values, grows ? m->capacity : capacity, size);
    release(m, grows ? job->columns : columns, grows ? m->capacity : capacity, sizeof *columns);
    if (!grows) return dcsr_i_no_memory();
    job->columns = columns;
    job->values = values;
    job->first = m->filled;
    m->capacity = capacity;
    return DCSR_OK;
}

static dcsr_status take(multiplication *m, uint64_t entries)
{
    m->job.room = entries;
    return m->sink->matrix ? dcsr_i_cuda_sink_room(m->sink, entries, &m->job.first) : grow_arrays(m, entries);
}

/* Gives back what was not used of what was taken. */
static void cut(multiplication *m, uint64_t used)
{
    m->filled += used;
    if (m->sink->matrix) dcsr_i_cuda_sink_cut(m->sink, used);
}

/* Takes room for what is expected of these rows, with something to spare. */
static dcsr_status take_room(multiplication *m, bool most)
{
    double entries = 0;
    for (int k = 1; k < DCSR_CUDA_MXM_CLASSES; k++) {
        double products = (double)m->known.products[k], one = expect(m, k, false) * (double)m->known.rows[k];
        double spare = m->known.sampled_products[k] ? 1.02 * one + 4096 : one;
        if (most) one = products;
        entries += most || spare > products ? (most ? one : products < spare ? products : spare) : spare;
    }
    return take(m, (uint64_t)entries + 1);
}

static void run_bin(multiplication *m, const bin *b)
{
    dcsr_i_cuda_mxm_job *job = &m->job;
    dcsr_i_cuda_mxm_table table = {.bits = b->how.bits, .warps = DCSR_CUDA_MXM_WARPS};
    table.lanes = dcsr_i_cuda_mxm_lanes((double)job->b.stored / (double)(job->b.rows ? job->b.rows : 1));
    job->count = b->count;
    dcsr_i_cuda_fill(m->stream, m->counters + TICKET, 0, sizeof *m->counters);
    if (b->how.method == SHORT) {
        dcsr_i_cuda_mxm_short(m->stream, job, b->how.bits);
    } else if (b->how.method == WARP) {
        dcsr_i_cuda_mxm_warp(m->stream, job, &table);
    } else if (b->how.method == BLOCK) {
        table.warps = BLOCK_WARPS;
        while (table.warps > 4 && table.warps << 9 > 1 << table.bits) table.warps /= 2;
        dcsr_i_cuda_mxm_block(m->stream, job, &table);
    } else {
        dcsr_i_cuda_mxm_long(m->stream, job, m->shared_bytes, b->how.bits);
    }
}

/* Rows stand in order where all are short. */
static dcsr_status run_in_order(multiplication *m, bin *b)
{
    b->count = m->job.a.rows;
    m->status_count = dcsr_i_cuda_mxm_short_tiles(b->count, b->how.bits);
    m->status = allocate(m, m->status_count, sizeof *m->status);
    if (!m->status) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(m->stream, m->status, 0, m->status_count * sizeof *m->status);
    m->job.status = m->status;
    m->job.row = NULL;
    run_bin(m, b);
    m->job.status = NULL;
    return DCSR_OK;
}

/* Rows by class, of all or of those in `from`. */
static dcsr_status list_rows(multiplication *m, const uint32_t *from, uint64_t count)
{
    if (!m->list) m->list = allocate(m, m->job.a.rows, sizeof *m->list);
    if (!m->list) return dcsr_i_no_memory();
    return dcsr_i_cuda_mxm_sort_rows(m->stream, from, count, m->products, &m->known, m->counters + BY_CLASS,
                                     m->list);
}

/* ---- Slices ---- */

/* Entries that a row may have. */
static uint64_t most_of_row(const multiplication *m, uint32_t row)
{
    const uint32_t products = m->known_products[row];
    return products < m->job.b.cols && products < UINT32_MAX ? products : m->job.b.cols;
}

/* As many of a bin's rows, from the first on, as there may be room for; there is room for all products, so that what
 * is taken beside the result is known before. */
static dcsr_status run_slice(multiplication *m, bin *rows)
{
    bin slice = {rows->how, rows->first, 0};
    unsigned long long used;
    uint64_t room = 0, one;
    for (; slice.count < rows->count; room += one, slice.count++) {
        const uint32_t row = m->listed[slice.first + slice.count];
        one = most_of_row(m, row);
        if (one > m->slice)
            return dcsr_i_cuda_mxm_fail_row(m->out, row, one * m->entry_bytes, m->slice * m->entry_bytes);
        if (room + one > m->slice) break;
    }
    DCSR_TRY(take(m, room));
    dcsr_i_cuda_fill(m->stream, m->counters + NEXT, 0, sizeof *m->counters);
    m->job.row = m->list + slice.first;
    run_bin(m, &slice);
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &used, m->counters + NEXT, sizeof used, operation));
    cut(m, used);
    rows->first += slice.count;
    rows->count -= slice.count;
    return DCSR_OK;
}

static dcsr_status run_slices(multiplication *m, bin bins[], int n)
{
    const uint64_t rows = m->job.a.rows;
    dcsr_i_cuda_copy(m->stream, m->listed, m->list, rows * sizeof *m->listed);
    dcsr_i_cuda_copy(m->stream, m->known_products, m->products, rows * sizeof *m->known_products);
    DCSR_TRY(dcsr_i_cuda_wait(m->stream, operation));
    for (int k = n - 1; k >= 0; k--)
        while (bins[k].count) DCSR_TRY(run_slice(m, &bins[k]));
    return DCSR_OK;
}

/* Bytes that are kept of all rows. */
static uint64_t bytes_of_rows(const multiplication *m)
{
    const uint64_t of_row = 3 * sizeof(uint64_t) + 5 * sizeof(uint32_t);
    return m->job.a.rows * of_row + m->job.b.rows * sizeof *m->b_heads;
}

/* Whether there must be slices: where all that is taken beside the result might be more than the limit. */
static dcsr_status plan_slices(multiplication *m)
{
    const dcsr_desc *desc = m->out->desc;
    const uint64_t rows = m->job.a.rows;
    uint64_t left, most = 0;
    if (!desc || !desc->memory_limit) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_mxm_limit(m->out, bytes_of_rows(m), &left));
    for (int k = 1; k < DCSR_CUDA_MXM_CLASSES; k++) most += m->known.products[k];
    m->entry_bytes = sizeof *m->job.columns + m->out->C->value_size;
    if (most <= left / m->entry_bytes) return DCSR_OK;
    dcsr_context *context = m->out->C->context;
    m->slice = left / m->entry_bytes;
    m->listed = dcsr_i_alloc(context, DCSR_I_SCRATCH, rows, sizeof *m->listed);
    m->known_products = dcsr_i_alloc(context, DCSR_I_SCRATCH, rows, sizeof *m->known_products);
    return m->listed && m->known_products ? DCSR_OK : dcsr_i_no_memory();
}

/* Computes the rows of which known tells, all or those in `from`; *left of them are then in m->left. */
static dcsr_status run_round(multiplication *m, int round, const uint32_t *from, uint64_t count,
                             uint64_t *left)
{
    choice by_class[DCSR_CUDA_MXM_CLASSES];
    bin bins[DCSR_CUDA_MXM_CLASSES];
    unsigned long long counters[TICKET + 1];
    choose_methods(m, round, by_class);
    int n = find_bins(m, by_class, bins);
    bool in_order = !from && n == 1 && bins[0].how.method == SHORT && !m->listed;
    if (!m->listed) DCSR_TRY(take_room(m, round > 0));
    m->sink->contiguous = in_order;
    if (!in_order) DCSR_TRY(list_rows(m, from, count));
    dcsr_i_cuda_fill(m->stream, m->counters, 0, BY_CLASS * sizeof *m->counters);
    m->job.next = m->counters + NEXT;
    m->job.left_count = m->counters + LEFT;
    m->job.ticket = m->counters + TICKET;
    m->job.left = m->left;
    for (int k = 0; k < n; k++) m->sink->ascending &= bins[k].how.method == LONG;
    if (in_order) DCSR_TRY(run_in_order(m, &bins[0]));
    if (m->listed) DCSR_TRY(run_slices(m, bins, n));
    for (int k = n - 1; k >= 0 && !in_order && !m->listed; k--) { /* those with the longest rows first */
        m->job.row = m->list + bins[k].first;
        run_bin(m, &bins[k]);
    }
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, counters, m->counters, sizeof counters, operation));
    *left = counters[LEFT];
    if (m->listed) return DCSR_OK;
    m->used = counters[NEXT] < m->job.room ? counters[NEXT] : m->job.room;
    cut(m, m->used);
    return DCSR_OK;
}

/* Rows that are shifts of a few, if most are; *left others are then in m->left. */
static dcsr_status compute_alike(multiplication *m, uint64_t *left)
{
    dcsr_i_cuda_mxm_alike alike;
    bool are = false;
    m->job.left = m->left;
    dcsr_status status = dcsr_i_cuda_mxm_alike_open(&alike, m->stream, &m->job, &are);
    if (status == DCSR_OK && are) status = take(m, alike.planned.entries);
    if (status == DCSR_OK && are) status = dcsr_i_cuda_mxm_alike_compute(&alike, m->stream, &m->job);
    if (status == DCSR_OK && are) {
        cut(m, alike.planned.entries);
        m->sink->stored = alike.planned.entries;
        m->sink->contiguous = true;
        m->work = alike.planned.products;
        *left = alike.planned.left;
    }
    dcsr_i_cuda_mxm_alike_close(&alike, m->stream, &m->job);
    return status;
}

/* What is known of those that are left; samples are of all. */
static dcsr_status count_left(multiplication *m, uint64_t left)
{
    const dcsr_i_cuda_mxm_census all = m->known;
    dcsr_i_cuda_fill(m->stream, m->census, 0, sizeof *m->census);
    dcsr_i_cuda_mxm_recount(m->stream, m->left, left, m->products, m->census);
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &m->known, m->census, sizeof m->known, operation));
    memcpy(m->known.sampled_products, all.sampled_products, sizeof all.sampled_products);
    memcpy(m->known.sampled_outputs, all.sampled_outputs, sizeof all.sampled_outputs);
    return DCSR_OK;
}

static dcsr_status compute_rows(multiplication *m)
{
    const uint64_t rows = m->job.a.rows;
    const uint64_t limit = m->out->desc ? m->out->desc->memory_limit : 0;
    uint64_t left = rows;
    m->sink->ascending = true;
    if (!limit || bytes_of_rows(m) + dcsr_i_cuda_mxm_alike_bytes(&m->job) <= limit)
        DCSR_TRY(compute_alike(m, &left));
    if (!left) return DCSR_OK;
    const bool some = left < rows;
    DCSR_TRY(count_products(m));
    DCSR_TRY(plan_slices(m));
    for (int round = 0; left && m->work; round++) {
        if (round || some) DCSR_TRY(count_left(m, left));
        DCSR_TRY(run_round(m, round, round || some ? m->left : NULL, left, &left));
        if (round == 0) m->sink->stored = m->used;
        const bool scattered = left || round || some || m->listed;
        if (scattered) m->sink->contiguous = false;
        if (scattered)
            DCSR_TRY(dcsr_i_cuda_mxm_total(m->stream, m->sink->length, m->job.a.rows, &m->sink->stored));
    }
    return DCSR_OK;
}

/* ---- In C's turn ---- */

static dcsr_status produce(dcsr_i_cuda_sink *sink, void *user)
{
    multiplication *m = user;
    dcsr_matrix *C = sink->matrix;
    m->sink = sink;
    m->stream = sink->stream;
    m->job.columns = C->arena.columns;
    m->job.values = C->value_size ? C->arena.values : NULL;
    m->job.begin = sink->begin;
    m->job.length = sink->length;
    dcsr_status status = open_product(m);
    if (status == DCSR_OK) status = compute_rows(m);
    close_product(m);
    return status;
}

static dcsr_status multiply_in_turn(dcsr_matrix *C, void *user)
{
    multiplication *m = user;
    const dcsr_i_table *now = C->versions.current;
    DCSR_TRY(dcsr_i_check_shape(m->out->call, "C", now->rows, now->cols, "the result", m->job.a.rows,
                                m->job.b.cols));
    dcsr_i_cuda_enter(C->cuda->stream);
    dcsr_status status = dcsr_i_cuda_replace_rows(C, produce, m);
    dcsr_i_cuda_leave(C->cuda->stream);
    return status;
}

/* ---- As a list ---- */

/* The rows that were computed, as a list. */
static dcsr_status make_list(const multiplication *m, dcsr_i_cuda_coo *T, dcsr_type type)
{
    const uint64_t rows = m->job.a.rows;
    uint64_t *offsets = allocate(m, rows + 1, sizeof *offsets);
    dcsr_status status = offsets
                             ? dcsr_i_cuda_coo_open(T, m->stream, type, rows, m->job.b.cols, m->sink->stored)
                             : dcsr_i_no_memory();
    if (status == DCSR_OK) status = dcsr_i_cuda_scan_u32(m->stream, m->sink->length, offsets, rows);
    if (status == DCSR_OK) {
        dcsr_i_cuda_mxm_list(m->stream, &m->job, offsets, T->keys, T->values);
        if (!m->sink->ascending) status = dcsr_i_cuda_coo_sort(T, m->stream);
    }
    release(m, offsets, rows + 1, sizeof *offsets);
    return status;
}

dcsr_status dcsr_i_cuda_mxm_rows_as_list(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream,
                                         const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                         dcsr_view *A, dcsr_view *B)
{
    const dcsr_desc *desc = out->desc;
    dcsr_i_cuda_sink sink = {.stream = stream};
    multiplication m = {.out = out, .A = A, .B = B, .sink = &sink, .stream = stream};
    dcsr_i_cuda_mxm_ring_of(&m.job, semiring, A, out->C->type);
    m.job.ordered = desc && desc->deterministic;
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m.job.a, A, desc && desc->transpose_a));
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m.job.b, B, desc && desc->transpose_b));
    const uint64_t rows = m.job.a.rows;
    m.job.begin = sink.begin = allocate(&m, rows, sizeof *sink.begin);
    m.job.length = sink.length = allocate(&m, rows, sizeof *sink.length);
    dcsr_status status = sink.begin && sink.length ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) dcsr_i_cuda_fill(stream, sink.length, 0, rows * sizeof *sink.length);
    if (status == DCSR_OK) status = open_product(&m);
    if (status == DCSR_OK) status = compute_rows(&m);
    close_product(&m);
    if (status == DCSR_OK) status = make_list(&m, T, m.job.ones ? DCSR_PATTERN : semiring->multiply->ztype);
    release(&m, m.job.values, m.capacity, m.job.ones ? 0 : m.job.value_size);
    release(&m, m.job.columns, m.capacity, sizeof *m.job.columns);
    release(&m, sink.length, rows, sizeof *sink.length);
    release(&m, sink.begin, rows, sizeof *sink.begin);
    return status;
}

/* ---- The call ---- */

dcsr_status dcsr_i_cuda_mxm_rows(bool *taken, const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                 dcsr_view *A, dcsr_view *B)
{
    const dcsr_desc *desc = out->desc;
    multiplication m = {.out = out,
                        .A = A,
                        .B = B,
                        .transpose_a = desc && desc->transpose_a,
                        .transpose_b = desc && desc->transpose_b};
    bool plain = !out->mask && !(desc && desc->mask_complement) && !out->accum && !out->region;
    *taken = plain && dcsr_i_cuda_mxm_is_plain(A) && dcsr_i_cuda_mxm_is_plain(B) &&
             dcsr_i_cuda_mxm_ring_of(&m.job, semiring, A, out->C->type) &&
             (m.job.ones || out->C->type == semiring->multiply->ztype);
    if (!*taken) return DCSR_OK;
    m.job.ordered = desc && desc->deterministic;
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m.job.a, A, m.transpose_a));
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m.job.b, B, m.transpose_b));
    DCSR_TRY(dcsr_i_result_turn(out->C, out->call, multiply_in_turn, &m));
    if (desc && desc->report) *desc->report = (dcsr_report){.device = DCSR_DEVICE_CUDA, .entries = m.work};
    return DCSR_OK;
}
