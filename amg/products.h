/* products.h: the matrices of levels on the cpu, in memory of the pool: room for them, copies, transposes and products
 * (internal). */
#ifndef DCSR_AMG_PRODUCTS_H
#define DCSR_AMG_PRODUCTS_H

#include "amg/hierarchy.h"

/* ---- rows.c ---- */

/* Room for rows + 1 offsets, own[0], of which the first is 0 and the others come with any content; and once these are
 * set, for the entries, own[1] and own[2], unless there is some: then m->rows are these. */
dcsr_status dcsr_i_amg_own_offsets(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows);
dcsr_status dcsr_i_amg_own_entries(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows,
                                   uint64_t cols);
/* Makes room for so many elements, and keeps the `used` ones that there are. */
dcsr_status dcsr_i_amg_extend(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t used, uint64_t count,
                              size_t size);

/* In how many rows two matrices of as many rows differ, bit by bit. */
uint64_t dcsr_i_amg_count_differing(const dcsr_i_amg_rows *a, const dcsr_i_amg_rows *b,
                                    dcsr_context *context);
/* Whether most rows of a view of as many rows differ from these, by a sample. */
bool dcsr_i_amg_looks_new(const dcsr_i_amg_rows *rows, dcsr_view *A);

/* ---- products.c ---- */

/* R = P^T, of rows as a setup leaves them. */
dcsr_status dcsr_i_amg_transpose(dcsr_i_amg_matrix *R, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *P);
/* R A P of the level. Rows of `like`, if it is not NULL, are taken for patterns where they fit, which saves sorting. */
dcsr_status dcsr_i_amg_galerkin(dcsr_i_amg_matrix *next, dcsr_i_amg_hierarchy *h,
                                const dcsr_i_amg_level *level, const dcsr_i_amg_rows *like);

#endif
