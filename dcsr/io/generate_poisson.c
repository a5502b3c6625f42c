/* generate_poisson.c: the Poisson problem on a regular grid.
 *
 * A point and each of its neighbours differ by -1, 0 or 1 in every coordinate: in one coordinate only for the
 * star stencils (5, 7 points), in any for the box stencils (9, 27). With c(i) = 3 offsets inside and 2 at an
 * end, the entries before any line of the grid have a closed form, so lines are filled in parallel at their
 * final places. A 2D grid is a 3D one of a single plane. */
#include <dcsr/generate.h>
#include "dcsr/io/coo_build.h"
#include "dcsr/base/error.h"
#include "dcsr/base/threads.h"
#include <stdlib.h>
#include <string.h>

typedef struct grid {
    uint64_t n;      /* points a side */
    uint64_t planes; /* n, or 1 in 2D */
    bool box;
    double diagonal;
} grid;

/* Neighbours, itself included, that a point at coordinate i of `n` has along that coordinate, and their sum
 * below i. */
static uint64_t along(uint64_t i, uint64_t n)
{
    return 1 + (i > 0) + (i + 1 < n);
}

static uint64_t along_below(uint64_t i, uint64_t n)
{
    return i == 0 ? 0 : i == n ? 3 * n - 2 : 3 * i - 1;
}

/* Entries of all points before line (z, y), the points (z, y, 0) to (z, y, n - 1). */
static uint64_t entries_before(const grid *g, uint64_t z, uint64_t y)
{
    uint64_t n = g->n, line = along_below(n, n);
    if (g->box) return line * (along_below(z, g->planes) * line + along(z, g->planes) * along_below(y, n));
    /* Each point has itself and along() - 1 more per coordinate. */
    uint64_t points = (z * n + y) * n;
    uint64_t in_x = (z * n + y) * (line - n);
    uint64_t in_y = n * (z * (line - n) + along_below(y, n) - y);
    uint64_t in_z = n * (n * (along_below(z, g->planes) - z) + y * (along(z, g->planes) - 1));
    return points + in_x + in_y + in_z;
}

/* Entries of the point (z, y, x), its row of the matrix. Returns the place after them. */
static uint64_t fill_point(const grid *g, uint64_t z, uint64_t y, uint64_t x, dcsr_coo *coo, uint64_t at)
{
    int64_t n = (int64_t)g->n, row = ((int64_t)z * n + (int64_t)y) * n + (int64_t)x;
    double *values = coo->values;
    for (int dz = z > 0 ? -1 : 0; dz <= (z + 1 < g->planes); dz++)
        for (int dy = y > 0 ? -1 : 0; dy <= (y + 1 < g->n); dy++)
            for (int dx = x > 0 ? -1 : 0; dx <= (x + 1 < g->n); dx++) {
                int distance = abs(dz) + abs(dy) + abs(dx);
                if (distance > 1 && !g->box) continue;
                coo->row_indices[at] = (uint64_t)row;
                coo->col_indices[at] = (uint64_t)(row + (dz * n + dy) * n + dx);
                values[at] = distance ? -1 : g->diagonal;
                at++;
            }
    return at;
}

dcsr_status dcsr_coo_generate_poisson(dcsr_coo *coo, dcsr_context *context, int dimension, int points,
                                      uint64_t n)
{
    if (coo) memset(coo, 0, sizeof *coo);
    bool box = (dimension == 2 && points == 9) || (dimension == 3 && points == 27);
    bool star = (dimension == 2 && points == 5) || (dimension == 3 && points == 7);
    if (!box && !star)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "poisson: there is no stencil of %d points in %d dimensions; there are 5 and 9 in "
                           "2, 7 and 27 in 3",
                           points, dimension);
    uint64_t most =
        dimension == 2 ? 46340 : 1290; /* roots of DCSR_MAX_COLS; the entries then are below 2^36 */
    if (n > most)
        return dcsr_i_fail(
            DCSR_ERROR_TOO_LARGE,
            "poisson: a grid of %llu points a side has more than 2^31 points in %d dimensions; the most are "
            "%llu a side",
            (unsigned long long)n, dimension, (unsigned long long)most);
    grid g = {.n = n, .planes = dimension == 3 ? n : 1, .box = box, .diagonal = points - 1};
    uint64_t lines = g.planes * n, nnz = n ? entries_before(&g, g.planes, 0) : 0;
    DCSR_TRY(
        dcsr_i_coo_allocate(coo, "dcsr_coo_generate_poisson", context, DCSR_FP64, lines * n, lines * n, nnz));
    int threads = dcsr_i_threads(context, nnz);
#pragma omp parallel for num_threads(threads)
    for (uint64_t line = 0; line < lines; line++) {
        uint64_t z = line / n, y = line % n, at = entries_before(&g, z, y);
        for (uint64_t x = 0; x < n; x++) at = fill_point(&g, z, y, x, coo, at);
    }
    return DCSR_OK;
}
