/* amg.h: algebraic multigrid by smoothed aggregation: solves A x = b where A comes from an elliptic problem.
 *
 *      setup   strength of connection, aggregates of rows, P from the near-nullspace vectors B (A B is about 0),
 *              smoothed by Jacobi, R = P^T, and R A P as the next level, until that is small
 *      solve   a cycle through the levels, as the preconditioner of a Krylov method, or alone; for several
 *              right-hand sides at once
 *
 *      dcsr_amg *amg = NULL;
 *      dcsr_amg_report report;
 *      dcsr_amg_create(&amg, context);
 *      dcsr_amg_set(amg, "tolerance", "1e-10");
 *      dcsr_amg_setup(amg, A, NULL);
 *      dcsr_amg_solve(amg, x, b, &report);
 *      dcsr_amg_destroy(amg);
 *
 * docs/AMG.md tells what each option does. All is in double precision unless the option precision says otherwise,
 * on the context's device. Results are bitwise the same for any number of threads, and each time on a device. Levels
 * there have the entries that they have on the cpu, if the entries of rows of A come in the same order, with values
 * that are the same but for rounding.
 *
 * Threads: calls on one dcsr_amg must follow one another.
 *
 * After Vanek, Mandel, Brezina: Algebraic multigrid by smoothed aggregation (1996); aggregates after Bell, Dalton,
 * Olson: Exposing fine-grained parallelism in algebraic multigrid methods (2012). */
#ifndef DCSR_AMG_H
#define DCSR_AMG_H

#include <dcsr/reader.h>
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_amg dcsr_amg;

/* Creates a solver with the default options. *amg is NULL on failure.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CONTEXT_DESTROYED. */
DCSR_API dcsr_status dcsr_amg_create(dcsr_amg **amg, dcsr_context *context);

/* Destroys the solver and its levels. NULL does nothing. */
DCSR_API void dcsr_amg_destroy(dcsr_amg *amg);

/* An option. The texts are constant. */
typedef struct dcsr_amg_option {
    const char *name;
    const char *values;   /* "V|W|K" for a choice, "0 to 1" for a number */
    const char *standard; /* the default */
    const char *help;     /* one line */
} dcsr_amg_option;
/* The options that there are: number 0, 1, ...; NULL beyond the last. */
DCSR_API const dcsr_amg_option *dcsr_amg_option_at(uint64_t number);

/* Sets an option. Those of the solve (solver, tolerance, iterations, restart) hold from the next
 * dcsr_amg_solve() on, the others from the next dcsr_amg_setup() on. Errors: NOT_FOUND (no such option: the
 * message lists all), INVALID_ARGUMENT (the value: the message says what is allowed). */
DCSR_API dcsr_status dcsr_amg_set(dcsr_amg *amg, const char *name, const char *value);

/* Sets the near-nullspace vectors, one a column of B, for setups to come: what A nearly maps to zero, for
 * elasticity the rigid-body modes. They are copied. NULL: constants, one for each row of a node (the option
 * block), which is the default. Errors: INVALID_ARGUMENT (no column or more than 64, values that are not
 * finite), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_amg_set_nullspace(dcsr_amg *amg, const dcsr_dense *B);

/* How a solve ended. */
typedef enum dcsr_amg_outcome {
    DCSR_AMG_NONE = 0,   /* there was no solve yet */
    DCSR_AMG_CONVERGED,  /* |b - A x| <= tolerance |b| */
    DCSR_AMG_LIMIT,      /* the iterations are used up */
    DCSR_AMG_STAGNATED,  /* the residual no longer falls: rounding, or b is not in the range of A */
    DCSR_AMG_DIVERGED,   /* the residual has grown a million times, or is not finite */
    DCSR_AMG_INDEFINITE, /* conjugate gradients met a direction p with p^T A p <= 0 */
    DCSR_AMG_BREAKDOWN   /* the Krylov method divided by zero */
} dcsr_amg_outcome;
/* A sentence about it, constant; with what to try. */
DCSR_API const char *dcsr_amg_outcome_text(dcsr_amg_outcome outcome);

typedef struct dcsr_amg_report {
    uint64_t levels;
    double operator_complexity; /* entries of all levels over those of A */
    double grid_complexity;     /* rows of all levels over those of A */
    bool symmetric;             /* A is, as far as random vectors tell, and its diagonal is positive */
    double setup_seconds;
    /* Of the last solve; after a setup all zero. */
    dcsr_amg_outcome outcome;
    const char *solver; /* the method that was used, as the option names it */
    uint64_t iterations;
    double residual; /* |b - A x| / |b|, computed anew from x */
    double solve_seconds;
} dcsr_amg_report;

/* Makes the levels for A. If A is a CSR view of an fp64 matrix, its arrays are used in place; else they are
 * copied. The view must not be destroyed before the next setup or dcsr_amg_destroy(). An entry that the view
 * shows more than once counts each time. report may be NULL. On failure the levels made before are as they
 * were.
 *
 * Errors: INVALID_ARGUMENT (NULL; another context; a row without entries or with a zero diagonal, or a value
 * that is not finite: the message names the first such row), DIMENSION_MISMATCH (A is not square, its rows are
 * no multiple of the option block, or the near-nullspace vectors have other rows), TOO_LARGE (2^31 rows and
 * more), OUT_OF_MEMORY, CONTEXT_DESTROYED.
 *
 * Cost: O(entries) for the usual matrices, some ten passes over A and two products of matrices per level.
 * Memory: P and R, five vectors, and the same with up to ten vectors for the other levels, which have a tenth of the
 * rows or less for most matrices; with precision=fp32 4 bytes an entry more; on a GPU A P while R A P is computed. On
 * the cpu what a setup has worked with, and the levels that it has replaced, are kept for the next one until
 * dcsr_amg_destroy(); when a setup or update finds no other memory, they are given back first. */
DCSR_API dcsr_status dcsr_amg_setup(dcsr_amg *amg, dcsr_view *A, dcsr_amg_report *report);

/* What an update did. */
typedef enum dcsr_amg_updated {
    DCSR_AMG_UNCHANGED = 0, /* A has not changed */
    DCSR_AMG_PATCHED,       /* the levels have followed A */
    DCSR_AMG_RECOMPUTED,    /* all of them were computed again, with rho and the aggregates of before */
    DCSR_AMG_SETTING_UP,    /* so they have, and a setup is under way beside */
    DCSR_AMG_SET_UP         /* they were set up anew */
} dcsr_amg_updated;

typedef struct dcsr_amg_update_report {
    dcsr_amg_updated how;
    const char *why;       /* of a setup: a sentence, constant; else NULL */
    uint64_t rows_changed; /* of A */
    uint64_t rows_touched; /* of the matrices A of all levels; dcsr_amg_get_level() has those of each */
    double seconds;
    uint64_t iterations;       /* of the last solve, */
    uint64_t first_iterations; /* and of the first since the last setup; 0: there was none */
} dcsr_amg_update_report;

/* Lets the levels follow A: a view of a later version of the matrix that the last setup or update was given a view
 * of. Both views must be there until this returns; afterwards A alone is needed, until the next setup, update or
 * dcsr_amg_destroy(). Give views of segments, to the setup as well: what has changed is then found without looking
 * at the rest.
 *
 * Rows that differ may have other values or another pattern, or be emptied but for the diagonal. Strength is
 * computed again for them and what is beside them; aggregates are kept where they still hold together; T, P, R and
 * rows of the next level are computed again where they are reached, and so on down. Each level is bit for bit what
 * the products R A P of these prolongators are. The estimates rho are those of the last setup.
 *
 * If more than a tenth of the rows have changed, all levels are computed again, as that takes less time than to
 * follow; rho and aggregates are kept where these hold together.
 *
 * A setup follows where more than a tenth of the rows have changed, or iterations have risen by more than a fifth
 * since the last one; the option rebuild says how: beside, in a thread, to be taken over by the next update or
 * solve that finds it ready (auto), at once (now), or not at all (never). Where the levels cannot follow they are
 * set up at once: A has other dimensions or is not symmetric any more, or rows became connected that no aggregate is
 * near. report may be NULL.
 *
 * On a GPU levels follow in the same way where A is symmetric; nodes of several rows must all be able to stay in their
 * aggregates, and an aggregate that has lost all its nodes is not taken by others. Else levels are set up at once, as
 * they are where more than a tenth of the rows have changed; and with rebuild=auto they are set up at once, not
 * beside. Values agree with those of a setup but for the contraction of products and sums.
 *
 * Errors: as dcsr_amg_setup(); INVALID_ARGUMENT also if there was no setup, or A is a view of another matrix. The
 * levels are then as they were, and go on to solve with the version before.
 *
 * Cost: O(entries of rows that changed, and of the rows of all levels that these reach); the first update after a
 * setup from a CSR view copies A, and the first of all takes O(rows) for what it works with. If A is not symmetric
 * also some passes over all entries. Memory: rows that change are kept beside the old ones; on a GPU a quarter more
 * for A, P and R from the first update on, and 60 bytes a row while an update lasts. */
DCSR_API dcsr_status dcsr_amg_update(dcsr_amg *amg, dcsr_view *A, dcsr_amg_update_report *report);

/* Solves A x = b from the x that is given, until |b - A x| <= tolerance |b|. x and b have the rows of A and do
 * not overlap. report may be NULL. That a solve does not converge is no error: report->outcome tells it, and x
 * is what was reached. Errors: INVALID_ARGUMENT (NULL, no setup, values in x or b that are not finite),
 * OUT_OF_MEMORY (x is then as it was), CONTEXT_DESTROYED. Memory: fgmres takes 2 restart + 2 vectors, the other
 * methods six or fewer. */
DCSR_API dcsr_status dcsr_amg_solve(dcsr_amg *amg, double *x, const double *b, dcsr_amg_report *report);

/* The same with x and b in the memory of the context's GPU. They have to be ready when the call is made, and x is when
 * it returns. Errors: also INVALID_ARGUMENT (an array is in host memory, or in that of another GPU; the context is on
 * the cpu). */
DCSR_API dcsr_status dcsr_amg_solve_device(dcsr_amg *amg, double *x, const double *b,
                                           dcsr_amg_report *report);

/* Solves A X = B for each column, as dcsr_amg_solve() does for one. X and B have the rows of A and as many
 * columns as each other, and do not overlap. reports may be NULL; else it has one report a column, each with the
 * seconds until its column was done. Up to eight columns share each pass over the levels, so that several take
 * clearly less than as many solves; a column that has its outcome no longer changes. Errors: as
 * dcsr_amg_solve(), and DIMENSION_MISMATCH. Memory: that of a solve times min(8, columns rounded up to a power of
 * 2), and as much for the vectors of the levels, which keep it. */
DCSR_API dcsr_status dcsr_amg_solve_many(dcsr_amg *amg, dcsr_dense *X, const dcsr_dense *B,
                                         dcsr_amg_report *reports);

/* One level of the last setup. */
typedef struct dcsr_amg_level {
    uint64_t rows, nnz;
    double share; /* of the entries of all levels */
    double rho;   /* estimated spectral radius of D^-1 A; 0 for the last level, if that is solved directly */
    bool direct;  /* solved by a dense pseudo-inverse */
    /* What it took to make the next level; of the last one, to invert it (product). */
    double strength_seconds, aggregate_seconds, prolongator_seconds, product_seconds, smoother_seconds;
    /* Of the last update: rows of A that it changed on this level, and what it took to follow them. */
    uint64_t rows_touched;
    double update_seconds;
} dcsr_amg_level;
/* Errors: INVALID_ARGUMENT (NULL, no setup), INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_amg_get_level(const dcsr_amg *amg, uint64_t number, dcsr_amg_level *level);

/* |b - A x| / |b| before the first and after each iteration of the last solve, as the method computes it, for one
 * of its columns (0 if there was but one). The array is lent until the next call on the solver. Errors:
 * INVALID_ARGUMENT, INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_amg_get_residuals(const dcsr_amg *amg, uint64_t column, uint64_t *count,
                                            const double **residuals);

/* For those who want to look at the method: views of A, P and R of a level, lent as long as the levels are;
 * P and R are NULL for the last one. Each pointer may be NULL. On the cpu the first call after a setup or update copies
 * what it shows, unless that is the caller's own view. Errors: as dcsr_amg_get_level(), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_amg_get_views(const dcsr_amg *amg, uint64_t level, dcsr_view **A, dcsr_view **P,
                                        dcsr_view **R);

#ifdef __cplusplus
}
#endif
#endif
