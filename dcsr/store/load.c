/* load.c: a matrix made from arrays of another format, in batches. */
#include "dcsr/store/load.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/store.h"

dcsr_status dcsr_i_load_check(dcsr_matrix **matrix, const void *arrays, const char *function)
{
    if (matrix) *matrix = NULL;
    if (matrix && arrays) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", function,
                       matrix ? "the source" : "matrix");
}

static void free_batch(dcsr_i_loader *loader)
{
    dcsr_i_free(loader->context, DCSR_I_SCRATCH, loader->row, DCSR_I_LOAD_ENTRIES, sizeof *loader->row);
    dcsr_i_free(loader->context, DCSR_I_SCRATCH, loader->col, DCSR_I_LOAD_ENTRIES, sizeof *loader->col);
    dcsr_i_free(loader->context, DCSR_I_SCRATCH, loader->values, DCSR_I_LOAD_ENTRIES,
                dcsr_type_size(loader->type));
}

dcsr_status dcsr_i_loader_open(dcsr_i_loader *loader, const char *call, dcsr_context *context, dcsr_type type,
                               uint64_t rows, uint64_t cols, const dcsr_matrix_options *options)
{
    *loader = (dcsr_i_loader){.call = call, .context = context, .type = type};
    DCSR_TRY(dcsr_i_matrix_create(&loader->matrix, call, context, type, rows, cols, options));
    size_t size = dcsr_type_size(type);
    loader->row = dcsr_i_alloc(context, DCSR_I_SCRATCH, DCSR_I_LOAD_ENTRIES, sizeof *loader->row);
    if (loader->row)
        loader->col = dcsr_i_alloc(context, DCSR_I_SCRATCH, DCSR_I_LOAD_ENTRIES, sizeof *loader->col);
    if (loader->col && size)
        loader->values = dcsr_i_alloc(context, DCSR_I_SCRATCH, DCSR_I_LOAD_ENTRIES, size);
    if (loader->col && (loader->values || !size)) return DCSR_OK;
    free_batch(loader);
    dcsr_matrix_destroy(loader->matrix);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_loader_insert(dcsr_i_loader *loader, uint64_t n, const uint64_t *row, const uint64_t *col,
                                 const void *values)
{
    if (!n) return DCSR_OK;
    dcsr_status status = dcsr_i_matrix_insert(loader->matrix, loader->call, n, row, col, values, NULL);
    if (status != DCSR_ERROR_BUSY) return status;
    DCSR_TRY(dcsr_matrix_wait(
        loader->matrix)); /* the caller wants to be refused, but this call must end with all in */
    return dcsr_i_matrix_insert(loader->matrix, loader->call, n, row, col, values, NULL);
}

dcsr_status dcsr_i_loader_close(dcsr_i_loader *loader, dcsr_status status, dcsr_matrix **matrix)
{
    free_batch(loader);
    if (status == DCSR_OK) status = dcsr_matrix_wait(loader->matrix);
    if (status == DCSR_OK) status = dcsr_matrix_defragment(loader->matrix, DCSR_DEFRAGMENT_WHOLE, NULL);
    if (status == DCSR_OK) status = dcsr_matrix_wait(loader->matrix);
    if (status == DCSR_OK)
        *matrix = loader->matrix;
    else
        dcsr_matrix_destroy(loader->matrix);
    return status;
}
