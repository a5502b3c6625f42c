/* amg_engine.h: what is done where the matrices of a hierarchy are: on the cpu (amg_engine.c, kernels.c, and the
 * stages' own files), or on a GPU (cuda/). All else of multigrid is the same for both, and reaches them through this
 * table (internal).
 *
 * Arrays called vectors here are in the engine's memory, and so are those of levels, graphs and partitions.
 *
 * On a device functions put their work on the hierarchy's stream and return; those that return a number wait for it.
 * close() reports what has failed there. After a failure numbers are NaN, so that every iteration ends. */
#ifndef DCSR_AMG_ENGINE_H
#define DCSR_AMG_ENGINE_H

#include "amg/kernels.h"
#include <dcsr/desc.h>

typedef struct dcsr_i_amg_engine {
    bool on_device;

    /* Around the work of one call; close() tells the first failure of it, and has waited for all. */
    dcsr_status (*open)(dcsr_i_amg_hierarchy *h);
    dcsr_status (*close)(dcsr_i_amg_hierarchy *h, const char *operation);

    /* ---- Memory, zeroed ---- */
    dcsr_status (*take)(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t count, size_t size);
    void (*drop)(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h);
    /* Makes room for the sums of a pass over `rows` rows. */
    dcsr_status (*take_sums)(dcsr_i_amg_hierarchy *h, uint64_t rows);
    /* From and to arrays of the host. */
    void (*put)(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes);
    dcsr_status (*get)(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes);
    /* From the engine's memory of one context to that of another, h's being one of them, and waits. */
    dcsr_status (*hand)(dcsr_i_amg_hierarchy *h, void *to, const dcsr_context *to_context, const void *from,
                        const dcsr_context *from_context, size_t bytes);
    /* Of a device: whether a caller's array is in its memory. */
    bool (*has)(const dcsr_i_amg_hierarchy *h, const void *array);

    /* ---- Stages of the setup; hierarchy.h says what they do ---- */
    dcsr_status (*read_diagonal)(dcsr_i_amg_diagonal *found, dcsr_i_amg_hierarchy *h,
                                 dcsr_i_amg_level *level);
    /* B of one vector for each row of a node: ones. */
    void (*fill_constants)(dcsr_i_amg_hierarchy *h, double *B, uint64_t rows, uint64_t block);
    dcsr_status (*strength)(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                            double theta);
    /* The strong entries of a divided level in columns of other devices, row by row: |a_ij| > theta |a_ii|. The list,
     * in memory of the host, has rows counted from the part's first, columns of all, and a_ij / a_ii. */
    dcsr_status (*list_outside)(dcsr_coo *list, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level);
    dcsr_status (*aggregate)(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                             const dcsr_i_amg_graph *graph);
    dcsr_status (*prolongator)(dcsr_i_amg_level *level, double *T, double *coarse, dcsr_i_amg_hierarchy *h,
                               const dcsr_i_amg_graph *graph, const dcsr_i_amg_partition *parts,
                               uint64_t vectors);
    /* Of Lanczos steps, where d is not 0, else 0: v = random, w = d v; of the elements from number `first` on. */
    void (*lanczos_start)(dcsr_i_amg_hierarchy *h, uint64_t first, uint64_t n, const double *d, double *v,
                          double *w);
    /* w = w / d - alpha v - beta r, r = d w */
    void (*lanczos_step)(dcsr_i_amg_hierarchy *h, uint64_t n, const double *d, double alpha, double beta,
                         const double *v, double *w, double *r);

    /* ---- Rows that move (follow.h) ---- */
    /* Of a device: follows rows of A, as dcsr_i_amg_follow_list() does. */
    dcsr_status (*follow)(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_index_list *rows, uint64_t *count,
                          const char **why);
    /* Closes the gaps that rows have left, if they are many. */
    void (*tidy)(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h);
    /* The rows as they are after updates, one after the other. */
    dcsr_status (*collect)(dcsr_matrix **made, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);
    /* To the host: a square matrix, column after column; `dense` comes as zeros. */
    dcsr_status (*bring_dense)(double *dense, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);

    /* ---- Passes over rows ---- */
    /* The kernels for vectors of a type and of 1, 2, 4 or 8 columns. */
    dcsr_i_amg_form (*form_of)(dcsr_i_amg_hierarchy *h, dcsr_type type, int width);
    /* Of n rows of the form's width, whatever its type: y = x / norm in fp32, column by column; and back, y = norm x.
     * A norm of 0 gives 0. */
    void (*narrow)(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const double *x, float *y);
    void (*widen)(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const float *x, double *y);
    /* Columns one after the other to where they are side by side, those that are missing as 0; and back. */
    void (*gather)(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns);
    void (*scatter)(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns);
    /* Of a device: the first element that is not finite; n: all are. */
    uint64_t (*find_wild)(dcsr_i_amg_hierarchy *h, uint64_t n, const double *x);

    /* ---- What cycles need besides the matrices ---- */
    dcsr_status (*colour)(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level);
    /* The first row of A with an entry beyond `most` or a diagonal below `least`, in absolute value; as many as there
     * are: there is none. */
    uint64_t (*find_extreme)(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double most,
                             double least);
} dcsr_i_amg_engine;

extern const dcsr_i_amg_engine dcsr_i_amg_cpu; /* amg_engine.c */

#endif
