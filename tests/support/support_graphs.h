/* support_graphs.h: graphs for the tests of algorithms, as plain arrays and as matrices in several states. */
#ifndef DCSR_TESTS_SUPPORT_GRAPHS_H
#define DCSR_TESTS_SUPPORT_GRAPHS_H

#include "tests/support/support.h"

/* Each edge once, by ascending vertices; what the textbook's algorithm is given. */
typedef struct test_graph {
    char name[80];
    bool symmetric;
    uint64_t vertices;
    uint64_t *offsets, edges;
    uint32_t *ends;
    double *weights; /* whole numbers from 1 to 100, the same both ways */
    void *kept;      /* for the test's use: what was expected, to be freed with the graph */
} test_graph;

/* The graph of a list of edges, also the other way round if it is to be symmetric. */
test_graph test_graph_from(const char *name, bool symmetric, uint64_t vertices, size_t n,
                           const uint64_t *from, const uint64_t *to);
/* The one in the file of the folder with real inputs; false if that is not there. */
bool test_graph_read(test_graph *g, const char *file, bool symmetric);
void test_graph_free(test_graph *g);

/* A matrix that shows it, of any type, changed in several batches: with deletions and duplicates pending. */
dcsr_matrix *test_graph_matrix(const test_graph *g, dcsr_context *context, dcsr_type type);

/* A look at one graph through one view. */
typedef void (*test_graph_check)(test_graph *g, dcsr_view *view);
/* Looks at the graph through views of all layouts, with and without duplicates, with 1 and 2 threads. */
void test_on_graph(test_graph *g, test_graph_check check);
/* The same for random and for structured graphs, directed ones too unless all are to be symmetric. A slow algorithm
 * may ask for graphs of at most so many vertices. */
void test_on_graphs(bool symmetric, uint64_t most, test_graph_check check);
/* In such a check: that this is what the graph's first view gave, which is kept with the graph. */
void test_same_for_all_views(test_graph *g, const void *result, size_t bytes);
/* Runs a call on a graph with allocations failing one after the other until it succeeds: meanwhile it says out of
 * memory, and leaves the `bytes` at `output`, zeros, as they are. */
void test_graph_failures(dcsr_status (*call)(dcsr_view *view, void *output), size_t bytes);

#endif
