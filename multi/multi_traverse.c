/* multi_traverse.c: breadth-first search of a matrix in parts. Devices on the cpu have one memory: all of their threads
 * search the rows of all, as those of one device (ops/traverse). On GPUs each walks its own (multi_traverse_cuda.c). */
#include "dcsr/base/threads.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_operation.h"
#include "multi/multi_traverse_cuda.h"
#include "ops/traverse/traverse_rows.h"

static dcsr_i_multi_traverse *const device_traverse = DCSR_I_IN_CUDA(dcsr_i_cuda_multi_traverse);

static dcsr_status traverse_on_host(int32_t *level, dcsr_traverse_result *found, dcsr_multi_view *A,
                                    uint64_t n, const uint64_t *sources)
{
    const dcsr_i_rows *rows[DCSR_MAX_DEVICES];
    const dcsr_i_traverse_parts parts = {A->rows->parts, rows, A->rows->begin,
                                         dcsr_i_multi_context(A->devices, 0), dcsr_i_multi_home(A->devices)};
    for (uint64_t k = 0; k < parts.count; k++) rows[k] = dcsr_i_view_rows(A->part[k]);
    return dcsr_i_traverse_rows(level, found, &parts, n, sources);
}

/* ---- The call ---- */

static dcsr_status check(const int32_t *level, const dcsr_multi_view *A, uint64_t n, const uint64_t *sources)
{
    DCSR_TRY(dcsr_i_multi_check_view(A, "multi_traverse"));
    const uint64_t rows = dcsr_i_borders_end(A->rows), cols = dcsr_i_borders_end(A->cols);
    if (rows != cols)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "multi_traverse: A is %llu x %llu; it must be square", (unsigned long long)rows,
                           (unsigned long long)cols);
    if (n && !sources)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_traverse: sources is NULL, but n is %llu",
                           (unsigned long long)n);
    if (!level && rows)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_traverse: level is NULL; give it an element for each row");
    for (uint64_t i = 0; i < n; i++)
        if (sources[i] >= rows)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "multi_traverse: source %llu of %llu vertices",
                               (unsigned long long)sources[i], (unsigned long long)rows);
    return DCSR_OK;
}

dcsr_status dcsr_multi_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_multi_view *A, uint64_t n,
                                const uint64_t *sources, dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_traverse_result found = {0};
    dcsr_multi_report cost = {.direction = DCSR_DIRECTION_PUSH};
    DCSR_TRY(check(level, A, n, sources));
    if (dcsr_i_multi_is_on_gpus(A->devices)) {
        dcsr_i_multi_cost each = {.report[0].direction = DCSR_DIRECTION_PUSH};
        DCSR_TRY(device_traverse(level, &found, A, n, sources, &each, report != NULL));
        dcsr_i_multi_tell(&cost, &each, A->rows->parts, began);
    } else {
        if (dcsr_i_borders_end(A->rows)) DCSR_TRY(traverse_on_host(level, &found, A, n, sources));
        cost.seconds = (double)(dcsr_i_nanoseconds() - began) * 1e-9;
    }
    if (result) *result = found;
    if (report) *report = cost;
    return DCSR_OK;
}
