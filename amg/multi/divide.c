/* divide.c: the setup of levels that several devices have parts of, and of those below on one device.
 *
 * Strength, aggregates, T, P and R are made by each device for its rows alone, by the stages of one device: entries in
 * columns of other devices count as weak ones do, until across.c adds to P and R what lies across a border. The next
 * level
 *
 *      A'_k = R_k (A P)_k
 *
 * is one of products of partitioned matrices, for which devices fetch rows of P. Rows are numbered device by device, so
 * the borders of a level are sums of the numbers of aggregates. */
#include "amg/multi/levels.h"
#include <dcsr/assign.h>
#include <dcsr/mxm.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A level that keeps more of its rows than that is brought to one device. */
static const double LEAST_COARSENING = 0.8;

/* What one device has in between. */
typedef struct share {
    dcsr_i_amg_diagonal found;
    dcsr_i_amg_array B, coarse; /* near-nullspace vectors of this level and of the next */
    dcsr_i_amg_graph graph;
    dcsr_i_amg_partition parts;
    bool kept;                /* the aggregates are those of `like` */
    dcsr_i_amg_array T;       /* rows of it: what B has become */
    dcsr_matrix *P, *product; /* P with columns of all devices */
} share;

typedef struct making making;
typedef dcsr_status stage(making *m, dcsr_i_amg_hierarchy *own, uint64_t k);
struct making {
    dcsr_i_divided *d;
    const dcsr_i_divided *like;
    const char *why;
    int number;
    double theta;
    const double *nullspace; /* the caller's vectors, row after row; NULL: constants */
    double *landing;         /* those of the last level: row after row, and column after column */
    uint64_t landing_numbers;
    stage *run;
    dcsr_multi_view *A_P; /* the product */
    char said[512];       /* of the first failure: giving back what there is may fail with others */
    share share[DCSR_MAX_DEVICES];
};

static const dcsr_desc same_bits = {.deterministic = true};
static const dcsr_matrix_options sum_up = {.policy = DCSR_POLICY_SUM};

static dcsr_status run_stage(void *user, uint64_t k)
{
    making *m = user;
    dcsr_i_amg_hierarchy *own = m->d->own[k];
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = m->run(m, own, k), closed = own->engine->close(own, "multi amg setup");
    return status ? status : closed;
}

/* Keeps what a failure of several devices has said. */
static dcsr_status note(making *m, dcsr_status status)
{
    if (status && !*m->said) snprintf(m->said, sizeof m->said, "%s", dcsr_thread_error());
    return status;
}

static dcsr_status on_all(making *m, stage *run)
{
    m->run = run;
    return note(m, dcsr_multi_run(m->d->devices, run_stage, m));
}

static uint64_t rows_of(const making *m, uint64_t k)
{
    return dcsr_i_divided_rows(m->d, m->number, k);
}

/* ---- What smoothing needs ---- */

/* The rows of the part, and what they tell. */
static dcsr_status begin_part(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    dcsr_view_shape shape;
    dcsr_view_info info;
    dcsr_view *part;
    dcsr_i_amg_level *level = &own->level[m->number];
    m->share[k].found = (dcsr_i_amg_diagonal){.positive = true, .wrong = UINT64_MAX};
    level->rows = rows_of(m, k);
    if (!level->rows) return DCSR_OK;
    if (!m->number) DCSR_I_AMG_TRY(own->engine->take_sums(own, level->rows));
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(m->d->level[m->number].A, k, &part));
    DCSR_I_AMG_TRY(dcsr_view_get_shape(part, &shape));
    DCSR_I_AMG_TRY(dcsr_view_get_info(part, &info));
    if (info.layout == DCSR_LAYOUT_CSR) {
        level->A.view = part;
        DCSR_I_AMG_TRY(dcsr_i_amg_matrix_rows(&level->A));
    } else {
        DCSR_I_AMG_TRY(dcsr_i_amg_copy_view(&level->A, own, part, &shape, info.type));
    }
    level->A.rows.first = (uint32_t)m->d->border[m->number][k];
    return own->engine->read_diagonal(&m->share[k].found, own, level);
}

/* What the rows of all devices tell. */
static dcsr_i_amg_diagonal join_found(const making *m)
{
    dcsr_i_amg_diagonal all = {.positive = true, .wrong = UINT64_MAX};
    for (uint64_t k = 0; k < m->d->parts; k++) {
        const dcsr_i_amg_diagonal *one = &m->share[k].found;
        if (one->gershgorin > all.gershgorin) all.gershgorin = one->gershgorin;
        all.positive = all.positive && one->positive;
        all.outside += one->outside;
        if (all.wrong == UINT64_MAX && one->wrong != UINT64_MAX)
            all.wrong = one->wrong + 4 * m->d->border[m->number][k];
    }
    return all;
}

/* The smoother of the level, by rho. */
static dcsr_status plan_smoothing(making *m, const dcsr_i_amg_diagonal *found)
{
    dcsr_i_divided *d = m->d;
    dcsr_i_divided_level *level = &d->level[m->number];
    if (!found->positive) d->symmetric = false;
    DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(&level->q, level->A, DCSR_FP64));
    if (m->like)
        level->told.rho = m->like->level[m->number].told.rho;
    else
        DCSR_I_AMG_TRY(note(m, dcsr_i_divided_rho(&level->told.rho, d, m->number, found->gershgorin)));
    for (uint64_t k = 0; k < d->parts; k++) {
        dcsr_i_amg_hierarchy *own = d->own[k];
        own->symmetric = d->symmetric;
        if (own->options.smoother == DCSR_I_AMG_ANY_SMOOTHER)
            own->options.smoother = d->symmetric ? DCSR_I_AMG_CHEBYSHEV : DCSR_I_AMG_JACOBI;
        own->level[m->number].told.rho = level->told.rho;
        dcsr_i_amg_plan_smoothing(&own->level[m->number], &own->options);
    }
    return DCSR_OK;
}

/* ---- Aggregates ---- */

static dcsr_status aggregate_part(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    share *s = &m->share[k];
    dcsr_i_amg_level *level = &own->level[m->number];
    const double start = dcsr_i_amg_now();
    s->parts = (dcsr_i_amg_partition){0};
    if (!level->rows) return DCSR_OK;
    own->engine->drop(&level->aggregate, own);
    dcsr_i_amg_graph_free(&s->graph, own);
    DCSR_I_AMG_TRY(own->engine->take(&level->aggregate, own, level->rows / level->block, sizeof(uint32_t)));
    s->parts.aggregate = level->aggregate.data;
    DCSR_I_AMG_TRY(own->engine->strength(&s->graph, own, level, m->theta));
    const double between = dcsr_i_amg_now();
    level->told.strength_seconds += between - start;
    level->theta = m->theta;
    if (m->like) {
        const dcsr_i_amg_level *before = &m->like->own[k]->level[m->number];
        s->kept = dcsr_i_amg_hold_together(&s->graph, before->aggregate.data,
                                           dcsr_context_threads(own->context, 8 * s->graph.count));
        memcpy(s->parts.aggregate, before->aggregate.data, s->graph.count * sizeof(uint32_t));
        s->parts.count = before->aggregates;
    } else {
        DCSR_I_AMG_TRY(own->engine->aggregate(&s->parts, own, &s->graph));
    }
    level->aggregates = s->parts.count;
    level->told.aggregate_seconds += dcsr_i_amg_now() - between;
    return DCSR_OK;
}

/* Aggregates of all devices, by a threshold; sets the borders of the next level, and *made to whether they are worth
 * it. */
static dcsr_status aggregate_at(making *m, double theta, bool *made)
{
    dcsr_i_divided *d = m->d;
    uint64_t *border = d->border[m->number + 1];
    m->theta = theta;
    DCSR_I_AMG_TRY(on_all(m, aggregate_part));
    border[0] = 0;
    for (uint64_t k = 0; k < d->parts; k++) border[k + 1] = border[k] + m->share[k].parts.count * d->vectors;
    const uint64_t rows = dcsr_i_divided_all(d, m->number), coarse = border[d->parts];
    *made = coarse && (double)coarse < LEAST_COARSENING * (double)rows;
    return DCSR_OK;
}

/* Those of `like` on all devices, or none of them; where too little is strong, all entries count as that. */
static dcsr_status aggregate(making *m, bool *made)
{
    if (m->like) {
        bool kept = true;
        DCSR_I_AMG_TRY(aggregate_at(m, m->like->own[0]->level[m->number].theta, made));
        for (uint64_t k = 0; k < m->d->parts; k++) kept = kept && (m->share[k].kept || !rows_of(m, k));
        if (kept) return DCSR_OK;
        m->like = NULL;
        m->why = "aggregates do not hold together any more";
    }
    const double strength = m->d->own[0]->options.strength;
    DCSR_I_AMG_TRY(aggregate_at(m, strength, made));
    return *made || strength == 0 ? DCSR_OK : aggregate_at(m, 0, made);
}

/* ---- P, R and the next level ---- */

/* A matrix of the device's rows and aggregates with columns where they are among those of all. */
static dcsr_status spread(dcsr_matrix **to, making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const uint64_t first = m->d->border[m->number + 1][k], count = m->d->border[m->number + 1][k + 1] - first;
    dcsr_i_amg_array list = {0};
    dcsr_view *view;
    DCSR_I_AMG_TRY(dcsr_matrix_create(to, own->context, DCSR_FP64, rows_of(m, k),
                                      dcsr_i_divided_all(m->d, m->number + 1), &sum_up));
    if (!count) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_show(&view, &own->level[m->number].P, own));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&list, own->context, count, sizeof(uint64_t)));
    uint64_t *columns = list.data;
    for (uint64_t c = 0; c < count; c++) columns[c] = first + c;
    dcsr_status status =
        dcsr_matrix_assign(*to, NULL, NULL, view, NULL, &(dcsr_index_list){columns, count}, NULL);
    dcsr_i_amg_drop(&list, own->context);
    return status;
}

/* A copy that was made to be shown. */
static void hide(dcsr_i_amg_matrix *matrix)
{
    dcsr_view_destroy(matrix->shown_view);
    dcsr_matrix_destroy(matrix->shown);
    matrix->shown_view = NULL;
    matrix->shown = NULL;
}

/* B of the first level, the caller's or constants for each row of a node, and room for the next one's. */
static dcsr_status begin_vectors(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    share *s = &m->share[k];
    const dcsr_i_divided *d = m->d;
    const uint64_t numbers = rows_of(m, k) * d->vectors, coarse = dcsr_i_divided_rows(d, m->number + 1, k);
    if (!m->number && !s->B.data) {
        DCSR_I_AMG_TRY(own->engine->take(&s->B, own, numbers, sizeof(double)));
        if (m->nullspace)
            own->engine->put(own, s->B.data, m->nullspace + d->border[0][k] * d->vectors,
                             numbers * sizeof(double));
        else
            own->engine->fill_constants(own, s->B.data, rows_of(m, k), d->vectors);
    }
    return s->coarse.data ? DCSR_OK : own->engine->take(&s->coarse, own, coarse * d->vectors, sizeof(double));
}

static dcsr_status prolong_part(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    share *s = &m->share[k];
    dcsr_i_amg_level *level = &own->level[m->number];
    const double start = dcsr_i_amg_now();
    dcsr_status status = DCSR_OK;
    if (s->parts.count) {
        DCSR_I_AMG_TRY(begin_vectors(m, own, k));
        status = own->engine->prolongator(level, s->B.data, s->coarse.data, own, &s->graph, &s->parts,
                                          m->d->vectors);
        if (!status) status = dcsr_i_amg_make_R(own, level);
    }
    dcsr_i_amg_graph_free(&s->graph, own);
    s->T = s->B;
    s->B = s->coarse;
    s->coarse = (dcsr_i_amg_array){0};
    if (!status) status = spread(&s->P, m, own, k);
    hide(&level->P);
    level->told.prolongator_seconds = dcsr_i_amg_now() - start;
    return status;
}

/* P and R across borders. */
static dcsr_status go_across(making *m)
{
    dcsr_matrix *P[DCSR_MAX_DEVICES];
    const double *T[DCSR_MAX_DEVICES];
    for (uint64_t k = 0; k < m->d->parts; k++) {
        P[k] = m->share[k].P;
        T[k] = m->share[k].parts.count ? m->share[k].T.data : NULL;
    }
    return m->d->parts > 1 ? note(m, dcsr_i_across_make(m->d, m->number, T, P)) : DCSR_OK;
}

static dcsr_status drop_T(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    own->engine->drop(&m->share[k].T, own);
    return DCSR_OK;
}

/* A'_k = R_k (A P)_k */
static dcsr_status multiply_part(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    share *s = &m->share[k];
    const uint64_t cols = dcsr_i_divided_all(m->d, m->number + 1),
                   rows = dcsr_i_divided_rows(m->d, m->number + 1, k);
    dcsr_i_amg_matrix *R = &own->level[m->number].R;
    dcsr_view *view, *part;
    DCSR_I_AMG_TRY(dcsr_matrix_create(&s->product, own->context, DCSR_FP64, rows, cols, &sum_up));
    if (!rows) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_show(&view, R, own));
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(m->A_P, k, &part));
    dcsr_status status = dcsr_mxm(s->product, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), view,
                                  part, &same_bits);
    hide(R);
    return status;
}

/* One matrix of those that devices have: of the field of their shares at this offset. */
static dcsr_status join_parts(dcsr_multi_matrix **whole, making *m, size_t offset)
{
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    for (uint64_t k = 0; k < m->d->parts; k++)
        part[k] = *(dcsr_matrix **)(void *)((char *)&m->share[k] + offset);
    DCSR_I_AMG_TRY(dcsr_multi_matrix_from_parts(whole, m->d->devices, part, NULL));
    for (uint64_t k = 0; k < m->d->parts; k++)
        *(dcsr_matrix **)(void *)((char *)&m->share[k] + offset) = NULL;
    return DCSR_OK;
}

/* A P, by devices that fetch rows of P. */
static dcsr_status multiply(making *m)
{
    dcsr_multi_matrix *P = NULL, *A_P = NULL;
    dcsr_multi_view *view = NULL;
    dcsr_matrix *product[DCSR_MAX_DEVICES];
    dcsr_i_divided_level *level = &m->d->level[m->number];
    const double start = dcsr_i_amg_now();
    dcsr_status status = join_parts(&P, m, offsetof(share, P));
    if (!status) status = dcsr_multi_view_create(&view, P, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status)
        status = dcsr_multi_mxm(&A_P, DCSR_FP64, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), level->A,
                                view, &same_bits, NULL);
    note(m, status);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(P);
    if (!status) status = dcsr_multi_view_create(&m->A_P, A_P, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = on_all(m, multiply_part);
    for (uint64_t k = 0; k < m->d->parts; k++) product[k] = m->share[k].product;
    if (!status) status = note(m, dcsr_i_across_add(m->d, m->number, m->A_P, product));
    dcsr_multi_view_destroy(m->A_P);
    dcsr_multi_matrix_destroy(A_P);
    m->A_P = NULL;
    if (!status) status = join_parts(&level[1].matrix, m, offsetof(share, product));
    if (!status)
        status = dcsr_multi_view_create(&level[1].A, level[1].matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    level->told.product_seconds = dcsr_i_amg_now() - start;
    return status;
}

/* ---- The level that is on one device ---- */

/* The device's part of its b, which is the caller's where all levels are on one device, unless cycles are in fp32. */
static dcsr_status take_last(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    dcsr_i_amg_level *level = &own->level[m->number];
    level->rows = rows_of(m, k);
    return own->engine->take(&level->b, own, level->rows, sizeof(double));
}

/* Its near-nullspace vectors to the landing. */
static dcsr_status bring_vectors(making *m, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const uint64_t numbers = rows_of(m, k) * m->d->vectors;
    double *to = m->landing + m->d->border[m->number][k] * m->d->vectors;
    return numbers ? own->engine->get(own, to, m->share[k].B.data, numbers * sizeof(double)) : DCSR_OK;
}

/* Those of the level that is on one device, which are the caller's if that is the first. */
static dcsr_status give_vectors(making *m, uint64_t rows)
{
    dcsr_i_divided *d = m->d;
    const uint64_t vectors = d->vectors, numbers = rows * vectors;
    const double *from = m->nullspace;
    if (!d->count && !from) return DCSR_OK; /* constants, by the option block */
    m->landing_numbers = 2 * numbers;
    m->landing = dcsr_context_allocate(d->context, m->landing_numbers, sizeof(double));
    if (!m->landing) return dcsr_thread_status();
    if (d->count) {
        DCSR_I_AMG_TRY(on_all(m, bring_vectors));
        from = m->landing;
    }
    double *columns = m->landing + numbers;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t c = 0; c < vectors; c++) columns[i + c * rows] = from[i * vectors + c];
    return dcsr_amg_set_nullspace(d->last, &(dcsr_dense){rows, vectors, columns, d->context});
}

static dcsr_status gather(making *m)
{
    dcsr_i_divided *d = m->d;
    const uint64_t rows = dcsr_i_divided_all(d, d->count);
    if (d->count || d->type == DCSR_FP32) {
        DCSR_I_AMG_TRY(on_all(m, take_last));
        DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(&d->level[d->count].x, d->level[d->count].A, d->type));
    }
    DCSR_I_AMG_TRY(dcsr_multi_view_to_matrix(&d->gathered, d->context, d->level[d->count].A, NULL));
    DCSR_I_AMG_TRY(dcsr_view_create(&d->gathered_view, d->gathered, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    DCSR_I_AMG_TRY(dcsr_amg_create(&d->last, d->context));
    d->last->lower = true;
    d->last->options = d->own[0]->options;
    d->last->options.levels -= d->count;
    d->last->options.block = (int64_t)d->own[0]->level[d->count].block;
    DCSR_I_AMG_TRY(give_vectors(m, rows));
    DCSR_I_AMG_TRY(dcsr_amg_setup(d->last, d->gathered_view, NULL));
    dcsr_i_amg_hierarchy *last = d->last->hierarchy;
    DCSR_I_AMG_TRY(last->engine->open(last));
    dcsr_status status = dcsr_i_amg_prepare(last), closed = last->engine->close(last, "multi amg setup");
    return status ? status : closed;
}

/* ---- All levels ---- */

static void tell_level(dcsr_i_divided *d, int number)
{
    dcsr_amg_level *told = &d->level[number].told;
    dcsr_multi_view_info info = {0};
    dcsr_multi_view_get_info(d->level[number].A, &info);
    told->rows = info.rows;
    told->nnz = info.nnz;
    for (uint64_t k = 0; k < d->parts; k++) {
        const dcsr_amg_level *one = &d->own[k]->level[number].told;
        if (one->strength_seconds > told->strength_seconds) told->strength_seconds = one->strength_seconds;
        if (one->aggregate_seconds > told->aggregate_seconds)
            told->aggregate_seconds = one->aggregate_seconds;
        if (one->prolongator_seconds > told->prolongator_seconds)
            told->prolongator_seconds = one->prolongator_seconds;
    }
}

static void tell(dcsr_i_divided *d)
{
    double entries = 0, rows = 0;
    const dcsr_i_amg_hierarchy *last = d->last->hierarchy;
    for (int l = 0; l < d->count; l++) {
        tell_level(d, l);
        entries += (double)d->level[l].told.nnz;
        rows += (double)d->level[l].told.rows;
    }
    for (int l = 0; l < last->level_count; l++) {
        entries += (double)last->level[l].told.nnz;
        rows += (double)last->level[l].told.rows;
    }
    const dcsr_amg_level *first = d->count ? &d->level[0].told : &last->level[0].told;
    for (int l = 0; l < d->count; l++)
        d->level[l].told.share = entries > 0 ? (double)d->level[l].told.nnz / entries : 0;
    d->info = (dcsr_multi_amg_info){.outside = d->info.outside,
                                    .levels = (uint64_t)(d->count + last->level_count),
                                    .divided = (uint64_t)d->count,
                                    .operator_complexity = first->nnz ? entries / (double)first->nnz : 1,
                                    .grid_complexity = first->rows ? rows / (double)first->rows : 1,
                                    .symmetric = d->count ? d->symmetric : last->symmetric};
}

static dcsr_status make_levels(making *m, const dcsr_multi_amg *amg)
{
    dcsr_i_divided *d = m->d;
    for (;; d->count = m->number) {
        const int number = m->number;
        bool coarser = true;
        for (uint64_t k = 0; k < d->parts; k++)
            d->own[k]->level[number].block = number ? d->vectors : (uint64_t)d->own[k]->options.block;
        if (!number) {
            DCSR_I_AMG_TRY(on_all(m, begin_part));
            const dcsr_i_amg_diagonal found = join_found(m);
            if (found.wrong != UINT64_MAX) return dcsr_i_amg_refuse("multi amg setup", found.wrong);
        }
        if (dcsr_i_divided_all(d, number) <= amg->one_device || number + 1 >= d->own[0]->options.levels ||
            (m->like && number == m->like->count))
            break;
        const double start = dcsr_i_amg_now();
        if (number) DCSR_I_AMG_TRY(on_all(m, begin_part));
        const dcsr_i_amg_diagonal found = join_found(m);
        const double outside = found.outside / (double)dcsr_i_divided_all(d, number);
        if (!number) d->info.outside = outside;
        if (outside > amg->outside) break;
        DCSR_I_AMG_TRY(plan_smoothing(m, &found));
        d->level[number].told.smoother_seconds = dcsr_i_amg_now() - start;
        DCSR_I_AMG_TRY(aggregate(m, &coarser));
        if (!coarser) break;
        DCSR_I_AMG_TRY(on_all(m, prolong_part));
        DCSR_I_AMG_TRY(go_across(m));
        DCSR_I_AMG_TRY(on_all(m, drop_T));
        DCSR_I_AMG_TRY(multiply(m));
        DCSR_I_AMG_TRY(note(m, dcsr_i_divided_prepare(d, number)));
        m->number = number + 1;
    }
    return gather(m);
}

/* With aggregates and rho of `like` only where its rows are cut in the same way, and it is on the cpu. */
static const dcsr_i_divided *usable(const dcsr_i_divided *like, const dcsr_i_divided *d, const char **why)
{
    *why = NULL;
    if (!like) return NULL;
    if (d->own[0]->engine->on_device)
        *why = "levels on several GPUs are set up anew";
    else if (like->vectors != d->vectors || (int64_t)like->own[0]->level[0].block != d->own[0]->options.block)
        *why = "the option block has changed, or the number of near-nullspace vectors";
    else if (memcmp(like->border[0], d->border[0], sizeof like->border[0]))
        *why = "rows are cut elsewhere, or have become more or fewer";
    return *why ? NULL : like;
}

static dcsr_status prepare(dcsr_i_divided *d, dcsr_multi_amg *amg, dcsr_multi_view *A)
{
    dcsr_multi_view_info info;
    DCSR_I_AMG_TRY(dcsr_multi_view_get_info(A, &info));
    memcpy(d->border[0], info.border, sizeof info.border);
    for (uint64_t k = d->parts + 1; k <= DCSR_MAX_DEVICES; k++) d->border[0][k] = 0;
    for (uint64_t k = 0; k < d->parts; k++)
        DCSR_I_AMG_TRY(dcsr_i_amg_hierarchy_create(&d->own[k], amg->solver[k]));
    return DCSR_OK;
}

/* What devices have in between, after a failure too. */
static void leave(making *m)
{
    dcsr_context_free(m->d->context, m->landing, m->landing_numbers, sizeof(double));
    for (uint64_t k = 0; k < m->d->parts; k++) {
        share *s = &m->share[k];
        dcsr_i_amg_hierarchy *own = m->d->own[k];
        if (!own) continue;
        dcsr_i_amg_graph_free(&s->graph, own);
        own->engine->drop(&s->B, own);
        own->engine->drop(&s->coarse, own);
        own->engine->drop(&s->T, own);
        dcsr_matrix_destroy(s->P);
        dcsr_matrix_destroy(s->product);
    }
}

dcsr_status dcsr_i_divide(dcsr_i_divided **made, dcsr_multi_amg *amg, dcsr_multi_view *A,
                          const dcsr_i_divided *like, const char **why)
{
    const double start = dcsr_i_amg_now();
    dcsr_i_divided *d = dcsr_context_allocate(amg->context[0], 1, sizeof *d);
    making *m = dcsr_context_allocate(amg->context[0], 1, sizeof *m);
    dcsr_status status = d && m ? DCSR_OK : dcsr_thread_status();
    if (d)
        *d = (dcsr_i_divided){.devices = amg->devices,
                              .parts = amg->parts,
                              .context = amg->context[0],
                              .symmetric = true,
                              .type = amg->solver[0]->options.precision == DCSR_I_AMG_FP32 ? DCSR_FP32
                                                                                           : DCSR_FP64,
                              .level[0].A = A};
    if (!status) {
        m->d = d;
        m->nullspace = amg->solver[0]->nullspace.data;
        d->vectors = m->nullspace ? amg->solver[0]->nullspace_cols : (uint64_t)amg->solver[0]->options.block;
        status = prepare(d, amg, A);
        if (!status) m->like = usable(like, d, &m->why);
        if (m->like) d->symmetric = like->symmetric;
        if (!status) status = note(m, make_levels(m, amg));
        leave(m);
        *why = m->why;
    }
    if (status) dcsr_i_divided_destroy(d);
    if (status && m && *m->said) dcsr_thread_fail(status, "%s", m->said);
    dcsr_context_free(amg->context[0], m, 1, sizeof *m);
    if (status) return status;
    tell(d);
    d->info.setup_seconds = dcsr_i_amg_now() - start;
    *made = d;
    return DCSR_OK;
}

void dcsr_i_divided_destroy(dcsr_i_divided *d)
{
    if (!d) return;
    dcsr_amg_destroy(d->last);
    dcsr_view_destroy(d->gathered_view);
    dcsr_matrix_destroy(d->gathered);
    for (uint64_t k = 0; k < d->parts; k++) dcsr_i_amg_hierarchy_destroy(d->own[k]);
    for (int l = 0; l < DCSR_I_AMG_MOST_LEVELS; l++) {
        dcsr_multi_vector_destroy(d->level[l].x);
        dcsr_multi_vector_destroy(d->level[l].q);
        dcsr_multi_vector_destroy(d->level[l].y);
        dcsr_i_across_free(&d->level[l].P);
        dcsr_i_across_free(&d->level[l].R);
        dcsr_multi_view_destroy(d->level[l].narrow_A);
        dcsr_multi_matrix_destroy(d->level[l].narrow_matrix);
        if (d->level[l].matrix) dcsr_multi_view_destroy(d->level[l].A);
        dcsr_multi_matrix_destroy(d->level[l].matrix);
    }
    dcsr_context_free(d->context, d, 1, sizeof *d);
}
