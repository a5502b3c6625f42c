/* test_models.c: models as scikit-learn has trained them: their predictions, the file, which one is in use, and what
 * is chosen. */
#include <dcsr/spmv.h>
#include "dcsr/base/alloc.h"
#include "ops/choice/model_data.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define FOLDER "tests/corpus/models"
enum { PATH = 400, MOST_TEXT = 1 << 18 };

/* A file of the folder as a string, to be freed. */
static char *text_of(const char *folder, const char *name, size_t *length)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s is not there; tests run in the root of the repository", path);
    char *text = test_allocate(MOST_TEXT, 1);
    *length = fread(text, 1, MOST_TEXT - 1, file);
    text[*length] = 0;
    fclose(file);
    return text;
}

static dcsr_i_model *model_of(const char *folder, const char *name)
{
    size_t length;
    char *text = text_of(folder, name, &length);
    dcsr_i_model *model;
    TEST_OK(dcsr_i_model_parse(&model, text, length, name));
    free(text);
    return model;
}

/* ---- Against scikit-learn ---- */

/* Reads n numbers of a line of cases; false at the end. */
static bool next_case(char **at, double *numbers, uint32_t n)
{
    if (!**at) return false;
    for (uint32_t k = 0; k < n; k++) numbers[k] = strtod(*at, at);
    *at += **at == '\n';
    return true;
}

/* Every probability bit for bit; returns the number of cases. */
static int compare_forest(const char *folder, const char *name)
{
    char file[PATH];
    size_t length;
    snprintf(file, sizeof file, "%s.model", name);
    dcsr_i_model *model = model_of(folder, file);
    snprintf(file, sizeof file, "%s.expected", name);
    char *text = text_of(folder, file, &length), *at = text;
    double numbers[2 * DCSR_I_MODEL_FEATURES];
    int cases = 0;
    for (; next_case(&at, numbers, model->features + model->kernels); cases++) {
        float inputs[DCSR_I_MODEL_FEATURES];
        dcsr_i_prediction prediction;
        for (uint32_t k = 0; k < model->features; k++) inputs[k] = (float)numbers[k];
        dcsr_i_forest_predict(&prediction, &model->forest[DCSR_I_BY_TIME], model->kernels, inputs);
        const double *expected = numbers + model->features;
        uint32_t best = 0;
        for (uint32_t k = 0; k < model->kernels; k++) {
            cr_assert(prediction.probability[k] == expected[k], "%s, case %d, kernel %u: %.17g, not %.17g",
                      name, cases, k, prediction.probability[k], expected[k]);
            if (expected[k] > expected[best]) best = k;
        }
        cr_assert_eq(dcsr_i_prediction_class(&prediction, model->kernels), best);
    }
    free(text);
    dcsr_i_model_free(model);
    return cases;
}

/* The decision function, which is rounded otherwise there; a file has seven digits of a vector. */
static int compare_svm(const char *folder)
{
    dcsr_i_model *model = model_of(folder, "forest.model");
    size_t length;
    char *text = text_of(folder, "svm.expected", &length), *at = text;
    double numbers[DCSR_I_MODEL_FEATURES + 1];
    const uint32_t inputs = model->features + 1;
    int cases = 0;
    for (; next_case(&at, numbers, inputs + 1); cases++) {
        const double is = dcsr_i_svm_decide(&model->svm, inputs, numbers);
        cr_assert(fabs(is - numbers[inputs]) < 1e-5, "case %d: %.17g, not %.17g", cases, is, numbers[inputs]);
    }
    free(text);
    dcsr_i_model_free(model);
    return cases;
}

Test(models, predict_what_scikit_learn_does)
{
    cr_assert_eq(compare_forest(FOLDER, "forest"), 60);
    cr_assert_eq(compare_forest(FOLDER, "bagging"), 60);
    cr_assert_eq(compare_svm(FOLDER), 90);
}

/* Trained anew, where scikit-learn is installed. */
Test(models, predict_what_the_scikit_learn_here_does)
{
    char folder[] = "/tmp/dcsr-models-XXXXXX", command[PATH];
    if (system("/usr/bin/python3 -c 'import sklearn' 2>/dev/null")) cr_skip_test("there is no scikit-learn");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof command, "/usr/bin/python3 tests/ops/choice/make_models.py %s %d", folder, 7);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(compare_forest(folder, "forest"), 60);
    cr_assert_eq(compare_forest(folder, "bagging"), 60);
    cr_assert_eq(compare_svm(folder), 90);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

/* ---- Files ---- */

static const char small[] = "device cpu\nmachine here\nmade by hand\nfeatures nnz near\nkernels a b\n"
                            "forest time 1 1 2\ntree 1 2\nnode 0 10.5 -1 -2\nleaf 1 0 1 0 2 3\n"
                            "leaf 0.25 0.75 1 0 - -\nend\n";

/* The text of a model with its right checksum. */
static size_t with_head(char *to, const char *body)
{
    const unsigned long sum = crc32(0, (const Bytef *)body, (uInt)strlen(body));
    return (size_t)sprintf(to, "dcsr-model 1\ncrc32 %08lx\n%s", sum, body);
}

Test(models, are_what_the_file_says)
{
    char text[1000];
    dcsr_i_model *model;
    TEST_OK(dcsr_i_model_parse(&model, text, with_head(text, small), "it"));
    cr_assert(!strcmp(model->info.machine, "here") && !strcmp(model->info.made, "by hand"));
    cr_assert(model->info.device == DCSR_DEVICE_CPU && model->info.trees == 1 && model->info.kernels == 2 &&
              !model->info.energy && !model->info.vectors);
    dcsr_i_prediction p;
    dcsr_i_forest_predict(&p, &model->forest[0], 2, (float[]){10.5F, 0});
    cr_assert(p.probability[0] == 1 && fabsf(p.expected[1].product - 2) < 1e-5F && p.expected[1].build == 3);
    dcsr_i_forest_predict(&p, &model->forest[0], 2, (float[]){10.6F, 0});
    cr_assert(p.probability[1] == 0.75 && isnan(p.expected[1].product) && isnan(p.expected[1].build));
    cr_assert(dcsr_i_prediction_class(&p, 2) == 1);
    dcsr_i_model_free(model);
}

/* Each of these in place of a part of the small model is refused, with these words. */
Test(models, with_anything_wrong_are_refused)
{
    static const struct {
        const char *part, *instead, *words;
    } cases[] = {{"device cpu", "device gpu", "device"},
                 {"machine", "engine", "machine"},
                 {"made", "done", "made"},
                 {"nnz", "colour", "not one that this dcsr knows"},
                 {"features nnz near", "features", "features"},
                 {"kernels a b", "kernels a", "one kernel"},
                 {"kernels a b", "kernels a b01234567890123456789012345678901234567", "kernel"},
                 {"forest time", "forest speed", "neither for time nor for energy"},
                 {"1 1 2\ntree", "1 2 2\ntree", "fewer nodes"},
                 {"1 1 2\ntree", "1 1 3\ntree", "fewer nodes or leaves"},
                 {"1 1 2\ntree", "1 1 1\ntree", "more than its forest says"},
                 {"1 1 2\ntree", "1 1 99999999\ntree", "forest does not begin"},
                 {"1 1 2\ntree", "0 1 2\ntree", "forest does not begin"},
                 {"node 0 10.5 -1 -2", "node 2 10.5 -1 -2", "node"},
                 {"node 0 10.5 -1 -2", "node 0 x -1 -2", "node"},
                 {"node 0 10.5 -1 -2", "node 0 nan -1 -2", "node"},
                 {"node 0 10.5 -1 -2", "node 0 10.5 0 -2", "node"},
                 {"node 0 10.5 -1 -2", "node 0 10.5 -1 -3", "node"},
                 {"node 0 10.5 -1 -2", "node 0 10.5 -1 1", "node"},
                 {"node 0 10.5 -1 -2", "node 0 10.5 -1", "node"},
                 {"node 0 10.5 -1 -2", "node 0 10.5 -1 -2 7", "node"},
                 {"leaf 1 0 1 0 2 3", "leaf 1 0 1 0 2", "leaf"},
                 {"leaf 1 0 1 0 2 3", "leaf 1 0 1 0 2 -", "leaf"},
                 {"leaf 1 0 1 0 2 3", "leaf 1 0 1 0 0 3", "leaf"},
                 {"leaf 1 0 1 0 2 3", "loaf 1 0 1 0 2 3", "leaf"},
                 {"end\n", "svm 1 2\nend\n", "vector machine"},
                 {"end\n", "svm 1 2 1\nmean 0 0\nscale 1 1 1\nend\n", "scaling"},
                 {"end\n", "svm 1 2 1\nmean 0 0 0\nscale 1 1 1\nvector 1 2 3\nend\n", "support vector"},
                 {"end\n", "direction most pull 0 0 0 1\nend\n", "a direction of products"},
                 {"end\n", "direction some sideways 0 0 0 1\nend\n", "a direction of products"},
                 {"end\n", "direction some pull 0 0 1\nend\n", "a direction of products"},
                 {"end\n", "direction some pull 0 0 0 1\ndirection some pull 0 0 0 1\nend\n",
                  "a direction of products"},
                 {"end\n", "", "here should be"},
                 {"end\n", "end\nmore\n", "follows the end"},
                 {"end\n", "forest time 1 0 1\nend\n", "forest does not begin"}};
    char body[2000], text[2100];
    dcsr_i_model *model;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *at = strstr(small, cases[c].part);
        cr_assert_not_null(at, "%s", cases[c].part);
        snprintf(body, sizeof body, "%.*s%s%s", (int)(at - small), small, cases[c].instead,
                 at + strlen(cases[c].part));
        TEST_REFUSED(DCSR_ERROR_FORMAT, cases[c].words,
                     dcsr_i_model_parse(&model, text, with_head(text, body), "it"));
        cr_assert_null(model);
        cr_assert(test_says("dcsr tune") && test_says("it:"), "%s", dcsr_thread_error());
    }
    const size_t length = with_head(text, small);
    for (size_t n = 0; n < length; n++)
        TEST_STATUS(DCSR_ERROR_FORMAT, dcsr_i_model_parse(&model, text, n, "it"));
    for (size_t n = 0; n < length; n++) {
        text[n] ^= 1;
        TEST_STATUS(DCSR_ERROR_FORMAT, dcsr_i_model_parse(&model, text, length, "it"));
        text[n] ^= 1;
    }
    text[11] = '2';
    TEST_REFUSED(DCSR_ERROR_FORMAT, "another version", dcsr_i_model_parse(&model, text, length, "it"));
}

Test(models, need_memory)
{
    size_t length;
    char *text = text_of(FOLDER, "forest.model", &length);
    dcsr_i_model *model;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_i_model_parse(&model, text, length, "it");
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !model));
    }
    cr_assert_eq(n, 8, "the model, four arrays of the forest, two of the machine");
    dcsr_i_model_free(model);
    free(text);
}

/* ---- Which is in use ---- */

static char path[PATH];

static void begin(void)
{
    snprintf(path, sizeof path, "/tmp/dcsr-model-%d", (int)getpid());
    setenv("DCSR_MODEL", path, 1);
}

static void end(void)
{
    unlink(path);
    dcsr_i_models_forget();
}

/* Makes this the user's file. */
static void put(const char *device, const char *machine, const char *rest)
{
    char body[4000], text[4100];
    snprintf(body, sizeof body, "device %s\nmachine %s\nmade in a test\n%s", device, machine, rest);
    const size_t length = with_head(text, body);
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(text, 1, length, file) == length && !fclose(file));
    dcsr_i_models_forget();
}

static const char rest[] = "features nnz\nkernels place fast faster\n"
                           "forest time 1 0 1\ntree 0 1\nleaf 0 0.5 0.5 1 0 0.8 2 0.5 20\n"
                           "forest energy 1 0 1\ntree 0 1\nleaf 0 1 0 1 0 0.5 1 2 1\n"
                           "svm 1 -0.5 1\nmean 0 0\nscale 1 1\nvector 1 0 0\nend\n";

/* Of 100 entries, by rows where exp(-0.0144 (log(1 + d) - log(1 + 1e6))^2) is above a half, for d millionths. */
static const char rest_by_rows[] =
    "features nnz\nkernels place fast\n"
    "forest time 1 0 1\ntree 0 1\nleaf 1 0 1 0 0.5 2\n"
    "svm 0.0144 -0.5 1\nmean 4.61512051684126 13.8155115579643\nscale 1 1\nvector 1 0 0\nend\n";

static dcsr_model_info info_of(dcsr_context *context)
{
    dcsr_model_info info;
    TEST_OK(dcsr_model_get_info(&info, context));
    return info;
}

static const char *device_of(dcsr_context *context)
{
    return test_on_device(context) ? "cuda" : "cpu";
}

/* The library's: on the cpu that for its maker's processors, if there is one. */
static void expect_shipped(dcsr_context *context, const char *why)
{
    static const char *const makers[] = {"AMD", "Intel"};
    const dcsr_model_info info = info_of(context);
    char machine[128];
    cr_assert(!*info.file && *info.made && info.trees >= 1);
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    for (int m = 0; m < 2 && !test_on_device(context); m++) {
        const size_t length = strlen(makers[m]);
        if (!strncmp(machine, makers[m], length)) cr_assert(!strncmp(info.machine, makers[m], length));
    }
    cr_assert(why ? strstr(info.refused, why) != NULL : !*info.refused, "it says \"%s\"", info.refused);
}

Test(models, of_the_user_are_used_where_they_fit, .init = begin, .fini = end)
{
    dcsr_context *context = test_context(2);
    char machine[128], small_room[3];
    dcsr_model_info info;
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "room",
                 dcsr_model_get_machine(context, small_room, sizeof small_room));
    expect_shipped(context, "cannot be opened");
    put(device_of(context), machine, rest);
    info = info_of(context);
    cr_assert(!strcmp(info.file, path) && !*info.refused && info.kernels == 3 && info.energy && info.vectors);
    TEST_OK(dcsr_model_check(&info, context, path));
    put(test_on_device(context) ? "cpu" : "cuda", machine, rest);
    expect_shipped(context, "another device");
    TEST_REFUSED(DCSR_ERROR_FORMAT, "another device", dcsr_model_check(&info, context, path));
    put(device_of(context), "elsewhere, 400 cores", rest);
    expect_shipped(context, "of another machine, elsewhere");
    put(device_of(context), machine, "damage");
    expect_shipped(context, "run `dcsr tune`");
    cr_assert(truncate(path, 20) == 0);
    dcsr_i_models_forget();
    expect_shipped(context, path);
    TEST_REFUSED(DCSR_ERROR_FORMAT, "no model", dcsr_model_check(&info, context, "/"));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "cannot be opened", dcsr_model_check(&info, context, "/nowhere"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_model_check(&info, context, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_model_get_info(NULL, context));
    test_close(context);
}

Test(models, are_looked_for_where_data_of_users_are, .init = begin, .fini = end)
{
    dcsr_context *context = test_context(1);
    char where[PATH], expected[PATH];
    unsetenv("DCSR_MODEL");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    TEST_OK(dcsr_model_get_path(context, where, sizeof where));
    snprintf(expected, sizeof expected, "/nowhere/dcsr/%s.model", device_of(context));
    cr_assert_str_eq(where, expected);
    expect_shipped(context, NULL);
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/nobody", 1);
    TEST_OK(dcsr_model_get_path(context, where, sizeof where));
    snprintf(expected, sizeof expected, "/nobody/.local/share/dcsr/%s.model", device_of(context));
    cr_assert_str_eq(where, expected);
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "bytes", dcsr_model_get_path(context, where, 9));
    test_close(context);
}

/* ---- Choosing ---- */

Test(models, choose_what_pays, .init = begin, .fini = end)
{
    dcsr_context *context = test_context(1);
    const dcsr_features features = {.nnz = 100};
    dcsr_i_candidate c[] = {
        {"reading", true, true}, {"fast", true, false}, {"faster", true, false}, {"new", true, true}};
    char machine[128];
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    put(device_of(context), machine, rest);
    static const struct {
        double products;
        bool fast_built, faster_possible;
        dcsr_i_criterion by;
        uint32_t expected, later;
        double pays_after;
        const char *words;
    } cases[] = {{0, false, true, DCSR_I_BY_TIME, 0, 2, 40, "not known"},
                 {0, true, true, DCSR_I_BY_TIME, 1, 2, 40, "fast is there"},
                 {5, false, true, DCSR_I_BY_TIME, 0, 2, 40, "would pay after 40"},
                 {30, false, true, DCSR_I_BY_TIME, 1, 2, 40, "building 2.0"},
                 {5, true, true, DCSR_I_BY_TIME, 1, 2, 40, "is there"},
                 {1e6, false, true, DCSR_I_BY_TIME, 2, 2, 0, "0.50 of one"},
                 {1e6, false, false, DCSR_I_BY_TIME, 1, 1, 0, "0.80 of one"},
                 {1e6, false, true, DCSR_I_BY_ENERGY, 1, 1, 0, "0.50 of one"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        dcsr_i_choice choice;
        c[1].built = cases[k].fast_built;
        c[2].possible = cases[k].faster_possible;
        TEST_OK(dcsr_i_choose(&choice, context, &features, c, 4, cases[k].products, cases[k].by));
        cr_assert(choice.candidate == cases[k].expected && choice.later == cases[k].later &&
                      choice.pays_after == cases[k].pays_after,
                  "case %zu: %u, later %u after %g", k, choice.candidate, choice.later, choice.pays_after);
        /* Half of what one tree has seen was the fastest by time for either; the other has seen one alone. */
        const bool by_time = cases[k].by == DCSR_I_BY_TIME, second = by_time && cases[k].fast_built;
        const double votes = by_time ? 0.5 : 1, build = second ? 20 : by_time ? 2 : 1;
        cr_assert(choice.voted == second + 1u && choice.votes == votes && choice.voted_build == build,
                  "case %zu: %u has %g votes, and takes %g", k, choice.voted, choice.votes,
                  choice.voted_build);
        cr_assert(strstr(choice.reason, cases[k].words), "\"%s\" lacks \"%s\"", choice.reason,
                  cases[k].words);
    }
    dcsr_i_choice choice;
    TEST_OK(dcsr_i_choose(&choice, context, &features, c, 1, 1e9, DCSR_I_BY_TIME));
    cr_assert(choice.candidate == 0 && isinf(choice.pays_after) && strstr(choice.reason, "no format"));
    /* So far from its vector the machine decides by its intercept: never by rows. */
    double density;
    TEST_OK(dcsr_i_choose_crossover(&density, context, &features));
    cr_assert_eq(density, 2);
    put(device_of(context), machine, rest_by_rows);
    TEST_OK(dcsr_i_choose_crossover(&density, context, &features));
    cr_assert(density > 970.25e-6 && density < 1.05 * 970.25e-6, "%g", density);
    /* Of a view it is not known before its features are; then it is kept. */
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {0, 2, 1}, {0, 0, 1}, {2, 1, 5});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_features told;
    double kept, again;
    TEST_OK(dcsr_i_view_crossover(&kept, view));
    cr_assert_eq(kept, 0);
    TEST_OK(dcsr_view_get_features(&told, view, NULL));
    TEST_OK(dcsr_i_choose_crossover(&density, context, &told));
    TEST_OK(dcsr_i_view_crossover(&kept, view));
    dcsr_i_models_forget();
    TEST_OK(dcsr_i_view_crossover(&again, view));
    cr_assert(kept == density && again == kept);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static const char directions[] =
    "features nnz\nkernels a b\nforest time 1 0 1\ntree 0 1\nleaf 1 0 1 0 2 3\n"
    "direction some push 0 0 0 3\ndirection some pull 0 0 1 0\ndirection some tiles 10 0.1 0.5 0.25\n"
    "direction early push 0 0 1 0\ndirection early pull 0 0 1 0\nend\n";

/* A context whose model that is. */
static dcsr_context *with_directions(void)
{
    char machine[256];
    dcsr_context *context = test_context(1);
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    put(device_of(context), machine, directions);
    return context;
}

/* Of products with sparse vectors: 10 rows of 100 entries each, 1000 columns of one. */
static const dcsr_i_product ten_rows = {.possible = {true, true, true},
                                        .rows = 10,
                                        .cols = 1000,
                                        .nnz = 1000,
                                        .elements = 10,
                                        .entries = NAN,
                                        .wanted = 10};

Test(models, choose_the_direction_that_costs_least, .init = begin, .fini = end)
{
    dcsr_context *context = with_directions();
    dcsr_i_product p = ten_rows;
    dcsr_direction chosen;
    double at_stake;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p)); /* 30, 1000 and 513.5 */
    cr_assert_eq(chosen, DCSR_DIRECTION_PUSH);
    p.elements = 300; /* 900, 1000, 586 */
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert_eq(chosen, DCSR_DIRECTION_TILES);
    p.possible[DCSR_DIRECTION_TILES - 1] = false;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert_eq(chosen, DCSR_DIRECTION_PUSH);
    p.wanted = 2; /* pull: 200 */
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert_eq(chosen, DCSR_DIRECTION_PULL);
    p.sums = DCSR_I_ENDING_EARLY; /* 300; a row of 100 ends after three: 2 * 3.3 */
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert_eq(chosen, DCSR_DIRECTION_PULL);
    p.sums = DCSR_I_OVER_ALL;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert_eq(chosen, DCSR_DIRECTION_AUTO, "the model says nothing of these");
    cr_assert_eq(at_stake, 0);
    test_close(context);
}

/* Ten columns of a thousand may have up to 100 entries: by push 300, by tiles 536. Of 100 that may be all of them. */
Test(models, say_what_is_at_stake_where_entries_are_not_known, .init = begin, .fini = end)
{
    dcsr_context *context = with_directions();
    dcsr_i_product p = ten_rows;
    dcsr_direction chosen;
    double at_stake;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_PUSH && at_stake == 0);
    p.elements = 100; /* 300, 1000, 536; of 1000 entries 3000, 1000, 761 */
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_PUSH && at_stake == 3000 - 761);
    p.entries = 1000;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_TILES && at_stake == 0);
    p.entries = 100;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_PUSH && at_stake == 0);
    p.entries = NAN;
    p.elements = 300; /* by tiles 586, by push nothing if the columns are empty, and tiles 511 */
    p.possible[DCSR_DIRECTION_PULL - 1] = false;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_TILES && at_stake == 511);
    p.possible[DCSR_DIRECTION_PUSH - 1] = false;
    TEST_OK(dcsr_i_choose_direction(&chosen, &at_stake, context, &p));
    cr_assert(chosen == DCSR_DIRECTION_TILES && at_stake == 0, "there is no other");
    test_close(context);
}

Test(models, kernels_that_are_not_known_are_not_chosen, .init = begin, .fini = end)
{
    dcsr_context *context = test_context(1);
    dcsr_i_candidate c[] = {{"reading", true, true}, {"fast", true, false}};
    dcsr_i_choice choice;
    double density;
    TEST_OK(dcsr_i_choose(&choice, context, &(dcsr_features){.nnz = 9}, c, 2, 1e6, DCSR_I_BY_TIME));
    cr_assert(choice.candidate == 0 && isinf(choice.pays_after));
    const bool none = !*info_of(context).made;
    cr_assert(strstr(choice.reason, none ? "no model" : "no format"));
    TEST_OK(dcsr_i_choose_crossover(&density, context, &(dcsr_features){.nnz = 9}));
    cr_assert(!info_of(context).vectors == isnan(density), "the model for GPUs has no such machine");
    test_close(context);
}

/* ---- Trials ---- */

/* Two are expected to be alike, and better than any will be, so that the second is always tried. */
static const char alike[] = "features nnz\nkernels segments merge coo ell\n"
                            "forest time 1 0 1\ntree 0 1\nleaf 0 0.5 0.5 0 1 0 0.001 1 0.0011 1 0.9 1\nend\n";

/* No other is expected to be better than the first one, but one has as many votes. */
static const char voted[] = "features nnz\nkernels segments merge coo ell\n"
                            "forest time 1 0 1\ntree 0 1\nleaf 0 0.5 0.1 0.4 1 0 0.001 1 0.9 1 5 1\nend\n";

static uint64_t matrix_bytes(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.matrix_bytes;
}

/* A plan for so many products, whose info is told and whose product is compared with that of the store in place. */
static dcsr_status run_plan(dcsr_spmv_plan_info *info, dcsr_context *context, dcsr_view *view,
                            const dcsr_spmv_options *options, long allocations)
{
    enum { SIZE = 300, PLAN = 1024 };
    double x[SIZE], y[SIZE], expected[SIZE];
    dcsr_spmv_plan *plan;
    for (int j = 0; j < SIZE; j++) x[j] = j % 7;
    dcsr_features kept; /* with the view, like what the first product makes */
    TEST_OK(dcsr_view_get_features(&kept, view, NULL));
    TEST_OK(dcsr_spmv(expected, view, x));
    const uint64_t before = matrix_bytes(context);
    dcsr_i_fail_allocations_after(allocations);
    const dcsr_status status = dcsr_spmv_plan_create(&plan, view, options);
    dcsr_i_fail_allocations_after(-1);
    if (!status) {
        TEST_OK(dcsr_spmv_plan_get_info(plan, info));
        const uint64_t taken = matrix_bytes(context) - before;
        cr_assert(info->bytes <= taken && taken <= info->bytes + PLAN, "%llu bytes are told, %llu taken",
                  (unsigned long long)info->bytes, (unsigned long long)taken);
        TEST_OK(dcsr_spmv_plan_run(y, plan, x));
        cr_assert(!memcmp(y, expected, sizeof y)); /* of whole numbers */
        dcsr_spmv_plan_destroy(plan);
    }
    cr_assert_eq(matrix_bytes(context), before);
    return status;
}

Test(models, plans_try_what_is_expected_to_be_alike, .init = begin, .fini = end)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 300, 300, DCSR_POLICY_LAST);
    char machine[128];
    dcsr_spmv_plan_info info;
    TEST_OK(dcsr_model_get_machine(context, machine, sizeof machine));
    put(device_of(context), machine, alike);
    for (uint64_t i = 0; i < 300; i++)
        for (uint64_t k = 0; k <= i % 5; k++)
            TEST_OK(dcsr_matrix_set(matrix, i, i * (k + 3) % 300, &(double){(double)(i + k)}));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(run_plan(&info, context, view, &(dcsr_spmv_options){.products = 100}, -1));
    cr_assert(!strcmp(info.kernel, "merge") && strstr(info.reason, "of 100 products"), "%s", info.reason);
    const dcsr_spmv_options short_of_memory = {.products = 10000000, .memory = 1 << 30};
    TEST_OK(run_plan(&info, context, view, &short_of_memory, -1));
    cr_assert(!strcmp(info.kernel, "merge") && strstr(info.reason, "of 10000000 products"), "%s",
              info.reason);
    const dcsr_spmv_options many = {.products = 10000000};
    TEST_OK(run_plan(&info, context, view, &many, -1));
    cr_assert(strstr(info.reason, "tried: ") && info.build_seconds > 0, "%s", info.reason);
    cr_assert(!strcmp(info.kernel, "merge") || !strcmp(info.kernel, "coo") || !strcmp(info.kernel, "ell") ||
              !strcmp(info.kernel, "segments"));
    put(device_of(context), machine, voted);
    TEST_OK(run_plan(&info, context, view, &many, -1));
    cr_assert(strstr(info.reason, "tried: ") && info.build_seconds > 0, "%s", info.reason);
    put(device_of(context), machine, alike);
    /* Without memory for a trial the plan does without, or says that there is none at all. */
    long n = 0;
    for (bool tried = false; !tried; n++) {
        const dcsr_status status = run_plan(&info, context, view, &many, n);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        tried = !status && strstr(info.reason, "tried: ");
    }
    cr_assert(n > 3);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
