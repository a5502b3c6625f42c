/* graph_commands.c: the commands that run one graph algorithm each, and the table of what they compute. */
#include "cli/graph/graph_task.h"
#include <math.h>

/* ---- Options ---- */

/* The last rows of all. */
#define ANSWER_OPTIONS                                                          \
    {"out",                                                                     \
     GRAPH_KEY_OUT,                                                             \
     "FILE",                                                                    \
     0,                                                                         \
     "Write the answer for each vertex, a line a vertex, columns between tabs", \
     0},                                                                        \
        {"repeat", GRAPH_KEY_REPEAT, "R", 0, "Compute R times; seconds is the median", 0}, CLI_OP_OPTION

#define PLOT_OPTION(what)                                                         \
    {                                                                             \
        "plot", GRAPH_KEY_PLOT, "FILE.png", 0, "Draw " what " (needs gnuplot)", 0 \
    }

#define SOURCE_OPTION                                                                                     \
    {                                                                                                     \
        "source", GRAPH_KEY_SOURCE, "V", 0,                                                               \
            "The vertex to start from, counted from 0, or its name where vertices have names (needed)", 0 \
    }

#define SEED_OPTION                                                                                 \
    {                                                                                               \
        "seed", GRAPH_KEY_SEED, "N", 0, "Of what is random: the same gives the same (default 0)", 0 \
    }

#define TOP_OPTION(what)                              \
    {                                                 \
        "top", GRAPH_KEY_TOP, "N", 0, "Show " what, 0 \
    }

#define SYMMETRIC_OPTION                                                                                     \
    {                                                                                                        \
        "symmetric", GRAPH_KEY_SYMMETRIC, NULL, 0,                                                           \
            "Trust that with each edge there is the one back, which saves looking for it; if it is not so, " \
            "the answer is wrong",                                                                           \
            0                                                                                                \
    }

static const struct argp_option bfs_options[] = {
    SOURCE_OPTION,
    {"parents", GRAPH_KEY_PARENTS, NULL, 0,
     "With --out: also the parent of each vertex, by which it is reached (the least of several)", 0},
    PLOT_OPTION("how many vertices each level has"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option sssp_options[] = {
    SOURCE_OPTION,
    {"delta", GRAPH_KEY_DELTA, "D", 0, "The width of a bucket (default: chosen by the weights)", 0},
    PLOT_OPTION("how many vertices are within each distance"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option pagerank_options[] = {
    {"damping", GRAPH_KEY_DAMPING, "D", 0, "The chance to follow an edge (default 0.85)", 0},
    {"tol", GRAPH_KEY_TOLERANCE, "T", 0, "Stop when ranks change by no more, in sum (default 1e-6)", 0},
    {"max-iterations", GRAPH_KEY_ITERATIONS, "N", 0, "Stop after N iterations (default 100)", 0},
    {"personal", GRAPH_KEY_PERSONAL, "V,...", 0,
     "Start anew at these vertices alone: how near others are to them", 0},
    {"adaptive", GRAPH_KEY_ADAPTIVE, NULL, 0, "Leave out ranks that have settled, in most iterations", 0},
    TOP_OPTION("the N vertices of the highest rank (default 10)"),
    SYMMETRIC_OPTION,
    PLOT_OPTION("how ranks are distributed"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option bc_options[] = {
    {"sources", GRAPH_KEY_SOURCES, "V,...", 0, "Paths from these vertices only (default: from all)", 0},
    {"samples", GRAPH_KEY_SAMPLES, "N", 0, "An estimate by the paths from N vertices, drawn at random", 0},
    SEED_OPTION,
    TOP_OPTION("the N vertices that most paths pass (default 10)"),
    SYMMETRIC_OPTION,
    PLOT_OPTION("how betweenness is distributed"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option cc_options[] = {TOP_OPTION("the N largest components, by their least vertex"),
                                                SYMMETRIC_OPTION,
                                                PLOT_OPTION("how the sizes of components are distributed"),
                                                ANSWER_OPTIONS,
                                                {0}};

static const struct argp_option scc_options[] = {
    TOP_OPTION("the N largest components, by their least vertex"),
    PLOT_OPTION("how the sizes of components are distributed"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option triangles_options[] = {
    TOP_OPTION("the N vertices in most triangles"),
    SYMMETRIC_OPTION,
    PLOT_OPTION("how many vertices are in so many triangles"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option clustering_options[] = {
    TOP_OPTION("N vertices whose neighbours are connected most"),
    SYMMETRIC_OPTION,
    PLOT_OPTION("how coefficients are distributed"),
    ANSWER_OPTIONS,
    {0}};

static const struct argp_option kcore_options[] = {TOP_OPTION("N vertices of the innermost cores"),
                                                   SYMMETRIC_OPTION,
                                                   PLOT_OPTION("how many vertices have each core number"),
                                                   ANSWER_OPTIONS,
                                                   {0}};

static const struct argp_option mis_options[] = {SEED_OPTION, SYMMETRIC_OPTION, ANSWER_OPTIONS, {0}};

static const struct argp_option colouring_options[] = {
    SEED_OPTION, SYMMETRIC_OPTION, PLOT_OPTION("how many vertices have each colour"), ANSWER_OPTIONS, {0}};

/* ---- Algorithms ---- */

static dcsr_graph_options known(void)
{
    return (dcsr_graph_options){.symmetric = graph_given.symmetric};
}

static dcsr_status compute_bfs(graph_task *t)
{
    if (t->on_parts) return dcsr_multi_bfs(t->answer[0], &t->result.bfs, t->on_parts, t->source);
    const dcsr_status status = dcsr_bfs(t->answer[0], &t->result.bfs, t->view, t->source);
    return status || !t->answer[1] ? status : dcsr_bfs_parents(t->answer[1], t->answer[0], t->view);
}

static void put_bfs(cli_report *report, const graph_task *t)
{
    const dcsr_bfs_result *found = &t->result.bfs;
    cli_put_count(report, "reached", "reached", found->reached);
    cli_put_count(report, "max_level", "deepest level", found->max_level);
    cli_put_count(report, "level_sum", "sum of levels", found->level_sum);
    cli_put_count(report, "edges", "edges followed", found->edges);
    cli_put_real(report, "mteps", "speed", (double)found->edges / t->seconds * 1e-6, "million edges/s");
}

static dcsr_status compute_sssp(graph_task *t)
{
    const dcsr_sssp_options options = {.delta = graph_given.delta};
    if (t->on_parts) return dcsr_multi_sssp(t->answer[0], &t->result.sssp, t->on_parts, t->source, &options);
    return dcsr_sssp(t->answer[0], &t->result.sssp, t->view, t->source, &options);
}

static void put_sssp(cli_report *report, const graph_task *t)
{
    const dcsr_sssp_result *found = &t->result.sssp;
    const double *distance = t->answer[0];
    double sum = 0;
    for (uint64_t v = 0; v < t->vertices; v++) sum += distance[v] < HUGE_VAL ? distance[v] : 0;
    cli_put_count(report, "reached", "reached", found->reached);
    cli_put_real(report, "distance_sum", "sum", sum, "");
    cli_put_real(report, "distance_max", "farthest", found->farthest, "");
    if (found->negative_cycle) cli_put_count(report, "negative_cycle", "negative cycle", found->on_cycle);
}

static dcsr_status compute_pagerank(graph_task *t)
{
    const dcsr_pagerank_options options = {.symmetric = graph_given.symmetric,
                                           .damping = graph_given.damping,
                                           .tolerance = graph_given.tolerance,
                                           .max_iterations = (int)graph_given.iterations,
                                           .personal = t->personal,
                                           .adaptive = graph_given.adaptive};
    if (t->on_parts) return dcsr_multi_pagerank(t->answer[0], &t->result.pagerank, t->on_parts, &options);
    return dcsr_pagerank(t->answer[0], &t->result.pagerank, t->view, &options);
}

static void put_pagerank(cli_report *report, const graph_task *t)
{
    const dcsr_pagerank_result *found = &t->result.pagerank;
    cli_put_count(report, "iterations", "iterations", (uint64_t)found->iterations);
    cli_put_count(report, "converged", NULL, found->converged);
    cli_put_real(report, "change", found->converged ? "last change" : "not converged", found->change, "");
    cli_put_count(report, "dangling", "without edges", found->dangling);
}

static dcsr_status compute_bc(graph_task *t)
{
    cli_doing doing = {t->cli, "searching from all sources"};
    return dcsr_betweenness(t->answer[0], &t->result.betweenness, t->view,
                            &(dcsr_betweenness_options){.symmetric = graph_given.symmetric,
                                                        .sources = t->sources,
                                                        .source_count = t->source_count,
                                                        .samples = graph_given.samples,
                                                        .progress = cli_show_progress,
                                                        .user = &doing,
                                                        .seed = graph_given.seed});
}

static void put_bc(cli_report *report, const graph_task *t)
{
    cli_put_count(report, "sources", "sources", t->result.betweenness.sources);
    cli_put_count(report, "max_level", "longest path", t->result.betweenness.max_level);
}

static dcsr_status compute_cc(graph_task *t)
{
    const dcsr_graph_options options = known();
    if (t->on_parts) return dcsr_multi_components(t->answer[0], &t->result.components, t->on_parts, &options);
    return dcsr_components(t->answer[0], &t->result.components, t->view, &options);
}

static dcsr_status compute_scc(graph_task *t)
{
    return dcsr_strong_components(t->answer[0], &t->result.components, t->view);
}

static void put_components(cli_report *report, const graph_task *t)
{
    const dcsr_components_result *found = &t->result.components;
    cli_put_count(report, "components", "components", found->components);
    cli_put_count(report, "largest", "largest", found->largest);
    cli_put_count(report, "largest_name", NULL, found->largest_name);
}

/* The size of a component, at the vertex that it is named after. */
static void rank_components(double *score, const graph_task *t)
{
    const uint32_t *component = t->answer[0];
    for (uint64_t v = 0; v < t->vertices; v++) score[component[v]]++;
}

static dcsr_status compute_triangles(graph_task *t)
{
    const dcsr_graph_options options = known();
    uint64_t *of = graph_given.out || graph_given.top || graph_given.plot ? t->answer[0] : NULL;
    if (t->on_parts) return dcsr_multi_triangles(of, &t->result.triangles, t->on_parts, &options);
    return dcsr_triangles(of, &t->result.triangles, t->view, &options);
}

static void put_triangles(cli_report *report, const graph_task *t)
{
    cli_put_count(report, "triangles", "triangles", t->result.triangles.triangles);
}

static dcsr_status compute_clustering(graph_task *t)
{
    const dcsr_graph_options options = known();
    return dcsr_clustering(t->answer[0], &t->result.clustering, t->view, &options);
}

static void put_clustering(cli_report *report, const graph_task *t)
{
    const dcsr_clustering_result *found = &t->result.clustering;
    cli_put_count(report, "triangles", "triangles", found->triangles);
    cli_put_count(report, "pairs", "pairs", found->pairs);
    cli_put_real(report, "transitivity", "transitivity", found->transitivity, "");
    cli_put_real(report, "mean", "mean", found->mean, "");
}

static dcsr_status compute_kcore(graph_task *t)
{
    const dcsr_graph_options options = known();
    return dcsr_kcore(t->answer[0], &t->result.kcore, t->view, &options);
}

static void put_kcore(cli_report *report, const graph_task *t)
{
    cli_put_count(report, "largest", "largest core", t->result.kcore.largest);
    cli_put_count(report, "vertices", "vertices in it", t->result.kcore.vertices);
}

static dcsr_random_options random_order(void)
{
    return (dcsr_random_options){.symmetric = graph_given.symmetric, .seed = graph_given.seed};
}

static dcsr_status compute_mis(graph_task *t)
{
    const dcsr_random_options options = random_order();
    return dcsr_independent_set(t->answer[0], &t->result.mis, t->view, &options);
}

static void put_mis(cli_report *report, const graph_task *t)
{
    cli_put_count(report, "vertices", "vertices", t->result.mis.vertices);
}

static dcsr_status compute_colouring(graph_task *t)
{
    const dcsr_random_options options = random_order();
    return dcsr_colouring(t->answer[0], &t->result.colouring, t->view, &options);
}

static void put_colouring(cli_report *report, const graph_task *t)
{
    cli_put_count(report, "colours", "colours", t->result.colouring.colours);
}

/* ---- The table ---- */

enum { REPEAT_SEARCH = 3, TOP = 10 };

static const graph_algorithm algorithms[] = {
    {.command = &cli_bfs_command,
     .columns = {{"level", DCSR_INT32, false}, {"parent", DCSR_UINT32, true}},
     .needs_source = true,
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = REPEAT_SEARCH,
     .compute = compute_bfs,
     .put = put_bfs,
     .picture = GRAPH_BARS,
     .counted = "level"},
    {.command = &cli_sssp_command,
     .columns = {{"distance", DCSR_FP64, false}},
     .needs_source = true,
     .repeat = 1,
     .compute = compute_sssp,
     .put = put_sssp,
     .picture = GRAPH_WITHIN,
     .counted = "distance"},
    {.command = &cli_pagerank_command,
     .columns = {{"rank", DCSR_FP64, false}},
     .repeat = 1,
     .top = TOP,
     .compute = compute_pagerank,
     .put = put_pagerank,
     .picture = GRAPH_TAIL,
     .counted = "rank"},
    {.command = &cli_bc_command,
     .columns = {{"betweenness", DCSR_FP64, false}},
     .repeat = 1,
     .top = TOP,
     .compute = compute_bc,
     .put = put_bc,
     .picture = GRAPH_TAIL,
     .counted = "betweenness"},
    {.command = &cli_cc_command,
     .columns = {{"component", DCSR_UINT32, true}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_cc,
     .put = put_components,
     .picture = GRAPH_TAIL,
     .counted = "vertices of a component",
     .rank = rank_components},
    {.command = &cli_scc_command,
     .columns = {{"component", DCSR_UINT32, true}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_scc,
     .put = put_components,
     .picture = GRAPH_TAIL,
     .counted = "vertices of a component",
     .rank = rank_components},
    {.command = &cli_triangles_command,
     .columns = {{"triangles", DCSR_UINT64, false}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_triangles,
     .put = put_triangles,
     .picture = GRAPH_TAIL,
     .counted = "triangles"},
    {.command = &cli_clustering_command,
     .columns = {{"coefficient", DCSR_FP64, false}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_clustering,
     .put = put_clustering,
     .picture = GRAPH_WITHIN,
     .counted = "coefficient"},
    {.command = &cli_kcore_command,
     .columns = {{"core", DCSR_UINT32, false}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_kcore,
     .put = put_kcore,
     .picture = GRAPH_BARS,
     .counted = "core number"},
    {.command = &cli_mis_command,
     .columns = {{"member", DCSR_BOOL, false}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_mis,
     .put = put_mis},
    {.command = &cli_colouring_command,
     .columns = {{"colour", DCSR_UINT32, false}},
     .flags = DCSR_VIEW_DUPLICATES,
     .repeat = 1,
     .compute = compute_colouring,
     .put = put_colouring,
     .picture = GRAPH_BARS,
     .counted = "colour"}};

const graph_algorithm *graph_find(const cli_command *command)
{
    const graph_algorithm *a = algorithms;
    while (a->command != command) a++;
    return a;
}

/* ---- Commands ---- */

#define COMMAND_OF(called, does, example, on_several)                                                        \
    {                                                                                                        \
        .name = #called, .arguments = "MATRIX", .summary = (does), .help = (example), .least = 1, .most = 1, \
        .several = (on_several), .options = called##_options, .take = graph_take, .run = graph_run           \
    }
#define COMMAND(called, does, example)                 COMMAND_OF(called, does, example, false)
#define COMMAND_ALSO_ON_SEVERAL(called, does, example) COMMAND_OF(called, does, example, true)

const cli_command cli_bfs_command = COMMAND_ALSO_ON_SEVERAL(
    bfs, "Breadth-first search from a vertex",
    "Follows entries from row to column; the matrix must be square. Reports how many vertices are "
    "reached (the source among them), the deepest level, the sum of all levels, and the edges "
    "followed a second.\n\n"
    "Examples:\n  dcsr bfs rmat:16,16 --source 7\n"
    "  dcsr bfs graphs#web --source example.org --out levels.tsv\n");

const cli_command cli_sssp_command = COMMAND_ALSO_ON_SEVERAL(
    sssp, "Shortest paths from a vertex",
    "The least sum of values along entries from row to column, from the source to each vertex; an "
    "entry of a pattern counts 1. Values may be negative: if they add up to less than 0 along a "
    "cycle, a vertex on it is reported, and what it leads to is at -inf.\n\n"
    "Example:\n  dcsr sssp roads.mtx --source 7 --out distances.tsv\n");

const cli_command cli_pagerank_command = COMMAND_ALSO_ON_SEVERAL(
    pagerank, "PageRank: where a random walk along edges is",
    "The chance that a walk which follows an edge at random, and starts anew with chance 1 - D at "
    "each step, is at a vertex.\n\n"
    "Examples:\n  dcsr pagerank rmat:16,16 --top 20\n"
    "  dcsr pagerank graphs#web --personal example.org --out near.tsv\n");

const cli_command cli_bc_command = COMMAND(
    bc, "Betweenness centrality: what shortest paths pass",
    "The sum over all pairs of other vertices of the part of the shortest paths between them that pass "
    "a vertex; a path is as long as it has edges. In an undirected graph each pair counts in both "
    "directions.\n\n"
    "Examples:\n  dcsr bc graph.mtx --top 20\n  dcsr bc rmat:16,16 --samples 64 --seed 1\n");

const cli_command cli_cc_command = COMMAND_ALSO_ON_SEVERAL(
    cc, "Weakly connected components",
    "Vertices that are connected if each edge may be walked both ways. A component is named after "
    "its least vertex.\n\n"
    "Example:\n  dcsr cc rmat:16,2 --top 5 --out components.tsv\n");

const cli_command cli_scc_command =
    COMMAND(scc, "Strongly connected components",
            "Vertices that lead to each other. A component is named after its least vertex.\n\n"
            "Example:\n  dcsr scc rmat:16,4 --top 5\n");

const cli_command cli_triangles_command = COMMAND_ALSO_ON_SEVERAL(
    triangles, "Count triangles",
    "Three vertices with an edge, of any direction, between each two. With --out or --top, also in "
    "how many each vertex is.\n\n"
    "Example:\n  dcsr triangles rmat:14,8 --top 5\n");

const cli_command cli_clustering_command =
    COMMAND(clustering, "Local clustering coefficients",
            "Which part of the pairs of a vertex's neighbours have an edge themselves; their mean over all "
            "vertices, and over all pairs (transitivity).\n\n"
            "Example:\n  dcsr clustering rmat:14,8 --out coefficients.tsv\n");

const cli_command cli_kcore_command =
    COMMAND(kcore, "Core numbers",
            "The core number of a vertex is the largest k such that it belongs to a part of the graph in "
            "which each vertex has edges, of any direction, to at least k others.\n\n"
            "Example:\n  dcsr kcore rmat:14,8 --out cores.tsv\n");

const cli_command cli_mis_command =
    COMMAND(mis, "A maximal independent set",
            "Vertices of which no two have an edge, of any direction, between them, and to which none can be "
            "added; they are taken in an order at random. --out lists them, with 1 for each.\n\n"
            "Example:\n  dcsr mis rmat:14,8 --seed 7 --out set.tsv\n");

const cli_command cli_colouring_command = COMMAND(
    colouring, "A greedy colouring",
    "Different colours, 0 and up, for vertices with an edge, of any direction, between them: each gets "
    "the least that no neighbour has yet, those of many edges first.\n\n"
    "Example:\n  dcsr colouring rmat:14,8 --out colours.tsv\n");
