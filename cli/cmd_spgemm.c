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

/* ---- The report ---- */

typedef struct outcome {
    uint64_t rows, cols, nnz, products;
    dcsr_type type;
    double real, seconds; /* the sum of C's values; */
    int64_t whole;        /* or this, where they are int64 */
} outcome;

/* Adds the values of C, or of a part of it. */
static dcsr_status add_values(outcome *o, dcsr_view *C)
{
    void *sum = o->type == DCSR_FP64 ? (void *)&o->real : (void *)&o->whole;
    return dcsr_matrix_reduce(sum, dcsr_binary_op_of(DCSR_BINARY_PLUS, o->type),
                              dcsr_monoid_of(DCSR_BINARY_PLUS, o->type), C);
}

/* `parts` is NULL on one device. */
static int print(cli_state *cli, const outcome *o, const dcsr_multi_view_info *parts)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "rows", "rows", o->rows);
    cli_put_count(&report, "cols", "columns", o->cols);
    cli_put_count(&report, "nnz", "nonzeros", o->nnz);
    cli_put_count(&report, "products", "products", o->products);
    cli_put_seconds(&report, "seconds", "time", o->seconds);
    cli_put_real(&report, "gflops", "speed", 2.0 * (double)o->products / o->seconds * 1e-9, "GFLOP/s");
    if (o->type == DCSR_FP64) {
        cli_put_real(&report, "checksum", NULL, o->real, "");
        cli_put_line(&report, "checksum", "%.15g", o->real);
    } else {
        cli_put_integer(&report, "checksum", o->whole);
        cli_put_line(&report, "checksum", "%lld", (long long)o->whole);
    }
    if (parts) cli_put_parts(&report, parts);
    return cli_report_print(&report);
}

/* ---- One device ---- */

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

static dcsr_status look_at(outcome *o, dcsr_matrix *C)
{
    dcsr_view *view = NULL;
    dcsr_view_info info = {0};
    dcsr_status status = dcsr_view_create(&view, C, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_view_get_info(view, &info);
    if (!status) status = add_values(o, view);
    o->rows = info.rows, o->cols = info.cols, o->nnz = info.nnz;
    dcsr_view_destroy(view);
    return status;
}

static int run_on_one(cli_state *cli, outcome *o, dcsr_view *A, dcsr_view *B)
{
    dcsr_view_info a, b;
    product p = {.A = A, .B = B, .type = o->type};
    if (dcsr_view_get_info(A, &a) || dcsr_view_get_info(B, &b) ||
        dcsr_matrix_create(&p.C, cli->context, o->type, a.rows, b.cols, NULL))
        return cli_fail_library(cli);
    int status =
        cli_measure(cli, &(cli_measured){"product", settings.repeat, true, multiply, &p}, &o->seconds);
    if (!status && look_at(o, p.C)) status = cli_fail_library(cli);
    if (!status) status = print(cli, o, NULL);
    dcsr_matrix_destroy(p.C);
    return status;
}

/* ---- Several devices ---- */

typedef struct parts_product {
    dcsr_multi_matrix *matrix[2], *C;
    dcsr_multi_view *view[2];
    int last; /* of the factors: 0 for A A */
    dcsr_type type;
} parts_product;

/* C is new each time, and the one before goes. */
static dcsr_status multiply_parts(void *user)
{
    parts_product *p = user;
    dcsr_multi_matrix_destroy(p->C);
    return dcsr_multi_mxm(&p->C, p->type, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, p->type), p->view[0],
                          p->view[p->last], NULL, NULL);
}

static dcsr_status look_at_parts(outcome *o, dcsr_multi_view_info *info, dcsr_multi_matrix *C)
{
    dcsr_multi_view *view = NULL;
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_create(&view, C, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_multi_view_get_info(view, info);
    for (uint64_t k = 0; !status && k < info->parts; k++) {
        status = dcsr_multi_view_get_part(view, k, &part);
        if (!status) status = add_values(o, part);
    }
    dcsr_multi_view_destroy(view);
    if (status) return status;
    o->rows = info->rows, o->cols = info->cols, o->nnz = info->nnz;
    return DCSR_OK;
}

static int run_on_parts(cli_state *cli, outcome *o, dcsr_matrix **matrix, int n)
{
    parts_product p = {.last = n - 1, .type = o->type};
    dcsr_multi_view_info info;
    int status = CLI_DONE;
    for (int k = 0; k < n && !status; k++)
        status = cli_parts_make(cli, &p.matrix[k], &p.view[k], &matrix[k], DCSR_VIEW_SORTED);
    if (!status)
        status = cli_measure(cli, &(cli_measured){"product", settings.repeat, true, multiply_parts, &p},
                             &o->seconds);
    if (!status && look_at_parts(o, &info, p.C)) status = cli_fail_library(cli);
    if (!status) status = print(cli, o, &info);
    dcsr_multi_matrix_destroy(p.C);
    for (int k = 0; k < n; k++) {
        dcsr_multi_view_destroy(p.view[k]);
        dcsr_multi_matrix_destroy(p.matrix[k]);
    }
    return status;
}

/* ---- Either ---- */

static int run_products(cli_state *cli, dcsr_matrix **matrix, dcsr_view **view, int n)
{
    dcsr_view_info a, b;
    outcome o = {0};
    if (dcsr_view_get_info(view[0], &a) || dcsr_view_get_info(view[n - 1], &b) ||
        count_products(&o.products, view[0], view[n - 1]))
        return cli_fail_library(cli);
    o.type = result_type(a.type, b.type);
    if (!cli->multi) return run_on_one(cli, &o, view[0], view[n - 1]);
    for (int k = 0; k < n; k++) {
        dcsr_view_destroy(view[k]);
        view[k] = NULL;
    }
    return run_on_parts(cli, &o, matrix, n);
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
    if (!status) status = run_products(cli, matrix, view, n);
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
            "B has real ones. A pattern matrix has the value 1. A product counts as two operations. On "
            "several devices "
            "each time is that of a new C.\n\n"
            "Example:\n  dcsr spgemm poisson3d27:60 --repeat 10\n",
    .least = 1,
    .most = 2,
    .several = true,
    .options = options,
    .take = take,
    .run = run_spgemm,
};
