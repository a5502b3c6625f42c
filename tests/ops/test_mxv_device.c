/* test_mxv_device.c: products of a matrix and a vector on a device: the bits that the cpu gives, over every
 * semiring and type, with masks and accumulators, in either direction. */
#include <dcsr/mxv.h>
#include "tests/support/support_parity.h"
#include <stdlib.h>

/* One call, in both contexts. */
typedef struct problem {
    const dcsr_semiring *semiring;
    const dcsr_binary_op *accum;
    matrices A;
    vectors w, u, mask;
    bool masked, vxm;
    dcsr_desc desc;
} problem;

static dcsr_status call(problem *x, int c, dcsr_report *report)
{
    dcsr_desc desc = x->desc;
    desc.report = report;
    if (c == THERE && desc.device == DCSR_DEVICE_AUTO) desc.device = DCSR_DEVICE_CUDA;
    const dcsr_vector *mask = x->masked ? x->mask.in[c] : NULL;
    return x->vxm ? dcsr_vxm(x->w.in[c], mask, x->accum, x->semiring, x->u.in[c], x->A.view[c], &desc)
                  : dcsr_mxv(x->w.in[c], mask, x->accum, x->semiring, x->A.view[c], x->u.in[c], &desc);
}

static bool transposed(const problem *x)
{
    return x->vxm ? !x->desc.transpose_b : x->desc.transpose_a;
}

static void assert_same(problem *x, const char *what)
{
    dcsr_report report[PLACES] = {{0}};
    for (int c = 0; c < PLACES; c++) TEST_OK(call(x, c, &report[c]));
    cr_assert_eq(report[HERE].device, DCSR_DEVICE_CPU);
    cr_assert_eq(report[THERE].device, DCSR_DEVICE_CUDA, "%s", what);
    dcsr_direction own = transposed(x) ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
    cr_assert_eq(report[THERE].direction, x->desc.direction ? x->desc.direction : own, "%s", what);
    cr_assert(parity_same(&x->w), "%s: the device has another result", what);
}

static void draw_vectors(parity *p, problem *x, uint64_t rows, uint64_t cols, dcsr_type wtype,
                         dcsr_type utype)
{
    static const uint64_t shares[] = {0, 1, 4, 8};
    test_random *random = &p->random;
    uint64_t out = transposed(x) ? cols : rows, in = transposed(x) ? rows : cols;
    x->w = parity_vector(p, wtype, out, shares[test_random_below(random, 4)]);
    x->u = parity_vector(p, utype, in, shares[test_random_below(random, 4)]);
    bool ones = p->ones;
    p->ones = false;
    x->mask = parity_vector(p, parity_type(p), out, shares[test_random_below(random, 4)]);
    p->ones = ones;
    x->masked = test_random_once_in(random, 2);
    x->desc.mask_complement = x->masked && test_random_once_in(random, 2);
    x->desc.mask_structure = test_random_once_in(random, 2);
    x->desc.replace = test_random_once_in(random, 2);
}

static void free_vectors(problem *x)
{
    parity_free_vector(&x->w);
    parity_free_vector(&x->u);
    parity_free_vector(&x->mask);
}

/* Every semiring on every type, under a sanitizer some of them; the matrix, the vectors and accum mostly of
 * the semiring's type, else of any; directions that read the matrix's rows, or those of its transpose. */
static void all_semirings(uint64_t seed, bool vxm)
{
    static const uint64_t sizes[] = {1, 31, 33, 64, 130};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, seed);
    test_random *random = &p.random;
    for (int type = 1; type < DCSR_TYPE_COUNT; type++)
        for (int name = 0; name < DCSR_SEMIRING_NAMES; name++) {
            problem x = {.semiring = dcsr_semiring_of((dcsr_semiring_name)name, (dcsr_type)type), .vxm = vxm};
            if (!x.semiring || (type + name) % (TEST_VARIANT(1, 4, 8) * test_one_in())) continue;
            p.ones = parity_is_any((dcsr_semiring_name)name);
            uint64_t rows = sizes[test_random_below(random, 5)], cols = sizes[test_random_below(random, 5)];
            dcsr_type types[3]; /* of the matrix, u and w */
            for (int i = 0; i < 3; i++)
                types[i] = test_random_once_in(random, 3) ? parity_type(&p) : (dcsr_type)type;
            if (test_random_once_in(random, 4)) types[0] = DCSR_PATTERN;
            x.desc.transpose_a = !vxm && test_random_once_in(random, 2);
            x.desc.transpose_b = vxm && test_random_once_in(random, 2);
            x.desc.direction = (dcsr_direction)test_random_below(random, 3);
            if (test_random_once_in(random, 2))
                x.accum = dcsr_binary_op_of(
                    DCSR_BINARY_PLUS, test_random_once_in(random, 3) ? parity_type(&p) : (dcsr_type)type);
            x.A = parity_matrix(&p, types[0], rows, cols, 3 * rows + cols, 1, 3, DCSR_POLICY_LAST);
            draw_vectors(&p, &x, rows, cols, types[2], types[1]);
            char what[200];
            snprintf(what, sizeof what, "%s, semiring %d on %s, matrix %s, %d x %d", vxm ? "vxm" : "mxv",
                     name, dcsr_type_name((dcsr_type)type), dcsr_type_name(types[0]), (int)rows, (int)cols);
            assert_same(&x, what);
            free_vectors(&x);
            parity_free_matrix(&x.A);
        }
    parity_close(&p);
    close_device();
}

Test(mxv_device, gives_the_bits_of_the_cpu)
{
    all_semirings(11, false);
}

Test(vxm_device, gives_the_bits_of_the_cpu)
{
    all_semirings(12, true);
}

/* Rows of several parts, in pieces that end within parts; entries that stand twice count twice. */
static void long_rows(dcsr_policy policy, dcsr_semiring_name name, dcsr_type type, dcsr_type matrix_type)
{
    parity p;
    parity_open(&p, 21 + (uint64_t)name);
    p.ones = parity_is_any(name);
    problem x = {.semiring = dcsr_semiring_of(name, type)};
    x.A = parity_matrix(&p, matrix_type, 70, 3000, 4500, 3, 3, policy);
    for (int round = 0; round < 8; round++) {
        x.vxm = false;
        x.desc.transpose_a = round & 1;
        x.desc.direction = round & 2 ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
        draw_vectors(&p, &x, 70, 3000, type, type);
        assert_same(&x, "long rows");
        free_vectors(&x);
    }
    parity_free_matrix(&x.A);
    parity_close(&p);
}

Test(mxv_device, cuts_long_rows)
{
    open_device();
    NEEDS_GPU();
    long_rows(DCSR_POLICY_KEEP, DCSR_PLUS_TIMES, DCSR_FP64, DCSR_FP64);
    long_rows(DCSR_POLICY_KEEP, DCSR_PLUS_SECOND, DCSR_FP32, DCSR_PATTERN);
    long_rows(DCSR_POLICY_LAST, DCSR_MIN_PLUS, DCSR_FP32, DCSR_FP32);
    long_rows(DCSR_POLICY_LAST, DCSR_PLUS_PAIR, DCSR_INT64, DCSR_BOOL);
    long_rows(DCSR_POLICY_LAST, DCSR_ANY_PAIR, DCSR_BOOL, DCSR_PATTERN);
    long_rows(DCSR_POLICY_LAST, DCSR_LOR_LAND, DCSR_BOOL, DCSR_BOOL);
    long_rows(DCSR_POLICY_LAST, DCSR_MAX_TIMES, DCSR_INT8, DCSR_INT8);
    close_device();
}

/* The product of a whole vector without a mask is SpMV; rows without entries have no element all the same. */
Test(mxv_device, multiplies_whole_vectors)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP32, DCSR_INT32, DCSR_UINT8, DCSR_BOOL};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 31);
    for (int t = 0; t < 5; t++)
        for (int full = 0; full < 2; full++) {
            /* One row in three is empty, but where there are so few rows that none is. */
            uint64_t rows = full ? 1 : 100;
            problem x = {.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, types[t])};
            x.A = parity_matrix(&p, types[t], rows, 90, 500, 0, 1, DCSR_POLICY_SUM);
            x.w = parity_vector(&p, types[t], rows, 4);
            x.u = parity_vector(&p, types[t], 90, 8);
            assert_same(&x, "a whole vector");
            uint64_t nvals;
            TEST_OK(dcsr_vector_get_nvals(x.w.in[THERE], &nvals));
            cr_assert(full ? nvals == rows : nvals && nvals < rows);
            parity_free_vector(&x.w);
            parity_free_vector(&x.u);
            parity_free_matrix(&x.A);
        }
    parity_close(&p);
    close_device();
}

Test(mxv_device, takes_semirings_of_parts)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 41);
    for (size_t i = 0; i < 4 * PARITY_SEMIRINGS; i++) {
        const parity_parts parts = parity_semiring_of_parts(i / 4);
        problem x = {
            .semiring = parts.semiring, .vxm = i & 1, .desc = {.transpose_a = i & 2, .transpose_b = i & 2}};
        x.A = parity_matrix(&p, parts.type, 40, 50, 200, 1, 2, DCSR_POLICY_LAST);
        draw_vectors(&p, &x, 40, 50, parts.sum_type, parts.type);
        assert_same(&x, dcsr_type_name(parts.type));
        free_vectors(&x);
        parity_free_matrix(&x.A);
        dcsr_semiring_destroy(parts.semiring);
    }
    parity_close(&p);
    close_device();
}

/* A search from one vertex, whose frontier stays where it is: u is the output before, and the mask too. */
Test(mxv_device, searches_a_graph)
{
    enum { VERTICES = 2000 };
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 51);
    problem x = {.semiring = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), .masked = true, .vxm = true};
    x.A = parity_matrix(&p, DCSR_PATTERN, VERTICES, VERTICES, 3 * VERTICES, 0, 1, DCSR_POLICY_LAST);
    x.desc = (dcsr_desc){.mask_complement = true, .mask_structure = true, .replace = true};
    uint64_t found[PLACES] = {0};
    for (int c = 0; c < PLACES; c++) {
        dcsr_vector *frontier, *seen;
        dcsr_desc desc = x.desc;
        desc.device = c == THERE ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU;
        TEST_OK(dcsr_vector_create(&frontier, p.in[c], DCSR_BOOL, VERTICES));
        TEST_OK(dcsr_vector_create(&seen, p.in[c], DCSR_BOOL, VERTICES));
        TEST_OK(dcsr_vector_set(frontier, 1, &(bool){true}));
        TEST_OK(dcsr_vector_set(seen, 1, &(bool){true}));
        const dcsr_semiring * or = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
        for (uint64_t nvals = 1; nvals;) {
            TEST_OK(dcsr_vxm(frontier, seen, NULL, or, frontier, x.A.view[c], &desc));
            TEST_OK(dcsr_vector_get_nvals(frontier, &nvals));
            uint64_t *indices = test_allocate(nvals + 1, sizeof *indices), n;
            TEST_OK(dcsr_vector_get_entries(frontier, nvals, indices, NULL, &n));
            for (uint64_t i = 0; i < n; i++) {
                TEST_OK(dcsr_vector_set(seen, indices[i], &(bool){true}));
                found[c] = found[c] * 31 + indices[i] + 1;
            }
            free(indices);
        }
        dcsr_vector_destroy(frontier);
        dcsr_vector_destroy(seen);
    }
    cr_assert(found[HERE] && found[HERE] == found[THERE]);
    parity_free_matrix(&x.A);
    parity_close(&p);
    close_device();
}

/* What cannot run on the device runs on the host, and says so. */
Test(mxv_device, leaves_the_rest_to_the_host)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 61);
    dcsr_binary_op *mine = parity_user_operator();
    const dcsr_binary_op *const accums[] = {NULL, mine};
    for (int i = 0; i < 2; i++) {
        problem x = {.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), .accum = accums[i]};
        x.A = parity_matrix(&p, DCSR_FP64, 40, 40, 200, 1, 1, DCSR_POLICY_LAST);
        draw_vectors(&p, &x, 40, 40, DCSR_FP64, DCSR_FP64);
        if (i == 0) x.desc.device = DCSR_DEVICE_CPU;
        dcsr_report report[PLACES];
        for (int c = 0; c < PLACES; c++) TEST_OK(call(&x, c, &report[c]));
        cr_assert_eq(report[THERE].device, DCSR_DEVICE_CPU);
        cr_assert_eq(report[THERE].direction, report[HERE].direction);
        cr_assert(parity_same(&x.w));
        free_vectors(&x);
        parity_free_matrix(&x.A);
    }
    dcsr_binary_op_destroy(mine);
    parity_close(&p);
    close_device();
}

static dcsr_status call_in(void *x, int c)
{
    return call(x, c, NULL);
}

/* Whatever memory is refused, w is as it was. */
static void run_short(void (*fail_after)(long), bool vxm, dcsr_direction direction)
{
    parity p;
    parity_open(&p, 71);
    problem x = {.semiring = dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_INT16),
                 .accum = dcsr_binary_op_of(DCSR_BINARY_MAX, DCSR_INT32),
                 .masked = true,
                 .vxm = vxm,
                 .desc.direction = direction};
    x.A = parity_matrix(&p, DCSR_INT32, 60, 300, 400, 3, 2, DCSR_POLICY_LAST);
    uint64_t out = vxm ? 300 : 60;
    x.w = parity_vector(&p, DCSR_FP32, out, 4);
    x.u = parity_vector(&p, DCSR_INT64, vxm ? 60 : 300, 2);
    x.mask = parity_vector(&p, DCSR_INT8, out, 4);
    parity_run_short(fail_after, call_in, &x, &x.w);
    free_vectors(&x);
    parity_free_matrix(&x.A);
    parity_close(&p);
}

Test(mxv_device, survives_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    for (int way = DCSR_DIRECTION_PUSH; way <= DCSR_DIRECTION_PULL; way++)
        for (int vxm = 0; vxm < 2; vxm++) {
            run_short(dcsr_i_fail_allocations_after, vxm, (dcsr_direction)way);
#ifdef DCSR_SIMT
            run_short(simt_fail_allocations_after, vxm, (dcsr_direction)way);
#endif
        }
    close_device();
}
