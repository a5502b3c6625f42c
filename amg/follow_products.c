/* follow_products.c: rows of A P, and of R times them, as two calls of dcsr_mxm() would compute them, bit for bit: each
 * is a sum of rows, added in the order of its terms' columns, that begins with 0. */
#include "amg/hierarchy_follow.h"
#include <string.h>

/* Adds a times a row; its new columns are put behind the `count` that there are. Returns how many there are then. */
static uint64_t add(dcsr_i_amg_worker *w, uint32_t *columns, uint64_t count, double a, dcsr_i_amg_span row)
{
    for (uint64_t e = 0; e < row.count; e++) {
        const uint32_t c = row.columns[e];
        if (w->mark[c] != w->stamp) {
            w->mark[c] = w->stamp;
            columns[count++] = c;
        }
        w->sum[c] += a * row.values[e];
    }
    return count;
}

static void take(dcsr_i_amg_worker *w, const uint32_t *columns, double *values, uint64_t count)
{
    for (uint64_t e = 0; e < count; e++) {
        values[e] = w->sum[columns[e]];
        w->sum[columns[e]] = 0;
    }
}

/* In no order: sums of them by other rows are the same. */
bool dcsr_i_amg_make_ap(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t number, dcsr_i_amg_pile *to)
{
    const dcsr_i_amg_rows *P = &f->level->P.rows;
    const dcsr_i_amg_span terms = dcsr_i_amg_span_of(&f->level->A.rows, number);
    uint64_t most = 0, count = 0;
    uint32_t *columns;
    double *values;
    for (uint64_t e = 0; e < terms.count; e++) most += dcsr_i_amg_span_of(P, terms.columns[e]).count;
    if (!dcsr_i_amg_pile_room(to, f->context, most < P->cols ? most : P->cols, &columns, &values))
        return false;
    w->stamp++;
    for (uint64_t e = 0; e < terms.count; e++)
        count = add(w, columns, count, terms.values[e], dcsr_i_amg_span_of(P, terms.columns[e]));
    take(w, columns, values, count);
    dcsr_i_amg_pile_end(to, count);
    return true;
}

/* Whether the columns are those of a row that is sorted already. */
static bool is_pattern_of(const dcsr_i_amg_worker *w, dcsr_i_amg_span row, uint64_t count)
{
    if (row.count != count) return false;
    for (uint64_t e = 0; e < count; e++)
        if (w->mark[row.columns[e]] != w->stamp) return false;
    return true;
}

/* f->source has the rows of A P, slot their places in it. */
bool dcsr_i_amg_make_rap(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t number, dcsr_i_amg_pile *to)
{
    const dcsr_i_amg_span terms = dcsr_i_amg_span_of(&f->level->R.rows, number),
                          before = dcsr_i_amg_span_of(&f->level[1].A.rows, number);
    const uint64_t cols = f->level->P.rows.cols;
    uint64_t most = 0, count = 0;
    uint32_t *columns;
    double *values;
    for (uint64_t e = 0; e < terms.count; e++) most += f->source->span[f->slot[terms.columns[e]]].count;
    if (!dcsr_i_amg_pile_room(to, f->context, most < cols ? most : cols, &columns, &values)) return false;
    w->stamp++;
    for (uint64_t e = 0; e < terms.count; e++)
        count = add(w, columns, count, terms.values[e], f->source->span[f->slot[terms.columns[e]]]);
    if (is_pattern_of(w, before, count))
        memcpy(columns, before.columns, count * sizeof *columns);
    else if (count)
        dcsr_i_amg_sort32(columns, count);
    take(w, columns, values, count);
    dcsr_i_amg_pile_end(to, count);
    return true;
}
