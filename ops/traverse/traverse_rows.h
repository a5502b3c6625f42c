/* traverse_rows.h: breadth-first search over rows in host memory, of one view or of several devices (internal). */
#ifndef DCSR_TRAVERSE_ROWS_H
#define DCSR_TRAVERSE_ROWS_H

#include "ops/rows/row_reader.h"
#include <dcsr/traverse.h>

/* The rows of a graph: part k has vertices begin[k] to begin[k + 1] - 1. */
typedef struct dcsr_i_traverse_parts {
    uint64_t count;
    const dcsr_i_rows *const *rows;
    const uint64_t *begin;
    dcsr_context *context;    /* that memory is counted for */
    const dcsr_context *team; /* whose threads search */
} dcsr_i_traverse_parts;

/* dcsr_traverse(), with arguments that have been checked. OUT_OF_MEMORY: nothing is written. */
dcsr_status dcsr_i_traverse_rows(int32_t *level, dcsr_traverse_result *found,
                                 const dcsr_i_traverse_parts *parts, uint64_t n, const uint64_t *sources);

#endif
