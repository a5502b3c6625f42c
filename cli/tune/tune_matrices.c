/* tune_matrices.c: the matrices on which kernels are measured: stencils, random graphs, bands, power laws, blocks, of
 * many sizes; and of each, as Dufrechou et al. do, one with columns left out and the transpose of that, so that there
 * are tall and wide ones. */
#include "cli/tune/tune.h"
#include <math.h>
#include <string.h>

enum { VARIANTS = 3 };
/* The number of sizes, and the least and the most entries; small matrices leave a GPU idle. */
static const struct {
    uint64_t sizes;
    double least, most;
} scales[TUNE_SCALES] = {{3, 2e3, 2e5}, {20, 2e3, 5e6}, {20, 1e5, 2e7}};

/* Numbers that follow from a seed (SplitMix64). */
typedef struct dice {
    uint64_t state;
} dice;

static uint64_t bits(dice *d)
{
    uint64_t x = d->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double uniform(dice *d)
{
    return (double)(bits(d) >> 11) * 0x1p-53;
}

/* From least to most, all orders of magnitude alike. */
static double between(dice *d, double least, double most)
{
    return least * pow(most / least, uniform(d));
}

static uint64_t below(dice *d, uint64_t n)
{
    return (uint64_t)(uniform(d) * (double)n);
}

/* ---- Families ---- */

/* A family makes about nnz entries, and notes its parameters in `text`. */
typedef dcsr_status maker(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text,
                          bool name_only);

static dcsr_status generate(dcsr_coo *coo, dcsr_context *context, const char *text, bool name_only)
{
    return name_only ? DCSR_OK : dcsr_coo_generate(coo, context, text);
}

static dcsr_status poisson(dcsr_coo *coo, dcsr_context *context, int dimension, int points, double nnz,
                           char *text, bool name_only)
{
    const uint64_t n = (uint64_t)fmax(2, round(pow(nnz / points, 1.0 / dimension)));
    snprintf(text, TUNE_NAME, "poisson%dd%d:%llu", dimension, points, (unsigned long long)n);
    return generate(coo, context, text, name_only);
}

#define POISSON(dimension, points)                                                                  \
    static dcsr_status poisson##dimension##d##points(dcsr_coo *coo, dcsr_context *context, dice *d, \
                                                     double nnz, char *text, bool name_only)        \
    {                                                                                               \
        (void)d;                                                                                    \
        return poisson(coo, context, dimension, points, nnz, text, name_only);                      \
    }
POISSON(2, 5)
POISSON(2, 9)
POISSON(3, 7)
POISSON(3, 27)
#undef POISSON

static dcsr_status rmat(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text, bool name_only)
{
    const double factor = between(d, 4, 32);
    const int scale = (int)fmax(4, round(log2(nnz / factor)));
    snprintf(text, TUNE_NAME, "rmat:%d,%d,%llu", scale, (int)fmax(1, round(nnz / ldexp(1, scale))),
             (unsigned long long)below(d, 1000000));
    return generate(coo, context, text, name_only);
}

static dcsr_status uniform_entries(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text,
                                   bool name_only)
{
    const double degree = between(d, 1.5, 60);
    snprintf(text, TUNE_NAME, "er:%llu,%llu,%llu", (unsigned long long)(nnz / degree + 2),
             (unsigned long long)nnz, (unsigned long long)below(d, 1000000));
    return generate(coo, context, text, name_only);
}

/* Entries that a function draws one by one for a square matrix. */
typedef struct drawn {
    uint64_t n, nnz;
    double a, b; /* parameters of the family */
    void (*draw)(const struct drawn *of, dice *d, uint64_t e, uint64_t *row, uint64_t *col);
} drawn;

static dcsr_status draw_entries(dcsr_coo *coo, dcsr_context *context, dice *d, const drawn *of,
                                bool name_only)
{
    if (name_only) return DCSR_OK;
    dcsr_status status = dcsr_coo_allocate(coo, context, DCSR_PATTERN, of->n, of->n, of->nnz);
    for (uint64_t e = 0; e < of->nnz && !status; e++)
        of->draw(of, d, e, &coo->row_indices[e], &coo->col_indices[e]);
    return status;
}

/* Rows of alike many entries, at random within `a` columns of the diagonal. */
static void draw_banded(const drawn *of, dice *d, uint64_t e, uint64_t *row, uint64_t *col)
{
    *row = e % of->n;
    const double at = (double)*row + of->a * (2 * uniform(d) - 1);
    *col = (uint64_t)fmin(fmax(at, 0), (double)(of->n - 1));
}

static dcsr_status banded(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text,
                          bool name_only)
{
    const double degree = between(d, 2, 50);
    drawn of = {.n = (uint64_t)(nnz / degree + 2), .nnz = (uint64_t)nnz, .draw = draw_banded};
    of.a = between(d, 2 * degree, fmax(3 * degree, (double)of.n / 4));
    snprintf(text, TUNE_NAME, "banded:%llu,%llu,%.0f", (unsigned long long)of.n, (unsigned long long)of.nnz,
             of.a);
    return draw_entries(coo, context, d, &of, name_only);
}

/* The lengths of rows, and of columns where b is above 1, follow a power law; which are long is scattered by a
 * multiplication. */
static void draw_power(const drawn *of, dice *d, uint64_t e, uint64_t *row, uint64_t *col)
{
    (void)e;
    const uint64_t odd = UINT64_C(0x9e3779b1);
    *row = (uint64_t)((double)of->n * pow(uniform(d), of->a)) * odd % of->n;
    *col = (uint64_t)((double)of->n * pow(uniform(d), of->b)) * odd % of->n;
}

static dcsr_status power_law(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text,
                             bool name_only)
{
    const double degree = between(d, 2, 40);
    const drawn of = {.n = (uint64_t)(nnz / degree + 2),
                      .nnz = (uint64_t)nnz,
                      .a = 1 + 3 * uniform(d),
                      .b = below(d, 2) ? 1 : 1 + 3 * uniform(d),
                      .draw = draw_power};
    snprintf(text, TUNE_NAME, "power:%llu,%llu,%.2f,%.2f", (unsigned long long)of.n,
             (unsigned long long)of.nnz, of.a, of.b);
    return draw_entries(coo, context, d, &of, name_only);
}

/* Dense blocks of a by a, at random places; each block row has about as many. */
static void draw_blocks(const drawn *of, dice *d, uint64_t e, uint64_t *row, uint64_t *col)
{
    const uint64_t side = (uint64_t)of->a, blocks = of->n / side, within = e % (side * side);
    const uint64_t block = e / (side * side);
    dice of_block = {block * UINT64_C(0x2545f4914f6cdd1d) + (uint64_t)of->b};
    (void)d;
    *row = block % blocks * side + within / side;
    *col = below(&of_block, blocks) * side + within % side;
}

static dcsr_status blocks(dcsr_coo *coo, dcsr_context *context, dice *d, double nnz, char *text,
                          bool name_only)
{
    const uint64_t side = 2 + below(d, 15), across = 1 + below(d, 6),
                   n = (uint64_t)nnz / side / across + side;
    const drawn of = {.n = n / side * side,
                      .nnz = (uint64_t)nnz / side / side * side * side,
                      .a = (double)side,
                      .b = (double)below(d, 1000000),
                      .draw = draw_blocks};
    snprintf(text, TUNE_NAME, "blocks:%llu,%llu,%.0f,%.0f", (unsigned long long)of.n,
             (unsigned long long)of.nnz, of.a, of.b);
    return draw_entries(coo, context, d, &of, name_only);
}

static const struct {
    const char *name;
    maker *make;
} families[] = {{"2D 5-point", poisson2d5},
                {"2D 9-point", poisson2d9},
                {"3D 7-point", poisson3d7},
                {"3D 27-point", poisson3d27},
                {"R-MAT", rmat},
                {"uniform", uniform_entries},
                {"banded", banded},
                {"power law", power_law},
                {"blocks", blocks}};
enum { FAMILIES = sizeof families / sizeof *families };

/* ---- Variants ---- */

/* How many columns variants 1 and 2 keep: a share between 0.0003 and 1 in the collection of Dufrechou et al.; here no
 * fewer than leave a hundredth, as the entries shrink with them. */
static uint64_t columns_kept(dice *d, uint64_t cols)
{
    const uint64_t kept = (uint64_t)((double)cols * (0.01 + 0.99 * uniform(d)));
    return kept ? kept : 1;
}

/* The values that a matrix gets: its own, a few distinct ones, or all distinct. */
typedef struct value_kind {
    bool own;
    uint64_t distinct; /* 0: all */
} value_kind;

static void put_value(dcsr_coo *to, uint64_t e, const dcsr_coo *from, uint64_t of, const value_kind *kind,
                      dice *d)
{
    const double value = kind->own ? from->type == DCSR_INT64 ? (double)((const int64_t *)from->values)[of]
                                                              : ((const double *)from->values)[of]
                         : kind->distinct ? (double)(1 + below(d, kind->distinct))
                                          : 0.5 + uniform(d);
    if (to->type == DCSR_FP64) ((double *)to->values)[e] = value;
    if (to->type == DCSR_FP32) ((float *)to->values)[e] = (float)value;
}

/* The variant of `from`, with values of a type. */
static dcsr_status make_variant(dcsr_coo *to, dcsr_context *context, const dcsr_coo *from, int variant,
                                dcsr_type type, const value_kind *kind, dice *d)
{
    const uint64_t kept = variant ? columns_kept(d, from->cols) : from->cols;
    const bool transposed = variant == 2;
    uint64_t n = 0;
    dcsr_status status = dcsr_coo_allocate(to, context, type, transposed ? kept : from->rows,
                                           transposed ? from->rows : kept, from->nnz);
    if (status) return status;
    for (uint64_t e = 0; e < from->nnz; e++) {
        if (from->col_indices[e] >= kept) continue;
        to->row_indices[n] = transposed ? from->col_indices[e] : from->row_indices[e];
        to->col_indices[n] = transposed ? from->row_indices[e] : from->col_indices[e];
        put_value(to, n++, from, e, kind, d);
    }
    status = dcsr_coo_resize(to, n);
    if (status) dcsr_coo_free(to);
    return status;
}

static dcsr_type type_of(dice *d)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP64, DCSR_FP64, DCSR_FP32, DCSR_PATTERN};
    return types[below(d, sizeof types / sizeof *types)];
}

static void name_variant(tune_matrix *matrix, const char *base, int variant, dcsr_type type)
{
    static const char *const words[VARIANTS] = {"", ", fewer columns", ", fewer columns, transposed"};
    snprintf(matrix->name, sizeof matrix->name, "%.100s %s%s%s", base, dcsr_type_name(type), words[variant],
             matrix->fragmented ? ", in pieces" : "");
}

/* ---- The collection ---- */

uint64_t tune_collection_size(tune_scale scale)
{
    return (uint64_t)FAMILIES * VARIANTS * scales[scale].sizes;
}

dcsr_status tune_collection_make(dcsr_context *context, tune_matrix *matrix, uint64_t number,
                                 tune_scale scale, uint64_t seed, bool name_only)
{
    enum { STRIDE = 77 }; /* has no factor in common with the numbers of bases, 27 and 180 */
    const uint64_t sizes = scales[scale].sizes, base = number / VARIANTS * STRIDE % (FAMILIES * sizes),
                   family = base % FAMILIES, size = base / FAMILIES;
    const int variant = (int)(number % VARIANTS);
    dice of_base = {seed * 1000003 + base},
         of_variant = {seed * 1000003 + ((base * VARIANTS + (uint64_t)variant) << 32)};
    const double least = scales[scale].least,
                 nnz = least *
                       pow(scales[scale].most / least, ((double)size + uniform(&of_base)) / (double)sizes);
    const dcsr_type type = type_of(&of_variant);
    char text[TUNE_NAME];
    dcsr_coo coo = {0};
    *matrix = (tune_matrix){.family = families[family].name, .fragmented = !below(&of_variant, 6)};
    dcsr_status status = families[family].make(&coo, context, &of_base, nnz, text, name_only);
    name_variant(matrix, text, variant, type);
    const bool several = below(&of_variant, 2);
    const value_kind kind = {several && coo.values, several ? 1 + below(&of_variant, 300) : 0};
    if (!status && !name_only)
        status = make_variant(&matrix->coo, context, &coo, variant, type, &kind, &of_variant);
    dcsr_coo_free(&coo);
    return status;
}

int tune_users_make(cli_state *cli, tune_matrix *matrix, const dcsr_coo *coo, const char *source, int variant,
                    uint64_t seed)
{
    dice d = {seed * 1000003 + (uint64_t)variant};
    const dcsr_type type = coo->type == DCSR_PATTERN ? DCSR_PATTERN : DCSR_FP64;
    *matrix = (tune_matrix){.family = "user's"};
    name_variant(matrix, source, variant, type);
    return make_variant(&matrix->coo, cli->context, coo, variant, type, &(value_kind){.own = coo->values}, &d)
               ? cli_fail_library(cli)
               : CLI_DONE;
}
