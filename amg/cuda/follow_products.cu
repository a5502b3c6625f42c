/* follow_products.cu: rows of A P, and of R times them: what follow_products.c does.
 *
 * A warp has a row, and a table of it in shared memory, by columns. It goes through the terms one after the other, with
 * a lane for each entry of a term, so that sums come out in the order of the terms. Before the next row the table is
 * packed in place, and entries get their places by counting those with lower columns; mostly a row has the columns
 * that it had, and they are looked up instead. */
#include "amg/cuda/sets.cuh"

#define EMPTY UINT32_MAX

typedef dcsr_i_amg_cuda_terms terms;

struct table {
    double *sums;
    uint32_t *columns;
    uint32_t slots;
    int bits;
};

DCSR_CUDA_INLINE void clear(const table &t)
{
    for (uint32_t s = dcsr_i_cuda_lane(); s < t.slots; s += 32) {
        t.columns[s] = EMPTY;
        t.sums[s] = 0;
    }
    __syncwarp();
}

DCSR_CUDA_INLINE uint32_t hash_of(const table &t, uint32_t column)
{
    return (column * 0x9e3779b1u) >> (32 - t.bits);
}

/* The slot of a column, taken if it has none yet: there is one that is free. */
DCSR_CUDA_INLINE uint32_t slot_of(const table &t, uint32_t column, bool *is_new)
{
    for (uint32_t s = hash_of(t, column);; s = (s + 1) & (t.slots - 1)) {
        const uint32_t was = atomicCAS(&t.columns[s], EMPTY, column);
        *is_new = was == EMPTY;
        if (was == EMPTY || was == column) return s;
    }
}

/* EMPTY: it has none. */
DCSR_CUDA_INLINE uint32_t look_up(const table &t, uint32_t column)
{
    for (uint32_t s = hash_of(t, column);; s = (s + 1) & (t.slots - 1)) {
        if (t.columns[s] == column) return s;
        if (t.columns[s] == EMPTY) return EMPTY;
    }
}

/* Adds a times a row, to a table of `count` columns; returns how many it has then, UINT32_MAX if they are too many. */
DCSR_CUDA_INLINE uint32_t add_row(const terms &p, const table &t, uint32_t count, double a, uint64_t begin,
                                  uint64_t end)
{
    for (uint64_t first = begin; first < end; first += 32) {
        const uint64_t e = first + dcsr_i_cuda_lane();
        bool is_new = false;
        if (count > t.slots / 4 * 3) return EMPTY;
        if (e < end) {
            const uint32_t s = slot_of(t, p.columns[e], &is_new);
            t.sums[s] += a * p.values[e];
        }
        count += (uint32_t)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, is_new));
        __syncwarp();
    }
    return count;
}

/* What a lane knows of a term, of 32 at a time. */
struct term {
    double a;
    uint64_t begin, end;
};

DCSR_CUDA_INLINE term term_at(const terms &p, uint64_t e, uint64_t end)
{
    if (e >= end) return {0, 0, 0};
    const uint32_t j = p.X.columns[e];
    const uint64_t place = p.slot ? p.slot[j] : j;
    return {p.X.values[e], p.begin[place], p.end[place]};
}

DCSR_CUDA_INLINE uint32_t add_up(const terms &p, const table &t, uint64_t row)
{
    const uint64_t end = p.X.end[row];
    uint32_t count = 0;
    for (uint64_t first = p.X.begin[row]; first < end && count != EMPTY; first += 32) {
        const term own = term_at(p, first + dcsr_i_cuda_lane(), end);
        for (int k = 0; k < 32 && first + (uint64_t)k < end && count != EMPTY; k++)
            count = add_row(p, t, count, __shfl_sync(DCSR_CUDA_ALL_LANES, own.a, k),
                            __shfl_sync(DCSR_CUDA_ALL_LANES, own.begin, k),
                            __shfl_sync(DCSR_CUDA_ALL_LANES, own.end, k));
    }
    return count;
}

/* Into the first slots. */
DCSR_CUDA_INLINE void pack(const table &t)
{
    uint32_t packed = 0;
    for (uint32_t first = 0; first < t.slots; first += 32) {
        const uint32_t s = first + dcsr_i_cuda_lane(), column = t.columns[s];
        const double sum = t.sums[s];
        const unsigned all = __ballot_sync(DCSR_CUDA_ALL_LANES, column != EMPTY);
        __syncwarp();
        if (column != EMPTY) {
            const uint32_t to = packed + (uint32_t)__popc(all & ((1u << dcsr_i_cuda_lane()) - 1));
            t.columns[to] = column;
            t.sums[to] = sum;
        }
        packed += (uint32_t)__popc(all);
        __syncwarp();
    }
}

/* Whether the row before has these columns; then it is written in their order. */
DCSR_CUDA_INLINE bool write_as_before(const terms &p, const table &t, uint64_t row, uint32_t count,
                                      uint64_t to)
{
    const uint64_t before = p.before.begin[row];
    bool same = p.before.end[row] - before == count;
    for (uint32_t e = dcsr_i_cuda_lane(); e < count && same; e += 32)
        same = look_up(t, p.before.columns[before + e]) != EMPTY;
    if (!__all_sync(DCSR_CUDA_ALL_LANES, same)) return false;
    for (uint32_t e = dcsr_i_cuda_lane(); e < count; e += 32) {
        const uint32_t column = p.before.columns[before + e];
        p.made_columns[to + e] = column;
        p.made_values[to + e] = t.sums[look_up(t, column)];
    }
    return true;
}

DCSR_CUDA_INLINE void write(const terms &p, const table &t, uint64_t row, uint32_t count, uint64_t to)
{
    if (p.ordered && write_as_before(p, t, row, count, to)) return;
    pack(t);
    for (uint32_t e = dcsr_i_cuda_lane(); e < count; e += 32) {
        const uint32_t column = t.columns[e];
        uint32_t rank = p.ordered ? 0 : e;
        for (uint32_t other = 0; other < count && p.ordered; other++) rank += t.columns[other] < column;
        p.made_columns[to + rank] = column;
        p.made_values[to + rank] = t.sums[e];
    }
}

static __global__ void multiply_rows(terms p)
{
    SIMT_SHARED_DYN(double, memory);
    const uint32_t slots = 1u << p.bits, warps = blockDim.x / 32, warp = threadIdx.x / 32;
    const table t = {memory + warp * slots, (uint32_t *)(memory + warps * slots) + warp * slots, slots,
                     p.bits};
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < p.count; k += dcsr_i_cuda_warp_step()) {
        const uint64_t row = p.list[k];
        clear(t);
        uint32_t count = add_up(p, t, row);
        if (count == EMPTY && dcsr_i_cuda_lane() == 0) dcsr_i_amg_cuda_count(p.full, 1);
        if (count == EMPTY) count = 0;
        const uint64_t to = dcsr_i_amg_cuda_place(p.used, count);
        const bool fits = to + count <= p.room;
        if (fits) write(p, t, row, count, to);
        if (dcsr_i_cuda_lane() == 0) {
            p.made_begin[k] = fits ? to : 0;
            p.made_end[k] = fits ? to + count : 0;
        }
        __syncwarp();
    }
}

void dcsr_i_amg_cuda_multiply_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_terms *t)
{
    /* As many warps as tables have room, up to four. */
    const uint64_t bytes = (sizeof(double) + sizeof(uint32_t)) << t->bits;
    uint64_t warps = DCSR_CUDA_SHARED_BYTES / bytes;
    warps = warps > 4 ? 4 : warps;
    dcsr_i_cuda_launch_blocks(stream, multiply_rows, (t->count + warps - 1) / warps, (int)(32 * warps),
                              warps * bytes, *t);
}

static __global__ void number_rows(const uint32_t *list, uint64_t count, uint32_t *slot)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step()) slot[list[k]] = (uint32_t)k;
}

void dcsr_i_amg_cuda_number(dcsr_i_cuda_stream *stream, const uint32_t *list, uint64_t count, uint32_t *slot)
{
    dcsr_i_cuda_launch(stream, number_rows, count, list, count, slot);
}
