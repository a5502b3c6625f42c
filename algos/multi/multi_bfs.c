/* multi_bfs.c: breadth-first search on several devices: a traversal from one vertex. */
#include <dcsr/extend.h>
#include <dcsr/multi.h>

dcsr_status dcsr_multi_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_multi_view *A, uint64_t source)
{
    if (!level)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_bfs: level is NULL; give an array");
    return dcsr_multi_traverse(level, result, A, 1, &source, NULL);
}
