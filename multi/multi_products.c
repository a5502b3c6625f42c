/* multi_products.c: products of a partitioned matrix with vectors over any semiring, and the reduction of a vector.
 *
 *      along      w = A u      each device fetches u, and computes the rows that it has
 *      across     w = u A      each device multiplies its part of u with its rows, which gives terms of all of w; then
 *                              each fetches what the others have of its part of w, and adds it (reduce-scatter), in
 *                              the order of the devices, so that the result does not depend on who was first
 *
 * Results are made beside the output and put in when all devices have succeeded. */
#include "dcsr/base/threads.h"
#include "dcsr/vector/vector_data.h"
#include "multi/multi_operation.h"
#include "ops/algebra/operator.h"
#include <dcsr/mxv.h>
#include <dcsr/vector_ops.h>
#include <string.h>

/* ---- What operations on several devices have in common ---- */

void dcsr_i_multi_tell(dcsr_multi_report *report, const dcsr_i_multi_cost *each, uint64_t count,
                       uint64_t began)
{
    if (!report) return;
    *report = (dcsr_multi_report){.direction = each->report[0].direction,
                                  .seconds = (double)(dcsr_i_nanoseconds() - began) * 1e-9};
    uint64_t most = 0;
    for (uint64_t k = 0; k < count; k++) {
        report->bytes += each->bytes[k];
        if (each->waited[k] > most) most = each->waited[k];
    }
    report->communication = (double)most * 1e-9;
}

dcsr_status dcsr_i_multi_check_operand(const dcsr_multi_vector *vector, const dcsr_multi_view *A,
                                       uint64_t size, const char *what)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, what));
    if (vector->devices != A->devices)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s is of other devices than the matrix", what);
    if (dcsr_i_multi_vector_size(vector) != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s has %llu elements; the matrix wants %llu", what,
                           (unsigned long long)dcsr_i_multi_vector_size(vector), (unsigned long long)size);
    return DCSR_OK;
}

dcsr_status dcsr_i_multi_check_view(const dcsr_multi_view *A, const char *call)
{
    if (!A) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is NULL; create a view first", call);
    return dcsr_i_multi_check(A->devices);
}

/* ---- Any semiring ---- */

typedef struct product {
    const dcsr_multi_vector *w, *mask, *u;
    const dcsr_binary_op *accum;
    const dcsr_semiring *semiring;
    dcsr_multi_view *A;
    dcsr_desc desc;
    bool is_vxm, across;
    dcsr_i_borders *borders;               /* of the result */
    dcsr_vector *result[DCSR_MAX_DEVICES]; /* the parts of w, as they will be */
    dcsr_vector *terms[DCSR_MAX_DEVICES];  /* across: what each device has of all of w */
    dcsr_i_multi_cost cost;
} product;

/* Lends device k its part by these borders: the one that it has, or one that *made has, for the caller to destroy. */
static dcsr_status by_borders(const dcsr_vector **part, dcsr_vector **made, product *p,
                              const dcsr_multi_vector *v, const dcsr_i_borders *borders, uint64_t k)
{
    if (dcsr_i_borders_equal(v->borders, borders)) {
        *part = v->part[k];
        return DCSR_OK;
    }
    DCSR_TRY(dcsr_i_multi_fetch(made, dcsr_i_multi_context(p->A->devices, k), v->part, v->borders,
                                borders->begin[k], borders->begin[k + 1], k, &p->cost.bytes[k]));
    *part = *made;
    return DCSR_OK;
}

/* One device's product; mask, accumulator and what w has only where it is not across. */
static dcsr_status multiply(product *p, dcsr_vector *to, const dcsr_vector *mask, const dcsr_binary_op *accum,
                            const dcsr_vector *u, const dcsr_desc *desc, uint64_t k)
{
    return p->is_vxm ? dcsr_vxm(to, mask, accum, p->semiring, u, p->A->part[k], desc)
                     : dcsr_mxv(to, mask, accum, p->semiring, p->A->part[k], u, desc);
}

/* Whether nothing of what w has matters. The complement of no mask is true nowhere. */
static bool overwrites(const product *p)
{
    return !p->mask && !p->accum && !p->desc.mask_complement;
}

/* p->result[k], with what w has there, in memory of its own. */
static dcsr_status begin_result(product *p, uint64_t k)
{
    const dcsr_vector *before;
    dcsr_vector *made = NULL;
    if (overwrites(p))
        return dcsr_vector_create(&p->result[k], dcsr_i_multi_context(p->A->devices, k), p->w->type,
                                  p->borders->begin[k + 1] - p->borders->begin[k]);
    DCSR_TRY(by_borders(&before, &made, p, p->w, p->borders, k));
    dcsr_status status = dcsr_vector_duplicate(&p->result[k], before);
    dcsr_vector_destroy(made);
    return status;
}

static dcsr_status multiply_along(void *user, uint64_t k)
{
    product *p = user;
    dcsr_context *context = dcsr_i_multi_context(p->A->devices, k);
    dcsr_vector *u = NULL, *made = NULL;
    const dcsr_vector *mask = NULL;
    dcsr_desc desc = p->desc;
    desc.report = &p->cost.report[k];
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_status status = dcsr_i_multi_fetch(&u, context, p->u->part, p->u->borders, 0,
                                            dcsr_i_multi_vector_size(p->u), k, &p->cost.bytes[k]);
    if (status == DCSR_OK) status = begin_result(p, k);
    if (status == DCSR_OK && p->mask) status = by_borders(&mask, &made, p, p->mask, p->borders, k);
    p->cost.waited[k] = dcsr_i_nanoseconds() - began;
    if (status == DCSR_OK) status = multiply(p, p->result[k], mask, p->accum, u, &desc, k);
    dcsr_vector_destroy(made);
    dcsr_vector_destroy(u);
    return status;
}

/* Terms of this device's part of w from all devices, added in their order. */
static dcsr_status merge(product *p, dcsr_vector **sum, uint64_t k)
{
    dcsr_context *context = dcsr_i_multi_context(p->A->devices, k);
    const uint64_t begin = p->borders->begin[k], end = p->borders->begin[k + 1];
    const dcsr_i_borders whole = {.parts = 1, .begin = {0, dcsr_i_borders_end(p->borders)}};
    const dcsr_desc where = {.device = p->desc.device};
    for (uint64_t j = 0; j < p->borders->parts; j++) {
        dcsr_vector *const from[DCSR_MAX_DEVICES] = {p->terms[j]};
        dcsr_vector *slice;
        uint64_t bytes = 0;
        DCSR_TRY(dcsr_i_multi_fetch(&slice, context, from, &whole, begin, end, DCSR_MAX_DEVICES, &bytes));
        if (j != k) p->cost.bytes[k] += bytes;
        if (!*sum) {
            *sum = slice;
            continue;
        }
        dcsr_status status =
            dcsr_vector_ewise_add(*sum, NULL, NULL, p->semiring->add->op, *sum, slice, &where);
        dcsr_vector_destroy(slice);
        if (status != DCSR_OK) return status;
    }
    return DCSR_OK;
}

static dcsr_status compute_terms(product *p, uint64_t k)
{
    dcsr_vector *made = NULL;
    const dcsr_vector *u;
    const dcsr_desc desc = {.transpose_a = p->desc.transpose_a,
                            .transpose_b = p->desc.transpose_b,
                            .direction = p->desc.direction,
                            .device = p->desc.device,
                            .report = &p->cost.report[k]};
    DCSR_TRY(dcsr_vector_create(&p->terms[k], dcsr_i_multi_context(p->A->devices, k),
                                dcsr_i_monoid_type(p->semiring->add), dcsr_i_borders_end(p->borders)));
    DCSR_TRY(by_borders(&u, &made, p, p->u, p->A->rows, k));
    dcsr_status status = multiply(p, p->terms[k], NULL, NULL, u, &desc, k);
    dcsr_vector_destroy(made);
    return status;
}

static dcsr_status multiply_across(void *user, uint64_t k)
{
    product *p = user;
    dcsr_vector *sum = NULL, *made = NULL;
    const dcsr_vector *mask = NULL;
    const dcsr_desc desc = {.mask_complement = p->desc.mask_complement,
                            .mask_structure = p->desc.mask_structure,
                            .replace = p->desc.replace,
                            .device = p->desc.device};
    dcsr_status status = compute_terms(p, k);
    const uint64_t began = dcsr_i_nanoseconds();
    DCSR_TRY(dcsr_multi_meet(p->A->devices, status));
    status = merge(p, &sum, k);
    /* What a device alone has is in memory of its own. */
    if (status == DCSR_OK && overwrites(p) && sum->type == p->w->type && dcsr_i_vector_is_ahead(sum)) {
        p->cost.waited[k] = dcsr_i_nanoseconds() - began;
        p->result[k] = sum;
        return DCSR_OK;
    }
    if (status == DCSR_OK) status = begin_result(p, k);
    if (status == DCSR_OK && p->mask) status = by_borders(&mask, &made, p, p->mask, p->borders, k);
    p->cost.waited[k] = dcsr_i_nanoseconds() - began;
    if (status == DCSR_OK) status = dcsr_vector_assign(p->result[k], mask, p->accum, sum, NULL, &desc);
    dcsr_vector_destroy(made);
    dcsr_vector_destroy(sum);
    return status;
}

static dcsr_status run_product(product *p, dcsr_multi_vector *w, const char *call, dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    DCSR_TRY(dcsr_i_multi_check_view(p->A, call));
    if (!p->semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the semiring is NULL; give one that exists",
                           call);
    const dcsr_i_borders *rows = p->A->rows, *cols = p->A->cols;
    p->across = p->is_vxm ? !p->desc.transpose_b : p->desc.transpose_a;
    p->borders = p->across ? p->A->cols : p->A->rows;
    DCSR_TRY(dcsr_i_multi_check_operand(w, p->A, dcsr_i_borders_end(p->borders),
                                        p->is_vxm ? "multi_vxm: w" : "multi_mxv: w"));
    DCSR_TRY(dcsr_i_multi_check_operand(p->u, p->A, dcsr_i_borders_end(p->across ? rows : cols),
                                        p->is_vxm ? "multi_vxm: u" : "multi_mxv: u"));
    if (p->mask)
        DCSR_TRY(dcsr_i_multi_check_operand(p->mask, p->A, dcsr_i_borders_end(p->borders),
                                            p->is_vxm ? "multi_vxm: the mask" : "multi_mxv: the mask"));
    dcsr_status status = dcsr_multi_run(p->A->devices, p->across ? multiply_across : multiply_along, p);
    dcsr_i_multi_parts_destroy(p->terms, rows->parts);
    if (status != DCSR_OK) {
        dcsr_i_multi_parts_destroy(p->result, rows->parts);
        return status;
    }
    dcsr_i_multi_vector_put(w, p->result, p->borders);
    if (p->desc.report) {
        *p->desc.report = p->cost.report[0];
        for (uint64_t k = 1; k < rows->parts; k++) p->desc.report->entries += p->cost.report[k].entries;
    }
    dcsr_i_multi_tell(report, &p->cost, rows->parts, began);
    return DCSR_OK;
}

static const dcsr_desc defaults;

dcsr_status dcsr_multi_mxv(dcsr_multi_vector *w, const dcsr_multi_vector *mask, const dcsr_binary_op *accum,
                           const dcsr_semiring *semiring, dcsr_multi_view *A, const dcsr_multi_vector *u,
                           const dcsr_desc *desc, dcsr_multi_report *report)
{
    product p = {.w = w, .mask = mask, .u = u, .accum = accum, .semiring = semiring, .A = A};
    p.desc = desc ? *desc : defaults;
    return run_product(&p, w, "multi_mxv", report);
}

dcsr_status dcsr_multi_vxm(dcsr_multi_vector *w, const dcsr_multi_vector *mask, const dcsr_binary_op *accum,
                           const dcsr_semiring *semiring, const dcsr_multi_vector *u, dcsr_multi_view *A,
                           const dcsr_desc *desc, dcsr_multi_report *report)
{
    product p = {.w = w, .mask = mask, .u = u, .accum = accum, .semiring = semiring, .A = A, .is_vxm = true};
    p.desc = desc ? *desc : defaults;
    return run_product(&p, w, "multi_vxm", report);
}

/* ---- Reduction ---- */

typedef struct reduction {
    const dcsr_multi_vector *vector;
    const dcsr_monoid *monoid;
    _Alignas(16) char sum[DCSR_MAX_DEVICES][16];
} reduction;

static dcsr_status reduce_part(void *user, uint64_t k)
{
    reduction *r = user;
    return dcsr_vector_reduce(r->sum[k], NULL, r->monoid, r->vector->part[k]);
}

dcsr_status dcsr_multi_vector_reduce(void *result, const dcsr_monoid *monoid, const dcsr_multi_vector *vector)
{
    DCSR_TRY(dcsr_i_multi_vector_check(vector, "multi_vector_reduce: vector"));
    if (!result || !monoid)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_vector_reduce: %s is NULL",
                           result ? "the monoid" : "result");
    const dcsr_type type = dcsr_i_monoid_type(monoid);
    const size_t size = dcsr_type_size(type);
    reduction r = {.vector = vector, .monoid = monoid};
    DCSR_TRY(dcsr_multi_run(vector->devices, reduce_part, &r));
    /* In the order of the devices; parts without elements have nothing to add. */
    uint64_t n = 0;
    for (uint64_t k = 0; k < vector->borders->parts; k++) {
        uint64_t here;
        DCSR_TRY(dcsr_vector_get_nvals(vector->part[k], &here));
        if (here) memmove((char *)r.sum + n++ * size, r.sum[k], size);
    }
    if (!n) return DCSR_OK;
    dcsr_vector *sums;
    DCSR_TRY(dcsr_vector_import(&sums, dcsr_i_multi_home(vector->devices), type, n, r.sum, NULL, NULL));
    dcsr_status status = dcsr_vector_reduce(result, NULL, monoid, sums);
    dcsr_vector_destroy(sums);
    return status;
}
