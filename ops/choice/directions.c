/* directions.c: the direction of a product with a sparse vector on a device: that of the least estimated time.
 *
 * An estimate is a sum of terms, each with a factor that was fitted to measured products. They are what each direction
 * has to go through:
 *
 *      push        1, rows, elements, entries         entries: of the elements' columns
 *      pull        1, rows, looks, entries            looks: entries of the rows that are wanted; where sums end early
 *                                                     those up to the first that the vector has
 *      tiles       1, rows, nnz, entries              all of them
 *
 * The entries of some columns are known once the device has counted them. Until then columns are taken to be of mean
 * length, and what that may cost is what the direction would take more than another if they had none, or all that they
 * can have: a vector may lead to most of a graph by a few hubs. */
#include "ops/choice/model_data.h"
#include <math.h>

const char *const dcsr_i_direction_names[DCSR_I_DIRECTIONS] = {"push", "pull", "tiles"};
const char *const dcsr_i_sums_names[DCSR_I_SUMS] = {"some", "all", "early"};

/* What each takes, with so many entries; INFINITY where it is not possible, or not known. */
typedef struct estimates {
    double of[DCSR_I_DIRECTIONS];
} estimates;

static estimates estimate(const dcsr_i_model *model, const dcsr_i_product *p, double entries)
{
    const double mean = p->nnz / fmax(p->rows, 1),
                 looks = p->sums == DCSR_I_ENDING_EARLY ? fmin(mean, p->nnz / (entries + 1)) : mean;
    const double third[DCSR_I_DIRECTIONS] = {p->elements, p->wanted * looks, p->nnz};
    estimates takes;
    for (int d = 0; d < DCSR_I_DIRECTIONS; d++) {
        const dcsr_i_direction_cost *cost = &model->direction[p->sums][d];
        const double *f = cost->factor;
        takes.of[d] = p->possible[d] && cost->known ? f[0] + f[1] * p->rows + f[2] * third[d] + f[3] * entries
                                                    : INFINITY;
    }
    return takes;
}

static int least_of(const estimates *takes)
{
    int least = 0;
    for (int d = 1; d < DCSR_I_DIRECTIONS; d++)
        if (takes->of[d] < takes->of[least]) least = d;
    return least;
}

dcsr_status dcsr_i_choose_direction(dcsr_direction *direction, double *at_stake, dcsr_context *context,
                                    const dcsr_i_product *p)
{
    const dcsr_i_model *model;
    *direction = DCSR_DIRECTION_AUTO;
    *at_stake = 0;
    DCSR_TRY(dcsr_i_model_in_use(&model, context));
    if (!model) return DCSR_OK;
    const bool known = !isnan(p->entries);
    const estimates takes = estimate(model, p, known ? p->entries : p->elements * p->nnz / fmax(p->cols, 1));
    const int chosen = least_of(&takes);
    if (isinf(takes.of[chosen])) return DCSR_OK;
    *direction = (dcsr_direction)(chosen + 1);
    const double bounds[] = {0, fmin(p->nnz, p->elements * p->rows)};
    for (int k = 0; k < 2 && !known; k++) {
        const estimates then = estimate(model, p, bounds[k]);
        *at_stake = fmax(*at_stake, then.of[chosen] - then.of[least_of(&then)]);
    }
    return DCSR_OK;
}
