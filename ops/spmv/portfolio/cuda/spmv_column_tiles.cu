/* spmv_column_tiles.cu: the kernel column_tiles, for graphs whose x is larger than what is near: a few columns have
 * most of the entries, and their elements of x are kept together.
 *
 * Columns are numbered anew, by how many entries they have. The first HOT of them are a tile, whose entries have
 * columns of 2 bytes; the others have 4. Each product brings x to this order; then y is made of the rest, and the
 * tile is added:
 *
 *      columns      7 3 0 | 5 1 4 9 ...        2, 6 and 8 are empty, and left out
 *      entries      30 22 9 | 4 4 3 1          those of most entries stand side by side in few cache lines
 *
 * While the tile is multiplied its elements stay in the first-level caches, in part, and in the second-level cache as a
 * whole; and those of the rest lie closer together than in x. Both parts are multiplied along a merge path
 * (merge_walk.cuh): deterministic. Bytes: 2 + value an entry of the tile, 4 + value another; 8 a row, and y three
 * times; 4 and two elements each column in use; five launches. */
#include "dcsr/device/reduce.cuh"
#include "ops/spmv/portfolio/cuda/column_order.cuh"
#include "ops/spmv/portfolio/cuda/merge_walk.cuh"

namespace
{
using namespace dcsr_portfolio;
enum { ORDER = 0, X = 1, OFFSETS = 2, HOT_COLUMNS = 3, REST_COLUMNS = 4, VALUES = 5, START = 6, CARRY = 7 };
#ifdef DCSR_SIMT
constexpr uint64_t HOT = 64;
#else
constexpr uint64_t HOT = 1 << 16;
#endif

/* What there is: columns in use, and entries of the tile. */
struct shares {
    unsigned long long columns, hot;
};

__global__ void add_shares(const uint32_t *keys, uint64_t cols, shares *all)
{
    const uint64_t rounded = (cols + 31) / 32 * 32;
    for (uint64_t i = dcsr_i_cuda_first(); i < rounded; i += dcsr_i_cuda_step()) {
        const uint64_t count = i < cols ? (uint32_t)~keys[i] : 0;
        const uint64_t used = dcsr_i_cuda_warp_sum((uint64_t)(count > 0)),
                       hot = dcsr_i_cuda_warp_sum(i < HOT ? count : 0);
        if (dcsr_i_cuda_lane()) continue;
        if (used) atomicAdd(&all->columns, (unsigned long long)used);
        if (hot) atomicAdd(&all->hot, (unsigned long long)hot);
    }
}

dcsr_status measure_shares(shares *found, const ordered *o, const dcsr_i_spmv_making *m)
{
    shares *all = (shares *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, 1, sizeof *all);
    if (!all) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_fill(m->stream, all, 0, sizeof *all);
    dcsr_i_cuda_launch(m->stream, add_shares, o->cols, o->keys, o->cols, all);
    const dcsr_status status =
        dcsr_i_cuda_read_back(m->stream, found, all, sizeof *all, "making a format for spmv");
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, all, 1, sizeof *all);
    return status;
}

/* ---- The format ---- */

uint64_t tiles_of(uint64_t rows, uint64_t entries)
{
    return (rows + entries + merge_path::TILE - 1) / merge_path::TILE;
}

void say_all(dcsr_i_spmv_format *format, const shares &found)
{
    const uint64_t hot = found.hot, rest = format->nnz - found.hot;
    const uint64_t hot_tiles = tiles_of(format->rows, hot), rest_tiles = tiles_of(format->rows, rest);
    dcsr_i_spmv_say(format, ORDER, found.columns, sizeof(uint32_t));
    dcsr_i_spmv_say(format, X, found.columns, format->sum_size);
    dcsr_i_spmv_say(format, OFFSETS, 2 * (format->rows + 1), sizeof(uint32_t));
    dcsr_i_spmv_say(format, HOT_COLUMNS, hot, sizeof(uint16_t));
    dcsr_i_spmv_say(format, REST_COLUMNS, rest, sizeof(uint32_t));
    dcsr_i_spmv_say(format, VALUES, format->nnz, format->value_size);
    dcsr_i_spmv_say(format, START, hot_tiles + 1 + rest_tiles + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, CARRY, hot_tiles > rest_tiles ? hot_tiles : rest_tiles, format->sum_size);
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    ordered columns;
    shares found = {0, 0};
    dcsr_status status = order_columns(&columns, format, m);
    if (!status) status = measure_shares(&found, &columns, m);
    free_ordered(m, &columns);
    if (!status) say_all(format, found);
    return status;
}

/* The new number of each column. */
__global__ void number_columns(const uint32_t *order, uint64_t cols, uint32_t *number)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < cols; i += dcsr_i_cuda_step()) number[order[i]] = (uint32_t)i;
}

__global__ void DCSR_CUDA_WALK_BOUNDS mark_hot(dcsr_i_cuda_walk walk, const uint32_t *number, uint32_t *marks)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return number[walk.rows.columns[source.place]];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t column) { marks[entry.e] = column < HOT; });
}

/* before[e]: entries of the tile before entry e. */
__global__ void make_offsets(const uint64_t *offsets, const uint64_t *before, uint64_t rows, uint32_t *hot,
                             uint32_t *rest)
{
    for (uint64_t i = dcsr_i_cuda_first(); i <= rows; i += dcsr_i_cuda_step()) {
        hot[i] = (uint32_t)before[offsets[i]];
        rest[i] = (uint32_t)(offsets[i] - before[offsets[i]]);
    }
}

/* Where entries go: those of the tile come first among the values. */
template <class V> struct parted {
    const uint32_t *number;
    const uint64_t *before;
    uint64_t hot;
    uint16_t *hot_columns;
    uint32_t *rest_columns;
    V *values;
};
template <class V> struct moved_entry {
    uint32_t column;
    V value;
};

template <class V> __global__ void DCSR_CUDA_WALK_BOUNDS part_entries(dcsr_i_cuda_walk walk, parted<V> to)
{
    const V *from = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return moved_entry<V>{to.number[walk.rows.columns[source.place]],
                                  from ? from[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const moved_entry<V> &moved) {
            const uint64_t before = to.before[entry.e], after = entry.e - before;
            if (moved.column < HOT)
                to.hot_columns[before] = (uint16_t)moved.column;
            else
                to.rest_columns[after] = moved.column;
            if (from) to.values[moved.column < HOT ? before : to.hot + after] = moved.value;
        });
}

/* The arrays, given what precedes each entry. */
void fill_arrays(dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const uint32_t *number,
                 const uint64_t *before)
{
    uint32_t *hot_offsets = array_of<uint32_t>(f, OFFSETS), *rest_offsets = hot_offsets + f->rows + 1;
    uint32_t *hot_start = array_of<uint32_t>(f, START);
    const uint64_t hot = f->array[HOT_COLUMNS].count, hot_tiles = tiles_of(f->rows, hot);
    dcsr_i_cuda_launch(m->stream, make_offsets, f->rows + 1, m->offsets, before, f->rows, hot_offsets,
                       rest_offsets);
    const auto part = [=](auto zero) {
        typedef decltype(zero) V;
        const parted<V> to = {number,
                              before,
                              hot,
                              array_of<uint16_t>(f, HOT_COLUMNS),
                              array_of<uint32_t>(f, REST_COLUMNS),
                              array_of<V>(f, VALUES)};
        dcsr_i_cuda_launch_walk(m->stream, part_entries<V>, f->nnz, f->rows, walk_of(f, m), to);
    };
    if (f->value_size == sizeof(uint64_t))
        part(uint64_t());
    else /* also a pattern, whose values are NULL */
        part(uint32_t());
    dcsr_i_spmv_find_tiles(m->stream, hot_offsets + 1, f->rows, merge_path::TILE, hot_start, hot_tiles);
    dcsr_i_spmv_find_tiles(m->stream, rest_offsets + 1, f->rows, merge_path::TILE, hot_start + hot_tiles + 1,
                           tiles_of(f->rows, f->nnz - hot));
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    ordered columns;
    uint32_t *marks = nullptr;
    uint64_t *before = nullptr;
    dcsr_status status = order_columns(&columns, format, m);
    if (!status) {
        marks = (uint32_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, format->nnz, sizeof *marks);
        if (marks)
            before =
                (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, format->nnz + 1, sizeof *before);
        if (!before) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (!status) {
        uint32_t *number = columns.keys; /* which are not needed any more */
        dcsr_i_cuda_copy(m->stream, format->array[ORDER].at, columns.numbers,
                         format->array[ORDER].count * sizeof(uint32_t));
        dcsr_i_cuda_launch(m->stream, number_columns, columns.cols, columns.numbers, columns.cols, number);
        dcsr_i_cuda_launch_walk(m->stream, mark_hot, format->nnz, format->rows, walk_of(format, m), number,
                                marks);
        status = dcsr_i_cuda_scan_u32(m->stream, marks, before, format->nnz);
        if (!status) fill_arrays(format, m, number, before);
    }
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, marks, format->nnz, sizeof *marks);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, before, format->nnz + 1, sizeof *before);
    free_ordered(m, &columns);
    return status;
}

/* ---- Products ---- */

template <class T> __global__ void order_elements(const T *x, const uint32_t *order, uint64_t n, T *to)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) to[i] = x[order[i]];
}

void run(const dcsr_i_spmv_format *f, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(f->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        const uint64_t used = f->array[ORDER].count, hot = f->array[HOT_COLUMNS].count;
        const uint32_t *offsets = array_of<const uint32_t>(f, OFFSETS),
                       *start = array_of<const uint32_t>(f, START);
        const merge_path::path<uint16_t> tile = {offsets, array_of<const uint16_t>(f, HOT_COLUMNS), f->rows,
                                                 hot, start};
        const merge_path::path<uint32_t> rest = {offsets + f->rows + 1,
                                                 array_of<const uint32_t>(f, REST_COLUMNS), f->rows,
                                                 f->nnz - hot, start + tile.tiles() + 1};
        auto *carry = array_of<typename Kind::sum>(f, CARRY);
        element *x = array_of<element>(f, X);
        put_threads(put, order_elements<element>, used, (const element *)put->x,
                    array_of<const uint32_t>(f, ORDER), used, x);
        product<Kind> of_tile = product_of<Kind>(put, f, REST_COLUMNS, VALUES);
        of_tile.factor = x;
        product<Kind> of_rest = of_tile;
        if (f->value_size) of_rest.values += hot;
        if (rest.entries)
            merge_path::put<false>(put, of_rest, rest, carry);
        else
            put_zeros(put, put->y, f->rows * sizeof(element));
        if (hot) merge_path::put<true>(put, of_tile, tile, carry);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_column_tiles = {nullptr, nullptr, plan, fill,
                                                            run,     0,       true, nullptr};
