/* mxv.c: products of a matrix and a vector: brings a call into the form of mxv_internal.h, decides which way, has
 * it computed, writes the result. */
#include "ops/mxv/mxv_internal.h"
#include <dcsr/mxv.h>
#include "dcsr/base/alloc.h"
#include "dcsr/base/runtime.h"
#include "ops/rows/row_reader.h"
#include "ops/mxv/mxv_cuda.h"

/* NULL in builds without CUDA. */
static dcsr_i_device_mxv *const device_mxv = DCSR_I_IN_CUDA(dcsr_i_cuda_mxv_run);

/* ---- Checks ---- */

static dcsr_status check_shapes(const dcsr_i_mxv_call *c)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(c->A);
    uint64_t out = c->transposed ? rows->cols : rows->rows, in = c->transposed ? rows->rows : rows->cols;
    if (c->w->size == out && c->u->size == in) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                       "%s: the matrix is %llu x %llu%s, so u has to be of size %llu and w of %llu; they are "
                       "of %llu and %llu",
                       c->name, (unsigned long long)rows->rows, (unsigned long long)rows->cols,
                       c->transposed != c->vector_first ? ", transposed" : "", (unsigned long long)in,
                       (unsigned long long)out, (unsigned long long)c->u->size,
                       (unsigned long long)c->w->size);
}

static dcsr_status check(const dcsr_i_mxv_call *c)
{
    DCSR_TRY(dcsr_i_vector_admit_output(c->name, c->w, c->mask, c->desc));
    DCSR_TRY(dcsr_i_vector_admit_input(c->name, "u", c->u, c->w));
    DCSR_TRY(dcsr_i_view_check(c->A));
    if (!c->semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the semiring is NULL: there is none of that name on that type", c->name);
    if (dcsr_i_view_context(c->A) != c->w->context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the matrix and w are of different contexts",
                           c->name);
    return check_shapes(c);
}

/* ---- The form of all calls ---- */

static const dcsr_i_mxv_kernels *const kernels[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = dcsr_i_mxv_##name,
#include <dcsr/types.def>
#undef DCSR_X
};

/* Which semiring serves, so that the matrix's value is multiply's first operand, and how. */
static void set_semiring(dcsr_i_mxv *x, const dcsr_i_mxv_call *c, dcsr_type matrix_type)
{
    const dcsr_semiring *s = c->semiring, *other = c->vector_first ? dcsr_i_semiring_flipped(s) : s;
    x->flipped = !other;
    if (other) s = other;
    if (s->name >= 0 && !x->flipped && matrix_type == DCSR_PATTERN) s = dcsr_i_semiring_of_ones(s);
    x->semiring = s;
    x->type = dcsr_i_monoid_type(s->add);
    x->any = s->name >= 0 && s->add->terminal_kind == DCSR_I_ANY_TERMINAL && !x->flipped;
    x->kernels = s->name >= 0 && !x->any && !x->flipped ? &kernels[x->type][s->name] : NULL;
    x->atype = x->flipped ? s->multiply->ytype : s->multiply->xtype;
    x->utype = x->flipped ? s->multiply->xtype : s->multiply->ytype;
    x->reads_matrix = x->flipped ? dcsr_i_reads_y(s->multiply) : dcsr_i_reads_x(s->multiply);
    x->reads_vector = x->flipped ? dcsr_i_reads_x(s->multiply) : dcsr_i_reads_y(s->multiply);
    x->decided_early = x->kernels && x->type == DCSR_BOOL && s->multiply->name == DCSR_BINARY_SECOND &&
                       s->add->terminal_kind == DCSR_I_TERMINAL;
    x->size = dcsr_type_size(x->type);
    x->asize = dcsr_type_size(x->atype);
    x->usize = dcsr_type_size(x->utype);
}

/* Elements of w that the mask allows, at most. */
static uint64_t wanted(const dcsr_i_mxv_call *c, const dcsr_i_mask *mask)
{
    if (dcsr_i_mask_is_all(mask)) return c->w->size;
    uint64_t n = mask->listed ? mask->n : c->mask->body.nvals;
    return mask->complement ? c->w->size - n : n;
}

/* The way: what was asked for, or the cheapest of those whose rows are there. x->rows become what it reads,
 * *work how many entries a push looks at. */
static dcsr_status choose_way(dcsr_i_mxv *x, dcsr_direction *way, uint64_t *work, const dcsr_i_mxv_call *c,
                              uint64_t allowed, const dcsr_i_mask *mask)
{
    const dcsr_i_rows *rows, *other = NULL;
    dcsr_direction with_rows = c->transposed ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
    const bool asked = c->desc && c->desc->direction;
    *way = asked ? c->desc->direction : with_rows;
    *work = 0;
    DCSR_TRY(dcsr_i_view_host_rows(&rows, c->A));
    if (*way == DCSR_DIRECTION_TILES && c->transposed && dcsr_i_view_nut(c->A, false))
        DCSR_TRY(dcsr_i_view_make_turned_nut(c->A));
    const bool tiles = dcsr_i_mxv_find_tiles(x, c);
    if (*way == DCSR_DIRECTION_TILES) {
        if (tiles && c->transposed) DCSR_TRY(dcsr_i_view_transposed(&other, c->A));
        x->rows = c->transposed ? other : rows;
        return tiles ? DCSR_OK : dcsr_i_mxv_refuse_tiles(c);
    }
    const bool turned = !asked && dcsr_i_view_transpose_is_ready(c->A);
    bool chooses = !asked && (turned || tiles);
    if (chooses && dcsr_i_mxv_pulls_clearly(x, &c->u->body, allowed)) {
        *way = DCSR_DIRECTION_PULL;
        chooses = false;
    }
    if (*way != with_rows || (chooses && turned)) DCSR_TRY(dcsr_i_view_transposed(&other, c->A));
    const dcsr_i_rows *columns = c->transposed ? rows : other;
    if ((chooses && columns) || *way == DCSR_DIRECTION_PUSH)
        *work = dcsr_i_mxv_work_of_push(columns, x->entries, &c->u->body);
    if (chooses) {
        dcsr_i_mxv_situation situation = dcsr_i_mxv_situation_of(
            x, c->transposed ? other : rows, columns ? *work : UINT64_MAX, &c->u->body, mask, allowed);
        if (!c->transposed) DCSR_TRY(dcsr_i_mxv_look_up(&situation, x, c->A));
        *way = dcsr_i_mxv_decide(&situation);
    }
    const bool by_tiles = *way == DCSR_DIRECTION_TILES;
    x->rows = (by_tiles ? !c->transposed : *way == with_rows) ? rows : other;
    return DCSR_OK;
}

/* ---- The vector ---- */

/* What a pull reads: u, or where the caller says that it does as well, and it is in the right form, the
 * mask's vector. */
static const dcsr_vector *pulled(const dcsr_i_mxv_call *c, const dcsr_i_mxv *x)
{
    const dcsr_desc *desc = c->desc;
    bool serves = desc && desc->pull_from_mask && desc->mask_complement && desc->mask_structure &&
                  !x->reads_vector && c->mask && c->mask->size == x->length && c->mask->body.dense;
    return serves ? c->mask : c->u;
}

/* u in the form that a way needs, with what memory that took. */
typedef struct operand {
    dcsr_i_body body; /* of its own where it owns it */
    bool owns_body;
    void *cast;
    uint64_t cast_count;
    uint64_t *bits;
    uint32_t *list;
} operand;

static void close_operand(operand *o, const dcsr_i_mxv *x)
{
    if (o->owns_body) dcsr_i_body_free(&o->body, x->context, x->usize);
    dcsr_i_free(x->context, DCSR_I_SCRATCH, o->cast, o->cast_count, x->usize);
    dcsr_i_free(x->context, DCSR_I_SCRATCH, o->bits, dcsr_i_words(x->length), sizeof *o->bits);
    dcsr_i_free(x->context, DCSR_I_SCRATCH, o->list, x->u_count, sizeof *o->list);
}

/* The values of u as multiply wants them, in o->body. */
static dcsr_status cast_values(operand *o, const dcsr_i_mxv *x, const dcsr_vector *u)
{
    o->body = u->body;
    if (!x->reads_vector || u->type == x->utype) return DCSR_OK;
    o->cast_count = u->body.dense ? u->size : u->body.nvals;
    o->cast = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, o->cast_count, x->usize);
    if (!o->cast) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cast(x->utype, o->cast, u->type, u->body.values, o->cast_count);
    o->body.values = o->cast;
    return DCSR_OK;
}

static dcsr_status open_for_pull(operand *o, dcsr_i_mxv *x)
{
    x->u_dense = true;
    if (!o->body.dense && x->reads_vector) {
        dcsr_i_body sparse = o->body;
        DCSR_TRY(dcsr_i_body_to_dense(&o->body, &sparse, x->context, x->usize, x->length));
        o->owns_body = true;
    } else if (!o->body.dense) {
        o->bits = dcsr_i_calloc(x->context, DCSR_I_SCRATCH, dcsr_i_words(x->length), sizeof *o->bits);
        if (!o->bits) return DCSR_ERROR_OUT_OF_MEMORY;
        for (uint64_t k = 0; k < o->body.nvals; k++)
            o->bits[o->body.indices[k] >> 6] |= (uint64_t)1 << (o->body.indices[k] & 63);
    }
    x->u_bits = o->bits ? o->bits : o->body.present;
    x->u_values = o->body.values;
    return DCSR_OK;
}

static dcsr_status open_for_push(operand *o, dcsr_i_mxv *x)
{
    x->u_dense = o->body.dense;
    x->u_count = o->body.nvals;
    x->u_values = o->body.values;
    if (o->body.present)
        DCSR_TRY(dcsr_i_list_of_bits(&o->list, x->u_count, o->body.present, o->body.words, x->context));
    x->u_list = o->list ? o->list : o->body.indices;
    return DCSR_OK;
}

/* ---- Computing and writing ---- */

/* The mask in a form that the way can use; NULL where it is to be applied to the result. */
static dcsr_status prepare_mask(dcsr_i_mxv *x, dcsr_i_mask *mask, dcsr_direction way, uint64_t work)
{
    x->mask = NULL;
    if (dcsr_i_mask_is_all(mask)) return DCSR_OK;
    bool list = way == DCSR_DIRECTION_PULL && dcsr_i_mask_is_list(mask);
    bool little = way == DCSR_DIRECTION_PUSH && work < x->n / 64;
    if (x->compacts && !list) return DCSR_OK;
    if (mask->listed && !list && little) return DCSR_OK;
    if (mask->listed && !list) DCSR_TRY(dcsr_i_mask_use_bits(mask));
    x->mask = mask;
    return DCSR_OK;
}

static dcsr_status compute(dcsr_i_body *t, dcsr_i_mxv *x, dcsr_direction way, uint64_t work,
                           const dcsr_vector *u)
{
    operand o = {0};
    dcsr_status status = cast_values(&o, x, way == DCSR_DIRECTION_PULL ? x->pulled : u);
    if (x->compacts) {
        if (status == DCSR_OK) status = dcsr_i_mxv_compact(t, x, &o.body);
    } else if (way == DCSR_DIRECTION_PULL || way == DCSR_DIRECTION_TILES) {
        if (status == DCSR_OK) status = open_for_pull(&o, x);
        if (status == DCSR_OK)
            status = way == DCSR_DIRECTION_PULL ? dcsr_i_mxv_pull(t, x) : dcsr_i_mxv_tiles(t, x);
    } else {
        if (status == DCSR_OK) status = open_for_push(&o, x);
        if (status == DCSR_OK) status = dcsr_i_mxv_push(t, x, work);
    }
    close_operand(&o, x);
    return status;
}

static dcsr_status multiply(const dcsr_i_mxv_call *c)
{
    DCSR_TRY(check(c));
    bool taken = false;
    if (device_mxv) DCSR_TRY(device_mxv(&taken, c));
    if (taken) return DCSR_OK;
    const dcsr_i_rows *rows = dcsr_i_view_rows(c->A);
    dcsr_i_mxv x = {.call = c->name,
                    .context = c->w->context,
                    .entries = dcsr_i_rows_stored(rows),
                    .n = c->w->size,
                    .length = c->u->size};
    set_semiring(&x, c, rows->type);
    x.pulled = pulled(c, &x);
    /* Where nothing is to be computed, the way makes no difference. */
    dcsr_direction way = c->desc && c->desc->direction ? c->desc->direction : DCSR_DIRECTION_PULL;
    uint64_t work;
    dcsr_i_mask mask;
    dcsr_i_body t;
    dcsr_status status = dcsr_i_mask_open(&mask, x.context, x.n, c->mask, c->desc);
    if (status == DCSR_OK && dcsr_i_mask_is_none(&mask)) {
        status = dcsr_i_body_sparse(&t, x.context, x.size, 0);
    } else if (status == DCSR_OK) {
        uint64_t allowed = wanted(c, &mask);
        double mean = x.any ? 1 : (double)x.entries / (double)(x.n + 1);
        const uint64_t pulled = (uint64_t)((double)allowed * (1 + mean));
        x.shares = dcsr_i_shares(x.context, pulled);
        x.threads = dcsr_i_threads(x.context, pulled);
        status = choose_way(&x, &way, &work, c, allowed, &mask);
        x.compacts = status == DCSR_OK && way == DCSR_DIRECTION_PULL &&
                     dcsr_i_mxv_compacts(&x, &mask, &x.pulled->body);
        if (status == DCSR_OK) status = prepare_mask(&x, &mask, way, work);
        if (status == DCSR_OK) status = compute(&t, &x, way, work, c->u);
    }
    bool confined = x.mask || dcsr_i_mask_is_none(&mask);
    if (status == DCSR_OK)
        status = dcsr_i_vector_write_through(c->name, c->w, &mask, confined, c->accum, c->desc, x.type, &t);
    dcsr_i_mask_close(&mask);
    if (status != DCSR_OK) return status;
    /* The cost model counts readings of all rows. */
    if (x.rows == rows && x.looked_at > x.entries / 2) dcsr_i_view_was_read(c->A);
    if (c->desc && c->desc->report)
        *c->desc->report = (dcsr_report){.direction = way, .device = DCSR_DEVICE_CPU, .entries = x.looked_at};
    return DCSR_OK;
}

dcsr_status dcsr_mxv(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                     const dcsr_semiring *semiring, dcsr_view *A, const dcsr_vector *u, const dcsr_desc *desc)
{
    return multiply(&(dcsr_i_mxv_call){.name = "mxv",
                                       .w = w,
                                       .mask = mask,
                                       .u = u,
                                       .accum = accum,
                                       .semiring = semiring,
                                       .A = A,
                                       .desc = desc,
                                       .transposed = desc && desc->transpose_a});
}

dcsr_status dcsr_vxm(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                     const dcsr_semiring *semiring, const dcsr_vector *u, dcsr_view *A, const dcsr_desc *desc)
{
    return multiply(&(dcsr_i_mxv_call){.name = "vxm",
                                       .w = w,
                                       .mask = mask,
                                       .u = u,
                                       .accum = accum,
                                       .semiring = semiring,
                                       .A = A,
                                       .desc = desc,
                                       .transposed = !(desc && desc->transpose_b),
                                       .vector_first = true});
}
