/* multi_view.h: what a view of a partitioned matrix is made of, for the operations that read it (internal). */
#ifndef DCSR_MULTI_VIEW_H
#define DCSR_MULTI_VIEW_H

#include "dcsr/base/runtime.h"
#include "multi/devices.h"
#include <pthread.h>

/* Where something is cut: part k has begin[k] to begin[k + 1] - 1. Shared by all that is cut so; never changes. */
typedef struct dcsr_i_borders {
    _Atomic uint64_t references;
    uint64_t parts;
    uint64_t begin[DCSR_MAX_DEVICES + 1];
} dcsr_i_borders;

/* ---- multi_view.c; borders are NULL where there is no memory ---- */
/* Without borders yet; at equal shares of n. */
dcsr_i_borders *dcsr_i_borders_create(uint64_t parts);
dcsr_i_borders *dcsr_i_borders_even(uint64_t parts, uint64_t n);
/* The borders, unless they are NULL, at multiples of `grain`. */
dcsr_i_borders *dcsr_i_borders_round(dcsr_i_borders *borders, uint64_t grain);
/* Adds a reference. */
dcsr_i_borders *dcsr_i_borders_hold(dcsr_i_borders *borders);
void dcsr_i_borders_release(dcsr_i_borders *borders);
bool dcsr_i_borders_equal(const dcsr_i_borders *a, const dcsr_i_borders *b);
/* The size of what is cut. */
static inline uint64_t dcsr_i_borders_end(const dcsr_i_borders *borders)
{
    return borders->begin[borders->parts];
}
/* Where the kth of `count` equal shares of n begins. */
static inline uint64_t dcsr_i_even_border(uint64_t n, uint64_t k, uint64_t count)
{
    return n / count * k + n % count * k / count;
}
/* The part that has index i, which is before the last border. Most often there are few parts. */
static inline uint64_t dcsr_i_owner(const dcsr_i_borders *borders, uint64_t i)
{
    uint64_t low = 0, high = borders->parts;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if (borders->begin[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct dcsr_multi_view {
    dcsr_multi *devices;
    dcsr_i_borders *rows, *cols; /* the same for a square matrix */
    dcsr_view *part[DCSR_MAX_DEVICES];
    uint64_t version;
    pthread_mutex_t lock;             /* for what is made when it is first wanted: */
    struct dcsr_i_exchange *exchange; /* of parts on GPUs (exchange.h) */
};

/* A view, also of a matrix whose devices are being destroyed; nothing is checked. *view stays as it is on failure. */
dcsr_status dcsr_i_multi_view_make(dcsr_multi_view **view, dcsr_multi_matrix *matrix, dcsr_layout layout,
                                   unsigned flags);

#endif
