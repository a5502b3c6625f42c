/* vector_linear.c: sums of products and combinations of full vectors.
 *
 * On the cpu elements are cut into shares by their number alone, whose sums are added up in their order: the result is
 * the same for any number of threads. */
#include "dcsr/base/threads.h"
#include "dcsr/vector/vector_data.h"
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_linear.h"
#include "ops/vector/write_vector.h"
#include <dcsr/vector_ops.h>

/* NULL in builds without CUDA. */
static const dcsr_i_vector_linear *const on_gpu = DCSR_I_IN_CUDA(dcsr_i_cuda_vector_linear);

enum { MOST_SHARES = 256, LEAST_SHARE = 4096, LANES = 8, PIECE = 1024 };

typedef struct pass {
    const void *u, *v;
    void *w; /* NULL: of the sum of products */
    double a, b;
    bool summed; /* the sum is wanted */
} pass;

static double add_lanes(const double lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

#define LINEAR_TYPE       double
#define LINEAR_THIS(name) name##_fp64
#include "ops/vector/vector_linear.inc"
#define LINEAR_TYPE       float
#define LINEAR_THIS(name) name##_fp32
#include "ops/vector/vector_linear.inc"

/* Shares begin at multiples of the lanes. */
static uint64_t begin_of(uint64_t share, uint64_t shares, uint64_t n)
{
    return share < shares ? n / LANES * share / shares * LANES : n;
}

static double run(const pass *p, const dcsr_vector *u)
{
    double (*const elements)(const pass *, uint64_t, uint64_t) = u->type == DCSR_FP32 ? pass_fp32 : pass_fp64;
    const uint64_t n = u->size, wanted = n / LEAST_SHARE,
                   shares = wanted < MOST_SHARES ? wanted + 1 : MOST_SHARES;
    const int threads = dcsr_i_threads(u->context, n);
    double of_share[MOST_SHARES], sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (uint64_t s = 0; s < shares; s++)
        of_share[s] = elements(p, begin_of(s, shares, n), begin_of(s + 1, shares, n));
    for (uint64_t s = 0; s < shares; s++) sum += of_share[s];
    return sum;
}

static dcsr_status check_full(const char *call, const char *name, const dcsr_vector *u)
{
    if (u->type != DCSR_FP64 && u->type != DCSR_FP32)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: %s is of %s; give vectors of fp64, or of fp32",
                           call, name, dcsr_type_name(u->type));
    if (u->body.nvals == u->size) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: %llu of %llu elements of %s are missing; dcsr_vector_fill() it first", call,
                       (unsigned long long)(u->size - u->body.nvals), (unsigned long long)u->size, name);
}

/* Whether both may be used, and where. A sparse body in which all elements are has them as a dense one. */
static dcsr_status check(bool *on_device, const char *call, const dcsr_vector *u, const char *name,
                         const dcsr_vector *other)
{
    DCSR_TRY(dcsr_i_vector_admit_input(call, name, other, NULL));
    DCSR_TRY(dcsr_i_vector_admit_input(call, "u", u, other));
    DCSR_TRY(check_full(call, "u", u));
    DCSR_TRY(check_full(call, name, other));
    if (u->type != other->type)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: u is of %s, %s of %s; give vectors of one type",
                           call, dcsr_type_name(u->type), name, dcsr_type_name(other->type));
    if (u->size != other->size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "%s: u has %llu elements, %s %llu; give vectors of one size", call,
                           (unsigned long long)u->size, name, (unsigned long long)other->size);
    return dcsr_i_dispatch(on_device, u->context, NULL, false, u->size, (const dcsr_vector *[]){u, other}, 2);
}

dcsr_status dcsr_vector_dot(double *dot, const dcsr_vector *u, const dcsr_vector *v)
{
    bool on_device;
    if (!dot) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_dot: dot is NULL; give it a place");
    DCSR_TRY(check(&on_device, "vector_dot", u, "v", v));
    if (on_device) return on_gpu->dot(dot, u, v);
    *dot = run(&(pass){.u = u->body.values, .v = v->body.values}, u);
    return DCSR_OK;
}

dcsr_status dcsr_vector_axpby(dcsr_vector *w, double a, const dcsr_vector *u, double b, double *square)
{
    bool on_device;
    DCSR_TRY(check(&on_device, "vector_axpby", u, "w", w));
    if (on_device) return on_gpu->axpby(w, a, u, b, square);
    dcsr_i_vector_touch(w);
    const double sum =
        run(&(pass){.u = u->body.values, .w = w->body.values, .a = a, .b = b, .summed = square != NULL}, u);
    if (square) *square = sum;
    return DCSR_OK;
}
