/* trees.c: what bagged decision trees say of a matrix (Breiman 1996; the model of Dufrechou et al.).
 *
 * The comparison is that of scikit-learn, of a feature in fp32 with a threshold in fp64, and so is the order in which
 * the trees' probabilities are added up; so the result is the same bit for bit. */
#include "ops/choice/model_data.h"
#include <math.h>
#include <string.h>

enum { SIDE_BY_SIDE = 16 }; /* trees */

void dcsr_i_model_inputs(float *inputs, const dcsr_i_model *model, const dcsr_features *features)
{
    for (uint32_t k = 0; k < model->features; k++)
        inputs[k] = (float)dcsr_feature_value(features, model->feature[k]);
}

/* The leaves that a matrix comes to in n trees. A step in one waits for the step before it, so all go side by side. */
static void find_leaves(size_t *leaf, const dcsr_i_forest *forest, const dcsr_i_tree *tree, uint32_t n,
                        const float *inputs)
{
    int32_t at[SIDE_BY_SIDE];
    bool inside = false;
    for (uint32_t t = 0; t < n; t++) {
        at[t] = tree[t].nodes ? 0 : -1;
        inside |= at[t] >= 0;
    }
    while (inside) {
        inside = false;
        for (uint32_t t = 0; t < n; t++) {
            if (at[t] < 0) continue;
            const dcsr_i_node *node = &forest->node[tree[t].first_node + (uint32_t)at[t]];
            at[t] = node->child[!((double)inputs[node->feature] <= node->threshold)];
            inside |= at[t] >= 0;
        }
    }
    for (uint32_t t = 0; t < n; t++) leaf[t] = (size_t)tree[t].first_leaf + (uint32_t)(-1 - at[t]);
}

void dcsr_i_forest_predict(dcsr_i_prediction *prediction, const dcsr_i_forest *forest, uint32_t kernels,
                           const float *inputs)
{
    double sum[DCSR_I_MODEL_KERNELS] = {0};
    float products[DCSR_I_MODEL_KERNELS] = {0}, builds[DCSR_I_MODEL_KERNELS] = {0},
          known[DCSR_I_MODEL_KERNELS] = {0};
    size_t leaf[SIDE_BY_SIDE];
    for (uint32_t t = 0; t < forest->trees; t++) {
        const uint32_t side = t % SIDE_BY_SIDE, left = forest->trees - t;
        if (!side)
            find_leaves(leaf, forest, &forest->tree[t], left < SIDE_BY_SIDE ? left : SIDE_BY_SIDE, inputs);
        const double *probability = forest->probability + leaf[side] * kernels;
        const dcsr_i_expected *expected = forest->expected + leaf[side] * kernels;
        for (uint32_t k = 0; k < kernels; k++) {
            const bool is_known = !isnan(expected[k].product);
            sum[k] += probability[k];
            products[k] += is_known ? expected[k].product : 0;
            builds[k] += is_known ? expected[k].build : 0;
            known[k] += is_known;
        }
    }
    for (uint32_t k = 0; k < kernels; k++) {
        prediction->probability[k] = sum[k] / forest->trees;
        prediction->expected[k] = known[k] > 0
                                      ? (dcsr_i_expected){expf(products[k] / known[k]), builds[k] / known[k]}
                                      : (dcsr_i_expected){NAN, NAN};
    }
}

uint32_t dcsr_i_prediction_class(const dcsr_i_prediction *prediction, uint32_t kernels)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < kernels; k++)
        if (prediction->probability[k] > prediction->probability[best]) best = k;
    return best;
}
