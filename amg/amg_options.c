/* amg_options.c: the options of multigrid, in one table. */
#include "amg/hierarchy.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { REAL, WHOLE, CHOICE } kind;

/* A choice is stored as its place in `values`. */
typedef struct entry {
    size_t offset;
    kind kind;
    double least, most;
    dcsr_amg_option option;
} entry;

/* Of the field of the same name. */
#define A_CHOICE(name)             offsetof(dcsr_i_amg_options, name), CHOICE, 0, 0
#define A_REAL(name, least, most)  offsetof(dcsr_i_amg_options, name), REAL, least, most
#define A_WHOLE(name, least, most) offsetof(dcsr_i_amg_options, name), WHOLE, least, most
static const entry table[] = {
    {A_CHOICE(solver),
     {"solver", "auto|cg|bicgstab|fgmres|none", "auto",
      "the Krylov method; auto: cg for symmetric matrices, fgmres for others; none: cycles alone"}},
    {A_REAL(tolerance, 0, 1), {"tolerance", "0 to 1", "1e-8", "the residual to reach, relative to b"}},
    {A_WHOLE(iterations, 0, 1000000), {"iterations", "0 to 1000000", "200", "the most iterations"}},
    {A_WHOLE(restart, 1, 1000), {"restart", "1 to 1000", "30", "iterations after which fgmres begins anew"}},
    {A_CHOICE(cycle),
     {"cycle", "V|W|K", "W", "how often a level visits the next: once, twice, twice with the best steps"}},
    {A_CHOICE(smoother),
     {"smoother", "auto|chebyshev|jacobi|l1|gauss-seidel", "auto",
      "what smooths errors; auto: chebyshev for symmetric matrices, jacobi for others"}},
    {A_WHOLE(steps, 1, 10),
     {"steps", "1 to 10", "2", "steps of the smoother before and after each visit; of chebyshev the degree"}},
    {A_CHOICE(precision),
     {"precision", "fp64|fp32", "fp64", "of the levels as cycles read them; the Krylov method is in fp64"}},
    {A_REAL(interval, 1.1, 1000),
     {"interval", "1.1 to 1000", "6", "chebyshev smooths eigenvalues from rho / interval to rho"}},
    {A_REAL(strength, 0, 1),
     {"strength", "0 to 1", "0.01", "entries are strong where |a_ij| > strength sqrt |a_ii a_jj|"}},
    {A_WHOLE(block, 1, 64),
     {"block", "1 to 64", "1", "rows a node: unknowns of one point follow one another"}},
    {A_REAL(omega, 0, 2),
     {"omega", "0 to 2", "1.3333333333333333", "P = (1 - omega / rho D^-1 A) T; 0: no smoothing of P"}},
    {A_WHOLE(lanczos, 2, 50),
     {"lanczos", "2 to 50", "8", "steps that estimate rho; the second tells whether A is symmetric"}},
    {A_WHOLE(levels, 1, 40), {"levels", "1 to 40", "20", "the most levels"}},
    {A_WHOLE(coarse_rows, 1, 2000),
     {"coarse_rows", "1 to 2000", "150", "a level of that many rows is solved directly"}},
    {A_WHOLE(seed, 0, 1000000000),
     {"seed", "0 to 1000000000", "0", "of the random numbers that decide on aggregates"}},
    {A_CHOICE(rebuild),
     {"rebuild", "auto|never|now", "auto",
      "a setup that an update should have: auto: beside, taken over once ready; now: at once"}},
};
enum { OPTIONS = sizeof table / sizeof *table };

const dcsr_amg_option *dcsr_amg_option_at(uint64_t number)
{
    return number < OPTIONS ? &table[number].option : NULL;
}

/* The place of a word among alternatives a|b|c; -1: it is none of them. */
static int64_t place_of(const char *word, const char *alternatives)
{
    size_t length = strlen(word);
    for (int64_t place = 0;; place++) {
        size_t here = strcspn(alternatives, "|");
        if (here == length && !strncmp(word, alternatives, here)) return place;
        if (!alternatives[here]) return -1;
        alternatives += here + 1;
    }
}

double dcsr_i_amg_number(const char *text, const char **end)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    char *behind;
    const double number = plain ? strtod_l(text, &behind, plain) : strtod(text, &behind);
    if (plain) freelocale(plain);
    *end = behind;
    return number;
}

static bool read_value(dcsr_i_amg_options *options, const entry *e, const char *value)
{
    void *field = (char *)options + e->offset;
    if (e->kind == CHOICE) {
        int64_t place = place_of(value, e->option.values);
        if (place >= 0) *(int64_t *)field = place;
        return place >= 0;
    }
    const char *end;
    const double number = dcsr_i_amg_number(value, &end);
    if (end == value || *end || !(number >= e->least && number <= e->most)) return false;
    if (e->kind == REAL) {
        *(double *)field = number;
        return true;
    }
    if (number != floor(number)) return false;
    *(int64_t *)field = (int64_t)number;
    return true;
}

void dcsr_i_amg_options_default(dcsr_i_amg_options *options)
{
    for (int o = 0; o < OPTIONS; o++) read_value(options, &table[o], table[o].option.standard);
}

dcsr_status dcsr_amg_set(dcsr_amg *amg, const char *name, const char *value)
{
    if (!amg || !name || !value)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg set: %s is NULL",
                                !amg    ? "amg"
                                : !name ? "name"
                                        : "value");
    char all[512] = "";
    for (int o = 0; o < OPTIONS; o++) {
        const dcsr_amg_option *option = &table[o].option;
        if (!strcmp(name, option->name)) {
            if (read_value(&amg->options, &table[o], value)) return DCSR_OK;
            return dcsr_thread_fail(
                DCSR_ERROR_INVALID_ARGUMENT, "amg set: '%s' is no value of the option %s, which takes %s%s",
                value, name, table[o].kind == WHOLE ? "a whole number from " : "", option->values);
        }
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, " %s", option->name);
    }
    return dcsr_thread_fail(DCSR_ERROR_NOT_FOUND, "amg set: there is no option '%s'; there are%s", name, all);
}
