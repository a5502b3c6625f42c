/* coo_apply.cu: kernels that apply operators to the values of a list, one by one, or of each pair of entries
 * of two lists.
 *
 * Bytes an entry: applying reads a value and writes one; operators that look at the place read 8 of the key,
 * those alone where they do not look at the value; a test writes 4. The Kronecker product reads three keys,
 * two values and four offsets of which most are in the cache, and writes 8 + value size. */
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/algebra/operators.cuh"

namespace
{
/* Entries that a thread has under way at once, so that enough loads are. */
constexpr int STEPS = 2;
constexpr dcsr_i_cuda_policy POLICY = {256, STEPS};

/* A pass as kernels get it. */
struct coo_pass {
    uint64_t n;
    const uint64_t *keys;
    const void *x;
    void *z;
    int name;
    uint32_t xtype, ztype;
    dcsr_i_scalar operand;
};

template <class T> struct operand {
    T x;
    int64_t row, column;
};
} // namespace

static coo_pass pass_of(const dcsr_i_cuda_coo_pass *pass)
{
    return {pass->x->n, pass->x->keys,         pass->x->values,       pass->z,
            pass->name, (uint32_t)pass->xtype, (uint32_t)pass->ztype, pass->operand};
}

/* For each k < n: store(k, load(k)). What is stored may be where it was loaded from. */
template <class Load, class Store> DCSR_CUDA_INLINE void for_each(uint64_t n, Load load, Store store)
{
    const uint64_t step = dcsr_i_cuda_step();
    for (uint64_t first = dcsr_i_cuda_first(); first < n; first += step * STEPS) {
        decltype(load(0)) loaded[STEPS];
        for (int j = 0; j < STEPS; j++)
            if (first + j * step < n) loaded[j] = load(first + j * step);
        for (int j = 0; j < STEPS; j++)
            if (first + j * step < n) store(first + j * step, loaded[j]);
    }
}

template <class T> static __global__ void apply_unary(coo_pass p)
{
    for_each(
        p.n, [&](uint64_t k) { return dcsr_i_cuda_load<T>(p.xtype, p.x, k); },
        [&](uint64_t k, T x) { dcsr_i_cuda_store(p.ztype, p.z, k, dcsr_i_cuda_operate_unary(p.name, x)); });
}

void dcsr_i_cuda_coo_unary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_with(POLICY, stream, apply_unary<decltype(zero)>, pass->x->n, pass_of(pass));
    });
}

template <class T> static __global__ void apply_bound(coo_pass p, bool first)
{
    const T other = dcsr_i_cuda_value_of<T>(p.operand);
    for_each(
        p.n, [&](uint64_t k) { return dcsr_i_cuda_load<T>(p.xtype, p.x, k); },
        [&](uint64_t k, T x) {
            T z = dcsr_i_cuda_operate<T>(p.name, first ? other : x, first ? x : other);
            dcsr_i_cuda_store(p.ztype, p.z, k, z);
        });
}

void dcsr_i_cuda_coo_bound(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass, bool first)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_with(POLICY, stream, apply_bound<decltype(zero)>, pass->x->n, pass_of(pass),
                                first);
    });
}

template <class T> DCSR_CUDA_INLINE operand<T> load_operand(const coo_pass &p, uint64_t k)
{
    const uint64_t key = p.keys[k];
    return {dcsr_i_cuda_load<T>(p.xtype, p.x, k), (int64_t)(key >> 32), (int64_t)(uint32_t)key};
}

template <class T> static __global__ void apply_index(coo_pass p)
{
    for_each(
        p.n, [&](uint64_t k) { return load_operand<T>(p, k); },
        [&](uint64_t k, const operand<T> &a) {
            dcsr_i_cuda_store(p.ztype, p.z, k,
                              dcsr_i_cuda_operate_index(p.name, a.x, a.row, a.column, p.operand));
        });
}

void dcsr_i_cuda_coo_index(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_with(POLICY, stream, apply_index<decltype(zero)>, pass->x->n, pass_of(pass));
    });
}

template <class T> static __global__ void test_index(coo_pass p, uint32_t *keep)
{
    for_each(
        p.n, [&](uint64_t k) { return load_operand<T>(p, k); },
        [&](uint64_t k, const operand<T> &a) {
            keep[k] = dcsr_i_cuda_operate_index(p.name, a.x, a.row, a.column, p.operand) != 0;
        });
}

void dcsr_i_cuda_coo_test(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass, uint32_t *keep)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_with(POLICY, stream, test_index<decltype(zero)>, pass->x->n, pass_of(pass), keep);
    });
}

/* ---- Pairs of entries ---- */

/* Row i of A, of la entries, makes la * nnz(B) entries, from offset(A, i) * nnz(B) on; of these row k of B,
 * of lb entries, makes la * lb, from la * offset(B, k) on. So entry p is of row i of A that has entry
 * p / nnz(B), and of row k of B that has the entry where p, counted from the beginning of row i, divided by
 * la, is. */
template <class T>
static __global__ void multiply_pairs(dcsr_i_cuda_coo_product m, uint64_t b_rows, uint64_t b_cols)
{
    for (uint64_t p = dcsr_i_cuda_first(); p < m.z.n; p += dcsr_i_cuda_step()) {
        uint64_t i = m.a.keys[p / m.b.n] >> 32, a = m.a_offsets[i], la = m.a_offsets[i + 1] - a;
        uint64_t in_row = p - a * m.b.n;
        uint64_t k = m.b.keys[in_row / la] >> 32, b = m.b_offsets[k], lb = m.b_offsets[k + 1] - b;
        uint64_t pair = in_row - la * b;
        a += pair / lb;
        b += pair % lb;
        uint64_t column = (uint32_t)m.a.keys[a] * b_cols + (uint32_t)m.b.keys[b];
        m.z.keys[p] = dcsr_i_cuda_coo_key(i * b_rows + k, column);
        if (!m.z.values) continue;
        T x = dcsr_i_cuda_load<T>(m.a.type, m.a.values, a), y = dcsr_i_cuda_load<T>(m.b.type, m.b.values, b);
        dcsr_i_cuda_store(m.z.type, m.z.values, p, dcsr_i_cuda_operate<T>(m.name, x, y));
    }
}

void dcsr_i_cuda_coo_kronecker(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_product *product)
{
    dcsr_i_cuda_with_type(product->type, [=](auto zero) {
        dcsr_i_cuda_launch(stream, multiply_pairs<decltype(zero)>, product->z.n, *product, product->b.rows,
                           product->b.cols);
    });
}
