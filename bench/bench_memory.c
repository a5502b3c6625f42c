/* bench_memory.c: bytes per nonzero, beside CSR, ELL and HYB.
 *
 * The entries are distinct and come in random order, in 16 batches: the memory of the matrix is taken then,
 * and after whole defragmentation. The other formats are computed from the row lengths, with 32-bit columns
 * and rows, HYB with the mean row length (rounded up) as its width, CSR with offsets of 8 bytes. Where ELL
 * takes at most ten times what CSR takes, the conversions of the library are run and must give the same
 * widths and counts. On a GPU `device` is how much less of its memory is free than before there was a matrix,
 * after defragmentation: what the library says it takes, with what it keeps for temporary work. */
#include "bench/inputs.h"
#include <dcsr/convert.h>

#include <unistd.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sizes {
    double csr, ell, hyb; /* bytes */
    uint64_t width, hyb_width, overflow;
} sizes;

static sizes compute_sizes(const bench_csr *A, double value)
{
    const double rows = (double)A->rows, nnz = (double)A->nnz;
    sizes s = {.hyb_width = A->rows ? (A->nnz + A->rows - 1) / A->rows : 0};
    for (uint64_t row = 0; row < A->rows; row++) {
        uint64_t length = A->offsets[row + 1] - A->offsets[row];
        if (length > s.width) s.width = length;
        if (length > s.hyb_width) s.overflow += length - s.hyb_width;
    }
    s.csr = nnz * (4 + value) + 8 * (rows + 1);
    s.ell = rows * (double)s.width * (4 + value);
    s.hyb = rows * (double)s.hyb_width * (4 + value) + (double)s.overflow * (8 + value);
    return s;
}

static void check_sizes(dcsr_matrix *matrix, const sizes *s)
{
    dcsr_view *view;
    dcsr_ell ell;
    dcsr_hyb hyb;
    if (s->ell > 10 * s->csr) return;
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    BENCH_OK(dcsr_view_to_ell(&ell, view, 0));
    BENCH_OK(dcsr_view_to_hyb(&hyb, view, 0));
    if (ell.width != s->width || hyb.ell.width != s->hyb_width || hyb.coo.nnz != s->overflow)
        bench_die("the conversions have other sizes: %llu, %llu, %llu", (unsigned long long)ell.width,
                  (unsigned long long)hyb.ell.width, (unsigned long long)hyb.coo.nnz);
    dcsr_ell_free(&ell);
    dcsr_hyb_free(&hyb);
    dcsr_view_destroy(view);
}

/* A little later, when what the last change freed has gone back to the system. */
static double matrix_bytes(dcsr_matrix *matrix)
{
    usleep(200000);
    dcsr_matrix_info info;
    BENCH_OK(dcsr_matrix_get_info(matrix, &info));
    return (double)info.bytes;
}

/* Bytes of the GPU that nobody uses. */
static double free_on_gpu(dcsr_context *context)
{
    dcsr_context_info info;
    BENCH_OK(dcsr_context_get_info(context, &info));
    return (double)info.device_free;
}

static void measure(bench *b, bench_table *table, const char *name, dcsr_type type)
{
    enum { BATCHES = 16 };
    if (!bench_has_time(b, name)) return;
    /* A context of its own, so that nothing is left from the matrix before. */
    dcsr_context *context = bench_context(b, b->threads);
    const double free_before = free_on_gpu(context);
    bench_csr A = bench_csr_make(b, name);
    bench_entries all = bench_entries_from_csr(&A);
    bench_entries_shuffle(&all, 1);
    dcsr_matrix *matrix = bench_matrix(b, context, NULL, A.rows, A.cols, type, NULL);
    for (size_t k = 0; k < BATCHES; k++) {
        size_t first = all.n * k / BATCHES, end = all.n * (k + 1) / BATCHES;
        bench_entries part = bench_entries_slice(&all, first, end - first);
        bench_insert_now(matrix, &part, type);
    }
    const double streamed = matrix_bytes(matrix), nnz = (double)A.nnz;
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    const double tight = matrix_bytes(matrix), left = free_on_gpu(context);
    const sizes s = compute_sizes(&A, (double)dcsr_type_size(type));
    check_sizes(matrix, &s);
    bench_row(table, BENCH_LABELS(name, dcsr_type_name(type)), nnz / (double)A.rows, (double)s.width,
              streamed / nnz, tight / nnz, s.csr / nnz, s.hyb / nnz, s.ell / nnz, streamed / s.csr,
              tight / s.csr, streamed / s.hyb, b->gpu ? (free_before - left) / nnz : NAN);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    bench_entries_free(&all);
    bench_csr_free(&A);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "memory", "How many bytes does a nonzero take?");
    bench_table *table = bench_table_begin(
        &b, "memory", "bytes a nonzero; those of the store over those of CSR and HYB",
        "matrix type | mean_row:%.1f max_row:%.0f streamed:%.2f tight:%.2f csr:%.2f hyb:%.2f ell:%.2f "
        "streamed/csr:%.2f tight/csr:%.2f streamed/hyb:%.2f device:%.2f");
    const unsigned long long entries = BENCH_SIZE_ON(&b, 262144, 4194304, 16777216);
    for (int pattern = 1; pattern >= 0; pattern--) {
        const dcsr_type type = pattern ? DCSR_PATTERN : DCSR_FP64;
        for (int mean = 1; mean <= 32; mean *= 2) {
            char name[64];
            snprintf(name, sizeof name, "er:%llu,%llu", entries / (unsigned)mean, entries);
            measure(&b, table, name, type);
        }
        measure(&b, table, BENCH_SIZE_ON(&b, "rmat:14,16", "rmat:18,16", "rmat:20,16"), type);
        measure(&b, table, BENCH_SIZE_ON(&b, "poisson2d5:128", "poisson2d5:1024", "poisson2d5:2048"), type);
        measure(&b, table, BENCH_SIZE_ON(&b, "poisson3d27:20", "poisson3d27:64", "poisson3d27:100"), type);
    }
    return bench_end(&b);
}
