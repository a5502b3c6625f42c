/* test_cli_graph.c: the commands for graph algorithms: what they report, and the answers that they write. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cli_graph, .init = program_begin, .fini = program_end, .timeout = 300);

/* 0 -> 1 -> 2 -> 0 and 2 -> 3 -> 4, and 5 -> 6, with lengths. */
static const char edges[] = "0 1 4\n1 2 1\n2 0 2\n2 3 7\n3 4 3\n5 6 1\n";

static void expect_file(const char *name, const char *expected)
{
    char *text = program_read_file(name);
    cr_assert(text && !strcmp(text, expected), "%s has: %s", name, text ? text : "(it is not there)");
    free(text);
}

Test(cli_graph, each_command_writes_its_answer)
{
    static const struct {
        const char *command, *answer;
    } commands[] = {{"bfs g.el --source 0", "0\t0\n1\t1\n2\t2\n3\t3\n4\t4\n"},
                    {"bfs g.el --source 0 --parents", "0\t0\t-\n1\t1\t0\n2\t2\t1\n3\t3\t2\n4\t4\t3\n"},
                    {"sssp g.el --source 0", "0\t0\n1\t4\n2\t5\n3\t12\n4\t15\n"},
                    {"sssp g.el --source 0 --delta 3", "0\t0\n1\t4\n2\t5\n3\t12\n4\t15\n"},
                    {"bc g.el", "0\t1\n1\t3\n2\t5\n3\t3\n4\t0\n5\t0\n6\t0\n"},
                    {"bc g.el --sources 0,1", "0\t0\n1\t3\n2\t5\n3\t2\n4\t0\n5\t0\n6\t0\n"},
                    {"cc g.el", "0\t0\n1\t0\n2\t0\n3\t0\n4\t0\n5\t5\n6\t5\n"},
                    {"scc g.el", "0\t0\n1\t0\n2\t0\n3\t3\n4\t4\n5\t5\n6\t6\n"},
                    {"triangles g.el", "0\t1\n1\t1\n2\t1\n3\t0\n4\t0\n5\t0\n6\t0\n"},
                    {"clustering g.el", "0\t1\n1\t1\n2\t0.33333333333333331\n3\t0\n4\t0\n5\t0\n6\t0\n"},
                    {"colouring star.el --seed 5", "0\t0\n1\t1\n2\t1\n3\t1\n"},
                    {"mis loops.el --seed 1 --symmetric --repeat 2", "0\t1\n1\t1\n"},
                    {"kcore g.el", "0\t2\n1\t2\n2\t2\n3\t1\n4\t1\n5\t1\n6\t1\n"}};
    program_write_file("g.el", edges);
    program_write_file("star.el", "0 1\n0 2\n3 0\n");
    program_write_file("loops.el", "0 0\n1 1\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r;
        PROGRAM_JSON(r, "--json %s --out answer.tsv", commands[i].command);
        cr_assert_str_eq(program_string(&r, "file"), "answer.tsv");
        cr_assert(program_number(&r, "seconds") >= 0);
        program_free(&r);
        expect_file("answer.tsv", commands[i].answer);
        r = program_run("%s --out -", commands[i].command);
        program_expect_done(&r, commands[i].command);
        cr_assert_str_eq(r.out, commands[i].answer);
        program_free(&r);
    }
}

Test(cli_graph, totals_are_reported)
{
    program_result r;
    program_write_file("g.el", edges);
    PROGRAM_JSON(r, "--json sssp g.el --source 0");
    PROGRAM_INTEGER(&r, "reached", 5);
    cr_assert(program_number(&r, "distance_sum") == 36 && program_number(&r, "distance_max") == 15);
    program_free(&r);
    PROGRAM_JSON(r, "--json cc g.el");
    PROGRAM_INTEGER(&r, "components", 2);
    PROGRAM_INTEGER(&r, "largest", 5);
    program_free(&r);
    PROGRAM_JSON(r, "--json scc g.el");
    PROGRAM_INTEGER(&r, "components", 5);
    PROGRAM_INTEGER(&r, "largest", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json triangles g.el");
    PROGRAM_INTEGER(&r, "triangles", 1);
    program_free(&r);
    PROGRAM_JSON(r, "--json clustering g.el");
    PROGRAM_INTEGER(&r, "pairs", 6);
    cr_assert(program_number(&r, "transitivity") == 0.5);
    program_free(&r);
    PROGRAM_JSON(r, "--json colouring g.el");
    PROGRAM_INTEGER(&r, "colours", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json mis poisson2d9:2");
    PROGRAM_INTEGER(&r, "vertices", 1);
    program_free(&r);
    PROGRAM_JSON(r, "--json kcore g.el");
    PROGRAM_INTEGER(&r, "largest", 2);
    PROGRAM_INTEGER(&r, "vertices", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json triangles poisson2d9:4 --symmetric");
    PROGRAM_INTEGER(&r, "triangles", 36);
    program_free(&r);
    PROGRAM_JSON(r, "--json bc rmat:7,8 --samples 20 --seed 3");
    PROGRAM_INTEGER(&r, "sources", 20);
    cr_assert(json_array_size(json_object_get(r.json, "top")) == 10);
    program_free(&r);
    /* 1 -> 2 -> 1 has the length -1. */
    program_write_file("negative.el", "0 1 5\n1 2 -3\n2 1 2\n");
    PROGRAM_JSON(r, "--json sssp negative.el --source 0 --out d.tsv");
    PROGRAM_INTEGER(&r, "negative_cycle", 1);
    program_free(&r);
    expect_file("d.tsv", "0\t0\n1\t-inf\n2\t-inf\n");
}

Test(cli_graph, ktruss_writes_a_matrix)
{
    program_result r;
    program_write_file("g.el", "0 1\n1 2\n2 0\n2 3\n3 3\n");
    PROGRAM_JSON(r, "--json ktruss g.el truss.el");
    PROGRAM_INTEGER(&r, "edges", 4);
    PROGRAM_INTEGER(&r, "largest", 3);
    PROGRAM_INTEGER(&r, "innermost", 3);
    program_free(&r);
    expect_file("truss.el", "0\t1\t3\n0\t2\t3\n1\t0\t3\n1\t2\t3\n2\t0\t3\n2\t1\t3\n2\t3\t2\n3\t2\t2\n");
    PROGRAM_JSON(r, "--json ktruss g.el --k 3 --into s#three");
    PROGRAM_INTEGER(&r, "edges", 3);
    PROGRAM_INTEGER(&r, "k", 3);
    PROGRAM_INTEGER(&r, "version", 1);
    program_free(&r);
    PROGRAM_JSON(r, "--json ktruss s#three --k 4 --symmetric");
    PROGRAM_INTEGER(&r, "edges", 0);
    program_free(&r);
    PROGRAM_FAILS(2, "--k must be a whole number from 3", "ktruss g.el --k 2");
    PROGRAM_FAILS(2, "leave one of them out", "ktruss g.el x.el --into s#x");
}

/* Vertex and score of an item of `top`. */
static void expect_top(const program_result *r, size_t i, int64_t vertex, double score, const char *name)
{
    const json_t *item = json_array_get(json_object_get(r->json, "top"), i);
    cr_assert(json_array_size(item) == (name ? 3 : 2), "%zu of top: %s", i, r->out);
    cr_assert(json_integer_value(json_array_get(item, 0)) == vertex);
    cr_assert(fabs(json_number_value(json_array_get(item, 1)) - score) < 1e-4);
    if (name) cr_assert_str_eq(json_string_value(json_array_get(item, 2)), name);
}

Test(cli_graph, the_best_are_listed_best_first)
{
    program_result r;
    program_write_file("g.el", edges);
    PROGRAM_JSON(r, "--json pagerank g.el --top 3");
    cr_assert(json_array_size(json_object_get(r.json, "top")) == 3);
    cr_assert(program_integer(&r, "iterations") > 5 && program_integer(&r, "converged") == 1);
    expect_top(&r, 0, 2, 0.2051, NULL);
    expect_top(&r, 1, 1, 0.1763, NULL);
    expect_top(&r, 2, 4, 0.1763, NULL);
    program_free(&r);
    PROGRAM_JSON(r, "--json pagerank g.el"); /* ten, or as many as there are */
    cr_assert(json_array_size(json_object_get(r.json, "top")) == 7);
    program_free(&r);
    PROGRAM_JSON(r, "--json cc g.el --top 5");
    cr_assert(json_array_size(json_object_get(r.json, "top")) == 2);
    expect_top(&r, 0, 0, 5, NULL);
    expect_top(&r, 1, 5, 2, NULL);
    program_free(&r);
    PROGRAM_JSON(r, "--json kcore g.el --top 4");
    for (int i = 0; i < 4; i++) expect_top(&r, (size_t)i, i, i < 3 ? 2 : 1, NULL);
    program_free(&r);
    r = program_run("pagerank g.el --top 1");
    cr_assert(strstr(r.out, "top              2                0.205"), "%s", r.out);
    program_free(&r);
    PROGRAM_JSON(r, "--json pagerank g.el --personal 5 --top 7 --adaptive --tol 1e-9 --damping 0.5");
    cr_assert(json_array_size(json_object_get(r.json, "top")) == 2); /* nobody leads elsewhere */
    expect_top(&r, 0, 5, 2.0 / 3, NULL);
    expect_top(&r, 1, 6, 1.0 / 3, NULL);
    program_free(&r);
    PROGRAM_JSON(r, "--json pagerank g.el --max-iterations 2 --tol 1e-12");
    PROGRAM_INTEGER(&r, "iterations", 2);
    PROGRAM_INTEGER(&r, "converged", 0);
    program_free(&r);
}

Test(cli_graph, vertices_go_by_their_names)
{
    program_result r;
    program_write_file("v.csv", "ann,\"x, y\"\n\"x, y\",carl\ncarl,\"say \"\"hi\"\"\"\n");
    PROGRAM_JSON(r, "--json ingest v.csv --names --separator , --into s#m");
    program_free(&r);
    PROGRAM_JSON(r, "--json bfs s#m --source ann --parents --out t.tsv");
    cr_assert_str_eq(program_string(&r, "source_name"), "ann");
    program_free(&r);
    expect_file("t.tsv", "ann\t0\t-\n\"x, y\"\t1\tann\ncarl\t2\t\"x, y\"\n\"say \"\"hi\"\"\"\t3\tcarl\n");
    PROGRAM_JSON(r, "--json cc s#m --top 1");
    expect_top(&r, 0, 0, 4, "ann");
    program_free(&r);
    PROGRAM_JSON(r, "--json pagerank s#m --personal ann,carl --top 1");
    expect_top(&r, 0, 2, 0.3420, "carl");
    program_free(&r);
    PROGRAM_JSON(r, "--json ktruss s#m truss.el");
    program_free(&r);
    expect_file("truss.el", "ann\t\"x, y\"\t2\n\"x, y\"\tann\t2\n\"x, y\"\tcarl\t2\ncarl\t\"x, y\"\t2\n"
                            "carl\t\"say \"\"hi\"\"\"\t2\n\"say \"\"hi\"\"\"\tcarl\t2\n");
    PROGRAM_JSON(r, "--json ktruss s#m truss.mtx");
    program_free(&r);
    PROGRAM_FAILS(1, "no vertex has the name 'dora'", "pagerank s#m --personal ann,dora");
}

Test(cli_graph, answers_are_drawn)
{
    static const char *const commands[] = {"bfs g.el --source 0",
                                           "sssp g.el --source 0",
                                           "pagerank g.el",
                                           "bc g.el",
                                           "cc g.el",
                                           "scc g.el",
                                           "triangles g.el",
                                           "clustering g.el",
                                           "kcore g.el",
                                           "colouring g.el"};
    if (system("gnuplot --version >/dev/null 2>&1")) cr_skip_test("there is no gnuplot");
    program_write_file("g.el", edges);
    program_write_file("text.png", "a text");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_result r;
        PROGRAM_JSON(r, "--json %s --plot picture%zu.png", commands[i], i);
        program_free(&r);
        char name[40], *picture;
        snprintf(name, sizeof name, "picture%zu.png", i);
        picture = program_read_file(name);
        cr_assert(picture && !strncmp(picture, "\x89PNG", 4), "%s drew no picture", commands[i]);
        free(picture);
    }
    PROGRAM_FAILS(1, "text.png", "cc g.el --plot text.png");
    PROGRAM_FAILS(1, "x.gif", "cc g.el --plot x.gif");
    program_write_file("negative.el", "0 0 -1\n");
    PROGRAM_FAILS(1, "nothing to draw", "sssp negative.el --source 0 --plot x.png");
}

Test(cli_graph, say_what_is_wrong)
{
    program_write_file("g.el", edges);
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
    static const char *const all[] = {"pagerank",   "bc",    "cc",  "scc",      "triangles",
                                      "clustering", "kcore", "mis", "colouring"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PROGRAM_FAILS(1, "2 x 3", "%s wide.mtx", all[i]);
    PROGRAM_FAILS(1, "2 rows and 3 columns", "ktruss wide.mtx");
    PROGRAM_FAILS(2, "sssp needs --source V", "sssp g.el");
    PROGRAM_FAILS(1, "--source 7 is not a vertex; there are 7", "sssp g.el --source 7");
    PROGRAM_FAILS(1, "--personal 9 is not a vertex", "pagerank g.el --personal 1,9");
    PROGRAM_FAILS(2, "--personal must be a whole number", "pagerank g.el --personal 1,");
    PROGRAM_FAILS(1, "--sources 8 is not a vertex", "bc g.el --sources 1,8");
    PROGRAM_FAILS(2, "--damping must be a number above 0, 1 at most", "pagerank g.el --damping 1.5");
    PROGRAM_FAILS(2, "--tol must be a number above 0", "pagerank g.el --tol x");
    PROGRAM_FAILS(2, "--delta must be a number above 0", "sssp g.el --source 0 --delta -1");
    PROGRAM_FAILS(1, "it is the graph itself", "cc g.el --out ./g.el");
    PROGRAM_FAILS(1, "standard output", "--json cc g.el --out -");
    PROGRAM_FAILS(1, "no/such", "cc g.el --out no/such/folder.tsv");
    expect_file("g.el", edges);
}

Test(cli_graph, real_graphs_have_their_known_figures)
{
    static const char *const graphs[] = {"airfoil", "bcsstk13", "cryg2500", "cit-HepTh"};
    const char *folder = program_real_inputs();
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/expected.json", folder);
    json_t *all = json_load_file(path, 0, &error);
    cr_assert(all, "%s: %s", path, error.text);
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        program_result r;
        const json_t *expected = json_object_get(all, graphs[i]);
        if (test_on_emulator() && json_integer_value(json_object_get(expected, "nnz_expanded")) > 100000)
            continue;
        PROGRAM_JSON(r, "--json cc %s/%s.mtx.gz", folder, graphs[i]);
        PROGRAM_INTEGER(&r, "components", json_integer_value(json_object_get(expected, "wcc")));
        program_free(&r);
        PROGRAM_JSON(r, "--json scc %s/%s.mtx.gz", folder, graphs[i]);
        PROGRAM_INTEGER(&r, "components", json_integer_value(json_object_get(expected, "scc")));
        PROGRAM_INTEGER(&r, "largest", json_integer_value(json_object_get(expected, "largest_scc")));
        program_free(&r);
        PROGRAM_JSON(r, "--json triangles %s/%s.mtx.gz", folder, graphs[i]);
        PROGRAM_INTEGER(&r, "triangles",
                        json_integer_value(json_object_get(expected, "triangles_undirected")));
        program_free(&r);
        PROGRAM_JSON(r, "--json pagerank %s/%s.mtx.gz --tol 1e-12 --max-iterations 500 --top 5", folder,
                     graphs[i]);
        for (size_t k = 0; k < 5; k++) {
            const json_t *rank = json_array_get(json_object_get(expected, "pagerank_top5"), k),
                         *item = json_array_get(json_object_get(r.json, "top"), k);
            cr_assert(fabs(json_real_value(json_array_get(item, 1)) - json_real_value(rank)) < 1e-9,
                      "%s: rank %zu", graphs[i], k);
        }
        program_free(&r);
    }
    json_decref(all);
}
