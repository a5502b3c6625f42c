/* coo.c: coordinate triples in memory. */
#include <dcsr/coo.h>
#include "dcsr/base/alloc.h"
#include "dcsr/io/coo_build.h"
#include "dcsr/store/entries.h"
#include "dcsr/store/store.h"
#include "dcsr/base/error.h"
#include "dcsr/base/runtime.h"
#include <string.h>

/* Bytes of an element of the three arrays; 0 for one that is absent. */
static void element_sizes(dcsr_type type, size_t size[3])
{
    size[0] = sizeof(uint64_t);
    size[1] = sizeof(uint64_t);
    size[2] = dcsr_type_size(type);
}

static void free_arrays(dcsr_context *context, void *array[3], uint64_t nnz, const size_t size[3])
{
    for (int i = 0; i < 3; i++) dcsr_i_free(context, DCSR_I_SCRATCH, array[i], nnz, size[i]);
}

/* All three arrays, or none. */
static dcsr_status allocate_arrays(dcsr_context *context, void *array[3], uint64_t nnz, const size_t size[3])
{
    memset(array, 0, 3 * sizeof array[0]);
    if (nnz > SIZE_MAX / sizeof(uint64_t))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%llu entries are more than memory can address",
                           (unsigned long long)nnz);
    for (int i = 0; i < 3; i++) {
        if (!size[i]) continue;
        array[i] = dcsr_i_alloc(context, DCSR_I_SCRATCH, nnz, size[i]);
        if (!array[i]) {
            free_arrays(context, array, nnz, size);
            return DCSR_ERROR_OUT_OF_MEMORY;
        }
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_coo_allocate(dcsr_coo *coo, const char *call, dcsr_context *context, dcsr_type type,
                                uint64_t rows, uint64_t cols, uint64_t nnz)
{
    if (!coo) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: coo is NULL; give it a place", call);
    memset(coo, 0, sizeof *coo);
    DCSR_TRY(dcsr_i_context_check(context));
    if (!dcsr_type_name(type))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %d is no type; use one of dcsr_type", call,
                           (int)type);
    if (rows > DCSR_MAX_ROWS || cols > DCSR_MAX_COLS)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "%s: %llu x %llu is too large: a matrix has at most 2^32 rows and 2^31 columns",
                           call, (unsigned long long)rows, (unsigned long long)cols);
    void *array[3];
    size_t size[3];
    element_sizes(type, size);
    DCSR_TRY(allocate_arrays(context, array, nnz, size));
    *coo = (dcsr_coo){rows, cols, nnz, type, array[0], array[1], array[2], context};
    return DCSR_OK;
}

dcsr_status dcsr_coo_allocate(dcsr_coo *coo, dcsr_context *context, dcsr_type type, uint64_t rows,
                              uint64_t cols, uint64_t nnz)
{
    return dcsr_i_coo_allocate(coo, "dcsr_coo_allocate", context, type, rows, cols, nnz);
}

dcsr_status dcsr_coo_resize(dcsr_coo *coo, uint64_t nnz)
{
    if (!coo) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_coo_resize: coo is NULL");
    DCSR_TRY(dcsr_i_context_check(coo->context));
    if (nnz == coo->nnz) return DCSR_OK;
    /* Not realloc(): when the second array cannot be resized, the first could not be given its old length
     * back. */
    void *old[3] = {coo->row_indices, coo->col_indices, coo->values}, *array[3];
    size_t size[3];
    element_sizes(coo->type, size);
    DCSR_TRY(allocate_arrays(coo->context, array, nnz, size));
    uint64_t kept = nnz < coo->nnz ? nnz : coo->nnz;
    for (int i = 0; i < 3; i++)
        if (array[i] && kept) memcpy(array[i], old[i], kept * size[i]);
    free_arrays(coo->context, old, coo->nnz, size);
    coo->row_indices = array[0], coo->col_indices = array[1], coo->values = array[2], coo->nnz = nnz;
    return DCSR_OK;
}

dcsr_status dcsr_i_coo_trim(dcsr_coo *coo, uint64_t nnz)
{
    if (nnz == coo->nnz) return DCSR_OK;
    void *array[3] = {coo->row_indices, coo->col_indices, coo->values};
    size_t size[3];
    element_sizes(coo->type, size);
    dcsr_context *context = coo->context;
    for (int i = 0; i < 3; i++) {
        if (!array[i]) continue;
        void *trimmed = dcsr_i_realloc(context, DCSR_I_SCRATCH, array[i], coo->nnz, nnz, size[i]);
        if (!trimmed) {
            for (int j = 0; j < 3; j++)
                dcsr_i_free(context, DCSR_I_SCRATCH, array[j], j < i ? nnz : coo->nnz, size[j]);
            memset(coo, 0, sizeof *coo);
            return DCSR_ERROR_OUT_OF_MEMORY;
        }
        array[i] = trimmed;
    }
    coo->row_indices = array[0], coo->col_indices = array[1], coo->values = array[2], coo->nnz = nnz;
    return DCSR_OK;
}

void dcsr_coo_free(dcsr_coo *coo)
{
    if (!coo) return;
    void *array[3] = {coo->row_indices, coo->col_indices, coo->values};
    size_t size[3];
    element_sizes(coo->type, size);
    free_arrays(coo->context, array, coo->nnz, size);
    memset(coo, 0, sizeof *coo);
}

dcsr_status dcsr_i_coo_check(const dcsr_coo *coo)
{
    if (!coo) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "coo is NULL; give the triples");
    if (!dcsr_type_name(coo->type))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the triples have type %d; use one of dcsr_type",
                           (int)coo->type);
    if (coo->nnz && (!coo->row_indices || !coo->col_indices))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "the triples' row_indices or col_indices is NULL, but there are %llu of them",
                           (unsigned long long)coo->nnz);
    if (coo->nnz && coo->type != DCSR_PATTERN && !coo->values)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "the triples' values are NULL, but their type is %s",
                           dcsr_type_name(coo->type));
    return DCSR_OK;
}

dcsr_status dcsr_matrix_from_coo(dcsr_matrix **matrix, dcsr_context *context, const dcsr_coo *coo,
                                 const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_coo";
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: matrix is NULL", call);
    *matrix = NULL;
    DCSR_TRY(dcsr_i_coo_check(coo));
    dcsr_matrix *created;
    DCSR_TRY(dcsr_i_matrix_create(&created, call, context, coo->type, coo->rows, coo->cols, options));
    const void *values = coo->type == DCSR_PATTERN ? NULL : coo->values;
    const dcsr_i_entries entries = {.call = call,
                                    .kind = DCSR_I_INSERT,
                                    .n = coo->nnz,
                                    .rows = coo->row_indices,
                                    .cols = coo->col_indices,
                                    .values = values};
    bool filled = !coo->nnz;
    dcsr_status status = filled ? DCSR_OK : dcsr_i_fill_entries(created, &entries, &filled);
    if (status == DCSR_OK && !filled)
        status =
            dcsr_i_matrix_insert(created, call, coo->nnz, coo->row_indices, coo->col_indices, values, NULL);
    if (status == DCSR_OK) status = dcsr_matrix_wait(created);
    if (status == DCSR_OK)
        *matrix = created;
    else
        dcsr_matrix_destroy(created);
    return status;
}
