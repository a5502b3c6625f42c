/* spmv_strips.cu: the kernels ell, sellp, hyb and coo: a strip of places for each row, a list of entries, or both.
 *
 *      strips     slices of 32 rows; in a slice position p of all rows, then position p + 1, so that a warp with a row
 *                 to each lane reads in order. ell: all slices are as wide as the longest row, sellp (Anzt, Tomov and
 *                 Dongarra, 2014): each as its own longest. Places that are left have a column that is none.
 *      list       entries with their rows, in order. A warp takes a tile of it, 32 entries at a time, and adds up those
 *                 of the same row by a segmented scan (Bell and Garland, SC 2009); a row that goes on in the next tile
 *                 is its carry.
 *
 * hyb has strips of the mean length, and the list for what is longer. Rows are summed in the order of their entries by
 * strips, in a fixed tree by the list: deterministic. Bytes: strips 4 + value a place, and sellp 4 a slice; the list
 * 8 + value an entry, and a read and a write of y for each row there. One launch for strips; two and, for coo, a fill,
 * for the list. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

namespace
{
using namespace dcsr_portfolio;
#ifdef DCSR_SIMT
constexpr uint64_t TILE = 64;
#else
constexpr uint64_t TILE = 512;
#endif
enum { START = 0, COLUMNS = 1, VALUES = 2, LIST_ROWS = 3, LIST_COLUMNS = 4, LIST_VALUES = 5, CARRY = 6 };
constexpr uint32_t NO_COLUMN = UINT32_MAX;

/* ---- Making ---- */

/* Entries of a row beyond its strip. */
DCSR_CUDA_INLINE uint64_t beyond(const uint64_t *offsets, uint64_t row, uint64_t width)
{
    const uint64_t length = offsets[row + 1] - offsets[row];
    return length > width ? length - width : 0;
}

__global__ void count_beyond(const uint64_t *offsets, uint64_t rows, uint64_t width, uint64_t *out)
{
    for (uint64_t row = dcsr_i_cuda_first(); row < rows; row += dcsr_i_cuda_step())
        out[row] = beyond(offsets, row, width);
}

/* Where entries go: to the strips, and beyond them to the list. */
template <class V> struct places {
    strips strip;
    uint32_t *columns;
    V *values;
    uint32_t *list_rows, *list_columns;
    V *list_values;
    const uint64_t *before; /* where those of each row of the walk begin in the list */
};
template <class V> struct moved_entry {
    uint32_t column;
    V value;
};

template <class V> __global__ void DCSR_CUDA_WALK_BOUNDS move_entries(dcsr_i_cuda_walk walk, places<V> to)
{
    const V *from = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return moved_entry<V>{walk.rows.columns[source.place], from ? from[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const moved_entry<V> &moved) {
            const uint64_t row = dcsr_i_cuda_row_of(walk, entry.i), p = entry.e - walk.offsets[entry.i],
                           slice = row / SLICE;
            if (p < to.strip.width_of(slice)) {
                const uint64_t at = to.strip.begin(slice) + p * SLICE + row % SLICE;
                to.columns[at] = moved.column;
                if (from) to.values[at] = moved.value;
                return;
            }
            const uint64_t at = to.before[entry.i] + p - to.strip.width_of(slice);
            to.list_rows[at] = (uint32_t)row;
            to.list_columns[at] = moved.column;
            if (from) to.list_values[at] = moved.value;
        });
}

void say_strips(dcsr_i_spmv_format *format, uint64_t places_in_all)
{
    dcsr_i_spmv_say(format, COLUMNS, places_in_all, sizeof(uint32_t));
    dcsr_i_spmv_say(format, VALUES, places_in_all, format->value_size);
}

void say_list(dcsr_i_spmv_format *format, uint64_t entries)
{
    format->tiles = (entries + TILE - 1) / TILE;
    dcsr_i_spmv_say(format, LIST_ROWS, entries, sizeof(uint32_t));
    dcsr_i_spmv_say(format, LIST_COLUMNS, entries, sizeof(uint32_t));
    dcsr_i_spmv_say(format, LIST_VALUES, entries, format->value_size);
    dcsr_i_spmv_say(format, CARRY, format->tiles, format->sum_size);
}

uint64_t *starts_of_list(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    uint64_t *counts =
        (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, format->rows + 1, sizeof *counts);
    if (counts)
        dcsr_i_cuda_launch(m->stream, count_beyond, format->rows, m->offsets, format->rows, format->width,
                           counts);
    return dcsr_i_spmv_scanned(m, counts, format->rows);
}

const char *ell_refuses(const dcsr_i_spmv_format *format)
{
    enum { MOST_PLACES_PER_ENTRY = 4 };
    return slices_of(format) * SLICE * format->longest > MOST_PLACES_PER_ENTRY * (format->nnz + SLICE)
               ? "would pad rows to more than four times the entries, as one is much longer than most"
               : nullptr;
}

dcsr_status plan_ell(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *)
{
    format->width = format->longest;
    say_strips(format, slices_of(format) * SLICE * format->width);
    return DCSR_OK;
}

dcsr_status plan_sellp(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    uint64_t total = 0;
    const dcsr_status status =
        dcsr_i_spmv_total(m, dcsr_i_spmv_slice_starts(format, m), slices_of(format), &total);
    dcsr_i_spmv_say(format, START, slices_of(format) + 1, sizeof(uint32_t));
    say_strips(format, total * SLICE);
    return status;
}

uint64_t mean_length(const dcsr_i_spmv_format *format)
{
    return format->rows ? (format->nnz + format->rows - 1) / format->rows : 0;
}

dcsr_status plan_hyb(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    uint64_t total = 0;
    format->width = mean_length(format);
    const dcsr_status status = dcsr_i_spmv_total(m, starts_of_list(format, m), format->rows, &total);
    say_strips(format, slices_of(format) * SLICE * format->width);
    say_list(format, total);
    return status;
}

dcsr_status plan_coo(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *)
{
    say_list(format, format->nnz);
    return DCSR_OK;
}

strips strips_of(const dcsr_i_spmv_format *format)
{
    return {array_of<const uint32_t>(format, START), format->width};
}

template <class V>
void move_walk(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const dcsr_i_cuda_walk &walk,
               uint64_t entries, const uint64_t *before)
{
    const places<V> to = {strips_of(f),
                          array_of<uint32_t>(f, COLUMNS),
                          array_of<V>(f, VALUES),
                          array_of<uint32_t>(f, LIST_ROWS),
                          array_of<uint32_t>(f, LIST_COLUMNS),
                          array_of<V>(f, LIST_VALUES),
                          before};
    dcsr_i_cuda_launch_walk(m->stream, move_entries<V>, entries, walk.count, walk, to);
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    const uint64_t slices = slices_of(format);
    uint64_t *before = nullptr, *starts = nullptr;
    if (format->array[START].size) {
        starts = dcsr_i_spmv_slice_starts(format, m);
        if (!starts) return dcsr_i_no_memory();
        dcsr_i_cuda_launch(m->stream, narrow<uint64_t>, slices + 1, starts, array_of<uint32_t>(format, START),
                           slices + 1);
    }
    if (format->tiles) {
        before = starts_of_list(format, m);
        if (!before) return dcsr_i_no_memory();
    }
    dcsr_i_cuda_fill(m->stream, format->array[COLUMNS].at, 0xff,
                     format->array[COLUMNS].count * sizeof(uint32_t));
    const dcsr_i_cuda_walk walk = {m->rows, nullptr, format->rows, m->offsets};
    if (format->value_size == sizeof(uint64_t))
        move_walk<uint64_t>(format, m, walk, format->nnz, before);
    else /* also a pattern, whose values are NULL */
        move_walk<uint32_t>(format, m, walk, format->nnz, before);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, starts, slices + 1, sizeof *starts);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, before, format->rows + 1, sizeof *before);
    return DCSR_OK;
}

/* The places behind the ends of rows that have changed have no column. */
__global__ void clear_ends(dcsr_i_cuda_walk walk, strips strip, uint32_t *columns, const uint32_t *differ)
{
    if (*differ) return;
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint64_t row = walk.list[i], slice = row / SLICE;
        for (uint64_t p = walk.offsets[i + 1] - walk.offsets[i]; p < strip.width_of(slice); p++)
            columns[strip.begin(slice) + p * SLICE + row % SLICE] = NO_COLUMN;
    }
}

void move_changed(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m,
                  const dcsr_i_spmv_changed *changed, const uint64_t *before)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    dcsr_i_cuda_launch(m->stream, clear_ends, walk.count, walk, strips_of(f), array_of<uint32_t>(f, COLUMNS),
                       (const uint32_t *)changed->differ);
    dcsr_i_spmv_stop_if_raised(m, changed);
    if (f->value_size == sizeof(uint64_t))
        move_walk<uint64_t>(f, m, walk, changed->entries, before);
    else /* also a pattern, whose values are NULL */
        move_walk<uint32_t>(f, m, walk, changed->entries, before);
}

/* Where no slice has another width: of ell all have that of the longest row. */
bool may_refresh_ell(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *, const dcsr_i_spmv_format *now)
{
    return now->longest == f->width;
}

dcsr_status refresh(dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const dcsr_i_spmv_changed *changed)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    if (f->array[START].size)
        dcsr_i_cuda_launch_warps(m->stream, compare_widths<strips>, walk.count, walk, f->rows, strips_of(f),
                                 changed->differ);
    move_changed(f, m, changed, nullptr);
    return DCSR_OK;
}

/* Where rows that have changed begin in the list; *differ is raised where one has more entries there now, or fewer. */
__global__ void find_listed(dcsr_i_cuda_walk walk, const uint32_t *list_rows, uint64_t entries,
                            uint64_t width, uint64_t *before, uint32_t *differ)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint64_t row = walk.list[i];
        before[i] = dcsr_i_list_find(list_rows, 0, entries, row);
        if (dcsr_i_list_find(list_rows, before[i], entries, row + 1) - before[i] !=
            beyond(walk.offsets, i, width))
            *differ = 1;
    }
}

/* Where no row has another number of entries in the list. */
dcsr_status refresh_list(dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m,
                         const dcsr_i_spmv_changed *changed)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    uint64_t *before = (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, walk.count, sizeof *before);
    if (!before) return dcsr_i_no_memory();
    dcsr_i_cuda_launch(m->stream, find_listed, walk.count, walk, array_of<const uint32_t>(f, LIST_ROWS),
                       f->array[LIST_ROWS].count, f->width, before, changed->differ);
    move_changed(f, m, changed, before);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, before, walk.count, sizeof *before);
    return DCSR_OK;
}

/* And strips are as wide as they would be made. */
bool may_refresh_hyb(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *, const dcsr_i_spmv_format *now)
{
    return mean_length(now) == f->width;
}

/* ---- Products ---- */

/* A slice by a warp, a row to each lane. */
template <class Kind> __global__ void sum_strips(product<Kind> a, strips strip, uint64_t rows)
{
    enum { AT_ONCE = 4 };
    const uint64_t slices = (rows + SLICE - 1) / SLICE;
    for (uint64_t s = dcsr_i_cuda_first_warp(); s < slices; s += dcsr_i_cuda_warp_step()) {
        const uint64_t row = s * SLICE + dcsr_i_cuda_lane(), begin = strip.begin(s) + dcsr_i_cuda_lane();
        const uint32_t width = (uint32_t)strip.width_of(s);
        typename Kind::sum sum = 0;
        for (uint32_t p = 0; p < width; p += AT_ONCE) {
            typename product<Kind>::entry entry[AT_ONCE];
            for (int i = 0; i < AT_ONCE; i++) {
                entry[i].column = NO_COLUMN;
                if (p + i < width) a.load(entry[i], begin + (uint64_t)(p + i) * SLICE);
            }
            for (int i = 0; i < AT_ONCE; i++)
                if (entry[i].column != NO_COLUMN) a.fetch(entry[i]);
            for (int i = 0; i < AT_ONCE; i++)
                if (entry[i].column != NO_COLUMN) a.add(sum, entry[i]);
        }
        if (row < rows) a.y[row] = Kind::result(sum);
    }
}

/* Adds the entries of the list, by rows, to y; tile k ends with the row whose carry it has. */
template <class Kind>
__global__ void add_list(product<Kind> a, const uint32_t *list_rows, uint64_t entries, uint64_t tiles,
                         typename Kind::sum *carry)
{
    const unsigned lane = dcsr_i_cuda_lane();
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < tiles; k += dcsr_i_cuda_warp_step()) {
        const uint64_t end = (k + 1) * TILE < entries ? (k + 1) * TILE : entries;
        typename Kind::sum open = 0; /* of the row that the last 32 ended within */
        uint32_t open_row = list_rows[k * TILE];
        for (uint64_t at = k * TILE; at < end; at += 32) {
            const uint64_t i = at + lane;
            const uint32_t row =
                i < end ? list_rows[i] : UINT32_MAX; /* behind the last: a row that is none */
            typename Kind::sum sum = 0;
            if (i < end) sum = Kind::add(0, Kind::value(a.values, i), a.factor[a.columns[i]]);
            const uint32_t first = __shfl_sync(ALL, row, 0);
            if (lane == 0 && first == open_row) sum += open;
            if (lane == 0 && first != open_row)
                a.y[open_row] = (typename Kind::element)(a.y[open_row] + open);
            for (unsigned distance = 1; distance < 32; distance *= 2) {
                const typename Kind::sum lower = __shfl_up_sync(ALL, sum, distance);
                const uint32_t lower_row = __shfl_up_sync(ALL, row, distance);
                if (lane >= distance && lower_row == row) sum = lower + sum;
            }
            const int last = (int)(end - at < 32 ? end - at : 32) - 1;
            const uint32_t next = __shfl_down_sync(ALL, row, 1);
            if ((int)lane < last && next != row) a.y[row] = (typename Kind::element)(a.y[row] + sum);
            open = __shfl_sync(ALL, sum, last);
            open_row = __shfl_sync(ALL, row, last);
        }
        if (lane == 0) carry[k] = open;
    }
}

struct last_row {
    const uint32_t *list_rows;
    uint64_t entries;
    __device__ uint32_t operator()(uint64_t k) const
    {
        return list_rows[((k + 1) * TILE < entries ? (k + 1) * TILE : entries) - 1];
    }
};

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        const product<Kind> a = product_of<Kind>(put, format, COLUMNS, VALUES),
                            list = product_of<Kind>(put, format, LIST_COLUMNS, LIST_VALUES);
        const uint32_t *list_rows = array_of<const uint32_t>(format, LIST_ROWS);
        const uint64_t entries = format->array[LIST_ROWS].count;
        auto *carry = array_of<typename Kind::sum>(format, CARRY);
        if (format->array[COLUMNS].size)
            put_threads(put, sum_strips<Kind>, slices_of(format) * SLICE, a, strips_of(format), format->rows);
        else
            put_zeros(put, put->y, format->rows * sizeof(typename Kind::element));
        if (!entries) return;
        put_threads(put, add_list<Kind>, format->tiles * 32, list, list_rows, entries, format->tiles, carry);
        put_after(put, add_carries<Kind, last_row>, format->tiles, list.y, format->rows, carry, format->tiles,
                  last_row{list_rows, entries});
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_ell = {ell_refuses, nullptr, plan_ell, fill,           run,
                                                   0,           false,   refresh,  may_refresh_ell};
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_sellp = {nullptr, nullptr, plan_sellp, fill,   run,
                                                     0,       false,   refresh,    nullptr};
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_hyb = {nullptr, nullptr, plan_hyb,     fill,           run,
                                                   0,       false,   refresh_list, may_refresh_hyb};
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_coo = {
    nullptr, nullptr, plan_coo, fill, run, 0, false, refresh_list, dcsr_i_spmv_list_may_refresh};
