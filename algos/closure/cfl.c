/* cfl.c: context-free reachability, by rules for relations that grow: a production is a rule, an edge a pair of the
 * relation of its label, the empty word the pairs (x, x). */
#include "algos/closure/cfl_data.h"
#include "algos/closure/relations.h"
#include <stdlib.h>

typedef struct solving {
    dcsr_i_work work;
    const dcsr_grammar *grammar;
    const dcsr_labelled *graph;
    uint32_t counted;  /* nonterminal */
    uint32_t *symbol;  /* of each label; NO_SYMBOL: the grammar does not have it */
    uint64_t *indices; /* that families have, ascending, once */
    uint64_t index_count;
    dcsr_i_relations relations;
    uint64_t edges;
} solving;

static const char *name_of(const solving *s, uint32_t symbol)
{
    return dcsr_i_name(&s->grammar->names, symbol);
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Labels that are symbols, and the indices of all, be they symbols or not. */
static dcsr_status read_labels(solving *s)
{
    const dcsr_labelled *graph = s->graph;
    const uint32_t labels = graph->labels.count;
    uint64_t n = 0;
    DCSR_I_WORK_TRY(dcsr_i_work_take(&s->work, &s->symbol, labels, sizeof *s->symbol, "the labels"));
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(&s->work, &s->indices, graph->indexed, sizeof *s->indices, "the indices"));
    for (uint32_t k = 0; k < labels; k++)
        s->symbol[k] = dcsr_i_names_find(&s->grammar->names, dcsr_i_name(&graph->labels, k));
    for (uint64_t e = 0; e < graph->edges; e++)
        if (graph->edge[e].indexed) s->indices[n++] = graph->edge[e].index;
    qsort(s->indices, n, sizeof *s->indices, ascending);
    for (uint64_t k = 0; k < n; k++)
        if (!k || s->indices[k] != s->indices[k - 1]) s->indices[s->index_count++] = s->indices[k];
    return DCSR_OK;
}

/* What looks like a nonterminal has to come from somewhere. */
static dcsr_status check_symbols(const solving *s)
{
    const dcsr_grammar *g = s->grammar;
    for (uint64_t p = 0; p < g->productions; p++)
        for (int k = 0; k < 2; k++) {
            const uint32_t symbol = g->production[p].right[k];
            if (symbol == DCSR_I_NO_NAME || dcsr_i_nonterminal_of(g, symbol) != DCSR_I_NO_NAME) continue;
            const char *const name = name_of(s, symbol);
            if (*name < 'A' || *name > 'Z' || dcsr_i_names_find(&s->graph->labels, name) != DCSR_I_NO_NAME)
                continue;
            return dcsr_thread_fail(
                DCSR_ERROR_FORMAT,
                "%s:%llu: nothing produces %s: it is the left side of no production, and no "
                "edge of the graph has it as its label",
                dcsr_i_name(&g->source, 0), (unsigned long long)g->production[p].line, name);
        }
    return DCSR_OK;
}

/* A relation for each symbol, with the same number. */
static dcsr_status make_rules(solving *s)
{
    const dcsr_grammar *g = s->grammar;
    dcsr_i_relations *r = &s->relations;
    r->symbols = g->names.count;
    r->told = g->nonterminal[s->counted];
    DCSR_I_WORK_TRY(dcsr_i_work_take(&s->work, &r->symbol, r->symbols, sizeof *r->symbol, "the symbols"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(&s->work, &r->rule, g->productions, sizeof *r->rule, "the productions"));
    for (uint32_t k = 0; k < r->symbols; k++) r->symbol[k].family = dcsr_i_is_family(name_of(s, k));
    for (uint64_t p = 0; p < g->productions; p++) {
        const dcsr_i_production *from = &g->production[p];
        if (from->right[0] != DCSR_I_NO_NAME)
            r->rule[r->rules++] =
                (dcsr_i_rule){.made = from->left, .first = from->right[0], .second = from->right[1]};
    }
    return dcsr_i_relations_begin(r, &s->work, s->graph->vertices, s->index_count);
}

static dcsr_status add_edges(solving *s)
{
    dcsr_i_relations *r = &s->relations;
    for (uint64_t e = 0; e < s->graph->edges; e++) {
        const dcsr_i_labelled_edge *edge = &s->graph->edge[e];
        const uint32_t symbol = s->symbol[edge->label];
        uint64_t index = 0;
        if (symbol == DCSR_I_NO_SYMBOL) continue;
        if (r->symbol[symbol].family) {
            const uint64_t *found =
                bsearch(&edge->index, s->indices, s->index_count, sizeof *s->indices, ascending);
            index = (uint64_t)(found - s->indices);
        }
        DCSR_I_WORK_TRY(dcsr_i_relations_add(r, symbol, index, edge->from, edge->to));
    }
    for (uint32_t k = 0; k < r->symbols; k++) s->edges += r->symbol[k].pairs;
    return DCSR_OK;
}

static dcsr_status add_empty_words(solving *s)
{
    const dcsr_grammar *g = s->grammar;
    for (uint64_t p = 0; p < g->productions; p++) {
        const uint32_t left = g->production[p].left;
        if (g->production[p].right[0] != DCSR_I_NO_NAME) continue;
        const uint64_t indices = s->relations.symbol[left].family ? s->index_count : 1;
        for (uint64_t index = 0; index < indices; index++)
            for (uint64_t v = 0; v < s->graph->vertices; v++)
                DCSR_I_WORK_TRY(dcsr_i_relations_add(&s->relations, left, index, v, v));
    }
    return DCSR_OK;
}

static dcsr_status solve(dcsr_matrix **pairs, solving *s)
{
    DCSR_I_WORK_TRY(read_labels(s));
    DCSR_I_WORK_TRY(check_symbols(s));
    DCSR_I_WORK_TRY(make_rules(s));
    DCSR_I_WORK_TRY(add_edges(s));
    DCSR_I_WORK_TRY(add_empty_words(s));
    DCSR_I_WORK_TRY(dcsr_i_relations_grow(&s->relations));
    if (!pairs) return DCSR_OK;
    return dcsr_i_relations_to_matrix(pairs, &s->relations, s->grammar->nonterminal[s->counted]);
}

static dcsr_status choose_counted(uint32_t *counted, const dcsr_grammar *grammar, const char *name)
{
    *counted = grammar->counted;
    if (!name) return DCSR_OK;
    const uint32_t symbol = dcsr_i_names_find(&grammar->names, name);
    if (symbol != DCSR_I_NO_NAME) *counted = dcsr_i_nonterminal_of(grammar, symbol);
    if (symbol != DCSR_I_NO_NAME && *counted != DCSR_I_NO_NAME) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_NOT_FOUND, "%s: it has no nonterminal %s; the first is %s",
                            dcsr_i_name(&grammar->source, 0), name, dcsr_grammar_nonterminal_at(grammar, 0));
}

dcsr_status dcsr_cfl(dcsr_matrix **pairs, dcsr_cfl_result *result, uint64_t *entries,
                     const dcsr_grammar *grammar, const dcsr_labelled *graph, const dcsr_cfl_options *options)
{
    static const char call[] = "dcsr_cfl";
    solving s = {.grammar = grammar, .graph = graph};
    if (pairs) *pairs = NULL;
    if (!grammar || !graph)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call,
                                grammar ? "graph" : "grammar");
    DCSR_I_WORK_TRY(choose_counted(&s.counted, grammar, options ? options->nonterminal : NULL));
    dcsr_i_work_begin(&s.work, call, graph->memory.context, options ? options->memory_limit : 0);
    if (options) s.work.progress = options->progress, s.work.user = options->user;
    const dcsr_status status = solve(pairs, &s);
    const dcsr_i_symbol *symbol = s.relations.symbol;
    for (uint32_t k = 0; !status && entries && k < grammar->nonterminals; k++)
        entries[k] = symbol[grammar->nonterminal[k]].pairs;
    if (!status && result)
        *result = (dcsr_cfl_result){.vertices = graph->vertices,
                                    .edges = s.edges,
                                    .pairs = symbol[grammar->nonterminal[s.counted]].pairs,
                                    .iterations = s.relations.rounds,
                                    .bytes = s.work.peak};
    dcsr_i_work_end(&s.work);
    return status;
}
