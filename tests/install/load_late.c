/* load_late.c: loads libdcsr.so into a program that is running, has no jemalloc, and is linked with nothing of
 * ours; then takes a matrix through its life. usage: load_late LIBRARY */
#include <dcsr/dcsr.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "load_late: %s\n", what);
    exit(1);
}

/* ISO C has no cast from what dlsym() returns. */
static void look_up(void *function, const char *name)
{
    void *symbol = dlsym(library, name);
    require(symbol, dlerror());
    memcpy(function, &symbol, sizeof symbol);
}
#define LOOK_UP(name)       \
    __typeof__(name) *name; \
    look_up(&name, #name)

static bool has_jemalloc(void)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    require(maps, "/proc/self/maps cannot be read");
    while (fgets(line, sizeof line, maps)) found |= strstr(line, "jemalloc") != NULL;
    fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    require(argc == 2, "usage: load_late LIBRARY");
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    require(library, library ? "" : dlerror());
    require(!has_jemalloc(), "jemalloc is in this process");
    LOOK_UP(dcsr_context_create);
    LOOK_UP(dcsr_context_get_info);
    LOOK_UP(dcsr_context_destroy);
    LOOK_UP(dcsr_matrix_create);
    LOOK_UP(dcsr_matrix_insert);
    LOOK_UP(dcsr_matrix_wait);
    LOOK_UP(dcsr_matrix_destroy);
    LOOK_UP(dcsr_view_create);
    LOOK_UP(dcsr_view_get_csr_on_host);
    LOOK_UP(dcsr_view_destroy);
    dcsr_context *context;
    dcsr_context_info info;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_csr csr;
    const uint64_t rows[] = {2, 0, 2}, cols[] = {1, 3, 0};
    const double values[] = {1.5, 2, -4};
    require(!dcsr_context_create(&context, NULL), "no context");
    require(!dcsr_context_get_info(context, &info) && !strcmp(info.allocator, "system"),
            "the allocator is not the system's");
    require(!dcsr_matrix_create(&matrix, context, DCSR_FP64, 4, 4, NULL), "no matrix");
    require(!dcsr_matrix_insert(matrix, 3, rows, cols, values, NULL), "nothing inserted");
    require(!dcsr_matrix_wait(matrix), "not waited");
    require(!dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED), "no view");
    require(!dcsr_view_get_csr_on_host(view, &csr), "no arrays");
    const uint64_t offsets[] = {0, 1, 1, 3, 3};
    const uint32_t columns[] = {3, 0, 1};
    const double expected[] = {2, -4, 1.5};
    require(csr.nnz == 3 && !memcmp(csr.offsets, offsets, sizeof offsets) &&
                !memcmp(csr.col_indices, columns, sizeof columns) &&
                !memcmp(csr.values, expected, sizeof expected),
            "other entries than were inserted");
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    return 0;
}
