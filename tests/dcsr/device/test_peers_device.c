/* test_peers_device.c: several GPUs in one process: copies, order and peers among them, matrices on each, one that is
 * short of memory and one that is lost. On a machine with one GPU all is skipped. */
#include <dcsr/spmv.h>
#include <pthread.h>
#include <string.h>
#include "dcsr/device/prim_cuda.h"
#include "tests/support/support_device.h"

enum { MOST = 4, BYTES = 20000 };

/* One of the devices, which the tests' thread has entered by its stream only where it says so. */
typedef struct place {
    dcsr_context *context;
    dcsr_i_cuda_device *device;
    dcsr_i_cuda_stream *stream;
} place;

static place places[MOST];
static int there; /* of them */

static void open_places(void)
{
#ifdef DCSR_SIMT
    simt_set_devices(MOST);
#endif
    const int count = dcsr_i_cuda_count();
    for (there = 0; there < count && there < MOST; there++) {
        place *p = &places[there];
        const dcsr_context_options options = {
            .device = DCSR_DEVICE_CUDA, .threads = 1, .device_number = there};
        TEST_OK(dcsr_context_create(&p->context, &options));
        p->device = p->context->cuda;
        TEST_OK(dcsr_i_cuda_stream_create(&p->stream, p->device, DCSR_CUDA_TO_READ));
    }
}

static void close_places(void)
{
    for (int i = 0; i < there; i++) {
        dcsr_i_cuda_stream_destroy(places[i].stream);
        test_close(places[i].context);
    }
#ifdef DCSR_SIMT
    cr_assert(!simt_live_streams() && !simt_live_events() && !simt_live_pools());
    cr_assert(!simt_live_allocations() && !simt_live_reservations() && !simt_live_pinned());
#endif
}

TestSuite(peers, .init = open_places, .fini = close_places);

#define NEEDS_TWO() \
    if (there < 2) cr_skip_test("there are no two GPUs")

static char *take(place *p, size_t bytes)
{
    char *block = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, bytes, 1);
    cr_assert_not_null(block, "%s", dcsr_thread_error());
    return block;
}

static void give(place *p, char *block, size_t bytes)
{
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, block, bytes, 1);
}

static void wait_for(place *p)
{
    TEST_OK(dcsr_i_cuda_wait(p->stream, "testing"));
}

/* A byte goes round all devices, each of which copies it on by its own stream or that of the next. */
static void go_round(int rounds)
{
    char *block[MOST];
    unsigned char *host = dcsr_i_alloc(places[0].context, DCSR_I_PINNED, BYTES, 1);
    for (int i = 0; i < there; i++) {
        block[i] = take(&places[i], BYTES);
        wait_for(&places[i]); /* others' streams use it, too */
    }
    for (int round = 0; round < rounds; round++) {
        dcsr_i_cuda_fill(places[0].stream, block[0], round + 1, BYTES);
        for (int i = 0; i < there; i++) {
            place *from = &places[i], *to = &places[(i + 1) % there];
            char *target = block[(i + 1) % there];
            if (to == &places[0]) { /* so that it must come back */
                dcsr_i_cuda_order(to->stream, from->stream);
                dcsr_i_cuda_fill(to->stream, block[0], 0, BYTES);
                dcsr_i_cuda_order(from->stream, to->stream);
            }
            if (round & 1) dcsr_i_cuda_order(to->stream, from->stream);
            dcsr_i_cuda_copy_peer(round & 1 ? to->stream : from->stream, target, to->device, block[i],
                                  from->device, BYTES);
            if (!(round & 1)) dcsr_i_cuda_order(to->stream, from->stream);
        }
        dcsr_i_cuda_copy(places[0].stream, host, block[0], BYTES);
        wait_for(&places[0]);
        for (int i = 0; i < BYTES; i++) cr_assert_eq(host[i], round + 1, "round %d, byte %d", round, i);
        /* What the last device is to do next follows what was done to its memory. */
        for (int i = 1; i < there; i++) dcsr_i_cuda_order(places[i].stream, places[0].stream);
    }
    for (int i = 0; i < there; i++) {
        give(&places[i], block[i], BYTES);
        wait_for(&places[i]);
    }
    dcsr_i_free(places[0].context, DCSR_I_PINNED, host, BYTES, 1);
}

Test(peers, copy_in_the_order_of_their_streams)
{
    NEEDS_TWO();
    go_round(6);
    place *p = &places[1];
    dcsr_i_cuda_copy_peer(p->stream, NULL, p->device, NULL, places[0].device, 0);
    wait_for(p);
}

/* ---- Touching ---- */

/* The sums of `n` ones that `there` of another device has, by a kernel of `by`. */
static void add_from_afar(place *by, const uint64_t *ones, uint64_t n)
{
    uint64_t *sums = (uint64_t *)take(by, (n + 1) * sizeof *sums), last = 0;
    dcsr_i_cuda_enter(by->stream);
    TEST_OK(dcsr_i_cuda_scan_u64(by->stream, ones, sums, n));
    TEST_OK(dcsr_i_cuda_read_back(by->stream, &last, sums + n, sizeof last, "testing"));
    cr_assert_eq(last, n);
    give(by, (char *)sums, (n + 1) * sizeof *sums);
    wait_for(by);
    dcsr_i_cuda_leave(by->stream);
}

static void fill_ones(place *p, uint64_t *to, uint64_t n)
{
    uint64_t *ones = dcsr_i_alloc(p->context, DCSR_I_PINNED, n, sizeof *ones);
    for (uint64_t i = 0; i < n; i++) ones[i] = 1;
    dcsr_i_cuda_copy(p->stream, to, ones, n * sizeof *ones);
    wait_for(p);
    dcsr_i_free(p->context, DCSR_I_PINNED, ones, n, sizeof *ones);
}

/* Memory that was taken before and after. */
Test(peers, touch_what_they_may)
{
    NEEDS_TWO();
    enum { N = 300 };
    place *owner = &places[1], *guest = &places[0];
    if (!dcsr_i_cuda_can_access(guest->device, owner->device)) cr_skip_test("they are no peers");
    char *block = take(owner, N * sizeof(uint64_t));
    fill_ones(owner, (uint64_t *)block, N);
    for (int twice = 0; twice < 2; twice++) TEST_OK(dcsr_i_cuda_enable_peer(guest->device, owner->device));
    char *later = take(owner, N * sizeof(uint64_t));
    fill_ones(owner, (uint64_t *)later, N);
    add_from_afar(guest, (uint64_t *)block, N);
    add_from_afar(guest, (uint64_t *)later, N);
    give(owner, later, N * sizeof(uint64_t));
    give(owner, block, N * sizeof(uint64_t));
    wait_for(owner);
}

/* Two contexts on one GPU. */
Test(peers, are_those_of_one_number)
{
    NEEDS_TWO();
    dcsr_context *other;
    TEST_OK(dcsr_context_create(
        &other, &(dcsr_context_options){.device = DCSR_DEVICE_CUDA, .threads = 1, .device_number = 1}));
    cr_assert_eq(test_context_info(other).device_number, 1);
    cr_assert(dcsr_i_cuda_can_access(other->cuda, places[1].device));
    TEST_OK(dcsr_i_cuda_enable_peer(other->cuda, places[1].device));
    test_close(other);
}

/* ---- Matrices ---- */

enum { ROWS = 70, ENTRIES = 400 };

/* Entries of a place's own, and the product of its matrix with ones: the sums of the rows. */
static void *work(void *argument)
{
    place *p = argument;
    const int rounds = test_size(64);
    test_random random = {(uint64_t)(p - places) + 1};
    uint64_t rows[ENTRIES], cols[ENTRIES];
    double values[ENTRIES], ones[ROWS], y[ROWS], sums[ROWS] = {0};
    dcsr_matrix *matrix = test_matrix(p->context, DCSR_FP64, ROWS, ROWS, DCSR_POLICY_SUM);
    for (int i = 0; i < ROWS; i++) ones[i] = 1;
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < ENTRIES; k++) {
            rows[k] = test_random_below(&random, ROWS);
            cols[k] = test_random_below(&random, ROWS);
            values[k] = (double)test_random_below(&random, 100);
            sums[rows[k]] += values[k];
        }
        TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, values, NULL));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
        TEST_OK(dcsr_spmv(y, view, ones));
        dcsr_view_destroy(view);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_spmv(y, view, ones));
    dcsr_view_destroy(view);
    for (int i = 0; i < ROWS; i++) cr_assert_eq(y[i], sums[i], "device %d, row %d", (int)(p - places), i);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, ROWS / 2, ROWS / 2, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    return NULL;
}

Test(peers, have_matrices_of_their_own)
{
    NEEDS_TWO();
    pthread_t thread[MOST];
    for (int i = 0; i < there; i++) cr_assert_eq(pthread_create(&thread[i], NULL, work, &places[i]), 0);
    for (int i = 0; i < there; i++) pthread_join(thread[i], NULL);
}

/* A kernel on a stream that was not entered runs only where its device is the thread's current one. */
Test(peers, leave_the_callers_device)
{
    NEEDS_TWO();
    uint64_t *sums = (uint64_t *)take(&places[0], 2 * sizeof *sums), *one = sums + 1;
    work(&places[1]);
    work(&places[there - 1]);
    dcsr_i_cuda_fill(places[0].stream, one, 0, sizeof *one);
    TEST_OK(dcsr_i_cuda_scan_u64(places[0].stream, one, sums, 1));
    wait_for(&places[0]);
    give(&places[0], (char *)sums, 2 * sizeof *sums);
    wait_for(&places[0]);
}

#ifdef DCSR_SIMT

Test(peers, copy_also_where_they_are_none)
{
    simt_set_peers(false);
    cr_assert(!dcsr_i_cuda_can_access(places[0].device, places[1].device));
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, "GPU number 0 cannot touch the memory of number 1",
                 dcsr_i_cuda_enable_peer(places[0].device, places[1].device));
    go_round(3);
}

/* Of which one has less: only that one refuses. */
Test(peers, have_memory_of_their_own)
{
    enum { LITTLE = 16 << 20 };
    simt_set_device_memory(1, LITTLE);
    cr_assert_leq(test_context_info(places[1].context).device_free, LITTLE);
    cr_assert_gt(test_context_info(places[0].context).device_free, LITTLE);
    cr_assert_null(dcsr_i_cuda_alloc(places[1].stream, DCSR_I_SCRATCH, 2 * LITTLE, 1));
    cr_assert(test_says("out of memory while taking temporary memory"));
    give(&places[0], take(&places[0], 2 * LITTLE), 2 * LITTLE);
    wait_for(&places[0]);
    work(&places[1]);
}

/* It tells so, and can be closed; the others go on. */
Test(lost_peer, leaves_the_others)
{
    open_places();
    simt_fail_device_after(1, 40);
    place *lost = &places[1];
    dcsr_matrix *matrix = test_matrix(lost->context, DCSR_PATTERN, ROWS, ROWS, DCSR_POLICY_LAST);
    dcsr_status status = DCSR_OK;
    for (uint64_t i = 0; i < ROWS && status == DCSR_OK; i++) {
        status = dcsr_matrix_insert(matrix, 1, &i, &i, NULL, NULL);
        if (status == DCSR_OK) status = dcsr_matrix_wait(matrix);
    }
    cr_assert_eq(status, DCSR_ERROR_DEVICE);
    cr_assert(test_says("uncorrectable ECC error"), "%s", dcsr_thread_error());
    dcsr_context_info info;
    TEST_REFUSED(DCSR_ERROR_DEVICE, "cuda:1, the device of this context, has failed",
                 dcsr_context_get_info(lost->context, &info));
    TEST_REFUSED(DCSR_ERROR_DEVICE, "has failed", dcsr_i_cuda_enable_peer(places[0].device, lost->device));
    work(&places[0]);
    work(&places[2]);
    dcsr_matrix_destroy(matrix);
    dcsr_i_cuda_stream_destroy(lost->stream);
    dcsr_context_destroy(lost->context);
    work(&places[0]);
    for (int i = 0; i < there; i++) {
        if (i == 1) continue;
        dcsr_i_cuda_stream_destroy(places[i].stream);
        test_close(places[i].context);
    }
}

#endif
