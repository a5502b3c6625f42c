/* spmv_dictionary.cu: the kernel dictionary: fewer bytes, where the same values and the same distances of columns from
 * their rows come again and again, as in stencils.
 *
 *      values     up to 256 different ones: the number of each, a byte an entry, and a table
 *      columns    column less row: up to 255 different ones: likewise; else 2 bytes an entry, where all of them fit
 *
 * Entries stand in strips as those of sellp; a place that is left has the last number (byte) or the least (2 bytes) for
 * its column. Each block has the tables in shared memory. Where there are more different values, or distances of more
 * than 32767, the kernel refuses: to tell, all entries are read once.
 *
 * The tables are collected by each block in a hash table in shared memory, exactly; those of all blocks are joined and
 * sorted, so that the same matrix gets the same format.
 *
 * A row is summed in the order of its entries: deterministic. Bytes: 2 or 3 a place (1 or 2 of a pattern), 4 a slice, x
 * and y; one launch. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

namespace
{
using namespace dcsr_portfolio;
enum { START = 0, CODES = 1, VALUE_CODES = 2, DISTANCES = 3, VALUES = 4 };
enum { SLOTS = 512, MOST = 256, MOST_DISTANCES = 255 };
#ifdef DCSR_SIMT
constexpr uint64_t SAMPLE = 100;
#else
constexpr uint64_t SAMPLE = 4096; /* rows, the first ones */
#endif
constexpr uint8_t NO_CODE = MOST_DISTANCES;
constexpr int16_t NO_DISTANCE = INT16_MIN;
/* A slot that is free: no distance, and a NaN that is hardly ever a value; where it is one, the kernel refuses. */
constexpr unsigned long long FREE = 0x7ff8a5a55a5a9669ull;

/* Different keys, and how many; more than MOST: there are too many. */
struct key_set {
    unsigned long long slot[SLOTS];
    uint32_t count;
};
/* What there is in a matrix; `wide`: a distance takes more than 2 bytes. */
struct census {
    key_set distances, values;
    uint32_t wide;
};

DCSR_CUDA_INLINE void add_key(key_set &set, unsigned long long key)
{
    if (key == FREE) {
        atomicMax(&set.count, (uint32_t)MOST + 1);
        return;
    }
    if (atomicMax(&set.count, 0u) > MOST) return; /* there is no need to look any further */
    const uint32_t first = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 55);
    for (uint32_t k = 0; k < SLOTS; k++) {
        const unsigned long long old = atomicCAS(&set.slot[(first + k) % SLOTS], FREE, key);
        if (old == FREE) atomicAdd(&set.count, 1u);
        if (old == FREE || old == key) return;
    }
    atomicMax(&set.count, (uint32_t)MOST + 1);
}

/* All threads of the block. */
DCSR_CUDA_INLINE void clear_keys(key_set &set)
{
    for (uint32_t i = threadIdx.x; i < SLOTS; i += blockDim.x) set.slot[i] = FREE;
    if (threadIdx.x == 0) set.count = 0;
}
DCSR_CUDA_INLINE void join_keys(key_set &all, const key_set &own)
{
    if (own.count > MOST && threadIdx.x == 0) atomicMax(&all.count, (uint32_t)MOST + 1);
    for (uint32_t i = threadIdx.x; i < SLOTS; i += blockDim.x)
        if (own.slot[i] != FREE) add_key(all, own.slot[i]);
}

__global__ void clear_census(census *all)
{
    clear_keys(all->distances);
    clear_keys(all->values);
    if (threadIdx.x == 0) all->wide = 0;
}

template <class V> struct found_entry {
    uint32_t column;
    V value;
};

template <class V> __global__ void DCSR_CUDA_WALK_BOUNDS take_census(dcsr_i_cuda_walk walk, census *all)
{
    SIMT_SHARED(census, own, 1);
    const V *values = (const V *)walk.rows.values;
    clear_keys(own->distances);
    clear_keys(own->values);
    if (threadIdx.x == 0) own->wide = 0;
    __syncthreads();
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return found_entry<V>{walk.rows.columns[source.place], values ? values[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const found_entry<V> &found) {
            const int64_t distance = (int64_t)found.column - (int64_t)entry.i;
            add_key(own->distances, (unsigned long long)distance);
            add_key(own->values, (unsigned long long)found.value);
            if (distance > INT16_MAX || distance < -INT16_MAX) atomicMax(&own->wide, 1u);
        });
    __syncthreads();
    join_keys(all->distances, own->distances);
    join_keys(all->values, own->values);
    if (threadIdx.x == 0 && own->wide) atomicMax(&all->wide, 1u);
}

/* Which table entries keys have: those of the set in ascending order. By one block; each thread ranks its keys. */
template <class T> __global__ void list_keys(const key_set *set, T *table, uint64_t most)
{
    for (uint32_t i = threadIdx.x; i < SLOTS; i += blockDim.x) {
        const unsigned long long key = set->slot[i];
        uint32_t rank = 0;
        if (key == FREE) continue;
        for (uint32_t k = 0; k < SLOTS; k++) rank += set->slot[k] != FREE && set->slot[k] < key;
        if (rank < most) table[rank] = (T)key;
    }
}

/* The number of a key: a bisection of the table, which ascends as numbers of 64 bits without sign. */
template <class T, class Key> DCSR_CUDA_INLINE uint32_t code_of(const T *table, uint32_t count, Key key)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if ((unsigned long long)(Key)table[middle] <= (unsigned long long)key)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <class T, class Key> DCSR_CUDA_INLINE bool has_code(const T *table, uint32_t count, Key key)
{
    return count && (Key)table[code_of(table, count, key)] == key;
}

/* Where entries go; without distances those are written themselves. */
template <class V> struct coded {
    strips strip;
    void *codes;
    uint8_t *value_codes;
    const int64_t *distances;
    const V *values;
    uint32_t distance_count, value_count;
};

template <class V> __global__ void DCSR_CUDA_WALK_BOUNDS encode(dcsr_i_cuda_walk walk, coded<V> to)
{
    const V *values = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return found_entry<V>{walk.rows.columns[source.place], values ? values[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const found_entry<V> &found) {
            const uint64_t row = dcsr_i_cuda_row_of(walk, entry.i), p = entry.e - walk.offsets[entry.i];
            const uint64_t at = to.strip.begin(row / SLICE) + p * SLICE + row % SLICE;
            const int64_t distance = (int64_t)found.column - (int64_t)row;
            if (to.distances)
                ((uint8_t *)to.codes)[at] = (uint8_t)code_of(to.distances, to.distance_count, distance);
            else
                ((int16_t *)to.codes)[at] = (int16_t)distance;
            if (values) to.value_codes[at] = (uint8_t)code_of(to.values, to.value_count, found.value);
        });
}

/* ---- Making ---- */

dcsr_i_cuda_walk walk_of(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    return {m->rows, nullptr, format->rows, m->offsets};
}

/* Of the first rows, in scratch memory; NULL: there is none. */
census *count_keys(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m, uint64_t rows)
{
    census *there = (census *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, 1, sizeof *there);
    if (!there) return nullptr;
    dcsr_i_cuda_launch_blocks(m->stream, clear_census, 1, 64, 0, there);
    const auto kernel =
        format->value_size == sizeof(uint64_t) ? take_census<uint64_t> : take_census<uint32_t>;
    dcsr_i_cuda_walk walk = walk_of(format, m);
    walk.count = rows;
    /* About as many entries as they have, by which the work is shared out. */
    const uint64_t entries = rows == format->rows ? format->nnz : format->nnz / format->rows * rows + rows;
    dcsr_i_cuda_launch_walk(m->stream, kernel, entries, rows, walk, there);
    return there;
}

/* How many different keys there are. */
struct counted {
    uint32_t distances, values, wide;
};

dcsr_status read_counts(counted *found, const dcsr_i_spmv_making *m, const census *there)
{
    counted *landing = (counted *)dcsr_i_cuda_landing(m->stream, sizeof *landing);
    if (landing) {
        dcsr_i_cuda_copy(m->stream, &landing->distances, &there->distances.count, sizeof(uint32_t));
        dcsr_i_cuda_copy(m->stream, &landing->values, &there->values.count, sizeof(uint32_t));
        dcsr_i_cuda_copy(m->stream, &landing->wide, &there->wide, sizeof(uint32_t));
    }
    const dcsr_status status = dcsr_i_cuda_wait(m->stream, "making a format for spmv");
    if (status == DCSR_OK) *found = *landing;
    return status;
}

dcsr_status survey(counted *found, const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m,
                   uint64_t rows)
{
    census *there = count_keys(format, m, rows);
    if (!there) return dcsr_i_no_memory();
    const dcsr_status status = read_counts(found, m, there);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, there, 1, sizeof *there);
    return status;
}

bool has_table(const counted &found)
{
    return found.distances <= MOST_DISTANCES;
}

const char *why_not(const counted &found)
{
    if (found.values > MOST) return "numbers up to 256 different values, and the matrix has more";
    if (!has_table(found) && found.wide)
        return "has columns as 2 bytes from the diagonal, and the matrix has some that are further off";
    return nullptr;
}

/* Some rows tell of most matrices that do not serve; of the others all entries are read. */
dcsr_status unfit(const char **reason, const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    counted found;
    for (uint64_t rows : {format->rows < SAMPLE ? format->rows : SAMPLE, format->rows}) {
        const dcsr_status status = survey(&found, format, m, rows);
        if (status) return status;
        *reason = why_not(found);
        if (*reason || rows == format->rows) break;
    }
    return DCSR_OK;
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    counted found;
    uint64_t total = 0;
    dcsr_status status = survey(&found, format, m, format->rows);
    if (status) return status;
    status = dcsr_i_spmv_total(m, dcsr_i_spmv_slice_starts(format, m), slices_of(format), &total);
    dcsr_i_spmv_say(format, START, slices_of(format) + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, CODES, total * SLICE, has_table(found) ? sizeof(uint8_t) : sizeof(int16_t));
    if (has_table(found)) dcsr_i_spmv_say(format, DISTANCES, found.distances, sizeof(int64_t));
    if (!format->value_size) return status;
    dcsr_i_spmv_say(format, VALUE_CODES, total * SLICE, sizeof(uint8_t));
    dcsr_i_spmv_say(format, VALUES, found.values, format->value_size);
    return status;
}

/* Marks all places as left. */
__global__ void clear_distances(int16_t *codes, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) codes[i] = NO_DISTANCE;
}

template <class V> coded<V> coded_of(const dcsr_i_spmv_format *f)
{
    return {{array_of<const uint32_t>(f, START), 0},
            f->array[CODES].at,
            array_of<uint8_t>(f, VALUE_CODES),
            array_of<const int64_t>(f, DISTANCES),
            array_of<const V>(f, VALUES),
            (uint32_t)f->array[DISTANCES].count,
            (uint32_t)f->array[VALUES].count};
}

template <class V>
void fill_all(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const census *found)
{
    const dcsr_i_spmv_array *codes = &f->array[CODES], *distances = &f->array[DISTANCES];
    int64_t *distance_table = array_of<int64_t>(f, DISTANCES);
    V *value_table = array_of<V>(f, VALUES);
    if (codes->size == sizeof NO_CODE)
        dcsr_i_cuda_fill(m->stream, codes->at, NO_CODE, codes->count);
    else
        dcsr_i_cuda_launch(m->stream, clear_distances, codes->count, (int16_t *)codes->at, codes->count);
    if (distance_table)
        dcsr_i_cuda_launch_blocks(m->stream, list_keys<int64_t>, 1, 64, 0, &found->distances, distance_table,
                                  distances->count);
    if (value_table)
        dcsr_i_cuda_launch_blocks(m->stream, list_keys<V>, 1, 64, 0, &found->values, value_table,
                                  f->array[VALUES].count);
    dcsr_i_cuda_launch_walk(m->stream, encode<V>, f->nnz, f->rows, walk_of(f, m), coded_of<V>(f));
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    const uint64_t slices = slices_of(format);
    uint64_t *starts = dcsr_i_spmv_slice_starts(format, m);
    census *found = starts ? count_keys(format, m, format->rows) : nullptr;
    if (found) {
        dcsr_i_cuda_launch(m->stream, narrow<uint64_t>, slices + 1, starts, array_of<uint32_t>(format, START),
                           slices + 1);
        if (format->value_size == sizeof(uint64_t))
            fill_all<uint64_t>(format, m, found);
        else /* also a pattern, which has no table of values */
            fill_all<uint32_t>(format, m, found);
    }
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, found, 1, sizeof *found);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, starts, slices + 1, sizeof *starts);
    return found ? DCSR_OK : dcsr_i_no_memory();
}

/* ---- Refreshing ---- */

/* Raises *differ where an entry has a distance or a value that has no code. */
template <class V>
__global__ void DCSR_CUDA_WALK_BOUNDS compare_codes(dcsr_i_cuda_walk walk, coded<V> to, uint32_t *differ)
{
    const V *values = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return found_entry<V>{walk.rows.columns[source.place], values ? values[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const found_entry<V> &found) {
            const int64_t distance = (int64_t)found.column - (int64_t)dcsr_i_cuda_row_of(walk, entry.i);
            const bool near = to.distances ? has_code(to.distances, to.distance_count, distance)
                                           : distance <= INT16_MAX && distance >= -INT16_MAX;
            if (!near || (values && !has_code(to.values, to.value_count, found.value))) *differ = 1;
        });
}

/* The places behind the ends of rows that have changed are left. */
template <class V> __global__ void clear_ends(dcsr_i_cuda_walk walk, coded<V> to, const uint32_t *differ)
{
    if (*differ) return;
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint64_t row = walk.list[i], slice = row / SLICE;
        for (uint64_t p = walk.offsets[i + 1] - walk.offsets[i]; p < to.strip.width_of(slice); p++) {
            const uint64_t at = to.strip.begin(slice) + p * SLICE + row % SLICE;
            if (to.distances)
                ((uint8_t *)to.codes)[at] = NO_CODE;
            else
                ((int16_t *)to.codes)[at] = NO_DISTANCE;
        }
    }
}

/* Where no slice has another width, and all that is new has a code; those that nothing has any more stay. */
template <class V>
void refresh_typed(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m,
                   const dcsr_i_spmv_changed *changed)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    const coded<V> to = coded_of<V>(f);
    dcsr_i_cuda_launch_warps(m->stream, compare_widths<strips>, walk.count, walk, f->rows, to.strip,
                             changed->differ);
    dcsr_i_cuda_launch_walk(m->stream, compare_codes<V>, changed->entries, walk.count, walk, to,
                            changed->differ);
    dcsr_i_cuda_launch(m->stream, clear_ends<V>, walk.count, walk, to, (const uint32_t *)changed->differ);
    dcsr_i_spmv_stop_if_raised(m, changed);
    dcsr_i_cuda_launch_walk(m->stream, encode<V>, changed->entries, walk.count, walk, to);
}

dcsr_status refresh(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m,
                    const dcsr_i_spmv_changed *changed)
{
    if (format->value_size == sizeof(uint64_t))
        refresh_typed<uint64_t>(format, m, changed);
    else /* also a pattern, which has no table of values */
        refresh_typed<uint32_t>(format, m, changed);
    return DCSR_OK;
}

/* ---- Products ---- */

/* What a column is written as: the number of a distance, or the distance. */
struct by_number {
    typedef uint8_t code;
    static __device__ code none() { return NO_CODE; }
    static __device__ int64_t distance(const int64_t *table, code c) { return table[c]; }
};
struct by_distance {
    typedef int16_t code;
    static __device__ code none() { return NO_DISTANCE; }
    static __device__ int64_t distance(const int64_t *, code c) { return c; }
};

template <class Kind> struct coded_rows {
    strips strip;
    const void *codes;
    const uint8_t *value_codes;
    const int64_t *distances;
    const typename Kind::element *values;
    uint32_t distance_count, value_count;
};

/* Where the places of a slice are, in slices of a place to each row. */
struct slice_at {
    uint64_t begin, end;
};
DCSR_CUDA_INLINE slice_at find_slice(const strips &strip, uint64_t slice, uint64_t slices)
{
    if (slice >= slices) return {0, 0};
    return {strip.start[slice], strip.start[slice + 1]};
}

/* A slice by a warp, a row to each lane. What a place reads from memory - where its slice is, its codes, its element
 * of x - waits for what was read before; so codes of many places are under way together, and so is the next slice. */
template <class Kind, class By>
__global__ void __launch_bounds__(256)
    sum_coded(typename Kind::element *y, const typename Kind::element *x, coded_rows<Kind> A, uint64_t rows)
{
    typedef typename Kind::element element;
    typedef typename By::code code;
    enum { AT_ONCE = 8 };
    SIMT_SHARED(int64_t, distances, MOST_DISTANCES + 1);
    SIMT_SHARED(element, values, MOST);
    for (uint32_t i = threadIdx.x; i < A.distance_count; i += blockDim.x) distances[i] = A.distances[i];
    for (uint32_t i = threadIdx.x; i < A.value_count; i += blockDim.x) values[i] = A.values[i];
    __syncthreads();
    const code *codes = (const code *)A.codes;
    const uint64_t slices = (rows + SLICE - 1) / SLICE, step = dcsr_i_cuda_warp_step();
    slice_at next = find_slice(A.strip, dcsr_i_cuda_first_warp(), slices);
    for (uint64_t s = dcsr_i_cuda_first_warp(); s < slices; s += step) {
        const slice_at here = next;
        const uint64_t row = s * SLICE + dcsr_i_cuda_lane(), begin = here.begin * SLICE + dcsr_i_cuda_lane();
        const uint32_t width = (uint32_t)(here.end - here.begin);
        typename Kind::sum sum = 0;
        next = find_slice(A.strip, s + step, slices);
        for (uint32_t p = 0; p < width; p += AT_ONCE) {
            code column[AT_ONCE];
            uint8_t number[AT_ONCE];
            element factor[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const uint64_t at = begin + (uint64_t)(p + i) * SLICE;
                column[i] = p + i < width ? dcsr_i_cuda_read_once(codes + at) : By::none();
                number[i] = p + i < width && A.value_codes ? dcsr_i_cuda_read_once(A.value_codes + at) : 0;
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                factor[i] = column[i] == By::none() ? (element)0
                                                    : x[(int64_t)row + By::distance(distances, column[i])];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                if (column[i] != By::none())
                    sum = Kind::add(sum, A.value_codes ? values[number[i]] : (element)1, factor[i]);
        }
        if (row < rows) y[row] = Kind::result(sum);
    }
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        const coded_rows<Kind> A = {
            {array_of<const uint32_t>(format, START), 0}, format->array[CODES].at,
            array_of<const uint8_t>(format, VALUE_CODES), array_of<const int64_t>(format, DISTANCES),
            array_of<const element>(format, VALUES),      (uint32_t)format->array[DISTANCES].count,
            (uint32_t)format->array[VALUES].count};
        const auto kernel = A.distances ? sum_coded<Kind, by_number> : sum_coded<Kind, by_distance>;
        put_threads(put, kernel, slices_of(format) * SLICE, (element *)put->y, (const element *)put->x, A,
                    format->rows);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_dictionary = {nullptr, unfit, plan,    fill,   run,
                                                          0,       false, refresh, nullptr};
