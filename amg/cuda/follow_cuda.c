/* follow_cuda.c: levels on a device that follow their matrix: what follow.c does, where A is symmetric.
 *
 * Work follows the rows that are reached; the host learns how many these are, five times a level, for the room that
 * the next step takes. Nothing is kept between updates but what a setup leaves. */
#include "amg/cuda/follow_stages.h"
#include "amg/hierarchy_follow.h"
#include "dcsr/device/prim_cuda.h"
#include <dcsr/extract.h>
#include <string.h>

typedef dcsr_i_amg_cuda_follow follow;
typedef dcsr_i_amg_cuda_rows_made rows_made;

enum { A, P, R, MATRICES };

static dcsr_i_amg_cuda_rows rows_of(const follow *f, int which)
{
    const dcsr_i_amg_level *level = f->level;
    return dcsr_i_amg_cuda_rows_of(which == A   ? &level->A.rows
                                   : which == P ? &level->P.rows
                                                : &level->R.rows);
}

static dcsr_status begin_level(follow *f, int number)
{
    f->level = &f->h->level[number];
    const uint64_t rows = f->level->rows, words = rows / 32 + 1;
    f->counters = dcsr_i_amg_cuda_scratch(f, DCSR_I_COUNTERS, sizeof *f->counters);
    if (f->counters) f->bits = dcsr_i_amg_cuda_scratch(f, DCSR_I_SETS * words, sizeof *f->bits);
    if (f->counters && f->bits) f->lists = dcsr_i_amg_cuda_scratch(f, DCSR_I_SETS * rows, sizeof *f->lists);
    if (!f->counters || !f->bits || !f->lists) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(f->h->stream, f->counters, 0, DCSR_I_COUNTERS * sizeof *f->counters);
    dcsr_i_cuda_fill(f->h->stream, f->bits, 0, DCSR_I_SETS * words * sizeof *f->bits);
    return DCSR_OK;
}

/* ---- Rows that move ---- */

static dcsr_i_amg_matrix *matrix_of(const follow *f, int which)
{
    return which == A ? &f->level->A : which == P ? &f->level->P : &f->level->R;
}

static dcsr_status move(follow *f, int which, const rows_made *made, int changed,
                        const dcsr_i_amg_cuda_touched *touched)
{
    dcsr_i_amg_matrix *m = matrix_of(f, which);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_loosen(m, f->h, made->entries));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_log_room(f, 2 * made->rows.count));
    f->before[f->level - f->h->level][which] = (struct dcsr_i_amg_cuda_before){true, m->used, m->rows.nnz};
    const dcsr_i_amg_cuda_moving to = {.begin = m->begins.data,
                                       .end = m->ends.data,
                                       .columns = m->columns.data,
                                       .values = m->values.data,
                                       .used = m->used,
                                       .placed = f->counters + DCSR_I_PLACED + which,
                                       .gone = f->counters + DCSR_I_GONE + which};
    const dcsr_i_amg_cuda_log log = dcsr_i_amg_cuda_log_of(f);
    const dcsr_i_amg_cuda_set set = dcsr_i_amg_cuda_set_of(f, changed);
    dcsr_i_amg_cuda_move_rows(f->h->stream, &to, &made->rows, &log, &set, touched);
    return DCSR_OK;
}

/* Once the counters were read. */
static void have_moved(follow *f, int which)
{
    dcsr_i_amg_matrix *m = matrix_of(f, which);
    m->used += f->at[DCSR_I_PLACED + which];
    m->rows.nnz += f->at[DCSR_I_PLACED + which] - f->at[DCSR_I_GONE + which];
}

/* A, diagonals, norms; LOOKED gets the nodes whose strong neighbours may differ, with room for these in begin. */
static dcsr_status take_rows(follow *f, const rows_made *made, uint64_t *begin)
{
    dcsr_i_amg_level *level = f->level;
    const bool first = level == f->h->level;
    const uint64_t bound = made->rows.count;
    DCSR_I_AMG_TRY(move(f, A, made, DCSR_I_DIRTY, NULL));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_log_room(f, 3 * bound));
    const dcsr_i_amg_cuda_rows rows = rows_of(f, A);
    const dcsr_i_amg_cuda_set weighed = dcsr_i_amg_cuda_set_of(f, DCSR_I_WEIGHED),
                              looked = dcsr_i_amg_cuda_set_of(f, DCSR_I_LOOKED);
    const dcsr_i_amg_cuda_weighing w = {.A = rows,
                                        .dirty = dcsr_i_amg_cuda_set_of(f, DCSR_I_DIRTY),
                                        .block = level->block,
                                        .l1 = f->h->options.smoother == DCSR_I_AMG_L1,
                                        .diagonal = level->diagonal.data,
                                        .scale = level->scale.data,
                                        .norms = level->norms.data,
                                        .log = dcsr_i_amg_cuda_log_of(f),
                                        .looked = looked,
                                        .weighed = weighed,
                                        .wrong = f->counters + DCSR_I_WRONG,
                                        .lopsided = first ? f->counters + DCSR_I_LOPSIDED : NULL};
    dcsr_i_amg_cuda_weigh(f->h->stream, &w, bound);
    dcsr_i_amg_cuda_add_columns(f->h->stream, &looked, &rows, &weighed, level->block, level->block, bound);
    dcsr_i_amg_cuda_place_nodes(f->h->stream, &looked, &rows, level->block, begin,
                                f->counters + DCSR_I_ENTRIES, level->rows / level->block);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    have_moved(f, A);
    if (first && f->at[DCSR_I_WRONG])
        return dcsr_i_amg_refuse("amg update", UINT64_MAX - f->at[DCSR_I_WRONG]);
    if (first && f->at[DCSR_I_LOPSIDED]) f->why = "A is not symmetric any more";
    return DCSR_OK;
}

/* ---- P ---- */

/* The strong neighbours of the nodes LOOKED, and the aggregates that they reach. */
static dcsr_status connect(follow *f, dcsr_i_amg_cuda_prolongation *p, const uint64_t *begin)
{
    const dcsr_i_amg_level *level = f->level;
    dcsr_i_amg_cuda_graph *g = &p->graph;
    const uint64_t entries = f->at[DCSR_I_ENTRIES], nodes = f->at[DCSR_I_LOOKED];
    const dcsr_i_amg_cuda_set moved = dcsr_i_amg_cuda_set_of(f, DCSR_I_MOVED),
                              parts = dcsr_i_amg_cuda_set_of(f, DCSR_I_PARTS);
    uint64_t *sums = NULL;
    double *norms = NULL;
    *g = (dcsr_i_amg_cuda_graph){
        .count = nodes, .begin = begin, .list = dcsr_i_amg_cuda_set_of(f, DCSR_I_LOOKED).list};
    g->length = dcsr_i_amg_cuda_scratch(f, nodes, sizeof *g->length);
    if (g->length) g->nodes = dcsr_i_amg_cuda_scratch(f, entries, sizeof *g->nodes);
    if (g->nodes) p->reached = dcsr_i_amg_cuda_scratch(f, entries, sizeof *p->reached);
    if (p->reached) p->counts = dcsr_i_amg_cuda_scratch(f, nodes, sizeof *p->counts);
    if (p->counts) p->sums = sums = dcsr_i_amg_cuda_scratch(f, nodes + 1, sizeof *sums);
    if (sums && level->block > 1) norms = dcsr_i_amg_cuda_scratch(f, entries, sizeof *norms);
    if (!sums || (level->block > 1 && !norms)) return dcsr_i_no_memory();
    const dcsr_i_amg_cuda_rows rows = rows_of(f, A), turned = rows_of(f, R);
    const double theta2 = level->theta * level->theta;
    if (level->block == 1)
        dcsr_i_amg_cuda_connect_rows(f->h->stream, g, &rows, level->diagonal.data, theta2);
    else
        dcsr_i_amg_cuda_connect_nodes(f->h->stream, g, &rows, level->block, theta2, level->norms.data, norms);
    dcsr_i_amg_cuda_check_aggregates(f->h->stream, p, &turned, &moved, &parts);
    dcsr_i_amg_cuda_reach(f->h->stream, p);
    DCSR_I_AMG_TRY(dcsr_i_cuda_scan_u32(f->h->stream, p->counts, sums, nodes));
    dcsr_i_cuda_copy(f->h->stream, f->counters + DCSR_I_REACHED, sums + nodes, sizeof *sums);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    return DCSR_OK;
}

static dcsr_status fill_rows(follow *f, dcsr_i_amg_cuda_prolongation *p, rows_made *made)
{
    const uint64_t count = p->graph.count * p->block, entries = f->at[DCSR_I_REACHED] * p->block * p->vectors;
    p->offsets = dcsr_i_amg_cuda_scratch(f, count + 1, sizeof *p->offsets);
    if (p->offsets) p->columns = dcsr_i_amg_cuda_scratch(f, entries, sizeof *p->columns);
    if (p->columns) p->values = dcsr_i_amg_cuda_scratch(f, entries, sizeof *p->values);
    if (!p->values) return dcsr_i_no_memory();
    dcsr_i_amg_cuda_fill_rows(f->h->stream, p);
    *made = (rows_made){
        .rows = {count, p->block, p->graph.list, p->offsets, p->offsets + 1, p->columns, p->values},
        .entries = entries};
    return DCSR_OK;
}

/* Rows of P of the nodes LOOKED. SMOOTHED gets those that differ, COLUMNS their columns; `keys` what is new. */
static dcsr_status smooth_again(follow *f, uint64_t *begin, uint64_t **keys, uint64_t **spare)
{
    const dcsr_i_amg_level *level = f->level;
    dcsr_i_amg_cuda_prolongation p = {.A = rows_of(f, A),
                                      .aggregate = level->aggregate.data,
                                      .T = level->T.data,
                                      .diagonal = level->diagonal.data,
                                      .block = level->block,
                                      .vectors = level->vectors,
                                      .factor = f->h->options.omega / level->told.rho};
    rows_made made;
    DCSR_I_AMG_TRY(connect(f, &p, begin));
    if (f->at[DCSR_I_MOVED] || f->at[DCSR_I_PARTS] || f->vectors.count) {
        DCSR_I_AMG_TRY(dcsr_i_amg_cuda_regroup(f, begin));
        if (f->why) return DCSR_OK;
        DCSR_I_AMG_TRY(connect(f, &p, begin));
    }
    DCSR_I_AMG_TRY(fill_rows(f, &p, &made));
    *keys = dcsr_i_amg_cuda_scratch(f, made.entries, sizeof **keys);
    if (*keys) *spare = dcsr_i_amg_cuda_scratch(f, made.entries, sizeof **keys);
    if (!*spare) return dcsr_i_no_memory();
    const dcsr_i_amg_cuda_touched touched = {dcsr_i_amg_cuda_set_of(f, DCSR_I_COLUMNS), *keys,
                                             f->counters + DCSR_I_KEYS};
    DCSR_I_AMG_TRY(move(f, P, &made, DCSR_I_SMOOTHED, &touched));
    const dcsr_i_amg_cuda_rows turned = rows_of(f, R);
    dcsr_i_amg_cuda_add_lengths(f->h->stream, &touched.columns, &turned, f->counters + DCSR_I_ROOM,
                                turned.rows);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    have_moved(f, P);
    return DCSR_OK;
}

/* ---- R ---- */

/* Its rows COLUMNS; COARSE gets those that differ. */
static dcsr_status restrict_again(follow *f, uint64_t *keys, uint64_t *spare)
{
    const uint64_t count = f->at[DCSR_I_COLUMNS], entries = f->at[DCSR_I_ROOM] + f->at[DCSR_I_KEYS];
    dcsr_i_amg_cuda_turning t = {.columns = dcsr_i_amg_cuda_set_of(f, DCSR_I_COLUMNS),
                                 .smoothed = dcsr_i_amg_cuda_set_of(f, DCSR_I_SMOOTHED),
                                 .P = rows_of(f, P),
                                 .R = rows_of(f, R),
                                 .count = count,
                                 .key_count = f->at[DCSR_I_KEYS],
                                 .used = f->counters + DCSR_I_TURNED};
    if (f->at[DCSR_I_KEYS])
        DCSR_I_AMG_TRY(dcsr_i_cuda_sort(f->h->stream, &keys, &spare, NULL, NULL, f->at[DCSR_I_KEYS], 0,
                                        32 + dcsr_i_amg_cuda_bits(t.R.rows)));
    t.keys = keys;
    t.begin = dcsr_i_amg_cuda_scratch(f, count, sizeof *t.begin);
    if (t.begin) t.end = dcsr_i_amg_cuda_scratch(f, count, sizeof *t.end);
    if (t.end) t.made_columns = dcsr_i_amg_cuda_scratch(f, entries, sizeof *t.made_columns);
    if (t.made_columns) t.made_values = dcsr_i_amg_cuda_scratch(f, entries, sizeof *t.made_values);
    if (!t.made_values) return dcsr_i_no_memory();
    dcsr_i_amg_cuda_turn_rows(f->h->stream, &t);
    const rows_made made = {.rows = {count, 1, t.columns.list, t.begin, t.end, t.made_columns, t.made_values},
                            .entries = entries};
    return move(f, R, &made, DCSR_I_COARSE, NULL);
}

/* ---- R A P ---- */

static void made_free(rows_made *made, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_array *const all[] = {&made->node, &made->begin, &made->end, &made->columns, &made->values};
    for (int a = 0; a < 5; a++) h->engine->drop(all[a], h);
    *made = (rows_made){0};
}

/* Room for `count` rows of `entries`, in place of what there is. */
static dcsr_status made_take(rows_made *made, dcsr_i_amg_hierarchy *h, uint64_t count, uint64_t entries)
{
    made_free(made, h);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&made->node, h, count, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&made->begin, h, count, sizeof(uint64_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&made->end, h, count, sizeof(uint64_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&made->columns, h, entries, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&made->values, h, entries, sizeof(double)));
    made->rows = (dcsr_i_amg_cuda_made){
        count, 1, made->node.data, made->begin.data, made->end.data, made->columns.data, made->values.data};
    made->entries = entries;
    return DCSR_OK;
}

/* Two products of rows: what they are of, and how large tables and room have to be, as far as is known. */
typedef struct products {
    rows_made ap;
    uint32_t *slot;
    uint64_t ap_room, rap_room;
    int ap_bits, rap_bits;
} products;

/* The size of a table for rows of `length` columns on average, where some rows are twice as long. */
static int bits_for(uint64_t length)
{
    int bits = DCSR_I_AMG_CUDA_LEAST_BITS;
    while (bits < DCSR_I_AMG_CUDA_MOST_BITS && (uint64_t)3 << (bits - 2) < 2 * length) bits++;
    return bits;
}

static dcsr_i_amg_cuda_terms terms_of(const follow *f, int set, const rows_made *made, int used, int bits)
{
    return (dcsr_i_amg_cuda_terms){.list = dcsr_i_amg_cuda_set_of(f, set).list,
                                   .count = f->at[set],
                                   .room = made->entries,
                                   .used = f->counters + used,
                                   .full = f->counters + used + 1,
                                   .made_begin = made->begin.data,
                                   .made_end = made->end.data,
                                   .made_columns = made->columns.data,
                                   .made_values = made->values.data,
                                   .bits = bits};
}

static dcsr_status multiply(follow *f, products *p, rows_made *next)
{
    DCSR_I_AMG_TRY(made_take(&p->ap, f->h, f->at[DCSR_I_SOURCES], p->ap_room));
    DCSR_I_AMG_TRY(made_take(next, f->h, f->at[DCSR_I_COARSE], p->rap_room));
    const dcsr_i_amg_cuda_rows prolongation = rows_of(f, P);
    dcsr_i_amg_cuda_terms ap = terms_of(f, DCSR_I_SOURCES, &p->ap, DCSR_I_AP_USED, p->ap_bits),
                          rap = terms_of(f, DCSR_I_COARSE, next, DCSR_I_RAP_USED, p->rap_bits);
    ap.X = rows_of(f, A);
    ap.begin = prolongation.begin;
    ap.end = prolongation.end;
    ap.columns = prolongation.columns;
    ap.values = prolongation.values;
    rap.X = rows_of(f, R);
    rap.begin = p->ap.begin.data;
    rap.end = p->ap.end.data;
    rap.columns = p->ap.columns.data;
    rap.values = p->ap.values.data;
    rap.slot = p->slot;
    rap.ordered = true;
    rap.before = dcsr_i_amg_cuda_rows_of(&f->level[1].A.rows);
    dcsr_i_cuda_fill(f->h->stream, f->counters + DCSR_I_AP_USED, 0, 4 * sizeof *f->counters);
    dcsr_i_cuda_copy(f->h->stream, next->node.data, rap.list, rap.count * sizeof *rap.list);
    dcsr_i_amg_cuda_multiply_rows(f->h->stream, &ap);
    dcsr_i_amg_cuda_multiply_rows(f->h->stream, &rap);
    return dcsr_i_amg_cuda_read_counters(f);
}

/* Again with larger tables and more room, until all rows are there. */
static dcsr_status multiply_all(follow *f, products *p, rows_made *next)
{
    for (;;) {
        DCSR_I_AMG_TRY(multiply(f, p, next));
        const bool full = f->at[DCSR_I_AP_FULL] || f->at[DCSR_I_RAP_FULL];
        if (!full && f->at[DCSR_I_AP_USED] <= p->ap_room && f->at[DCSR_I_RAP_USED] <= p->rap_room) break;
        int *bits = f->at[DCSR_I_AP_FULL] ? &p->ap_bits : &p->rap_bits;
        if (full && *bits == DCSR_I_AMG_CUDA_MOST_BITS) {
            f->why = "rows of a level have too many entries to be followed on a GPU";
            return DCSR_OK;
        }
        *bits += full;
        if (f->at[DCSR_I_AP_USED] > p->ap_room) p->ap_room = f->at[DCSR_I_AP_USED];
        if (f->at[DCSR_I_RAP_USED] > p->rap_room) p->rap_room = f->at[DCSR_I_RAP_USED];
    }
    next->entries = f->at[DCSR_I_RAP_USED];
    return DCSR_OK;
}

static uint64_t mean_length(const dcsr_i_amg_rows *rows)
{
    return rows->rows ? rows->nnz / rows->rows + 1 : 1;
}

/* The rows of the next level that COARSE names, and those in which rows of A P differ: DIRTY gets the latter. */
static dcsr_status multiply_again(follow *f, rows_made *next)
{
    const dcsr_i_amg_level *level = f->level;
    const dcsr_i_amg_cuda_rows rows = rows_of(f, A), prolongation = rows_of(f, P), turned = rows_of(f, R);
    const dcsr_i_amg_cuda_set dirty = dcsr_i_amg_cuda_set_of(f, DCSR_I_DIRTY),
                              smoothed = dcsr_i_amg_cuda_set_of(f, DCSR_I_SMOOTHED),
                              coarse = dcsr_i_amg_cuda_set_of(f, DCSR_I_COARSE),
                              sources = dcsr_i_amg_cuda_set_of(f, DCSR_I_SOURCES);
    const uint64_t mean = mean_length(&level[1].A.rows), wide = mean_length(&level->A.rows);
    products p = {.ap_bits = bits_for(mean), .rap_bits = bits_for(mean)};
    dcsr_i_amg_cuda_add_columns(f->h->stream, &dirty, &rows, &smoothed, 1, 1, f->at[DCSR_I_SMOOTHED]);
    dcsr_i_amg_cuda_add_columns(f->h->stream, &coarse, &prolongation, &dirty, 1, 1, level->rows);
    dcsr_i_amg_cuda_add_columns(f->h->stream, &sources, &turned, &coarse, 1, 1, turned.rows);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_read_counters(f));
    if (f->at[DCSR_I_SMOOTHED]) have_moved(f, R);
    if (!f->at[DCSR_I_COARSE]) return DCSR_OK;
    p.ap_room = f->at[DCSR_I_SOURCES] * (mean > wide ? mean : wide) + 1024;
    p.rap_room = f->at[DCSR_I_COARSE] * 2 * mean + 1024;
    p.slot = dcsr_i_amg_cuda_scratch(f, level->rows, sizeof *p.slot);
    if (!p.slot) return dcsr_i_no_memory();
    dcsr_i_amg_cuda_number(f->h->stream, sources.list, f->at[DCSR_I_SOURCES], p.slot);
    dcsr_status status = multiply_all(f, &p, next);
    made_free(&p.ap, f->h);
    return status;
}

/* ---- All levels ---- */

static dcsr_status follow_level(follow *f, const rows_made *made, rows_made *next, uint64_t *touched)
{
    dcsr_i_amg_hierarchy *h = f->h;
    const bool last = f->level + 1 == h->level + h->level_count;
    uint64_t *begin = dcsr_i_amg_cuda_scratch(f, f->level->rows / f->level->block, sizeof *begin),
             *keys = NULL, *spare = NULL;
    if (!begin) return dcsr_i_no_memory();
    DCSR_I_AMG_TRY(take_rows(f, made, begin));
    *touched = f->at[DCSR_I_DIRTY];
    if (f->why || (!*touched && !f->vectors.count)) return DCSR_OK;
    if (last) return *touched ? dcsr_i_amg_invert_again(h, f->level) : DCSR_OK;
    DCSR_I_AMG_TRY(smooth_again(f, begin, &keys, &spare));
    if (f->why) return DCSR_OK;
    if (f->at[DCSR_I_SMOOTHED]) DCSR_I_AMG_TRY(restrict_again(f, keys, spare));
    return multiply_again(f, next);
}

static dcsr_status follow_levels(follow *f, rows_made *first)
{
    dcsr_i_amg_hierarchy *h = f->h;
    rows_made own = {0}, next = {0};
    const rows_made *made = first;
    dcsr_status status = dcsr_i_amg_cuda_hold(&f->log_count, h, 1, sizeof(uint64_t));
    f->where.size = f->what.size = sizeof(uint64_t);
    if (!status) dcsr_i_cuda_fill(h->stream, f->log_count.data, 0, sizeof(uint64_t));
    for (int l = 0; l < h->level_count && !status && !f->why && (made->rows.count || f->vectors.count); l++) {
        double start = dcsr_i_amg_now();
        uint64_t touched = 0;
        status = begin_level(f, l);
        if (!status) status = follow_level(f, made, &next, &touched);
        dcsr_i_amg_cuda_scratch_end(f);
        h->engine->drop(&f->vectors, h);
        f->vectors = f->next_vectors;
        f->next_vectors = (dcsr_i_amg_array){0};
        h->level[l].told.rows_touched = touched;
        h->level[l].told.update_seconds = dcsr_i_amg_now() - start;
        made_free(&own, h);
        own = next;
        next = (rows_made){0};
        made = &own;
    }
    made_free(&own, h);
    h->engine->drop(&f->vectors, h);
    return status;
}

/* As the levels were. */
static void take_back(follow *f)
{
    const dcsr_i_amg_cuda_log log = dcsr_i_amg_cuda_log_of(f);
    if (f->log_bound) dcsr_i_amg_cuda_take_back(f->h->stream, &log, f->log_bound);
    for (int l = 0; l < f->h->level_count; l++) {
        dcsr_i_amg_level *level = &f->h->level[l];
        dcsr_i_amg_matrix *const all[] = {&level->A, &level->P, &level->R};
        for (int m = 0; m < MATRICES; m++) {
            if (!f->before[l][m].moved) continue;
            all[m]->used = f->before[l][m].used;
            all[m]->rows.nnz = f->before[l][m].nnz;
        }
    }
}

static dcsr_status follow_rows(dcsr_i_amg_hierarchy *h, rows_made *rows, const char **why)
{
    follow f = {.h = h};
    for (int l = 0; l < h->level_count; l++)
        h->level[l].told.rows_touched = 0, h->level[l].told.update_seconds = 0;
    dcsr_status status = follow_levels(&f, rows);
    if (!status) status = dcsr_i_cuda_wait(h->stream, "amg update");
    *why = f.why;
    if (status || f.why)
        take_back(&f);
    else
        dcsr_i_amg_settle(h);
    dcsr_i_amg_array *const all[] = {&f.where, &f.what, &f.log_count};
    for (int a = 0; a < 3; a++) h->engine->drop(all[a], h);
    return status;
}

/* ---- The rows that differ ---- */

/* The rows of a view, as fp64, lent by a copy of them. */
typedef struct extract {
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_csr csr;
} extract;

static dcsr_status read_rows(extract *e, dcsr_i_amg_hierarchy *h, dcsr_view *view,
                             const dcsr_index_list *rows)
{
    const dcsr_desc desc = {.device = DCSR_DEVICE_CUDA};
    DCSR_I_AMG_TRY(
        dcsr_matrix_create(&e->matrix, h->context, DCSR_FP64, rows->n, h->level[0].A.rows.cols, NULL));
    DCSR_I_AMG_TRY(dcsr_matrix_extract(e->matrix, NULL, NULL, view, rows, NULL, &desc));
    DCSR_I_AMG_TRY(dcsr_view_create(&e->view, e->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    return dcsr_view_get_csr(e->view, &e->csr);
}

/* Their numbers go to the device. */
static dcsr_status number_rows(rows_made *made, dcsr_i_amg_hierarchy *h, const extract *e,
                               const dcsr_index_list *rows)
{
    dcsr_i_amg_array numbers = {0};
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&numbers, h->context, rows->n, sizeof(uint32_t)));
    for (uint64_t k = 0; k < rows->n; k++) ((uint32_t *)numbers.data)[k] = (uint32_t)rows->indices[k];
    dcsr_status status = dcsr_i_amg_cuda_hold(&made->node, h, rows->n, sizeof(uint32_t));
    if (!status) h->engine->put(h, made->node.data, numbers.data, rows->n * sizeof(uint32_t));
    dcsr_i_amg_drop(&numbers, h->context);
    made->entries = e->csr.nnz;
    made->rows = (dcsr_i_amg_cuda_made){
        rows->n, 1, made->node.data, e->csr.offsets, e->csr.offsets + 1, e->csr.col_indices, e->csr.values};
    return status;
}

dcsr_status dcsr_i_amg_cuda_follow_rows(dcsr_i_amg_hierarchy *h, dcsr_view *A_now,
                                        const dcsr_index_list *rows, uint64_t *count, const char **why)
{
    extract e = {0};
    rows_made made = {0};
    *why = h->symmetric ? NULL : "levels on a GPU follow symmetric matrices alone";
    *count = 0;
    if (*why || !rows->n) return DCSR_OK;
    dcsr_status status = read_rows(&e, h, A_now, rows);
    if (!status) status = h->engine->open(h);
    if (!status) {
        status = number_rows(&made, h, &e, rows);
        if (!status) status = follow_rows(h, &made, why);
        made_free(&made, h);
        dcsr_status closed = h->engine->close(h, "amg update");
        if (!status) status = closed;
        *count = h->level[0].told.rows_touched;
    }
    dcsr_view_destroy(e.view);
    dcsr_matrix_destroy(e.matrix);
    return status;
}
