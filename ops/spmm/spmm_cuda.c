/* spmm_cuda.c: sparse matrix times dense matrix on a device: where and how, memory, bringing X and Y there
 * and back. */
#include "ops/spmm/spmm_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/rowtable.h"
#include "dcsr/base/runtime.h"
#include "ops/algebra/dispatch.h"

enum {
    NARROW = 16,     /* columns up to which a row split has no idle lanes, and a merge has */
    LONG_ROW = 1024, /* a row that is longer than this, and */
    LONG_PART = 16   /* than 1/16 of what each multiprocessor has to do, is to be shared */
};
/* Rows that are shorter in the mean are better merged: 9.35 is where Yang, Buluc, Owens found the two to
 * meet. */
static const double SHORT_ROW = 9.35;

/* ---- Where ---- */

static bool on_device(dcsr_context *context, const void *pointer)
{
    return pointer && dcsr_i_cuda_where(context->cuda, pointer) == DCSR_CUDA_ON_DEVICE;
}

static dcsr_status accepts(bool *takes, const dcsr_i_cuda_spmm_call *call)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(call->A);
    const dcsr_desc *desc = call->desc;
    dcsr_context *context = dcsr_i_view_context(call->A);
    dcsr_i_cuda_semiring semiring;
    *takes = false;
    if (!context->cuda) return DCSR_OK;
    bool there = on_device(context, call->X) || on_device(context, call->Y);
    bool can = rows->on_device && (!call->accum || call->accum->loop) &&
               !(desc && desc->device == DCSR_DEVICE_CPU) &&
               dcsr_i_cuda_semiring_of(&semiring, call->semiring, false, rows->type);
    if (there && !can)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "spmm: %s is in the device's memory, and what is asked for runs on the host (operators of "
            "your own, DCSR_DEVICE_CPU); give arrays in host memory",
            on_device(context, call->X) ? "X" : "Y");
    uint64_t work = rows->on_device ? rows->device.stored : 0, most = UINT64_MAX / (work + 1);
    work *= call->columns < most ? call->columns : most;
    DCSR_TRY(dcsr_i_dispatch(takes, context, desc, !can, work, &call->mask, 1));
    *takes = *takes || there;
    return DCSR_OK;
}

/* ---- How ---- */

static bool is_transposed(const dcsr_i_cuda_spmm_call *call)
{
    return call->desc && call->desc->transpose_a;
}

/* ---- Merge ---- */

static dcsr_status merge_with(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const uint64_t *offsets)
{
    uint64_t warps = dcsr_i_cuda_spmm_warps(stream, x), values = warps * 2 * DCSR_CUDA_SPMM_COLUMNS;
    size_t size = DCSR_CUDA_SPMM_SUM;
    dcsr_i_cuda_spmm_share *shares = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, warps, sizeof *shares);
    void *sums = shares ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, values, size) : NULL;
    if (sums) dcsr_i_cuda_spmm_merge(stream, x, offsets, shares, sums);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, sums, values, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, shares, warps, sizeof *shares);
    return sums ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status merge(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x)
{
    uint64_t rows = x->rows.rows;
    if (x->rows.offsets && !x->wanted.bits && !x->wanted.flip) return merge_with(stream, x, x->rows.offsets);
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_spmm_lengths(stream, x, offsets);
    dcsr_status status = dcsr_i_cuda_scan_u64(stream, offsets, offsets, rows);
    if (status == DCSR_OK) status = merge_with(stream, x, offsets);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, rows + 1, sizeof *offsets);
    return status;
}

/* ---- One product ---- */

typedef struct product {
    const dcsr_i_cuda_spmm_call *call;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_spmm x;
    dcsr_type type; /* of Y */
    uint64_t x_bytes, y_bytes;
    void *my_X, *my_Y; /* on the device, where the caller's are not */
    void *T;           /* A X, where accum is carried out afterwards */
    void *Y;           /* on the device */
    bool late, x_there, y_there;
} product;

static dcsr_status bring(void **mine, const product *p, const void *from, uint64_t bytes)
{
    *mine = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, bytes, 1);
    if (!*mine) return dcsr_i_no_memory();
    if (from) dcsr_i_cuda_copy(p->stream, *mine, from, bytes);
    return DCSR_OK;
}

static dcsr_status open_product(product *p)
{
    const dcsr_i_cuda_spmm_call *c = p->call;
    DCSR_TRY(dcsr_i_cuda_wanted_open(&p->x.wanted, p->stream, c->mask, c->desc));
    if (!p->x_there) DCSR_TRY(bring(&p->my_X, p, c->X, p->x_bytes));
    /* What Y holds matters where some of it stays. */
    bool stays = c->accum || ((c->mask || p->x.wanted.none) && !p->x.replace);
    if (!p->y_there) DCSR_TRY(bring(&p->my_Y, p, stays ? c->Y : NULL, p->y_bytes));
    if (p->late) DCSR_TRY(bring(&p->T, p, NULL, p->y_bytes));
    p->Y = p->y_there ? c->Y : p->my_Y;
    p->x.X = p->x_there ? c->X : p->my_X;
    p->x.Y = p->late ? p->T : p->Y;
    return DCSR_OK;
}

static void close_product(product *p)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->T, p->y_bytes, 1);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->my_Y, p->y_bytes, 1);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, p->my_X, p->x_bytes, 1);
    dcsr_i_cuda_wanted_close(&p->x.wanted, p->stream);
}

/* x.X and x.Y are where they will be. */
static dcsr_status choose(dcsr_spmm_mapping *mapping, const product *p)
{
    const dcsr_i_cuda_spmm_call *call = p->call;
    const dcsr_i_cuda_rows *rows = &p->x.rows;
    const dcsr_i_cuda_spmv_plan *plan;
    if (*mapping != DCSR_SPMM_AUTO) return DCSR_OK;
    *mapping = DCSR_SPMM_ROW_SPLIT;
    if (dcsr_i_cuda_spmm_has_groups(&p->x)) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_spmv_plan_of(&plan, call->A, is_transposed(call)));
    uint64_t parts =
        (uint64_t)dcsr_i_cuda_describe(dcsr_i_cuda_device_of(p->stream))->multiprocessors * LONG_PART;
    bool is_long = plan->counts.longest > LONG_ROW && plan->counts.longest > rows->stored / parts;
    bool is_short = call->columns > NARROW && (double)rows->stored < SHORT_ROW * (double)rows->rows;
    if (is_long || is_short) *mapping = DCSR_SPMM_MERGE;
    return DCSR_OK;
}

static dcsr_status split_in_groups(const product *p, const dcsr_i_cuda_spmm *x)
{
    const dcsr_i_cuda_spmv_plan *plan;
    DCSR_TRY(dcsr_i_cuda_spmv_plan_of(&plan, p->call->A, is_transposed(p->call)));
    uint64_t values = plan->counts.longest > DCSR_CUDA_SPMV_PART ? plan->counts.parts * x->width : 0;
    size_t size = dcsr_type_size((dcsr_type)x->semiring.type);
    void *sums = values ? dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, values, size) : NULL;
    if (values && !sums) return dcsr_i_no_memory();
    dcsr_i_cuda_spmm_groups(p->stream, x, plan, sums);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, sums, values, size);
    return DCSR_OK;
}

static dcsr_status multiply(dcsr_spmm_mapping *mapping, product *p)
{
    const dcsr_desc *desc = p->call->desc;
    DCSR_TRY(open_product(p));
    DCSR_TRY(choose(mapping, p));
    if (!p->y_bytes) return DCSR_OK;
    dcsr_i_cuda_spmm x = p->x;
    if (p->late) { /* all of T is written, and Y later */
        x.accum = -1;
        x.replace = true;
    }
    if (*mapping == DCSR_SPMM_MERGE)
        DCSR_TRY(merge(p->stream, &x));
    else if (dcsr_i_cuda_spmm_has_groups(&x))
        DCSR_TRY(split_in_groups(p, &x));
    else
        dcsr_i_cuda_spmm_rows(p->stream, &x);
    if (p->late)
        dcsr_i_cuda_spmm_accumulate(p->stream, &p->x, desc && desc->replace, p->type, p->Y, p->T,
                                    p->call->accum);
    if (p->my_Y) dcsr_i_cuda_copy(p->stream, p->call->Y, p->my_Y, p->y_bytes);
    return DCSR_OK;
}

static dcsr_status run(const dcsr_i_cuda_spmm_call *call)
{
    dcsr_i_cuda_rows rows = dcsr_i_view_rows(call->A)->device;
    dcsr_context *context = dcsr_i_view_context(call->A);
    if (is_transposed(call)) DCSR_TRY(dcsr_i_cuda_view_transposed(&rows, call->A));
    product p = {.call = call,
                 .x = {.rows = rows, .replace = call->desc && call->desc->replace, .width = call->columns},
                 .type = dcsr_i_monoid_type(call->semiring->add),
                 .x_there = on_device(context, call->X),
                 .y_there = on_device(context, call->Y)};
    dcsr_i_cuda_semiring_of(&p.x.semiring, call->semiring, false, (dcsr_type)rows.type);
    dcsr_type type = (dcsr_type)p.x.semiring.type;
    p.x.truths = p.type != type;
    p.late = call->accum && (p.x.truths || call->accum->xtype != type);
    p.x.accum = call->accum ? call->accum->name : -1;
    p.x_bytes = rows.cols * call->columns * dcsr_type_size(type);
    p.y_bytes = rows.rows * call->columns * dcsr_type_size(p.type);
    p.stream = dcsr_i_stream_borrow(context);
    if (!p.stream) return dcsr_i_no_memory();
    dcsr_spmm_mapping mapping = call->desc ? call->desc->mapping : DCSR_SPMM_AUTO;
    dcsr_status status = multiply(&mapping, &p);
    close_product(&p);
    dcsr_status waited = dcsr_i_cuda_wait(p.stream, "spmm");
    dcsr_i_stream_return(context, p.stream);
    if (status == DCSR_OK) status = waited;
    if (status != DCSR_OK) return status;
    if (!is_transposed(call)) dcsr_i_view_was_read(call->A);
    if (call->desc && call->desc->report)
        *call->desc->report =
            (dcsr_report){.mapping = mapping, .device = DCSR_DEVICE_CUDA, .entries = rows.stored};
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_spmm_run(bool *taken, const dcsr_i_cuda_spmm_call *call)
{
    DCSR_TRY(accepts(taken, call));
    return *taken ? run(call) : DCSR_OK;
}
