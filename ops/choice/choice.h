/* choice.h: choosing a kernel for products of a matrix with dense vectors (internal).
 *
 * A kernel other than reading the store in place needs a format, which has to be built. A model (model_data.h) expects
 * of each kernel what a product and the building cost, in products that read in place. With p products to come the
 * choice is the kernel of the least p * product + build; where p is not known, reading in place, and besides it which
 * kernel will pay, and after how many products: whoever counts products and builds then pays at most twice what it
 * would have paid with foresight (the ski rental problem; Karlin et al. 1988). */
#ifndef DCSR_CHOICE_H
#define DCSR_CHOICE_H

#include <dcsr/desc.h>
#include <dcsr/features.h>

/* What is to be as little as possible. */
typedef enum dcsr_i_criterion { DCSR_I_BY_TIME, DCSR_I_BY_ENERGY, DCSR_I_CRITERIA } dcsr_i_criterion;

/* A kernel to choose. The first of several is the one that reads in place. */
typedef struct dcsr_i_candidate {
    const char *kernel;
    bool possible; /* it takes the matrix, and there is memory for its format */
    bool built;    /* the format is there */
} dcsr_i_candidate;

typedef struct dcsr_i_choice {
    uint32_t candidate; /* its number */
    double product;     /* expected of it, in products that read in place */
    double build;       /* 0 where its format is there */
    /* The best where products go on for ever, and the number of products after which it will have paid; itself and 0
       where that is the candidate; INFINITY where nothing pays. */
    uint32_t later;
    double pays_after;
    /* Of those that have to be built, the one that the trees hold most often to be the fastest; 0: none. In which share
       of what they have seen of such matrices it was, and what building it is expected to cost. */
    uint32_t voted;
    double votes, voted_build;
    char reason[160]; /* a sentence without a full stop */
} dcsr_i_choice;

/* Chooses among n candidates for so many products; 0 or less: it is not known how many. The user's model, or the
 * library's, decides; without one the first candidate is chosen. Kernels that the model does not know are not.
 * Errors: OUT_OF_MEMORY, when models are read for the first time. Cost: about 2 microseconds with the library's
 * model, and that of dcsr_model_get_info() the first time. */
dcsr_status dcsr_i_choose(dcsr_i_choice *choice, dcsr_context *context, const dcsr_features *features,
                          const dcsr_i_candidate *candidates, uint32_t n, double products,
                          dcsr_i_criterion criterion);

/* From which density of a sparse vector on a product had better read all rows than the columns of the vector's entries:
 * the crossover of Hong et al., to be computed once a matrix and kept. Above 1: never; NaN: no model tells. Errors: as
 * above. Cost: some 20 decisions of a support vector machine, each a few microseconds. */
dcsr_status dcsr_i_choose_crossover(double *density, dcsr_context *context, const dcsr_features *features);

/* The same for what a view shows, where its features are known. It is computed once for all views that show the version
 * alike. 0: they are not known, or no model tells. Errors: as above. */
dcsr_status dcsr_i_view_crossover(double *density, dcsr_view *view);
/* The features of what a view shows, if they have been asked for, of it or of another view that shows the version
 * alike; lent as long as the view is there. Else NULL: nothing is computed. */
dcsr_status dcsr_i_view_known_features(const dcsr_features **features, dcsr_view *view);

/* ---- Products with sparse vectors on a device ---- */

/* How many there are besides AUTO. Arrays have number direction - 1. */
enum { DCSR_I_DIRECTIONS = DCSR_DIRECTION_TILES };
/* Sums over some elements of the vector; over all; and those that end early, at the first term or a value that decides
 * them, as in a search. */
typedef enum dcsr_i_sums { DCSR_I_OVER_SOME, DCSR_I_OVER_ALL, DCSR_I_ENDING_EARLY, DCSR_I_SUMS } dcsr_i_sums;

/* A product, as far as it is known. */
typedef struct dcsr_i_product {
    dcsr_i_sums sums;
    bool possible[DCSR_I_DIRECTIONS];
    double rows, cols, nnz; /* as multiplied: rows of the result */
    double elements;        /* that the vector has */
    double entries;         /* of their columns; NaN: not known, and taken to be as many as others have */
    double wanted;          /* rows that the mask allows */
} dcsr_i_product;

/* The possible direction that the model of the context's device expects to take the least time; AUTO where no model
 * tells. *at_stake: as the entries are not known, it may take so many microseconds more than the best; 0 where they
 * are. Errors: OUT_OF_MEMORY, when models are read for the first time. Cost: some tens of nanoseconds. */
dcsr_status dcsr_i_choose_direction(dcsr_direction *direction, double *at_stake, dcsr_context *context,
                                    const dcsr_i_product *product);

/* For tests: what has been read of models is forgotten. No other thread may choose meanwhile. */
void dcsr_i_models_forget(void);

#endif
