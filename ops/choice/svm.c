/* svm.c: the decision function of a support vector machine (C-SVC with radial basis functions, as LIBSVM trains it):
 * for the choice of Hong et al. between a product by columns and one by rows or tiles. */
#include "ops/choice/model_data.h"
#include <math.h>

double dcsr_i_svm_decide(const dcsr_i_svm *svm, uint32_t inputs, const double *input)
{
    double scaled[DCSR_I_MODEL_FEATURES], sum = svm->intercept;
    for (uint32_t k = 0; k < inputs; k++) scaled[k] = (log1p(input[k]) - svm->mean[k]) / svm->scale[k];
    for (uint32_t v = 0; v < svm->vectors; v++) {
        const double *vector = svm->vector + (size_t)v * inputs;
        double distance = 0;
        for (uint32_t k = 0; k < inputs; k++) distance += (scaled[k] - vector[k]) * (scaled[k] - vector[k]);
        sum += svm->coefficient[v] * exp(-svm->gamma * distance);
    }
    return sum;
}
