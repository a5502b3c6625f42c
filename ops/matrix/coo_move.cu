/* coo_move.cu: kernels that bring entries of lists to other places.
 *
 * Rows and columns that are named one after the other are found by subtraction, others by bisection of a list
 * that ascends.
 *
 * Bytes an entry: 8 of the key are read, and what is found of the lists, the middle of which is in the cache;
 * a mark is 4 written, a count 8, a new key 8. Where entries multiply each that is written costs a bisection
 * of the sums, and moves its value. */
#include "dcsr/base/search.h"
#include "dcsr/device/value_word.cuh"
#include "ops/matrix/coo_kernels_cuda.h"

/* The first place whose index is not below this one; of neighbours that are named it is at or beyond n where
 * the index is none of them. */
DCSR_CUDA_INLINE uint64_t place_of(const dcsr_i_cuda_indices &in, uint64_t index)
{
    return in.list ? dcsr_i_list_find(in.list, 0, in.n, index) : index - in.first;
}

/* Whether the index stands at its place; how often from there on. */
DCSR_CUDA_INLINE bool is_named(const dcsr_i_cuda_indices &in, uint64_t place, uint64_t index)
{
    return place < in.n && (!in.list || in.list[place] == index);
}
DCSR_CUDA_INLINE uint64_t times_named(const dcsr_i_cuda_indices &in, uint64_t place, uint64_t index)
{
    if (!is_named(in, place, index)) return 0;
    return in.list ? dcsr_i_list_find(in.list, place, in.n, index + 1) - place : 1;
}

DCSR_CUDA_INLINE uint64_t position_of(const dcsr_i_cuda_indices &in, uint64_t place)
{
    return in.position ? in.position[place] : place;
}

DCSR_CUDA_INLINE uint64_t index_at(const dcsr_i_cuda_indices &in, uint64_t place)
{
    return in.list ? in.list[place] : in.first + place;
}

DCSR_CUDA_INLINE uint64_t row_of(uint64_t key)
{
    return key >> 32;
}
DCSR_CUDA_INLINE uint64_t column_of(uint64_t key)
{
    return (uint32_t)key;
}

/* ---- Regions ---- */

static __global__ void mark_inside(dcsr_i_cuda_coo list, dcsr_i_cuda_region region, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step()) {
        const uint64_t row = row_of(list.keys[k]), column = column_of(list.keys[k]);
        keep[k] = is_named(region.rows, place_of(region.rows, row), row) &&
                  is_named(region.cols, place_of(region.cols, column), column);
    }
}

void dcsr_i_cuda_coo_mark_inside(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                 const dcsr_i_cuda_region *region, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_inside, list->n, *list, *region, keep);
}

static __global__ void name_all(dcsr_i_cuda_region region, dcsr_i_cuda_coo to)
{
    const uint64_t width = region.cols.n;
    for (uint64_t k = dcsr_i_cuda_first(); k < to.n; k += dcsr_i_cuda_step())
        to.keys[k] = dcsr_i_cuda_coo_key(index_at(region.rows, k / width), index_at(region.cols, k % width));
}

void dcsr_i_cuda_coo_name_all(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_region *region,
                              const dcsr_i_cuda_coo *to)
{
    dcsr_i_cuda_launch(stream, name_all, to->n, *region, *to);
}

/* ---- Columns that become others ---- */

static __global__ void renumber(dcsr_i_cuda_coo list, dcsr_i_cuda_indices cols)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step()) {
        const uint64_t key = list.keys[k];
        list.keys[k] = dcsr_i_cuda_coo_key(row_of(key), position_of(cols, place_of(cols, column_of(key))));
    }
}

void dcsr_i_cuda_coo_renumber(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                              const dcsr_i_cuda_indices *cols)
{
    dcsr_i_cuda_launch(stream, renumber, list->n, *list, *cols);
}

static __global__ void count_named(dcsr_i_cuda_coo list, dcsr_i_cuda_indices cols, uint64_t *counts)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step()) {
        const uint64_t column = column_of(list.keys[k]);
        counts[k] = times_named(cols, place_of(cols, column), column);
    }
}

void dcsr_i_cuda_coo_count_named(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                 const dcsr_i_cuda_indices *cols, uint64_t *counts)
{
    dcsr_i_cuda_launch(stream, count_named, list->n, *list, *cols, counts);
}

/* The entry that place p belongs to: the last that begins at or before it. */
DCSR_CUDA_INLINE uint64_t find_entry(const uint64_t *begin, uint64_t n, uint64_t p)
{
    uint64_t low = 0, high = n;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (begin[middle] <= p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static __global__ void multiply(dcsr_i_cuda_coo from, const uint64_t *begin, dcsr_i_cuda_indices cols,
                                uint32_t size, dcsr_i_cuda_coo to)
{
    for (uint64_t p = dcsr_i_cuda_first(); p < to.n; p += dcsr_i_cuda_step()) {
        const uint64_t k = find_entry(begin, from.n, p), key = from.keys[k];
        const uint64_t place = place_of(cols, column_of(key)) + (p - begin[k]);
        to.keys[p] = dcsr_i_cuda_coo_key(row_of(key), position_of(cols, place));
        if (size) dcsr_i_cuda_store_word(to.values, size, p, dcsr_i_cuda_load_word(from.values, size, k));
    }
}

void dcsr_i_cuda_coo_multiply(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *from, const uint64_t *begin,
                              const dcsr_i_cuda_indices *cols, const dcsr_i_cuda_coo *to)
{
    uint32_t size = (uint32_t)dcsr_type_size(to->type);
    dcsr_i_cuda_launch(stream, multiply, to->n, *from, begin, *cols, size, *to);
}

/* ---- Entries that go elsewhere ---- */

static __global__ void move(dcsr_i_cuda_coo list, dcsr_i_cuda_region region)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step()) {
        const uint64_t key = list.keys[k];
        list.keys[k] =
            dcsr_i_cuda_coo_key(index_at(region.rows, row_of(key)), index_at(region.cols, column_of(key)));
    }
}

void dcsr_i_cuda_coo_move(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                          const dcsr_i_cuda_region *region)
{
    dcsr_i_cuda_launch(stream, move, list->n, *list, *region);
}

static __global__ void split_keys(uint64_t *keys, uint64_t n, uint64_t *cols)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step()) {
        const uint64_t key = keys[k];
        cols[k] = column_of(key);
        keys[k] = row_of(key);
    }
}

void dcsr_i_cuda_coo_split(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint64_t *cols)
{
    dcsr_i_cuda_launch(stream, split_keys, list->n, list->keys, list->n, cols);
}

static __global__ void set_values(void *values, uint32_t size, uint64_t n, uint64_t word)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        dcsr_i_cuda_store_word(values, size, k, word);
}

void dcsr_i_cuda_coo_set_values(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, dcsr_i_scalar value)
{
    uint32_t size = (uint32_t)dcsr_type_size(list->type);
    dcsr_i_cuda_launch(stream, set_values, list->n, list->values, size, list->n, value.word);
}

static __global__ void line_up(const uint32_t *indices, uint64_t line, bool column, dcsr_i_cuda_coo to)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < to.n; k += dcsr_i_cuda_step())
        to.keys[k] = column ? dcsr_i_cuda_coo_key(indices[k], line) : dcsr_i_cuda_coo_key(line, indices[k]);
}

void dcsr_i_cuda_coo_line_up(dcsr_i_cuda_stream *stream, const uint32_t *indices, uint64_t line, bool column,
                             const dcsr_i_cuda_coo *to)
{
    dcsr_i_cuda_launch(stream, line_up, to->n, indices, line, column, *to);
}
