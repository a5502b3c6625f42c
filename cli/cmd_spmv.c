/* cmd_spmv.c: `dcsr spmv`: y = A x, timed, with a checksum that any implementation can be held against. */
#include "cli/cli.h"
#include <dcsr/mxv.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_KERNEL = 1, KEY_REPEAT, MOST_REPEATS = 100000 };

/* How a kernel sees the matrix. */
typedef struct kernel {
    const char *name;
    dcsr_layout layout;
} kernel;

static const kernel kernels[] = {{"segments", DCSR_LAYOUT_SEGMENTS}, {"csr", DCSR_LAYOUT_CSR}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static struct {
    const kernel *kernel; /* NULL: auto */
    uint64_t repeat;
} settings = {.repeat = 10};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL, "auto|segments|csr", 0,
     "segments walks the store in place, csr has rows gathered first unless they lie in order already "
     "(default auto)",
     0},
    {"repeat", KEY_REPEAT, "R", 0, "Multiply R times after a warm-up; seconds is the median (default 10)", 0},
    CLI_OP_OPTION,
    {0}};

/* NULL for auto. */
static const kernel *kernel_named(const char *name)
{
    for (int k = 0; k < KERNELS; k++)
        if (!strcmp(name, kernels[k].name)) return &kernels[k];
    return NULL;
}

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_KERNEL:
        settings.kernel = kernel_named(value);
        return 0;
    case KEY_REPEAT:
        return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &settings.repeat);
    default:
        return cli_op_take(cli, key, value);
    }
}

/* Of x and y: int64 for matrices of integers and bool, fp64 for pattern and floating point. */
static dcsr_type vector_type(dcsr_type matrix)
{
    return matrix == DCSR_PATTERN || matrix == DCSR_FP32 || matrix == DCSR_FP64 ? DCSR_FP64 : DCSR_INT64;
}

/* x_j = 1 + (j mod 7) */
static dcsr_status make_x(dcsr_vector **x, dcsr_context *context, dcsr_type type, uint64_t n)
{
    void *values;
    dcsr_status status = dcsr_vector_create(x, context, type, n);
    if (!status) status = dcsr_vector_fill(*x, &(int64_t){0}); /* the zero of either type */
    if (!status) status = dcsr_vector_get_values(*x, &values);
    for (uint64_t j = 0; j < n && !status; j++) {
        if (type == DCSR_INT64)
            ((int64_t *)values)[j] = 1 + (int64_t)(j % 7);
        else
            ((double *)values)[j] = 1 + (double)(j % 7);
    }
    return status;
}

/* The sum of the n elements that y has; 8 bytes each. `type` is the matrix's. */
static void put_checksum(cli_report *report, const void *y, dcsr_type type, uint64_t n)
{
    double sum = 0;
    uint64_t whole = 0; /* wraps around as the product does */
    for (uint64_t i = 0; i < n; i++) {
        if (vector_type(type) == DCSR_INT64) {
            whole += (uint64_t)((const int64_t *)y)[i];
        } else {
            sum += ((const double *)y)[i];
        }
    }
    if (type == DCSR_PATTERN) whole = (uint64_t)sum;
    if (vector_type(type) == DCSR_FP64 && type != DCSR_PATTERN) {
        cli_put_real(report, "checksum", NULL, sum, "");
        cli_put_line(report, "checksum", "%.15g", sum);
    } else {
        cli_put_integer(report, "checksum", (int64_t)whole);
        cli_put_line(report, "checksum", "%lld", (long long)whole);
    }
}

/* Walking segments costs nothing up front, gathering a CSR some products; so segments, unless rows are in
 * many pieces. */
static const kernel *choose(const dcsr_view_info *segments, const dcsr_matrix_info *info)
{
    double pieces = (double)segments->segments / (double)(segments->rows ? segments->rows : 1);
    bool many = pieces > 1.5 && settings.repeat > 4;
    return info->unresolved_rows || !many ? &kernels[0] : &kernels[1];
}

typedef struct product {
    dcsr_vector *y, *x;
    dcsr_view *A;
    dcsr_type type;
} product;

static dcsr_status multiply(void *user)
{
    const product *p = user;
    return dcsr_mxv(p->y, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, p->type), p->A, p->x, NULL);
}

/* Bytes that the product has to move at least: each entry once, the row table once, x and y once. The table
 * is the offsets for CSR; for segments 5 bytes a row (length, marks) and 8 a segment (where it begins). */
static double bytes_moved(const dcsr_view_info *info)
{
    double entry = 4 + (double)dcsr_type_size(info->type);
    double table = info->layout == DCSR_LAYOUT_CSR ? 8.0 * (double)(info->rows + 1)
                                                   : 5.0 * (double)info->rows + 8.0 * (double)info->segments;
    return (double)info->nnz * entry + table + 8.0 * (double)(info->rows + info->cols);
}

static int print(cli_state *cli, const kernel *used, const dcsr_view_info *info, const void *y, uint64_t n,
                 double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "kernel", "kernel", used->name);
    cli_put_count(&report, "nnz", "nonzeros", info->nnz);
    cli_put_count(&report, "segments", "segments", info->segments);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_real(&report, "gflops", "speed", 2.0 * (double)info->nnz / seconds * 1e-9, "GFLOP/s");
    cli_put_real(&report, "gbytes_per_second", "memory traffic", bytes_moved(info) / seconds * 1e-9, "GB/s");
    put_checksum(&report, y, info->type, n);
    return cli_report_print(&report);
}

/* The view that the kernel reads, and its figures. */
static dcsr_status open_view(dcsr_view **view, dcsr_view_info *info, dcsr_matrix *matrix, const kernel **used)
{
    dcsr_matrix_info store;
    dcsr_layout layout = settings.kernel ? settings.kernel->layout : DCSR_LAYOUT_SEGMENTS;
    *used = settings.kernel;
    dcsr_status status = dcsr_view_create(view, matrix, layout, 0);
    if (!status) status = dcsr_view_get_info(*view, info);
    if (status || *used) return status;
    status = dcsr_matrix_get_info(matrix, &store);
    if (status) return status;
    *used = choose(info, &store);
    if ((*used)->layout == layout) return DCSR_OK;
    dcsr_view_destroy(*view);
    *view = NULL;
    status = dcsr_view_create(view, matrix, (*used)->layout, 0);
    return status ? status : dcsr_view_get_info(*view, info);
}

/* Multiplies and reports. */
static int run_products(cli_state *cli, const kernel *used, const dcsr_view_info *info, dcsr_view *view)
{
    dcsr_type type = vector_type(info->type);
    dcsr_vector *x = NULL, *y = NULL;
    double seconds = 0;
    uint64_t n = 0;
    int status = CLI_DONE;
    void *values = malloc((info->rows + 1) * dcsr_type_size(type));
    if (!values)
        status = cli_fail(cli, "out of memory for a vector of %llu numbers", (unsigned long long)info->rows);
    else if (make_x(&x, cli->context, type, info->cols) ||
             dcsr_vector_create(&y, cli->context, type, info->rows))
        status = cli_fail_library(cli);
    else
        status = cli_measure(
            cli, &(cli_measured){"product", settings.repeat, true, multiply, &(product){y, x, view, type}},
            &seconds);
    if (!status && dcsr_vector_get_entries(y, info->rows, NULL, values, &n)) status = cli_fail_library(cli);
    if (!status) status = print(cli, used, info, values, n, seconds);
    dcsr_vector_destroy(y);
    dcsr_vector_destroy(x);
    free(values);
    return status;
}

static int run_spmv(cli_state *cli)
{
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    dcsr_view_info info = {0};
    const kernel *used = NULL;
    int status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (status) return status;
    if (open_view(&view, &info, matrix, &used))
        status = cli_fail_library(cli);
    else
        status = run_products(cli, used, &info, view);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_spmv_command = {
    .name = "spmv",
    .arguments = "MATRIX",
    .summary = "Multiply a matrix with a vector, timed",
    .help = "x_j is 1 + (j mod 7) and the checksum the sum of y. A pattern matrix has the value 1. GB/s "
            "counts each entry, "
            "the row table, x and y once.\n\n"
            "Example:\n  dcsr spmv poisson3d27:60 --kernel csr --repeat 50\n",
    .least = 1,
    .most = 1,
    .options = options,
    .take = take,
    .run = run_spmv,
};
