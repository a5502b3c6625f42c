/* multi_view.h: what a view of a partitioned matrix is made of, for the operations that read it (internal). */
#ifndef DCSR_MULTI_VIEW_H
#define DCSR_MULTI_VIEW_H

#include "multi/devices.h"

/* Where something is cut: part k has begin[k] to begin[k + 1] - 1. Shared by all that is cut so; never changes. */
typedef struct dcsr_i_borders {
    _Atomic uint64_t references;
    uint64_t parts;
    uint64_t begin[DCSR_MAX_DEVICES + 1];
} dcsr_i_borders;

struct dcsr_multi_view {
    dcsr_multi *devices;
    dcsr_i_borders *rows, *cols; /* the same for a square matrix */
    dcsr_view *part[DCSR_MAX_DEVICES];
    uint64_t version;
    /* What the parts of products with this view need of others' vectors: exchange.c, made when it is first asked for. */
    pthread_mutex_t lock;
    struct dcsr_i_exchange *exchange;
};

#endif
