/* coo_add_up.cu: equal keys of a list become one, their values added up; also those of rows, or columns.
 *
 * On a device that is CUB's reduction by key, which shares out entries evenly, whatever the lengths of the
 * runs. For plus on types of 4 and 8 bytes it is compiled with these; for all other monoids and types once,
 * on words of 64 bits and one operator that looks up which it is.
 *
 * Bytes: key and value of each entry are read, and those of each sum written. */
#include "dcsr/device/prim.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/value_word.cuh"
#include "ops/matrix/coo_cuda.h"
#include "ops/algebra/operators.cuh"
#include "ops/matrix/reduce_cuda.h"
#include <utility>
#ifndef DCSR_SIMT
#include <cub/device/device_reduce.cuh>
#endif

namespace
{
/* A built-in monoid on words: the bytes of a value, then zeros. */
struct adding {
    uint32_t type;
    int name;
    /* Inlined wherever CUB applies it, its cases would take minutes to compile. */
    __device__ __attribute__((noinline)) uint64_t operator()(uint64_t x, uint64_t y) const
    {
        switch (type) {
#define DCSR_X(NAME, label, ctype, minimum, maximum) \
    case DCSR_##NAME:                                \
        return add<ctype>(x, y);
#include <dcsr/types.def>
#undef DCSR_X
        default:
            return x;
        }
    }

  private:
    template <class T> __device__ uint64_t add(uint64_t x, uint64_t y) const
    {
        uint64_t word = 0;
        T a, b;
        memcpy(&a, &x, sizeof a);
        memcpy(&b, &y, sizeof b);
        a = dcsr_i_cuda_operators<T>::binary(name, a, b);
        memcpy(&word, &a, sizeof a);
        return word;
    }
};
} // namespace

#ifdef DCSR_SIMT

static dcsr_status add_up(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo &list, uint32_t size, int name,
                          const dcsr_i_cuda_coo &sums, uint64_t *count)
{
    adding add = {(uint32_t)list.type, name};
    dcsr_i_cuda_enqueue(stream, [=] {
        uint64_t runs = 0;
        for (uint64_t k = 0; k < list.n; k++) {
            bool first = !k || list.keys[k] != list.keys[k - 1];
            uint64_t word = dcsr_i_cuda_load_word(list.values, size, k);
            if (!first) word = add(dcsr_i_cuda_load_word(sums.values, size, runs - 1), word);
            if (first) sums.keys[runs++] = list.keys[k];
            dcsr_i_cuda_store_word(sums.values, size, runs - 1, word);
        }
        *count = runs;
    });
    return DCSR_OK;
}

#else

namespace
{
/* An array of values as one of words, as CUB reads and writes it. */
struct words {
    struct word {
        void *values;
        uint32_t size;
        uint64_t at;
        __device__ operator uint64_t() const { return dcsr_i_cuda_load_word(values, size, at); }
        __device__ void operator=(uint64_t value) const { dcsr_i_cuda_store_word(values, size, at, value); }
    };
    typedef ptrdiff_t difference_type;
    typedef uint64_t value_type;
    typedef word reference;
    typedef const uint64_t *pointer;
    typedef std::random_access_iterator_tag iterator_category;

    void *values;
    uint32_t size;
    uint64_t at;
    __host__ __device__ word operator*() const { return {values, size, at}; }
    __host__ __device__ word operator[](ptrdiff_t i) const { return {values, size, at + i}; }
    __host__ __device__ words operator+(ptrdiff_t i) const { return {values, size, at + i}; }
};

template <class T> struct plus {
    __device__ T operator()(T x, T y) const { return x + y; }
};
} // namespace

template <class Values, class Operator>
static dcsr_status reduce(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo &list, Values from,
                          const dcsr_i_cuda_coo &sums, Values to, uint64_t *count, Operator add)
{
    return dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
        return cub::DeviceReduce::ReduceByKey(memory, bytes, list.keys, sums.keys, from, to, count, add,
                                              list.n, dcsr_i_cuda_raw(stream));
    });
}

template <class T>
static dcsr_status reduce_by_plus(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo &list,
                                  const dcsr_i_cuda_coo &sums, uint64_t *count)
{
    return reduce(stream, list, (T *)list.values, sums, (T *)sums.values, count, plus<T>());
}

static dcsr_status add_up(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo &list, uint32_t size, int name,
                          const dcsr_i_cuda_coo &sums, uint64_t *count)
{
    words from = {list.values, size, 0}, to = {sums.values, size, 0};
    switch (name == DCSR_BINARY_PLUS ? list.type : DCSR_PATTERN) {
    case DCSR_FP64:
        return reduce_by_plus<double>(stream, list, sums, count);
    case DCSR_FP32:
        return reduce_by_plus<float>(stream, list, sums, count);
    case DCSR_INT64:
    case DCSR_UINT64: /* both wrap around */
        return reduce_by_plus<uint64_t>(stream, list, sums, count);
    case DCSR_INT32:
    case DCSR_UINT32:
        return reduce_by_plus<uint32_t>(stream, list, sums, count);
    default:
        return reduce(stream, list, from, sums, to, count, adding{(uint32_t)list.type, name});
    }
}

#endif

/* The sums, and how many there are. */
static dcsr_status make_sums(dcsr_i_cuda_coo *sums, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo &list,
                             int name, uint64_t *count)
{
    uint32_t size = (uint32_t)dcsr_type_size(list.type);
    uint64_t *landing = static_cast<uint64_t *>(dcsr_i_cuda_landing(stream, sizeof *landing));
    if (!landing) return dcsr_i_cuda_wait(stream, "adding up entries");
    const dcsr_i_cuda_keyed places = {list.keys, nullptr, list.n, DCSR_PATTERN};
    DCSR_TRY(size ? add_up(stream, list, size, name, *sums, count)
                  : dcsr_i_cuda_combine(stream, &places, DCSR_POLICY_LAST, sums->keys, nullptr, count));
    dcsr_i_cuda_copy(stream, landing, count, sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "adding up entries"));
    sums->n = *landing;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_coo_add_up(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, int name)
{
    dcsr_i_cuda_coo sums;
    if (list->n < 2) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_coo_open(&sums, stream, list->type, list->rows, list->cols, list->n));
    uint64_t *count = static_cast<uint64_t *>(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *count));
    dcsr_status status = count ? make_sums(&sums, stream, *list, name, count) : dcsr_i_no_memory();
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, count, 1, sizeof *count);
    if (status == DCSR_OK) std::swap(*list, sums);
    dcsr_i_cuda_coo_close(&sums, stream);
    return status;
}

static __global__ void keep_part(uint64_t *keys, uint64_t n, bool columns)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        keys[k] = columns ? (uint32_t)keys[k] : keys[k] >> 32;
}

dcsr_status dcsr_i_cuda_coo_add_lines(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, bool columns,
                                      int name)
{
    dcsr_i_cuda_launch(stream, keep_part, list->n, list->keys, list->n, columns);
    list->cols = columns ? list->cols : list->rows;
    list->rows = 1;
    if (columns) DCSR_TRY(dcsr_i_cuda_coo_sort(list, stream));
    return dcsr_i_cuda_coo_add_up(list, stream, name);
}
