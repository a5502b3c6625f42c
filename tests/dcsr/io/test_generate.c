/* test_generate.c: generated matrices: exact where they are exact, statistical where they are random. */
#include <dcsr/generate.h>
#include "dcsr/base/random.h"
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <math.h>

static const dcsr_rmat graph500 = {.scale = 12, .a = 0.57, .b = 0.19, .c = 0.19, .seed = 42};

Test(generate, shuffle_is_a_bijection)
{
    for (int bits = 0; bits <= 16; bits++)
        for (uint64_t key = 0; key < 4; key++) {
            dcsr_i_shuffle shuffle = dcsr_i_shuffle_make(bits, key);
            uint64_t n = UINT64_C(1) << bits, fixed = 0;
            bool *seen = test_allocate(n, sizeof *seen);
            for (uint64_t x = 0; x < n; x++) {
                uint64_t y = dcsr_i_shuffle_apply(&shuffle, x);
                cr_assert(y < n && !seen[y], "%d bits, key %d", bits, (int)key);
                seen[y] = true;
                fixed += x == y;
            }
            if (bits > 8)
                cr_assert_lt(fixed, 12, "%d bits: a random permutation has about one fixed point", bits);
            free(seen);
        }
}

/* These values are part of the contract: the same seed gives the same matrix on every machine and in every
 * version. */
Test(generate, random_numbers_never_change)
{
    cr_assert_eq(dcsr_i_random(0, 0), UINT64_C(0xe220a8397b1dcdaf)); /* as in the published SplitMix64 */
    cr_assert_eq(dcsr_i_random(0, 1), UINT64_C(0x6e789e6aa1b965f4));
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, "rmat:16,16,7"));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < coo.nnz; i++)
        sum = dcsr_i_mix(sum ^ (coo.row_indices[i] << 32 | coo.col_indices[i]));
    cr_assert_eq(sum, UINT64_C(0x4fcf00227b0a7cbb), "the sum is 0x%llx", (unsigned long long)sum);
    dcsr_coo_free(&coo);
    TEST_OK(dcsr_coo_generate(&coo, context, "er:1000,5000,7"));
    sum = 0;
    for (uint64_t i = 0; i < coo.nnz; i++)
        sum = dcsr_i_mix(sum ^ (coo.row_indices[i] << 32 | coo.col_indices[i]));
    cr_assert_eq(sum, UINT64_C(0x5b73a8daf94f2bd0), "the sum is 0x%llx", (unsigned long long)sum);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

Test(generate, rmat_slices_are_of_one_stream)
{
    dcsr_context *context = test_context(1);
    dcsr_coo whole, slice;
    TEST_OK(dcsr_coo_generate_rmat(&whole, context, &graph500, 0, 50000));
    cr_assert(whole.type == DCSR_PATTERN && whole.rows == 4096 && whole.cols == 4096 && whole.nnz == 50000);
    static const uint64_t cuts[] = {0, 1, 1, 17, 20000, 50000};
    for (int i = 0; i + 1 < 6; i++) {
        uint64_t first = cuts[i], edges = cuts[i + 1] - first;
        TEST_OK(dcsr_coo_generate_rmat(&slice, context, &graph500, first, edges));
        cr_assert_eq(slice.nnz, edges);
        cr_assert(!edges || !memcmp(slice.row_indices, whole.row_indices + first, edges * 8));
        cr_assert(!edges || !memcmp(slice.col_indices, whole.col_indices + first, edges * 8));
        dcsr_coo_free(&slice);
    }
    dcsr_coo_free(&whole);
    dcsr_context_destroy(context);
}

static bool depends_on_seed(dcsr_context *context, const char *one, const char *other)
{
    dcsr_coo a, b;
    TEST_OK(dcsr_coo_generate(&a, context, one));
    TEST_OK(dcsr_coo_generate(&b, context, other));
    bool same = test_same_coo(&a, &b);
    dcsr_coo_free(&a);
    dcsr_coo_free(&b);
    return !same;
}

Test(generate, seeds_matter)
{
    dcsr_context *context = test_context(1);
    cr_assert(depends_on_seed(context, "rmat:8,4,1", "rmat:8,4,2"));
    cr_assert(!depends_on_seed(context, "rmat:8,4,1", "rmat:8,4"));
    cr_assert(depends_on_seed(context, "er:100,400,1", "er:100,400,2"));
    dcsr_context_destroy(context);
}

Test(generate, threads_do_not_matter)
{
    static const char *const texts[] = {"rmat:14,16",     "er:5000,200000,3", "poisson2d5:250",
                                        "poisson2d9:200", "poisson3d7:40",    "poisson3d27:30",
                                        "path:300000"};
    dcsr_context *one = test_context(1), *four = test_context(4);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dcsr_coo a, b;
        TEST_OK(dcsr_coo_generate(&a, one, texts[i]));
        TEST_OK(dcsr_coo_generate(&b, four, texts[i]));
        cr_assert(test_same_coo(&a, &b), "%s", texts[i]);
        dcsr_coo_free(&a);
        dcsr_coo_free(&b);
    }
    dcsr_context_destroy(one);
    dcsr_context_destroy(four);
}

/* Without the relabelling the quadrant of an edge at the top level is known; so each edge's labels are turned
 * back through a table. At every level the four frequencies must be the probabilities, up to five standard
 * deviations. */
Test(generate, rmat_quadrants_have_their_probabilities)
{
    enum { SCALE = 10, EDGES = 200000 };
    dcsr_context *context = test_context(2);
    dcsr_rmat rmat = {.scale = SCALE, .a = 0.5, .b = 0.1, .c = 0.25, .seed = 3};
    const double probability[4] = {0.5, 0.1, 0.25, 0.15};
    dcsr_i_shuffle labels = dcsr_i_shuffle_make(SCALE, dcsr_i_random_key(rmat.seed, 2));
    uint64_t back[1 << SCALE];
    for (uint64_t x = 0; x < 1 << SCALE; x++) back[dcsr_i_shuffle_apply(&labels, x)] = x;
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate_rmat(&coo, context, &rmat, 0, EDGES));
    for (int level = 0; level < SCALE; level++) {
        double count[4] = {0};
        for (uint64_t i = 0; i < EDGES; i++)
            count[(back[coo.row_indices[i]] >> level & 1) * 2 + (back[coo.col_indices[i]] >> level & 1)]++;
        for (int q = 0; q < 4; q++) {
            double mean = EDGES * probability[q], deviation = sqrt(mean * (1 - probability[q]));
            cr_assert_lt(fabs(count[q] - mean), 5 * deviation, "level %d, quadrant %d: %g, not about %g",
                         level, q, count[q], mean);
        }
    }
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

Test(generate, rmat_extremes)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    dcsr_rmat corner = {.scale = 5, .a = 1, .b = 0, .c = 0, .seed = 1};
    TEST_OK(dcsr_coo_generate_rmat(&coo, context, &corner, 0, 100)); /* all in the upper left corner */
    for (int i = 1; i < 100; i++)
        cr_assert(coo.row_indices[i] == coo.row_indices[0] && coo.col_indices[i] == coo.row_indices[0]);
    dcsr_coo_free(&coo);
    corner.a = 0; /* all in the lower right one */
    TEST_OK(dcsr_coo_generate_rmat(&coo, context, &corner, 0, 100));
    for (int i = 1; i < 100; i++)
        cr_assert(coo.row_indices[i] == coo.row_indices[0] && coo.col_indices[i] == coo.row_indices[0]);
    dcsr_coo_free(&coo);
    dcsr_rmat point = {.scale = 0, .a = 0.57, .b = 0.19, .c = 0.19};
    TEST_OK(dcsr_coo_generate_rmat(&coo, context, &point, 5, 3));
    cr_assert(coo.rows == 1 && coo.nnz == 3 && !coo.row_indices[2] && !coo.col_indices[2]);
    dcsr_coo_free(&coo);
    dcsr_rmat large = {.scale = 31, .a = 0.57, .b = 0.19, .c = 0.19};
    TEST_OK(dcsr_coo_generate_rmat(&coo, context, &large, 1u << 30, 1000));
    cr_assert_eq(coo.cols, DCSR_MAX_COLS);
    uint64_t highest = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert(coo.row_indices[i] < coo.rows && coo.col_indices[i] < coo.cols);
        if (coo.row_indices[i] > highest) highest = coo.row_indices[i];
    }
    cr_assert_gt(highest, UINT64_C(1) << 30);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

Test(generate, er_is_uniform)
{
    enum { NNZ = 200000, BINS = 16 };
    dcsr_context *context = test_context(2);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate_er(&coo, context, 3000, 77, NNZ, 9));
    cr_assert(coo.type == DCSR_PATTERN && coo.rows == 3000 && coo.cols == 77 && coo.nnz == NNZ);
    double rows[BINS] = {0}, cols[77] = {0};
    for (uint64_t i = 0; i < NNZ; i++) {
        cr_assert(coo.row_indices[i] < 3000 && coo.col_indices[i] < 77);
        rows[coo.row_indices[i] * BINS / 3000]++;
        cols[coo.col_indices[i]]++;
    }
    for (int b = 0; b < BINS; b++) cr_assert_lt(fabs(rows[b] - NNZ / BINS), 6 * sqrt(NNZ / BINS));
    for (int c = 0; c < 77; c++) cr_assert_lt(fabs(cols[c] - NNZ / 77.0), 6 * sqrt(NNZ / 77.0));
    dcsr_coo_free(&coo);
    TEST_OK(dcsr_coo_generate_er(&coo, context, 0, 5, 0, 1));
    cr_assert(coo.rows == 0 && coo.cols == 5 && coo.nnz == 0);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

/* -- Poisson --------------------------------------------------------------------------------------------- */

/* The definition, literally: every pair of points of the grid. */
static void check_poisson(dcsr_context *context, int dimension, int points, uint64_t n)
{
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate_poisson(&coo, context, dimension, points, n));
    uint64_t planes = dimension == 3 ? n : 1, size = planes * n * n, at = 0;
    bool box = points == 9 || points == 27;
    cr_assert(coo.type == DCSR_FP64 && coo.rows == size && coo.cols == size);
    for (uint64_t i = 0; i < size; i++)
        for (uint64_t j = 0; j < size; j++) {
            int64_t dx = llabs((long long)(i % n) - (long long)(j % n));
            int64_t dy = llabs((long long)(i / n % n) - (long long)(j / n % n));
            int64_t dz = llabs((long long)(i / n / n) - (long long)(j / n / n));
            if (dx > 1 || dy > 1 || dz > 1 || (!box && dx + dy + dz > 1)) continue;
            cr_assert_lt(at, coo.nnz);
            cr_assert(coo.row_indices[at] == i && coo.col_indices[at] == j, "entry %d of %dd%d:%d", (int)at,
                      dimension, points, (int)n);
            cr_assert_eq(((double *)coo.values)[at], i == j ? points - 1 : -1);
            at++;
        }
    cr_assert_eq(at, coo.nnz);
    dcsr_coo_free(&coo);
}

Test(generate, poisson_is_as_defined)
{
    dcsr_context *context = test_context(2);
    for (uint64_t n = 0; n <= 12; n++) {
        check_poisson(context, 2, 5, n);
        check_poisson(context, 2, 9, n);
    }
    for (uint64_t n = 0; n <= 6; n++) {
        check_poisson(context, 3, 7, n);
        check_poisson(context, 3, 27, n);
    }
    dcsr_context_destroy(context);
}

Test(generate, poisson_sizes)
{
    static const struct {
        const char *text;
        uint64_t rows, nnz;
    } cases[] = {{"poisson2d5:100", 10000, 49600},
                 {"poisson2d9:100", 10000, 298 * 298},
                 {"poisson3d7:30", 27000, 7 * 27000 - 6 * 900},
                 {"poisson3d27:20", 8000, 58 * 58 * 58}};
    dcsr_context *context = test_context(2);
    for (int i = 0; i < 4; i++) {
        dcsr_coo coo;
        dcsr_type type;
        TEST_OK(dcsr_coo_generate(&coo, context, cases[i].text));
        TEST_OK(dcsr_generator_get_type(cases[i].text, &type));
        cr_assert_eq(type, coo.type);
        cr_assert(coo.rows == cases[i].rows && coo.cols == cases[i].rows && coo.nnz == cases[i].nnz, "%s",
                  cases[i].text);
        dcsr_coo_free(&coo);
    }
    dcsr_context_destroy(context);
}

Test(generate, path)
{
    dcsr_context *context = test_context(1);
    for (uint64_t n = 0; n < 5; n++) {
        dcsr_coo coo;
        TEST_OK(dcsr_coo_generate_path(&coo, context, n));
        cr_assert(coo.type == DCSR_PATTERN && coo.rows == n && coo.cols == n && coo.nnz == (n ? n - 1 : 0));
        for (uint64_t i = 0; i < coo.nnz; i++)
            cr_assert(coo.row_indices[i] == i && coo.col_indices[i] == i + 1);
        dcsr_coo_free(&coo);
    }
    dcsr_context_destroy(context);
}

/* -- Refused --------------------------------------------------------------------------------------------- */

Test(generate, bad_arguments)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    static const dcsr_rmat wrong[] = {{4, -0.1, 0.5, 0.5, 0},
                                      {4, 0.5, 0.5, 0.1, 0},
                                      {4, NAN, 0.5, 0.1, 0},
                                      {4, 0.5, INFINITY, 0, 0},
                                      {-1, 0.5, 0.1, 0.1, 0}};
    for (int i = 0; i < 5; i++) {
        TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_rmat(&coo, context, &wrong[i], 0, 10));
        cr_assert(test_is_zero(&coo));
    }
    dcsr_rmat rmat = graph500;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_rmat(NULL, context, &rmat, 0, 10));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_rmat(&coo, NULL, &rmat, 0, 10));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_rmat(&coo, context, NULL, 0, 10));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_rmat(&coo, context, &rmat, UINT64_MAX, 10));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_rmat(&coo, context, &rmat, 10, UINT64_MAX));
    rmat.scale = 32;
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_rmat(&coo, context, &rmat, 0, 10));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_er(&coo, context, 0, 5, 1, 1));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_er(&coo, context, 5, UINT64_MAX, 1, 1));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_poisson(&coo, context, 2, 7, 5));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate_poisson(&coo, context, 1, 3, 5));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "46340", dcsr_coo_generate_poisson(&coo, context, 2, 5, 46341));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "1290", dcsr_coo_generate_poisson(&coo, context, 3, 7, UINT64_MAX));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_path(&coo, context, DCSR_MAX_COLS + 1));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_generate_path(&coo, context, UINT64_MAX));
    cr_assert(test_is_zero(&coo));
    dcsr_context_destroy(context);
}

Test(generate, bad_texts)
{
    static const struct {
        const char *text;
        dcsr_status status;
        const char *words;
    } cases[] = {
        {"rmat:", DCSR_ERROR_INVALID_ARGUMENT, "for example rmat:20,16"},
        {"rmat:20", DCSR_ERROR_INVALID_ARGUMENT, "the second number is missing"},
        {"rmat:20,", DCSR_ERROR_INVALID_ARGUMENT, "the second number is missing"},
        {"rmat:,16", DCSR_ERROR_INVALID_ARGUMENT, "a number is missing"},
        {"rmat:20,16,", DCSR_ERROR_INVALID_ARGUMENT, "the third number is missing"},
        {"rmat:20,16,1,2", DCSR_ERROR_INVALID_ARGUMENT, "too many"},
        {"rmat:20,16x", DCSR_ERROR_INVALID_ARGUMENT, "something after"},
        {"rmat:-1,16", DCSR_ERROR_INVALID_ARGUMENT, "no number"},
        {"rmat: 20,16", DCSR_ERROR_INVALID_ARGUMENT, "no number"},
        {"rmat:20,99999999999999999999999", DCSR_ERROR_INVALID_ARGUMENT, "too large"},
        {"rmat:32,1", DCSR_ERROR_TOO_LARGE, "31"},
        {"rmat:4000000000,1", DCSR_ERROR_TOO_LARGE, "memory"},
        {"rmat:31,10000000000", DCSR_ERROR_TOO_LARGE, "memory"},
        {"er:5", DCSR_ERROR_INVALID_ARGUMENT, "for example er:"},
        {"er:0,1", DCSR_ERROR_INVALID_ARGUMENT, "no place"},
        {"er:3000000000,1", DCSR_ERROR_TOO_LARGE, "columns"},
        {"poisson2d5:", DCSR_ERROR_INVALID_ARGUMENT, "for example poisson2d5:100"},
        {"poisson2d5:5,5", DCSR_ERROR_INVALID_ARGUMENT, "too many"},
        {"poisson3d27:1291", DCSR_ERROR_TOO_LARGE, "1290"},
        {"path:abc", DCSR_ERROR_INVALID_ARGUMENT, "for example path:1000"},
        {"", DCSR_ERROR_NOT_FOUND, "rmat"},
        {":", DCSR_ERROR_NOT_FOUND, "rmat"},
        {"rmat", DCSR_ERROR_NOT_FOUND, "colon"},
        {"rmats:1,2", DCSR_ERROR_NOT_FOUND, "no generator"},
        {"poisson:5", DCSR_ERROR_NOT_FOUND, "poisson2d5"},
        {"some/file.mtx", DCSR_ERROR_NOT_FOUND, "no generator"},
    };
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dcsr_coo coo;
        TEST_REFUSED(cases[i].status, cases[i].words, dcsr_coo_generate(&coo, context, cases[i].text));
        cr_assert(test_is_zero(&coo));
    }
    dcsr_type type;
    TEST_OK(dcsr_generator_get_type("rmat:9,9", &type));
    cr_assert_eq(type, DCSR_PATTERN);
    TEST_STATUS(DCSR_ERROR_NOT_FOUND, dcsr_generator_get_type("poisson2d5", &type));
    TEST_STATUS(DCSR_ERROR_NOT_FOUND, dcsr_generator_get_type(":", &type));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_generator_get_type("path:5", NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_generator_get_type(NULL, &type));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate(NULL, context, "path:5"));
    dcsr_coo coo;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_generate(&coo, context, NULL));
    dcsr_context_destroy(context);
}

Test(generate, names_its_generators)
{
    dcsr_context *context = test_context(1);
    uint64_t n = 0;
    for (const dcsr_generator *g; (g = dcsr_generator_at(n)); n++) {
        char wrong[64];
        dcsr_coo coo;
        snprintf(wrong, sizeof wrong, "%s:", g->name);
        cr_assert(!strncmp(g->example, wrong, strlen(wrong)), "%s", g->example);
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, g->numbers, dcsr_coo_generate(&coo, context, wrong));
        TEST_REFUSED(DCSR_ERROR_NOT_FOUND, g->name, dcsr_coo_generate(&coo, context, "none:1"));
    }
    cr_assert(n >= 7 && !dcsr_generator_at(UINT64_MAX));
    dcsr_context_destroy(context);
}

Test(generate, survives_allocation_failures)
{
    static const char *const texts[] = {"rmat:6,4", "er:50,100", "poisson2d5:8", "poisson3d27:4", "path:50"};
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 5; i++) {
        dcsr_coo coo;
        TEST_SURVIVES_ALLOCATION_FAILURES(context, &coo, dcsr_coo_generate(&coo, context, texts[i]));
        dcsr_coo_free(&coo);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}
