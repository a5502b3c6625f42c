/* elasticity.h: a system of elasticity, and the near-nullspace of its matrix. */
#ifndef DCSR_TESTS_ELASTICITY_H
#define DCSR_TESTS_ELASTICITY_H

#include "tests/support/support.h"
#include <dcsr/coo.h>
#include <dcsr/reader.h>

/* Plane stress on a bar of nx x ny bilinear squares, held at its left end. Unknowns of a point follow one
 * another; B gets the three rigid-body modes, which are the caller's to free. */
static inline void test_elasticity(dcsr_coo *coo, dcsr_dense *B, dcsr_context *context, uint64_t nx,
                                   uint64_t ny)
{
    enum { CORNERS = 4, DOFS = 8 };
    static const double nu = 0.3, at = 0.57735026918962576;
    static const double corner[CORNERS][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    double K[DOFS][DOFS] = {{0}};
    const double stiff[3][3] = {{1, nu, 0}, {nu, 1, 0}, {0, 0, (1 - nu) / 2}};
    for (int g = 0; g < 4; g++) { /* points of Gauss */
        double px = (1 + (g & 1 ? at : -at)) / 2, py = (1 + (g & 2 ? at : -at)) / 2, strain[3][DOFS] = {{0}};
        for (int c = 0; c < CORNERS; c++) {
            double dx = (corner[c][0] * 2 - 1) * (corner[c][1] > 0 ? py : 1 - py);
            double dy = (corner[c][1] * 2 - 1) * (corner[c][0] > 0 ? px : 1 - px);
            strain[0][2 * c] = strain[2][2 * c + 1] = dx;
            strain[1][2 * c + 1] = strain[2][2 * c] = dy;
        }
        for (int i = 0; i < DOFS; i++)
            for (int j = 0; j < DOFS; j++)
                for (int s = 0; s < 3; s++)
                    for (int t = 0; t < 3; t++) K[i][j] += strain[s][i] * stiff[s][t] * strain[t][j] / 4;
    }
    const uint64_t points = nx * (ny + 1); /* those on the left are held */
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(coo, context, DCSR_FP64, 2 * points, 2 * points, nx * ny * DOFS * DOFS));
    for (uint64_t ex = 0; ex < nx; ex++) {
        for (uint64_t ey = 0; ey < ny; ey++) {
            for (int i = 0; i < DOFS; i++) {
                for (int j = 0; j < DOFS; j++) {
                    uint64_t xi = ex + (uint64_t)corner[i / 2][0], xj = ex + (uint64_t)corner[j / 2][0];
                    uint64_t yi = ey + (uint64_t)corner[i / 2][1], yj = ey + (uint64_t)corner[j / 2][1];
                    if (!xi || !xj) continue;
                    coo->row_indices[used] = 2 * ((xi - 1) * (ny + 1) + yi) + (uint64_t)(i % 2);
                    coo->col_indices[used] = 2 * ((xj - 1) * (ny + 1) + yj) + (uint64_t)(j % 2);
                    ((double *)coo->values)[used++] = K[i][j];
                }
            }
        }
    }
    TEST_OK(dcsr_coo_resize(coo, used));
    *B = (dcsr_dense){.rows = 2 * points, .cols = 3, .values = test_allocate(6 * points, sizeof(double))};
    for (uint64_t p = 0; p < points; p++) {
        double x = (double)(p / (ny + 1)), y = (double)(p % (ny + 1)), *modes = B->values;
        modes[2 * p] = 1;
        modes[2 * points + 2 * p + 1] = 1;
        modes[4 * points + 2 * p] = -y;
        modes[4 * points + 2 * p + 1] = x;
    }
}

#endif
