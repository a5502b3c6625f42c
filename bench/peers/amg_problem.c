/* amg_problem.c: the linear systems of bench_amg. */
#include "bench/peers/amg_problem.h"
#include <dcsr/generate.h>

#include <stdlib.h>
#include <string.h>

/* Between point (x, y, z) and the next along the axis. */
typedef double (*coefficient)(uint64_t x, uint64_t y, uint64_t z, int axis);

static double weak_along_y(uint64_t x, uint64_t y, uint64_t z, int axis)
{
    (void)x, (void)y, (void)z;
    return axis == 1 ? 1e-3 : 1;
}

static double of_cube(uint64_t x, uint64_t y, uint64_t z)
{
    return (x / 8 + y / 8 + z / 8) % 2 ? 1e4 : 1;
}

/* The harmonic mean of both sides. */
static double in_cubes(uint64_t x, uint64_t y, uint64_t z, int axis)
{
    double here = of_cube(x, y, z), there = of_cube(x + (axis == 0), y + (axis == 1), z + (axis == 2));
    return 2 * here * there / (here + there);
}

static void put(dcsr_coo *coo, uint64_t row, uint64_t col, double value)
{
    coo->row_indices[coo->nnz] = row;
    coo->col_indices[coo->nnz] = col;
    ((double *)coo->values)[coo->nnz++] = value;
}

/* Diffusion on a grid of n points along each of two or three axes, held at 0 around it. */
static dcsr_status make_grid(dcsr_coo *coo, dcsr_context *context, uint64_t n, int axes, coefficient between)
{
    const uint64_t depth = axes == 3 ? n : 1, rows = n * n * depth;
    const uint64_t step[3] = {1, n, n * n};
    dcsr_status status =
        dcsr_coo_allocate(coo, context, DCSR_FP64, rows, rows, (uint64_t)axes * (4 * rows + 2 * rows / n));
    if (status) return status;
    coo->nnz = 0;
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t at[3] = {i % n, i / n % n, i / n / n};
        for (int axis = 0; axis < axes; axis++) {
            const double c = between(at[0], at[1], at[2], axis);
            put(coo, i, i, c);
            if (!at[axis]) put(coo, i, i, c);
            if (at[axis] + 1 == n) continue;
            put(coo, i + step[axis], i + step[axis], c);
            put(coo, i, i + step[axis], -c);
            put(coo, i + step[axis], i, -c);
        }
    }
    return dcsr_coo_resize(coo, coo->nnz);
}

dcsr_status amg_problem_read(dcsr_coo *coo, dcsr_context *context, const char *name)
{
    const char *size = strchr(name, ':');
    const uint64_t n = size ? strtoull(size + 1, NULL, 10) : 0;
    if (!strncmp(name, "anisotropic:", 12)) return make_grid(coo, context, n, 2, weak_along_y);
    if (!strncmp(name, "jumps:", 6)) return make_grid(coo, context, n, 3, in_cubes);
    if (size) return dcsr_coo_generate(coo, context, name);
    return dcsr_coo_read(coo, context, name, NULL);
}
