/* multi_amg.h: algebraic multigrid on several devices: the preconditioner of dcsr_multi_cg().
 *
 *      level 0   A    | A0 | A1 | A2 | A3 |     each device makes aggregates of its own rows, and P and R for them;
 *      level 1   A'   | .. | .. | .. | .. |     products with A, A' are dcsr_multi_spmv()
 *      ...
 *      level d        |    one device     |     a dcsr_amg from there on
 *
 *      dcsr_multi_amg *amg;
 *      dcsr_multi_cg_result result;
 *      dcsr_multi_amg_create(&amg, devices);
 *      dcsr_multi_amg_setup(amg, A, NULL);
 *      dcsr_multi_cg(x, &result, A, b, &(dcsr_multi_cg_options){.amg = amg});
 *      dcsr_multi_amg_destroy(amg);
 *
 * The method and its options are those of dcsr/amg.h; docs/AMG.md says what differs. Results are the same, bit for bit,
 * each time with the same devices; on the cpu for any number of threads. Destroy it before its devices.
 *
 * Threads: calls on one dcsr_multi_amg must follow one another. */
#ifndef DCSR_MULTI_AMG_H
#define DCSR_MULTI_AMG_H

#include <dcsr/amg.h>
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_multi_amg dcsr_multi_amg;

/* Creates one with the default options. *amg is NULL on failure. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED. */
DCSR_API dcsr_status dcsr_multi_amg_create(dcsr_multi_amg **amg, dcsr_multi *devices);
DCSR_API void dcsr_multi_amg_destroy(dcsr_multi_amg *amg);

/* Sets an option for setups to come: one of dcsr_amg_set(), or `one_device`: a level of that many rows or fewer is
 * brought to the first device, which has a dcsr_amg for it and all below. Options of the solve change nothing: those of
 * dcsr_multi_cg() count. Errors: as dcsr_amg_set(). */
DCSR_API dcsr_status dcsr_multi_amg_set(dcsr_multi_amg *amg, const char *name, const char *value);

typedef struct dcsr_multi_amg_info {
    uint64_t levels;
    uint64_t divided;           /* of them, from the first on: those that all devices have parts of */
    double operator_complexity; /* entries of all levels over those of A */
    double grid_complexity;     /* rows of all levels over those of A */
    bool symmetric;             /* A is, as far as random vectors tell, and its diagonal is positive */
    double setup_seconds;
} dcsr_multi_amg_info;

/* Makes the levels for A. Give it a CSR view of an fp64 matrix: its arrays are used in place; others are copied. The
 * view must not be destroyed before the next setup or update, or dcsr_multi_amg_destroy(). info may be NULL. On failure
 * the levels made before are as they were.
 *
 * Errors: INVALID_ARGUMENT (NULL; other devices; a row without entries or with a zero diagonal, or a value that is not
 * finite: the message names the first such row; an option that is for one device alone: block above 1, precision=fp32,
 * cycle=K, smoother=gauss-seidel), DIMENSION_MISMATCH (A is not square), TYPE_MISMATCH (not fp64), TOO_LARGE (2^31 rows
 * and more), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE.
 *
 * Cost on each device: as dcsr_amg_setup() for its part, and what a dcsr_multi_mxm() takes to fetch rows of P. Memory
 * on each: as there, P again while a level is made, and on the first the levels that it has alone. */
DCSR_API dcsr_status dcsr_multi_amg_setup(dcsr_multi_amg *amg, dcsr_multi_view *A, dcsr_multi_amg_info *info);

/* Makes the levels for A again, where it is a later version of the matrix that they were made for; both views must be
 * there until this returns. On the cpu aggregates and rho of divided levels are kept while the aggregates hold together
 * and borders are as they were: RECOMPUTED; else all is set up anew: SET_UP, and the report says why. The levels do not
 * follow single rows, as those of dcsr_amg do, so rows_changed and rows_touched are 0, as are iterations, which
 * dcsr_multi_cg() tells. report may be NULL. Errors: as dcsr_multi_amg_setup(), and INVALID_ARGUMENT if there was
 * none; the levels are then as they were. Cost: that of a setup, but for aggregates and rho. */
DCSR_API dcsr_status dcsr_multi_amg_update(dcsr_multi_amg *amg, dcsr_multi_view *A,
                                           dcsr_amg_update_report *report);

/* z = M^-1 r: one cycle from zero. r has every element, z gets every element; both are fp64 vectors with the borders of
 * A's rows, created from the view that the levels are for, say, and not the same. Errors: INVALID_ARGUMENT (NULL, no
 * setup, an element of r is missing, other borders), DIMENSION_MISMATCH, TYPE_MISMATCH, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED, DEVICE; z may be overwritten in part. */
DCSR_API dcsr_status dcsr_multi_amg_apply(dcsr_multi_amg *amg, dcsr_multi_vector *z,
                                          const dcsr_multi_vector *r);

/* Errors: INVALID_ARGUMENT (NULL, no setup). */
DCSR_API dcsr_status dcsr_multi_amg_get_info(const dcsr_multi_amg *amg, dcsr_multi_amg_info *info);
/* One level of the last setup; seconds are those of the slowest device. Errors: also INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_multi_amg_get_level(const dcsr_multi_amg *amg, uint64_t number,
                                              dcsr_amg_level *level);

#ifdef __cplusplus
}
#endif
#endif
