/* generations.h: the same generation where a good part of all pairs is in it (internal). */
#ifndef DCSR_CLOSURE_GENERATIONS_H
#define DCSR_CLOSURE_GENERATIONS_H

#include <dcsr/closure.h>
#include "algos/closure/condense.h"
#include "algos/closure/relations.h"

/* The bytes that dcsr_i_generations_dense() takes beside the result, about. */
uint64_t dcsr_i_generations_bytes(uint64_t vertices);

/* Goes on from the pairs that a symbol has so far until nothing is new; made->iterations grows
 * by the rounds, made->pairs is set. *pairs gets them, if pairs is not NULL. */
dcsr_status dcsr_i_generations_dense(dcsr_matrix **pairs, dcsr_closure_result *made,
                                     const dcsr_i_edge_rows *children, const dcsr_i_relations *r,
                                     uint32_t symbol);

#endif
