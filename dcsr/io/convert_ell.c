/* convert_ell.c: ELLPACK, and HYB, which puts what is longer than the ELLPACK part into triples. */
#include "dcsr/io/convert_out.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/load.h"
#include "dcsr/store/store.h"

/* -- Out
 * ---------------------------------------------------------------------------------------------------------
 */

static dcsr_status allocate_ell(dcsr_ell *ell, dcsr_context *context, const dcsr_i_rows *rows, uint64_t width,
                                uint64_t limit)
{
    size_t size = dcsr_type_size(rows->type);
    uint64_t slots, bytes;
    bool overflow = __builtin_mul_overflow(rows->rows, width, &slots) ||
                    __builtin_mul_overflow(slots, sizeof(uint32_t) + size, &bytes);
    if (overflow || (limit && bytes > limit))
        return dcsr_i_fail(
            DCSR_ERROR_TOO_LARGE,
            "%llu rows x %llu slots, the length of the longest row, are too large for ELL; use HYB",
            (unsigned long long)rows->rows, (unsigned long long)width);
    *ell = (dcsr_ell){rows->rows, rows->cols, width, rows->type, NULL, NULL, context};
    ell->col_indices = dcsr_i_alloc(context, DCSR_I_SCRATCH, slots, sizeof *ell->col_indices);
    if (ell->col_indices && size) ell->values = dcsr_i_alloc(context, DCSR_I_SCRATCH, slots, size);
    if (ell->col_indices && (ell->values || !size)) return DCSR_OK;
    dcsr_ell_free(ell);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

/* One value of `size` bytes (0 for pattern). */
static void copy_value(void *to, uint64_t to_index, const void *from, uint64_t from_index, size_t size)
{
    switch (size) {
    case 0:
        break;
    case 1:
        ((uint8_t *)to)[to_index] = ((const uint8_t *)from)[from_index];
        break;
    case 2:
        memcpy((char *)to + 2 * to_index, (const char *)from + 2 * from_index, 2);
        break;
    case 4:
        memcpy((char *)to + 4 * to_index, (const char *)from + 4 * from_index, 4);
        break;
    default:
        memcpy((char *)to + 8 * to_index, (const char *)from + 8 * from_index, 8);
        break;
    }
}

/* The first `width` entries of a row into its slots; the rest of them unused. */
static void fill_slots(dcsr_ell *ell, const dcsr_i_rows *rows, uint64_t row)
{
    static const uint64_t zero;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    size_t size = dcsr_type_size(ell->type);
    uint64_t slot = 0;
    for (int k = 0; k < count; k++)
        for (uint64_t e = 0; e < pieces[k].length && slot < ell->width; e++, slot++) {
            ell->col_indices[slot * ell->rows + row] = rows->columns[pieces[k].begin + e];
            copy_value(ell->values, slot * ell->rows + row, rows->values, pieces[k].begin + e, size);
        }
    for (; slot < ell->width; slot++) {
        ell->col_indices[slot * ell->rows + row] = DCSR_ELL_UNUSED;
        copy_value(ell->values, slot * ell->rows + row, &zero, 0, size);
    }
}

/* Allocates *ell and fills it with the first `width` entries of each row. */
static dcsr_status fill_ell(dcsr_ell *ell, dcsr_context *context, const dcsr_i_rows *rows, uint64_t width,
                            uint64_t limit)
{
    DCSR_TRY(allocate_ell(ell, context, rows, width, limit));
    int threads = dcsr_i_threads(context, rows->rows * (width + 1));
#pragma omp parallel for num_threads(threads)
    for (uint64_t row = 0; row < rows->rows; row++) fill_slots(ell, rows, row);
    return DCSR_OK;
}

/* The length of the longest row, and the number of entries. */
static uint64_t longest_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t *nnz)
{
    dcsr_i_measures measures;
    dcsr_i_measure(&measures, context, rows);
    *nnz = measures.nnz;
    return measures.longest;
}

dcsr_status dcsr_view_to_ell(dcsr_ell *ell, dcsr_view *view, uint64_t limit)
{
    if (!ell)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_to_ell: ell is NULL; give it a place");
    memset(ell, 0, sizeof *ell);
    const dcsr_i_rows *rows;
    dcsr_context *context;
    DCSR_TRY(dcsr_i_convert_begin(view, &rows, &context));
    uint64_t nnz;
    return fill_ell(ell, context, rows, longest_row(context, rows, &nnz), limit);
}

void dcsr_ell_free(dcsr_ell *ell)
{
    if (!ell) return;
    uint64_t slots = ell->rows * ell->width;
    dcsr_i_free(ell->context, DCSR_I_SCRATCH, ell->col_indices, slots, sizeof *ell->col_indices);
    dcsr_i_free(ell->context, DCSR_I_SCRATCH, ell->values, slots, dcsr_type_size(ell->type));
    memset(ell, 0, sizeof *ell);
}

dcsr_status dcsr_view_to_hyb(dcsr_hyb *hyb, dcsr_view *view, uint64_t width)
{
    if (!hyb)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_to_hyb: hyb is NULL; give it a place");
    memset(hyb, 0, sizeof *hyb);
    const dcsr_i_rows *rows;
    dcsr_context *context;
    DCSR_TRY(dcsr_i_convert_begin(view, &rows, &context));
    uint64_t nnz, longest = longest_row(context, rows, &nnz);
    if (!width && rows->rows) width = nnz / rows->rows + (nnz % rows->rows != 0);
    if (width > longest) width = longest; /* more would be unused slots only */
    DCSR_TRY(fill_ell(&hyb->ell, context, rows, width, 0));
    dcsr_status status = dcsr_i_rows_to_coo(&hyb->coo, "dcsr_view_to_hyb", context, rows, width);
    if (status != DCSR_OK) dcsr_hyb_free(hyb);
    return status;
}

void dcsr_hyb_free(dcsr_hyb *hyb)
{
    if (!hyb) return;
    dcsr_ell_free(&hyb->ell);
    dcsr_coo_free(&hyb->coo);
}

/* -- In
 * ----------------------------------------------------------------------------------------------------------
 */

static dcsr_status check_ell(const dcsr_ell *ell, dcsr_context *context)
{
    uint64_t slots;
    if (__builtin_mul_overflow(ell->rows, ell->width, &slots))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "ELL of %llu rows x %llu slots is more than memory can address",
                           (unsigned long long)ell->rows, (unsigned long long)ell->width);
    if (slots && (!ell->col_indices || (ell->type != DCSR_PATTERN && !ell->values)))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "ELL: %s is NULL, but there are %llu slots",
                           ell->col_indices ? "values" : "col_indices", (unsigned long long)slots);
    uint64_t first = UINT64_MAX;
    int threads = dcsr_i_threads(context, slots);
#pragma omp parallel for num_threads(threads) reduction(min : first)
    for (uint64_t i = 0; i < slots; i++)
        if (ell->col_indices[i] >= ell->cols && ell->col_indices[i] != DCSR_ELL_UNUSED && i < first)
            first = i;
    if (first == UINT64_MAX) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_INDEX_OUT_OF_RANGE,
        "ELL: slot %llu of row %llu has column %lu, but there are %llu columns; unused slots have "
        "DCSR_ELL_UNUSED",
        (unsigned long long)(first / ell->rows), (unsigned long long)(first % ell->rows),
        (unsigned long)ell->col_indices[first], (unsigned long long)ell->cols);
}

/* The used slots, row after row, in batches. */
static dcsr_status load_ell(dcsr_i_loader *loader, const dcsr_ell *ell)
{
    uint64_t filled = 0;
    size_t size = dcsr_type_size(ell->type);
    for (uint64_t row = 0; row < ell->rows; row++)
        for (uint64_t slot = 0; slot < ell->width; slot++) {
            uint64_t i = slot * ell->rows + row;
            if (ell->col_indices[i] == DCSR_ELL_UNUSED) continue;
            if (filled == DCSR_I_LOAD_ENTRIES) {
                DCSR_TRY(dcsr_i_loader_insert(loader, filled, loader->row, loader->col, loader->values));
                filled = 0;
            }
            loader->row[filled] = row;
            loader->col[filled] = ell->col_indices[i];
            copy_value(loader->values, filled, ell->values, i, size);
            filled++;
        }
    return dcsr_i_loader_insert(loader, filled, loader->row, loader->col, loader->values);
}

static dcsr_status load_coo(dcsr_i_loader *loader, const dcsr_coo *coo)
{
    size_t size = dcsr_type_size(coo->type);
    for (uint64_t begin = 0; begin < coo->nnz; begin += DCSR_I_LOAD_ENTRIES) {
        uint64_t left = coo->nnz - begin, n = left < DCSR_I_LOAD_ENTRIES ? left : DCSR_I_LOAD_ENTRIES;
        const char *values = size ? (const char *)coo->values + begin * size : NULL;
        DCSR_TRY(dcsr_i_loader_insert(loader, n, coo->row_indices + begin, coo->col_indices + begin, values));
    }
    return DCSR_OK;
}

/* Both parts; coo may be NULL. */
static dcsr_status from_parts(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                              const dcsr_ell *ell, const dcsr_coo *coo, const dcsr_matrix_options *options)
{
    dcsr_i_loader loader;
    DCSR_TRY(dcsr_i_loader_open(&loader, call, context, ell->type, ell->rows, ell->cols, options));
    dcsr_status status = check_ell(ell, context);
    if (status == DCSR_OK) status = load_ell(&loader, ell);
    if (status == DCSR_OK && coo) status = load_coo(&loader, coo);
    return dcsr_i_loader_close(&loader, status, matrix);
}

dcsr_status dcsr_matrix_from_ell(dcsr_matrix **matrix, dcsr_context *context, const dcsr_ell *ell,
                                 const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_ell";
    DCSR_TRY(dcsr_i_load_check(matrix, ell, call));
    return from_parts(matrix, call, context, ell, NULL, options);
}

dcsr_status dcsr_matrix_from_hyb(dcsr_matrix **matrix, dcsr_context *context, const dcsr_hyb *hyb,
                                 const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_matrix_from_hyb";
    DCSR_TRY(dcsr_i_load_check(matrix, hyb, call));
    if (hyb->ell.type != hyb->coo.type)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "HYB: its ELL and its COO part have different types");
    if (hyb->ell.rows != hyb->coo.rows || hyb->ell.cols != hyb->coo.cols)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "HYB: its ELL and its COO part have different dimensions");
    return from_parts(matrix, call, context, &hyb->ell, &hyb->coo, options);
}
