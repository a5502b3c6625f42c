/* ways.c: which way a product with a sparse vector takes on a device: the one of the least estimated time.
 *
 * An estimate is a sum of terms, each with a factor that was fitted to measured products. They are what each way has to
 * go through, as far as that is known without asking the device, which would take as long as a small product:
 *
 *      columns     1, rows, elements, entries         entries: of the elements' columns, if these are of mean length
 *      rows        1, rows, looks, entries            looks: entries of the rows that are wanted; where sums end early
 *                                                     those up to the first that the vector has
 *      tiles       1, rows, nnz, entries              all of them */
#include "ops/choice/model_data.h"
#include <math.h>

const char *const dcsr_i_way_names[DCSR_I_WAYS] = {"columns", "rows", "tiles"};
const char *const dcsr_i_sums_names[DCSR_I_SUMS] = {"some", "all", "early"};

static double cost_of(const dcsr_i_product *p, dcsr_i_way way, const dcsr_i_way_cost *cost)
{
    const double mean = p->nnz / fmax(p->rows, 1), entries = p->elements * p->nnz / fmax(p->cols, 1),
                 looks = p->sums == DCSR_I_ENDING_EARLY ? fmin(mean, p->nnz / (entries + 1)) : mean;
    const double third[DCSR_I_WAYS] = {p->elements, p->wanted * looks, p->nnz};
    const double *f = cost->factor;
    return f[0] + f[1] * p->rows + f[2] * third[way] + f[3] * entries;
}

dcsr_status dcsr_i_choose_way(dcsr_i_way *way, bool *known, dcsr_context *context,
                              const dcsr_i_product *product)
{
    const dcsr_i_model *model;
    double least = INFINITY;
    *known = false;
    DCSR_TRY(dcsr_i_model_in_use(&model, context));
    for (int w = 0; model && w < DCSR_I_WAYS; w++) {
        const dcsr_i_way_cost *cost = &model->way[product->sums][w];
        if (!product->possible[w] || !cost->known) continue;
        const double takes = cost_of(product, (dcsr_i_way)w, cost);
        if (takes >= least) continue;
        least = takes;
        *way = (dcsr_i_way)w;
        *known = true;
    }
    return DCSR_OK;
}
