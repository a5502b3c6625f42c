/* bench_closure.c: the transitive closure, counted and as a matrix, beside GraphBLAS; a closure that is kept up; and
 * the same generation; and control-flow analysis of programs of growing size.
 *
 * The peer joins what is new with the edges until nothing is (dcsr_closure() condenses and sweeps instead); it gives
 * up after 20 seconds. Seconds are the best of three, the peer's of one run. `update`: a thousandth of the edges is
 * left out of the closure and then added by dcsr_closure_update(). Real graphs are taken from ../shared/data where
 * that is there. */
#include <dcsr/cfa.h>
#include <dcsr/closure.h>
#include <dcsr/reader.h>
#include "bench/peers/peer_closure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 3, PEER_SECONDS = 20, ONE_IN = 1000 };

/* A generator, or a file; no rows where the file is not there. */
static bench_csr make_graph(bench *b, const char *name)
{
    char path[300];
    dcsr_coo coo;
    if (strchr(name, ':')) return bench_csr_make(b, name);
    snprintf(path, sizeof path, "../shared/data/%s.el.gz", name);
    if (access(path, R_OK)) return (bench_csr){0};
    BENCH_OK(dcsr_coo_read(&coo, b->host, path, NULL));
    bench_entries entries = bench_entries_allocate(coo.nnz);
    for (uint64_t k = 0; k < coo.nnz; k++) {
        entries.row[k] = coo.row_indices[k];
        entries.col[k] = coo.col_indices[k];
        entries.value[k] = 1;
    }
    bench_csr csr = bench_csr_from_entries(&entries, coo.rows, coo.rows);
    bench_entries_free(&entries);
    dcsr_coo_free(&coo);
    return csr;
}

typedef dcsr_status computation(dcsr_matrix **pairs, dcsr_closure_result *result, dcsr_view *A,
                                const dcsr_closure_options *options);

static double best_of(computation *compute, bool made, dcsr_view *view, dcsr_closure_result *result)
{
    double best = INFINITY;
    for (int run = 0; run < RUNS; run++) {
        dcsr_matrix *matrix = NULL;
        const double start = bench_now();
        BENCH_OK(compute(made ? &matrix : NULL, result, view, NULL));
        const double taken = bench_now() - start;
        if (taken < best) best = taken;
        dcsr_matrix_destroy(matrix);
    }
    return best;
}

/* Seconds a call, for the last few of the edges, after a closure of the others; checks that nothing is missing. */
static double update(bench *b, const bench_csr *A, uint64_t pairs)
{
    bench_entries all = bench_entries_from_csr(A);
    bench_entries_shuffle(&all, 1);
    const uint64_t late = A->nnz / ONE_IN + 1, early = A->nnz - late;
    bench_entries first = bench_entries_slice(&all, 0, early);
    dcsr_matrix *matrix = bench_matrix(b, b->context, &first, A->rows, A->cols, DCSR_PATTERN, NULL), *closure;
    dcsr_view *view;
    uint64_t nnz;
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_closure(&closure, NULL, view, NULL));
    const double start = bench_now();
    BENCH_OK(dcsr_closure_update(closure, NULL, late, all.row + early, all.col + early, NULL));
    const double taken = bench_now() - start;
    BENCH_OK(dcsr_matrix_get_nnz(closure, &nnz));
    if (nnz != pairs) bench_die("a closure that was kept up has %llu pairs", (unsigned long long)nnz);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(closure);
    dcsr_matrix_destroy(matrix);
    bench_entries_free(&all);
    return taken;
}

static dcsr_view *view_of(bench *b, const bench_csr *A, dcsr_matrix **matrix)
{
    bench_entries entries = bench_entries_from_csr(A);
    dcsr_view *view;
    *matrix = bench_matrix(b, b->context, &entries, A->rows, A->cols, DCSR_PATTERN, NULL);
    bench_entries_free(&entries);
    BENCH_OK(dcsr_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, 0));
    return view;
}

static void closure_of(bench *b, bench_table *table, const char *name)
{
    bench_csr A = make_graph(b, name);
    if (!A.rows) {
        bench_note(b, "%s is not there", name);
        return;
    }
    dcsr_matrix *matrix;
    dcsr_view *view = view_of(b, &A, &matrix);
    dcsr_closure_result counted, made;
    const double count = best_of(dcsr_closure, false, view, &counted);
    const double make = best_of(dcsr_closure, true, view, &made);
    const double kept_up = update(b, &A, counted.pairs);
    double peer = NAN;
    uint64_t pairs;
    if (!peer_closure_graphblas(&A, b->threads, PEER_SECONDS, &pairs, &peer))
        peer = NAN;
    else if (pairs != counted.pairs)
        bench_die("GraphBLAS found %llu pairs in %s", (unsigned long long)pairs, name);
    if (made.pairs != counted.pairs) bench_die("other pairs in %s as a matrix", name);
    bench_row(table, BENCH_LABELS(name), (double)A.rows, 1e-3 * (double)A.nnz, 1e-6 * (double)counted.pairs,
              count, make, peer, peer / make, kept_up, 1e-6 * (double)counted.bytes);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
}

static void generations_of(bench *b, bench_table *table, const char *name)
{
    bench_csr A = make_graph(b, name);
    if (!A.rows) return;
    dcsr_matrix *matrix;
    dcsr_view *view = view_of(b, &A, &matrix);
    dcsr_closure_result counted;
    const double count = best_of(dcsr_same_generation, false, view, &counted);
    bench_row(table, BENCH_LABELS(name), (double)A.rows, 1e-6 * (double)counted.pairs, count,
              (double)counted.iterations, 1e-6 * (double)counted.bytes);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
}

static const char group[] =
    "(define (twice-@ f x) (f (f x)))\n"
    "(define (count-@ n k) (if (= n 0) (k n) (count-@ (- n 1) (lambda (m) (k (+ m 1))))))\n"
    "(define (run-@ x) (let ((y (twice-@ (lambda (z) (* z 2)) x)))\n"
    "  (count-@ y (lambda (r) (cons r (quote (a b)))))))\n"
    "(run-@ @)\n";

/* A program of so many such groups of functions, @ being their number; the caller frees it. */
static char *make_program(uint64_t groups, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out) bench_die("out of memory for a program");
    for (uint64_t g = 0; g < groups; g++)
        for (const char *c = group; *c; c++)
            if (*c == '@')
                fprintf(out, "%llu", (unsigned long long)g);
            else
                fputc(*c, out);
    if (fclose(out)) bench_die("out of memory for a program");
    return text;
}

static void analysis_of(bench *b, bench_table *table, uint64_t groups)
{
    size_t length;
    char *text = make_program(groups, &length), name[32];
    double best = INFINITY;
    dcsr_cfa_result result = {0};
    for (int run = 0; run < RUNS; run++) {
        dcsr_cfa *cfa;
        const double start = bench_now();
        BENCH_OK(dcsr_cfa_create(&cfa, b->host));
        BENCH_OK(dcsr_cfa_add_text(cfa, "program", text, length));
        BENCH_OK(dcsr_cfa_solve(cfa, &result));
        best = fmin(best, bench_now() - start);
        dcsr_cfa_destroy(cfa);
    }
    snprintf(name, sizeof name, "%llu", (unsigned long long)groups);
    bench_row(table, BENCH_LABELS(name), 1e-3 * (double)length, (double)result.states,
              (double)result.store_nnz, (double)result.inserted, (double)result.iterations, 1e3 * best,
              1e9 * best / (double)result.inserted);
    free(text);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"er:1000,3000", "wiki-Vote", NULL};
    static const char *const full[] = {"er:10000,100000", "rmat:14,2", "wiki-Vote", "OL.cedge",
                                       "cal.cedge",       "CA-HepTh",  "SF.cedge",  NULL};
    static const char *const quick_families[] = {"er:500,1000", NULL};
    static const char *const families[] = {"OL.cedge", "cal.cedge", "er:3000,30000", "er:10000,100000", NULL};
    bench b;
    bench_begin(&b, argc, argv, "closure", "How fast is a transitive closure, beside GraphBLAS?");
    bench_table *table = bench_table_begin(
        &b, "closure", "seconds, and million bytes while pairs are counted",
        "graph | vertices:%.0f thousand_edges:%.1f million_pairs:%.2f counted:%.3g made:%.3g "
        "graphblas:%.3g graphblas/made:%.1f update:%.3g megabytes:%.1f");
    for (const char *const *name = BENCH_SIZE(&b, quick, full); *name; name++)
        if (bench_has_time(&b, *name)) closure_of(&b, table, *name);
    table =
        bench_table_begin(&b, "same_generation", "seconds, and million bytes",
                          "graph | vertices:%.0f million_pairs:%.2f counted:%.3g rounds:%.0f megabytes:%.1f");
    for (const char *const *name = BENCH_SIZE(&b, quick_families, families); *name; name++)
        if (bench_has_time(&b, *name)) generations_of(&b, table, *name);
    static const uint64_t quick_groups[] = {10, 100, 0}, groups[] = {40, 160, 640, 2560, 4000, 0};
    table = bench_table_begin(&b, "cfa", "control-flow analysis of a program, text to solution",
                              "groups | kilobytes:%.0f states:%.0f store_nnz:%.0f inserted:%.0f rounds:%.0f "
                              "milliseconds:%.3g nanoseconds/insertion:%.0f");
    for (const uint64_t *n = BENCH_SIZE(&b, quick_groups, groups); *n; n++)
        if (bench_has_time(&b, "cfa")) analysis_of(&b, table, *n);
    return bench_end(&b);
}
