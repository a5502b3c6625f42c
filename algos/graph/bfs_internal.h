/* bfs_internal.h: the ways of searching breadth-first on the cpu (internal). */
#ifndef DCSR_BFS_INTERNAL_H
#define DCSR_BFS_INTERNAL_H

#include <dcsr/bfs.h>

/* dcsr_bfs() with a queue of its own, for arguments that have been checked; `entries` are those of the view.
 * level and *found are written only when nothing can fail any more. */
dcsr_status dcsr_i_bfs_queue(int32_t *level, dcsr_bfs_result *found, dcsr_view *A, uint64_t entries,
                             uint32_t source);

#endif
