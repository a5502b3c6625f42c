/* mxv_cuda.c: products of a matrix and a vector on a device: where and which way, memory, and writing the
 * result. */
#include "ops/mxv/mxv_cuda.h"
#include "ops/mxv/mxv_internal.h"
#include "dcsr/nut/nut_tiles.h"
#include "ops/nut/nut_multiply_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/rowtable.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "ops/algebra/dispatch.h"
#include "ops/choice/choice.h"
#include "ops/vector/write_vector_cuda.h"

enum {
    FEW = 32,     /* a push that finds less than 1/32 of t's elements has a sparse result */
    PUSH_COST = 3 /* of an entry, in entries that are pulled: 1.2 (R-MAT) to 3 (grids) on an H200 */
};

/* ---- Where, and which way ---- */

/* The way for which the matrix's own rows are those that are read. */
static dcsr_direction way_of(const dcsr_i_mxv_call *call)
{
    return call->transposed ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
}

static dcsr_status accepts(bool *takes, const dcsr_i_mxv_call *call)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(call->A);
    const dcsr_vector *const vectors[] = {call->w, call->mask, call->u};
    dcsr_i_cuda_semiring semiring;
    bool can = rows->on_device && !(call->accum && !call->accum->loop) &&
               dcsr_i_cuda_semiring_of(&semiring, call->semiring, call->vector_first, rows->type);
    uint64_t work = rows->on_device ? rows->device.stored + call->w->size + call->u->size : 0;
    /* Tiles that were asked for are where the matrix is. */
    const bool by_tiles =
        call->desc && call->desc->direction == DCSR_DIRECTION_TILES && dcsr_i_view_nut(call->A, false);
    return dcsr_i_dispatch(takes, call->w->context, call->desc, !can,
                           by_tiles ? UINT64_MAX : DCSR_I_PRODUCT_WORK * work, vectors, 3);
}

/* ---- Masks ---- */

dcsr_status dcsr_i_cuda_wanted_open(dcsr_i_cuda_wanted *wanted, dcsr_i_cuda_stream *stream,
                                    const dcsr_vector *mask, const dcsr_desc *desc)
{
    bool complement = desc && desc->mask_complement;
    *wanted = (dcsr_i_cuda_wanted){.flip = complement ? UINT32_MAX : 0, .none = !mask && complement};
    if (!mask) return DCSR_OK;
    dcsr_i_cuda_body body;
    DCSR_TRY(dcsr_i_cuda_vector_read(&body, mask, stream, DCSR_CUDA_DENSE));
    wanted->size = mask->size;
    if (desc && desc->mask_structure) {
        wanted->bits = body.present;
        wanted->none = complement && !body.present;
        return DCSR_OK;
    }
    wanted->own =
        dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, dcsr_i_cuda_bit_words(mask->size), sizeof *wanted->own);
    if (!wanted->own) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_mxv_mask(stream, wanted->own, &body, mask->type);
    wanted->bits = wanted->own;
    return DCSR_OK;
}

void dcsr_i_cuda_wanted_close(dcsr_i_cuda_wanted *wanted, dcsr_i_cuda_stream *stream)
{
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, wanted->own, dcsr_i_cuda_bit_words(wanted->size),
                     sizeof *wanted->own);
}

/* ---- One product ---- */

typedef struct product {
    const dcsr_i_mxv_call *call;
    dcsr_direction way;
    bool other;              /* x.rows are those of the transpose of what the view shows */
    const dcsr_i_nut *tiles; /* of M; NULL: there are none, or they do not serve */
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_mxv x;
    size_t size; /* of one value of t */
    void *cast;  /* u's values */
    uint64_t cast_count;
    uint64_t looked_at; /* entries, where that is known */
} product;

/* Elements of w that the mask allows. */
static uint64_t allowed_by(const dcsr_i_mxv_call *c)
{
    const uint64_t n = c->w->size, in_mask = c->mask ? c->mask->body.nvals : n;
    return c->desc && c->desc->mask_complement ? n - in_mask : in_mask;
}

/* Without a model: the way that looks at less. */
static dcsr_direction cheaper(const product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    const double pushed = PUSH_COST * (double)c->u->body.nvals / (double)(c->u->size + 1);
    return pushed < (double)allowed_by(c) / (double)(c->w->size + 1) ? DCSR_DIRECTION_PUSH
                                                                     : DCSR_DIRECTION_PULL;
}

static const dcsr_i_nut *find_tiles(const product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    const dcsr_i_nut *nut = dcsr_i_view_nut(c->A, c->transposed);
    if (!nut || !nut->on_device) return NULL;
    const size_t most = dcsr_i_cuda_describe(c->w->context->cuda)->shared_bytes;
    return dcsr_i_cuda_nut_shared_bytes(&p->x.semiring, &nut->shown) <= most ? nut : NULL;
}

static dcsr_i_sums sums_of(const product *p)
{
    const dcsr_i_cuda_semiring *s = &p->x.semiring;
    if (s->any || (s->type == DCSR_BOOL && s->terminal_kind != DCSR_I_NO_TERMINAL))
        return DCSR_I_ENDING_EARLY;
    return p->call->u->body.nvals == p->call->u->size ? DCSR_I_OVER_ALL : DCSR_I_OVER_SOME;
}

/* Of those for which the rows or tiles are there. */
static dcsr_status choose_among(product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    const bool both = dcsr_i_cuda_view_transpose_is_ready(c->A);
    const dcsr_i_product asked = {.sums = sums_of(p),
                                  .possible = {both || p->way == DCSR_DIRECTION_PUSH,
                                               both || p->way == DCSR_DIRECTION_PULL, p->tiles != NULL},
                                  .rows = (double)c->w->size,
                                  .cols = (double)c->u->size,
                                  .nnz = (double)dcsr_i_view_rows(c->A)->device.stored,
                                  .elements = (double)c->u->body.nvals,
                                  .wanted = (double)allowed_by(c)};
    dcsr_direction chosen;
    if (!both && !p->tiles) return DCSR_OK;
    DCSR_TRY(dcsr_i_choose_direction(&chosen, c->w->context, &asked));
    if (chosen)
        p->way = chosen;
    else if (both)
        p->way = cheaper(p);
    return DCSR_OK;
}

/* The way, and the rows that it reads: what was asked for; else, unless the transpose is there, what reads
 * the view's own. */
static dcsr_status choose_way(product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    const dcsr_direction own = way_of(c), asked = c->desc ? c->desc->direction : DCSR_DIRECTION_AUTO;
    p->way = asked ? asked : own;
    if (p->way == DCSR_DIRECTION_TILES && c->transposed && dcsr_i_view_nut(c->A, false))
        DCSR_TRY(dcsr_i_view_make_turned_nut(c->A));
    p->tiles = find_tiles(p);
    if (!asked) DCSR_TRY(choose_among(p));
    if (p->way == DCSR_DIRECTION_TILES && !p->tiles) return dcsr_i_mxv_refuse_tiles(c);
    p->other = p->way == DCSR_DIRECTION_TILES ? c->transposed : p->way != own;
    p->x.rows = dcsr_i_view_rows(c->A)->device;
    return p->other ? dcsr_i_cuda_view_transposed(&p->x.rows, c->A) : DCSR_OK;
}

static void close_product(product *p)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->cast, p->cast_count, dcsr_type_size(p->x.semiring.type));
    dcsr_i_cuda_wanted_close(&p->x.wanted, p->stream);
}

/* u in the form that the way reads, with values of the type that is calculated in. */
static dcsr_status open_vector(product *p)
{
    const dcsr_vector *u = p->call->u;
    dcsr_type type = p->x.semiring.type;
    bool full = u->body.nvals == u->size;
    DCSR_TRY(dcsr_i_cuda_vector_read(
        &p->x.u, u, p->stream, full || p->way != DCSR_DIRECTION_PUSH ? DCSR_CUDA_DENSE : DCSR_CUDA_SPARSE));
    if (!p->x.semiring.reads_vector || u->type == type) return DCSR_OK;
    p->cast_count = p->x.u.dense ? u->size : u->body.nvals;
    p->cast = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, p->cast_count, dcsr_type_size(type));
    if (!p->cast) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_mxv_cast(p->stream, type, p->cast, u->type, p->x.u.values, p->cast_count);
    p->x.u.values = p->cast;
    return DCSR_OK;
}

/* t without elements, to be found; `clear`: its values will not all be written, and are to be something. */
static dcsr_status open_result(product *p, bool clear)
{
    dcsr_i_cuda_body *t = &p->x.t;
    uint64_t n = p->call->w->size;
    DCSR_TRY(dcsr_i_cuda_body_dense(t, p->stream, p->size, n, clear));
    if (!clear) DCSR_TRY(dcsr_i_cuda_body_add_bits(t, p->stream, true));
    dcsr_i_cuda_fill(p->stream, t->present, 0, dcsr_i_cuda_bit_words(n) * sizeof *t->present);
    return DCSR_OK;
}

/* ---- Pull ---- */

/* Whether dcsr_spmv()'s kernels do it: plus-times, the whole vector, the whole result. */
static bool is_spmv(const product *p)
{
    const dcsr_i_cuda_semiring *s = &p->x.semiring;
    if (p->x.wanted.bits || p->x.u.present || s->flipped || s->add != DCSR_BINARY_PLUS) return false;
    return p->x.rows.type == DCSR_PATTERN ? s->type == DCSR_FP64 && s->multiply == DCSR_BINARY_SECOND
                                          : s->type == p->x.rows.type && s->multiply == DCSR_BINARY_TIMES;
}

static dcsr_status spmv(product *p, const dcsr_i_cuda_spmv_plan *plan)
{
    dcsr_i_cuda_body *t = &p->x.t;
    uint64_t n = p->call->w->size;
    DCSR_TRY(dcsr_i_cuda_body_dense(t, p->stream, p->size, n, false));
    if (plan->in_use) {
        DCSR_TRY(dcsr_i_cuda_body_add_bits(t, p->stream, false));
        dcsr_i_cuda_copy(p->stream, t->present, plan->in_use, dcsr_i_cuda_bit_words(n) * sizeof *t->present);
        t->nvals = plan->counts.in_use;
    }
    return dcsr_i_cuda_spmv_put(p->stream, dcsr_i_cuda_handle(p->stream), t->values, p->call->A, p->other,
                                p->x.u.values);
}

static dcsr_status pull(product *p)
{
    const dcsr_i_cuda_spmv_plan *plan;
    DCSR_TRY(dcsr_i_cuda_spmv_plan_of(&plan, p->call->A, p->other));
    if (!p->x.wanted.bits && p->x.semiring.terminal_kind == DCSR_I_NO_TERMINAL)
        p->looked_at = p->x.rows.stored;
    if (is_spmv(p)) return spmv(p, plan);
    void *part = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, plan->counts.parts, DCSR_CUDA_MXV_PART);
    dcsr_status status = part ? open_result(p, true) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) dcsr_i_cuda_mxv_pull(p->stream, &p->x, plan, part);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, part, plan->counts.parts, DCSR_CUDA_MXV_PART);
    return status;
}

static dcsr_status multiply_by_tiles(product *p)
{
    dcsr_i_cuda_mxv *x = &p->x;
    DCSR_TRY(open_result(p, true));
    const dcsr_i_cuda_nut_product tiles = {.semiring = x->semiring,
                                           .nut = p->tiles->shown,
                                           .panels = p->tiles->device_panels,
                                           .u = x->u.values,
                                           .u_bits = x->u.present,
                                           .wanted = x->wanted.bits,
                                           .flip = x->wanted.flip,
                                           .t = x->t.values,
                                           .found = x->t.present,
                                           .count = x->t.count};
    dcsr_i_cuda_nut_multiply(p->stream, dcsr_i_cuda_handle(p->stream), &tiles);
    p->looked_at = p->tiles->shown.nnz;
    return DCSR_OK;
}

/* ---- Push ---- */

/* Entries of the rows that u has elements for, about. */
static uint64_t estimate(const product *p)
{
    double share = (double)p->x.u.nvals / (double)(p->x.rows.rows ? p->x.rows.rows : 1);
    return (uint64_t)((double)p->x.rows.stored * share) + 1;
}

/* The number of entries in these rows, which the host then waits for. */
static dcsr_status read_entries(uint64_t *entries, const product *p, const uint64_t *offsets)
{
    uint64_t *landing = dcsr_i_cuda_landing(p->stream, sizeof *landing);
    if (landing) dcsr_i_cuda_copy(p->stream, landing, offsets + p->x.u.nvals, sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(p->stream, p->call->name));
    *entries = *landing;
    return DCSR_OK;
}

/* t as a list: of `most` elements at most. */
static dcsr_status make_sparse(product *p, uint64_t most)
{
    dcsr_i_cuda_body dense = p->x.t;
    dcsr_status status = dcsr_i_cuda_body_sparse(&p->x.t, p->stream, p->size, dense.size, most);
    if (status == DCSR_OK)
        status =
            dcsr_i_cuda_compact(&p->x.t, p->stream, p->size, dense.present, dense.size, NULL, dense.values);
    dcsr_i_cuda_body_free(&dense, p->stream, p->size);
    return status;
}

static dcsr_status push_walk(product *p, const uint64_t *offsets)
{
    uint64_t n = p->call->w->size, entries = estimate(p);
    bool few = entries < n / FEW;
    if (few) {
        DCSR_TRY(read_entries(&entries, p, offsets));
        p->looked_at = entries;
        few = entries < n / FEW;
    }
    /* Every sum is to begin with something. */
    bool sums_up = !p->x.semiring.any && !p->x.semiring.ones;
    DCSR_TRY(open_result(p, !few && !sums_up));
    size_t sum_size = dcsr_i_cuda_mxv_sum_size((dcsr_type)p->x.semiring.type);
    bool apart = sums_up && sum_size != p->size;
    void *sums = apart ? dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, n, sum_size) : p->x.t.values;
    if (!sums) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_mxv_push(p->stream, &p->x, offsets, entries, sums);
    if (apart) dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, sums, n, sum_size);
    return few ? make_sparse(p, entries) : DCSR_OK;
}

static dcsr_status push(product *p)
{
    const dcsr_i_cuda_rows *rows = &p->x.rows;
    uint64_t count = p->x.u.nvals;
    if (p->x.u.dense && rows->offsets) return push_walk(p, rows->offsets);
    uint64_t *offsets = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, count + 1, sizeof *offsets);
    if (!offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_cuda_sum_lengths(p->stream, rows, p->x.u.indices, count, offsets);
    if (status == DCSR_OK) status = push_walk(p, offsets);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, offsets, count + 1, sizeof *offsets);
    return status;
}

/* ---- All of it ---- */

static dcsr_status compute(product *p)
{
    DCSR_TRY(dcsr_i_cuda_wanted_open(&p->x.wanted, p->stream, p->call->mask, p->call->desc));
    if (p->x.wanted.none) return dcsr_i_cuda_body_sparse(&p->x.t, p->stream, p->size, p->call->w->size, 0);
    DCSR_TRY(open_vector(p));
    switch (p->way) {
    case DCSR_DIRECTION_TILES:
        return multiply_by_tiles(p);
    case DCSR_DIRECTION_PULL:
        return pull(p);
    default:
        return push(p);
    }
}

/* w<mask> = accum(w, T). T has nothing outside of the mask, which so matters only to what w has there. */
static dcsr_status write_product(product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    dcsr_type type = (dcsr_type)p->x.semiring.type;
    bool replace = c->desc && c->desc->replace;
    if (replace != !c->accum)
        return dcsr_i_cuda_vector_write(c->name, p->stream, c->w, c->mask, c->accum, c->desc, type, &p->x.t);
    return dcsr_i_cuda_vector_write(c->name, p->stream, c->w, NULL, c->accum, NULL, type, &p->x.t);
}

static dcsr_status run(const dcsr_i_mxv_call *call)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(call->A);
    product p = {.call = call};
    dcsr_i_cuda_semiring_of(&p.x.semiring, call->semiring, call->vector_first, rows->type);
    p.size = dcsr_type_size((dcsr_type)p.x.semiring.type);
    p.stream = dcsr_i_stream_borrow(call->w->context);
    if (!p.stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = choose_way(&p);
    if (status == DCSR_OK) status = compute(&p);
    if (status == DCSR_OK)
        status = write_product(&p);
    else
        dcsr_i_cuda_body_free(&p.x.t, p.stream, p.size);
    close_product(&p);
    dcsr_status waited = dcsr_i_cuda_wait(p.stream, call->name);
    dcsr_i_stream_return(call->w->context, p.stream);
    if (status == DCSR_OK) status = waited;
    if (status != DCSR_OK) return status;
    if (!p.other && p.looked_at > rows->device.stored / 2) dcsr_i_view_was_read(call->A);
    if (call->desc && call->desc->report)
        *call->desc->report =
            (dcsr_report){.direction = p.way, .device = DCSR_DEVICE_CUDA, .entries = p.looked_at};
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_mxv_run(bool *taken, const dcsr_i_mxv_call *call)
{
    DCSR_TRY(accepts(taken, call));
    return *taken ? run(call) : DCSR_OK;
}
