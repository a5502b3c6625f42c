/* test_spmv_pieces_device.c: products on a device with rows in many pieces, and the map of these: the same bits in
 * every layout, with a map and without; versions that are held; threads that meet at the first product. */
#include "ops/spmv/spmv_cuda.h"
#include <dcsr/spmv.h>
#include "tests/support/support_device.h"

#include <pthread.h>

enum { LONGEST = 2100, COLS = 4000 };

/* Lengths of rows, taken in turn: each way in which groups of rows are summed and their ends are stored. */
typedef struct shape {
    const char *name;
    uint64_t rows;
    int portions;
    uint32_t length[12];
    int lengths;
} shape;
static const shape shapes[] = {
    {"brief", 100, 5, {0, 1, 2, 3, 5, 7, 8}, 7},
    {"up to 4 in two pieces", 64, 2, {4, 3, 0}, 3},
    {"up to 16", 130, 8, {16, 9, 3, 0, 12}, 5},
    {"up to 32", 97, 8, {32, 31, 17, 1, 0}, 5},
    {"up to 32 in two pieces", 70, 2, {27, 18, 32}, 3},
    {"wide", 66, 8, {33, 128, 100, 64, 20, 0, 5}, 7},
    {"cut", 70, 8, {129, 1024, 7, 1025, 0, LONGEST, 40, 32, 3}, 9},
    {"cut in two pieces", 40, 2, {130, LONGEST, 2, 50}, 4},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static dcsr_matrix *matrix_of(const shape *s, dcsr_type type, double slack)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, s->rows, COLS,
                               &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP,
                                                      .segments = DCSR_MAX_SEGMENTS,
                                                      .slack = slack,
                                                      .defragmentation = DCSR_DEFRAGMENT_OFF}));
    return matrix;
}

/* n numbers of which sums round, where the type has such. */
static void *numbers(test_random *random, dcsr_type type, size_t n)
{
    const size_t size = dcsr_type_size(type);
    char *values = test_allocate(n + 1, 8);
    for (size_t i = 0; i < n && size; i++) {
        const double whole = (double)test_random_below(random, type == DCSR_BOOL ? 2 : 100);
        const bool rounds = type == DCSR_FP32 || type == DCSR_FP64;
        test_encode(type, rounds ? whole / 7 - 3 : whole, values + i * size);
    }
    return values;
}

typedef struct batch {
    uint64_t *rows, *cols, n;
} batch;

/* n entries of a row. */
static void add(batch *b, test_random *random, uint64_t row, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++, b->n++) {
        b->rows[b->n] = row;
        b->cols[b->n] = test_random_below(random, COLS);
    }
}

static void insert(dcsr_matrix *matrix, test_random *random, const batch *b)
{
    const dcsr_type type = test_info(matrix).type;
    void *values = numbers(random, type, b->n);
    TEST_OK(dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, type == DCSR_PATTERN ? NULL : values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(values);
}

/* Each row comes in up to s->portions portions, some of which have none of it. */
static void insert_portion(dcsr_matrix *matrix, test_random *random, const shape *s, uint32_t *left,
                           bool last)
{
    uint64_t room = 0;
    for (uint64_t r = 0; r < s->rows; r++) room += left[r];
    batch b = {test_allocate(room + 1, 8), test_allocate(room + 1, 8), 0};
    for (uint64_t r = 0; r < s->rows; r++) {
        uint64_t n = last ? left[r] : test_random_below(random, 2 * left[r] / (uint64_t)s->portions + 2);
        if (n > left[r]) n = left[r];
        left[r] -= (uint32_t)n;
        add(&b, random, r, n);
    }
    insert(matrix, random, &b);
    free(b.rows), free(b.cols);
}

static void fill(dcsr_matrix *matrix, test_random *random, const shape *s)
{
    uint32_t *left = test_allocate(s->rows, sizeof *left);
    for (uint64_t r = 0; r < s->rows; r++) left[r] = s->length[r % (uint64_t)s->lengths];
    for (int k = 0; k < s->portions; k++) insert_portion(matrix, random, s, left, k == s->portions - 1);
    free(left);
}

static dcsr_type vector_type(dcsr_type type)
{
    return type == DCSR_PATTERN ? DCSR_FP64 : type;
}

/* y = A x with a view of its own, as bytes. */
static char *product(dcsr_matrix *matrix, dcsr_layout layout, const void *x, bool mapped)
{
    const dcsr_matrix_info info = test_info(matrix);
    char *y = test_allocate(info.rows, 8);
    dcsr_view *view = test_view(matrix, layout, 0);
    TEST_OK(dcsr_spmv(y, view, x));
    cr_assert_eq(dcsr_i_cuda_spmv_has_map(view), mapped, "layout %d", layout);
    dcsr_view_destroy(view);
    return y;
}

static void expect_same(char *y, const char *wanted, const dcsr_matrix_info *info, const char *what)
{
    cr_assert(!memcmp(y, wanted, info->rows * dcsr_type_size(vector_type(info->type))), "%s: %s",
              dcsr_type_name(info->type), what);
    free(y);
}

Test(spmv_pieces_device, the_same_bits_in_every_layout)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_PATTERN, DCSR_INT8, DCSR_FP32, DCSR_UINT64, DCSR_BOOL};
    open_device();
    NEEDS_GPU();
    test_random random = {11};
    for (size_t i = 0; i < 2 * SHAPES; i++) {
        const shape *s = &shapes[i / 2];
        dcsr_matrix *matrix = matrix_of(s, types[i % 6], i % 2 ? DCSR_SLACK_NONE : 0);
        fill(matrix, &random, s);
        const dcsr_matrix_info info = test_info(matrix);
        cr_assert(info.max_segments > 1, "%s", s->name);
        void *x = numbers(&random, vector_type(info.type), COLS);
        char *wanted = product(matrix, DCSR_LAYOUT_CSR, x, false);
        expect_same(product(matrix, DCSR_LAYOUT_SEGMENTS, x, true), wanted, &info, s->name);
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        expect_same(product(matrix, DCSR_LAYOUT_SEGMENTS, x, false), wanted, &info, s->name);
        free(x), free(wanted);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* Groups whose pieces are further apart than a near group's, or than a base can say: the latter is read from the row
 * table. */
Test(spmv_pieces_device, pieces_far_from_each_other)
{
    static const struct {
        uint64_t between; /* entries of another row */
        bool mapped;
    } cases[] = {{3000, true}, {140000, !TEST_EMULATOR}};
    static const shape two = {.rows = 80};
    open_device();
    NEEDS_GPU();
    test_random random = {13};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dcsr_matrix *matrix = matrix_of(&two, DCSR_FP64, DCSR_SLACK_NONE);
        batch b = {test_allocate(cases[i].between + 1, 8), test_allocate(cases[i].between + 1, 8), 0};
        for (int k = 0; k < 4; k++) {
            /* Every third row now, another third next time: far from its neighbours. */
            b.n = 0;
            for (uint64_t r = (uint64_t)k % 3; r < 40; r += 3) add(&b, &random, r, 2);
            insert(matrix, &random, &b);
            b.n = 0;
            if (k < 2) add(&b, &random, 70, cases[i].between / 2);
            insert(matrix, &random, &b);
        }
        const dcsr_matrix_info info = test_info(matrix);
        void *x = numbers(&random, DCSR_FP64, COLS);
        char *wanted = product(matrix, DCSR_LAYOUT_CSR, x, false);
        expect_same(product(matrix, DCSR_LAYOUT_SEGMENTS, x, cases[i].mapped), wanted, &info, "far");
        free(x), free(wanted), free(b.rows), free(b.cols);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* Without memory for the map the product has the same bits; the map is counted, and given back with the view. */
Test(spmv_pieces_device, does_without_a_map)
{
    open_device();
    NEEDS_GPU();
    test_random random = {17};
    const shape *s = &shapes[4]; /* whose plan needs no other memory */
    dcsr_matrix *matrix = matrix_of(s, DCSR_FP64, DCSR_SLACK_NONE);
    fill(matrix, &random, s);
    const dcsr_matrix_info info = test_info(matrix);
    void *x = numbers(&random, DCSR_FP64, COLS);
    char *wanted = product(matrix, DCSR_LAYOUT_CSR, x, false), *y = test_allocate(info.rows, 8);
    int without = 0;
    bool has_map = false;
    for (long n = 0; !has_map; n++) {
        cr_assert(n < 1000, "it never has a map");
        const uint64_t before = used(DCSR_I_MATRIX), scratch = used(DCSR_I_SCRATCH);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        const uint64_t with_view = used(DCSR_I_MATRIX);
        dcsr_i_fail_allocations_after(n);
        const dcsr_status status = dcsr_spmv(y, view, x);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert_eq(used(DCSR_I_SCRATCH), scratch, "after %ld", n);
        has_map = status == DCSR_OK && dcsr_i_cuda_spmv_has_map(view);
        if (status != DCSR_OK) TEST_OK(dcsr_spmv(y, view, x));
        cr_assert(!memcmp(y, wanted, info.rows * 8), "after %ld", n);
        if (dcsr_i_cuda_spmv_has_map(view))
            cr_assert_gt(used(DCSR_I_MATRIX), with_view + 8 * info.rows, "after %ld", n);
        else
            without++;
        dcsr_view_destroy(view);
        cr_assert_leq(used(DCSR_I_MATRIX), before, "after %ld", n);
    }
    cr_assert_geq(without, 2, "a map is two arrays");
    free(x), free(wanted), free(y);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* What is appended to the pieces of a version that is held is not seen by it, whether its map is made before or
 * after. */
Test(spmv_pieces_device, versions_that_are_held)
{
    open_device();
    NEEDS_GPU();
    test_random random = {19};
    const shape *s = &shapes[6];
    uint32_t *left = test_allocate(s->rows, sizeof *left);
    for (uint64_t r = 0; r < s->rows; r++) left[r] = s->length[r % (uint64_t)s->lengths];
    dcsr_matrix *matrix = matrix_of(s, DCSR_FP64, 0);
    const dcsr_matrix_info info = test_info(matrix);
    void *x = numbers(&random, DCSR_FP64, COLS);
    char *wanted[8], *y = test_allocate(info.rows, 8);
    dcsr_view *early[8], *late[8];
    for (int k = 0; k < 8; k++) {
        insert_portion(matrix, &random, s, left, k == 7);
        early[k] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        late[k] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        wanted[k] = product(matrix, DCSR_LAYOUT_CSR, x, false);
        TEST_OK(dcsr_spmv(y, early[k], x));
        cr_assert(!memcmp(y, wanted[k], info.rows * 8), "version %d", k);
    }
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 2; i++) {
            dcsr_view *view = i ? late[k] : early[k];
            TEST_OK(dcsr_spmv(y, view, x));
            cr_assert(!memcmp(y, wanted[k], info.rows * 8), "version %d, %d", k, i);
            dcsr_view_destroy(view);
        }
    for (int k = 0; k < 8; k++) free(wanted[k]);
    free(x), free(y), free(left);
    dcsr_matrix_destroy(matrix);
    close_device();
}

typedef struct meeting {
    dcsr_view *view;
    const void *x;
    char *y;
    dcsr_status status;
} meeting;

static void *multiply(void *argument)
{
    meeting *m = argument;
    m->status = dcsr_spmv(m->y, m->view, m->x);
    return NULL;
}

/* One of them makes the map; all of them use it. */
Test(spmv_pieces_device, threads_meet_at_the_first_product)
{
    enum { THREADS = 4, ROUNDS = 3 };
    open_device();
    NEEDS_GPU();
    test_random random = {23};
    const shape *s = &shapes[5];
    dcsr_matrix *matrix = matrix_of(s, DCSR_FP64, 0);
    fill(matrix, &random, s);
    const dcsr_matrix_info info = test_info(matrix);
    void *x = numbers(&random, DCSR_FP64, COLS);
    char *wanted = product(matrix, DCSR_LAYOUT_CSR, x, false);
    for (int round = 0; round < ROUNDS; round++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        meeting m[THREADS];
        pthread_t thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            m[t] = (meeting){.view = view, .x = x, .y = test_allocate(info.rows, 8)};
            cr_assert_eq(pthread_create(&thread[t], NULL, multiply, &m[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(thread[t], NULL);
            TEST_OK(m[t].status);
            expect_same(m[t].y, wanted, &info, "of a thread");
        }
        cr_assert(dcsr_i_cuda_spmv_has_map(view));
        dcsr_view_destroy(view);
    }
    free(x), free(wanted);
    dcsr_matrix_destroy(matrix);
    close_device();
}
