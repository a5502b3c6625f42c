/* nearest.h: vertices that wait in the order of their distances, nearly (internal).
 *
 * A distance counts in steps of a width. Vertices whose counts agree with `now` but for the last 6 bits wait in one of
 * 64 buckets by these; others in 64 buckets by the highest 6 bits in which they differ, and so on: a radix heap of 64
 * buckets a level (R. Ahuja, K. Mehlhorn, J. Orlin, R. Tarjan 1990), so most vertices are put into one bucket alone:
 *
 *      level 0    now, now + 1, ...           each of one width: taken in any order
 *      level 1    of 64 widths each           distributed when level 0 is empty
 *      level 2    of 4096 ...
 *
 * What is added to a bucket that is being taken has its turn behind all that was in it, as of Bellman and Ford.
 * A vertex that comes nearer goes to another bucket and stays in the one where it was, too: who takes vertices passes
 * those over that do not wait. A bucket is a list of bunches of vertices, so what is read soon is known. */
#ifndef DCSR_FOLLOW_NEAREST_H
#define DCSR_FOLLOW_NEAREST_H

#include <dcsr/extend.h>

/* A vertex of a tree of shortest paths. */
typedef struct dcsr_i_path_node {
    double distance;
    uint32_t above; /* in the tree; UINT32_MAX for the source and what is not reached */
    uint32_t state; /* DCSR_I_WAITS, and the user's */
} dcsr_i_path_node;
enum { DCSR_I_WAITS = 1 };

enum { DCSR_I_BUNCH = 62, DCSR_I_NEAREST_BITS = 6, DCSR_I_NEAREST_LEVELS = 11 };

typedef struct dcsr_i_bunch {
    uint32_t next; /* of the bucket, or of those that are free */
    uint32_t count;
    uint32_t vertex[DCSR_I_BUNCH];
} dcsr_i_bunch;

typedef struct dcsr_i_nearest {
    dcsr_context *context;
    double per_width; /* 1 / width */
    uint64_t now;
    uint64_t filled[DCSR_I_NEAREST_LEVELS]; /* a bit for each bucket */
    uint32_t first[DCSR_I_NEAREST_LEVELS][1 << DCSR_I_NEAREST_BITS];
    dcsr_i_bunch *bunch;
    uint32_t used, room; /* bunches */
    uint32_t free;       /* the first of those given back, or UINT32_MAX */
    uint32_t open;       /* the first of the bucket that is being taken, or UINT32_MAX */
    dcsr_status status;  /* OUT_OF_MEMORY: vertices were lost */
} dcsr_i_nearest;

/* Empties it, for distances from 0 on and a width above 0. */
void dcsr_i_nearest_begin(dcsr_i_nearest *q, double width);
void dcsr_i_nearest_free(dcsr_i_nearest *q);

/* Adds v, which waits from now on. Its distance is not below that of any vertex of the bucket taken from last, nor more
 * than it ever was while it waited. */
void dcsr_i_nearest_add(dcsr_i_nearest *q, dcsr_i_path_node *node, uint32_t v);

/* v, which may wait already, has come nearer, to this distance. The same holds. */
void dcsr_i_nearest_lower(dcsr_i_nearest *q, dcsr_i_path_node *node, uint32_t v, double distance);

/* Takes vertices of the nearest bucket: their number, 0 when none is left, or after a failure. Those that do not wait
 * (any more) are to be passed over. */
uint32_t dcsr_i_nearest_take(dcsr_i_nearest *q, const dcsr_i_path_node *node, uint32_t vertex[DCSR_I_BUNCH]);

#endif
