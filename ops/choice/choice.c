/* choice.c: choosing a kernel. */
#include "ops/choice/choice.h"
#include "dcsr/view/view_data.h"
#include "ops/choice/model_data.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Expectations are not exact: a kernel has to promise to save this share, and so many products if its format has to be
 * built. */
static const double least_gain = 0.03, least_saved = 2;
#define LEAST_DENSITY 1e-6

/* The number of a kernel in the model, or that of its kernels. */
static uint32_t number_of(const dcsr_i_model *model, const char *kernel)
{
    uint32_t k = 0;
    while (k < model->kernels && strcmp(model->kernel[k], kernel)) k++;
    return k;
}

/* What is expected of a candidate, the model's kernel k; NaN where that is none, or nothing is known of it. */
static dcsr_i_expected expected_of(const dcsr_i_candidate *candidate, uint32_t k, const dcsr_i_model *model,
                                   const dcsr_i_prediction *prediction)
{
    if (k == model->kernels) return (dcsr_i_expected){NAN, NAN};
    const dcsr_i_expected e = prediction->expected[k];
    return candidate->built ? (dcsr_i_expected){e.product, 0} : e;
}

/* Counts the votes for candidate c, if it has more than those before it. */
static void count_votes(dcsr_i_choice *choice, uint32_t c, dcsr_i_expected e, double votes)
{
    if (!(e.build > 0) || votes <= choice->votes) return; /* NaN where it cannot be */
    choice->voted = c;
    choice->votes = votes;
    choice->voted_build = (double)e.build;
}

static void explain(dcsr_i_choice *choice, const dcsr_i_candidate *candidates, double products)
{
    const char *name = candidates[choice->candidate].kernel;
    char *to = choice->reason;
    const size_t size = sizeof choice->reason;
    if (choice->candidate && choice->build > 0)
        snprintf(
            to, size,
            "of %.0f products each is expected to take %.2f of one that reads in place, and building %.1f",
            products, choice->product, choice->build);
    else if (choice->candidate)
        snprintf(to, size, "%s is there, and a product expected to take %.2f of one that reads in place",
                 name, choice->product);
    else if (isinf(choice->pays_after))
        snprintf(to, size, "no format is expected to be faster than reading in place");
    else if (products > 0)
        snprintf(to, size, "of %.0f products %s would pay after %.0f", products,
                 candidates[choice->later].kernel, choice->pays_after);
    else
        snprintf(to, size, "it is not known how many products will come; %s would pay after %.0f",
                 candidates[choice->later].kernel, choice->pays_after);
}

dcsr_status dcsr_i_choose(dcsr_i_choice *choice, dcsr_context *context, const dcsr_features *features,
                          const dcsr_i_candidate *candidates, uint32_t n, double products,
                          dcsr_i_criterion criterion)
{
    const dcsr_i_model *model;
    *choice = (dcsr_i_choice){.product = 1, .pays_after = INFINITY};
    if (!features->nnz) { /* whose rows alone may make a format large */
        snprintf(choice->reason, sizeof choice->reason,
                 "there are no entries, so the store is read in place");
        return DCSR_OK;
    }
    DCSR_TRY(dcsr_i_model_in_use(&model, context));
    if (!model) {
        snprintf(choice->reason, sizeof choice->reason,
                 "there is no model for this device, so the store is read in place");
        return DCSR_OK;
    }
    float inputs[DCSR_I_MODEL_FEATURES];
    dcsr_i_prediction prediction;
    const dcsr_i_forest *forest = &model->forest[criterion];
    if (!forest->trees) forest = &model->forest[DCSR_I_BY_TIME];
    dcsr_i_model_inputs(inputs, model, features);
    dcsr_i_forest_predict(&prediction, forest, model->kernels, inputs);
    double least = products, fastest = 1;
    for (uint32_t c = 1; c < n; c++) {
        const uint32_t k = candidates[c].possible ? number_of(model, candidates[c].kernel) : model->kernels;
        const dcsr_i_expected e = expected_of(&candidates[c], k, model, &prediction);
        const double all = products * (double)e.product + (double)e.build;
        if (k < model->kernels) count_votes(choice, c, e, prediction.probability[k]);
        if ((double)e.product < fastest && (double)e.product <= 1 - least_gain) {
            fastest = (double)e.product;
            choice->later = c;
            choice->pays_after = ceil((double)e.build / (1 - fastest));
        }
        const bool pays =
            products > 0
                ? all + (e.build > 0 ? least_saved : 0) <= (1 - least_gain) * products && all < least
                : candidates[c].built && e.product < choice->product && (double)e.product <= 1 - least_gain;
        if (!pays) continue;
        least = all;
        choice->candidate = c;
        choice->product = (double)e.product;
        choice->build = (double)e.build;
    }
    if (choice->candidate && choice->candidate == choice->later) choice->pays_after = 0;
    explain(choice, candidates, products);
    return DCSR_OK;
}

/* Whether a product at that density had better read all rows. */
static bool by_rows(const dcsr_i_model *model, double *input, double density)
{
    input[model->features] = density * DCSR_I_DENSITY_UNITS;
    return dcsr_i_svm_decide(&model->svm, model->features + 1, input) > 0;
}

dcsr_status dcsr_i_choose_crossover(double *density, dcsr_context *context, const dcsr_features *features)
{
    enum { STEPS = 4 };
    const dcsr_i_model *model;
    double input[DCSR_I_MODEL_FEATURES];
    *density = NAN;
    DCSR_TRY(dcsr_i_model_in_use(&model, context));
    if (!model || !model->svm.vectors) return DCSR_OK;
    for (uint32_t k = 0; k < model->features; k++) input[k] = dcsr_feature_value(features, model->feature[k]);
    /* Down from 1 as long as rows are better, as more entries never make columns better; then between two powers. */
    double above = 2, at = 1;
    for (; at >= LEAST_DENSITY && by_rows(model, input, at); at /= 2) above = at;
    for (int step = 0; step < STEPS && above <= 1 && at >= LEAST_DENSITY; step++) {
        const double middle = sqrt(at * above);
        if (by_rows(model, input, middle))
            above = middle;
        else
            at = middle;
    }
    *density = above;
    return DCSR_OK;
}

dcsr_status dcsr_i_view_known_features(const dcsr_features **features, dcsr_view *view)
{
    dcsr_i_facts *facts;
    DCSR_TRY(dcsr_i_view_facts(&facts, view, NULL));
    *features = facts ? &facts->features : NULL;
    return DCSR_OK;
}

dcsr_status dcsr_i_view_crossover(double *density, dcsr_view *view)
{
    dcsr_i_facts *facts;
    *density = 0;
    DCSR_TRY(dcsr_i_view_facts(&facts, view, NULL));
    if (!facts) return DCSR_OK;
    /* Who comes meanwhile computes the same. */
    double kept = atomic_load_explicit(&facts->crossover, memory_order_relaxed);
    if (kept == 0) DCSR_TRY(dcsr_i_choose_crossover(&kept, dcsr_i_view_context(view), &facts->features));
    atomic_store_explicit(&facts->crossover, kept, memory_order_relaxed);
    *density = isnan(kept) ? 0 : kept;
    return DCSR_OK;
}
