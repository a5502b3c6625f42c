/* product.cuh: what SpMV sums up over the entries of rows: each entry times its element of x (internal; in
 * kernels, for row_sums.cuh). */
#ifndef DCSR_PRODUCT_CUH
#define DCSR_PRODUCT_CUH

#include "ops/spmv/row_sums.cuh"

namespace dcsr_row_sums
{
/* y = A x for the arrays of A; Kind is of spmv_rows.cuh. */
template <class Kind> struct product {
    typedef typename Kind::sum sum;
    typedef typename Kind::element element;
    struct entry {
        uint32_t column;
        element value, x;
    };
    static constexpr bool STOPS = false, WHOLE = true;
    element *y;
    const element *factor, *values;
    const uint32_t *columns;

    /* The same where places are counted from `origin`. */
    __device__ product from(uint64_t origin) const
    {
        return {y, factor, values ? values + origin : nullptr, columns + origin};
    }
    __device__ sum nothing() const { return 0; }
    __device__ void load(entry &e, uint64_t at) const
    {
        e.column = dcsr_i_cuda_read_once(columns + at);
        e.value = Kind::value(values, at);
    }
    __device__ void look(entry &) const {}
    __device__ void fetch(entry &e) const { e.x = factor[e.column]; }
    __device__ void add(sum &s, const entry &e) const { s = Kind::add(s, e.value, e.x); }
    __device__ bool is_final(sum) const { return false; }
    __device__ sum join(sum a, sum b) const { return a + b; }
    __device__ sum other(sum s, int distance) const { return __shfl_xor_sync(ALL, s, distance); }
};

} // namespace dcsr_row_sums

#endif
