/* spmv_shifts.c: the kernel `shifts`: rows that are shifts of one another share one **program**.
 *
 * On a grid most rows have the columns of the row before, each one further: the differences of columns and row are the
 * same. A program is such a list of differences; a **run** is as many rows one after the other as have the same. Rows
 * of a run that have the same values as well keep these with the program, and move no bytes at all but those of x and
 * y; else values alone are kept, transposed in groups of as many rows as a vector has elements:
 *
 *      run     first row, rows, program, where its values are
 *      values  program's: v0 v1 ...         run's: v0 of 8 rows | v1 of 8 rows | ...   then rows left over, one by one
 *
 * Neighbours in a vector of rows read neighbours in x, so nothing is gathered. A chunk has its own programs: it can be
 * made anew alone. */
#include "ops/spmv/portfolio/row_chunks.h"
#include "ops/spmv/portfolio/kinds.h"
#include <string.h>

enum {
    CHUNK_ROWS = 8192,
    VECTOR = 64,    /* bytes: a row each */
    LEAST_SAME = 16 /* rows of the same values that are a run of their own */
};

typedef struct shift_run {
    uint32_t first, rows; /* of the chunk */
    uint32_t program;
    bool constant;   /* values are the program's */
    uint64_t values; /* else where they begin */
} shift_run;

/* Differences are taken modulo 2^32, as columns are. */
typedef struct shift_program {
    uint64_t length, shifts, values; /* where they begin */
} shift_program;

/* What a chunk's memory begins with; runs, programs, shifts and values follow. */
typedef struct shift_chunk {
    uint64_t runs, programs, shifts, values; /* how many */
} shift_chunk;

static const shift_run *runs_of(const shift_chunk *c)
{
    return (const shift_run *)(c + 1);
}
static const shift_program *programs_of(const shift_chunk *c)
{
    return (const shift_program *)(runs_of(c) + c->runs);
}
static const uint32_t *shifts_of(const shift_chunk *c)
{
    return (const uint32_t *)(programs_of(c) + c->programs);
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
#include "ops/spmv/portfolio/kinds.inc"
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

/* A program while its chunk is made: the columns, and if constant the values, of a row that it is of. */
typedef struct shift_sample {
    uint32_t row;
    bool constant;
} shift_sample;

/* The kernel's memory for a chunk. */
typedef struct shift_work {
    shift_chunk head;
    shift_run runs[CHUNK_ROWS];
    shift_sample samples[CHUNK_ROWS];
    uint32_t
        table[2 * CHUNK_ROWS]; /* of programs by what they hold: open addressing; their number + 1, or 0 */
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

/* The number of the program of a row, which is added if it is new. */
static uint32_t program_of(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t row, bool constant)
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
    const uint32_t program = (uint32_t)w->head.programs++;
    w->table[at] = program + 1;
    w->samples[program] = (shift_sample){(uint32_t)row, constant};
    w->head.shifts += n;
    if (constant && c->size) w->head.values += n;
    return program;
}

static void add_run(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t first, uint64_t end, bool constant)
{
    if (first == end) return;
    const uint32_t program = program_of(c, w, first, constant);
    w->runs[w->head.runs++] =
        (shift_run){(uint32_t)first, (uint32_t)(end - first), program, constant, w->head.values};
    if (!constant) w->head.values += c->begin[end] - c->begin[first];
}

/* Rows first .. end-1, which have one program: those of the same values, if they are many, one after the other. */
static void cut_run(const dcsr_i_spmv_chunk *c, shift_work *w, uint64_t first, uint64_t end)
{
    uint64_t varied = first;
    for (uint64_t same = first, next; same < end; same = next) {
        for (next = same + 1; next < end && same_values(c, same, next);) next++;
        if (next - same < LEAST_SAME && c->size) continue;
        add_run(c, w, varied, same, false);
        add_run(c, w, same, next, true);
        varied = next;
    }
    add_run(c, w, varied, end, false);
}

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    shift_work *w = c->work;
    w->head = (shift_chunk){0};
    memset(w->table, 0, sizeof w->table);
    for (uint64_t first = 0, end; first < c->rows; first = end) {
        for (end = first + 1; end < c->rows && same_columns(c, end - 1, end);) end++;
        cut_run(c, w, first, end);
    }
    return bytes_of(&w->head, c->size);
}

static void copy_value(void *values, uint64_t to, const dcsr_i_spmv_chunk *c, uint64_t from)
{
    memcpy((char *)values + to * c->size, c->values + from * c->size, c->size);
}

/* The values of a run of rows that differ in them. */
static void fill_values(void *values, const shift_run *run, const dcsr_i_spmv_chunk *c)
{
    const uint64_t lanes = VECTOR / c->size, from = c->begin[run->first], n = c->begin[run->first + 1] - from,
                   grouped = run->rows / lanes * lanes;
    uint64_t to = run->values;
    for (uint64_t r = 0; r < grouped; r += lanes)
        for (uint64_t k = 0; k < n; k++)
            for (uint64_t lane = 0; lane < lanes; lane++)
                copy_value(values, to++, c, from + (r + lane) * n + k);
    memcpy((char *)values + to * c->size, c->values + (from + grouped * n) * c->size,
           (run->rows - grouped) * n * c->size);
}

static void fill_chunk(void *memory, const dcsr_i_spmv_chunk *c)
{
    const shift_work *w = c->work;
    shift_chunk *made = memory;
    *made = w->head;
    shift_program *programs = (shift_program *)programs_of(made);
    uint32_t *shifts = (uint32_t *)shifts_of(made);
    void *values = (void *)values_of(made);
    memcpy(made + 1, w->runs, made->runs * sizeof *w->runs);
    /* Programs' values are where measuring counted them: before those of the run that brought the program. */
    uint64_t shift = 0, value = 0, known = 0;
    for (uint64_t r = 0; r < made->runs; r++) {
        const shift_run *run = &w->runs[r];
        const uint64_t row = run->first, n = c->begin[row + 1] - c->begin[row];
        if (run->program == known) {
            programs[known++] = (shift_program){n, shift, value};
            for (uint64_t k = 0; k < n; k++)
                shifts[shift++] = c->columns[c->begin[row] + k] - (uint32_t)(c->first + row);
            for (uint64_t k = 0; run->constant && c->size && k < n; k++)
                copy_value(values, value++, c, c->begin[row] + k);
        }
        if (run->constant) continue;
        fill_values(values, run, c);
        value += run->rows * n;
    }
}

static const dcsr_i_spmv_chunked chunked = {.rows = CHUNK_ROWS,
                                            .work_row = sizeof(shift_work) / CHUNK_ROWS + 1,
                                            .measure = measure_chunk,
                                            .fill = fill_chunk};
DCSR_I_SPMV_CHUNKED_CALLS(shifts, &chunked, NULL)
DCSR_I_SPMV_CHUNKED_REFRESH(shifts, &chunked, NULL)

const dcsr_i_spmv_kernel dcsr_i_spmv_shifts = {
    .public = {"shifts", "rows that are shifts of one another share their columns, and values that repeat"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure_shifts,
    .build = build_shifts,
    .refresh = refresh_shifts,
    .run = run,
    .discard = discard_shifts,
};
