/* mxm_count.cu: what is known of the rows of a product before they are computed: products, a sample, classes.
 *
 * Bytes an entry of A: its column, and the head (8 bytes) of a row of B, mostly from the cache. */
#include "ops/mxm/mxm_rows.cuh"

/* ---- Heads ---- */

static __global__ void find_heads(dcsr_i_cuda_rows rows, uint64_t *heads)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < rows.rows; r += dcsr_i_cuda_step()) {
        uint64_t at = 0, length = 0, pieces = 0;
        dcsr_i_cuda_for_pieces(rows, r, [&](uint64_t begin, uint64_t n) {
            at = begin;
            length = n;
            pieces++;
        });
        bool simple = pieces <= 1 && length <= DCSR_CUDA_HEAD_MOST && at < (uint64_t)1 << 40;
        heads[r] = simple ? at << 24 | length : DCSR_CUDA_HEAD_PIECES;
    }
}

void dcsr_i_cuda_mxm_heads(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t *heads)
{
    dcsr_i_cuda_launch(stream, find_heads, rows->rows, *rows, heads);
}

/* ---- Products ---- */

/* Sums of lengths of rows of B; whether one is in pieces. */
struct lengths {
    uint64_t sum = 0;
    bool pieces = false;
    __device__ void add(const dcsr_i_cuda_mxm_job &job, uint32_t row)
    {
        uint32_t length = dcsr_i_cuda_head_length(job.b_heads[row]);
        bool is_simple = length != DCSR_CUDA_HEAD_PIECES;
        pieces |= !is_simple;
        sum += is_simple ? length : dcsr_i_cuda_length(job.b, row);
    }
    /* Rows in pieces are not for the method of short rows, so they count as more. */
    __device__ uint32_t products() const
    {
        if (pieces && sum && sum <= DCSR_CUDA_MXM_SHORT) return DCSR_CUDA_MXM_SHORT + 1;
        return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
};

DCSR_CUDA_INLINE int class_of(uint32_t products)
{
    return products ? 32 - __clz((int)products) : 0;
}

/* Adds to the census what a block has seen. */
struct tally {
    uint32_t *rows;
    unsigned long long *products;
    __device__ void begin() const
    {
        for (unsigned k = threadIdx.x; k < DCSR_CUDA_MXM_CLASSES; k += blockDim.x)
            rows[k] = 0, products[k] = 0;
        __syncthreads();
    }
    __device__ void add(int kind, uint32_t count, uint64_t sum) const
    {
        if (count) atomicAdd(&rows[kind], count), atomicAdd(&products[kind], (unsigned long long)sum);
    }
    __device__ void end(dcsr_i_cuda_mxm_census *census) const
    {
        __syncthreads();
        for (unsigned k = threadIdx.x; k < DCSR_CUDA_MXM_CLASSES; k += blockDim.x)
            if (rows[k]) {
                atomicAdd((unsigned long long *)&census->rows[k], (unsigned long long)rows[k]);
                atomicAdd((unsigned long long *)&census->products[k], products[k]);
            }
    }
};

/* What a thread has seen of one class, since most of its rows are of one. */
struct streak {
    int kind = 0;
    uint32_t count = 0;
    uint64_t sum = 0;
    __device__ void add(const tally &seen, uint32_t n)
    {
        int its = class_of(n);
        if (its != kind) {
            seen.add(kind, count, sum);
            kind = its, count = 0, sum = 0;
        }
        count++, sum += n;
    }
    __device__ void end(const tally &seen) const { seen.add(kind, count, sum); }
};

enum { ALONE = 64 }; /* entries of A that one lane looks at */

/* A lane for each row; long ones, and those of several pieces, are looked at by all lanes together. */
static __global__ void count_products(dcsr_i_cuda_mxm_job job, uint32_t *products,
                                      dcsr_i_cuda_mxm_census *census)
{
    SIMT_SHARED(uint32_t, rows, DCSR_CUDA_MXM_CLASSES);
    SIMT_SHARED(unsigned long long, sums, DCSR_CUDA_MXM_CLASSES);
    const tally seen = {rows, sums};
    const unsigned lane = dcsr_i_cuda_lane();
    streak mine_seen;
    seen.begin();
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < job.a.rows;
         first += dcsr_i_cuda_warp_step() * 32) {
        uint64_t row = first + lane, head = row < job.a.rows ? job.a_heads[row] : 0;
        uint32_t length = dcsr_i_cuda_head_length(head);
        lengths mine;
        if (length <= ALONE)
            for (uint32_t k = 0; k < length; k++) mine.add(job, job.a.columns[(head >> 24) + k]);
        for (uint32_t together = __ballot_sync(DCSR_CUDA_ALL_LANES, length > ALONE); together;
             together &= together - 1) {
            int one = __ffs((int)together) - 1;
            uint64_t its_head = __shfl_sync(DCSR_CUDA_ALL_LANES, head, one);
            lengths its;
            dcsr_i_cuda_for_row(job.a, its_head, first + (unsigned)one, [&](uint64_t begin, uint64_t n) {
                for (uint64_t k = lane; k < n; k += 32) its.add(job, job.a.columns[begin + k]);
            });
            its.sum = dcsr_i_cuda_warp_sum(its.sum);
            its.pieces = __any_sync(DCSR_CUDA_ALL_LANES, its.pieces) ||
                         dcsr_i_cuda_head_length(its_head) == DCSR_CUDA_HEAD_PIECES;
            if ((int)lane == one) mine = its;
        }
        if (row >= job.a.rows) continue;
        products[row] = mine.products();
        mine_seen.add(seen, products[row]);
    }
    mine_seen.end(seen);
    seen.end(census);
}

void dcsr_i_cuda_mxm_products(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, uint32_t *products,
                              dcsr_i_cuda_mxm_census *census)
{
    dcsr_i_cuda_launch(stream, count_products, (job->a.rows + 31) / 32 * 32, *job, products, census);
}

static __global__ void recount(const uint32_t *row, uint64_t count, const uint32_t *products,
                               dcsr_i_cuda_mxm_census *census)
{
    SIMT_SHARED(uint32_t, rows, DCSR_CUDA_MXM_CLASSES);
    SIMT_SHARED(unsigned long long, sums, DCSR_CUDA_MXM_CLASSES);
    const tally seen = {rows, sums};
    streak mine;
    seen.begin();
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step())
        mine.add(seen, products[row ? row[k] : k]);
    mine.end(seen);
    seen.end(census);
}

void dcsr_i_cuda_mxm_recount(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                             const uint32_t *products, dcsr_i_cuda_mxm_census *census)
{
    dcsr_i_cuda_launch(stream, recount, count, row, count, products, census);
}

/* ---- A sample ---- */

#ifdef DCSR_SIMT
enum { SAMPLE_BITS = 8, SAMPLE_THREADS = 64 };
#else
enum { SAMPLE_BITS = 13, SAMPLE_THREADS = 256 };
#endif

/* A block for each row that is looked at: its columns in a hash table. Rows that have more products than the table
 * has entries are left out, as are those of classes from `most` on. */
static __global__ void sample(dcsr_i_cuda_mxm_job job, const uint32_t *products, uint64_t step, uint32_t most,
                              dcsr_i_cuda_mxm_census *census)
{
    SIMT_SHARED(uint32_t, table, 1 << SAMPLE_BITS);
    const uint32_t mask = (1u << SAMPLE_BITS) - 1;
    for (uint64_t row = dcsr_i_cuda_first_block() * step; row < job.a.rows;
         row += dcsr_i_cuda_block_step() * step) {
        uint32_t n = products[row], found = 0;
        if (!n || n >= most || n > mask) continue;
        for (unsigned k = threadIdx.x; k <= mask; k += blockDim.x) table[k] = UINT32_MAX;
        __syncthreads();
        dcsr_i_cuda_for_row(job.a, job.a_heads[row], row, [&](uint64_t begin, uint64_t length) {
            for (uint64_t e = threadIdx.x / 32; e < length; e += blockDim.x / 32) {
                uint32_t i = job.a.columns[begin + e];
                dcsr_i_cuda_for_row(job.b, job.b_heads[i], i, [&](uint64_t at, uint64_t its) {
                    for (uint64_t k = dcsr_i_cuda_lane(); k < its; k += 32) {
                        uint32_t column = job.b.columns[at + k],
                                 h = (column * 0x9e3779b1u) >> (32 - SAMPLE_BITS), was;
                        while ((was = atomicCAS(&table[h], UINT32_MAX, column)) != UINT32_MAX &&
                               was != column)
                            h = (h + 1) & mask;
                        found += was == UINT32_MAX;
                    }
                });
            }
        });
        found = dcsr_i_cuda_block_sum(found);
        if (threadIdx.x == 0) {
            atomicAdd((unsigned long long *)&census->sampled_products[class_of(n)], (unsigned long long)n);
            atomicAdd((unsigned long long *)&census->sampled_outputs[class_of(n)], (unsigned long long)found);
        }
    }
}

void dcsr_i_cuda_mxm_sample(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                            const uint32_t *products, uint64_t step, int most, dcsr_i_cuda_mxm_census *census)
{
    uint32_t bound = most < 32 ? 1u << most : UINT32_MAX;
    dcsr_i_cuda_launch_blocks(stream, sample, (job->a.rows + step - 1) / step, SAMPLE_THREADS, 0, *job,
                              products, step, bound, census);
}

/* ---- Rows by class ---- */

/* A counting sort: a block takes places for its rows of each class at once, so that they stay nearly in order. */
static __global__ void sort_rows(const uint32_t *row, uint64_t count, const uint32_t *products,
                                 unsigned long long *next, uint32_t *list)
{
    SIMT_SHARED(uint32_t, rows, DCSR_CUDA_MXM_CLASSES);
    SIMT_SHARED(unsigned long long, place, DCSR_CUDA_MXM_CLASSES);
    for (uint64_t first = (uint64_t)blockIdx.x * blockDim.x; first < count; first += dcsr_i_cuda_step()) {
        for (unsigned k = threadIdx.x; k < DCSR_CUDA_MXM_CLASSES; k += blockDim.x) rows[k] = 0;
        __syncthreads();
        uint64_t at = first + threadIdx.x;
        uint32_t its = at < count ? (row ? row[at] : (uint32_t)at) : 0, rank = 0;
        int kind = at < count ? class_of(products[its]) : 0;
        if (at < count) rank = atomicAdd(&rows[kind], 1u);
        __syncthreads();
        for (unsigned k = threadIdx.x; k < DCSR_CUDA_MXM_CLASSES; k += blockDim.x)
            if (rows[k]) place[k] = atomicAdd(&next[k], (unsigned long long)rows[k]);
        __syncthreads();
        if (at < count) list[place[kind] + rank] = its;
        __syncthreads();
    }
}

void dcsr_i_cuda_mxm_place_by_class(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                                    const uint32_t *products, unsigned long long *next, uint32_t *list)
{
    dcsr_i_cuda_launch(stream, sort_rows, count, row, count, products, next, list);
}

/* ---- The result ---- */

static __global__ void add_lengths(const uint32_t *length, uint64_t rows, unsigned long long *total)
{
    uint64_t sum = 0;
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step()) sum += length[r];
    sum = dcsr_i_cuda_block_sum(sum);
    if (threadIdx.x == 0 && sum) atomicAdd(total, (unsigned long long)sum);
}

dcsr_status dcsr_i_cuda_mxm_total(dcsr_i_cuda_stream *stream, const uint32_t *length, uint64_t rows,
                                  uint64_t *total)
{
    unsigned long long *sum = (unsigned long long *)dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *sum);
    uint64_t *landing = (uint64_t *)dcsr_i_cuda_landing(stream, sizeof *landing);
    if (!sum || !landing) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(stream, sum, 0, sizeof *sum);
    dcsr_i_cuda_launch(stream, add_lengths, rows, length, rows, sum);
    dcsr_i_cuda_copy(stream, landing, sum, sizeof *landing);
    dcsr_status status = dcsr_i_cuda_wait(stream, "multiplying matrices");
    if (status == DCSR_OK) *total = *landing;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, sum, 1, sizeof *sum);
    return status;
}

/* A warp for each row. */
static __global__ void list_rows(dcsr_i_cuda_mxm_job job, const uint64_t *offsets, uint64_t *keys,
                                 void *values)
{
    for (uint64_t r = dcsr_i_cuda_first_warp(); r < job.a.rows; r += dcsr_i_cuda_warp_step())
        for (uint32_t k = dcsr_i_cuda_lane(); k < job.length[r]; k += 32) {
            const uint64_t from = job.begin[r] + k, to = offsets[r] + k;
            keys[to] = r << 32 | job.columns[from];
            if (values)
                dcsr_i_cuda_store_word(values, job.value_size, to,
                                       dcsr_i_cuda_load_word(job.values, job.value_size, from));
        }
}

void dcsr_i_cuda_mxm_list(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, const uint64_t *offsets,
                          uint64_t *keys, void *values)
{
    dcsr_i_cuda_launch_warps(stream, list_rows, job->a.rows, *job, offsets, keys, values);
}
