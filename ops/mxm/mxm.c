/* mxm.c: sparse matrix times sparse matrix: checks, inputs, and the operation for the driver of rows.
 *
 * Without a mask rows are written in blocks, right where they stay; the room for them is their products, or
 * all columns where these are fewer. With one that is the places that the mask's row names. */
#include <dcsr/mxm.h>
#include "ops/mxm/mxm_cuda.h"
#include "ops/mxm/mxm_look_up.h"
#include "ops/rows/row_prefetch.h"

/* NULL in builds without CUDA. */
static dcsr_i_device_mxm *const device_mxm = DCSR_I_IN_CUDA(dcsr_i_cuda_mxm);

dcsr_status dcsr_i_mxm_begin(void *user, int threads)
{
    enum { MOST_PRODUCTS = 1 << 18, MOST_ENTRIES = 1 << 13 };
    dcsr_i_mxm *m = user;
    if (m->known) DCSR_TRY(dcsr_i_old_open(&m->holds, m->C));
    /* Half of it is for rows that are computed aside. */
    m->share = m->limit ? m->limit / (uint64_t)threads / (m->aside ? 2 : 1) : UINT64_MAX;
    m->most_products = m->share / 64 < MOST_PRODUCTS ? m->share / 64 : MOST_PRODUCTS;
    m->most_entries = m->share / 512 < MOST_ENTRIES ? m->share / 512 : MOST_ENTRIES;
    m->has_windows = dcsr_i_mxm_has_windows(m);
    m->thread = &m->alone;
    if (threads > 1)
        m->thread = dcsr_i_calloc(m->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *m->thread);
    if (!m->thread) {
        dcsr_i_old_close(&m->holds);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    m->threads = threads;
    for (int t = 0; t < threads && m->known; t++)
        m->thread[t].old = dcsr_i_old_reader_of(m->context, &m->holds);
    dcsr_i_mxm_thread *first = m->thread;
    dcsr_i_scratch *others[] = {&first->a,    &first->b,    &first->columns,
                                &first->runs, &first->keys, &first->places};
    for (int k = 0; k < 6; k++) *others[k] = dcsr_i_scratch_of(&m->few->others[k]);
    first->clean = dcsr_i_scratch_of(&m->few->clean);
    memset(m->few->clean.bytes, 0, sizeof m->few->clean.bytes);
    first->sums = dcsr_i_scratch_of(&m->few->sums);
    dcsr_i_broadcast(dcsr_i_monoid_type(m->semiring->add), m->few->sums.bytes, &m->semiring->add->start,
                     sizeof m->few->sums.bytes / m->size);
    return DCSR_OK;
}

void dcsr_i_mxm_end(void *user)
{
    dcsr_i_mxm *m = user;
    for (int i = 0; i < m->threads; i++) {
        dcsr_i_mxm_thread *t = &m->thread[i];
        dcsr_i_scratch *all[] = {&t->a,
                                 &t->b,
                                 &t->columns,
                                 &t->runs,
                                 &t->clean,
                                 &t->sums,
                                 &t->keys,
                                 &t->spare,
                                 &t->places,
                                 &t->in_order,
                                 &t->shape.runs,
                                 &t->shape.places,
                                 &t->shape.columns,
                                 &t->shape.parts,
                                 &t->shape.ends,
                                 &t->made.which,
                                 &t->made.begin,
                                 &t->made.columns,
                                 &t->made.values};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) dcsr_i_scratch_free(all[k], m->context);
        if (m->known) dcsr_i_old_reader_free(&t->old);
    }
    dcsr_i_old_close(&m->holds);
    if (m->threads > 1)
        dcsr_i_free(m->context, DCSR_I_SCRATCH, m->thread, (size_t)m->threads, sizeof *m->thread);
}

/* ---- Rows ---- */

dcsr_status dcsr_i_mxm_plan(void *user, int thread, uint64_t first, unsigned *count, uint64_t *entries)
{
    const dcsr_i_mxm *m = user;
    dcsr_i_mxm_thread *t = &m->thread[thread];
    DCSR_TRY(dcsr_i_mxm_group_open(m, t, first, count));
    for (unsigned k = 0; k < *count; k++) *entries += dcsr_i_mxm_most(m, t, k);
    uint64_t bytes = m->aside ? *entries * (sizeof(uint32_t) + m->size) : 0;
    return bytes <= m->share ? DCSR_OK : dcsr_i_mxm_exceeds(m, t, bytes);
}

dcsr_status dcsr_i_mxm_block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                             uint32_t *lengths)
{
    const dcsr_i_mxm *m = user;
    (void)first; /* dcsr_i_mxm_plan() has opened the group */
    return dcsr_i_mxm_group_write(m, &m->thread[thread], count, room, lengths);
}

/* Rows come in order, but perhaps few of them: those behind the last one are looked up together. */
static dcsr_status write_masked(void *user, int thread, uint64_t row, const dcsr_i_row_mask *mask,
                                dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_mxm *m = user;
    dcsr_i_mxm_thread *t = &m->thread[thread];
    dcsr_i_mxm_row r;
    if (row - t->group.first >= t->group.count) {
        uint64_t left = m->a->rows - row;
        unsigned count = DCSR_I_PAGE_ROWS - row % DCSR_I_PAGE_ROWS;
        if (left < count) count = (unsigned)left;
        if (row != t->row + 1) count = 1;
        t->group.count = 0;
        DCSR_TRY(dcsr_i_mxm_group_open(m, t, row, &count));
        t->group.count = count;
    }
    dcsr_i_mxm_row_of(&r, m, t, (unsigned)(row - t->group.first));
    return dcsr_i_mxm_row_masked(&r, mask, room, length);
}

/* ---- The operation ---- */

/* The semiring that does the same and looks at as few values as it can: those of a pattern are 1. */
static const dcsr_semiring *simplify(const dcsr_semiring *semiring, bool a_is_pattern, bool b_is_pattern)
{
    const dcsr_semiring *other;
    if (a_is_pattern && (other = dcsr_i_semiring_of_ones(semiring))) semiring = other;
    if (!b_is_pattern || !(other = dcsr_i_semiring_flipped(semiring))) return semiring;
    other = dcsr_i_semiring_of_ones(other);
    if (other && (other = dcsr_i_semiring_flipped(other))) semiring = other;
    return semiring;
}

/* The shapes of the factors. */
static dcsr_status check_factors(const dcsr_view *A, const dcsr_view *B, const dcsr_desc *desc)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A), *b = dcsr_i_view_rows(B);
    uint64_t a_rows = desc->transpose_a ? a->cols : a->rows, a_cols = desc->transpose_a ? a->rows : a->cols,
             b_rows = desc->transpose_b ? b->cols : b->rows, b_cols = desc->transpose_b ? b->rows : b->cols;
    if (a_cols == b_rows) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "mxm: A is %llu x %llu, but B is %llu x %llu",
                       (unsigned long long)a_rows, (unsigned long long)a_cols, (unsigned long long)b_rows,
                       (unsigned long long)b_cols);
}

void dcsr_i_mxm_factors(dcsr_i_mxm *m, const dcsr_i_rows *a, const dcsr_i_rows *b)
{
    m->semiring = simplify(m->semiring, a->type == DCSR_PATTERN, b->type == DCSR_PATTERN);
    m->kernel = dcsr_i_mxm_kernel_of(m->semiring);
    m->size = dcsr_type_size(dcsr_i_monoid_type(m->semiring->add));
    m->a = a;
    m->b = b;
    m->reads_a = dcsr_i_reads_x(m->semiring->multiply);
    m->reads_b = dcsr_i_reads_y(m->semiring->multiply);
    m->cast_b = m->reads_b && b->type != m->semiring->multiply->ytype;
}

static dcsr_status write_dots(void *user, int thread, uint64_t row, const dcsr_i_row_mask *mask,
                              dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_mxm *m = user;
    uint32_t n = (uint32_t)mask->n;
    return dcsr_i_mxm_dots(m, &m->thread[thread], row, 1, &(dcsr_i_mxm_positions){mask->columns, &n}, room,
                           length);
}

static dcsr_status write_dots_of_page(void *user, int thread, uint64_t first, unsigned count,
                                      const dcsr_i_rows *mask, dcsr_i_room room, uint32_t *lengths)
{
    const dcsr_i_mxm *m = user;
    dcsr_i_mxm_thread *t = &m->thread[thread];
    uint32_t of_mask[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block block;
    dcsr_i_row_block_of(&block, mask, first, count, of_mask);
    dcsr_i_page_prefetch(mask, (first >> DCSR_I_PAGE_SHIFT) + 1);
    dcsr_i_mxm_positions where = {mask->columns + block.stretch[0].begin, of_mask};
    if (block.stretches > 1) {
        DCSR_TRY(dcsr_i_mxm_room(m, t, &t->spare, block.entries * sizeof(uint32_t)));
        dcsr_i_row_block_columns(&block, mask, t->spare.bytes);
        where.columns = t->spare.bytes;
    }
    return dcsr_i_mxm_dots(m, t, first, count, &where, room, lengths);
}

/* Decides whether a masked product is made by dot products: *bt is then B's columns, which are there. */
static dcsr_status look_for_dots(dcsr_i_input *bt, const dcsr_i_rows *a, dcsr_view *B, dcsr_view *mask,
                                 const dcsr_desc *how, const dcsr_semiring *semiring)
{
    bool transpose_is_ready = dcsr_i_view_transpose_is_ready(B);
    dcsr_type b_type = dcsr_i_view_rows(B)->type;
    const dcsr_binary_op *multiply =
        simplify(semiring, a->type == DCSR_PATTERN, b_type == DCSR_PATTERN)->multiply;
    const dcsr_i_rows *mask_rows;
    if ((dcsr_i_reads_x(multiply) && a->type != multiply->xtype) ||
        (dcsr_i_reads_y(multiply) && b_type != multiply->ytype))
        return DCSR_OK;
    if (!how->transpose_b && !transpose_is_ready) return DCSR_OK;
    DCSR_TRY(dcsr_i_view_sorted(&mask_rows, mask));
    dcsr_status status = dcsr_i_input_of(bt, B, !how->transpose_b);
    if (status == DCSR_OK &&
        dcsr_i_mxm_dots_are_cheaper(a, bt->rows, mask_rows, !how->transpose_b || transpose_is_ready))
        return DCSR_OK;
    dcsr_i_input_free(bt);
    *bt = (dcsr_i_input){0};
    return status;
}

static dcsr_status multiply(const dcsr_i_rowwise *op, dcsr_i_mxm *m, const dcsr_i_rows *a,
                            const dcsr_i_rows *b)
{
    uint64_t stored = dcsr_i_rows_stored(a), stored_b = dcsr_i_rows_stored(m->bt ? m->bt : b);
    dcsr_i_rowwise run = *op;
    dcsr_i_mxm_factors(m, a, b);
    m->values = dcsr_i_rowwise_wants_values(op);
    run.T.rows = a->rows;
    run.T.cols = b->cols;
    run.T.source[0] = a;
    run.T.work = b->rows ? stored + (uint64_t)((double)stored * (double)stored_b / (double)b->rows) : 0;
    run.make.user = m;
    return dcsr_i_rowwise_run(&run);
}

dcsr_status dcsr_mxm(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                     const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B, const dcsr_desc *desc)
{
    static const dcsr_desc defaults;
    const dcsr_desc *how = desc ? desc : &defaults;
    DCSR_TRY(dcsr_i_check_output("mxm", C, mask, desc));
    if (!semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "mxm: the semiring is NULL: there is none of that name on that type");
    DCSR_TRY(dcsr_i_check_view("mxm", "A", A, C->context));
    DCSR_TRY(dcsr_i_check_view("mxm", "B", B, C->context));
    DCSR_TRY(check_factors(A, B, how));
    if (how->same_pattern && (mask || accum || how->mask_complement))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "mxm: same_pattern is for a product without mask and accumulator; leave it out");
    const dcsr_i_matrix_output out = {.call = "mxm", .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, dcsr_i_semiring_is_users(semiring)))
        return device_mxm(&out, semiring, A, B);
    dcsr_i_mxm_few few;
    dcsr_i_mxm m = {.call = "mxm",
                    .context = C->context,
                    .semiring = semiring,
                    .C = C,
                    .known = how->same_pattern,
                    .limit = how->memory_limit,
                    .aside = accum || mask ||
                             (C->type != DCSR_PATTERN && C->type != dcsr_i_monoid_type(semiring->add)),
                    .few = &few};
    dcsr_i_rowwise op = {.out = out,
                         .T = {.type = dcsr_i_monoid_type(semiring->add)},
                         .make = {.begin = dcsr_i_mxm_begin, .end = dcsr_i_mxm_end, .plan = dcsr_i_mxm_plan}};
    if (mask && !how->mask_complement)
        op.make.masked = write_masked;
    else
        op.make.block = dcsr_i_mxm_block;
    dcsr_i_input a = {0}, b = {0}, bt = {0};
    dcsr_status status = dcsr_i_input_of(&a, A, how->transpose_a);
    if (status == DCSR_OK && op.make.masked) status = look_for_dots(&bt, a.rows, B, mask, how, semiring);
    if (status == DCSR_OK && !bt.rows) status = dcsr_i_input_of(&b, B, how->transpose_b);
    dcsr_i_rows shape = {0};
    if (status == DCSR_OK && bt.rows) {
        m.bt = bt.rows;
        op.make.masked = write_dots;
        op.make.masked_page = write_dots_of_page;
        shape = (dcsr_i_rows){.type = bt.rows->type, .rows = bt.rows->cols, .cols = bt.rows->rows};
    }
    if (status == DCSR_OK) status = multiply(&op, &m, a.rows, bt.rows ? &shape : b.rows);
    dcsr_i_input_free(&bt);
    dcsr_i_input_free(&b);
    dcsr_i_input_free(&a);
    return status;
}
