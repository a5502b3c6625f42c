/* bfs.c: breadth-first search from one vertex, level by level, as products over any-pair:
 *
 *      frontier<not level> = frontier A        vertices next to the frontier that have no level yet
 *      level<frontier> = depth
 *
 * Push or pull, and all that makes a step fast, is up to the product (ops/mxv/mxv_runs.c).
 *
 * In a graph of few entries a row frontiers are small and levels many; writing the next frontier into a queue
 * as it is found then costs less than vectors do (bfs_queue.c): some 0.6 of the time on a grid. */
#include "algos/graph/bfs_internal.h"
#include "dcsr/base/error.h"
#include "dcsr/store/rowtable.h"
#include "dcsr/vector/vector_data.h"
#include <dcsr/mxv.h>
#include "ops/rows/row_reader.h"
#include <dcsr/vector_ops.h>
#ifdef DCSR_CUDA
#include "algos/graph/bfs_cuda.h"
#endif

/* Entries a row, on average, from which on products are used. */
enum { MANY_ENTRIES = 8 };

typedef struct search {
    dcsr_view *A;
    dcsr_vector *level;    /* int32, of the vertices that have been reached */
    dcsr_vector *frontier; /* bool, those reached last */
    bool counted;          /* every step counted the entries of the frontier's rows */
} search;

static dcsr_status step(search *s, int32_t depth, uint64_t *entries)
{
    dcsr_report report;
    const dcsr_desc unreached = {.mask_complement = true,
                                 .mask_structure = true,
                                 .replace = true,
                                 .pull_from_mask = true,
                                 .report = &report};
    const dcsr_desc reached = {.mask_structure = true};
    DCSR_TRY(dcsr_vxm(s->frontier, s->level, NULL, dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), s->frontier,
                      s->A, &unreached));
    *entries += report.entries;
    if (report.direction != DCSR_DIRECTION_PUSH) s->counted = false;
    return dcsr_vector_assign_scalar(s->level, s->frontier, NULL, &depth, DCSR_INT32, NULL, 0, &reached);
}

static dcsr_status search_levels(search *s, uint64_t source, dcsr_bfs_result *result)
{
    int32_t depth = 0;
    uint64_t count = 1, entries = 0;
    *result = (dcsr_bfs_result){0};
    DCSR_TRY(dcsr_vector_set(s->level, source, &depth));
    DCSR_TRY(dcsr_vector_set(s->frontier, source, &(bool){true}));
    while (count) {
        result->reached += count;
        result->max_level = (uint64_t)depth;
        result->level_sum += (uint64_t)depth * count;
        DCSR_TRY(step(s, ++depth, &entries));
        DCSR_TRY(dcsr_vector_nvals(s->frontier, &count));
    }
    result->edges = entries;
    return DCSR_OK;
}

/* Sums up what only a push counts on its way: entries of the rows that have a level. */
static uint64_t edges_of(const search *s, const dcsr_i_rows *rows)
{
    uint64_t sum = 0;
#pragma omp parallel for num_threads(dcsr_i_threads(s->level->context, rows->rows)) reduction(+ : sum)
    for (uint64_t v = 0; v < rows->rows; v++)
        if (dcsr_i_body_has(&s->level->body, v)) sum += dcsr_i_rows_length(rows, v);
    return sum;
}

/* The levels of a word of vertices at a time, most of which may have none. */
static void write_levels(int32_t *level, const search *s, uint64_t n)
{
    const dcsr_i_body *found = &s->level->body;
    const int32_t *values = found->values;
#pragma omp parallel for num_threads(dcsr_i_threads(s->level->context, n))
    for (uint64_t w = 0; w < dcsr_i_words(n); w++) {
        uint64_t first = w << 6, count = n - first < 64 ? n - first : 64;
        uint64_t word = found->present ? found->present[w] : UINT64_MAX;
        for (uint64_t i = 0; i < count; i++) level[first + i] = -1;
        for (uint64_t i = 0; word && i < count; i++)
            if (word >> i & 1) level[first + i] = values[first + i];
    }
}

static dcsr_status check(const int32_t *level, const dcsr_view *A, uint64_t source)
{
    DCSR_TRY(dcsr_i_view_check(A));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    if (rows->rows != rows->cols)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                           "bfs: the matrix has %llu rows and %llu columns; a graph needs as many of both",
                           (unsigned long long)rows->rows, (unsigned long long)rows->cols);
    if (source >= rows->rows)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                           "bfs: source %llu is no vertex; the graph has %llu, counted from 0",
                           (unsigned long long)source, (unsigned long long)rows->rows);
    if (!level) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "bfs: level is NULL; give it rows elements");
    return DCSR_OK;
}

static dcsr_status search_by_products(int32_t *level, dcsr_bfs_result *found, dcsr_view *A, uint64_t source)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    search s = {.A = A, .counted = true};
    dcsr_status status = dcsr_vector_create(&s.level, dcsr_i_view_context(A), DCSR_INT32, rows->rows);
    if (status == DCSR_OK) status = dcsr_vector_set_format(s.level, DCSR_VECTOR_DENSE);
    if (status == DCSR_OK)
        status = dcsr_vector_create(&s.frontier, dcsr_i_view_context(A), DCSR_BOOL, rows->rows);
    if (status == DCSR_OK) status = search_levels(&s, source, found);
    if (status == DCSR_OK) {
        /* The last step of a search that reaches every vertex has nothing to look for. */
        if (!s.counted || found->reached == rows->rows) found->edges = edges_of(&s, rows);
        write_levels(level, &s, rows->rows);
    }
    dcsr_vector_destroy(s.frontier);
    dcsr_vector_destroy(s.level);
    return status;
}

dcsr_status dcsr_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint64_t source)
{
    DCSR_TRY(check(level, A, source));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    uint64_t entries = dcsr_i_rows_stored(rows);
    bool by_products = !rows->on_device && entries / rows->rows >= MANY_ENTRIES;
    dcsr_bfs_result found;
#ifdef DCSR_CUDA
    if (rows->on_device)
        DCSR_TRY(dcsr_i_cuda_search(level, &found, A, (uint32_t)source));
    else
#endif
        if (by_products)
        DCSR_TRY(search_by_products(level, &found, A, source));
    else
        DCSR_TRY(dcsr_i_bfs_queue(level, &found, A, entries, (uint32_t)source));
    if (result) *result = found;
    /* The cost model counts readings of all rows; products tell it themselves. */
    if (!by_products && found.edges >= entries / 2) dcsr_i_view_was_read(A);
    return DCSR_OK;
}
