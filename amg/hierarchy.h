/* hierarchy.h: the levels of algebraic multigrid, and the stages that make and use them (internal).
 *
 *      level 0   A  (the caller's)   P  rows x coarse rows   R = P^T
 *      level 1   A' = R A P          P'                      R'
 *      ...
 *      last      A, and its dense pseudo-inverse if it is small
 *
 * The rows of a level are in nodes of `block` rows each. An aggregate of nodes becomes one node of the next
 * level, with as many rows as there are near-nullspace vectors. All stages give the same bits for any number
 * of threads: rows are computed by one thread each, and sums in fixed blocks of rows (amg_engine.h). */
#ifndef DCSR_AMG_HIERARCHY_H
#define DCSR_AMG_HIERARCHY_H

#include "amg/amg_random.h"
#include <dcsr/amg.h>
#include <dcsr/extend.h>
#include <pthread.h>

#define DCSR_I_AMG_TRY(expression)                   \
    do {                                             \
        dcsr_status amg_try_status_ = (expression);  \
        if (amg_try_status_) return amg_try_status_; \
    } while (0)

typedef enum dcsr_i_amg_smoother {
    DCSR_I_AMG_ANY_SMOOTHER,
    DCSR_I_AMG_CHEBYSHEV,
    DCSR_I_AMG_JACOBI,
    DCSR_I_AMG_L1,
    DCSR_I_AMG_GAUSS_SEIDEL
} dcsr_i_amg_smoother;
typedef enum dcsr_i_amg_cycle { DCSR_I_AMG_V, DCSR_I_AMG_W, DCSR_I_AMG_K } dcsr_i_amg_cycle;
typedef enum dcsr_i_amg_solver {
    DCSR_I_AMG_AUTO,
    DCSR_I_AMG_CG,
    DCSR_I_AMG_BICGSTAB,
    DCSR_I_AMG_FGMRES,
    DCSR_I_AMG_ALONE
} dcsr_i_amg_solver;

typedef enum dcsr_i_amg_rebuilding {
    DCSR_I_AMG_WHEN_READY,
    DCSR_I_AMG_NEVER,
    DCSR_I_AMG_NOW
} dcsr_i_amg_rebuilding;

typedef enum dcsr_i_amg_precision { DCSR_I_AMG_FP64, DCSR_I_AMG_FP32 } dcsr_i_amg_precision;

enum {
    DCSR_I_AMG_MOST_LEVELS = 40,
    DCSR_I_AMG_MOST_STEPS = 10,
    DCSR_I_AMG_MOST_LANCZOS = 50,
    DCSR_I_AMG_MOST_VECTORS = 64,
    DCSR_I_AMG_MOST_WIDTH = 8, /* right-hand sides that are solved for at a time */
    DCSR_I_AMG_TOGETHER = 64   /* rows of a block that Gauss-Seidel goes through one by one; on a device 1 */
};

/* Numbers are kept as doubles and int64_t, so that one table (amg_options.c) reads and checks them all. */
typedef struct dcsr_i_amg_options {
    double strength, omega, interval, tolerance;
    int64_t block, levels, coarse_rows, lanczos, smoother, steps, cycle, precision, solver, restart,
        iterations, seed, rebuild;
} dcsr_i_amg_options;
void dcsr_i_amg_options_default(dcsr_i_amg_options *options);
/* A number as C writes it, whatever the process's locale; *end as of strtod(). */
double dcsr_i_amg_number(const char *text, const char **end);

/* An array of the context's memory; all zero: none. */
typedef struct dcsr_i_amg_array {
    void *data;
    uint64_t count;
    size_t size;
    size_t bytes; /* of the host's memory, which may be more */
} dcsr_i_amg_array;

/* Memory of the host that was given back, for whoever asks next (memory.c). */
enum { DCSR_I_AMG_MOST_BLOCKS = 192 };
typedef struct dcsr_i_amg_block {
    void *data;
    size_t bytes;
    uint64_t turn; /* in which it was given back */
} dcsr_i_amg_block;
typedef struct dcsr_i_amg_pool {
    dcsr_context *context;
    pthread_mutex_t mutex;
    uint64_t turn; /* setups so far */
    int count;
    dcsr_i_amg_block block[DCSR_I_AMG_MOST_BLOCKS];
} dcsr_i_amg_pool;

/* The rows of a matrix, as all passes read them: row i has the entries begin[i] to end[i] - 1. Those below `fixed`
 * are in arrays that never change, as a setup leaves them; a row that an update changes moves behind them, to
 * moved_columns and moved_values, which are counted on from `fixed`. So a change costs what it changes. After a
 * setup `begin` and `end` are the offsets of a CSR view, or of a level. */
typedef struct dcsr_i_amg_rows {
    uint64_t rows, cols, nnz;
    const uint64_t *begin, *end;
    const uint32_t *columns, *moved_columns;
    const double *values, *moved_values;
    const float *narrow, *moved_narrow; /* the same in fp32, if cycles are (prepare.c) */
    uint64_t fixed;
    uint32_t
        first; /* the column of row 0's diagonal: 0, but for a part of a matrix on several devices (multi/) */
} dcsr_i_amg_rows;
/* One of them. */
typedef struct dcsr_i_amg_span {
    const uint32_t *columns;
    const double *values;
    uint64_t count;
} dcsr_i_amg_span;

/* The row whose diagonal a column has; as many as there are rows or more: it is one of another device. */
static inline uint32_t dcsr_i_amg_own(const dcsr_i_amg_rows *A, uint32_t column)
{
    return column - A->first;
}

static inline dcsr_i_amg_span dcsr_i_amg_span_of(const dcsr_i_amg_rows *A, uint64_t i)
{
    uint64_t begin = A->begin[i], count = A->end[i] - begin;
    if (begin < A->fixed) return (dcsr_i_amg_span){A->columns + begin, A->values + begin, count};
    begin -= A->fixed;
    return (dcsr_i_amg_span){A->moved_columns + begin, A->moved_values + begin, count};
}

/* A matrix: on a device, and where it is a copy that took an operation, with its CSR view; the caller's view alone; or
 * offsets, columns and values of its own. And where an update moves rows to (undo.c): on a device, which reads every
 * row in `columns` and `values`, these have all entries from the first update on, and matrix and view are gone
 * (cuda/follow_memory_cuda.c). */
typedef struct dcsr_i_amg_matrix {
    dcsr_matrix *matrix; /* NULL: the view is the caller's, or there is none */
    dcsr_view *view;
    dcsr_i_amg_array own[3];
    dcsr_i_amg_rows rows;
    dcsr_i_amg_array narrow, moved_narrow; /* what rows has of them */
    dcsr_i_amg_array begins, ends, columns, values;
    uint64_t used, given_up; /* places in columns and values; of them, those of rows that have moved on */
    dcsr_matrix *shown;      /* what there is now, made when somebody asks for a view of it */
    dcsr_view *shown_view;
} dcsr_i_amg_matrix;

/* What a pass works on: the type and the columns of its vectors, and the kernels for these (kernels.h). */
typedef struct dcsr_i_amg_kernels dcsr_i_amg_kernels;
typedef struct dcsr_i_amg_form {
    struct dcsr_i_amg_hierarchy *h;
    struct dcsr_i_divided_solve *divided; /* instead of it: vectors are on several devices (multi/) */
    dcsr_context *context;
    double *sums; /* room for the sums of blocks of rows */
    dcsr_type type;
    int width;
    const dcsr_i_amg_kernels *run;
} dcsr_i_amg_form;

typedef struct dcsr_i_amg_smoothing {
    double keep, add; /* of a step: d = keep d + add D^-1 r */
} dcsr_i_amg_smoothing;

typedef struct dcsr_i_amg_level {
    uint64_t rows, block;
    dcsr_i_amg_matrix A, P, R;
    dcsr_i_amg_array diagonal;
    /* D^-1 of the smoother: 1 / a_ii, 1 / sum |a_ij|, or between; 0 where a_ii is 0. */
    dcsr_i_amg_array scale;
    dcsr_i_amg_smoothing steps[DCSR_I_AMG_MOST_STEPS];
    int step_count;
    bool prepared; /* the next two, and matrices in fp32, belong to A, P and R as they are (prepare.c) */
    dcsr_i_amg_array by_colour, colours; /* for Gauss-Seidel: blocks (rows), and where each colour begins */
    dcsr_i_amg_array x, b, r, d, y;      /* a cycle's, and the setup's in between; of h->width columns */
    dcsr_i_amg_array best[3];            /* of cycles that visit the level twice */
    dcsr_i_amg_array inverse;            /* of the last level, row after row; none: smoothing must do */
    dcsr_amg_level told;
    /* Of the way to the next level, for updates: */
    double theta;               /* what strength was */
    uint64_t vectors;           /* columns of P an aggregate */
    uint64_t aggregates;        /* how many */
    dcsr_i_amg_array aggregate; /* of each node */
    dcsr_i_amg_array B, T;      /* B: none for constants */
    dcsr_i_amg_array norms;     /* squares of the norms of the diagonal blocks, if nodes have several rows */
} dcsr_i_amg_level;

typedef struct dcsr_i_amg_hierarchy {
    dcsr_context *context;
    dcsr_i_amg_pool *pool;                  /* the solver's */
    const struct dcsr_i_amg_engine *engine; /* amg_engine.h */
    void *stream;                           /* of a device, while a call works there */
    dcsr_status failed;                     /* there, first */
    dcsr_i_amg_options options;
    int level_count, width;
    dcsr_i_amg_level level[DCSR_I_AMG_MOST_LEVELS];
    bool other_vectors;    /* the solver has got other near-nullspace vectors since the setup */
    bool lower;            /* its first level is a level of another one (multi/): rows may have no diagonal */
    bool symmetric;        /* level 0, as far as random vectors tell, with a positive diagonal */
    dcsr_i_amg_array sums; /* of blocks of rows, for kernels */
    dcsr_amg_report report;
    struct dcsr_i_amg_follow *follow; /* what updates work with; NULL: there was none yet */
    uint64_t first_iterations;        /* of the first solve since the setup; 0: there was none */
} dcsr_i_amg_hierarchy;

typedef struct dcsr_i_amg_rebuild dcsr_i_amg_rebuild; /* rebuild.c */

struct dcsr_amg {
    dcsr_context *context;
    const struct dcsr_i_amg_engine *engine;
    dcsr_i_amg_options options;
    dcsr_i_amg_array nullspace; /* row after row; none: constants */
    uint64_t nullspace_rows, nullspace_cols;
    dcsr_i_amg_hierarchy *hierarchy; /* NULL: none was set up */
    dcsr_view *view;                 /* the caller's, of the version that it is for */
    bool lower;                      /* of hierarchies to come */
    dcsr_i_amg_rebuild *rebuild;     /* NULL: no setup is under way beside */
    /* Of the last solve: those of a column, then those of the next; how many each has. */
    dcsr_i_amg_array residuals, residual_counts;
    dcsr_i_amg_pool pool;
};

/* ---- Memory of the host (memory.c); that of the engine is in amg_engine.h ---- */

dcsr_status dcsr_i_amg_take(dcsr_i_amg_array *array, dcsr_context *context, uint64_t count, size_t size);
void dcsr_i_amg_drop(dcsr_i_amg_array *array, dcsr_context *context);
/* The same from a pool and back to it; any array of the host may be given. What is borrowed has any content. */
dcsr_status dcsr_i_amg_borrow(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t count, size_t size);
dcsr_status dcsr_i_amg_borrow_zeroed(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t count,
                                     size_t size);
void dcsr_i_amg_give(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool);
void dcsr_i_amg_pool_init(dcsr_i_amg_pool *pool, dcsr_context *context);
void dcsr_i_amg_pool_end(dcsr_i_amg_pool *pool);
/* After a setup: frees what the last ones had no use for. */
void dcsr_i_amg_pool_turn(dcsr_i_amg_pool *pool);
/* An empty one, with the options of the solver. */
dcsr_status dcsr_i_amg_hierarchy_create(dcsr_i_amg_hierarchy **hierarchy, dcsr_amg *amg);
void dcsr_i_amg_hierarchy_destroy(dcsr_i_amg_hierarchy *hierarchy);

/* On the host: makes room for the sums of a pass over `rows` rows (kernels.c). */
dcsr_status dcsr_i_amg_take_sums(dcsr_i_amg_hierarchy *h, uint64_t rows);

/* Seconds on a clock that only goes forward. */
double dcsr_i_amg_now(void);

/* ---- Stages of the setup ---- */

/* The strong neighbours of each node, without itself: those of node i are nodes[begin[i]] to
 * nodes[begin[i] + length[i] - 1]. `begin` is lent by A if nodes are single rows. */
typedef struct dcsr_i_amg_graph {
    uint64_t count;
    const uint64_t *begin;
    uint32_t *length, *nodes;
    dcsr_i_amg_array begins, lengths, neighbours;
} dcsr_i_amg_graph;

/* What rows tell one by one (diagonal.c): the diagonal, sums of |a_ij|, and the first row that cannot be used, which is
 * an error at level 0. */
typedef enum dcsr_i_amg_fault {
    DCSR_I_AMG_EMPTY,
    DCSR_I_AMG_NOT_FINITE,
    DCSR_I_AMG_NO_DIAGONAL
} dcsr_i_amg_fault;
typedef struct dcsr_i_amg_diagonal {
    double gershgorin; /* the largest sum |a_ij| / |a_ii| */
    bool positive;     /* no a_ii is negative */
    /* The fraction of a row's |a_ij| beside the diagonal that is in columns of other devices, to 16 bits; the sum. */
    double outside;
    uint64_t wrong; /* row * 4 + what is wrong with it; UINT64_MAX: none is */
} dcsr_i_amg_diagonal;
/* Gauss-Seidel of parts, each of which takes x of the others as it was, divides by |a_ii| + half the sum of |a_ij|
 * outside: then a sweep forward and one back converge for any A that is symmetric and positive definite, however it is
 * cut (Baker, Falgout, Kolev, Yang: Multigrid smoothers for ultraparallel computing, 2011). */
#define DCSR_I_AMG_OUTSIDE_WEIGHT 0.5
/* One row: false if it cannot be used; diagonal and scale, for a smoother, are written even so. */
bool dcsr_i_amg_read_row(dcsr_i_amg_level *level, uint64_t i, int64_t smoother);
/* `wrong` of a row that cannot be used, and the error for it, in a call of that name. */
uint64_t dcsr_i_amg_fault_of(const dcsr_i_amg_rows *A, uint64_t i);
dcsr_status dcsr_i_amg_refuse(const char *call, uint64_t wrong);
dcsr_status dcsr_i_amg_read_diagonal(dcsr_i_amg_diagonal *found, dcsr_i_amg_hierarchy *h,
                                     dcsr_i_amg_level *level);
/* rho of D^-1 A, by some Lanczos steps if A is symmetric with a positive diagonal, else the bound of
 * Gershgorin (spectrum.c). Clears *symmetric if A turns out not to be. */
double dcsr_i_amg_estimate_rho(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                               const dcsr_i_amg_diagonal *found, bool *symmetric);
/* From the tridiagonal matrix of some steps, which is overwritten; no more than the bound. */
#define DCSR_I_AMG_SAME 1e-8 /* times the bound: how much sums may differ that are equal but for rounding */
double dcsr_i_amg_largest(int steps, double *alpha, double *beta, double bound);
/* strength.c */
dcsr_status dcsr_i_amg_strength(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                                double theta);
/* Of a divided level: its strong entries in columns of other devices (amg_engine.h); |a_ij| is above the threshold
 * times |a_ii|. */
static inline double dcsr_i_amg_outside_threshold(const dcsr_i_amg_level *level)
{
    return level->block == 1 ? level->theta : 0; /* all, where nodes have several rows */
}
dcsr_status dcsr_i_amg_list_outside(dcsr_coo *list, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level);
/* The strong neighbours of one node, from its rows alone; returns how many. `sum` is of as many zeros as there
 * are nodes, or NULL if these are single rows. */
typedef struct dcsr_i_amg_measure {
    const dcsr_i_amg_level *level;
    const double *weight; /* the diagonal; the norms, if nodes have several rows */
    double theta;
} dcsr_i_amg_measure;
uint32_t dcsr_i_amg_connect(uint32_t *strong, const dcsr_i_amg_measure *m, uint64_t node, double *sum);
/* The norm of one node. */
void dcsr_i_amg_weigh(double *norms, const dcsr_i_amg_level *level, uint64_t node);
void dcsr_i_amg_graph_free(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h);
/* aggregate.c: aggregate[node] is a number below count, or DCSR_I_AMG_NO_AGGREGATE. */
#define DCSR_I_AMG_NO_AGGREGATE UINT32_MAX
typedef struct dcsr_i_amg_partition {
    uint32_t *aggregate;
    uint64_t count;
    const dcsr_i_amg_level *like; /* if not NULL: these are its aggregates, and T is its T */
} dcsr_i_amg_partition;
dcsr_status dcsr_i_amg_aggregate(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                                 const dcsr_i_amg_graph *graph);
/* setup.c, on the cpu: whether aggregates still are such: every node with strong neighbours has one of them in its own
 * aggregate. */
bool dcsr_i_amg_hold_together(const dcsr_i_amg_graph *graph, const uint32_t *aggregate, int threads);
/* tentative.c: T has the near-nullspace vectors of the level, row after row, and gets their orthonormal parts;
 * `coarse`, zero before, gets the vectors of the next level. */
dcsr_status dcsr_i_amg_tentative(double *T, double *coarse, dcsr_i_amg_hierarchy *h,
                                 const dcsr_i_amg_level *level, const dcsr_i_amg_partition *parts,
                                 uint64_t vectors);
/* One aggregate: nodes[0] to nodes[count - 1], in order; R is vectors x vectors, zero before. */
void dcsr_i_amg_factorise(double *T, double *R, const uint32_t *nodes, uint64_t count, uint64_t block,
                          uint64_t vectors);
/* prolongator.c: a row of P is what is to be known of its level, and the aggregates that its node reaches:
 * place[a] is right if list[place[a]] is a. strong[node] == stamp marks the node and its strong neighbours. */
typedef struct dcsr_i_amg_smoothed {
    const dcsr_i_amg_level *level;
    const uint32_t *aggregate;
    const double *T;
    uint64_t vectors;
    double factor; /* omega / rho */
} dcsr_i_amg_smoothed;
typedef struct dcsr_i_amg_reach {
    uint32_t *list, *place, *strong;
    uint64_t count;
    uint32_t stamp;
} dcsr_i_amg_reach;
/* Reach of a node; then its rows, of count * vectors entries each, ascending. `values` come as zeros. */
void dcsr_i_amg_reach_from(dcsr_i_amg_reach *r, const dcsr_i_amg_smoothed *P, uint64_t node,
                           const uint32_t *next, uint32_t length);
void dcsr_i_amg_smoothed_row(const dcsr_i_amg_smoothed *P, const dcsr_i_amg_reach *r, uint64_t row,
                             uint64_t node, uint32_t *columns, double *values);
/* P of the level; T and `coarse` as above. */
dcsr_status dcsr_i_amg_prolongator(dcsr_i_amg_level *level, double *T, double *coarse,
                                   dcsr_i_amg_hierarchy *h, const dcsr_i_amg_graph *graph,
                                   const dcsr_i_amg_partition *parts, uint64_t vectors);
/* coarse.c: the dense pseudo-inverse of the last level. */
dcsr_status dcsr_i_amg_invert(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level);
/* Of the host, for its engine: coarse.c and rows.c. */
dcsr_status dcsr_i_amg_bring_dense(double *dense, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);
dcsr_status dcsr_i_amg_collect(dcsr_matrix **made, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows);
/* rows.c: takes a CSR view of the matrix, in which columns ascend; the rows of the view that there is; a copy of a view
 * of entries of a type. */
dcsr_status dcsr_i_amg_matrix_view(dcsr_i_amg_matrix *m);
dcsr_status dcsr_i_amg_matrix_rows(dcsr_i_amg_matrix *m);
dcsr_i_amg_rows dcsr_i_amg_rows_of(const dcsr_csr *csr);
void dcsr_i_amg_matrix_free(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h);
dcsr_status dcsr_i_amg_copy_view(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, dcsr_view *A,
                                 const dcsr_view_shape *shape, dcsr_type type);
/* A CSR view of what the matrix is now; NULL: it was not made. */
dcsr_status dcsr_i_amg_show(dcsr_view **view, dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h);

/* ---- Matrices of levels on the cpu, in memory of the pool (rows.c, products.c) ---- */

/* Room for rows + 1 offsets, own[0], of which the first is 0 and the others come with any content; and once these are
 * set, for the entries, own[1] and own[2], unless there is some: then m->rows are these. */
dcsr_status dcsr_i_amg_own_offsets(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows);
dcsr_status dcsr_i_amg_own_entries(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows,
                                   uint64_t cols);
/* Makes room for so many elements, and keeps the `used` ones that there are. */
dcsr_status dcsr_i_amg_extend(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t used, uint64_t count,
                              size_t size);

/* Sort numbers, ascending. memory.c. */
void dcsr_i_amg_sort32(uint32_t *numbers, uint64_t count);
void dcsr_i_amg_sort64(uint64_t *numbers, uint64_t count);

/* In how many rows two matrices of as many rows differ, bit by bit. */
uint64_t dcsr_i_amg_count_differing(const dcsr_i_amg_rows *a, const dcsr_i_amg_rows *b,
                                    dcsr_context *context);
/* Whether most rows of a view of as many rows differ from these, by a sample. */
bool dcsr_i_amg_looks_new(const dcsr_i_amg_rows *rows, dcsr_view *A);

/* R = P^T, of rows as a setup leaves them. */
dcsr_status dcsr_i_amg_transpose(dcsr_i_amg_matrix *R, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *P);
/* R A P of the level. Rows of `like`, if it is not NULL, are taken for patterns where they fit, which saves sorting. */
dcsr_status dcsr_i_amg_galerkin(dcsr_i_amg_matrix *next, dcsr_i_amg_hierarchy *h,
                                const dcsr_i_amg_level *level, const dcsr_i_amg_rows *like);

/* setup.c: R = P^T of the level. */
dcsr_status dcsr_i_amg_make_R(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level);
/* setup.c: the report, from the levels. */
void dcsr_i_amg_tell(dcsr_i_amg_hierarchy *h);
/* setup.c: A as the first level, in the caller's arrays if these will do; then all levels. With `like`, whose matrix
 * has the same rows, its rho and aggregates are kept, as long as these hold together. */
dcsr_status dcsr_i_amg_adopt(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_amg *amg, bool copies);
dcsr_status dcsr_i_amg_build(dcsr_i_amg_hierarchy *h, const dcsr_amg *amg, const dcsr_i_amg_hierarchy *like);

/* ---- Solving ---- */

/* The coefficients of the smoother's steps (cycle.c). */
void dcsr_i_amg_plan_smoothing(dcsr_i_amg_level *level, const dcsr_i_amg_options *options);
/* Vectors of one level for cycles over `width` columns; the setup's are of one column (cycle.c). */
dcsr_status dcsr_i_amg_take_vectors(dcsr_i_amg_hierarchy *h, int number, int width);
/* The same for all levels, unless they are wide enough. */
dcsr_status dcsr_i_amg_make_wide(dcsr_i_amg_hierarchy *h, int width);
/* What cycles need besides the matrices: colours, A, P and R in fp32, as far as the options ask for them; for levels
 * that are not prepared. An update leaves the levels that it has changed unprepared, for the next solve
 * (prepare.c). */
dcsr_status dcsr_i_amg_prepare(dcsr_i_amg_hierarchy *h);
/* Of one level; A is in fp32 only if somebody reads it there. */
dcsr_status dcsr_i_amg_prepare_level(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, bool A_is_read);
/* colour.c: by_colour and colours, new ones where there are some. */
dcsr_status dcsr_i_amg_colour(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level);
/* x = M^-1 b, one cycle from zero. x and b are of level 0 and do not overlap; fp64, of so many columns. Cycles
 * in fp32 divide each column of b by its norm, of which only the order of magnitude matters. */
void dcsr_i_amg_precondition(dcsr_i_amg_hierarchy *h, int width, const double *norms, double *x,
                             const double *b);

/* Of a `lower` hierarchy, whose first level has vectors of its own: x = M^-1 b of it, of the cycles' precision; `more`:
 * with the second visit that W- and K-cycles make. */
void dcsr_i_amg_visit(dcsr_i_amg_hierarchy *h, bool more);
/* What K-cycles make of two visits to a level, c for b and x for r = b - step v, where v = A c: step c + again x, the
 * best of all such in the norm of A (Notay: Recursive Krylov-based multigrid cycles, 2008). The first gives the best
 * of c alone, and an `again` of 0 where that will do. cv stands for c^T v, w is A x. */
typedef struct dcsr_i_amg_best {
    double step, again;
} dcsr_i_amg_best;
dcsr_i_amg_best dcsr_i_amg_best_of_one(double cv, double cb, double bb, double vb, double vv);
dcsr_i_amg_best dcsr_i_amg_best_of_two(dcsr_i_amg_best one, double cv, double xv, double xr, double xw);

/* A right-hand side. Once it has an outcome, its x no longer changes. */
typedef struct dcsr_i_amg_column {
    double norm;       /* |b| */
    double *residuals; /* of each iteration, relative */
    double residual;   /* |b - A x| / |b| */
    uint64_t iterations;
    dcsr_amg_outcome outcome;
} dcsr_i_amg_column;
/* A solve (krylov.c). The vectors are its own, such as the form's kernels take. The methods go on until all columns
 * have an outcome. */
typedef struct dcsr_i_amg_solve {
    dcsr_i_amg_hierarchy *h; /* NULL: on several devices */
    dcsr_i_amg_form form;    /* fp64, of as many columns as there are of b */
    const dcsr_i_amg_rows *A;
    const dcsr_i_amg_options *options;
    bool flexible; /* a cycle is no fixed matrix */
    /* z = M^-1 r: a cycle; `norms` are about those of r. */
    void (*precondition)(struct dcsr_i_amg_solve *s, const double *norms, void *z, const void *r);
    void *x;
    const void *b;
    void *r;       /* b - A x */
    void **vector; /* as many as the method has */
    double *small; /* for fgmres: the Hessenberg matrices and what goes with them */
    dcsr_i_amg_column column[DCSR_I_AMG_MOST_WIDTH];
} dcsr_i_amg_solve;
void dcsr_i_amg_cg(dcsr_i_amg_solve *s);
void dcsr_i_amg_bicgstab(dcsr_i_amg_solve *s);
void dcsr_i_amg_fgmres(dcsr_i_amg_solve *s);
void dcsr_i_amg_cycles(dcsr_i_amg_solve *s);

/* A method (solve.c): as the option `solver` names it, or the one that A wants. */
typedef struct dcsr_i_amg_method {
    const char *name;
    void (*run)(dcsr_i_amg_solve *);
    uint64_t vectors;
} dcsr_i_amg_method;
dcsr_i_amg_method dcsr_i_amg_method_of(const dcsr_i_amg_options *options, bool symmetric);
/* The numbers of `small` for a column, with these options; 0: the method has none. */
uint64_t dcsr_i_amg_small_numbers(const dcsr_i_amg_method *how, const dcsr_i_amg_options *options);
/* Makes room for the residuals of a solve for this many columns, and drops those of the last solve. */
dcsr_status dcsr_i_amg_take_residuals(dcsr_amg *amg, uint64_t columns);
/* Whether all values are finite. x and b are rows x columns arrays, stored column by column. */
dcsr_status dcsr_i_amg_check_values(dcsr_context *context, const double *x, const double *b, uint64_t rows,
                                    uint64_t columns);
/* Whether X and B have this many rows, and the same number of columns. */
dcsr_status dcsr_i_amg_check_dense(const dcsr_dense *X, const dcsr_dense *B, uint64_t rows);
/* Solves for `count` columns from column `first` on, no more than the form has. x is where to start, and becomes the
 * solution; the residuals are kept in `amg`. */
void dcsr_i_amg_run(dcsr_i_amg_solve *s, const dcsr_i_amg_method *how, dcsr_amg *amg, uint64_t first,
                    int count);
/* Writes the result of one column, whose solve began at `start`, into a report. */
void dcsr_i_amg_tell_column(dcsr_amg_report *report, const dcsr_i_amg_column *column,
                            const dcsr_i_amg_method *how, double start);

#endif
