/* from_parts.c: a partitioned matrix of matrices that are on the devices. */
#include "dcsr/store/store.h"
#include "multi/multi_data.h"
#include <string.h>

/* Borders, from the rows of parts that fit together. */
static dcsr_status measure_parts(dcsr_i_borders *borders, dcsr_matrix_info *first, const dcsr_multi *devices,
                                 dcsr_matrix *const *part)
{
    static const char call[] = "dcsr_multi_matrix_from_parts";
    for (uint64_t k = 0; k < borders->parts; k++) {
        dcsr_matrix_info info;
        if (!part[k])
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: part %d is NULL; give one of each device",
                               call, (int)k);
        DCSR_TRY(dcsr_matrix_get_info(part[k], &info));
        if (!k) *first = info;
        if (part[k]->context != dcsr_i_multi_context(devices, k))
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                               "%s: part %d is of another context than device %d's", call, (int)k, (int)k);
        if (info.cols != first->cols)
            return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: part %d has %llu columns, part 0 %llu",
                               call, (int)k, (unsigned long long)info.cols, (unsigned long long)first->cols);
        if (info.type != first->type)
            return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: part %d is %s, part 0 %s", call, (int)k,
                               dcsr_type_name(info.type), dcsr_type_name(first->type));
        borders->begin[k + 1] = borders->begin[k] + info.rows;
    }
    return dcsr_i_check_dimensions(call, dcsr_i_borders_end(borders), first->cols);
}

/* The caller's borders of the columns; *made is NULL if there are none. */
static dcsr_status read_columns(dcsr_i_borders **made, const uint64_t *columns, uint64_t parts, uint64_t cols)
{
    *made = NULL;
    if (!columns) return DCSR_OK;
    for (uint64_t k = 0; k <= parts; k++)
        if ((!k && columns[k]) || (k && columns[k] < columns[k - 1]) || (k == parts && columns[k] != cols))
            return dcsr_i_fail(
                DCSR_ERROR_INVALID_ARGUMENT,
                "dcsr_multi_matrix_from_parts: columns[%d] is %llu; they ascend from 0 to %llu", (int)k,
                (unsigned long long)columns[k], (unsigned long long)cols);
    *made = dcsr_i_borders_create(parts);
    if (!*made) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy((*made)->begin, columns, (parts + 1) * sizeof *columns);
    return DCSR_OK;
}

dcsr_status dcsr_multi_matrix_from_parts(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                         dcsr_matrix *const *part, const uint64_t *columns)
{
    static const char call[] = "dcsr_multi_matrix_from_parts";
    dcsr_matrix_info first = {0};
    dcsr_i_borders *cut = NULL;
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: matrix is NULL; give it a place", call);
    *matrix = NULL;
    DCSR_TRY(dcsr_i_multi_check(devices));
    if (!part) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: part is NULL; give an array", call);
    dcsr_i_borders *borders = dcsr_i_borders_create(dcsr_i_multi_count(devices));
    if (!borders) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = measure_parts(borders, &first, devices, part);
    if (status == DCSR_OK) status = read_columns(&cut, columns, borders->parts, first.cols);
    if (status == DCSR_OK)
        status = dcsr_i_multi_matrix_of_parts(matrix, devices, borders, first.cols, first.type, part);
    if (status == DCSR_OK && cut) {
        dcsr_i_borders *even = (*matrix)->col_borders; /* nobody has seen the matrix yet */
        (*matrix)->col_borders = cut;
        cut = even;
    }
    if (cut) dcsr_i_borders_release(cut);
    dcsr_i_borders_release(borders);
    return status;
}
