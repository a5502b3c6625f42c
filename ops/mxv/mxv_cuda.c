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
#include "dcsr/device/prim_cuda.h"
#include "ops/choice/choice.h"
#include "ops/vector/write_vector_cuda.h"
#include <math.h>
#include <string.h>

enum {
    FEW = 32,      /* a push that finds less than 1/32 of t's elements has a sparse result */
    PUSH_COST = 3, /* of an entry, in entries that are pulled: 1.2 (R-MAT) to 3 (grids) on an H200 */
    WORTH_COUNTING =
        10 /* microseconds that a way may lose, for the entries of u's columns to be counted first */
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
    if (!wanted->own) return dcsr_i_no_memory();
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
    double entries; /* in the columns of u's elements; NaN: not known */
    bool counts;    /* they are to be counted before anything is decided */
    uint64_t
        *offsets; /* of the walk of a push over u's list; when they have been counted, lengths of columns */
    uint64_t walked;    /* elements of the list */
    uint64_t looked_at; /* entries, where that is known */
} product;

/* The entries in the columns of u's elements, if these are as long as others. */
static double mean_entries(const product *p)
{
    const dcsr_vector *u = p->call->u;
    return (double)u->body.nvals * (double)dcsr_i_view_rows(p->call->A)->device.stored /
           fmax((double)u->size, 1);
}

/* Whether the result of a push over so many is to be sparse. */
static bool is_few(const product *p, double entries)
{
    return entries < (double)(p->call->w->size / FEW);
}

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

/* Of those for which the rows or tiles are there. *at_stake: what the way may lose as p->entries are not known. */
static dcsr_status choose_among(product *p, double *at_stake)
{
    const dcsr_i_mxv_call *c = p->call;
    const bool both = dcsr_i_cuda_view_transpose_is_ready(c->A),
               pushes = both || way_of(c) == DCSR_DIRECTION_PUSH;
    const dcsr_i_product asked = {
        .sums = sums_of(p),
        .possible = {pushes, both || way_of(c) == DCSR_DIRECTION_PULL, p->tiles != NULL},
        .rows = (double)c->w->size,
        .cols = (double)c->u->size,
        .nnz = (double)dcsr_i_view_rows(c->A)->device.stored,
        .elements = (double)c->u->body.nvals,
        .entries = p->entries,
        .wanted = (double)allowed_by(c)};
    dcsr_direction chosen;
    *at_stake = 0;
    if (!both && !p->tiles) return DCSR_OK;
    DCSR_TRY(dcsr_i_choose_direction(&chosen, at_stake, c->w->context, &asked));
    if (!pushes) *at_stake = 0; /* without the columns there is nothing to count */
    if (chosen)
        p->way = chosen;
    else if (both)
        p->way = cheaper(p);
    return DCSR_OK;
}

static dcsr_direction asked_way(const dcsr_i_mxv_call *c)
{
    return c->desc ? c->desc->direction : DCSR_DIRECTION_AUTO;
}

/* The way: what was asked for; else, unless the transpose or tiles are there, what reads the view's own rows. Entries
 * are counted where that may show another way to be better by far; and where a push may have a sparse result. */
static dcsr_status choose_way(product *p)
{
    const dcsr_i_mxv_call *c = p->call;
    const dcsr_direction asked = asked_way(c);
    double at_stake = 0;
    p->way = asked ? asked : way_of(c);
    if (p->way == DCSR_DIRECTION_TILES && c->transposed && dcsr_i_view_nut(c->A, false))
        DCSR_TRY(dcsr_i_view_make_turned_nut(c->A));
    p->tiles = find_tiles(p);
    if (!asked) DCSR_TRY(choose_among(p, &at_stake));
    if (p->way == DCSR_DIRECTION_TILES && !p->tiles) return dcsr_i_mxv_refuse_tiles(c);
    const bool few = p->way == DCSR_DIRECTION_PUSH && is_few(p, mean_entries(p));
    p->counts = isnan(p->entries) && (few || at_stake > WORTH_COUNTING);
    return DCSR_OK;
}

/* The rows that a way reads; whether they are those of the transpose of what the view shows. */
static dcsr_status find_rows(dcsr_i_cuda_rows *rows, bool *other, const product *p, dcsr_direction way)
{
    const dcsr_i_mxv_call *c = p->call;
    *other = way == DCSR_DIRECTION_TILES ? c->transposed : way != way_of(c);
    *rows = dcsr_i_view_rows(c->A)->device;
    return *other ? dcsr_i_cuda_view_transposed(rows, c->A) : DCSR_OK;
}

static void close_product(product *p)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->cast, p->cast_count, dcsr_type_size(p->x.semiring.type));
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->offsets, p->walked + 1, sizeof *p->offsets);
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
    if (!p->cast) return dcsr_i_no_memory();
    dcsr_i_cuda_mxv_cast(p->stream, type, p->cast, u->type, p->x.u.values, p->cast_count);
    p->x.u.values = p->cast;
    return DCSR_OK;
}

/* t without elements, to be found, unless it is there. `clear`: its values will not all be written, and are to be
 * something. */
static dcsr_status open_result(product *p, bool clear)
{
    dcsr_i_cuda_body *t = &p->x.t;
    uint64_t n = p->call->w->size;
    if (!t->values) {
        DCSR_TRY(dcsr_i_cuda_body_dense(t, p->stream, p->size, n, false));
        DCSR_TRY(dcsr_i_cuda_body_add_bits(t, p->stream, true));
        dcsr_i_cuda_fill(p->stream, t->present, 0, dcsr_i_cuda_bit_words(n) * sizeof *t->present);
    }
    if (clear) dcsr_i_cuda_fill(p->stream, t->values, 0, n * p->size);
    return DCSR_OK;
}

/* ---- Counting the entries of u's columns ---- */

static dcsr_status open_offsets(product *p, uint64_t count)
{
    p->offsets = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, count + 1, sizeof *p->offsets);
    p->walked = count;
    return p->offsets ? DCSR_OK : dcsr_i_no_memory();
}

/* Finds p->entries; then the way may be another. A push over a list begins with the lengths of its columns, which are
 * kept for it. The host waits for numbers in its own memory rather than for the driver, and meanwhile takes what every
 * way needs; so this costs hardly more than a push does anyway. */
static dcsr_status count_entries(product *p)
{
    dcsr_i_cuda_rows columns;
    dcsr_i_cuda_body u;
    bool other;
    DCSR_TRY(find_rows(&columns, &other, p, DCSR_DIRECTION_PUSH));
    DCSR_TRY(dcsr_i_cuda_vector_read(&u, p->call->u, p->stream, DCSR_CUDA_EITHER));
    const size_t bytes = DCSR_CUDA_LENGTHS_TOLD * sizeof(uint64_t);
    uint64_t *told = dcsr_i_cuda_landing(p->stream, bytes);
    if (!told) return dcsr_i_cuda_wait(p->stream, p->call->name);
    memset(told, 0, bytes);
    if (!u.dense) DCSR_TRY(open_offsets(p, u.nvals));
    const uint64_t numbers = dcsr_i_cuda_tell_lengths(p->stream, &columns, u.indices, u.present,
                                                      u.dense ? u.size : u.nvals, p->offsets, told);
    DCSR_TRY(open_result(p, false));
    DCSR_TRY(dcsr_i_cuda_wait_told(p->stream, told, numbers, p->call->name));
    p->entries = 0;
    for (uint64_t k = 0; k < numbers; k++) p->entries += (double)(told[k] - 1);
    return asked_way(p->call) ? DCSR_OK : choose_among(p, &(double){0});
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
    dcsr_status status = part ? open_result(p, true) : dcsr_i_no_memory();
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
    const bool known = !isnan(p->entries), few = is_few(p, p->entries);
    const uint64_t n = p->call->w->size,
                   entries = known ? (uint64_t)p->entries : (uint64_t)mean_entries(p) + 1;
    if (known) p->looked_at = entries;
    /* Every sum is to begin with something. */
    bool sums_up = !p->x.semiring.any && !p->x.semiring.ones;
    DCSR_TRY(open_result(p, !few && !sums_up));
    size_t sum_size = dcsr_i_cuda_mxv_sum_size((dcsr_type)p->x.semiring.type);
    bool apart = sums_up && sum_size != p->size;
    void *sums = apart ? dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, n, sum_size) : p->x.t.values;
    if (!sums) return dcsr_i_no_memory();
    dcsr_i_cuda_mxv_push(p->stream, &p->x, offsets, entries, sums);
    if (apart) dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, sums, n, sum_size);
    return few ? make_sparse(p, entries) : DCSR_OK;
}

static dcsr_status push(product *p)
{
    const dcsr_i_cuda_rows *rows = &p->x.rows;
    const uint64_t count = p->x.u.nvals;
    if (p->x.u.dense && rows->offsets) return push_walk(p, rows->offsets);
    if (p->offsets) {
        DCSR_TRY(dcsr_i_cuda_scan_u64(p->stream, p->offsets, p->offsets, count));
    } else {
        DCSR_TRY(open_offsets(p, count));
        DCSR_TRY(dcsr_i_cuda_sum_lengths(p->stream, rows, p->x.u.indices, count, p->offsets));
    }
    return push_walk(p, p->offsets);
}

/* ---- All of it ---- */

static dcsr_status compute(product *p)
{
    DCSR_TRY(dcsr_i_cuda_wanted_open(&p->x.wanted, p->stream, p->call->mask, p->call->desc));
    if (p->x.wanted.none) return dcsr_i_cuda_body_sparse(&p->x.t, p->stream, p->size, p->call->w->size, 0);
    if (p->counts) DCSR_TRY(count_entries(p));
    DCSR_TRY(find_rows(&p->x.rows, &p->other, p, p->way));
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
    const uint64_t elements = call->u->body.nvals;
    product p = {.call = call, .entries = NAN};
    if (!elements) p.entries = 0;
    if (elements == call->u->size) p.entries = (double)rows->device.stored;
    dcsr_i_cuda_semiring_of(&p.x.semiring, call->semiring, call->vector_first, rows->type);
    p.size = dcsr_type_size((dcsr_type)p.x.semiring.type);
    p.stream = dcsr_i_stream_borrow(call->w->context);
    if (!p.stream) return dcsr_i_no_memory();
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
