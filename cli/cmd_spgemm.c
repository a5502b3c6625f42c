/* cmd_spgemm.c: `dcsr spgemm`: C = A B, timed, with a checksum that any implementation can be held against. */
#include "cli/cli.h"
#include <dcsr/mxm.h>
#include <dcsr/reduce.h>
#include <stdlib.h>

enum { KEY_REPEAT = 1, MOST_REPEATS = 100000 };

static struct {
    uint64_t repeat;
} settings = {.repeat = 5};

static const struct argp_option options[] = {
    {"repeat", KEY_REPEAT, "R", 0, "Multiply R times after a warm-up; seconds is the median (default 5)", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key == KEY_REPEAT) return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &settings.repeat);
    return cli_op_take(cli, key, value);
}

/* Of C: int64 where both are of integers, bool or patterns, else fp64. */
static dcsr_type result_type(dcsr_type a, dcsr_type b)
{
    bool real = a == DCSR_FP32 || a == DCSR_FP64 || b == DCSR_FP32 || b == DCSR_FP64;
    return real ? DCSR_FP64 : DCSR_INT64;
}

/* How many products of entries there are. */
static dcsr_status count_products(uint64_t *products, dcsr_view *A, dcsr_view *B)
{
    dcsr_csr a, b;
    dcsr_status status = dcsr_view_get_csr_on_host(A, &a);
    if (!status) status = dcsr_view_get_csr_on_host(B, &b);
    *products = 0;
    if (status || a.cols != b.rows) return status; /* the product will say so */
    for (uint64_t k = 0; k < a.nnz; k++)
        *products += b.offsets[a.col_indices[k] + 1] - b.offsets[a.col_indices[k]];
    return DCSR_OK;
}

typedef struct product {
    dcsr_matrix *C;
    dcsr_view *A, *B;
    dcsr_type type;
} product;

static dcsr_status multiply(void *user)
{
    const product *p = user;
    return dcsr_mxm(p->C, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, p->type), p->A, p->B, NULL);
}

/* Reports what C is; the sum of its values is the checksum. */
static int print(cli_state *cli, dcsr_matrix *C, dcsr_type type, uint64_t products, double seconds)
{
    dcsr_view *view = NULL;
    dcsr_view_info info = {0};
    double sum = 0;
    int64_t whole = 0;
    void *total = type == DCSR_FP64 ? (void *)&sum : (void *)&whole;
    dcsr_status failed = dcsr_view_create(&view, C, DCSR_LAYOUT_SEGMENTS, 0);
    if (!failed) failed = dcsr_view_get_info(view, &info);
    if (!failed) failed = dcsr_matrix_reduce(total, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, type), view);
    dcsr_view_destroy(view);
    if (failed) return cli_fail_library(cli);
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "rows", "rows", info.rows);
    cli_put_count(&report, "cols", "columns", info.cols);
    cli_put_count(&report, "nnz", "nonzeros", info.nnz);
    cli_put_count(&report, "products", "products", products);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_real(&report, "gflops", "speed", 2.0 * (double)products / seconds * 1e-9, "GFLOP/s");
    if (type == DCSR_FP64) {
        cli_put_real(&report, "checksum", NULL, sum, "");
        cli_put_line(&report, "checksum", "%.15g", sum);
    } else {
        cli_put_integer(&report, "checksum", whole);
        cli_put_line(&report, "checksum", "%lld", (long long)whole);
    }
    return cli_report_print(&report);
}

static int run_products(cli_state *cli, dcsr_view *A, dcsr_view *B)
{
    dcsr_view_info a, b;
    dcsr_matrix *C = NULL;
    uint64_t products;
    double seconds = 0;
    if (dcsr_view_get_info(A, &a) || dcsr_view_get_info(B, &b) || count_products(&products, A, B))
        return cli_fail_library(cli);
    dcsr_type type = result_type(a.type, b.type);
    if (dcsr_matrix_create(&C, cli->context, type, a.rows, b.cols, NULL)) return cli_fail_library(cli);
    product of = {C, A, B, type};
    int status = cli_measure(cli, &(cli_measured){"product", settings.repeat, true, multiply, &of}, &seconds);
    if (!status) status = print(cli, C, type, products, seconds);
    dcsr_matrix_destroy(C);
    return status;
}

static int run_spgemm(cli_state *cli)
{
    dcsr_matrix *matrix[2] = {NULL, NULL};
    dcsr_view *view[2] = {NULL, NULL};
    int status = CLI_DONE, n = cli->argument_count;
    for (int k = 0; k < n && !status; k++) {
        status = cli_load_matrix(cli, &matrix[k], cli->arguments[k], NULL);
        if (!status && dcsr_view_create(&view[k], matrix[k], DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED))
            status = cli_fail_library(cli);
    }
    if (!status) status = run_products(cli, view[0], view[n - 1]);
    for (int k = 0; k < n; k++) {
        dcsr_view_destroy(view[k]);
        dcsr_matrix_destroy(matrix[k]);
    }
    return status;
}

const cli_command cli_spgemm_command = {
    .name = "spgemm",
    .arguments = "MATRIX [MATRIX]",
    .summary = "Multiply two matrices, timed",
    .help = "C = A B of two matrices, or A A of one. The checksum is the sum of the values of C, which are "
            "int64 unless A or "
            "B has real ones. A pattern matrix has the value 1. A product counts as two operations.\n\n"
            "Example:\n  dcsr spgemm poisson3d27:60 --repeat 10\n",
    .least = 1,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_spgemm,
};
