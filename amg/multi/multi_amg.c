/* multi_amg.c: the object: creating, setting, asking and destroying it; arguments of what it does. */
#include "amg/multi/levels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By default: docs/AMG.md, "Several devices". A GPU is done with a level of some hundred thousand rows before
 * several have met as often as a visit of it takes. */
enum { ONE_DEVICE = 50000, ONE_GPU = 500000 };
static const double OUTSIDE = 0.25;

dcsr_status dcsr_multi_amg_create(dcsr_multi_amg **amg, dcsr_multi *devices)
{
    dcsr_multi_info info;
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg create: amg is NULL");
    *amg = NULL;
    DCSR_I_AMG_TRY(dcsr_multi_get_info(devices, &info));
    dcsr_multi_amg *made = dcsr_context_allocate(info.context[0], 1, sizeof *made);
    if (!made) return dcsr_thread_status();
    made->devices = devices;
    made->parts = info.devices;
    made->one_device = info.device == DCSR_DEVICE_CUDA ? ONE_GPU : ONE_DEVICE;
    made->outside = OUTSIDE;
    memcpy(made->context, info.context, sizeof made->context);
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < made->parts && !status; k++)
        status = dcsr_amg_create(&made->solver[k], made->context[k]);
    if (status)
        dcsr_multi_amg_destroy(made);
    else
        *amg = made;
    return status;
}

void dcsr_multi_amg_destroy(dcsr_multi_amg *amg)
{
    if (!amg) return;
    dcsr_i_divided_destroy(amg->levels);
    for (uint64_t k = 0; k < amg->parts; k++) dcsr_amg_destroy(amg->solver[k]);
    dcsr_context_free(amg->context[0], amg, 1, sizeof *amg);
}

/* ---- Options ---- */

/* Of a name that one device has no option of: the others that are there. */
static dcsr_status tell_own_options(void)
{
    char said[1024];
    snprintf(said, sizeof said, "%s", dcsr_thread_error());
    return dcsr_thread_fail(DCSR_ERROR_NOT_FOUND, "%s one_device outside", said);
}

dcsr_status dcsr_multi_amg_set(dcsr_multi_amg *amg, const char *name, const char *value)
{
    if (!amg || !name || !value)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg set: %s is NULL",
                                !amg    ? "amg"
                                : !name ? "name"
                                        : "value");
    const bool rows = !strcmp(name, "one_device");
    if (rows || !strcmp(name, "outside")) {
        const char *end;
        const double number = dcsr_i_amg_number(value, &end);
        const bool fits = rows ? number >= 1 && number <= 1e9 && number == (double)(uint64_t)number
                               : number >= 0 && number <= 1;
        if (end == value || *end || !fits)
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "multi amg set: '%s' is no value of the option %s, which takes a %s",
                                    value, name,
                                    rows ? "whole number from 1 to 1000000000" : "number from 0 to 1");
        if (rows)
            amg->one_device = (uint64_t)number;
        else
            amg->outside = number;
        return DCSR_OK;
    }
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < amg->parts && !status; k++) status = dcsr_amg_set(amg->solver[k], name, value);
    return status == DCSR_ERROR_NOT_FOUND ? tell_own_options() : status;
}

dcsr_status dcsr_multi_amg_set_nullspace(dcsr_multi_amg *amg, const dcsr_dense *B)
{
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg set nullspace: amg is NULL");
    return dcsr_amg_set_nullspace(amg->solver[0], B);
}

/* Whether nodes are whole, and on one device each. */
static dcsr_status check_nodes(const dcsr_multi_amg *amg, const dcsr_multi_view_info *info, const char *call)
{
    const dcsr_amg *first = amg->solver[0];
    const unsigned long long rows = info->rows, block = (unsigned long long)first->options.block;
    if (first->nullspace.data && first->nullspace_rows != rows)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                "%s: A has %llu rows, but the near-nullspace vectors have %llu", call, rows,
                                (unsigned long long)first->nullspace_rows);
    if (rows % block)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                "%s: A has %llu rows, which are no multiple of the option block, %llu", call,
                                rows, block);
    for (uint64_t k = 1; k < amg->parts; k++)
        if (info->border[k] % block)
            return dcsr_thread_fail(
                DCSR_ERROR_INVALID_ARGUMENT,
                "%s: A is cut at row %llu, within a node of %llu rows (the option block); "
                "give dcsr_multi_create() a `grain` of %llu",
                call, (unsigned long long)info->border[k], block, block);
    return DCSR_OK;
}

static dcsr_status check(const dcsr_multi_amg *amg, dcsr_multi_view *A, const char *call)
{
    dcsr_multi_view_info info;
    if (!amg || !A)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, !amg ? "amg" : "A");
    DCSR_I_AMG_TRY(dcsr_multi_view_get_info(A, &info));
    if (info.devices != amg->devices)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is of other devices than amg", call);
    if (info.rows != info.cols)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: A is %llu x %llu, not square", call,
                                (unsigned long long)info.rows, (unsigned long long)info.cols);
    if (info.type != DCSR_FP64)
        return dcsr_thread_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: A is %s; it must be fp64", call,
                                dcsr_type_name(info.type));
    if (info.rows >= DCSR_MAX_COLS)
        return dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "%s: A has %llu rows, more than 2^31 - 1", call,
                                (unsigned long long)info.rows);
    return check_nodes(amg, &info, call);
}

/* ---- Levels ---- */

static dcsr_status replace(dcsr_multi_amg *amg, dcsr_multi_view *A, const dcsr_i_divided *like,
                           const char **why)
{
    dcsr_i_divided *made;
    DCSR_I_AMG_TRY(dcsr_i_divide(&made, amg, A, like, why));
    dcsr_i_divided_destroy(amg->levels);
    for (uint64_t k = 0; k < amg->parts; k++) dcsr_i_amg_pool_turn(&amg->solver[k]->pool);
    amg->levels = made;
    return DCSR_OK;
}

dcsr_status dcsr_multi_amg_setup(dcsr_multi_amg *amg, dcsr_multi_view *A, dcsr_multi_amg_info *info)
{
    const char *why;
    DCSR_I_AMG_TRY(check(amg, A, "multi amg setup"));
    DCSR_I_AMG_TRY(replace(amg, A, NULL, &why));
    if (info) *info = amg->levels->info;
    return DCSR_OK;
}

dcsr_status dcsr_i_divided_check(const dcsr_multi_amg *amg, const char *call)
{
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: amg is NULL", call);
    if (amg->levels) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                            "%s: there are no levels yet; call dcsr_multi_amg_setup() first", call);
}

dcsr_status dcsr_multi_amg_update(dcsr_multi_amg *amg, dcsr_multi_view *A, dcsr_amg_update_report *report)
{
    const char *why;
    const double start = dcsr_i_amg_now();
    DCSR_I_AMG_TRY(check(amg, A, "multi amg update"));
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, "multi amg update"));
    DCSR_I_AMG_TRY(replace(amg, A, amg->levels, &why));
    if (report)
        *report = (dcsr_amg_update_report){.how = why ? DCSR_AMG_SET_UP : DCSR_AMG_RECOMPUTED,
                                           .why = why,
                                           .seconds = dcsr_i_amg_now() - start};
    return DCSR_OK;
}

/* ---- One cycle ---- */

/* The vector is of all rows, cut where A's rows are. */
static dcsr_status check_vector(const dcsr_multi_amg *amg, dcsr_multi_vector *vector, const char *name)
{
    const uint64_t *border = amg->levels->border[0];
    for (uint64_t k = 0; k < amg->parts; k++) {
        dcsr_vector *part;
        dcsr_vector_info info;
        uint64_t first;
        DCSR_I_AMG_TRY(dcsr_multi_vector_get_part(vector, k, &part, &first));
        DCSR_I_AMG_TRY(dcsr_vector_get_info(part, &info));
        if (info.type != DCSR_FP64)
            return dcsr_thread_fail(DCSR_ERROR_TYPE_MISMATCH, "multi amg apply: %s is %s; it must be fp64",
                                    name, dcsr_type_name(info.type));
        if (first != border[k] || first + info.size != border[k + 1])
            return dcsr_thread_fail(
                DCSR_ERROR_INVALID_ARGUMENT,
                "multi amg apply: %s has other borders than the rows of A; create it from "
                "the view that the levels are for",
                name);
    }
    return DCSR_OK;
}

dcsr_status dcsr_multi_amg_apply(dcsr_multi_amg *amg, dcsr_multi_vector *z, const dcsr_multi_vector *r)
{
    static const char call[] = "multi amg apply";
    dcsr_multi_vector *b = (dcsr_multi_vector *)(uintptr_t)r; /* lent to be read */
    uint64_t there;
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, call));
    if (!z || !r || z == r)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s", call,
                                !z   ? "z is NULL"
                                : !r ? "r is NULL"
                                     : "z and r are the same vector");
    DCSR_I_AMG_TRY(check_vector(amg, z, "z"));
    DCSR_I_AMG_TRY(check_vector(amg, b, "r"));
    DCSR_I_AMG_TRY(dcsr_multi_vector_get_nvals(r, &there));
    const uint64_t rows = amg->levels->border[0][amg->parts];
    if (there < rows)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: %llu elements of r are missing; dcsr_multi_vector_fill() it first", call,
                                (unsigned long long)(rows - there));
    DCSR_I_AMG_TRY(dcsr_multi_vector_get_nvals(z, &there));
    if (there < rows) DCSR_I_AMG_TRY(dcsr_multi_vector_fill(z, &(double){0}));
    return dcsr_i_divided_cycle(amg->levels, z, b);
}

/* ---- Asking ---- */

dcsr_status dcsr_multi_amg_get_info(const dcsr_multi_amg *amg, dcsr_multi_amg_info *info)
{
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, "multi amg get info"));
    if (!info) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg get info: info is NULL");
    *info = amg->levels->info;
    return DCSR_OK;
}

dcsr_status dcsr_multi_amg_get_level(const dcsr_multi_amg *amg, uint64_t number, dcsr_amg_level *level)
{
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, "multi amg get level"));
    if (!level) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg get level: level is NULL");
    const dcsr_i_divided *d = amg->levels;
    if (number >= d->info.levels)
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                "multi amg get level: there are %llu levels, no number %llu",
                                (unsigned long long)d->info.levels, (unsigned long long)number);
    if (number < d->info.divided) {
        *level = d->level[number].told;
        return DCSR_OK;
    }
    DCSR_I_AMG_TRY(dcsr_amg_get_level(d->last, number - d->info.divided, level));
    const double all = d->info.operator_complexity * (double)(d->count ? d->level[0].told.nnz : 0);
    if (all > 0) level->share = (double)level->nnz / all;
    return DCSR_OK;
}
