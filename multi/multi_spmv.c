/* multi_spmv.c: y = A x on several devices. On the cpu each reads x where it is, if it lies together; else all bring
 * their part of it, meet, and multiply. What GPUs do is in exchange_cuda.c. */
#include "dcsr/base/threads.h"
#include "dcsr/vector/vector_data.h"
#include "multi/exchange.h"
#include "multi/multi_operation.h"
#include <dcsr/spmv.h>
#include <string.h>

typedef struct spmv {
    dcsr_multi_view *A;
    const dcsr_multi_vector *x;
    size_t size;       /* of a value */
    const void *whole; /* x where it is together; else `gathered`, once all have brought their part */
    char *gathered, *y;
    dcsr_i_multi_cost cost;
} spmv;

static dcsr_status multiply_part(void *user, uint64_t k)
{
    spmv *s = user;
    const void *x = s->whole;
    if (!x) {
        const uint64_t began = dcsr_i_nanoseconds();
        const dcsr_vector *part = s->x->part[k];
        dcsr_status status = dcsr_i_vector_check(part, "multi_spmv: x");
        if (status == DCSR_OK && part->size) {
            s->cost.bytes[k] = part->size * s->size;
            memcpy(s->gathered + s->x->borders->begin[k] * s->size, part->body.values, s->cost.bytes[k]);
        }
        DCSR_TRY(dcsr_multi_meet(s->A->devices, status));
        s->cost.waited[k] = dcsr_i_nanoseconds() - began;
        x = s->gathered;
    }
    return dcsr_spmv(s->y + s->A->rows->begin[k] * s->size, s->A->part[k], x);
}

static dcsr_status check_spmv(const dcsr_multi_vector *y, const dcsr_multi_view *A,
                              const dcsr_multi_vector *x)
{
    DCSR_TRY(dcsr_i_multi_check_view(A, "multi_spmv"));
    DCSR_TRY(dcsr_i_multi_check_operand(y, A, dcsr_i_borders_end(A->rows), "multi_spmv: y"));
    DCSR_TRY(dcsr_i_multi_check_operand(x, A, dcsr_i_borders_end(A->cols), "multi_spmv: x"));
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(A->part[0], &shape));
    const dcsr_type type = shape.type == DCSR_PATTERN ? DCSR_FP64 : shape.type;
    if (x->type != type || y->type != type)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                           "multi_spmv: %s is not of the matrix's type (fp64 for a pattern-only one)",
                           x->type != type ? "x" : "y");
    uint64_t nvals;
    DCSR_TRY(dcsr_multi_vector_get_nvals(x, &nvals));
    if (nvals < dcsr_i_borders_end(A->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_spmv: %llu elements of x are missing; dcsr_multi_vector_fill() it first",
                           (unsigned long long)(dcsr_i_borders_end(A->cols) - nvals));
    return DCSR_OK;
}

/* Every element is there, but not always in the form for it. */
static bool is_dense(const dcsr_multi_vector *x)
{
    for (uint64_t k = 0; k < x->borders->parts; k++)
        if (x->part[k]->size && !dcsr_i_vector_is_ahead(x->part[k]) && !x->part[k]->body.dense) return false;
    return true;
}

/* The parts of y that are written: those that it has, where they lie together by the borders of the rows, and x is
 * another vector; else new ones, which are to be put in. */
static dcsr_status take_y(spmv *s, dcsr_vector *parts[DCSR_MAX_DEVICES], dcsr_multi_vector *y)
{
    const dcsr_i_borders *rows = s->A->rows;
    void *values = NULL;
    if (y != s->x && dcsr_i_borders_equal(y->borders, rows))
        values = (void *)(uintptr_t)dcsr_i_multi_together(y->part, rows); /* its own */
    if (!values) DCSR_TRY(dcsr_i_multi_slices(parts, &values, s->A->devices, rows, y->type));
    s->y = values;
    return DCSR_OK;
}

static dcsr_status multiply_on_host(dcsr_multi_vector *y, dcsr_multi_view *A, const dcsr_multi_vector *x,
                                    dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds(), cols = dcsr_i_borders_end(A->cols);
    if (!is_dense(x))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_spmv: x is sparse by dcsr_vector_set_format(); let its parts be dense");
    dcsr_context *home = dcsr_i_multi_home(A->devices);
    dcsr_vector *parts[DCSR_MAX_DEVICES] = {NULL};
    spmv s = {
        .A = A, .x = x, .size = dcsr_type_size(x->type), .whole = dcsr_i_multi_together(x->part, x->borders)};
    DCSR_TRY(take_y(&s, parts, y));
    dcsr_status status = DCSR_OK;
    if (!s.whole) {
        s.gathered = dcsr_i_alloc(home, DCSR_I_SCRATCH, cols, s.size);
        if (!s.gathered) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK) status = dcsr_multi_run(A->devices, multiply_part, &s);
    dcsr_i_free(home, DCSR_I_SCRATCH, s.gathered, cols, s.size);
    if (status != DCSR_OK) {
        dcsr_i_multi_parts_destroy(parts, A->rows->parts);
        return status;
    }
    if (parts[0]) dcsr_i_multi_vector_put(y, parts, A->rows);
    s.cost.report[0].direction = DCSR_DIRECTION_PULL;
    dcsr_i_multi_tell(report, &s.cost, A->rows->parts, began);
    return DCSR_OK;
}

/* A vector with the elements of x, cut as the columns are. */
static dcsr_status move_borders(dcsr_multi_vector **moved, dcsr_multi_view *A, const dcsr_multi_vector *x)
{
    dcsr_context *home = dcsr_i_multi_home(A->devices);
    const uint64_t n = dcsr_i_borders_end(A->cols), none = 0; /* no element is missing */
    const size_t size = dcsr_type_size(x->type);
    void *values = dcsr_i_alloc(home, DCSR_I_SCRATCH, n, size);
    dcsr_status status = values ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) status = dcsr_multi_vector_create(moved, A, x->type, true);
    if (status == DCSR_OK) status = dcsr_multi_vector_to_array(x, &none, values);
    if (status == DCSR_OK) status = dcsr_multi_vector_from_array(*moved, values);
    dcsr_i_free(home, DCSR_I_SCRATCH, values, n, size);
    return status;
}

dcsr_status dcsr_multi_spmv(dcsr_multi_vector *y, dcsr_multi_view *A, const dcsr_multi_vector *x,
                            dcsr_multi_report *report)
{
    DCSR_TRY(check_spmv(y, A, x));
    if (!dcsr_i_multi_is_on_gpus(A->devices)) return multiply_on_host(y, A, x, report);
    if (dcsr_i_borders_equal(x->borders, A->cols)) return dcsr_i_multi_on_gpus->spmv(y, A, x, report);
    dcsr_multi_vector *moved = NULL;
    dcsr_status status = move_borders(&moved, A, x);
    if (status == DCSR_OK) status = dcsr_i_multi_on_gpus->spmv(y, A, moved, report);
    dcsr_multi_vector_destroy(moved);
    return status;
}
