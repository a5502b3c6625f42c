/* multi_bfs.c: breadth-first search on several devices, level by level, as products over any-pair:
 *
 *      level<frontier> = depth                 part by part
 *      frontier<not level> = frontier A        by all devices; each has the edges of its vertices
 *
 * Each device finds what its part of the frontier leads to; the lists are merged by owner, and what has a level is
 * taken out there. Whether a device pushes or pulls is up to its product. */
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/reduce.h>
#include <dcsr/vector_ops.h>

static void give_level(dcsr_i_multi_work *w, dcsr_multi_vector *level, dcsr_multi_vector *frontier,
                       int32_t depth)
{
    const dcsr_desc reached = {.mask_structure = true};
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *to = dcsr_i_multi_part(w, level, k), *mask = dcsr_i_multi_part(w, frontier, k);
        if (!w->status)
            w->status = dcsr_vector_assign_scalar(to, mask, NULL, &depth, DCSR_INT32, NULL, &reached);
    }
}

/* Dense, so that a level costs what is reached there, and a mask is looked up by index. */
static void make_dense(dcsr_i_multi_work *w, dcsr_multi_vector *level)
{
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *part = dcsr_i_multi_part(w, level, k);
        if (!w->status) w->status = dcsr_vector_set_format(part, DCSR_VECTOR_DENSE);
    }
}

/* Entries of the rows of vertices that have a level. */
static uint64_t count_edges(dcsr_i_multi_work *w, dcsr_multi_vector *level)
{
    uint64_t all = 0;
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *rows = dcsr_i_multi_part(w, level, k);
        dcsr_view *part = NULL;
        uint64_t here = 0;
        if (!w->status) w->status = dcsr_multi_view_get_part(w->A, k, &part);
        if (!w->status) w->status = dcsr_view_count(part, rows, &here);
        all += here;
    }
    return all;
}

dcsr_status dcsr_multi_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_multi_view *A, uint64_t source)
{
    const dcsr_semiring *next_to = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    const dcsr_desc unreached = {.mask_complement = true, .mask_structure = true, .replace = true};
    dcsr_bfs_result found = {0};
    dcsr_i_multi_work w;
    if (!level)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_bfs: level is NULL; give an array");
    dcsr_i_multi_work_open(&w, A, "dcsr_multi_bfs");
    if (!w.status && source >= w.n)
        w.status =
            dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_multi_bfs: source %llu of %llu vertices",
                             (unsigned long long)source, (unsigned long long)w.n);
    dcsr_multi_vector *levels = dcsr_i_multi_take(&w, DCSR_INT32),
                      *frontier = dcsr_i_multi_take(&w, DCSR_BOOL);
    make_dense(&w, levels);
    if (!w.status) w.status = dcsr_multi_vector_set(frontier, source, &(bool){true});
    uint64_t count = 1;
    for (int32_t depth = 0; !w.status && count; depth++) {
        found.reached += count;
        found.max_level = (uint64_t)depth;
        found.level_sum += (uint64_t)depth * count;
        give_level(&w, levels, frontier, depth);
        if (!w.status)
            w.status = dcsr_multi_vxm(frontier, levels, NULL, next_to, frontier, A, &unreached, NULL);
        count = dcsr_i_multi_count_of(&w, frontier);
    }
    found.edges = count_edges(&w, levels);
    if (!w.status) w.status = dcsr_multi_vector_to_array(levels, &(int32_t){-1}, level);
    if (!w.status && result) *result = found;
    return dcsr_i_multi_work_close(&w);
}
