/* test_store_power.c: power cuts at any moment of work on a store, and what they leave.
 *
 * This program runs itself once more, with tests/preload/powerloss.c preloaded, to work on a store; from what
 * that has written down, disks are built as a cut may leave them, and each is opened and checked.
 * DCSR_TORTURE=n checks n times as many. */
#include "persist/store_data.h"
#include "tests/support/support_power.h"
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the program that was started with the library: work, and nothing else. */
__attribute__((constructor)) static void work_instead(void)
{
    const char *folder = getenv("DCSR_POWERLOSS"), *steps = getenv("DCSR_POWERLOSS_STEPS");
    if (!folder || !steps) return;
    store_child *child = store_child_new();
    dcsr_i_store_transaction_bytes = 5000;
    work_run(folder, strtoull(steps, NULL, 10), child);
    _exit(0);
}

/* The library: beside the program, or beside that of the plain build. NULL when it was not built. */
static char *find_library(void)
{
    static const char *const places[] = {"powerloss.so", "../../tests/powerloss.so"};
    char program[PATH_MAX], library[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    cr_assert(length > 0);
    program[length] = '\0';
    const char *folder = dirname(program), *named = getenv("DCSR_POWERLOSS_LIBRARY");
    if (named) return realpath(named, NULL);
    for (int p = 0; p < 2; p++) {
        snprintf(library, sizeof library, "%s/%s", folder, places[p]);
        char *found = realpath(library, NULL);
        if (found) return found;
    }
    return NULL;
}

/* Works on FOLDER/store for some steps, and reads what it did. */
static void work_and_log(power_log *log, const char *folder, uint64_t steps)
{
    char path[PATH_MAX], number[24];
    char *library = find_library();
    if (!library) {
        cr_log_warn("skipped: tests/preload/powerloss.c was not built beside this program");
        cr_skip("no library to preload");
    }
    snprintf(path, sizeof path, "%s.log", folder);
    snprintf(number, sizeof number, "%llu", (unsigned long long)steps);
    fflush(NULL);
    pid_t process = fork();
    cr_assert(process >= 0);
    if (!process) {
        setenv("LD_PRELOAD", library, 1);
        setenv("DCSR_POWERLOSS", folder, 1);
        setenv("DCSR_POWERLOSS_LOG", path, 1);
        setenv("DCSR_POWERLOSS_STEPS", number, 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
        execl("/proc/self/exe", "work", (char *)NULL);
        _exit(127);
    }
    int status = store_child_wait(process);
    cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "the program that works ends with %d", status);
    power_read_log(log, path);
    unlink(path);
    free(library);
}

static void check_work(void *user, store_child *child)
{
    work_check(user, child);
}

/* Where to cut: anywhere, or just before something is synced, when most is on its way. */
static size_t draw_place(const power_log *log, test_random *random)
{
    size_t place = test_random_below(random, log->events + 1);
    power_event event;
    if (test_random_once_in(random, 2)) return place;
    for (; place < log->events; place++) {
        memcpy(&event, log->data + log->event[place], sizeof event);
        if (event.kind == POWER_SYNC || event.kind == POWER_SYNCED_WRITE) break;
    }
    return place;
}

/* Builds the disk of one cut and checks it in a child. Returns whether it was as it should be. */
static bool check_cut(const power_log *log, store_child *child, uint64_t seed)
{
    static const unsigned chances[] = {0, 8, 128, 248, 256};
    test_random random = {seed};
    work_state state = {0};
    char *folder = store_new_folder();
    size_t place = draw_place(log, &random);
    power_cut(log, place, &random, chances[test_random_below(&random, 5)], folder);
    power_last_written(log, place, "acknowledged", &state, sizeof state);
    work_write_state(folder, &state);
    int status = store_child_run(child, check_work, folder);
    store_remove_folder(folder);
    bool right = WIFEXITED(status) && !WEXITSTATUS(status);
    if (!right && !child->why[0])
        snprintf(child->why, sizeof child->why, "%s: it ends with status %x", child->now, (unsigned)status);
    return right;
}

Test(store_power, a_cut_at_any_moment_loses_nothing_that_was_acknowledged)
{
    test_seeds seeds = test_seeds_from_environment(store_rounds(TEST_VARIANT(200, 30, 20)));
    store_child *child = store_child_new();
    char *folder = NULL;
    power_log log = {0};
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        uint64_t seed = seeds.first + i;
        test_seed_begins(seed);
        if (i % 100 == 0) { /* other work */
            if (folder) store_remove_folder(folder);
            power_free_log(&log);
            folder = store_new_folder();
            work_write_state(folder, &(work_state){.round = seed});
            work_and_log(&log, folder, 40);
        }
        cr_assert(check_cut(&log, child, seed), "seed %llu: %s", (unsigned long long)seed, child->why);
    }
    fprintf(stderr, "%llu cuts; the last log has %zu events, %zu bytes\n", (unsigned long long)seeds.rounds,
            log.events, log.bytes);
    power_free_log(&log);
    store_remove_folder(folder);
    store_child_free(child);
}

/* The same work, had it synced nothing: cuts must then do harm, or the test above shows nothing. */
Test(store_power, without_syncs_cuts_do_harm)
{
    store_child *child = store_child_new();
    char *folder = store_new_folder();
    power_log log;
    work_and_log(&log, folder, 40);
    power_forget_syncs(&log);
    bool harm = false;
    for (uint64_t seed = 1; seed <= 50 && !harm; seed++) {
        harm = !check_cut(&log, child, seed);
        child->why[0] = '\0';
    }
    cr_assert(harm, "50 cuts did no harm");
    power_free_log(&log);
    store_remove_folder(folder);
    store_child_free(child);
}

/* ---- The disk itself ---- */

static void add_event(FILE *file, power_kind kind, const char *name, uint64_t offset, const void *data,
                      size_t bytes)
{
    power_event event = {kind, (uint32_t)strlen(name), offset, bytes};
    cr_assert(fwrite(&event, sizeof event, 1, file) == 1 && fputs(name, file) >= 0);
    cr_assert(!bytes || fwrite(data, 1, bytes, file) == bytes);
}

/* Two sectors of 'a' that are synced, then of 'b' that are not, then one of 'c' that is on its own; a file
 * that nobody has synced, and one with a new name. */
static void write_small_log(const char *path)
{
    char a[1024], b[1024], c[512];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    memset(c, 'c', sizeof c);
    FILE *file = fopen(path, "wb");
    cr_assert(file);
    add_event(file, POWER_WRITE, "data", 0, a, sizeof a);
    add_event(file, POWER_SYNC, "data", 0, NULL, 0);
    add_event(file, POWER_WRITE, "data", 0, b, sizeof b);
    add_event(file, POWER_SYNCED_WRITE, "data", 512, c, sizeof c);
    add_event(file, POWER_WRITE, "other", 0, a, 10);
    add_event(file, POWER_WRITE, "new", 0, b, 10);
    add_event(file, POWER_SYNC, "new", 0, NULL, 0);
    add_event(file, POWER_RENAME, "new\nnamed", 0, NULL, 0);
    fclose(file);
}

Test(store_power, a_cut_keeps_what_was_synced_and_any_part_of_the_rest)
{
    char path[PATH_MAX];
    power_log log;
    unsigned first[128] = {0}, renamed = 0, lost = 0;
    char *base = store_new_folder();
    snprintf(path, sizeof path, "%s/log", base);
    write_small_log(path);
    power_read_log(&log, path);
    cr_assert(log.events == 8);
    test_random random = {5};
    for (int i = 0; i < 200; i++) {
        size_t bytes;
        char *folder = store_new_folder(), other[PATH_MAX], named[PATH_MAX], new[PATH_MAX];
        power_cut(&log, log.events, &random, 128, folder);
        char *data = store_read_file(folder, "data", &bytes);
        cr_assert(bytes == 1024 && data[512] == 'c' && data[1023] == 'c' && data[0] == data[511]);
        first[(unsigned char)data[0]]++;
        snprintf(other, sizeof other, "%s/other", folder);
        snprintf(named, sizeof named, "%s/named", folder);
        snprintf(new, sizeof new, "%s/new", folder);
        renamed += !access(named, F_OK);
        lost += access(other, F_OK) != 0;
        cr_assert(!access(named, F_OK) != !access(new, F_OK));
        free(data);
        store_remove_folder(folder);
    }
    cr_assert(first['a'] > 20 && first['b'] > 20 && first['a'] + first['b'] == 200);
    cr_assert(renamed > 20 && renamed < 180 && lost > 20 && lost < 180);
    power_free_log(&log);
    store_remove_folder(base);
}
