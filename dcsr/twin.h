/* twin.h: the transpose that a matrix maintains (internal).
 *
 * With dcsr_matrix_options.maintain_transpose a matrix A has a twin: a matrix of the same type and policy
 * that holds the transpose of A. It has no queue; what changes A changes the twin in the same turn:
 *
 *      worker of A    sort, combine, plan, allocate, scatter --> swap keys --> the same on the twin -->
 * publish |                      | twin           ... v6, v7 v8                     | A              ... v4
 * shows v6, v5 shows v7                                                v6 shows v8
 *
 * The twin's part comes when nothing of A's can fail any more and before A's version is published, together
 * with the twin's version that belongs to it. So a view of A finds both, without waiting, and a change of A
 * succeeds or fails on its own merits. A twin that could not follow is given up: views make a CSC then, and
 * the one who asks for the transpose next has the worker build the twin again. */
#ifndef DCSR_TWIN_H
#define DCSR_TWIN_H

#include "dcsr/store.h"

/* Before a version of A is published, by whoever has the worker's place. A version that is published without
 * one of these shows no twin, and A's is given up. Without a twin they do nothing. */

/* A's version has this batch, whose entries are sorted and combined and needed no more: their keys are
 * overwritten. */
void dcsr_i_twin_entries(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t *entries,
                         uint64_t n);
/* A's version `next` has replaced rows, which are not resolved yet in the one before. */
void dcsr_i_twin_rows(dcsr_matrix *matrix, const dcsr_i_table *next);
void dcsr_i_twin_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
/* A's version holds what the one before it does. */
void dcsr_i_twin_stays(dcsr_matrix *matrix);

/* A matrix that has no queue of its own, with the transpose of rows in host memory that a view of A shows. */
dcsr_status dcsr_i_twin_create(dcsr_matrix **twin, dcsr_matrix *matrix, const dcsr_i_rows *rows,
                               dcsr_defragmentation defragmentation);
/* The same, still empty: matrix.c. */
dcsr_status dcsr_i_twin_open(dcsr_matrix **twin, dcsr_matrix *matrix, const dcsr_i_rows *rows,
                             dcsr_defragmentation defragmentation);
/* Whether so many rows can be the columns of a twin. */
dcsr_status dcsr_i_check_twin_rows(const char *call, uint64_t rows);
/* The twin, if there is one, with a reference for the caller. */
dcsr_matrix *dcsr_i_matrix_twin(dcsr_matrix *matrix);

/* Tidies A and its twin; or the twin alone, or A alone, where that has asked for it. */
dcsr_status dcsr_i_twin_tidy(dcsr_matrix *matrix, const dcsr_i_operation *operation);
/* Builds the twin of what A holds, if it has none. On failure it has none still. */
dcsr_status dcsr_i_twin_build(dcsr_matrix *matrix);

/* A twin that A no longer has; views may hold versions of it. NULL does nothing. */
void dcsr_i_twin_leave(dcsr_matrix *twin);

#endif
