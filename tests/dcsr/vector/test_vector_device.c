/* test_vector_device.c: operations on vectors on a device: what the host computes, bit for bit, whatever the
 * types, operators, masks and forms, and wherever the elements are; lack of memory. */
#include "dcsr/vector/vector_data.h"
#include "ops/algebra/operator.h"
#include "ops/algebra/dispatch.h"
#include <dcsr/vector_ops.h>
#include "tests/support/support_device.h"

#include <stdlib.h>
#include <string.h>

static test_random random_state;

static uint64_t below(uint64_t n)
{
    return test_random_below(&random_state, n);
}

static dcsr_type any_type(void)
{
    return (dcsr_type)(1 + below(DCSR_TYPE_COUNT - 1));
}

/* A small integer as a value of the type. */
static dcsr_i_scalar any_value(dcsr_type type)
{
    int64_t number = (int64_t)below(7) - 2;
    dcsr_i_scalar value = {0};
    dcsr_i_cast(type, &value, DCSR_INT64, &number, 1);
    return value;
}

/* Moves the elements to the device. */
static void move_there(dcsr_vector *vector)
{
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(vector, &info));
    TEST_OK(dcsr_vector_apply(vector, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, info.type), vector,
                              &(dcsr_desc){.device = DCSR_DEVICE_CUDA}));
    cr_assert(dcsr_i_vector_is_ahead(vector));
}

/* Of any density, form and place. */
static dcsr_vector *any_vector(dcsr_type type, uint64_t size)
{
    static const uint64_t densities[] = {0, 1, 3, 40, 100};
    uint64_t percent = densities[below(5)];
    dcsr_vector *vector;
    TEST_OK(dcsr_vector_create(&vector, context, type, size));
    uint64_t *indices = test_allocate(size + 1, sizeof *indices), n = 0;
    char *values = test_allocate(size + 1, 8);
    for (uint64_t i = 0; i < size; i++) {
        if (below(100) >= percent) continue;
        dcsr_i_scalar value = any_value(type);
        memcpy(values + n * dcsr_type_size(type), &value, dcsr_type_size(type));
        indices[n++] = i;
    }
    TEST_OK(dcsr_vector_build(vector, n, indices, values, DCSR_POLICY_DEFAULT));
    TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)below(3)));
    if (below(2)) move_there(vector);
    free(indices);
    free(values);
    return vector;
}

static dcsr_vector *copy_of(const dcsr_vector *vector)
{
    dcsr_vector *copy;
    TEST_OK(dcsr_vector_duplicate(&copy, vector));
    return copy;
}

/* What the vector holds, and that it says so of itself. */
typedef struct contents {
    uint64_t n, *indices;
    char *values;
    dcsr_vector_info info;
} contents;

static contents contents_of(const dcsr_vector *vector)
{
    contents c;
    TEST_OK(dcsr_vector_get_info(vector, &c.info));
    c.indices = test_allocate(c.info.size + 1, sizeof *c.indices);
    c.values = test_allocate(c.info.size + 1, 8);
    TEST_OK(dcsr_vector_get_entries(vector, c.info.size, c.indices, c.values, &c.n));
    cr_assert_eq(c.n, c.info.nvals);
    return c;
}

static void free_contents(contents *c)
{
    free(c->indices);
    free(c->values);
}

/* What is not a number is so in many ways, of which devices choose differently. */
static bool same_value(dcsr_type type, const void *got, const void *expected)
{
    double a = 0, b = 0;
    if (type == DCSR_FP32 || type == DCSR_FP64) {
        dcsr_i_cast(DCSR_FP64, &a, type, got, 1);
        dcsr_i_cast(DCSR_FP64, &b, type, expected, 1);
    }
    return (a != a && b != b) || !memcmp(got, expected, dcsr_type_size(type));
}

static void check_same(const dcsr_vector *got, const dcsr_vector *expected, const char *what, uint64_t seed)
{
    contents a = contents_of(got), b = contents_of(expected);
    size_t size = dcsr_type_size(a.info.type);
    cr_assert(a.n == b.n, "%s, seed %llu: %llu elements, not %llu", what, (unsigned long long)seed,
              (unsigned long long)a.n, (unsigned long long)b.n);
    cr_assert(!memcmp(a.indices, b.indices, a.n * sizeof *a.indices), "%s, seed %llu: other elements", what,
              (unsigned long long)seed);
    for (uint64_t k = 0; k < a.n; k++)
        cr_assert(same_value(a.info.type, a.values + k * size, b.values + k * size),
                  "%s, seed %llu: element %llu differs", what, (unsigned long long)seed,
                  (unsigned long long)a.indices[k]);
    cr_assert(a.info.format == b.info.format || a.info.size / 32 <= a.n, "%s, seed %llu: the form", what,
              (unsigned long long)seed);
    free_contents(&a);
    free_contents(&b);
}

/* ---- Calls ---- */

enum { ADD, MULT, APPLY, FIRST, SECOND, INDEX, SELECT, EXTRACT, ASSIGN, ASSIGN_SCALAR, CALLS };
static const char *const names[] = {"ewise_add",   "ewise_mult", "apply",   "apply_first", "apply_second",
                                    "apply_index", "select",     "extract", "assign",      "assign_scalar"};

typedef struct problem {
    int call;
    dcsr_vector *w, *mask;
    const dcsr_vector *u, *v;
    const dcsr_binary_op *accum, *binary;
    const dcsr_unary_op *unary;
    const dcsr_index_op *index;
    dcsr_i_scalar scalar;
    dcsr_type scalar_type;
    uint64_t *indices, n;
    dcsr_desc desc;
} problem;

static dcsr_status run(const problem *p, dcsr_device where, dcsr_report *report)
{
    dcsr_desc desc = p->desc;
    desc.device = where;
    desc.report = report;
    switch (p->call) {
    case ADD:
        return dcsr_vector_ewise_add(p->w, p->mask, p->accum, p->binary, p->u, p->v, &desc);
    case MULT:
        return dcsr_vector_ewise_mult(p->w, p->mask, p->accum, p->binary, p->u, p->v, &desc);
    case APPLY:
        return dcsr_vector_apply(p->w, p->mask, p->accum, p->unary, p->u, &desc);
    case FIRST:
        return dcsr_vector_apply_first(p->w, p->mask, p->accum, p->binary, &p->scalar, p->u, &desc);
    case SECOND:
        return dcsr_vector_apply_second(p->w, p->mask, p->accum, p->binary, p->u, &p->scalar, &desc);
    case INDEX:
        return dcsr_vector_apply_index(p->w, p->mask, p->accum, p->index, p->u, &p->scalar, &desc);
    case SELECT:
        return dcsr_vector_select(p->w, p->mask, p->accum, p->index, p->u, &p->scalar, &desc);
    case EXTRACT:
        return dcsr_vector_extract(p->w, p->mask, p->accum, p->u, TEST_LIST(p->indices, p->n), &desc);
    case ASSIGN:
        return dcsr_vector_assign(p->w, p->mask, p->accum, p->u, TEST_LIST(p->indices, p->n), &desc);
    default:
        return dcsr_vector_assign_scalar(p->w, p->mask, p->accum, &p->scalar, p->scalar_type,
                                         TEST_LIST(p->indices, p->n), &desc);
    }
}

/* Operators whose results are exact; powers of 0 and the like are. */
static const dcsr_binary_op *any_binary(void)
{
    const dcsr_binary_op *op;
    do op = dcsr_binary_op_of((dcsr_binary_name)below(DCSR_BINARY_NAMES), any_type());
    while (!op || op->name == DCSR_BINARY_POW || op->name == DCSR_BINARY_HYPOT);
    return op;
}

static const dcsr_unary_op *any_unary(void)
{
    const dcsr_unary_op *op;
    do op = dcsr_unary_op_of((dcsr_unary_name)below(DCSR_UNARY_NAMES), any_type());
    while (!op || op->name == DCSR_UNARY_EXP || op->name == DCSR_UNARY_LOG);
    return op;
}

static uint64_t *any_indices(uint64_t n, uint64_t most)
{
    uint64_t *indices = test_allocate(n + 1, sizeof *indices);
    bool ascend = below(2) && n <= most;
    for (uint64_t k = 0; k < n; k++) indices[k] = ascend ? k * most / (n ? n : 1) : below(most);
    return indices;
}

static problem draw(void)
{
    static const uint64_t sizes[] = {1, 31, 64, 65, 100, 257, 700};
    uint64_t size = sizes[below(7)], other = size;
    problem p = {.call = (int)below(CALLS)};
    bool places = p.call == EXTRACT || p.call == ASSIGN || p.call == ASSIGN_SCALAR;
    p.w = any_vector(any_type(), size);
    if (places && below(3)) {
        p.n = p.call == EXTRACT ? size : below(size + 1);
        if (p.call == EXTRACT) other = sizes[below(7)];
        p.indices = any_indices(p.n, p.call == EXTRACT ? other : size);
        if (p.call == ASSIGN) other = p.n;
    }
    bool alias = other == size && !below(4);
    p.u = alias ? p.w : any_vector(any_type(), other);
    p.v = below(4) ? any_vector(any_type(), size) : p.u->size == size ? p.u : p.w;
    if (below(3)) p.mask = below(6) ? any_vector(any_type(), size) : p.w;
    if (below(2)) p.accum = any_binary();
    p.binary = any_binary();
    p.unary = any_unary();
    do p.index = dcsr_index_op_of((dcsr_index_name)below(DCSR_INDEX_NAMES), any_type());
    while (!p.index);
    p.scalar_type = p.call == FIRST || p.call == SECOND ? p.binary->xtype
                    : p.call == ASSIGN_SCALAR           ? any_type()
                                                        : p.index->thunk;
    p.scalar = any_value(p.scalar_type);
    p.desc =
        (dcsr_desc){.mask_complement = below(3) == 0, .mask_structure = below(2), .replace = below(3) == 0};
    return p;
}

/* Vectors that stand in for those of the problem stay the same among one another. */
static void destroy(problem *p)
{
    if (p->v != p->u && p->v != p->w) dcsr_vector_destroy((dcsr_vector *)p->v);
    if (p->u != p->w) dcsr_vector_destroy((dcsr_vector *)p->u);
    if (p->mask != p->w) dcsr_vector_destroy(p->mask);
    dcsr_vector_destroy(p->w);
    free(p->indices);
}

/* The same problem with a copy of the output, which may be an input too. */
static problem with_copy(const problem *p)
{
    problem q = *p;
    q.w = copy_of(p->w);
    if (p->u == p->w) q.u = q.w;
    if (p->v == p->w) q.v = q.w;
    if (p->mask == p->w) q.mask = q.w;
    return q;
}

Test(vector_device, computes_what_the_host_computes)
{
    test_seeds seeds = test_seeds_from_environment(TEST_VARIANT(2000, 600, 100) / test_one_in());
    open_device();
    NEEDS_GPU();
    for (uint64_t r = 0; r < seeds.rounds; r++) {
        random_state.state = seeds.first + r;
        test_seed_begins(seeds.first + r);
        problem p = draw();
        if (below(2)) move_there(p.w);
        problem q = with_copy(&p);
        if (below(2)) move_there(p.w);
        dcsr_report there = {0}, here = {0};
        TEST_OK(run(&p, DCSR_DEVICE_CUDA, &there));
        TEST_OK(run(&q, DCSR_DEVICE_CPU, &here));
        cr_assert(there.device == DCSR_DEVICE_CUDA && here.device == DCSR_DEVICE_CPU);
        check_same(p.w, q.w, names[p.call], seeds.first + r);
        dcsr_vector_destroy(q.w);
        destroy(&p);
    }
    close_device();
}

/* Every allocation fails in turn: the output is as it was, and nothing is lost. */
Test(vector_device, leaves_the_output_alone_when_memory_runs_out)
{
    test_seeds seeds = test_seeds_from_environment(TEST_VARIANT(200, 60, 20) / test_one_in());
    open_device();
    NEEDS_GPU();
    for (uint64_t r = 0; r < seeds.rounds; r++) {
        random_state.state = seeds.first + r;
        test_seed_begins(seeds.first + r);
        problem p = draw();
        dcsr_vector *before = copy_of(p.w);
        problem q = with_copy(&p);
        if (below(2)) move_there(p.w);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
#ifdef DCSR_SIMT
            bool of_device = r & 1;
            if (of_device)
                simt_fail_allocations_after(n);
            else
#endif
                dcsr_i_fail_allocations_after(n);
            status = run(&p, DCSR_DEVICE_CUDA, NULL);
            dcsr_i_fail_allocations_after(-1);
#ifdef DCSR_SIMT
            simt_fail_allocations_after(-1);
#endif
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
            cr_assert(n < 200);
            if (status != DCSR_OK) check_same(p.w, before, names[p.call], seeds.first + r);
        }
        TEST_OK(run(&q, DCSR_DEVICE_CPU, NULL));
        check_same(p.w, q.w, names[p.call], seeds.first + r);
        dcsr_vector_destroy(before);
        dcsr_vector_destroy(q.w);
        destroy(&p);
    }
    close_device();
}

Test(vector_device, adds_up)
{
    enum { SIZE = 5000 };
    open_device();
    NEEDS_GPU();
    for (int type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++) {
        for (int name = 0; name < DCSR_BINARY_NAMES; name++) {
            const dcsr_monoid *monoid = dcsr_monoid_of((dcsr_binary_name)name, (dcsr_type)type);
            if (!monoid || name == DCSR_BINARY_ANY || (type + name) % test_one_in()) continue;
            random_state.state = (uint64_t)(type * 100 + name);
            dcsr_vector *u = any_vector(below(2) ? (dcsr_type)type : any_type(), SIZE), *same = copy_of(u);
            move_there(u);
            dcsr_i_scalar element;
            bool stored;
            TEST_OK(dcsr_vector_get(same, 0, &element, &stored)); /* which brings it here */
            dcsr_i_scalar there = any_value((dcsr_type)type), here = there;
            const dcsr_binary_op *accum =
                below(2) ? dcsr_binary_op_of(DCSR_BINARY_MINUS, (dcsr_type)type) : NULL;
            TEST_OK(dcsr_vector_reduce(&there, accum, monoid, u));
            TEST_OK(dcsr_vector_reduce(&here, accum, monoid, same));
            cr_assert(!memcmp(&there, &here, sizeof here), "%s of %s", monoid->op->text,
                      dcsr_type_name((dcsr_type)type));
            uint64_t nvals;
            TEST_OK(dcsr_vector_get_nvals(u, &nvals));
            cr_assert(nvals < DCSR_I_WORTH_STAYING || dcsr_i_vector_is_ahead(u), "it ran on the device");
            dcsr_vector_destroy(u);
            dcsr_vector_destroy(same);
        }
    }
    close_device();
}
