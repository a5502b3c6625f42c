/* mxm_places_cuda.c: sparse matrix times sparse matrix on a device at places that are known: what is read, choice of
 * tables or dots, bins. */
#include "ops/mxm/mxm_places_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/write_matrix.h"

static const char operation[] = "multiplying matrices";

/* Tables of 2^bits slots: up to WARP_BITS a warp's, up to BLOCK_BITS, as far as shared memory reaches, a block's. */
#ifdef DCSR_SIMT
enum { LEAST_BITS = 5, WARP_BITS = 6, BLOCK_BITS = 8, WARPS = 2, BLOCK_WARPS = 2 };
#else
enum { LEAST_BITS = 5, WARP_BITS = 10, BLOCK_BITS = 14, WARPS = 4, BLOCK_WARPS = 16 };
#endif
/* What transposing an entry of B costs, in products. */
enum { TRANSPOSING = 20 };

/* Counters that kernels write, in one array. */
enum { TICKET, DISORDER, COST, BY_CLASS, COUNTERS = BY_CLASS + DCSR_CUDA_MXM_CLASSES };
/* The class of rows that are computed by dots: that of DCSR_CUDA_MXM_DOTS. */
enum { BY_DOTS = DCSR_CUDA_MXM_CLASSES - 1 };

typedef struct multiplication {
    dcsr_i_cuda_stream *stream;
    dcsr_view *A, *B;
    bool transpose_a, transpose_b;
    dcsr_i_cuda_coo *T;
    dcsr_i_cuda_mxm_job job, dots; /* dots: with rows of B^T in place of B's */
    dcsr_i_cuda_mxm_places places;
    uint64_t *offsets, *a_heads, *b_heads, *t_heads;
    uint32_t *found, *size, *products, *list;
    unsigned long long *counters;
    dcsr_i_cuda_mxm_census *census;
} multiplication;

static void *allocate(const multiplication *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static void release(const multiplication *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static dcsr_status open_product(multiplication *m, dcsr_type type)
{
    dcsr_i_cuda_coo *T = m->T;
    const uint64_t rows = T->rows;
    m->offsets = allocate(m, rows + 1, sizeof *m->offsets);
    m->a_heads = allocate(m, rows, sizeof *m->a_heads);
    m->products = allocate(m, rows, sizeof *m->products);
    m->size = allocate(m, rows, sizeof *m->size);
    m->list = allocate(m, rows, sizeof *m->list);
    m->found = allocate(m, T->n, sizeof *m->found);
    m->counters = allocate(m, COUNTERS, sizeof *m->counters);
    m->census = allocate(m, 1, sizeof *m->census);
    if (type != DCSR_PATTERN) T->values = allocate(m, T->capacity, dcsr_type_size(type));
    if (T->values) T->type = type;
    if (!m->offsets || !m->a_heads || !m->products || !m->size || !m->list || !m->found || !m->counters ||
        !m->census || T->type != type)
        return dcsr_i_no_memory();
    dcsr_i_cuda_fill(m->stream, m->counters, 0, COUNTERS * sizeof *m->counters);
    dcsr_i_cuda_fill(m->stream, m->found, 0, T->n * sizeof *m->found);
    dcsr_i_cuda_coo_offsets(m->stream, T, m->offsets);
    dcsr_i_cuda_mxm_heads(m->stream, &m->job.a, m->a_heads);
    m->job.a_heads = m->a_heads;
    m->job.ticket = m->counters + TICKET;
    m->places = (dcsr_i_cuda_mxm_places){.n = T->n,
                                         .keys = T->keys,
                                         .offsets = m->offsets,
                                         .values = T->values,
                                         .found = m->found,
                                         .size = m->size};
    return DCSR_OK;
}

static void close_product(multiplication *m)
{
    const uint64_t rows = m->T->rows;
    release(m, m->t_heads, m->dots.b.rows, sizeof *m->t_heads);
    release(m, m->b_heads, m->job.b.rows, sizeof *m->b_heads);
    release(m, m->census, 1, sizeof *m->census);
    release(m, m->counters, COUNTERS, sizeof *m->counters);
    release(m, m->found, m->places.n, sizeof *m->found);
    release(m, m->list, rows, sizeof *m->list);
    release(m, m->size, rows, sizeof *m->size);
    release(m, m->products, rows, sizeof *m->products);
    release(m, m->a_heads, rows, sizeof *m->a_heads);
    release(m, m->offsets, rows + 1, sizeof *m->offsets);
}

/* ---- Dots ---- */

static dcsr_status count_disorder(multiplication *m, const dcsr_i_cuda_rows *rows)
{
    uint64_t *offsets = allocate(m, rows->rows + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    const dcsr_i_cuda_walk walk = {*rows, NULL, rows->rows, offsets};
    dcsr_status status = dcsr_i_cuda_sum_lengths(m->stream, rows, NULL, rows->rows, offsets);
    if (status == DCSR_OK)
        dcsr_i_cuda_mxm_count_disorder(m->stream, &walk, rows->stored, m->counters + DISORDER);
    release(m, offsets, rows->rows + 1, sizeof *offsets);
    return status;
}

/* Finds rows of B^T, if they are at hand; else m->t_heads stays NULL. What all places cost by dots. */
static dcsr_status find_dots(multiplication *m, bool weighs, uint64_t *cost)
{
    if (!m->transpose_b && !dcsr_i_cuda_view_transpose_is_ready(m->B)) return DCSR_OK;
    m->dots = m->job;
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m->dots.b, m->B, !m->transpose_b));
    DCSR_TRY(count_disorder(m, &m->job.a));
    DCSR_TRY(count_disorder(m, &m->dots.b));
    uint64_t *heads = allocate(m, m->dots.b.rows, sizeof *heads);
    if (!heads) return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_heads(m->stream, &m->dots.b, heads);
    m->dots.b_heads = m->t_heads = heads;
    if (weighs) dcsr_i_cuda_mxm_weigh_dots(m->stream, &m->dots, &m->places, NULL, m->counters + COST);
    unsigned long long counters[COST + 1];
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, counters, m->counters, sizeof counters, operation));
    *cost = counters[COST];
    if (!counters[DISORDER]) return DCSR_OK;
    release(m, heads, m->dots.b.rows, sizeof *heads);
    m->t_heads = NULL;
    return DCSR_OK;
}

static void compute_dots(const multiplication *m, bool all)
{
    const uint64_t stored = m->job.a.stored < m->dots.b.stored ? m->job.a.stored : m->dots.b.stored;
    const uint64_t rows = m->job.a.stored < m->dots.b.stored ? m->job.a.rows : m->dots.b.rows;
    const double mean = (double)stored / (double)(rows ? rows : 1);
    dcsr_i_cuda_mxm_dots(m->stream, &m->dots, &m->places,
                         m->job.ordered ? 1 : dcsr_i_cuda_mxm_lanes(mean / 2), all);
}

/* ---- Tables ---- */

/* The method of a class of rows, by the places that they have at most. */
static dcsr_i_cuda_mxm_table table_for(const multiplication *m, int class)
{
    const dcsr_i_cuda_rows *b = &m->job.b;
    const size_t shared = dcsr_i_cuda_describe(dcsr_i_cuda_device_of(m->stream))->shared_bytes - 1024;
    dcsr_i_cuda_mxm_table table = {.bits = class + 1, .warps = WARPS};
    table.lanes = dcsr_i_cuda_mxm_lanes((double)b->stored / (double)(b->rows ? b->rows : 1));
    if (table.bits < LEAST_BITS) table.bits = LEAST_BITS;
    if (table.bits <= WARP_BITS) return table;
    if (table.bits > BLOCK_BITS) table.bits = BLOCK_BITS;
    table.warps = BLOCK_WARPS;
    while (table.bits > LEAST_BITS && dcsr_i_cuda_mxm_place_bytes(table.bits, table.warps) > shared)
        table.bits--;
    return table;
}

/* Rows of classes that have one table are computed together; those with most to do first. */
static dcsr_status compute_by_tables(multiplication *m)
{
    dcsr_i_cuda_mxm_census known;
    const uint64_t rows = m->job.a.rows;
    uint64_t end = rows; /* in the list, of the classes that are not done yet */
    dcsr_i_cuda_fill(m->stream, m->census, 0, sizeof *m->census);
    dcsr_i_cuda_mxm_recount(m->stream, NULL, rows, m->size, m->census);
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &known, m->census, sizeof known, operation));
    DCSR_TRY(
        dcsr_i_cuda_mxm_sort_rows(m->stream, NULL, rows, m->size, &known, m->counters + BY_CLASS, m->list));
    end -= known.rows[BY_DOTS];
    if (known.rows[BY_DOTS]) compute_dots(m, false);
    for (int k = BY_DOTS - 1; k > 0;) {
        const dcsr_i_cuda_mxm_table table = table_for(m, k);
        uint64_t count = 0;
        do count += known.rows[k--];
        while (k > 0 && table_for(m, k).bits == table.bits);
        end -= count;
        m->job.row = m->list + end;
        m->job.count = count;
        dcsr_i_cuda_fill(m->stream, m->counters + TICKET, 0, sizeof *m->counters);
        dcsr_i_cuda_mxm_place_rows(m->stream, &m->job, &m->places, &table, table.bits > WARP_BITS);
    }
    return DCSR_OK;
}

/* ---- The product ---- */

static dcsr_status compute(multiplication *m)
{
    const bool must_turn = m->transpose_b && !dcsr_i_cuda_view_transpose_is_ready(m->B);
    uint64_t cost = 0;
    DCSR_TRY(find_dots(m, must_turn, &cost));
    if (m->t_heads && must_turn) {
        const dcsr_i_cuda_rows *a = &m->job.a, *t = &m->dots.b;
        const double products = (double)a->stored * (double)t->stored / (double)(t->cols ? t->cols : 1);
        if ((double)cost <= products + TRANSPOSING * (double)t->stored) {
            compute_dots(m, true);
            return DCSR_OK;
        }
    }
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m->job.b, m->B, m->transpose_b));
    m->b_heads = allocate(m, m->job.b.rows, sizeof *m->b_heads);
    if (!m->b_heads) return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_heads(m->stream, &m->job.b, m->b_heads);
    m->job.b_heads = m->b_heads;
    dcsr_i_cuda_mxm_products(m->stream, &m->job, m->products, m->census);
    dcsr_i_cuda_mxm_size_rows(m->stream, &m->places, m->job.a.rows, m->products);
    if (m->t_heads)
        dcsr_i_cuda_mxm_weigh_dots(m->stream, &m->dots, &m->places, m->products, m->counters + COST);
    return compute_by_tables(m);
}

bool dcsr_i_cuda_mxm_knows_places(const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B, dcsr_type C_type)
{
    dcsr_i_cuda_mxm_job job;
    return dcsr_i_cuda_mxm_is_plain(A) && dcsr_i_cuda_mxm_is_plain(B) &&
           dcsr_i_cuda_mxm_ring_of(&job, semiring, A, C_type);
}

dcsr_status dcsr_i_cuda_mxm_at_places(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                      dcsr_view *A, dcsr_view *B)
{
    const dcsr_desc *desc = out->desc;
    multiplication m = {.stream = stream,
                        .A = A,
                        .B = B,
                        .transpose_a = desc && desc->transpose_a,
                        .transpose_b = desc && desc->transpose_b,
                        .T = T,
                        .places = {.n = T->n}};
    dcsr_i_cuda_mxm_ring_of(&m.job, semiring, A, out->C->type);
    const dcsr_i_rows *b = dcsr_i_view_rows(B);
    const uint64_t of_place = sizeof *T->keys + sizeof *m.found + m.job.value_size,
                   of_row = 2 * sizeof(uint64_t) + 3 * sizeof(uint32_t);
    uint64_t left;
    DCSR_TRY(dcsr_i_cuda_mxm_limit(
        out, T->n * of_place + T->rows * of_row + (m.transpose_b ? b->cols : b->rows) * sizeof *m.b_heads,
        &left));
    m.job.ordered = desc && desc->deterministic;
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&m.job.a, A, m.transpose_a));
    dcsr_status status = open_product(&m, m.job.ones ? DCSR_PATTERN : semiring->multiply->ztype);
    if (status == DCSR_OK) status = compute(&m);
    if (status == DCSR_OK) status = dcsr_i_cuda_coo_choose(T, stream, m.found);
    close_product(&m);
    return status;
}
