/* mxv_direction.c: whether a product with a vector pushes or pulls, by an estimate of what either costs.
 *
 * The unit is about a nanosecond of one thread. A push looks at every entry in the columns of u's elements. A
 * pull looks at the rows that the mask allows: at all of their entries, or, where the first term settles a
 * sum, at as many as it takes to meet one: if u's columns hold one in d of all entries, about d. That share
 * is of entries, not of elements, as large columns are the ones that are met.
 *
 * Bringing u into the form that a way needs is part of its cost; so a search that has changed direction, and
 * whose vector is in the other form since, does not change back before it pays. */
#include "ops/mxv_internal.h"

/* What things cost. A push over sums writes to places in no order; one over bits is cheaper, as is a pull,
 * which adds in registers. */
static const double PUSH_ENTRY = 2.5, PUSH_BIT = 1.2, PUSH_ROW = 6, PULL_ENTRY = 1.2, PULL_LOOK = 2.5,
                    PULL_ROW = 4, WORD = 0.3;

enum { EXACT = 256, SAMPLE = 64 };

uint64_t dcsr_i_mxv_work(const dcsr_i_rows *rows, uint64_t entries, const dcsr_i_body *u)
{
    if (u->dense)
        return !u->present ? entries : (uint64_t)((double)entries * (double)u->nvals / (double)rows->rows);
    uint64_t work = 0, stride = u->nvals <= EXACT ? 1 : u->nvals / SAMPLE;
    for (uint64_t i = 0; i < u->nvals; i += stride) work += 1 + dcsr_i_rows_length(rows, u->indices[i]);
    work *= stride;
    return work < entries + u->nvals ? work : entries + u->nvals;
}

static double push_cost(const dcsr_i_mxv *x, const dcsr_i_body *u, uint64_t work)
{
    bool bits = x->any && !x->reads_matrix && !x->reads_vector;
    double words = (double)x->n / (work < x->n / 64 ? 4096 : 64) + (u->dense ? (double)x->length / 64 : 0);
    return (double)work * (bits ? PUSH_BIT : PUSH_ENTRY) + (double)u->nvals * PUSH_ROW + words * WORD;
}

static double pull_cost(const dcsr_i_mxv *x, const dcsr_i_body *u, uint64_t wanted, uint64_t work)
{
    double mean = (double)x->entries / (double)(x->n + 1), row = mean * PULL_ENTRY;
    if (x->any) {
        double looks = (double)x->entries / (double)(work + 1);
        row = (looks < mean ? looks : mean) * PULL_LOOK;
    }
    double words = (double)x->n / 64 + (u->dense ? 0 : (double)x->length / 64);
    return (double)wanted * (PULL_ROW + row) + words * WORD + (u->dense ? 0 : (double)u->nvals * 2);
}

dcsr_direction dcsr_i_mxv_choose(const dcsr_i_mxv *x, const dcsr_i_body *u, uint64_t wanted, uint64_t work)
{
    return push_cost(x, u, work) < pull_cost(x, u, wanted, work) ? DCSR_DIRECTION_PUSH : DCSR_DIRECTION_PULL;
}
