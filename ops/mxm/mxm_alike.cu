/* mxm_alike.cu: rows of a product by the program of their kind.
 *
 * A lane for each of 32 rows of one kind; the warps of a block share the program. Rows of a strip read rows of A and of
 * B that follow one another in memory, and many of them in common: what a strip reads of B's values is a few parts, one
 * for each group of neighbouring terms. They are brought to shared memory, each value once, where the loads of the
 * lanes stand in different banks if rows have an odd number of entries. No column of B is looked at, and of A those of
 * the first row. Loose rows read values of B in place.
 *
 * Bytes a row: its values of A, its share of the parts of B (8 each), its own entries (12 each), and 16 of the row.
 * What bounds it is two loads from shared memory for each product. */
#include "ops/mxm/mxm_alike.cuh"

enum {
    KINDS = DCSR_CUDA_MXM_KINDS,
    NONE = DCSR_CUDA_MXM_NO_KIND,
    MOST_TERMS = DCSR_CUDA_MXM_KIND_ENTRIES,
    ROWS = 32,
    PITCH = 33, /* of arrays by rows: entries of a row stand in different banks, too */
    AT_ONCE = 4
};
#ifdef DCSR_SIMT
enum { MOST_THREADS = 64 };
#else
enum { MOST_THREADS = DCSR_CUDA_MXM_SHARES * 32 };
#endif

namespace
{
/* Shared memory of a block, in elements. */
struct layout {
    uint32_t entries, terms; /* of C's rows, of A's: ROWS of each */
    uint32_t values;         /* of B */
    uint32_t steps;          /* of a program */
};

/* A step for the rows of a strip, in 32 bits: what it multiplies are x[term] and values[at + length times the row]. */
struct strip_step {
    enum { AT_BITS = 16, TERM = AT_BITS, LENGTH = TERM + 5 };
    static __device__ uint32_t pack(uint32_t at, uint32_t step, uint32_t length)
    {
        return at | (step >> 8 & 31) << TERM | length << LENGTH | (step & DCSR_CUDA_MXM_LAST_STEP);
    }
    static __device__ uint32_t at(uint32_t step) { return step & ((1u << AT_BITS) - 1); }
    static __device__ uint32_t term(uint32_t step) { return step >> TERM & 31; }
    static __device__ uint32_t length(uint32_t step) { return step >> LENGTH & 63; }
};

/* Read at once. */
struct alignas(16) some_steps {
    uint32_t step[AT_ONCE];
};

template <class T> struct tile_memory {
    uint32_t *step;
    T *out;           /* PITCH for each entry */
    T *x;             /* of A */
    T *values;        /* of B */
    uint32_t *column; /* of the program */
    __device__ tile_memory(void *memory, const layout &has)
        : step((uint32_t *)memory), out((T *)(step + has.steps)), x(out + has.entries * PITCH),
          values(x + has.terms * PITCH), column((uint32_t *)(values + has.values))
    {
    }
    static size_t bytes(const layout &has)
    {
        return has.steps * sizeof(uint32_t) + has.entries * sizeof(uint32_t) +
               ((size_t)has.entries * PITCH + (size_t)has.terms * PITCH + has.values) * sizeof(T);
    }
};
} // namespace

/* ---- Steps ---- */

/* A warp's share of a program, whose steps are read from `steps`; take(step, x, y) brings what one multiplies. */
template <class Ring, class Take>
DCSR_CUDA_INLINE void run_steps(const Ring &ring, const dcsr_i_cuda_mxm_program &program,
                                const uint32_t *steps, typename Ring::T *out, Take take)
{
    typedef typename Ring::T T;
    const uint32_t lane = dcsr_i_cuda_lane(), share = threadIdx.x / 32;
    if (share >= program.shares) return;
    const uint32_t end = program.end[share];
    T *to = out + program.entry[share] * PITCH + lane, sum = ring.none();
    for (uint32_t first = program.begin[share]; first < end; first += AT_ONCE) {
        const some_steps now = *(const some_steps *)(steps + first);
        T x[AT_ONCE], y[AT_ONCE];
        for (uint32_t j = 0; j < AT_ONCE; j++) take(now.step[j], &x[j], &y[j]);
        for (uint32_t j = 0; j < AT_ONCE; j++) {
            sum = ring.add(sum, ring.multiply(x[j], y[j]));
            if (now.step[j] & DCSR_CUDA_MXM_LAST_STEP) *to = sum, to += PITCH, sum = ring.none();
        }
    }
}

/* ---- Runs ---- */

namespace
{
/* What a lane knows of a strip's term: the entries of A of the strip's rows that have this number. */
struct strip_terms {
    uint64_t low;    /* where the row of B begins that the first row names; those of the others follow */
    uint32_t length; /* of each */
    uint32_t at;     /* where `low` is in shared memory */
    uint32_t first;  /* of all lanes: the column from which the first row counts */
    uint32_t parts;  /* of all lanes: those that begin a part of B's values */
    uint32_t up_to;  /* values of the parts up to this term */
};
} // namespace

DCSR_CUDA_INLINE strip_terms look_at_strip(const dcsr_i_cuda_mxm_job &job, const dcsr_i_cuda_mxm_alike &alike,
                                           uint64_t a, uint32_t terms, uint32_t rows)
{
    const uint32_t lane = dcsr_i_cuda_lane();
    const uint32_t column = lane < terms ? job.a.columns[a + lane] : 0;
    const uint64_t head = lane < terms ? job.b_heads[column] : 0;
    strip_terms its;
    its.first = lane == 0 ? (uint32_t)(alike.shift[column] >> 32) : 0;
    its.first = __shfl_sync(DCSR_CUDA_ALL_LANES, its.first, 0);
    its.low = head >> 24;
    its.length = dcsr_i_cuda_head_length(head);
    const uint64_t end = its.low + rows * its.length;
    const uint64_t low_before = __shfl_up_sync(DCSR_CUDA_ALL_LANES, its.low, 1),
                   end_before = __shfl_up_sync(DCSR_CUDA_ALL_LANES, end, 1);
    const bool joins = lane && its.low >= low_before && its.low <= end_before && end >= end_before;
    its.parts = __ballot_sync(DCSR_CUDA_ALL_LANES, lane < terms && !joins);
    const uint32_t more = lane < terms ? (uint32_t)(joins ? end - end_before : end - its.low) : 0;
    its.up_to = dcsr_i_cuda_scan_warp(more) + more;
    its.at = its.up_to - rows * its.length;
    return its;
}

/* Copies to shared memory, so that the thread need not wait for it. */
template <class T> DCSR_CUDA_INLINE void copy_one(T *to, const T *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from), "n"(sizeof(T)));
#else
    *to = *from;
#endif
}
DCSR_CUDA_INLINE void wait_for_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

template <class Ring> DCSR_CUDA_INLINE void bring_a(const Ring &ring, typename Ring::T *to, uint64_t place)
{
    *to = ring.of_a(place);
}
template <class T> DCSR_CUDA_INLINE void bring_a(const dcsr_i_cuda_plus_times<T> &ring, T *to, uint64_t place)
{
    copy_one(to, ring.a + place);
}
template <class Ring> DCSR_CUDA_INLINE void bring_b(const Ring &ring, typename Ring::T *to, uint64_t place)
{
    *to = ring.of_b(place);
}
template <class T> DCSR_CUDA_INLINE void bring_b(const dcsr_i_cuda_plus_times<T> &ring, T *to, uint64_t place)
{
    copy_one(to, ring.b + place);
}

/* Brings the values that a strip reads, and its steps. */
template <class Ring>
DCSR_CUDA_INLINE void bring_values(const dcsr_i_cuda_mxm_program &program, const Ring &ring,
                                   const strip_terms &its, uint64_t a, uint32_t values_of_a, bool with_b,
                                   const tile_memory<typename Ring::T> &memory)
{
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = dcsr_i_cuda_lane();
    uint32_t number = 0;
    for (uint32_t parts = with_b ? its.parts : 0; parts; parts &= parts - 1, number++) {
        if ((number & (warps - 1)) != warp) continue; /* warps are a power of two */
        const uint32_t behind = parts & (parts - 1);
        const int first = __ffs((int)parts) - 1, last = behind ? __ffs((int)behind) - 2 : 31;
        const uint64_t from = __shfl_sync(DCSR_CUDA_ALL_LANES, its.low, first);
        const uint32_t at = __shfl_sync(DCSR_CUDA_ALL_LANES, its.at, first),
                       end = __shfl_sync(DCSR_CUDA_ALL_LANES, its.up_to, last);
        for (uint32_t k = lane; k < end - at; k += 32) bring_b(ring, memory.values + at + k, from + k);
    }
    for (uint32_t k = threadIdx.x; k < values_of_a; k += blockDim.x) bring_a(ring, memory.x + k, a + k);
    const uint32_t steps = (program.end[program.shares - 1] + AT_ONCE - 1u) / AT_ONCE * AT_ONCE;
    for (uint32_t first = 0; first < steps; first += blockDim.x) {
        const uint32_t k = first + threadIdx.x, step = k < steps ? program.step[k] : 0;
        const int t = (int)(step >> 8 & 0xff);
        const uint32_t at = __shfl_sync(DCSR_CUDA_ALL_LANES, its.at, t) + (step & 0xff),
                       length = __shfl_sync(DCSR_CUDA_ALL_LANES, its.length, t);
        if (k < steps) memory.step[k] = strip_step::pack(at, step, length);
    }
    wait_for_copies();
    __syncthreads();
}

template <class Ring>
DCSR_CUDA_INLINE void add_up_strip(const Ring &ring, const dcsr_i_cuda_mxm_program &program,
                                   const strip_terms &its, uint64_t a, uint32_t rows, const layout &has,
                                   const tile_memory<typename Ring::T> &memory)
{
    typedef typename Ring::T T;
    const uint32_t lane = dcsr_i_cuda_lane(), row = lane < rows ? lane : rows - 1;
    const bool fits = __shfl_sync(DCSR_CUDA_ALL_LANES, its.up_to, 31) <= has.values;
    bring_values(program, ring, its, a, rows * program.terms, fits, memory);
    /* Not before the barrier, as other warps may still have been writing the strip before. */
    for (uint32_t k = threadIdx.x; k < program.entries; k += blockDim.x)
        copy_one(memory.column + k, program.column + k);
    const T *x_of_row = memory.x + row * program.terms;
    if (fits)
        run_steps(ring, program, memory.step, memory.out, [&](uint32_t step, T *x, T *y) {
            *x = x_of_row[strip_step::term(step)];
            *y = memory.values[strip_step::at(step) + strip_step::length(step) * row];
        });
    else
        run_steps(ring, program, program.step, memory.out, [&](uint32_t step, T *x, T *y) {
            const int t = (int)(step >> 8 & 31);
            const uint32_t length = __shfl_sync(DCSR_CUDA_ALL_LANES, its.length, t);
            *x = x_of_row[t];
            *y = ring.of_b(__shfl_sync(DCSR_CUDA_ALL_LANES, its.low, t) + (step & 0xff) + length * row);
        });
    wait_for_copies();
    __syncthreads();
}

/* Number q of the entries of some rows is entry k of row r. */
struct divided {
    uint32_t r, k;
};
DCSR_CUDA_INLINE divided divide(uint32_t q, uint32_t entries)
{
    const uint32_t inverse = UINT32_MAX / entries + 1; /* which suffices for q < 2^16 */
    const uint32_t r = entries == 1 ? q : (uint32_t)((uint64_t)q * inverse >> 32);
    return {r, q - r * entries};
}

/* Writes rows that stand side by side, from place `to` on. */
template <class Ring>
DCSR_CUDA_INLINE void write_strip(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                  const dcsr_i_cuda_mxm_program &program, uint32_t first, uint32_t rows,
                                  uint64_t to, const tile_memory<typename Ring::T> &memory)
{
    typedef typename Ring::T T;
    const uint32_t entries = program.entries, *columns = Ring::VALUES ? memory.column : program.column;
    for (uint32_t q = threadIdx.x; q < rows * entries; q += blockDim.x) {
        const divided at = divide(q, entries);
        job.columns[to + q] = first + at.r + columns[at.k];
        if (job.values) ring.write(job.values, to + q, Ring::VALUES ? memory.out[at.k * PITCH + at.r] : T(1));
    }
}

namespace
{
/* What a lane knows of its row of a group: where it begins in A and in C, kind and FOLLOWS. */
struct group_rows {
    uint64_t a, c;
    uint32_t word;
};
} // namespace

DCSR_CUDA_INLINE group_rows bring_rows(const dcsr_i_cuda_mxm_job &job, const dcsr_i_cuda_mxm_alike &alike,
                                       uint64_t group)
{
    const uint64_t row = group * ROWS + dcsr_i_cuda_lane();
    if (row >= job.a.rows) return {0, 0, NONE};
    return {job.a_heads[row] >> 24, alike.begin[row], alike.kind[row]};
}

/* A block for 32 rows that follow one another, and the strips in them. */
template <class Ring>
static __global__ void __launch_bounds__(MOST_THREADS, 2)
    run_rows(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_alike alike, layout has)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, bytes);
    const Ring ring(job);
    const tile_memory<T> memory(bytes, has);
    const uint32_t lane = dcsr_i_cuda_lane();
    const uint64_t groups = (job.a.rows + ROWS - 1) / ROWS;
    group_rows next = bring_rows(job, alike, dcsr_i_cuda_first_block());
    for (uint64_t group = dcsr_i_cuda_first_block(); group < groups; group += dcsr_i_cuda_block_step()) {
        const group_rows now = next;
        next = bring_rows(job, alike, group + dcsr_i_cuda_block_step());
        const uint64_t row = group * ROWS + lane, a = now.a, c = job.first + now.c;
        const uint32_t word = now.word;
        const bool exists = row < job.a.rows;
        const uint32_t rows = (uint32_t)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, exists));
        if (threadIdx.x < 32 && exists && (word & 0xff) != NONE) job.begin[row] = c;
        const uint32_t begins = dcsr_i_cuda_mxm_strip_begins(word, exists);
        for (uint32_t rest = begins; rest; rest &= rest - 1) {
            const uint32_t first = (uint32_t)__ffs((int)rest) - 1,
                           n = dcsr_i_cuda_mxm_strip_length(begins, rows, first);
            const uint32_t kind = __shfl_sync(DCSR_CUDA_ALL_LANES, word, (int)first) & 0xff;
            if (n < DCSR_CUDA_MXM_LEAST_STRIP || kind == NONE) continue;
            const dcsr_i_cuda_mxm_program &program = alike.program[kind];
            if (!program.steps) continue;
            const uint64_t its_a = __shfl_sync(DCSR_CUDA_ALL_LANES, a, (int)first),
                           its_c = __shfl_sync(DCSR_CUDA_ALL_LANES, c, (int)first);
            const strip_terms its = look_at_strip(job, alike, its_a, program.terms, n);
            if (Ring::VALUES) add_up_strip(ring, program, its, its_a, n, has, memory);
            write_strip(job, ring, program, its.first, n, its_c, memory);
        }
    }
}

/* Most of shared memory that a block may have so that there are two, or all. */
template <class T> static layout lay_out(const dcsr_i_cuda_mxm_alike *alike, bool parts)
{
    const dcsr_i_cuda_mxm_plan *plan = &alike->planned;
    layout has = {plan->most_entries, plan->most_terms, 0, 0};
    if (parts) /* a multiple of 4, as the shares are */
        has.steps =
            (plan->most_steps + AT_ONCE * dcsr_i_cuda_mxm_shares(plan->most_steps)) / AT_ONCE * AT_ONCE;
    const size_t most = alike->shared_bytes / 2 - 1024, fixed = tile_memory<T>::bytes(has);
    /* Neighbouring terms have values in common: with 20 a step there is room for all in most cases. */
    uint64_t values = parts && fixed < most ? (most - fixed) / sizeof(T) : 0;
    if (values > (uint64_t)20 * plan->most_steps + 64) values = (uint64_t)20 * plan->most_steps + 64;
    if (values >> strip_step::AT_BITS) values = ((uint64_t)1 << strip_step::AT_BITS) - 1;
    has.values = (uint32_t)values;
    return has;
}

void dcsr_i_cuda_mxm_run_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                              const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        typedef typename Ring::T T;
        const layout has = Ring::VALUES ? lay_out<T>(alike, true) : layout{0, 0, 0, 0};
        dcsr_i_cuda_launch_resident(stream, run_rows<Ring>, (job->a.rows + ROWS - 1) / ROWS,
                                    (int)dcsr_i_cuda_mxm_shares(alike->planned.most_steps) * 32,
                                    tile_memory<T>::bytes(has), *job, *alike, has);
    });
}

/* ---- Loose rows ---- */

/* The kind that a tile is of: the last one that does not begin behind it. All lanes call. */
DCSR_CUDA_INLINE uint32_t kind_of(const uint64_t *first_tile, uint64_t tile)
{
    enum { EACH = (KINDS + 31) / 32 };
    const uint32_t lane = dcsr_i_cuda_lane();
    const uint32_t coarse =
        (uint32_t)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, first_tile[lane * EACH] <= tile)) - 1;
    const uint32_t kind = coarse * EACH + lane;
    const bool before = lane < EACH && kind < KINDS && first_tile[kind] <= tile;
    return coarse * EACH + (uint32_t)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, before)) - 1;
}

/* A block for 32 loose rows of a kind. Where the rows of B begin stands where strips have values. */
template <class Ring>
static __global__ void __launch_bounds__(MOST_THREADS)
    run_loose(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_alike alike, layout has)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, bytes);
    SIMT_SHARED(uint64_t, from, MOST_TERMS * PITCH);
    const Ring ring(job);
    const tile_memory<T> memory(bytes, has);
    const uint32_t lane = dcsr_i_cuda_lane();
    for (uint64_t tile = dcsr_i_cuda_first_block(); tile < alike.first_tile[KINDS];
         tile += dcsr_i_cuda_block_step()) {
        const uint32_t kind = kind_of(alike.first_tile, tile);
        const dcsr_i_cuda_mxm_program &program = alike.program[kind];
        if (!program.steps) continue;
        const uint64_t at = alike.first_loose[kind] + (tile - alike.first_tile[kind]) * ROWS,
                       left = alike.first_loose[kind + 1] - at;
        const uint32_t rows = left < ROWS ? (uint32_t)left : (uint32_t)ROWS, terms = program.terms;
        const uint64_t row = alike.loose_row[at + (lane < rows ? lane : rows - 1)];
        const uint64_t a = job.a_heads[row] >> 24, c = job.first + alike.begin[row];
        const uint32_t first = (uint32_t)(alike.shift[job.a.columns[a]] >> 32);
        for (uint32_t t = threadIdx.x / 32; Ring::VALUES && t < terms; t += blockDim.x / 32) {
            memory.x[t * PITCH + lane] = ring.of_a(a + t);
            from[t * PITCH + lane] = job.b_heads[job.a.columns[a + t]] >> 24;
        }
        __syncthreads();
        if (Ring::VALUES)
            run_steps(ring, program, program.step, memory.out, [&](uint32_t step, T *x, T *y) {
                const uint32_t place = (step >> 8 & 31) * PITCH + lane;
                *x = memory.x[place];
                *y = ring.of_b(from[place] + (step & 0xff));
            });
        __syncthreads();
        const uint32_t entries = program.entries;
        for (uint32_t begin = 0; begin < rows * entries; begin += blockDim.x) {
            const uint32_t q = begin + threadIdx.x;
            const divided its = divide(q, entries);
            const uint64_t to = __shfl_sync(DCSR_CUDA_ALL_LANES, c, (int)(its.r & 31)) + its.k;
            const uint32_t base = __shfl_sync(DCSR_CUDA_ALL_LANES, first, (int)(its.r & 31));
            if (q >= rows * entries) continue;
            job.columns[to] = base + program.column[its.k];
            if (job.values)
                ring.write(job.values, to, Ring::VALUES ? memory.out[its.k * PITCH + its.r] : T(1));
        }
    }
}

void dcsr_i_cuda_mxm_run_loose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                               const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        typedef typename Ring::T T;
        const layout has = Ring::VALUES ? lay_out<T>(alike, false) : layout{0, 0, 0, 0};
        dcsr_i_cuda_launch_resident(stream, run_loose<Ring>, alike->planned.loose / ROWS + KINDS,
                                    (int)dcsr_i_cuda_mxm_shares(alike->planned.most_steps) * 32,
                                    tile_memory<T>::bytes(has), *job, *alike, has);
    });
}

uint32_t dcsr_i_cuda_mxm_most_entries(size_t shared_bytes)
{
    typedef tile_memory<double> memory;
    const size_t fixed = memory::bytes({0, MOST_TERMS, 0, DCSR_CUDA_MXM_MOST_STEPS + 64}),
                 each = PITCH * sizeof(double) + sizeof(uint32_t);
    const size_t most = shared_bytes > fixed ? (shared_bytes - fixed) / each : 0;
    return most < DCSR_CUDA_MXM_MOST_ENTRIES ? (uint32_t)most : (uint32_t)DCSR_CUDA_MXM_MOST_ENTRIES;
}
