/* mxm.c: sparse matrix times sparse matrix: checks, inputs, and the operation for the driver of rows.
 *
 * Without a mask rows are written in blocks, right where they stay; the room for them is their products, or
 * all columns where these are fewer. With one that is the places that the mask's row names. */
#include <dcsr/mxm.h>
#include "ops/mxm/mxm_cuda.h"
#include "ops/mxm/mxm_row.h"

/* NULL in builds without CUDA. */
static dcsr_i_device_mxm *const device_mxm = DCSR_I_IN_CUDA(dcsr_i_cuda_mxm);

static dcsr_status begin(void *user, int threads)
{
    dcsr_i_mxm *m = user;
    m->thread = &m->alone;
    if (threads > 1)
        m->thread = dcsr_i_calloc(m->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *m->thread);
    if (!m->thread) return DCSR_ERROR_OUT_OF_MEMORY;
    m->threads = threads;
    dcsr_i_mxm_thread *first = m->thread;
    dcsr_i_scratch *others[] = {&first->a, &first->b, &first->runs, &first->keys, &first->places};
    for (int k = 0; k < 5; k++) *others[k] = dcsr_i_scratch_of(&m->few->others[k]);
    first->clean = dcsr_i_scratch_of(&m->few->clean);
    memset(m->few->clean.bytes, 0, sizeof m->few->clean.bytes);
    first->sums = dcsr_i_scratch_of(&m->few->sums);
    dcsr_i_broadcast(dcsr_i_monoid_type(m->semiring->add), m->few->sums.bytes, &m->semiring->add->start,
                     sizeof m->few->sums.bytes / m->size);
    for (int t = 0; t < threads; t++) m->thread[t].reader = dcsr_i_row_reader_of(m->context, m->a);
    return DCSR_OK;
}

static void end(void *user)
{
    dcsr_i_mxm *m = user;
    for (int i = 0; i < m->threads; i++) {
        dcsr_i_mxm_thread *t = &m->thread[i];
        dcsr_i_scratch *all[] = {&t->a,    &t->b,    &t->runs,  &t->clean,
                                 &t->sums, &t->keys, &t->spare, &t->places};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) dcsr_i_scratch_free(all[k], m->context);
        dcsr_i_row_reader_free(&t->reader);
    }
    if (m->threads > 1)
        dcsr_i_free(m->context, DCSR_I_SCRATCH, m->thread, (size_t)m->threads, sizeof *m->thread);
}

/* ---- Rows ---- */

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_mxm *m = user;
    uint64_t sum = 0;
    for (uint64_t row = first; row < first + count; row++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        uint64_t products = 0;
        int n = dcsr_i_rows_pieces(m->a, row, pieces);
        for (int k = 0; k < n; k++)
            for (uint64_t at = pieces[k].begin; at < pieces[k].begin + pieces[k].length; at++)
                products += dcsr_i_rows_length(m->b, m->a->columns[at]);
        sum += products < m->b->cols ? products : m->b->cols;
    }
    return sum;
}

static dcsr_status write_block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                               uint32_t *lengths)
{
    const dcsr_i_mxm *m = user;
    dcsr_i_mxm_row r;
    for (unsigned k = 0; k < count; k++) {
        DCSR_TRY(dcsr_i_mxm_open(&r, m, &m->thread[thread], first + k));
        DCSR_TRY(dcsr_i_mxm_row_write(&r, room, &lengths[k]));
        room.columns += lengths[k];
        if (room.values) room.values = (char *)room.values + lengths[k] * m->size;
    }
    return DCSR_OK;
}

static dcsr_status write_masked(void *user, int thread, uint64_t row, const dcsr_i_row_mask *mask,
                                dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_mxm *m = user;
    dcsr_i_mxm_row r;
    DCSR_TRY(dcsr_i_mxm_open(&r, m, &m->thread[thread], row));
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

static dcsr_status multiply(const dcsr_i_rowwise *op, dcsr_i_mxm *m, const dcsr_i_rows *a,
                            const dcsr_i_rows *b)
{
    uint64_t stored = dcsr_i_rows_stored(a);
    dcsr_i_rowwise run = *op;
    m->semiring = simplify(m->semiring, a->type == DCSR_PATTERN, b->type == DCSR_PATTERN);
    m->kernel = dcsr_i_mxm_kernel_of(m->semiring);
    m->a = a;
    m->b = b;
    m->reads_a = dcsr_i_reads_x(m->semiring->multiply);
    m->reads_b = dcsr_i_reads_y(m->semiring->multiply);
    m->cast_b = m->reads_b && b->type != m->semiring->multiply->ytype;
    m->x_size = dcsr_type_size(m->semiring->multiply->xtype);
    m->values = dcsr_i_rowwise_wants_values(op);
    run.T.rows = a->rows;
    run.T.cols = b->cols;
    run.T.source[0] = a;
    run.T.work =
        b->rows ? stored + (uint64_t)((double)stored * (double)dcsr_i_rows_stored(b) / (double)b->rows) : 0;
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
    const dcsr_i_matrix_output out = {.call = "mxm", .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, dcsr_i_semiring_is_users(semiring)))
        return device_mxm(&out, semiring, A, B);
    dcsr_i_mxm_few few;
    dcsr_i_mxm m = {.context = C->context,
                    .semiring = semiring,
                    .size = dcsr_type_size(dcsr_i_monoid_type(semiring->add)),
                    .few = &few};
    dcsr_i_rowwise op = {.out = out,
                         .T = {.type = dcsr_i_monoid_type(semiring->add)},
                         .make = {.begin = begin, .end = end, .most = most}};
    if (mask && !how->mask_complement)
        op.make.masked = write_masked;
    else
        op.make.block = write_block;
    dcsr_i_input a = {0}, b = {0};
    dcsr_status status = dcsr_i_input_of(&a, A, how->transpose_a);
    if (status == DCSR_OK) status = dcsr_i_input_of(&b, B, how->transpose_b);
    if (status == DCSR_OK) status = multiply(&op, &m, a.rows, b.rows);
    dcsr_i_input_free(&b);
    dcsr_i_input_free(&a);
    return status;
}
