/* spmv_merge.c: the kernel `merge`: merge path (Merrill and Garland 2016) over the format of `csr`.
 *
 * Going through a matrix is merging the ends of its rows with the numbers of its entries: rows + entries steps, of
 * which each thread takes the same number, whether they lie in one long row or in rows that are empty. Where a share
 * begins is found by bisection along its diagonal. */
#include "ops/spmv/portfolio/carries.h"
#include "ops/spmv/portfolio/arithmetics.h"
#include "ops/spmv/portfolio/portfolio.h"
#include <string.h>

/* A point of the path: so many rows have ended, so many entries been taken. */
typedef struct path_point {
    uint64_t row, entry;
} path_point;

typedef void merge_function(void *y, const dcsr_i_spmv_csr_format *f, const void *x, path_point from,
                            path_point end, dcsr_i_spmv_carry *carry);
typedef void add_function(void *y, const dcsr_i_spmv_carry *carries, int count);
#define SPMV_PORTABLE_ONLY
#define SPMV_BODY "ops/spmv/portfolio/merge.inc"
#include "ops/spmv/portfolio/arithmetics.inc"
static merge_function *const functions[][DCSR_TYPE_COUNT] = SPMV_INSTANCES_PORTABLE(run_merge);
static add_function *const adders[][DCSR_TYPE_COUNT] = SPMV_INSTANCES_PORTABLE(add_carries);

/* The point after `steps`: the fewest rows whose ends are not all taken by then. */
static path_point point_at(const uint64_t *offsets, uint64_t rows, uint64_t steps)
{
    uint64_t low = 0, high = rows < steps ? rows : steps;
    while (low < high) {
        const uint64_t row = low + (high - low) / 2;
        if (offsets[row + 1] <= steps - row - 1)
            low = row + 1;
        else
            high = row;
    }
    return (path_point){low, steps - low};
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const dcsr_i_spmv_csr_format *f = format;
    const uint64_t rows = A->info.rows, steps = rows + f->offsets[rows];
    const int pieces = dcsr_i_spmv_pieces(product->threads);
    dcsr_i_spmv_carry carries[DCSR_I_SPMV_PIECES];
#pragma omp parallel for schedule(static, 1) num_threads(pieces) if (pieces > 1)
    for (int p = 0; p < pieces; p++) {
        const uint64_t share = steps / (uint64_t)pieces, from = share * (uint64_t)p,
                       end = p + 1 < pieces ? from + share : steps;
        functions[0][A->info.type](product->y, f, product->x, point_at(f->offsets, rows, from),
                                   point_at(f->offsets, rows, end), &carries[p]);
    }
    adders[0][A->info.type](product->y, carries, pieces);
    return DCSR_OK;
}

static const char *refuses(const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_spmv_csr.refuses(A);
}

static dcsr_status measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_spmv_csr.measure(bytes, A);
}

static dcsr_status build(void **format, const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_spmv_csr.build(format, A);
}

static dcsr_status refresh(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                           dcsr_i_changed_rows *changed)
{
    return dcsr_i_spmv_csr.refresh(format, done, bytes, A, changed);
}

static void discard(void *format, const dcsr_i_spmv_matrix *A)
{
    dcsr_i_spmv_csr.discard(format, A);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_merge = {
    .told = {.name = "merge", .summary = "merge path: equal shares of rows and entries, wherever rows end"},
    .refuses = refuses,
    .measure = measure,
    .build = build,
    .may_refresh = dcsr_i_spmv_has_as_many,
    .refresh = refresh,
    .run = run,
    .discard = discard,
};
