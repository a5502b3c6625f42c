/* bench_ops_vectors.c: operations on vectors, beside SuiteSparse:GraphBLAS.
 *
 * Each on vectors of which every element is there, a third of them (dense, with bits), and a hundredth
 * (sparse). Then the same on ten elements, where all that counts is what a call costs. On a GPU also: from
 * which size on it is worth its waits (gpu_placing.c). */
#include "bench/gpu/gpu_contests.h"
#include "bench/peers/peer_ops.h"

#include <math.h>
#include <stdlib.h>

typedef struct inputs {
    uint64_t size;
    ops_object u, v, w, mask, part;
    uint64_t *half, n; /* half of all places, in random order */
} inputs;

static inputs make_inputs(bench *b, uint64_t size, double share)
{
    inputs in = {.size = size, .n = size / 2, .half = bench_alloc(size, sizeof(uint64_t))};
    in.u = ops_vector(b, size, share, 1);
    in.v = ops_vector(b, size, share, 2);
    in.mask = ops_vector(b, size, 0.1, 3);
    in.part = ops_vector(b, in.n, share, 4);
    in.w = ops_vector(b, size, 0, 0);
    for (uint64_t k = 0; k < size; k++) in.half[k] = k;
    for (uint64_t k = 0; k < in.n; k++) {
        const uint64_t other = k + bench_below(k, size - k), kept = in.half[k];
        in.half[k] = in.half[other];
        in.half[other] = kept;
    }
    return in;
}

static void free_inputs(inputs *in)
{
    ops_free(&in->u), ops_free(&in->v), ops_free(&in->w), ops_free(&in->mask), ops_free(&in->part);
    free(in->half);
}

static void measure(ops_contest *c, const char *input, double share, inputs *in, bool tiny)
{
#define GROUP(name) (tiny ? "call" : (name))
#define MEASURE(group, ...) \
    ops_measure(c, GROUP(group), input, share, (ops_call){.out = &in->w, .a = &in->u, __VA_ARGS__})
    MEASURE("ewise", .kind = OPS_EWISE_ADD, .op = "plus", .b = &in->v);
    MEASURE("ewise", .kind = OPS_EWISE_MULT, .op = "times", .b = &in->v);
    MEASURE("ewise", .kind = OPS_EWISE_ADD, .op = "min", .b = &in->v, .mask = &in->mask,
            .desc = {.mask_structure = true, .replace = true});
    MEASURE("apply", .kind = OPS_APPLY, .op = "negate");
    MEASURE("apply", .kind = OPS_APPLY_SECOND, .op = "times", .scalar = 3);
    MEASURE("select", .kind = OPS_SELECT, .op = "value_gt", .scalar = 4);
    MEASURE("reduce", .kind = OPS_REDUCE, .op = "plus");
    MEASURE("assign", .kind = OPS_ASSIGN, .nrows = in->size);
    MEASURE("assign", .kind = OPS_ASSIGN_SCALAR, .scalar = 2, .mask = &in->u, .nrows = in->size,
            .desc = {.mask_structure = true});
    ops_measure(
        c, GROUP("assign"), input, share,
        (ops_call){.kind = OPS_ASSIGN, .out = &in->w, .a = &in->part, .rows = in->half, .nrows = in->n});
    ops_object taken = ops_vector(c->b, in->n, 0, 0);
    ops_measure(
        c, GROUP("extract"), input, share,
        (ops_call){.kind = OPS_EXTRACT, .out = &taken, .a = &in->u, .rows = in->half, .nrows = in->n});
    ops_free(&taken);
}

int main(int argc, char **argv)
{
    static const double shares[] = {1, 0.3, 0.01};
    bench b;
    ops_contest c;
    bench_begin(&b, argc, argv, "ops_vectors", "How fast are operations on vectors, beside GraphBLAS?");
    const uint64_t size = (uint64_t)BENCH_SIZE(&b, 1 << 14, 1 << 22);
    bench_note(&b, "vectors of %llu elements; `share` of them are there; fp64", (unsigned long long)size);
    bench_note(&b, "ewise: plus, times, and min under a mask of a tenth; assign: all, to half of the places "
                   "in random order, a scalar under the mask u; extract: half of the places in random order");
    bench_note(&b, "call: the same on ten elements");
    ops_contest_begin(&c, &b, "ops", "operations on vectors; ratio: the peer's time over ours");
    for (int s = 0; s < 3; s++) {
        inputs in = make_inputs(&b, size, shares[s]);
        measure(&c, "vector", shares[s], &in, false);
        free_inputs(&in);
    }
    for (int s = 0; s < 2; s++) {
        inputs in = make_inputs(&b, 10, shares[s]);
        measure(&c, "ten", shares[s], &in, true);
        free_inputs(&in);
    }
    ops_contest_end(&c);
    if (b.gpu) gpu_contest_placing(&b);
    return bench_end(&b);
}
