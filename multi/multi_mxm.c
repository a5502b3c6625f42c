/* multi_mxm.c: C<mask> = A B on several devices: each fetches the rows of B that its part of A reads, as one matrix,
 * and multiplies as a single device does.
 *
 *      A_k  the device's rows of A, and of the result
 *      B_k  B with those rows alone that are columns of entries of A_k; of B^T the rows that are columns of entries of
 *           the mask, or all
 *      C_k  = A_k B_k, with the mask's rows of the same numbers */
#include "dcsr/view/view_data.h"
#include "multi/fetch_rows_cuda.h"
#include "multi/multi_data.h"
#include "multi/multi_operation.h"
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>

typedef struct multiplication {
    dcsr_multi_view *A, *B, *mask;
    const dcsr_semiring *semiring;
    dcsr_type type;
    dcsr_desc desc;
    dcsr_matrix *part[DCSR_MAX_DEVICES]; /* of C */
    dcsr_i_multi_cost cost;
} multiplication;

/* What one device has besides its parts of A and C. */
typedef struct helpers {
    dcsr_matrix *B_matrix, *mask_matrix;
    dcsr_view *B, *mask; /* shared or created */
    uint64_t *touched;   /* rows of B, ascending */
    uint64_t touched_count;
} helpers;

/* Columns of the entries that a view shows. */
static dcsr_status find_touched(helpers *h, dcsr_view *view)
{
    dcsr_view_shape shape;
    dcsr_vector *ones = NULL, *found = NULL;
    DCSR_TRY(dcsr_view_get_shape(view, &shape));
    const dcsr_semiring *any = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    dcsr_status status = dcsr_vector_create(&ones, shape.context, DCSR_BOOL, shape.rows);
    if (status == DCSR_OK) status = dcsr_vector_fill(ones, &(bool){true});
    if (status == DCSR_OK) status = dcsr_vector_create(&found, shape.context, DCSR_BOOL, shape.cols);
    if (status == DCSR_OK)
        status = dcsr_vxm(found, NULL, NULL, any, ones, view, &(dcsr_desc){.direction = DCSR_DIRECTION_PUSH});
    if (status == DCSR_OK) status = dcsr_vector_get_nvals(found, &h->touched_count);
    if (status == DCSR_OK) {
        h->touched = dcsr_i_alloc(shape.context, DCSR_I_SCRATCH, h->touched_count, sizeof *h->touched);
        status = h->touched
                     ? dcsr_vector_get_entries(found, h->touched_count, h->touched, NULL, &h->touched_count)
                     : DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_vector_destroy(ones);
    dcsr_vector_destroy(found);
    return status;
}

static dcsr_status (*const fetch_on_gpus)(dcsr_view **, dcsr_multi_view *, uint64_t, uint64_t, dcsr_view *,
                                          uint64_t, uint64_t *) = DCSR_I_IN_CUDA(dcsr_i_cuda_fetch_view);

/* A view on device k of rows of a partitioned matrix: with `of`, those that are columns of its entries. On the cpu,
 * and where entries are kept more than once, it is one of a matrix. */
static dcsr_status fetch_view(dcsr_view **view, helpers *h, dcsr_matrix **matrix, multiplication *m,
                              dcsr_multi_view *from, dcsr_i_wanted_rows wanted, dcsr_view *of, uint64_t k)
{
    uint64_t *bytes = &m->cost.bytes[k];
    if (fetch_on_gpus && dcsr_i_multi_goes_by_gpus(from))
        return fetch_on_gpus(view, from, wanted.begin, wanted.end, of, k, bytes);
    if (of) {
        DCSR_TRY(find_touched(h, of));
        wanted.list = h->touched;
        wanted.n = h->touched_count;
    }
    DCSR_TRY(dcsr_i_multi_fetch_rows(matrix, dcsr_i_multi_context(m->A->devices, k), from, &wanted, NULL, k,
                                     bytes));
    return dcsr_view_create(view, *matrix, DCSR_LAYOUT_SEGMENTS, 0);
}

static dcsr_status get_mask(helpers *h, multiplication *m, uint64_t k)
{
    const dcsr_i_wanted_rows mine = {.begin = m->A->rows->begin[k], .end = m->A->rows->begin[k + 1]};
    if (!m->mask) return DCSR_OK;
    if (dcsr_i_borders_equal(m->mask->rows, m->A->rows)) return dcsr_view_share(&h->mask, m->mask->part[k]);
    return fetch_view(&h->mask, h, &h->mask_matrix, m, m->mask, mine, NULL, k);
}

static dcsr_status get_B(helpers *h, multiplication *m, uint64_t k)
{
    const bool all = m->desc.transpose_b && (!h->mask || m->desc.mask_complement);
    if (m->A->rows->parts == 1) return dcsr_view_share(&h->B, m->B->part[0]);
    dcsr_view *of = all ? NULL : m->desc.transpose_b ? h->mask : m->A->part[k];
    const dcsr_i_wanted_rows wanted = {.end = dcsr_i_borders_end(m->B->rows)};
    return fetch_view(&h->B, h, &h->B_matrix, m, m->B, wanted, of, k);
}

static dcsr_status multiply(helpers *h, multiplication *m, uint64_t k)
{
    const dcsr_i_borders *cols = m->desc.transpose_b ? m->B->rows : m->B->cols;
    dcsr_desc desc = m->desc;
    desc.report = &m->cost.report[k];
    const uint64_t began = dcsr_i_nanoseconds();
    DCSR_TRY(get_mask(h, m, k));
    DCSR_TRY(get_B(h, m, k));
    m->cost.waited[k] = dcsr_i_nanoseconds() - began;
    DCSR_TRY(dcsr_matrix_create(&m->part[k], dcsr_i_multi_context(m->A->devices, k), m->type,
                                m->A->rows->begin[k + 1] - m->A->rows->begin[k], dcsr_i_borders_end(cols),
                                NULL));
    return dcsr_mxm(m->part[k], h->mask, NULL, m->semiring, m->A->part[k], h->B, &desc);
}

static dcsr_status multiply_part(void *user, uint64_t k)
{
    multiplication *m = user;
    helpers h = {0};
    dcsr_status status = multiply(&h, m, k);
    dcsr_view_destroy(h.B);
    dcsr_view_destroy(h.mask);
    dcsr_matrix_destroy(h.B_matrix);
    dcsr_matrix_destroy(h.mask_matrix);
    dcsr_i_free(dcsr_i_multi_context(m->A->devices, k), DCSR_I_SCRATCH, h.touched, h.touched_count,
                sizeof *h.touched);
    return status;
}

static dcsr_status check(const multiplication *m)
{
    static const char call[] = "multi_mxm";
    DCSR_TRY(dcsr_i_multi_check_view(m->A, call));
    if (!m->B || !m->semiring)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, m->B ? "the semiring" : "B");
    if (m->B->devices != m->A->devices || (m->mask && m->mask->devices != m->A->devices))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is of other devices than A", call,
                           m->B->devices != m->A->devices ? "B" : "the mask");
    if (m->desc.transpose_a)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: transpose_a is set, but A is cut by rows; multiply with what "
                           "dcsr_multi_transpose() makes of A",
                           call);
    const uint64_t rows = dcsr_i_borders_end(m->A->rows), inner = dcsr_i_borders_end(m->A->cols),
                   B_rows = dcsr_i_borders_end(m->B->rows), B_cols = dcsr_i_borders_end(m->B->cols),
                   cols = m->desc.transpose_b ? B_rows : B_cols;
    if (inner != (m->desc.transpose_b ? B_cols : B_rows))
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: A is %llu x %llu, B %llu x %llu%s", call,
                           (unsigned long long)rows, (unsigned long long)inner, (unsigned long long)B_rows,
                           (unsigned long long)B_cols, m->desc.transpose_b ? ", transposed" : "");
    if (m->mask && (dcsr_i_borders_end(m->mask->rows) != rows || dcsr_i_borders_end(m->mask->cols) != cols))
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "%s: the mask is %llu x %llu, the product %llu x %llu", call,
                           (unsigned long long)dcsr_i_borders_end(m->mask->rows),
                           (unsigned long long)dcsr_i_borders_end(m->mask->cols), (unsigned long long)rows,
                           (unsigned long long)cols);
    return DCSR_OK;
}

dcsr_status dcsr_multi_mxm(dcsr_multi_matrix **C, dcsr_type type, dcsr_multi_view *mask,
                           const dcsr_semiring *semiring, dcsr_multi_view *A, dcsr_multi_view *B,
                           const dcsr_desc *desc, dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    if (!C) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_mxm: C is NULL; give it a place");
    *C = NULL;
    multiplication m = {.A = A, .B = B, .mask = mask, .semiring = semiring, .type = type};
    if (desc) m.desc = *desc;
    m.desc.same_pattern = false; /* C is new */
    DCSR_TRY(check(&m));
    const uint64_t parts = A->rows->parts;
    dcsr_status status = dcsr_multi_run(A->devices, multiply_part, &m);
    if (status == DCSR_OK)
        status = dcsr_i_multi_matrix_of_parts(
            C, A->devices, A->rows, dcsr_i_borders_end(m.desc.transpose_b ? B->rows : B->cols), type, m.part);
    if (status != DCSR_OK) {
        for (uint64_t k = 0; k < parts; k++) dcsr_matrix_destroy(m.part[k]);
        return status;
    }
    if (m.desc.report) {
        *m.desc.report = m.cost.report[0];
        for (uint64_t k = 1; k < parts; k++) m.desc.report->entries += m.cost.report[k].entries;
    }
    dcsr_i_multi_tell(report, &m.cost, parts, began);
    return DCSR_OK;
}
