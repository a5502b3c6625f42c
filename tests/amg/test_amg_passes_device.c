/* test_amg_passes_device.c: each pass over the rows of a level on a GPU, beside the cpu's, for both types and all
 * widths; and sweeps beside a loop. */
#include "amg/amg_engine.h"
#include "tests/amg/device.h"

enum { WIDTH = DCSR_I_AMG_MOST_WIDTH, VECTORS = 3 };

/* The vectors x, b and y of a form, with numbers that are the same on all devices. */
typedef struct work {
    dcsr_i_amg_hierarchy *h;
    dcsr_i_amg_level *level;
    dcsr_i_amg_form form;
    dcsr_i_amg_array vector[VECTORS];
    uint64_t rows;
    double sums[2][WIDTH];
} work;

static void *x_of(const work *w)
{
    return w->vector[0].data;
}
static void *b_of(const work *w)
{
    return w->vector[1].data;
}
static void *y_of(const work *w)
{
    return w->vector[2].data;
}

static size_t size_of(dcsr_type type)
{
    return type == DCSR_FP32 ? sizeof(float) : sizeof(double);
}

static void store(void *to, dcsr_type type, uint64_t k, double value)
{
    if (type == DCSR_FP32)
        ((float *)to)[k] = (float)value;
    else
        ((double *)to)[k] = value;
}

/* The hierarchy is opened, until end(). */
static work begin(problem *p, dcsr_type type, int width)
{
    work w = {.h = p->amg->hierarchy};
    w.level = &w.h->level[0];
    w.rows = w.level->rows;
    const uint64_t numbers = w.rows * (uint64_t)width;
    void *values = test_allocate(numbers, sizeof(double));
    TEST_OK(w.h->engine->open(w.h));
    TEST_OK(dcsr_i_amg_make_wide(w.h, WIDTH));
    w.form = w.h->engine->form_of(w.h, type, width);
    for (uint64_t v = 0; v < VECTORS; v++) {
        for (uint64_t k = 0; k < numbers; k++)
            store(values, type, k, (double)((k + 1) * (v + 7) * 2654435761u % 1000) / 500 - 0.9);
        TEST_OK(w.h->engine->take(&w.vector[v], w.h, numbers, size_of(type)));
        w.h->engine->put(w.h, w.vector[v].data, values, numbers * size_of(type));
    }
    free(values);
    return w;
}

/* y, to be freed, of fp64. */
static double *end(work *w)
{
    const uint64_t numbers = w->vector[2].count;
    const dcsr_type type = w->form.type;
    double *y = test_allocate(numbers, sizeof *y);
    void *values = test_allocate(numbers, size_of(type));
    TEST_OK(w->h->engine->get(w->h, values, y_of(w), numbers * size_of(type)));
    for (uint64_t k = 0; k < numbers; k++)
        y[k] = type == DCSR_FP32 ? (double)((float *)values)[k] : ((double *)values)[k];
    free(values);
    for (int v = 0; v < VECTORS; v++) w->h->engine->drop(&w->vector[v], w->h);
    TEST_OK(w->h->engine->close(w->h, "passes"));
    return y;
}

/* ---- Passes ---- */

static const double factors[WIDTH] = {0.5, -2, 3, 0, 1, -1, 0.25, 7},
                    others[WIDTH] = {2, 0, 1, 1, -3, 0.5, 0, 1};

static void multiply(work *w)
{
    w->form.run->multiply(&w->form, &w->level->A.rows, x_of(w), y_of(w));
}
static void restrict_to_next(work *w)
{
    w->form.run->multiply(&w->form, &w->level->R.rows, x_of(w), y_of(w));
}
static void add_product(work *w)
{
    w->form.run->add_product(&w->form, &w->level->P.rows, x_of(w), y_of(w), y_of(w));
}
static void residual(work *w)
{
    w->form.run->residual(&w->form, &w->level->A.rows, x_of(w), b_of(w), y_of(w), w->sums[0]);
}
static void residual_in_place(work *w)
{
    w->form.run->residual(&w->form, &w->level->A.rows, x_of(w), y_of(w), y_of(w), NULL);
}
static void multiply_dot(work *w)
{
    w->form.run->multiply_dot(&w->form, &w->level->A.rows, x_of(w), y_of(w), b_of(w), w->sums[0], w->sums[1]);
}
static void smooth(work *w)
{
    w->form.run->smooth_first(&w->form, w->level, 0.7, b_of(w), x_of(w));
    w->form.run->smooth_step(&w->form, w->level, &(dcsr_i_amg_smoothing){0, 0.6}, b_of(w), x_of(w), y_of(w));
    w->form.run->smooth_step(&w->form, w->level, &(dcsr_i_amg_smoothing){0.3, 0.5}, b_of(w), y_of(w),
                             x_of(w));
    w->form.run->combine(&w->form, w->rows, dcsr_i_amg_one, x_of(w), dcsr_i_amg_one, y_of(w));
}
static void dot(work *w)
{
    w->form.run->dot(&w->form, w->rows, x_of(w), b_of(w), w->sums[0]);
}
static void combine(work *w)
{
    w->form.run->combine(&w->form, w->rows, factors, x_of(w), others, y_of(w));
}
/* What is not a number stays nowhere. */
static void overwrite(work *w)
{
    static const double wild[WIDTH] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    w->form.run->combine(&w->form, w->rows, wild, x_of(w), dcsr_i_amg_zero, y_of(w));
    w->form.run->combine(&w->form, w->rows, factors, x_of(w), dcsr_i_amg_zero, y_of(w));
}
/* Arguments are of fp64; half of the columns are there. */
static void gather(work *w)
{
    if (w->form.type == DCSR_FP32) return;
    w->h->engine->gather(&w->form, y_of(w), x_of(w), w->rows, (w->form.width + 1) / 2);
}
static void scatter(work *w)
{
    if (w->form.type == DCSR_FP32) return;
    w->h->engine->scatter(&w->form, y_of(w), x_of(w), w->rows, (w->form.width + 1) / 2);
}
static void add_norm(work *w)
{
    w->form.run->add_norm(&w->form, w->rows, factors, x_of(w), y_of(w), w->sums[0]);
}
static void add_alone(work *w)
{
    w->form.run->add_norm(&w->form, w->rows, factors, x_of(w), y_of(w), NULL);
}
static void dense(work *w)
{
    const dcsr_i_amg_level *last = &w->h->level[w->h->level_count - 1];
    w->form.run->dense(&w->form, last->rows, last->inverse.data, x_of(w), y_of(w));
}

static void compare(const char *name, const work *here, const work *there, const double *a, const double *b)
{
    const dcsr_i_amg_form *f = &here->form;
    const double close = f->type == DCSR_FP32 ? 1e-4 : 1e-12;
    double most = 0;
    for (uint64_t k = 0; k < here->rows * (uint64_t)f->width; k++) most = fmax(most, fabs(a[k]));
    for (uint64_t k = 0; k < here->rows * (uint64_t)f->width; k++)
        cr_assert(fabs(a[k] - b[k]) <= close * most, "%s, type %d, width %d: number %d is %.17g, not %.17g",
                  name, f->type, f->width, (int)k, b[k], a[k]);
    for (int s = 0; s < 2; s++)
        for (int c = 0; c < f->width; c++)
            cr_assert(fabs(here->sums[s][c] - there->sums[s][c]) <= close * most * most * (double)here->rows,
                      "%s, type %d, width %d: sum %d of column %d is %.17g, not %.17g", name, f->type,
                      f->width, s, c, there->sums[s][c], here->sums[s][c]);
}

static void compare_passes(problem *here, problem *there, const char *settings)
{
    static const struct {
        const char *name;
        void (*run)(work *);
    } passes[] = {
        {"multiply", multiply},
        {"restrict", restrict_to_next},
        {"add_product", add_product},
        {"residual", residual},
        {"residual in place", residual_in_place},
        {"multiply_dot", multiply_dot},
        {"smooth", smooth},
        {"dot", dot},
        {"combine", combine},
        {"overwrite", overwrite},
        {"gather", gather},
        {"scatter", scatter},
        {"add_norm", add_norm},
        {"add", add_alone},
        {"dense", dense},
    };
    problem *const both[] = {here, there};
    for (int k = 0; k < 2; k++) {
        problem_set(both[k], settings);
        TEST_OK(dcsr_amg_setup(both[k]->amg, both[k]->A, NULL));
    }
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (int form = 0; form < 8; form++) {
            work w[2];
            double *y[2];
            for (int k = 0; k < 2; k++) {
                w[k] = begin(both[k], form % 2 ? DCSR_FP32 : DCSR_FP64, 1 << form / 2);
                passes[p].run(&w[k]);
                y[k] = end(&w[k]);
            }
            compare(passes[p].name, &w[0], &w[1], y[0], y[1]);
            free(y[0]);
            free(y[1]);
        }
    problem_end(here);
    problem_end(there);
}

Test(amg_passes_device, passes_are_those_of_the_cpu)
{
    NEEDS_GPU();
    problem here = problem_generated(1, "poisson2d5:17"),
            there = problem_generated(ON_DEVICE, "poisson2d5:17");
    compare_passes(&here, &there, "precision=fp32");
}

/* Longer ones, and an inverse that is larger than a warp. */
Test(amg_passes_device, passes_over_long_rows_are_those_of_the_cpu)
{
    NEEDS_GPU();
    dcsr_dense B[2];
    problem here = problem_elasticity(1, 9, 7, &B[0]), there = problem_elasticity(ON_DEVICE, 9, 7, &B[1]);
    TEST_OK(dcsr_amg_set_nullspace(here.amg, &B[0]));
    TEST_OK(dcsr_amg_set_nullspace(there.amg, &B[1]));
    compare_passes(&here, &there, "block=2 precision=fp32 coarse_rows=60");
    free(B[0].values);
    free(B[1].values);
}

/* ---- Sweeps ---- */

/* The same in a loop over rows, colour after colour; y begins as y, for right-hand sides b. */
static double *expected_sweep(const problem *p, work *w, bool backward)
{
    const uint64_t n = w->rows, colours = w->level->colours.count - 1, width = (uint64_t)w->form.width;
    uint32_t *by_colour = test_allocate(n, sizeof *by_colour);
    uint64_t *begins = test_allocate(colours + 1, sizeof *begins);
    const size_t size = size_of(w->form.type);
    void *values = test_allocate(2 * n * width, size);
    double *x = test_allocate(2 * n * width, sizeof *x), *b = x + n * width;
    TEST_OK(w->h->engine->get(w->h, by_colour, w->level->by_colour.data, n * sizeof *by_colour));
    TEST_OK(w->h->engine->get(w->h, begins, w->level->colours.data, (colours + 1) * sizeof *begins));
    TEST_OK(w->h->engine->get(w->h, values, y_of(w), n * width * size));
    TEST_OK(w->h->engine->get(w->h, (char *)values + n * width * size, b_of(w), n * width * size));
    for (uint64_t k = 0; k < 2 * n * width; k++)
        x[k] = w->form.type == DCSR_FP32 ? (double)((float *)values)[k] : ((double *)values)[k];
    for (uint64_t k = 0; k < colours; k++) {
        const uint64_t colour = backward ? colours - 1 - k : k;
        for (uint64_t at = begins[colour]; at < begins[colour + 1]; at++)
            for (uint64_t c = 0; c < width; c++) {
                const uint64_t i = by_colour[at];
                double left = b[i * width + c], diagonal = 0;
                for (uint64_t e = p->csr.offsets[i]; e < p->csr.offsets[i + 1]; e++) {
                    const double value = ((const double *)p->csr.values)[e];
                    left -= value * x[p->csr.col_indices[e] * width + c];
                    if (p->csr.col_indices[e] == i) diagonal += value;
                }
                x[i * width + c] += left / diagonal;
            }
    }
    free(by_colour);
    free(begins);
    free(values);
    return x;
}

/* Eight columns of the larger one are more than one launch does. */
Test(amg_passes_device, sweeps_go_through_colours_in_order)
{
    NEEDS_GPU();
    static const char *const matrices[] = {"poisson2d5:9", "poisson2d9:25"};
    for (int m = 0; m < 2; m++) {
        problem p = problem_generated(ON_DEVICE, matrices[m]);
        problem_set(&p, "smoother=gauss-seidel precision=fp32 levels=2 coarse_rows=20");
        TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
        for (int form = 0; form < 8; form++)
            for (int backward = 0; backward < 2; backward++) {
                work w = begin(&p, form % 2 ? DCSR_FP32 : DCSR_FP64, 1 << form / 2);
                double *expected = expected_sweep(&p, &w, backward);
                w.form.run->sweep(&w.form, w.level, backward, b_of(&w), y_of(&w));
                double *y = end(&w);
                compare(backward ? "backward" : "forward", &w, &w, expected, y);
                free(expected);
                free(y);
            }
        problem_end(&p);
    }
}
