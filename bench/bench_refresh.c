/* bench_refresh.c: what it costs to bring a plan for y = A x to another version of its matrix, of which some rows have
 * other values, beside building its format anew; and what a plan takes that is free to do either.
 *
 * Values are among those that the matrix has, so that dictionaries keep their codes. Milliseconds are the least of some
 * changes, missing where a format cannot be refreshed; of a free plan the median, with the share of changes after which
 * it refreshed, and of the whole call, in which also the rows are measured. The matrix is in pieces, so that no format
 * is lent. */
#include "bench/inputs.h"
#include <dcsr/spmv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES = 9, PIECES = 3, FEW = 16, A_HUNDREDTH = 100, PRODUCTS = 10000 };

typedef struct subject {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    dcsr_matrix *matrix;
    uint64_t turn; /* of changes, each with values of its own */
} subject;

/* Entries of `n` rows at equal distances have the values of entries somewhere else. */
static void change(subject *s, uint64_t n)
{
    const bench_csr *A = s->A;
    const uint64_t step = A->rows / n, turn = ++s->turn;
    uint64_t count = 0;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t row = k * step + turn % step;
        count += A->offsets[row + 1] - A->offsets[row];
    }
    uint64_t *rows = bench_alloc(count + 1, sizeof *rows), *cols = bench_alloc(count + 1, sizeof *cols),
             at = 0;
    double *values = bench_alloc(count + 1, sizeof *values);
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t row = k * step + turn % step;
        for (uint64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++, at++) {
            rows[at] = row;
            cols[at] = A->columns[e];
            values[at] = A->values[bench_below(e + turn * A->nnz, A->nnz)];
        }
    }
    BENCH_OK(dcsr_matrix_insert(s->matrix, count, rows, cols, values, NULL));
    BENCH_OK(dcsr_matrix_wait(s->matrix));
    free(rows), free(cols), free(values);
}

/* What some refreshes took in seconds: of the format, and of the whole call; the share that was no building. */
typedef struct followed {
    bench_samples format, call;
    double refreshed;
} followed;

static followed follow(subject *s, dcsr_spmv_plan *plan, uint64_t rows)
{
    followed f = {.refreshed = 0};
    for (int turn = 0; turn < CHANGES; turn++) {
        dcsr_view *view;
        dcsr_spmv_plan_info info;
        change(s, rows);
        BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, 0));
        const double start = bench_now();
        BENCH_OK(dcsr_spmv_plan_refresh(plan, view));
        bench_samples_add(&f.call, bench_now() - start);
        BENCH_OK(dcsr_spmv_plan_get_info(plan, &info));
        bench_samples_add(&f.format, info.build_seconds);
        f.refreshed += (double)info.refreshed / CHANGES;
        dcsr_view_destroy(view);
    }
    return f;
}

/* In milliseconds, the least and the median; frees them. */
typedef struct told {
    double least, format, call, refreshed;
} told;

static told tell(followed f)
{
    const told t = {1e3 * bench_percentile(&f.format, 0), 1e3 * bench_median(&f.format),
                    1e3 * bench_median(&f.call), f.refreshed};
    bench_samples_free(&f.format);
    bench_samples_free(&f.call);
    return t;
}

/* The least milliseconds of building; NULL: the kernel does not serve the matrix. */
static dcsr_spmv_plan *make_plan(subject *s, const char *kernel, dcsr_spmv_refreshing refreshing,
                                 double *build)
{
    const dcsr_spmv_options options = {.kernel = kernel, .refreshing = refreshing, .products = PRODUCTS};
    dcsr_spmv_plan *plan = NULL;
    dcsr_view *view;
    BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (int time = 0; time < CHANGES; time++) {
        dcsr_spmv_plan_info info;
        dcsr_spmv_plan_destroy(plan);
        if (dcsr_spmv_plan_create(&plan, view, &options)) break;
        BENCH_OK(dcsr_spmv_plan_get_info(plan, &info));
        *build = fmin(*build, 1e3 * info.build_seconds);
    }
    dcsr_view_destroy(view);
    return plan;
}

static void measure(subject *s, const char *kernel)
{
    const uint64_t hundredth = s->A->rows / A_HUNDREDTH;
    double build = INFINITY;
    dcsr_spmv_plan_info info;
    dcsr_spmv_plan *plan = make_plan(s, kernel, DCSR_SPMV_ALWAYS_REFRESH, &build);
    if (!plan) return;
    const told few = tell(follow(s, plan, FEW)), many = tell(follow(s, plan, hundredth));
    dcsr_spmv_plan_destroy(plan);
    plan = make_plan(s, kernel, DCSR_SPMV_REFRESH_IF_CHEAPER, &build);
    const told free_few = tell(follow(s, plan, FEW)), free_many = tell(follow(s, plan, hundredth));
    BENCH_OK(dcsr_spmv_plan_get_info(plan, &info));
    if (!strcmp(kernel, "auto")) bench_note(s->b, "auto is %s; last %s", info.kernel, info.refresh_reason);
    bench_row(s->table, BENCH_LABELS(s->name, kernel), build, few.refreshed ? few.least : NAN,
              many.refreshed ? many.least : NAN, free_few.format, free_few.refreshed, free_few.call,
              free_many.format, free_many.refreshed, free_many.call);
    dcsr_spmv_plan_destroy(plan);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"poisson2d5:200", "rmat:14,16", NULL};
    static const char *const full[] = {"poisson2d5:1000", "rmat:18,16", NULL};
    bench b;
    bench_begin(&b, argc, argv, "refresh", "What does a plan cost after changes, beside building it anew?");
    bench_table *table = bench_table_begin(
        &b, "refresh", "milliseconds, of 16 rows and of a hundredth of all that have changed",
        "matrix kernel | build_ms:%.3g few_ms:%.3g hundredth_ms:%.3g free_few_ms:%.3g free_few_share:%.2f "
        "free_few_call_ms:%.3g free_hundredth_ms:%.3g free_hundredth_share:%.2f free_hundredth_call_ms:%.3g");
    for (const char *const *name = BENCH_SIZE(&b, quick, full); *name; name++) {
        const dcsr_spmv_kernel *kernel;
        if (!bench_has_time(&b, *name)) continue;
        bench_csr A = bench_csr_make(&b, *name);
        subject s = {&b, table, *name, &A, bench_fragmented(&b, &A, PIECES, DCSR_FP64, DCSR_POLICY_LAST), 0};
        measure(&s, "auto");
        for (uint64_t k = 1; (kernel = dcsr_spmv_kernel_at(b.device, k)); k++) measure(&s, kernel->name);
        dcsr_matrix_destroy(s.matrix);
        bench_csr_free(&A);
    }
    return bench_end(&b);
}
