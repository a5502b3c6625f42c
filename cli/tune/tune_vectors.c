/* tune_vectors.c: what products with sparse vectors cost by columns, by rows and by tiles: for the choice of Hong et
 * al. between a product that takes the columns of the vector's elements, and one that reads all rows. The columns,
 * which are the rows of the transpose, are there beforehand.
 *
 * Vectors are of two kinds: elements at places that do not depend on the matrix, with columns as long as others; and
 * the frontiers of a search, which entries lead to, so that its first levels have long columns and its last ones short
 * ones. They are imitated by drawing entries: a column is reached when an entry of it is drawn first. A search
 * multiplies over any-pair, for the rows that have not been reached; else it is plus-times. */
#include "cli/tune/tune.h"
#include <dcsr/mxv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const tune_product tune_products[TUNE_PRODUCTS] = {{"1e-05", 0, 1e-5, false, false},
                                                   {"0.0001", 0, 1e-4, false, false},
                                                   {"0.001", 0, 1e-3, false, false},
                                                   {"0.01", 0, 1e-2, false, false},
                                                   {"0.03", 0, 3e-2, false, false},
                                                   {"0.1", 0, 0.1, false, false},
                                                   {"0.3", 0, 0.3, false, false},
                                                   {"1", 0, 1, false, false},
                                                   {"reached-0.0001", 0, 1e-4, true, false},
                                                   {"reached-0.001", 0, 1e-3, true, false},
                                                   {"reached-0.01", 0, 1e-2, true, false},
                                                   {"reached-0.1", 0.01, 0.1, true, false},
                                                   {"reached-0.54", 0.5, 0.54, true, false},
                                                   {"reached-1", 0.98, 1, true, false},
                                                   {"search-0.0001", 0, 1e-4, true, true},
                                                   {"search-0.01", 1e-4, 1e-2, true, true},
                                                   {"search-0.06", 0.01, 0.06, true, true},
                                                   {"search-0.5", 0.06, 0.5, true, true},
                                                   {"search-0.9", 0.5, 0.9, true, true},
                                                   {"search-0.95", 0.9, 0.95, true, true},
                                                   {"search-0.99", 0.98, 0.99, true, true}};

static const dcsr_direction directions[TUNE_WAYS] = {DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PULL,
                                                     DCSR_DIRECTION_TILES, DCSR_DIRECTION_AUTO};
enum { TILES = 2, AUTO = 3 };

/* More would take long, and on the cpu tell no more; a GPU is idle with fewer. */
enum { MOST_ENTRIES = 4000000, MOST_ENTRIES_CUDA = 32000000, LEAST_ROUNDS = 5 };
static const double least_seconds = 3e-3;

/* Rows or columns in the order in which they are reached. */
typedef struct order {
    uint64_t *index, count;
} order;

typedef struct trial {
    dcsr_context *context;
    dcsr_device device;
    dcsr_view *view;
    dcsr_view_shape shape;
    bool tiles; /* serve */
    order rows, cols;
    int64_t *lengths; /* of columns */
    const tune_product *product;
    dcsr_vector *w, *u, *mask;
} trial;

/* ---- What is multiplied ---- */

/* With tiles, where the matrix is not far larger than its entries, and of a type for which they serve. */
static dcsr_status make_view(trial *t, dcsr_matrix *matrix)
{
    dcsr_status status = dcsr_view_create(&t->view, matrix, DCSR_LAYOUT_NUT, 0);
    t->tiles = !status;
    if (status == DCSR_ERROR_TOO_LARGE) status = dcsr_view_create(&t->view, matrix, DCSR_LAYOUT_CSC, 0);
    if (!status) status = dcsr_view_get_shape(t->view, &t->shape);
    t->tiles = t->tiles && t->shape.type != DCSR_FP32;
    return status;
}

/* Entries are drawn by a step that has no factor in common with their number, so each once. */
static dcsr_status reach(order *reached, const uint64_t *indices, uint64_t nnz, uint64_t size)
{
    const uint64_t step = UINT64_C(0x9e3779b1); /* a prime, more than entries can be */
    bool *seen = calloc(size + 1, sizeof *seen);
    reached->index = malloc((size + 1) * sizeof *reached->index);
    for (uint64_t k = 0, e = 0; seen && reached->index && k < nnz; k++, e = (e + step) % nnz) {
        if (seen[indices[e]]) continue;
        seen[indices[e]] = true;
        reached->index[reached->count++] = indices[e];
    }
    const bool done = seen && reached->index;
    free(seen);
    return done ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status count_columns(trial *t)
{
    dcsr_vector *ones = NULL, *counts = NULL;
    dcsr_status status = dcsr_vector_create(&ones, t->context, DCSR_BOOL, t->shape.rows);
    if (!status) status = dcsr_vector_create(&counts, t->context, DCSR_INT64, t->shape.cols);
    if (!status) status = dcsr_vector_fill(ones, &(bool){true});
    if (!status)
        status =
            dcsr_vxm(counts, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_PAIR, DCSR_INT64), ones, t->view, NULL);
    t->lengths = malloc((t->shape.cols + 1) * sizeof *t->lengths);
    if (!status)
        status =
            t->lengths ? dcsr_vector_to_array(counts, &(int64_t){0}, t->lengths) : DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_vector_destroy(counts);
    dcsr_vector_destroy(ones);
    return status;
}

/* A vector of ones at n places. */
static dcsr_status make_vector(dcsr_vector **vector, const trial *t, uint64_t size, uint64_t n,
                               const uint64_t *indices)
{
    double *values = malloc((n + 1) * sizeof *values);
    dcsr_status status =
        values ? dcsr_vector_create(vector, t->context, DCSR_FP64, size) : DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < n && !status; k++) values[k] = 1;
    if (!status) status = dcsr_vector_build(*vector, n, indices, values, DCSR_POLICY_LAST);
    free(values);
    return status;
}

static uint64_t share_of(double share, uint64_t n)
{
    return (uint64_t)(share * (double)n);
}

/* Of equal parts of all places one each, where a multiplication scatters it. */
static void scatter(uint64_t *places, uint64_t n, uint64_t size)
{
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t from = share_of((double)k / (double)n, size),
                       to = share_of((double)(k + 1) / (double)n, size);
        places[k] = from + (k * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (to > from ? to - from : 1);
    }
}

/* u and the mask of the product, and what it has to do. */
static dcsr_status make_operands(tune_vector_cost *cost, trial *t)
{
    const tune_product *p = t->product;
    const uint64_t of = p->reached ? t->cols.count : t->shape.cols, first = share_of(p->from, of),
                   end = share_of(p->to, of), n = end > first ? end - first : 1,
                   hidden = p->search ? share_of(p->to, t->rows.count) : 0;
    uint64_t *places = malloc(n * sizeof *places);
    if (!places) return DCSR_ERROR_OUT_OF_MEMORY;
    if (p->reached)
        memcpy(places, t->cols.index + (first < of ? first : of - 1), n * sizeof *places);
    else
        scatter(places, n, of);
    cost->elements = (double)n;
    cost->wanted = (double)(t->shape.rows - hidden);
    cost->entries = 0;
    for (uint64_t k = 0; k < n; k++) cost->entries += (double)t->lengths[places[k]];
    dcsr_status status = make_vector(&t->u, t, t->shape.cols, n, places);
    free(places);
    if (!status && p->search) status = make_vector(&t->mask, t, t->shape.rows, hidden, t->rows.index);
    if (!status)
        status = dcsr_vector_create(&t->w, t->context, p->search ? DCSR_BOOL : DCSR_FP64, t->shape.rows);
    return status;
}

static void free_operands(trial *t)
{
    dcsr_vector_destroy(t->w);
    dcsr_vector_destroy(t->u);
    dcsr_vector_destroy(t->mask);
    t->w = t->u = t->mask = NULL;
}

/* ---- Products ---- */

/* By a direction, which AUTO becomes the one that was taken; where the matrix is. */
static dcsr_status multiply(const trial *t, dcsr_direction *direction)
{
    dcsr_report report;
    const bool search = t->product->search;
    const dcsr_desc desc = {.direction = *direction,
                            .device = t->device,
                            .mask_complement = search,
                            .mask_structure = search,
                            .replace = true,
                            .report = &report};
    const dcsr_semiring *semiring =
        search ? dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL) : dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    const dcsr_status status = dcsr_mxv(t->w, t->mask, NULL, semiring, t->view, t->u, &desc);
    *direction = report.direction;
    return status;
}

/* The least times of the ways, which take turns, so that what else the machine does meets all of them. */
static dcsr_status time_ways(tune_vector_cost *cost, const trial *t)
{
    dcsr_status status = DCSR_OK;
    const double start = cli_now();
    for (int round = 0; !status && (round <= LEAST_ROUNDS || cli_now() - start < least_seconds); round++)
        for (int way = 0; way < TUNE_WAYS && !status; way++) {
            dcsr_direction direction = directions[way];
            if (way == TILES && !t->tiles) continue;
            const double before = cli_now();
            status = multiply(t, &direction);
            const double seconds = cli_now() - before;
            /* The first has caches to fill, and what the view makes for it. */
            if (round && !(cost->way[way] <= seconds)) cost->way[way] = seconds;
            for (int is = 0; way == AUTO && is < AUTO; is++)
                if (directions[is] == direction) cost->taken = is;
        }
    return status;
}

static dcsr_status measure(tune_vector_cost costs[TUNE_PRODUCTS], trial *t)
{
    dcsr_status status = DCSR_OK;
    for (int p = 0; p < TUNE_PRODUCTS && !status; p++) {
        t->product = &tune_products[p];
        status = make_operands(&costs[p], t);
        if (!status) status = time_ways(&costs[p], t);
        free_operands(t);
    }
    return status;
}

int tune_measure_vectors(cli_state *cli, tune_vector_cost costs[TUNE_PRODUCTS], dcsr_matrix *matrix,
                         const dcsr_coo *coo)
{
    dcsr_context_info info;
    trial t = {.context = cli->context};
    for (int p = 0; p < TUNE_PRODUCTS; p++)
        costs[p] = (tune_vector_cost){{NAN, NAN, NAN, NAN}, NAN, NAN, NAN, NAN};
    if (dcsr_context_get_info(cli->context, &info)) return cli_fail_library(cli);
    t.device = info.device;
    if (!coo->nnz || coo->nnz > (info.device == DCSR_DEVICE_CUDA ? MOST_ENTRIES_CUDA : MOST_ENTRIES))
        return CLI_DONE;
    dcsr_status status = make_view(&t, matrix);
    if (!status) status = reach(&t.rows, coo->row_indices, coo->nnz, coo->rows);
    if (!status) status = reach(&t.cols, coo->col_indices, coo->nnz, coo->cols);
    if (!status) status = count_columns(&t);
    if (!status) status = measure(costs, &t);
    free(t.rows.index);
    free(t.cols.index);
    free(t.lengths);
    dcsr_view_destroy(t.view);
    return status ? cli_fail_library(cli) : CLI_DONE;
}
