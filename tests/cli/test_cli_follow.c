/* test_cli_follow.c: `dcsr ingest --follow`: what it tells at the end, of windows too, and what it refuses. */
#include "tests/support/program.h"
#include "tests/support/support_store.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(void)
{
    setenv("DCSR_DEVICE", "cpu", 1);
    program_begin();
}

TestSuite(cli_follow, .init = begin, .fini = program_end, .timeout = 120);

/* Runs it, though it says on stderr how results change. */
#define FOLLOW(r, ...)                                           \
    do {                                                         \
        (r) = program_run(__VA_ARGS__);                          \
        cr_assert(!(r).status, "%s: %s", #__VA_ARGS__, (r).err); \
    } while (0)

/* A triangle with a tail, and two vertices apart; distances are 0 2 1 6 from vertex 0. */
static const char edges[] = "0 1 5\n0 2 1\n2 1 1\n1 3 4\n4 5 1\n";

Test(cli_follow, tells_what_is_there_at_the_end)
{
    program_result r;
    program_write_file("a.el", edges);
    FOLLOW(r,
           "--json ingest a.el --batch 2 --follow cc,triangles,bfs,sssp,kcore,pagerank,closure --source 0");
    PROGRAM_INTEGER(&r, "components", 2);
    PROGRAM_INTEGER(&r, "largest_component", 4);
    PROGRAM_INTEGER(&r, "triangles", 1);
    PROGRAM_INTEGER(&r, "most_triangles", 1);
    PROGRAM_INTEGER(&r, "bfs_reached", 4);
    PROGRAM_INTEGER(&r, "max_level", 2);
    PROGRAM_INTEGER(&r, "sssp_reached", 4);
    cr_assert(program_number(&r, "farthest") == 6);
    PROGRAM_INTEGER(&r, "degeneracy", 2);
    PROGRAM_INTEGER(&r, "innermost_core", 3);
    PROGRAM_INTEGER(&r, "top_vertex", 3);
    PROGRAM_INTEGER(&r, "closure_pairs", 7);
    PROGRAM_INTEGER(&r, "most_reached", 3);
    cr_assert(program_number(&r, "top_rank") > 0.2 && program_number(&r, "followed_seconds") > 0);
    cr_assert(program_integer(&r, "followed_versions") >= 1);
    cr_assert(strstr(r.err, "2 components, the largest of 4; 1 triangles") != NULL, "%s", r.err);
    program_free(&r);
    r = program_run("ingest a.el --follow cc --quiet");
    cr_assert(!r.status && !*r.err && strstr(r.out, "2 components, the largest of 4"), "%s%s", r.err, r.out);
    program_free(&r);
}

Test(cli_follow, sees_what_leaves_a_window)
{
    program_result r;
    program_write_file("a.tsv", "0 1 0\n1 2 10\n2 0 20\n3 4 25\n4 5 40\n");
    FOLLOW(r,
           "--json ingest a.tsv --batch 1 --columns 1,2 --time 3 --window 25s --follow cc,triangles,kcore");
    PROGRAM_INTEGER(&r, "deleted", 2);
    PROGRAM_INTEGER(&r, "components", 3);
    PROGRAM_INTEGER(&r, "largest_component", 3);
    PROGRAM_INTEGER(&r, "triangles", 0);
    PROGRAM_INTEGER(&r, "degeneracy", 1);
    program_free(&r);
    FOLLOW(r, "--json ingest a.tsv --columns 1,2 --window 2 --follow cc --into s#m");
    PROGRAM_INTEGER(&r, "components", 4);
    program_free(&r);
}

/* ---- A stream ---- */

/* Between pieces of the stream longer than between versions that are followed. */
enum { PIECES = 10, PIECE_EDGES = 60, PIECE_PAUSE = 120, VERTICES = 25 };

/* Edges among few vertices, so that many are seen again, with weights and times of which some are late. */
static char *write_piece(int piece)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    cr_assert(stream);
    for (int e = 0; e < PIECE_EDGES; e++)
        fprintf(stream, "%d %d %d %d\n", rand() % VERTICES, rand() % VERTICES, rand() % 4,
                100 + 10 * piece + e / 6 - (rand() % 8 ? 0 : rand() % 9));
    cr_assert(!fclose(stream));
    return text;
}

static pid_t follow_stream(const char *options)
{
    return program_start(
        "--json ingest - --value 3 --time 4 --window 25s --every 10ms --batch 7 --into s#m --durable %s "
        "--source 3 --follow cc,triangles,bfs,sssp,kcore,pagerank,closure <pipe",
        options);
}

/* What followers told is what is computed from the stored matrix. */
static void expect_computed(const program_result *told)
{
    static const struct {
        const char *command, *key, *told;
    } numbers[] = {
        {"cc", "components", "components"},           {"cc", "largest", "largest_component"},
        {"triangles", "triangles", "triangles"},      {"bfs --source 3", "reached", "bfs_reached"},
        {"bfs --source 3", "max_level", "max_level"}, {"sssp --source 3", "reached", "sssp_reached"},
        {"kcore", "largest", "degeneracy"},           {"kcore", "vertices", "innermost_core"},
        {"closure", "pairs", "closure_pairs"}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        program_result r;
        PROGRAM_JSON(r, "--json %s s#m", numbers[k].command);
        PROGRAM_INTEGER(told, numbers[k].told, program_integer(&r, numbers[k].key));
        program_free(&r);
    }
    program_result r;
    PROGRAM_JSON(r, "--json sssp --source 3 s#m");
    cr_assert(program_number(told, "farthest") == program_number(&r, "distance_max"));
    program_free(&r);
}

/* Piece by piece, so that many versions are followed; in the second round it is killed after some, and goes on in the
 * same stream from its beginning. */
Test(cli_follow, tells_of_a_window_what_is_computed_after_kills_too)
{
    char *pieces[PIECES];
    srand(5);
    cr_assert(!mkfifo("pipe", 0600));
    for (int p = 0; p < PIECES; p++) pieces[p] = write_piece(p);
    for (int round = 0; round < 2; round++) {
        for (int again = !round; again < 2; again++) {
            const int end = again ? PIECES : PIECES / 2;
            const pid_t process = follow_stream(round && again ? "--resume" : "");
            const int pipe = open("pipe", O_WRONLY);
            cr_assert(pipe >= 0);
            for (int p = 0; p < end; p++) {
                const size_t length = strlen(pieces[p]);
                cr_assert(write(pipe, pieces[p], length) == (ssize_t)length);
                store_pause(PIECE_PAUSE);
            }
            if (!again) cr_assert(!kill(process, SIGKILL));
            close(pipe);
            const int status = program_wait(process);
            char *err = program_read_file("err");
            cr_assert(status == (again ? 0 : 1000 + SIGKILL), "%d: %s", status, err);
            free(err);
        }
        char *out = program_read_file("out");
        program_result told = {.json = json_loads(out, 0, NULL)};
        cr_assert(told.json, "%s", out);
        expect_computed(&told);
        cr_assert(program_integer(&told, "followed_versions") > 2);
        json_decref(told.json);
        free(out);
        cr_assert(system("rm -r s") == 0);
    }
    for (int p = 0; p < PIECES; p++) free(pieces[p]);
}

Test(cli_follow, refuses_what_it_does_not_know)
{
    program_write_file("a.el", edges);
    PROGRAM_FAILS(2, "pagerank, cc, triangles", "ingest a.el --follow cc,none");
    PROGRAM_FAILS(2, "pagerank, cc, triangles", "ingest a.el --follow cc,");
    PROGRAM_FAILS(2, "must be equal", "ingest a.el --follow cc --rows 9 --cols 8");
    PROGRAM_FAILS(2, "--source", "ingest a.el --follow cc --source 3");
    /* One of them is given up, and all else goes on. */
    program_result without = program_run("--json ingest a.el --follow cc,bfs --source 9");
    cr_assert(without.status == 1 && strstr(without.err, "--follow bfs: --source 9 is not a vertex"), "%s",
              without.err);
    PROGRAM_INTEGER(&without, "components", 2);
    program_free(&without);
    program_result r = program_run("--json ingest a.el --op keep --follow sssp,cc");
    cr_assert(r.status == 1 && strstr(r.err, "--follow sssp") && strstr(r.err, "DCSR_POLICY_KEEP"), "%s",
              r.err);
    PROGRAM_INTEGER(&r, "components", 2);
    PROGRAM_INTEGER(&r, "nnz", 5);
    program_free(&r);
}
