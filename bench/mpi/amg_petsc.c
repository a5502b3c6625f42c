/* amg_petsc.c: solves one of bench_amg's systems by PETSc, in as many processes as mpirun starts.
 *
 * usage: mpirun -n 2 amg_petsc gamg|boomeramg|aggressive PROBLEM REPETITIONS [BLOCK NULLSPACE]
 *
 * Conjugate gradients from x = 0 with b = 1, until the norm of the residual is 1e-8 that of b. A line for each
 * repetition: setup and solve in seconds, iterations, |b - A x| / |b| computed anew; one with the operator
 * complexity before that, in the words of whoever knows it. */
#include "bench/peers/amg_problem.h"
#include <dcsr/view.h>

#include <petscksp.h>

typedef struct task {
    const char *method, *problem, *nullspace;
    int repetitions, block;
    Mat A;
    Vec x, b, r;
} task;

#define TRY_DCSR(call) \
    if (call) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", dcsr_thread_error())

/* Near-nullspace vectors, one a column. */
static PetscErrorCode set_nullspace(task *t, dcsr_context *context, PetscInt first, PetscInt count)
{
    dcsr_dense B;
    Vec vectors[64];
    MatNullSpace space;
    PetscFunctionBeginUser;
    TRY_DCSR(dcsr_dense_read(&B, context, t->nullspace));
    for (uint64_t c = 0; c < B.cols; c++) {
        PetscScalar *values;
        PetscCall(VecDuplicate(t->x, &vectors[c]));
        PetscCall(VecGetArray(vectors[c], &values));
        for (PetscInt i = 0; i < count; i++) values[i] = B.values[(uint64_t)(first + i) + c * B.rows];
        PetscCall(VecRestoreArray(vectors[c], &values));
        for (uint64_t before = 0; before < c; before++) { /* PETSc wants them orthonormal */
            PetscScalar dot;
            PetscCall(VecDot(vectors[c], vectors[before], &dot));
            PetscCall(VecAXPY(vectors[c], -dot, vectors[before]));
        }
        PetscCall(VecNormalize(vectors[c], NULL));
    }
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, (PetscInt)B.cols, vectors, &space));
    PetscCall(MatSetNearNullSpace(t->A, space));
    PetscCall(MatNullSpaceDestroy(&space));
    for (uint64_t c = 0; c < B.cols; c++) PetscCall(VecDestroy(&vectors[c]));
    dcsr_dense_free(&B);
    PetscFunctionReturn(0);
}

/* Each process makes all of A and keeps its rows. */
static PetscErrorCode load(task *t)
{
    dcsr_context *context;
    dcsr_coo coo;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_csr csr;
    PetscMPIInt rank, size;
    PetscInt *offsets, *columns;
    PetscFunctionBeginUser;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    TRY_DCSR(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    TRY_DCSR(amg_problem_read(&coo, context, t->problem));
    TRY_DCSR(dcsr_matrix_from_coo(&matrix, context, &coo, &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    dcsr_coo_free(&coo);
    TRY_DCSR(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    TRY_DCSR(dcsr_view_get_csr(view, &csr));
    const uint64_t nodes = csr.rows / (uint64_t)t->block;
    const PetscInt first = (PetscInt)(nodes * (uint64_t)rank / (uint64_t)size) * t->block;
    const PetscInt count = (PetscInt)(nodes * (uint64_t)(rank + 1) / (uint64_t)size) * t->block - first;
    const uint64_t begin = csr.offsets[first], entries = csr.offsets[first + count] - begin;
    PetscCall(PetscMalloc2((size_t)count + 1, &offsets, entries, &columns));
    for (PetscInt i = 0; i <= count; i++) offsets[i] = (PetscInt)(csr.offsets[first + i] - begin);
    for (uint64_t e = 0; e < entries; e++) columns[e] = (PetscInt)csr.col_indices[begin + e];
    PetscCall(MatCreate(PETSC_COMM_WORLD, &t->A));
    PetscCall(MatSetSizes(t->A, count, count, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(t->A, t->block));
    PetscCall(MatSetType(t->A, MATAIJ));
    const double *values = (const double *)csr.values + begin;
    PetscCall(MatSeqAIJSetPreallocationCSR(t->A, offsets, columns, values));
    PetscCall(MatMPIAIJSetPreallocationCSR(t->A, offsets, columns, values));
    PetscCall(MatSetOption(t->A, MAT_SPD, PETSC_TRUE));
    PetscCall(PetscFree2(offsets, columns));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    PetscCall(MatCreateVecs(t->A, &t->x, &t->b));
    PetscCall(VecDuplicate(t->b, &t->r));
    PetscCall(VecSet(t->b, 1));
    if (t->nullspace) PetscCall(set_nullspace(t, context, first, count));
    dcsr_context_destroy(context);
    PetscFunctionReturn(0);
}

static PetscErrorCode solve_once(task *t, PetscBool first)
{
    KSP ksp;
    PC pc;
    PetscLogDouble start, ready, end;
    PetscInt iterations;
    PetscReal residual, norm, grid, operators;
    const PetscBool gamg = (PetscBool)(t->method[0] == 'g');
    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, t->A, t->A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-8, 0, 1e10, 1000));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, gamg ? PCGAMG : PCHYPRE));
    if (!gamg) PetscCall(PCHYPRESetType(pc, "boomeramg"));
    PetscCall(PetscOptionsSetValue(NULL, "-pc_hypre_boomeramg_print_statistics", first ? "1" : "0"));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(VecSet(t->x, 0));
    MPI_Barrier(PETSC_COMM_WORLD);
    PetscCall(PetscTime(&start));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscTime(&ready));
    PetscCall(KSPSolve(ksp, t->b, t->x));
    PetscCall(PetscTime(&end));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(MatMult(t->A, t->x, t->r));
    PetscCall(VecAYPX(t->r, -1, t->b));
    PetscCall(VecNorm(t->r, NORM_2, &residual));
    PetscCall(VecNorm(t->b, NORM_2, &norm));
    if (first && gamg) {
        PetscCall(PCMGGetGridComplexity(pc, &grid, &operators));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "operator = %g\n", (double)operators));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "result %g %g %d %g\n", ready - start, end - ready,
                          (int)iterations, (double)(residual / norm)));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static const char *const tuning[][2] = {/* what hypre's manual recommends instead of its defaults */
                                            {"-pc_hypre_boomeramg_coarsen_type", "HMIS"},
                                            {"-pc_hypre_boomeramg_interp_type", "ext+i"},
                                            {"-pc_hypre_boomeramg_P_max", "4"}};
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCheck(argc == 4 || argc == 6, PETSC_COMM_WORLD, PETSC_ERR_USER, "wrong arguments; see the source");
    task t = {.method = argv[1], .problem = argv[2], .repetitions = atoi(argv[3]), .block = 1};
    if (argc == 6) {
        t.block = atoi(argv[4]);
        t.nullspace = argv[5];
    }
    for (size_t k = 0; k < sizeof tuning / sizeof *tuning; k++)
        PetscCall(PetscOptionsSetValue(NULL, tuning[k][0], tuning[k][1]));
    if (t.method[0] == 'a') PetscCall(PetscOptionsSetValue(NULL, "-pc_hypre_boomeramg_agg_nl", "1"));
    if (strstr(t.problem, "3d") || strstr(t.problem, "jumps"))
        PetscCall(PetscOptionsSetValue(NULL, "-pc_hypre_boomeramg_strong_threshold", "0.5"));
    PetscCall(load(&t));
    for (int k = 0; k < t.repetitions; k++) PetscCall(solve_once(&t, (PetscBool)!k));
    PetscCall(MatDestroy(&t.A));
    PetscCall(VecDestroy(&t.x));
    PetscCall(VecDestroy(&t.b));
    PetscCall(VecDestroy(&t.r));
    return PetscFinalize();
}
