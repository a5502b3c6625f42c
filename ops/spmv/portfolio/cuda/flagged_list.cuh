/* flagged_list.cuh: sums over a list of entries in the order of rows, for merge and hubs (internal; for .cu files).
 *
 * A flag, one bit, is at the first entry of each row (bit fields as in MERBIT: they take the place of offsets and of
 * looking for rows in them). The list is cut into tiles, of equally many entries whatever the lengths of rows. A warp
 * takes a tile, in steps of 128 entries, of which a lane has four that follow one another:
 *
 *      lane       0                 1                 2
 *      entry      0  1  2  3        4  5  6  7        8 ...
 *      flag       1  0  0  1        0  0  0  0        1          a row ends before each flag
 *
 * Each lane adds up its own entries; what it has of a row that goes on is added by a scan over the lanes, up to where
 * a row ended, in a fixed tree: deterministic. Whoever sees a row end writes y; what earlier tiles have of that row are
 * their carries, which are added afterwards. */
#ifndef DCSR_FLAGGED_LIST_CUH
#define DCSR_FLAGGED_LIST_CUH

#include "dcsr/device/reduce.cuh"
#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace dcsr_portfolio
{
namespace flagged
{
enum { ITEMS = 4, STEP = 32 * ITEMS };

/* Where rows begin in a list. STEPS: of a tile, up to 8, so that each lane has a word of its flags. */
template <uint32_t STEPS> struct list {
    static constexpr uint64_t TILE = STEP * STEPS;
    static constexpr uint32_t TILE_WORDS = TILE / 32;
    const uint32_t *flags;
    const uint32_t *rows;  /* those that have entries, in order; NULL: all have */
    const uint32_t *first; /* tiles + 1: how many rows begin before each tile */
    uint64_t end, tiles;   /* of the entries */

    static uint64_t tiles_of(uint64_t entries) { return (entries + TILE - 1) / TILE; }
    __device__ uint32_t row(uint32_t number) const { return rows ? rows[number] : number; }
};

/* ---- Making ---- */

static __global__ void mark_rows(const uint64_t *offsets, uint64_t rows, uint64_t *marks)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < rows; i += dcsr_i_cuda_step())
        marks[i] = offsets[i + 1] > offsets[i];
}

/* How many rows that have entries precede each, in scratch memory of rows + 1 places; NULL: no memory. */
inline uint64_t *rank_rows(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m)
{
    uint64_t *marks = (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, f->rows + 1, sizeof *marks);
    if (marks) dcsr_i_cuda_launch(m->stream, mark_rows, f->rows, m->offsets, f->rows, marks);
    return dcsr_i_spmv_scanned(m, marks, f->rows);
}

static __global__ void set_flags(const uint64_t *offsets, const uint64_t *rank, uint64_t rows,
                                 uint32_t *flags, uint32_t *list)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < rows; i += dcsr_i_cuda_step()) {
        const uint64_t begin = offsets[i];
        if (offsets[i + 1] == begin) continue;
        atomicOr(&flags[begin / 32], 1u << (begin & 31));
        if (list) list[rank[i]] = (uint32_t)i;
    }
}

static __global__ void find_first(const uint64_t *offsets, const uint64_t *rank, uint64_t rows, uint64_t tile,
                                  uint64_t tiles, uint32_t *first)
{
    for (uint64_t k = dcsr_i_cuda_first(); k <= tiles; k += dcsr_i_cuda_step())
        first[k] = (uint32_t)rank[dcsr_i_keys_below(offsets, rows, k * tile)];
}

/* Fills the format's arrays of flags and of first rows, and that of rows if it has one, for tiles of `tile` entries. */
inline void fill(const dcsr_i_spmv_format *f, const dcsr_i_spmv_making *m, const uint64_t *rank,
                 uint64_t tile, int flags, int rows, int first)
{
    dcsr_i_cuda_fill(m->stream, f->array[flags].at, 0, f->array[flags].count * sizeof(uint32_t));
    dcsr_i_cuda_launch(m->stream, set_flags, f->rows, m->offsets, rank, f->rows, array_of<uint32_t>(f, flags),
                       array_of<uint32_t>(f, rows));
    dcsr_i_cuda_launch(m->stream, find_first, f->tiles + 1, m->offsets, rank, f->rows, tile, f->tiles,
                       array_of<uint32_t>(f, first));
}

/* ---- Products ---- */

/* A lane's four entries. */
template <class Kind> struct four {
    uint32_t column[ITEMS];
    typename Kind::element value[ITEMS], x[ITEMS];
};

/* What the lanes have of a row that goes on, up to this one: the sum since the last lane in which a row has ended. */
template <class S> DCSR_CUDA_INLINE S scan(S sum, unsigned ended)
{
    const unsigned lane = dcsr_i_cuda_lane(), up_to_here = ended & ((2u << lane) - 1);
    const unsigned since = up_to_here ? 31 - (unsigned)__clz((int)up_to_here) : 0;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const S lower = __shfl_up_sync(ALL, sum, distance);
        if (lane >= since + distance) sum = lower + sum;
    }
    return sum;
}

/* Tile k, by a warp. load(e, at, n) brings the lane's entries of the step that begins with entry `at`, n of them. */
template <class Kind, uint32_t STEPS, class Load>
DCSR_CUDA_INLINE void sum_tile(const list<STEPS> &l, uint64_t k, typename Kind::element *y,
                               typename Kind::sum *carry, Load load)
{
    constexpr uint64_t TILE = list<STEPS>::TILE;
    constexpr uint32_t TILE_WORDS = list<STEPS>::TILE_WORDS;
    typedef typename Kind::sum sum_type;
    const unsigned lane = dcsr_i_cuda_lane();
    const uint32_t words = lane < TILE_WORDS ? l.flags[k * TILE_WORDS + lane] : 0;
    uint32_t begun = (uint32_t)__popc(words); /* rows that begin in the words before the lane's */
    for (unsigned distance = 1; distance < TILE_WORDS; distance *= 2) {
        const uint32_t lower = __shfl_up_sync(ALL, begun, distance);
        if (lane >= distance) begun += lower;
    }
    begun += l.first[k] - (uint32_t)__popc(words);
    sum_type open = 0; /* of the row that the last step ended within */
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint64_t at = k * TILE + (uint64_t)step * STEP;
        if (at >= l.end) break;
        const uint64_t first = at + lane * ITEMS;
        const int n = first >= l.end ? 0 : l.end - first < ITEMS ? (int)(l.end - first) : ITEMS;
        four<Kind> e;
        load(e, at, n);
        const int of_step = (int)(step * (STEP / 32) + lane * ITEMS / 32), shift = lane * ITEMS % 32;
        const uint32_t word = __shfl_sync(ALL, words, of_step);
        uint32_t row = __shfl_sync(ALL, begun, of_step) + (uint32_t)__popc(word & ((1u << shift) - 1));
        const uint32_t head_row = row, flags = word >> shift & ((1u << ITEMS) - 1);
        sum_type sum = 0, head = 0;
        bool ended = false;
        for (int j = 0; j < ITEMS; j++) {
            if (flags >> j & 1) {
                if (ended)
                    y[l.row(row - 1)] = Kind::result(sum);
                else
                    head = sum;
                ended = true;
                row++;
                sum = 0;
            }
            if (j < n) sum = Kind::add(sum, e.value[j], e.x[j]);
        }
        const unsigned all_ended = __ballot_sync(ALL, ended);
        if (lane == 0 && !ended) sum = open + sum;
        const sum_type tail = scan(sum, all_ended);
        sum_type before = __shfl_up_sync(ALL, tail, 1);
        if (lane == 0) before = open;
        if (ended && head_row) y[l.row(head_row - 1)] = Kind::result(before + head);
        open = __shfl_sync(ALL, tail, 31);
    }
    if (lane != 0) return;
    carry[k] = open;
    if (k + 1 == l.tiles) y[l.row(l.first[k + 1] - 1)] = 0; /* no flag tells of its end */
}

/* The row that a tile ends within. */
template <uint32_t STEPS> struct last_row {
    list<STEPS> l;
    __device__ uint32_t operator()(uint64_t k) const { return l.row(l.first[k + 1] - 1); }
};

template <class Kind, uint32_t STEPS>
void put_carries(const dcsr_i_spmv_put *put, const list<STEPS> &l, typename Kind::element *y, uint64_t rows,
                 const typename Kind::sum *carry)
{
    put_after(put, add_carries<Kind, last_row<STEPS>>, l.tiles, y, rows, carry, l.tiles, last_row<STEPS>{l});
}
} // namespace flagged
} // namespace dcsr_portfolio

#endif
