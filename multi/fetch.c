/* fetch.c: elements of a vector that are on other devices, as one vector. */
#include "dcsr/base/search.h"
#include "dcsr/vector/vector_data.h"
#include "multi/fetch_cuda.h"
#include "multi/multi_vector.h"
#include <string.h>

/* NULL in builds without CUDA. */
static dcsr_status (*const fetch_there)(dcsr_vector *,
                                        const dcsr_i_fetch *) = DCSR_I_IN_CUDA(dcsr_i_cuda_multi_fetch);

/* Adds the element at place `from` of the part as element `index`. */
static void add(dcsr_i_body *body, size_t size, uint64_t index, const dcsr_i_body *from, uint64_t place)
{
    const uint64_t to = body->dense ? index : body->nvals;
    memcpy((char *)body->values + to * size, (const char *)from->values + place * size, size);
    if (!body->dense)
        body->indices[to] = (uint32_t)index;
    else if (body->present)
        body->present[index >> 6] |= UINT64_C(1) << (index & 63);
    body->nvals++;
}

static void add_range(dcsr_i_body *body, size_t size, dcsr_i_fetch_range r)
{
    const dcsr_i_body *from = &r.part->body;
    if (!from->dense) {
        const uint64_t last = dcsr_i_list_find(from->indices, 0, from->nvals, r.last);
        for (uint64_t p = dcsr_i_list_find(from->indices, 0, from->nvals, r.first); p < last; p++)
            add(body, size, from->indices[p] - r.first + r.at, from, p);
    } else if (body->dense && !body->present) { /* then this one has all as well */
        memcpy((char *)body->values + r.at * size, (const char *)from->values + r.first * size,
               (r.last - r.first) * size);
        body->nvals += r.last - r.first;
    } else {
        for (uint64_t i = r.first; i < r.last; i++)
            if (dcsr_i_body_has(from, i)) add(body, size, i - r.first + r.at, from, i);
    }
}

const void *dcsr_i_multi_together(dcsr_vector *const parts[DCSR_MAX_DEVICES], const dcsr_i_borders *borders)
{
    const char *begin = NULL;
    for (uint64_t k = 0; k < borders->parts; k++) {
        const dcsr_vector *part = parts[k];
        if (!part->size) continue;
        const size_t before = borders->begin[k] * part->value_size;
        if (dcsr_i_vector_is_ahead(part) || !part->body.dense || part->body.nvals < part->size) return NULL;
        if (!begin && !before) begin = part->body.values;
        if (!begin || (const char *)part->body.values != begin + before) return NULL;
    }
    return begin;
}

/* Which elements of which part, and the form that they get together: all of one whose parts have all, dense without
 * bits; else a list below an eighth. */
static void plan(dcsr_i_fetch *f, dcsr_vector *const *parts, const dcsr_i_borders *borders, uint64_t begin,
                 uint64_t end)
{
    *f = (dcsr_i_fetch){.full = true};
    for (uint64_t k = 0; k < borders->parts; k++) {
        const dcsr_vector *part = parts[k];
        const uint64_t from = borders->begin[k], to = from + part->size, first = begin > from ? begin : from,
                       last = end < to ? end : to, nvals = part->body.nvals;
        if (first >= last) continue;
        f->range[f->count++] = (dcsr_i_fetch_range){part, first - from, last - from, first - begin};
        f->full = f->full && nvals == part->size && part->body.dense;
        f->most += nvals < last - first ? nvals : last - first;
    }
    f->dense = f->full || f->most > (end - begin) / 8;
}

/* Whether a device has the newest elements of any. */
static bool is_ahead(const dcsr_i_fetch *f)
{
    for (uint64_t k = 0; k < f->count; k++)
        if (dcsr_i_vector_is_ahead(f->range[k].part)) return true;
    return false;
}

/* By way of the host. */
static dcsr_status fetch_here(dcsr_vector *fetched, const dcsr_i_fetch *f)
{
    const size_t size = fetched->value_size;
    dcsr_i_body body;
    for (uint64_t k = 0; k < f->count; k++)
        DCSR_TRY(dcsr_i_vector_check(f->range[k].part, "a part of a vector"));
    DCSR_TRY(f->dense ? dcsr_i_body_dense(&body, fetched->context, size, fetched->size, !f->full)
                      : dcsr_i_body_sparse(&body, fetched->context, size, f->most));
    body.nvals = 0;
    for (uint64_t k = 0; k < f->count; k++) add_range(&body, size, f->range[k]);
    dcsr_i_vector_put(fetched, &body);
    return DCSR_OK;
}

dcsr_status dcsr_i_multi_fetch(dcsr_vector **fetched, dcsr_context *context,
                               dcsr_vector *const parts[DCSR_MAX_DEVICES], const dcsr_i_borders *borders,
                               uint64_t begin, uint64_t end, uint64_t mine, uint64_t *bytes)
{
    const size_t size = parts[0]->value_size;
    const char *together = dcsr_i_multi_together(parts, borders);
    dcsr_i_fetch f;
    *fetched = NULL;
    if (together)
        return dcsr_vector_import(fetched, context, parts[0]->type, end - begin,
                                  (void *)(uintptr_t)(together + begin * size), NULL, NULL);
    for (uint64_t k = 0; k < borders->parts; k++)
        DCSR_TRY(dcsr_i_vector_admit(parts[k], "a part of a vector"));
    plan(&f, parts, borders, begin, end);
    for (uint64_t k = 0; k < f.count; k++) {
        const dcsr_i_fetch_range *r = &f.range[k];
        const uint64_t nvals = r->part->body.nvals, length = r->last - r->first;
        if (mine < borders->parts && r->part == parts[mine]) continue;
        *bytes += (nvals < length ? nvals : length) * (size + (r->part->body.dense ? 0 : sizeof(uint32_t)));
    }
    DCSR_TRY(dcsr_vector_create(fetched, context, parts[0]->type, end - begin));
    dcsr_status status = fetch_there && is_ahead(&f) ? fetch_there(*fetched, &f) : fetch_here(*fetched, &f);
    if (status != DCSR_OK) {
        dcsr_vector_destroy(*fetched);
        *fetched = NULL;
    }
    return status;
}
