/* cmd_spmv.c: `dcsr spmv`: y = A x, timed, with a checksum that any implementation can be held against. */
#include "cli/cli.h"
#include <dcsr/apply.h>
#include <dcsr/extend.h>
#include <dcsr/spmv.h>
#include <dcsr/vector.h>
#include <stdio.h>
#include <string.h>

enum { KEY_KERNEL = 1, KEY_REPEAT, MOST_REPEATS = 100000 };

static struct {
    const char *kernel;
    uint64_t repeat;
} settings = {.kernel = "auto", .repeat = 10};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL,
     "auto|list|segments|csr|shifts|sell|ell|hyb|column_tiles|dictionary|merge|coo|nut|csr_scalar|csr_"
     "vector2|"
     "csr_vector4|csr_vector8|csr_vector16|csr_vector32|csr_dynamic|csr_adaptive|pcsr|sellp|adcsr|hubs|"
     "cusparse_"
     "csr1|"
     "cusparse_csr2|cusparse_coo1|cusparse_coo2",
     0,
     "How to multiply; auto is what should take the least time for this many products, list prints the names "
     "of those "
     "that the device has (default auto)",
     0},
    {"repeat", KEY_REPEAT, "R", 0, "Multiply R times after a warm-up; seconds is the median (default 10)", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_KERNEL:
        settings.kernel = value;
        return 0;
    case KEY_REPEAT:
        return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &settings.repeat);
    default:
        return cli_op_take(cli, key, value);
    }
}

/* ---- Vectors ---- */

/* Elements of a matrix that has been widened: fp64 for a pattern, else of its type. x_j = 1 + (j mod 7). */
static void fill_x(void *x, dcsr_type type, uint64_t n)
{
    for (uint64_t j = 0; j < n; j++) {
        const int value = 1 + (int)(j % 7);
        if (type == DCSR_FP32)
            ((float *)x)[j] = (float)value;
        else if (type == DCSR_FP64 || type == DCSR_PATTERN)
            ((double *)x)[j] = value;
        else
            ((uint64_t *)x)[j] = (uint64_t)value;
    }
}

/* The sum of the n elements of y; `type` is the matrix's. Integers wrap around, as the product does. */
static void put_checksum(cli_report *report, const void *y, dcsr_type type, uint64_t n)
{
    double sum = 0;
    uint64_t whole = 0;
    const bool real = type == DCSR_FP32 || type == DCSR_FP64;
    for (uint64_t i = 0; i < n; i++) {
        if (real)
            sum += type == DCSR_FP32 ? (double)((const float *)y)[i] : ((const double *)y)[i];
        else
            whole += type == DCSR_PATTERN ? (uint64_t)((const double *)y)[i] : ((const uint64_t *)y)[i];
    }
    if (real) {
        cli_put_real(report, "checksum", NULL, sum, "");
        cli_put_line(report, "checksum", "%.15g", sum);
    } else {
        cli_put_integer(report, "checksum", (int64_t)whole);
        cli_put_line(report, "checksum", "%lld", (long long)whole);
    }
}

/* ---- Products ---- */

typedef struct product {
    void *y, *x; /* the values of the vectors, where the matrix is: host memory or the device's */
    dcsr_spmv_plan *plan;
} product;

static dcsr_status multiply(void *user)
{
    const product *p = user;
    return dcsr_spmv_plan_run(p->y, p->plan, p->x);
}

/* A vector of zeros, whose values are lent in host memory. */
static dcsr_status make_vector(dcsr_vector **vector, void **values, dcsr_context *context, dcsr_type type,
                               uint64_t size)
{
    static const uint64_t zero;
    dcsr_status status = dcsr_vector_create(vector, context, type, size);
    if (!status) status = dcsr_vector_set_format(*vector, DCSR_VECTOR_DENSE);
    if (!status) status = dcsr_vector_fill(*vector, &zero);
    if (!status) status = dcsr_vector_get_values(*vector, values);
    return status;
}

/* Bytes that a product in place has to move at least: each entry once, the row table once, x and y once. The table
 * has 5 bytes a row (length, marks) and 8 a segment (where it begins). */
static double bytes_moved(const dcsr_view_info *info)
{
    const double entry = 4 + (double)dcsr_type_size(info->type);
    const double element = info->type == DCSR_PATTERN ? 8 : (double)dcsr_type_size(info->type);
    return (double)info->nnz * entry + 5.0 * (double)info->rows + 8.0 * (double)info->segments +
           element * (double)(info->rows + info->cols);
}

/* `parts` is NULL on one device. */
static int print(cli_state *cli, const dcsr_spmv_plan_info *plan, const dcsr_view_info *info,
                 const dcsr_multi_view_info *parts, const void *y, double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "kernel", "kernel", plan->kernel);
    cli_put_text(&report, "reason", "because", plan->reason);
    if (!parts && !strcmp(settings.kernel, "auto")) cli_put_model(&report);
    cli_put_count(&report, "nnz", "nonzeros", info->nnz);
    cli_put_count(&report, "segments", "segments", info->segments);
    cli_put_bytes(&report, "format_bytes", "format", plan->bytes);
    cli_put_seconds(&report, "build_seconds", "building it", plan->build_seconds);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_real(&report, "gflops", "speed", 2.0 * (double)info->nnz / seconds * 1e-9, "GFLOP/s");
    cli_put_real(&report, "gbytes_per_second", "memory traffic", bytes_moved(info) / seconds * 1e-9, "GB/s");
    put_checksum(&report, y, info->type, info->rows);
    if (parts) cli_put_parts(&report, parts);
    return cli_report_print(&report);
}

/* The operands of a product, as vectors of the context. */
typedef struct operands {
    dcsr_vector *x, *y;
    void *x_values, *y_values; /* in host memory */
} operands;

static dcsr_status make_operands(operands *o, dcsr_context *context, const dcsr_view_info *info)
{
    const dcsr_type type = info->type == DCSR_PATTERN ? DCSR_FP64 : info->type;
    dcsr_status status = make_vector(&o->x, &o->x_values, context, type, info->cols);
    if (!status) status = make_vector(&o->y, &o->y_values, context, type, info->rows);
    if (!status) fill_x(o->x_values, info->type, info->cols);
    return status;
}

/* Multiplies, with the values where the matrix is, so that no copy is timed. */
static int time_products(cli_state *cli, dcsr_spmv_plan *plan, operands *o, double *seconds)
{
    dcsr_context_info context;
    product p = {o->y_values, o->x_values, plan};
    if (dcsr_context_get_info(cli->context, &context)) return cli_fail_library(cli);
    if (context.device == DCSR_DEVICE_CUDA &&
        (dcsr_vector_get_values_on_device(o->x, &p.x) || dcsr_vector_get_values_on_device(o->y, &p.y)))
        return cli_fail_library(cli);
    const int status =
        cli_measure(cli, &(cli_measured){"product", settings.repeat, true, multiply, &p}, seconds);
    if (status) return status;
    return dcsr_vector_get_values(o->y, &o->y_values) ? cli_fail_library(cli) : CLI_DONE;
}

/* Multiplies and reports. */
static int run_products(cli_state *cli, dcsr_spmv_plan *plan, const dcsr_view_info *info)
{
    dcsr_spmv_plan_info used;
    operands o = {0};
    double seconds = 0;
    int status = make_operands(&o, cli->context, info) ? cli_fail_library(cli)
                                                       : time_products(cli, plan, &o, &seconds);
    if (!status && dcsr_spmv_plan_get_info(plan, &used)) status = cli_fail_library(cli);
    if (!status) status = print(cli, &used, info, NULL, o.y_values, seconds);
    dcsr_vector_destroy(o.x);
    dcsr_vector_destroy(o.y);
    return status;
}

static int list_kernels(cli_state *cli)
{
    dcsr_context_info info;
    const dcsr_spmv_kernel *kernel;
    cli_report report;
    if (dcsr_context_get_info(cli->context, &info)) return cli_fail_library(cli);
    if (!cli->json) {
        for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(info.device, k)); k++) puts(kernel->name);
        return cli_flush(cli);
    }
    cli_report_begin(&report, cli);
    cli_put_list(&report, "kernels");
    for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(info.device, k)); k++) {
        cli_begin_item(&report, "kernels");
        cli_put_text(&report, "name", NULL, kernel->name);
        cli_put_text(&report, "summary", NULL, kernel->summary);
        cli_end_item(&report);
    }
    return cli_report_print(&report);
}

/* Integers of fewer bytes, and bool, become int64, so that sums are what they are, and not what fits. */
static dcsr_status widen(dcsr_matrix **matrix, const cli_state *cli)
{
    dcsr_matrix_info info;
    dcsr_matrix *wide;
    dcsr_view *view;
    dcsr_status status = dcsr_matrix_get_info(*matrix, &info);
    if (status || info.type == DCSR_PATTERN || info.type == DCSR_FP32 || dcsr_type_size(info.type) == 8)
        return status;
    status = dcsr_matrix_create(&wide, cli->context, DCSR_INT64, info.rows, info.cols, NULL);
    if (status) return status;
    status = dcsr_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status)
        status = dcsr_matrix_apply(wide, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_INT64), view,
                                   NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(status ? wide : *matrix);
    if (!status) *matrix = wide;
    return status;
}

/* ---- Several devices ---- */

typedef struct parts_product {
    dcsr_multi_view *A;
    dcsr_multi_vector *y, *x;
} parts_product;

static dcsr_status multiply_parts(void *user)
{
    const parts_product *p = user;
    return dcsr_multi_spmv(p->y, p->A, p->x, NULL);
}

/* y and x in parts; `values` has room for either. */
static dcsr_status make_parts_operands(parts_product *p, const dcsr_multi_view_info *info, void *values)
{
    const dcsr_type type = info->type == DCSR_PATTERN ? DCSR_FP64 : info->type;
    dcsr_status status = dcsr_multi_vector_create(&p->y, p->A, type, false);
    if (!status) status = dcsr_multi_vector_create(&p->x, p->A, type, true);
    if (status) return status;
    fill_x(values, info->type, info->cols);
    return dcsr_multi_vector_from_array(p->x, values);
}

static int multiply_on_parts(cli_state *cli, parts_product *p, dcsr_multi_matrix *parts)
{
    /* What dcsr_spmv() does with a view of this layout. */
    static const dcsr_spmv_plan_info used = {.kernel = "segments",
                                             .reason = "each device multiplies its rows where they are"};
    static const uint64_t zero;
    dcsr_multi_matrix_info stored;
    dcsr_multi_view_info info;
    double seconds;
    if (dcsr_multi_view_get_info(p->A, &info) || dcsr_multi_matrix_get_info(parts, &stored))
        return cli_fail_library(cli);
    const uint64_t room = info.rows > info.cols ? info.rows : info.cols;
    void *values = dcsr_context_allocate(cli->context, room, sizeof(double));
    int status = !values || make_parts_operands(p, &info, values)
                     ? cli_fail_library(cli)
                     : cli_measure(cli, &(cli_measured){"product", settings.repeat, true, multiply_parts, p},
                                   &seconds);
    if (!status && dcsr_multi_vector_to_array(p->y, &zero, values)) status = cli_fail_library(cli);
    const dcsr_view_info whole = {.type = info.type,
                                  .rows = info.rows,
                                  .cols = info.cols,
                                  .nnz = info.nnz,
                                  .segments = stored.whole.segments};
    if (!status) status = print(cli, &used, &whole, &info, values, seconds);
    dcsr_context_free(cli->context, values, room, sizeof(double));
    return status;
}

static int run_on_parts(cli_state *cli, dcsr_matrix **matrix)
{
    parts_product p = {0};
    dcsr_multi_matrix *parts = NULL;
    int status = cli_parts_make(cli, &parts, &p.A, matrix, 0);
    if (!status) status = multiply_on_parts(cli, &p, parts);
    dcsr_multi_vector_destroy(p.x);
    dcsr_multi_vector_destroy(p.y);
    dcsr_multi_view_destroy(p.A);
    dcsr_multi_matrix_destroy(parts);
    return status;
}

static int run_on_one(cli_state *cli, dcsr_matrix *matrix)
{
    dcsr_view *view = NULL;
    dcsr_spmv_plan *plan = NULL;
    dcsr_view_info info = {0};
    const dcsr_spmv_options chosen = {.kernel = settings.kernel, .products = settings.repeat + 1};
    const int status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0) ||
                               dcsr_view_get_info(view, &info) || dcsr_spmv_plan_create(&plan, view, &chosen)
                           ? cli_fail_library(cli)
                           : run_products(cli, plan, &info);
    dcsr_spmv_plan_destroy(plan);
    dcsr_view_destroy(view);
    return status;
}

static int run_spmv(cli_state *cli)
{
    dcsr_matrix *matrix = NULL;
    int status = strcmp(settings.kernel, "auto") ? cli_parts_refuse(cli, "--kernel") : CLI_DONE;
    if (status) return status;
    if (!strcmp(settings.kernel, "list")) return list_kernels(cli);
    if (!cli->argument_count) return cli_usage(cli, "spmv needs MATRIX, or --kernel list");
    status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status && widen(&matrix, cli)) status = cli_fail_library(cli);
    if (!status) status = cli->multi ? run_on_parts(cli, &matrix) : run_on_one(cli, matrix);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_spmv_command = {
    .name = "spmv",
    .arguments = "MATRIX",
    .summary = "Multiply a matrix with a vector, timed",
    .help =
        "x_j is 1 + (j mod 7) and the checksum the sum of y; bool and integers are multiplied as int64, a "
        "pattern matrix "
        "has the value 1. GB/s counts each entry, the row table, x and y once, as they are in the store.\n\n"
        "Example:\n  dcsr spmv poisson3d27:60 --kernel csr --repeat 50\n",
    .least = 0,
    .most = 1,
    .several = true,
    .options = options,
    .take = take,
    .run = run_spmv,
};
