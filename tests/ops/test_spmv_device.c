/* test_spmv_device.c: products on a device: the bits that the cpu gives, wherever x and y are, in the order
 * of the caller's streams; and rows that are cut into parts. */
#include "dcsr/base/alloc.h"
#include <dcsr/spmv.h>
#include "tests/support/support_device.h"

#include <stdlib.h>
#include <string.h>

static dcsr_type vector_type(dcsr_type type)
{
    return type == DCSR_PATTERN ? DCSR_FP64 : type;
}

/* n small whole numbers, so that sums do not round. */
static void *whole_numbers(test_random *random, dcsr_type type, size_t n)
{
    size_t size = dcsr_type_size(type);
    char *numbers = test_allocate(n, size);
    for (size_t i = 0; i < n && size; i++)
        test_encode(type, (double)test_random_below(random, type == DCSR_BOOL ? 2 : 7), numbers + i * size);
    return numbers;
}

static void *send(const void *from, size_t bytes)
{
    char *there = on_device(bytes);
    dcsr_i_cuda_copy(stream, there, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "sending"));
    return there;
}

static void fetch(void *to, const void *there, size_t bytes)
{
    dcsr_i_cuda_copy(stream, to, there, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "fetching"));
}

/* The same entries in a matrix of each device. */
typedef struct pair {
    dcsr_context *cpu;
    dcsr_matrix *there, *here;
} pair;

static void set_up(pair *p, dcsr_type type, dcsr_policy policy, uint64_t rows, uint64_t cols)
{
    TEST_OK(dcsr_context_create(&p->cpu, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    p->there = test_matrix(context, type, rows, cols, policy);
    p->here = test_matrix(p->cpu, type, rows, cols, policy);
}

static void tear_down(pair *p)
{
    dcsr_matrix_destroy(p->there);
    dcsr_matrix_destroy(p->here);
    test_close(p->cpu);
}

/* Half of the entries go to one row, and none to every third. */
static void change(pair *p, test_random *random, bool insert, size_t n)
{
    dcsr_matrix_info info = test_info(p->here);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    void *values = whole_numbers(random, info.type, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t row = test_random_once_in(random, 2) ? info.rows / 2 : test_random_below(random, info.rows);
        rows[i] = row % 3 ? row : row / 3 * 3 + (info.rows > 2 && row + 1 < info.rows);
        cols[i] = test_random_below(random, info.cols);
    }
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix = i ? p->here : p->there;
        const void *given = info.type == DCSR_PATTERN ? NULL : values;
        TEST_OK(insert ? dcsr_matrix_insert(matrix, n, rows, cols, given, NULL)
                       : dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    free(rows);
    free(cols);
    free(values);
}

/* Every kind of view, with x and y on either side, against the cpu. */
static void check(pair *p, test_random *random)
{
    dcsr_matrix_info info = test_info(p->here);
    dcsr_type type = vector_type(info.type);
    size_t size = dcsr_type_size(type), x_bytes = info.cols * size, y_bytes = info.rows * size;
    char *x = whole_numbers(random, type, info.cols), *wanted = test_allocate(y_bytes, 1),
         *y = test_allocate(y_bytes, 1);
    char *y_there = on_device(y_bytes), *x_there = send(x, x_bytes); /* which waits */
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(p->there, (dcsr_layout)layout, 0),
                  *model = test_view(p->here, (dcsr_layout)layout, 0);
        TEST_OK(dcsr_spmv(wanted, model, x));
        for (int place = 0; place < 4; place++) {
            bool far_y = place & 1, far_x = place & 2;
            memset(y, 0x5a, y_bytes);
            TEST_OK(dcsr_spmv(far_y ? y_there : y, view, far_x ? x_there : x));
            if (far_y) fetch(y, y_there, y_bytes);
            cr_assert(!memcmp(y, wanted, y_bytes), "%s, layout %d, places %d", dcsr_type_name(info.type),
                      layout, place);
        }
        dcsr_view_destroy(view);
        dcsr_view_destroy(model);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, x_there, x_bytes, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, y_there, y_bytes, 1);
    free(x), free(wanted), free(y);
}

Test(spmv_device, gives_the_bits_of_the_cpu)
{
    static const uint64_t sizes[] = {1, 31, 32, 33, 64, 65, 700};
    open_device();
    test_random random = {3};
    for (int type = 0; type < DCSR_TYPE_COUNT; type++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            /* Entries that stand twice, and deleted ones, are resolved for the views of half of the cases. */
            dcsr_policy policy = (type + (int)s) % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST;
            pair p;
            set_up(&p, (dcsr_type)type, policy, sizes[s], 2 * sizes[s]);
            check(&p, &random);
            for (int b = 0; b < 3; b++) change(&p, &random, true, 2 * sizes[s] + 5);
            check(&p, &random);
            change(&p, &random, false, sizes[s]);
            check(&p, &random);
            tear_down(&p);
        }
    close_device();
}

/* Rows of several parts, tight and in pieces that end within parts. */
Test(spmv_device, cuts_long_rows)
{
    enum { LONGEST = 5000 };
    open_device();
    test_random random = {5};
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_FP32, DCSR_BOOL, DCSR_INT8, DCSR_UINT64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        pair p;
        set_up(&p, types[t], DCSR_POLICY_KEEP, 70, 500);
        for (int b = 0; b < 3; b++) change(&p, &random, true, 2 * LONGEST / 3);
        cr_assert(test_info(p.there).max_segments > 1);
        check(&p, &random);
        for (int i = 0; i < 2; i++) {
            TEST_OK(dcsr_matrix_defragment(i ? p.here : p.there, DCSR_DEFRAGMENT_WHOLE, NULL));
            TEST_OK(dcsr_matrix_wait(i ? p.here : p.there));
        }
        cr_assert(test_info(p.there).max_segments == 1);
        check(&p, &random);
        tear_down(&p);
    }
    close_device();
}

/* On two streams at once, with a view that has rows of several parts: each y belongs to the x before it. */
Test(spmv_device, runs_in_the_order_of_the_callers_streams)
{
    enum { ROWS = 70, COLS = 500, ROUNDS = 6 };
    open_device();
    test_random random = {7};
    pair p;
    set_up(&p, DCSR_FP64, DCSR_POLICY_KEEP, ROWS, COLS);
    for (int b = 0; b < 2; b++) change(&p, &random, true, 4000);
    dcsr_view *view = test_view(p.there, DCSR_LAYOUT_SEGMENTS, 0),
              *model = test_view(p.here, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_i_cuda_stream *callers[2];
    double *x[2], *y[2], wanted[ROWS], ones[COLS];
    double(*got)[2][ROWS] = dcsr_i_alloc(context, DCSR_I_PINNED, ROUNDS, sizeof *got);
    double(*numbers)[2][COLS] = dcsr_i_alloc(context, DCSR_I_PINNED, ROUNDS, sizeof *numbers);
    cr_assert(got && numbers);
    for (int i = 0; i < 2; i++) {
        TEST_OK(dcsr_i_cuda_stream_create(&callers[i], device, DCSR_CUDA_TO_READ));
        x[i] = (double *)on_device(COLS * sizeof **x);
        y[i] = (double *)on_device(ROWS * sizeof **y);
    }
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < COLS; j++) numbers[k][i][j] = k + 10 * i + 1;
            dcsr_i_cuda_copy(callers[i], x[i], numbers[k][i], sizeof numbers[k][i]);
            TEST_OK(dcsr_spmv_on_stream(y[i], view, x[i], dcsr_i_cuda_handle(callers[i])));
            dcsr_i_cuda_copy(callers[i], got[k][i], y[i], sizeof got[k][i]);
        }
    for (int i = 0; i < 2; i++) TEST_OK(dcsr_i_cuda_wait(callers[i], "a test"));
    for (int j = 0; j < COLS; j++) ones[j] = 1;
    TEST_OK(dcsr_spmv(wanted, model, ones));
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < 2; i++)
            for (int r = 0; r < ROWS; r++)
                cr_assert(got[k][i][r] == wanted[r] * (k + 10 * i + 1), "row %d of product %d on stream %d",
                          r, k, i);
    for (int i = 0; i < 2; i++) {
        dcsr_i_cuda_free(callers[i], DCSR_I_SCRATCH, x[i], COLS * sizeof **x, 1);
        dcsr_i_cuda_free(callers[i], DCSR_I_SCRATCH, y[i], ROWS * sizeof **y, 1);
        dcsr_i_cuda_stream_destroy(callers[i]);
    }
    dcsr_i_free(context, DCSR_I_PINNED, got, ROUNDS, sizeof *got);
    dcsr_i_free(context, DCSR_I_PINNED, numbers, ROUNDS, sizeof *numbers);
    dcsr_view_destroy(view);
    dcsr_view_destroy(model);
    tear_down(&p);
    close_device();
}

/* Whether it fails for lack of memory and leaves y as it was, until it does what it should. */
Test(spmv_device, fails_cleanly_without_memory)
{
    enum { ROWS = 70, COLS = 500 };
    open_device();
    test_random random = {9};
    pair p;
    set_up(&p, DCSR_INT32, DCSR_POLICY_KEEP, ROWS, COLS);
    change(&p, &random, true, 4000);
    dcsr_view *view = test_view(p.there, DCSR_LAYOUT_SEGMENTS, 0),
              *model = test_view(p.here, DCSR_LAYOUT_SEGMENTS, 0);
    int32_t x[COLS], y[ROWS], wanted[ROWS];
    for (int j = 0; j < COLS; j++) x[j] = j;
    TEST_OK(dcsr_spmv(wanted, model, x));
    for (int on_stream = 0; on_stream < 2; on_stream++) {
        dcsr_view *fresh = test_view(p.there, DCSR_LAYOUT_SEGMENTS, 0);
        int32_t *x_there = send(x, sizeof x), *y_there = (int32_t *)on_device(sizeof y);
        uint64_t scratch = used(DCSR_I_SCRATCH), matrix = used(DCSR_I_MATRIX);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        long n = 0;
        memset(y, 0x5a, sizeof y);
        dcsr_i_cuda_fill(stream, y_there, 0x5a, sizeof y);
        for (; status != DCSR_OK; n++) {
            if (on_stream) fetch(y, y_there, sizeof y);
            for (int r = 0; r < ROWS; r++) cr_assert(y[r] == 0x5a5a5a5a);
            cr_assert(used(DCSR_I_SCRATCH) == scratch, "after %ld", n);
            dcsr_i_fail_allocations_after(n);
            status = on_stream ? dcsr_spmv_on_stream(y_there, fresh, x_there, dcsr_i_cuda_handle(stream))
                               : dcsr_spmv(y, fresh, x);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        cr_assert(n > 4, "the plan takes memory in several places");
        cr_assert(used(DCSR_I_MATRIX) > matrix, "the plan is kept");
        if (on_stream) fetch(y, y_there, sizeof y);
        cr_assert(!memcmp(y, wanted, sizeof y));
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, x_there, sizeof x, 1);
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, y_there, sizeof y, 1);
        dcsr_view_destroy(fresh);
        cr_assert(used(DCSR_I_MATRIX) <= matrix, "the plan goes with the view");
    }
    dcsr_view_destroy(view);
    dcsr_view_destroy(model);
    tear_down(&p);
    close_device();
}

Test(spmv_device, refuses_host_memory_on_a_stream)
{
    open_device();
    pair p;
    set_up(&p, DCSR_FP32, DCSR_POLICY_KEEP, 2, 3);
    float x[3] = {1, 2, 3}, y[2] = {7, 7}, *there = (float *)on_device(sizeof x);
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    dcsr_view *view = test_view(p.there, DCSR_LAYOUT_CSR, 0), *model = test_view(p.here, DCSR_LAYOUT_CSR, 0);
    const dcsr_status refused = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_REFUSED(refused, "y is not in the memory", dcsr_spmv_on_stream(y, view, there, NULL));
    TEST_REFUSED(refused, "x is not in the memory", dcsr_spmv_on_stream(there, view, x, NULL));
    TEST_REFUSED(refused, "x is NULL", dcsr_spmv_on_stream(there, view, NULL, NULL));
    TEST_REFUSED(refused, "cpu context", dcsr_spmv_on_stream(y, model, x, NULL));
    TEST_REFUSED(refused, "view is NULL", dcsr_spmv_on_stream(there, NULL, there, NULL));
    cr_assert(y[0] == 7 && y[1] == 7);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_KEEP);
    dcsr_view *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_spmv_on_stream(NULL, nothing, NULL, NULL));
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, sizeof x, 1);
    dcsr_view_destroy(nothing);
    dcsr_matrix_destroy(empty);
    dcsr_view_destroy(view);
    dcsr_view_destroy(model);
    tear_down(&p);
    close_device();
}
