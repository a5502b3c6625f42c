/* found.h: what threads find side by side, on one list (internal).
 *
 *      #pragma omp parallel
 *      {
 *          dcsr_i_finds own;                                   of this thread, on their way to the list
 *          own.count = 0;
 *          #pragma omp for
 *          for (...) dcsr_i_found_add(&list, &own, v);
 *          dcsr_i_found_flush(&list, &own);
 *      }
 *
 * The order on the list is any. There has to be room for all. */
#ifndef DCSR_GRAPH_FOUND_H
#define DCSR_GRAPH_FOUND_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef struct dcsr_i_found {
    uint32_t *at;
    _Atomic uint64_t count;
} dcsr_i_found;

enum { DCSR_I_FINDS = 256 };
typedef struct dcsr_i_finds {
    uint32_t at[DCSR_I_FINDS];
    uint64_t count;
} dcsr_i_finds;

static inline void dcsr_i_found_flush(dcsr_i_found *list, dcsr_i_finds *own)
{
    const uint64_t at = atomic_fetch_add_explicit(&list->count, own->count, memory_order_relaxed);
    memcpy(list->at + at, own->at, own->count * sizeof *own->at);
    own->count = 0;
}

static inline void dcsr_i_found_add(dcsr_i_found *list, dcsr_i_finds *own, uint32_t v)
{
    if (own->count == DCSR_I_FINDS) dcsr_i_found_flush(list, own);
    own->at[own->count++] = v;
}

/* The same where nobody else adds meanwhile. */
static inline void dcsr_i_found_add_alone(dcsr_i_found *list, uint32_t v)
{
    const uint64_t at = atomic_load_explicit(&list->count, memory_order_relaxed);
    list->at[at] = v;
    atomic_store_explicit(&list->count, at + 1, memory_order_relaxed);
}

/* Makes the list the one that is gone through next, and empties it; how many that are. */
static inline uint64_t dcsr_i_found_turn(dcsr_i_found *list, uint32_t **now)
{
    const uint64_t count = list->count;
    uint32_t *done = *now;
    *now = list->at;
    list->at = done;
    list->count = 0;
    return count;
}

#endif
