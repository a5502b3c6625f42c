/* bench_choice.c: what choosing a kernel costs: the features of a matrix, in products with it, and a choice by them.
 *
 * Features are computed anew each time, for a version of their own; a choice is made by the model in use among the
 * kernels that are there. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include "ops/choice/choice.h"
#include <dcsr/generate.h>
#include <dcsr/spmv.h>
#include <stdlib.h>

enum { MOST_KERNELS = 64, CHOICES = 1000, ROUNDS = 7 };

typedef struct subject {
    dcsr_type type;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_features features;
    dcsr_i_candidate candidates[MOST_KERNELS];
    uint32_t kernels;
    void *x, *y;
} subject;

/* Of a version of its own, as views of one version share them. */
static void make_features(subject *s)
{
    dcsr_view *view;
    const union {
        double fp64;
        float fp32;
    } zero = {0};
    BENCH_OK(dcsr_matrix_set(s->matrix, 0, 0, s->type == DCSR_PATTERN ? NULL : &zero));
    BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_view_get_features(&s->features, view, NULL));
    dcsr_view_destroy(view);
}

static void choose(const bench *b, subject *s)
{
    dcsr_i_choice choice;
    for (int i = 0; i < CHOICES; i++) {
        s->features.nnz ^= 1; /* so that nothing is known from before */
        BENCH_OK(dcsr_i_choose(&choice, b->context, &s->features, s->candidates, s->kernels, 1000,
                               DCSR_I_BY_TIME));
    }
}

static void measure(bench *b, bench_table *table, const char *text)
{
    dcsr_coo coo;
    subject s = {0};
    const dcsr_spmv_kernel *kernel;
    BENCH_OK(dcsr_coo_generate(&coo, b->host, text));
    s.type = coo.type;
    BENCH_OK(dcsr_matrix_from_coo(&s.matrix, b->context, &coo, NULL));
    BENCH_OK(dcsr_view_create(&s.view, s.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (; s.kernels < MOST_KERNELS &&
           (kernel = dcsr_spmv_kernel_at(b->gpu ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, s.kernels));
         s.kernels++)
        s.candidates[s.kernels] = (dcsr_i_candidate){kernel->name, true, !s.kernels};
    s.x = bench_alloc(coo.cols + 1, sizeof(double));
    s.y = bench_alloc(coo.rows + 1, sizeof(double));
    for (uint64_t j = 0; j < coo.cols; j++) ((double *)s.x)[j] = 1;
    double best[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < ROUNDS; round++) {
        const double start = bench_now();
        make_features(&s);
        const double features = bench_now();
        choose(b, &s);
        const double chosen = bench_now();
        BENCH_OK(dcsr_spmv(s.y, s.view, s.x));
        const double seconds[] = {features - start, (chosen - features) / CHOICES, bench_now() - chosen};
        for (int k = 0; k < 3; k++)
            if (seconds[k] < best[k]) best[k] = seconds[k];
    }
    bench_row(table, BENCH_LABELS(text), (double)coo.nnz, best[0] * 1e6, best[0] / best[2], best[1] * 1e6);
    free(s.x);
    free(s.y);
    dcsr_view_destroy(s.view);
    dcsr_matrix_destroy(s.matrix);
    dcsr_coo_free(&coo);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "choice", "What does choosing a kernel cost?");
    bench_table *table =
        bench_table_begin(&b, "choice", "Features and choices, microseconds",
                          "matrix | entries:%.0f features_us:%.1f in_products:%.2f choice_us:%.2f");
    static const char *const small[] = {"poisson2d5:100", "rmat:12,8"};
    static const char *const large[] = {"poisson2d5:1024", "poisson3d27:100", "rmat:20,16",
                                        "er:1000000,5000000"};
    for (int k = 0; k < 2; k++) measure(&b, table, small[k]);
    for (int k = 0; !b.quick && k < 4; k++) measure(&b, table, large[k]);
    return bench_end(&b);
}
