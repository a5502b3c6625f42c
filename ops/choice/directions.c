/* directions.c: the direction of a product with a sparse vector on a device: that of the least estimated time.
 *
 * An estimate is a sum of terms, each with a factor that was fitted to measured products. They are what each direction
 * has to go through, as far as that is known without asking the device, which would take as long as a small product:
 *
 *      push        1, rows, elements, entries         entries: of the elements' columns, if these are of mean length
 *      pull        1, rows, looks, entries            looks: entries of the rows that are wanted; where sums end early
 *                                                     those up to the first that the vector has
 *      tiles       1, rows, nnz, entries              all of them */
#include "ops/choice/model_data.h"
#include <math.h>

const char *const dcsr_i_direction_names[DCSR_I_DIRECTIONS] = {"push", "pull", "tiles"};
const char *const dcsr_i_sums_names[DCSR_I_SUMS] = {"some", "all", "early"};

static double cost_of(const dcsr_i_product *p, int d, const dcsr_i_direction_cost *cost)
{
    const double mean = p->nnz / fmax(p->rows, 1), entries = p->elements * p->nnz / fmax(p->cols, 1),
                 looks = p->sums == DCSR_I_ENDING_EARLY ? fmin(mean, p->nnz / (entries + 1)) : mean;
    const double third[DCSR_I_DIRECTIONS] = {p->elements, p->wanted * looks, p->nnz};
    const double *f = cost->factor;
    return f[0] + f[1] * p->rows + f[2] * third[d] + f[3] * entries;
}

dcsr_status dcsr_i_choose_direction(dcsr_direction *direction, dcsr_context *context,
                                    const dcsr_i_product *product)
{
    const dcsr_i_model *model;
    double least = INFINITY;
    *direction = DCSR_DIRECTION_AUTO;
    DCSR_TRY(dcsr_i_model_in_use(&model, context));
    for (int d = 0; model && d < DCSR_I_DIRECTIONS; d++) {
        const dcsr_i_direction_cost *cost = &model->direction[product->sums][d];
        if (!product->possible[d] || !cost->known) continue;
        const double takes = cost_of(product, d, cost);
        if (takes >= least) continue;
        least = takes;
        *direction = (dcsr_direction)(d + 1);
    }
    return DCSR_OK;
}
