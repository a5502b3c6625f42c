/* peer_ops_measure.c: one operation by both competitors in turns: compared, timed, gathered. */
#include "bench/peers/peer_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 24, GROUP_NAME = 24, MOST_CALLS = 1000 };

/* Rows that are about one question. */
struct ops_group {
    char name[GROUP_NAME];
    double logs, least;
    int rows;
};

void ops_contest_begin(ops_contest *c, bench *b, const char *name, const char *title)
{
    *c = (ops_contest){.b = b, .groups = bench_alloc(MOST_GROUPS, sizeof *c->groups)};
    if (peer_ops_get()) peer_ops_get()->start(b->threads);
    c->table = bench_table_begin(b, name, title,
                                 "matrix group op direction peer_way | "
                                 "share:%.0e out:%.3g seconds:%.3g peer_s:%.3g "
                                 "spread%:%.0f ratio:%.2f");
}

static void gather(ops_contest *c, const char *name, double ratio)
{
    int g = 0;
    while (g < c->group_count && strcmp(c->groups[g].name, name)) g++;
    if (g == MOST_GROUPS) bench_die("more than %d groups of rows", MOST_GROUPS);
    struct ops_group *group = &c->groups[g];
    if (g == c->group_count) {
        *group = (struct ops_group){.least = INFINITY};
        snprintf(group->name, GROUP_NAME, "%s", name);
        c->group_count++;
    }
    group->logs += log(ratio);
    group->least = fmin(group->least, ratio);
    group->rows++;
}

void ops_contest_end(ops_contest *c)
{
    double logs = 0, least = INFINITY, rows = 0;
    if (c->group_count) {
        bench_table *table = bench_table_begin(c->b, "summary", "ratios: the peer's time over ours",
                                               "matrix group | rows:%.0f geometric_mean:%.2f least:%.2f");
        for (int g = 0; g < c->group_count; g++) {
            const struct ops_group *group = &c->groups[g];
            bench_row(table, BENCH_LABELS("all", group->name), group->rows, exp(group->logs / group->rows),
                      group->least);
            logs += group->logs;
            rows += group->rows;
            least = fmin(least, group->least);
        }
        bench_row(table, BENCH_LABELS("all", "everything"), rows, exp(logs / rows), least);
    }
    free(c->groups);
}

/* Comparing results */

static void differ(const ops_call *call, const char *group, const char *what)
{
    bench_die("%s (%s): %s is not that of the peer", group, call->op ? call->op : "-", what);
}

static bool close_to(double x, double y)
{
    return x == y || fabs(x - y) <= 1e-9 * (1 + fabs(x) + fabs(y));
}

/* What the peer lacks in a dense result is 0. */
static void compare_dense(const ops_call *call, const char *group, uint64_t n, const uint64_t *rows,
                          const uint64_t *cols, const double *values)
{
    const uint64_t cells = call->out->rows * call->out->cols;
    uint64_t k = 0;
    for (uint64_t c = 0; c < cells; c++) {
        const bool there = k < n && rows[k] * call->out->cols + cols[k] == c;
        if (!close_to(call->out->dense[c], there ? values[k] : 0)) differ(call, group, "an element");
        if (there) k++;
    }
}

/* Where the peer worked in place, it has a 0 where we have no element. */
static void compare_vector(const ops_call *call, const char *group, uint64_t n, const uint64_t *rows,
                           const double *values, bool in_place)
{
    uint64_t m = 0, at = 0, *indices = bench_alloc(n, sizeof *indices);
    double *mine = bench_alloc(n, sizeof *mine);
    BENCH_OK(dcsr_vector_get_entries(call->out->vector, n, indices, mine, &m));
    for (uint64_t k = 0; k < n; k++) {
        const bool there = at < m && indices[at] == rows[k];
        if (there ? !close_to(mine[at], values[k]) : !in_place || values[k] != 0)
            differ(call, group, "an element");
        at += there;
    }
    if (at != m) differ(call, group, "the number of elements");
    free(indices);
    free(mine);
}

static void compare_matrix(const ops_call *call, const char *group, uint64_t n, const uint64_t *rows,
                           const uint64_t *cols, const double *values)
{
    dcsr_view *view;
    dcsr_csr csr;
    BENCH_OK(dcsr_view_create(&view, call->out->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    BENCH_OK(dcsr_view_get_csr_on_host(view, &csr));
    if (csr.nnz != n) differ(call, group, "the number of entries");
    for (uint64_t i = 0; i < csr.rows; i++)
        for (uint64_t k = csr.offsets[i]; k < csr.offsets[i + 1]; k++)
            if (rows[k] != i || cols[k] != csr.col_indices[k] ||
                !close_to(((const double *)csr.values)[k], values[k]))
                differ(call, group, "an entry");
    dcsr_view_destroy(view);
}

/* Returns how many entries the peer's result has. */
static double compare(const ops_call *call, const char *group, peer_ops_way way)
{
    if (call->kind == OPS_REDUCE) {
        if (!close_to(call->total, call->peer_total)) differ(call, group, "the total");
        return 1;
    }
    uint64_t *rows, *cols;
    double *values;
    const uint64_t n = peer_ops_get()->entries(call, &rows, &cols, &values);
    if (call->kind == OPS_SPMM)
        compare_dense(call, group, n, rows, cols, values);
    else if (call->out->vector)
        compare_vector(call, group, n, rows, values, way == PEER_IN_PLACE);
    else
        compare_matrix(call, group, n, rows, cols, values);
    free(rows), free(cols), free(values);
    return (double)n;
}

/* Timing */

/* A defragmentation makes a new version with the same entries. */
static void refresh(ops_object *object)
{
    dcsr_view_destroy(object->view);
    bench_defragment_now(object->matrix, DCSR_DEFRAGMENT_WHOLE);
    BENCH_OK(dcsr_view_create(&object->view, object->matrix, DCSR_LAYOUT_SEGMENTS, 0));
}

/* The mean seconds of some calls; way PEER_OPS_WAYS is the library. */
static double sample(ops_call *call, peer_ops_way way, int calls)
{
    if (way == PEER_OPS_WAYS && call->fresh) refresh(call->a);
    const double start = bench_now();
    for (int k = 0; k < calls; k++) {
        if (way == PEER_OPS_WAYS)
            ops_run(call);
        else
            peer_ops_get()->run(call, way);
    }
    return (bench_now() - start) / calls;
}

/* As many calls as take 20 microseconds, so that the clock does not matter. */
static int calls_for(ops_call *call, peer_ops_way way)
{
    if (call->fresh) return 1;
    const double once = fmin(sample(call, way, 1), sample(call, way, 1));
    return (int)fmax(1, fmin(MOST_CALLS, 20e-6 / once));
}

/* Tries all ways, and holds what they compute against what the library did; *out is how much that was. */
static peer_ops_way fastest_way(ops_call *call, const char *group, double *out)
{
    peer_ops_way best = PEER_BY_ROW;
    double least = INFINITY;
    for (int w = 0; w < PEER_OPS_WAYS; w++) {
        const peer_ops_way way = (peer_ops_way)w;
        if (!peer_ops_get()->can(call, way)) continue;
        peer_ops_get()->run(call, way);
        const double entries = compare(call, group, way);
        if (way == PEER_BY_ROW) *out = entries;
        const int calls = calls_for(call, way);
        double seconds = INFINITY;
        for (int k = 0; k < 3; k++) seconds = fmin(seconds, sample(call, way, calls));
        if (seconds < least) least = seconds, best = way;
    }
    return best;
}

static const char *direction_name(const ops_call *call, const dcsr_report *report)
{
    static const char *const names[] = {"-", "push", "pull"};
    return call->kind <= OPS_VXM ? names[report->direction] : "-";
}

void ops_measure(ops_contest *c, const char *group, const char *input, double share, ops_call call)
{
    static const char *const ways[] = {"row", "column", "in_place", "unsorted"};
    bench *b = c->b;
    const peer_ops *peer = peer_ops_get();
    if (!bench_has_time(b, group)) return;
    dcsr_report report = {0};
    call.desc.report = &report;
    sample(&call, PEER_OPS_WAYS, 1);
    double out = NAN;
    const peer_ops_way way = peer ? fastest_way(&call, group, &out) : PEER_BY_ROW;
    const int mine = calls_for(&call, PEER_OPS_WAYS), peers = peer ? calls_for(&call, way) : 0;
    bench_samples ours = {0}, theirs = {0};
    for (double start = bench_now(); ours.count < 5 || bench_now() - start < BENCH_SIZE(b, 0.02, 0.4);) {
        bench_samples_add(&ours, sample(&call, PEER_OPS_WAYS, mine));
        if (peer) bench_samples_add(&theirs, sample(&call, way, peers));
    }
    const bench_stat time = bench_samples_stat(&ours), other = bench_samples_stat(&theirs);
    const double ratio = other.median / time.median;
    bench_row(c->table,
              BENCH_LABELS(input, group, call.op ? call.op : "-", direction_name(&call, &report),
                           peer ? ways[way] : "-"),
              share, out, time.median, other.median, time.spread, ratio);
    if (peer) gather(c, group, ratio);
}
