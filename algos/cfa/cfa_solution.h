/* cfa_solution.h: the store of an analysis (internal). */
#ifndef DCSR_CFA_SOLUTION_H
#define DCSR_CFA_SOLUTION_H

#include "algos/cfa/cfa_program.h"

typedef struct dcsr_i_cfa_solution {
    dcsr_matrix *store;          /* addresses x values */
    dcsr_view *view;             /* its latest version */
    uint64_t values, links;      /* so many have been put into it */
    uint64_t reached;            /* states */
    dcsr_i_cfa_array is_reached; /* of each state, a byte */
    bool again; /* a call has failed half-way: all states that are reached are looked at again */
} dcsr_i_cfa_solution;

/* The values that may be at an address: *length of them, lent until the next call with the same list. */
const uint32_t *dcsr_i_cfa_row(dcsr_cfa *cfa, uint32_t address, dcsr_i_cfa_array *list, uint64_t *length);
/* Drops the solution, if there is one. */
void dcsr_i_cfa_forget(dcsr_cfa *cfa);

#endif
