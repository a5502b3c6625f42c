/* support_dense.c: dense matrices, and GraphBLAS semantics on them, place by place. */
#include "tests/support/support_dense.h"

#include <stdlib.h>
#include <string.h>

dense dense_create(dcsr_type type, uint64_t rows, uint64_t cols)
{
    return (dense){type, rows, cols, test_allocate(rows * cols + 1, sizeof(bool)),
                   test_allocate(rows * cols + 1, sizeof(double))};
}

void dense_free(dense *d)
{
    free(d->has);
    free(d->value);
    *d = (dense){0};
}

double dense_cast(dcsr_type type, double value)
{
    char bytes[8];
    if (type == DCSR_PATTERN) return 1;
    if (type == DCSR_BOOL) return value != 0;
    test_encode(type, value, bytes);
    return test_decode(type, bytes);
}

void dense_set(dense *d, uint64_t row, uint64_t col, double value)
{
    d->has[dense_at(d, row, col)] = true;
    d->value[dense_at(d, row, col)] = dense_cast(d->type, value);
}

dense dense_transpose(const dense *d)
{
    dense t = dense_create(d->type, d->cols, d->rows);
    for (uint64_t i = 0; i < d->rows; i++)
        for (uint64_t j = 0; j < d->cols; j++)
            if (d->has[dense_at(d, i, j)]) dense_set(&t, j, i, d->value[dense_at(d, i, j)]);
    return t;
}

dense dense_of_view(dcsr_view *view)
{
    dcsr_view_info info = test_view_info(view);
    dense d = dense_create(info.type, info.rows, info.cols);
    uint64_t room = 4 * info.cols + 16;
    uint32_t *columns = test_allocate(room, sizeof *columns);
    char *values = test_allocate(room, 8);
    for (uint64_t i = 0; i < info.rows; i++) {
        uint64_t n;
        TEST_OK(dcsr_view_get_row(view, i, room, columns, values, &n));
        cr_assert(n <= room);
        for (uint64_t e = 0; e < n; e++) {
            uint64_t at = dense_at(&d, i, columns[e]);
            double value = info.type == DCSR_PATTERN
                               ? 1
                               : test_decode(info.type, values + e * dcsr_type_size(info.type));
            dense_set(&d, i, columns[e],
                      d.has[at] && info.type != DCSR_PATTERN ? d.value[at] + value : value);
        }
    }
    free(columns);
    free(values);
    return d;
}

dense dense_of_matrix(dcsr_matrix *matrix)
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dense d = dense_of_view(view);
    dcsr_view_destroy(view);
    return d;
}

dense dense_of_vector(const dcsr_vector *vector)
{
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(vector, &info));
    dense d = dense_create(info.type, 1, info.size);
    for (uint64_t i = 0; i < info.size; i++) {
        char value[8];
        bool stored;
        TEST_OK(dcsr_vector_get(vector, i, value, &stored));
        if (stored) dense_set(&d, 0, i, test_decode(info.type, value));
    }
    return d;
}

static bool is_true(const dense *mask, uint64_t at, const dcsr_desc *desc)
{
    bool here = !mask || (mask->has[at] && (desc->mask_structure || mask->value[at] != 0));
    return here != desc->mask_complement;
}

void dense_write(dense *C, const dense *mask, dense_function accum, dcsr_type type, const dcsr_desc *desc,
                 const dense *T)
{
    static const dcsr_desc defaults;
    if (!desc) desc = &defaults;
    cr_assert(C->rows == T->rows && C->cols == T->cols);
    for (uint64_t at = 0; at < C->rows * C->cols; at++) {
        if (!is_true(mask, at, desc)) {
            if (desc->replace) C->has[at] = false;
            continue;
        }
        if (accum && C->has[at] && T->has[at])
            C->value[at] = dense_cast(C->type, dense_cast(type, accum(dense_cast(type, C->value[at]),
                                                                      dense_cast(type, T->value[at]))));
        else if (T->has[at])
            C->value[at] = dense_cast(C->type, T->value[at]);
        C->has[at] = T->has[at] || (accum && C->has[at]);
    }
}

void dense_compare(const dense *found, const dense *expected, const char *what)
{
    cr_assert(found->rows == expected->rows && found->cols == expected->cols, "%s: the shapes differ", what);
    for (uint64_t i = 0; i < found->rows; i++)
        for (uint64_t j = 0; j < found->cols; j++) {
            uint64_t at = dense_at(found, i, j);
            cr_assert(found->has[at] == expected->has[at], "%s: (%d, %d) %s", what, (int)i, (int)j,
                      found->has[at] ? "has an entry" : "has no entry");
            cr_assert(!found->has[at] || found->value[at] == expected->value[at],
                      "%s: (%d, %d) is %g, not %g", what, (int)i, (int)j, found->value[at],
                      expected->value[at]);
        }
}
