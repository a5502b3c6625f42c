/* fetch.c: elements of a vector that are on other devices, as one vector. */
#include "dcsr/vector/vector_data.h"
#include "multi/multi_vector.h"
#include <string.h>

/* A range of one part's elements, and where it begins in the vector that is made. */
typedef struct range {
    const dcsr_vector *part;
    uint64_t first, last, at;
} range;

static range overlap(const dcsr_vector *part, uint64_t part_begin, uint64_t begin, uint64_t end)
{
    const uint64_t part_end = part_begin + part->size, first = begin > part_begin ? begin : part_begin,
                   last = end < part_end ? end : part_end;
    if (first >= last) return (range){part, 0, 0, 0};
    return (range){part, first - part_begin, last - part_begin, first - begin};
}

/* The first entry of a sparse body that is not before the index. */
static uint64_t lower_bound(const dcsr_i_body *body, uint64_t index)
{
    uint64_t low = 0, high = body->nvals;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (body->indices[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

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

static void add_range(dcsr_i_body *body, size_t size, range r)
{
    const dcsr_i_body *from = &r.part->body;
    if (!from->dense) {
        const uint64_t last = lower_bound(from, r.last);
        for (uint64_t p = lower_bound(from, r.first); p < last; p++)
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

dcsr_status dcsr_i_multi_fetch(dcsr_vector **fetched, dcsr_context *context,
                               dcsr_vector *const parts[DCSR_MAX_DEVICES], const dcsr_i_borders *borders,
                               uint64_t begin, uint64_t end, uint64_t mine, uint64_t *bytes)
{
    const size_t size = parts[0]->value_size;
    const uint64_t n = end - begin;
    const char *together = dcsr_i_multi_together(parts, borders);
    *fetched = NULL;
    if (together)
        return dcsr_vector_import(fetched, context, parts[0]->type, n,
                                  (void *)(uintptr_t)(together + begin * size), NULL, NULL);
    range ranges[DCSR_MAX_DEVICES];
    uint64_t most = 0;
    bool full = true;
    for (uint64_t k = 0; k < borders->parts; k++) {
        DCSR_TRY(dcsr_i_vector_check(parts[k], "a part of a vector"));
        range *r = &ranges[k];
        *r = overlap(parts[k], borders->begin[k], begin, end);
        const uint64_t nvals = parts[k]->body.nvals, length = r->last - r->first;
        if (length && nvals < parts[k]->size) full = false;
        if (length && !parts[k]->body.dense) full = false;
        const uint64_t here = nvals < length ? nvals : length;
        most += here;
        if (k != mine) *bytes += here * (size + (parts[k]->body.dense ? 0 : sizeof(uint32_t)));
    }
    DCSR_TRY(dcsr_vector_create(fetched, context, parts[0]->type, n));
    dcsr_i_body body;
    dcsr_status status = full || most > n / 8 ? dcsr_i_body_dense(&body, context, size, n, !full)
                                              : dcsr_i_body_sparse(&body, context, size, most);
    if (status != DCSR_OK) {
        dcsr_vector_destroy(*fetched);
        *fetched = NULL;
        return status;
    }
    body.nvals = 0;
    for (uint64_t k = 0; k < borders->parts; k++)
        if (ranges[k].first < ranges[k].last) add_range(&body, size, ranges[k]);
    dcsr_i_vector_put(*fetched, &body);
    return DCSR_OK;
}
