/* view_data.h: what a view is made of (internal). */
#ifndef DCSR_VIEW_DATA_H
#define DCSR_VIEW_DATA_H

#include "dcsr/view/sorted.h"
#include <dcsr/features.h>

/* Forms of the entries: the transpose; columns that ascend strictly; in host memory. Not all that can be said is
 * made: what ascends is on the host. */
enum { DCSR_I_TRANSPOSED = 1, DCSR_I_ASCENDING = 2, DCSR_I_ON_HOST = 4, DCSR_I_FORMS = 8 };

/* What has been computed of the rows of a version, as views with these flags show it. */
typedef struct dcsr_i_facts {
    _Atomic uint64_t references; /* views, and the matrix */
    uint64_t version;
    unsigned flags; /* of dcsr_view_create() */
    bool in_place;  /* of rows in the store, else of a CSR */
    dcsr_i_measures measures;
    dcsr_features features;
    _Atomic double crossover; /* dcsr_i_view_crossover(); 0: it has not been computed */
} dcsr_i_facts;

struct dcsr_view {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_layout layout;
    unsigned flags;        /* of dcsr_view_create() */
    bool shows_duplicates; /* that are to be combined, for all that can be told */
    uint64_t version;
    atomic_uint_fast32_t sharers; /* besides the first: so many times it is to be destroyed */
    dcsr_i_held_version
        *twin; /* of the transpose that the matrix maintains, what belongs to the version; or NULL */
    /* Known without the lock: columns ascend strictly in all rows. */
    atomic_bool ascends;
    struct dcsr_i_nut *nut;                /* the tiles of a view of DCSR_LAYOUT_NUT, else NULL */
    pthread_mutex_t lock;                  /* for what is made when it is asked for: */
    struct dcsr_i_nut *_Atomic turned_nut; /* the tiles of the transpose */
    dcsr_i_facts *facts;                   /* counted */
    dcsr_i_attachment *kept[DCSR_I_KEPT];
    /* The forms of what the view shows, by the flags above. form[0] is there from the beginning: segments of a
     * hold, or CSR. Transposed: what is made where the context's memory is (view_transpose.c), a CSC, which
     * a CSC view always has, or rows of a twin, resolved as the view's flags ask. On the host: copies of what is
     * on a device. */
    dcsr_i_form form[DCSR_I_FORMS];
};

/* ---- view.c ---- */
/* Replaces a plain hold on a version, which nobody else has, by one in which the rows that the flags ask for are
 * resolved; `newest`: of that version or a later one. On failure there may be none any more. */
dcsr_status dcsr_i_held_version_resolve(dcsr_i_held_version **hold, dcsr_matrix *matrix, unsigned flags,
                                        bool newest);
/* Views of the version that is held, or that a view shows which is not CSR, although the matrix may have changed since:
 * any layout, and flags of dcsr_view_create() but for DCSR_VIEW_LATEST. Errors and cost as of that. */
dcsr_status dcsr_i_view_of(dcsr_view **view, const dcsr_i_held_version *held, dcsr_layout layout,
                           unsigned flags);
dcsr_status dcsr_i_view_again(dcsr_view **view, dcsr_view *shown, dcsr_layout layout, unsigned flags);
/* A view of layout CSR of what was made elsewhere, with the policy of a matrix of the same context, but none of its
 * versions: its own is 0. Each column is once in a row. The view takes the CSR, or on failure it is released. */
dcsr_status dcsr_i_view_of_csr(dcsr_view **view, dcsr_i_csr *csr, dcsr_matrix *like);
/* Somebody has seen that columns ascend strictly in all rows that the view shows. */
void dcsr_i_view_note_ascending(dcsr_view *view);

/* ---- view_facts.c ---- */
/* Fills measures and features. */
typedef dcsr_status dcsr_i_facts_compute(dcsr_i_facts *facts, dcsr_view *view);
/* The facts of what the view shows, lent as long as it is there. What no view of the version has is computed, for
 * others that ask meanwhile too; without `compute` *facts is then NULL. Errors: OUT_OF_MEMORY, those of compute(). */
dcsr_status dcsr_i_view_facts(dcsr_i_facts **facts, dcsr_view *view, dcsr_i_facts_compute *compute);
void dcsr_i_facts_release(dcsr_i_facts *facts, dcsr_context *context); /* NULL does nothing */
/* Drops what the matrix keeps. */
void dcsr_i_facts_forget(dcsr_matrix *matrix);

/* ---- view_transpose.c ---- */
/* Makes the CSC, or takes one that is cached. Under the view's lock. */
dcsr_status dcsr_i_view_transpose(dcsr_view *view);
/* Whether that is there, or cached. */
bool dcsr_i_view_csc_is_ready(const dcsr_view *view);
/* Makes the arrays of a CSC view that else is complete. */
dcsr_status dcsr_i_view_make_csc(dcsr_view *view);

/* ---- view_nut.c ---- */
/* Makes the tiles of a view that else is complete. */
dcsr_status dcsr_i_view_make_nut(dcsr_view *view);
/* Drops what the matrix keeps. */
void dcsr_i_nut_forget(dcsr_matrix *matrix);

/* ---- csc.c ---- */
/* The transpose of rows in host memory, as CSR there: row numbers ascend within each column, equal ones stand
 * as they stood in the row. Cost: O(rows + cols + entries), each entry moved twice. */
dcsr_status dcsr_i_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                              uint64_t version);
/* The same into arrays that are there: offsets, columns and, unless value_size is 0, values of a CSR whose
 * other members are set. */
dcsr_status dcsr_i_csc_fill(dcsr_i_csr *csc, const dcsr_i_rows *rows);

#endif
