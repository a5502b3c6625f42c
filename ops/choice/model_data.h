/* model_data.h: what models are made of (internal).
 *
 * A forest is bagged decision trees in flat arrays. Node n of a tree sends a matrix to child[0] where the feature, as
 * fp32, is at most the threshold, else to child[1]; a child c < 0 is leaf -1 - c. Both count from the tree's first.
 *
 *      node        [ tree 0 | tree 1 | ... ]        a tree without nodes is its only leaf
 *      probability [ tree 0: leaf 0: one a kernel | leaf 1 ... | tree 1 ... ]
 *      expected    [ the same ]
 */
#ifndef DCSR_MODEL_DATA_H
#define DCSR_MODEL_DATA_H

#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "ops/choice/choice.h"
#include <dcsr/features.h>

enum {
    DCSR_I_MODEL_KERNELS = 64,  /* at most */
    DCSR_I_MODEL_FEATURES = 64, /* at most */
    DCSR_I_MODEL_NAME = 32,     /* bytes of a name, with its end */
    DCSR_I_DENSITY_UNITS = 1000000
};

typedef struct dcsr_i_node {
    double threshold;
    uint16_t feature; /* of those of the model */
    int16_t child[2];
} dcsr_i_node;

/* Of a kernel: its cost of a product in costs of one that reads the store in place, the cost of its format in the
 * same; NaN where nothing is known. In leaves a product is the logarithm of that, as its means are geometric. */
typedef struct dcsr_i_expected {
    float product, build;
} dcsr_i_expected;

typedef struct dcsr_i_tree {
    uint32_t first_node, nodes, first_leaf, leaves;
} dcsr_i_tree;

typedef struct dcsr_i_forest {
    uint32_t trees, nodes, leaves; /* 0 trees: there is no such forest */
    dcsr_i_tree *tree;
    dcsr_i_node *node;
    double *probability;
    dcsr_i_expected *expected;
    uint32_t room_nodes, room_leaves; /* for which there is room in these arrays */
} dcsr_i_forest;

/* A support vector machine with radial basis functions that tells two classes apart:
 * f(x) = intercept + sum over v of coefficient[v] * exp(-gamma |x' - vector[v]|^2), where
 * x'[k] = (log(1 + x[k]) - mean[k]) / scale[k]. */
typedef struct dcsr_i_svm {
    uint32_t vectors; /* 0: there is none */
    double gamma, intercept;
    double mean[DCSR_I_MODEL_FEATURES], scale[DCSR_I_MODEL_FEATURES];
    double *coefficient;
    double *vector; /* one behind the other */
} dcsr_i_svm;

/* What products with a sparse vector take, in microseconds: a sum of terms (directions.c), each with its factor. */
enum { DCSR_I_DIRECTION_TERMS = 4 };
typedef struct dcsr_i_direction_cost {
    bool known;
    double factor[DCSR_I_DIRECTION_TERMS];
} dcsr_i_direction_cost;

typedef struct dcsr_i_model {
    dcsr_model_info info;
    uint32_t features, kernels;
    uint16_t feature[DCSR_I_MODEL_FEATURES]; /* numbers of dcsr_feature_at() */
    char kernel[DCSR_I_MODEL_KERNELS][DCSR_I_MODEL_NAME];
    dcsr_i_forest forest[DCSR_I_CRITERIA];
    dcsr_i_svm svm; /* over the features and, last, the density of the vector in millionths */
    dcsr_i_direction_cost direction[DCSR_I_SUMS][DCSR_I_DIRECTIONS];
} dcsr_i_model;

/* ---- model_file.c ---- */

/* Reads a model from a text of `length` bytes (the format: docs/SELECTION.md); `name` stands in messages. *model is
 * NULL on failure. Errors: FORMAT, OUT_OF_MEMORY. */
dcsr_status dcsr_i_model_parse(dcsr_i_model **model, const char *text, size_t length, const char *name);
/* The same from a file. Errors: also NOT_FOUND, IO. */
dcsr_status dcsr_i_model_read(dcsr_i_model **model, const char *path);
/* Frees it; NULL does nothing. */
void dcsr_i_model_free(dcsr_i_model *model);

/* ---- trees.c ---- */

typedef struct dcsr_i_prediction {
    double probability[DCSR_I_MODEL_KERNELS]; /* that the kernel is the best */
    dcsr_i_expected expected[DCSR_I_MODEL_KERNELS];
} dcsr_i_prediction;

/* The features as the model takes them. */
void dcsr_i_model_inputs(float *inputs, const dcsr_i_model *model, const dcsr_features *features);
/* The means over all trees; a kernel's expectation is that of the trees that have one. Bit for bit what predict_proba()
 * of scikit-learn's RandomForestClassifier and BaggingClassifier gives. */
void dcsr_i_forest_predict(dcsr_i_prediction *prediction, const dcsr_i_forest *forest, uint32_t kernels,
                           const float *inputs);
/* The kernel that is most probably the best; of equal ones the first. */
uint32_t dcsr_i_prediction_class(const dcsr_i_prediction *prediction, uint32_t kernels);

/* ---- directions.c ---- */

/* As model files have them. */
extern const char *const dcsr_i_direction_names[DCSR_I_DIRECTIONS], *const dcsr_i_sums_names[DCSR_I_SUMS];

/* ---- svm.c ---- */

/* The decision function; positive: by rows. `inputs`: of the model's features, then the density in millionths. */
double dcsr_i_svm_decide(const dcsr_i_svm *svm, uint32_t inputs, const double *input);

/* The model for contexts of this device: the user's, if it is there and fits this machine, else the library's; NULL:
 * there is none. It lasts as long as the process. Errors: OUT_OF_MEMORY. Any thread. */
dcsr_status dcsr_i_model_in_use(const dcsr_i_model **model, dcsr_context *context);

#endif
