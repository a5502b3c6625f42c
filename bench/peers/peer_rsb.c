/* peer_rsb.c: librsb, recursive sparse blocks, tuned by its own tuner for the product. */
#include "bench/peers/peers.h"

#ifdef DCSR_PEER_RSB
#include <rsb.h>
#include <stdio.h>
#include <stdlib.h>

static void *product_create(const bench_csr *A, int threads, bool quick, char note[PEER_NOTE])
{
    static bool started;
    if (!started && rsb_lib_init(RSB_NULL_INIT_OPTIONS) != RSB_ERR_NO_ERROR)
        bench_die("librsb does not start");
    started = true;
    rsb_int_t executing = threads;
    rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &executing);
    rsb_coo_idx_t *rows = bench_alloc(A->nnz, sizeof *rows), *cols = bench_alloc(A->nnz, sizeof *cols);
    for (uint64_t row = 0; row < A->rows; row++)
        for (uint64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++) {
            rows[e] = (rsb_coo_idx_t)row;
            cols[e] = (rsb_coo_idx_t)A->columns[e];
        }
    rsb_err_t error = RSB_ERR_NO_ERROR;
    struct rsb_mtx_t *matrix = rsb_mtx_alloc_from_coo_const(
        A->values, rows, cols, (rsb_nnz_idx_t)A->nnz, RSB_NUMERICAL_TYPE_DOUBLE, (rsb_coo_idx_t)A->rows,
        (rsb_coo_idx_t)A->cols, RSB_DEFAULT_ROW_BLOCKING, RSB_DEFAULT_COL_BLOCKING, RSB_FLAG_NOFLAGS, &error);
    free(rows);
    free(cols);
    if (!matrix) bench_die("librsb cannot make the matrix (error %d)", (int)error);
    /* The tuner's products run on vectors of its own; it may find a better division into blocks. */
    const double one = 1, zero = 0, seconds = quick ? 0.5 : 5;
    rsb_real_t faster = 1;
    error = rsb_tune_spmm(&matrix, &faster, &executing, 0, seconds, RSB_TRANSPOSITION_N, &one, NULL, 1,
                          RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, NULL, 0, &zero, NULL, 0);
    if (error == RSB_ERR_NO_ERROR)
        snprintf(note, PEER_NOTE, "rsb_tune_spmm, %g s: %.2fx", seconds, faster);
    else
        snprintf(note, PEER_NOTE, "default blocks (the tuner failed)");
    return matrix;
}

static void product_multiply(void *self, void *y, const void *x)
{
    const double one = 1, zero = 0;
    rsb_err_t error = rsb_spmv(RSB_TRANSPOSITION_N, &one, self, x, 1, &zero, y, 1);
    if (error != RSB_ERR_NO_ERROR) bench_die("rsb_spmv returned %d", (int)error);
}

static void product_destroy(void *self)
{
    rsb_mtx_free(self);
}

static const char *product_version(void)
{
    return "librsb " RSB_LIBRSB_VER_STRING;
}

const peer_product peer_rsb_product = {
    "librsb", false, DCSR_FP64, product_version, product_create, product_multiply, product_destroy};
#else
const peer_product peer_rsb_product = {.name = "librsb"};
#endif
