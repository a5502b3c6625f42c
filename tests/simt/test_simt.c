/* test_simt.c: the emulator of a GPU finds what it has to find, and nothing else.
 *
 * tests/simt has small programs, correct ones and ones with a planted bug. Each runs under several seeds;
 * DCSR_SIMT_CASES names the program that holds them. A correct one has to succeed under all. A bug has to be
 * found under one at least, in the variants in which it can be: by wrong results, by the emulator, or by the
 * sanitizer. */
#include "tests/support/support.h"
#include <criterion/logging.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN = 1, ADDRESS = 2, THREAD = 4, ALL = PLAIN | ADDRESS | THREAD };
static const int VARIANT = TEST_THREAD_SANITIZER ? THREAD : TEST_ADDRESS_SANITIZER ? ADDRESS : PLAIN;

enum { OUTPUT = 16384, SECONDS = 60 };
enum { SEEDS = TEST_VARIANT(12, 8, 6) };

typedef struct run {
    int status; /* exit status; 1000 + number of the signal that ended it */
    char out[OUTPUT];
    char err[OUTPUT];
} run;

/* 0, and then others for each SIMT_SEED that the suite itself runs with. */
static unsigned long seed_at(unsigned i)
{
    const char *text = getenv("SIMT_SEED");
    unsigned long first = text ? strtoul(text, NULL, 0) * SEEDS : 0;
    return i ? first + i : 0;
}

static void read_all(FILE *file, char text[OUTPUT])
{
    rewind(file);
    text[fread(text, 1, OUTPUT - 1, file)] = '\0';
    fclose(file);
}

static void run_case(const char *name, unsigned long seed, run *result)
{
    const char *program = getenv("DCSR_SIMT_CASES");
    cr_assert(program, "DCSR_SIMT_CASES does not name the program simt_cases");
    FILE *out = tmpfile(), *err = tmpfile();
    cr_assert(out && err);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        char text[32], options[512];
        const char *given = getenv("TSAN_OPTIONS");
        snprintf(text, sizeof text, "%lu", seed);
        snprintf(options, sizeof options, "%s:atexit_sleep_ms=0", given ? given : "");
        setenv("SIMT_SEED", text, 1);
        setenv("TSAN_OPTIONS", options, 1);
        alarm(SECONDS);
        if (dup2(fileno(out), STDOUT_FILENO) >= 0 && dup2(fileno(err), STDERR_FILENO) >= 0)
            execl(program, program, name, (char *)NULL);
        _exit(127);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child);
    result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    read_all(out, result->out);
    read_all(err, result->err);
    cr_assert(result->status != 127 && result->status != 2 && result->status != 1000 + SIGALRM,
              "%s %s under seed %lu ended with %d: %s", program, name, seed, result->status, result->err);
}

static void assert_clean(const char *const names[])
{
    static run result;
    for (; *names; names++) {
        for (unsigned i = 0; i < SEEDS; i++) {
            run_case(*names, seed_at(i), &result);
            cr_expect(result.status == 0, "SIMT_SEED=%lu simt_cases %s ended with %d: %s", seed_at(i), *names,
                      result.status, result.err);
        }
    }
}

typedef struct bug {
    const char *name;
    int variants;     /* in which it must be found */
    int by_sanitizer; /* in which a sanitizer must report it, under one seed at least */
    const char
        *report; /* in the plain variant: words that the emulator has to say; NULL where results are wrong */
} bug;

/* What came of a bug under all seeds. */
typedef struct finds {
    unsigned found, by_sanitizer, reported;
} finds;

static finds find(const bug *b)
{
    static run result;
    finds f = {0};
    for (unsigned i = 0; i < SEEDS; i++) {
        run_case(b->name, seed_at(i), &result);
        if (result.status == 0) continue;
        f.found++;
        char seed[64];
        snprintf(seed, sizeof seed, "SIMT_SEED=%lu", seed_at(i));
        const bool names_seed = strstr(result.err, seed);
        if (b->report && strstr(result.err, b->report) && names_seed) f.reported++;
        if (!strstr(result.err, "SUMMARY: ") && !strstr(result.err, "runtime error: ")) continue;
        f.by_sanitizer++;
        cr_expect(names_seed, "%s: the sanitizer's report does not name the seed: %s", b->name, result.err);
    }
    return f;
}

static void assert_found(const bug *bugs)
{
    for (; bugs->name; bugs++) {
        if (!(bugs->variants & VARIANT)) continue;
        const finds f = find(bugs);
        cr_expect(f.found > 0, "%s was found under none of %d seeds", bugs->name, SEEDS);
        if (bugs->by_sanitizer & VARIANT)
            cr_expect(f.by_sanitizer > 0, "%s was reported by the sanitizer under none of %d seeds",
                      bugs->name, SEEDS);
        if (VARIANT == PLAIN && bugs->report)
            cr_expect(f.reported == f.found, "%s: %u of %u messages have \"%s\" and the seed in them",
                      bugs->name, f.reported, f.found, bugs->report);
    }
}

Test(simt, runs_correct_kernels)
{
    assert_clean((const char *const[]){"clean_reduce", "clean_scan", "clean_groups", "clean_allocator",
                                       "clean_votes", "clean_atomics", "clean_hand_over", "clean_meetings",
                                       "clean_three_dimensions", "clean_launch_checks", NULL});
}

Test(simt, orders_streams_events_and_copies)
{
    assert_clean((const char *const[]){"clean_events", "clean_copy", "clean_source_pinned",
                                       "clean_source_pageable", "clean_late_work", "clean_queries",
                                       "clean_elapsed_time", "clean_functions", "clean_destroyed_with_work",
                                       "clean_long_queue", NULL});
}

Test(simt, serves_several_host_threads)
{
    assert_clean((const char *const[]){"clean_host_threads", NULL});
}

Test(simt, has_memory_as_a_gpu_has)
{
    assert_clean((const char *const[]){"clean_pool", "clean_pattern", "clean_attributes", "clean_limit",
                                       "clean_copy_checks", "clean_virtual", "clean_virtual_misuse", NULL});
}

Test(simt, fails_as_tests_ask_it_to)
{
    assert_clean((const char *const[]){"clean_properties", "clean_no_device", "clean_old_driver",
                                       "clean_forked_child", "clean_device_fault", "clean_failing_requests",
                                       NULL});
}

Test(simt, has_several_devices)
{
    assert_clean((const char *const[]){
        "clean_belonging", "clean_sizes", "clean_copy_between_devices", "clean_source_of_other_device",
        "clean_peer_copy_checks", "clean_enabling", "clean_peers_block", "clean_peers_pool",
        "clean_peers_mapping", "clean_lost_device", "clean_lost_source", NULL});
}

Test(simt, finds_bugs_of_several_devices)
{
    static const bug BUGS[] = {
        {"peer_copy_not_waited_for", ALL, THREAD, NULL},
        {"source_of_other_device_changed", ALL, THREAD, NULL},
        {"block_of_no_peer", ALL, ADDRESS | THREAD, "another device that is no peer"},
        {"pool_of_no_peer", ALL, ADDRESS | THREAD, "another device that is no peer"},
        {"mapping_of_no_peer", ALL, ADDRESS | THREAD, "another device that is no peer"},
        {NULL, 0, 0, NULL},
    };
    assert_found(BUGS);
}

Test(simt, finds_bugs_of_kernels)
{
    static const bug BUGS[] = {
        {"first_barrier_missing", ALL, THREAD, NULL},
        {"barrier_missing_before_reuse", ALL, THREAD, NULL},
        {"load_and_store_for_atomic", THREAD, THREAD, NULL},
        {"syncwarp_missing", ALL, THREAD, NULL},
        {"shuffle_for_syncwarp", THREAD, THREAD, NULL},
        {"blocks_race", ALL, THREAD, NULL},
        {"fences_missing", THREAD, THREAD, NULL},
        {"meetings_without_fences", THREAD, THREAD, NULL},
        {"beyond_array", ALL, ADDRESS, "written to beyond its end"},
        {"beyond_shared_array", ALL, ADDRESS, "written to beyond its end"},
        {"beyond_dynamic_shared_array", ALL, ADDRESS, "written to beyond its end"},
        {"divergent_barrier", ALL, 0, "wait at different __syncthreads()"},
        {"named_lane_stays_away", ALL, 0, "no thread of the launch can go on"},
        {"overlapping_masks", ALL, 0, "name different masks"},
        {"lane_not_in_its_mask", ALL, 0, "with a mask that it is not in"},
        {"stack_overflow", ALL, ADDRESS, "invalid access"},
        {NULL, 0, 0, NULL},
    };
    assert_found(BUGS);
}

Test(simt, finds_bugs_of_the_order_of_work)
{
    static const bug BUGS[] = {
        {"event_wait_missing", ALL, THREAD, NULL},
        {"read_before_copy", ALL, THREAD, NULL},
        {"pinned_source_changed", ALL, THREAD, NULL},
        {"pageable_source_changed", ALL, THREAD, NULL},
        {"streams_race", THREAD, THREAD, NULL},
        {"host_threads_race", THREAD, THREAD, NULL},
        {NULL, 0, 0, NULL},
    };
    assert_found(BUGS);
}

Test(simt, finds_bugs_of_memory)
{
    static const bug BUGS[] = {
        {"use_after_free_async", ALL, ADDRESS, NULL},
        {"freed_under_other_stream", ALL, ADDRESS | THREAD, NULL},
        {"used_before_allocated", ALL, ADDRESS | THREAD, NULL},
        {"freed_under_kernel", ALL, ADDRESS | THREAD, NULL},
        {"double_free", ALL, 0, NULL},
        {"pinned_freed_under_copy", ALL, 0, "pinned memory has been freed"},
        {"beyond_mapping", ALL, ADDRESS | THREAD, "device memory that is not mapped"},
        {"unmapped_too_early", ALL, ADDRESS | THREAD, "device memory that is not mapped"},
        {"host_reads_device", ALL, ADDRESS | THREAD, "device memory from the host"},
        {"host_writes_virtual", ALL, ADDRESS | THREAD, "device memory from the host"},
        {NULL, 0, 0, NULL},
    };
    assert_found(BUGS);
}

Test(simt, replays_a_seed)
{
    static run first, again;
    unsigned others = 0;
    for (unsigned i = 0; i < SEEDS; i++) {
        run_case("schedule", seed_at(i), &first);
        run_case("schedule", seed_at(i), &again);
        cr_assert(first.status == 0 && !strcmp(first.out, again.out), "seed %lu gave two schedules:\n%s%s",
                  seed_at(i), first.out, again.out);
        static char program_order[OUTPUT];
        if (i == 0) memcpy(program_order, first.out, OUTPUT);
        others += i && strcmp(first.out, program_order);
    }
    cr_assert(others > SEEDS / 2, "only %u of %d seeds gave another schedule than 0", others, SEEDS);
}
