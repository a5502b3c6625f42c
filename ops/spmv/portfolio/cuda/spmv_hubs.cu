/* spmv_hubs.cu: the kernel hubs, for graphs of which some columns have most of the entries: the elements of x that
 * these multiply, the hubs, are in the shared memory of every multiprocessor.
 *
 * What a product over such a matrix waits for is x: each entry takes a sector of 32 bytes from the second-level cache,
 * nearly three times its own bytes. So columns are numbered anew, by how many entries they have, the most first; those
 * of the first numbers, as many as fit, each block brings to its shared memory once, and entries there move nothing but
 * themselves. The others are numbered by their entries too where x is larger than the cache, so that what is read
 * most stands in few cache lines; else they keep their places in x.
 *
 * Entries are a list in the order of rows (flagged_list.cuh), in which the four of a lane stand so that lanes read in
 * order: entry i of a step at i / 4 + 32 * (i % 4). Bytes: 4 + value and a bit an entry; 4 a row that has entries, and
 * y twice; an element and 4 a hub, or each column in use. Three launches and a fill. */
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/spmv/portfolio/cuda/flagged_list.cuh"

namespace
{
using namespace dcsr_portfolio;
using flagged::ITEMS;
using flagged::STEP;
typedef flagged::list<4> list;
enum { ORDER = 0, X = 1, COLUMNS = 2, VALUES = 3, FLAGS = 4, ROWS = 5, FIRST = 6, CARRY = 7 };
#ifdef DCSR_SIMT
constexpr uint32_t THREADS = 64, MOST_HUBS = 32;
constexpr uint64_t CACHE = 4096;
#else
constexpr uint32_t THREADS = 1024, MOST_HUBS = UINT32_MAX;
constexpr uint64_t CACHE = 16 << 20; /* bytes of x that stay in the second-level cache in any order */
#endif

/* Where entry e stands. */
DCSR_CUDA_INLINE uint64_t place_of(uint64_t e)
{
    return e / STEP * STEP + e % ITEMS * 32 + e % STEP / ITEMS;
}

/* ---- Columns by their entries ---- */

__global__ void DCSR_CUDA_WALK_BOUNDS count_columns(dcsr_i_cuda_walk walk, uint32_t *counts)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) { atomicAdd(&counts[column], 1u); });
}

/* Keys that ascend where counts descend. */
__global__ void make_keys(uint32_t *counts, uint32_t *numbers, uint64_t cols)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < cols; i += dcsr_i_cuda_step()) {
        counts[i] = ~counts[i];
        numbers[i] = (uint32_t)i;
    }
}

/* Columns in their new order, in scratch memory. */
struct ordered {
    uint32_t *keys, *keys_spare, *numbers, *numbers_spare;
    uint64_t cols;
};

void free_ordered(const dcsr_i_spmv_making *m, ordered *o)
{
    for (uint32_t *block : {o->keys, o->keys_spare, o->numbers, o->numbers_spare})
        dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, o->cols, sizeof *block);
    *o = {};
}

dcsr_i_cuda_walk walk_of(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    return {m->rows, nullptr, format->rows, m->offsets};
}

dcsr_status order_columns(ordered *o, const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    *o = {};
    o->cols = format->cols;
    for (uint32_t **block : {&o->keys, &o->keys_spare, &o->numbers, &o->numbers_spare}) {
        *block = (uint32_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, o->cols, sizeof **block);
        if (!*block) return dcsr_i_no_memory();
    }
    dcsr_i_cuda_fill(m->stream, o->keys, 0, o->cols * sizeof *o->keys);
    dcsr_i_cuda_launch_walk(m->stream, count_columns, format->nnz, format->rows, walk_of(format, m), o->keys);
    dcsr_i_cuda_launch(m->stream, make_keys, o->cols, o->keys, o->numbers, o->cols);
    return dcsr_i_cuda_sort_u32(m->stream, &o->keys, &o->keys_spare, &o->numbers, &o->numbers_spare, o->cols,
                                32);
}

/* ---- The format ---- */

/* All columns are numbered by their entries. */
bool renumbers(const dcsr_i_spmv_format *f)
{
    return f->cols * f->sum_size > CACHE;
}

/* As many as fit into three fifths of the memory; the rest of it is a cache, which what is on its way from the
 * second-level cache passes through: with 200 KB for hubs of 256 KB products take 1.1 to 1.6 times as long. */
uint32_t most_hubs(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m)
{
    const size_t shared = dcsr_i_cuda_describe(dcsr_i_cuda_device_of(m->stream))->shared_bytes;
    const uint64_t fit = shared / 5 * 3 / f->sum_size;
    return (uint32_t)(fit < MOST_HUBS ? fit : MOST_HUBS);
}

__global__ void count_used(const uint32_t *keys, uint64_t cols, unsigned long long *used)
{
    const uint64_t rounded = (cols + 31) / 32 * 32;
    for (uint64_t i = dcsr_i_cuda_first(); i < rounded; i += dcsr_i_cuda_step()) {
        const uint64_t n = dcsr_i_cuda_warp_sum((uint64_t)(i < cols && ~keys[i]));
        if (n && dcsr_i_cuda_lane() == 0) atomicAdd(used, (unsigned long long)n);
    }
}

dcsr_status count_columns_in_use(uint64_t *count, const ordered *o, const dcsr_i_spmv_making *m)
{
    auto *used = (unsigned long long *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, 1, sizeof *count);
    if (!used) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(m->stream, used, 0, sizeof *count);
    dcsr_i_cuda_launch(m->stream, count_used, o->cols, o->keys, o->cols, used);
    const dcsr_status status =
        dcsr_i_cuda_read_back(m->stream, count, used, sizeof *count, "making a format for spmv");
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, used, 1, sizeof *count);
    return status;
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    ordered columns;
    uint64_t used = 0, rows = 0;
    dcsr_status status = order_columns(&columns, format, m);
    if (!status) status = count_columns_in_use(&used, &columns, m);
    free_ordered(m, &columns);
    if (!status) status = dcsr_i_spmv_total(m, flagged::rank_rows(format, m), format->rows, &rows);
    const uint64_t most = most_hubs(format, m), hubs = used < most ? used : most;
    const uint64_t ordered_columns = renumbers(format) ? used : hubs;
    const uint64_t places = (format->nnz + STEP - 1) / STEP * STEP;
    format->width = hubs;
    format->tiles = list::tiles_of(format->nnz);
    dcsr_i_spmv_say(format, ORDER, ordered_columns, sizeof(uint32_t));
    dcsr_i_spmv_say(format, X, ordered_columns, format->sum_size);
    dcsr_i_spmv_say(format, COLUMNS, places, sizeof(uint32_t));
    dcsr_i_spmv_say(format, VALUES, places, format->value_size);
    dcsr_i_spmv_say(format, FLAGS, format->tiles * list::TILE_WORDS, sizeof(uint32_t));
    dcsr_i_spmv_say(format, ROWS, rows, sizeof(uint32_t));
    dcsr_i_spmv_say(format, FIRST, format->tiles + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, CARRY, format->tiles, format->sum_size);
    return status;
}

/* The number of each column: of those in the order their places there; of others behind the hubs by their own, or none
 * where all that are in use have a place. */
constexpr uint32_t NO_NUMBER = UINT32_MAX;
__global__ void number_others(uint32_t *number, uint64_t cols, uint64_t hubs, bool all)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < cols; i += dcsr_i_cuda_step())
        number[i] = all ? NO_NUMBER : (uint32_t)(hubs + i);
}
__global__ void number_ordered(uint32_t *number, const uint32_t *order, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) number[order[i]] = (uint32_t)i;
}

void number_columns(uint32_t *number, const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m)
{
    const uint64_t ordered_columns = f->array[ORDER].count;
    dcsr_i_cuda_launch(m->stream, number_others, f->cols, number, f->cols, f->width, renumbers(f));
    dcsr_i_cuda_launch(m->stream, number_ordered, ordered_columns, number, array_of<const uint32_t>(f, ORDER),
                       ordered_columns);
}

template <class V> struct listed {
    const uint32_t *number;
    const uint64_t *begin; /* the first entry of each row of the walk; NULL: the walk is of all */
    uint32_t *columns;
    V *values;
};
template <class V> struct moved_entry {
    uint32_t column;
    V value;
};

template <class V> __global__ void DCSR_CUDA_WALK_BOUNDS list_entries(dcsr_i_cuda_walk walk, listed<V> to)
{
    const V *from = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return moved_entry<V>{to.number[walk.rows.columns[source.place]],
                                  from ? from[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const moved_entry<V> &moved) {
            const uint64_t e = to.begin ? to.begin[entry.i] + entry.e - walk.offsets[entry.i] : entry.e;
            const uint64_t at = place_of(e);
            to.columns[at] = moved.column;
            if (from) to.values[at] = moved.value;
        });
}

void list_walk(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const dcsr_i_cuda_walk &walk,
               uint64_t entries, const uint32_t *number, const uint64_t *begin)
{
    const auto move = [&](auto zero) {
        typedef decltype(zero) V;
        const listed<V> to = {number, begin, array_of<uint32_t>(f, COLUMNS), array_of<V>(f, VALUES)};
        dcsr_i_cuda_launch_walk(m->stream, list_entries<V>, entries, walk.count, walk, to);
    };
    if (f->value_size == sizeof(uint64_t))
        move(uint64_t());
    else /* also a pattern, whose values are NULL */
        move(uint32_t());
}

void fill_arrays(dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const ordered &columns,
                 const uint64_t *rank)
{
    uint32_t *number = columns.keys; /* which are not needed any more */
    dcsr_i_cuda_copy(m->stream, f->array[ORDER].at, columns.numbers,
                     f->array[ORDER].count * sizeof(uint32_t));
    number_columns(number, f, m);
    list_walk(f, m, walk_of(f, m), f->nnz, number, nullptr);
    flagged::fill(f, m, rank, list::TILE, FLAGS, ROWS, FIRST);
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    ordered columns;
    uint64_t *rank = nullptr;
    dcsr_status status = order_columns(&columns, format, m);
    if (!status) rank = flagged::rank_rows(format, m);
    if (rank) fill_arrays(format, m, columns, rank);
    if (!status && !rank) status = dcsr_i_no_memory();
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, rank, format->rows + 1, sizeof *rank);
    free_ordered(m, &columns);
    return status;
}

/* ---- Refreshing ---- */

/* What a format says of its rows. */
struct row_ends {
    const uint32_t *rows, *first, *flags;
    uint64_t count, tiles, entries; /* rows that have entries, ... */

    /* The first entry of row number r of those that have entries, found by its flag. */
    __device__ uint64_t begin(uint64_t r) const
    {
        if (r == count) return entries;
        const uint64_t k = dcsr_i_list_find(first, 0, tiles + 1, r + 1) - 1;
        uint32_t left = (uint32_t)r - first[k];
        uint64_t word = k * list::TILE_WORDS;
        for (uint32_t here; left >= (here = (uint32_t)__popc(flags[word])); word++) left -= here;
        uint32_t bits = flags[word];
        for (; left; left--) bits &= bits - 1;
        return word * 32 + (uint32_t)__ffs((int)bits) - 1;
    }
};

/* Where rows that have changed begin; *differ is raised where one has another length there. */
__global__ void find_rows(dcsr_i_cuda_walk walk, row_ends ends, uint64_t *begin, uint32_t *differ)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint64_t length = walk.offsets[i + 1] - walk.offsets[i],
                       r = dcsr_i_list_find(ends.rows, 0, ends.count, walk.list[i]);
        const bool there = r < ends.count && ends.rows[r] == walk.list[i];
        begin[i] = there ? ends.begin(r) : 0;
        if (length != (there ? ends.begin(r + 1) - begin[i] : 0)) *differ = 1;
    }
}

/* Raises *differ where a column has no number. */
__global__ void DCSR_CUDA_WALK_BOUNDS look_for_numbers(dcsr_i_cuda_walk walk, const uint32_t *number,
                                                       uint32_t *differ)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) {
            if (number[column] == NO_NUMBER) *differ = 1;
        });
}

/* Where rows have kept their lengths, and all columns have numbers. These stay, as near to the order of entries as
 * they were; what a row's sum is does not depend on them. */
dcsr_status refresh(dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const dcsr_i_spmv_changed *changed)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    const row_ends ends = {array_of<const uint32_t>(f, ROWS),
                           array_of<const uint32_t>(f, FIRST),
                           array_of<const uint32_t>(f, FLAGS),
                           f->array[ROWS].count,
                           f->tiles,
                           f->nnz};
    uint64_t *begin = (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, walk.count, sizeof *begin);
    uint32_t *number = (uint32_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, f->cols, sizeof *number);
    if (begin && number) {
        number_columns(number, f, m);
        dcsr_i_cuda_launch(m->stream, find_rows, walk.count, walk, ends, begin, changed->differ);
        dcsr_i_cuda_launch_walk(m->stream, look_for_numbers, changed->entries, walk.count, walk,
                                (const uint32_t *)number, changed->differ);
        dcsr_i_spmv_stop_if_raised(m, changed);
        list_walk(f, m, walk, changed->entries, number, begin);
    }
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, begin, walk.count, sizeof *begin);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, number, f->cols, sizeof *number);
    return begin && number ? DCSR_OK : dcsr_i_no_memory();
}

/* ---- Products ---- */

template <class T> __global__ void order_elements(const T *x, const uint32_t *order, uint64_t n, T *to)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) to[i] = x[order[i]];
}

/* The entries of a list, of which columns below `hubs` have their elements in shared memory. */
template <class Kind> struct numbered {
    const typename Kind::element *hub, *x; /* in order; of number n >= hubs: x[n - before] */
    uint32_t hubs, before;
    const uint32_t *columns;
    const typename Kind::element *values;

    __device__ void load(flagged::four<Kind> &e, const typename Kind::element *shared, uint64_t at,
                         int n) const
    {
        for (int j = 0; j < ITEMS; j++) {
            const uint64_t place = at + (uint64_t)j * 32 + dcsr_i_cuda_lane();
            e.column[j] = 0;
            if (j >= n) continue;
            e.column[j] = dcsr_i_cuda_read_once(columns + place);
            e.value[j] = Kind::value(values, place);
        }
        for (int j = 0; j < ITEMS; j++)
            if (j < n && e.column[j] >= hubs) e.x[j] = x[e.column[j] - before];
        for (int j = 0; j < ITEMS; j++)
            if (j < n && e.column[j] < hubs) e.x[j] = shared[e.column[j]];
    }
};

template <class Kind>
__global__ void __launch_bounds__(THREADS, 1)
    sum_tiles(numbered<Kind> a, list rows, typename Kind::element *y, typename Kind::sum *carry)
{
    SIMT_SHARED_DYN(unsigned char, memory);
    auto *hub = reinterpret_cast<typename Kind::element *>(memory);
    for (uint32_t i = threadIdx.x; i < a.hubs; i += blockDim.x) hub[i] = a.hub[i];
    __syncthreads();
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < rows.tiles; k += dcsr_i_cuda_warp_step())
        flagged::sum_tile<Kind>(rows, k, y, carry,
                                [&](flagged::four<Kind> &e, uint64_t at, int n) { a.load(e, hub, at, n); });
}

/* As many blocks as there are multiprocessors, as each has hubs to bring. */
template <class Kind>
void put_tiles(const dcsr_i_spmv_put *put, const numbered<Kind> &a, const list &rows,
               typename Kind::element *y, typename Kind::sum *carry)
{
    const size_t bytes = a.hubs * sizeof(typename Kind::element);
    const uint64_t needed = (rows.tiles * 32 + THREADS - 1) / THREADS,
                   most = (uint64_t)dcsr_i_cuda_describe(dcsr_i_cuda_device_of(put->stream))->multiprocessors;
    void (*kernel)(numbered<Kind>, list, typename Kind::element *, typename Kind::sum *) = sum_tiles<Kind>;
    dcsr_i_cuda_ask_for_shared(kernel, bytes);
    simt::launch(kernel, dim3((unsigned)(needed < most ? needed : most)), dim3(THREADS), bytes,
                 (cudaStream_t)put->on, a, rows, y, carry);
    dcsr_i_cuda_launched(put->stream);
}

void run(const dcsr_i_spmv_format *f, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(f->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        const bool all = renumbers(f);
        const product<Kind> product = product_of<Kind>(put, f, COLUMNS, VALUES);
        element *x = array_of<element>(f, X);
        put_zeros(put, put->y, f->rows * sizeof(element));
        if (!f->tiles) return;
        put_threads(put, order_elements<element>, f->array[ORDER].count, product.factor,
                    array_of<const uint32_t>(f, ORDER), f->array[ORDER].count, x);
        const uint32_t hubs = (uint32_t)f->width;
        const numbered<Kind> entries = {
            x, all ? x : product.factor, hubs, all ? 0 : hubs, product.columns, product.values};
        const list rows = {array_of<const uint32_t>(f, FLAGS), array_of<const uint32_t>(f, ROWS),
                           array_of<const uint32_t>(f, FIRST), f->nnz, f->tiles};
        auto *carry = array_of<typename Kind::sum>(f, CARRY);
        put_tiles(put, entries, rows, product.y, carry);
        flagged::put_carries<Kind>(put, rows, product.y, f->rows, carry);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_hubs = {
    nullptr, nullptr, plan, fill, run, 0, true, refresh, dcsr_i_spmv_list_may_refresh};
