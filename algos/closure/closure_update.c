/* closure_update.c: a closure when edges are added, from the difference alone.
 *
 * With T the closure, and up to 512 new edges (u, v): a path that is new leads to some u by old edges, or begins
 * there, and leaves it by a new edge. So
 *
 *      R(u) = all v of u's new edges, and what T says that they reach
 *      R(u) += R(w) for all sources w in R(u)                      Warshall's algorithm over the sources
 *      row x of T += R(u) for all sources u in row x, and for x itself
 *
 * Which rows have a source is a product of T with a vector. R is kept as bitmaps. */
#include <dcsr/closure.h>
#include <dcsr/mxv.h>
#include "algos/closure/condense.h"
#include <string.h>

enum { MOST_EDGES = 512, NONE = UINT16_MAX };

typedef struct update {
    dcsr_i_work *work;
    dcsr_matrix *closure;
    dcsr_view *T;
    uint64_t vertices, words; /* words: of a bitmap of vertices */
    uint64_t edges;           /* of this block, at most MOST_EDGES */
    uint64_t row[MOST_EDGES], col[MOST_EDGES];
    uint16_t *number; /* of each vertex as a source; NONE: it is none */
    uint32_t source[MOST_EDGES];
    uint32_t sources;
    uint64_t *reach; /* a bitmap for each source */
    uint64_t *sum;   /* another one */
    uint32_t *cols;  /* room for a row */
    /* New pairs. */
    uint64_t *pair_row, *pair_col, pairs, room;
} update;

static bool bit_of(const uint64_t *bitmap, uint64_t i)
{
    return bitmap[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bitmap, uint64_t i)
{
    bitmap[i / 64] |= (uint64_t)1 << i % 64;
}

static void add_bitmap(uint64_t *sum, const uint64_t *bitmap, uint64_t words)
{
    for (uint64_t w = 0; w < words; w++) sum[w] |= bitmap[w];
}

/* Takes the edges that T does not have, and numbers their sources. */
static dcsr_status choose_edges(update *u, uint64_t n, const uint64_t *rows, const uint64_t *cols)
{
    bool known[MOST_EDGES];
    DCSR_I_WORK_TRY(dcsr_view_get_many(u->T, n, rows, cols, NULL, known));
    u->edges = u->sources = 0;
    for (uint64_t k = 0; k < n; k++) {
        if (known[k]) continue;
        u->row[u->edges] = rows[k];
        u->col[u->edges++] = cols[k];
        if (u->number[rows[k]] != NONE) continue;
        u->number[rows[k]] = (uint16_t)u->sources;
        u->source[u->sources++] = (uint32_t)rows[k];
    }
    return DCSR_OK;
}

static dcsr_status reach_of_sources(update *u)
{
    uint64_t length;
    memset(u->reach, 0, u->sources * u->words * sizeof *u->reach);
    for (uint64_t k = 0; k < u->edges; k++) {
        uint64_t *reach = u->reach + u->number[u->row[k]] * u->words;
        DCSR_I_WORK_TRY(dcsr_view_get_row(u->T, u->col[k], u->vertices, u->cols, NULL, &length));
        for (uint64_t e = 0; e < length; e++) set_bit(reach, u->cols[e]);
        set_bit(reach, u->col[k]);
    }
    for (uint32_t through = 0; through < u->sources; through++)
        for (uint32_t from = 0; from < u->sources; from++)
            if (from != through && bit_of(u->reach + from * u->words, u->source[through]))
                add_bitmap(u->reach + from * u->words, u->reach + through * u->words, u->words);
    return DCSR_OK;
}

static dcsr_status make_room(update *u, uint64_t more)
{
    uint64_t *row, *col;
    const uint64_t room = u->pairs + more > u->room * 2 ? u->pairs + more : u->room * 2;
    if (u->pairs + more <= u->room) return DCSR_OK;
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &row, room, sizeof *row, "new pairs"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &col, room, sizeof *col, "new pairs"));
    if (u->room) {
        memcpy(row, u->pair_row, u->pairs * sizeof *row);
        memcpy(col, u->pair_col, u->pairs * sizeof *col);
        dcsr_i_work_drop(u->work, u->pair_row);
        dcsr_i_work_drop(u->work, u->pair_col);
    }
    u->pair_row = row;
    u->pair_col = col;
    u->room = room;
    return DCSR_OK;
}

/* What row x gets. */
static dcsr_status extend_row(update *u, uint64_t x)
{
    uint64_t length, count = 0;
    DCSR_I_WORK_TRY(dcsr_view_get_row(u->T, x, u->vertices, u->cols, NULL, &length));
    memset(u->sum, 0, u->words * sizeof *u->sum);
    if (u->number[x] != NONE) add_bitmap(u->sum, u->reach + u->number[x] * u->words, u->words);
    for (uint64_t e = 0; e < length; e++) {
        const uint32_t number = u->number[u->cols[e]];
        /* Where the source is reached by another, that one has it all. */
        if (number != NONE) add_bitmap(u->sum, u->reach + number * u->words, u->words);
    }
    for (uint64_t e = 0; e < length; e++) u->sum[u->cols[e] / 64] &= ~((uint64_t)1 << u->cols[e] % 64);
    for (uint64_t w = 0; w < u->words; w++) count += (uint64_t)__builtin_popcountll(u->sum[w]);
    DCSR_I_WORK_TRY(make_room(u, count));
    for (uint64_t w = 0; w < u->words; w++)
        for (uint64_t bits = u->sum[w]; bits; bits &= bits - 1) {
            u->pair_row[u->pairs] = x;
            u->pair_col[u->pairs++] = w * 64 + (uint64_t)__builtin_ctzll(bits);
        }
    return DCSR_OK;
}

/* Rows that have a source, and the sources: *rows gets them, to be dropped. */
static dcsr_status find_rows(update *u, uint64_t **rows, uint64_t *n)
{
    dcsr_vector *sources = NULL, *found = NULL;
    dcsr_context *context = u->work->context;
    uint64_t count = 0;
    bool *all;
    *n = 0;
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &all, u->vertices, sizeof *all, "the rows that change"));
    dcsr_status status = dcsr_vector_create(&sources, context, DCSR_BOOL, u->vertices);
    if (!status) status = dcsr_vector_create(&found, context, DCSR_BOOL, u->vertices);
    for (uint32_t s = 0; s < u->sources && !status; s++)
        status = dcsr_vector_set(sources, u->source[s], &(bool){true});
    if (!status)
        status = dcsr_mxv(found, NULL, NULL, dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), u->T, sources, NULL);
    if (!status) status = dcsr_vector_to_array(found, &(bool){false}, all);
    dcsr_vector_destroy(sources);
    dcsr_vector_destroy(found);
    DCSR_I_WORK_TRY(status);
    for (uint32_t s = 0; s < u->sources; s++) all[u->source[s]] = true;
    for (uint64_t x = 0; x < u->vertices; x++) count += all[x];
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, rows, count, sizeof **rows, "the rows that change"));
    for (uint64_t x = 0; x < u->vertices; x++)
        if (all[x]) (*rows)[(*n)++] = x;
    dcsr_i_work_drop(u->work, all);
    return DCSR_OK;
}

/* With a view of the closure as it is; fills in the pairs. */
static dcsr_status find_pairs(update *u, uint64_t n, const uint64_t *rows, const uint64_t *cols)
{
    uint64_t *changing, count;
    u->pairs = 0;
    DCSR_I_WORK_TRY(choose_edges(u, n, rows, cols));
    if (!u->edges) return DCSR_OK;
    DCSR_I_WORK_TRY(reach_of_sources(u));
    DCSR_I_WORK_TRY(find_rows(u, &changing, &count));
    for (uint64_t k = 0; k < count; k++) DCSR_I_WORK_TRY(extend_row(u, changing[k]));
    dcsr_i_work_drop(u->work, changing);
    return DCSR_OK;
}

static dcsr_status add_edges(update *u, uint64_t n, const uint64_t *rows, const uint64_t *cols)
{
    dcsr_ticket *ticket = NULL;
    DCSR_I_WORK_TRY(dcsr_view_create(&u->T, u->closure, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = find_pairs(u, n, rows, cols);
    dcsr_view_destroy(u->T);
    u->T = NULL;
    if (!status && u->pairs)
        status = dcsr_matrix_insert(u->closure, u->pairs, u->pair_row, u->pair_col, NULL, &ticket);
    if (!status && u->pairs) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    for (uint32_t s = 0; s < u->sources; s++) u->number[u->source[s]] = NONE;
    return status;
}

static dcsr_status update_all(update *u, uint64_t *added, uint64_t n, const uint64_t *rows,
                              const uint64_t *cols)
{
    const uint64_t most = n < MOST_EDGES ? n : MOST_EDGES;
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &u->number, u->vertices, sizeof *u->number, "the sources"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &u->cols, u->vertices, sizeof *u->cols, "a row"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(u->work, &u->sum, u->words, sizeof *u->sum, "a row"));
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(u->work, &u->reach, most * u->words, sizeof *u->reach, "what the sources reach"));
    for (uint64_t v = 0; v < u->vertices; v++) u->number[v] = NONE;
    for (uint64_t k = 0; k < n; k += MOST_EDGES) {
        DCSR_I_WORK_TRY(add_edges(u, n - k < MOST_EDGES ? n - k : MOST_EDGES, rows + k, cols + k));
        if (added) *added += u->pairs;
    }
    return DCSR_OK;
}

/* Waits for what is queued, so that the shape holds. */
static dcsr_status check(dcsr_view_shape *shape, const char *call, dcsr_matrix *closure)
{
    dcsr_view *view;
    dcsr_matrix_info info;
    if (!closure) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: closure is NULL", call);
    DCSR_I_WORK_TRY(dcsr_matrix_wait(closure));
    DCSR_I_WORK_TRY(dcsr_matrix_get_info(closure, &info));
    if (info.type != DCSR_PATTERN)
        return dcsr_thread_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: a closure is pattern-only, this matrix is %s",
                                call, dcsr_type_name(info.type));
    if (info.policy == DCSR_POLICY_KEEP)
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: the matrix keeps entries beside equal ones; dcsr_closure() makes one that "
            "does not",
            call);
    DCSR_I_WORK_TRY(dcsr_view_create(&view, closure, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    dcsr_status status = dcsr_i_square_shape(shape, call, view);
    dcsr_view_destroy(view);
    return status;
}

dcsr_status dcsr_closure_update(dcsr_matrix *closure, uint64_t *added, uint64_t n, const uint64_t *rows,
                                const uint64_t *cols, const dcsr_closure_options *options)
{
    static const char call[] = "dcsr_closure_update";
    dcsr_view_shape shape;
    dcsr_i_work work;
    if (added) *added = 0;
    DCSR_I_WORK_TRY(check(&shape, call, closure));
    if (n && (!rows || !cols))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, rows ? "cols" : "rows");
    for (uint64_t k = 0; k < n; k++)
        if (rows[k] >= shape.rows || cols[k] >= shape.rows)
            return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                    "%s: edge %llu is (%llu, %llu); there are %llu "
                                    "vertices",
                                    call, (unsigned long long)k, (unsigned long long)rows[k],
                                    (unsigned long long)cols[k], (unsigned long long)shape.rows);
    dcsr_i_work_begin(&work, call, shape.context, options ? options->memory_limit : 0);
    update u = {.work = &work, .closure = closure, .vertices = shape.rows, .words = (shape.rows + 63) / 64};
    dcsr_status status = update_all(&u, added, n, rows, cols);
    dcsr_i_work_end(&work);
    return status;
}
