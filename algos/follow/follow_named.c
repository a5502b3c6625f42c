/* follow_named.c: followers by the name of what they follow. */
#include <dcsr/extend.h>
#include <dcsr/follow.h>
#include <string.h>

static dcsr_status follow_pagerank(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_pagerank(follower, view, NULL);
}

static dcsr_status follow_closure(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_closure(follower, view, NULL);
}

/* One that begins at a source, or one that does not, with default options. */
static const struct {
    const char *name;
    dcsr_status (*from)(dcsr_follower **follower, dcsr_view *view, uint64_t source);
    dcsr_status (*all)(dcsr_follower **follower, dcsr_view *view);
} kinds[] = {{"components", .all = dcsr_follow_components},
             {"triangles", .all = dcsr_follow_triangles},
             {"bfs", .from = dcsr_follow_bfs},
             {"sssp", .from = dcsr_follow_sssp},
             {"pagerank", .all = follow_pagerank},
             {"kcore", .all = dcsr_follow_kcore},
             {"closure", .all = follow_closure}};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *dcsr_follow_name(uint64_t kind)
{
    return kind < KINDS ? kinds[kind].name : NULL;
}

dcsr_status dcsr_follow_named(dcsr_follower **follower, const char *name, dcsr_view *view, uint64_t source)
{
    if (follower) *follower = NULL;
    if (!name) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_follow_named: name is NULL");
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(kinds[k].name, name))
            return kinds[k].from ? kinds[k].from(follower, view, source) : kinds[k].all(follower, view);
    return dcsr_thread_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "dcsr_follow_named: nothing is called \"%.40s\"; followers are of components, triangles, "
        "bfs, sssp, pagerank, kcore, closure",
        name);
}
