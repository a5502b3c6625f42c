/* rap_cuda.c: the product of three matrices on a device, without the one between: estimate, bins, room. */
#include "ops/mxm/rap_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/result.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/write_matrix.h"

static const char operation[] = "multiplying three matrices";

#ifdef DCSR_SIMT
enum { BLOCK_WARPS = 2 };
#else
enum { BLOCK_WARPS = 8 };
#endif

/* Counters that kernels write, in one array. */
enum { NEXT, LEFT, TICKET, BY_CLASS, COUNTERS = BY_CLASS + DCSR_CUDA_MXM_CLASSES };

typedef struct triple {
    const dcsr_i_matrix_output *out;
    dcsr_i_cuda_rap_job job;
    dcsr_i_cuda_stream *stream; /* which the arrays are taken on, and all is counted */
    uint64_t *r_heads, *a_heads, *p_heads, *product_heads;
    uint32_t *products, *terms, *list; /* of rows of A P, of rows of R; rows of R by class */
    unsigned long long *counters;
    dcsr_i_cuda_mxm_census *census, inner, outer;
    uint64_t work; /* terms */
} triple;

static void *allocate(const triple *t, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(t->stream, DCSR_I_SCRATCH, count, size);
}

static void release(const triple *t, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, block, count, size);
}

static dcsr_status open_triple(triple *t)
{
    const dcsr_i_cuda_rows *r = &t->job.outer.a, *a = &t->job.inner.a, *p = &t->job.inner.b;
    t->r_heads = allocate(t, r->rows, sizeof *t->r_heads);
    t->a_heads = allocate(t, a->rows, sizeof *t->a_heads);
    t->p_heads = allocate(t, p->rows, sizeof *t->p_heads);
    t->product_heads = allocate(t, a->rows, sizeof *t->product_heads);
    t->products = allocate(t, a->rows, sizeof *t->products);
    t->terms = allocate(t, r->rows, sizeof *t->terms);
    t->list = allocate(t, 2 * r->rows, sizeof *t->list);
    t->counters = allocate(t, COUNTERS, sizeof *t->counters);
    t->census = allocate(t, 1, sizeof *t->census);
    if (!t->r_heads || !t->a_heads || !t->p_heads || !t->product_heads || !t->products || !t->terms ||
        !t->list || !t->counters || !t->census)
        return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_heads(t->stream, r, t->r_heads);
    dcsr_i_cuda_mxm_heads(t->stream, a, t->a_heads);
    dcsr_i_cuda_mxm_heads(t->stream, p, t->p_heads);
    t->job.inner.a_heads = t->a_heads;
    t->job.inner.b_heads = t->p_heads;
    t->job.outer.a_heads = t->r_heads;
    t->job.outer.b_heads = t->product_heads;
    return DCSR_OK;
}

static void close_triple(triple *t)
{
    const uint64_t rows = t->job.outer.a.rows, inner = t->job.inner.a.rows;
    release(t, t->census, 1, sizeof *t->census);
    release(t, t->counters, COUNTERS, sizeof *t->counters);
    release(t, t->list, 2 * rows, sizeof *t->list);
    release(t, t->terms, rows, sizeof *t->terms);
    release(t, t->products, inner, sizeof *t->products);
    release(t, t->product_heads, inner, sizeof *t->product_heads);
    release(t, t->p_heads, t->job.inner.b.rows, sizeof *t->p_heads);
    release(t, t->a_heads, inner, sizeof *t->a_heads);
    release(t, t->r_heads, rows, sizeof *t->r_heads);
}

/* ---- The estimate ---- */

/* Products of the rows of A P, with a sample; then the terms of the rows of R A P, which are those of R times a matrix
 * whose rows have these lengths. */
static dcsr_status count_terms(triple *t)
{
    const dcsr_i_cuda_mxm_job *inner = &t->job.inner;
    const uint64_t step = inner->a.rows / DCSR_CUDA_MXM_SAMPLED_ROWS + 1;
    dcsr_i_cuda_fill(t->stream, t->census, 0, sizeof *t->census);
    dcsr_i_cuda_mxm_products(t->stream, inner, t->products, t->census);
    dcsr_i_cuda_mxm_sample(t->stream, inner, t->products, step, 32, t->census);
    DCSR_TRY(dcsr_i_cuda_read_back(t->stream, &t->inner, t->census, sizeof t->inner, operation));
    dcsr_i_cuda_rap_heads(t->stream, t->products, inner->a.rows, t->product_heads);
    dcsr_i_cuda_fill(t->stream, t->census, 0, sizeof *t->census);
    dcsr_i_cuda_mxm_products(t->stream, &t->job.outer, t->terms, t->census);
    return dcsr_i_cuda_read_back(t->stream, &t->outer, t->census, sizeof t->outer, operation);
}

/* Tables are at most half full: of 2^(k + 1) slots for the rows of class k. */
static int bits_of(int k)
{
    return k + 1 < DCSR_CUDA_MXM_LEAST_BITS ? DCSR_CUDA_MXM_LEAST_BITS : k + 1;
}

/* Whether the terms cost less than the products of two calls, of which the first stores its result: some 24 bytes are
 * written and read for each entry of A P, and its rows are placed. */
static bool is_cheaper(triple *t)
{
    const double storing = 3; /* an entry, in products */
    uint64_t sampled = 0, entries = 0, products = 0;
    for (int k = 0; k < DCSR_CUDA_MXM_CLASSES; k++) {
        sampled += t->inner.sampled_products[k];
        entries += t->inner.sampled_outputs[k];
        products += t->inner.products[k];
        t->work += t->outer.products[k];
        if (t->outer.rows[k] && bits_of(k) > DCSR_CUDA_MXM_BLOCK_BITS) return false;
    }
    const double kept = sampled ? (double)entries / (double)sampled : 1;
    return (double)t->work <= (double)products * (1 + storing * kept) + (double)t->work * kept;
}

/* ---- In C's turn ---- */

static dcsr_status run_bins(triple *t, dcsr_i_cuda_stream *stream)
{
    dcsr_i_cuda_mxm_job *job = &t->job.inner;
    const dcsr_i_cuda_rows *a = &job->a;
    const uint64_t rows = t->job.outer.a.rows;
    uint64_t end = rows; /* in the list, of the classes that are not done yet */
    dcsr_i_cuda_fill(stream, t->counters, 0, BY_CLASS * sizeof *t->counters);
    DCSR_TRY(
        dcsr_i_cuda_mxm_sort_rows(stream, NULL, rows, t->terms, &t->outer, t->counters + BY_CLASS, t->list));
    for (int k = DCSR_CUDA_MXM_CLASSES - 1, next; k > 0; k = next) {
        dcsr_i_cuda_mxm_table table = {.bits = bits_of(k)};
        const bool by_blocks = table.bits > DCSR_CUDA_MXM_WARP_BITS;
        table.warps = by_blocks ? BLOCK_WARPS : DCSR_CUDA_MXM_WARPS;
        table.lanes = dcsr_i_cuda_mxm_lanes((double)a->stored / (double)a->rows);
        job->count = 0;
        for (next = k; next > 0 && bits_of(next) == table.bits; next--) job->count += t->outer.rows[next];
        end -= job->count;
        job->row = t->list + end;
        dcsr_i_cuda_fill(stream, t->counters + TICKET, 0, sizeof *t->counters);
        if (job->count) dcsr_i_cuda_rap_rows(stream, &t->job, &table, by_blocks);
    }
    return DCSR_OK;
}

/* Room for all terms: no more than the entries of A, where rows of R hardly overlap. What is not used is given back. */
static dcsr_status produce(dcsr_i_cuda_sink *sink, void *user)
{
    triple *t = user;
    dcsr_matrix *C = sink->matrix;
    dcsr_i_cuda_mxm_job *job = &t->job.inner;
    unsigned long long counters[TICKET + 1];
    job->columns = C->arena.columns;
    job->values = C->value_size ? C->arena.values : NULL;
    job->begin = sink->begin;
    job->length = sink->length;
    job->next = t->counters + NEXT;
    job->left_count = t->counters + LEFT;
    job->ticket = t->counters + TICKET;
    job->left = t->list + t->job.outer.a.rows;
    job->room = t->work;
    DCSR_TRY(dcsr_i_cuda_sink_room(sink, t->work, &job->first));
    DCSR_TRY(run_bins(t, sink->stream));
    DCSR_TRY(dcsr_i_cuda_read_back(sink->stream, counters, t->counters, sizeof counters, operation));
    if (counters[LEFT]) return DCSR_ERROR_OUT_OF_MEMORY; /* in a table */
    sink->stored = counters[NEXT];
    dcsr_i_cuda_sink_cut(sink, counters[NEXT]);
    return DCSR_OK;
}

static dcsr_status multiply_in_turn(dcsr_matrix *C, void *user)
{
    const triple *t = user;
    const dcsr_i_table *now = C->versions.current;
    DCSR_TRY(dcsr_i_check_shape(t->out->call, "C", now->rows, now->cols, "the result", t->job.outer.a.rows,
                                t->job.inner.b.cols));
    dcsr_i_cuda_enter(C->cuda->stream);
    dcsr_status status = dcsr_i_cuda_replace_rows(C, produce, user);
    dcsr_i_cuda_leave(C->cuda->stream);
    return status;
}

/* ---- The call ---- */

/* On one type, where rows stand as they are to be read, and nothing is asked for that this does not keep to. */
static bool fits(triple *t, const dcsr_semiring *semiring, dcsr_view *const views[3])
{
    const dcsr_desc *desc = t->out->desc;
    const dcsr_type type = t->out->C->type;
    if (desc && (desc->memory_limit || desc->deterministic)) return false;
    for (int k = 0; k < 3; k++)
        if (!dcsr_i_cuda_mxm_is_plain(views[k]) ||
            (type != DCSR_PATTERN && views[k]->form[0].rows.type != type))
            return false;
    return dcsr_i_cuda_mxm_ring_of(&t->job.inner, semiring, views[1], type);
}

static dcsr_status multiply(bool *taken, triple *t)
{
    DCSR_TRY(open_triple(t));
    DCSR_TRY(count_terms(t));
    if (!is_cheaper(t) || !t->work) return DCSR_OK;
    dcsr_status status = dcsr_i_result_turn(t->out->C, t->out->call, multiply_in_turn, t);
    *taken =
        status != DCSR_ERROR_OUT_OF_MEMORY && status != DCSR_ERROR_TOO_LARGE; /* of the room, or a table */
    return *taken ? status : DCSR_OK;
}

dcsr_status dcsr_i_cuda_rap(bool *taken, const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                            dcsr_view *const views[3])
{
    triple t = {.out = out};
    dcsr_context *context = out->C->context;
    *taken = false;
    if (!fits(&t, semiring, views)) return DCSR_OK;
    t.job.outer = t.job.inner;
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&t.job.outer.a, views[0], false));
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&t.job.inner.a, views[1], false));
    DCSR_TRY(dcsr_i_cuda_mxm_find_rows(&t.job.inner.b, views[2], false));
    t.job.outer.b = t.job.inner.a;
    t.stream = dcsr_i_stream_borrow(context);
    if (!t.stream) return dcsr_i_no_memory();
    dcsr_status status = multiply(taken, &t);
    close_triple(&t);
    const dcsr_status waited = dcsr_i_cuda_wait(t.stream, operation);
    dcsr_i_stream_return(context, t.stream);
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK && *taken && out->desc && out->desc->report)
        *out->desc->report = (dcsr_report){.device = DCSR_DEVICE_CUDA, .entries = t.work};
    return status;
}
