/* mxm_alike_cuda.c: products whose rows are shifts of a few rows, on a device: the order of the steps. */
#include "ops/mxm/mxm_alike_cuda.h"
#include "dcsr/device/prim_cuda.h"

static const char operation[] = "multiplying matrices";

/* Each array with its length and the size of an element: to take them all, and to give them back. */
typedef struct part {
    void **array;
    uint64_t count;
    size_t size;
} part;
/* The first ones are for finding out whether there are few kinds; the last ones wait for the number of loose rows. */
enum { FIRST = 3, THEN = FIRST + 3, PARTS = THEN + 6 };

static void list_parts(part parts[PARTS], dcsr_i_cuda_mxm_alike *x, const dcsr_i_cuda_mxm_job *job)
{
    const uint64_t rows = job->a.rows, loose = x->planned.loose + x->planned.left;
    const part all[PARTS] = {
        {(void **)&x->shift, job->b.rows, sizeof *x->shift},
        {(void **)&x->kind, rows, sizeof *x->kind},
        {(void **)&x->of_b, 2, sizeof *x->of_b},
        {(void **)&x->begin, rows + 1, sizeof *x->begin},
        {(void **)&x->program, DCSR_CUDA_MXM_KINDS, sizeof *x->program},
        {(void **)&x->plan, 1, sizeof *x->plan},
        {(void **)&x->loose_kind, loose, sizeof *x->loose_kind},
        {(void **)&x->kind_spare, loose, sizeof *x->kind_spare},
        {(void **)&x->loose_row, loose, sizeof *x->loose_row},
        {(void **)&x->row_spare, loose, sizeof *x->row_spare},
        {(void **)&x->first_loose, DCSR_CUDA_MXM_KINDS + 2, sizeof *x->first_loose},
        {(void **)&x->first_tile, DCSR_CUDA_MXM_KINDS + 1, sizeof *x->first_tile},
    };
    for (int k = 0; k < PARTS; k++) parts[k] = all[k];
}

size_t dcsr_i_cuda_mxm_alike_bytes(const dcsr_i_cuda_mxm_job *job)
{
    part parts[PARTS];
    dcsr_i_cuda_mxm_alike alike = {.planned.loose = job->a.rows};
    size_t bytes = 0;
    list_parts(parts, &alike, job);
    for (int k = 0; k < PARTS; k++) bytes += parts[k].count * parts[k].size;
    return bytes;
}

/* Takes parts from number `first` to `end` - 1. */
static dcsr_status take_parts(dcsr_i_cuda_mxm_alike *x, dcsr_i_cuda_stream *stream,
                              const dcsr_i_cuda_mxm_job *job, int first, int end)
{
    part parts[PARTS];
    list_parts(parts, x, job);
    for (int k = first; k < end; k++) {
        *parts[k].array = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, parts[k].count, parts[k].size);
        if (!*parts[k].array) return dcsr_i_no_memory();
    }
    return DCSR_OK;
}

void dcsr_i_cuda_mxm_alike_close(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                 const dcsr_i_cuda_mxm_job *job)
{
    part parts[PARTS];
    list_parts(parts, alike, job);
    for (int k = PARTS - 1; k >= 0; k--)
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, *parts[k].array, parts[k].count, parts[k].size);
    *alike = (dcsr_i_cuda_mxm_alike){0};
}

/* Whether there are few kinds. */
static dcsr_status find_kinds(dcsr_i_cuda_mxm_alike *x, dcsr_i_cuda_stream *stream,
                              const dcsr_i_cuda_mxm_job *job, bool *few)
{
    dcsr_i_cuda_mxm_kinds kinds[2];
    DCSR_TRY(take_parts(x, stream, job, 0, FIRST));
    x->of_c = x->of_b + 1;
    dcsr_i_cuda_fill(stream, x->of_b, 0xff, 2 * sizeof *x->of_b);
    dcsr_i_cuda_fill(stream, &x->of_b->count, 0, sizeof x->of_b->count);
    dcsr_i_cuda_fill(stream, &x->of_c->count, 0, sizeof x->of_c->count);
    dcsr_i_cuda_mxm_find_kinds(stream, job, x);
    DCSR_TRY(dcsr_i_cuda_read_back(stream, kinds, x->of_b, sizeof kinds, operation));
    *few = kinds[0].count < DCSR_CUDA_MXM_MOST_KINDS && kinds[1].count < DCSR_CUDA_MXM_MOST_KINDS;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_mxm_alike_open(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                       const dcsr_i_cuda_mxm_job *job, bool *are)
{
    const uint64_t rows = job->a.rows;
    const size_t shared_bytes = dcsr_i_cuda_describe(dcsr_i_cuda_device_of(stream))->shared_bytes;
    *alike = (dcsr_i_cuda_mxm_alike){.shared_bytes = shared_bytes,
                                     .most_entries = dcsr_i_cuda_mxm_most_entries(shared_bytes)};
    *are = false;
    if (rows < DCSR_CUDA_MXM_LEAST_ALIKE || !job->b.rows) return DCSR_OK;
    bool few;
    DCSR_TRY(find_kinds(alike, stream, job, &few));
    if (!few) return DCSR_OK;
    DCSR_TRY(take_parts(alike, stream, job, FIRST, THEN));
    dcsr_i_cuda_fill(stream, alike->plan, 0, sizeof *alike->plan);
    dcsr_i_cuda_mxm_write_programs(stream, job, alike);
    dcsr_i_cuda_mxm_measure_rows(stream, job, alike);
    DCSR_TRY(dcsr_i_cuda_scan_u32(stream, job->length, alike->begin, rows));
    dcsr_i_cuda_copy(stream, &alike->plan->entries, alike->begin + rows, sizeof alike->plan->entries);
    DCSR_TRY(dcsr_i_cuda_read_back(stream, &alike->planned, alike->plan, sizeof alike->planned, operation));
    *are = alike->planned.left <= rows / 2;
    if (*are) return DCSR_OK;
    dcsr_i_cuda_fill(stream, job->length, 0, rows * sizeof *job->length);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_mxm_alike_compute(dcsr_i_cuda_mxm_alike *alike, dcsr_i_cuda_stream *stream,
                                          const dcsr_i_cuda_mxm_job *job)
{
    const uint64_t loose = alike->planned.loose, left = alike->planned.left;
    dcsr_i_cuda_mxm_run_rows(stream, job, alike);
    if (!(loose + left)) return DCSR_OK;
    DCSR_TRY(take_parts(alike, stream, job, THEN, PARTS));
    dcsr_i_cuda_mxm_collect_loose(stream, job, alike);
    DCSR_TRY(dcsr_i_cuda_sort_u32(stream, &alike->loose_kind, &alike->kind_spare, &alike->loose_row,
                                  &alike->row_spare, loose + left, 8));
    dcsr_i_cuda_find_begins_u32(stream, alike->loose_kind, loose + left, DCSR_CUDA_MXM_KINDS + 1,
                                alike->first_loose);
    dcsr_i_cuda_mxm_plan_tiles(stream, alike);
    if (loose) dcsr_i_cuda_mxm_run_loose(stream, job, alike);
    dcsr_i_cuda_copy(stream, job->left, alike->loose_row + loose, left * sizeof *job->left);
    return DCSR_OK;
}
