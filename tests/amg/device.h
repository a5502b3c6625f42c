/* device.h: a problem on a GPU beside the same on the cpu. */
#ifndef DCSR_TESTS_AMG_DEVICE_H
#define DCSR_TESTS_AMG_DEVICE_H

#include "dcsr/base/cuda.h"
#include "tests/amg/problems.h"

#define NEEDS_GPU()                                                                          \
    do {                                                                                     \
        if (!dcsr_i_cuda_usable(test_device_number())) cr_skip_test("there is no GPU here"); \
    } while (0)

/* Solves both, which takes the same iterations; x agrees where the problem is not singular. */
static inline void compare_solutions(problem *here, problem *there, const char *settings, bool regular)
{
    problem *const both[] = {here, there};
    for (int k = 0; k < 2; k++) problem_solve(both[k], settings, NULL);
    cr_assert(here->report.outcome == there->report.outcome &&
              !strcmp(here->report.solver, there->report.solver));
    cr_assert(llabs((long long)here->report.iterations - (long long)there->report.iterations) <= 1,
              "%s: %llu iterations, not %llu", settings, (unsigned long long)there->report.iterations,
              (unsigned long long)here->report.iterations);
    cr_assert(here->report.outcome != DCSR_AMG_CONVERGED || problem_residual(there) <= 1.1e-8,
              "%s: residual %g", settings, problem_residual(there));
    double most = 0;
    for (uint64_t i = 0; i < here->csr.rows; i++) most = fmax(most, fabs(here->x[i]));
    for (uint64_t i = 0; i < here->csr.rows && regular; i++)
        cr_assert(fabs(here->x[i] - there->x[i]) <= 1e-6 * most, "%s: x[%llu] is %.17g, not %.17g", settings,
                  (unsigned long long)i, there->x[i], here->x[i]);
}

#endif
