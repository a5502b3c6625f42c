/* test_matrix_device.c: operations whose result is a matrix, on a device: what the cpu gives, also where the
 * description wants the cpu or an operator is a user's; C as it was where memory runs out. */
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/extract.h>
#include <dcsr/mxm.h>
#include <dcsr/matrix_add.h>
#include "ops/algebra/operator.h"
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include "tests/support/support_durable.h"
#include "tests/support/support_parity.h"

/* C, A and the mask are square, of 63 side^2 rows, the product of `tall` and `wide`, which have 9 side and
 * 7 side. */
typedef struct problem {
    matrices C, A, mask, tall, wide;
    vectors u, line_mask;
    dcsr_desc desc;
    bool masked;
    dcsr_type type; /* of the operators */
    const dcsr_unary_op *unary;
    const dcsr_binary_op *binary, *accum;
    const dcsr_index_op *position, *test;
    dcsr_i_scalar scalar;
    uint64_t n, rows, cols, *anything,
        *permutation;                /* n indices below n in any order, of the former some repeatedly */
    uint64_t *some_rows, *some_cols; /* that many, each once, in any order */
} problem;

static uint64_t *draw_indices(parity *p, uint64_t n, uint64_t bound, bool distinct)
{
    uint64_t *indices = test_allocate(n, sizeof *indices);
    bool *used = test_allocate(bound, sizeof *used);
    memset(used, 0, bound);
    for (uint64_t k = 0; k < n; used[indices[k++]] = true) do
            indices[k] = test_random_below(&p->random, bound);
        while (distinct && used[indices[k]]);
    free(used);
    return indices;
}

static problem draw(parity *p, uint64_t side, uint64_t entries)
{
    const uint64_t n = 63 * side * side, rows = 9 * side, cols = 7 * side;
    test_random *random = &p->random;
    problem x = {.n = n, .rows = rows, .cols = cols, .type = parity_type(p)};
    x.C = parity_matrix(p, parity_type(p), n, n, entries, 1, 2, DCSR_POLICY_LAST);
    x.A = parity_matrix(p, test_random_once_in(random, 3) ? DCSR_PATTERN : parity_type(p), n, n, entries, 1,
                        3, DCSR_POLICY_SUM);
    x.mask = parity_matrix(p, parity_type(p), n, n, entries, 0, 1, DCSR_POLICY_LAST);
    x.tall = parity_matrix(p, parity_type(p), rows, cols, entries / 10, 0, 1, DCSR_POLICY_LAST);
    x.wide = parity_matrix(p, parity_type(p), cols, rows, entries / 20, 1, 1, DCSR_POLICY_LAST);
    x.u = parity_vector(p, parity_type(p), n, 4);
    x.line_mask = parity_vector(p, parity_type(p), n, 4);
    x.masked = test_random_once_in(random, 2);
    x.desc = (dcsr_desc){.mask_complement = test_random_once_in(random, 3),
                         .mask_structure = test_random_once_in(random, 2),
                         .replace = test_random_once_in(random, 2),
                         .transpose_a = test_random_once_in(random, 3)};
    x.unary = dcsr_unary_op_of(DCSR_UNARY_NEGATE, x.type);
    x.binary = dcsr_binary_op_of(DCSR_BINARY_MINUS, x.type);
    x.position = dcsr_index_op_of(DCSR_INDEX_DIAG_INDEX, x.type);
    x.test = dcsr_index_op_of(test_random_once_in(random, 2) ? DCSR_INDEX_TRIL : DCSR_INDEX_VALUE_NE, x.type);
    if (test_random_once_in(random, 2)) x.accum = dcsr_binary_op_of(DCSR_BINARY_MINUS, parity_type(p));
    test_encode(x.type, 1, &x.scalar);
    x.anything = draw_indices(p, n, n, false);
    x.permutation = draw_indices(p, n, n, true);
    x.some_rows = draw_indices(p, rows, n, true);
    x.some_cols = draw_indices(p, cols, n, true);
    return x;
}

static void free_problem(problem *x)
{
    parity_free_matrix(&x->C), parity_free_matrix(&x->A), parity_free_matrix(&x->mask);
    parity_free_matrix(&x->tall), parity_free_matrix(&x->wide);
    parity_free_vector(&x->u), parity_free_vector(&x->line_mask);
    free(x->anything), free(x->permutation), free(x->some_rows), free(x->some_cols);
}

/* ---- The operations ---- */

#define OUT x->C.in[c], x->masked ? x->mask.view[c] : NULL, x->accum

static dcsr_status apply(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_apply(OUT, x->unary, x->A.view[c], desc);
}
static dcsr_status apply_first(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_apply_first(OUT, x->binary, &x->scalar, x->A.view[c], desc);
}
static dcsr_status apply_index(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_apply_index(OUT, x->position, x->A.view[c], &(int64_t){-3}, desc);
}
static dcsr_status select_entries(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_select(OUT, x->test, x->A.view[c], &x->scalar, desc);
}
static dcsr_status transpose(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_transpose(OUT, x->A.view[c], desc);
}
static dcsr_status extract(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_extract(OUT, x->A.view[c], &(dcsr_index_list){x->anything, x->n},
                               &(dcsr_index_list){x->anything, x->n}, desc);
}
static dcsr_status permute(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_extract(OUT, x->A.view[c], &(dcsr_index_list){x->permutation, x->n},
                               &(dcsr_index_list){x->permutation, x->n}, desc);
}
static dcsr_status assign(const problem *x, int c, const dcsr_desc *desc)
{
    const matrices *A = desc->transpose_a ? &x->wide : &x->tall;
    return dcsr_matrix_assign(OUT, A->view[c], &(dcsr_index_list){x->some_rows, x->rows},
                              &(dcsr_index_list){x->some_cols, x->cols}, desc);
}
static dcsr_status assign_scalar(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_assign_scalar(OUT, &x->scalar, x->type, &(dcsr_index_list){x->some_rows, x->rows},
                                     &(dcsr_index_list){x->some_cols, x->cols}, desc);
}
static dcsr_status assign_row(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_assign_row(x->C.in[c], x->masked ? x->line_mask.in[c] : NULL, x->accum, x->u.in[c],
                                  x->n / 2, desc);
}
static dcsr_status assign_column(const problem *x, int c, const dcsr_desc *desc)
{
    return dcsr_matrix_assign_column(x->C.in[c], x->masked ? x->line_mask.in[c] : NULL, x->accum, x->u.in[c],
                                     x->some_cols[0], desc);
}
static dcsr_status kronecker(const problem *x, int c, const dcsr_desc *desc)
{
    const matrices *A = desc->transpose_a ? &x->wide : &x->tall;
    return dcsr_kronecker(OUT, x->binary, A->view[c], x->wide.view[c], desc);
}

static const struct operation {
    const char *name;
    dcsr_status (*call)(const problem *x, int c, const dcsr_desc *desc);
    bool takes_operator;
} operations[] = {{"apply", apply, true},
                  {"apply_first", apply_first, true},
                  {"apply_index", apply_index, true},
                  {"select", select_entries, true},
                  {"transpose", transpose, false},
                  {"extract", extract, false},
                  {"extract, of a permutation", permute, false},
                  {"assign", assign, false},
                  {"assign_scalar", assign_scalar, false},
                  {"assign_row", assign_row, false},
                  {"assign_column", assign_column, false},
                  {"kronecker", kronecker, true},
                  {0}};

static dcsr_status call(const struct operation *o, const problem *x, int c, dcsr_device wanted,
                        dcsr_report *report)
{
    dcsr_desc desc = x->desc;
    desc.device = wanted;
    desc.report = report;
    return o->call(x, c, &desc);
}

/* ---- What matrices hold ---- */

/* Whether two views show the same entries, to the bit. */
static bool same_entries(dcsr_view *a, dcsr_view *b)
{
    dcsr_csr x, y;
    TEST_OK(dcsr_view_get_csr_on_host(a, &x));
    TEST_OK(dcsr_view_get_csr_on_host(b, &y));
    return x.rows == y.rows && x.cols == y.cols && x.nnz == y.nnz && x.type == y.type &&
           !memcmp(x.offsets, y.offsets, (x.rows + 1) * sizeof *x.offsets) &&
           !memcmp(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices) &&
           (!x.values || !memcmp(x.values, y.values, x.nnz * dcsr_type_size(x.type)));
}

static void assert_same(const problem *x, const char *operation, const char *how)
{
    dcsr_view *view[PLACES];
    for (int c = 0; c < PLACES; c++) view[c] = test_view(x->C.in[c], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(same_entries(view[HERE], view[THERE]), "%s, %s", operation, how);
    for (int c = 0; c < PLACES; c++) dcsr_view_destroy(view[c]);
}

static void compare(uint64_t seed, int rounds, uint64_t side, uint64_t entries, dcsr_device wanted)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, seed);
    for (int round = 0; round < rounds; round++)
        for (const struct operation *o = operations; o->name; o++) {
            problem x = draw(&p, side, entries);
            dcsr_report report = {.entries = UINT64_MAX};
            TEST_OK(call(o, &x, HERE, DCSR_DEVICE_AUTO, NULL));
            TEST_OK(call(o, &x, THERE, wanted, &report));
            cr_assert_eq(report.device, wanted == DCSR_DEVICE_CPU ? DCSR_DEVICE_CPU : DCSR_DEVICE_CUDA, "%s",
                         o->name);
            cr_assert_neq(report.entries, UINT64_MAX, "%s", o->name);
            assert_same(&x, o->name, wanted == DCSR_DEVICE_CPU ? "on the host" : "on the device");
            free_problem(&x);
        }
    parity_close(&p);
    close_device();
}

Test(matrix_device, run_there_and_give_what_the_cpu_does)
{
    compare(1, TEST_EMULATOR ? 2 : 8, 1, 400, DCSR_DEVICE_AUTO);
}

Test(matrix_device, share_long_lists)
{
    compare(2, 1, TEST_EMULATOR ? 3 : 9, TEST_EMULATOR ? TEST_VARIANT(5000, 2000, 1000) : 300000,
            DCSR_DEVICE_CUDA);
}

Test(matrix_device, run_on_the_host_where_that_is_wanted)
{
    compare(3, 1, 1, 300, DCSR_DEVICE_CPU);
}

/* Not to C's type before: 7 * 2.5 is 17, that times 2.5 is 42. */
Test(matrix_device, cast_what_has_been_accumulated)
{
    const dcsr_binary_op *times = dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_FP64);
    open_device();
    NEEDS_GPU();
    dcsr_matrix *C = test_matrix(context, DCSR_INT32, 1, 1, DCSR_POLICY_LAST);
    int32_t value = 7;
    TEST_OK(dcsr_matrix_insert(C, 1, &(uint64_t){0}, &(uint64_t){0}, &value, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    dcsr_view *view = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_apply_second(C, NULL, times, dcsr_binary_op_of(DCSR_BINARY_SECOND, DCSR_FP64), view,
                                     &(double){2.5}, NULL));
    TEST_OK(dcsr_matrix_assign_scalar(C, NULL, times, &(double){2.5}, DCSR_FP64, NULL, NULL, NULL));
    TEST_OK(dcsr_matrix_get(C, 0, 0, &value, &(bool){false}));
    cr_assert_eq(value, 42);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(C);
    close_device();
}

static bool negative(void *z, const void *x, void *user)
{
    (void)user;
    *(double *)z = -*(const double *)x;
    return true;
}
static bool difference(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    *(double *)z = *(const double *)x - *(const double *)y;
    return true;
}
static bool distance(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk, void *user)
{
    (void)x, (void)user;
    *(double *)z = (double)row - (double)col + (double)*(const int64_t *)thunk;
    return true;
}

/* As operators of operations that take one, and as accumulators of all. */
Test(matrix_device, run_on_the_host_with_functions_of_the_user)
{
    dcsr_unary_op *unary;
    dcsr_binary_op *binary;
    dcsr_index_op *index;
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 4);
    TEST_OK(dcsr_unary_op_create(&unary, NULL, DCSR_FP64, DCSR_FP64, negative, NULL));
    TEST_OK(dcsr_binary_op_create(&binary, NULL, DCSR_FP64, DCSR_FP64, DCSR_FP64, difference, NULL));
    TEST_OK(dcsr_index_op_create(&index, NULL, DCSR_FP64, DCSR_FP64, DCSR_INT64, distance, NULL));
    for (const struct operation *o = operations; o->name; o++)
        for (int accum = 0; accum < 2; accum++) {
            if (!accum && !o->takes_operator) continue;
            problem x = draw(&p, 1, 200);
            dcsr_report report = {.device = DCSR_DEVICE_AUTO};
            x.accum = accum ? binary : NULL;
            if (!accum) x.unary = unary, x.binary = binary, x.position = x.test = index;
            if (!accum) x.scalar = (dcsr_i_scalar){.as_fp64 = 1};
            TEST_OK(call(o, &x, HERE, DCSR_DEVICE_AUTO, NULL));
            TEST_OK(call(o, &x, THERE, DCSR_DEVICE_CUDA, &report));
            cr_assert_eq(report.device, DCSR_DEVICE_CPU, "%s", o->name);
            assert_same(&x, o->name, accum ? "with a user's accumulator" : "with a user's operator");
            free_problem(&x);
        }
    dcsr_unary_op_destroy(unary);
    dcsr_binary_op_destroy(binary);
    dcsr_index_op_destroy(index);
    parity_close(&p);
    close_device();
}

/* Whatever memory is refused, C is as it was. */
static void run_short(void (*fail_after)(long), const struct operation *o, uint64_t seed)
{
    parity p;
    parity_open(&p, seed);
    problem x = draw(&p, 1, 200);
    dcsr_view *before = test_view(x.C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int n = 0;
    for (; status != DCSR_OK; n++) {
        fail_after(n);
        status = call(o, &x, THERE, DCSR_DEVICE_AUTO, NULL);
        fail_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s: %s", o->name,
                  dcsr_thread_error());
        dcsr_view *after = test_view(x.C.in[THERE], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert(status == DCSR_OK || same_entries(before, after), "%s, allocation %d", o->name, n);
        dcsr_view_destroy(after);
    }
    cr_assert(n > 3, "%s takes memory in several places", o->name);
    TEST_OK(call(o, &x, HERE, DCSR_DEVICE_AUTO, NULL));
    assert_same(&x, o->name, "when there was memory");
    dcsr_view_destroy(before);
    free_problem(&x);
    parity_close(&p);
}

Test(matrix_device, survive_lack_of_memory)
{
    open_device();
    NEEDS_GPU();
    for (const struct operation *o = operations; o->name; o++) {
        run_short(dcsr_i_fail_allocations_after, o, 21);
#ifdef DCSR_SIMT
        if (o->call == extract || o->call == assign_column) run_short(simt_fail_allocations_after, o, 31);
#endif
    }
    close_device();
}

/* ---- C += B ---- */

/* Entries with duplicates that the view shows go in as they are, in their order; nothing is queued where
 * memory runs out. */
Test(matrix_device, add_entries_as_a_batch)
{
    open_device();
    NEEDS_GPU();
    parity p;
    parity_open(&p, 41);
    for (int round = 0; round < 6; round++) {
        dcsr_policy policy = round % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_SUM;
        dcsr_type type = round == 2 ? DCSR_PATTERN : parity_type(&p);
        matrices C = parity_matrix(&p, parity_type(&p), 80, 300, 500, 1, 1, policy),
                 B = parity_matrix(&p, type, 80, 300, 2000, 1, 3, DCSR_POLICY_KEEP);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        TEST_OK(dcsr_matrix_add(C.in[HERE], B.view[HERE], NULL));
        TEST_OK(dcsr_matrix_wait(C.in[HERE]));
        for (int n = 0; status != DCSR_OK; n++) {
            dcsr_ticket *ticket;
            dcsr_i_fail_allocations_after(n);
            status = dcsr_matrix_add(C.in[THERE], B.view[THERE], &ticket);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !ticket));
            if (ticket) status = dcsr_ticket_wait(ticket); /* the worker may have lacked memory too */
            dcsr_ticket_destroy(ticket);
        }
        assert_same(&(problem){.C = C}, "matrix_add", dcsr_policy_name(policy));
        parity_free_matrix(&C);
        parity_free_matrix(&B);
    }
    parity_close(&p);
    close_device();
}

/* Its log is written from the memory of the host. */
Test(matrix_device, add_to_a_durable_matrix)
{
    if (!dcsr_i_cuda_usable(test_device_number())) cr_skip_test("there is no GPU");
    durable_place place = durable_open_place();
    dcsr_matrix *C = durable_open_small(&place, "sums", NULL);
    dcsr_matrix *B = test_matrix(place.context, DCSR_INT8, 10, 10, DCSR_POLICY_LAST);
    double value = 0;
    TEST_OK(dcsr_matrix_insert(B, 1, &(uint64_t){9}, &(uint64_t){0}, &(int8_t){-7}, NULL));
    TEST_OK(dcsr_matrix_wait(B));
    dcsr_view *view = test_view(B, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_add(C, view, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    TEST_OK(dcsr_matrix_get(C, 9, 0, &value, &(bool){false}));
    cr_assert_eq(value, -7);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(B);
    dcsr_matrix_destroy(C);
    durable_close_place(&place);
}
