/* tune.h: `dcsr tune`: measuring kernels on many matrices, and training the model that chooses among them. */
#ifndef DCSR_TUNE_H
#define DCSR_TUNE_H

#include "cli/cli.h"
#include <dcsr/features.h>
#include <dcsr/spmv.h>

/* ---- tune_matrices.c: what is measured ---- */

enum { TUNE_NAME = 160 };

/* A matrix of the collection, or made from one of the user's. */
typedef struct tune_matrix {
    char name[TUNE_NAME]; /* says all that it was made from */
    const char *family;
    bool fragmented; /* inserted in several batches, so that rows lie in pieces */
    dcsr_coo coo;
} tune_matrix;

/* How many matrices the collection has, if each comes in three variants: as it is, with columns left out, and the
 * transpose of that. */
typedef enum tune_scale {
    TUNE_QUICK,
    TUNE_CPU,
    TUNE_CUDA,
    TUNE_SCALES
} tune_scale; /* how many, of which sizes */
uint64_t tune_collection_size(tune_scale scale);
/* Makes matrix `number`, or only its name and family. The same for the same seed. Kinds and sizes take turns, so that
 * the first ones are of all of them. */
dcsr_status tune_collection_make(dcsr_context *context, tune_matrix *matrix, uint64_t number,
                                 tune_scale scale, uint64_t seed, bool name_only);
/* Makes variant 0, 1 or 2 of a MATRIX, which the caller has loaded. */
int tune_users_make(cli_state *cli, tune_matrix *matrix, const dcsr_coo *coo, const char *source, int variant,
                    uint64_t seed);

/* ---- tune_ahead.c: the matrices of the collection one after the other, some of them made ahead ---- */

typedef struct tune_ahead tune_ahead;
/* Those of some numbers, which stay the caller's. */
int tune_ahead_open(tune_ahead **ahead, cli_state *cli, tune_scale scale, uint64_t seed,
                    const uint64_t *numbers, uint64_t count);
/* The next, which is the caller's then; no more than `count` times. */
int tune_ahead_next(tune_ahead *ahead, cli_state *cli, tune_matrix *matrix);
void tune_ahead_close(tune_ahead *ahead);

/* ---- tune_measure.c: what kernels cost ---- */

enum { TUNE_KERNELS = 64 };

/* Of a kernel: seconds of a product, seconds of building its format, joules of a product; NaN where it does not take
 * the matrix or that cannot be measured. */
typedef struct tune_cost {
    double seconds, build, joules;
} tune_cost;

/* Of a product with a sparse vector: seconds by columns, by rows, by tiles, and as dcsr_mxv() does it by itself, NaN
 * where that was not measured; which of the first three that is: 0, 1, 2; and what there is to do: elements of the
 * vector, entries of their columns, and rows that are wanted. */
enum { TUNE_PRODUCTS = 21, TUNE_WAYS = 4 };
typedef struct tune_vector_cost {
    double way[TUNE_WAYS], taken, elements, entries, wanted;
} tune_vector_cost;

/* What was measured of a matrix. */
typedef struct tune_result {
    dcsr_features features;
    tune_cost cost[TUNE_KERNELS]; /* in the order of the device's kernels */
    tune_vector_cost vector[TUNE_PRODUCTS];
} tune_result;

int tune_measure(cli_state *cli, tune_result *result, const tune_matrix *matrix, bool energy);

/* ---- tune_vectors.c: products with sparse vectors ---- */

/* The vector's elements are the columns of a share of all, from .. to: in no order, or as they are reached; a search
 * wants the rows that are not yet. */
typedef struct tune_product {
    const char *name;
    double from, to;
    bool reached, search;
} tune_product;
extern const tune_product tune_products[TUNE_PRODUCTS];
int tune_measure_vectors(cli_state *cli, tune_vector_cost costs[TUNE_PRODUCTS], dcsr_matrix *matrix,
                         const dcsr_coo *coo);

/* ---- tune_energy.c: joules ---- */

/* Whether the machine tells what it takes. On the cpu: all packages of the folder that powercap has for RAPL, which is
 * that of the system or, for tests, the one that DCSR_POWERCAP names. On a GPU: the board, by NVIDIA's management
 * library, libnvidia-ml.so.1 or, for tests, the one that DCSR_NVML names. */
bool tune_energy_is_known(cli_state *cli);
/* Joules since some time in the past; NaN where that is not known. Counters that begin anew are taken into account if
 * it is called at least every minute or so. */
double tune_energy_joules(void);

/* ---- tune_table.c: what was measured, in a file ---- */

typedef struct tune_table {
    char path[4096];
    FILE *file;   /* to append to */
    char **names; /* of the matrices in it */
    uint64_t count;
} tune_table;

/* Opens the table, which goes on where it ended if it has the same kernels, features and machine, and is made new if
 * there is none. */
int tune_table_open(cli_state *cli, tune_table *table);
bool tune_table_has(const tune_table *table, const char *name);
int tune_table_add(cli_state *cli, tune_table *table, const tune_matrix *matrix, const tune_result *result);
int tune_table_close(cli_state *cli, tune_table *table, int status);

/* ---- tune_train.c: the model ---- */

enum { TUNE_TABLES = 16 };

/* Trains on the tables (NULL behind the last) and writes the model, which is checked and then put at `path` (NULL:
 * none), and prints how good it is if `report`. */
int tune_train(cli_state *cli, const char *const *tables, const char *path, bool report, uint64_t seed);

#endif
