/* mxm_cuda.c: sparse matrix times sparse matrix on a device: what is read, memory, portions. */
#include "ops/mxm/mxm_cuda.h"
#include "ops/mxm/mxm_places_cuda.h"
#include "ops/mxm/mxm_rows_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/view/view_data.h"
#include "ops/mxv/mxv_cuda.h"
#include "ops/matrix/write_matrix.h"
#include <string.h>

static const char operation[] = "multiplying matrices";

typedef struct factors {
    const dcsr_i_matrix_output *out;
    const dcsr_semiring *semiring;
    dcsr_view *A, *B;
    bool transpose_a, transpose_b;
} factors;

typedef struct multiplying {
    const factors *of;
    dcsr_i_cuda_stream *stream;
    dcsr_type type;        /* of the products */
    dcsr_i_cuda_rows rows; /* of B */
    /* B as a list, and its columns and where its rows begin; of zeros where B is read as it stands. */
    dcsr_i_cuda_coo b;
    uint32_t *b_columns;
    uint64_t *b_offsets;
    dcsr_i_cuda_coo a;       /* A's entries, with values as multiply takes them */
    uint32_t *columns;       /* of these */
    uint64_t *offsets;       /* products before each */
    dcsr_i_cuda_coo places;  /* where the mask is true, and where its rows begin; of zeros where products */
    uint64_t *place_offsets; /* are wanted everywhere */
    dcsr_i_cuda_cut *cut;
} multiplying;

static void *allocate(const multiplying *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static void release(const multiplying *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static void close_product(multiplying *m)
{
    release(m, m->cut, 1, sizeof *m->cut);
    release(m, m->offsets, m->a.n + 1, sizeof *m->offsets);
    release(m, m->columns, m->a.n, sizeof *m->columns);
    dcsr_i_cuda_coo_close(&m->a, m->stream);
    release(m, m->place_offsets, m->places.rows + 1, sizeof *m->place_offsets);
    dcsr_i_cuda_coo_close(&m->places, m->stream);
    release(m, m->b_offsets, m->b.rows + 1, sizeof *m->b_offsets);
    release(m, m->b_columns, m->b.n, sizeof *m->b_columns);
    dcsr_i_cuda_coo_close(&m->b, m->stream);
}

/* ---- What is read ---- */

/* The type of the products: none where no values are wanted, or all sums are 1. */
static dcsr_type type_of_products(const factors *f)
{
    dcsr_i_cuda_semiring ring;
    bool ones = dcsr_i_cuda_semiring_of(&ring, f->semiring, false, f->A->form[0].rows.type) && ring.ones;
    return ones || f->out->C->type == DCSR_PATTERN ? DCSR_PATTERN : dcsr_i_monoid_type(f->semiring->add);
}

/* B's rows where they stand, if that is each entry once. */
static dcsr_status open_b(multiplying *m)
{
    dcsr_view *B = m->of->B;
    bool transposed = m->of->transpose_b;
    if (!B->shows_duplicates && B->matrix->policy != DCSR_POLICY_KEEP) {
        m->rows = B->form[0].rows.device;
        if (transposed) return dcsr_i_cuda_view_transposed(&m->rows, B);
        dcsr_i_view_was_read(B);
        return DCSR_OK;
    }
    dcsr_i_cuda_coo *b = &m->b;
    DCSR_TRY(dcsr_i_cuda_coo_of_view(b, m->stream, B, transposed));
    m->b_columns = allocate(m, b->n, sizeof *m->b_columns);
    m->b_offsets = allocate(m, b->rows + 1, sizeof *m->b_offsets);
    if (!m->b_columns || !m->b_offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_take_low(m->stream, b->keys, b->n, 32, m->b_columns);
    dcsr_i_cuda_coo_offsets(m->stream, b, m->b_offsets);
    m->rows = (dcsr_i_cuda_rows){.rows = b->rows,
                                 .cols = b->cols,
                                 .stored = b->n,
                                 .type = b->type,
                                 .value_size = (uint32_t)dcsr_type_size(b->type),
                                 .offsets = m->b_offsets,
                                 .columns = m->b_columns,
                                 .values = b->values};
    return DCSR_OK;
}

/* Leaves out A's rows of which no product is wanted. */
static dcsr_status choose_rows(multiplying *m)
{
    uint64_t n = m->a.n;
    uint32_t *keep = allocate(m, n, sizeof *keep);
    if (!keep) return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_mark(m->stream, m->a.keys, n, m->place_offsets, keep);
    dcsr_status status = dcsr_i_cuda_coo_choose(&m->a, m->stream, keep);
    release(m, keep, n, sizeof *keep);
    return status;
}

/* Of a mask that is not complemented: products are wanted where it is true alone. */
static dcsr_status use_mask(multiplying *m)
{
    const dcsr_i_matrix_output *out = m->of->out;
    if (!out->mask || (out->desc && out->desc->mask_complement)) return DCSR_OK;
    const dcsr_i_rows *mask = dcsr_i_view_rows(out->mask);
    DCSR_TRY(dcsr_i_check_shape(out->call, "the mask", mask->rows, mask->cols, "the result", m->a.rows,
                                m->rows.cols));
    DCSR_TRY(dcsr_i_cuda_mask_places(&m->places, m->stream, out->mask, out->desc));
    m->place_offsets = allocate(m, m->places.rows + 1, sizeof *m->place_offsets);
    if (!m->place_offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_offsets(m->stream, &m->places, m->place_offsets);
    return choose_rows(m);
}

static dcsr_status open_product(multiplying *m)
{
    const factors *f = m->of;
    const dcsr_binary_op *multiply = f->semiring->multiply;
    m->type = type_of_products(f);
    DCSR_TRY(open_b(m));
    DCSR_TRY(dcsr_i_cuda_coo_of_view(&m->a, m->stream, f->A, f->transpose_a));
    bool reads_a = m->type != DCSR_PATTERN && dcsr_i_reads_x(multiply) && m->a.type != DCSR_PATTERN;
    DCSR_TRY(dcsr_i_cuda_coo_cast(&m->a, m->stream, reads_a ? multiply->xtype : DCSR_PATTERN));
    DCSR_TRY(use_mask(m));
    m->columns = allocate(m, m->a.n, sizeof *m->columns);
    m->offsets = allocate(m, m->a.n + 1, sizeof *m->offsets);
    m->cut = allocate(m, 1, sizeof *m->cut);
    if (!m->columns || !m->offsets || !m->cut) return dcsr_i_no_memory();
    dcsr_i_cuda_take_low(m->stream, m->a.keys, m->a.n, 32, m->columns);
    return dcsr_i_cuda_sum_lengths(m->stream, &m->rows, m->columns, m->a.n, m->offsets);
}

/* ---- Portions ---- */

enum { PRODUCT_BYTES = 40 }; /* keys and values, and as much again to sort into */

static dcsr_status open_part(const multiplying *m, dcsr_i_cuda_coo *part, uint64_t n)
{
    return dcsr_i_cuda_coo_open(part, m->stream, m->type, m->a.rows, m->rows.cols, n);
}

/* The products at the mask's places. */
static dcsr_status expand_wanted(const multiplying *m, const dcsr_i_cuda_products *p, dcsr_i_cuda_coo *part)
{
    uint64_t parts = dcsr_i_cuda_mxm_parts(p), n, *starts = allocate(m, parts + 1, sizeof *starts);
    if (!starts) return dcsr_i_no_memory();
    dcsr_i_cuda_mxm_count(m->stream, p, starts);
    dcsr_status status = dcsr_i_cuda_scan_u64(m->stream, starts, starts, parts);
    if (status == DCSR_OK) status = dcsr_i_cuda_read_back(m->stream, &n, starts + parts, sizeof n, operation);
    if (status == DCSR_OK) status = open_part(m, part, n);
    if (status == DCSR_OK) dcsr_i_cuda_mxm_expand(m->stream, p, starts, part);
    release(m, starts, parts + 1, sizeof *starts);
    return status;
}

static dcsr_status expand(const multiplying *m, const dcsr_i_cuda_products *p, dcsr_i_cuda_coo *part)
{
    if (p->places) return expand_wanted(m, p, part);
    DCSR_TRY(open_part(m, part, p->count));
    dcsr_i_cuda_mxm_expand(m->stream, p, NULL, part);
    return DCSR_OK;
}

static void copy_entries(const multiplying *m, dcsr_i_cuda_coo *to, const dcsr_i_cuda_coo *from)
{
    size_t size = dcsr_type_size(m->type);
    dcsr_i_cuda_copy(m->stream, to->keys + to->n, from->keys, from->n * sizeof *to->keys);
    if (size) dcsr_i_cuda_copy(m->stream, (char *)to->values + to->n * size, from->values, from->n * size);
    to->n += from->n;
}

/* Appends a part, whose rows come after those that T has. The first becomes T. */
static dcsr_status append(const multiplying *m, dcsr_i_cuda_coo *T, dcsr_i_cuda_coo *part)
{
    dcsr_i_cuda_coo larger, none = {0};
    uint64_t n = T->n + part->n;
    if (!T->keys) {
        *T = *part;
        *part = none;
        return DCSR_OK;
    }
    if (n > T->capacity) {
        DCSR_TRY(open_part(m, &larger, n + n / 2));
        larger.n = 0;
        copy_entries(m, &larger, T);
        dcsr_i_cuda_coo_close(T, m->stream);
        *T = larger;
    }
    copy_entries(m, T, part);
    return DCSR_OK;
}

/* Entries begin to end - 1 of A, which have so many products. */
static dcsr_status multiply_portion(const multiplying *m, dcsr_i_cuda_coo *T, uint64_t begin, uint64_t end,
                                    uint64_t products)
{
    const dcsr_semiring *semiring = m->of->semiring;
    const dcsr_binary_op *multiply = semiring->multiply;
    dcsr_i_cuda_products p = {.walk = {m->rows, m->columns + begin, end - begin, m->offsets + begin},
                              .count = products,
                              .keys = m->a.keys + begin,
                              .reads_y = m->type != DCSR_PATTERN && dcsr_i_reads_y(multiply) &&
                                         m->rows.type != DCSR_PATTERN,
                              .multiply = multiply->name,
                              .type = multiply->xtype,
                              .places = m->places.keys,
                              .place_offsets = m->place_offsets};
    if (m->a.values) p.x = (const char *)m->a.values + begin * dcsr_type_size(m->a.type);
    dcsr_i_cuda_coo part = {0};
    dcsr_status status = expand(m, &p, &part);
    if (status == DCSR_OK) status = dcsr_i_cuda_coo_sort(&part, m->stream);
    if (status == DCSR_OK) status = dcsr_i_cuda_coo_add_up(&part, m->stream, semiring->add->op->name);
    if (status == DCSR_OK) status = append(m, T, &part);
    dcsr_i_cuda_coo_close(&part, m->stream);
    return status;
}

/* The products of a portion; of one row more than the limit of memory allows are refused. */
static dcsr_status check_portion(const multiplying *m, uint64_t begin, uint64_t products, uint64_t left)
{
    uint64_t key;
    if (products <= left / PRODUCT_BYTES) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &key, m->a.keys + begin, sizeof key, operation));
    return dcsr_i_cuda_mxm_fail_row(m->of->out, key >> 32, products * PRODUCT_BYTES, left);
}

static dcsr_status multiply_portions(const multiplying *m, dcsr_i_cuda_coo *T)
{
    const uint64_t of_a = sizeof(uint64_t) + sizeof(uint32_t) +
                          2 * (sizeof *m->a.keys + dcsr_type_size(m->a.type)),
                   of_place = sizeof *m->places.keys;
    uint64_t left, portion = DCSR_CUDA_MXM_PRODUCTS;
    DCSR_TRY(dcsr_i_cuda_mxm_limit(
        m->of->out, m->a.n * of_a + m->places.n * of_place + m->a.rows * sizeof *m->offsets, &left));
    if (left / PRODUCT_BYTES < portion) portion = left / PRODUCT_BYTES;
    dcsr_i_cuda_cut done = {0, 0}, next;
    for (; done.end < m->a.n; done = next) {
        dcsr_i_cuda_mxm_cut(m->stream, m->cut, m->a.keys, m->offsets, m->a.n, done.end, portion);
        DCSR_TRY(dcsr_i_cuda_read_back(m->stream, &next, m->cut, sizeof next, operation));
        uint64_t products = next.before - done.before;
        DCSR_TRY(check_portion(m, done.end, products, left));
        if (products) DCSR_TRY(multiply_portion(m, T, done.end, next.end, products));
    }
    return T->keys ? DCSR_OK : open_part(m, T, 0);
}

/* ---- At the places of a mask ---- */

static dcsr_status check_mask(const factors *f)
{
    const dcsr_i_rows *mask = dcsr_i_view_rows(f->out->mask), *a = dcsr_i_view_rows(f->A),
                      *b = dcsr_i_view_rows(f->B);
    return dcsr_i_check_shape(f->out->call, "the mask", mask->rows, mask->cols, "the result",
                              f->transpose_a ? a->cols : a->rows, f->transpose_b ? b->rows : b->cols);
}

/* Where the mask is true. */
static dcsr_status compute_at_mask(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const factors *f = user;
    DCSR_TRY(check_mask(f));
    DCSR_TRY(dcsr_i_cuda_mask_places(T, stream, f->out->mask, f->out->desc));
    return dcsr_i_cuda_mxm_at_places(T, stream, f->out, f->semiring, f->A, f->B);
}

/* Everywhere, for what follows: merging with C, or dropping what a complemented mask names. */
static dcsr_status compute_rows(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const factors *f = user;
    return dcsr_i_cuda_mxm_rows_as_list(T, stream, f->out, f->semiring, f->A, f->B);
}

static dcsr_status compute(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user)
{
    multiplying m = {.of = user, .stream = stream};
    dcsr_status status = open_product(&m);
    if (status == DCSR_OK) status = multiply_portions(&m, T);
    close_product(&m);
    return status;
}

/* ---- The call ---- */

static uint64_t estimate_products(const factors *f)
{
    const uint64_t a = f->A->form[0].rows.device.stored, b = f->B->form[0].rows.device.stored;
    const uint64_t rows = f->transpose_b ? f->B->form[0].rows.cols : f->B->form[0].rows.rows;
    return rows ? a + (uint64_t)((double)a * (double)b / (double)rows) : 0;
}

dcsr_status dcsr_i_cuda_mxm(const dcsr_i_matrix_output *out, const dcsr_semiring *semiring, dcsr_view *A,
                            dcsr_view *B)
{
    const dcsr_desc *desc = out->desc;
    const bool complement = desc && desc->mask_complement;
    const factors f = {out, semiring, A, B, desc && desc->transpose_a, desc && desc->transpose_b};
    bool taken;
    dcsr_status status = dcsr_i_cuda_mxm_rows(&taken, out, semiring, A, B);
    if (taken) return status;
    dcsr_i_matrix_output written = *out;
    written.within_mask = out->mask && !complement;
    const bool by_rows = dcsr_i_cuda_mxm_knows_places(semiring, A, B, out->C->type),
               limited = desc && desc->memory_limit;
    dcsr_i_cuda_compute *how = compute;
    if (by_rows && written.within_mask)
        how = compute_at_mask;
    else if (by_rows && !limited) /* expanding takes portions of any size */
        how = compute_rows;
    return dcsr_i_cuda_matrix_run(&written, how, &f, estimate_products(&f));
}
