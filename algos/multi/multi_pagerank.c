/* multi_pagerank.c: PageRank on several devices. On the cpu all of their threads go over the rows of all, as on one;
 * GPUs do, as dcsr_pagerank() defines it:
 *
 *      handed = rank / out-degree                              none of a vertex without edges
 *      sum = handed A
 *      rank' = (1 - d + d lost) portion + d sum
 *
 * where lost is the rank of vertices without edges. If A is symmetric its rows lead to a vertex as well as from it, and
 * the sum is A handed, for which no terms have to be merged. All is fp64. */
#include "algos/graph/edges.h"
#include "algos/graph/pagerank.h"
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/vector_ops.h>
#include <math.h>

typedef struct walk {
    dcsr_i_multi_work w;
    dcsr_pagerank_options o;
    dcsr_multi_vector *rank, *next, *sum, *handed, *degree, *portion, *scratch;
    double chance; /* to go on elsewhere than along an edge */
} walk;

static const char call[] = "dcsr_multi_pagerank";

static const dcsr_binary_op *binary(dcsr_binary_name name)
{
    return dcsr_binary_op_of(name, DCSR_FP64);
}

/* How chance is shared out: evenly, or by weights. */
static void make_portions(walk *p)
{
    dcsr_i_multi_work *w = &p->w;
    const double even = 1 / (double)w->n;
    if (w->status) return;
    if (!p->o.personal) {
        w->status = dcsr_multi_vector_fill(p->portion, &even);
        return;
    }
    double *portions = dcsr_context_allocate(w->context, w->n, sizeof *portions);
    w->status =
        portions ? dcsr_i_pagerank_portions(portions, p->o.personal, w->n, call) : dcsr_thread_status();
    if (!w->status) w->status = dcsr_multi_vector_from_array(p->portion, portions);
    dcsr_context_free(w->context, portions, w->n, sizeof *portions);
}

/* Out-degrees, where there are edges: the rows' sums over plus-pair. */
static void count_out(walk *p)
{
    dcsr_i_multi_work *w = &p->w;
    const double one = 1;
    if (!w->status) w->status = dcsr_multi_vector_fill(p->scratch, &one);
    if (!w->status)
        w->status = dcsr_multi_mxv(p->degree, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_PAIR, DCSR_FP64), w->A,
                                   p->scratch, NULL, NULL);
}

static dcsr_status hand_on_part(void *user, uint64_t k)
{
    const walk *p = user;
    const dcsr_desc elsewhere = {.mask_complement = true, .mask_structure = true, .replace = true};
    dcsr_vector *rank = dcsr_i_multi_part_of(p->rank, k), *degree = dcsr_i_multi_part_of(p->degree, k),
                *handed = dcsr_i_multi_part_of(p->handed, k), *lost = dcsr_i_multi_part_of(p->scratch, k);
    dcsr_status status =
        dcsr_vector_ewise_mult(handed, NULL, NULL, binary(DCSR_BINARY_DIV), rank, degree, NULL);
    if (status) return status;
    return dcsr_vector_apply(lost, degree, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), rank,
                             &elsewhere);
}

/* What vertices hand on with their rank; returns the rank of those without edges. */
static double hand_on(walk *p)
{
    dcsr_i_multi_each(&p->w, hand_on_part, p);
    return dcsr_i_multi_sum(&p->w, p->scratch);
}

static dcsr_status make_ranks_of_part(void *user, uint64_t k)
{
    const walk *p = user;
    dcsr_vector *rank = dcsr_i_multi_part_of(p->rank, k), *next = dcsr_i_multi_part_of(p->next, k),
                *sum = dcsr_i_multi_part_of(p->sum, k), *portion = dcsr_i_multi_part_of(p->portion, k),
                *change = dcsr_i_multi_part_of(p->scratch, k);
    const dcsr_binary_op *times = binary(DCSR_BINARY_TIMES), *plus = binary(DCSR_BINARY_PLUS);
    dcsr_status status = dcsr_vector_apply_first(next, NULL, NULL, times, &p->chance, portion, NULL);
    if (!status) status = dcsr_vector_apply_first(next, NULL, plus, times, &p->o.damping, sum, NULL);
    if (!status)
        status = dcsr_vector_ewise_mult(change, NULL, NULL, binary(DCSR_BINARY_MINUS), next, rank, NULL);
    if (status) return status;
    return dcsr_vector_apply(change, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_FP64), change, NULL);
}

/* New ranks from what was handed on; returns by how much they differ from the old. */
static double make_ranks(walk *p, double lost)
{
    p->chance = 1 - p->o.damping + p->o.damping * lost;
    dcsr_i_multi_each(&p->w, make_ranks_of_part, p);
    dcsr_multi_vector *before = p->rank;
    p->rank = p->next;
    p->next = before;
    return dcsr_i_multi_sum(&p->w, p->scratch);
}

static void iterate(walk *p, dcsr_pagerank_result *found)
{
    dcsr_i_multi_work *w = &p->w;
    *found =
        (dcsr_pagerank_result){.converged = !w->n, .dangling = w->n - dcsr_i_multi_count_of(w, p->degree)};
    while (!w->status && !found->converged && found->iterations < p->o.max_iterations) {
        const double lost = hand_on(p);
        if (!w->status)
            w->status =
                p->o.symmetric
                    ? dcsr_multi_mxv(p->sum, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_SECOND, DCSR_FP64), w->A,
                                     p->handed, NULL, NULL)
                    : dcsr_multi_vxm(p->sum, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_FIRST, DCSR_FP64),
                                     p->handed, w->A, NULL, NULL);
        found->change = make_ranks(p, lost);
        found->iterations++;
        found->converged = found->change <= p->o.tolerance;
    }
}

static dcsr_status begin_part(void *user, uint64_t k)
{
    const walk *p = user;
    return dcsr_vector_assign(dcsr_i_multi_part_of(p->rank, k), NULL, NULL,
                              dcsr_i_multi_part_of(p->portion, k), NULL, NULL);
}

/* ---- Either ---- */

static dcsr_status walk_on_gpus(double *rank, dcsr_pagerank_result *result, walk *p)
{
    dcsr_multi_vector **const each[] = {&p->rank,   &p->next,    &p->sum,    &p->handed,
                                        &p->degree, &p->portion, &p->scratch};
    dcsr_pagerank_result found;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) *each[i] = dcsr_i_multi_take(&p->w, DCSR_FP64);
    make_portions(p);
    count_out(p);
    dcsr_i_multi_each(&p->w, begin_part, p);
    iterate(p, &found);
    if (!p->w.status) p->w.status = dcsr_multi_vector_to_array(p->rank, &(double){0}, rank);
    if (!p->w.status && result) *result = found;
    return p->w.status;
}

static dcsr_status walk_on_host(double *rank, dcsr_pagerank_result *result, const walk *p)
{
    dcsr_i_edges out, turned = {0}, *in = &out;
    dcsr_i_edges_of_parts(&out, p->w.A, DCSR_I_EDGES_OUT, call);
    double *degree = dcsr_i_edges_take(&out, out.vertices, sizeof *degree);
    for (uint64_t v = 0; v < out.vertices && !out.status; v++) degree[v] = (double)out.rows[v].count;
    if (!out.status && !p->o.symmetric) {
        in = &turned;
        out.status = dcsr_i_edges_of_parts(in, p->w.A, DCSR_I_EDGES_IN, call);
    }
    dcsr_i_pagerank(in, degree, rank, result, &p->o);
    if (in == &turned) out.status = dcsr_i_edges_close(in);
    return dcsr_i_edges_close(&out);
}

dcsr_status dcsr_multi_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_multi_view *A,
                                const dcsr_pagerank_options *options)
{
    walk p = {0};
    if (!rank) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: rank is NULL; give an array", call);
    dcsr_status status = dcsr_i_pagerank_options(&p.o, options, call);
    if (status) return status;
    dcsr_i_multi_work_open(&p.w, A, call);
    if (!p.w.status)
        p.w.status = p.w.on_gpus ? walk_on_gpus(rank, result, &p) : walk_on_host(rank, result, &p);
    return dcsr_i_multi_work_close(&p.w);
}
