/* view.h: an immutable view of one version of a matrix.
 *
 * A view shows the version that was published last when the view was created, and goes on showing it while
 * the matrix changes. Creating one copies no entries and waits for no writer, unless it is asked to; but on a device a
 * batch of up to a million entries may be changing the current version itself, of which there is no view. Then it waits
 * for that, 0.2 ms for a hundred thousand, and so does destroying a view of an older one; the batches after it leave
 * versions alone. Reading takes no lock. What the matrix replaces is kept until the last view that can see it is
 * destroyed.
 *
 * If the version holds duplicates that are not combined yet, or tombstones, the rows that hold them are
 * resolved while the view is created (the sorted result is the view's own; the other rows are shared).
 *
 * Threads: any number may read one view. dcsr_view_destroy() must be the last call on it. */
#ifndef DCSR_VIEW_H
#define DCSR_VIEW_H

#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_view dcsr_view;

typedef enum dcsr_layout {
    DCSR_LAYOUT_SEGMENTS = 0, /* the store itself: a row is one to K pieces */
    DCSR_LAYOUT_CSR, /* offsets, columns, values: lent from the store if it is defragmented, else gathered;
                        rows + 1 offsets of 8 bytes, however few entries there are */
    DCSR_LAYOUT_CSC, /* the segments, and in addition the columns: offsets, row numbers, values. Transposed for
                        the view, unless the matrix maintains its transpose (dcsr_matrix_options); cols + 1
                        offsets of 8 bytes */
    DCSR_LAYOUT_NUT /* the segments, and in addition tiles for products with long vectors (dcsr/nut.h): 2 bytes and a
                       value for each entry, and as much for each row of a tile; 4 bytes for each active column */
} dcsr_layout;

/* Flags of dcsr_view_create(), which may be or-ed. */
enum {
    /* The reader accepts an entry that is stored more than once (traversal, plus-times over a matrix whose
     * policy is sum): only rows with deletions are then resolved. */
    DCSR_VIEW_DUPLICATES = 1,
    /* Columns ascend within each row. */
    DCSR_VIEW_SORTED = 2,
    /* The view shows all that was queued before the call: it waits until that has been applied (in a durable matrix it
     * need not be safe yet), so a thread reads what it wrote. A change that fails meanwhile is told of by its ticket
     * or dcsr_matrix_wait(), as ever. */
    DCSR_VIEW_LATEST = 4
};

/* Creates a view of the matrix's last published version. *view is NULL on failure.
 * Errors: OUT_OF_MEMORY, INVALID_ARGUMENT, CONTEXT_DESTROYED; with DCSR_VIEW_LATEST also DEADLOCK, in an operator of an
 * operation into the matrix. Cost: O(1) for segments of a version without
 * unresolved rows, else O(entries in those rows); for CSR O(rows + entries). CSR and CSC arrays are cached
 * for as long as their version is the newest. The arrays of CSC take O(cols + entries) and, while they are
 * made, up to 16 more bytes per entry; if the matrix maintains its transpose, what a CSR view of the
 * transpose takes. Tiles take O(rows + entries), in panels of rows; the matrix keeps those of the newest version that
 * was asked for, and a later one takes over the panels of which no page of 64 rows (1024 on a device) has changed.
 * TOO_LARGE for tiles of a matrix with more than 2^20 rows, or columns, and fewer than one entry to 16 of them. */
DCSR_API dcsr_status dcsr_view_create(dcsr_view **view, dcsr_matrix *matrix, dcsr_layout layout,
                                      unsigned flags);

/* Gives *same, which shows what `view` does and has to be destroyed like it; what both show is kept until the last of
 * them is. So whoever is lent a view may go on holding it. *same is NULL on failure. Errors: INVALID_ARGUMENT,
 * CONTEXT_DESTROYED. Cost: O(1), no memory. */
DCSR_API dcsr_status dcsr_view_share(dcsr_view **same, dcsr_view *view);

/* Destroys the view, and frees what only this view could see. NULL does nothing. */
DCSR_API void dcsr_view_destroy(dcsr_view *view);

typedef struct dcsr_view_info {
    dcsr_type type;
    dcsr_layout layout;
    uint64_t rows, cols;
    uint64_t version;
    uint64_t nnz;      /* entries the view shows */
    uint64_t segments; /* of all rows (for CSR: rows that are not empty) */
    uint64_t max_row;  /* length of the longest row */
    double mean_row, row_std;
    bool lent; /* a CSR or CSC view that points into the store: no entry was copied */
} dcsr_view_info;

/* Fills *info. The row statistics cost O(rows in use), in pages of 64 rows; for CSR O(rows). Errors: on a
 * device also OUT_OF_MEMORY, as for every call that reads there. */
DCSR_API dcsr_status dcsr_view_get_info(dcsr_view *view, dcsr_view_info *info);

/* What is known of a view without reading it. */
typedef struct dcsr_view_shape {
    dcsr_context *context; /* of the matrix */
    dcsr_device device;    /* where the entries are: DCSR_DEVICE_CPU or _CUDA */
    dcsr_layout layout;
    dcsr_type type;
    dcsr_policy policy; /* of the matrix */
    uint64_t rows, cols;
    uint64_t nnz; /* entries the view shows */
    uint64_t
        matrix; /* a number that all views of the matrix have, and those of no other matrix of the process */
} dcsr_view_shape;

/* Fills *shape. Cost: O(1). */
DCSR_API dcsr_status dcsr_view_get_shape(dcsr_view *view, dcsr_view_shape *shape);

/* Compressed rows: row i has the entries offsets[i] to offsets[i + 1] - 1. The arrays are lent: by a view, to
 * which they belong and as long as which they last, or by the caller to dcsr_matrix_from_csr(). Those of a
 * view in a cuda context are in the device's memory, for kernels and libraries there, and may be used on any
 * stream until the view is destroyed. */
typedef struct dcsr_csr {
    uint64_t rows, cols, nnz;
    dcsr_type type;
    const uint64_t *offsets;     /* rows + 1; offsets[0] is 0 */
    const uint32_t *col_indices; /* nnz */
    const void *values;          /* nnz values of the type; NULL for pattern */
} dcsr_csr;

/* Compressed columns: the same by columns, for dcsr_matrix_from_csc() and of a CSC view. */
typedef struct dcsr_csc {
    uint64_t rows, cols, nnz;
    dcsr_type type;
    const uint64_t *offsets;     /* cols + 1; offsets[0] is 0 */
    const uint32_t *row_indices; /* nnz */
    const void *values;          /* nnz values of the type; NULL for pattern */
} dcsr_csc;

/* Fills *csr with the arrays of a CSR view. Errors: INVALID_ARGUMENT when the view's layout is not CSR. */
DCSR_API dcsr_status dcsr_view_get_csr(dcsr_view *view, dcsr_csr *csr);

/* The same in host memory: on the cpu the arrays that dcsr_view_get_csr() gives; on a device a copy that the
 * view makes at the first call and keeps. Errors: also OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_view_get_csr_on_host(dcsr_view *view, dcsr_csr *csr);

/* Fills *csc with the arrays of a CSC view: the columns, each with ascending row numbers. The view can also
 * be read by rows, like a view of segments: by dcsr_view_get_row(), dcsr_view_get_many(),
 * dcsr_view_get_info() and all operations. Duplicates that the view's flags let through appear as they were
 * inserted; if the matrix maintains its transpose, they may be combined already. Errors: INVALID_ARGUMENT
 * when the view's layout is not CSC. */
DCSR_API dcsr_status dcsr_view_get_csc(dcsr_view *view, dcsr_csc *csc);
/* The same in host memory: on a device a copy that the view makes at the first call and keeps. Errors: also
 * OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_view_get_csc_on_host(dcsr_view *view, dcsr_csc *csc);

/* One row, whatever the layout: up to `capacity` entries are copied to cols and values (each may be NULL);
 * *length gets the row's length. To learn that first, call it with capacity 0. Errors: INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_view_get_row(dcsr_view *view, uint64_t row, uint64_t capacity, uint32_t *cols,
                                       void *values, uint64_t *length);

/* A part of a row that lies together in host memory. */
typedef struct dcsr_piece {
    uint64_t length;
    const uint32_t *cols; /* `length` of them */
    const void *values;   /* as many, of the view's type; NULL for pattern */
} dcsr_piece;

/* One row in place, whatever the layout, without copying it: *count pieces, none if the row is empty, one for CSR,
 * that together are what dcsr_view_get_row() copies, in this order. They are lent, as long as the view. On a
 * device the first call makes a copy of all rows in host memory, which the view keeps. Errors:
 * INDEX_OUT_OF_RANGE, on a device also OUT_OF_MEMORY. Cost: O(pieces). */
DCSR_API dcsr_status dcsr_view_get_pieces(dcsr_view *view, uint64_t row, dcsr_piece pieces[DCSR_MAX_SEGMENTS],
                                          int *count);

/* As dcsr_matrix_get_many(), but reads the view's version and does not wait. */
DCSR_API dcsr_status dcsr_view_get_many(dcsr_view *view, uint64_t n, const uint64_t *rows,
                                        const uint64_t *cols, void *values, bool *stored);

#ifdef __cplusplus
}
#endif
#endif
