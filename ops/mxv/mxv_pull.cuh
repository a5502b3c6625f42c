/* mxv_pull.cuh: kernels of the product of a matrix with a vector, row by row (internal; for mxv_pull*.cu).
 *
 * Rows are walked as by SpMV (row_sums.cuh): a warp takes 32 of them, which have a word of the mask and one
 * of t's bits between them. Where the mask allows none of the 32 that word is all that is read. A lane stops
 * where its sum is final: that of any at the first term, others at a terminal value. Rows in one piece have
 * code of their own (WHOLE) where the semiring is compiled in, on real numbers; else that would be lost among
 * the calls of operators.
 *
 * Bytes moved: 1/4 a row for mask and bits; of a row that is wanted 4 to 24 (spmv_rows.cuh), and what t gets;
 * of an entry that is looked at 4 and a value, and a bit and a value of u. */
#ifndef DCSR_MXV_PULL_CUH
#define DCSR_MXV_PULL_CUH

#include "ops/algebra/semiring.cuh"
#include "ops/mxv/mxv_cuda.h"
#include "ops/spmv/row_sums.cuh"

namespace
{
using namespace dcsr_row_sums;
constexpr int THREADS = 256;
constexpr dcsr_i_cuda_policy POLICY = {THREADS, 1};

/* Whether u has an element. */
DCSR_CUDA_INLINE bool has_bit(const uint32_t *bits, uint32_t i)
{
    return !bits || (bits[i / 32] >> (i & 31) & 1);
}

/* A shuffle takes numbers of 4 or 8 bytes. */
template <class T> DCSR_CUDA_INLINE T value_of_other(T value, int distance)
{
    typedef typename std::conditional<(sizeof(T) < 4), int, T>::type number;
    return (T)__shfl_xor_sync(ALL, (number)value, distance);
}

/* Sums over a semiring, for row_sums.cuh. */
template <class Ring> struct terms {
    typedef typename Ring::T element;
    typedef dcsr_i_cuda_partial<element> sum;
    struct entry {
        uint32_t column;
        bool counts;
        element value, x;
    };
    static constexpr bool STOPS = Ring::STOPS,
                          WHOLE = Ring::CONSTANT && std::is_floating_point<element>::value;
    Ring ring;
    const uint32_t *columns, *bits;
    const void *u;

    __device__ sum nothing() const { return {element(0), false}; }
    __device__ void load(entry &e, uint64_t at) const
    {
        e.column = dcsr_i_cuda_read_once(columns + at);
        e.value = ring.matrix_value(at);
    }
    __device__ void look(entry &e) const { e.counts = has_bit(bits, e.column); }
    __device__ void fetch(entry &e) const
    {
        e.x = e.counts && ring.reads_vector() ? ring.read(u, e.column) : element(1);
    }
    __device__ void add(sum &s, const entry &e) const
    {
        if (!e.counts) return;
        element term = ring.multiply(e.value, e.x);
        s.value = s.found ? ring.add(s.value, term) : term;
        s.found = true;
    }
    __device__ bool is_final(const sum &s) const { return s.found && ring.ends(s.value); }
    __device__ sum join(const sum &a, const sum &b) const
    {
        if (!a.found || !b.found) return a.found ? a : b;
        return {ring.add(a.value, b.value), true};
    }
    __device__ sum other(const sum &s, int distance) const
    {
        return {value_of_other(s.value, distance), value_of_other(s.found, distance)};
    }
    static __device__ bool has(const sum &s) { return s.found; }
    __device__ void write(const dcsr_i_cuda_mxv &x, uint64_t row, const sum &s) const
    {
        ring.write(x.t.values, row, s.value);
    }
};

DCSR_CUDA_INLINE place find(const dcsr_i_cuda_rows &rows, bool tight, uint64_t row)
{
    if (rows.offsets) return dcsr_i_cuda_by_offsets::find(rows, row);
    return tight ? dcsr_i_cuda_by_lengths::find(rows, row) : dcsr_i_cuda_by_segments::find(rows, row);
}

DCSR_CUDA_INLINE void add_count(const dcsr_i_cuda_mxv &x, uint64_t count)
{
    count = dcsr_i_cuda_block_sum(count);
    if (threadIdx.x == 0 && count) atomicAdd(x.t.count, (unsigned long long)count);
}

/* The sums of parts go to `part`, those of other rows to t. */
template <class A>
__global__ void __launch_bounds__(THREADS)
    pull(A a, dcsr_i_cuda_mxv x, dcsr_i_cuda_spmv_plan plan, typename A::sum *part)
{
    uint64_t parts = plan.counts.parts, units = parts + groups_of(x.rows), count = 0;
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < units; w += dcsr_i_cuda_warp_step()) {
        if (w < parts) {
            dcsr_i_cuda_spmv_row cut = plan.row[plan.row_of_part[w]];
            if (!dcsr_i_cuda_wants(x.wanted, cut.row)) continue;
            typename A::sum sum = sum_part(a, x.rows, cut, w);
            if (dcsr_i_cuda_lane() == 0) part[w] = sum;
            continue;
        }
        uint64_t group = w - parts;
        uint32_t wanted = dcsr_i_cuda_wanted_word(x.wanted, group), found = 0;
        if (!wanted) continue;
        place at = find(x.rows, plan.tight, group * GROUP + dcsr_i_cuda_lane());
        if (!(wanted >> dcsr_i_cuda_lane() & 1)) at = place();
        auto put = [&](int r, const typename A::sum &sum) {
            if (!A::has(sum)) return;
            a.write(x, group * GROUP + r, sum);
            found |= 1u << r;
        };
        if (A::WHOLE && !__any_sync(ALL, at.cut < at.length))
            sum_group<!A::WHOLE>(a, x.rows, group, at, false, put);
        else
            sum_group<true>(a, x.rows, group, at, __any_sync(ALL, at.deep < at.length), put);
        found = dcsr_i_cuda_warp_sum(found); /* a bit of each row is set by one lane */
        if (dcsr_i_cuda_lane() != 0 || !found) continue;
        atomicOr(&x.t.present[group], found);
        count += (unsigned)__popc(found);
    }
    add_count(x, count);
}

/* Adds up the parts of the rows that are cut. */
template <class A>
__global__ void add_parts(A a, dcsr_i_cuda_mxv x, dcsr_i_cuda_spmv_plan plan, const typename A::sum *part)
{
    uint64_t count = 0;
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < plan.counts.rows; w += dcsr_i_cuda_warp_step()) {
        dcsr_i_cuda_spmv_row cut = plan.row[w];
        if (!dcsr_i_cuda_wants(x.wanted, cut.row)) continue;
        typename A::sum sum = sum_of_parts(a, part, cut);
        if (dcsr_i_cuda_lane() != 0 || !A::has(sum)) continue;
        a.write(x, cut.row, sum);
        atomicOr(&x.t.present[cut.row / GROUP], 1u << (cut.row & 31));
        count++;
    }
    add_count(x, count);
}

template <class A>
void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x, const dcsr_i_cuda_spmv_plan *plan,
            void *part, const A &a)
{
    static_assert(sizeof(typename A::sum) <= DCSR_CUDA_MXV_PART, "the caller's room for parts");
    unsigned blocks = dcsr_i_cuda_blocks(stream, (plan->counts.parts + groups_of(x->rows)) * 32, POLICY);
    if (blocks > plan->most_blocks) blocks = plan->most_blocks;
    simt::launch(pull<A>, dim3(blocks), dim3(dcsr_i_cuda_threads(POLICY)), 0, dcsr_i_cuda_raw(stream), a, *x,
                 *plan, (typename A::sum *)part);
    dcsr_i_cuda_launched(stream);
    dcsr_i_cuda_launch_warps(stream, add_parts<A>, plan->counts.rows, a, *x, *plan,
                             (const typename A::sum *)part);
}

/* Has it done with one arithmetic. */
template <class Ring>
void launch_terms(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x, const dcsr_i_cuda_spmv_plan *plan,
                  void *part, const Ring &ring)
{
    launch(stream, x, plan, part, terms<Ring>{ring, x->rows.columns, x->u.present, x->u.values});
}
} // namespace

#endif
