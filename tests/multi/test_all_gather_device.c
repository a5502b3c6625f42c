/* test_all_gather_device.c: what devices bring together, by copies and by NCCL: on a stand-in for it, a library of the
 * same functions that copies, and, on GPUs that have it, by NCCL itself. */
#include "dcsr/base/runtime.h"
#include "dcsr/device/all_gather_cuda.h"
#include "tests/support/support_multi.h"
#include <dcsr/generate.h>
#include <dcsr/graph.h>
#include <dcsr/mxv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(all_gather, .init = set_devices, .timeout = 120);

/* Of CUDA's runtime. */
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        void *stream);

/* ---- The stand-in ---- */

enum { MOST = 8 };
typedef struct communicator {
    int place, device;
    void *written;
    const void *from;
} communicator;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count, arrived, meeting; /* devices; those that are in the next meeting; meetings that have ended */
    bool aborted;
    communicator *all[MOST];
    int objects; /* that exist */
    int calls, fails_at;
    bool refuses;
} nccl = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int get_version(int *version)
{
    *version = 23456;
    return 0;
}

/* Refuses where a device is lost. */
static int create_all(void **made, int count, const int *devices)
{
    int before, error = nccl.refuses;
    cudaGetDevice(&before);
    nccl.count = count;
    nccl.objects = 0;
    nccl.aborted = false;
    nccl.arrived = 0;
    for (int k = 0; k < count && !error; k++) {
        communicator *one = test_allocate(1, sizeof *one);
        *one = (communicator){.place = k, .device = devices[k]};
        made[k] = nccl.all[k] = one;
        nccl.objects++;
        error = cudaSetDevice(devices[k]) || cudaEventCreateWithFlags(&one->written, 2);
    }
    cudaSetDevice(before);
    for (int k = 0; k < count && error && nccl.objects; k++, nccl.objects--) free(nccl.all[k]);
    return error;
}

static int destroy(void *object)
{
    communicator *one = object;
    cudaEventDestroy(one->written);
    free(one);
    pthread_mutex_lock(&nccl.lock);
    nccl.objects--;
    pthread_mutex_unlock(&nccl.lock);
    return 0;
}

static int abort_all(void *object)
{
    pthread_mutex_lock(&nccl.lock);
    nccl.aborted = true;
    pthread_cond_broadcast(&nccl.changed);
    pthread_mutex_unlock(&nccl.lock);
    return destroy(object);
}

/* Whether all have come. */
static bool meet(void)
{
    pthread_mutex_lock(&nccl.lock);
    const int meeting = nccl.meeting;
    if (++nccl.arrived == nccl.count) {
        nccl.arrived = 0;
        nccl.meeting++;
        pthread_cond_broadcast(&nccl.changed);
    }
    while (nccl.meeting == meeting && !nccl.aborted) pthread_cond_wait(&nccl.changed, &nccl.lock);
    const bool met = nccl.meeting != meeting;
    pthread_mutex_unlock(&nccl.lock);
    return met;
}

/* Waits for the calls of all devices, where NCCL's kernels would. */
static int all_gather(const void *from, void *to, size_t bytes, int type, void *object, void *stream)
{
    communicator *one = object;
    cr_assert_eq(type, 1);
    pthread_mutex_lock(&nccl.lock);
    const bool fails = ++nccl.calls == nccl.fails_at;
    pthread_mutex_unlock(&nccl.lock);
    if (fails) return 7;
    one->from = from;
    cudaEventRecord(one->written, stream);
    if (!meet()) return 8;
    int error = 0;
    for (int k = 0; k < nccl.count && !error; k++) {
        const communicator *other = nccl.all[k];
        error = cudaStreamWaitEvent(stream, other->written, 0);
        if (!error)
            error = cudaMemcpyPeerAsync((char *)to + (size_t)k * bytes, one->device, other->from,
                                        other->device, bytes, stream);
    }
    return meet() ? error : 8;
}

static const dcsr_i_nccl stand_in = {get_version, create_all, destroy, abort_all, all_gather};

/* ---- What is compared ---- */

/* Each edge both ways; and what is found. */
typedef struct both {
    test_both on;
    int32_t *level;
    uint32_t *component;
} both;

static const uint64_t source = 1;

static both open_both(int devices, uint64_t n, size_t edges)
{
    test_random random = {31};
    uint64_t *row = test_allocate(2 * edges, sizeof *row), *col = test_allocate(2 * edges, sizeof *col);
    for (size_t i = 0; i < edges; i++) {
        row[i] = col[edges + i] = test_random_below(&random, n);
        col[i] = row[edges + i] = (row[i] + 1 + test_random_below(&random, 1 + n / 16)) % n;
    }
    return (both){.on = test_open_both(devices, n, 2 * edges, row, col),
                  .level = test_allocate(n, sizeof(int32_t)),
                  .component = test_allocate(n, sizeof(uint32_t))};
}

static void close_both(both *g)
{
    test_close_both(&g->on);
    free(g->level), free(g->component);
}

/* Their kernels look at what others change, which ThreadSanitizer reports. */
#define HAS_COMPONENTS (!TEST_THREAD_SANITIZER)

static dcsr_status search(both *g)
{
    return dcsr_multi_traverse(g->level, NULL, g->on.multi, 1, &source, NULL);
}

static dcsr_status connect(both *g)
{
    return dcsr_multi_components(g->component, NULL, g->on.multi, &(dcsr_graph_options){.symmetric = true});
}

static void compare(both *g)
{
    int32_t *level = test_allocate(g->on.n, sizeof *level);
    uint32_t *component = test_allocate(g->on.n, sizeof *component);
    memset(g->level, 0x55, g->on.n * sizeof *level), memset(g->component, 0x55, g->on.n * sizeof *component);
    TEST_OK(dcsr_traverse(level, NULL, g->on.view, 1, &source));
    TEST_OK(dcsr_components(component, NULL, g->on.view, &(dcsr_graph_options){.symmetric = true}));
    TEST_OK(search(g));
    cr_assert(!memcmp(level, g->level, g->on.n * sizeof *level));
    if (HAS_COMPONENTS) {
        TEST_OK(connect(g));
        cr_assert(!memcmp(component, g->component, g->on.n * sizeof *component));
    }
    free(level), free(component);
}

static int nccl_of(const both *g)
{
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(g->on.devices, &info));
    return info.nccl;
}

/* ---- The tests ---- */

/* NCCL gathers parts of 64 bytes and more on the emulator, of a megabyte on GPUs: forests of 300,000 vertices. */
static void bring(bool by_nccl)
{
    const uint64_t sizes[] = {400, TEST_SIZE(6000, 2000, 700), test_on_emulator() ? 5 : 300000};
    if (test_on_emulator() && by_nccl) dcsr_i_nccl_stand_in(&stand_in);
    if (!test_on_emulator() && by_nccl) setenv("DCSR_NCCL", "libnccl.so.2", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        nccl.calls = 0;
        both g = open_both(EMULATED_GPUS, sizes[i], 2 * sizes[i]);
        const int version = nccl_of(&g);
        if (test_on_emulator()) cr_assert_eq(version, by_nccl ? 23456 : 0);
        if (!by_nccl) cr_assert_eq(version, 0);
        if (by_nccl && !version) cr_skip_test("there is no NCCL, or one GPU");
        compare(&g);
        const uint64_t largest = HAS_COMPONENTS ? 4 * g.on.n : (g.on.n + 31) / 32 * 4; /* part, in bytes */
        if (test_on_emulator())
            cr_assert_eq(nccl.calls > 0, by_nccl && largest >= 64, "%d calls", nccl.calls);
        close_both(&g);
        cr_assert_eq(nccl.objects, 0);
    }
}

Test(all_gather, brings_the_same_by_copies)
{
    bring(false);
}

Test(all_gather, brings_the_same_by_nccl)
{
    bring(true);
}

Test(all_gather, copies_where_communicators_are_refused)
{
    NEEDS_EMULATOR();
    dcsr_i_nccl_stand_in(&stand_in);
    nccl.refuses = true;
    both g = open_both(EMULATED_GPUS, 700, 1500);
    compare(&g);
    cr_assert_eq(nccl.calls, 0);
    close_both(&g);
}

Test(all_gather, copies_where_devices_share_a_gpu)
{
    NEEDS_EMULATOR();
    dcsr_i_nccl_stand_in(&stand_in);
    both g = open_both(EMULATED_GPUS + 1, 700, 1500);
    cr_assert_eq(nccl_of(&g), 0);
    compare(&g);
    cr_assert_eq(nccl.calls, 0);
    close_both(&g);
}

/* One call of one device fails: the search says so, no device hangs, and later searches use copies. */
static void fail_at(int call, dcsr_status (*task)(both *g))
{
    dcsr_i_nccl_stand_in(&stand_in);
    nccl.calls = 0;
    nccl.fails_at = call;
    both g = open_both(EMULATED_GPUS, 700, 1500);
    TEST_REFUSED(DCSR_ERROR_DEVICE, "NCCL cannot gather", task(&g));
    cr_assert_eq(nccl.objects, 0);
    const int calls = nccl.calls;
    compare(&g);
    cr_assert_eq(nccl.calls, calls);
    close_both(&g);
}

Test(all_gather, calls_that_fail_are_told_and_later_ones_copy)
{
    NEEDS_EMULATOR();
    for (int call = 1; call <= 6; call++) {
        fail_at(call, search);
        if (HAS_COMPONENTS) fail_at(call, connect);
    }
}

#if TEST_EMULATOR
static void lose(long operations, dcsr_status (*task)(both *g))
{
    NEEDS_EMULATOR();
    if (TEST_THREAD_SANITIZER) cr_skip_test("devices are not lost under ThreadSanitizer");
    dcsr_i_nccl_stand_in(&stand_in);
    both g = open_both(EMULATED_GPUS, 700, 1500);
    simt_fail_device_after(1, operations);
    const dcsr_status status = task(&g);
    simt_fail_device_after(1, -1);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY, "%s",
              dcsr_thread_error());
    close_both(&g);
}

/* A process cannot use a device that is lost again, so each case has one of its own. */
#define LOST(operations, task)                                             \
    Test(all_gather, task##_with_a_device_that_is_lost_after_##operations) \
    {                                                                      \
        lose(operations, task);                                            \
    }
LOST(5, search)
LOST(12, search)
LOST(25, search)
LOST(40, search)
LOST(10, connect)
LOST(20, connect)
LOST(30, connect)
#endif
