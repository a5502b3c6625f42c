/* follower.c: what all followers share: they are made, advanced, asked and destroyed here. */
#include "algos/follow/follower.h"
#include <math.h>
#include <string.h>

/* Computed anew if more than one in this many entries differ. */
enum { LARGE = 4 };
/* So many changes before it is applied, memory is asked for what one reads. */
enum { AHEAD = 16 };
/* Positions that are looked up at once. */
enum { PART = 256 };

const char *dcsr_follow_anew_name(dcsr_follow_anew anew)
{
    static const char *const names[] = {"kept up to date",        "the change is large",
                                        "the change reaches far", "the matrix has become smaller",
                                        "advancing had failed",   "there are negative weights"};
    return (unsigned)anew < DCSR_FOLLOW_ANEW_COUNT ? names[anew] : NULL;
}

/* ---- Arrays ---- */

static void free_arrays(dcsr_follower *f)
{
    for (int a = 0; a < DCSR_I_FOLLOW_ARRAYS; a++) {
        dcsr_context_free(f->context, f->array[a], f->room, f->kind->size[a]);
        f->array[a] = NULL;
    }
    f->room = 0;
}

/* Room for more vertices in all arrays, which keep what they have; on failure in none. */
static dcsr_status grow_arrays(dcsr_follower *f, uint64_t vertices)
{
    dcsr_follower larger = *f;
    dcsr_status status = DCSR_OK;
    if (vertices <= f->room && f->room) return DCSR_OK;
    larger.room = vertices + f->room / 2 + 1;
    memset(larger.array, 0, sizeof larger.array);
    for (int a = 0; a < DCSR_I_FOLLOW_ARRAYS && !status; a++) {
        const size_t size = f->kind->size[a];
        if (!size) continue;
        larger.array[a] = dcsr_context_allocate(f->context, larger.room, size);
        if (!larger.array[a])
            status = dcsr_thread_status();
        else if (f->array[a])
            memcpy(larger.array[a], f->array[a], f->vertices * size);
    }
    if (status) {
        free_arrays(&larger);
        return status;
    }
    free_arrays(f);
    memcpy(f->array, larger.array, sizeof f->array);
    f->room = larger.room;
    return DCSR_OK;
}

/* Vertices from `first` on become zero in all arrays. */
static void clear_arrays(dcsr_follower *f, uint64_t first)
{
    for (int a = 0; a < DCSR_I_FOLLOW_ARRAYS; a++) {
        const size_t size = f->kind->size[a];
        if (f->array[a]) memset((char *)f->array[a] + first * size, 0, (f->room - first) * size);
    }
}

/* ---- Making ---- */

static dcsr_status check_shape(const dcsr_follower *f, const dcsr_view_shape *shape, const char *call)
{
    if (shape->rows != shape->cols)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                "%s: the view has %llu rows and %llu columns; a graph is square", call,
                                (unsigned long long)shape->rows, (unsigned long long)shape->cols);
    if (f->kind->sourced && f->source >= shape->rows)
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                "%s: the source %llu is not a vertex; there are %llu, counted from 0", call,
                                (unsigned long long)f->source, (unsigned long long)shape->rows);
    if (f->kind->weighted && shape->policy == DCSR_POLICY_KEEP)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: the matrix keeps several values of one position (DCSR_POLICY_KEEP); "
                                "follow one with another policy",
                                call);
    return DCSR_OK;
}

/* A copy of the view's graph, and its result. Before the copy is complete nothing has changed. */
static dcsr_status begin_anew(dcsr_follower *f, dcsr_view *view, uint64_t vertices)
{
    dcsr_i_links links;
    dcsr_status status = dcsr_i_links_fill(&links, view, f->kind->weighted, f->kind->only_out);
    if (status) return status;
    if (f->kind->reserve) status = f->kind->reserve(f, vertices);
    if (!status) status = grow_arrays(f, vertices);
    if (status) {
        dcsr_i_links_free(&links);
        return status;
    }
    f->valid = false;
    if (vertices > f->vertices) clear_arrays(f, f->vertices);
    dcsr_i_links_free(&f->links);
    f->links = links;
    f->vertices = f->touched = vertices;
    return f->kind->anew(f, view);
}

/* Holds the view, whose result the follower has by now. */
static dcsr_status take_view(dcsr_follower *f, dcsr_view *view, const dcsr_view_shape *shape,
                             uint64_t version)
{
    dcsr_view *shared;
    dcsr_status status = dcsr_view_share(&shared, view);
    if (status) return status;
    dcsr_view_destroy(f->view);
    f->view = shared;
    f->shape = *shape;
    f->version = version;
    f->valid = true;
    return DCSR_OK;
}

dcsr_status dcsr_i_follow(dcsr_follower **follower, const dcsr_follower *wanted, dcsr_view *view)
{
    dcsr_view_shape shape;
    dcsr_view_info info;
    if (!follower)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: follower is NULL", wanted->kind->call);
    *follower = NULL;
    dcsr_status status = dcsr_view_get_shape(view, &shape);
    if (!status) status = check_shape(wanted, &shape, wanted->kind->call);
    if (!status) status = dcsr_view_get_info(view, &info);
    if (status) return status;
    dcsr_follower *f = dcsr_context_allocate(shape.context, 1, sizeof *f);
    if (!f) return dcsr_thread_status();
    *f = *wanted;
    f->context = f->links.context = shape.context;
    status = begin_anew(f, view, shape.rows);
    if (!status) status = take_view(f, view, &shape, info.version);
    f->personal = NULL;
    if (status)
        dcsr_follower_destroy(f);
    else
        *follower = f;
    return status;
}

void dcsr_follower_destroy(dcsr_follower *f)
{
    if (!f) return;
    dcsr_context *context = f->context;
    free_arrays(f);
    if (f->kind->release) f->kind->release(f);
    dcsr_i_links_free(&f->links);
    dcsr_view *view = f->view;
    dcsr_context_free(context, f, 1, sizeof *f);
    dcsr_view_destroy(view); /* which holds the context */
}

/* ---- Advancing ---- */

/* One edge, in the copy of the graph and, unless following was given up, in the result. */
static dcsr_status apply(dcsr_follower *f, dcsr_i_edge_change *change)
{
    const dcsr_i_follow_kind *kind = f->kind;
    dcsr_i_links *links = &f->links;
    const uint64_t place = dcsr_i_links_place(links, change->from, change->to);
    const int way = dcsr_i_links_is_at(links, place, change->from, change->to) ? links->way[place] : 0;
    const bool there = way & DCSR_I_LINK_OUT;
    /* One of several entries of a position says nothing new. */
    if (there == (change->kind == DCSR_I_EDGE_INSERTED)) return DCSR_OK;
    change->marked = way & DCSR_I_LINK_MARK;
    if (there && kind->weighted) change->old = links->out[place];
    if (change->kind == DCSR_I_EDGE_REMOVED) {
        change->link = dcsr_i_links_remove(links, change->from, change->to, place);
    } else {
        dcsr_status status =
            dcsr_i_links_insert(links, change->from, change->to, place, change->weight, &change->link);
        if (status) return status;
    }
    if (kind->after && !f->anew) kind->after(f, change);
    return DCSR_OK;
}

/* Entry k of the list is soon to be applied: asks for where its rows are, or for these and for what is known first of
 * its vertices. */
DCSR_I_LINKS_EXPECT void expect_rows(const dcsr_follower *f, const dcsr_diff_list *list, uint64_t k)
{
    if (k >= list->nnz) return;
    dcsr_i_links_expect_row(&f->links, list->row_indices[k]);
    if (!f->links.only_out) dcsr_i_links_expect_row(&f->links, list->col_indices[k]);
}

DCSR_I_LINKS_EXPECT void expect_places(const dcsr_follower *f, const dcsr_diff_list *list, uint64_t k)
{
    const char *first = f->array[0];
    const size_t size = f->kind->size[0];
    if (k >= list->nnz) return;
    dcsr_i_links_expect_places(&f->links, list->row_indices[k]);
    if (!f->links.only_out) dcsr_i_links_expect_places(&f->links, list->col_indices[k]);
    __builtin_prefetch(first + list->row_indices[k] * size, 1);
    __builtin_prefetch(first + list->col_indices[k] * size, 1);
}

static dcsr_status apply_list(dcsr_follower *f, const dcsr_diff_list *list, dcsr_i_edge_change_kind kind,
                              const bool *stays)
{
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < list->nnz && !status; k++) {
        expect_rows(f, list, k + AHEAD);
        expect_places(f, list, k + AHEAD / 2);
        if (stays && stays[k]) continue;
        dcsr_i_edge_change change = {.kind = kind, .from = list->row_indices[k], .to = list->col_indices[k]};
        if (f->kind->weighted && list->new_values)
            change.weight = dcsr_i_links_weight(f->shape.type, list->new_values, k);
        else
            change.weight = 1;
        status = apply(f, &change);
    }
    return status;
}

/* Which of the removed entries have left others at their position, as may be if the policy is KEEP. */
static dcsr_status find_stays(bool *stays, const dcsr_diff_list *removed, dcsr_view *view)
{
    uint64_t row[PART], col[PART];
    for (uint64_t k = 0; k < removed->nnz; k += PART) {
        const uint64_t n = removed->nnz - k < PART ? removed->nnz - k : PART;
        for (uint64_t i = 0; i < n; i++) row[i] = removed->row_indices[k + i];
        for (uint64_t i = 0; i < n; i++) col[i] = removed->col_indices[k + i];
        dcsr_status status = dcsr_view_get_many(view, n, row, col, NULL, stays + k);
        if (status) return status;
    }
    return DCSR_OK;
}

static dcsr_status apply_all(dcsr_follower *f, dcsr_view *view, const dcsr_diff_entries *entries,
                             const bool *stays)
{
    f->valid = false;
    dcsr_status status = apply_list(f, &entries->removed, DCSR_I_EDGE_REMOVED, stays);
    if (!status && f->kind->weighted) status = apply_list(f, &entries->changed, DCSR_I_EDGE_CHANGED, NULL);
    if (!status) status = apply_list(f, &entries->inserted, DCSR_I_EDGE_INSERTED, NULL);
    if (!status && !f->anew && f->kind->settle) status = f->kind->settle(f, view);
    if (!status && f->anew) {
        f->touched = f->vertices;
        status = f->kind->anew(f, view);
    }
    return status;
}

/* What can be wrong with values, before anything is changed. */
static dcsr_status check_values(const dcsr_follower *f, const dcsr_diff_list *list)
{
    for (uint64_t k = 0; k < list->nnz && list->new_values && f->kind->weighted; k++)
        if (isnan(dcsr_i_links_weight(f->shape.type, list->new_values, k)))
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "dcsr_follower_advance: the weight of the edge (%u, %u) is NaN",
                                    list->row_indices[k], list->col_indices[k]);
    return DCSR_OK;
}

static dcsr_status grow(dcsr_follower *f, uint64_t vertices)
{
    const uint64_t old = f->vertices;
    if (vertices == old) return DCSR_OK;
    dcsr_status status = f->kind->reserve ? f->kind->reserve(f, vertices) : DCSR_OK;
    if (!status) status = grow_arrays(f, vertices);
    if (!status) status = dcsr_i_links_grow(&f->links, vertices);
    if (status) return status;
    f->vertices = vertices;
    clear_arrays(f, old);
    if (f->kind->grown) f->kind->grown(f, old);
    return DCSR_OK;
}

static dcsr_status follow(dcsr_follower *f, dcsr_view *view, const dcsr_view_shape *shape,
                          const dcsr_diff_entries *entries)
{
    const uint64_t removed = entries->removed.nnz;
    bool *stays = NULL;
    dcsr_status status = check_values(f, &entries->inserted);
    if (!status) status = check_values(f, &entries->changed);
    if (!status && removed && shape->policy == DCSR_POLICY_KEEP) {
        stays = dcsr_context_allocate(f->context, removed, sizeof *stays);
        status = stays ? find_stays(stays, &entries->removed, view) : dcsr_thread_status();
    }
    if (!status) status = grow(f, shape->rows);
    if (!status) status = apply_all(f, view, entries, stays);
    dcsr_context_free(f->context, stays, removed, sizeof *stays);
    return status;
}

static dcsr_status check_advance(const dcsr_follower *f, dcsr_view *view, dcsr_view_shape *shape)
{
    static const char call[] = "dcsr_follower_advance";
    if (!f) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: follower is NULL", call);
    dcsr_status status = dcsr_view_get_shape(view, shape);
    if (status) return status;
    if (shape->matrix != f->shape.matrix)
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: the view is not of the matrix that is followed; make a follower for each "
            "matrix",
            call);
    return check_shape(f, shape, call);
}

dcsr_status dcsr_follower_advance(dcsr_follower *f, dcsr_view *view, dcsr_follow_report *report)
{
    dcsr_view_shape shape;
    dcsr_diff *diff = NULL;
    dcsr_diff_entries entries;
    dcsr_diff_info info;
    dcsr_status status = check_advance(f, view, &shape);
    if (status) return status;
    const uint64_t before = f->version;
    status = f->kind->weighted ? dcsr_view_diff(&diff, f->view, view)
                               : dcsr_view_diff_positions(&diff, f->view, view);
    if (!status) status = dcsr_diff_get_info(diff, &info);
    if (!status) status = dcsr_diff_get_entries(diff, &entries);
    if (!status) {
        const uint64_t differ = entries.inserted.nnz + entries.removed.nnz + entries.changed.nnz;
        f->touched = f->work = 0;
        f->anew = !f->valid                                       ? DCSR_FOLLOW_FAILED
                  : shape.rows < f->vertices                      ? DCSR_FOLLOW_SMALLER
                  : differ > 16 && differ >= f->shape.nnz / LARGE ? DCSR_FOLLOW_LARGE
                                                                  : DCSR_FOLLOW_KEPT;
        if (f->anew)
            status = begin_anew(f, view, shape.rows);
        else if (differ || shape.rows > f->vertices)
            status = follow(f, view, &shape, &entries);
    }
    if (!status) status = take_view(f, view, &shape, info.to_version);
    if (!status && report)
        *report = (dcsr_follow_report){.from_version = before,
                                       .version = f->version,
                                       .inserted = entries.inserted.nnz,
                                       .removed = entries.removed.nnz,
                                       .changed = entries.changed.nnz,
                                       .touched = f->touched,
                                       .anew = f->anew};
    dcsr_diff_destroy(diff);
    return status;
}

/* ---- Asking ---- */

dcsr_status dcsr_follower_get_info(const dcsr_follower *f, dcsr_follower_info *info)
{
    if (!f || !info)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_follower_get_info: %s is NULL",
                                f ? "info" : "follower");
    *info = (dcsr_follower_info){.name = f->kind->name,
                                 .version = f->version,
                                 .vertices = f->vertices,
                                 .links = f->kind->only_out ? f->links.count
                                                            : (f->links.count + f->links.loops) / 2,
                                 .bytes = sizeof *f + dcsr_i_links_bytes(&f->links)};
    if (f->nearest) info->bytes += sizeof *f->nearest + f->nearest->room * sizeof *f->nearest->bunch;
    if (f->bits) info->bytes += (f->bit_rows + 1) * f->words * sizeof *f->bits;
    for (int a = 0; a < DCSR_I_FOLLOW_ARRAYS; a++)
        if (f->array[a]) info->bytes += f->room * f->kind->size[a];
    return DCSR_OK;
}

dcsr_status dcsr_i_follow_check(const dcsr_follower *f, const void *found, const dcsr_i_follow_kind *kind)
{
    if (!f || !found)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", kind->getter,
                                f ? "the place for the result" : "follower");
    if (f->kind != kind)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: this follower follows %s, not %s; ask it with %s()", kind->getter,
                                f->kind->name, kind->name, f->kind->getter);
    if (!f->valid)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: there is no result since advancing failed; advance again", kind->getter);
    return DCSR_OK;
}
