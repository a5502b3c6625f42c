/* spmv_shifts.c: the kernel `shifts`: rows that are shifts of one another are of one **kind**, and share their columns.
 *
 * On a grid most rows have the columns of the row before, each one further: the differences of columns and row are the
 * same. They are kept once for each kind. A **strip** is as many rows of a kind as follow one another. Rows of a strip
 * that have the same values too keep these with the kind, and move no bytes but those of x and y; else values alone are
 * kept, transposed in groups of as many rows as a vector has elements:
 *
 *      strip    first row, rows, kind, where its values are
 *      values   a kind's: v0 v1 ...         a strip's: v0 of 8 rows | v1 of 8 rows | ...   rows left over, one by one
 *
 * Neighbours in a vector of rows read neighbours in x, so nothing is gathered. A chunk has its own kinds: it can be
 * made anew alone. */
#include "ops/spmv/portfolio/row_chunks.h"
#include "ops/spmv/portfolio/arithmetics.h"
#include <string.h>

enum {
    CHUNK_ROWS = 8192,
    VECTOR = 64,    /* bytes, an element for each row */
    LEAST_SAME = 16 /* rows of the same values that are a strip of their own */
};

typedef struct shift_strip {
    uint32_t first, rows; /* of the chunk */
    uint32_t kind;
    bool constant;   /* values are the kind's */
    uint64_t values; /* else where they begin */
} shift_strip;

/* Differences are taken modulo 2^32, as columns are. */
typedef struct shift_kind {
    uint64_t length, shifts, values; /* where they begin */
} shift_kind;

/* What a chunk's memory begins with; strips, kinds, shifts and values follow. */
typedef struct shift_chunk {
    uint64_t strips, kinds, shifts, values; /* how many */
} shift_chunk;

static const shift_strip *strips_of(const shift_chunk *c)
{
    return (const shift_strip *)(c + 1);
}
static const shift_kind *kinds_of(const shift_chunk *c)
{
    return (const shift_kind *)(strips_of(c) + c->strips);
}
static const uint32_t *shifts_of(const shift_chunk *c)
{
    return (const uint32_t *)(kinds_of(c) + c->kinds);
}
static const void *values_of(const shift_chunk *c)
{
    return shifts_of(c) + (c->shifts + 1) / 2 * 2; /* aligned to 8 bytes */
}
static uint64_t bytes_of(const shift_chunk *c, size_t size)
{
    return (uint64_t)((const char *)values_of(c) - (const char *)c) + c->values * size;
}

/* ---- Products ---- */

typedef void shift_function(void *y, const shift_chunk *chunk, uint64_t first, const void *x);
#define SPMV_BODY "ops/spmv/portfolio/shifts.inc"
#include "ops/spmv/portfolio/arithmetics.inc"
static shift_function *const functions[DCSR_I_SPMV_LEVELS][DCSR_TYPE_COUNT] = SPMV_INSTANCES(run_shifts);

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const dcsr_i_spmv_chunks *f = format;
    shift_function *function = SPMV_INSTANCE(functions, dcsr_i_spmv_level_now(), A->info.type);
#pragma omp parallel for schedule(dynamic, 1) num_threads(product->threads) if (product->threads > 1)
    for (uint64_t c = 0; c < f->count; c++) function(product->y, f->chunk[c], c * CHUNK_ROWS, product->x);
    return DCSR_OK;
}

/* ---- Making chunks ---- */

/* A kind while its chunk is made: the columns, and if constant the values, of a row that it is of. */
typedef struct shift_sample {
    uint32_t row;
    bool constant;
} shift_sample;

/* The kernel's memory for a chunk. */
typedef struct shift_work {
    shift_chunk head;
    shift_strip strips[CHUNK_ROWS];
    shift_sample samples[CHUNK_ROWS];
    uint32_t table[2 * CHUNK_ROWS]; /* of kinds by what they hold: open addressing; their number + 1, or 0 */
} shift_work;

static bool same_columns(const dcsr_i_spmv_chunk *c, uint64_t left, uint64_t right)
{
    const uint64_t n = c->begin[left + 1] - c->begin[left];
    const uint32_t *a = c->columns + c->begin[left], *b = c->columns + c->begin[right],
                   shift = (uint32_t)(right - left);
    if (c->begin[right + 1] - c->begin[right] != n) return false;
    uint32_t differences = 0;
    for (uint64_t k = 0; k < n; k++) differences |= a[k] + shift - b[k];
    return !differences;
}

/* Of two rows of the same length. */
static bool same_values(const dcsr_i_spmv_chunk *c, uint64_t left, uint64_t right)
{
    return !memcmp(c->values + c->begin[left] * c->size, c->values + c->begin[right] * c->size,
                   (c->begin[left + 1] - c->begin[left]) * c->size);
}

static uint64_t hash_row(const dcsr_i_spmv_chunk *c, uint64_t row, bool constant)
{
    uint64_t hash = constant;
    for (uint64_t at = c->begin[row]; at < c->begin[row + 1]; at++) {
        hash = (hash ^ (uint32_t)(c->columns[at] - (uint32_t)row)) * 0x9e3779b97f4a7c15u;
        if (constant && c->size) {
            uint64_t value = 0;
            memcpy(&value, c->values + at * c->size, c->size);
            hash = (hash ^ hash >> 29 ^ value) * 0xbf58476d1ce4e5b9u;
        }
    }
    return hash ^ hash >> 32;
}

/* The number of the kind of a row, which is added if it is new. */
static uint32_t kind_of(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t row, bool constant)
{
    const uint64_t n = c->begin[row + 1] - c->begin[row];
    uint64_t at = hash_row(c, row, constant) % (2 * CHUNK_ROWS);
    for (; w->table[at]; at = (at + 1) % (2 * CHUNK_ROWS)) {
        const uint32_t known = w->table[at] - 1;
        const shift_sample *s = &w->samples[known];
        if (s->constant == constant && same_columns(c, s->row, row) &&
            (!constant || same_values(c, s->row, row)))
            return known;
    }
    const uint32_t kind = (uint32_t)w->head.kinds++;
    w->table[at] = kind + 1;
    w->samples[kind] = (shift_sample){(uint32_t)row, constant};
    w->head.shifts += n;
    if (constant && c->size) w->head.values += n;
    return kind;
}

static void add_strip(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t first, uint64_t end, bool constant)
{
    if (first == end) return;
    const uint32_t kind = kind_of(c, w, first, constant);
    w->strips[w->head.strips++] =
        (shift_strip){(uint32_t)first, (uint32_t)(end - first), kind, constant, w->head.values};
    if (!constant) w->head.values += c->begin[end] - c->begin[first];
}

/* Rows first .. end-1, which have one kind: those of the same values, if they are many, one after the other. */
static void cut_strip(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t first, uint64_t end)
{
    uint64_t varied = first;
    for (uint64_t same = first, next; same < end; same = next) {
        for (next = same + 1; next < end && same_values(c, same, next);) next++;
        if (next - same < LEAST_SAME && c->size) continue;
        add_strip(c, w, varied, same, false);
        add_strip(c, w, same, next, true);
        varied = next;
    }
    add_strip(c, w, varied, end, false);
}

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    shift_work *w = c->work;
    w->head = (shift_chunk){0};
    memset(w->table, 0, sizeof w->table);
    for (uint64_t first = 0, end; first < c->rows; first = end) {
        for (end = first + 1; end < c->rows && same_columns(c, end - 1, end);) end++;
        cut_strip(c, w, first, end);
    }
    return bytes_of(&w->head, c->size);
}

static void copy_value(void *values, uint64_t to, const dcsr_i_spmv_chunk *c, uint64_t from)
{
    memcpy((char *)values + to * c->size, c->values + from * c->size, c->size);
}

/* The values of a strip of rows that differ in them. */
static void fill_values(void *values, const shift_strip *strip, const dcsr_i_spmv_chunk *c)
{
    const uint64_t lanes = VECTOR / c->size, from = c->begin[strip->first],
                   n = c->begin[strip->first + 1] - from, grouped = strip->rows / lanes * lanes;
    uint64_t to = strip->values;
    for (uint64_t r = 0; r < grouped; r += lanes)
        for (uint64_t k = 0; k < n; k++)
            for (uint64_t lane = 0; lane < lanes; lane++)
                copy_value(values, to++, c, from + (r + lane) * n + k);
    memcpy((char *)values + to * c->size, c->values + (from + grouped * n) * c->size,
           (strip->rows - grouped) * n * c->size);
}

static void fill_chunk(void *memory, const dcsr_i_spmv_chunk *c)
{
    const shift_work *w = c->work;
    shift_chunk *made = memory;
    *made = w->head;
    shift_kind *kinds = (shift_kind *)kinds_of(made);
    uint32_t *shifts = (uint32_t *)shifts_of(made);
    void *values = (void *)values_of(made);
    memcpy(made + 1, w->strips, made->strips * sizeof *w->strips);
    /* A kind's values are where measuring counted them: before those of the strip that brought the kind. */
    uint64_t shift = 0, value = 0, known = 0;
    for (uint64_t r = 0; r < made->strips; r++) {
        const shift_strip *strip = &w->strips[r];
        const uint64_t row = strip->first, n = c->begin[row + 1] - c->begin[row];
        if (strip->kind == known) {
            kinds[known++] = (shift_kind){n, shift, value};
            for (uint64_t k = 0; k < n; k++)
                shifts[shift++] = c->columns[c->begin[row] + k] - (uint32_t)(c->first + row);
            for (uint64_t k = 0; strip->constant && c->size && k < n; k++)
                copy_value(values, value++, c, c->begin[row] + k);
        }
        if (strip->constant) continue;
        fill_values(values, strip, c);
        value += strip->rows * n;
    }
}

static const dcsr_i_spmv_chunked chunked = {.rows = CHUNK_ROWS,
                                            .work_row = sizeof(shift_work) / CHUNK_ROWS + 1,
                                            .measure = measure_chunk,
                                            .fill = fill_chunk};
DCSR_I_SPMV_CHUNKED_CALLS(shifts, &chunked, NULL)
DCSR_I_SPMV_CHUNKED_REFRESH(shifts, &chunked, NULL)

const dcsr_i_spmv_kernel dcsr_i_spmv_shifts = {
    .told = {.name = "shifts",
             .summary = "rows that are shifts of one another share their columns, and values that repeat"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure_shifts,
    .build = build_shifts,
    .refresh = refresh_shifts,
    .run = run,
    .discard = discard_shifts,
};
