/* ingest_window.c: the last N edges, or those of the last so many seconds, of a stream.
 *
 * A ring has the edges in order, each with its time, and a hash table has for each position that is in the
 * window when it was seen last. An edge that leaves the ring is gone only if it was not seen again. Positions
 * are 64 bits (2^32 rows, 2^31 columns), sequence numbers count edges from 1.
 *
 * Edges that come and go within one batch never reach the matrix, and those that have left it are removed before
 * the rest of the batch is inserted: so the matrix never holds more than the window, and one that is continued
 * after a kill between both becomes right with the next batch. */
#include "cli/ingest/ingest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_BITS = 31, LEAST = 1024 };

typedef struct seen {
    uint64_t key;
    uint64_t since, last; /* it came in with edge `since`, and was seen last as `last`; 0: no entry */
    bool stored;          /* in the matrix */
} seen;

typedef struct ring_edge {
    uint64_t key;
    double time;
} ring_edge;

struct ingest_window {
    uint64_t most;
    double seconds; /* most or these are 0 */
    bool symmetric;
    ring_edge *ring; /* edge number s at s % ring_room */
    uint64_t ring_room, first, next;
    seen *table; /* open addressing, linear probing */
    uint64_t table_room, entries;
    double newest;
    uint64_t late;
    uint64_t *row, *col, gone, gone_room;
};

ingest_window *ingest_window_create(const ingest_plan *plan)
{
    ingest_window *window = calloc(1, sizeof *window);
    if (!window) return NULL;
    *window = (ingest_window){.most = plan->window_edges,
                              .seconds = plan->window_seconds,
                              .symmetric = plan->symmetric,
                              .ring_room = LEAST,
                              .table_room = LEAST,
                              .first = 1,
                              .next = 1,
                              .newest = -INFINITY};
    window->ring = malloc(window->ring_room * sizeof *window->ring);
    window->table = calloc(window->table_room, sizeof *window->table);
    if (window->ring && window->table) return window;
    ingest_window_destroy(window);
    return NULL;
}

void ingest_window_destroy(ingest_window *window)
{
    if (!window) return;
    free(window->ring);
    free(window->table);
    free(window->row);
    free(window->col);
    free(window);
}

/* ---- The table ---- */

static uint64_t slot_of(const ingest_window *window, uint64_t key)
{
    key = (key ^ key >> 31) * UINT64_C(0x9e3779b97f4a7c15); /* the golden ratio, as in Fibonacci hashing */
    return (key ^ key >> 32) & (window->table_room - 1);
}

/* Where the key is, or would be. */
static seen *find(const ingest_window *window, uint64_t key)
{
    uint64_t s = slot_of(window, key);
    while (window->table[s].last && window->table[s].key != key) s = (s + 1) & (window->table_room - 1);
    return &window->table[s];
}

/* Removes an entry, and moves back those behind it that would not be found any more. */
static void drop(ingest_window *window, const seen *entry)
{
    const uint64_t mask = window->table_room - 1;
    uint64_t hole = (uint64_t)(entry - window->table);
    for (uint64_t s = (hole + 1) & mask; window->table[s].last; s = (s + 1) & mask) {
        const uint64_t home = slot_of(window, window->table[s].key);
        if (((s - home) & mask) < ((s - hole) & mask)) continue;
        window->table[hole] = window->table[s];
        hole = s;
    }
    window->table[hole] = (seen){0};
    window->entries--;
}

static bool grow_table(ingest_window *window)
{
    seen *old = window->table;
    const uint64_t room = window->table_room;
    if (2 * window->entries < room) return true;
    window->table = calloc(2 * room, sizeof *old);
    if (!window->table) {
        window->table = old;
        return false;
    }
    window->table_room = 2 * room;
    for (uint64_t s = 0; s < room; s++)
        if (old[s].last) *find(window, old[s].key) = old[s];
    free(old);
    return true;
}

/* ---- The ring ---- */

static bool grow_ring(ingest_window *window)
{
    const uint64_t room = window->ring_room;
    if (window->next - window->first < room) return true;
    ring_edge *ring = malloc(2 * room * sizeof *ring);
    if (!ring) return false;
    for (uint64_t s = window->first; s < window->next; s++) ring[s % (2 * room)] = window->ring[s % room];
    free(window->ring);
    window->ring = ring;
    window->ring_room = 2 * room;
    return true;
}

/* It has left the window, and the matrix if it was there. */
static bool expel(ingest_window *window, const seen *entry)
{
    if (entry->stored) {
        if (window->gone == window->gone_room) {
            const uint64_t room = 2 * window->gone_room + LEAST;
            uint64_t *row = realloc(window->row, room * sizeof *row);
            if (row) window->row = row;
            uint64_t *col = row ? realloc(window->col, room * sizeof *col) : NULL;
            if (!col) return false;
            window->col = col;
            window->gone_room = room;
        }
        window->row[window->gone] = entry->key >> COLUMN_BITS;
        window->col[window->gone++] = entry->key & ((UINT64_C(1) << COLUMN_BITS) - 1);
    }
    drop(window, entry);
    return true;
}

static bool expire(ingest_window *window)
{
    while (window->first < window->next) {
        const ring_edge *oldest = &window->ring[window->first % window->ring_room];
        const bool over = window->most ? window->next - window->first > window->most
                                       : oldest->time < window->newest - window->seconds;
        if (!over) break;
        const seen *entry = find(window, oldest->key);
        if (entry->last == window->first++ && !expel(window, entry)) return false;
    }
    return true;
}

/* ---- Batches ---- */

/* With --symmetric both directions are one edge. */
static uint64_t key_of(const ingest_window *window, uint64_t row, uint64_t col)
{
    if (window->symmetric && row > col) return col << COLUMN_BITS | row;
    return row << COLUMN_BITS | col;
}

static bool take_edge(ingest_window *window, uint64_t key, double time)
{
    window->late += time < window->newest;
    if (time > window->newest) window->newest = time;
    if (!grow_ring(window) || !grow_table(window)) return false;
    const uint64_t number = window->next++;
    window->ring[number % window->ring_room] = (ring_edge){key, window->newest};
    seen *entry = find(window, key);
    if (!entry->last) {
        *entry = (seen){.key = key, .since = number};
        window->entries++;
    }
    entry->last = number;
    return expire(window);
}

bool ingest_window_take(ingest_window *window, const dcsr_edge_batch *batch, bool *stays,
                        const uint64_t **rows, const uint64_t **cols, uint64_t *gone)
{
    const uint64_t first = window->next;
    window->gone = 0;
    for (uint64_t e = 0; e < batch->n; e++) {
        const uint64_t key = key_of(window, batch->row_indices[e], batch->col_indices[e]);
        if (!take_edge(window, key, batch->times ? batch->times[e] : 0)) return false;
    }
    /* What came in again after it had left begins anew: its earlier edges of this batch are none. */
    for (uint64_t e = 0; e < batch->n; e++) {
        seen *entry = find(window, key_of(window, batch->row_indices[e], batch->col_indices[e]));
        stays[e] = entry->last && first + e >= entry->since;
        entry->stored = entry->stored || stays[e];
    }
    *rows = window->row;
    *cols = window->col;
    *gone = window->gone;
    return true;
}

uint64_t ingest_window_late(const ingest_window *window)
{
    return window->late;
}

uint64_t ingest_window_size(const ingest_window *window)
{
    return window->entries;
}
