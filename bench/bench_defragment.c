/* bench_defragment.c: what defragmentation costs, in products and beside the speed of memcpy().
 *
 * Whole: the entries of every row lie in 2, 3, 4 portions, then all rows are moved. Selected: the matrix was
 * tight, then a tenth of the rows got entries in three more batches, and only they are moved. With policy
 * keep entries are only moved; with policy last rows of several segments may hold duplicates and are resolved
 * as well. A product is one with the CSR view afterwards. The bytes moved are read and written once each: 12
 * an entry, and 8 for a begin of each row; they are held against memcpy(), on a GPU against a copy within its
 * memory. Seconds are from the call until the ticket is done. */
#include "bench/bandwidth.h"
#include "bench/place.h"

#include <math.h>
#include <stdlib.h>

enum { LARGE = 100000000 }; /* entries; more than that are fragmented in one way alone */

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    void *x, *y;
    dcsr_view *view;
    double copy; /* bytes a second */
    bool large;
} contest;

static void multiply(void *argument)
{
    const contest *c = argument;
    bench_multiply(c->b, c->y, c->view, c->x);
}

static double product_seconds(contest *c, dcsr_matrix *matrix)
{
    BENCH_OK(dcsr_view_create(&c->view, matrix, DCSR_LAYOUT_CSR, 0));
    bench_stat time = bench_time(c->b, multiply, c, 5, BENCH_SIZE_ON(c->b, 0.05, 0.3, 0.05));
    dcsr_view_destroy(c->view);
    return time.median;
}

/* A tight matrix, then three batches of entries into every tenth row. */
static dcsr_matrix *tenth_fragmented(contest *c, dcsr_policy policy, uint64_t *moved)
{
    enum { BATCHES = 3 };
    const dcsr_matrix_options options = {.policy = policy, .defragmentation = DCSR_DEFRAGMENT_OFF};
    const bench_csr *A = c->A;
    bench_entries all = bench_entries_from_csr(A), more = bench_entries_allocate(A->nnz + A->rows);
    dcsr_matrix *matrix = bench_matrix(c->b, NULL, &all, A->rows, A->cols, DCSR_FP64, &options);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    *moved = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        more.n = 0;
        for (uint64_t row = 0; row < A->rows; row += 10) {
            uint64_t length = A->offsets[row + 1] - A->offsets[row];
            if (batch == 0) *moved += length;
            for (uint64_t i = 0; i < length / BATCHES; i++, more.n++) {
                more.row[more.n] = row;
                more.col[more.n] = bench_below(*moved + more.n, A->cols);
                more.value[more.n] = 1;
            }
        }
        bench_insert_now(matrix, &more, DCSR_FP64);
        *moved += more.n;
    }
    bench_entries_free(&all);
    bench_entries_free(&more);
    return matrix;
}

/* portions 0: the tenth of the rows, selected. */
static void defragment(contest *c, int portions, dcsr_policy policy)
{
    bench_samples samples = {0};
    double segments = 0, product = NAN, bytes = 0;
    for (int round = 0; round < (c->large ? 1 : BENCH_SIZE(c->b, 1, 3)); round++) {
        uint64_t moved = c->A->nnz;
        dcsr_matrix *matrix = portions ? bench_fragmented(c->b, c->A, portions, DCSR_FP64, policy)
                                       : tenth_fragmented(c, policy, &moved);
        segments = bench_segments_per_row(matrix, c->A);
        bytes = 2 * (12.0 * (double)moved + 8.0 * (double)c->A->rows * (portions ? 1 : 0.1));
        double before = bench_now();
        bench_defragment_now(matrix, portions ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED);
        bench_samples_add(&samples, bench_now() - before);
        if (!round) {
            if (!portions) bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
            product = product_seconds(c, matrix);
        }
        dcsr_matrix_destroy(matrix);
    }
    const double seconds = bench_median(&samples);
    bench_row(c->table, BENCH_LABELS(c->name, portions ? "whole" : "selected", dcsr_policy_name(policy)),
              portions, segments, seconds, bench_spread(&samples), product, seconds / product,
              1e-9 * bytes / seconds, bytes / seconds / c->copy);
    bench_samples_free(&samples);
}

static double measure_memcpy(bench *b)
{
    const bench_bandwidth memory = bench_measure_bandwidth((size_t)BENCH_SIZE(b, 96, 768) << 20);
    bench_note(b, "memcpy, read and written: %.1f GB/s", 1e-9 * memory.copy);
    return memory.copy;
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"poisson2d5:128", "poisson3d27:20", "rmat:14,16", "er:16384,262144",
                                        NULL};
    static const char *const full[] = {"poisson2d5:1024", "poisson3d27:64", "rmat:18,16", "er:262144,4194304",
                                       NULL};
    static const char *const on_gpu[] = {"poisson2d5:2048",     "poisson3d27:100", "rmat:20,16",
                                         "er:1048576,33554432", "poisson3d27:200", NULL};
    bench b;
    bench_begin(&b, argc, argv, "defragment", "What does defragmentation cost, in products?");
    const double copy = b.gpu ? b.rates.copy : measure_memcpy(&b);
    bench_table *table = bench_table_begin(
        &b, "defragment",
        "seconds; how many products that is; bytes moved a second, and as a fraction of a copy's",
        "matrix scope policy | portions:%.0f segments:%.2f seconds:%.3g spread%:%.0f product_s:%.3g "
        "products:%.2f "
        "gbytes_s:%.1f of_copy:%.2f");
    for (const char *const *names = BENCH_SIZE_ON(&b, quick, full, on_gpu); *names; names++) {
        const char *name = *names;
        if (!bench_has_time(&b, name)) continue;
        bench_csr A = bench_csr_make(&b, name);
        contest c = {.b = &b, .table = table, .name = name, .A = &A, .copy = copy, .large = A.nnz > LARGE};
        double *x = bench_vector(A.cols);
        c.x = bench_place_values(&b, x, A.cols, DCSR_FP64);
        c.y = bench_place(&b, NULL, A.rows * sizeof *x);
        for (int portions = c.large ? 4 : 2; portions <= 4; portions++)
            defragment(&c, portions, DCSR_POLICY_KEEP);
        if (!c.large) defragment(&c, 0, DCSR_POLICY_KEEP);
        if (!c.large) defragment(&c, 4, DCSR_POLICY_LAST);
        bench_release(&b, c.x);
        bench_release(&b, c.y);
        bench_csr_free(&A);
        free(x);
    }
    return bench_end(&b);
}
