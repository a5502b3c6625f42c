/* view_data.h: what a view is made of (internal). */
#ifndef DCSR_VIEW_DATA_H
#define DCSR_VIEW_DATA_H

#include "dcsr/view/sorted.h"

struct dcsr_view {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_layout layout;
    unsigned flags;        /* of dcsr_view_create() */
    bool shows_duplicates; /* that are to be combined, for all that can be told */
    uint64_t version;
    dcsr_i_snapshot *snapshot; /* segments */
    dcsr_i_csr *csr;           /* CSR */
    dcsr_i_rows rows;
    pthread_mutex_t lock; /* for what is made when it is asked for: */
    dcsr_i_kept *kept;
    /* What is on a device, as CSR in host memory. */
    dcsr_i_csr *copy;
    dcsr_i_rows host_rows;
    /* The rows with columns that ascend strictly: a copy, unless they do so anyway, which is known without
     * the lock. */
    atomic_bool ascends;
    dcsr_i_sorted sorted;
    /* The rows of the transpose (view_transpose.c): what the matrix maintains belongs to the version as `twin`,
     * and is resolved as the view's flags ask in `twin_rows`; else they are made, as `csc`, where the
     * context's memory is. A CSC view always has that. */
    dcsr_i_snapshot *twin, *twin_rows;
    dcsr_i_csr *csc;
    /* The same in host memory: of what is on a device, a copy. */
    dcsr_i_csr *transposed;
    dcsr_i_rows transposed_rows;
};

/* ---- view.c ---- */
/* Replaces a plain snapshot of the matrix, which nobody else has, by one in which the rows that the flags ask
 * for are resolved. On failure it is as it was. */
dcsr_status dcsr_i_snapshot_resolve(dcsr_i_snapshot **snapshot, dcsr_matrix *matrix, unsigned flags);
/* Somebody has seen that columns ascend strictly in all rows that the view shows. */
void dcsr_i_view_note_ascending(dcsr_view *view);

/* ---- view_transpose.c ---- */
/* Makes view->csc, or takes one that is cached. Under the view's lock. */
dcsr_status dcsr_i_view_transpose(dcsr_view *view);
/* Whether that is there, or cached. */
bool dcsr_i_view_csc_is_ready(const dcsr_view *view);
/* Makes the arrays of a CSC view that else is complete. */
dcsr_status dcsr_i_view_make_csc(dcsr_view *view);

/* ---- csc.c ---- */
/* The transpose of rows in host memory, as CSR there: row numbers ascend within each column, equal ones stand
 * as they stood in the row. Cost: O(rows + cols + entries), each entry moved twice. */
dcsr_status dcsr_i_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                              uint64_t version);
/* The same into arrays that are there: offsets, columns and, unless value_size is 0, values of a CSR whose
 * other members are set. */
dcsr_status dcsr_i_csc_fill(dcsr_i_csr *csc, const dcsr_i_rows *rows);

#endif
