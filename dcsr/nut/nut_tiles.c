/* nut_tiles.c: where panels are cut, which are taken over, and NuTs as objects. */
#include "dcsr/nut/nut_tiles.h"
#include "dcsr/base/cuda.h"
#include "dcsr/base/runtime.h"
#include <string.h>
#include <unistd.h>

/* NULL in builds without CUDA. */
static const dcsr_i_nut_device *const device_nut = DCSR_I_IN_CUDA(dcsr_i_cuda_nut_device);

/* ---- Budgets ---- */

enum {
    CPU_PANELS = 64,
    DEVICE_PANELS = 2, /* for each multiprocessor, on which two blocks of threads are */
#ifdef DCSR_SIMT
    DEVICE_LANES = 32, /* a fiber each */
#else
    DEVICE_LANES = 512,
#endif
    DEFAULT_CACHE = 1 << 20,
    LEAST_WORD = 4 /* bytes of a sum, at least */
};

/* What is left of the cache when entries stream through it. */
static size_t cache_bytes(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (size_t)(bytes > 0 ? bytes : DEFAULT_CACHE) / 4 * 3;
}

dcsr_i_nut_budget dcsr_i_nut_budget_for(const dcsr_context *context, dcsr_type type)
{
    const size_t size = dcsr_type_size(type), word = !size               ? sizeof(double)
                                                     : size < LEAST_WORD ? LEAST_WORD
                                                                         : size;
    dcsr_i_nut_budget budget = {.lanes = DCSR_I_NUT_CPU_LANES, .panels = CPU_PANELS};
    size_t bytes = cache_bytes(), each = word;
    if (context->cuda) {
        int multiprocessors;
        bytes = device_nut->shared_bytes(context, &multiprocessors);
        each = word + 1; /* beside each a byte that says whether it is there */
        budget.lanes = DEVICE_LANES;
        budget.panels = DEVICE_PANELS * (uint64_t)multiprocessors;
    }
    const size_t rows = bytes / 3 / each;
    budget.rows = (uint32_t)(rows < DCSR_I_NUT_MOST ? rows : DCSR_I_NUT_MOST);
    budget.columns = (uint32_t)(2 * rows < DCSR_I_NUT_MOST ? 2 * rows : DCSR_I_NUT_MOST);
    return budget;
}

/* ---- Blocks ---- */

dcsr_i_nut_layout dcsr_i_nut_layout_of(uint64_t tiles, uint64_t columns, uint64_t elements, size_t value_size)
{
    enum { ALIGNED = 64 };
    dcsr_i_nut_layout l = {0};
    size_t *const at[] = {&l.values, &l.indices, &l.col_indices, &l.tiles, &l.bytes};
    const size_t bytes[] = {elements * value_size, elements * sizeof(int16_t), columns * sizeof(uint32_t),
                            tiles * sizeof(dcsr_nut_tile)};
    for (int i = 0; i < 4; i++) *at[i + 1] = (*at[i] + bytes[i] + ALIGNED - 1) / ALIGNED * ALIGNED;
    return l;
}

void dcsr_i_nut_show(dcsr_i_nut_block *block, const dcsr_i_nut_layout *layout, size_t value_size)
{
    char *memory = block->memory;
    block->shown.tiles = (const dcsr_nut_tile *)(memory + layout->tiles);
    block->shown.col_indices = (const uint32_t *)(memory + layout->col_indices);
    block->shown.indices = (const int16_t *)(memory + layout->indices);
    block->shown.values = value_size ? memory + layout->values : NULL;
}

static void release_block(dcsr_i_nut_block *block)
{
    if (!block || atomic_fetch_sub(&block->references, 1) != 1) return;
    if (block->on_device && block->memory)
        device_nut->free(block->context, block->memory, block->bytes);
    else
        dcsr_i_free(block->context, DCSR_I_MATRIX, block->memory, block->bytes, 1);
    dcsr_i_free(block->context, DCSR_I_MATRIX, block, 1, sizeof *block);
}

static dcsr_i_nut_block *create_block(const dcsr_i_nut *nut, const uint64_t *offsets, uint64_t first,
                                      uint64_t end)
{
    dcsr_i_nut_block *block = dcsr_i_calloc(nut->context, DCSR_I_MATRIX, 1, sizeof *block);
    if (!block) return NULL;
    atomic_init(&block->references, 1);
    block->context = nut->context;
    block->on_device = nut->on_device;
    block->shown = (dcsr_nut_panel){.row = first, .rows = end - first, .nnz = offsets[end] - offsets[first]};
    return block;
}

/* ---- Where panels are cut ---- */

/* Where panels begin, and behind the last where it ends. Rows are cut into equal parts of a power of two, and in halves
 * where one has more than its share of the entries. So where a row changes, cuts change nearby or not at all, and the
 * same rows have the same panels whatever they were before. */
typedef struct cuts {
    uint64_t *at;
    uint64_t count, capacity;
    const uint64_t *offsets;
    uint64_t rows, share;
} cuts;

static uint64_t power_of_two(uint64_t least)
{
    uint64_t power = 1;
    while (power < least) power *= 2;
    return power;
}

static void cut_part(cuts *c, uint64_t first, uint64_t size)
{
    const uint64_t end = first + size < c->rows ? first + size : c->rows, half = size / 2;
    if (!half || c->offsets[end] - c->offsets[first] <= c->share) {
        c->at[c->count++] = first;
        return;
    }
    cut_part(c, first, half);
    if (first + half < c->rows) cut_part(c, first + half, half);
}

static dcsr_status cut(cuts *c, const dcsr_i_nut_order *order, const uint64_t *offsets)
{
    enum { LEAST_SHARE = 1024, LEVELS = 16 };
    const uint64_t rows = order->rows->rows, entries = offsets[rows], share = entries / order->budget.panels,
                   part = power_of_two(order->budget.rows / 2 + 1);
    *c = (cuts){
        .offsets = offsets, .rows = rows, .share = power_of_two(share < LEAST_SHARE ? LEAST_SHARE : share)};
    /* On each level as many are in halves as there are shares, at most. */
    c->capacity = rows / part + 2 + LEVELS * (entries / c->share + 1);
    c->at = dcsr_i_alloc(order->context, DCSR_I_SCRATCH, c->capacity, sizeof *c->at);
    if (!c->at) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t first = 0; first < rows; first += part) cut_part(c, first, part);
    c->at[c->count] = rows;
    return DCSR_OK;
}

/* ---- Making ---- */

/* The panel of the last NuT, if it shows what rows first .. end-1 hold. *at is where the panel before was found. */
static dcsr_i_nut_block *find_unchanged(const dcsr_i_nut_order *order, uint64_t *at, const uint64_t *offsets,
                                        uint64_t first, uint64_t end)
{
    const dcsr_i_nut *last = order->last;
    while (*at < last->shown.panel_count && last->panels[*at].row < first) ++*at;
    if (*at == last->shown.panel_count) return NULL;
    const dcsr_nut_panel *panel = &last->panels[*at];
    if (panel->row != first || panel->rows != end - first || panel->nnz != offsets[end] - offsets[first])
        return NULL;
    return panel->nnz && order->changed(order->user, first, end) ? NULL : last->block[*at];
}

/* Takes panels over, and lists those that are to be filled. */
static dcsr_status open_panels(dcsr_i_nut *nut, const dcsr_i_nut_order *order, const uint64_t *offsets,
                               const cuts *c, uint32_t *list, uint64_t *count)
{
    nut->shown.panel_count = c->count;
    nut->panels = dcsr_i_calloc(nut->context, DCSR_I_MATRIX, c->count, sizeof *nut->panels);
    nut->block = dcsr_i_calloc(nut->context, DCSR_I_MATRIX, c->count, sizeof(dcsr_i_nut_block *));
    if (!nut->panels || !nut->block) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0, at = 0; p < c->count; p++) {
        const uint64_t first = c->at[p], end = c->at[p + 1];
        nut->block[p] = order->last ? find_unchanged(order, &at, offsets, first, end) : NULL;
        if (nut->block[p]) {
            atomic_fetch_add(&nut->block[p]->references, 1);
            nut->kept++;
            continue;
        }
        nut->block[p] = create_block(nut, offsets, first, end);
        if (!nut->block[p]) return DCSR_ERROR_OUT_OF_MEMORY;
        if (nut->block[p]->shown.nnz) list[(*count)++] = (uint32_t)p;
    }
    return DCSR_OK;
}

static dcsr_status finish(dcsr_i_nut *nut)
{
    nut->shown.panels = nut->panels;
    for (uint64_t p = 0; p < nut->shown.panel_count; p++) {
        nut->panels[p] = nut->block[p]->shown;
        nut->shown.nnz += nut->panels[p].nnz;
        nut->shown.bytes += nut->block[p]->bytes;
    }
    return nut->on_device ? device_nut->finish(nut) : DCSR_OK;
}

static dcsr_status make_panels(dcsr_i_nut *nut, const dcsr_i_nut_order *order, const uint64_t *offsets)
{
    cuts c;
    DCSR_TRY(cut(&c, order, offsets));
    uint64_t count = 0;
    uint32_t *list = dcsr_i_alloc(nut->context, DCSR_I_SCRATCH, c.count, sizeof *list);
    dcsr_status status = list ? open_panels(nut, order, offsets, &c, list, &count) : DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_nut_fill *const fill = nut->on_device ? device_nut->fill : dcsr_i_nut_fill_on_host;
    if (status == DCSR_OK && count) status = fill(nut, order, list, count);
    dcsr_i_free(nut->context, DCSR_I_SCRATCH, list, c.count, sizeof *list);
    dcsr_i_free(nut->context, DCSR_I_SCRATCH, c.at, c.capacity, sizeof *c.at);
    return status == DCSR_OK && !order->measures ? finish(nut) : status;
}

static dcsr_status sum_lengths(uint64_t *offsets, const dcsr_i_nut_order *order)
{
    const dcsr_i_rows *rows = order->rows;
    if (rows->on_device) return device_nut->sum_lengths(offsets, order);
    offsets[0] = 0;
    for (uint64_t row = 0; row < rows->rows; row++)
        offsets[row + 1] = offsets[row] + dcsr_i_rows_length(rows, row);
    return DCSR_OK;
}

static dcsr_status check_size(const dcsr_i_rows *rows)
{
    const uint64_t entries = rows->on_device ? rows->device.stored : dcsr_i_rows_entries(rows);
    if (!dcsr_i_lines_are_sparse(rows->rows, entries) && !dcsr_i_lines_are_sparse(rows->cols, entries))
        return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_TOO_LARGE,
        "tiles of a matrix of %llu x %llu with %llu entries: it has far more rows or columns than "
        "entries; use a view of DCSR_LAYOUT_SEGMENTS",
        (unsigned long long)rows->rows, (unsigned long long)rows->cols, (unsigned long long)entries);
}

dcsr_status dcsr_i_nut_create(dcsr_i_nut **nut, const dcsr_i_nut_order *order)
{
    const dcsr_i_rows *rows = order->rows;
    *nut = NULL;
    DCSR_TRY(check_size(rows));
    dcsr_i_nut *made = dcsr_i_calloc(order->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    atomic_init(&made->references, 1);
    made->context = order->context;
    made->on_device = rows->on_device;
    made->budget = order->budget;
    made->shown = (dcsr_nut){.rows = rows->rows,
                             .cols = rows->cols,
                             .type = rows->type,
                             .lanes = order->budget.lanes,
                             .most_rows = order->budget.rows,
                             .most_columns = order->budget.columns};
    uint64_t *offsets = dcsr_i_alloc(order->context, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets);
    dcsr_status status = offsets ? sum_lengths(offsets, order) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) status = make_panels(made, order, offsets);
    dcsr_i_free(order->context, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    if (status == DCSR_OK)
        *nut = made;
    else
        dcsr_i_nut_release(made);
    return status;
}

uint64_t dcsr_i_nut_bytes(const dcsr_i_nut *nut)
{
    const uint64_t panels = nut->shown.panel_count;
    const size_t each = sizeof *nut->panels + sizeof(dcsr_i_nut_block *) + sizeof(dcsr_i_nut_block) +
                        (nut->on_device ? sizeof *nut->device_panels : 0);
    uint64_t bytes = sizeof *nut + panels * each;
    for (uint64_t p = 0; p < panels; p++) bytes += nut->block[p]->bytes;
    return bytes;
}

dcsr_status dcsr_i_nut_measure(uint64_t *bytes, const dcsr_i_nut_order *order)
{
    dcsr_i_nut_order measuring = *order;
    dcsr_i_nut *nut;
    measuring.measures = true;
    *bytes = 0;
    DCSR_TRY(dcsr_i_nut_create(&nut, &measuring));
    *bytes = dcsr_i_nut_bytes(nut);
    dcsr_i_nut_release(nut);
    return DCSR_OK;
}

void dcsr_i_nut_retain(dcsr_i_nut *nut)
{
    atomic_fetch_add(&nut->references, 1);
}

void dcsr_i_nut_release(dcsr_i_nut *nut)
{
    if (!nut || atomic_fetch_sub(&nut->references, 1) != 1) return;
    const uint64_t count = nut->shown.panel_count;
    for (uint64_t p = 0; nut->block && p < count; p++) release_block(nut->block[p]);
    if (nut->device_panels)
        device_nut->free(nut->context, nut->device_panels, count * sizeof *nut->device_panels);
    dcsr_i_free(nut->context, DCSR_I_MATRIX, nut->block, count, sizeof(dcsr_i_nut_block *));
    dcsr_i_free(nut->context, DCSR_I_MATRIX, nut->panels, count, sizeof *nut->panels);
    dcsr_i_free(nut->context, DCSR_I_MATRIX, nut, 1, sizeof *nut);
}

bool dcsr_i_nut_list_changed(const void *list, uint64_t first, uint64_t end)
{
    const dcsr_index_list *l = list;
    const uint64_t at = dcsr_i_keys_below(l->indices, l->n, first);
    return at < l->n && l->indices[at] < end;
}
