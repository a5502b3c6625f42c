/* closure.c: the transitive closure, counted or as a matrix, and questions about single pairs.
 *
 * For counting, columns are components in topological order, so that those that are reached together are in one
 * block, each with the number of its vertices as weight. For a matrix they are vertices in their own order, so
 * that rows come out sorted: first their lengths are counted, then columns are written where they belong; only
 * the row of one vertex of each component, which the others copy. */
#include <dcsr/closure.h>
#include <dcsr/convert.h>
#include "algos/closure/sweep.h"
#include <omp.h>

/* Parts of the columns for each thread: threads take the next one when they are done with one. */
enum { PARTS_A_THREAD = 4 };

/* ---- Counting ---- */

typedef struct counting {
    const dcsr_i_condensed *g;
    const uint32_t *column; /* of the block */
    dcsr_i_cell heavy;      /* columns of several vertices */
    bool any_heavy;
    uint64_t pairs;
} counting;

static inline void count_cell(void *user, uint32_t component, const dcsr_i_cell *cell)
{
    counting *c = user;
    uint64_t reached = dcsr_i_cell_count(cell);
    for (uint64_t w = 0; c->any_heavy && w < DCSR_I_CELL_WORDS; w++)
        for (uint64_t bits = cell->word[w] & c->heavy.word[w]; bits; bits &= bits - 1)
            reached += dcsr_i_size_of(c->g, c->column[w * 64 + (uint64_t)__builtin_ctzll(bits)]) - 1;
    c->pairs += reached * dcsr_i_size_of(c->g, component);
}

static uint64_t count_block(const dcsr_i_sweeper *s, const dcsr_i_condensed *g, const uint32_t *column,
                            uint64_t n)
{
    counting c = {.g = g, .column = column};
    for (uint64_t j = 0; j < n; j++) {
        const bool heavy = dcsr_i_size_of(g, column[j]) > 1;
        c.heavy.word[j / 64] |= (uint64_t)heavy << j % 64;
        c.any_heavy |= heavy;
    }
    dcsr_i_sweep(s, g, column, n, count_cell, &c);
    return c.pairs;
}

static dcsr_status count_pairs(uint64_t *pairs, uint64_t *blocks, dcsr_i_work *work,
                               const dcsr_i_condensed *g)
{
    const uint64_t n = g->components;
    uint64_t total = 0;
    dcsr_i_sweeper *sweepers;
    uint32_t *column;
    int threads = dcsr_i_sweep_threads(work->context, g, n);
    *blocks = dcsr_i_sweep_blocks(n);
    DCSR_I_WORK_TRY(dcsr_i_sweepers_take(&sweepers, &threads, work, g));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &column, n, sizeof *column, "the columns"));
    for (uint64_t c = 0; c < n; c++) column[c] = (uint32_t)c;
    work->total = *blocks;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : total) if (threads > 1)
    for (uint64_t b = 0; b < *blocks; b++) {
        const uint64_t begin = b * DCSR_I_CELL_BITS, left = n - begin;
        const uint64_t columns = left < DCSR_I_CELL_BITS ? left : DCSR_I_CELL_BITS;
        uint64_t found = count_block(&sweepers[omp_get_thread_num()], g, column + begin, columns);
        /* Each is its own column, too. */
        for (uint64_t c = begin; c < begin + columns; c++) found -= !g->cyclic[c];
        total += found;
        if (!work->progress) continue;
#pragma omp critical(dcsr_closure)
        dcsr_i_work_step(work, found);
    }
    *pairs = total;
    return DCSR_OK;
}

/* ---- A matrix ---- */

/* Columns are vertices, in parts of whole blocks. */
typedef struct filling {
    const dcsr_i_condensed *g;
    dcsr_i_work *work;
    dcsr_i_sweeper *sweepers;
    int threads;
    uint64_t parts;
    uint32_t *at; /* of each part, for each component: entries of its row; then where these begin in it */
    uint64_t *offsets; /* vertices + 1 */
    uint32_t *cols;    /* NULL while they are counted */
} filling;

typedef struct filling_block {
    const filling *f;
    uint32_t *at; /* of the part */
    uint64_t begin;
    uint64_t pairs; /* of the block, while they are counted */
} filling_block;

static inline void count_row(void *user, uint32_t component, const dcsr_i_cell *cell)
{
    filling_block *b = user;
    const uint64_t count = dcsr_i_cell_count(cell);
    b->at[component] += (uint32_t)count;
    b->pairs += count * dcsr_i_size_of(b->f->g, component);
}

static inline void write_row(void *user, uint32_t component, const dcsr_i_cell *cell)
{
    const filling_block *b = user;
    const dcsr_i_condensed *g = b->f->g;
    const uint64_t first = g->member[g->begin[component]], own = first - b->begin;
    dcsr_i_cell rest = *cell;
    if (!g->cyclic[component] && own < DCSR_I_CELL_BITS) rest.word[own / 64] &= ~((uint64_t)1 << own % 64);
    uint32_t *const row = b->f->cols + b->f->offsets[first];
    uint32_t at = b->at[component];
    for (uint64_t w = 0; w < DCSR_I_CELL_WORDS; w++)
        for (uint64_t bits = rest.word[w]; bits; bits &= bits - 1)
            row[at++] = (uint32_t)(b->begin + w * 64 + (uint64_t)__builtin_ctzll(bits));
    b->at[component] = at;
}

static uint64_t part_begin(const filling *f, uint64_t part)
{
    const uint64_t begin = dcsr_i_sweep_blocks(f->g->vertices) * part / f->parts * DCSR_I_CELL_BITS;
    return begin < f->g->vertices ? begin : f->g->vertices;
}

static void sweep_part(const filling *f, uint64_t part)
{
    const dcsr_i_condensed *g = f->g;
    const dcsr_i_sweeper *s = &f->sweepers[omp_get_thread_num()];
    const uint64_t end = part_begin(f, part + 1);
    filling_block b = {.f = f, .at = f->at + part * g->components};
    for (b.begin = part_begin(f, part); b.begin < end; b.begin += DCSR_I_CELL_BITS) {
        const uint64_t n = end - b.begin < DCSR_I_CELL_BITS ? end - b.begin : DCSR_I_CELL_BITS;
        if (f->cols)
            dcsr_i_sweep(s, g, g->component + b.begin, n, write_row, &b);
        else
            dcsr_i_sweep(s, g, g->component + b.begin, n, count_row, &b);
        if (!f->work->progress) continue;
        for (uint64_t v = b.begin; v < b.begin + n && !f->cols; v++) b.pairs -= !g->cyclic[g->component[v]];
#pragma omp critical(dcsr_closure)
        dcsr_i_work_step(f->work, b.pairs);
        b.pairs = 0;
    }
}

static void sweep_parts(const filling *f)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(f->threads) if (f->threads > 1)
    for (uint64_t part = 0; part < f->parts; part++) sweep_part(f, part);
}

/* From what each part adds to each row to where it begins there, and to offsets. */
static void place_rows(const filling *f)
{
    const dcsr_i_condensed *g = f->g;
    for (uint64_t part = 0; part < f->parts; part++) {
        /* A component without a cycle is a vertex, which is a column of this part or of another. */
        for (uint64_t v = part_begin(f, part); v < part_begin(f, part + 1); v++)
            if (!g->cyclic[g->component[v]]) f->at[part * g->components + g->component[v]]--;
    }
    for (uint64_t c = 0; c < g->components; c++) {
        uint32_t length = 0;
        for (uint64_t part = 0; part < f->parts; part++) {
            uint32_t *at = f->at + part * g->components + c;
            const uint32_t count = *at;
            *at = length;
            length += count;
        }
        for (uint64_t m = g->begin[c]; m < g->begin[c + 1]; m++) f->offsets[g->member[m] + 1] = length;
    }
    for (uint64_t v = 0; v < g->vertices; v++) f->offsets[v + 1] += f->offsets[v];
}

/* The rows of all other vertices of a component. */
static void copy_rows(const filling *f)
{
    const dcsr_i_condensed *g = f->g;
#pragma omp parallel for schedule(dynamic, 64) num_threads(f->threads) if (f->threads > 1)
    for (uint64_t v = 0; v < g->vertices; v++) {
        const uint64_t first = g->member[g->begin[g->component[v]]];
        if (first != v)
            memcpy(f->cols + f->offsets[v], f->cols + f->offsets[first],
                   (f->offsets[v + 1] - f->offsets[v]) * sizeof *f->cols);
    }
}

/* Refuses before anything of the size of the result is taken. */
static dcsr_status charge_matrix(dcsr_i_work *work, uint64_t vertices, uint64_t pairs)
{
    const uint64_t entry = sizeof(uint32_t), bytes = 2 * entry * pairs + (sizeof(uint64_t) + 1) * vertices;
    if (dcsr_i_work_has(work, bytes)) return dcsr_i_work_charge(work, bytes - entry * pairs, "the result");
    return dcsr_thread_fail(
        DCSR_ERROR_OUT_OF_MEMORY,
        "%s: the result has %llu pairs, which take %llu bytes while they are made and %llu "
        "then; beside the %llu in use that is beyond the limit of %llu; raise memory_limit, "
        "or only count them",
        work->call, (unsigned long long)pairs, (unsigned long long)bytes, (unsigned long long)(entry * pairs),
        (unsigned long long)work->used, (unsigned long long)work->limit);
}

/* Counts, refuses or writes. */
static dcsr_status fill(dcsr_matrix **closure, filling *f, dcsr_i_work *work)
{
    const dcsr_i_condensed *g = f->g;
    sweep_parts(f);
    place_rows(f);
    const uint64_t pairs = f->offsets[g->vertices];
    DCSR_I_WORK_TRY(charge_matrix(work, g->vertices, pairs));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &f->cols, pairs, sizeof *f->cols, "the columns of the result"));
    sweep_parts(f);
    copy_rows(f);
    dcsr_i_work_drop(work, f->at);
    dcsr_i_sweepers_drop(f->sweepers, work);
    const dcsr_csr csr = {g->vertices, g->vertices, pairs, DCSR_PATTERN, f->offsets, f->cols, NULL};
    return dcsr_matrix_from_csr(closure, work->context, &csr, NULL);
}

static dcsr_status make_matrix(dcsr_matrix **closure, dcsr_closure_result *made, dcsr_i_work *work,
                               const dcsr_i_condensed *g)
{
    filling f = {.g = g, .work = work, .threads = dcsr_i_sweep_threads(work->context, g, g->vertices)};
    made->iterations = dcsr_i_sweep_blocks(g->vertices);
    work->total = 2 * made->iterations;
    DCSR_I_WORK_TRY(dcsr_i_sweepers_take(&f.sweepers, &f.threads, work, g));
    f.parts = f.threads == 1 ? 1 : (uint64_t)f.threads * PARTS_A_THREAD;
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(work, &f.at, f.parts * g->components, sizeof *f.at, "the lengths of rows"));
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(work, &f.offsets, g->vertices + 1, sizeof *f.offsets, "the offsets of the result"));
    DCSR_I_WORK_TRY(fill(closure, &f, work));
    made->pairs = f.offsets[g->vertices];
    return DCSR_OK;
}

dcsr_status dcsr_closure(dcsr_matrix **closure, dcsr_closure_result *result, dcsr_view *A,
                         const dcsr_closure_options *options)
{
    static const char call[] = "dcsr_closure";
    dcsr_view_shape shape;
    dcsr_i_work work;
    dcsr_i_condensed g;
    dcsr_closure_result made = {0};
    if (closure) *closure = NULL;
    if (!closure && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: both closure and result are NULL", call);
    DCSR_I_WORK_TRY(dcsr_i_square_shape(&shape, call, A));
    dcsr_i_work_begin(&work, call, shape.context, options ? options->memory_limit : 0);
    if (options) work.progress = options->progress, work.user = options->user;
    dcsr_status status = dcsr_i_condense(&g, &work, A);
    if (!status)
        status = closure ? make_matrix(closure, &made, &work, &g)
                         : count_pairs(&made.pairs, &made.iterations, &work, &g);
    made.components = g.components;
    made.bytes = work.peak;
    dcsr_i_work_end(&work);
    if (!status && result) *result = made;
    return status;
}

/* ---- Questions ---- */

/* A question whose answer takes a sweep: the block that its target's column is in, and which it is. */
typedef struct question {
    uint64_t number;
    uint32_t from, column;
} question;

typedef struct asking {
    const dcsr_i_condensed *g;
    question *questions; /* by block */
    uint64_t *begin;     /* blocks + 1 */
    uint32_t *column;    /* components that are targets, ascending */
    uint64_t columns;
} asking;

/* The components of targets become columns. */
static dcsr_status choose_columns(asking *a, dcsr_i_work *work, uint64_t n, const uint64_t *to)
{
    const dcsr_i_condensed *g = a->g;
    uint32_t *number;
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &number, g->components, sizeof *number, "the targets"));
    for (uint64_t k = 0; k < n; k++) number[g->component[to[k]]] = 1;
    for (uint64_t c = 0; c < g->components; c++) a->columns += number[c];
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &a->column, a->columns, sizeof *a->column, "the targets"));
    for (uint64_t c = 0, k = 0; c < g->components; c++)
        if (number[c]) a->column[k] = (uint32_t)c, number[c] = (uint32_t)k++;
    const uint64_t blocks = dcsr_i_sweep_blocks(a->columns);
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &a->begin, blocks + 2, sizeof *a->begin, "the questions"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &a->questions, n, sizeof *a->questions, "the questions"));
    for (uint64_t k = 0; k < n; k++) a->begin[number[g->component[to[k]]] / DCSR_I_CELL_BITS + 2]++;
    for (uint64_t b = 0; b < blocks; b++) a->begin[b + 2] += a->begin[b + 1];
    return DCSR_OK;
}

/* By the block of their targets. */
static void sort_questions(asking *a, uint64_t n, const uint64_t *from, const uint64_t *to)
{
    const dcsr_i_condensed *g = a->g;
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t target = g->component[to[k]];
        uint64_t low = 0, high = a->columns;
        while (high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            if (a->column[middle] <= target)
                low = middle;
            else
                high = middle;
        }
        a->questions[a->begin[low / DCSR_I_CELL_BITS + 1]++] =
            (question){k, g->component[from[k]], (uint32_t)(low % DCSR_I_CELL_BITS)};
    }
}

static inline void keep_cell(void *user, uint32_t component, const dcsr_i_cell *cell)
{
    (void)user, (void)component, (void)cell;
}

static void answer_block(bool *reached, const asking *a, const dcsr_i_sweeper *s, uint64_t block)
{
    const uint64_t begin = block * DCSR_I_CELL_BITS, left = a->columns - begin;
    memset(s->cell, 0, a->g->components * sizeof *s->cell);
    dcsr_i_sweep(s, a->g, a->column + begin, left < DCSR_I_CELL_BITS ? left : DCSR_I_CELL_BITS, keep_cell,
                 NULL);
    for (uint64_t k = a->begin[block]; k < a->begin[block + 1]; k++) {
        const question q = a->questions[k];
        const bool itself = a->column[begin + q.column] == q.from;
        reached[q.number] =
            itself ? a->g->cyclic[q.from] : s->cell[q.from].word[q.column / 64] >> q.column % 64 & 1;
    }
}

static dcsr_status answer(bool *reached, dcsr_i_work *work, dcsr_view *A, uint64_t n, const uint64_t *from,
                          const uint64_t *to)
{
    dcsr_i_condensed g;
    asking a = {.g = &g};
    dcsr_i_sweeper *sweepers;
    DCSR_I_WORK_TRY(dcsr_i_condense(&g, work, A));
    DCSR_I_WORK_TRY(choose_columns(&a, work, n, to));
    sort_questions(&a, n, from, to);
    int threads = dcsr_i_sweep_threads(work->context, &g, a.columns);
    DCSR_I_WORK_TRY(dcsr_i_sweepers_take(&sweepers, &threads, work, &g));
    const uint64_t blocks = dcsr_i_sweep_blocks(a.columns);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
    for (uint64_t b = 0; b < blocks; b++) answer_block(reached, &a, &sweepers[omp_get_thread_num()], b);
    return DCSR_OK;
}

dcsr_status dcsr_closure_reaches(bool *reached, dcsr_view *A, uint64_t n, const uint64_t *from,
                                 const uint64_t *to, const dcsr_closure_options *options)
{
    static const char call[] = "dcsr_closure_reaches";
    dcsr_view_shape shape;
    dcsr_i_work work;
    DCSR_I_WORK_TRY(dcsr_i_square_shape(&shape, call, A));
    if (n && (!reached || !from || !to))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: an array is NULL", call);
    for (uint64_t k = 0; k < n; k++) {
        if (from[k] < shape.rows && to[k] < shape.rows) continue;
        const bool first = from[k] >= shape.rows;
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                "%s: %s[%llu] is %llu; there are %llu vertices", call, first ? "from" : "to",
                                (unsigned long long)k, (unsigned long long)(first ? from[k] : to[k]),
                                (unsigned long long)shape.rows);
    }
    if (!n) return DCSR_OK;
    dcsr_i_work_begin(&work, call, shape.context, options ? options->memory_limit : 0);
    dcsr_status status = answer(reached, &work, A, n, from, to);
    dcsr_i_work_end(&work);
    return status;
}
