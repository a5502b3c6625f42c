/* mxv_push.cu: kernels of the product of a matrix with a vector, from the vector's elements.
 *
 * The entries of all rows of the walk are shared out evenly (balanced_walk.cuh), so a row that holds most of them is
 * no worse than others. Each product goes to its sum by an atomic, after a look at the mask:
 *
 *      any                  who sets the element's bit first writes its value, all others are done
 *      plus, and of integers min, max, bits      the device's own atomics
 *      else                 compare and swap, and not even that where the sum stays as it is
 *
 * Sums begin as the monoid says (operator.h). Those of types of 1 and 2 bytes are kept in words of 4, for
 * atomics, and brought into t at the end. Sums of floating-point numbers depend on the order in which terms
 * arrive.
 *
 * Bytes moved: 4 + value an entry, and from the second-level cache a sector of the mask, of t's bits and of
 * its sums; 1/8 and a value for each element of t, as everything begins empty; 40 a row of the walk. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/algebra/semiring.cuh"
#include "ops/mxv/mxv_cuda.h"

namespace
{
/* What a sum is kept in. */
template <class T> using word_of = typename std::conditional<(sizeof(T) < 4), uint32_t, T>::type;

/* Blocks that a multiprocessor runs at once: values of 8 bytes take more registers. */
template <class T> [[maybe_unused]] constexpr int BLOCKS_FOR = sizeof(T) > 4 ? 3 : 4;

/* The atomics of the device: whether there is one for this addition. */
template <class T> DCSR_CUDA_INLINE bool add_directly(word_of<T> *at, T term, int add)
{
    constexpr bool integer = std::is_integral<T>::value && !std::is_same<T, bool>::value;
    typedef typename std::conditional<sizeof(T) == 8, unsigned long long, unsigned>::type bits;
    if (std::is_same<T, bool>::value) return false;
    if (add == DCSR_BINARY_PLUS) {
        if constexpr (integer)
            atomicAdd((bits *)at, (bits)term);
        else if constexpr (std::is_floating_point<T>::value)
            atomicAdd(at, term);
        return true;
    }
    if constexpr (integer && sizeof(T) >= 4) {
        typedef typename std::conditional<sizeof(T) == 8, long long, int>::type whole;
        typedef typename std::conditional<std::is_signed<T>::value, whole, bits>::type number;
        switch (add) {
        case DCSR_BINARY_MIN:
            atomicMin((number *)at, (number)term);
            return true;
        case DCSR_BINARY_MAX:
            atomicMax((number *)at, (number)term);
            return true;
        case DCSR_BINARY_BIT_OR:
            atomicOr((bits *)at, (bits)term);
            return true;
        case DCSR_BINARY_BIT_AND:
            atomicAnd((bits *)at, (bits)term);
            return true;
        case DCSR_BINARY_BIT_XOR:
            atomicXor((bits *)at, (bits)term);
            return true;
        default:
            break;
        }
    }
    return false;
}

template <class T> DCSR_CUDA_INLINE void add_term(word_of<T> *at, T term, int add)
{
    typedef word_of<T> W;
    typedef typename std::conditional<sizeof(W) == 8, unsigned long long, unsigned>::type bits;
    if (add_directly<T>(at, term, add)) return;
    for (bits was = dcsr_i_cuda_peek((bits *)at), seen;; was = seen) {
        W old;
        memcpy(&old, &was, sizeof old);
        W sum = W(dcsr_i_cuda_operate<T>(add, T(old), term));
        bits becomes;
        memcpy(&becomes, &sum, sizeof sum);
        if (becomes == was) return;
        seen = atomicCAS((bits *)at, was, becomes);
        if (seen == was) return;
    }
}

/* Sets the bit of t's element c; whether it was not set before. */
DCSR_CUDA_INLINE bool find_first(const dcsr_i_cuda_mxv &x, uint32_t c)
{
    uint32_t bit = 1u << (c & 31), *word = &x.t.present[c / 32];
    return !(dcsr_i_cuda_peek(word) & bit) && !(atomicOr(word, bit) & bit);
}

DCSR_CUDA_INLINE void add_count(const dcsr_i_cuda_mxv &x, uint64_t count)
{
    count = dcsr_i_cuda_block_sum(count);
    if (threadIdx.x == 0 && count) atomicAdd(x.t.count, (unsigned long long)count);
}

template <class T> struct product {
    uint32_t column;
    T value, x;
};

template <class T>
__global__ void __launch_bounds__(DCSR_CUDA_WALK_THREADS, BLOCKS_FOR<T>)
    push(dcsr_i_cuda_mxv x, dcsr_i_cuda_arithmetic<T> ring, dcsr_i_cuda_walk walk, word_of<T> *sums)
{
    uint64_t count = 0;
    const T *u = (const T *)x.u.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            product<T> p;
            p.column = walk.rows.columns[source.place];
            p.value = ring.matrix_value(source.place);
            p.x = ring.ring.reads_vector ? u[entry.i] : T(1);
            return p;
        },
        [&](const dcsr_i_cuda_entry &, const product<T> &p) {
            if (!dcsr_i_cuda_wants(x.wanted, p.column)) return;
            bool first = find_first(x, p.column);
            count += first;
            if (!ring.ring.any)
                add_term<T>(&sums[p.column], ring.multiply(p.value, p.x), ring.ring.add);
            else if (first)
                ((T *)x.t.values)[p.column] = ring.multiply(p.value, p.x);
        });
    add_count(x, count);
}

/* Where every sum is 1, columns are all that is read. */
__global__ void DCSR_CUDA_WALK_BOUNDS push_ones(dcsr_i_cuda_mxv x, dcsr_i_cuda_walk walk)
{
    uint64_t count = 0;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) {
            if (!dcsr_i_cuda_wants(x.wanted, column) || !find_first(x, column)) return;
            dcsr_i_cuda_store(x.semiring.type, x.t.values, column, 1);
            count++;
        });
    add_count(x, count);
}

template <class W> __global__ void begin(W *sums, W start, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) sums[i] = start;
}

template <class T> __global__ void narrow(T *values, const uint32_t *sums, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) values[i] = T(sums[i]);
}
} // namespace

size_t dcsr_i_cuda_mxv_sum_size(dcsr_type type)
{
    size_t size = dcsr_type_size(type);
    return size < 4 ? 4 : size;
}

void dcsr_i_cuda_mxv_push(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x, const uint64_t *offsets,
                          uint64_t entries, void *sums)
{
    const dcsr_i_cuda_semiring &semiring = x->semiring;
    dcsr_i_cuda_walk walk = {x->rows, x->u.indices, x->u.nvals, offsets};
    if (semiring.ones) {
        dcsr_i_cuda_launch_walk(stream, push_ones, entries, walk.count, *x, walk);
        return;
    }
    dcsr_i_cuda_with_type(semiring.type, [&](auto value) {
        typedef decltype(value) T;
        typedef word_of<T> W;
        uint64_t n = x->t.size;
        dcsr_i_cuda_arithmetic<T> ring(semiring, x->rows);
        if (!semiring.any)
            dcsr_i_cuda_launch(stream, begin<W>, n, (W *)sums, W(dcsr_i_cuda_value_of<T>(semiring.start)), n);
        dcsr_i_cuda_launch_walk(stream, push<T>, entries, walk.count, *x, ring, walk, (W *)sums);
        if constexpr (sizeof(T) < 4)
            if (!semiring.any)
                dcsr_i_cuda_launch(stream, narrow<T>, n, (T *)x->t.values, (const uint32_t *)sums, n);
    });
}
