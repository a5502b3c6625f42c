/* cfl_data.h: what a grammar and a labelled graph are (internal). */
#ifndef DCSR_CLOSURE_CFL_DATA_H
#define DCSR_CLOSURE_CFL_DATA_H

#include <dcsr/cfl.h>
#include "algos/closure/closure_names.h"

/* left -> right[0] right[1], with NO_NAME where there is none. */
typedef struct dcsr_i_production {
    uint32_t left, right[2];
    uint64_t line;
} dcsr_i_production;

struct dcsr_grammar {
    dcsr_i_work memory;
    dcsr_i_names names;    /* of all symbols */
    dcsr_i_names source;   /* one: of the file */
    uint32_t *nonterminal; /* the symbols that are left sides, in the order in which they come */
    uint32_t nonterminals;
    uint32_t counted; /* which of these is asked for */
    dcsr_i_production *production;
    uint64_t productions, room;
};

typedef struct dcsr_i_labelled_edge {
    uint64_t index;
    uint32_t from, to, label;
    bool indexed;
} dcsr_i_labelled_edge;

struct dcsr_labelled {
    dcsr_i_work memory;
    dcsr_i_names labels;
    dcsr_i_labelled_edge *edge;
    uint64_t edges, room;
    uint64_t indexed; /* edges that have an index */
    uint64_t vertices;
};

/* Which of the nonterminals that is; NO_NAME if it is none. */
uint32_t dcsr_i_nonterminal_of(const dcsr_grammar *grammar, uint32_t symbol);

#endif
