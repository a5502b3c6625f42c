/* merge.cuh: merging a sorted batch into the rows that it touches (insert_cuda.h), which stay resolved (internal, in
 * kernels: insert.cu).
 *
 *      row       2 5 7 9 12 | 8 3          most of it ascends; the rest is its tail
 *      batch     3 4 9                     3 and 9 are there, 4 is new
 *      in place  2 5 7 9 12 | 8 3 4        if there is room, the tail stays short, and no value changes
 *      moved     2 3 4 5 7 8 9 12          else
 *      without 5 2 7 9 12 | 8 3            if no held version sees it: it closes up, and values change, in place
 *
 * An entry of the batch is looked for by one thread: by quarters, then in the tail, one by one. So it costs the same
 * in a hub's row as in any other but for some more steps, and what is stored already costs nothing else. In a row that
 * moves each entry finds its place by itself: its rank in the row and in the batch; work is shared by entries
 * (balanced_walk.cuh).
 *
 * Bytes an entry of the batch: 16 for key and head, some 32 for each step of the search that finds no neighbour's in
 * cache, 12 to rank it; of a row that moves: a column and a value in and out, and bisection in the batch, from
 * cache. */
#ifndef DCSR_MERGE_CUH
#define DCSR_MERGE_CUH

#include "dcsr/base/search.h"
#include "dcsr/device/combine.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/store/cuda/insert.cuh"

DCSR_CUDA_INLINE uint32_t column_of(const dcsr_i_cuda_batch &b, uint64_t i)
{
    return static_cast<uint32_t>(b.keys[i] & ((static_cast<uint64_t>(1) << b.column_bits) - 1));
}

/* How many of n columns, which ascend, are below one. By quarters, as three loads that are under way at once take as
 * long as one: half as many steps as by halves. */
DCSR_CUDA_INLINE uint32_t below(const uint32_t *columns, uint32_t n, uint32_t column)
{
    uint32_t from = 0;
    while (n > 3) {
        const uint32_t quarter = n / 4, *at = columns + from + quarter;
        const bool first = at[0] < column, second = at[quarter] < column, third = at[2 * quarter] < column;
        from += third ? 3 * quarter + 1 : second ? 2 * quarter + 1 : first ? quarter + 1 : 0;
        n = third ? n - 3 * quarter - 1 : first ? quarter - 1 : quarter;
    }
    const uint32_t *at = columns + from;
    return from + (n > 0 && at[0] < column) + (n > 1 && at[1] < column) + (n > 2 && at[2] < column);
}

/* ---- Looking for entries ---- */

/* Where a column stands in row r of a page: its position among the row's entries, which are at `columns`; or the row's
 * length. */
DCSR_CUDA_INLINE uint32_t find(const dcsr_i_cuda_row_page *page, uint32_t r, const uint32_t *columns,
                               uint32_t column)
{
    const uint32_t length = page->length[r], ordered = page->ordered[r];
    uint32_t at = below(columns, ordered, column);
    if (at < ordered && columns[at] == column) return at;
    for (at = ordered; at < length && columns[at] != column;) at++;
    return at;
}

/* What an entry of the batch is for its row: 0; or in the low half, one that it gets, or is to lose; in the high half,
 * one whose value changes what is stored. */
static constexpr uint64_t COUNTS = 1, CHANGES = (uint64_t)1 << 32;

/* Notes where it is. */
DCSR_CUDA_INLINE uint64_t look_for(const dcsr_i_cuda_batch &b, uint64_t i)
{
    if (i && b.keys[i] == b.keys[i - 1]) return 0; /* of a pattern, which is not combined before */
    const uint64_t row = b.keys[i] >> b.column_bits, absent = b.mark ? 0 : COUNTS;
    const uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(b.rows, row);
    if (!page) return absent;
    const uint32_t slot = page->segment[0]; /* on its way with the rest */
    if (!dcsr_i_cuda_is_mergeable(page, r)) return 0;
    if (!page->length[r]) return absent;
    const uint64_t begin = dcsr_i_segment_begin(b.segment_page[slot].of[r]);
    const uint32_t at = find(page, r, b.rows.columns + begin, column_of(b, i));
    if (at == page->length[r]) return absent;
    if (b.positions) b.positions[i] = at;
    if (b.mark) return COUNTS;
    if (!b.words || b.policy == DCSR_POLICY_ANY) return 0;
    const uint64_t is = dcsr_i_cuda_load_word(b.rows.values, b.rows.value_size, begin + at);
    return dcsr_i_cuda_combine_words(static_cast<int>(b.rows.type), b.policy, is, b.words[i]) == is ? 0
                                                                                                    : CHANGES;
}

/* ---- Writing ---- */

DCSR_CUDA_INLINE void write(const dcsr_i_cuda_batch &b, uint64_t at, uint32_t column, uint64_t word)
{
    b.rows.columns[at] = column;
    if (b.rows.values) dcsr_i_cuda_store_word(b.rows.values, b.rows.value_size, at, word);
}

/* Puts the tail of each row that moves in order; a warp for each. */
DCSR_CUDA_INLINE void sort_tails(const dcsr_i_cuda_batch &b)
{
    const uint64_t moving = b.plan->moving;
    for (uint64_t m = dcsr_i_cuda_first_warp(); m < moving; m += dcsr_i_cuda_warp_step()) {
        const dcsr_i_cuda_mover row = b.movers[m];
        const uint32_t n = row.length - row.ordered, lane = dcsr_i_cuda_lane();
        const uint32_t column = lane < n ? b.rows.columns[row.begin + row.ordered + lane] : DCSR_CUDA_NONE;
        uint32_t rank = 0;
        for (unsigned k = 0; k < n; k++) rank += __shfl_sync(0xffffffffu, column, k) < column;
        if (lane < n) b.tails[row.sorted + rank] = column;
    }
}

/* How many entries of a row that moves are below a column. */
template <class Row>
DCSR_CUDA_INLINE uint32_t tail_below(const dcsr_i_cuda_batch &b, const Row &row, uint32_t column)
{
    const uint32_t n = row.length - row.ordered;
    return n ? below(b.tails + row.sorted, n, column) : 0;
}
template <class Row>
DCSR_CUDA_INLINE uint32_t row_below(const dcsr_i_cuda_batch &b, const Row &row, uint32_t column)
{
    return below(b.rows.columns + row.begin, row.ordered, column) + tail_below(b, row, column);
}

/* An entry that moves, which is the row's position-th: past what the row gets below it or loses, combined with what the
 * batch has of its column; or lost itself. */
DCSR_CUDA_INLINE void move_entry(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_mover row, uint32_t position,
                                 uint32_t column, uint64_t word)
{
    uint32_t low = row.first, high = row.first + row.n, k = low;
    bool met = false;
    while (low < high) {
        k = low + (high - low) / 2;
        const uint32_t other = column_of(b, k);
        if (other < column) {
            low = k + 1;
        } else {
            high = k;
            met |= other == column;
        }
    }
    k = low;
    const uint32_t counted =
        row.all || k == row.first ? k - row.first : static_cast<uint32_t>(dcsr_i_cuda_rank(b, k)) - row.rank;
    if (met && b.mark) return;
    uint64_t at = row.to;
    at += position < row.ordered ? position + tail_below(b, row, column) : row_below(b, row, column);
    if (met && b.words)
        word = dcsr_i_cuda_combine_words(static_cast<int>(b.rows.type), b.policy, word, b.words[k]);
    write(b, b.mark ? at - counted : at + counted, column, word);
}

/* What rows get, one behind the other at their ends, or between the entries that move. */
DCSR_CUDA_INLINE void write_new(const dcsr_i_cuda_batch &b)
{
    const uint64_t entries = b.mark ? 0 : b.counts->entries;
    for (uint64_t i = dcsr_i_cuda_first(); i < entries; i += dcsr_i_cuda_step()) {
        if (!dcsr_i_cuda_is_counted(b, i)) continue;
        const uint32_t j = dcsr_i_cuda_row_index(b, i), column = column_of(b, i);
        const dcsr_i_cuda_growth &grows = b.growth[j];
        const uint64_t e = dcsr_i_cuda_rank(b, i) - dcsr_i_cuda_rank(b, b.first[j]),
                       fresh = b.begin + b.offsets[j];
        uint64_t at = grows.moves      ? fresh + e + row_below(b, grows, column)
                      : e < grows.room ? grows.tail + e
                                       : fresh + (e - grows.room);
        write(b, at, column, b.words ? b.words[i] : 0);
    }
}

/* ---- In place ---- */

/* The values of stored entries become what they are combined with the batch's. */
DCSR_CUDA_INLINE void change_values(const dcsr_i_cuda_batch &b)
{
    const uint64_t entries = b.words ? b.counts->entries : 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < entries; i += dcsr_i_cuda_step()) {
        if (dcsr_i_cuda_is_counted(b, i)) continue;
        const dcsr_i_cuda_growth &grows = b.growth[dcsr_i_cuda_row_index(b, i)];
        if (!grows.in_place) continue;
        const uint64_t at = grows.begin + b.positions[i],
                       is = dcsr_i_cuda_load_word(b.rows.values, b.rows.value_size, at);
        dcsr_i_cuda_store_word(
            b.rows.values, b.rows.value_size, at,
            dcsr_i_cuda_combine_words(static_cast<int>(b.rows.type), b.policy, is, b.words[i]));
    }
}

/* Whether the batch has a column among entries [first, first + n), which ascend. */
DCSR_CUDA_INLINE bool has_column(const dcsr_i_cuda_batch &b, uint32_t first, uint32_t n, uint32_t column)
{
    while (n > 1) {
        const uint32_t half = n / 2;
        const bool above = column_of(b, first + half) > column;
        first += above ? 0 : half;
        n = above ? half : n - half;
    }
    return column_of(b, first) == column;
}

/* How much of a row stays where it is: all before the first of the entries that it loses, which are among n of the
 * batch's; by LANES lanes of a warp, all of which must call. */
template <unsigned LANES>
DCSR_CUDA_INLINE uint32_t first_lost(const dcsr_i_cuda_batch &b, uint32_t first, uint32_t n, uint32_t length)
{
    uint32_t position = length;
    for (uint32_t i = first + dcsr_i_cuda_lane() % LANES; i < first + n; i += LANES)
        if (dcsr_i_cuda_is_counted(b, i) && b.positions[i] < position) position = b.positions[i];
    for (unsigned distance = LANES / 2; distance; distance /= 2) {
        const uint32_t other = __shfl_xor_sync(DCSR_CUDA_ALL_LANES, position, distance);
        if (other < position) position = other;
    }
    return position;
}

/* The page that has a row in the version that is made. */
DCSR_CUDA_INLINE dcsr_i_cuda_row_page *page_to_finish(const dcsr_i_cuda_batch &b, uint64_t row)
{
    return &b.row_page[b.root[row >> DCSR_CUDA_PAGE_SHIFT]];
}

/* Some entries of a row that follow one another, of which each lane has some. */
struct part_of_row {
    enum { ITEMS = DCSR_CUDA_WALK_ITEMS / 2 };
    uint32_t column[ITEMS];
    uint64_t word[ITEMS];
};

/* Reads what LANES lanes can have of the row at `begin`, from position `first` on. Then all lanes of the warp have done
 * so, and some may write there. */
template <unsigned LANES>
DCSR_CUDA_INLINE part_of_row read_part(const dcsr_i_cuda_batch &b, uint64_t begin, uint32_t first,
                                       uint32_t length)
{
    part_of_row part;
#pragma unroll
    for (unsigned k = 0; k < part_of_row::ITEMS; k++) {
        const uint32_t p = first + k * LANES;
        part.column[k] = p < length ? b.rows.columns[begin + p] : 0;
        part.word[k] = p < length && b.rows.values
                           ? dcsr_i_cuda_load_word(b.rows.values, b.rows.value_size, begin + p)
                           : 0;
    }
    __syncwarp();
    return part;
}

/* A row that loses entries closes up, by LANES lanes of a warp; each of these groups has a row, or none. They read a
 * part of what is behind the first gap, and write what stays of that behind what has stayed before, which is no further
 * than they have read. Mostly each row of a warp loses one entry, and all behind it moves up by one. */
template <unsigned LANES> DCSR_CUDA_INLINE void close_row(const dcsr_i_cuda_batch &b, uint64_t j, bool closes)
{
    enum { ITEMS = part_of_row::ITEMS, PART = LANES * ITEMS };
    const unsigned own = dcsr_i_cuda_lane() % LANES, shift = dcsr_i_cuda_lane() - own;
    const auto vote = [&](bool stays) {
        return __ballot_sync(DCSR_CUDA_ALL_LANES, stays) >> shift & (0xffffffffu >> (32 - LANES));
    };
    const uint64_t begin = closes ? b.growth[j].begin : 0;
    const uint32_t length = closes ? b.growth[j].length : 0, was_ordered = closes ? b.growth[j].ordered : 0,
                   first = closes ? b.first[j] : 0, n = closes ? b.first[j + 1] - first : 0;
    uint32_t kept = first_lost<LANES>(b, first, n, length), ordered = kept < was_ordered ? kept : was_ordered,
             p = kept + 1 + own;
    if (__all_sync(DCSR_CUDA_ALL_LANES, n <= 1)) {
        for (; __any_sync(DCSR_CUDA_ALL_LANES, p - own < length); p += PART) {
            const part_of_row part = read_part<LANES>(b, begin, p, length);
#pragma unroll
            for (unsigned k = 0; k < ITEMS; k++)
                if (p + k * LANES < length) write(b, begin + p + k * LANES - 1, part.column[k], part.word[k]);
        }
        ordered = was_ordered - (kept < was_ordered);
    }
    for (; __any_sync(DCSR_CUDA_ALL_LANES, p - own < length); p += PART) {
        const part_of_row part = read_part<LANES>(b, begin, p, length);
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++) {
            const uint32_t position = p + k * LANES;
            const bool stays = position < length && (n == 1 || !has_column(b, first, n, part.column[k]));
            const uint32_t bits = vote(stays),
                           at = kept + static_cast<uint32_t>(__popc(bits & ((1u << own) - 1)));
            if (stays) write(b, begin + at, part.column[k], part.word[k]);
            kept += static_cast<uint32_t>(__popc(bits));
            ordered += static_cast<uint32_t>(__popc(vote(stays && position < was_ordered)));
        }
    }
    if (!closes || own) return;
    const uint64_t row = b.keys[first] >> b.column_bits;
    page_to_finish(b, row)->ordered[row & (DCSR_CUDA_PAGE_ROWS - 1)] = ordered;
}

enum { CLOSING_LANES = 8 };

/* Short rows by a few lanes, each warp those that follow one another; long ones by a warp, and dealt out one by one, as
 * they are mostly neighbours. */
DCSR_CUDA_INLINE void close_up(const dcsr_i_cuda_batch &b)
{
    enum { LANES = CLOSING_LANES, ROWS = 32 / LANES, SHORT = 4 * LANES * part_of_row::ITEMS };
    const uint64_t rows = b.counts->rows, warps = dcsr_i_cuda_warp_step();
    for (uint64_t j = dcsr_i_cuda_first_warp() * ROWS; j < rows; j += warps * ROWS) {
        const uint64_t here = j + dcsr_i_cuda_lane() / LANES;
        close_row<LANES>(b, here, here < rows && b.growth[here].in_place && b.growth[here].length <= SHORT);
    }
    for (uint64_t j = dcsr_i_cuda_first_warp(); j < rows; j += 32 * warps) {
        const uint64_t here = j + dcsr_i_cuda_lane() * warps;
        const bool is_long = here < rows && b.growth[here].in_place && b.growth[here].length > SHORT;
        for (uint32_t bits = __ballot_sync(DCSR_CUDA_ALL_LANES, is_long); bits; bits &= bits - 1)
            close_row<32>(b, j + static_cast<uint64_t>(__ffs(static_cast<int>(bits)) - 1) * warps, true);
    }
}

DCSR_CUDA_INLINE void change_in_place(const dcsr_i_cuda_batch &b)
{
    if (!b.in_place) return;
    if (b.mark)
        close_up(b);
    else
        change_values(b);
}

#endif
