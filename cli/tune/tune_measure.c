/* tune_measure.c: what the kernels of the portfolio cost on one matrix.
 *
 * All formats are built first; then the kernels are measured in turns, so that what else the machine does meets all of
 * them, and of each the least time counts: after some rounds at least, and until it has been nearly met in two turns.
 * On a GPU its clock counts, from before the first launch of a batch: so batches there are long enough for that launch
 * not to matter. A kernel that is far behind has one turn. */
#include "cli/tune/tune.h"
#include <dcsr/apply.h>
#include <dcsr/vector.h>
#include <math.h>
#include <string.h>

enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 12, BATCHES = 4, PIECES = 3 };
static const double nearly = 1.05;
static const double least_batch = 50e-6, least_device_batch = 400e-6, least_turn = 2e-3;
/* Times the least that a product takes: the turn ends; there is no further turn. */
static const double hopeless = 20, far_behind = 3;
/* Energy counters move in steps, so we read one just after a step; after this many seconds without one, at once. */
static const double energy_seconds = 0.12, step_seconds = 0.12, energy_batch = 2e-3;
static const double energy_most =
    2; /* of a kernel that takes more times the least it is not measured, but of the
                                       first, with which the others are compared */

typedef struct measuring {
    cli_state *cli;
    dcsr_device device;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_vector *x, *y;
    void *x_values, *y_values; /* where the matrix is */
    double least;              /* seconds of the fastest kernel so far */
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

static dcsr_status make_vector(dcsr_vector **vector, dcsr_context *context, dcsr_type type, uint64_t size)
{
    static const uint64_t zero;
    dcsr_status status = dcsr_vector_create(vector, context, type, size);
    if (!status) status = dcsr_vector_set_format(*vector, DCSR_VECTOR_DENSE);
    return status ? status : dcsr_vector_fill(*vector, &zero);
}

/* x of numbers between 1 and 2, and room for y. */
static dcsr_status make_vectors(measuring *m, const dcsr_features *f)
{
    const dcsr_type type = f->type == DCSR_FP32 ? DCSR_FP32 : DCSR_FP64;
    dcsr_status status = make_vector(&m->x, m->cli->context, type, f->cols);
    if (!status) status = make_vector(&m->y, m->cli->context, type, f->rows);
    if (!status) status = dcsr_vector_get_values(m->x, &m->x_values);
    for (uint64_t j = 0; j < f->cols && !status; j++) {
        const double value = 1 + (double)(j % 128) / 128;
        if (type == DCSR_FP32)
            ((float *)m->x_values)[j] = (float)value;
        else
            ((double *)m->x_values)[j] = value;
    }
    if (!status && m->device == DCSR_DEVICE_CUDA) {
        status = dcsr_vector_get_values_on_device(m->x, &m->x_values);
        return status ? status : dcsr_vector_get_values_on_device(m->y, &m->y_values);
    }
    return status ? status : dcsr_vector_get_values(m->y, &m->y_values);
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
    double seconds = 0;
    if (!*status)
        *status = dcsr_spmv_plan_time(&seconds, m->y_values, m->plan[k], m->x_values, (uint64_t)runs);
    return seconds;
}

/* How many products fit into that many seconds. */
static int runs_in(double seconds, double of_one)
{
    return of_one < seconds ? (int)(seconds / (of_one + 1e-9)) + 1 : 1;
}

/* How many products are a batch: found by a few, after one that brings the kernel's code to the device, and the caches
 * to what they will be. *first: seconds of a product by these. */
static int batch_size(measuring *m, int k, double *first, dcsr_status *status)
{
    enum { FEW = 16 };
    run_batch(m, k, 1, status);
    *first = fmin(run_batch(m, k, 1, status), run_batch(m, k, 1, status));
    if (m->device != DCSR_DEVICE_CUDA) return runs_in(least_batch, *first);
    if (*first < least_device_batch) *first = fmin(*first, run_batch(m, k, FEW, status));
    return runs_in(least_device_batch, *first);
}

static int take_turn(measuring *m, int k)
{
    dcsr_status status = DCSR_OK;
    double first;
    const int runs = batch_size(m, k, &first, &status);
    const double start = cli_now();
    double least = first > hopeless * m->least ? first : INFINITY, *const best = &m->costs[k].seconds;
    for (int b = 0;
         isinf(least) || ((b < BATCHES || cli_now() - start < least_turn) && least <= hopeless * m->least);
         b++) {
        const double seconds = run_batch(m, k, runs, &status);
        if (status) break;
        if (seconds < least) least = seconds;
        if (b >= 1 && cli_now() - start > 10 * least_turn) break;
    }
    if (!isnan(*best)) m->second[k] = fmin(m->second[k], fmax(least, *best));
    *best = fmin(*best, least);
    m->least = fmin(m->least, *best);
    return status ? cli_fail_library(m->cli) : CLI_DONE;
}

/* Multiplies for some seconds, and then, for as many at most, until the counter has made a step; what it is, and
 * when. */
static double read_energy(measuring *m, int k, double seconds, double *when, dcsr_status *status)
{
    const int runs = runs_in(energy_batch, m->costs[k].seconds);
    const double start = cli_now();
    while (!*status && cli_now() - start < seconds) run_batch(m, k, runs, status);
    const double before = tune_energy_joules(), begin = cli_now();
    double now = before;
    while (!*status && now == before && cli_now() - begin < step_seconds) {
        run_batch(m, k, runs, status);
        now = tune_energy_joules();
    }
    *when = cli_now();
    return now;
}

/* The mean power over some time, times the time of a product, as Dufrechou et al. take it. */
static int take_energy(measuring *m, int k)
{
    dcsr_status status = DCSR_OK;
    double start, end;
    const double before = read_energy(m, k, 0, &start, &status),
                 after = read_energy(m, k, energy_seconds, &end, &status);
    m->costs[k].joules = (after - before) / (end - start) * m->costs[k].seconds;
    return status ? cli_fail_library(m->cli) : CLI_DONE;
}

/* Whether the kernel has another turn. */
static bool goes_on(const measuring *m, int k, int round)
{
    if (!m->plan[k]) return false;
    if (!round) return true;
    return m->costs[k].seconds <= far_behind * m->least &&
           (round < LEAST_ROUNDS || m->second[k] > nearly * m->costs[k].seconds);
}

static int measure_kernels(measuring *m, bool energy)
{
    const dcsr_spmv_kernel *kernel;
    int status = CLI_DONE;
    for (; !status && m->kernels < TUNE_KERNELS &&
           (kernel = dcsr_spmv_kernel_at(m->device, (uint64_t)m->kernels));
         m->kernels++)
        status = build(m, m->kernels, kernel->name);
    for (int k = 0; k < m->kernels; k++) m->second[k] = INFINITY;
    for (int round = 0; round < MOST_ROUNDS; round++)
        for (int k = 0; k < m->kernels && !status; k++)
            if (goes_on(m, k, round)) status = take_turn(m, k);
    for (int k = 0; energy && k < m->kernels && !status; k++)
        if (m->plan[k] && (!k || m->costs[k].seconds <= energy_most * m->least)) status = take_energy(m, k);
    return status;
}

int tune_measure(cli_state *cli, tune_result *result, const tune_matrix *matrix, bool energy)
{
    measuring m = {.cli = cli, .costs = result->cost, .least = INFINITY};
    dcsr_context_info info;
    int status = dcsr_context_get_info(cli->context, &info) ? cli_fail_library(cli) : CLI_DONE;
    m.device = info.device;
    if (!status && (make_matrix(&m, matrix) || dcsr_view_get_features(&result->features, m.view, NULL) ||
                    make_vectors(&m, &result->features)))
        status = cli_fail_library(cli);
    if (!status) status = measure_kernels(&m, energy);
    for (int k = 0; k < m.kernels; k++) dcsr_spmv_plan_destroy(m.plan[k]);
    dcsr_vector_destroy(m.x);
    dcsr_vector_destroy(m.y);
    dcsr_view_destroy(m.view);
    if (!status) status = tune_measure_vectors(cli, result->vector, m.matrix, &matrix->coo);
    dcsr_matrix_destroy(m.matrix);
    return status;
}
