/* mxm_kinds.cu: rows that are shifts of one another, and how the rows of a product are computed that are.
 *
 * Bytes an entry of B: 4, for its column; of A: 4, and 8 of the row of B that it names, mostly from the cache. */
#include "ops/mxm/mxm_alike.cuh"

#define EMPTY UINT32_MAX
enum {
    KINDS = DCSR_CUDA_MXM_KINDS,
    NONE = DCSR_CUDA_MXM_NO_KIND,
    MOST_TERMS = DCSR_CUDA_MXM_KIND_ENTRIES,
    MOST_STEPS = DCSR_CUDA_MXM_MOST_STEPS,
    MOST_ENTRIES = DCSR_CUDA_MXM_MOST_ENTRIES,
    SHARES = DCSR_CUDA_MXM_SHARES,
    MOST_PROBES = 32,
    SHORT =
        10, /* entries of rows that a lane looks at alone: lanes beside each other find them in the same lines */
    FOLLOWS = DCSR_CUDA_MXM_FOLLOWS
};

/* ---- Kinds ----
 *
 * An entry is a number whose high half is shifted with the row; its low half has flags that do not tell kinds apart. */

namespace
{
/* Rows of B: the columns of their entries. */
struct rows_of_b {
    dcsr_i_cuda_mxm_job job;
    uint64_t *shift;
    __device__ uint64_t head(uint64_t row) const { return job.b_heads[row]; }
    __device__ uint64_t entry(uint64_t place) const { return (uint64_t)job.b.columns[place] << 32; }
    /* Whether entry `place`, number k of its row, agrees with the row being one that follows that at `was`. */
    __device__ bool follows(uint64_t entry, uint64_t, uint64_t was, uint32_t k) const
    {
        return k || entry >> 32 == (uint64_t)job.b.columns[was] + 1;
    }
    __device__ void write(uint64_t row, uint64_t base, uint32_t its) const { shift[row] = base | its; }
};

/* Rows of C: first column and kind of the rows of B that they add up. */
struct rows_of_c {
    dcsr_i_cuda_mxm_job job;
    const uint64_t *shift;
    uint32_t *kind;
    __device__ uint64_t head(uint64_t row) const { return job.a_heads[row]; }
    __device__ uint64_t entry(uint64_t place) const { return shift[job.a.columns[place]]; }
    __device__ bool follows(uint64_t entry, uint64_t place, uint64_t was, uint32_t k) const
    {
        return (entry & FOLLOWS) && job.a.columns[place + k] == job.a.columns[was + k] + 1;
    }
    __device__ void write(uint64_t row, uint64_t, uint32_t its) const { kind[row] = its; }
};

/* A row as a lane of its group sees it. */
struct sight {
    uint64_t place, base;
    uint64_t first; /* the lane's first entry, shifted by base; where it has none: 0 */
    uint32_t length;
};
} // namespace

/* Without base and first. */
template <class Rows> DCSR_CUDA_INLINE sight find_row(const Rows &rows, uint64_t row)
{
    const uint64_t head = rows.head(row);
    return {head >> 24, 0, 0, dcsr_i_cuda_head_length(head)};
}

DCSR_CUDA_INLINE uint64_t shift_back(uint64_t entry, uint64_t base)
{
    return (entry & ~(uint64_t)FOLLOWS) - base;
}

/* All lanes call; those whose row is not to be looked at have its length as 0. Returns the lane's first entry. */
template <class Rows>
DCSR_CUDA_INLINE uint64_t look_at(const Rows &rows, sight &its, unsigned l, unsigned leader)
{
    const uint64_t entry = l < its.length ? rows.entry(its.place + l) : 0;
    its.base = __shfl_sync(DCSR_CUDA_ALL_LANES, entry, (int)leader) >> 32 << 32;
    its.first = l < its.length ? shift_back(entry, its.base) : 0;
    return entry;
}

DCSR_CUDA_INLINE uint32_t mix(uint64_t entry, uint32_t k)
{
    uint64_t x = (entry + k + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)(x >> 32);
}

/* Whether the entries number l, l + lanes, ... of two rows are the same. */
template <class Rows>
DCSR_CUDA_INLINE bool agree(const Rows &rows, const sight &x, const sight &y, unsigned l, unsigned lanes)
{
    bool same = x.length == y.length && x.first == y.first;
    for (uint32_t k = l + lanes; same && k < x.length; k += lanes)
        same = shift_back(rows.entry(x.place + k), x.base) == shift_back(rows.entry(y.place + k), y.base);
    return same;
}

/* Entries are never changed once they are there. */
DCSR_CUDA_INLINE uint32_t find_or_take(uint32_t *slot, uint32_t row)
{
#ifdef DCSR_SIMT
    const uint32_t seen = dcsr_i_cuda_peek(slot);
#else
    const uint32_t seen = __ldca(slot); /* may be out of date if it is empty */
#endif
    return seen == EMPTY ? atomicCAS(slot, EMPTY, row) : seen;
}

/* All lanes call. */
DCSR_CUDA_INLINE bool too_many(const dcsr_i_cuda_mxm_kinds *kinds)
{
    return __any_sync(DCSR_CUDA_ALL_LANES, dcsr_i_cuda_peek(&kinds->count) >= DCSR_CUDA_MXM_MOST_KINDS);
}

namespace
{
/* Lanes that look at one row, and the kind that they have met last. */
template <class Rows> struct group {
    const Rows &rows;
    dcsr_i_cuda_mxm_kinds *kinds;
    unsigned lanes, l, leader;
    uint32_t mask;
    sight known;
    uint32_t known_kind;

    __device__ group(const Rows &of, dcsr_i_cuda_mxm_kinds *to, unsigned each)
        : rows(of), kinds(to), lanes(each), l(dcsr_i_cuda_lane() % each), leader(dcsr_i_cuda_lane() - l),
          mask((each == 32 ? ~0u : (1u << each) - 1) << leader), known(), known_kind(NONE)
    {
    }
    __device__ bool all(bool mine) const { return (__ballot_sync(DCSR_CUDA_ALL_LANES, mine) & mask) == mask; }
    /* Whether all entries have a kind; *follows: and do as the row after `before` does that stands next to it. */
    __device__ bool check(const sight &mine, const sight &before, uint64_t entry, bool *follows) const
    {
        bool next = mine.length && before.place + before.length == mine.place && before.length == mine.length;
        bool fits = true;
        for (uint32_t k = l; k < mine.length; k += lanes) {
            if (k != l) entry = rows.entry(mine.place + k);
            if ((entry & 0xff) == NONE) fits = false;
            if (next) next = rows.follows(entry, mine.place, before.place, k);
        }
        *follows = all(next);
        return all(fits);
    }
    /* The kind of the rows whose group `searches`. False: there are too many. */
    __device__ bool look_up(const sight &mine, uint64_t row, bool searches, uint32_t *kind)
    {
        uint32_t hash = l == 0 ? mine.length : 0;
        for (uint32_t k = l; k < mine.length; k += lanes)
            hash += mix(k == l ? mine.first : shift_back(rows.entry(mine.place + k), mine.base), k);
        for (unsigned d = lanes / 2; d; d /= 2) hash += __shfl_xor_sync(DCSR_CUDA_ALL_LANES, hash, (int)d);
        uint32_t slot = hash % KINDS;
        for (int probes = 0; __any_sync(DCSR_CUDA_ALL_LANES, searches); probes++) {
            if (probes == 1 && too_many(kinds)) return false;
            uint32_t other = 0;
            if (searches && l == 0) {
                other = find_or_take(&kinds->row[slot], (uint32_t)row);
                if (other == EMPTY) other = (uint32_t)row, atomicAdd(&kinds->count, 1u);
            }
            other = __shfl_sync(DCSR_CUDA_ALL_LANES, other, (int)leader);
            sight its = searches ? find_row(rows, other) : sight{0, 0, 0, 0};
            look_at(rows, its, l, leader);
            const bool found = all(searches && agree(rows, mine, its, l, lanes));
            if (found) known = its, known_kind = *kind = slot;
            if (found || probes == MOST_PROBES) searches = false;
            slot = slot + 1 == KINDS ? 0 : slot + 1;
        }
        return true;
    }
};
} // namespace

/* Some lanes for each row, which is compared with the kind that they met before, and if it is of another, looked up. */
template <class Rows>
static __global__ void find_kinds(Rows rows, uint64_t count, unsigned lanes, dcsr_i_cuda_mxm_kinds *kinds,
                                  const dcsr_i_cuda_mxm_kinds *earlier)
{
    if (earlier && too_many(earlier)) return;
    group<Rows> own(rows, kinds, lanes);
    for (uint64_t first = dcsr_i_cuda_first_warp() * (32 / lanes); first < count;
         first += dcsr_i_cuda_warp_step() * (32 / lanes)) {
        const uint64_t row = first + dcsr_i_cuda_lane() / lanes;
        const bool exists = row < count;
        sight mine = exists ? find_row(rows, row) : sight{0, 0, 0, 0};
        const sight before = exists && row ? find_row(rows, row - 1) : sight{0, 0, 0, 0};
        const bool is_short = exists && mine.length <= MOST_TERMS;
        if (!is_short) mine.length = 0;
        const uint64_t entry = look_at(rows, mine, own.l, own.leader);
        bool follows;
        const bool fits = own.check(mine, before, entry, &follows) && is_short;
        const bool same = own.all(own.known_kind != NONE && agree(rows, mine, own.known, own.l, lanes));
        uint32_t kind = fits && same ? own.known_kind : (uint32_t)NONE;
        const bool searches = fits && !same;
        if (__any_sync(DCSR_CUDA_ALL_LANES, searches) && !own.look_up(mine, row, searches, &kind)) return;
        follows = follows && kind != NONE;
        if (own.l == 0 && exists) rows.write(row, mine.base, kind | (follows ? (uint32_t)FOLLOWS : 0));
    }
}

template <class Rows>
static void launch(dcsr_i_cuda_stream *stream, Rows rows, const dcsr_i_cuda_rows &of,
                   dcsr_i_cuda_mxm_kinds *kinds, const dcsr_i_cuda_mxm_kinds *earlier)
{
    const uint32_t lanes = of.stored <= SHORT * of.rows ? 1 : 8;
    dcsr_i_cuda_launch(stream, find_kinds<Rows>, (of.rows * lanes + 31) / 32 * 32, rows, of.rows, lanes,
                       kinds, earlier);
}

void dcsr_i_cuda_mxm_find_kinds(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_alike *alike)
{
    launch(stream, rows_of_b{*job, alike->shift}, job->b, alike->of_b, NULL);
    launch(stream, rows_of_c{*job, alike->shift, alike->kind}, job->a, alike->of_c, alike->of_b);
}

/* ---- Programs ---- */

#ifdef DCSR_SIMT
enum { PROGRAM_THREADS = 64 };
#else
enum { PROGRAM_THREADS = 256 };
#endif

namespace
{
/* The products of a row while they are sorted. */
struct sorting {
    uint64_t key[MOST_STEPS], sorted[MOST_STEPS]; /* column, then number of the product */
    uint64_t begin[MOST_TERMS];                   /* of the rows of B */
    uint32_t before[MOST_TERMS + 1];              /* products before each term */
    uint16_t first[MOST_ENTRIES + 1];             /* product of each entry */
};
} // namespace

/* Products by column: each counts those that are to stand before it. */
DCSR_CUDA_INLINE void sort_products(const dcsr_i_cuda_mxm_job &job, sorting &s, uint32_t steps)
{
    for (uint32_t p = threadIdx.x; p < steps; p += blockDim.x) {
        uint32_t t = 0;
        while (s.before[t + 1] <= p) t++;
        const uint32_t l = p - s.before[t];
        s.key[p] = (uint64_t)job.b.columns[s.begin[t] + l] << 32 | t << 8 | l;
    }
    __syncthreads();
    for (uint32_t p = threadIdx.x; p < steps; p += blockDim.x) {
        const uint64_t mine = s.key[p];
        uint32_t rank = 0;
        for (uint32_t q = 0; q < steps; q++) rank += s.key[q] < mine;
        s.sorted[rank] = mine;
    }
    __syncthreads();
}

/* Finds the entries, and writes their columns, of as many as a program may have; returns how many there are. */
DCSR_CUDA_INLINE uint32_t write_entries(dcsr_i_cuda_mxm_program *to, sorting &s, uint32_t steps,
                                        uint32_t base)
{
    uint32_t entries = 0, all;
    for (uint32_t begin = 0; begin < steps; begin += blockDim.x, entries += all) {
        const uint32_t p = begin + threadIdx.x;
        const uint32_t column = p < steps ? (uint32_t)(s.sorted[p] >> 32) : 0;
        const bool opens = p < steps && (p == 0 || (uint32_t)(s.sorted[p - 1] >> 32) != column);
        const uint32_t entry = entries + dcsr_i_cuda_scan_block(opens, &all);
        if (opens && entry < MOST_ENTRIES) to->column[entry] = column - base, s.first[entry] = (uint16_t)p;
    }
    __syncthreads();
    return entries;
}

/* Cuts the steps into shares, at entries. One thread calls. */
DCSR_CUDA_INLINE void cut_shares(dcsr_i_cuda_mxm_program *to, const sorting &s, uint32_t steps,
                                 uint32_t entries)
{
    const uint32_t shares = to->shares = dcsr_i_cuda_mxm_shares(steps);
    uint32_t entry = 0, at = 0;
    for (uint32_t k = 0; k < shares; k++) {
        const uint32_t first = entry < entries ? s.first[entry] : steps;
        to->entry[k] = (uint16_t)entry;
        while (entry < entries && s.first[entry] < (k + 1) * steps / shares) entry++;
        const uint32_t end = entry < entries ? s.first[entry] : steps;
        to->begin[k] = (uint16_t)at;
        to->end[k] = (uint16_t)(at + end - first);
        at = (to->end[k] + 3u) & ~3u;
    }
}

/* Writes the steps, share by share. */
DCSR_CUDA_INLINE void write_steps(dcsr_i_cuda_mxm_program *to, const sorting &s, uint32_t steps)
{
    for (uint32_t k = 0, before = 0; k < to->shares; k++) {
        const uint32_t n = to->end[k] - to->begin[k];
        for (uint32_t j = threadIdx.x; j < ((n + 3) & ~3u); j += blockDim.x) {
            const uint32_t p = before + (j < n ? j : n - 1);
            const bool ends = j < n && (p + 1 == steps || s.sorted[p + 1] >> 32 != s.sorted[p] >> 32);
            to->step[to->begin[k] + j] =
                (uint32_t)(s.sorted[p] & 0xffff) | (ends ? DCSR_CUDA_MXM_LAST_STEP : 0);
        }
        before += n;
    }
}

/* A block for each kind. */
static __global__ void __launch_bounds__(PROGRAM_THREADS)
    write_programs(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_alike alike)
{
    SIMT_SHARED(sorting, memory, 1);
    sorting &s = *memory;
    for (uint64_t kind = dcsr_i_cuda_first_block(); kind < KINDS; kind += dcsr_i_cuda_block_step()) {
        dcsr_i_cuda_mxm_program *to = &alike.program[kind];
        const uint32_t row = alike.of_c->row[kind];
        const uint64_t head = row == EMPTY ? 0 : job.a_heads[row], a = head >> 24;
        const uint32_t terms = dcsr_i_cuda_head_length(head);
        if (threadIdx.x < 32) { /* a lane for each term */
            const uint64_t b = threadIdx.x < terms ? job.b_heads[job.a.columns[a + threadIdx.x]] : 0;
            const uint32_t length = dcsr_i_cuda_head_length(b), before = dcsr_i_cuda_scan_warp(length);
            s.begin[threadIdx.x] = b >> 24;
            s.before[threadIdx.x] = before;
            if (threadIdx.x == 31) s.before[32] = before + length;
        }
        __syncthreads();
        const uint32_t steps = s.before[32];
        sort_products(job, s, steps);
        const uint32_t base = terms ? (uint32_t)(alike.shift[job.a.columns[a]] >> 32) : 0;
        const uint32_t entries = write_entries(to, s, steps, base);
        const bool fits = entries <= alike.most_entries;
        if (threadIdx.x == 0 && fits) {
            cut_shares(to, s, steps, entries);
            atomicMax(&alike.plan->most_terms, terms);
            atomicMax(&alike.plan->most_steps, steps);
            atomicMax(&alike.plan->most_entries, entries);
        }
        if (threadIdx.x == 0) to->terms = terms, to->steps = steps, to->entries = fits ? entries : EMPTY;
        __syncthreads();
        if (fits) write_steps(to, s, steps);
        __syncthreads();
    }
}

void dcsr_i_cuda_mxm_write_programs(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                    const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_launch_blocks(stream, write_programs, KINDS, PROGRAM_THREADS, 0, *job, *alike);
}

/* ---- Rows ---- */

/* A warp for 32 rows that follow one another. */
static __global__ void measure_rows(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_alike alike)
{
    const uint32_t lane = dcsr_i_cuda_lane();
    uint64_t products = 0;
    uint32_t loose = 0, left = 0;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < job.a.rows;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t row = first + lane;
        const bool exists = row < job.a.rows;
        uint32_t word = exists ? alike.kind[row] : (uint32_t)NONE;
        const dcsr_i_cuda_mxm_program *its = (word & 0xff) == NONE ? NULL : &alike.program[word & 0xff];
        const uint32_t entries = its ? its->entries : EMPTY;
        if (entries == EMPTY && exists) alike.kind[row] = word = NONE;
        if (exists) job.length[row] = entries == EMPTY ? 0 : entries;
        if (entries != EMPTY) products += its->steps;
        left += exists && entries == EMPTY;
        const bool in_strip = dcsr_i_cuda_mxm_in_strip(word, exists);
        loose += exists && !in_strip && entries != EMPTY;
    }
    products = dcsr_i_cuda_block_sum(products);
    loose = dcsr_i_cuda_block_sum(loose);
    left = dcsr_i_cuda_block_sum(left);
    if (threadIdx.x) return;
    if (products) atomicAdd((unsigned long long *)&alike.plan->products, (unsigned long long)products);
    if (loose) atomicAdd((unsigned long long *)&alike.plan->loose, (unsigned long long)loose);
    if (left) atomicAdd((unsigned long long *)&alike.plan->left, (unsigned long long)left);
}

void dcsr_i_cuda_mxm_measure_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                  const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_launch(stream, measure_rows, (job->a.rows + 31) / 32 * 32, *job, *alike);
}

static __global__ void collect_loose(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_alike alike)
{
    const uint32_t lane = dcsr_i_cuda_lane();
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < job.a.rows;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t row = first + lane;
        const uint32_t word = row < job.a.rows ? alike.kind[row] : (uint32_t)NONE;
        const bool in_strip = dcsr_i_cuda_mxm_in_strip(word, row < job.a.rows),
                   loose = !in_strip && row < job.a.rows;
        const uint32_t all = __ballot_sync(DCSR_CUDA_ALL_LANES, loose);
        uint64_t at = 0;
        if (!all) continue;
        if (lane == 0)
            at = atomicAdd((unsigned long long *)&alike.plan->collected, (unsigned long long)__popc(all));
        at = __shfl_sync(DCSR_CUDA_ALL_LANES, at, 0) + (unsigned)__popc(all & ((1u << lane) - 1));
        if (loose) alike.loose_row[at] = (uint32_t)row, alike.loose_kind[at] = word & 0xff;
    }
}

void dcsr_i_cuda_mxm_collect_loose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                   const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_launch(stream, collect_loose, (job->a.rows + 31) / 32 * 32, *job, *alike);
}

/* One warp: a lane for some kinds that follow one another. */
static __global__ void plan_tiles(dcsr_i_cuda_mxm_alike alike)
{
    enum { EACH = (KINDS + 31) / 32 };
    const uint32_t lane = dcsr_i_cuda_lane(), first = lane * EACH;
    uint64_t tiles[EACH], all = 0;
    for (uint32_t k = 0; k < EACH; k++) {
        tiles[k] = first + k < KINDS
                       ? (alike.first_loose[first + k + 1] - alike.first_loose[first + k] + 31) / 32
                       : 0;
        all += tiles[k];
    }
    uint64_t at = dcsr_i_cuda_scan_warp(all);
    for (uint32_t k = 0; k < EACH; at += tiles[k++])
        if (first + k <= KINDS) alike.first_tile[first + k] = at;
}

void dcsr_i_cuda_mxm_plan_tiles(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_alike *alike)
{
    dcsr_i_cuda_launch_blocks(stream, plan_tiles, 1, 32, 0, *alike);
}
