/* maintained_transpose.h: the transpose that a matrix maintains (internal).
 *
 * With dcsr_matrix_options.maintain_transpose a matrix A has a twin: a matrix of the same type and policy
 * that holds the transpose of A. It has no queue; what changes A changes the twin in the same turn:
 *
 *      A        sort, combine, plan, allocate, scatter -------------------------> publish v4
 *      twin                                               swap keys, the same: v8 --^ which shows it
 *
 * The twin's part comes when nothing of A's can fail any more and before A's version is published, together
 * with the twin's version that belongs to it. So a view of A finds both, without waiting, and a change of A
 * succeeds or fails on its own merits. A twin that could not follow is given up: views make a CSC then, and
 * the one who asks for the transpose next has the worker build the twin again. */
#ifndef DCSR_MAINTAINED_TRANSPOSE_H
#define DCSR_MAINTAINED_TRANSPOSE_H

#include "dcsr/store/store.h"

/* Before a version of A is published, by whoever has the matrix's turn. A version that is published without
 * one of these shows no twin, and A's is given up. Without a twin they do nothing. */

/* A's version has this batch, whose entries are sorted and combined and needed no more: their keys are
 * overwritten. In host memory; on a device insert_cuda.c does it. */
void dcsr_i_twin_entries(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t *entries,
                         uint64_t n);
/* A's version `next` has replaced rows, which are not resolved yet in the one before. Rows in host memory. */
void dcsr_i_twin_rows(dcsr_matrix *matrix, const dcsr_i_table *next);
void dcsr_i_twin_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
/* A's version holds what the one before it does. */
void dcsr_i_twin_stays(dcsr_matrix *matrix);

/* What these are made of: the batch for the twin that goes with one of A, n entries of which are yet to be
 * given to it; and what became of applying it. */
dcsr_i_operation dcsr_i_twin_batch(const dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t n);
void dcsr_i_twin_follow(dcsr_matrix *matrix, dcsr_status status);

/* A matrix that has no queue of its own, with the transpose of rows that a view of A shows, in the memory
 * that is the engine's. */
dcsr_status dcsr_i_twin_create(dcsr_matrix **twin, dcsr_matrix *matrix, const dcsr_i_rows *rows,
                               dcsr_defragmentation defragmentation);
/* Whether so many rows can be the columns of a twin. */
dcsr_status dcsr_i_check_twin_rows(const char *call, uint64_t rows);
/* The twin, if there is one, with a reference for the caller. */
dcsr_matrix *dcsr_i_matrix_twin(dcsr_matrix *matrix);

/* Shows the twin's current version with A's from now on: the twin's rows were moved or resolved. */
void dcsr_i_twin_show(dcsr_matrix *matrix);
/* Builds the twin of what A holds, if it has none. On failure it has none still. */
dcsr_status dcsr_i_twin_build(dcsr_matrix *matrix);
/* Has the worker build the twin of a matrix that maintains its transpose, unless it has one. */
void dcsr_i_request_twin(dcsr_matrix *matrix);

/* For views, with the view's lock: the rows of the twin that the view's version shows, resolved as the view's
 * flags ask, in the engine's memory; the view keeps them. And once they have been read, without the lock; it
 * asks for a twin where there is none. */
dcsr_status dcsr_i_view_twin_rows(dcsr_i_rows *rows, dcsr_view *view);
void dcsr_i_view_twin_was_read(const dcsr_view *view);

/* A twin that A no longer has; views may hold versions of it. NULL does nothing. */
void dcsr_i_twin_leave(dcsr_matrix *twin);

#endif
