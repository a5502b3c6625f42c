/* mxv_pull.cu: the product of a matrix with a vector, row by row, over any built-in semiring.
 * plus-times and min-plus on common types are compiled in, also in mxv_pull_real.cu; all others are looked up. */
#include "ops/mxv/mxv_pull.cuh"

namespace
{
static __device__ __attribute__((noinline)) void write_one(uint32_t type, void *values, uint64_t i)
{
    dcsr_i_cuda_store(type, values, i, 1);
}

/* The same where all that matters is whether there is a term: of each row no more is read than its columns up
 * to the first that u has. */
struct finds {
    typedef uint32_t element;
    typedef int sum;
    struct entry {
        uint32_t column;
        bool counts;
    };
    static constexpr bool STOPS = true, WHOLE = true;
    const uint32_t *columns, *bits;

    __device__ sum nothing() const { return 0; }
    __device__ void load(entry &e, uint64_t at) const { e.column = dcsr_i_cuda_read_once(columns + at); }
    __device__ void look(entry &e) const { e.counts = has_bit(bits, e.column); }
    __device__ void fetch(entry &) const {}
    __device__ void add(sum &s, const entry &e) const { s |= e.counts; }
    __device__ bool is_final(sum s) const { return s != 0; }
    __device__ sum join(sum a, sum b) const { return a | b; }
    __device__ sum other(sum s, int distance) const { return __shfl_xor_sync(ALL, s, distance); }
    static __device__ bool has(sum s) { return s != 0; }
    __device__ void write(const dcsr_i_cuda_mxv &x, uint64_t row, sum) const
    {
        write_one(x.semiring.type, x.t.values, row);
    }
};

} // namespace

void dcsr_i_cuda_mxv_pull(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                          const dcsr_i_cuda_spmv_plan *plan, void *part)
{
    if (!x->rows.rows) return;
    if (x->semiring.ones) {
        launch(stream, x, plan, part, finds{x->rows.columns, x->u.present});
        return;
    }
    if (dcsr_i_cuda_mxv_pull_real(stream, x, plan, part)) return;
    auto pull_with = [=](auto ring) { launch_terms(stream, x, plan, part, ring); };
    if (dcsr_i_cuda_with_integers(x->semiring, x->rows, pull_with)) return;
    if (dcsr_i_cuda_mxv_pull_typed(stream, x, plan, part)) return;
    pull_with(dcsr_i_cuda_any_arithmetic(x->semiring, x->rows));
}
