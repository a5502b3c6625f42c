/* levels.h: a hierarchy on several devices (internal).
 *
 * The levels 0 to count - 1 are divided: device k has some rows of A, as a part of a partitioned matrix, which all
 * multiply with together; and in a hierarchy of its own (own[k]) what concerns these rows alone. Its aggregates are of
 * its own rows, and P leads to its own rows of the next level, R back; but for the rows at its borders, for which there
 * is more of P and R in partitioned matrices with few entries (across.c). Level `count` is on the first device, as the
 * first one of a hierarchy for one device (`last`).
 *
 *      own[k]->level[l].A   the rows of the part, whose columns are those of the whole: own ones begin at rows.first
 *      own[k]->level[l].P   part k's rows x part k's rows of level l + 1
 *      own[k]->level[count] only b: part k's rows of the level that is on one device */
#ifndef DCSR_AMG_MULTI_LEVELS_H
#define DCSR_AMG_MULTI_LEVELS_H

#include "amg/amg_engine.h"
#include <dcsr/multi.h>

/* What is added to P or R across borders. */
typedef struct dcsr_i_across {
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view; /* NULL: nothing is */
} dcsr_i_across;

typedef struct dcsr_i_divided_level {
    dcsr_multi_matrix *matrix; /* NULL: the view is the caller's */
    dcsr_multi_view *A;
    dcsr_multi_matrix *narrow_matrix; /* for cycles in fp32: A in that; else NULL */
    dcsr_multi_view *narrow_A;
    dcsr_multi_vector *x, *q; /* of a cycle: what it makes, unless that is the caller's; A x, and b - A x */
    dcsr_i_across P, R;
    dcsr_multi_vector *y; /* what R across borders adds to b of the next level */
    dcsr_amg_level told;
} dcsr_i_divided_level;

typedef struct dcsr_i_divided {
    dcsr_multi *devices;
    uint64_t parts;
    dcsr_context *context; /* of the first device: memory of the host is counted there */
    int count;
    dcsr_i_divided_level level[DCSR_I_AMG_MOST_LEVELS];
    uint64_t border[DCSR_I_AMG_MOST_LEVELS][DCSR_MAX_DEVICES + 1]; /* of the rows of level 0 to count */
    dcsr_i_amg_hierarchy *own[DCSR_MAX_DEVICES];
    bool symmetric;
    uint64_t vectors;      /* of the near-nullspace: columns of P an aggregate */
    dcsr_type type;        /* of cycles: of their vectors, and of A, P and R for them */
    dcsr_matrix *gathered; /* level `count` */
    dcsr_view *gathered_view;
    dcsr_amg *last;
    dcsr_multi_amg_info info;
} dcsr_i_divided;

struct dcsr_multi_amg {
    dcsr_multi *devices;
    uint64_t parts;
    dcsr_context *context[DCSR_MAX_DEVICES];
    dcsr_amg *solver
        [DCSR_MAX_DEVICES]; /* of each device: its options, and its pool; the first has the vectors, too */
    uint64_t one_device;    /* the most rows of a level that is on one device */
    double outside;         /* the most that is outside of a level that is not */
    dcsr_i_divided *levels; /* NULL: there was no setup */
};

/* How many rows a device has of a level; all devices. */
static inline uint64_t dcsr_i_divided_rows(const dcsr_i_divided *d, int number, uint64_t k)
{
    return d->border[number][k + 1] - d->border[number][k];
}
static inline uint64_t dcsr_i_divided_all(const dcsr_i_divided *d, int number)
{
    return d->border[number][d->parts];
}

/* divided_cycle.c: the part of a vector that device k has, where its memory is; for a device without rows NULL. */
dcsr_status dcsr_i_divided_lend(void **values, dcsr_multi_vector *vector, const dcsr_i_amg_hierarchy *own,
                                uint64_t k, uint64_t rows);

/* divide.c: the levels for A; `like`, if it is not NULL: with its aggregates and rho while these hold together; *why
 * says why they did not, or is NULL. */
dcsr_status dcsr_i_divide(dcsr_i_divided **made, dcsr_multi_amg *amg, dcsr_multi_view *A,
                          const dcsr_i_divided *like, const char **why);
void dcsr_i_divided_destroy(dcsr_i_divided *d);

/* across.c, after the aggregates and what smooths P are known. P and R across borders, of the devices' rows of T, which
 * are in their engines' memory (NULL: none), and of their aggregates; they are added to P[k], the devices' own P with
 * columns of all. Then, to the devices' products R A P, what R across borders makes of A P. Matrices that are added to
 * sum up. */
dcsr_status dcsr_i_across_make(dcsr_i_divided *d, int number, const double *const *T, dcsr_matrix *const *P);
dcsr_status dcsr_i_across_add(dcsr_i_divided *d, int number, dcsr_multi_view *A_P,
                              dcsr_matrix *const *product);
void dcsr_i_across_free(dcsr_i_across *across);

/* divided_spectrum.c: rho of D^-1 A of a level whose rows the devices have, as dcsr_i_amg_estimate_rho() finds it;
 * clears d->symmetric if A turns out not to be. `gershgorin` is the bound, for all rows. */
dcsr_status dcsr_i_divided_rho(double *rho, dcsr_i_divided *d, int number, double gershgorin);

/* divided_prepare.c: what cycles over a level need besides its matrices, once the next one is made: vectors; in fp32
 * A, P and R; for Gauss-Seidel colours. */
dcsr_status dcsr_i_divided_prepare(dcsr_i_divided *d, int number);
/* A vector of zeros, cut as a view's rows are. */
dcsr_status dcsr_i_divided_make_vector(dcsr_multi_vector **vector, dcsr_multi_view *like, dcsr_type type);

/* multi_amg.c: whether there are levels, for a call of that name. */
dcsr_status dcsr_i_divided_check(const dcsr_multi_amg *amg, const char *call);

/* divided_cycle.c: z = M^-1 r. */
dcsr_status dcsr_i_divided_cycle(dcsr_i_divided *d, dcsr_multi_vector *z, dcsr_multi_vector *r);

#endif
