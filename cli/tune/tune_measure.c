/* tune_measure.c: what the kernels of the portfolio cost on one matrix.
 *
 * All formats are built first; then the kernels are measured in turns, so that what else the machine does meets all of
 * them, and of each the least time counts: after some rounds at least, and until it has been nearly met in two turns.
 */
#include "cli/tune/tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 12, BATCHES = 4, PIECES = 3 };
static const double nearly = 1.05;
static const double least_batch = 50e-6, least_turn = 2e-3, energy_seconds = 0.2;

typedef struct measuring {
    cli_state *cli;
    dcsr_matrix *matrix;
    dcsr_view *view;
    void *x, *y;
    dcsr_spmv_plan *plan[TUNE_KERNELS];
    tune_cost *costs;
    double second[TUNE_KERNELS]; /* of the turns' times the least but one */
    int kernels;
} measuring;

/* ---- The matrix ---- */

/* Fragmented: in several batches, of entries that are taken in turns. */
static dcsr_status insert_in_pieces(dcsr_matrix *matrix, const dcsr_coo *coo)
{
    dcsr_coo part;
    dcsr_status status = DCSR_OK;
    const size_t size = dcsr_type_size(coo->type);
    for (uint64_t piece = 0; piece < PIECES && !status; piece++) {
        uint64_t n = 0;
        status =
            dcsr_coo_allocate(&part, coo->context, coo->type, coo->rows, coo->cols, coo->nnz / PIECES + 1);
        for (uint64_t e = piece; e < coo->nnz && !status; e += PIECES, n++) {
            part.row_indices[n] = coo->row_indices[e];
            part.col_indices[n] = coo->col_indices[e];
            if (size) memcpy((char *)part.values + n * size, (const char *)coo->values + e * size, size);
        }
        if (!status)
            status = dcsr_matrix_insert(matrix, n, part.row_indices, part.col_indices, part.values, NULL);
        if (!status) status = dcsr_matrix_wait(matrix);
        dcsr_coo_free(&part);
    }
    return status;
}

static dcsr_status make_matrix(measuring *m, const tune_matrix *from)
{
    const dcsr_matrix_options options = {.policy = from->coo.type == DCSR_PATTERN ? DCSR_POLICY_ANY
                                                                                  : DCSR_POLICY_LAST,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF};
    dcsr_status status;
    if (from->fragmented) {
        status = dcsr_matrix_create(&m->matrix, m->cli->context, from->coo.type, from->coo.rows,
                                    from->coo.cols, &options);
        if (!status) status = insert_in_pieces(m->matrix, &from->coo);
    } else {
        status = dcsr_matrix_from_coo(&m->matrix, m->cli->context, &from->coo, &options);
    }
    return status ? status : dcsr_view_create(&m->view, m->matrix, DCSR_LAYOUT_SEGMENTS, 0);
}

/* x of numbers between 1 and 2, and room for y. */
static int make_vectors(measuring *m, const dcsr_features *f)
{
    const size_t size = f->type == DCSR_FP32 ? sizeof(float) : sizeof(double);
    m->x = aligned_alloc(64, (f->cols + 8) * size / 64 * 64 + 64);
    m->y = aligned_alloc(64, (f->rows + 8) * size / 64 * 64 + 64);
    if (!m->x || !m->y)
        return cli_fail(m->cli, "out of memory for vectors of %llu and %llu numbers",
                        (unsigned long long)f->cols, (unsigned long long)f->rows);
    for (uint64_t j = 0; j < f->cols; j++) {
        const double value = 1 + (double)(j % 128) / 128;
        if (f->type == DCSR_FP32)
            ((float *)m->x)[j] = (float)value;
        else
            ((double *)m->x)[j] = value;
    }
    memset(m->y, 0, f->rows * size);
    return CLI_DONE;
}

/* ---- Kernels ---- */

/* The format of kernel k, twice, as the first time memory is new. A kernel that does not take the matrix, or would not
 * have memory, has no costs. */
static int build(measuring *m, int k, const char *name)
{
    m->costs[k] = (tune_cost){NAN, NAN, NAN};
    for (int time = 0; time < 2; time++) {
        dcsr_spmv_plan_info info;
        dcsr_spmv_plan_destroy(m->plan[k]);
        const dcsr_status status =
            dcsr_spmv_plan_create(&m->plan[k], m->view, &(dcsr_spmv_options){.kernel = name});
        if (status == DCSR_ERROR_INVALID_ARGUMENT || status == DCSR_ERROR_OUT_OF_MEMORY) return CLI_DONE;
        if (status || dcsr_spmv_plan_get_info(m->plan[k], &info)) return cli_fail_library(m->cli);
        if (!(m->costs[k].build <= info.build_seconds)) m->costs[k].build = info.build_seconds;
    }
    return CLI_DONE;
}

/* Seconds of a product, the mean of some at once. */
static double run_batch(measuring *m, int k, int runs, dcsr_status *status)
{
    const double start = cli_now();
    for (int i = 0; i < runs && !*status; i++) *status = dcsr_spmv_plan_run(m->y, m->plan[k], m->x);
    return (cli_now() - start) / runs;
}

/* A kernel's turn: after a product that brings the caches to what they will be. */
static int take_turn(measuring *m, int k)
{
    dcsr_status status = DCSR_OK;
    const double first = run_batch(m, k, 1, &status), start = cli_now();
    const int runs = first < least_batch ? (int)(least_batch / (first + 1e-9)) + 1 : 1;
    double least = INFINITY, *const best = &m->costs[k].seconds;
    for (int b = 0; (b < BATCHES || cli_now() - start < least_turn) && !status; b++) {
        const double seconds = run_batch(m, k, runs, &status);
        if (seconds < least) least = seconds;
        if (b >= 1 && cli_now() - start > 10 * least_turn) break;
    }
    if (!isnan(*best)) m->second[k] = fmin(m->second[k], fmax(least, *best));
    *best = fmin(*best, least);
    return status ? cli_fail_library(m->cli) : CLI_DONE;
}

/* The mean power over some time, times the time of a product, as Dufrechou et al. take it. */
static int take_energy(measuring *m, int k)
{
    dcsr_status status = DCSR_OK;
    const double before = tune_energy_joules(), start = cli_now();
    while (!status && cli_now() - start < energy_seconds) run_batch(m, k, 1, &status);
    m->costs[k].joules = (tune_energy_joules() - before) / (cli_now() - start) * m->costs[k].seconds;
    return status ? cli_fail_library(m->cli) : CLI_DONE;
}

static int measure_kernels(measuring *m, bool energy)
{
    const dcsr_spmv_kernel *kernel;
    int status = CLI_DONE;
    for (; !status && m->kernels < TUNE_KERNELS &&
           (kernel = dcsr_spmv_kernel_at(DCSR_DEVICE_CPU, (uint64_t)m->kernels));
         m->kernels++)
        status = build(m, m->kernels, kernel->name);
    for (int k = 0; k < m->kernels; k++) m->second[k] = INFINITY;
    for (int round = 0; round < MOST_ROUNDS; round++)
        for (int k = 0; k < m->kernels && !status; k++)
            if (m->plan[k] && (round < LEAST_ROUNDS || m->second[k] > nearly * m->costs[k].seconds))
                status = take_turn(m, k);
    for (int k = 0; energy && k < m->kernels && !status; k++)
        if (m->plan[k]) status = take_energy(m, k);
    return status;
}

int tune_measure(cli_state *cli, tune_result *result, const tune_matrix *matrix, bool energy)
{
    measuring m = {.cli = cli, .costs = result->cost};
    int status = make_matrix(&m, matrix) || dcsr_view_get_features(&result->features, m.view, NULL)
                     ? cli_fail_library(cli)
                     : CLI_DONE;
    if (!status) status = make_vectors(&m, &result->features);
    if (!status) status = measure_kernels(&m, energy);
    for (int k = 0; k < m.kernels; k++) dcsr_spmv_plan_destroy(m.plan[k]);
    free(m.x);
    free(m.y);
    dcsr_view_destroy(m.view);
    if (!status) status = tune_measure_vectors(cli, result->vector, m.matrix);
    dcsr_matrix_destroy(m.matrix);
    return status;
}
