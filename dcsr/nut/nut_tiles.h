/* nut_tiles.h: NuT, non-uniform tiles (internal; dcsr/nut.h draws them).
 *
 *      dcsr_i_nut              blocks, shared by the NuTs of several versions
 *      +------------+          +-----------------------------------------------------------+
 *      | block[0] --|--------->| panel 0: tiles, active columns, indices, values            |
 *      | block[1] --|---+      +-----------------------------------------------------------+
 *      | ...        |   |      +-----------------------------------------------------------+
 *      +------------+   +----->| panel 1                                                   |<--- next version's NuT
 *                              +-----------------------------------------------------------+
 *
 * A panel has memory of its own, which is counted; so a NuT that is refreshed has the panels of the last one, but for
 * those in which rows have changed, and leaves nothing behind.
 *
 * Invariants: panels follow one another and cover all rows; each has at most budget.rows of them, and exactly the tiles
 * that its active columns take, of budget.columns each but for the last one. Active columns ascend through the tiles of
 * a panel. Each entry is in one tile, once. Of a row, entries stand in the order of their columns, equal ones as they
 * are stored. What is not said by entries is fixed (values of markers, heads of lanes without elements), so that the
 * same rows in the same panels give the same bytes, on every device. */
#ifndef DCSR_NUT_TILES_H
#define DCSR_NUT_TILES_H

#include "dcsr/store/rowtable.h"
#include <dcsr/desc.h>
#include <dcsr/nut.h>

/* Indices have 15 bits beside the sign. Tiles begin at multiples of DCSR_I_NUT_ALIGNED elements. */
enum { DCSR_I_NUT_MOST = 1 << 15, DCSR_I_NUT_ALIGNED = 64 };
/* Lanes on the cpu: doubles in a vector of 512 bits. */
enum { DCSR_I_NUT_CPU_LANES = 8 };

typedef struct dcsr_i_nut_budget {
    uint32_t lanes, rows, columns;
    /* About so many panels there are to be at least, for as many to work on: one with more than its share of the
     * entries, by a factor of up to 2, is cut in halves. */
    uint64_t panels;
} dcsr_i_nut_budget;

/* A panel, and its memory where the entries are. */
typedef struct dcsr_i_nut_block {
    _Atomic uint64_t references;
    dcsr_context *context;
    bool on_device;
    size_t bytes;
    void *memory;
    dcsr_nut_panel shown;
} dcsr_i_nut_block;

typedef struct dcsr_i_nut {
    _Atomic uint64_t references;
    dcsr_context *context;
    bool on_device;
    uint64_t version; /* of the matrix; 0: of none */
    dcsr_i_nut_budget budget;
    dcsr_nut shown;
    dcsr_nut_panel *panels; /* shown.panels: copies of what the blocks show */
    dcsr_i_nut_block **block;
    dcsr_nut_panel *device_panels; /* on a device, there */
    uint64_t kept;                 /* panels that were taken over from the one that was refreshed */
} dcsr_i_nut;

/* What is asked for. */
typedef struct dcsr_i_nut_order {
    dcsr_context *context;
    const dcsr_i_rows *rows;
    dcsr_i_nut_budget budget;
    dcsr_i_nut *last; /* of other rows, with the same budget, from which panels are taken over; NULL: none */
    /* Whether rows first .. end-1 may hold other entries than when `last` was made; not asked where their number has
     * changed. */
    bool (*changed)(const void *user, uint64_t first, uint64_t end);
    const void *user;
    bool measures; /* the blocks are only given the bytes that they would take */
} dcsr_i_nut_order;

/* The budget for a type where the entries are: of the second-level cache, or of the shared memory of half a
 * multiprocessor, a third for rows and two thirds for columns. */
dcsr_i_nut_budget dcsr_i_nut_budget_for(const dcsr_context *context, dcsr_type type);
/* Makes the tiles of rows, with no tombstones among them; *nut is NULL on failure: OUT_OF_MEMORY, or TOO_LARGE where
 * there are far more rows or columns than entries. Memory besides, on the cpu: 8 bytes a row, and for each thread 3/16
 * bytes a column and some bytes for each entry of a panel; on a device 8 bytes a row, and 40 for each entry of the
 * panels that are made. */
dcsr_status dcsr_i_nut_create(dcsr_i_nut **nut, const dcsr_i_nut_order *order);
/* The bytes that it takes, from the context's pool DCSR_I_MATRIX, if all panels are made. Takes about half as long. */
dcsr_status dcsr_i_nut_measure(uint64_t *bytes, const dcsr_i_nut_order *order);
/* The bytes of one that is there, those of panels that others share included. */
uint64_t dcsr_i_nut_bytes(const dcsr_i_nut *nut);
/* An answer to order.changed, whose user it is: a dcsr_index_list of the rows that have changed, ascending. */
bool dcsr_i_nut_list_changed(const void *list, uint64_t first, uint64_t end);
void dcsr_i_nut_retain(dcsr_i_nut *nut);
void dcsr_i_nut_release(dcsr_i_nut *nut); /* NULL does nothing */

/* ---- For those who fill panels (nut_panels.c, nut_cuda.c) ---- */

/* Where the arrays of a panel are in its memory: bytes from its begin, each a multiple of 64. */
typedef struct dcsr_i_nut_layout {
    size_t tiles, col_indices, indices, values, bytes;
} dcsr_i_nut_layout;
dcsr_i_nut_layout dcsr_i_nut_layout_of(uint64_t tiles, uint64_t columns, uint64_t elements,
                                       size_t value_size);
/* Shows the arrays of a block in its memory. */
void dcsr_i_nut_show(dcsr_i_nut_block *block, const dcsr_i_nut_layout *layout, size_t value_size);
/* The elements from the begin of one tile to that of the next. */
static inline uint64_t dcsr_i_nut_room(uint64_t elements)
{
    return (elements + DCSR_I_NUT_ALIGNED - 1) / DCSR_I_NUT_ALIGNED * DCSR_I_NUT_ALIGNED;
}

/* Fills the blocks of the panels in a list, of which rows and entries are known. */
typedef dcsr_status dcsr_i_nut_fill(dcsr_i_nut *nut, const dcsr_i_nut_order *order, const uint32_t *list,
                                    uint64_t count);
dcsr_i_nut_fill dcsr_i_nut_fill_on_host;

/* What a device does of it (nut_cuda.c). */
typedef struct dcsr_i_nut_device {
    dcsr_status (*sum_lengths)(uint64_t *offsets, const dcsr_i_nut_order *order); /* in host memory */
    dcsr_i_nut_fill *fill;
    dcsr_status (*finish)(dcsr_i_nut *nut); /* makes device_panels */
    void (*free)(dcsr_context *context, void *memory, size_t bytes);
    size_t (*shared_bytes)(const dcsr_context *context, int *multiprocessors);
} dcsr_i_nut_device;
extern const dcsr_i_nut_device dcsr_i_cuda_nut_device; /* in builds with CUDA */

#endif
