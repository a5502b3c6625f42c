/* test_cli_commands.c: what each command of the program reports, on small matrices by hand and on real ones.
 */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

TestSuite(cli_commands, .init = program_begin, .fini = program_end);

/* 3 x 4: row 0 has 1.5 in column 0 and -2 in column 3, row 1 is empty, row 2 has 4 in column 1. */
static const char small[] = "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 1.5\n1 4 -2\n3 2 4\n";

static void expect_near(double value, double expected)
{
    cr_assert(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)), "%.17g is not %.17g", value, expected);
}

Test(cli_commands, info_counts_a_small_matrix)
{
    program_result r;
    program_write_file("small.mtx", small);
    PROGRAM_JSON(r, "--json info small.mtx");
    PROGRAM_INTEGER(&r, "rows", 3);
    PROGRAM_INTEGER(&r, "cols", 4);
    PROGRAM_INTEGER(&r, "nnz", 3);
    PROGRAM_INTEGER(&r, "max_row", 2);
    expect_near(program_number(&r, "mean_row"), 1);
    expect_near(program_number(&r, "row_std"), sqrt(2.0 / 3));
    PROGRAM_INTEGER(&r, "segments", 2);
    cr_assert(program_integer(&r, "bytes") > 0);
    expect_near(program_number(&r, "bytes_per_nnz"), (double)program_integer(&r, "bytes") / 3);
    cr_assert_str_eq(program_string(&r, "type"), "fp64");
    cr_assert(*program_string(&r, "allocator") && *program_string(&r, "device_name"));
    program_free(&r);
}

Test(cli_commands, info_gives_null_rather_than_nan)
{
    program_result r;
    program_write_file("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n5 7 0\n");
    PROGRAM_JSON(r, "--json info empty.mtx");
    PROGRAM_INTEGER(&r, "rows", 5);
    PROGRAM_INTEGER(&r, "cols", 7);
    PROGRAM_INTEGER(&r, "nnz", 0);
    cr_assert(json_is_null(json_object_get(r.json, "bytes_per_nnz")));
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest empty.mtx");
    PROGRAM_INTEGER(&r, "inserted", 0);
    PROGRAM_INTEGER(&r, "batches", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json spmv empty.mtx");
    PROGRAM_INTEGER(&r, "checksum", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json spy empty.mtx empty.png");
    program_free(&r);
}

Test(cli_commands, convert_gives_back_what_it_read)
{
    static const char *const chain[] = {"small.mtx", "a.el",    "b.tsv.gz", "c.csv",
                                        "d.txt",     "e.el.gz", "f.mtx.gz", "g.mtx"};
    program_write_file("small.mtx", small);
    program_result r;
    for (size_t i = 0; i + 1 < sizeof chain / sizeof *chain; i++) {
        PROGRAM_JSON(r, "--json convert %s %s", chain[i], chain[i + 1]);
        PROGRAM_INTEGER(&r, "nnz", 3);
        program_free(&r);
    }
    PROGRAM_JSON(r, "--json spmv g.mtx");
    expect_near(program_number(&r, "checksum"), 1.5 - 2 * 4 + 4 * 2);
    program_free(&r);
}

Test(cli_commands, convert_combines_duplicates_and_expands_symmetry)
{
    program_write_file("twice.el", "5 1\n0 2\n5 1\n");
    program_write_file("half.mtx",
                       "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 3 9\n");
    program_result r = program_run("--json convert twice.el once.el");
    cr_assert(r.status == 0 && strstr(r.err, "1 of 3 entries repeat an earlier one"), "%s", r.err);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    char *text = program_read_file("once.el");
    cr_assert_str_eq(text, "0\t2\n5\t1\n");
    free(text);
    PROGRAM_JSON(r, "--json convert half.mtx whole.mtx");
    PROGRAM_INTEGER(&r, "nnz", 3);
    cr_assert_str_eq(program_string(&r, "type"), "int64");
    program_free(&r);
}

Test(cli_commands, spmv_sums_what_the_definition_says)
{
    program_write_file("small.mtx", small);
    program_write_file("whole.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n2 9 2\n1 8 -3\n2 9 5\n");
    program_write_file("pattern.el", "0 0\n0 8\n3 6\n");
    program_result r;
    for (int k = 0; k < 3; k++) {
        const char *kernel = (const char *[]){"auto", "segments", "csr"}[k];
        PROGRAM_JSON(r, "--json spmv small.mtx --kernel %s --repeat 2", kernel);
        expect_near(program_number(&r, "checksum"), 1.5 * 1 - 2 * 4 + 4 * 2);
        cr_assert(k ? !strcmp(program_string(&r, "kernel"), kernel)
                    : strcmp(program_string(&r, "kernel"), "auto"));
        cr_assert(program_number(&r, "seconds") > 0 && program_number(&r, "gflops") > 0);
        cr_assert(program_number(&r, "gbytes_per_second") > 0);
        program_free(&r);
        PROGRAM_JSON(r, "--json spmv whole.mtx --kernel %s", kernel);
        PROGRAM_INTEGER(&r, "checksum", -3 * 1 + 5 * 2);
        program_free(&r);
        PROGRAM_JSON(r, "--json spmv pattern.el --kernel %s", kernel);
        PROGRAM_INTEGER(&r, "checksum", 1 + 2 + 7);
        program_free(&r);
    }
}

Test(cli_commands, spgemm_of_small_matrices)
{
    program_result r;
    program_write_file("small.mtx", small);
    program_write_file("tall.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n4 2 3\n1 2 3\n4 1 5\n4 2 7\n");
    program_write_file("pattern.el", "0 0\n0 1\n1 0\n1 1\n2 0\n");
    PROGRAM_JSON(r, "--json spgemm small.mtx tall.mtx --repeat 2");
    PROGRAM_INTEGER(&r, "rows", 3);
    PROGRAM_INTEGER(&r, "cols", 2);
    PROGRAM_INTEGER(&r, "nnz", 2);
    PROGRAM_INTEGER(&r, "products", 3);
    expect_near(program_number(&r, "checksum"), 1.5 * 3 - 2 * 5 - 2 * 7);
    cr_assert(program_number(&r, "seconds") > 0 && program_number(&r, "gflops") > 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json spgemm pattern.el");
    PROGRAM_INTEGER(&r, "nnz", 6);
    PROGRAM_INTEGER(&r, "products", 10);
    PROGRAM_INTEGER(&r, "checksum", 10);
    program_free(&r);
    PROGRAM_FAILS(1, "A is 3 x 4, but B is 3 x 4", "spgemm small.mtx");
    PROGRAM_FAILS(2, "--repeat", "spgemm small.mtx --repeat 0");
}

Test(cli_commands, spmv_of_the_poisson_problem)
{
    /* Row sums of the 5-point stencil weighted by x: the entries are written out here once more,
     * independently. */
    enum { N = 13 };
    double sum = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double x = 1 + (i * N + j) % 7;
            sum += x * (4 - (i > 0) - (i < N - 1) - (j > 0) - (j < N - 1)); /* the matrix is symmetric */
        }
    }
    program_result r;
    PROGRAM_JSON(r, "--json spmv poisson2d5:%d", N);
    expect_near(program_number(&r, "checksum"), sum);
    program_free(&r);
}

Test(cli_commands, bfs_counts_levels)
{
    program_write_file("tree.el", "0 1\n0 2\n1 3\n3 4\n6 0\n");
    program_result r;
    PROGRAM_JSON(r, "--json bfs tree.el --source 0");
    PROGRAM_INTEGER(&r, "reached", 5);
    PROGRAM_INTEGER(&r, "max_level", 3);
    PROGRAM_INTEGER(&r, "level_sum", 1 + 1 + 2 + 3);
    cr_assert(program_number(&r, "seconds") > 0 && program_number(&r, "mteps") > 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json bfs path:1000 --source 10 --repeat 1");
    PROGRAM_INTEGER(&r, "reached", 990);
    PROGRAM_INTEGER(&r, "max_level", 989);
    PROGRAM_INTEGER(&r, "level_sum", 989 * 990 / 2);
    program_free(&r);
}

Test(cli_commands, ingest_applies_batches_in_order)
{
    program_write_file("a.el", "0 1\n0 2\n3 1\n0 1\n2 2\n");
    program_result r;
    PROGRAM_JSON(r, "--json ingest a.el --batch 2");
    PROGRAM_INTEGER(&r, "inserted", 5);
    PROGRAM_INTEGER(&r, "deleted", 0);
    PROGRAM_INTEGER(&r, "nnz", 4);
    PROGRAM_INTEGER(&r, "batches", 3);
    cr_assert(program_number(&r, "seconds") > 0 && program_number(&r, "edges_per_second") > 0);
    cr_assert(program_integer(&r, "max_segments") >= 1 && program_integer(&r, "bytes") > 0);
    program_integer(&r, "defragmentations");
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el --batch 2 --op keep");
    PROGRAM_INTEGER(&r, "nnz", 5);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el --symmetric");
    PROGRAM_INTEGER(&r, "inserted", 9); /* the loop (2,2) has no mirror */
    PROGRAM_INTEGER(&r, "nnz", 7);
    program_free(&r);
}

Test(cli_commands, ingest_grows_from_file_to_file)
{
    program_write_file("a.el", "0 1\n1 0\n");
    program_write_file("b.tsv", "9\t3\n");
    program_write_file("c.csv", "2,70,0.5\n");
    program_result r;
    PROGRAM_JSON(r, "--json ingest a.el b.tsv --batch 1");
    cr_assert_str_eq(program_string(&r, "type"), "pattern");
    cr_assert(program_integer(&r, "rows") >= 10 && program_integer(&r, "cols") >= 4);
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el b.tsv c.csv --read spmv");
    cr_assert_str_eq(program_string(&r, "type"), "fp64");
    cr_assert(program_integer(&r, "cols") >= 71);
    PROGRAM_INTEGER(&r, "nnz", 4);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el --rows 50 --cols 60");
    PROGRAM_INTEGER(&r, "rows", 50);
    PROGRAM_INTEGER(&r, "cols", 60);
    program_free(&r);
    PROGRAM_FAILS(1, "b.tsv", "ingest a.el b.tsv --rows 5");
}

Test(cli_commands, ingest_deletes)
{
    program_write_file("a.el", "0 1\n0 2\n3 1\n");
    program_write_file("b.el", "0 2\n0 3\n99 99\n");
    program_result r;
    PROGRAM_JSON(r, "--json ingest a.el --delete b.el");
    PROGRAM_INTEGER(&r, "inserted", 3);
    PROGRAM_INTEGER(&r, "deleted", 2); /* (99,99) lies outside */
    PROGRAM_INTEGER(&r, "left_out", 1);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el --delete a.el b.el --symmetric --read bfs");
    PROGRAM_INTEGER(&r, "nnz", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest a.el --delete"); /* deletes all of it from an empty matrix */
    PROGRAM_INTEGER(&r, "inserted", 0);
    PROGRAM_INTEGER(&r, "deleted", 3);
    PROGRAM_INTEGER(&r, "nnz", 0);
    program_free(&r);
}

Test(cli_commands, ingest_reads_meanwhile)
{
    program_result r;
    for (int kind = 0; kind < 2; kind++) {
        PROGRAM_JSON(r, "--json ingest rmat:12,16 --batch 1k --read %s", kind ? "spmv" : "bfs");
        cr_assert_str_eq(program_string(&r, "read"), kind ? "spmv" : "bfs");
        PROGRAM_INTEGER(&r, "inserted", 65536);
        PROGRAM_INTEGER(&r, "batches", 66);
        cr_assert(program_integer(&r, "read_count") >= program_integer(&r, "read_versions"));
        cr_assert(program_integer(&r, "read_versions") >= 1);
        double p50 = program_number(&r, "read_p50_ms"), p90 = program_number(&r, "read_p90_ms");
        double p99 = program_number(&r, "read_p99_ms"), most = program_number(&r, "read_max_ms");
        cr_assert(0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= most);
        program_free(&r);
    }
    PROGRAM_JSON(r, "--json ingest path:50 --read bfs --source 40");
    PROGRAM_INTEGER(&r, "read_source", 40);
    PROGRAM_INTEGER(&r, "read_reached", 10);
    program_free(&r);
}

/* What the device that is chosen by itself answers, against the one that is always there. */
Test(cli_commands, the_device_changes_no_result)
{
    static const struct {
        const char *line, *keys[4];
    } lines[] = {
        {"info rmat:10,8", {"nnz", "rows", "max_row"}},
        {"spmv rmat:10,8 --kernel segments", {"checksum", "nnz"}},
        {"spmv rmat:10,8 --kernel csr", {"checksum", "nnz"}},
        {"bfs rmat:10,8 --source 1", {"reached", "max_level", "level_sum", "edges"}},
        {"cc rmat:9,4", {"components", "largest"}},
        {"triangles rmat:9,4", {"triangles"}},
        {"ktruss rmat:9,4", {"edges", "largest", "innermost"}},
        {"colouring rmat:9,4 --seed 3", {"colours"}},
        {"ingest rmat:10,8 --batch 1k --symmetric --delete er:1000,3000", {"nnz", "inserted", "deleted"}},
        {"convert rmat:10,8 x.el", {"nnz"}},
        {"spy rmat:10,8 x.png", {"nnz", "max_cell"}}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        program_result chosen, cpu;
        PROGRAM_JSON(chosen, "--json %s", lines[i].line);
        PROGRAM_JSON(cpu, "--json --device cpu %s", lines[i].line);
        for (int k = 0; k < 4 && lines[i].keys[k]; k++)
            PROGRAM_INTEGER(&chosen, lines[i].keys[k], program_integer(&cpu, lines[i].keys[k]));
        program_free(&chosen);
        program_free(&cpu);
    }
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* What PNG's filter number `filter` predicts from the left, upper and upper left neighbour. */
static int predict(int filter, int left, int up, int corner)
{
    int slope = left + up - corner;
    int to_left = abs(slope - left), to_up = abs(slope - up), to_corner = abs(slope - corner);
    switch (filter) {
    case 1:
        return left;
    case 2:
        return up;
    case 3:
        return (left + up) / 2;
    case 4:
        return to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
    default:
        return 0;
    }
}

enum { WIDEST = 256, PIXEL = 3 };
static unsigned char image[WIDEST][1 + PIXEL * WIDEST];

/* Decodes an RGB picture of 8 bits into `image`, where a line begins with one byte that is not a pixel. */
static void read_picture(const char *name, uint32_t side)
{
    static unsigned char file[1 << 20], packed[1 << 20], raw[sizeof image];
    FILE *stream = fopen(name, "rb");
    cr_assert(stream);
    size_t length = fread(file, 1, sizeof file, stream), used = 0, line = 1 + PIXEL * side;
    fclose(stream);
    cr_assert(length > 33 && !memcmp(file, "\x89PNG\r\n\x1a\n", 8) && big_endian(file + 16) == side);
    cr_assert(big_endian(file + 20) == side && file[24] == 8 && file[25] == 2 && !file[28]);
    for (size_t at = 8; at + 12 <= length; at += 12 + big_endian(file + at)) {
        if (memcmp(file + at + 4, "IDAT", 4)) continue;
        memcpy(packed + used, file + at + 8, big_endian(file + at));
        used += big_endian(file + at);
    }
    uLongf room = sizeof raw;
    cr_assert(uncompress(raw, &room, packed, used) == Z_OK && room == side * line);
    memset(image, 0, sizeof image);
    for (uint32_t y = 0; y < side; y++) {
        for (size_t i = 1; i < line; i++) {
            int left = i > PIXEL ? image[y][i - PIXEL] : 0, up = y ? image[y - 1][i] : 0;
            int corner = y && i > PIXEL ? image[y - 1][i - PIXEL] : 0;
            image[y][i] = (unsigned char)(raw[y * line + i] + predict(raw[y * line], left, up, corner));
        }
    }
}

Test(cli_commands, spy_draws_the_diagonal)
{
    program_result r;
    PROGRAM_JSON(r, "--json spy poisson2d5:30 p.png --size 204");
    PROGRAM_INTEGER(&r, "width", 204);
    PROGRAM_INTEGER(&r, "height", 204);
    PROGRAM_INTEGER(&r, "nnz", 5 * 900 - 4 * 30);
    program_free(&r);
    read_picture("p.png", 204);
    for (size_t at = 4; at < 200; at += 7) {
        cr_assert(image[at][1 + PIXEL * at] < 150, "the diagonal is not dark at %zu", at);
        const unsigned char *other = &image[at][1 + PIXEL * (203 - at)];
        bool white = other[0] == 255 && other[1] == 255 && other[2] == 255;
        cr_assert(white || (at > 90 && at < 114), "the other diagonal is not white at %zu", at);
    }
    cr_assert(program_folder_holds(1));
}

Test(cli_commands, spy_keeps_the_shape_of_the_matrix)
{
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n10 1000 1\n3 900\n");
    program_write_file("line.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1000000 1\n1 900\n");
    program_result r;
    PROGRAM_JSON(r, "--json spy wide.mtx wide.png --size 1004");
    PROGRAM_INTEGER(&r, "width", 1004);
    PROGRAM_INTEGER(&r, "height", 14);
    program_free(&r);
    PROGRAM_JSON(r, "--json spy line.mtx line.png --size 104");
    PROGRAM_INTEGER(&r, "width", 104);
    PROGRAM_INTEGER(&r, "height", 5);
    program_free(&r);
}

static int64_t expected_integer(const json_t *expected, const char *key)
{
    return json_integer_value(json_object_get(expected, key));
}

Test(cli_commands, real_matrices_have_their_known_figures, .timeout = 300)
{
    const char *folder = program_real_inputs();
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/expected.json", folder);
    json_t *all = json_load_file(path, 0, &error), *expected;
    cr_assert(all, "%s: %s", path, error.text);
    const char *name;
    json_object_foreach(all, name, expected)
    {
        if (!json_object_get(expected, "nnz_expanded")) continue;
        if (test_on_emulator() && expected_integer(expected, "nnz_expanded") > 100000) continue;
        program_result r;
        PROGRAM_JSON(r, "--json info %s/%s.mtx.gz", folder, name);
        PROGRAM_INTEGER(&r, "rows", expected_integer(expected, "rows"));
        PROGRAM_INTEGER(&r, "cols", expected_integer(expected, "cols"));
        PROGRAM_INTEGER(&r, "nnz", expected_integer(expected, "nnz_expanded"));
        PROGRAM_INTEGER(&r, "max_row", expected_integer(expected, "max_row"));
        expect_near(program_number(&r, "row_std"), json_real_value(json_object_get(expected, "row_std")));
        program_free(&r);
        PROGRAM_JSON(r, "--json bfs %s/%s.mtx.gz --source %lld", folder, name,
                     (long long)expected_integer(expected, "bfs_source_0based"));
        PROGRAM_INTEGER(&r, "reached", expected_integer(expected, "bfs_reached"));
        PROGRAM_INTEGER(&r, "max_level", expected_integer(expected, "bfs_max_level"));
        PROGRAM_INTEGER(&r, "level_sum", expected_integer(expected, "bfs_level_sum"));
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest %s/%s.mtx.gz --batch 2G --read bfs", folder, name);
        PROGRAM_INTEGER(&r, "nnz", expected_integer(expected, "nnz_expanded"));
        PROGRAM_INTEGER(&r, "read_source", expected_integer(expected, "bfs_source_0based"));
        PROGRAM_INTEGER(&r, "read_reached", expected_integer(expected, "bfs_reached"));
        program_free(&r);
    }
    json_decref(all);
}

/* A 4 x 4 matrix by hand, and one that is too large to be read as a whole. */
Test(cli_commands, info_gives_features)
{
    program_result r;
    program_write_file("a.el", "0 0\n0 3\n2 1\n");
    PROGRAM_JSON(r, "--json info a.el --features");
    const json_t *features = json_object_get(r.json, "features");
    cr_assert_eq(json_integer_value(json_object_get(features, "entries_read")), 3);
    expect_near(json_number_value(json_object_get(features, "max_row")), 2);
    expect_near(json_number_value(json_object_get(features, "bandwidth")), 2.5);
    expect_near(json_number_value(json_object_get(features, "clustering_128")), 1.5);
    program_free(&r);
    PROGRAM_JSON(r, "--json info poisson2d5:200 --features");
    features = json_object_get(r.json, "features");
    cr_assert_lt(json_integer_value(json_object_get(features, "entries_read")), 199200);
    program_free(&r);
    PROGRAM_JSON(r, "--json info poisson2d5:200 --exact");
    features = json_object_get(r.json, "features");
    cr_assert_eq(json_integer_value(json_object_get(features, "entries_read")), 199200);
    expect_near(json_number_value(json_object_get(features, "distinct")), 2);
    program_free(&r);
    r = program_run("info a.el --features");
    cr_assert(strstr(r.out, "clustering_512k") && strstr(r.out, "of all entries"));
    program_free(&r);
    PROGRAM_FAILS(2, "name one", "info --features");
}
