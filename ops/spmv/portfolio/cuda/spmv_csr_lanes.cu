/* spmv_csr_lanes.cu: the kernels csr, csr_scalar, csr_vector2 ... csr_vector32 and csr_dynamic: equally many lanes to
 * each row of a CSR; of csr by the mean length.
 *
 * Best where rows are about as long as there are lanes: shorter ones leave lanes idle, and longer ones of a group keep
 * the others waiting. csr_dynamic (LightSpMV: Liu and Schmidt, ASAP 2015) chooses the lanes by the mean length, and has
 * warps take their next rows, some at a time, from a counter, so that those with long rows take fewer.
 *
 * Entry p of a row goes to lane p modulo the lanes, whose sums are added in a fixed tree: deterministic, whichever warp
 * takes the row. Bytes: 4 + value an entry, 4 a row, x and y; one launch, and for the counter a fill. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace
{
using namespace dcsr_portfolio;
enum { COUNTER = 3, UNDER_WAY = 4 };

/* The sum of a row by LANES lanes, and y; rows beyond the last are of nothing. */
template <class Kind, int LANES>
DCSR_CUDA_INLINE void sum_one(const product<Kind> &a, const uint32_t *offsets, uint64_t row, uint64_t rows)
{
    const uint32_t lane = dcsr_i_cuda_lane() % LANES;
    const uint64_t begin = row < rows ? offsets[row] : 0;
    const uint32_t length = row < rows ? (uint32_t)(offsets[row + 1] - begin) : 0;
    typename Kind::sum sum = 0;
    add_entries<LANES, UNDER_WAY>(sum, a, lane, length, [=](uint32_t p) { return begin + p; });
    sum = add_lanes<LANES>(a, sum);
    if (lane == 0 && row < rows) a.y[row] = Kind::result(sum);
}

template <class Kind, int LANES>
__global__ void sum_in_turn(product<Kind> a, const uint32_t *offsets, uint64_t rows)
{
    constexpr int AT_ONCE = 32 / LANES;
    for (uint64_t first = dcsr_i_cuda_first_warp() * AT_ONCE; first < rows;
         first += dcsr_i_cuda_warp_step() * AT_ONCE)
        sum_one<Kind, LANES>(a, offsets, first + dcsr_i_cuda_lane() / LANES, rows);
}

template <class Kind, int LANES>
__global__ void sum_from_counter(product<Kind> a, const uint32_t *offsets, uint64_t rows,
                                 unsigned long long *counter)
{
    constexpr int AT_ONCE = 32 / LANES,
                  STEPS = 8; /* one word of memory serves some counts a microsecond, no more */
    for (;;) {
        unsigned long long first = 0;
        if (dcsr_i_cuda_lane() == 0) first = atomicAdd(counter, (unsigned long long)(AT_ONCE * STEPS));
        first = __shfl_sync(ALL, first, 0);
        if (first >= rows) return;
        for (int step = 0; step < STEPS && first + step * AT_ONCE < rows; step++)
            sum_one<Kind, LANES>(a, offsets, first + step * AT_ONCE + dcsr_i_cuda_lane() / LANES, rows);
    }
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    format->lanes = making->lanes;
    return dcsr_i_spmv_csr_plan(format, making);
}

/* As many as a row of the mean length keeps busy with what each has under way at once, `least` or more. Where some are
 * longer, only three quarters of that count: the others of a warp wait for a row that takes a second round. */
uint32_t lanes_for(const dcsr_i_spmv_format *format, uint32_t least)
{
    uint32_t lanes = least;
    while (lanes < 32 && lanes * UNDER_WAY < format->longest &&
           lanes * (UNDER_WAY * 3 / 4) * format->rows < format->nnz)
        lanes *= 2;
    return lanes;
}

dcsr_status plan_by_mean(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    format->lanes = lanes_for(format, 1);
    return dcsr_i_spmv_csr_plan(format, making);
}

const char *refuses_long_rows(const dcsr_i_spmv_format *format)
{
    enum { LONGEST = 4096 }; /* 32 entries for each of 4 reads under way by each lane */
    return format->longest > LONGEST ? "has up to 32 lanes to a row, and one has thousands of entries: "
                                       "csr_adaptive and merge share it out"
                                     : nullptr;
}

dcsr_status plan_dynamic(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    format->lanes = lanes_for(format, 2);
    dcsr_i_spmv_say(format, COUNTER, 1, sizeof(unsigned long long));
    return dcsr_i_spmv_csr_plan(format, making);
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        with_lane_count(format->lanes, [=](auto lanes) {
            put_at_once(put, sum_in_turn<Kind, decltype(lanes)::value>, format->rows * format->lanes,
                        product_of<Kind>(put, format, 1, 2), array_of<const uint32_t>(format, 0),
                        format->rows);
        });
    });
}

void run_dynamic(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    unsigned long long *counter = array_of<unsigned long long>(format, COUNTER);
    put_zeros(put, counter, sizeof *counter);
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        with_lane_count(format->lanes, [=](auto lanes) {
            put_threads(put, sum_from_counter<Kind, decltype(lanes)::value>, format->rows * format->lanes,
                        product_of<Kind>(put, format, 1, 2), array_of<const uint32_t>(format, 0),
                        format->rows, counter);
        });
    });
}
} // namespace

#define BY_LANES(N)                                                                           \
    {                                                                                         \
        nullptr, nullptr, plan, dcsr_i_spmv_csr_fill, run, N, false, dcsr_i_spmv_csr_refresh, \
            dcsr_i_spmv_csr_may_refresh                                                       \
    }
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_lanes[6] = {BY_LANES(1), BY_LANES(2),  BY_LANES(4),
                                                        BY_LANES(8), BY_LANES(16), BY_LANES(32)};
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_csr = {refuses_long_rows,
                                                   nullptr,
                                                   plan_by_mean,
                                                   dcsr_i_spmv_csr_fill,
                                                   run,
                                                   0,
                                                   false,
                                                   dcsr_i_spmv_csr_refresh,
                                                   dcsr_i_spmv_csr_may_refresh};
const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_dynamic = {nullptr,
                                                       nullptr,
                                                       plan_dynamic,
                                                       dcsr_i_spmv_csr_fill,
                                                       run_dynamic,
                                                       0,
                                                       false,
                                                       dcsr_i_spmv_csr_refresh,
                                                       dcsr_i_spmv_csr_may_refresh};
