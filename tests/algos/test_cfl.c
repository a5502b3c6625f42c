/* test_cfl.c: context-free reachability against the definition, on random grammars and graphs and by hand; what is
 * refused of grammars and graphs; and same generation, which is made by the same rules. */
#include <dcsr/cfl.h>
#include <dcsr/closure.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support_files.h"

#include <inttypes.h>
#include <sys/stat.h>

TestSuite(cfl, .fini = (void (*)(void))test_remove_files);

/* ---- The definition ---- */

enum { SYMBOLS = 6, MOST_PRODUCTIONS = 12, MOST_INDICES = 3 };
/* Nonterminals, then labels; a family is one with an index. */
static const char *const symbol_names[SYMBOLS] = {"S", "B", "F_i", "a", "b", "c_i"};
enum { NONTERMINALS = 3, FAMILY = 2, LABEL_FAMILY = 5 };

typedef struct production {
    int left, right[2], length;
} production;

/* has[symbol][index][x * n + y] */
typedef struct definition {
    uint64_t n, indices;
    bool *has[SYMBOLS][MOST_INDICES];
    production production[MOST_PRODUCTIONS];
    int productions;
} definition;

static bool is_family(int symbol)
{
    return symbol == FAMILY || symbol == LABEL_FAMILY;
}

static bool *table(definition *d, int symbol, uint64_t index)
{
    return d->has[symbol][is_family(symbol) ? index : 0];
}

static bool put(bool *at)
{
    const bool fresh = !*at;
    *at = true;
    return fresh;
}

/* One production for one index; whether that was new. */
static bool apply(definition *d, const production *p, uint64_t index)
{
    bool grown = false, *left = table(d, p->left, index);
    const uint64_t n = d->n;
    for (uint64_t x = 0; x < n; x++) {
        if (p->length == 0) grown |= put(&left[x * n + x]);
        for (uint64_t z = 0; z < n && p->length; z++) {
            if (!table(d, p->right[0], index)[x * n + z]) continue;
            if (p->length == 1) grown |= put(&left[x * n + z]);
            for (uint64_t y = 0; y < n && p->length == 2; y++)
                if (table(d, p->right[1], index)[z * n + y]) grown |= put(&left[x * n + y]);
        }
    }
    return grown;
}

static void solve(definition *d)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (int k = 0; k < d->productions; k++) {
            const production *p = &d->production[k];
            bool family = is_family(p->left);
            for (int w = 0; w < p->length; w++) family |= is_family(p->right[w]);
            for (uint64_t index = 0; index < (family ? d->indices : 1); index++) grown |= apply(d, p, index);
        }
    }
}

static uint64_t count(definition *d, int symbol)
{
    uint64_t pairs = 0;
    for (uint64_t index = 0; index < (is_family(symbol) ? d->indices : 1); index++)
        for (uint64_t k = 0; k < d->n * d->n; k++) pairs += table(d, symbol, index)[k];
    return pairs;
}

/* A pair of any index. */
static bool joined(definition *d, int symbol, uint64_t k)
{
    for (uint64_t index = 0; index < (is_family(symbol) ? d->indices : 1); index++)
        if (table(d, symbol, index)[k]) return true;
    return false;
}

static void begin(definition *d, uint64_t n, uint64_t indices)
{
    *d = (definition){.n = n, .indices = indices};
    for (int s = 0; s < SYMBOLS; s++)
        for (int index = 0; index < MOST_INDICES; index++) {
            d->has[s][index] = test_allocate(n * n, 1);
            memset(d->has[s][index], 0, n * n);
        }
}

static void end(definition *d)
{
    for (int s = 0; s < SYMBOLS; s++)
        for (int index = 0; index < MOST_INDICES; index++) free(d->has[s][index]);
}

/* ---- Random grammars and graphs ---- */

/* Each nonterminal has a production, so that all are known; writes them as a text. */
static void draw_grammar(definition *d, test_random *random, char *text, size_t size)
{
    size_t length = 0;
    d->productions = NONTERMINALS + (int)test_random_below(random, MOST_PRODUCTIONS - NONTERMINALS);
    for (int k = 0; k < d->productions; k++) {
        production *p = &d->production[k];
        p->left = k < NONTERMINALS ? k : (int)test_random_below(random, NONTERMINALS);
        p->length = test_random_once_in(random, 8) ? 0 : 1 + !test_random_once_in(random, 3);
        length += (size_t)snprintf(text + length, size - length, "%s", symbol_names[p->left]);
        for (int w = 0; w < p->length; w++) {
            p->right[w] = (int)test_random_below(random, SYMBOLS);
            length += (size_t)snprintf(text + length, size - length, "%s%s", w ? " \t" : "\t",
                                       symbol_names[p->right[w]]);
        }
        length += (size_t)snprintf(text + length, size - length, "%s", k % 3 ? "\n" : " \r\n\n");
    }
    snprintf(text + length, size - length, "Count:\n%s\n",
             symbol_names[test_random_below(random, NONTERMINALS)]);
}

/* Edges of every label, some of them twice; indices are 7, 1000000 and 3. A label may be a nonterminal, too. */
static dcsr_labelled *draw_graph(definition *d, test_random *random, dcsr_context *context)
{
    static const uint64_t indices[MOST_INDICES] = {7, 1000000, 3};
    dcsr_labelled *graph;
    TEST_OK(dcsr_labelled_create(&graph, context));
    for (int s = 0; s < SYMBOLS; s++) {
        const uint64_t edges =
            s < NONTERMINALS ? test_random_below(random, 2) : test_random_below(random, 2 * d->n);
        for (uint64_t k = 0; k < edges; k++) {
            const uint64_t from = test_random_below(random, d->n), to = test_random_below(random, d->n);
            const uint64_t index = is_family(s) ? test_random_below(random, d->indices) : 0;
            TEST_OK(dcsr_labelled_insert(graph, symbol_names[s], 1, &from, &to,
                                         is_family(s) ? &indices[index] : NULL));
            table(d, s, index)[from * d->n + to] = true;
        }
    }
    /* So that every index is there, and as many vertices as there should be. */
    const uint64_t last = d->n - 1;
    for (uint64_t index = 0; index < d->indices; index++) {
        TEST_OK(dcsr_labelled_insert(graph, "c", 1, &last, &last, &indices[index]));
        table(d, LABEL_FAMILY, index)[last * d->n + last] = true;
    }
    TEST_OK(dcsr_labelled_insert(graph, "ignored", 1, &last, &last, NULL));
    return graph;
}

static void expect_matrix(definition *d, int symbol, dcsr_matrix *pairs)
{
    const uint64_t n = d->n;
    dcsr_csr csr;
    dcsr_view *view = test_view(pairs, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
    cr_assert(csr.rows == n && csr.cols == n);
    for (uint64_t x = 0; x < n; x++) {
        uint64_t e = csr.offsets[x];
        for (uint64_t y = 0; y < n; y++) {
            const bool there = e < csr.offsets[x + 1] && csr.col_indices[e] == y;
            cr_assert(there == joined(d, symbol, x * n + y), "%s (%" PRIu64 ", %" PRIu64 ")",
                      symbol_names[symbol], x, y);
            e += there;
        }
        cr_assert_eq(e, csr.offsets[x + 1]);
    }
    dcsr_view_destroy(view);
}

/* Whether a symbol takes part: its production's line, and what it is asked for. */
static void check(definition *d, dcsr_context *context, const char *text, const dcsr_labelled *graph)
{
    dcsr_grammar *grammar;
    TEST_OK(dcsr_grammar_parse(&grammar, context, "drawn", text));
    for (int s = 0; s < NONTERMINALS; s++) {
        dcsr_cfl_result result;
        dcsr_matrix *pairs;
        uint64_t entries[NONTERMINALS];
        const dcsr_cfl_options options = {.nonterminal = symbol_names[s]};
        TEST_OK(dcsr_cfl(&pairs, &result, entries, grammar, graph, &options));
        cr_assert(result.vertices == d->n);
        cr_assert(result.pairs == count(d, s), "%s: %" PRIu64 " pairs, not %" PRIu64 ", by\n%s",
                  symbol_names[s], result.pairs, count(d, s), text);
        for (int k = 0; k < NONTERMINALS; k++) {
            cr_assert_str_eq(dcsr_grammar_nonterminal_at(grammar, (uint32_t)k), symbol_names[k]);
            cr_assert(entries[k] == count(d, k), "%s: %" PRIu64 " entries, not %" PRIu64 ", by\n%s",
                      symbol_names[k], entries[k], count(d, k), text);
        }
        expect_matrix(d, s, pairs);
        dcsr_matrix_destroy(pairs);
    }
    cr_assert_null(dcsr_grammar_nonterminal_at(grammar, NONTERMINALS));
    dcsr_grammar_destroy(grammar);
}

Test(cfl, is_what_the_definition_says)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(300, 100, 30));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        char text[2000];
        definition d;
        test_seed_begins(seed);
        test_random random = {seed};
        dcsr_context *context = test_context(1 + (int)(seed % 2));
        begin(&d, 1 + test_random_below(&random, test_random_once_in(&random, 10) ? 60 : 14),
              1 + test_random_below(&random, MOST_INDICES));
        draw_grammar(&d, &random, text, sizeof text);
        dcsr_labelled *graph = draw_graph(&d, &random, context);
        solve(&d);
        check(&d, context, text, graph);
        dcsr_labelled_destroy(graph);
        end(&d);
        test_close(context);
    }
}

/* Rows that are lists, that have tables, and that become bitmaps: many vertices, few of them with edges. */
Test(cfl, is_the_closure_where_words_are_any)
{
    enum { N = TEST_EMULATOR ? 500 : 3000 };
    static const char *const grammars[] = {"P e\nP P e\n", "P e\nP e P\n", "P e\nP P P\n"};
    dcsr_context *context = test_context(2);
    for (int spread = 1; spread <= 40; spread += 39) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N * 40, N * 40, DCSR_POLICY_ANY);
        dcsr_labelled *graph;
        dcsr_closure_result expected;
        test_random random = {(uint64_t)spread};
        uint64_t *from = test_allocate(N, sizeof *from), *to = test_allocate(N, sizeof *to);
        for (uint64_t k = 0; k < N; k++) {
            from[k] = test_random_below(&random, N) / 2 * (uint64_t)spread;
            to[k] = test_random_below(&random, N) / 2 * (uint64_t)spread;
        }
        TEST_OK(dcsr_labelled_create(&graph, context));
        TEST_OK(dcsr_labelled_insert(graph, "e", N, from, to, NULL));
        TEST_OK(dcsr_matrix_insert(matrix, N, from, to, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_closure(NULL, &expected, view, NULL));
        for (int k = 0; k < 3; k++) {
            dcsr_grammar *grammar;
            dcsr_cfl_result result;
            TEST_OK(dcsr_grammar_parse(&grammar, context, "path", grammars[k]));
            TEST_OK(dcsr_cfl(NULL, &result, NULL, grammar, graph, NULL));
            cr_assert(result.pairs == expected.pairs, "%" PRIu64 " pairs, not %" PRIu64, result.pairs,
                      expected.pairs);
            dcsr_grammar_destroy(grammar);
        }
        dcsr_view_destroy(view);
        dcsr_labelled_destroy(graph);
        dcsr_matrix_destroy(matrix);
        free(from), free(to);
    }
    test_close(context);
}

/* ---- Files ---- */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

/* Brackets: (0, 4) by a a b b, (1, 3) by a b. */
static const char brackets[] = "# brackets\nS\ta\tT\nT S b\nT b\n\nCount:\nS\n";

Test(cfl, reads_files_and_folders)
{
    dcsr_context *context = test_context(1);
    dcsr_grammar *grammar;
    dcsr_labelled *graph;
    dcsr_matrix *pairs;
    char folder[300], path[400];
    write_text(test_path("brackets"), brackets);
    write_text(test_path("graph.txt"), "% a path\n0 1 a\n1\t2 a\r\n\n2 3 b\n3 4 b\n");
    TEST_OK(dcsr_grammar_read(&grammar, context, test_path("brackets")));
    TEST_OK(dcsr_labelled_read(&graph, context, test_path("graph.txt")));
    TEST_OK(dcsr_cfl(&pairs, NULL, NULL, grammar, graph, NULL));
    TEST_SHOWS(pairs, {0, 4, 1}, {1, 3, 1});
    dcsr_matrix_destroy(pairs);
    dcsr_labelled_destroy(graph);
    /* The same as Souffle has it. */
    snprintf(folder, sizeof folder, "%s", test_path("facts"));
    cr_assert(!mkdir(folder, 0700));
    snprintf(path, sizeof path, "%s/a.facts", folder);
    write_text(path, "0\t1\n1\t2\n");
    snprintf(path, sizeof path, "%s/b.facts", folder);
    write_text(path, "2\t3\n3\t4\n");
    TEST_OK(dcsr_labelled_read(&graph, context, folder));
    TEST_OK(dcsr_cfl(&pairs, NULL, NULL, grammar, graph, NULL));
    TEST_SHOWS(pairs, {0, 4, 1}, {1, 3, 1});
    dcsr_matrix_destroy(pairs);
    dcsr_labelled_destroy(graph);
    cr_assert(!unlink(path));
    snprintf(path, sizeof path, "%s/a.facts", folder);
    cr_assert(!unlink(path));
    TEST_REFUSED(DCSR_ERROR_FORMAT, "LABEL.facts", dcsr_labelled_read(&graph, context, folder));
    cr_assert(!graph && !rmdir(folder));
    TEST_REFUSED(DCSR_ERROR_IO, "No such file", dcsr_labelled_read(&graph, context, folder));
    dcsr_grammar_destroy(grammar);
    TEST_REFUSED(DCSR_ERROR_IO, "No such file", dcsr_grammar_read(&grammar, context, folder));
    cr_assert_null(grammar);
    test_close(context);
}

/* A store into a field, and a load from it, as lines of words and as facts whose symbols have blanks. */
static const char named_graph[] = "# fields\nx y store_i next\ny z load_i next\ny w load_i other\n";
static const char *const named_facts[][2] = {{"store_i", "new T()\t#y\tT.next\n"},
                                             {"load_i", "#y\t\"z\"\tT.next\n#y\tw\tT.other\n"}};

static const char *write_facts(void)
{
    static char folder[300];
    char path[400];
    snprintf(folder, sizeof folder, "%s", test_path("named"));
    cr_assert(!mkdir(folder, 0700));
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/%s.facts", folder, named_facts[k][0]);
        write_text(path, named_facts[k][1]);
    }
    return folder;
}

Test(cfl, vertices_and_indices_may_have_names)
{
    dcsr_context *context = test_context(1);
    dcsr_grammar *grammar;
    TEST_OK(dcsr_grammar_parse(&grammar, context, "fields", "S store_i load_i\n"));
    write_text(test_path("named.txt"), named_graph);
    const char *const paths[] = {test_path("named.txt"), write_facts()};
    /* In the order of the files, load_i.facts before store_i.facts. */
    static const char *const from_to[][2] = {{"x", "z"}, {"new T()", "\"z\""}};
    for (int k = 0; k < 2; k++) {
        dcsr_names *names;
        dcsr_labelled *graph;
        dcsr_matrix *pairs;
        uint64_t ids[2], count;
        const dcsr_text texts[2] = {{from_to[k][0], strlen(from_to[k][0])},
                                    {from_to[k][1], strlen(from_to[k][1])}};
        TEST_OK(dcsr_names_create(&names, context));
        TEST_OK(dcsr_labelled_read_named(&graph, context, names, paths[k]));
        TEST_OK(dcsr_names_get_count(names, &count));
        cr_assert_eq(count, 4);
        TEST_OK(dcsr_names_find(names, 2, texts, ids));
        TEST_OK(dcsr_cfl(&pairs, NULL, NULL, grammar, graph, NULL));
        TEST_SHOWS(pairs, {ids[0], ids[1], 1});
        dcsr_matrix_destroy(pairs);
        dcsr_labelled_destroy(graph);
        long failed = 0;
        for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status; failed++) {
            dcsr_i_fail_allocations_after(failed);
            status = dcsr_labelled_read_named(&graph, context, names, paths[k]);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || (status == DCSR_ERROR_OUT_OF_MEMORY && !graph), "%s", dcsr_thread_error());
        }
        cr_assert_gt(failed, 3);
        dcsr_labelled_destroy(graph);
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "path is NULL",
                     dcsr_labelled_read_named(&graph, context, names, NULL));
        write_text(test_path("named.txt"), "x y store_i\n");
        TEST_REFUSED(DCSR_ERROR_FORMAT, "named.txt:1: the label store_i is a family",
                     dcsr_labelled_read_named(&graph, context, names, test_path("named.txt")));
        dcsr_names_destroy(names);
    }
    dcsr_labelled *graph;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "names is NULL",
                 dcsr_labelled_read_named(&graph, context, NULL, paths[0]));
    dcsr_grammar_destroy(grammar);
    test_close(context);
}

Test(cfl, names_the_line_of_a_bad_grammar)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"S a b\nS a b c\n", "bad:2: the right side of S has 3 symbols"},
               {"# nothing\n\n", "there is no production"},
               {"S a\nCount:\n", "bad:3: the file ends behind Count:"},
               {"S a\nCount: S\n", "bad:2: S stands behind Count:"},
               {"S a\n\nCount:\nT\n", "bad:4: nothing produces T"},
               {"S a\nCount:\na\n", "bad:3: nothing produces a"},
               {"S a\nCount:\nS S\n", "bad:3: behind Count: there are 2 symbols"},
               {"S a\nCount:\nS\nS b\n", "bad:4: S stands behind what is to be counted"}};
    dcsr_context *context = test_context(1);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        dcsr_grammar *grammar;
        TEST_REFUSED(DCSR_ERROR_FORMAT, bad[k].words,
                     dcsr_grammar_parse(&grammar, context, "bad", bad[k].text));
        cr_assert_null(grammar);
    }
    test_close(context);
}

Test(cfl, names_the_line_of_a_bad_graph)
{
    static const struct {
        const char *text, *words;
    } bad[] = {{"0 1 a\n0 1\n", ":2: the line has 2 words; it is `from to label [index]`"},
               {"0 1 a 2 3\n", ":1: the line has 5 words"},
               {"0 x a\n", ":1: 'x' is no vertex"},
               {"-1 0 a\n", "'-1' is no vertex"},
               {"2147483648 0 a\n", "from 0 to 2147483647"},
               {"0 1 a 1.5\n", "'1.5' is no index"},
               {"0 1 a_i\n", "a_i is a family"}};
    dcsr_context *context = test_context(1);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        dcsr_labelled *graph;
        write_text(test_path("bad"), bad[k].text);
        TEST_REFUSED(DCSR_ERROR_FORMAT, bad[k].words, dcsr_labelled_read(&graph, context, test_path("bad")));
        cr_assert_null(graph);
    }
    test_close(context);
}

Test(cfl, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_grammar *grammar, *unmade;
    dcsr_labelled *graph;
    dcsr_matrix *pairs;
    dcsr_cfl_result result = {.pairs = 5};
    uint32_t counted = 7;
    const uint64_t zero = 0, far = DCSR_MAX_COLS;
    const dcsr_cfl_options other = {.nonterminal = "a"}, little = {.memory_limit = 2000};
    TEST_OK(dcsr_grammar_parse(&grammar, context, "brackets", brackets));
    TEST_OK(dcsr_grammar_get_counted(grammar, &counted));
    cr_assert_eq(counted, 0);
    TEST_OK(dcsr_grammar_parse(&unmade, context, "unmade", "S a\n\nS a Missing\n"));
    TEST_OK(dcsr_labelled_create(&graph, context));
    /* A graph of nothing, which all the same is one. */
    TEST_OK(dcsr_cfl(&pairs, &result, NULL, grammar, graph, NULL));
    cr_assert(!result.pairs && !result.vertices);
    dcsr_matrix_destroy(pairs);
    TEST_OK(dcsr_labelled_insert(graph, "a", 1, &zero, &zero, NULL));
    result.pairs = 5;
    TEST_REFUSED(DCSR_ERROR_FORMAT, "unmade:3: nothing produces Missing",
                 dcsr_cfl(&pairs, &result, NULL, unmade, graph, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no nonterminal a",
                 dcsr_cfl(&pairs, &result, NULL, grammar, graph, &other));
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "raise memory_limit",
                 dcsr_cfl(&pairs, &result, NULL, grammar, graph, &little));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_cfl(&pairs, &result, NULL, grammar, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_cfl(&pairs, &result, NULL, NULL, graph, NULL));
    cr_assert(!pairs && result.pairs == 5);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "no label",
                 dcsr_labelled_insert(graph, "", 0, NULL, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "family",
                 dcsr_labelled_insert(graph, "a_i", 0, NULL, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "below 2^31",
                 dcsr_labelled_insert(graph, "a", 1, &zero, &far, NULL));
    dcsr_grammar_destroy(grammar);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_grammar_parse(&grammar, context, NULL, ""));
    cr_assert_null(grammar);
    dcsr_grammar_destroy(unmade);
    dcsr_labelled_destroy(graph);
    test_close(context);
}

Test(cfl, leaves_all_as_it_was_where_memory_fails)
{
    dcsr_context *context = test_context(1);
    const uint64_t from[] = {0, 1, 2}, to[] = {1, 2, 0};
    long n = 0;
    for (bool failed = true; failed; n++) {
        dcsr_grammar *grammar = NULL;
        dcsr_labelled *graph = NULL;
        dcsr_matrix *pairs = NULL;
        dcsr_cfl_result result = {.pairs = 5};
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_grammar_parse(&grammar, context, "path", "P e\nP P P\nP\nQ_i P f_i\n");
        if (!status) status = dcsr_labelled_create(&graph, context);
        if (!status) status = dcsr_labelled_insert(graph, "e", 3, from, to, NULL);
        if (!status) status = dcsr_labelled_insert(graph, "f", 1, from, to, from);
        if (!status) status = dcsr_cfl(&pairs, &result, NULL, grammar, graph, NULL);
        dcsr_i_fail_allocations_after(-1);
        failed = status != DCSR_OK;
        cr_assert(!failed || (status == DCSR_ERROR_OUT_OF_MEMORY && !pairs && result.pairs == 5), "%s",
                  dcsr_thread_error());
        cr_assert(failed || result.pairs == 9);
        dcsr_matrix_destroy(pairs);
        dcsr_labelled_destroy(graph);
        dcsr_grammar_destroy(grammar);
    }
    cr_assert(n > 20);
    test_close(context);
}

/* ---- Same generation ---- */

/* Until nothing is new. */
static void expect_generations(dcsr_matrix *pairs, const bool *edge, uint64_t n)
{
    bool *sg = test_allocate(n * n, 1);
    memset(sg, 0, n * n);
    for (uint64_t p = 0; p < n; p++)
        for (uint64_t x = 0; x < n; x++)
            for (uint64_t y = 0; y < n; y++) sg[x * n + y] |= edge[p * n + x] && edge[p * n + y] && x != y;
    for (bool grown = true; grown;) {
        grown = false;
        for (uint64_t k = 0; k < n * n; k++)
            for (uint64_t x = 0; sg[k] && x < n; x++)
                for (uint64_t y = 0; edge[k / n * n + x] && y < n; y++)
                    if (edge[k % n * n + y]) grown |= put(&sg[x * n + y]);
    }
    dcsr_view *view = test_view(pairs, DCSR_LAYOUT_SEGMENTS, 0);
    for (uint64_t x = 0; x < n; x++)
        for (uint64_t y = 0; y < n; y++) {
            bool there;
            TEST_OK(dcsr_view_get_many(view, 1, &x, &y, NULL, &there));
            cr_assert(there == sg[x * n + y], "(%" PRIu64 ", %" PRIu64 ")", x, y);
        }
    dcsr_view_destroy(view);
    free(sg);
}

Test(cfl, finds_the_vertices_of_one_generation)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 20, 10));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        const uint64_t n = 2 + test_random_below(&random, seed % 5 ? 30 : 90);
        dcsr_context *context = test_context(1 + (int)(seed % 2));
        dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, n, n, DCSR_POLICY_KEEP), *pairs;
        dcsr_closure_result result, counted;
        bool *edge = test_allocate(n * n, 1);
        memset(edge, 0, n * n);
        for (uint64_t k = test_random_below(&random, 3 * n); k; k--) {
            const uint64_t p = test_random_below(&random, n), x = test_random_below(&random, n);
            TEST_OK(dcsr_matrix_insert(matrix, 1, &p, &x, NULL, NULL));
            edge[p * n + x] = true;
        }
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view =
            test_view(matrix, seed % 3 ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_same_generation(&pairs, &result, view, NULL));
        TEST_OK(dcsr_same_generation(NULL, &counted, view, NULL));
        uint64_t nnz;
        TEST_OK(dcsr_matrix_get_nnz(pairs, &nnz));
        cr_assert(nnz == result.pairs && nnz == counted.pairs);
        expect_generations(pairs, edge, n);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(pairs);
        dcsr_matrix_destroy(matrix);
        free(edge);
        test_close(context);
    }
}

Test(cfl, finds_the_generations_of_a_real_graph)
{
    static const char path[] = "../shared/data/OL.cedge.el.gz";
    if (access(path, R_OK) != 0) cr_skip("%s is not there", path);
    dcsr_context *context = test_context(1);
    dcsr_coo coo = {0};
    dcsr_matrix *matrix = NULL;
    dcsr_closure_result result;
    TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
    TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_same_generation(NULL, &result, view, NULL));
    cr_assert_eq(result.pairs, 285431);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "limit",
                 dcsr_same_generation(NULL, &result, view, &(dcsr_closure_options){.memory_limit = 1 << 20}));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    dcsr_coo_free(&coo);
    test_close(context);
}
