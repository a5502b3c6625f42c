/* test_cli_store.c: stored matrices in the program: snapshot, restore, log, verify, gc, and
 * STORE#NAME[@VERSION] wherever a MATRIX is wanted. */
#include "tests/support/program.h"
#include <dcsr/persist.h>
#include <dcsr/dcsr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

TestSuite(cli_store, .init = program_begin, .fini = program_end);

/* 3 x 4: row 0 has 1.5 in column 0 and -2.3 in column 3, row 1 is empty, row 2 has 4 in column 1. */
static const char small[] =
    "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 1.5\n1 4 -2.3\n3 2 4\n";
static const char other[] = "%%MatrixMarket matrix coordinate real general\n5 4 2\n1 1 1.5\n5 4 7.1\n";

/* Version 1 is `small`, version 2 `other`. */
static void store_two_versions(void)
{
    program_result r;
    program_write_file("small.mtx", small);
    program_write_file("other.mtx", other);
    PROGRAM_JSON(r, "--json snapshot small.mtx s#m");
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot other.mtx s#m");
    PROGRAM_INTEGER(&r, "version", 2);
    program_free(&r);
}

/* An item of the list `versions` that `dcsr log` gives. */
static int64_t listed(const program_result *r, size_t item, const char *key)
{
    json_t *value = json_object_get(json_array_get(json_object_get(r->json, "versions"), item), key);
    cr_assert(json_is_integer(value), "version %zu has no number %s: %s", item, key, r->out);
    return json_integer_value(value);
}

static size_t count_listed(const program_result *r)
{
    return json_array_size(json_object_get(r->json, "versions"));
}

Test(cli_store, snapshot_makes_versions)
{
    program_result r;
    program_write_file("small.mtx", small);
    program_write_file("other.mtx", other);
    PROGRAM_JSON(r, "--json snapshot small.mtx s#m");
    PROGRAM_INTEGER(&r, "version", 1);
    PROGRAM_INTEGER(&r, "chunks", 1);
    PROGRAM_INTEGER(&r, "rows", 3);
    PROGRAM_INTEGER(&r, "cols", 4);
    PROGRAM_INTEGER(&r, "nnz", 3);
    cr_assert_str_eq(program_string(&r, "type"), "fp64");
    int64_t written = program_integer(&r, "bytes_written");
    cr_assert(written == 4 * 8 + 16 + 3 * 8); /* offsets, columns to a multiple of 8, values */
    PROGRAM_INTEGER(&r, "stored_bytes", written);
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot small.mtx ./s#m"); /* nothing has changed */
    PROGRAM_INTEGER(&r, "version", 1);
    PROGRAM_INTEGER(&r, "bytes_written", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot other.mtx s#m");
    PROGRAM_INTEGER(&r, "version", 2);
    cr_assert(program_integer(&r, "bytes_written") > 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot s#m@1 s#m"); /* from the store that is written */
    PROGRAM_INTEGER(&r, "version", 3);
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot s#m@2 t#copy");
    PROGRAM_INTEGER(&r, "version", 1);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
}

Test(cli_store, log_lists_versions)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json snapshot path:7 s#a-path");
    program_free(&r);
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "matrices", 2);
    cr_assert(count_listed(&r) == 3);
    static const int64_t expected[3][4] = {{1, 7, 7, 6}, {1, 3, 4, 3}, {2, 5, 4, 2}}; /* by name */
    static const char *const keys[] = {"version", "rows", "cols", "nnz"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4; k++) cr_assert(listed(&r, i, keys[k]) == expected[i][k]);
        cr_assert(listed(&r, i, "chunks") >= 1 && listed(&r, i, "stored_bytes") > 0);
        cr_assert(listed(&r, i, "created") > 1700000000);
    }
    program_free(&r);
    PROGRAM_JSON(r, "--json log s#m");
    cr_assert(count_listed(&r) == 2);
    program_free(&r);
    r = program_run("log s#m");
    program_expect_done(&r, "log");
    cr_assert(strstr(r.out, "nonzeros") && strstr(r.out, "fp64") && !strstr(r.out, "a-path"), "%s", r.out);
    program_free(&r);
    cr_assert(system("mkdir 'x#y'") == 0); /* a store whose name looks like a matrix in one */
    PROGRAM_JSON(r, "--json snapshot path:3 'x#y#p'");
    program_free(&r);
    PROGRAM_JSON(r, "--json log 'x#y'");
    cr_assert(count_listed(&r) == 1);
    program_free(&r);
}

Test(cli_store, restore_gives_back_what_was_stored)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json restore s#m@1 back.mtx");
    PROGRAM_INTEGER(&r, "version", 1);
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json restore s#m newest.mtx");
    PROGRAM_INTEGER(&r, "version", 2);
    PROGRAM_INTEGER(&r, "rows", 5);
    program_free(&r);
    static const char *const pairs[][2] = {{"small.mtx", "back.mtx"}, {"other.mtx", "newest.mtx"}};
    for (int p = 0; p < 2; p++) {
        PROGRAM_JSON(r, "--json convert %s same.el", pairs[p][0]);
        program_free(&r);
        PROGRAM_JSON(r, "--json convert %s again.el", pairs[p][1]);
        program_free(&r);
        char *same = program_read_file("same.el"), *again = program_read_file("again.el");
        cr_assert_str_eq(same, again);
        free(same);
        free(again);
    }
}

Test(cli_store, a_stored_matrix_is_a_matrix)
{
    static const struct {
        const char *line, *keys[3];
    } lines[] = {{"info %s", {"rows", "nnz", "max_row"}},
                 {"spmv %s", {"checksum", "nnz"}},
                 {"bfs %s --source 7", {"reached", "level_sum", "edges"}},
                 {"spy %s x.png", {"nnz", "max_cell"}},
                 {"convert %s x.mtx", {"rows", "nnz"}},
                 {"bench transpose --matrix %s --repeat 1", {"nnz", "out"}},
                 {"ingest %s --batch 1k", {"inserted", "nnz", "rows"}}};
    program_result stored, made;
    PROGRAM_JSON(stored, "--json snapshot rmat:10,8 s#web --chunk 4096 --compress 3");
    cr_assert(program_integer(&stored, "chunks") > 4);
    program_free(&stored);
    PROGRAM_JSON(stored, "--json convert rmat:10,8 web.mtx");
    program_free(&stored);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char from_store[100], from_file[100];
        snprintf(from_store, sizeof from_store, lines[i].line, "s#web");
        snprintf(from_file, sizeof from_file, lines[i].line, "web.mtx");
        PROGRAM_JSON(stored, "--json %s", from_store);
        PROGRAM_JSON(made, "--json %s", from_file);
        for (int k = 0; k < 3 && lines[i].keys[k]; k++)
            PROGRAM_INTEGER(&stored, lines[i].keys[k], program_integer(&made, lines[i].keys[k]));
        program_free(&stored);
        program_free(&made);
    }
}

/* Types that files do not have: 2 x 3 with (0,0) and (1,2), of value 3 (1 of bool), and 5 of unsigned ones.
 */
Test(cli_store, values_of_all_types_are_read)
{
    dcsr_context *context;
    dcsr_store *store;
    const uint64_t row[] = {0, 1};
    cr_assert(!dcsr_context_create(&context, NULL) && !dcsr_store_open(&store, "s", NULL));
    for (int type = DCSR_PATTERN + 1; type < DCSR_TYPE_COUNT; type++) {
        dcsr_matrix *matrix;
        dcsr_coo coo;
        cr_assert(!dcsr_coo_allocate(&coo, context, (dcsr_type)type, 2, 3, 2));
        for (int e = 0; e < 2; e++) {
            coo.row_indices[e] = row[e];
            coo.col_indices[e] = 0;
            switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        ((ctype *)coo.values)[e] = (ctype)3;        \
        break;
#include <dcsr/types.def>
#undef DCSR_X
            default:
                break;
            }
        }
        cr_assert(!dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        cr_assert(!dcsr_store_snapshot(store, dcsr_type_name((dcsr_type)type), matrix, NULL));
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    for (int type = DCSR_PATTERN + 1; type < DCSR_TYPE_COUNT; type++) {
        const char *name = dcsr_type_name((dcsr_type)type);
        const double value = type == DCSR_BOOL ? 1 : 3;
        program_result r;
        PROGRAM_JSON(r, "--json spmv s#%s", name);
        cr_assert(program_number(&r, "checksum") == 2 * value, "%s", name);
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest s#%s path:4 --read spmv", name);
        PROGRAM_INTEGER(&r, "nnz", 5);
        bool real = type == DCSR_FP32 || type == DCSR_FP64;
        cr_assert_str_eq(program_string(&r, "type"), real ? "fp64" : "int64");
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest path:4 --into s#%s", name);
        PROGRAM_INTEGER(&r, "nnz", 5);
        cr_assert_str_eq(program_string(&r, "type"), name);
        program_free(&r);
        PROGRAM_JSON(r, "--json spmv s#%s@2", name);
        cr_assert(program_number(&r, "checksum") == 2 * value + 2 + 3 + 4, "%s", name);
        program_free(&r);
    }
    program_write_file("large.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 1 127\n2 3 128\n");
    program_write_file("less.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 -1\n");
    program_write_file("real.mtx", small);
    PROGRAM_FAILS(1, "128 at (1,2) is beyond int8", "ingest large.mtx --into s#int8");
    PROGRAM_FAILS(1, "-1 at (0,0) is beyond uint64", "ingest less.mtx --into s#uint64");
    PROGRAM_FAILS(1, "-1 at (0,0) is beyond bool", "ingest less.mtx --into s#bool");
    PROGRAM_FAILS(1, "type fp64, which a matrix of type int16", "ingest real.mtx --into s#int16");
}

Test(cli_store, gc_deletes_old_versions_and_matrices)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json snapshot path:9 s#p");
    program_free(&r);
    PROGRAM_JSON(r, "--json snapshot s#m@1 s#m");
    program_free(&r);
    PROGRAM_JSON(r, "--json gc s --keep 2");
    PROGRAM_INTEGER(&r, "versions", 1);
    program_free(&r);
    PROGRAM_FAILS(1, "no version 1", "info s#m@1");
    PROGRAM_JSON(r, "--json gc s#m");
    PROGRAM_INTEGER(&r, "versions", 1);
    cr_assert(program_integer(&r, "chunks") >= 1);
    cr_assert(program_integer(&r, "bytes") > 0 && program_integer(&r, "free_bytes") > 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json info s#m@3");
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json gc s#m --delete");
    cr_assert_str_eq(program_string(&r, "deleted"), "m");
    program_free(&r);
    PROGRAM_FAILS(1, "no matrix 'm'", "info s#m");
    PROGRAM_FAILS(1, "no matrix 'm'", "gc s#m --delete");
    PROGRAM_JSON(r, "--json log s");
    cr_assert(count_listed(&r) == 1);
    program_free(&r);
}

Test(cli_store, compact_gives_room_back)
{
    program_result r;
    for (int v = 0; v < 3; v++) {
        PROGRAM_JSON(r, "--json snapshot rmat:12,16,%d s#m", v);
        program_free(&r);
    }
    PROGRAM_JSON(r, "--json gc s");
    int64_t before = program_integer(&r, "file_bytes");
    program_free(&r);
    PROGRAM_JSON(r, "--json compact s");
    PROGRAM_INTEGER(&r, "bytes_before", before);
    int64_t after = program_integer(&r, "bytes_after");
    cr_assert(after < before / 2 && program_number(&r, "seconds") > 0);
    PROGRAM_INTEGER(&r, "versions", 1);
    PROGRAM_INTEGER(&r, "chunks", 1);
    PROGRAM_INTEGER(&r, "log_records", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "file_bytes", after);
    cr_assert(listed(&r, 0, "version") == 3);
    program_free(&r);
    PROGRAM_FAILS(1, "no store", "compact none");
    PROGRAM_FAILS(2, "without '#m'", "compact s#m");
}

Test(cli_store, backup_makes_a_store)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json backup s copy");
    cr_assert_str_eq(program_string(&r, "backup"), "copy");
    PROGRAM_INTEGER(&r, "versions", 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json info copy#m@1");
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
    PROGRAM_FAILS(1, "files in it", "backup s copy");
    PROGRAM_FAILS(2, "without '#m'", "backup s#m other");
    PROGRAM_FAILS(1, "no store", "backup none other");
    r = program_run("backup s text");
    program_expect_done(&r, "backup");
    cr_assert(strstr(r.out, "the copy") && strstr(r.out, "text"), "%s", r.out);
    program_free(&r);
}

/* This test's own process reads. */
Test(cli_store, log_tells_who_holds_back_room)
{
    program_result r;
    dcsr_context *context;
    dcsr_store *store;
    dcsr_view *view;
    dcsr_store_options reading = {.read_only = true};
    store_two_versions();
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "readers", 0);
    PROGRAM_INTEGER(&r, "reader_process", 0);
    PROGRAM_INTEGER(&r, "held_bytes", 0);
    program_free(&r);
    cr_assert(!dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU}) &&
              !dcsr_store_open(&store, "s", &reading) &&
              !dcsr_store_open_view(&view, context, store, "m", 1)); /* a single chunk, which is lent */
    PROGRAM_JSON(r, "--json gc s");
    program_free(&r);
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "readers", 1);
    PROGRAM_INTEGER(&r, "reader_process", getpid());
    cr_assert(program_integer(&r, "held_bytes") > 0);
    cr_assert(program_integer(&r, "reader_state") < program_integer(&r, "newest_state"));
    program_free(&r);
    char words[60];
    snprintf(words, sizeof words, "read by process %ld", (long)getpid());
    r = program_run("log s");
    program_expect_done(&r, "log");
    cr_assert(strstr(r.out, words), "%s", r.out);
    program_free(&r);
    snprintf(words, sizeof words, "process %ld has the store open", (long)getpid());
    PROGRAM_FAILS(1, words, "compact s");
    dcsr_view_destroy(view);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* Changes one byte of a number wherever the data file has it; LMDB leaves old copies of small things behind.
 * All eight bytes of the number say something: those of a whole number, zeros and one or two more, are also
 * found where a time or a checksum follows zeros. */
static void damage(double number)
{
    FILE *file = fopen("s/data.mdb", "r+b");
    char block[1 << 18], *place = block;
    cr_assert(file);
    size_t n = fread(block, 1, sizeof block, file);
    cr_assert(n < sizeof block && memmem(block, n, &number, sizeof number), "it is not there");
    while ((place = memmem(place, n - (size_t)(place - block), &number, sizeof number))) place[3] ^= 0x55;
    rewind(file);
    cr_assert(fwrite(block, 1, n, file) == n && !fclose(file));
}

Test(cli_store, verify_finds_what_is_damaged)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json verify s");
    PROGRAM_INTEGER(&r, "matrices", 1);
    PROGRAM_INTEGER(&r, "versions", 2);
    cr_assert(program_integer(&r, "chunks") >= 2);
    PROGRAM_INTEGER(&r, "log_records", 0);
    PROGRAM_INTEGER(&r, "corrupt", 0);
    cr_assert(program_integer(&r, "bytes") > 0);
    program_free(&r);
    damage(-2.3); /* version 1 alone has it */
    r = program_run("--json verify s");
    cr_assert(r.status == 1 && r.json, "%d: %s", r.status, r.out);
    PROGRAM_INTEGER(&r, "corrupt", 1);
    cr_assert(!strncmp(r.err, "dcsr: ", 6) && strstr(r.err, "s#m@1"), "%s", r.err);
    cr_assert_str_eq(program_error(&r, "status"), "corrupt");
    program_free(&r);
    PROGRAM_FAILS(1, "s#m@1", "info s#m@1");
    PROGRAM_JSON(r, "--json info s#m@2");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    damage(7.1); /* of version 2; its data is not needed to put another in its place */
    PROGRAM_FAILS(1, "s#m@2", "info s#m");
    PROGRAM_JSON(r, "--json snapshot small.mtx s#m");
    PROGRAM_INTEGER(&r, "version", 3);
    PROGRAM_INTEGER(&r, "recovered_version", 0);
    program_free(&r);
}

Test(cli_store, says_what_is_wrong)
{
    static const struct {
        int status;
        const char *line, *words;
    } wrong[] = {{1, "info no#m", "no: there is no store"},
                 {1, "info s#x", "no matrix 'x'"},
                 {1, "info s#m@3", "no version 3; the newest is 2"},
                 {2, "info s#m@", "whole number"},
                 {2, "info s#m@0", "whole number from 1"},
                 {2, "info s#m@-1", "whole number"},
                 {2, "info s#m@1x", "'1x'"},
                 {2, "info s#m@alive", "or 'live', not 'alive'"},
                 {1, "info no#m@live", "no: there is no store"},
                 {1, "info s#x@live", "no matrix 'x'"},
                 {2, "snapshot small.mtx s#m@live", "a version is not wanted"},
                 {2, "info s#m@99999999999999999999", "whole number"},
                 {2, "info s#", "no name of a matrix"},
                 {2, "info s#a/b", "'a/b' is no name"},
                 {2, "info s#.m", "does not begin with '.'"},
                 {2, "info '#m'", "folder of the store is missing"},
                 {1, "info small.mtx#m", "this is a file"},
                 {1, "info folder#m", "no store"},
                 {2, "snapshot small.mtx s", "STORE#NAME"},
                 {2, "snapshot small.mtx s#m@2", "a version is not wanted"},
                 {1, "snapshot path:3 s#m", "type fp64, this one of type pattern"},
                 {1, "snapshot small.mtx folder#m", "no store"},
                 {1, "snapshot small.mtx no/such/s#m", "no/such/s"},
                 {1, "snapshot small.mtx /proc/s#m", "/proc/s"},
                 {1, "snapshot small.mtx s#m --chunk 8k", "1048576"},
                 {1, "snapshot small.mtx s#m --compress 3", "compression 0"},
                 {2, "snapshot small.mtx n#m --chunk 12", "--chunk"},
                 {2, "snapshot small.mtx n#m --compress 20", "--compress"},
                 {1, "snapshot missing.el n#m", "missing.el"},
                 {1, "snapshot s#m@7 n#m", "no version 7"},
                 {2, "restore small.mtx x.mtx", "STORE#NAME[@VERSION]"},
                 {1, "restore s#m x.xyz", "x.xyz"},
                 {1, "restore s#m@9 x.mtx", "no version 9"},
                 {1, "log no", "there is no store"},
                 {1, "log folder", "no store"},
                 {1, "log s#x", "no matrix 'x'"},
                 {2, "log s#m@1", "a version is not wanted"},
                 {1, "log small.mtx", "this is a file"},
                 {2, "verify s#m", "whole store"},
                 {1, "verify no", "there is no store"},
                 {1, "gc no", "there is no store"},
                 {1, "gc s#x", "no matrix 'x'"},
                 {2, "gc s --keep 0", "--keep"},
                 {2, "gc s --delete", "s#NAME"},
                 {2, "gc s#m --delete --keep 1", "--keep"}};
    store_two_versions();
    cr_assert(system("mkdir folder && touch folder/file") == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        program_result r = program_run("%s", wrong[i].line);
        program_expect_failure(&r, wrong[i].line, wrong[i].status, wrong[i].words);
        program_free(&r);
    }
    cr_assert(program_folder_holds(4), "a command that failed has left something");
}

Test(cli_store, says_that_a_folder_is_a_store)
{
    static const char *const lines[] = {
        "info s",          "convert ./s x.el",          "spy s x.png",          "ingest s",
        "ingest path:3 s", "ingest path:3 --delete s/", "bench mxv --matrix s", "snapshot s t#m"};
    program_result r;
    store_two_versions();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        PROGRAM_FAILS(1, "this is a store: try `dcsr log ", "%s", lines[i]);
    PROGRAM_JSON(r, "--json snapshot path:9 s#a");
    program_free(&r);
    PROGRAM_FAILS(1, "or name a matrix of it: s#a, s#m", "info s");
    for (char name[] = "b"; *name < 'f'; ++*name) {
        PROGRAM_JSON(r, "--json snapshot path:9 s#%s", name);
        program_free(&r);
    }
    r = program_run("info s");
    program_expect_failure(&r, "info s", 1, "`dcsr log s`, or name a matrix of it");
    cr_assert(!strstr(r.err, "s#a"), "too many to be listed: %s", r.err);
    program_free(&r);
    cr_assert(system("mkdir folder") == 0);
    r = program_run("info folder");
    program_expect_failure(&r, "info folder", 1, "folder");
    cr_assert(!strstr(r.err, "store"), "%s", r.err);
    program_free(&r);
}

Test(cli_store, live_is_the_newest_version_where_the_log_is_empty)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json restore s#m@live x.mtx");
    PROGRAM_INTEGER(&r, "version", 2);
    PROGRAM_INTEGER(&r, "nnz", 2);
    PROGRAM_INTEGER(&r, "pending", 0);
    PROGRAM_INTEGER(&r, "replayed", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json info path:3");
    cr_assert(!json_object_get(r.json, "pending"), "no stored matrix was read");
    program_free(&r);
}

Test(cli_store, a_file_of_that_name_is_a_file)
{
    program_result r;
    store_two_versions();
    program_write_file("s#m", "");
    PROGRAM_FAILS(1, "s#m: the name says no format", "info s#m");
    PROGRAM_JSON(r, "--json info s#m@2");
    PROGRAM_INTEGER(&r, "rows", 5);
    program_free(&r);
}

Test(cli_store, output_goes_into_pipes_and_full_disks)
{
    program_result r;
    store_two_versions();
    PROGRAM_JSON(r, "--json log s | cat");
    cr_assert(count_listed(&r) == 2);
    program_free(&r);
    static const char *const lines[] = {"log s", "verify s", "gc s", "snapshot other.mtx s#m",
                                        "restore s#m x.el"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        PROGRAM_FAILS(1, "standard output", "%s > /dev/full", lines[i]);
    PROGRAM_JSON(r, "--json info s#m");
    program_free(&r);
}

/* A limit of the shell is no reason to die. */
Test(cli_store, says_that_a_file_may_not_be_so_long)
{
    program_result r;
    struct rlimit before, low;
    PROGRAM_JSON(r, "--json snapshot path:3 s#a");
    program_free(&r);
    cr_assert(!getrlimit(RLIMIT_FSIZE, &before));
    low = (struct rlimit){256 << 10, before.rlim_max};
    cr_assert(!setrlimit(RLIMIT_FSIZE, &low));
    PROGRAM_FAILS(1, "ulimit -f", "snapshot rmat:14,16 s#m");
    PROGRAM_FAILS(1, "File too large", "convert rmat:14,16 long.mtx");
    cr_assert(!setrlimit(RLIMIT_FSIZE, &before));
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "matrices", 1);
    cr_assert(count_listed(&r) == 1);
    program_free(&r);
}
