/* piece_map.cu: kernels that pack where the pieces of rows are.
 *
 * A warp takes a group of 32 rows, a lane each, and walks their pieces level by level: once to learn what the group
 * takes, and once more, when all groups know where they begin, to write it. */
#include "ops/spmv/piece_map_cuda.h"
#include "dcsr/device/reduce.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int GROUP = DCSR_CUDA_PIECE_GROUP;

struct smaller {
    __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return b < a ? b : a; }
};

/* The lane's row, and the lane's share of what all lanes know of the group. */
struct surveyed {
    uint32_t length, ends; /* of the row */
    uint64_t origin;
    uint32_t levels, wide;
    int ends_log; /* of the bytes of ends */
    bool near, fits;
};

/* Calls each(k, begin, start, length) for the pieces k of all lanes' rows, by all lanes together; length is 0 where the
 * row has no such piece. */
template <class Each>
DCSR_CUDA_INLINE uint32_t walk_levels(const dcsr_i_cuda_rows &rows, uint64_t row, uint32_t &length, Each each)
{
    const dcsr_i_cuda_row_page *page = row < rows.rows ? dcsr_i_cuda_page_of(rows, row) : nullptr;
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), left = page ? page->length[r] : 0, levels = 0;
    length = left;
    for (; __any_sync(ALL, left != 0); levels++) {
        dcsr_i_cuda_piece piece = {};
        if (left) piece = dcsr_i_cuda_piece_of(rows, page, r, (int)levels, left);
        each(levels, piece.begin, length - left, (uint32_t)piece.length);
        left -= (uint32_t)piece.length;
    }
    return levels;
}

/* The least base that a short row of this level can have. */
DCSR_CUDA_INLINE uint64_t origin_of_level(uint64_t begin, uint32_t length)
{
    return dcsr_i_cuda_warp_fold(length ? begin : UINT64_MAX, smaller()) - GROUP;
}

DCSR_CUDA_INLINE surveyed survey(const dcsr_i_cuda_rows &rows, uint64_t row)
{
    surveyed s = {};
    uint64_t first = UINT64_MAX, end = 0;
    bool near = true;
    s.levels =
        walk_levels(rows, row, s.length, [&](uint32_t, uint64_t begin, uint32_t start, uint32_t length) {
            uint64_t origin = origin_of_level(begin, length);
            if (!length) return;
            near = near && begin - start - origin <= DCSR_CUDA_PIECE_NEAR_SPAN;
            if (begin < first) first = begin;
            if (begin + length > end) end = begin + length;
            if (start + length <= GROUP) s.ends |= 1u << (start + length - 1);
        });
    bool is_wide = s.length > GROUP;
    if (is_wide) s.ends = 0;
    s.wide = __ballot_sync(ALL, is_wide);
    s.near = __all_sync(ALL, near);
    s.ends_log = __any_sync(ALL, s.ends >> 16) ? 2 : __any_sync(ALL, s.ends >> 8) ? 1 : 0;
    s.origin = dcsr_i_cuda_warp_fold(first, smaller());
    s.fits = !s.levels || dcsr_i_cuda_warp_max(end) - s.origin <= DCSR_CUDA_PIECE_SPAN;
    return s;
}

/* Words before the ends, and before the mask of wide rows. */
DCSR_CUDA_INLINE uint32_t words_of_bases(const surveyed &s)
{
    return s.near ? s.levels + s.levels * GROUP / 2 : s.levels * GROUP;
}
DCSR_CUDA_INLINE uint32_t words_to_wide(const surveyed &s)
{
    return words_of_bases(s) + (GROUP / 4 << s.ends_log);
}

__global__ void measure(dcsr_i_cuda_rows rows, uint32_t *words, uint64_t groups)
{
    for (uint64_t g = dcsr_i_cuda_first_warp(); g < groups; g += dcsr_i_cuda_warp_step()) {
        surveyed s = survey(rows, g * GROUP + dcsr_i_cuda_lane());
        if (dcsr_i_cuda_lane() != 0) continue;
        uint32_t wide = (uint32_t)__popc(s.wide);
        words[g] = !s.fits ? (uint32_t)DCSR_CUDA_PIECE_MOST_WORDS
                           : words_to_wide(s) + (wide ? 1 + wide * s.levels : 0);
    }
}

/* A lane's base of piece k; the lane has such a piece if length is not 0. */
DCSR_CUDA_INLINE void write_base(uint32_t *word, const surveyed &s, uint32_t k, uint64_t begin,
                                 uint32_t start, uint32_t length)
{
    uint32_t lane = dcsr_i_cuda_lane(), base = length ? (uint32_t)(begin - start - s.origin) : 0;
    if (!s.near) {
        word[k * GROUP + lane] = base;
        return;
    }
    uint32_t origin = (uint32_t)(origin_of_level(begin, length) - s.origin);
    if (lane == 0) word[k] = origin;
    ((uint16_t *)(word + s.levels))[k * GROUP + lane] = length ? (uint16_t)(base - origin) : 0;
}

DCSR_CUDA_INLINE void write_ends(uint32_t *word, const surveyed &s)
{
    uint32_t lane = dcsr_i_cuda_lane();
    if (s.ends_log == 0)
        ((uint8_t *)word)[lane] = (uint8_t)s.ends;
    else if (s.ends_log == 1)
        ((uint16_t *)word)[lane] = (uint16_t)s.ends;
    else
        word[lane] = s.ends;
}

__global__ void fill(dcsr_i_cuda_rows rows, dcsr_i_cuda_piece_map map, const uint64_t *before)
{
    uint32_t lane = dcsr_i_cuda_lane();
    for (uint64_t g = dcsr_i_cuda_first_warp(); g < map.groups; g += dcsr_i_cuda_warp_step()) {
        uint64_t row = g * GROUP + lane;
        surveyed s = survey(rows, row);
        uint32_t *word = map.word + before[g], *wide = word + words_to_wide(s);
        bool is_wide = s.wide >> lane & 1;
        uint32_t *own = wide + 1 + (uint32_t)__popc(s.wide & ((1u << lane) - 1)) * s.levels;
        walk_levels(rows, row, s.length, [&](uint32_t k, uint64_t begin, uint32_t start, uint32_t length) {
            write_base(word, s, k, begin, start, length);
            if (is_wide && k) own[k - 1] = length ? start : UINT32_MAX;
        });
        if (is_wide) own[s.levels - 1] = s.length;
        write_ends(word + words_of_bases(s), s);
        if (lane != 0) continue;
        if (s.wide) *wide = s.wide;
        uint32_t shape = s.levels | (s.near ? DCSR_CUDA_PIECE_NEAR : 0) |
                         (s.wide ? DCSR_CUDA_PIECE_WIDE : 0) |
                         (uint32_t)s.ends_log << DCSR_CUDA_PIECE_ENDS_SHIFT;
        map.group[g] = {s.origin, (uint32_t)before[g], shape};
    }
}
} // namespace

void dcsr_i_cuda_piece_map_measure(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint32_t *words)
{
    uint64_t groups = (rows->rows + GROUP - 1) / GROUP;
    dcsr_i_cuda_launch_warps(stream, measure, groups, *rows, words, groups);
}

void dcsr_i_cuda_piece_map_fill(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                const dcsr_i_cuda_piece_map *map, const uint64_t *before)
{
    dcsr_i_cuda_launch_warps(stream, fill, map->groups, *rows, *map, before);
}
