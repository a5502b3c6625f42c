/* spmv_cuda.c: sparse matrix times dense vector on a device: what is worked out once per view, and bringing x
 * and y there and back. */
#include "ops/spmv/spmv_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/vector/vector_cuda.h"

enum { BLOCKS_AT_ONCE = 4 }; /* that a multiprocessor runs: 256 threads of 64 registers each */

/* What is kept with a view: plans for its rows and for those of the transpose, made when they are asked for.
 */
typedef struct kept_plans {
    dcsr_i_attachment kept;
    dcsr_i_cuda_spmv_plan plan[2];
    dcsr_i_cuda_piece_map map[2]; /* for dcsr_spmv() and what is like it */
    bool made[2], mapped[2];
    pthread_mutex_t lock; /* held while one is made, and while a product is put onto a stream */
} kept_plans;

static void free_map(dcsr_i_cuda_stream *stream, dcsr_i_cuda_piece_map *map)
{
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, map->group, map->groups, sizeof *map->group);
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, map->word, map->words, sizeof *map->word);
    *map = (dcsr_i_cuda_piece_map){0};
}

static void free_plan(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_plan *plan, uint32_t type)
{
    const dcsr_i_cuda_spmv_counts *counts = &plan->counts;
    dcsr_i_cuda_spmv_forget(stream, plan);
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, plan->part, counts->parts, dcsr_i_cuda_spmv_sum_size(type));
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, plan->row_of_part, counts->parts, sizeof *plan->row_of_part);
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, plan->row, counts->rows, sizeof *plan->row);
    dcsr_i_cuda_free(stream, DCSR_I_MATRIX, plan->in_use, plan->in_use_words, sizeof *plan->in_use);
    *plan = (dcsr_i_cuda_spmv_plan){0};
}

/* What is needed while a plan is made, and which of its parts are: without `before` no map. */
typedef struct making {
    dcsr_i_cuda_stream *stream;
    const dcsr_i_cuda_rows *rows;
    dcsr_i_cuda_spmv_counts *counts;
    uint64_t groups;
    uint32_t *words; /* of the map: of each group, and of those before it */
    uint64_t *before;
} making;

/* Products do without a map that finds no memory, here or later. */
static void measure_map(making *m)
{
    m->groups = (m->rows->rows + DCSR_CUDA_PIECE_GROUP - 1) / DCSR_CUDA_PIECE_GROUP;
    m->words = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, m->groups, sizeof *m->words);
    if (m->words) m->before = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, m->groups + 1, sizeof *m->before);
    if (!m->before) return;
    dcsr_i_cuda_piece_map_measure(m->stream, m->rows, m->words);
    if (dcsr_i_cuda_scan_u32(m->stream, m->words, m->before, m->groups) == DCSR_OK) return;
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, m->before, m->groups + 1, sizeof *m->before);
    m->before = NULL;
}

/* Learns what the host has to know to take memory, in one wait. */
static dcsr_status count(const making *m, dcsr_i_cuda_spmv_counts *counts, uint64_t *words)
{
    struct counted {
        dcsr_i_cuda_spmv_counts counts;
        uint64_t words;
    } *host = dcsr_i_cuda_landing(m->stream, sizeof *host);
    if (!host) return dcsr_i_cuda_wait(m->stream, "spmv");
    dcsr_i_cuda_fill(m->stream, m->counts, 0, sizeof *m->counts);
    dcsr_i_cuda_spmv_count(m->stream, m->rows, m->counts);
    dcsr_i_cuda_copy(m->stream, &host->counts, m->counts, sizeof *m->counts);
    if (m->before) dcsr_i_cuda_copy(m->stream, &host->words, m->before + m->groups, sizeof host->words);
    DCSR_TRY(dcsr_i_cuda_wait(m->stream, "spmv"));
    *counts = host->counts;
    *words = m->before ? host->words : 0;
    return DCSR_OK;
}

static bool cut(const making *m, dcsr_i_cuda_spmv_plan *plan)
{
    uint64_t parts = plan->counts.parts;
    plan->row = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, plan->counts.rows, sizeof *plan->row);
    if (!plan->row) return false;
    plan->row_of_part = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, parts, sizeof *plan->row_of_part);
    if (!plan->row_of_part) return false;
    plan->part = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, parts, dcsr_i_cuda_spmv_sum_size(m->rows->type));
    if (!plan->part) return false;
    dcsr_i_cuda_spmv_cut(m->stream, m->rows, plan, m->counts);
    return true;
}

static bool mark(const making *m, dcsr_i_cuda_spmv_plan *plan)
{
    plan->in_use_words = dcsr_i_cuda_bit_words(m->rows->rows);
    plan->in_use = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, plan->in_use_words, sizeof *plan->in_use);
    if (!plan->in_use) return false;
    dcsr_i_cuda_spmv_mark(m->stream, m->rows, plan->in_use);
    return true;
}

static void fill_map(const making *m, dcsr_i_cuda_piece_map *map, uint64_t words)
{
    if (words >= DCSR_CUDA_PIECE_MOST_WORDS) return;
    map->groups = m->groups;
    map->words = words;
    map->word = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, words, sizeof *map->word);
    if (map->word) map->group = dcsr_i_cuda_alloc(m->stream, DCSR_I_MATRIX, m->groups, sizeof *map->group);
    if (map->group)
        dcsr_i_cuda_piece_map_fill(m->stream, m->rows, map, m->before);
    else
        free_map(m->stream, map);
}

/* The plan's parts that are not there for each view. */
static bool add_parts(const making *m, dcsr_i_cuda_spmv_plan *plan)
{
    if (plan->counts.in_use < m->rows->rows && !mark(m, plan)) return false;
    return !plan->counts.parts || cut(m, plan);
}

/* Makes the plan and the map, those of them that are not NULL. */
static dcsr_status make_plan(dcsr_i_cuda_spmv_plan *plan, dcsr_i_cuda_piece_map *map,
                             dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, bool contiguous)
{
    making m = {.stream = stream, .rows = rows};
    dcsr_i_cuda_spmv_counts counts;
    uint64_t words = 0;
    m.counts = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *m.counts);
    if (!m.counts) return dcsr_i_no_memory();
    if (map && !rows->offsets && !contiguous) measure_map(&m);
    dcsr_status status = count(&m, &counts, &words);
    bool ready = status == DCSR_OK;
    if (ready && plan) {
        plan->counts = counts;
        /* Begins that are summed up from lengths need 32 rows to have fewer than 2^32 entries. */
        plan->tight = contiguous && counts.longest < UINT32_MAX / 32;
        unsigned multiprocessors =
            (unsigned)dcsr_i_cuda_describe(dcsr_i_cuda_device_of(stream))->multiprocessors;
        plan->most_blocks = counts.parts ? UINT32_MAX : multiprocessors * BLOCKS_AT_ONCE;
        ready = add_parts(&m, plan);
    }
    if (ready && m.before) fill_map(&m, map, words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, m.counts, 1, sizeof *m.counts);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, m.words, m.groups, sizeof *m.words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, m.before, m.groups + 1, sizeof *m.before);
    if (status == DCSR_OK && !ready) status = dcsr_i_no_memory();
    return status == DCSR_OK ? dcsr_i_cuda_wait(stream, "spmv") : status;
}

/* ---- Some of the rows ---- */

dcsr_status dcsr_i_cuda_spmv_range_open(dcsr_i_cuda_spmv_range *range, dcsr_i_cuda_stream *stream,
                                        dcsr_view *A, uint64_t first, uint64_t end)
{
    const dcsr_i_rows *all = dcsr_i_view_rows(A);
    *range = (dcsr_i_cuda_spmv_range){.first = first, .rows = all->device};
    range->rows.rows = end - first;
    if (first == end) return DCSR_OK;
    if (range->rows.offsets)
        range->rows.offsets += first;
    else
        range->rows.root += first / DCSR_CUDA_PAGE_ROWS;
    dcsr_status status =
        make_plan(&range->plan, &range->map, stream, &range->rows, all->table && all->table->contiguous);
    if (status != DCSR_OK) dcsr_i_cuda_spmv_range_close(stream, range);
    return status;
}

void dcsr_i_cuda_spmv_range_put(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmv_range *range, void *y,
                                const void *x)
{
    const uint32_t type = range->rows.type;
    const size_t size = type == DCSR_PATTERN ? sizeof(double) : dcsr_type_size(type);
    if (range->rows.rows)
        dcsr_i_cuda_spmv_run(stream, dcsr_i_cuda_handle(stream), &range->rows, &range->plan,
                             range->map.group ? &range->map : NULL, (char *)y + range->first * size, x);
}

void dcsr_i_cuda_spmv_range_close(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_range *range)
{
    free_plan(stream, &range->plan, range->rows.type);
    free_map(stream, &range->map);
    *range = (dcsr_i_cuda_spmv_range){0};
}

/* ---- Kept with a view ---- */

/* The view is being destroyed: what used the plans is over. */
static void drop(dcsr_i_attachment *kept, dcsr_view *view)
{
    kept_plans *k = (kept_plans *)kept;
    dcsr_i_cuda_stream *stream = dcsr_i_view_matrix(view)->cuda->stream;
    for (int which = 0; which < 2; which++) {
        if (k->made[which]) free_plan(stream, &k->plan[which], dcsr_i_view_rows(view)->device.type);
        free_map(stream, &k->map[which]);
    }
    pthread_mutex_destroy(&k->lock);
    dcsr_i_free(dcsr_i_view_context(view), DCSR_I_MATRIX, k, 1, sizeof *k);
}

static dcsr_status make(dcsr_i_attachment **kept, dcsr_view *view)
{
    kept_plans *k = dcsr_i_calloc(dcsr_i_view_context(view), DCSR_I_MATRIX, 1, sizeof *k);
    if (!k) return dcsr_i_no_memory();
    pthread_mutex_init(&k->lock, NULL);
    k->kept.drop = drop;
    *kept = &k->kept;
    return DCSR_OK;
}

/* With the lock: the plan, and the map of its pieces if that is of use to the caller and pays. */
static dcsr_status make_one(kept_plans *k, int which, bool with_map, dcsr_view *view,
                            const dcsr_i_cuda_rows *rows)
{
    const dcsr_i_table *table = dcsr_i_view_rows(view)->table;
    dcsr_context *context = dcsr_i_view_context(view);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_spmv_plan *plan = k->made[which] ? NULL : &k->plan[which];
    dcsr_i_cuda_piece_map *map = with_map ? &k->map[which] : NULL;
    dcsr_status status = make_plan(plan, map, stream, rows, !which && table && table->contiguous);
    if (status == DCSR_OK) {
        k->made[which] = true;
        k->mapped[which] = with_map;
    } else {
        if (plan) free_plan(stream, plan, rows->type);
        if (map) free_map(stream, map);
    }
    dcsr_i_stream_return(context, stream);
    return status;
}

static dcsr_status plan_of(kept_plans **plans, dcsr_view *A, int which, bool with_map,
                           const dcsr_i_cuda_rows *rows)
{
    dcsr_i_attachment *kept;
    DCSR_TRY(dcsr_i_view_attach(&kept, A, DCSR_I_KEPT_PRODUCT, make));
    kept_plans *k = *plans = (kept_plans *)kept;
    pthread_mutex_lock(&k->lock);
    const bool ready = k->made[which] && (k->mapped[which] || !with_map);
    dcsr_status status = ready ? DCSR_OK : make_one(k, which, with_map, A, rows);
    pthread_mutex_unlock(&k->lock);
    return status;
}

static dcsr_status own_plan(kept_plans **plans, dcsr_view *A)
{
    return plan_of(plans, A, 0, true, &dcsr_i_view_rows(A)->device);
}

static void run_plans(dcsr_i_cuda_stream *stream, void *on, const dcsr_i_cuda_rows *rows, kept_plans *k,
                      int which, void *y, const void *x)
{
    pthread_mutex_lock(&k->lock);
    dcsr_i_cuda_spmv_run(stream, on, rows, &k->plan[which], k->map[which].group ? &k->map[which] : NULL, y,
                         x);
    pthread_mutex_unlock(&k->lock);
}

/* The rows of the view or of its transpose, and the plan for them. */
static dcsr_status open_rows(dcsr_i_cuda_rows *rows, kept_plans **plans, dcsr_view *A, bool transposed,
                             bool with_map)
{
    *rows = dcsr_i_view_rows(A)->device;
    if (transposed) DCSR_TRY(dcsr_i_cuda_view_transposed(rows, A));
    return plan_of(plans, A, transposed, with_map, rows);
}

dcsr_status dcsr_i_cuda_spmv_plan_of(const dcsr_i_cuda_spmv_plan **plan, dcsr_view *A, bool transposed)
{
    kept_plans *plans;
    dcsr_i_cuda_rows rows;
    DCSR_TRY(open_rows(&rows, &plans, A, transposed, false));
    *plan = &plans->plan[transposed];
    return DCSR_OK;
}

bool dcsr_i_cuda_spmv_has_map(dcsr_view *A)
{
    kept_plans *k;
    if (own_plan(&k, A) != DCSR_OK) return false;
    pthread_mutex_lock(&k->lock);
    const bool has = k->map[0].group != NULL;
    pthread_mutex_unlock(&k->lock);
    return has;
}

dcsr_status dcsr_i_cuda_spmv_put(dcsr_i_cuda_stream *stream, void *on, void *y, dcsr_view *A, bool transposed,
                                 const void *x)
{
    kept_plans *plans;
    dcsr_i_cuda_rows rows;
    DCSR_TRY(open_rows(&rows, &plans, A, transposed, true));
    run_plans(stream, on, &rows, plans, transposed, y, x);
    return DCSR_OK;
}

static bool on_device(const dcsr_view *A, const void *pointer)
{
    return dcsr_i_cuda_where(dcsr_i_view_context(A)->cuda, pointer) == DCSR_CUDA_ON_DEVICE;
}

dcsr_status dcsr_i_cuda_spmv_anywhere(void *y, dcsr_view *A, const void *x, dcsr_i_cuda_spmv_putter *put,
                                      void *user)
{
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    const size_t size = rows->type == DCSR_PATTERN ? sizeof(double) : dcsr_type_size(rows->type);
    const bool bring_y = rows->rows && !on_device(A, y), bring_x = rows->cols && !on_device(A, x);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    void *my_y = bring_y ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows, size) : NULL;
    void *my_x = bring_x ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->cols, size) : NULL;
    dcsr_status status = (my_y || !bring_y) && (my_x || !bring_x) ? DCSR_OK : dcsr_i_no_memory();
    if (!status) {
        if (bring_x) dcsr_i_cuda_copy(stream, my_x, x, rows->cols * size);
        status = put(user, stream, bring_y ? my_y : y, A, bring_x ? my_x : x);
        if (bring_y && !status) dcsr_i_cuda_copy(stream, y, my_y, rows->rows * size);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, my_x, rows->cols, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, my_y, rows->rows, size);
    if (!status) status = dcsr_i_cuda_wait(stream, "spmv");
    dcsr_i_stream_return(context, stream);
    return status;
}

dcsr_status dcsr_i_cuda_spmv_in_place(void *y, dcsr_view *A, const void *x, dcsr_i_cuda_spmv_putter *put,
                                      void *user, const char *operation)
{
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    const bool y_is_elsewhere = rows->rows && !on_device(A, y);
    if (y_is_elsewhere || (rows->cols && !on_device(A, x)))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s_on_stream: %s is not in the memory of the context's device; use dcsr_%s()",
                           operation, y_is_elsewhere ? "y" : "x", operation);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = put(user, stream, y, A, x);
    /* Nothing is on the library's own stream: this only tells whether all was accepted. */
    if (!status) status = dcsr_i_cuda_wait(stream, "spmv");
    dcsr_i_stream_return(context, stream);
    return status;
}

/* ---- For dcsr_spmv() and dcsr_spmv_on_stream() ---- */

/* On the caller's stream; NULL: on the library's. */
typedef struct caller {
    void *const *stream;
} caller;

static dcsr_status put_rows(void *user, dcsr_i_cuda_stream *stream, void *y, dcsr_view *A, const void *x)
{
    const caller *c = user;
    return dcsr_i_cuda_spmv_put(stream, c->stream ? *c->stream : dcsr_i_cuda_handle(stream), y, A, false, x);
}

static dcsr_status anywhere(void *y, dcsr_view *A, const void *x)
{
    return dcsr_i_cuda_spmv_anywhere(y, A, x, put_rows, &(caller){NULL});
}

static dcsr_status on_stream(void *y, dcsr_view *A, const void *x, void *callers_stream)
{
    return dcsr_i_cuda_spmv_in_place(y, A, x, put_rows, &(caller){&callers_stream}, "spmv");
}

const dcsr_i_spmv_ops dcsr_i_cuda_spmv_ops = {.anywhere = anywhere, .on_stream = on_stream};
