/* vector_run.c: computing blocks and writing them into the output. */
#include "ops/vector/vector_run.h"
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include "ops/vector/vector_stream.h"
#include <stdatomic.h>
#include <string.h>

static uint64_t block_count(uint64_t n)
{
    return (n + DCSR_I_BLOCK - 1) / DCSR_I_BLOCK;
}

static size_t block_length(uint64_t n, uint64_t first)
{
    return n - first < DCSR_I_BLOCK ? (size_t)(n - first) : DCSR_I_BLOCK;
}

/* ---- A list of elements ---- */

/* The block of T from place `first` of the list on. */
static bool compute_block(dcsr_i_body *T, uint64_t *bits, const dcsr_i_vector_job *job, size_t size,
                          const uint32_t *list, uint64_t first, size_t n)
{
    dcsr_i_elements block;
    dcsr_i_at at = {.list = list + first, .n = n};
    void *room = (char *)T->values + first * size;
    if (!job->produce(job->operands, &at, &block, room)) return false;
    if (block.values != room) memcpy(room, block.values, n * size);
    memcpy(T->indices + first, at.list, n * sizeof *at.list);
    for (size_t w = 0; bits && w * 64 < n; w++) bits[first / 64 + w] = dcsr_i_word_of(block.bits, n, w);
    return true;
}

dcsr_status dcsr_i_vector_compute(dcsr_i_body *T, const dcsr_i_vector_job *job, const uint32_t *list,
                                  uint64_t n)
{
    dcsr_context *context = job->w->context;
    size_t size = dcsr_type_size(job->type);
    uint64_t some[DCSR_I_BLOCK_WORDS], *bits = NULL;
    DCSR_TRY(dcsr_i_body_sparse(T, context, size, n));
    if (!job->full && n <= DCSR_I_BLOCK) {
        bits = some;
    } else if (!job->full && !(bits = dcsr_i_alloc(context, DCSR_I_SCRATCH, dcsr_i_words(n), sizeof *bits))) {
        dcsr_i_body_free(T, context, size);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    bool failed = false;
    int threads = dcsr_i_threads(context, n);
    if (threads <= 1) {
        for (uint64_t first = 0; first < n && !failed; first += DCSR_I_BLOCK)
            failed = !compute_block(T, bits, job, size, list, first, block_length(n, first));
    } else {
        atomic_bool stop = false;
#pragma omp parallel for num_threads(threads)
        for (uint64_t b = 0; b < block_count(n); b++) {
            if (atomic_load_explicit(&stop, memory_order_relaxed)) continue;
            uint64_t first = b * DCSR_I_BLOCK;
            if (!compute_block(T, bits, job, size, list, first, block_length(n, first))) stop = true;
        }
        failed = stop;
    }
    T->nvals = n;
    if (bits && !failed) dcsr_i_body_compact(T, context, size, bits);
    if (bits != some) dcsr_i_free(context, DCSR_I_SCRATCH, bits, dcsr_i_words(n), sizeof *bits);
    if (!failed) return DCSR_OK;
    dcsr_i_body_free(T, context, size);
    return dcsr_i_fail_callback(job->call, job->users);
}

/* ---- All elements ---- */

/* What the threads of a pass over all blocks share. */
typedef struct pass {
    const dcsr_i_vector_job *job;
    const dcsr_i_mask *inside, *outside;
    const dcsr_i_body *old; /* what w has */
    dcsr_i_body *out;       /* what it gets: its own, or another */
    bool direct;            /* T is what w gets */
    bool streams;           /* and goes past the caches */
    bool adds;              /* accum(w, T) is, where both have an element */
    atomic_bool stop;
    const char *_Atomic failed; /* the name of the operator that did */
} pass;

typedef char room[DCSR_I_BLOCK * sizeof(uint64_t)];

/* Values as another type, in `to` unless they are of it. */
static const void *as_type(dcsr_type type, void *to, dcsr_type from, const void *values, size_t n)
{
    if (type == from) return values;
    dcsr_i_cast(type, to, from, values, n);
    return to;
}

static bool write_direct(pass *p, const dcsr_i_at *at, uint64_t *nvals)
{
    const dcsr_i_vector_job *job = p->job;
    size_t size = job->w->value_size, n = at->n;
    char *values = (char *)p->out->values + at->first * size;
    uint64_t *present = p->out->present ? p->out->present + at->first / 64 : NULL;
    dcsr_i_elements T;
    _Alignas(64) room space;
    if (!job->produce(job->operands, at, &T, p->streams ? space : values)) return false;
    if (p->streams)
        dcsr_i_stream(values, T.values, n * size);
    else if (T.values != values)
        memcpy(values, T.values, n * size);
    if (!present) {
        *nvals += n;
        return true;
    }
    for (size_t w = 0; w * 64 < n; w++) {
        present[w] = dcsr_i_word_of(T.bits, n, w);
        *nvals += (unsigned)__builtin_popcountll(present[w]);
    }
    return true;
}

/* T's values with accum(w, T) where both have one: in `to`, of w's type. */
static bool accumulate(const dcsr_i_vector_job *job, void *to, const dcsr_i_elements *W,
                       const dcsr_i_elements *T, const void *tvalues, const uint64_t *both, size_t n)
{
    const dcsr_binary_op *accum = job->accum;
    dcsr_type wtype = job->w->type;
    _Alignas(64) room xroom, yroom, zroom;
    const void *x = as_type(accum->xtype, xroom, wtype, W->values, n);
    const void *y = as_type(accum->ytype, yroom, job->type, T->values, n);
    if (!dcsr_i_apply_binary_where(accum, zroom, x, y, both, n)) return false;
    dcsr_i_blend(job->w->value_size, to, both, as_type(wtype, xroom, accum->ztype, zroom, n), tvalues, n);
    return true;
}

/* Through masks and accum. Returns the name of the user's operator that failed, NULL where none did. */
static const char *write_block(pass *p, const dcsr_i_at *at, uint64_t *nvals)
{
    const dcsr_i_vector_job *job = p->job;
    dcsr_vector *w = job->w;
    size_t n = at->n, words = (n + 63) / 64;
    char *values = (char *)p->out->values + at->first * w->value_size;
    uint64_t *present = p->out->present ? p->out->present + at->first / 64 : NULL;
    uint64_t inside[DCSR_I_BLOCK_WORDS], outside[DCSR_I_BLOCK_WORDS], take[DCSR_I_BLOCK_WORDS],
        both[DCSR_I_BLOCK_WORDS], fresh[DCSR_I_BLOCK_WORDS];
    _Alignas(64) room space, troom, zroom; /* T's block has a room for what it fetches */
    dcsr_i_elements T, W;
    if (!job->produce(job->operands, at, &T, space)) return job->users;
    const void *z = as_type(w->type, troom, job->type, T.values, n);
    dcsr_i_fetch(&W, &(dcsr_i_source){p->old, w->type, w->type}, at);
    if (p->adds && !present && !T.bits &&
        !W.bits) { /* nothing is missing or cast: straight into the output */
        *nvals += n;
        return dcsr_i_apply_binary(job->accum, values, W.values, T.values, n) ? NULL : job->accum->text;
    }
    dcsr_i_fetch_mask(inside, p->inside, at);
    dcsr_i_fetch_mask(outside, p->outside, at);
    for (size_t k = 0; k < words; k++) {
        uint64_t has = dcsr_i_word_of(W.bits, n, k);
        take[k] = dcsr_i_word_of(T.bits, n, k) & inside[k];
        both[k] = take[k] & has;
        fresh[k] = take[k] | (has & (job->accum ? inside[k] | outside[k] : ~inside[k] & outside[k]));
        *nvals += (unsigned)__builtin_popcountll(fresh[k]);
    }
    if (job->accum) {
        if (!accumulate(job, zroom, &W, &T, z, both, n)) return job->accum->text;
        z = zroom;
    }
    dcsr_i_blend(w->value_size, values, take, z, W.values, n);
    if (present) memcpy(present, fresh, words * sizeof *fresh);
    return NULL;
}

static uint64_t run_blocks(pass *p, uint64_t first_block, uint64_t end_block)
{
    uint64_t size = p->job->w->size, nvals = 0;
    for (uint64_t b = first_block; b < end_block; b++) {
        if (atomic_load_explicit(&p->stop, memory_order_relaxed)) break;
        dcsr_i_at at = {.first = b * DCSR_I_BLOCK};
        at.n = block_length(size, at.first);
        const char *failed = NULL;
        if (!p->direct)
            failed = write_block(p, &at, &nvals);
        else if (!write_direct(p, &at, &nvals))
            failed = p->job->users;
        if (failed) {
            p->failed = failed;
            p->stop = true;
        }
    }
    if (p->streams) dcsr_i_stream_end();
    return nvals;
}

/* Whether no element will be missing, whatever the values are. */
static bool ends_full(const dcsr_i_vector_job *job, const dcsr_i_mask *inside, const dcsr_i_mask *outside)
{
    bool all = dcsr_i_mask_is_all(inside);
    bool stays = job->w->body.nvals == job->w->size && (all || dcsr_i_mask_is_all(outside));
    return job->full ? all || stays : job->accum && stays;
}

/* The body that is written: w's own where nothing can fail once it is begun, else another. */
static dcsr_status open_output(dcsr_i_body *out, bool in_place, bool full, const dcsr_vector *w)
{
    if (!in_place) return dcsr_i_body_dense(out, w->context, w->value_size, w->size, !full);
    *out = w->body;
    if (full || out->present) return DCSR_OK;
    out->words = dcsr_i_words(w->size);
    out->present = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, out->words, sizeof *out->present);
    return out->present ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_write_blocks(const dcsr_i_vector_job *job, const dcsr_i_mask *inside,
                                const dcsr_i_mask *outside)
{
    dcsr_vector *w = job->w;
    const dcsr_binary_op *accum = job->accum;
    bool users = job->users || (accum && !accum->loop), full = ends_full(job, inside, outside);
    bool in_place = w->body.dense && !users && !job->reads_elsewhere;
    dcsr_i_body out;
    DCSR_TRY(open_output(&out, in_place, full, w));
    pass p = {.job = job, .inside = inside, .outside = outside, .old = &w->body, .out = &out};
    p.direct = !accum && job->type == w->type && dcsr_i_mask_is_all(inside);
    p.streams = p.direct && !job->reads_output && w->size * w->value_size >= DCSR_I_WORTH_STREAMING;
    p.adds = accum && dcsr_i_mask_is_all(inside) && job->type == accum->ytype && w->type == accum->xtype &&
             w->type == accum->ztype;
    uint64_t blocks = block_count(w->size), nvals = 0;
    uint64_t threads = (uint64_t)dcsr_i_threads(w->context, w->size);
    if (threads <= 1) {
        nvals = run_blocks(&p, 0, blocks);
    } else {
#pragma omp parallel for num_threads((int)threads) reduction(+ : nvals)
        for (uint64_t t = 0; t < threads; t++)
            nvals += run_blocks(&p, blocks * t / threads, blocks * (t + 1) / threads);
    }
    if (p.failed) {
        dcsr_i_body_free(&out, w->context, w->value_size);
        return dcsr_i_fail_callback(job->call, p.failed);
    }
    out.nvals = nvals;
    if (in_place) w->body = out;
    dcsr_i_vector_put(w, in_place ? &w->body : &out);
    return DCSR_OK;
}

/* ---- Either ---- */

/* T's elements are those of a list: the job's, the mask's, or what both have. */
static dcsr_status run_listed(const dcsr_i_vector_job *job, const dcsr_i_mask *mask)
{
    dcsr_vector *w = job->w;
    bool replace = job->desc && job->desc->replace, by_mask = dcsr_i_mask_is_list(mask);
    dcsr_i_vector_job listed = *job;
    listed.full = job->full || (job->listed && job->list_full);
    uint32_t *both = NULL;
    uint64_t capacity = job->n < mask->n ? job->n : mask->n;
    if (!job->listed) {
        listed.list = mask->list;
        listed.n = mask->n;
    } else if (by_mask) {
        DCSR_TRY(dcsr_i_list_intersect(&both, &listed.n, w->context, job->list, job->n, mask->list, mask->n));
        listed.list = both;
    }
    dcsr_i_body T;
    dcsr_status status = dcsr_i_vector_compute(&T, &listed, listed.list, listed.n);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, both, capacity, sizeof *both);
    if (status != DCSR_OK) return status;
    if (!job->listed && job->full && !job->accum && !replace) { /* what w gets where the mask is true */
        dcsr_i_mask keep = dcsr_i_mask_all(w->size);
        return dcsr_i_write_entries(job->call, w, NULL, &keep, job->type, &T);
    }
    return dcsr_i_vector_write_through(job->call, w, mask, by_mask, job->accum, job->desc, job->type, &T);
}

static dcsr_status run_masked(const dcsr_i_vector_job *job, dcsr_i_mask *mask)
{
    dcsr_vector *w = job->w;
    bool replace = job->desc && job->desc->replace;
    if (job->listed || dcsr_i_mask_is_list(mask)) return run_listed(job, mask);
    if (dcsr_i_mask_is_none(mask) && !replace) return DCSR_OK;
    DCSR_TRY(dcsr_i_mask_use_bits(mask));
    dcsr_i_mask outside = replace ? dcsr_i_mask_none(w->size) : dcsr_i_mask_all(w->size);
    return dcsr_i_write_blocks(job, mask, &outside);
}

dcsr_status dcsr_i_vector_run(const dcsr_i_vector_job *job)
{
    dcsr_i_mask mask;
    dcsr_status status = dcsr_i_mask_open(&mask, job->w->context, job->w->size, job->mask, job->desc);
    if (status == DCSR_OK) status = run_masked(job, &mask);
    dcsr_i_mask_close(&mask);
    if (status == DCSR_OK && job->desc && job->desc->report)
        *job->desc->report = (dcsr_report){.device = DCSR_DEVICE_CPU};
    return status;
}
