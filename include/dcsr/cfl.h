/* cfl.h: context-free reachability: which vertices are joined by a path whose labels make a word of a grammar.
 *
 * A graph has labelled edges, a grammar productions. For each nonterminal A there is a relation, with (x, y) where
 * a path from x to y spells a word that A derives:
 *
 *      A ->            (x, x) for every vertex x
 *      A -> b          (x, y) for every edge, or pair, b from x to y
 *      A -> B C        (x, y) where B has (x, z) and C has (z, y)
 *
 * A symbol that ends in _i is a family: one for each index that the graph has, the same in all symbols of a
 * production. Pointer analyses match stores and loads of one field in this way.
 *
 * How. Semi-naive: relations are kept by rows, and by columns where a production needs that; what is new in a row
 * is joined as a whole with what its neighbours have. Rows are lists with a hash table, or bitmaps where they are
 * long. Everything is on the host, in one thread; results are the same each time.
 *
 * Threads: grammars and graphs may be used by any number of threads as long as none changes them. */
#ifndef DCSR_CFL_H
#define DCSR_CFL_H

#include <dcsr/closure.h>
#include <dcsr/matrix.h>
#include <dcsr/names.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grammars. One production a line, symbols separated by blanks or tabs: the left side and none, one or two
 * others; none stands for the empty word. What is a left side is a nonterminal, all others are labels. After a
 * line `Count:` stands the nonterminal that is asked for; without, it is the first left side. Empty lines, and
 * lines that begin with #, are skipped.
 *
 *      S   a  S1
 *      S1  S  b
 *      S   S  S
 *      S
 *      Count:
 *      S                                                                                                        */
typedef struct dcsr_grammar dcsr_grammar;

/* Reads a grammar from a file, which may be compressed (gzip). *grammar is the caller's; NULL on failure.
 * Errors: IO, OUT_OF_MEMORY, FORMAT: "FILE:LINE: what is wrong" (more than two symbols on the right side, no
 * production at all, a `Count:` that no nonterminal follows). */
DCSR_API dcsr_status dcsr_grammar_read(dcsr_grammar **grammar, dcsr_context *context, const char *path);
/* The same from a text; `name` stands for the file in messages. */
DCSR_API dcsr_status dcsr_grammar_parse(dcsr_grammar **grammar, dcsr_context *context, const char *name,
                                        const char *text);
DCSR_API void dcsr_grammar_destroy(dcsr_grammar *grammar);

/* Nonterminals count from 0, in the order of their first productions; the name of one belongs to the grammar,
 * and is NULL behind the last. `counted` is the number of the one that is asked for. */
DCSR_API const char *dcsr_grammar_nonterminal_at(const dcsr_grammar *grammar, uint32_t number);
DCSR_API dcsr_status dcsr_grammar_get_counted(const dcsr_grammar *grammar, uint32_t *counted);

/* Labelled graphs: edges from one vertex to another, with a label and, for a family, an index. It has as many
 * vertices as the largest number needs. */
typedef struct dcsr_labelled dcsr_labelled;

/* An empty graph of the caller's; NULL on failure. Errors: OUT_OF_MEMORY, INVALID_ARGUMENT. */
DCSR_API dcsr_status dcsr_labelled_create(dcsr_labelled **graph, dcsr_context *context);
/* Adds n edges of one label; `indices` is NULL where it is no family, else has one for each. The name of a family
 * ends in _i, and that is added where it does not. Arrays are copied. Errors: INVALID_ARGUMENT (NULL; a label
 * that is empty or has blanks; one that ends in _i without indices), INDEX_OUT_OF_RANGE (a vertex from 2^31 - 1
 * on), OUT_OF_MEMORY; nothing is added then. */
DCSR_API dcsr_status dcsr_labelled_insert(dcsr_labelled *graph, const char *label, uint64_t n,
                                          const uint64_t *from, const uint64_t *to, const uint64_t *indices);
/* Reads a graph from a file, which may be compressed (gzip), of lines `from to label [index]`, separated by blanks
 * or tabs; empty lines and lines that begin with # or % are skipped. Or from a folder, in which each file
 * NAME.facts has the edges of the label NAME, in lines `from to [index]`, as Souffle writes them. Errors: IO,
 * OUT_OF_MEMORY, FORMAT: "FILE:LINE: what is wrong". */
DCSR_API dcsr_status dcsr_labelled_read(dcsr_labelled **graph, dcsr_context *context, const char *path);
/* The same, where vertices and indices are words, or in a folder of facts all between two tabs. Vertices get their
 * numbers from `names` (dcsr_names_add()), which may have others; after a failure it may have some more. Errors: also
 * INVALID_ARGUMENT (names is NULL). */
DCSR_API dcsr_status dcsr_labelled_read_named(dcsr_labelled **graph, dcsr_context *context, dcsr_names *names,
                                              const char *path);
DCSR_API void dcsr_labelled_destroy(dcsr_labelled *graph);

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_cfl_options {
    uint64_t memory_limit;   /* bytes that the call may take, the result included; 0: the machine's memory */
    const char *nonterminal; /* the one that is asked for; NULL: what the grammar says */
    dcsr_closure_progress progress; /* of rounds, and pairs of that one; NULL: nobody is told */
    void *user;
} dcsr_cfl_options;

typedef struct dcsr_cfl_result {
    uint64_t vertices;   /* of the graph */
    uint64_t edges;      /* of the graph, with labels that the grammar has; repeated ones count once */
    uint64_t pairs;      /* of the nonterminal that is asked for; of a family, of all indices */
    uint64_t iterations; /* rounds until nothing was new */
    uint64_t bytes;      /* the most memory that the call took */
} dcsr_cfl_result;

/* Computes the relations of all nonterminals. *pairs (if `pairs` is not NULL) becomes a pattern-only matrix of the
 * caller's with the pairs of the one that is asked for, in the context of the graph, with as many rows and columns
 * as the graph has vertices; of a family, with those of all indices together. `entries` (may be NULL) has room
 * for the number of pairs of each nonterminal. result and options may be NULL.
 * Errors: INVALID_ARGUMENT (NULL), NOT_FOUND (options->nonterminal is none), FORMAT (nothing produces a symbol:
 * it begins with a capital letter, as nonterminals do, but is neither a left side nor a label of the graph; a
 * label that the graph lacks is empty), OUT_OF_MEMORY. After an error nothing is written.
 * Cost: for each pair of B, the rows of C that it meets in a production A -> B C. Memory: 10 to 30 bytes a pair. */
DCSR_API dcsr_status dcsr_cfl(dcsr_matrix **pairs, dcsr_cfl_result *result, uint64_t *entries,
                              const dcsr_grammar *grammar, const dcsr_labelled *graph,
                              const dcsr_cfl_options *options);

#ifdef __cplusplus
}
#endif
#endif
