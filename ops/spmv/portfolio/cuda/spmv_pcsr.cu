/* spmv_pcsr.cu: the kernel pcsr (perfect CSR: Gao, Wang and Wang, 2016).
 *
 * First a thread for each entry writes its product, in order, to an array. Then a block takes as many rows as it has
 * threads, brings their products to shared memory portion by portion, all in order too, and each thread adds up those
 * of its row. Every access but that to x is coalesced whatever the lengths of rows; long rows keep one thread busy.
 *
 * A row is summed in the order of its entries: deterministic. Bytes: 4 + value + 2 sums an entry, 4 a row, x and y; two
 * launches. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace
{
using namespace dcsr_portfolio;
#ifdef DCSR_SIMT
constexpr uint32_t THREADS = 64, PORTION = 128;
#else
constexpr uint32_t THREADS = 256, PORTION = 1024;
#endif
enum { PRODUCTS = 3 };

template <class Kind>
__global__ void multiply(product<Kind> a, uint64_t entries, typename Kind::sum *products)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < entries; i += dcsr_i_cuda_step())
        products[i] = Kind::add(0, Kind::value(a.values, i), a.factor[dcsr_i_cuda_read_once(a.columns + i)]);
}

template <class Kind>
__global__ void __launch_bounds__(THREADS) add_up(typename Kind::element *y, const uint32_t *offsets,
                                                  uint64_t rows, const typename Kind::sum *products)
{
    SIMT_SHARED(typename Kind::sum, portion, PORTION);
    for (uint64_t first = (uint64_t)blockIdx.x * THREADS; first < rows;
         first += (uint64_t)gridDim.x * THREADS) {
        const uint64_t row = first + threadIdx.x, last = first + THREADS < rows ? first + THREADS : rows;
        const uint64_t begin = row < rows ? offsets[row] : 0, end = row < rows ? offsets[row + 1] : 0;
        const uint64_t stop = offsets[last];
        typename Kind::sum sum = 0;
        for (uint64_t at = offsets[first]; at < stop; at += PORTION) {
            for (uint64_t i = threadIdx.x; i < PORTION && at + i < stop; i += THREADS)
                portion[i] = dcsr_i_cuda_read_once(products + at + i);
            __syncthreads();
            const uint64_t to = end < at + PORTION ? end : at + PORTION;
            for (uint64_t i = begin > at ? begin : at; i < to; i++) sum += portion[i - at];
            __syncthreads();
        }
        if (row < rows) y[row] = Kind::result(sum);
    }
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    dcsr_i_spmv_say(format, PRODUCTS, format->nnz, format->sum_size);
    return dcsr_i_spmv_csr_plan(format, making);
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        const product<Kind> a = product_of<Kind>(put, format, 1, 2);
        auto *products = array_of<typename Kind::sum>(format, PRODUCTS);
        put_threads(put, multiply<Kind>, format->nnz, a, format->nnz, products);
        put_blocks(put, add_up<Kind>, (format->rows + THREADS - 1) / THREADS, (int)THREADS, a.y,
                   array_of<const uint32_t>(format, 0), format->rows, products);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_pcsr = {nullptr,
                                                    nullptr,
                                                    plan,
                                                    dcsr_i_spmv_csr_fill,
                                                    run,
                                                    0,
                                                    false,
                                                    dcsr_i_spmv_csr_refresh,
                                                    dcsr_i_spmv_csr_may_refresh};
