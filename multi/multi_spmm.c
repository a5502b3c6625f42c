/* multi_spmm.c: Y = A X with dense X and Y in host memory: each device multiplies its rows of A with all of X.
 *
 * Rows of Y are computed beside it and put in once all devices have succeeded. */
#include "dcsr/base/threads.h"
#include "multi/multi_operation.h"
#include "ops/algebra/operator.h"
#include <dcsr/spmm.h>
#include <string.h>

typedef struct spmm {
    dcsr_multi_view *A;
    const dcsr_multi_vector *mask;
    const dcsr_binary_op *accum;
    const dcsr_semiring *semiring;
    const void *X;
    char *Y, *made; /* the caller's; what it will be: the same where one device does it all */
    uint64_t columns;
    size_t row; /* bytes of a row of Y */
    dcsr_desc desc;
    dcsr_i_multi_cost cost;
} spmm;

static dcsr_status multiply_part(void *user, uint64_t k)
{
    spmm *s = user;
    const uint64_t begin = s->A->rows->begin[k], end = s->A->rows->begin[k + 1];
    char *to = s->made + begin * s->row;
    dcsr_vector *mask = NULL;
    dcsr_desc desc = s->desc;
    desc.report = &s->cost.report[k];
    dcsr_status status = DCSR_OK;
    if (s->mask)
        status = dcsr_i_multi_fetch(&mask, dcsr_i_multi_context(s->A->devices, k), s->mask->part,
                                    s->mask->borders, begin, end, k, &s->cost.bytes[k]);
    if (s->made != s->Y && (s->mask || s->accum)) memcpy(to, s->Y + begin * s->row, (end - begin) * s->row);
    if (status == DCSR_OK && end > begin)
        status = dcsr_spmm(to, mask, s->accum, s->semiring, s->A->part[k], s->X, s->columns, &desc);
    dcsr_vector_destroy(mask);
    const uint64_t began = dcsr_i_nanoseconds();
    DCSR_TRY(dcsr_multi_meet(s->A->devices, status));
    s->cost.waited[k] = dcsr_i_nanoseconds() - began;
    if (s->made != s->Y) memcpy(s->Y + begin * s->row, to, (end - begin) * s->row);
    return DCSR_OK;
}

dcsr_status dcsr_multi_spmm(void *Y, const dcsr_multi_vector *mask, const dcsr_binary_op *accum,
                            const dcsr_semiring *semiring, dcsr_multi_view *A, const void *X,
                            uint64_t columns, const dcsr_desc *desc)
{
    static const char call[] = "multi_spmm";
    DCSR_TRY(dcsr_i_multi_check_view(A, call));
    const uint64_t rows = dcsr_i_borders_end(A->rows), inner = dcsr_i_borders_end(A->cols);
    if (!semiring || (!Y && rows && columns) || (!X && inner && columns))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call,
                           !semiring               ? "the semiring"
                           : rows && columns && !Y ? "Y"
                                                   : "X");
    if (desc && desc->transpose_a)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: transpose_a is set, but A is cut by rows; multiply with what "
                           "dcsr_multi_transpose() makes of A",
                           call);
    if (mask) DCSR_TRY(dcsr_i_multi_check_operand(mask, A, rows, "multi_spmm: the mask"));
    spmm s = {.A = A, .mask = mask, .accum = accum, .semiring = semiring, .X = X, .Y = Y, .columns = columns};
    if (desc) s.desc = *desc;
    const size_t size = dcsr_type_size(dcsr_i_monoid_type(semiring->add));
    if (columns > SIZE_MAX / size / (rows ? rows : 1))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: Y would have %llu x %llu elements", call,
                           (unsigned long long)rows, (unsigned long long)columns);
    s.row = columns * size;
    dcsr_context *home = dcsr_i_multi_home(A->devices);
    const bool alone = A->rows->parts == 1 || !rows || !columns;
    s.made = alone ? Y : dcsr_i_alloc(home, DCSR_I_SCRATCH, rows, s.row);
    if (!alone && !s.made) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_multi_run(A->devices, multiply_part, &s);
    if (!alone) dcsr_i_free(home, DCSR_I_SCRATCH, s.made, rows, s.row);
    if (status == DCSR_OK && s.desc.report) {
        dcsr_report all = {.device = DCSR_DEVICE_CPU, .mapping = DCSR_SPMM_ROW_SPLIT};
        for (uint64_t k = 0; k < A->rows->parts; k++) {
            const uint64_t entries = all.entries + s.cost.report[k].entries;
            if (s.cost.report[k].mapping) all = s.cost.report[k]; /* else it has no rows */
            all.entries = entries;
        }
        *s.desc.report = all;
    }
    return status;
}
