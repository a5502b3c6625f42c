/* products.c: R = P^T and A' = R A P on the cpu.
 *
 * A row of A' is a sum of rows of A P, and these are sums of rows of P. They are computed when a row of A' asks for
 * them, and kept in a ring that stays in the processor's cache, since rows side by side ask for the same ones. So A P
 * is never stored, and A, P and R are read once where rows that are near each other have near numbers; where they have
 * not, rows that the ring has lost are computed again. Each sum is added in the order of its terms' columns and begins
 * with 0, as in two calls of dcsr_mxm(): the bits are the same. */
#include "amg/hierarchy.h"
#include <string.h>

/* ---- Rows that threads share ---- */

/* The first row of a part, where all parts have about as many entries. */
static uint64_t part_begin(const dcsr_i_amg_rows *rows, uint64_t part, uint64_t parts)
{
    const uint64_t wanted = rows->nnz * part / parts;
    uint64_t low = 0, high = rows->rows;
    if (part == parts) return rows->rows;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (rows->begin[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- R ---- */

/* Columns of R are numbers of rows of P, which ascend: each thread puts what its rows have behind what those before
 * it have. next[column] is where. */
static void transpose_part(const dcsr_i_amg_matrix *R, const dcsr_i_amg_rows *P, uint64_t first, uint64_t end,
                           uint64_t *next)
{
    uint32_t *columns = R->own[1].data;
    double *values = R->own[2].data;
    for (uint64_t i = first; i < end; i++)
        for (uint64_t e = P->begin[i]; e < P->end[i]; e++) {
            const uint64_t at = next[P->columns[e]]++;
            columns[at] = (uint32_t)i;
            values[at] = P->values[e];
        }
}

/* counts[t][column]: how many entries part t has there; then where they begin. */
static void place_parts(uint64_t *offsets, uint64_t *counts, uint64_t cols, uint64_t parts)
{
    uint64_t sum = 0;
    for (uint64_t c = 0; c < cols; c++) {
        offsets[c] = sum;
        for (uint64_t t = 0; t < parts; t++) {
            const uint64_t count = counts[t * cols + c];
            counts[t * cols + c] = sum;
            sum += count;
        }
    }
    offsets[cols] = sum;
}

dcsr_status dcsr_i_amg_transpose(dcsr_i_amg_matrix *R, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *P)
{
    enum { MOST_PARTS = 16 }; /* each counts all columns */
    const int threads = dcsr_context_threads(h->context, P->nnz);
    const uint64_t parts = threads < MOST_PARTS ? (uint64_t)threads : MOST_PARTS, cols = P->cols;
    dcsr_i_amg_array counts = {0};
    DCSR_I_AMG_TRY(dcsr_i_amg_own_offsets(R, h, cols));
    dcsr_status status = dcsr_i_amg_borrow_zeroed(&counts, h->pool, parts * cols, sizeof(uint64_t));
    if (status) return status;
    uint64_t *count = counts.data;
#pragma omp parallel for schedule(static, 1) num_threads((int)parts) if (parts > 1)
    for (uint64_t t = 0; t < parts; t++)
        for (uint64_t i = part_begin(P, t, parts), end = part_begin(P, t + 1, parts); i < end; i++)
            for (uint64_t e = P->begin[i]; e < P->end[i]; e++) count[t * cols + P->columns[e]]++;
    place_parts(R->own[0].data, count, cols, parts);
    status = dcsr_i_amg_own_entries(R, h, cols, P->rows);
    if (!status) {
#pragma omp parallel for schedule(static, 1) num_threads((int)parts) if (parts > 1)
        for (uint64_t t = 0; t < parts; t++)
            transpose_part(R, P, part_begin(P, t, parts), part_begin(P, t + 1, parts), count + t * cols);
    }
    dcsr_i_amg_give(&counts, h->pool);
    return status;
}

/* ---- R A P ---- */

/* Rows of A P that a thread remembers, at most; and entries that the ring has room for, for each of them. */
enum { MOST_LINES = 1 << 17, OF_LINE = 8 };

/* Row i, if it is there at all, has line i % (lines_mask + 1). */
typedef struct line {
    uint32_t row; /* + 1 */
    uint32_t count;
    uint64_t begin; /* counted on from the first entry ever; the ring has it at begin % room */
} line;

/* A sum of rows: its columns in the order in which they came. mark[c] - base is the place of column c among them, if
 * that is less than `count`; so nothing has to be cleared for the next sum. */
typedef struct sum {
    uint32_t *mark, *columns;
    double *values;
    uint32_t base, count;
    dcsr_i_amg_array numbers, array;
} sum;

/* The memory of one thread. */
typedef struct worker {
    sum inner, outer; /* a row of A P, and one of A' */
    dcsr_i_amg_array lines, ring_columns, ring_values, bits;
    dcsr_i_amg_array columns, values; /* its rows of A', one after the other */
    uint64_t room, lines_mask, head, used;
    uint64_t made;       /* rows of A P up to here have been computed, in order */
    uint64_t first, end; /* rows of A' */
} worker;

typedef struct product {
    dcsr_i_amg_hierarchy *h;
    const dcsr_i_amg_rows *R, *A, *P, *like;
    uint64_t *offsets; /* of A': first the lengths of rows, behind them */
} product;

/* An empty one. */
static void begin_sum(sum *s)
{
    if (s->base > UINT32_MAX / 2) {
        memset(s->mark, 0, (size_t)((char *)s->columns - (char *)s->mark));
        s->base = 1;
        s->count = 0;
    }
    s->base += s->count;
    s->count = 0;
}

/* Adds a times a row. */
static inline void add(sum *s, double a, dcsr_i_amg_span row)
{
    uint32_t *restrict mark = s->mark, *restrict columns = s->columns;
    double *restrict values = s->values;
    uint32_t count = s->count;
    const uint32_t base = s->base;
    for (uint64_t e = 0; e < row.count; e++) {
        const uint32_t c = row.columns[e], at = mark[c] - base;
        const double value = a * row.values[e];
        if (at < count) {
            values[at] += value;
        } else {
            mark[c] = base + count;
            columns[count] = c;
            values[count++] = 0 + value;
        }
    }
    s->count = count;
}

/* Enlarges the ring, for rows of up to `entries` entries. What was in it is lost. */
static dcsr_status widen_ring(worker *w, dcsr_i_amg_pool *pool, uint64_t entries)
{
    uint64_t room = OF_LINE * (w->lines_mask + 1);
    while (room < 4 * entries) room *= 2;
    if (room <= w->room) return DCSR_OK;
    dcsr_i_amg_give(&w->ring_columns, pool);
    dcsr_i_amg_give(&w->ring_values, pool);
    w->head += w->room + room; /* no line reaches there */
    w->head = (w->head + room - 1) / room * room;
    w->room = room;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&w->ring_columns, pool, room, sizeof(uint32_t)));
    return dcsr_i_amg_borrow(&w->ring_values, pool, room, sizeof(double));
}

/* Puts a row of A P into the ring. */
static dcsr_status make_source(worker *w, const product *p, uint64_t i)
{
    const dcsr_i_amg_span terms = dcsr_i_amg_span_of(p->A, i);
    sum *s = &w->inner;
    begin_sum(s);
    for (uint64_t e = 0; e < terms.count; e++)
        add(s, terms.values[e], dcsr_i_amg_span_of(p->P, terms.columns[e]));
    if (4 * s->count > w->room) DCSR_I_AMG_TRY(widen_ring(w, p->h->pool, s->count));
    const uint64_t mask = w->room - 1;
    if (w->room - (w->head & mask) < s->count) w->head += w->room - (w->head & mask); /* in one stretch */
    const uint64_t at = w->head & mask;
    memcpy((uint32_t *)w->ring_columns.data + at, s->columns, s->count * sizeof *s->columns);
    memcpy((double *)w->ring_values.data + at, s->values, s->count * sizeof *s->values);
    ((line *)w->lines.data)[i & w->lines_mask] = (line){(uint32_t)i + 1, (uint32_t)s->count, w->head};
    w->head += s->count;
    return DCSR_OK;
}

static bool is_there(const worker *w, uint64_t i)
{
    const line *l = (const line *)w->lines.data + (i & w->lines_mask);
    return l->row == i + 1 && l->begin + w->room >= w->head;
}

/* Rows of A P up to those that a row of A' asks for, in order, as memory likes it; unless its rows are far apart. */
static dcsr_status make_sources(worker *w, const product *p, dcsr_i_amg_span terms)
{
    if (!terms.count) return DCSR_OK;
    const uint64_t first = terms.columns[0], end = terms.columns[terms.count - 1] + UINT64_C(1);
    if (end <= w->made || end - first > w->lines_mask + 1) return DCSR_OK;
    for (uint64_t i = w->made > first ? w->made : first; i < end; i++) DCSR_I_AMG_TRY(make_source(w, p, i));
    w->made = end;
    return DCSR_OK;
}

/* to = the columns, ascending: by their bits where they are close. */
static void sort(uint32_t *to, const uint32_t *columns, uint64_t count, uint64_t *bits)
{
    enum { WORTH = 16 }; /* words a column */
    uint32_t least = UINT32_MAX, most = 0;
    for (uint64_t e = 0; e < count; e++) {
        least = columns[e] < least ? columns[e] : least;
        most = columns[e] > most ? columns[e] : most;
    }
    if (count && most / 64 - least / 64 < WORTH * count) {
        for (uint64_t e = 0; e < count; e++) bits[columns[e] / 64] |= UINT64_C(1) << columns[e] % 64;
        for (uint64_t word = least / 64; word <= most / 64; word++) {
            for (uint64_t left = bits[word]; left; left &= left - 1)
                *to++ = (uint32_t)(64 * word + (uint64_t)__builtin_ctzll(left));
            bits[word] = 0;
        }
        return;
    }
    memcpy(to, columns, count * sizeof *to);
    dcsr_i_amg_sort32(to, count);
}

static bool has_columns(const sum *s, dcsr_i_amg_span row)
{
    if (row.count != s->count) return false;
    for (uint64_t e = 0; e < row.count; e++) {
        if (s->mark[row.columns[e]] - s->base >= s->count) return false;
    }
    return true;
}

/* Room for `more` entries behind the rows that there are; enough for all of them, as far as these tell. The first rows
 * tell little: A' mostly has fewer entries than R. */
static dcsr_status make_room(worker *w, const product *p, uint64_t row, uint64_t more)
{
    if (w->used + more <= w->columns.count) return DCSR_OK;
    const uint64_t done = row - w->first + 1, all = w->end - w->first, used = w->used + more;
    const uint64_t expected =
        w->columns.data ? used + used * (all - done) / done / 8 * 9 : (p->R->nnz / p->R->rows + 1) * all;
    const uint64_t entries = expected > used ? expected : used;
    DCSR_I_AMG_TRY(dcsr_i_amg_extend(&w->columns, p->h->pool, w->used, entries, sizeof(uint32_t)));
    return dcsr_i_amg_extend(&w->values, p->h->pool, w->used, entries, sizeof(double));
}

/* The sum, by ascending columns, behind the rows that there are. */
static dcsr_status write_row(worker *w, const product *p, uint64_t row)
{
    const sum *s = &w->outer;
    DCSR_I_AMG_TRY(make_room(w, p, row, s->count));
    uint32_t *to = (uint32_t *)w->columns.data + w->used;
    double *values = (double *)w->values.data + w->used;
    const dcsr_i_amg_span like = p->like ? dcsr_i_amg_span_of(p->like, row) : (dcsr_i_amg_span){0};
    if (p->like && has_columns(s, like))
        memcpy(to, like.columns, s->count * sizeof *to);
    else
        sort(to, s->columns, s->count, w->bits.data);
    for (uint64_t e = 0; e < s->count; e++) values[e] = s->values[s->mark[to[e]] - s->base];
    w->used += s->count;
    p->offsets[row + 1] = s->count;
    return DCSR_OK;
}

static dcsr_status make_row(worker *w, const product *p, uint64_t row)
{
    const dcsr_i_amg_span terms = dcsr_i_amg_span_of(p->R, row);
    enum { AHEAD = 16 }; /* terms: a row of A P comes from afar, so it is asked for before it is needed */
    const line *lines = w->lines.data;
    begin_sum(&w->outer);
    DCSR_I_AMG_TRY(make_sources(w, p, terms));
    for (uint64_t e = 0; e < terms.count; e++) {
        const uint64_t i = terms.columns[e];
        if (e + AHEAD < terms.count) {
            const uint64_t next = lines[terms.columns[e + AHEAD] & w->lines_mask].begin & (w->room - 1);
            __builtin_prefetch((const uint32_t *)w->ring_columns.data + next);
            __builtin_prefetch((const double *)w->ring_values.data + next);
        }
        if (!is_there(w, i)) DCSR_I_AMG_TRY(make_source(w, p, i));
        const line *l = (const line *)w->lines.data + (i & w->lines_mask);
        const uint64_t at = l->begin & (w->room - 1);
        add(&w->outer, terms.values[e],
            (dcsr_i_amg_span){(const uint32_t *)w->ring_columns.data + at,
                              (const double *)w->ring_values.data + at, l->count});
    }
    return write_row(w, p, row);
}

/* One more element than there are columns: the place of a column that is new. */
static dcsr_status take_sum(sum *s, dcsr_i_amg_pool *pool, uint64_t cols)
{
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&s->numbers, pool, 2 * cols + 1, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&s->array, pool, cols + 1, sizeof(double)));
    s->mark = s->numbers.data;
    s->columns = s->mark + cols;
    s->base = 1;
    s->values = s->array.data;
    return DCSR_OK;
}

static dcsr_status take_worker(worker *w, const product *p)
{
    dcsr_i_amg_pool *pool = p->h->pool;
    const uint64_t cols = p->P->cols;
    uint64_t lines = 1;
    while (lines < p->A->rows && lines < MOST_LINES) lines *= 2;
    w->lines_mask = lines - 1;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&w->lines, pool, lines, sizeof(line)));
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&w->bits, pool, cols / 64 + 1, sizeof(uint64_t)));
    DCSR_I_AMG_TRY(take_sum(&w->inner, pool, cols));
    DCSR_I_AMG_TRY(take_sum(&w->outer, pool, cols));
    return widen_ring(w, pool, 1);
}

static void give_worker(worker *w, dcsr_i_amg_pool *pool)
{
    dcsr_i_amg_array *const arrays[] = {
        &w->lines,       &w->bits,          &w->ring_columns, &w->ring_values, &w->inner.numbers,
        &w->inner.array, &w->outer.numbers, &w->outer.array,  &w->columns,     &w->values};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) dcsr_i_amg_give(arrays[a], pool);
}

/* One worker's rows are the matrix, those of several are put behind each other. */
static dcsr_status collect(dcsr_i_amg_matrix *next, worker *w, int threads, const product *p)
{
    const uint64_t rows = p->R->rows, cols = p->P->cols;
    for (uint64_t i = 0; i < rows; i++) p->offsets[i + 1] += p->offsets[i];
    if (threads == 1 && w->columns.data) {
        next->own[1] = w->columns;
        next->own[2] = w->values;
        w->columns = w->values = (dcsr_i_amg_array){0};
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_own_entries(next, p->h, rows, cols));
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const uint64_t at = p->offsets[w[t].first];
        if (!w[t].used || !w[t].columns.data) continue;
        memcpy((uint32_t *)next->own[1].data + at, w[t].columns.data, w[t].used * sizeof(uint32_t));
        memcpy((double *)next->own[2].data + at, w[t].values.data, w[t].used * sizeof(double));
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_galerkin(dcsr_i_amg_matrix *next, dcsr_i_amg_hierarchy *h,
                                const dcsr_i_amg_level *level, const dcsr_i_amg_rows *like)
{
    product p = {h, &level->R.rows, &level->A.rows, &level->P.rows, like, NULL};
    const int threads = dcsr_context_threads(h->context, p.A->nnz + p.R->nnz);
    const uint64_t rows = p.R->rows;
    dcsr_i_amg_array workers = {0};
    if (like && (like->rows != rows || like->cols != p.P->cols)) p.like = NULL;
    DCSR_I_AMG_TRY(dcsr_i_amg_own_offsets(next, h, rows));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&workers, h->context, (uint64_t)threads, sizeof(worker)));
    p.offsets = next->own[0].data;
    p.offsets[0] = 0;
    worker *w = workers.data;
    dcsr_status status = DCSR_OK;
    for (int t = 0; t < threads && !status; t++) status = take_worker(&w[t], &p);
    bool failed = status;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1) reduction(|| : failed)
    for (int t = 0; t < threads; t++) {
        dcsr_status made = status;
        w[t].first = part_begin(p.R, (uint64_t)t, (uint64_t)threads);
        w[t].end = part_begin(p.R, (uint64_t)t + 1, (uint64_t)threads);
        for (uint64_t row = w[t].first; row < w[t].end && !made; row++) made = make_row(&w[t], &p, row);
        failed = failed || made;
    }
    if (!status && failed)
        status = dcsr_thread_fail(DCSR_ERROR_OUT_OF_MEMORY,
                                  "amg setup: out of memory for the next level; free matrices or views");
    if (!status) status = collect(next, w, threads, &p);
    for (int t = 0; t < threads; t++) give_worker(&w[t], h->pool);
    dcsr_i_amg_drop(&workers, h->context);
    return status;
}
