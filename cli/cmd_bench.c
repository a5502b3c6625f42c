/* cmd_bench.c: `dcsr bench`: one operation of the library, timed. */
#include "cli/bench.h"
#include <dcsr/apply.h>
#include <dcsr/vector_ops.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MATRIX = 1, KEY_TYPE, KEY_SEMIRING, KEY_DENSITY, KEY_MASK_DENSITY, KEY_REPEAT };
enum { MOST_REPEATS = 100000, DENSE_COLUMNS = 16 };

static struct {
    const char *matrix, *semiring;
    dcsr_type type;
    double density, mask_density; /* a mask density of 0: no mask */
    uint64_t repeat;
} settings = {
    .matrix = "rmat:16,16", .semiring = "plus_times", .type = DCSR_FP64, .density = 1, .repeat = 10};

static const struct argp_option options[] = {
    {"matrix", KEY_MATRIX, "MATRIX", 0,
     "The matrix; vectors are as long as it has rows or columns (default rmat:16,16)", 0},
    {"type", KEY_TYPE, "bool|int8|int16|int32|int64|uint8|uint16|uint32|uint64|fp32|fp64", 0,
     "The type of all values (default fp64)", 0},
    {"semiring", KEY_SEMIRING, "NAME", 0,
     "Of products: plus_times, min_plus, any_pair, ... (default plus_times)", 0},
    {"density", KEY_DENSITY, "D", 0, "The share of the elements of input vectors that are there (default 1)",
     0},
    {"mask-density", KEY_MASK_DENSITY, "D", 0,
     "Mask the result, where it is a vector or dense, with this share of its elements or rows (default: no "
     "mask)",
     0},
    {"repeat", KEY_REPEAT, "R", 0, "Run R times after a warm-up; seconds is the median (default 10)", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take_share(cli_state *cli, const char *option, const char *value, double *share)
{
    char *end;
    *share = strtod(value, &end);
    if (end != value && !*end && *share > 0 && *share <= 1) return 0;
    cli_usage(cli, "%s must be a number above 0 and at most 1, not '%s'", option, value);
    return EINVAL;
}

static dcsr_type type_named(const char *name)
{
    dcsr_type type = DCSR_PATTERN;
    do type++;
    while (type < DCSR_TYPE_COUNT && strcmp(dcsr_type_name(type), name));
    return type;
}

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_MATRIX:
        settings.matrix = value;
        return 0;
    case KEY_TYPE:
        settings.type = type_named(value);
        return 0;
    case KEY_SEMIRING:
        settings.semiring = value;
        return 0;
    case KEY_DENSITY:
        return take_share(cli, "--density", value, &settings.density);
    case KEY_MASK_DENSITY:
        return take_share(cli, "--mask-density", value, &settings.mask_density);
    case KEY_REPEAT:
        return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &settings.repeat);
    default:
        return cli_op_take(cli, key, value);
    }
}

/* Operands. Functions return the library's status. */

/* splitmix64: the same choice of elements in every run. */
static uint64_t mix(uint64_t i)
{
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}

/* A vector with this share of its elements, all of them 1. */
static dcsr_status make_vector(dcsr_vector **vector, cli_state *cli, uint64_t size, double share,
                               uint64_t seed)
{
    const double one = 1;
    uint64_t *indices = malloc((size + 1) * sizeof *indices), n = 0;
    if (!indices) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < size; i++)
        if ((double)(mix(i ^ seed << 40) >> 11) * 0x1p-53 < share) indices[n++] = i;
    if (!n && size) indices[n++] = size / 2;
    dcsr_status status = dcsr_vector_create(vector, cli->context, settings.type, size);
    if (!status)
        status = dcsr_vector_assign_scalar(*vector, NULL, NULL, &one, DCSR_FP64,
                                           &(dcsr_index_list){indices, n}, NULL);
    free(indices);
    return status;
}

/* Puts in the matrix's place one with values of the type that was asked for. */
static dcsr_status cast_matrix(bench_operands *o, cli_state *cli)
{
    dcsr_matrix *loaded = o->matrix;
    dcsr_view *view = NULL;
    dcsr_status status = dcsr_view_create(&view, loaded, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_view_get_info(view, &o->info);
    if (!status && o->info.type != o->type) {
        status = dcsr_matrix_create(&o->matrix, cli->context, o->type, o->info.rows, o->info.cols, NULL);
        if (!status)
            status = dcsr_matrix_apply(o->matrix, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, o->type),
                                       view, NULL);
        dcsr_matrix_destroy(loaded);
    }
    dcsr_view_destroy(view);
    return status;
}

static dcsr_status make_dense(void **array, const bench_operands *o, uint64_t rows)
{
    *array = calloc(rows * o->columns + 1, dcsr_type_size(o->type));
    return *array ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* The places of every second row. */
static dcsr_status make_places(bench_operands *o)
{
    o->places_n = (o->info.rows + 1) / 2;
    o->places = malloc((o->places_n + 1) * sizeof *o->places);
    if (!o->places) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < o->places_n; k++) o->places[k] = 2 * k;
    return DCSR_OK;
}

static dcsr_status make_operands(bench_operands *o, cli_state *cli, unsigned takes)
{
    /* Products with a vector may go either way, by rows or by columns. */
    const dcsr_layout layout = takes & BENCH_A && takes & BENCH_U ? DCSR_LAYOUT_CSC : DCSR_LAYOUT_SEGMENTS;
    dcsr_status status = cast_matrix(o, cli);
    if (!status) status = dcsr_view_create(&o->A, o->matrix, layout, 0);
    if (!status) status = dcsr_view_get_info(o->A, &o->info);
    const uint64_t rows = o->info.rows, cols = o->info.cols;
    if (!status && takes & BENCH_PLACES) status = make_places(o);
    uint64_t u = takes & BENCH_U_COLUMNS ? cols : rows, w = takes & BENCH_W_COLUMNS ? cols : rows;
    uint64_t height = takes & BENCH_C_TRANSPOSED ? cols : rows;
    const uint64_t width = takes & (BENCH_C_TRANSPOSED | BENCH_C_SQUARE) ? rows : cols;
    if (o->places) w = height = o->places_n;
    if (!status && takes & BENCH_U) status = make_vector(&o->u, cli, u, settings.density, 1);
    if (!status && takes & BENCH_V) status = make_vector(&o->v, cli, u, settings.density, 2);
    if (!status && takes & BENCH_W) status = dcsr_vector_create(&o->w, cli->context, o->type, w);
    if (!status && takes & BENCH_MASK && settings.mask_density > 0)
        status = make_vector(&o->mask, cli, w, settings.mask_density, 3);
    if (!status && takes & BENCH_C)
        status = dcsr_matrix_create(&o->C, cli->context, o->type, height, width, NULL);
    if (!status && takes & BENCH_DENSE) status = make_dense(&o->X, o, cols);
    if (!status && takes & BENCH_DENSE) status = make_dense(&o->Y, o, rows);
    return status;
}

static void free_operands(bench_operands *o)
{
    dcsr_view_destroy(o->A);
    dcsr_matrix_destroy(o->matrix);
    dcsr_matrix_destroy(o->C);
    dcsr_vector_destroy(o->u);
    dcsr_vector_destroy(o->v);
    dcsr_vector_destroy(o->w);
    dcsr_vector_destroy(o->mask);
    free(o->X);
    free(o->Y);
    free(o->places);
}

/* What was done */

/* Elements of a vector, and its bytes: an index of 4 bytes where they are a list. */
static double vector_bytes(const dcsr_vector *vector, uint64_t *elements)
{
    dcsr_vector_info info;
    if (!vector || dcsr_vector_get_info(vector, &info)) return 0;
    const double size = (double)dcsr_type_size(info.type);
    if (elements) *elements += info.nvals;
    return info.format == DCSR_VECTOR_SPARSE ? (double)info.nvals * (4 + size) : (double)info.size * size;
}

typedef struct work {
    uint64_t entries; /* of inputs that were looked at */
    uint64_t out;     /* of the result */
    double bytes;
} work;

static dcsr_status count_work(work *did, const bench_operands *o, const bench_operation *operation)
{
    const unsigned takes = operation->takes;
    const double entry = 4 + (double)dcsr_type_size(o->type), value = (double)dcsr_type_size(o->type);
    *did = (work){.out = 1};
    did->bytes = vector_bytes(o->w, &did->out) + vector_bytes(o->mask, NULL);
    if (o->w) did->out--;
    did->bytes += vector_bytes(o->u, takes & BENCH_A ? NULL : &did->entries);
    did->bytes += vector_bytes(o->v, takes & BENCH_A ? NULL : &did->entries);
    if (takes & BENCH_A) {
        did->entries = o->report.entries ? o->report.entries : o->info.nnz;
        did->bytes += entry * (double)did->entries;
    }
    if (takes & BENCH_DENSE) {
        did->out = o->info.rows * o->columns;
        did->bytes += value * (double)((o->info.rows + o->info.cols) * o->columns);
    }
    if (!o->C) return DCSR_OK;
    dcsr_status status = dcsr_matrix_get_nnz(o->C, &did->out);
    did->bytes += entry * (double)did->out;
    return status;
}

typedef struct running {
    const bench_operation *operation;
    bench_operands *operands;
} running;

static dcsr_status run(void *user)
{
    const running *r = user;
    return r->operation->run(r->operands);
}

static int print(cli_state *cli, const bench_operands *o, const bench_operation *operation, const work *did,
                 double seconds)
{
    static const char *const directions[] = {"-", "push", "pull"};
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "operation", "operation", operation->name);
    cli_put_line(&report, "", "%s", operation->summary);
    cli_put_text(&report, "matrix", "matrix", settings.matrix);
    cli_put_text(&report, "type", "type", dcsr_type_name(o->type));
    cli_put_text(&report, "semiring", o->semiring ? "semiring" : NULL, o->semiring ? settings.semiring : "-");
    cli_put_text(&report, "direction", o->report.direction ? "direction" : NULL,
                 directions[o->report.direction]);
    cli_put_count(&report, "rows", NULL, o->info.rows);
    cli_put_count(&report, "cols", NULL, o->info.cols);
    cli_put_count(&report, "nnz", "nonzeros", o->info.nnz);
    cli_put_count(&report, "entries", "entries read", did->entries);
    cli_put_count(&report, "out", "entries written", did->out);
    cli_put_count(&report, "bytes", NULL, (uint64_t)did->bytes);
    cli_put_count(&report, "repeat", NULL, settings.repeat);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_real(&report, "entries_per_second", NULL, (double)did->entries / seconds, "");
    cli_put_line(&report, "speed", "%.4g million entries/s", 1e-6 * (double)did->entries / seconds);
    cli_put_real(&report, "gbytes_per_second", "memory traffic", 1e-9 * did->bytes / seconds, "GB/s");
    return cli_report_print(&report);
}

static int list(cli_state *cli)
{
    cli_report report;
    cli_report_begin(&report, cli);
    for (const bench_operation *o = bench_operations; o->name; o++)
        cli_put_text(&report, o->name, o->name, o->summary);
    return cli_report_print(&report);
}

static int run_bench(cli_state *cli)
{
    const char *name = cli->arguments[0];
    const bench_operation *operation = bench_operations;
    if (!strcmp(name, "list")) return list(cli);
    while (operation->name && strcmp(operation->name, name)) operation++;
    if (!operation->name)
        return cli_usage(cli, "there is no operation '%s'; 'dcsr bench list' names them", name);
    bench_operands o = {.type = settings.type, .columns = DENSE_COLUMNS};
    if (operation->takes & BENCH_SEMIRING) {
        o.semiring = dcsr_semiring_named(settings.semiring, settings.type);
        if (!o.semiring)
            return cli_usage(cli, "there is no semiring '%s' on %s", settings.semiring,
                             dcsr_type_name(settings.type));
    }
    o.desc.report = &o.report;
    int status = cli_load_matrix(cli, &o.matrix, settings.matrix, NULL);
    if (status) return status;
    work did;
    double seconds = 0;
    dcsr_status made = make_operands(&o, cli, operation->takes);
    if (made == DCSR_ERROR_OUT_OF_MEMORY)
        status = cli_fail(cli, "out of memory for the operands of %s; take a smaller --matrix", name);
    else if (made)
        status = cli_fail_library(cli);
    if (!status)
        status = cli_measure(
            cli, &(cli_measured){"run", settings.repeat, true, run, &(running){operation, &o}}, &seconds);
    if (!status && count_work(&did, &o, operation)) status = cli_fail_library(cli);
    if (!status) status = print(cli, &o, operation, &did, seconds);
    free_operands(&o);
    return status;
}

/* 'list' is one, too. */
static const char *choice(int number)
{
    return number ? bench_operations[number - 1].name : "list";
}

const cli_command cli_bench_command = {
    .name = "bench",
    .arguments = "NAME",
    .summary = "Time one operation of the library",
    .help = "NAME is an operation; 'list' shows them all. Reports the entries of matrices that were looked "
            "at (of operations on vectors, elements), entries a second, and the memory traffic: 4 bytes and "
            "a value for each entry read or written, values of dense vectors, all once. Of products with a "
            "vector also which way they went: push from the entries of the vector, or pull into the elements "
            "of the result.\n\nExample:\n  dcsr bench mxv --matrix rmat:18,16 --density 0.001\n",
    .least = 1,
    .most = 1,
    .options = options,
    .take = take,
    .choice = choice,
    .run = run_bench,
};
