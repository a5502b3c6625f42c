/* spmv_merge.cu: the kernel merge: a CSR whose entries are shared out evenly, wherever rows end (flagged_list.cuh).
 *
 * Merge path (Merrill and Garland, SC 2016) shares out rows and entries; flags tell of rows at a bit an entry, and
 * empty rows are not in the list at all. Entries are read in place, four at a time where they begin at a multiple of 16
 * bytes. Half of the threads that fit a multiprocessor are left out: with all of them products take longer, as these
 * have fewer registers and so less under way each.
 *
 * Bytes: 4 + value and a bit an entry, x and y; where some rows are empty 4 a row that is not, and y once more; for
 * each tile 4 and a sum. Two launches, and a fill where some rows are empty. */
#include "ops/spmv/portfolio/cuda/flagged_list.cuh"

namespace
{
using namespace dcsr_portfolio;
enum { COLUMNS = 1, VALUES = 2, FLAGS = 3, ROWS = 4, FIRST = 5, CARRY = 6 };
typedef flagged::list<2> list;
enum { ALIGNED = 4 * sizeof(uint32_t) };

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    uint64_t in_use = 0;
    dcsr_status status = dcsr_i_spmv_csr_plan(format, m);
    if (!status) status = dcsr_i_spmv_total(m, flagged::rank_rows(format, m), format->rows, &in_use);
    format->tiles = list::tiles_of(format->nnz);
    dcsr_i_spmv_say(format, FLAGS, format->tiles * list::TILE_WORDS, sizeof(uint32_t));
    if (in_use < format->rows) dcsr_i_spmv_say(format, ROWS, in_use, sizeof(uint32_t));
    dcsr_i_spmv_say(format, FIRST, format->tiles + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, CARRY, format->tiles, format->sum_size);
    return status;
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    const dcsr_status status = dcsr_i_spmv_csr_fill(format, m);
    if (status) return status;
    uint64_t *rank = flagged::rank_rows(format, m);
    if (!rank) return dcsr_i_no_memory();
    flagged::fill(format, m, rank, list::TILE, FLAGS, ROWS, FIRST);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, rank, format->rows + 1, sizeof *rank);
    return DCSR_OK;
}

/* Reads four values of 4 or 8 bytes once, at a multiple of 16 bytes. */
template <class T> DCSR_CUDA_INLINE void read_four(T *to, const T *p)
{
#ifdef __CUDACC__
    uint4 words[sizeof(T) / 4];
    for (size_t i = 0; i < sizeof(T) / 4; i++) words[i] = __ldcs(reinterpret_cast<const uint4 *>(p) + i);
    memcpy(to, words, sizeof words);
#else
    memcpy(to, p, 4 * sizeof *to);
#endif
}

/* The entries of a CSR. */
template <class Kind> struct in_place {
    product<Kind> a;
    bool aligned; /* columns and values begin at multiples of 16 bytes */

    __device__ void load_some(flagged::four<Kind> &e, uint64_t first, int n) const
    {
        for (int j = 0; j < flagged::ITEMS; j++) {
            if (j >= n) break;
            e.value[j] = Kind::value(a.values, first + j);
            e.x[j] = a.factor[dcsr_i_cuda_read_once(a.columns + first + j)];
        }
    }
    __device__ void operator()(flagged::four<Kind> &e, uint64_t at, int n) const
    {
        const uint64_t first = at + dcsr_i_cuda_lane() * flagged::ITEMS;
        if (!aligned || n < flagged::ITEMS) return load_some(e, first, n);
        read_four(e.column, a.columns + first);
        if (a.values)
            read_four(e.value, a.values + first);
        else
            for (int j = 0; j < flagged::ITEMS; j++) e.value[j] = Kind::value(nullptr, 0);
        for (int j = 0; j < flagged::ITEMS; j++) e.x[j] = a.factor[e.column[j]];
    }
};

template <class Kind>
__global__ void __launch_bounds__(256, 4)
    sum_tiles(in_place<Kind> entries, list rows, typename Kind::sum *carry)
{
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < rows.tiles; k += dcsr_i_cuda_warp_step())
        flagged::sum_tile<Kind>(rows, k, entries.a.y, carry, entries);
}

void run(const dcsr_i_spmv_format *f, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(f->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        const product<Kind> a = product_of<Kind>(put, f, COLUMNS, VALUES);
        const in_place<Kind> entries = {a, ((uintptr_t)a.columns | (uintptr_t)a.values) % ALIGNED == 0};
        const list rows = {array_of<const uint32_t>(f, FLAGS), array_of<const uint32_t>(f, ROWS),
                           array_of<const uint32_t>(f, FIRST), f->nnz, f->tiles};
        auto *carry = array_of<typename Kind::sum>(f, CARRY);
        if (f->array[ROWS].size) put_zeros(put, a.y, f->rows * sizeof(typename Kind::element));
        if (!f->tiles) return;
        put_at_once(put, sum_tiles<Kind>, f->tiles * 32, entries, rows, carry);
        flagged::put_carries<Kind>(put, rows, a.y, f->rows, carry);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_merge = {
    nullptr, nullptr, plan, fill, run, 0, false, dcsr_i_spmv_csr_refresh, dcsr_i_spmv_csr_may_refresh};
