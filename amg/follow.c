/* follow.c: the levels, from the rows of A that differ on (follow.h has the steps). */
#include "amg/amg_engine.h"
#include "amg/hierarchy_follow.h"
#include <math.h>
#include <string.h>

/* How different two values may be that are equal but for rounding, relative to their diagonals. */
static const double SAME = 1e-8;

/* Sets, by what they have at first and then. */
enum { WEIGHED, LOOKED, MOVED, PARTS, VECTORS, OTHER_VECTORS };
enum { SMOOTHED = WEIGHED, SOURCES = WEIGHED, COLUMNS = LOOKED, COARSE = MOVED, READERS = PARTS };

uint32_t dcsr_i_amg_strong_of(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t node,
                              const uint32_t **strong)
{
    const dcsr_i_amg_level *level = f->level;
    if (f->graph.count) {
        *strong = f->graph.nodes + f->graph.begin[node];
        return f->graph.length[node];
    }
    const dcsr_i_amg_measure m = {level, level->block > 1 ? level->norms.data : level->diagonal.data,
                                  level->theta};
    *strong = w->strong;
    return dcsr_i_amg_connect(w->strong, &m, node, w->norm);
}

/* ---- Who reads what ---- */

static void add_columns(dcsr_i_amg_set *to, dcsr_i_amg_span row, uint64_t block)
{
    for (uint64_t e = 0; e < row.count; e++) dcsr_i_amg_set_add(to, row.columns[e] / block);
}

/* Adds the nodes, of `block` rows, that have a column of a node of `of`; and those whose columns these have. */
static void add_neighbours(const dcsr_i_amg_follow *f, dcsr_i_amg_set *to, const dcsr_i_amg_set *of,
                           uint64_t block)
{
    const dcsr_i_amg_rows *A = &f->level->A.rows;
    for (uint64_t k = 0; k < of->count; k++)
        for (uint64_t r = 0; r < block; r++)
            add_columns(to, dcsr_i_amg_span_of(A, of->list[k] * block + r), block);
    if (f->h->symmetric || !of->count) return;
    for (uint64_t i = 0; i < A->rows; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
        for (uint64_t e = 0; e < row.count; e++) {
            if (!dcsr_i_amg_set_has(of, row.columns[e] / block)) continue;
            dcsr_i_amg_set_add(to, i / block);
            break;
        }
    }
}

/* ---- A ---- */

/* The value at a column of a row whose columns ascend; false: none. */
static bool find(dcsr_i_amg_span row, uint64_t column, double *value)
{
    uint64_t low = 0, high = row.count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (row.columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == row.count || row.columns[low] != column) return false;
    *value = row.values[low];
    return true;
}

/* Whether A still looks symmetric in these rows, with a positive diagonal. */
static bool is_symmetric(const dcsr_i_amg_level *level, const dcsr_i_amg_made *dirty)
{
    const double *diagonal = level->diagonal.data;
    for (uint64_t k = 0; k < dirty->count; k++) {
        const uint64_t i = dirty->row[k];
        const dcsr_i_amg_span row = dirty->span[k];
        if (diagonal[i] < 0) return false;
        for (uint64_t e = 0; e < row.count; e++) {
            const uint64_t j = row.columns[e];
            double mirror;
            if (!find(dcsr_i_amg_span_of(&level->A.rows, j), i, &mirror) ||
                fabs(row.values[e] - mirror) > SAME * sqrt(fabs(diagonal[i] * diagonal[j])))
                return false;
        }
    }
    return true;
}

/* Diagonals, and norms of diagonal blocks; WEIGHED gets the nodes where what strength divides by differs. */
static dcsr_status reweigh(dcsr_i_amg_follow *f, const dcsr_i_amg_made *dirty, bool checked)
{
    dcsr_i_amg_level *level = f->level;
    double *diagonal = level->diagonal.data, *scale = level->scale.data, *norms = level->norms.data;
    for (uint64_t k = 0; k < dirty->count; k++) {
        const uint64_t i = dirty->row[k], node = i / level->block;
        const double before = diagonal[i];
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, &diagonal[i], sizeof *diagonal));
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, &scale[i], sizeof *scale));
        if (!dcsr_i_amg_read_row(level, i, f->h->options.smoother) && checked)
            return dcsr_i_amg_refuse("amg update", dcsr_i_amg_fault_of(&level->A.rows, i));
        if (level->block == 1 && before != diagonal[i]) dcsr_i_amg_set_add(&f->set[WEIGHED], node);
        if (!norms || (k && dirty->row[k - 1] / level->block == node)) continue;
        const double norm = norms[node];
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, &norms[node], sizeof *norms));
        dcsr_i_amg_weigh(norms, level, node);
        if (norm != norms[node]) dcsr_i_amg_set_add(&f->set[WEIGHED], node);
    }
    return DCSR_OK;
}

/* The rows of A that differ move; LOOKED gets the nodes whose strong neighbours may have changed. */
static dcsr_status take_rows(dcsr_i_amg_follow *f, const dcsr_i_amg_made *dirty, bool first, const char **why)
{
    dcsr_i_amg_level *level = f->level;
    dcsr_i_amg_set *looked = &f->set[LOOKED];
    for (uint64_t k = 0; k < dirty->count; k++) {
        dcsr_i_amg_set_add(looked, dirty->row[k] / level->block);
        if (f->h->symmetric) continue;
        add_columns(looked, dcsr_i_amg_span_of(&level->A.rows, dirty->row[k]), level->block);
        add_columns(looked, dirty->span[k], level->block);
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_move_rows(&level->A, &f->undo, dirty->count, dirty->row, dirty->span));
    DCSR_I_AMG_TRY(reweigh(f, dirty, first));
    if (first && f->h->symmetric && !is_symmetric(level, dirty)) *why = "A is not symmetric any more";
    return DCSR_OK;
}

/* ---- P and R ---- */

static bool make_p(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t node, dcsr_i_amg_pile *to)
{
    const dcsr_i_amg_level *level = f->level;
    const dcsr_i_amg_smoothed P = {level, level->aggregate.data, level->T.data, level->vectors,
                                   f->h->options.omega / level->told.rho};
    const uint32_t *strong, length = dcsr_i_amg_strong_of(f, w, node, &strong);
    dcsr_i_amg_reach_from(&w->reach, &P, node, strong, length);
    const uint64_t count = w->reach.count * level->vectors;
    for (uint64_t row = node * level->block; row < (node + 1) * level->block; row++) {
        uint32_t *columns;
        double *values;
        if (!dcsr_i_amg_pile_room(to, f->context, count, &columns, &values)) return false;
        memset(values, 0, count * sizeof *values);
        dcsr_i_amg_smoothed_row(&P, &w->reach, row, node, columns, values);
        dcsr_i_amg_pile_end(to, count);
    }
    return true;
}

/* What R gets that it had not: column << 32 | row of P, ascending. */
typedef struct inserts {
    dcsr_i_amg_array array;
    uint64_t count;
} inserts;

/* The columns in which rows of P differ, to COLUMNS, and what is new in them. */
static dcsr_status compare(dcsr_i_amg_follow *f, const dcsr_i_amg_made *made, inserts *new)
{
    double value;
    for (uint64_t k = 0; k < made->count; k++) {
        const dcsr_i_amg_span before = dcsr_i_amg_span_of(&f->level->P.rows, made->row[k]),
                              now = made->span[k];
        add_columns(&f->set[COLUMNS], before, 1);
        add_columns(&f->set[COLUMNS], now, 1);
        DCSR_I_AMG_TRY(dcsr_i_amg_grow(&new->array, f->context, new->count, now.count, sizeof(uint64_t)));
        for (uint64_t e = 0; e < now.count; e++)
            if (!find(before, now.columns[e], &value))
                ((uint64_t *)new->array.data)[new->count++] = (uint64_t)now.columns[e] << 32 | made->row[k];
    }
    dcsr_i_amg_sort64(new->array.data, new->count);
    return DCSR_OK;
}

/* A row of R, of the one before and what SMOOTHED says to be new. */
static bool make_r(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t number, dcsr_i_amg_pile *to)
{
    (void)w;
    const inserts *new = f->inserts;
    const uint64_t *key = new->array.data;
    const dcsr_i_amg_span before = dcsr_i_amg_span_of(&f->level->R.rows, number);
    uint64_t low = 0, high = new->count, count = 0, e = 0;
    uint32_t *columns;
    double *values;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (key[middle] >> 32 < number)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < new->count && key[high] >> 32 == number) high++;
    if (!dcsr_i_amg_pile_room(to, f->context, before.count + high - low, &columns, &values)) return false;
    while (e < before.count || low < high) {
        bool is_new = low < high && (e == before.count || (uint32_t)key[low] < before.columns[e]);
        uint32_t row = is_new ? (uint32_t)key[low++] : before.columns[e];
        double value = is_new ? 0 : before.values[e++];
        if (dcsr_i_amg_set_has(&f->set[SMOOTHED], row) &&
            !find(dcsr_i_amg_span_of(&f->level->P.rows, row), number, &value))
            continue;
        columns[count] = row;
        values[count++] = value;
    }
    dcsr_i_amg_pile_end(to, count);
    return true;
}

/* R's rows COLUMNS; COARSE gets those that differ. */
static dcsr_status restrict_again(dcsr_i_amg_follow *f, const inserts *new)
{
    dcsr_i_amg_made made = {0};
    f->inserts = new;
    dcsr_i_amg_set_sort(&f->set[COLUMNS]);
    dcsr_status status = dcsr_i_amg_make(&made, f, &f->set[COLUMNS], 1, make_r);
    if (!status) {
        dcsr_i_amg_made_differing(&made, &f->level->R.rows);
        for (uint64_t k = 0; k < made.count; k++) dcsr_i_amg_set_add(&f->set[COARSE], made.row[k]);
        status = dcsr_i_amg_move_rows(&f->level->R, &f->undo, made.count, made.row, made.span);
    }
    dcsr_i_amg_made_free(&made, f->context);
    return status;
}

static void clear(dcsr_i_amg_follow *f, int first, int last)
{
    for (int s = first; s <= last; s++) dcsr_i_amg_set_clear(&f->set[s]);
}

/* Rows of P of the nodes LOOKED and MOVED, and then of R. SMOOTHED gets the rows that differ. */
static dcsr_status smooth_again(dcsr_i_amg_follow *f)
{
    dcsr_i_amg_made made = {0};
    inserts new = {0};
    add_neighbours(f, &f->set[LOOKED], &f->set[MOVED], f->level->block);
    for (uint64_t k = 0; k < f->set[MOVED].count; k++)
        dcsr_i_amg_set_add(&f->set[LOOKED], f->set[MOVED].list[k]);
    dcsr_i_amg_set_sort(&f->set[LOOKED]);
    dcsr_status status = dcsr_i_amg_make(&made, f, &f->set[LOOKED], f->level->block, make_p);
    clear(f, WEIGHED, PARTS);
    if (!status) {
        dcsr_i_amg_made_differing(&made, &f->level->P.rows);
        for (uint64_t k = 0; k < made.count; k++) dcsr_i_amg_set_add(&f->set[SMOOTHED], made.row[k]);
        status = compare(f, &made, &new);
    }
    if (!status) status = dcsr_i_amg_move_rows(&f->level->P, &f->undo, made.count, made.row, made.span);
    if (!status) status = restrict_again(f, &new);
    dcsr_i_amg_made_free(&made, f->context);
    dcsr_i_amg_drop(&new.array, f->context);
    return status;
}

/* ---- R A P ---- */

/* The rows of the next level that COARSE names, and those in which rows of A P differ. */
static dcsr_status multiply_again(dcsr_i_amg_follow *f, const dcsr_i_amg_made *dirty, dcsr_i_amg_made *next)
{
    const dcsr_i_amg_level *level = f->level;
    dcsr_i_amg_set *readers = &f->set[READERS], *coarse = &f->set[COARSE], *sources = &f->set[SOURCES];
    dcsr_i_amg_made products = {0};
    for (uint64_t k = 0; k < dirty->count; k++) dcsr_i_amg_set_add(readers, dirty->row[k]);
    add_neighbours(f, readers, &f->set[SMOOTHED], 1);
    for (uint64_t k = 0; k < readers->count; k++)
        add_columns(coarse, dcsr_i_amg_span_of(&level->P.rows, readers->list[k]), 1);
    dcsr_i_amg_set_sort(coarse);
    dcsr_i_amg_set_clear(sources);
    for (uint64_t k = 0; k < coarse->count; k++)
        add_columns(sources, dcsr_i_amg_span_of(&level->R.rows, coarse->list[k]), 1);
    dcsr_i_amg_set_sort(sources);
    for (uint64_t k = 0; k < sources->count; k++) f->slot[sources->list[k]] = (uint32_t)k;
    dcsr_status status = dcsr_i_amg_make(&products, f, sources, 1, dcsr_i_amg_make_ap);
    f->source = &products;
    if (!status) status = dcsr_i_amg_make(next, f, coarse, 1, dcsr_i_amg_make_rap);
    dcsr_i_amg_made_free(&products, f->context);
    return status;
}

/* ---- One level ---- */

/* The graph of all nodes, where the rows of a node do not tell its strong neighbours. */
static dcsr_status connect_again(dcsr_i_amg_follow *f)
{
    dcsr_i_amg_graph_free(&f->graph, f->h);
    f->graph = (dcsr_i_amg_graph){0};
    return f->h->symmetric ? DCSR_OK : dcsr_i_amg_strength(&f->graph, f->h, f->level, f->level->theta);
}

/* `vectors` has the nodes whose near-nullspace vectors differ; `next` and `next_vectors` get the same of the next. */
static dcsr_status follow_level(dcsr_i_amg_follow *f, dcsr_i_amg_made *dirty, const dcsr_i_amg_set *vectors,
                                dcsr_i_amg_made *next, dcsr_i_amg_set *next_vectors, const char **why)
{
    dcsr_i_amg_level *level = f->level;
    const bool first = level == f->h->level, last = level + 1 == f->h->level + f->h->level_count;
    const uint32_t *aggregate = level->aggregate.data;
    DCSR_I_AMG_TRY(take_rows(f, dirty, first, why));
    if (*why || last) return DCSR_OK;
    DCSR_I_AMG_TRY(connect_again(f));
    add_neighbours(f, &f->set[LOOKED], &f->set[WEIGHED], level->block);
    dcsr_i_amg_set_sort(&f->set[LOOKED]);
    DCSR_I_AMG_TRY(dcsr_i_amg_regroup(f, &f->set[LOOKED], &f->set[MOVED], &f->set[PARTS], why));
    if (*why) return DCSR_OK;
    for (uint64_t k = 0; k < vectors->count; k++)
        if (aggregate[vectors->list[k]] != DCSR_I_AMG_NO_AGGREGATE)
            dcsr_i_amg_set_add(&f->set[PARTS], aggregate[vectors->list[k]]);
    DCSR_I_AMG_TRY(dcsr_i_amg_retent(f, &f->set[PARTS], &f->set[MOVED], next_vectors));
    DCSR_I_AMG_TRY(smooth_again(f));
    return multiply_again(f, dirty, next);
}

dcsr_status dcsr_i_amg_invert_again(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *last)
{
    if (!last->told.direct) return DCSR_OK;
    dcsr_i_amg_array before = last->inverse;
    last->inverse = (dcsr_i_amg_array){0};
    dcsr_status status = dcsr_i_amg_invert(h, last);
    if (status) {
        h->engine->drop(&last->inverse, h);
        last->inverse = before;
        return status;
    }
    h->engine->drop(&before, h);
    return DCSR_OK;
}

static dcsr_status follow_levels(dcsr_i_amg_follow *f, dcsr_i_amg_made *rows, const char **why)
{
    dcsr_i_amg_hierarchy *h = f->h;
    dcsr_i_amg_made dirty = *rows, next = {0};
    dcsr_status status = DCSR_OK;
    for (int l = 0; l < h->level_count && !status && !*why; l++) {
        dcsr_i_amg_set *in = &f->set[VECTORS + l % 2], *out = &f->set[VECTORS + (l + 1) % 2];
        double start = dcsr_i_amg_now();
        f->level = &h->level[l];
        dcsr_i_amg_set_clear(out);
        dcsr_i_amg_made_differing(&dirty, &f->level->A.rows);
        if (!l) rows->count = dirty.count;
        if (dirty.count || in->count) {
            status = follow_level(f, &dirty, in, &next, out, why);
            if (!status && !*why && dirty.count && l + 1 == h->level_count)
                status = dcsr_i_amg_invert_again(h, f->level);
        }
        clear(f, WEIGHED, PARTS);
        f->level->told.rows_touched = dirty.count;
        f->level->told.update_seconds = dcsr_i_amg_now() - start;
        if (l) dcsr_i_amg_made_free(&dirty, f->context);
        dirty = next;
        next = (dcsr_i_amg_made){0};
    }
    dcsr_i_amg_made_free(&dirty, f->context);
    clear(f, VECTORS, OTHER_VECTORS);
    dcsr_i_amg_graph_free(&f->graph, f->h);
    f->graph = (dcsr_i_amg_graph){0};
    return status;
}

void dcsr_i_amg_settle(dcsr_i_amg_hierarchy *h)
{
    for (int l = 0; l < h->level_count; l++) {
        dcsr_i_amg_level *level = &h->level[l];
        dcsr_i_amg_matrix *const all[] = {&level->A, &level->P, &level->R};
        for (int m = 0; m < 3; m++) {
            h->engine->tidy(all[m], h);
            dcsr_view_destroy(all[m]->shown_view);
            dcsr_matrix_destroy(all[m]->shown);
            all[m]->shown_view = NULL;
            all[m]->shown = NULL;
        }
        level->told.nnz = level->A.rows.nnz;
        level->prepared = false;
    }
    dcsr_i_amg_tell(h);
}

dcsr_status dcsr_i_amg_follow_rows(dcsr_i_amg_hierarchy *h, dcsr_i_amg_made *rows, const char **why)
{
    *why = NULL;
    for (int l = 0; l < h->level_count; l++)
        h->level[l].told.rows_touched = 0, h->level[l].told.update_seconds = 0;
    DCSR_I_AMG_TRY(dcsr_i_amg_follow_begin(h));
    dcsr_i_amg_undo *undo = &h->follow->undo;
    dcsr_status status = follow_levels(h->follow, rows, why);
    if (status || *why)
        dcsr_i_amg_take_back(undo);
    else
        dcsr_i_amg_settle(h);
    undo->used = 0;
    return status;
}
