/* follow.cu: rows that differ, what they reach, and rows of R: what follow.c does. */
#include "amg/cuda/sets.cuh"
#include "dcsr/base/search.h"
#include <math.h>

#define SAME \
    1e-8 /* how different two values may be that are equal but for rounding, relative to their diagonals */

typedef unsigned long long word;
typedef dcsr_i_amg_cuda_rows level_rows;
typedef dcsr_i_amg_cuda_set set;
typedef dcsr_i_amg_cuda_log undo_log;
typedef dcsr_i_amg_cuda_made made_rows;
typedef dcsr_i_amg_cuda_moving moving;

static __global__ void take_back(undo_log log)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *log.count; k += dcsr_i_cuda_step())
        if ((uintptr_t)log.where[k] & 1)
            *(uint32_t *)((char *)log.where[k] - 1) = (uint32_t)log.what[k];
        else
            *log.where[k] = log.what[k];
}

void dcsr_i_amg_cuda_take_back(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_log *log, uint64_t bound)
{
    dcsr_i_cuda_launch(stream, take_back, bound, *log);
}

/* The place of a column in a row whose columns ascend, from `low` to `high`; `high`: it is not there. */
DCSR_CUDA_INLINE uint64_t place_of(const uint32_t *columns, uint64_t low, uint64_t high, uint32_t column)
{
    const uint64_t at = dcsr_i_list_find(columns, low, high, column);
    return at < high && columns[at] == column ? at : high;
}

/* ---- Rows that move ---- */

DCSR_CUDA_INLINE uint64_t row_of(const made_rows &m, uint64_t k)
{
    return m.each == 1 ? m.node[k] : m.node[k / m.each] * m.each + k % m.each;
}

DCSR_CUDA_INLINE uint64_t bits_at(const double *value)
{
    return *(const uint64_t *)value;
}

/* A warp calls. */
DCSR_CUDA_INLINE bool differs(const moving &to, const made_rows &m, uint64_t i, uint64_t k)
{
    const uint64_t now = m.begin[k], count = m.end[k] - now, then = to.begin[i];
    if (count != to.end[i] - then) return true;
    for (uint64_t first = 0; first < count; first += 32) {
        const uint64_t e = first + dcsr_i_cuda_lane();
        bool here = e < count && (m.columns[now + e] != to.columns[then + e] ||
                                  bits_at(m.values + now + e) != bits_at(to.values + then + e));
        if (__any_sync(DCSR_CUDA_ALL_LANES, here)) return true;
    }
    return false;
}

DCSR_CUDA_INLINE void touch(const dcsr_i_amg_cuda_touched &t, const moving &to, const made_rows &m,
                            uint64_t i, uint64_t k)
{
    const uint64_t then = to.begin[i], then_end = to.end[i];
    for (uint64_t e = then + dcsr_i_cuda_lane(); e < then_end; e += 32)
        dcsr_i_amg_cuda_add(t.columns, to.columns[e]);
    for (uint64_t e = m.begin[k] + dcsr_i_cuda_lane(); e < m.end[k]; e += 32) {
        const uint32_t c = m.columns[e];
        dcsr_i_amg_cuda_add(t.columns, c);
        if (place_of(to.columns, then, then_end, c) == then_end)
            t.keys[dcsr_i_amg_cuda_count(t.key_count, 1)] = (uint64_t)c << 32 | i;
    }
}

/* A warp for each row. */
static __global__ void move_rows(moving to, made_rows m, undo_log log, set changed, bool touching,
                                 dcsr_i_amg_cuda_touched touched)
{
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < m.count; k += dcsr_i_cuda_warp_step()) {
        const uint64_t i = row_of(m, k), begin = m.begin[k], count = m.end[k] - begin;
        if (!differs(to, m, i, k)) continue;
        if (touching) touch(touched, to, m, i, k);
        const uint64_t place = to.used + dcsr_i_amg_cuda_place(to.placed, count);
        for (uint64_t e = dcsr_i_cuda_lane(); e < count; e += 32) {
            to.columns[place + e] = m.columns[begin + e];
            to.values[place + e] = m.values[begin + e];
        }
        __syncwarp();
        if (dcsr_i_cuda_lane()) continue;
        dcsr_i_amg_cuda_add(changed, i);
        dcsr_i_amg_cuda_count(to.gone, to.end[i] - to.begin[i]);
        dcsr_i_amg_cuda_keep(log, to.begin + i);
        dcsr_i_amg_cuda_keep(log, to.end + i);
        to.begin[i] = place;
        to.end[i] = place + count;
    }
}

void dcsr_i_amg_cuda_move_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_moving *to,
                               const dcsr_i_amg_cuda_made *made, const dcsr_i_amg_cuda_log *log,
                               const dcsr_i_amg_cuda_set *changed, const dcsr_i_amg_cuda_touched *touched)
{
    const dcsr_i_amg_cuda_touched none = {};
    dcsr_i_cuda_launch_warps(stream, move_rows, made->count, *to, *made, *log, *changed, touched != nullptr,
                             touched ? *touched : none);
}

static __global__ void measure(level_rows A, uint32_t *length)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step())
        length[i] = (uint32_t)(A.end[i] - A.begin[i]);
}

void dcsr_i_amg_cuda_measure(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, uint32_t *length)
{
    dcsr_i_cuda_launch(stream, measure, A->rows, *A, length);
}

/* A warp for each row. */
static __global__ void copy_rows(level_rows A, const uint64_t *offsets, uint32_t *columns, double *values)
{
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < A.rows; i += dcsr_i_cuda_warp_step()) {
        const uint64_t from = A.begin[i], count = A.end[i] - from, to = offsets[i];
        for (uint64_t e = dcsr_i_cuda_lane(); e < count; e += 32) {
            columns[to + e] = A.columns[from + e];
            values[to + e] = A.values[from + e];
        }
    }
}

void dcsr_i_amg_cuda_copy_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                               const uint64_t *offsets, uint32_t *columns, double *values)
{
    dcsr_i_cuda_launch_warps(stream, copy_rows, A->rows, *A, offsets, columns, values);
}

/* A thread for each row, as columns may be there more than once. */
static __global__ void fill_dense(level_rows A, double *dense)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step())
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++) dense[A.columns[e] * A.rows + i] += A.values[e];
}

void dcsr_i_amg_cuda_fill_dense(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, double *dense)
{
    dcsr_i_cuda_launch(stream, fill_dense, A->rows, *A, dense);
}

/* ---- What rows reach ---- */

/* A warp for each row. */
static __global__ void add_columns(set to, level_rows A, set of, uint64_t block, uint64_t width)
{
    const uint64_t count = *of.count * block;
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < count; k += dcsr_i_cuda_warp_step()) {
        const uint64_t i = block == 1 ? of.list[k] : of.list[k / block] * block + k % block;
        for (uint64_t first = A.begin[i], end = A.end[i]; first < end; first += 32) {
            const uint64_t e = first + dcsr_i_cuda_lane(), column = e < end ? A.columns[e] : 0;
            dcsr_i_amg_cuda_add_all(to, e < end, width == 1 ? column : column / width);
        }
    }
}

void dcsr_i_amg_cuda_add_columns(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *to,
                                 const dcsr_i_amg_cuda_rows *A, const dcsr_i_amg_cuda_set *of, uint64_t block,
                                 uint64_t width, uint64_t bound)
{
    dcsr_i_cuda_launch_warps(stream, add_columns, bound * block, *to, *A, *of, block, width);
}

/* In the order of the entries, as passes.cu reads all rows. */
static __global__ void read_rows(dcsr_i_amg_cuda_weighing w)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *w.dirty.count; k += dcsr_i_cuda_step()) {
        const uint64_t i = w.dirty.list[k], node = w.block == 1 ? i : i / w.block;
        const double before = w.diagonal[i];
        double sum = 0, absolute = 0;
        for (uint64_t e = w.A.begin[i]; e < w.A.end[i]; e++) {
            absolute += fabs(w.A.values[e]);
            if (w.A.columns[e] == i) sum += w.A.values[e];
        }
        const bool usable = sum != 0 && isfinite(absolute);
        const uint64_t why = w.A.begin[i] == w.A.end[i] ? 0 : isfinite(absolute) ? 2 : 1;
        if (!usable) atomicMax((word *)w.wrong, (word)(UINT64_MAX - (i * 4 + why)));
        dcsr_i_amg_cuda_keep(w.log, w.diagonal + i);
        dcsr_i_amg_cuda_keep(w.log, w.scale + i);
        w.diagonal[i] = sum;
        w.scale[i] = usable ? 1 / (w.l1 ? copysign(absolute, sum) : sum) : 0;
        dcsr_i_amg_cuda_add(w.looked, node);
        if (w.block == 1 && before != sum) dcsr_i_amg_cuda_add(w.weighed, i);
    }
}

static __global__ void weigh_nodes(dcsr_i_amg_cuda_weighing w)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *w.looked.count; k += dcsr_i_cuda_step()) {
        const uint64_t node = w.looked.list[k];
        const double norm = dcsr_i_amg_cuda_norm(w.A, node, w.block);
        if (norm == w.norms[node]) continue;
        dcsr_i_amg_cuda_keep(w.log, w.norms + node);
        w.norms[node] = norm;
        dcsr_i_amg_cuda_add(w.weighed, node);
    }
}

/* The place of a column, also in a row whose columns do not ascend. */
DCSR_CUDA_INLINE uint64_t find(const level_rows &A, uint64_t i, uint32_t column)
{
    const uint64_t end = A.end[i], at = place_of(A.columns, A.begin[i], end, column);
    if (at < end) return at;
    for (uint64_t e = A.begin[i]; e < end; e++)
        if (A.columns[e] == column) return e;
    return end;
}

DCSR_CUDA_INLINE bool is_symmetric(const dcsr_i_amg_cuda_weighing &w, uint64_t i)
{
    const double own = w.diagonal[i];
    for (uint64_t e = w.A.begin[i]; e < w.A.end[i]; e++) {
        const uint32_t j = w.A.columns[e];
        const uint64_t mirror = find(w.A, j, (uint32_t)i);
        if (mirror == w.A.end[j]) return false;
        if (fabs(w.A.values[e] - w.A.values[mirror]) > SAME * sqrt(fabs(own * w.diagonal[j]))) return false;
    }
    return own >= 0;
}

static __global__ void compare_sides(dcsr_i_amg_cuda_weighing w)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *w.dirty.count; k += dcsr_i_cuda_step())
        if (!is_symmetric(w, w.dirty.list[k])) dcsr_i_amg_cuda_count(w.lopsided, 1);
}

void dcsr_i_amg_cuda_weigh(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_weighing *w, uint64_t bound)
{
    dcsr_i_cuda_launch(stream, read_rows, bound, *w);
    if (w->norms) dcsr_i_cuda_launch(stream, weigh_nodes, bound, *w);
    if (w->lopsided) dcsr_i_cuda_launch(stream, compare_sides, bound, *w);
}

/* Nodes come in any order, so the room for one more neighbour, for what P reaches, is in their places. */
static __global__ void place_nodes(set nodes, level_rows A, uint64_t block, uint64_t *begin, uint64_t *total)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *nodes.count; k += dcsr_i_cuda_step()) {
        const uint64_t first = nodes.list[k] * block;
        uint64_t entries = 1;
        for (uint64_t i = first; i < first + block; i++) entries += A.end[i] - A.begin[i];
        begin[k] = dcsr_i_amg_cuda_count(total, entries);
    }
}

void dcsr_i_amg_cuda_place_nodes(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *nodes,
                                 const dcsr_i_amg_cuda_rows *A, uint64_t block, uint64_t *begin,
                                 uint64_t *entries, uint64_t bound)
{
    dcsr_i_cuda_launch(stream, place_nodes, bound, *nodes, *A, block, begin, entries);
}

static __global__ void add_lengths(set rows, level_rows A, uint64_t *total)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *rows.count; k += dcsr_i_cuda_step())
        dcsr_i_amg_cuda_count(total, A.end[rows.list[k]] - A.begin[rows.list[k]]);
}

void dcsr_i_amg_cuda_add_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *rows,
                                 const dcsr_i_amg_cuda_rows *A, uint64_t *total, uint64_t bound)
{
    dcsr_i_cuda_launch(stream, add_lengths, bound, *rows, *A, total);
}

/* ---- R ---- */

typedef dcsr_i_amg_cuda_turning turning;

/* Whether an entry of R, of column `row` of P^T, is still there, and its value now. */
DCSR_CUDA_INLINE bool is_left(const turning &t, uint64_t e, uint32_t column, double *value)
{
    const uint32_t row = t.R.columns[e];
    *value = t.R.values[e];
    if (!dcsr_i_amg_cuda_has(t.smoothed, row)) return true;
    const uint64_t at = place_of(t.P.columns, t.P.begin[row], t.P.end[row], column);
    if (at == t.P.end[row]) return false;
    *value = t.P.values[at];
    return true;
}

/* What is left of the row before, each behind the new ones with lower columns. A warp calls; returns how many. */
DCSR_CUDA_INLINE uint64_t take_left(const turning &t, uint32_t column, uint64_t first_key, bool is_new,
                                    uint64_t to)
{
    const uint64_t begin = t.R.begin[column], end = t.R.end[column];
    uint64_t kept = 0;
    for (uint64_t from = begin; from < end; from += 32) {
        const uint64_t e = from + dcsr_i_cuda_lane();
        double value = 0;
        const bool left = e < end && is_left(t, e, column, &value);
        const unsigned all = __ballot_sync(DCSR_CUDA_ALL_LANES, left);
        if (left) {
            const uint32_t row = t.R.columns[e];
            uint64_t at = to + kept + (uint64_t)__popc(all & ((1u << dcsr_i_cuda_lane()) - 1));
            if (is_new)
                at += dcsr_i_keys_below(t.keys, t.key_count, (uint64_t)column << 32 | row) - first_key;
            t.made_columns[at] = row;
            t.made_values[at] = value;
        }
        kept += (uint64_t)__popc(all);
    }
    return kept;
}

/* How many entries with a lower column are left of the row before. A warp calls. */
DCSR_CUDA_INLINE uint64_t count_left(const turning &t, uint32_t column, uint32_t row)
{
    uint64_t count = 0;
    double value;
    for (uint64_t e = t.R.begin[column] + dcsr_i_cuda_lane(); e < t.R.end[column]; e += 32)
        count += t.R.columns[e] < row && is_left(t, e, column, &value);
    return dcsr_i_cuda_warp_sum(count);
}

/* A warp for each row of R. */
static __global__ void turn_rows(turning t)
{
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < t.count; k += dcsr_i_cuda_warp_step()) {
        const uint32_t column = t.columns.list[k];
        const uint64_t first = dcsr_i_keys_below(t.keys, t.key_count, (uint64_t)column << 32),
                       last = dcsr_i_keys_below(t.keys, t.key_count, ((uint64_t)column + 1) << 32),
                       most = t.R.end[column] - t.R.begin[column] + last - first;
        const uint64_t to = dcsr_i_amg_cuda_place(t.used, most);
        const uint64_t kept = take_left(t, column, first, last > first, to);
        for (uint64_t n = first; n < last; n++) {
            const uint32_t row = (uint32_t)t.keys[n];
            const uint64_t at = to + n - first + count_left(t, column, row);
            if (dcsr_i_cuda_lane()) continue;
            t.made_columns[at] = row;
            t.made_values[at] = t.P.values[place_of(t.P.columns, t.P.begin[row], t.P.end[row], column)];
        }
        if (dcsr_i_cuda_lane()) continue;
        t.begin[k] = to;
        t.end[k] = to + kept + last - first;
    }
}

void dcsr_i_amg_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_turning *t)
{
    dcsr_i_cuda_launch_warps(stream, turn_rows, t->count, *t);
}
