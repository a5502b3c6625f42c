/* assign_region.h: the rows and columns that an assignment writes to (internal). */
#ifndef DCSR_ASSIGN_REGION_H
#define DCSR_ASSIGN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ascending indices without repeats; NULL: all there are. */
typedef struct dcsr_i_index_list {
    const uint32_t *indices;
    uint64_t n, size;     /* indices are below `size` */
    const uint64_t *bits; /* the same as bits by index; NULL: not made */
} dcsr_i_index_list;

typedef struct dcsr_i_region {
    dcsr_i_index_list rows, cols;
} dcsr_i_region;

/* Whether the indices are consecutive. */
bool dcsr_i_index_list_is_range(const dcsr_i_index_list *list);
/* Whether one of first .. end - 1 is in the list. */
bool dcsr_i_index_list_meets(const dcsr_i_index_list *list, uint64_t first, uint64_t end);
/* Which rows of a page, first .. first + count - 1, are in the region: bit r for row first + r. Of no region,
 * NULL, all are. */
uint64_t dcsr_i_region_rows(const dcsr_i_region *region, uint64_t first, unsigned count);

#endif
