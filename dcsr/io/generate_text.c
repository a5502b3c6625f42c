/* generate_text.c: a matrix from a text such as rmat:20,16. */
#include <dcsr/generate.h>
#include "dcsr/base/error.h"
#include "dcsr/io/parse.h"
#include <string.h>

enum { MOST_NUMBERS = 3, DEFAULT_SEED = 1 };

typedef struct generator {
    dcsr_generator shown;
    int least, most; /* numbers that may follow */
    dcsr_status (*make)(dcsr_coo *coo, dcsr_context *context, const struct generator *self,
                        const uint64_t *number);
    int dimension, points; /* of a stencil, which has values; else 0 */
} generator;

static dcsr_status make_rmat(dcsr_coo *coo, dcsr_context *context, const generator *self,
                             const uint64_t *number)
{
    (void)self;
    uint64_t scale = number[0] < INT32_MAX ? number[0] : INT32_MAX, edges;
    dcsr_rmat rmat = {.scale = (int)scale, .a = 0.57, .b = 0.19, .c = 0.19, .seed = number[2]};
    if (scale < 64 && !__builtin_mul_overflow(number[1], UINT64_C(1) << scale, &edges))
        return dcsr_coo_generate_rmat(coo, context, &rmat, 0, edges);
    return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "rmat: %llu x 2^%llu edges are more than memory can address",
                       (unsigned long long)number[1], (unsigned long long)number[0]);
}

static dcsr_status make_er(dcsr_coo *coo, dcsr_context *context, const generator *self,
                           const uint64_t *number)
{
    (void)self;
    return dcsr_coo_generate_er(coo, context, number[0], number[0], number[1], number[2]);
}

static dcsr_status make_poisson(dcsr_coo *coo, dcsr_context *context, const generator *self,
                                const uint64_t *number)
{
    return dcsr_coo_generate_poisson(coo, context, self->dimension, self->points, number[0]);
}

static dcsr_status make_path(dcsr_coo *coo, dcsr_context *context, const generator *self,
                             const uint64_t *number)
{
    (void)self;
    return dcsr_coo_generate_path(coo, context, number[0]);
}

static const generator generators[] = {
    {{"rmat", "SCALE,EDGEFACTOR[,SEED]", "rmat:20,16"}, 2, 3, make_rmat, 0, 0},
    {{"er", "ROWS,NNZ[,SEED]", "er:1000,5000"}, 2, 3, make_er, 0, 0},
    {{"poisson2d5", "N", "poisson2d5:100"}, 1, 1, make_poisson, 2, 5},
    {{"poisson2d9", "N", "poisson2d9:100"}, 1, 1, make_poisson, 2, 9},
    {{"poisson3d7", "N", "poisson3d7:30"}, 1, 1, make_poisson, 3, 7},
    {{"poisson3d27", "N", "poisson3d27:30"}, 1, 1, make_poisson, 3, 27},
    {{"path", "N", "path:1000"}, 1, 1, make_path, 0, 0},
};

enum { GENERATORS = sizeof generators / sizeof *generators };

const dcsr_generator *dcsr_generator_at(uint64_t number)
{
    return number < GENERATORS ? &generators[number].shown : NULL;
}

/* What the text begins with, up to the colon; *numbers begin behind that. */
static dcsr_status find_generator(const generator **found, const char **numbers, const char *text)
{
    const size_t length = strcspn(text, ":");
    *numbers = text + length + 1;
    for (size_t i = 0; text[length] && i < GENERATORS; i++) {
        *found = &generators[i];
        const char *name = generators[i].shown.name;
        if (strlen(name) == length && !memcmp(name, text, length)) return DCSR_OK;
    }
    return dcsr_i_fail(
        DCSR_ERROR_NOT_FOUND,
        "%.80s: no generator; there are rmat, er, poisson2d5, poisson2d9, poisson3d7, poisson3d27, path, "
        "each followed by a colon",
        text);
}

static dcsr_status complain(const generator *g, const char *text, const char *why)
{
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%.80s: %s; expected %s:%s, for example %s", text, why,
                       g->shown.name, g->shown.numbers, g->shown.example);
}

/* The numbers after the colon. */
static dcsr_status read_numbers(const generator *g, const char *text, const char *p,
                                uint64_t number[MOST_NUMBERS])
{
    static const char *const missing[] = {"a number is missing after the colon",
                                          "the second number is missing", "the third number is missing"};
    int count = 0;
    for (;;) {
        const char *end = dcsr_i_scan_unsigned(p, &number[count]);
        if (end == p)
            return complain(g, text,
                            *p == ',' || !*p ? missing[count] : "what follows is no number without a sign");
        if (number[count] == UINT64_MAX) return complain(g, text, "a number is too large");
        count++;
        p = end;
        if (*p != ',') break;
        if (count == g->most) return complain(g, text, "there are too many numbers");
        p++;
    }
    if (*p) return complain(g, text, "there is something after a number");
    return count < g->least ? complain(g, text, missing[count]) : DCSR_OK;
}

dcsr_status dcsr_coo_generate(dcsr_coo *coo, dcsr_context *context, const char *text)
{
    if (coo) memset(coo, 0, sizeof *coo);
    if (!text) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_coo_generate: the text is NULL");
    const generator *g;
    const char *numbers;
    DCSR_TRY(find_generator(&g, &numbers, text));
    uint64_t number[MOST_NUMBERS] = {0, 0, DEFAULT_SEED};
    DCSR_TRY(read_numbers(g, text, numbers, number));
    return g->make(coo, context, g, number);
}

dcsr_status dcsr_generator_get_type(const char *text, dcsr_type *type)
{
    if (!type || !text)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_generator_get_type: %s is NULL",
                           type ? "the text" : "type");
    const generator *g;
    const char *numbers;
    DCSR_TRY(find_generator(&g, &numbers, text));
    *type = g->points ? DCSR_FP64 : DCSR_PATTERN;
    return DCSR_OK;
}
