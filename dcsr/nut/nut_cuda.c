/* nut_cuda.c: tiles on a device: memory, and the steps in which kernels make them. */
#include "dcsr/nut/nut_cuda.h"
#include "dcsr/base/cuda.h"
#include "dcsr/base/sort.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/scratch_cuda.h"
#include "dcsr/nut/nut_tiles.h"
#include <string.h>

static const char what[] = "making tiles";

/* Runs are counted with 32 bits. */
#define MOST_ENTRIES UINT32_MAX

typedef struct making {
    dcsr_i_nut *nut;
    const dcsr_i_nut_order *order;
    const uint32_t *list; /* panels */
    uint64_t count;
    uint64_t entries, rows, tiles, columns; /* of these panels */
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_scratch scratch;
    dcsr_i_cuda_nut_panels panels;
    uint64_t *keys, *keys_spare, *payload, *payload_spare, *runs;
    uint32_t *all_columns;
    /* In host memory. */
    uint64_t *first_entry; /* count + 1 */
    uint64_t *first_column;
    uint64_t *first_tile;
    uint64_t *tile_entry, *tile_row; /* tiles + 1 */
} making;

/* ---- Memory ---- */

static void *take(making *m, uint64_t n, size_t size)
{
    return dcsr_i_cuda_scratch_take(&m->scratch, n, size);
}

static void *on_host(const making *m, uint64_t n, size_t size)
{
    return dcsr_i_alloc(m->nut->context, DCSR_I_SCRATCH, n, size);
}

static void free_on_host(const making *m, void *block, uint64_t n, size_t size)
{
    dcsr_i_free(m->nut->context, DCSR_I_SCRATCH, block, n, size);
}

/* A copy of what is in host memory, which stays as it is until the stream is waited for; NULL: no memory. */
static void *send(making *m, const void *from, uint64_t n, size_t size)
{
    void *there = take(m, n, size);
    if (there) dcsr_i_cuda_copy(m->stream, there, from, n * size);
    return there;
}

/* ---- Steps ---- */

/* Which panels, and which rows those are. */
static dcsr_status describe(making *m, dcsr_i_cuda_walk *walk)
{
    const bool all = !m->nut->kept;
    const uint64_t all_rows = m->order->rows->rows;
    m->first_entry = on_host(m, m->count + 1, sizeof *m->first_entry);
    m->first_column = on_host(m, m->count + 1, sizeof *m->first_column);
    m->first_tile = on_host(m, m->count + 1, sizeof *m->first_tile);
    uint32_t *first_row = on_host(m, m->count, sizeof *first_row), *rows = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (m->first_entry && m->first_column && m->first_tile && first_row) {
        m->first_entry[0] = 0;
        for (uint64_t k = 0; k < m->count; k++) {
            const dcsr_nut_panel *panel = &m->nut->block[m->list[k]]->shown;
            first_row[k] = (uint32_t)panel->row;
            m->first_entry[k + 1] = m->first_entry[k] + panel->nnz;
            m->rows += panel->rows;
        }
        m->entries = m->first_entry[m->count];
        rows = on_host(m, all ? 0 : m->rows, sizeof *rows);
    }
    if (rows) {
        uint64_t n = 0;
        for (uint64_t k = 0; !all && k < m->count; k++)
            for (uint64_t r = 0; r < m->nut->block[m->list[k]]->shown.rows; r++)
                rows[n++] = first_row[k] + (uint32_t)r;
        const uint64_t walked = all ? all_rows : n;
        uint64_t *offsets = take(m, walked + 1, sizeof *offsets);
        m->panels = (dcsr_i_cuda_nut_panels){
            .count = m->count,
            .first_row = send(m, first_row, m->count, sizeof *first_row),
            .first_entry = send(m, m->first_entry, m->count + 1, sizeof *m->first_entry),
            .columns = m->nut->budget.columns,
            .column_bits = dcsr_i_bits_for(m->order->rows->cols)};
        *walk = (dcsr_i_cuda_walk){m->order->rows->device, all ? NULL : send(m, rows, n, sizeof *rows),
                                   walked, offsets};
        const bool sent = offsets && m->panels.first_row && m->panels.first_entry && (all || walk->list);
        status = sent ? dcsr_i_cuda_sum_lengths(m->stream, &walk->rows, walk->list, walked, offsets)
                      : dcsr_i_no_memory();
        const dcsr_status waited = dcsr_i_cuda_wait(m->stream, what);
        if (status == DCSR_OK) status = waited;
    }
    free_on_host(m, rows, all ? 0 : m->rows, sizeof *rows);
    free_on_host(m, first_row, m->count, sizeof *first_row);
    return status;
}

/* Numbers the active columns of each panel. */
static dcsr_status find_columns(making *m, const dcsr_i_cuda_walk *walk)
{
    const int bits = m->panels.column_bits;
    uint64_t **const arrays[] = {&m->keys, &m->keys_spare, &m->payload, &m->payload_spare};
    for (int i = 0; i < 4; i++)
        if (!(*arrays[i] = take(m, m->entries, sizeof(uint64_t)))) return dcsr_i_no_memory();
    m->runs = take(m, m->entries + 1, sizeof *m->runs);
    uint64_t *first = take(m, m->count + 1, sizeof *first);
    if (!m->runs || !first) return dcsr_i_no_memory();
    dcsr_i_cuda_nut_number(m->stream, walk, m->entries, &m->panels, m->keys, m->payload);
    DCSR_TRY(dcsr_i_cuda_sort(m->stream, &m->keys, &m->keys_spare, &m->payload, &m->payload_spare, m->entries,
                              0, bits + dcsr_i_bits_for(m->count)));
    DCSR_TRY(dcsr_i_cuda_scan_runs(m->stream, m->keys, NULL, m->entries, 0, bits, m->runs));
    dcsr_i_cuda_nut_count(m->stream, &m->panels, m->runs, first);
    dcsr_i_cuda_copy(m->stream, m->first_column, first, (m->count + 1) * sizeof *first);
    return dcsr_i_cuda_wait(m->stream, what);
}

/* Brings entries into the order of tiles and rows, and counts what each tile has. */
static dcsr_status sort_by_tile(making *m)
{
    m->first_tile[0] = 0;
    for (uint64_t k = 0; k < m->count; k++) {
        const uint64_t columns = m->first_column[k + 1] - m->first_column[k];
        m->first_tile[k + 1] = m->first_tile[k] + (columns + m->panels.columns - 1) / m->panels.columns;
    }
    m->tiles = m->first_tile[m->count];
    m->columns = m->first_column[m->count];
    m->panels.first_tile = send(m, m->first_tile, m->count + 1, sizeof *m->first_tile);
    m->all_columns = take(m, m->columns, sizeof *m->all_columns);
    m->tile_entry = on_host(m, m->tiles + 1, sizeof *m->tile_entry);
    m->tile_row = on_host(m, m->tiles + 1, sizeof *m->tile_row);
    uint64_t *entry = take(m, m->tiles + 1, sizeof *entry), *row = take(m, m->tiles + 1, sizeof *row);
    if (!m->panels.first_tile || !m->all_columns || !m->tile_entry || !m->tile_row || !entry || !row)
        return dcsr_i_no_memory();
    dcsr_i_cuda_nut_turn(m->stream, &m->panels, m->runs, m->entries, m->keys, m->payload, m->all_columns);
    DCSR_TRY(dcsr_i_cuda_sort(m->stream, &m->keys, &m->keys_spare, &m->payload, &m->payload_spare, m->entries,
                              0, DCSR_CUDA_NUT_ROW_BITS + dcsr_i_bits_for(m->tiles)));
    DCSR_TRY(dcsr_i_cuda_scan_runs(m->stream, m->keys, NULL, m->entries, 0, DCSR_CUDA_NUT_ROW_BITS, m->runs));
    dcsr_i_cuda_nut_measure(m->stream, m->runs, m->entries, m->tiles, entry, row);
    dcsr_i_cuda_copy(m->stream, m->tile_entry, entry, (m->tiles + 1) * sizeof *entry);
    dcsr_i_cuda_copy(m->stream, m->tile_row, row, (m->tiles + 1) * sizeof *row);
    return dcsr_i_cuda_wait(m->stream, what);
}

/* The tiles of panel k, and memory for them. */
static dcsr_status open_panel(making *m, uint64_t k, dcsr_nut_tile *tile, dcsr_i_cuda_nut_open *open,
                              dcsr_i_cuda_nut_target *target)
{
    dcsr_i_nut_block *block = m->nut->block[m->list[k]];
    const size_t size = m->order->rows->device.value_size;
    const uint64_t first = m->first_tile[k], tiles = m->first_tile[k + 1] - first, most = m->panels.columns,
                   columns = m->first_column[k + 1] - m->first_column[k];
    uint64_t begin = 0;
    for (uint64_t t = first; t < first + tiles; t++) {
        const uint64_t column = (t - first) * most, left = columns - column;
        open[t] = (dcsr_i_cuda_nut_open){.items = m->tile_entry[t + 1] - m->tile_entry[t] +
                                                  m->tile_row[t + 1] - m->tile_row[t],
                                         .first_entry = m->tile_entry[t],
                                         .first_row = m->tile_row[t]};
        tile[t] = (dcsr_nut_tile){.begin = begin,
                                  .elements = m->nut->budget.lanes + open[t].items,
                                  .column = (uint32_t)column,
                                  .columns = (uint32_t)(left < most ? left : most)};
        begin += dcsr_i_nut_room(tile[t].elements);
    }
    const dcsr_i_nut_layout layout = dcsr_i_nut_layout_of(tiles, columns, begin, size);
    if (!m->order->measures) block->memory = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, layout.bytes, 1);
    if (!m->order->measures && !block->memory) return dcsr_i_no_memory();
    block->bytes = layout.bytes;
    if (m->order->measures) return DCSR_OK;
    block->shown.tile_count = tiles;
    dcsr_i_nut_show(block, &layout, size);
    for (uint64_t t = first; t < first + tiles; t++) {
        open[t].indices = (int16_t *)block->shown.indices + tile[t].begin;
        open[t].values = size ? (char *)block->shown.values + tile[t].begin * size : NULL;
    }
    *target = (dcsr_i_cuda_nut_target){.tiles = (dcsr_nut_tile *)block->shown.tiles,
                                       .columns = (uint32_t *)block->shown.col_indices,
                                       .indices = (int16_t *)block->shown.indices,
                                       .values = (char *)block->shown.values,
                                       .tile_count = tiles,
                                       .column_count = columns,
                                       .elements = begin,
                                       .first_tile = first,
                                       .first_column = m->first_column[k]};
    return DCSR_OK;
}

static dcsr_status write_panels(making *m)
{
    dcsr_nut_tile *tiles = on_host(m, m->tiles, sizeof *tiles);
    dcsr_i_cuda_nut_open *open = on_host(m, m->tiles, sizeof *open);
    dcsr_i_cuda_nut_target *targets = on_host(m, m->count, sizeof *targets);
    dcsr_status status = tiles && open && targets ? DCSR_OK : dcsr_i_no_memory();
    for (uint64_t k = 0; status == DCSR_OK && k < m->count; k++)
        status = open_panel(m, k, tiles, open, &targets[k]);
    if (status == DCSR_OK && !m->order->measures) {
        const dcsr_i_cuda_rows *rows = &m->order->rows->device;
        const dcsr_i_cuda_nut_entries entries = {.keys = m->keys,
                                                 .payload = m->payload,
                                                 .runs = m->runs,
                                                 .count = m->entries,
                                                 .values = rows->values,
                                                 .value_size = rows->value_size,
                                                 .lanes = m->nut->budget.lanes};
        const dcsr_nut_tile *all = send(m, tiles, m->tiles, sizeof *tiles);
        const dcsr_i_cuda_nut_open *opened = send(m, open, m->tiles, sizeof *open);
        const dcsr_i_cuda_nut_target *to = send(m, targets, m->count, sizeof *targets);
        if (all && opened && to) {
            dcsr_i_cuda_nut_open_panels(m->stream, to, m->count, rows->value_size, all, m->all_columns);
            dcsr_i_cuda_nut_scatter(m->stream, &entries, opened);
        } else {
            status = dcsr_i_no_memory();
        }
    }
    const dcsr_status waited = dcsr_i_cuda_wait(m->stream, what);
    free_on_host(m, targets, m->count, sizeof *targets);
    free_on_host(m, open, m->tiles, sizeof *open);
    free_on_host(m, tiles, m->tiles, sizeof *tiles);
    return status == DCSR_OK ? waited : status;
}

static dcsr_status make(making *m)
{
    dcsr_i_cuda_walk walk;
    DCSR_TRY(describe(m, &walk));
    if (m->entries >= MOST_ENTRIES)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "tiles of %llu entries: on a device they are of fewer than 2^32; use a view of "
                           "DCSR_LAYOUT_SEGMENTS",
                           (unsigned long long)m->entries);
    DCSR_TRY(find_columns(m, &walk));
    DCSR_TRY(sort_by_tile(m));
    return write_panels(m);
}

static dcsr_status fill(dcsr_i_nut *nut, const dcsr_i_nut_order *order, const uint32_t *list, uint64_t count)
{
    making m = {.nut = nut, .order = order, .list = list, .count = count};
    m.stream = dcsr_i_stream_borrow(nut->context);
    if (!m.stream) return dcsr_i_no_memory();
    m.scratch.stream = m.stream;
    const dcsr_status status = make(&m);
    dcsr_i_cuda_scratch_drop(&m.scratch);
    dcsr_i_cuda_settle(m.stream, what);
    free_on_host(&m, m.tile_row, m.tiles + 1, sizeof *m.tile_row);
    free_on_host(&m, m.tile_entry, m.tiles + 1, sizeof *m.tile_entry);
    free_on_host(&m, m.first_tile, count + 1, sizeof *m.first_tile);
    free_on_host(&m, m.first_column, count + 1, sizeof *m.first_column);
    free_on_host(&m, m.first_entry, count + 1, sizeof *m.first_entry);
    dcsr_i_stream_return(nut->context, m.stream);
    return status;
}

/* ---- What nut_tiles.c asks for ---- */

static dcsr_status sum_lengths(uint64_t *offsets, const dcsr_i_nut_order *order)
{
    const dcsr_i_cuda_rows *rows = &order->rows->device;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(order->context);
    if (!stream) return dcsr_i_no_memory();
    uint64_t *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *there);
    dcsr_status status =
        there ? dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, there) : dcsr_i_no_memory();
    if (status == DCSR_OK) dcsr_i_cuda_copy(stream, offsets, there, (rows->rows + 1) * sizeof *there);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, rows->rows + 1, sizeof *there);
    const dcsr_status waited = dcsr_i_cuda_wait(stream, what);
    dcsr_i_stream_return(order->context, stream);
    return status == DCSR_OK ? waited : status;
}

static dcsr_status finish(dcsr_i_nut *nut)
{
    const uint64_t count = nut->shown.panel_count;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(nut->context);
    if (!stream) return dcsr_i_no_memory();
    nut->device_panels = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, count, sizeof *nut->device_panels);
    if (nut->device_panels)
        dcsr_i_cuda_copy(stream, nut->device_panels, nut->panels, count * sizeof *nut->device_panels);
    const dcsr_status waited = dcsr_i_cuda_wait(stream, what);
    dcsr_i_stream_return(nut->context, stream);
    return nut->device_panels ? waited : dcsr_i_no_memory();
}

static void free_idle(dcsr_context *context, void *memory, size_t bytes)
{
    dcsr_i_cuda_free_idle(context->cuda, DCSR_I_MATRIX, memory, bytes, 1);
}

/* Two blocks share a multiprocessor, which keeps some of its memory for itself. */
static size_t shared_bytes(const dcsr_context *context, int *multiprocessors)
{
    const dcsr_i_cuda_properties *properties = dcsr_i_cuda_describe(context->cuda);
    *multiprocessors = properties->multiprocessors;
#ifdef DCSR_SIMT
    return 4096; /* so that tests see many panels */
#else
    enum { KEPT = 2048 };
    return properties->shared_bytes / 2 - KEPT;
#endif
}

const dcsr_i_nut_device dcsr_i_cuda_nut_device = {.sum_lengths = sum_lengths,
                                                  .fill = fill,
                                                  .finish = finish,
                                                  .free = free_idle,
                                                  .shared_bytes = shared_bytes};
