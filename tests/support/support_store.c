/* support_store.c: folders, files and child processes of the tests of stores. */
#include "tests/support/support_store.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 4096 };

void store_pause(long milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

uint64_t store_rounds(uint64_t usual)
{
    const char *torture = getenv("DCSR_TORTURE");
    uint64_t times = torture ? strtoull(torture, NULL, 10) : 1;
    return usual * (times ? times : 1);
}

size_t store_stride(size_t usual)
{
    return getenv("DCSR_TORTURE") ? 1 : usual;
}

/* ---- Folders and files ---- */

char *store_new_folder(void)
{
    const char *base = getenv("TEST_STORES");
    char path[PATH];
    if (!base) base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(path, sizeof path, "%s/dcsr-store-XXXXXX", base);
    cr_assert(mkdtemp(path), "cannot make a folder %s: %s", path, strerror(errno));
    return test_copy(path, strlen(path) + 1);
}

static int remove_one(const char *path, const struct stat *data, int kind, struct FTW *place)
{
    (void)data, (void)kind, (void)place;
    return remove(path);
}

void store_remove_folder(char *path)
{
    cr_assert(!nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), "cannot remove %s: %s", path,
              strerror(errno));
    free(path);
}

char *store_read_file(const char *folder, const char *name, size_t *bytes)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDONLY);
    struct stat data;
    cr_assert(file >= 0 && !fstat(file, &data), "cannot open %s: %s", path, strerror(errno));
    *bytes = (size_t)data.st_size;
    char *content = test_allocate(*bytes + 1, 1);
    cr_assert(read(file, content, *bytes) == data.st_size, "cannot read %s", path);
    close(file);
    return content;
}

void store_write_file(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    if (file < 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes || ftruncate(file, (off_t)bytes)) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        abort();
    }
    close(file);
}

/* ---- Children ---- */

store_child *store_child_new(void)
{
    void *map = mmap(NULL, sizeof(store_child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(map != MAP_FAILED);
    return map;
}

void store_child_free(store_child *child)
{
    munmap(child, sizeof *child);
}

pid_t store_child_start(store_child *child, store_child_function function, void *user)
{
    fflush(NULL);
    pid_t parent = getpid(), process = fork();
    cr_assert(process >= 0, "cannot fork: %s", strerror(errno));
    if (process) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    function(user, child);
    _exit(child->why[0] ? 1 : 0);
}

int store_child_wait(pid_t process)
{
    int status;
    while (waitpid(process, &status, 0) < 0) cr_assert(errno == EINTR, "waiting: %s", strerror(errno));
    return status;
}

int store_child_run(store_child *child, store_child_function function, void *user)
{
    return store_child_wait(store_child_start(child, function, user));
}

void store_child_await(const store_child *child, int count, uint64_t value)
{
    enum { LONGEST = 900 * 1000 };
    for (int i = 0; i < LONGEST && atomic_load(&child->count[count]) < value && !child->why[0]; i++)
        store_pause(1);
}

void store_child_expect(store_child *child, store_child_function function, void *user)
{
    int status = store_child_run(child, function, user);
    cr_assert(!child->why[0], "%s", child->why);
    cr_assert(!WIFSIGNALED(status), "it crashes with signal %d: %s", WTERMSIG(status), child->now);
    cr_assert(!WEXITSTATUS(status), "it ends with %d: %s", WEXITSTATUS(status), child->now);
}

void store_child_fail(store_child *child, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(child->why, sizeof child->why, format, list);
    va_end(list);
    fprintf(stderr, "%s\n", child->why);
    _exit(1);
}

dcsr_context *store_context(store_child *child, int threads)
{
    dcsr_context *context;
    STORE_OK(child, dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU,
                                                                          .threads = threads,
                                                                          .reserve_bytes = 64u << 20}));
    return context;
}

/* ---- Versions that are alike throughout ---- */

void store_write_alike(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t v)
{
    enum { SIDE = STORE_SIDE };
    dcsr_matrix *matrix;
    uint64_t rows[SIDE * SIDE], cols[SIDE * SIDE];
    int64_t values[SIDE * SIDE];
    size_t n = 0;
    for (uint64_t r = 0; r < SIDE; r++)
        for (uint64_t c = 0; c <= v % SIDE; c++, n++) rows[n] = r, cols[n] = c, values[n] = (int64_t)v;
    STORE_OK(child, dcsr_matrix_create(&matrix, context, DCSR_INT64, SIDE, SIDE, NULL));
    STORE_OK(child, dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    STORE_OK(child, dcsr_matrix_wait(matrix));
    STORE_OK(child, dcsr_store_snapshot(store, "alike", matrix, NULL));
    dcsr_matrix_destroy(matrix);
}

uint64_t store_see_alike(store_child *child, dcsr_view *view)
{
    dcsr_csr csr;
    STORE_OK(child, dcsr_view_get_csr(view, &csr));
    const int64_t *values = csr.values;
    uint64_t v = csr.nnz ? (uint64_t)values[0] : 0, length = v % STORE_SIDE + 1;
    if (csr.nnz != STORE_SIDE * length)
        store_child_fail(child, "%s: version %llu has %llu entries", child->now, (unsigned long long)v,
                         (unsigned long long)csr.nnz);
    for (uint64_t e = 0; e < csr.nnz; e++)
        if ((uint64_t)values[e] != v || csr.col_indices[e] != e % length ||
            csr.offsets[e / length] != e / length * length)
            store_child_fail(child, "%s: entry %llu of version %llu is of version %lld", child->now,
                             (unsigned long long)e, (unsigned long long)v, (long long)values[e]);
    return v;
}

uint64_t store_read_alike(store_child *child, dcsr_matrix *matrix)
{
    dcsr_view *view;
    STORE_OK(child, dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    uint64_t v = store_see_alike(child, view);
    dcsr_view_destroy(view);
    return v;
}
