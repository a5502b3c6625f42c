/* test_multi.c: the devices of a dcsr_multi: texts that name them, tasks that all of them run, meetings, their end. */
#include "dcsr/base/runtime.h"
#include "multi/device_text.h"
#include "multi/devices.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Texts ---- */

static const char nowhere[] = "/nonexistent";

static void assert_refused(const char *text, const char *words)
{
    dcsr_i_named_devices named;
    dcsr_multi *devices = (dcsr_multi *)&named;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, words, dcsr_i_devices_read(&named, text, nowhere));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_create(&devices, text, NULL));
    cr_assert_null(devices);
}

Test(multi, texts_of_no_form_are_refused_with_their_place)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {NULL, "text is NULL"},
        {"", "at character 1: there are no devices of this kind"},
        {"gpu", "at character 1: there are no devices of this kind"},
        {"cpux", "at character 1: there are no devices of this kind"},
        {"cpu:", "at character 5: a number of devices or \"numa\""},
        {"cpu:-1", "at character 5: a number of devices"},
        {"cpu:numa ", "at character 5: a number of devices"},
        {"cpu:2x", "at character 7: the number of devices of a node"},
        {"cpu:2x2x2", "at character 8: the end"},
        {"cpu:2x0", "at character 5: 1 to 64"},
        {"cpu:0x2", "at character 5: 1 to 64"},
        {"cpu:33x2", "at character 5: 1 to 64"},
        {"cpu:1000000x1000000", "at character 5: 1 to 64"},
        {"cpu:2,3", "at character 6: the end"},
        {"cpu:0", "at character 5: 1 to 64"},
        {"cpu:65", "at character 5: 1 to 64"},
        {"cpu:99999999999999999999", "at character 5: a number"},
        {"cuda:", "at character 6: the number of a GPU"},
        {"cuda:0-", "at character 8: the last number of a range"},
        {"cuda:0-x", "at character 8: the last number of a range"},
        {"cuda:3-1", "at character 8: a range ends before it begins"},
        {"cuda:0,", "at character 8: the number of a GPU"},
        {"cuda:0;1", "at character 7: a comma or the end"},
        {"cuda:0,2,0", "at character 10: this device has been named before"},
        {"cuda:1,0-3", "at character 8: this device has been named before"},
        {"cuda:0-64", "at character 6: these are more than 64 devices"},
        {"cuda:all,0", "at character 9: the end"},
        {"cuda:al", "at character 6: the number of a GPU"},
        {"cuda:all/", "at character 10: the number of devices that share a GPU"},
        {"cuda:all/2x", "at character 11: the end"},
        {"cuda:0/0", "at character 8: the number of devices that share a GPU"},
        {"cuda:0/65", "at character 8: the number of devices that share a GPU"},
        {"cuda:0/2/2", "at character 9: a comma or the end"},
        {"cuda:0/2,0", "at character 10: this device has been named before"},
        {"cuda:0-2/32", "at character 6: these are more than 64 devices"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_refused(bad[i].text, bad[i].words);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "devices is NULL", dcsr_multi_create(NULL, "cpu", NULL));
}

Test(multi, texts_name_devices_in_their_order)
{
    dcsr_i_named_devices named;
    TEST_OK(dcsr_i_devices_read(&named, "cuda:5,0-2,7", nowhere));
    static const int numbers[] = {5, 0, 1, 2, 7};
    cr_assert_eq(named.device, DCSR_DEVICE_CUDA);
    cr_assert_eq(named.count, 5);
    for (int i = 0; i < 5; i++) cr_assert_eq(named.number[i], numbers[i]);
    TEST_OK(dcsr_i_devices_read(&named, "cuda:3/2,0-1/2,7", nowhere));
    static const int shared[] = {3, 3, 0, 0, 1, 1, 7};
    cr_assert_eq(named.count, 7);
    for (int i = 0; i < 7; i++) cr_assert_eq(named.number[i], shared[i]);
    TEST_OK(dcsr_i_devices_read(&named, "cpu:64", nowhere));
    cr_assert(named.device == DCSR_DEVICE_CPU && named.count == 64 && !named.bound);
    TEST_OK(dcsr_i_devices_read(&named, "cpu:2x3", nowhere));
    cr_assert(named.device == DCSR_DEVICE_CPU && named.count == 6 && named.on_node == 3 && !named.bound);
    TEST_OK(dcsr_i_devices_read(&named, "auto", nowhere));
    cr_assert(named.device == DCSR_DEVICE_AUTO && named.count == 1);
    TEST_OK(dcsr_i_devices_read(&named, "cpu:numa", nowhere));
    cr_assert(named.device == DCSR_DEVICE_CPU && named.count == 1 && !named.bound);
}

/* A node's description, as Linux has it. */
static void describe(const char *folder, int node, const char *processors)
{
    char path[300];
    snprintf(path, sizeof path, "%s/node%d", folder, node);
    cr_assert_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
    FILE *file = fopen(path, "w");
    cr_assert(file);
    fputs(processors, file);
    fclose(file);
}

Test(multi, nodes_are_those_with_processors_that_may_be_used)
{
    cpu_set_t allowed, nodes[DCSR_MAX_DEVICES];
    char folder[] = "/tmp/test_multi.XXXXXX", list[64], path[300];
    cr_assert(mkdtemp(folder));
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int first = 0, last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(first, &allowed)) first++;
    while (!CPU_ISSET(last, &allowed)) last--;
    cr_assert_eq(dcsr_i_numa_nodes(folder, nodes), 0);
    snprintf(list, sizeof list, "%d\n", first);
    describe(folder, 0, list);
    describe(folder, 1, "\n"); /* memory alone */
    snprintf(list, sizeof list, "%d-%d,%d\n", first, first, last);
    describe(folder, 3, list);
    cr_assert_eq(dcsr_i_numa_nodes(folder, nodes), 2);
    cr_assert(CPU_COUNT(&nodes[0]) == 1 && CPU_ISSET(first, &nodes[0]));
    cr_assert(CPU_ISSET(first, &nodes[1]) && CPU_ISSET(last, &nodes[1]));
    for (int node = 0; node < 4; node++) {
        snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
        unlink(path);
        snprintf(path, sizeof path, "%s/node%d", folder, node);
        rmdir(path);
    }
    rmdir(folder);
}

Test(multi, gpus_are_on_the_node_that_their_place_on_the_bus_says)
{
    char folder[] = "/tmp/test_multi.XXXXXX", path[300];
    static const struct {
        const char *place, *text;
        int node;
    } places[] = {{"0000:3b:00.0", "1\n", 1}, {"0000:af:00.0", "-1\n", -1}, {"0001:00:00.0", "none\n", -1}};
    cr_assert(mkdtemp(folder));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i].place);
        cr_assert_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%s/numa_node", folder, places[i].place);
        FILE *file = fopen(path, "w");
        cr_assert(file);
        fputs(places[i].text, file);
        fclose(file);
        cr_assert_eq(dcsr_i_numa_node_of(folder, places[i].place), places[i].node);
    }
    cr_assert_eq(dcsr_i_numa_node_of(folder, "0000:3B:00.0"), 1);
    cr_assert_eq(dcsr_i_numa_node_of(folder, "0000:3c:00.0"), -1);
    cr_assert_eq(dcsr_i_numa_node_of(folder, ""), -1);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s/numa_node", folder, places[i].place);
        unlink(path);
        snprintf(path, sizeof path, "%s/%s", folder, places[i].place);
        rmdir(path);
    }
    rmdir(folder);
}

/* ---- Devices ---- */

static dcsr_multi *open_devices(const char *text, int threads)
{
    dcsr_multi *devices;
    TEST_OK(dcsr_multi_create(&devices, text, &(dcsr_multi_options){.threads = threads}));
    return devices;
}

Test(multi, devices_share_the_threads)
{
    dcsr_multi *devices = open_devices("cpu:3", 7);
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    cr_assert(info.devices == 3 && info.device == DCSR_DEVICE_CPU);
    int threads = 0;
    for (int k = 0; k < 3; k++) threads += test_context_info(info.context[k]).threads;
    cr_assert_eq(threads, 7);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_get_info(devices, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_get_info(NULL, &info));
    dcsr_multi_destroy(devices);
    devices = open_devices("cpu:5", 2); /* each has one at least */
    TEST_OK(dcsr_multi_get_info(devices, &info));
    for (int k = 0; k < 5; k++) cr_assert_eq(test_context_info(info.context[k]).threads, 1);
    dcsr_multi_destroy(devices);
    dcsr_multi_destroy(NULL);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT,
                dcsr_multi_create(&devices, "cpu:2", &(dcsr_multi_options){.threads = -1}));
    cr_assert_null(devices);
}

Test(multi, groups_are_taken_for_nodes)
{
    dcsr_multi *devices = open_devices("cpu:2x3", 6);
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    cr_assert_eq(info.devices, 6);
    for (int k = 0; k < 6; k++) cr_assert_eq(info.node[k], k / 3);
    cr_assert(dcsr_i_multi_node_end(devices, 0) == 3 && dcsr_i_multi_node_end(devices, 3) == 6);
    dcsr_multi_destroy(devices);
    devices = open_devices("cpu:4", 4);
    TEST_OK(dcsr_multi_get_info(devices, &info));
    for (int k = 0; k < 4; k++) cr_assert_eq(info.node[k], -1);
    cr_assert_eq(dcsr_i_multi_node_end(devices, 0), 4);
    dcsr_multi_destroy(devices);
}

static dcsr_status note_processors(void *user, uint64_t k)
{
    cpu_set_t *sets = user;
    return sched_getaffinity(0, sizeof sets[k], &sets[k]) ? DCSR_ERROR_IO : DCSR_OK;
}

Test(multi, nodes_have_their_threads)
{
    dcsr_multi *devices = open_devices("cpu:numa", 0);
    cpu_set_t sets[DCSR_MAX_DEVICES], nodes[DCSR_MAX_DEVICES];
    const uint64_t n = dcsr_i_numa_nodes("/sys/devices/system/node", nodes);
    cr_assert_eq(dcsr_i_multi_count(devices), n ? n : 1);
    TEST_OK(dcsr_multi_run(devices, note_processors, sets));
    for (uint64_t k = 0; k < n; k++) cr_assert(CPU_EQUAL(&sets[k], &nodes[k]));
    dcsr_multi_destroy(devices);
}

Test(multi, gpus_that_are_not_there_are_refused)
{
    dcsr_multi *devices;
    int gpus;
    TEST_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &gpus));
    if (!TEST_CUDA)
        TEST_STATUS(DCSR_ERROR_NOT_BUILT, dcsr_multi_create(&devices, "cuda:all", NULL));
    else
        TEST_STATUS(DCSR_ERROR_NO_DEVICE, dcsr_multi_create(&devices, "cuda:63", NULL));
    cr_assert_null(devices);
    if (gpus) {
        dcsr_multi_info info;
        devices = open_devices("cuda:all", 0);
        TEST_OK(dcsr_multi_get_info(devices, &info));
        cr_assert(info.devices == (uint64_t)gpus && info.device == DCSR_DEVICE_CUDA);
        for (int k = 0; k < gpus; k++) cr_assert_eq(test_context_info(info.context[k]).device_number, k);
        dcsr_multi_destroy(devices);
    }
}

Test(multi, memory_gone_while_they_are_opened)
{
    dcsr_multi *devices;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        cr_assert_lt(n, 1000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_create(&devices, "cpu:3", NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !devices));
    }
    dcsr_multi_destroy(devices);
}

/* ---- Tasks ---- */

enum { MEETINGS = 20 };

typedef struct meetings {
    dcsr_multi *devices;
    uint64_t fails_at[DCSR_MAX_DEVICES]; /* at which meeting device k fails; MEETINGS: at none */
    bool leaves;                         /* without meeting the others */
    uint64_t seen[DCSR_MAX_DEVICES];     /* meetings that were successful; not atomic: meeting orders it */
    dcsr_status last[DCSR_MAX_DEVICES];
} meetings;

static dcsr_status meet_often(void *user, uint64_t k)
{
    meetings *plan = user;
    const uint64_t count = dcsr_i_multi_count(plan->devices);
    for (uint64_t i = 0; i < MEETINGS; i++) {
        dcsr_status mine = DCSR_OK;
        plan->seen[k] = i;
        if (plan->fails_at[k] == i) {
            mine = dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "fails at %d", (int)i);
            if (plan->leaves) return mine;
        }
        if ((plan->last[k] = dcsr_multi_meet(plan->devices, mine)) != DCSR_OK) return plan->last[k];
        /* All have written before anybody is here, and nobody goes on before all have looked. */
        for (uint64_t other = 0; other < count; other++)
            if (plan->seen[other] != i) return dcsr_i_fail(DCSR_ERROR_CORRUPT, "not all have been there");
        if ((plan->last[k] = dcsr_multi_meet(plan->devices, DCSR_OK)) != DCSR_OK) return plan->last[k];
    }
    plan->seen[k] = MEETINGS;
    return DCSR_OK;
}

Test(multi, devices_meet_and_fail_together)
{
    test_random random = {7};
    for (int round = 0; round < TEST_SIZE(200, 50, 40); round++) {
        char text[16];
        const uint64_t count = 1 + test_random_below(&random, 5);
        snprintf(text, sizeof text, "cpu:%d", (int)count);
        meetings plan = {.devices = open_devices(text, 1), .leaves = test_random_once_in(&random, 2)};
        uint64_t first = MEETINGS, who = 0;
        for (uint64_t k = 0; k < count; k++) {
            plan.fails_at[k] =
                test_random_once_in(&random, 3) ? test_random_below(&random, MEETINGS) : MEETINGS;
            if (plan.fails_at[k] < first) who = k, first = plan.fails_at[k];
        }
        const dcsr_status status = dcsr_multi_run(plan.devices, meet_often, &plan);
        for (uint64_t k = 0; k < count; k++) cr_assert_eq(plan.seen[k], first);
        if (first == MEETINGS) {
            cr_assert_eq(status, DCSR_OK);
        } else {
            char words[64];
            snprintf(words, sizeof words, "device %d (cpu): fails at %d", (int)who, (int)first);
            cr_assert(status == DCSR_ERROR_TOO_LARGE && test_says(words), "%s, not %s", dcsr_thread_error(),
                      words);
            for (uint64_t k = 0; k < count; k++)
                if (plan.fails_at[k] != first) cr_assert_eq(plan.last[k], DCSR_ERROR_CANCELLED);
        }
        /* The next run begins anew. */
        for (uint64_t k = 0; k < count; k++) plan.fails_at[k] = MEETINGS;
        TEST_OK(dcsr_multi_run(plan.devices, meet_often, &plan));
        dcsr_multi_destroy(plan.devices);
    }
}

static dcsr_status run_again(void *user, uint64_t k)
{
    (void)k;
    dcsr_multi_destroy(user); /* does nothing */
    return dcsr_multi_run(user, run_again, user);
}

Test(multi, a_task_cannot_run_another)
{
    dcsr_multi *devices = open_devices("cpu:2", 2);
    TEST_REFUSED(DCSR_ERROR_DEADLOCK, "device 0 (cpu): ", dcsr_multi_run(devices, run_again, devices));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the task is NULL", dcsr_multi_run(devices, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the devices are NULL", dcsr_multi_run(NULL, run_again, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "no task", dcsr_multi_meet(devices, DCSR_OK));
    dcsr_multi_destroy(devices);
}

static dcsr_status count_up(void *user, uint64_t k)
{
    ((uint64_t *)user)[k]++; /* not atomic: runs follow one another */
    return DCSR_OK;
}

typedef struct crowd {
    dcsr_multi *devices;
    uint64_t counts[3];
} crowd;

static void *run_often(void *argument)
{
    crowd *shared = argument;
    for (int i = 0; i < 100; i++) dcsr_multi_run(shared->devices, count_up, shared->counts);
    return NULL;
}

Test(multi, callers_take_turns)
{
    crowd shared = {.devices = open_devices("cpu:3", 3)};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, run_often, &shared), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int k = 0; k < 3; k++) cr_assert_eq(shared.counts[k], 400);
    dcsr_multi_destroy(shared.devices);
}

/* ---- The end ---- */

typedef struct joined {
    dcsr_i_member member;
    crowd shared;
    dcsr_status status;
} joined;

static void close_joined(dcsr_i_member *member)
{
    joined *object = (joined *)member;
    object->status = dcsr_multi_run(object->shared.devices, count_up, object->shared.counts);
}

Test(multi, devices_end_before_what_they_hold)
{
    joined object = {.member.close = close_joined, .shared.devices = open_devices("cpu:3", 3)};
    dcsr_multi *devices = object.shared.devices;
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    dcsr_vector *vector;
    TEST_OK(dcsr_vector_create(&vector, info.context[1], DCSR_FP64, 5));
    TEST_OK(dcsr_i_context_join(dcsr_i_multi_home(devices), &object.member));
    dcsr_i_multi_retain(devices);
    dcsr_multi_destroy(devices);
    /* What had joined had the devices work once more. */
    TEST_OK(object.status);
    for (int k = 0; k < 3; k++) cr_assert_eq(object.shared.counts[k], 1);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_i_multi_check(devices));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_multi_run(devices, count_up, object.shared.counts));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_multi_get_info(devices, &info));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_vector_clear(vector));
    dcsr_vector_destroy(vector);
    dcsr_i_multi_release(devices);
}
