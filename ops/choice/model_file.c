/* model_file.c: reading models. The format, a text of lines and words, is described in docs/SELECTION.md; the checksum
 * is over all that follows its line. */
#include "ops/choice/model_data.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { VERSION = 1, LONGEST_FILE = 64 << 20, LEAST_LINE = 8 /* bytes of a line of a tree */ };

/* Where in a text one is. */
typedef struct reader {
    const char *name, *at, *end;
    unsigned line;
    locale_t c; /* numbers have a point, whatever the program's locale */
} reader;

static dcsr_status wrong(const reader *r, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s:%u: %s; run `dcsr tune` to make a model anew", r->name, r->line,
                       what);
}

/* ---- Words and lines ---- */

/* The next word of the line, copied into `word`; false at the line's end, or where it is too long. */
static bool next_word(reader *r, char *word, size_t size)
{
    size_t n = 0;
    while (r->at < r->end && *r->at == ' ') r->at++;
    while (r->at < r->end && *r->at != ' ' && *r->at != '\n' && n + 1 < size) word[n++] = *r->at++;
    word[n] = 0;
    return n && (r->at == r->end || *r->at == ' ' || *r->at == '\n');
}

/* The rest of the line, which is left; what does not fit is cut off. */
static void rest_of_line(reader *r, char *text, size_t size)
{
    size_t n = 0;
    while (r->at < r->end && *r->at == ' ') r->at++;
    for (; r->at < r->end && *r->at != '\n'; r->at++)
        if (n + 1 < size) text[n++] = *r->at;
    text[n] = 0;
    r->at += r->at < r->end;
    r->line++;
}

/* Leaves a line that has nothing more in it. */
static bool end_line(reader *r)
{
    if (r->at == r->end || *r->at != '\n') return false;
    r->at++;
    r->line++;
    return true;
}

static bool keyword(reader *r, const char *expected)
{
    char word[DCSR_I_MODEL_NAME];
    const reader before = *r;
    if (next_word(r, word, sizeof word) && !strcmp(word, expected)) return true;
    *r = before;
    return false;
}

static bool number(reader *r, double *value)
{
    char word[64], *end;
    if (!next_word(r, word, sizeof word)) return false;
    *value = strtod_l(word, &end, r->c);
    return !*end && isfinite(*value);
}

/* A number, or - for one that is not known. */
static bool number_or_none(reader *r, float *value)
{
    double read = NAN;
    if (!keyword(r, "-") && !number(r, &read)) return false;
    *value = (float)read;
    return true;
}

static bool whole(reader *r, int64_t least, int64_t most, int64_t *value)
{
    double read;
    if (!number(r, &read) || read < (double)least || read > (double)most || read != floor(read)) return false;
    *value = (int64_t)read;
    return true;
}

static bool numbers(reader *r, double *values, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!number(r, &values[k])) return false;
    return true;
}

/* ---- What a model chooses by and among ---- */

static dcsr_status read_head(reader *r, dcsr_i_model *model)
{
    int64_t version;
    char sum[16];
    if (!keyword(r, "dcsr-model")) return wrong(r, "this is no model of dcsr, which begins with dcsr-model");
    if (!whole(r, 0, INT32_MAX, &version) || !end_line(r)) return wrong(r, "the version is missing");
    if (version != VERSION)
        return wrong(r, "the format is of another version than this dcsr reads, which is 1");
    if (!keyword(r, "crc32") || !next_word(r, sum, sizeof sum) || !end_line(r))
        return wrong(r, "the checksum is missing");
    char *end;
    const unsigned long is = crc32(0, (const Bytef *)r->at, (uInt)(r->end - r->at));
    if (strtoul(sum, &end, 16) != is || *end)
        return wrong(r, "the checksum is not that of what follows: the file is damaged");
    const bool cuda = keyword(r, "device") && keyword(r, "cuda");
    if ((!cuda && !keyword(r, "cpu")) || !end_line(r)) return wrong(r, "the device, cpu or cuda, is missing");
    model->info.device = cuda ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU;
    if (!keyword(r, "machine")) return wrong(r, "the machine is missing");
    rest_of_line(r, model->info.machine, sizeof model->info.machine);
    if (!keyword(r, "made")) return wrong(r, "how it was made is missing");
    rest_of_line(r, model->info.made, sizeof model->info.made);
    return DCSR_OK;
}

static bool find_feature(const char *name, uint16_t *number)
{
    for (uint16_t k = 0; dcsr_feature_at(k); k++) {
        if (strcmp(dcsr_feature_at(k)->name, name)) continue;
        *number = k;
        return true;
    }
    return false;
}

static dcsr_status read_names(reader *r, dcsr_i_model *model)
{
    char name[DCSR_I_MODEL_NAME];
    if (!keyword(r, "features")) return wrong(r, "the features are missing");
    while (next_word(r, name, sizeof name)) {
        /* One more is for the density of vectors. */
        if (model->features + 1 == DCSR_I_MODEL_FEATURES) return wrong(r, "there are too many features");
        if (!find_feature(name, &model->feature[model->features++]))
            return wrong(r, "a feature is not one that this dcsr knows");
    }
    if (!end_line(r) || !model->features) return wrong(r, "the features end too soon");
    if (!keyword(r, "kernels")) return wrong(r, "the kernels are missing");
    while (model->kernels < DCSR_I_MODEL_KERNELS &&
           next_word(r, model->kernel[model->kernels], DCSR_I_MODEL_NAME))
        model->kernels++;
    if (!end_line(r)) return wrong(r, "there are too many kernels, or one has too long a name");
    if (model->kernels < 2) return wrong(r, "there is but one kernel, and nothing to choose");
    model->info.kernels = (int)model->kernels;
    return DCSR_OK;
}

/* ---- Forests ---- */

static bool read_node(reader *r, dcsr_i_node *node, const dcsr_i_model *model, int64_t at,
                      const dcsr_i_tree *tree)
{
    int64_t feature, child[2];
    if (!keyword(r, "node") || !whole(r, 0, model->features - 1, &feature) || !number(r, &node->threshold))
        return false;
    for (int side = 0; side < 2; side++) {
        /* A node's children come after it, so that every path ends. */
        if (!whole(r, -(int64_t)tree->leaves, (int64_t)tree->nodes - 1, &child[side]) ||
            (child[side] >= 0 && child[side] <= at))
            return false;
        node->child[side] = (int16_t)child[side];
    }
    node->feature = (uint16_t)feature;
    return end_line(r);
}

static bool read_leaf(reader *r, double *probability, dcsr_i_expected *expected, uint32_t kernels)
{
    if (!keyword(r, "leaf") || !numbers(r, probability, kernels)) return false;
    for (uint32_t k = 0; k < kernels; k++) {
        if (!number_or_none(r, &expected[k].product) || !number_or_none(r, &expected[k].build) ||
            isnan(expected[k].product) != isnan(expected[k].build) || expected[k].product <= 0)
            return false;
        expected[k].product = logf(expected[k].product);
    }
    return end_line(r);
}

/* A tree, in what room the forest has left. */
static dcsr_status read_tree(reader *r, dcsr_i_forest *f, dcsr_i_tree *tree, const dcsr_i_model *model)
{
    int64_t nodes, leaves;
    const uint32_t kernels = model->kernels;
    const int64_t most_nodes = f->room_nodes - f->nodes, most_leaves = f->room_leaves - f->leaves;
    if (!keyword(r, "tree") || !whole(r, 0, most_nodes, &nodes) || !whole(r, 1, most_leaves, &leaves) ||
        nodes > INT16_MAX || leaves > INT16_MAX || !end_line(r))
        return wrong(r, "a tree does not begin as it should, or has more than its forest says");
    *tree = (dcsr_i_tree){f->nodes, (uint32_t)nodes, f->leaves, (uint32_t)leaves};
    f->nodes += (uint32_t)nodes;
    f->leaves += (uint32_t)leaves;
    for (int64_t n = 0; n < nodes; n++)
        if (!read_node(r, &f->node[tree->first_node + n], model, n, tree))
            return wrong(r, "a node of a tree is not as it should be");
    for (int64_t n = 0; n < leaves; n++) {
        const size_t at = (size_t)(tree->first_leaf + n) * kernels;
        if (!read_leaf(r, f->probability + at, f->expected + at, kernels))
            return wrong(r, "a leaf of a tree is not as it should be");
    }
    return DCSR_OK;
}

/* Room for so many; the sums of what trees have must not be more. */
static dcsr_status make_forest(dcsr_i_forest *f, uint32_t trees, uint64_t nodes, uint64_t leaves,
                               uint32_t kernels)
{
    f->trees = trees;
    f->room_nodes = (uint32_t)nodes;
    f->room_leaves = (uint32_t)leaves;
    const size_t values = leaves * kernels;
    f->tree = dcsr_i_calloc(NULL, DCSR_I_MATRIX, trees, sizeof *f->tree);
    f->node = dcsr_i_alloc(NULL, DCSR_I_MATRIX, nodes, sizeof *f->node);
    f->probability = dcsr_i_alloc(NULL, DCSR_I_MATRIX, values, sizeof *f->probability);
    f->expected = dcsr_i_alloc(NULL, DCSR_I_MATRIX, values, sizeof *f->expected);
    return f->tree && f->node && f->probability && f->expected ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status read_forest(reader *r, dcsr_i_forest *f, const dcsr_i_model *model)
{
    int64_t trees, nodes, leaves;
    const int64_t most = (r->end - r->at) / LEAST_LINE;
    if (!whole(r, 1, 1024, &trees) || !whole(r, 0, most, &nodes) || !whole(r, trees, most, &leaves) ||
        !end_line(r) || f->trees)
        return wrong(r, "a forest does not begin as it should");
    DCSR_TRY(make_forest(f, (uint32_t)trees, (uint64_t)nodes, (uint64_t)leaves, model->kernels));
    for (int64_t t = 0; t < trees; t++) DCSR_TRY(read_tree(r, f, &f->tree[t], model));
    if (f->nodes != nodes || f->leaves != leaves)
        return wrong(r, "the trees have fewer nodes or leaves than the forest says");
    return DCSR_OK;
}

/* ---- The support vector machine ---- */

static dcsr_status read_svm(reader *r, dcsr_i_svm *svm, uint32_t inputs)
{
    int64_t vectors;
    if (!number(r, &svm->gamma) || !number(r, &svm->intercept) ||
        !whole(r, 1, (r->end - r->at) / LEAST_LINE, &vectors) || !end_line(r) || svm->vectors)
        return wrong(r, "the support vector machine does not begin as it should");
    if (!keyword(r, "mean") || !numbers(r, svm->mean, inputs) || !end_line(r) || !keyword(r, "scale") ||
        !numbers(r, svm->scale, inputs) || !end_line(r))
        return wrong(r, "the scaling of the support vector machine is not as it should be");
    svm->coefficient = dcsr_i_alloc(NULL, DCSR_I_MATRIX, (size_t)vectors, sizeof *svm->coefficient);
    svm->vector = dcsr_i_alloc(NULL, DCSR_I_MATRIX, (size_t)vectors * inputs, sizeof *svm->vector);
    svm->vectors = (uint32_t)vectors;
    if (!svm->coefficient || !svm->vector) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint32_t v = 0; v < svm->vectors; v++)
        if (!keyword(r, "vector") || !number(r, &svm->coefficient[v]) ||
            !numbers(r, svm->vector + (size_t)v * inputs, inputs) || !end_line(r))
            return wrong(r, "a support vector is not as it should be");
    return DCSR_OK;
}

/* ---- Products with sparse vectors ---- */

/* The number of a word among n names; n where it is none of them. */
static int name_of(reader *r, const char *const *names, int n)
{
    int k = 0;
    while (k < n && !keyword(r, names[k])) k++;
    return k;
}

static dcsr_status read_direction(reader *r, dcsr_i_model *model)
{
    const int sums = name_of(r, dcsr_i_sums_names, DCSR_I_SUMS),
              d = name_of(r, dcsr_i_direction_names, DCSR_I_DIRECTIONS);
    dcsr_i_direction_cost cost = {.known = true};
    if (sums == DCSR_I_SUMS || d == DCSR_I_DIRECTIONS || model->direction[sums][d].known ||
        !numbers(r, cost.factor, DCSR_I_DIRECTION_TERMS) || !end_line(r))
        return wrong(r, "what a direction of products with sparse vectors costs is not as it should be");
    model->direction[sums][d] = cost;
    return DCSR_OK;
}

/* ---- Models ---- */

static dcsr_status read_parts(reader *r, dcsr_i_model *model)
{
    DCSR_TRY(read_head(r, model));
    DCSR_TRY(read_names(r, model));
    while (!keyword(r, "end")) {
        if (keyword(r, "forest")) {
            const bool time = keyword(r, "time");
            if (!time && !keyword(r, "energy"))
                return wrong(r, "a forest is neither for time nor for energy");
            DCSR_TRY(read_forest(r, &model->forest[time ? DCSR_I_BY_TIME : DCSR_I_BY_ENERGY], model));
        } else if (keyword(r, "svm")) {
            DCSR_TRY(read_svm(r, &model->svm, model->features + 1));
        } else if (keyword(r, "direction")) {
            DCSR_TRY(read_direction(r, model));
        } else {
            return wrong(r, "here should be a forest, an svm, a direction, or the end");
        }
    }
    if (!end_line(r) || r->at != r->end) return wrong(r, "something follows the end");
    if (!model->forest[DCSR_I_BY_TIME].trees) return wrong(r, "there is no forest for time");
    model->info.trees = (int)model->forest[DCSR_I_BY_TIME].trees;
    model->info.energy = model->forest[DCSR_I_BY_ENERGY].trees;
    model->info.vectors = model->svm.vectors;
    return DCSR_OK;
}

void dcsr_i_model_free(dcsr_i_model *model)
{
    if (!model) return;
    for (int c = 0; c < DCSR_I_CRITERIA; c++) {
        dcsr_i_forest *f = &model->forest[c];
        const size_t values = (size_t)f->room_leaves * model->kernels;
        dcsr_i_free(NULL, DCSR_I_MATRIX, f->tree, f->trees, sizeof *f->tree);
        dcsr_i_free(NULL, DCSR_I_MATRIX, f->node, f->room_nodes, sizeof *f->node);
        dcsr_i_free(NULL, DCSR_I_MATRIX, f->probability, values, sizeof *f->probability);
        dcsr_i_free(NULL, DCSR_I_MATRIX, f->expected, values, sizeof *f->expected);
    }
    dcsr_i_svm *svm = &model->svm;
    dcsr_i_free(NULL, DCSR_I_MATRIX, svm->coefficient, svm->vectors, sizeof *svm->coefficient);
    dcsr_i_free(NULL, DCSR_I_MATRIX, svm->vector, (size_t)svm->vectors * (model->features + 1),
                sizeof *svm->vector);
    dcsr_i_free(NULL, DCSR_I_MATRIX, model, 1, sizeof *model);
}

dcsr_status dcsr_i_model_parse(dcsr_i_model **model, const char *text, size_t length, const char *name)
{
    *model = NULL;
    reader r = {name, text, text + length, 1, newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (!r.c) return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: there is no memory to read a model", name);
    dcsr_i_model *made = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *made);
    dcsr_status status = made ? read_parts(&r, made) : DCSR_ERROR_OUT_OF_MEMORY;
    freelocale(r.c);
    if (status == DCSR_OK)
        *model = made;
    else
        dcsr_i_model_free(made);
    return status;
}

static dcsr_status read_text(char **text, size_t *length, FILE *file, const char *path)
{
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size < 0 || size > LONGEST_FILE || fseek(file, 0, SEEK_SET))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: this is no model: it is not a file of up to %d MiB", path,
                           LONGEST_FILE >> 20);
    *length = (size_t)size;
    *text = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, *length, 1);
    if (!*text) return DCSR_ERROR_OUT_OF_MEMORY;
    if (fread(*text, 1, *length, file) == *length) return DCSR_OK;
    dcsr_i_free(NULL, DCSR_I_SCRATCH, *text, *length, 1);
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
}

dcsr_status dcsr_i_model_read(dcsr_i_model **model, const char *path)
{
    *model = NULL;
    FILE *file = fopen(path, "re");
    if (!file)
        return dcsr_i_fail(errno == ENOENT ? DCSR_ERROR_NOT_FOUND : DCSR_ERROR_IO, "%s: cannot be opened: %s",
                           path, strerror(errno));
    char *text = NULL;
    size_t length = 0;
    dcsr_status status = read_text(&text, &length, file, path);
    fclose(file);
    if (status != DCSR_OK) return status;
    status = dcsr_i_model_parse(model, text, length, path);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, text, length, 1);
    if (status == DCSR_OK) {
        const size_t n = strlen(path), room = sizeof(*model)->info.file - 1;
        strcpy((*model)->info.file, path + (n > room ? n - room : 0));
    }
    return status;
}
