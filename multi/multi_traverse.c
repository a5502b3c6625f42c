/* multi_traverse.c: breadth-first search of a matrix in parts. On the cpu levels are products over any-pair, as those
 * of dcsr_bfs() are:
 *
 *      level<frontier> = depth                 each device its part
 *      frontier<not level> = frontier A        by all devices; each has the edges of its vertices
 *
 * where a device pushes or pulls as its product chooses. On GPUs a traversal with a list of its own does it
 * (multi_traverse_cuda.c). */
#include "dcsr/base/threads.h"
#include "multi/multi_operation.h"
#include "multi/multi_traverse_cuda.h"
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/vector_ops.h>

static dcsr_i_multi_traverse *const device_traverse = DCSR_I_IN_CUDA(dcsr_i_cuda_multi_traverse);

/* ---- By products ---- */

typedef struct search {
    dcsr_multi_view *A;
    dcsr_multi_vector *level, *frontier;
    int32_t depth;
    uint64_t edges[DCSR_MAX_DEVICES];
} search;

/* Dense, so that a level costs what is reached there, and a mask is looked up by index. */
static dcsr_status make_dense(void *user, uint64_t k)
{
    const search *s = user;
    return dcsr_vector_set_format(s->level->part[k], DCSR_VECTOR_DENSE);
}

static dcsr_status give_level(void *user, uint64_t k)
{
    const search *s = user;
    const dcsr_desc reached = {.mask_structure = true};
    return dcsr_vector_assign_scalar(s->level->part[k], s->frontier->part[k], NULL, &s->depth, DCSR_INT32,
                                     NULL, &reached);
}

/* Entries of the rows of vertices that have a level. */
static dcsr_status count_edges(void *user, uint64_t k)
{
    search *s = user;
    return dcsr_view_count(s->A->part[k], s->level->part[k], &s->edges[k]);
}

static dcsr_status search_levels(search *s, dcsr_traverse_result *found, dcsr_multi_report *cost)
{
    const dcsr_semiring *next_to = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    const dcsr_desc unreached = {.mask_complement = true, .mask_structure = true, .replace = true};
    uint64_t count;
    DCSR_TRY(dcsr_multi_run(s->A->devices, make_dense, s));
    DCSR_TRY(dcsr_multi_vector_get_nvals(s->frontier, &count));
    for (; count; s->depth++) {
        dcsr_multi_report report;
        found->reached += count;
        found->max_level = (uint64_t)s->depth;
        found->level_sum += (uint64_t)s->depth * count;
        DCSR_TRY(dcsr_multi_run(s->A->devices, give_level, s));
        DCSR_TRY(
            dcsr_multi_vxm(s->frontier, s->level, NULL, next_to, s->frontier, s->A, &unreached, &report));
        DCSR_TRY(dcsr_multi_vector_get_nvals(s->frontier, &count));
        cost->communication += report.communication;
        cost->bytes += report.bytes;
    }
    DCSR_TRY(dcsr_multi_run(s->A->devices, count_edges, s));
    for (uint64_t k = 0; k < s->A->rows->parts; k++) found->edges += s->edges[k];
    return DCSR_OK;
}

static dcsr_status by_products(int32_t *level, dcsr_traverse_result *found, dcsr_multi_view *A, uint64_t n,
                               const uint64_t *sources, dcsr_multi_report *cost)
{
    search s = {.A = A};
    dcsr_status status = dcsr_multi_vector_create(&s.level, A, DCSR_INT32, false);
    if (status == DCSR_OK) status = dcsr_multi_vector_create(&s.frontier, A, DCSR_BOOL, false);
    for (uint64_t i = 0; i < n && status == DCSR_OK; i++)
        status = dcsr_multi_vector_set(s.frontier, sources[i], &(bool){true});
    if (status == DCSR_OK) status = search_levels(&s, found, cost);
    if (status == DCSR_OK) status = dcsr_multi_vector_to_array(s.level, &(int32_t){-1}, level);
    dcsr_multi_vector_destroy(s.frontier);
    dcsr_multi_vector_destroy(s.level);
    return status;
}

/* ---- The call ---- */

static dcsr_status check(const int32_t *level, const dcsr_multi_view *A, uint64_t n, const uint64_t *sources)
{
    DCSR_TRY(dcsr_i_multi_check_view(A, "multi_traverse"));
    const uint64_t rows = dcsr_i_borders_end(A->rows), cols = dcsr_i_borders_end(A->cols);
    if (rows != cols)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "multi_traverse: A is %llu x %llu; it must be square", (unsigned long long)rows,
                           (unsigned long long)cols);
    if (n && !sources)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_traverse: sources is NULL, but n is %llu",
                           (unsigned long long)n);
    if (!level && rows)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_traverse: level is NULL; give it an element for each row");
    for (uint64_t i = 0; i < n; i++)
        if (sources[i] >= rows)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "multi_traverse: source %llu of %llu vertices",
                               (unsigned long long)sources[i], (unsigned long long)rows);
    return DCSR_OK;
}

dcsr_status dcsr_multi_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_multi_view *A, uint64_t n,
                                const uint64_t *sources, dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_traverse_result found = {0};
    dcsr_multi_report cost = {.direction = DCSR_DIRECTION_PUSH};
    DCSR_TRY(check(level, A, n, sources));
    if (dcsr_i_multi_context(A->devices, 0)->cuda) {
        dcsr_i_multi_cost each = {.report[0].direction = DCSR_DIRECTION_PUSH};
        DCSR_TRY(device_traverse(level, &found, A, n, sources, &each, report != NULL));
        dcsr_i_multi_tell(&cost, &each, A->rows->parts, began);
    } else {
        DCSR_TRY(by_products(level, &found, A, n, sources, &cost));
        cost.seconds = (double)(dcsr_i_nanoseconds() - began) * 1e-9;
    }
    if (result) *result = found;
    if (report) *report = cost;
    return DCSR_OK;
}
