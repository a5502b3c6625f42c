/* inputs.c: matrices and streams of entries for the benchmarks. */
#include "bench/inputs.h"
#include "bench/peers/keysort.h"
#include <dcsr/generate.h>
#include <dcsr/reader.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries of a matrix that go in as one batch, unless a single row is longer. */
enum { MOST_AT_ONCE = 1 << 25 };

float *bench_narrow(const double *values, uint64_t n, dcsr_type type)
{
    if (type != DCSR_FP32) return NULL;
    float *narrow = bench_alloc(n, sizeof *narrow);
#pragma omp parallel for
    for (uint64_t i = 0; i < n; i++) narrow[i] = (float)values[i];
    return narrow;
}

bench_entries bench_entries_allocate(size_t n)
{
    return (bench_entries){n, bench_alloc(n, sizeof(uint64_t)), bench_alloc(n, sizeof(uint64_t)),
                           bench_alloc(n, sizeof(double))};
}

void bench_entries_free(bench_entries *entries)
{
    free(entries->row);
    free(entries->col);
    free(entries->value);
    *entries = (bench_entries){0};
}

bench_entries bench_entries_slice(const bench_entries *entries, size_t first, size_t n)
{
    if (first > entries->n || n > entries->n - first) bench_die("a slice beyond the %zu entries", entries->n);
    return (bench_entries){n, entries->row + first, entries->col + first,
                           entries->value ? entries->value + first : NULL};
}

void bench_entries_shuffle(bench_entries *entries, uint64_t seed)
{
    enum { RANDOM_BITS = 33 };
    const size_t n = entries->n;
    bench_keyed *order = bench_alloc(n, sizeof *order), *spare = bench_alloc(n, sizeof *spare);
    bench_entries shuffled = bench_entries_allocate(n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        order[i] = (bench_keyed){bench_mix(seed + i) >> (64 - RANDOM_BITS), (double)i};
    bench_keysort(order, spare, n, RANDOM_BITS);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        const size_t from = (size_t)order[i].value;
        shuffled.row[i] = entries->row[from];
        shuffled.col[i] = entries->col[from];
        shuffled.value[i] = entries->value[from];
    }
    free(order);
    free(spare);
    bench_entries_free(entries);
    *entries = shuffled;
}

/* The triples of a graph's generator, with values. */
static bench_entries entries_from_coo(const dcsr_coo *coo)
{
    bench_entries entries = bench_entries_allocate(coo->nnz);
#pragma omp parallel for
    for (size_t i = 0; i < entries.n; i++) {
        entries.row[i] = coo->row_indices[i];
        entries.col[i] = coo->col_indices[i];
        entries.value[i] = 0.5 + 0x1p-32 * (double)bench_below(i, (uint64_t)1 << 32);
    }
    return entries;
}

bench_entries bench_entries_rmat(bench *b, int scale, uint64_t first, size_t n, uint64_t seed)
{
    dcsr_coo coo;
    BENCH_OK(dcsr_coo_generate_rmat(&coo, b->host, &(dcsr_rmat){scale, .5, .1, .1, seed}, first, n));
    bench_entries entries = entries_from_coo(&coo);
    dcsr_coo_free(&coo);
    return entries;
}

bench_entries bench_entries_from_rows(const bench_csr *csr, uint64_t begin, uint64_t end)
{
    const uint64_t first = csr->offsets[begin];
    bench_entries entries = bench_entries_allocate(csr->offsets[end] - first);
#pragma omp parallel for schedule(dynamic, 1024)
    for (uint64_t row = begin; row < end; row++)
        for (uint64_t e = csr->offsets[row]; e < csr->offsets[row + 1]; e++) {
            entries.row[e - first] = row;
            entries.col[e - first] = csr->columns[e];
            entries.value[e - first] = csr->values[e];
        }
    return entries;
}

bench_entries bench_entries_from_csr(const bench_csr *csr)
{
    return bench_entries_from_rows(csr, 0, csr->rows);
}

void bench_entries_symmetrise(bench_entries *entries)
{
    bench_entries both = bench_entries_allocate(2 * entries->n);
#pragma omp parallel for
    for (size_t i = 0; i < entries->n; i++) {
        both.row[2 * i] = both.col[2 * i + 1] = entries->row[i];
        both.col[2 * i] = both.row[2 * i + 1] = entries->col[i];
        both.value[2 * i] = both.value[2 * i + 1] = entries->value[i];
    }
    bench_entries_free(entries);
    *entries = both;
}

/* Drops the entries that are not wanted; the others stay in order. */
static void keep_wanted(bench_entries *entries, const bool *wanted)
{
    const size_t n = entries->n;
    size_t *begin =
        bench_alloc((size_t)omp_get_max_threads() + 1, sizeof *begin); /* of each thread's share */
    bench_entries kept = {0};
#pragma omp parallel
    {
        const size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
        const size_t first = n * thread / threads, end = n * (thread + 1) / threads;
        size_t place = 0;
        for (size_t i = first; i < end; i++) place += wanted[i];
        begin[thread + 1] = place;
#pragma omp barrier
#pragma omp single
        {
            begin[0] = 0;
            for (size_t i = 0; i < threads; i++) begin[i + 1] += begin[i];
            kept = bench_entries_allocate(begin[threads]);
        }
        place = begin[thread];
        for (size_t i = first; i < end; i++)
            if (wanted[i]) {
                kept.row[place] = entries->row[i];
                kept.col[place] = entries->col[i];
                kept.value[place++] = entries->value[i];
            }
    }
    free(begin);
    bench_entries_free(entries);
    *entries = kept;
}

void bench_entries_only_new(bench_entries *entries, const bench_csr *csr, uint64_t seed)
{
    bench_csr distinct = bench_csr_from_entries(entries, csr->rows, csr->cols);
    bench_entries all = bench_entries_from_csr(&distinct);
    bool *wanted = bench_alloc(all.n, sizeof *wanted);
#pragma omp parallel for
    for (size_t i = 0; i < all.n; i++) wanted[i] = !bench_csr_has(csr, all.row[i], all.col[i]);
    keep_wanted(&all, wanted);
    free(wanted);
    bench_entries_shuffle(&all, seed);
    bench_csr_free(&distinct);
    bench_entries_free(entries);
    *entries = all;
}

/* Of entries in order, row by row and by ascending columns, each place once. */
static bench_csr csr_from_ordered(const bench_entries *ordered, uint64_t rows, uint64_t cols)
{
    const size_t n = ordered->n;
    const uint64_t *row = ordered->row;
    bench_csr csr = {.rows = rows, .cols = cols, .nnz = n};
    csr.offsets = bench_alloc(rows + 1, sizeof *csr.offsets);
    csr.columns = bench_alloc(n, sizeof *csr.columns);
    csr.values = bench_alloc(n, sizeof *csr.values);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        for (uint64_t begun = i ? row[i - 1] + 1 : 0; begun <= row[i]; begun++) csr.offsets[begun] = i;
        csr.columns[i] = (uint32_t)ordered->col[i];
        csr.values[i] = ordered->value[i];
    }
    for (uint64_t begun = n ? row[n - 1] + 1 : 0; begun <= rows; begun++) csr.offsets[begun] = n;
    return csr;
}

/* The entries in that order. */
static bench_entries put_in_order(const bench_entries *entries, uint64_t rows, uint64_t cols)
{
    const int col_bits = bench_bits(cols);
    const uint64_t mask = ((uint64_t)1 << col_bits) - 1;
    bench_keyed *sorted = bench_alloc(entries->n, sizeof *sorted),
                *spare = bench_alloc(entries->n, sizeof *spare);
#pragma omp parallel for
    for (size_t i = 0; i < entries->n; i++)
        sorted[i] = (bench_keyed){entries->row[i] << col_bits | entries->col[i], entries->value[i]};
    bench_keysort(sorted, spare, entries->n, col_bits + bench_bits(rows));
    free(spare);
    size_t n = 0;
    for (size_t i = 0; i < entries->n; i++)
        if (!n || sorted[n - 1].key != sorted[i].key) sorted[n++] = sorted[i];
    bench_entries ordered = bench_entries_allocate(n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        ordered.row[i] = sorted[i].key >> col_bits;
        ordered.col[i] = sorted[i].key & mask;
        ordered.value[i] = sorted[i].value;
    }
    free(sorted);
    return ordered;
}

bench_csr bench_csr_from_entries(const bench_entries *entries, uint64_t rows, uint64_t cols)
{
    bench_entries ordered = put_in_order(entries, rows, cols);
    bench_csr csr = csr_from_ordered(&ordered, rows, cols);
    bench_entries_free(&ordered);
    return csr;
}

bench_csr bench_csr_make(bench *b, const char *text)
{
    dcsr_coo coo;
    bench_csr csr;
    BENCH_OK(dcsr_coo_generate(&coo, b->host, text));
    if (coo.values) { /* a grid, whose entries come in order */
        csr = csr_from_ordered(&(bench_entries){coo.nnz, coo.row_indices, coo.col_indices, coo.values},
                               coo.rows, coo.cols);
        dcsr_coo_free(&coo);
        return csr;
    }
    const uint64_t rows = coo.rows, cols = coo.cols;
    bench_entries entries = entries_from_coo(&coo);
    dcsr_coo_free(&coo);
    csr = bench_csr_from_entries(&entries, rows, cols);
    bench_entries_free(&entries);
    return csr;
}

/* ---- Files ---- */

static double value_in(const dcsr_coo *coo, uint64_t k)
{
    return coo->type == DCSR_PATTERN ? 0.5 + (double)(bench_mix(k) >> 11) * 0x1p-53
           : coo->type == DCSR_INT64 ? (double)((const int64_t *)coo->values)[k]
                                     : ((const double *)coo->values)[k];
}

/* false, with a remark: it has no matrix. */
static bool read_csr(bench *b, bench_csr *csr, const char *path)
{
    dcsr_coo coo;
    const dcsr_status status = dcsr_coo_read(&coo, b->host, path, NULL);
    if (status || !coo.nnz) bench_note(b, "left out: %s", status ? dcsr_thread_error() : path);
    if (status) return false;
    bench_entries entries = bench_entries_allocate(coo.nnz);
    for (uint64_t k = 0; k < coo.nnz; k++) {
        entries.row[k] = coo.row_indices[k];
        entries.col[k] = coo.col_indices[k];
        entries.value[k] = value_in(&coo, k);
    }
    const bool any = coo.nnz > 0;
    if (any) *csr = bench_csr_from_entries(&entries, coo.rows, coo.cols);
    bench_entries_free(&entries);
    dcsr_coo_free(&coo);
    return any;
}

/* Whether dcsr_coo_read() knows the ending. */
static int is_matrix(const struct dirent *entry)
{
    static const char *const endings[] = {".mtx", ".mtx.gz", ".el", ".el.gz"};
    const size_t length = strlen(entry->d_name);
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        const size_t n = strlen(endings[k]);
        if (length > n && !strcmp(entry->d_name + length - n, endings[k])) return 1;
    }
    return 0;
}

void bench_for_files(bench *b, bench_use_matrix *use, void *argument)
{
    struct dirent **files;
    const int count = scandir(b->data, &files, is_matrix, alphasort);
    if (count < 0) bench_die("--data %s: the folder cannot be read: %s", b->data, strerror(errno));
    if (!count) bench_die("--data %s: no file there is named *.mtx, *.el, *.mtx.gz or *.el.gz", b->data);
    for (int f = 0; f < count; f++) {
        const char *name = files[f]->d_name;
        char path[4096];
        bench_csr csr;
        snprintf(path, sizeof path, "%s/%s", b->data, name);
        if (bench_has_time(b, name) && read_csr(b, &csr, path)) {
            use(argument, name, &csr);
            bench_csr_free(&csr);
        }
        free(files[f]);
    }
    free(files);
}

bench_csr bench_csr_sibling(bench *b, const char *name, const bench_csr *A)
{
    bench_entries entries = bench_entries_from_csr(A);
    for (size_t k = 0; k < entries.n; k++)
        if (k % 3) entries.col[k] = (entries.col[k] * 5 + k % 2) % A->cols;
    bench_csr csr = bench_csr_from_entries(&entries, A->rows, A->cols);
    bench_note(b, "%s: %llu rows, %llu entries; the other matrix: %llu", name, (unsigned long long)A->rows,
               (unsigned long long)A->nnz, (unsigned long long)csr.nnz);
    bench_entries_free(&entries);
    return csr;
}

void bench_csr_free(bench_csr *csr)
{
    free(csr->offsets);
    free(csr->columns);
    free(csr->values);
    *csr = (bench_csr){0};
}

bool bench_csr_has(const bench_csr *csr, uint64_t row, uint64_t col)
{
    uint64_t low = csr->offsets[row], high = csr->offsets[row + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (csr->columns[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low < csr->offsets[row + 1] && csr->columns[low] == col;
}

dcsr_matrix *bench_matrix(bench *b, dcsr_context *context, const bench_entries *entries, uint64_t rows,
                          uint64_t cols, dcsr_type type, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_create(&matrix, context ? context : b->context, type, rows, cols, options));
    if (entries) bench_insert_now(matrix, entries, type);
    return matrix;
}

/* Each entry is in one of the portions, which its number in the matrix decides; the list begins with number
 * `first`. */
static void keep_portion(bench_entries *entries, uint64_t first, int portion, int portions)
{
    bool *wanted = bench_alloc(entries->n, sizeof *wanted);
#pragma omp parallel for
    for (size_t i = 0; i < entries->n; i++)
        wanted[i] = (int)bench_below(first + i, (uint64_t)portions) == portion;
    keep_wanted(entries, wanted);
    free(wanted);
}

dcsr_matrix *bench_fragmented(bench *b, const bench_csr *csr, int portions, dcsr_type type,
                              dcsr_policy policy)
{
    return bench_fragmented_with(b, csr, portions, type, policy, 0);
}

dcsr_matrix *bench_fragmented_with(bench *b, const bench_csr *csr, int portions, dcsr_type type,
                                   dcsr_policy policy, double slack)
{
    const dcsr_matrix_options options = {.policy = policy,
                                         .slack = slack,
                                         .segments = portions > DCSR_DEFAULT_SEGMENTS ? portions : 0,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF};
    dcsr_matrix *matrix = bench_matrix(b, NULL, NULL, csr->rows, csr->cols, type, &options);
    for (int portion = 0; portion < portions; portion++)
        for (uint64_t row = 0, end; row < csr->rows; row = end) {
            for (end = row + 1; end < csr->rows && csr->offsets[end + 1] - csr->offsets[row] <= MOST_AT_ONCE;)
                end++;
            bench_entries part = bench_entries_from_rows(csr, row, end);
            if (portions > 1) keep_portion(&part, csr->offsets[row], portion, portions);
            bench_insert_now(matrix, &part, type);
            bench_entries_free(&part);
        }
    return matrix;
}

double bench_segments_per_row(dcsr_matrix *matrix, const bench_csr *csr)
{
    dcsr_matrix_info info;
    uint64_t filled = 0;
    BENCH_OK(dcsr_matrix_get_info(matrix, &info));
    for (uint64_t row = 0; row < csr->rows; row++) filled += csr->offsets[row] < csr->offsets[row + 1];
    return filled ? (double)info.segments / (double)filled : 0;
}

void bench_wait(dcsr_ticket *ticket)
{
    BENCH_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

void bench_insert_now(dcsr_matrix *matrix, const bench_entries *entries, dcsr_type type)
{
    dcsr_ticket *ticket;
    float *narrow = bench_narrow(entries->value, entries->n, type);
    BENCH_OK(dcsr_matrix_insert(matrix, entries->n, entries->row, entries->col,
                                type == DCSR_PATTERN ? NULL
                                : narrow             ? (const void *)narrow
                                                     : entries->value,
                                &ticket));
    free(narrow);
    bench_wait(ticket);
}

void bench_remove_now(dcsr_matrix *matrix, const bench_entries *entries)
{
    dcsr_ticket *ticket;
    BENCH_OK(dcsr_matrix_remove(matrix, entries->n, entries->row, entries->col, &ticket));
    bench_wait(ticket);
}

void bench_defragment_now(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    dcsr_ticket *ticket;
    BENCH_OK(dcsr_matrix_defragment(matrix, scope, &ticket));
    bench_wait(ticket);
}

double *bench_vector(uint64_t length)
{
    double *x = bench_alloc(length, sizeof *x);
#pragma omp parallel for
    for (uint64_t j = 0; j < length; j++) x[j] = 1 + (double)(j % 7);
    return x;
}

double bench_difference(const double *left, const double *right, uint64_t length)
{
    double difference = 0, largest = 0;
#pragma omp parallel for reduction(max : difference, largest)
    for (uint64_t i = 0; i < length; i++) {
        difference = fmax(difference, fabs(left[i] - right[i]));
        largest = fmax(largest, fabs(left[i]));
    }
    return largest > 0 ? difference / largest : difference;
}

/* ---- Grids, line by line ---- */

typedef struct grid {
    uint64_t side, lines; /* lines of `side` points */
    int dimensions;
} grid;

static uint64_t neighbours_across(const grid *g, uint64_t line)
{
    if (g->dimensions == 2) return (line > 0) + (line + 1 < g->side);
    const uint64_t y = line % g->side, z = line / g->side;
    return (y > 0) + (y + 1 < g->side) + (z > 0) + (z + 1 < g->side);
}

static void fill_line(bench_csr *csr, const grid *g, uint64_t line)
{
    const uint64_t side = g->side, plane = side * side, y = line % side, z = line / side;
    uint64_t at = csr->offsets[line * side];
    for (uint64_t x = 0; x < side; x++) {
        const uint64_t i = line * side + x;
        const struct {
            bool there;
            uint64_t column;
        } entry[] = {{g->dimensions == 3 && z > 0, i - plane},
                     {y > 0, i - side},
                     {x > 0, i - 1},
                     {true, i},
                     {x + 1 < side, i + 1},
                     {y + 1 < side, i + side},
                     {g->dimensions == 3 && z + 1 < side, i + plane}};
        csr->offsets[i] = at;
        for (size_t e = 0; e < sizeof entry / sizeof *entry; e++) {
            if (!entry[e].there) continue;
            csr->columns[at] = (uint32_t)entry[e].column;
            csr->values[at++] = entry[e].column == i ? 2.0 * g->dimensions : -1;
        }
    }
}

bench_csr bench_csr_grid(int dimensions, uint64_t side)
{
    grid g = {side, dimensions == 2 ? side : side * side, dimensions};
    bench_csr csr = {.rows = g.lines * side, .cols = g.lines * side};
    csr.offsets = bench_alloc(csr.rows + 1, sizeof *csr.offsets);
    for (uint64_t line = 0; line < g.lines; line++) {
        csr.offsets[line * side] = csr.nnz;
        csr.nnz += side * (3 + neighbours_across(&g, line)) - 2;
    }
    csr.offsets[csr.rows] = csr.nnz;
    csr.columns = bench_alloc(csr.nnz, sizeof *csr.columns);
    csr.values = bench_alloc(csr.nnz, sizeof *csr.values);
#pragma omp parallel for schedule(static)
    for (uint64_t line = 0; line < g.lines; line++) fill_line(&csr, &g, line);
    return csr;
}

dcsr_csr bench_csr_lent(const bench_csr *A)
{
    return (dcsr_csr){.type = DCSR_FP64,
                      .rows = A->rows,
                      .cols = A->cols,
                      .nnz = A->nnz,
                      .offsets = A->offsets,
                      .col_indices = A->columns,
                      .values = A->values};
}
