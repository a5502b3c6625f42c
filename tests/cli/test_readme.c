/* test_readme.c: the examples of README.md. The lines between "README" and "end" stand there too; `make lint`
 * compares. */
#include "tests/support/support.h"
#include <dcsr/mxv.h>
#include <dcsr/vector_ops.h>

/* README */
/* level[v] = distance of v from the source, along the edges that the graph shows; no element where there is
 * none. */
static dcsr_status levels(dcsr_vector *level, dcsr_context *context, dcsr_view *graph, uint64_t vertices,
                          uint64_t source)
{
    const dcsr_semiring *reach = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    const dcsr_desc frontier_only = {.mask_structure = true};
    const dcsr_desc unvisited = {.mask_structure = true, .mask_complement = true, .replace = true};
    dcsr_vector *frontier;
    uint64_t n = 1;
    dcsr_status status = dcsr_vector_create(&frontier, context, DCSR_BOOL, vertices);
    if (!status) status = dcsr_vector_set(frontier, source, &(bool){true});
    for (int32_t depth = 0; !status && n; depth++) {
        status = dcsr_vector_assign_scalar(level, frontier, NULL, &depth, DCSR_INT32, NULL, &frontier_only);
        if (!status) status = dcsr_vxm(frontier, level, NULL, reach, frontier, graph, &unvisited);
        if (!status) status = dcsr_vector_get_nvals(frontier, &n);
    }
    dcsr_vector_destroy(frontier);
    return status;
}
/* end */

Test(readme, finds_levels)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 6, 6, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {0, 1, 1}, {1, 2, 1}, {1, 3, 1}, {3, 0, 1}, {4, 5, 1});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    dcsr_vector *level;
    uint64_t index[6], n;
    int32_t value[6];
    TEST_OK(dcsr_vector_create(&level, context, DCSR_INT32, 6));
    TEST_OK(levels(level, context, view, 6, 0));
    TEST_OK(dcsr_vector_get_entries(level, 6, index, value, &n));
    const int32_t expected[] = {0, 1, 2, 2};
    cr_assert(n == 4);
    for (uint64_t i = 0; i < n; i++) cr_assert(index[i] == i && value[i] == expected[i]);
    dcsr_vector_destroy(level);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
