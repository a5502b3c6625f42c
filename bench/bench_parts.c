/* bench_parts.c: y = A x with a CSR, a CSC and a COO in parts, as in the evaluation of MSREP (dcsr/multi.h).
 *
 *      lines   parts with equally many rows or columns, results merged by one thread: the paper's baseline
 *      p*      with equally many entries, merged so
 *      p*-opt  with equally many entries, merged by all devices, each a range
 *      p*-tree the same by pairs of devices (for rows it is p*-opt)
 *
 * times_one: how much faster than dcsr_spmv() on one device with as many threads, in the same run; merge: the share of
 * the product's time in which partial results are merged; cut_in_spmvs: what making parts costs. On the cpu K devices
 * have a K-th of the threads each. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/spmv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

typedef struct input {
    dcsr_multi *devices;
    dcsr_view *csr, *csc;
    dcsr_coo coo;
    double *x, *y;
    dcsr_parts_format format;
    dcsr_parts_balance balance;
    dcsr_parts_merge merge;
    dcsr_parts *parts;
    double seconds, merging;
} input;

static dcsr_parts *make_parts(const input *in)
{
    dcsr_parts *parts;
    if (in->format == DCSR_PARTS_COO)
        BENCH_OK(dcsr_parts_create_coo(&parts, in->devices, &in->coo, in->balance));
    else
        BENCH_OK(dcsr_parts_create(&parts, in->devices, in->format == DCSR_PARTS_CSR ? in->csr : in->csc,
                                   in->balance));
    return parts;
}

static void cut(void *user)
{
    dcsr_parts_destroy(make_parts(user));
}

static void multiply(void *user)
{
    input *in = user;
    dcsr_multi_report report;
    BENCH_OK(dcsr_parts_spmv(in->y, in->parts, in->x, in->merge, &report));
    in->seconds += report.seconds;
    in->merging += report.communication;
}

static void multiply_whole(void *user)
{
    input *in = user;
    BENCH_OK(dcsr_spmv(in->y, in->csr, in->x));
}

static void measure(bench *b, bench_table *table, const char *name, const char *devices, input *in,
                    double whole)
{
    static const char *const formats[] = {"CSR", "CSC", "COO"};
    static const struct {
        const char *name;
        dcsr_parts_balance balance;
        dcsr_parts_merge merge;
    } ways[] = {{"lines", DCSR_PARTS_BY_LINES, DCSR_MERGE_ONE},
                {"p*", DCSR_PARTS_BY_ENTRIES, DCSR_MERGE_ONE},
                {"p*-opt", DCSR_PARTS_BY_ENTRIES, DCSR_MERGE_RANGES},
                {"p*-tree", DCSR_PARTS_BY_ENTRIES, DCSR_MERGE_TREE}};
    const double seconds = BENCH_SIZE(b, 0.01, 0.3);
    for (int format = 0; format < 3; format++)
        for (int way = 0; way < (format == DCSR_PARTS_CSC ? 4 : 3); way++) {
            dcsr_parts_info info;
            in->format = (dcsr_parts_format)format;
            in->balance = ways[way].balance;
            in->merge = ways[way].merge;
            in->seconds = in->merging = 0;
            const double cutting = bench_repeat(cut, in, 3, seconds / 3).median;
            in->parts = make_parts(in);
            BENCH_OK(dcsr_parts_get_info(in->parts, &info));
            const double took = bench_repeat(multiply, in, 5, seconds).median;
            bench_row(table, BENCH_LABELS(name, formats[format], ways[way].name, devices), took * 1e3,
                      whole / took, info.balance, in->merging / in->seconds, cutting / took);
            dcsr_parts_destroy(in->parts);
        }
}

/* Rows by descending length, as a matrix may have them that is stored in the order of its hubs. */
static void sort_rows(bench_csr *A)
{
    uint64_t longest = 0, *first, *order = bench_alloc(A->rows, sizeof *order), *offsets, at = 0;
    for (uint64_t i = 0; i < A->rows; i++) {
        const uint64_t length = A->offsets[i + 1] - A->offsets[i];
        if (length > longest) longest = length;
    }
    first = bench_alloc(longest + 2, sizeof *first);
    memset(first, 0, (longest + 2) * sizeof *first);
    for (uint64_t i = 0; i < A->rows; i++) first[longest - (A->offsets[i + 1] - A->offsets[i]) + 1]++;
    for (uint64_t l = 0; l <= longest; l++) first[l + 1] += first[l];
    for (uint64_t i = 0; i < A->rows; i++) order[first[longest - (A->offsets[i + 1] - A->offsets[i])]++] = i;
    uint32_t *columns = bench_alloc(A->nnz, sizeof *columns);
    double *values = bench_alloc(A->nnz, sizeof *values);
    offsets = bench_alloc(A->rows + 1, sizeof *offsets);
    for (uint64_t i = 0; i < A->rows; i++) {
        const uint64_t from = A->offsets[order[i]], n = A->offsets[order[i] + 1] - from;
        memcpy(columns + at, A->columns + from, n * sizeof *columns);
        memcpy(values + at, A->values + from, n * sizeof *values);
        offsets[i] = at;
        at += n;
    }
    offsets[A->rows] = at;
    free(first), free(order), free(A->offsets), free(A->columns), free(A->values);
    A->offsets = offsets, A->columns = columns, A->values = values;
}

/* "NAME,sorted": with its rows sorted. */
static void measure_matrix(bench *b, bench_table *table, const char *name, bool sorted)
{
    char label[64];
    snprintf(label, sizeof label, "%s%s", name, sorted ? ",sorted" : "");
    if (!bench_has_time(b, label)) return;
    bench_csr A = bench_csr_make(b, name);
    if (sorted) sort_rows(&A);
    const dcsr_csr csr = {.rows = A.rows,
                          .cols = A.cols,
                          .nnz = A.nnz,
                          .type = DCSR_FP64,
                          .offsets = A.offsets,
                          .col_indices = A.columns,
                          .values = A.values};
    dcsr_matrix *matrix;
    input in = {.x = bench_vector(A.cols), .y = bench_alloc(A.rows, sizeof(double))};
    int most = b->threads;
    BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, &csr, NULL));
    BENCH_OK(dcsr_view_create(&in.csr, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    BENCH_OK(dcsr_view_create(&in.csc, matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_SORTED));
    BENCH_OK(dcsr_view_to_coo(&in.coo, in.csr));
    const double whole = bench_repeat(multiply_whole, &in, 5, BENCH_SIZE(b, 0.01, 0.5)).median;
    if (b->gpu) BENCH_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &most));
    for (int count = 1; count <= most && count <= MOST; count *= 2) {
        char text[32];
        snprintf(text, sizeof text, b->gpu ? "cuda:0-%d" : "cpu:%d", b->gpu ? count - 1 : count);
        BENCH_OK(dcsr_multi_create(&in.devices, text, &(dcsr_multi_options){.threads = b->threads}));
        measure(b, table, label, text, &in, whole);
        dcsr_multi_destroy(in.devices);
    }
    dcsr_coo_free(&in.coo);
    dcsr_view_destroy(in.csr), dcsr_view_destroy(in.csc);
    dcsr_matrix_destroy(matrix);
    free(in.x), free(in.y);
    bench_csr_free(&A);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "parts",
                "What do parts of equally many entries gain, and how are they merged?");
    bench_table *table = bench_table_begin(&b, "parts", "y = A x in parts, fp64",
                                           "matrix format way devices | ms:%.3f times_one:%.2f balance:%.3f "
                                           "merge:%.3f cut_in_spmvs:%.2f");
    static const char *const quick[] = {"poisson2d5:100", "rmat:12,8"}, *const full[] = {"poisson2d5:1500",
                                                                                         "rmat:19,16"};
    for (int k = 0; k < 3; k++) measure_matrix(&b, table, b.quick ? quick[k > 0] : full[k > 0], k == 2);
    return bench_end(&b);
}
