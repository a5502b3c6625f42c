/* test_spmm_device.c: sparse matrix times dense matrix on a device: the bits that the cpu gives, by either
 * mapping, with X and Y on either side. */
#include <dcsr/spmm.h>
#include "tests/support/support_parity.h"

typedef struct problem {
    const dcsr_semiring *semiring;
    const dcsr_binary_op *accum;
    matrices A;
    vectors mask;
    bool masked;
    dcsr_desc desc;
    uint64_t rows, cols, columns;
    dcsr_type xtype, ytype;
    dcsr_spmm_mapping mapping;
} problem;

static void *send(const void *from, size_t bytes)
{
    char *there = on_device(bytes);
    dcsr_i_cuda_copy(stream, there, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "sending"));
    return there;
}

static dcsr_status call(const problem *x, int c, void *Y, const void *X, dcsr_report *report)
{
    dcsr_report unwanted;
    if (!report) report = &unwanted;
    dcsr_desc desc = x->desc;
    desc.mapping = c == THERE ? x->mapping : DCSR_SPMM_AUTO;
    desc.report = report;
    if (c == THERE && desc.device == DCSR_DEVICE_AUTO) desc.device = DCSR_DEVICE_CUDA;
    dcsr_status status = dcsr_spmm(Y, x->masked ? x->mask.in[c] : NULL, x->accum, x->semiring, x->A.view[c],
                                   X, x->columns, &desc);
    if (status == DCSR_OK && c == THERE && x->mapping != DCSR_SPMM_AUTO)
        cr_assert_eq(report->mapping, x->mapping);
    if (status == DCSR_OK) cr_assert_neq(report->mapping, DCSR_SPMM_AUTO);
    return status;
}

/* With X and Y in host memory, and on the device. */
static void assert_same(parity *p, const problem *x, const char *what)
{
    size_t x_bytes = x->cols * x->columns * dcsr_type_size(x->xtype),
           y_bytes = x->rows * x->columns * dcsr_type_size(x->ytype);
    char *X = parity_numbers(p, x->xtype, x->cols * x->columns),
         *Y = parity_numbers(p, x->ytype, x->rows * x->columns);
    char *wanted = test_copy(Y, y_bytes), *X_there = send(X, x_bytes), *Y_there = send(Y, y_bytes);
    dcsr_report report = {0};
    TEST_OK(call(x, HERE, wanted, X, &report));
    cr_assert_eq(report.device, DCSR_DEVICE_CPU);
    TEST_OK(call(x, THERE, Y, X, &report));
    cr_assert_eq(report.device, DCSR_DEVICE_CUDA, "%s", what);
    cr_assert(!memcmp(Y, wanted, y_bytes), "%s, from host memory", what);
    TEST_OK(call(x, THERE, Y_there, X_there, &report));
    dcsr_i_cuda_copy(stream, Y, Y_there, y_bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "fetching"));
    cr_assert(!memcmp(Y, wanted, y_bytes), "%s, on the device", what);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, X_there, x_bytes, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, Y_there, y_bytes, 1);
    free(X), free(Y), free(wanted);
}

static void draw_mask(parity *p, problem *x)
{
    static const uint64_t shares[] = {0, 1, 4, 8};
    bool ones = p->ones;
    p->ones = false;
    x->mask = parity_vector(p, parity_type(p), x->rows, shares[test_random_below(&p->random, 4)]);
    p->ones = ones;
    x->masked = test_random_once_in(&p->random, 2);
    x->desc.mask_complement = x->masked && test_random_once_in(&p->random, 2);
    x->desc.mask_structure = test_random_once_in(&p->random, 2);
    x->desc.replace = test_random_once_in(&p->random, 2);
}

/* Every semiring on every type, under a sanitizer some of them, by one mapping. */
static void all_semirings(uint64_t seed, dcsr_spmm_mapping mapping)
{
    static const uint64_t sizes[] = {1, 31, 33, 70}, widths[] = {1, 3, 8, 9, 17, 33, 65, 70};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, seed);
    test_random *random = &p.random;
    for (int type = 1; type < DCSR_TYPE_COUNT; type++)
        for (int name = 0; name < DCSR_SEMIRING_NAMES; name++) {
            problem x = {.semiring = dcsr_semiring_of((dcsr_semiring_name)name, (dcsr_type)type),
                         .rows = sizes[test_random_below(random, 4)],
                         .cols = sizes[test_random_below(random, 4)],
                         .columns = widths[test_random_below(random, 8)],
                         .xtype = (dcsr_type)type,
                         .ytype = (dcsr_type)type,
                         .mapping = mapping};
            if (!x.semiring || (type + name) % (TEST_VARIANT(1, 4, 8) * test_one_in())) continue;
            p.ones = parity_is_any((dcsr_semiring_name)name);
            dcsr_type matrix_type = test_random_once_in(random, 3) ? parity_type(&p) : (dcsr_type)type;
            if (test_random_once_in(random, 4)) matrix_type = DCSR_PATTERN;
            if (test_random_once_in(random, 2))
                x.accum = dcsr_binary_op_of(
                    DCSR_BINARY_PLUS, test_random_once_in(random, 3) ? parity_type(&p) : (dcsr_type)type);
            x.desc.transpose_a = test_random_once_in(random, 3);
            x.A = parity_matrix(&p, matrix_type, x.desc.transpose_a ? x.cols : x.rows,
                                x.desc.transpose_a ? x.rows : x.cols, 2 * x.rows + x.cols, 1, 2,
                                DCSR_POLICY_LAST);
            draw_mask(&p, &x);
            char what[200];
            snprintf(what, sizeof what, "semiring %d on %s, matrix %s, %d x %d, %d columns, accum on %s",
                     name, dcsr_type_name((dcsr_type)type), dcsr_type_name(matrix_type), (int)x.rows,
                     (int)x.cols, (int)x.columns, x.accum ? "something" : "nothing");
            assert_same(&p, &x, what);
            parity_free_vector(&x.mask);
            parity_free_matrix(&x.A);
        }
    parity_close(&p);
    close_device();
}

Test(spmm_device, row_split_gives_the_bits_of_the_cpu)
{
    all_semirings(11, DCSR_SPMM_ROW_SPLIT);
}

Test(spmm_device, merge_gives_the_bits_of_the_cpu)
{
    all_semirings(12, DCSR_SPMM_MERGE);
}

/* A row with most of the entries, which many warps have a part of, in pieces that end anywhere. */
Test(spmm_device, shares_long_rows)
{
    static const struct {
        dcsr_semiring_name name;
        dcsr_type type;
    } cases[] = {{DCSR_PLUS_TIMES, DCSR_FP64},
                 {DCSR_MIN_PLUS, DCSR_FP32},
                 {DCSR_PLUS_TIMES, DCSR_INT16},
                 {DCSR_LOR_LAND, DCSR_BOOL}};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 21);
    for (int k = 0; k < 8; k++) {
        problem x = {.semiring = dcsr_semiring_of(cases[k / 2].name, cases[k / 2].type),
                     .rows = 40,
                     .cols = 900,
                     .columns = k & 1 ? 40 : 5,
                     .xtype = cases[k / 2].type,
                     .ytype = cases[k / 2].type,
                     .mapping = (dcsr_spmm_mapping)(k % 3)};
        if (k % 4 == 3) x.accum = dcsr_binary_op_of(DCSR_BINARY_PLUS, x.ytype);
        x.A = parity_matrix(&p, x.xtype, x.rows, x.cols, 3000, 3, 3, DCSR_POLICY_KEEP);
        draw_mask(&p, &x);
        assert_same(&p, &x, "long rows");
        parity_free_vector(&x.mask);
        parity_free_matrix(&x.A);
    }
    parity_close(&p);
    close_device();
}

/* Rows of several pieces, some of them cut into parts, by groups of 4 to 32 lanes with 16 bytes each. */
Test(spmm_device, groups_of_lanes_give_the_bits_of_the_cpu)
{
    static const struct {
        uint64_t packs, hubs;
    } shapes[] = {{4, 2}, {8, 0}, {8, 2}, {16, 0}, {32, 0}, {32, 2}, {48, 1}};
    static const dcsr_semiring_name names[] = {DCSR_PLUS_TIMES, DCSR_PLUS_SECOND};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 91);
    for (int k = 0; k < 28; k++) {
        const uint64_t packs = shapes[k / 4].packs, hubs = shapes[k / 4].hubs;
        dcsr_type type = k & 1 ? DCSR_FP32 : DCSR_FP64;
        problem x = {.semiring = dcsr_semiring_of(names[k / 2 % 2], type),
                     .rows = 70,
                     .cols = hubs ? 1500 : 90,
                     .columns = packs * 16 / dcsr_type_size(type),
                     .xtype = type,
                     .ytype = type,
                     .mapping = DCSR_SPMM_ROW_SPLIT};
        if (k / 2 % 3 == 0) x.accum = dcsr_binary_op_of(DCSR_BINARY_MIN, type);
        x.A = parity_matrix(&p, k / 2 % 2 ? DCSR_PATTERN : type, x.rows, x.cols, hubs ? 3000 : 500,
                            hubs ? hubs : 1, 3, k / 2 % 2 ? DCSR_POLICY_ANY : DCSR_POLICY_KEEP);
        draw_mask(&p, &x);
        char what[100];
        snprintf(what, sizeof what, "case %d", k);
        assert_same(&p, &x, what);
        parity_free_vector(&x.mask);
        parity_free_matrix(&x.A);
    }
    parity_close(&p);
    close_device();
}

/* The mapping that is chosen: merge for short rows of many columns, and for a row that is far longer than
 * others. */
Test(spmm_device, chooses_a_mapping)
{
    static const struct {
        uint64_t entries, hubs, columns;
        dcsr_spmm_mapping expected;
    } cases[] = {{300, 0, 33, DCSR_SPMM_MERGE},
                 {300, 0, 32, DCSR_SPMM_ROW_SPLIT},
                 {300, 0, 16, DCSR_SPMM_ROW_SPLIT},
                 {2500, 0, 32, DCSR_SPMM_ROW_SPLIT},
                 {4000, 3, 8, DCSR_SPMM_MERGE}};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 31);
    for (int k = 0; k < 5; k++) {
        matrices A =
            parity_matrix(&p, DCSR_FP32, 100, 3000, cases[k].entries, cases[k].hubs, 1, DCSR_POLICY_KEEP);
        float *X = parity_numbers(&p, DCSR_FP32, 3000 * cases[k].columns),
              *Y = test_allocate(100 * cases[k].columns, sizeof *Y);
        dcsr_report report;
        dcsr_desc desc = {.device = DCSR_DEVICE_CUDA, .report = &report};
        TEST_OK(dcsr_spmm(Y, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP32), A.view[THERE], X,
                          cases[k].columns, &desc));
        cr_assert_eq(report.mapping, cases[k].expected, "case %d", k);
        free(X), free(Y);
        parity_free_matrix(&A);
    }
    parity_close(&p);
    close_device();
}

/* multiply gives a bool of numbers; Y and accum are of bool, or accum is of another type. */
Test(spmm_device, takes_semirings_of_parts)
{
    static const dcsr_binary_name adds[] = {DCSR_BINARY_LOR, DCSR_BINARY_LAND, DCSR_BINARY_LXOR,
                                            DCSR_BINARY_LXNOR};
    static const dcsr_binary_name multiplies[] = {DCSR_BINARY_EQ, DCSR_BINARY_LE, DCSR_BINARY_NE,
                                                  DCSR_BINARY_GT};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 41);
    for (int k = 0; k < 12; k++) {
        dcsr_type type = k % 3 == 0 ? DCSR_FP64 : k % 3 == 1 ? DCSR_INT16 : DCSR_UINT32;
        dcsr_semiring *semiring;
        TEST_OK(dcsr_semiring_create(&semiring, dcsr_monoid_of(adds[k % 4], DCSR_BOOL),
                                     dcsr_binary_op_of(multiplies[k % 4], type)));
        problem x = {
            .semiring = semiring, .rows = 40, .cols = 30, .columns = 6, .xtype = type, .ytype = DCSR_BOOL};
        if (k % 3)
            x.accum = k % 3 == 1 ? dcsr_binary_op_of(DCSR_BINARY_LXOR, DCSR_BOOL)
                                 : dcsr_binary_op_of(DCSR_BINARY_MIN, type);
        x.mapping = k % 2 ? DCSR_SPMM_MERGE : DCSR_SPMM_ROW_SPLIT;
        x.A = parity_matrix(&p, type, x.rows, x.cols, 150, 1, 2, DCSR_POLICY_LAST);
        draw_mask(&p, &x);
        assert_same(&p, &x, "bools");
        parity_free_vector(&x.mask);
        parity_free_matrix(&x.A);
        dcsr_semiring_destroy(semiring);
    }
    parity_close(&p);
    close_device();
}

/* No rows, no columns, no entries. */
Test(spmm_device, shapes_without_elements)
{
    static const uint64_t shapes[][4] = {{0, 5, 4, 0}, {5, 0, 4, 0}, {5, 5, 0, 9}, {5, 5, 20, 0}};
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 51);
    for (int k = 0; k < 8; k++) {
        const uint64_t *shape = shapes[k / 2];
        problem x = {.semiring = dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_INT32),
                     .rows = shape[0],
                     .cols = shape[1],
                     .columns = shape[2],
                     .xtype = DCSR_INT32,
                     .ytype = DCSR_INT32,
                     .mapping = k & 1 ? DCSR_SPMM_MERGE : DCSR_SPMM_ROW_SPLIT};
        x.A = parity_matrix(&p, DCSR_INT32, x.rows, x.cols, shape[3], 0, 1, DCSR_POLICY_LAST);
        assert_same(&p, &x, "no elements");
        parity_free_matrix(&x.A);
    }
    parity_close(&p);
    close_device();
}

/* What runs on the host cannot read the device's memory. */
Test(spmm_device, refuses_what_the_host_cannot_reach)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 61);
    matrices A = parity_matrix(&p, DCSR_FP64, 20, 20, 60, 0, 1, DCSR_POLICY_LAST);
    double X[20 * 4] = {1}, Y[20 * 4] = {2};
    void *there = send(X, sizeof X);
    const dcsr_semiring *ring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_desc desc = {.device = DCSR_DEVICE_CPU};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "X is in the device's memory",
                 dcsr_spmm(Y, NULL, NULL, ring, A.view[THERE], there, 4, &desc));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "Y is in the device's memory",
                 dcsr_spmm(there, NULL, NULL, ring, A.view[THERE], X, 4, &desc));
    cr_assert_eq(Y[0], 2);
    TEST_OK(dcsr_spmm(Y, NULL, NULL, ring, A.view[THERE], X, 4, &desc));
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, sizeof X, 1);
    parity_free_matrix(&A);
    parity_close(&p);
    close_device();
}

/* Whatever memory is refused, Y is as it was. */
static void run_short(void (*fail_after)(long), dcsr_spmm_mapping mapping)
{
    parity p;
    parity_open(&p, 71);
    problem x = {.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT32),
                 .accum = dcsr_binary_op_of(DCSR_BINARY_MAX, DCSR_FP32),
                 .rows = 50,
                 .cols = 60,
                 .columns = 20,
                 .xtype = DCSR_INT32,
                 .ytype = DCSR_INT32,
                 .masked = true,
                 .mapping = mapping};
    x.A = parity_matrix(&p, DCSR_INT32, x.rows, x.cols, 300, 1, 2, DCSR_POLICY_LAST);
    x.mask = parity_vector(&p, DCSR_INT8, x.rows, 4);
    size_t bytes = x.rows * x.columns * sizeof(int32_t);
    char *X = parity_numbers(&p, DCSR_INT32, x.cols * x.columns),
         *Y = parity_numbers(&p, DCSR_INT32, x.rows * x.columns);
    char *before = test_copy(Y, bytes), *wanted = test_copy(Y, bytes);
    TEST_OK(call(&x, HERE, wanted, X, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (; status != DCSR_OK; n++) {
        fail_after(n);
        status = call(&x, THERE, Y, X, NULL);
        fail_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert(status == DCSR_OK || !memcmp(Y, before, bytes));
    }
    cr_assert(n > 3, "a product takes memory in several places");
    cr_assert(!memcmp(Y, wanted, bytes));
    free(X), free(Y), free(before), free(wanted);
    parity_free_vector(&x.mask);
    parity_free_matrix(&x.A);
    parity_close(&p);
}

Test(spmm_device, survives_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    for (int mapping = DCSR_SPMM_AUTO; mapping <= DCSR_SPMM_MERGE; mapping++)
        run_short(dcsr_i_fail_allocations_after, (dcsr_spmm_mapping)mapping);
#ifdef DCSR_SIMT
    run_short(simt_fail_allocations_after, DCSR_SPMM_MERGE);
#endif
    close_device();
}
