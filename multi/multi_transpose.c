/* multi_transpose.c: the transpose of a partitioned matrix, with borders of its own.
 *
 *      each device     T_k = A_k^T, all of whose columns are rows of its part
 *      borders         where T_0, T_1, ... together have equally many entries before a row, by bisection
 *      each device     row c of B = row c of T_0, of T_1, ..., behind one another: columns ascend with the devices
 *
 * On GPUs arrays take the place of the matrices T, and rows of them go from GPU to GPU (multi_transpose_cuda.c). */
#include "dcsr/view/view_data.h"
#include "multi/fetch_rows_cuda.h"
#include "multi/multi_data.h"
#include "multi/multi_operation.h"
#include <dcsr/transpose.h>

typedef struct transposing {
    dcsr_multi_view *A;
    dcsr_matrix *matrix[DCSR_MAX_DEVICES]; /* T_k */
    dcsr_view *view[DCSR_MAX_DEVICES];
    dcsr_csr csr[DCSR_MAX_DEVICES];
    dcsr_i_borders *borders; /* of B */
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    dcsr_i_multi_cost cost;
} transposing;

static dcsr_status transpose_part(void *user, uint64_t k)
{
    transposing *t = user;
    const uint64_t rows = t->A->rows->begin[k + 1] - t->A->rows->begin[k];
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(t->A->part[k], &shape));
    DCSR_TRY(dcsr_matrix_create(&t->matrix[k], shape.context, shape.type, shape.cols, rows, NULL));
    DCSR_TRY(dcsr_matrix_transpose(t->matrix[k], NULL, NULL, t->A->part[k], NULL));
    DCSR_TRY(dcsr_view_create(&t->view[k], t->matrix[k], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    return dcsr_view_get_csr_on_host(t->view[k], &t->csr[k]);
}

static uint64_t entries_before(const void *of, uint64_t row)
{
    const transposing *t = of;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < t->A->rows->parts; k++) sum += t->csr[k].offsets[row];
    return sum;
}

/* The device's rows of all T. */
static dcsr_status join_part(void *user, uint64_t k)
{
    transposing *t = user;
    const uint64_t begin = t->borders->begin[k], end = t->borders->begin[k + 1], parts = t->A->rows->parts;
    const size_t size = dcsr_type_size(t->csr[0].type);
    dcsr_i_csr_buffer buffer;
    DCSR_TRY(
        dcsr_i_buffer_rows(&buffer, dcsr_i_multi_context(t->A->devices, k), t->csr[0].type, end - begin));
    for (uint64_t j = 0; j < parts; j++) {
        const uint64_t *from = t->csr[j].offsets + begin;
        for (uint64_t i = 0; i < end - begin; i++) buffer.offsets[i + 1] += from[i + 1] - from[i];
        if (j != k) t->cost.bytes[k] += (from[end - begin] - from[0]) * (sizeof(uint32_t) + size);
    }
    dcsr_status status = dcsr_i_buffer_entries(&buffer);
    for (uint64_t i = 0; i < end - begin && status == DCSR_OK; i++) {
        uint64_t to = buffer.offsets[i];
        for (uint64_t j = 0; j < parts; j++) {
            const dcsr_csr *T = &t->csr[j];
            const uint64_t from = T->offsets[begin + i], n = T->offsets[begin + i + 1] - from;
            for (uint64_t e = 0; e < n; e++)
                buffer.cols[to + e] = (uint32_t)(T->col_indices[from + e] + t->A->rows->begin[j]);
            if (size) memcpy(buffer.values + to * size, (const char *)T->values + from * size, n * size);
            to += n;
        }
    }
    if (status == DCSR_OK)
        status = dcsr_i_buffer_to_matrix(&t->part[k], &buffer, dcsr_i_borders_end(t->A->rows), NULL);
    dcsr_i_buffer_free(&buffer);
    return status;
}

/* ---- Anywhere ---- */

static dcsr_status transpose_alone(void *user, uint64_t k)
{
    transposing *t = user;
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(t->A->part[k], &shape));
    DCSR_TRY(dcsr_matrix_create(&t->part[k], shape.context, shape.type, shape.cols, shape.rows, NULL));
    return dcsr_matrix_transpose(t->part[k], NULL, NULL, t->A->part[k], NULL);
}

static dcsr_status (*const transpose_on_gpus)(dcsr_matrix **, dcsr_i_borders **, dcsr_multi_view *,
                                              dcsr_i_multi_cost *) =
    DCSR_I_IN_CUDA(dcsr_i_cuda_multi_transpose);

static dcsr_status transpose(transposing *t, dcsr_multi_matrix **B)
{
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(t->A->part[0], &shape));
    if (t->A->rows->parts == 1) {
        t->borders = dcsr_i_borders_even(1, shape.cols);
        if (!t->borders) return DCSR_ERROR_OUT_OF_MEMORY;
        DCSR_TRY(dcsr_multi_run(t->A->devices, transpose_alone, t));
        return dcsr_i_multi_matrix_of_parts(B, t->A->devices, t->borders, shape.rows, shape.type, t->part);
    }
    if (dcsr_i_multi_goes_by_gpus(t->A)) {
        DCSR_TRY(transpose_on_gpus(t->part, &t->borders, t->A, &t->cost));
        return dcsr_i_multi_matrix_of_parts(B, t->A->devices, t->borders, dcsr_i_borders_end(t->A->rows),
                                            shape.type, t->part);
    }
    DCSR_TRY(dcsr_multi_run(t->A->devices, transpose_part, t));
    t->borders =
        dcsr_i_borders_round(dcsr_i_borders_by_entries(t->A->devices, t->csr[0].rows, entries_before, t),
                             dcsr_i_multi_grain(t->A->devices));
    if (!t->borders) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(dcsr_multi_run(t->A->devices, join_part, t));
    return dcsr_i_multi_matrix_of_parts(B, t->A->devices, t->borders, dcsr_i_borders_end(t->A->rows),
                                        t->csr[0].type, t->part);
}

dcsr_status dcsr_multi_transpose(dcsr_multi_matrix **B, dcsr_multi_view *A, dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    if (!B) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_transpose: B is NULL; give it a place");
    *B = NULL;
    DCSR_TRY(dcsr_i_multi_check_view(A, "multi_transpose"));
    transposing t = {.A = A};
    dcsr_status status = transpose(&t, B);
    for (uint64_t k = 0; k < A->rows->parts; k++) {
        if (status != DCSR_OK) dcsr_matrix_destroy(t.part[k]);
        dcsr_view_destroy(t.view[k]);
        dcsr_matrix_destroy(t.matrix[k]);
    }
    dcsr_i_borders_release(t.borders);
    if (status == DCSR_OK) dcsr_i_multi_tell(report, &t.cost, A->rows->parts, began);
    return status;
}
