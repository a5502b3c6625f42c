/* algebra_grid.c: grids, the write-back by its definition, and reading objects of the library as grids. */
#include "dcsr/vector/vector_data.h"
#include "tests/ops/algebra.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

grid grid_create(dcsr_type type, uint64_t rows, uint64_t cols)
{
    return (grid){type, rows, cols, test_allocate(rows * cols, sizeof(bool)),
                  test_allocate(rows * cols, sizeof(dcsr_i_scalar))};
}

grid grid_copy(const grid *g)
{
    return (grid){g->type, g->rows, g->cols, test_copy(g->present, g->rows * g->cols * sizeof *g->present),
                  test_copy(g->value, g->rows * g->cols * sizeof *g->value)};
}

void grid_free(grid *g)
{
    free(g->present);
    free(g->value);
    *g = (grid){0};
}

dcsr_i_scalar grid_cast(dcsr_type to, dcsr_type from, dcsr_i_scalar value)
{
    dcsr_i_scalar result = {0};
    dcsr_i_cast(to, &result, from, &value, 1);
    return result;
}

dcsr_i_scalar grid_as(const grid *g, size_t cell, dcsr_type type)
{
    return grid_cast(type, g->type, g->value[cell]);
}

void grid_set(grid *g, size_t cell, dcsr_i_scalar value)
{
    g->present[cell] = true;
    g->value[cell] = value;
}

grid grid_transposed(const grid *g)
{
    grid t = grid_create(g->type, g->cols, g->rows);
    for (uint64_t i = 0; i < g->rows; i++)
        for (uint64_t j = 0; j < g->cols; j++) {
            t.present[grid_at(&t, j, i)] = g->present[grid_at(g, i, j)];
            t.value[grid_at(&t, j, i)] = g->value[grid_at(g, i, j)];
        }
    return t;
}

static bool mask_is_true(const grid *mask, const dcsr_desc *desc, size_t cell)
{
    bool is_true = !mask || mask->present[cell];
    if (mask && is_true && !desc->mask_structure) is_true = grid_as(mask, cell, DCSR_BOOL).as_bool;
    return is_true != desc->mask_complement;
}

void grid_write(grid *out, const grid *mask, const dcsr_binary_op *accum, const dcsr_desc *desc,
                const grid *T)
{
    for (size_t c = 0; c < out->rows * out->cols; c++) {
        if (!mask_is_true(mask, desc, c)) {
            if (desc->replace) out->present[c] = false;
        } else if (T->present[c] && accum && out->present[c]) {
            dcsr_i_scalar x = grid_as(out, c, accum->xtype), y = grid_as(T, c, accum->ytype), z = {0};
            cr_assert(dcsr_i_apply_binary(accum, &z, &x, &y, 1));
            grid_set(out, c, grid_cast(out->type, accum->ztype, z));
        } else if (T->present[c]) {
            grid_set(out, c, grid_as(T, c, out->type));
        } else if (!accum) {
            out->present[c] = false;
        }
    }
}

/* Equal numbers, which the two zeros are, and NaN twice. */
static bool same(dcsr_type type, dcsr_i_scalar a, dcsr_i_scalar b)
{
    if (type == DCSR_PATTERN) return true;
    if (type == DCSR_FP32)
        return a.as_fp32 == b.as_fp32 || (a.as_fp32 != a.as_fp32 && b.as_fp32 != b.as_fp32);
    if (type == DCSR_FP64)
        return a.as_fp64 == b.as_fp64 || (a.as_fp64 != a.as_fp64 && b.as_fp64 != b.as_fp64);
    return a.word == b.word;
}

static const char *cell_text(const grid *g, size_t c, char text[40])
{
    if (g->present[c])
        snprintf(text, 40, "%.17g", test_decode(g->type, &g->value[c]));
    else
        snprintf(text, 40, "nothing");
    return text;
}

bool grid_equal(const grid *got, const grid *expected, char why[TEST_WHY])
{
    snprintf(why, TEST_WHY, "a %s of %" PRIu64 " x %" PRIu64 " is a %s of %" PRIu64 " x %" PRIu64,
             dcsr_type_name(expected->type), expected->rows, expected->cols, dcsr_type_name(got->type),
             got->rows, got->cols);
    if (got->type != expected->type || got->rows != expected->rows || got->cols != expected->cols)
        return false;
    size_t wrong = 0, first = 0;
    for (size_t c = got->rows * got->cols; c-- > 0;) {
        if (got->present[c] == expected->present[c] &&
            (!got->present[c] || same(got->type, got->value[c], expected->value[c])))
            continue;
        wrong++;
        first = c;
    }
    char is[40], should_be[40];
    if (wrong)
        snprintf(why, TEST_WHY, "%zu cells differ; (%zu, %zu) is %s, should be %s", wrong,
                 first / (size_t)got->cols, first % (size_t)got->cols, cell_text(got, first, is),
                 cell_text(expected, first, should_be));
    return !wrong;
}

/* Vectors */

static bool complain(char why[TEST_WHY], const char *what)
{
    snprintf(why, TEST_WHY, "%s (%s)", what, dcsr_thread_error());
    return false;
}

/* What vector_data.h promises of a body. */
static bool is_sound(const dcsr_vector *vector, char why[TEST_WHY])
{
    const dcsr_i_body *body = &vector->body;
    uint64_t count = 0;
    /* Which also brings the elements to the host. */
    if (dcsr_i_vector_check(vector, "the test")) return complain(why, "it may not be read");
    if (body->dense) {
        if (body->indices) return complain(why, "a dense body has indices");
        if (!body->present)
            return body->nvals == vector->size || complain(why, "a full body does not have all elements");
        for (uint64_t w = 0; w < (vector->size + 63) / 64; w++)
            count += (uint64_t)__builtin_popcountll(body->present[w]);
        if (vector->size % 64 && body->present[vector->size / 64] >> vector->size % 64)
            return complain(why, "a dense body has bits beyond its size");
        return count == body->nvals || complain(why, "the bits of a dense body are not nvals");
    }
    for (uint64_t k = 0; k < body->nvals; k++) {
        if (body->indices[k] >= vector->size || (k && body->indices[k] <= body->indices[k - 1]))
            return complain(why, "the indices of a sparse body do not ascend");
    }
    return true;
}

bool grid_of_vector(grid *g, const dcsr_vector *vector, char why[TEST_WHY])
{
    dcsr_vector_info info;
    uint64_t n = 0;
    *g = (grid){0};
    if (!is_sound(vector, why)) return false;
    if (dcsr_vector_get_info(vector, &info)) return complain(why, "dcsr_vector_get_info() fails");
    const size_t size = dcsr_type_size(info.type);
    uint64_t *indices = test_allocate(info.size, sizeof *indices);
    unsigned char *values = test_allocate(info.size, size);
    bool good = !dcsr_vector_get_entries(vector, info.size, indices, values, &n);
    if (!good) complain(why, "dcsr_vector_get_entries() fails");
    if (good && n != info.nvals) good = complain(why, "dcsr_vector_get_entries() and nvals do not agree");
    *g = grid_create(info.type, info.size, 1);
    for (uint64_t k = 0; good && k < n; k++) {
        g->present[indices[k]] = true;
        memcpy(&g->value[indices[k]], values + k * size, size);
    }
    free(indices);
    free(values);
    return good;
}

/* Matrices */

/* Puts one entry of a view into its cell. What stands twice is combined by the policy; KEEP counts as the
 * sum. */
static void put_entry(grid *g, size_t cell, const unsigned char *value, dcsr_policy policy)
{
    dcsr_i_scalar new = {0};
    memcpy(&new, value, dcsr_type_size(g->type));
    if (policy == DCSR_POLICY_KEEP) policy = DCSR_POLICY_SUM;
    if (g->present[cell]) new.word = oracle_combine(g->type, policy, g->value[cell].word, new.word);
    grid_set(g, cell, new);
}

bool grid_of_view(grid *g, dcsr_view *view, dcsr_policy policy, char why[TEST_WHY])
{
    dcsr_view_info info;
    *g = (grid){0};
    if (dcsr_view_get_info(view, &info)) return complain(why, "dcsr_view_get_info() fails");
    *g = grid_create(info.type, info.rows, info.cols);
    const size_t size = dcsr_type_size(info.type);
    uint32_t *columns = test_allocate(info.max_row, sizeof *columns);
    unsigned char *values = test_allocate(info.max_row, size);
    uint64_t count = 0, length = 0;
    bool good = true;
    for (uint64_t i = 0; good && i < info.rows; i++) {
        if (dcsr_view_get_row(view, i, info.max_row, columns, size ? values : NULL, &length))
            good = complain(why, "dcsr_view_get_row() fails");
        if (good && length > info.max_row) good = complain(why, "a row is longer than the longest");
        count += length;
        for (uint64_t k = 0; good && k < length; k++) {
            if (columns[k] >= info.cols)
                good = complain(why, "a column is out of range");
            else
                put_entry(g, grid_at(g, i, columns[k]), values + k * size, policy);
        }
    }
    if (good && count != info.nnz) good = complain(why, "the rows of a view do not have nnz entries");
    free(columns);
    free(values);
    return good;
}

bool grid_of_matrix(grid *g, dcsr_matrix *matrix, char why[TEST_WHY])
{
    dcsr_view *view = NULL;
    *g = (grid){0};
    if (dcsr_matrix_wait(matrix)) return complain(why, "dcsr_matrix_wait() fails");
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0)) return complain(why, "no view");
    bool good = grid_of_view(g, view, test_info(matrix).policy, why);
    dcsr_view_destroy(view);
    return good;
}
