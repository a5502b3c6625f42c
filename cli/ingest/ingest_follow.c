/* ingest_follow.c: results that follow the matrix while edges come in.
 *
 * When a version has come, at most some times a second, and at the end, all followers are advanced to one view of it;
 * if what they tell in short is other than before, a line says so. One that fails is given up; the others go on. */
#include "cli/ingest/ingest.h"
#include <dcsr/follow.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds between versions that are followed; and so many times what following one has taken. */
static const double PAUSE = 0.1, SHARE = 1;

enum { KINDS = 7, SHORT = 100 };

struct ingest_followers {
    cli_state *cli;
    unsigned wanted; /* a bit for each kind */
    uint64_t source;
    dcsr_follower *follower[KINDS];
    char told[KINDS * SHORT]; /* the last line */
    uint64_t version, rows, versions, anew, touched;
    double next, seconds;
    int status; /* that of the first that failed */
};

/* ---- Kinds ---- */

/* What a follower tells: two numbers, of which the first counts. */
typedef struct told {
    uint64_t count;
    double more;
} told;

static dcsr_status tell_pagerank(told *t, dcsr_follower *f)
{
    dcsr_followed_ranks found;
    dcsr_status status = dcsr_follower_get_ranks(f, &found);
    for (uint64_t v = 0; !status && v < found.vertices; v++)
        if (found.rank[v] > t->more) *t = (told){v, found.rank[v]};
    return status;
}

static dcsr_status tell_components(told *t, dcsr_follower *f)
{
    dcsr_followed_components found;
    dcsr_status status = dcsr_follower_get_components(f, &found);
    if (!status) *t = (told){found.components, (double)found.largest};
    return status;
}

static dcsr_status tell_triangles(told *t, dcsr_follower *f)
{
    dcsr_followed_triangles found;
    dcsr_status status = dcsr_follower_get_triangles(f, &found);
    for (uint64_t v = 0; !status && v < found.vertices; v++)
        if ((double)found.of_vertex[v] > t->more) t->more = (double)found.of_vertex[v];
    if (!status) t->count = found.triangles;
    return status;
}

static dcsr_status tell_bfs(told *t, dcsr_follower *f)
{
    dcsr_followed_levels found;
    dcsr_status status = dcsr_follower_get_levels(f, &found);
    if (!status) *t = (told){found.reached, (double)found.max_level};
    return status;
}

static dcsr_status tell_sssp(told *t, dcsr_follower *f)
{
    dcsr_followed_distances found;
    dcsr_status status = dcsr_follower_get_distances(f, &found);
    if (!status) *t = (told){found.result.reached, found.result.farthest};
    return status;
}

static dcsr_status tell_kcore(told *t, dcsr_follower *f)
{
    dcsr_followed_cores found;
    dcsr_status status = dcsr_follower_get_cores(f, &found);
    if (!status) *t = (told){found.result.vertices, (double)found.result.largest};
    return status;
}

static dcsr_status tell_closure(told *t, dcsr_follower *f)
{
    dcsr_followed_closure found;
    dcsr_status status = dcsr_follower_get_closure(f, &found);
    if (!status) *t = (told){found.pairs, (double)found.most};
    return status;
}

static const struct {
    const char *word, *name; /* of the option; of the library, if other */
    dcsr_status (*tell)(told *t, dcsr_follower *f);
    const char *before, *between, *after; /* both numbers in words */
    const char *label, *count, *more;     /* of the report: both in words; the keys of both in JSON */
    bool sourced, whole;                  /* whole: the second number is, too */
} kinds[KINDS] = {{.word = "pagerank",
                   .tell = tell_pagerank,
                   .before = "vertex ",
                   .between = " ranks first with ",
                   .after = "",
                   .label = "pagerank",
                   .count = "top_vertex",
                   .more = "top_rank"},
                  {.word = "cc",
                   .name = "components",
                   .tell = tell_components,
                   .before = "",
                   .between = " components, the largest of ",
                   .after = "",
                   .label = "components",
                   .count = "components",
                   .more = "largest_component",
                   .whole = true},
                  {.word = "triangles",
                   .tell = tell_triangles,
                   .before = "",
                   .between = " triangles, at most ",
                   .after = " at a vertex",
                   .label = "triangles",
                   .count = "triangles",
                   .more = "most_triangles",
                   .whole = true},
                  {.word = "bfs",
                   .tell = tell_bfs,
                   .before = "",
                   .between = " reached, in up to ",
                   .after = " steps",
                   .label = "levels",
                   .count = "bfs_reached",
                   .more = "max_level",
                   .whole = true,
                   .sourced = true},
                  {.word = "sssp",
                   .tell = tell_sssp,
                   .before = "",
                   .between = " reached, the farthest at ",
                   .after = "",
                   .label = "distances",
                   .count = "sssp_reached",
                   .more = "farthest",
                   .sourced = true},
                  {.word = "kcore",
                   .tell = tell_kcore,
                   .before = "",
                   .between = " vertices of core number ",
                   .after = "",
                   .label = "cores",
                   .count = "innermost_core",
                   .more = "degeneracy",
                   .whole = true},
                  {.word = "closure",
                   .tell = tell_closure,
                   .before = "",
                   .between = " pairs, at most ",
                   .after = " from a vertex",
                   .label = "closure",
                   .count = "closure_pairs",
                   .more = "most_reached",
                   .whole = true}};

error_t ingest_follow_take(cli_state *cli, const char *value, unsigned *wanted)
{
    size_t length;
    for (const char *rest = value;; rest += length + 1) {
        int kind = 0;
        length = strcspn(rest, ",");
        while (kind < KINDS &&
               (strlen(kinds[kind].word) != length || strncmp(rest, kinds[kind].word, length)))
            kind++;
        if (kind == KINDS) {
            cli_usage(
                cli,
                "--follow must be some of pagerank, cc, triangles, bfs, sssp, kcore, closure, with commas "
                "between them, not '%s'",
                value);
            return EINVAL;
        }
        *wanted |= 1u << kind;
        if (!rest[length]) return 0;
    }
}

bool ingest_follow_has_source(unsigned wanted)
{
    bool has = false;
    for (int kind = 0; kind < KINDS; kind++) has |= wanted >> kind & 1 && kinds[kind].sourced;
    return has;
}

/* ---- Following ---- */

ingest_followers *ingest_followers_create(cli_state *cli, unsigned wanted, uint64_t source)
{
    ingest_followers *all = calloc(1, sizeof *all);
    if (!all) return NULL;
    all->cli = cli;
    all->wanted = wanted;
    all->source = source;
    return all;
}

void ingest_followers_destroy(ingest_followers *all)
{
    if (!all) return;
    for (int kind = 0; kind < KINDS; kind++) dcsr_follower_destroy(all->follower[kind]);
    free(all);
}

/* Makes a follower, or advances it. Where its source is no vertex yet, it waits. */
static dcsr_status bring_to(ingest_followers *all, int kind, dcsr_view *view, uint64_t rows)
{
    dcsr_follow_report report;
    dcsr_follower **f = &all->follower[kind];
    if (kinds[kind].sourced && all->source >= rows) return DCSR_OK;
    if (!*f)
        return dcsr_follow_named(f, kinds[kind].name ? kinds[kind].name : kinds[kind].word, view,
                                 all->source);
    dcsr_status status = dcsr_follower_advance(*f, view, &report);
    if (status) return status;
    all->anew += report.anew != DCSR_FOLLOW_KEPT;
    all->touched += report.touched;
    return DCSR_OK;
}

/* What a follower tells, in words. */
static dcsr_status tell(const ingest_followers *all, int kind, told *t, char text[SHORT])
{
    char count[CLI_NUMBER], more[CLI_NUMBER];
    *t = (told){0};
    dcsr_status status = kinds[kind].tell(t, all->follower[kind]);
    if (status) return status;
    if (kinds[kind].whole)
        cli_grouped(more, (uint64_t)t->more);
    else
        snprintf(more, sizeof more, "%.6g", t->more);
    snprintf(text, SHORT, "%s%s%s%s%s", kinds[kind].before, cli_grouped(count, t->count), kinds[kind].between,
             more, kinds[kind].after);
    return DCSR_OK;
}

static void give_up(ingest_followers *all, int kind)
{
    all->status = cli_fail_because(all->cli, "--follow %s: %s; going on without", kinds[kind].word,
                                   dcsr_thread_error());
    all->wanted &= ~(1u << kind);
    dcsr_follower_destroy(all->follower[kind]);
    all->follower[kind] = NULL;
}

/* Brings all to the view, and says what they tell if that is new. */
static void follow(ingest_followers *all, dcsr_view *view, uint64_t version)
{
    dcsr_view_shape shape;
    char line[KINDS * SHORT] = "", text[SHORT];
    told t;
    if (dcsr_view_get_shape(view, &shape)) return;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!(all->wanted >> kind & 1)) continue;
        dcsr_status status = bring_to(all, kind, view, shape.rows);
        if (!status && all->follower[kind]) {
            status = tell(all, kind, &t, text);
            if (*line) strcat(line, "; ");
            if (!status) strcat(line, text);
        }
        if (status) give_up(all, kind);
    }
    all->version = version;
    all->rows = shape.rows;
    all->versions++;
    if (!strcmp(line, all->told) || all->cli->quiet) return;
    cli_progress_end(all->cli);
    cli_warn(all->cli, "version %llu: %s", (unsigned long long)version, line);
    strcpy(all->told, line);
}

static void look(ingest_followers *all, dcsr_matrix *matrix, unsigned flags)
{
    dcsr_view *view;
    dcsr_view_info info;
    const double start = cli_now();
    dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, flags);
    if (!status) status = dcsr_view_get_info(view, &info);
    if (status)
        all->status = cli_fail_library(all->cli);
    else if (!all->versions || info.version != all->version)
        follow(all, view, info.version);
    dcsr_view_destroy(view);
    const double taken = cli_now() - start;
    all->seconds += taken;
    all->next = start + taken + (PAUSE > SHARE * taken ? PAUSE : SHARE * taken);
}

void ingest_followers_tick(ingest_followers *all, dcsr_matrix *matrix)
{
    if (cli_now() >= all->next) look(all, matrix, 0);
}

int ingest_followers_end(ingest_followers *all, dcsr_matrix *matrix)
{
    look(all, matrix, DCSR_VIEW_LATEST);
    for (int kind = 0; kind < KINDS && ingest_given.have_source && !ingest_interrupted(); kind++)
        if (all->wanted >> kind & 1 && !all->follower[kind])
            all->status = cli_fail(
                all->cli, "--follow %s: --source %llu is not a vertex; there are %llu, counted from 0",
                kinds[kind].word, (unsigned long long)all->source, (unsigned long long)all->rows);
    return all->status;
}

void ingest_followers_put(const ingest_followers *all, cli_report *report)
{
    char text[SHORT], versions[CLI_NUMBER], anew[CLI_NUMBER], seconds[CLI_NUMBER];
    told t;
    cli_put_count(report, "followed_version", NULL, all->version);
    cli_put_count(report, "followed_versions", NULL, all->versions);
    cli_put_count(report, "followed_anew", NULL, all->anew);
    cli_put_count(report, "followed_touched", NULL, all->touched);
    cli_put_seconds(report, "followed_seconds", NULL, all->seconds);
    cli_put_line(report, "followed", "%s versions in %s, computed anew %s times",
                 cli_grouped(versions, all->versions), cli_duration(seconds, all->seconds),
                 cli_grouped(anew, all->anew));
    for (int kind = 0; kind < KINDS; kind++) {
        if (!all->follower[kind] || tell(all, kind, &t, text)) continue;
        cli_put_count(report, kinds[kind].count, NULL, t.count);
        if (kinds[kind].whole)
            cli_put_count(report, kinds[kind].more, NULL, (uint64_t)t.more);
        else
            cli_put_real(report, kinds[kind].more, NULL, t.more, "");
        char label[SHORT];
        snprintf(label, sizeof label, "  %s", kinds[kind].label);
        cli_put_line(report, label, "%s", text);
    }
}
