/* test_bfs_device.c: searches on a device: what the cpu finds, wherever the levels are to be; lack of memory.
 */
#include <dcsr/bfs.h>
#include "dcsr/base/alloc.h"
#include "ops/traverse/traverse_cuda.h"
#include "tests/support/support_device.h"

#include <stdlib.h>
#include <string.h>

/* The same graph on each device: a ring with chords, and a vertex with edges to half of the others. */
static void make_graph(dcsr_matrix *matrix, uint64_t n)
{
    uint64_t *rows = test_allocate(4 * n, sizeof *rows), *cols = test_allocate(4 * n, sizeof *cols);
    test_random random = {n};
    size_t count = 0;
    for (uint64_t v = 0; v < n; v++) {
        rows[count] = v, cols[count++] = (v + 1) % n;
        if (v % 2) rows[count] = n / 3, cols[count++] = v;
        if (v % 5 == 0) rows[count] = v, cols[count++] = test_random_below(&random, n);
    }
    for (size_t half = 0; half < 2; half++) {
        size_t first = half * (count / 2), many = half ? count - first : count / 2;
        TEST_OK(dcsr_matrix_insert(matrix, many, rows + first, cols + first, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    free(rows);
    free(cols);
}

static void check(dcsr_view *view, dcsr_view *model, uint64_t n, uint64_t source)
{
    size_t bytes = n * sizeof(int32_t);
    int32_t *wanted = test_allocate(n, sizeof *wanted), *level = test_allocate(n, sizeof *level);
    int32_t *there = (int32_t *)on_device(bytes);
    dcsr_bfs_result expected, result;
    TEST_OK(dcsr_bfs(wanted, &expected, model, source));
    TEST_OK(dcsr_bfs(level, &result, view, source));
    cr_assert(!memcmp(level, wanted, bytes) && !memcmp(&result, &expected, sizeof result));
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    TEST_OK(dcsr_bfs(there, NULL, view, source));
    memset(level, 0x5a, bytes);
    dcsr_i_cuda_copy(stream, level, there, bytes);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, bytes, 1);
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    cr_assert(!memcmp(level, wanted, bytes), "levels on the device");
    free(wanted);
    free(level);
}

Test(bfs_device, finds_what_the_cpu_finds)
{
    static const uint64_t sizes[] = {1, 31, 32, 33, 1023, 1025, 3000};
    open_device();
    dcsr_context *cpu;
    TEST_OK(dcsr_context_create(&cpu, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        dcsr_matrix *graph = test_matrix(context, DCSR_PATTERN, sizes[s], sizes[s], DCSR_POLICY_KEEP);
        dcsr_matrix *same = test_matrix(cpu, DCSR_PATTERN, sizes[s], sizes[s], DCSR_POLICY_KEEP);
        make_graph(graph, sizes[s]);
        make_graph(same, sizes[s]);
        for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            dcsr_view *view = test_view(graph, (dcsr_layout)layout, 0),
                      *model = test_view(same, (dcsr_layout)layout, 0);
            check(view, model, sizes[s], 0);
            check(view, model, sizes[s], sizes[s] / 3);
            check(view, model, sizes[s], sizes[s] - 1);
            dcsr_view_destroy(view);
            dcsr_view_destroy(model);
        }
        dcsr_matrix_destroy(graph);
        dcsr_matrix_destroy(same);
    }
    test_close(cpu);
    close_device();
}

/* Layers of a graph, each vertex of which leads to the next layer, and each vertex of which is led to. */
static void make_layers(dcsr_matrix *matrix, const uint64_t *width, size_t layers)
{
    uint64_t first = 0, most = 0;
    for (size_t l = 1; l < layers; l++) most += width[l - 1] + width[l];
    uint64_t *rows = test_allocate(most, sizeof *rows), *cols = test_allocate(most, sizeof *cols);
    size_t count = 0;
    for (size_t l = 1; l < layers; first += width[l - 1], l++) {
        const uint64_t here = width[l - 1], next = width[l];
        for (uint64_t i = 0; i < here; i++) rows[count] = first + i, cols[count++] = first + here + i % next;
        for (uint64_t i = 0; i < next; i++) rows[count] = first + i % here, cols[count++] = first + here + i;
    }
    for (size_t half = 0; half < 2; half++)
        TEST_OK(dcsr_matrix_insert(matrix, count / 2 + half * (count % 2), rows + half * (count / 2),
                                   cols + half * (count / 2), NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
}

/* From each way of searching a level to each other, and to a level just within its limits and beyond them. */
Test(bfs_device, changes_the_way_between_levels)
{
    enum { FEW = DCSR_CUDA_FEW_VERTICES, EDGES = DCSR_CUDA_SOME_EDGES, LONGEST = DCSR_CUDA_SOME_LONGEST };
    static const uint64_t width[] = {1,       1,           FEW / 2,   FEW,     FEW,
                                     FEW + 1, FEW - 1,     4 * FEW,   3 * FEW, FEW / 4,
                                     3,       LONGEST + 9, 2,         1,       FEW / 2,
                                     2 * FEW, EDGES,       EDGES / 2, 2 * FEW, EDGES,
                                     FEW / 3, 1,           1,         1,       DCSR_CUDA_FEW_EDGES + 1,
                                     2,       1,           1};
    enum { LAYERS = sizeof width / sizeof *width };
    uint64_t n = 0;
    open_device();
    NEEDS_GPU();
    for (size_t l = 0; l < LAYERS; l++) n += width[l];
    dcsr_matrix *graph = test_matrix(context, DCSR_PATTERN, n, n, DCSR_POLICY_KEEP);
    make_layers(graph, width, LAYERS);
    int32_t *level = test_allocate(n, sizeof *level);
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(graph, (dcsr_layout)layout, 0);
        dcsr_bfs_result result;
        uint64_t v = 0, sum = 0;
        TEST_OK(dcsr_bfs(level, &result, view, 0));
        for (size_t l = 0; l < LAYERS; l++) {
            for (const uint64_t end = v + width[l]; v < end; v++)
                cr_assert(level[v] == (int32_t)l, "vertex %llu of layer %zu: %d", (unsigned long long)v, l,
                          (int)level[v]);
            sum += l * width[l];
        }
        cr_assert(result.reached == n && result.max_level == LAYERS - 1 && result.level_sum == sum);
        cr_assert(result.edges == 2 * n - width[0] - width[LAYERS - 1]);
        dcsr_view_destroy(view);
    }
    free(level);
    dcsr_matrix_destroy(graph);
    close_device();
}

/* The prefix sum of each level takes memory: levels on the device must be as they were when the last one does
 * not get any. */
Test(bfs_device, leaves_levels_alone_when_memory_runs_out)
{
    enum { N = 100 };
    open_device();
    dcsr_matrix *graph = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
    make_graph(graph, N);
    dcsr_view *view = test_view(graph, DCSR_LAYOUT_SEGMENTS, 0);
    int32_t level[N], *there = (int32_t *)on_device(sizeof level);
    dcsr_bfs_result result = {.reached = 12345};
    uint64_t scratch = used(DCSR_I_SCRATCH);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    dcsr_i_cuda_fill(stream, there, 0x5a, sizeof level);
    for (; status != DCSR_OK; n++) {
        dcsr_i_cuda_copy(stream, level, there, sizeof level);
        TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
        for (int v = 0; v < N; v++)
            cr_assert(level[v] == 0x5a5a5a5a && result.reached == 12345, "after %ld", n);
        cr_assert(used(DCSR_I_SCRATCH) == scratch, "after %ld", n);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_bfs(there, &result, view, 0);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert(n > 1 && result.reached == N);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, sizeof level, 1);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(graph);
    close_device();
}
