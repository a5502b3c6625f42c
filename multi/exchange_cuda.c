/* exchange_cuda.c: y = A x on several GPUs: what parts need of one another, found once for a view; products.
 *
 * A product waits for its streams before it returns, as every operation does. So what the next one reads is complete,
 * whichever device has it, and nobody overwrites what another still reads: streams of different devices need no order
 * but that. All checks and all taking of memory come before the devices begin, so that a call that fails for another
 * reason than a device has written nothing. */
#include "multi/exchange.h"
#include "dcsr/base/mapping.h"
#include "dcsr/base/runtime.h"
#include "dcsr/base/threads.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/vector/vector_data.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_operation.h"
#include "ops/spmv/spmv_cuda.h"
#include <string.h>

static const char doing[] = "multi_spmv";

/* Of the rows of a part: before the interior, that, and behind it. */
enum { BEFORE, INTERIOR, BEHIND, RANGES };
/* An interior of less than this share of the pages gains less than the launches cost. */
enum { LEAST_INTERIOR = 8 };

/* What a part looks at of another, or of its own: the elements from the first to the last. */
typedef struct hull {
    uint64_t begin, end;
} hull;

/* What device k has: a stream for the interior, and one for what is fetched and the rows that wait for it. */
typedef struct device_part {
    dcsr_i_cuda_stream *stream, *fetching;
    void *ready, *arrived; /* clocks: when the interior is done, and when all has been fetched */
    dcsr_i_cuda_spmv_range range[RANGES];
    char *gathered;         /* all of x: */
    dcsr_i_mapping mapping; /* with memory where it is looked at, */
    char *block;            /* or of the pool, if that is most of it */
    uint32_t *list;         /* the blocks that are fetched, in its memory */
    uint64_t listed, first; /* how many; where a product begins with them */
    hull looks_at[DCSR_MAX_DEVICES];
    uint64_t bytes; /* of others that a product fetches */
} device_part;

struct dcsr_i_exchange {
    dcsr_multi *devices;
    size_t size; /* of a value */
    bool peers;  /* all can read each other's memory; else hulls are copied */
    dcsr_i_exchange_cut cut;
    device_part part[DCSR_MAX_DEVICES];
};

static dcsr_i_cuda_device *device_of(const dcsr_i_exchange *e, uint64_t k)
{
    return dcsr_i_multi_context(e->devices, k)->cuda;
}

/* ---- Finding out ---- */

typedef struct building {
    dcsr_i_exchange *exchange;
    dcsr_multi_view *A;
} building;

/* The longest run of pages without an entry outside of the part's own columns. */
static void find_interior(uint64_t *first, uint64_t *end, const uint32_t *foreign, uint64_t pages)
{
    *first = *end = 0;
    for (uint64_t p = 0; p < pages; p++) {
        if (foreign[p]) continue;
        const uint64_t begin = p;
        while (p < pages && !foreign[p]) p++;
        if (p - begin > *end - *first) *first = begin, *end = p;
    }
    if ((*end - *first) * LEAST_INTERIOR < pages) *first = *end = 0;
}

/* The pages of part k from *first to *end - 1 are its interior. */
static dcsr_status look_for_interior(uint64_t *first, uint64_t *end, const building *b, uint64_t k)
{
    const dcsr_i_exchange *e = b->exchange;
    dcsr_i_cuda_stream *stream = e->part[k].stream;
    dcsr_context *context = dcsr_i_multi_context(e->devices, k);
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(b->A->part[k])->device;
    const uint64_t pages = (rows->rows + DCSR_CUDA_PAGE_ROWS - 1) / DCSR_CUDA_PAGE_ROWS;
    uint32_t *foreign = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, pages, sizeof *foreign),
             *here = foreign ? dcsr_i_alloc(context, DCSR_I_SCRATCH, pages, sizeof *here) : NULL;
    dcsr_status status = here ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_fill(stream, foreign, 0, pages * sizeof *foreign);
        dcsr_i_exchange_mark_pages(stream, rows, e->cut.begin[k], e->cut.begin[k + 1], foreign);
        status = dcsr_i_cuda_read_back(stream, here, foreign, pages * sizeof *here, doing);
        if (status == DCSR_OK) find_interior(first, end, here, pages);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, here, pages, sizeof *here);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, foreign, pages, sizeof *foreign);
    return status;
}

/* Borders of the ranges of rows of part k: limit[0] to limit[RANGES]. One part alone has all columns. */
static dcsr_status cut_rows(uint64_t limit[RANGES + 1], const building *b, uint64_t k)
{
    const uint64_t rows = dcsr_i_view_rows(b->A->part[k])->device.rows;
    uint64_t first = 0, end = (rows + DCSR_CUDA_PAGE_ROWS - 1) / DCSR_CUDA_PAGE_ROWS;
    if (b->exchange->cut.parts > 1) DCSR_TRY(look_for_interior(&first, &end, b, k));
    limit[0] = 0;
    limit[1] = first * DCSR_CUDA_PAGE_ROWS;
    limit[2] = end * DCSR_CUDA_PAGE_ROWS < rows ? end * DCSR_CUDA_PAGE_ROWS : rows;
    limit[3] = rows;
    return DCSR_OK;
}

/* Memory of `gathered` for elements [begin, end). */
static dcsr_status make_room(device_part *p, const dcsr_i_exchange *e, hull h)
{
    if (p->block) return DCSR_OK;
    return dcsr_i_mapping_populate(&p->mapping, h.begin * e->size, (h.end - h.begin) * e->size);
}

/* What the bits of part k's blocks come to: how many there are, from the first to the last, and runs of them, for which
 * `gathered` gets memory. A run goes on over what is less than the memory that is mapped at a time. */
static dcsr_status look_at(hull *run, device_part *p, const dcsr_i_exchange *e, const uint32_t *bits,
                           uint64_t k, uint64_t *blocks)
{
    enum { GAP = 2 << 20 };
    const uint64_t first = e->cut.block[k], end = e->cut.block[k + 1];
    hull *all = &p->looks_at[k];
    *blocks = 0;
    *all = (hull){0};
    for (uint64_t w = first / 32; w * 32 < end; w++) {
        uint32_t word = bits[w];
        if (w * 32 < first) word &= UINT32_MAX << (first - w * 32);
        if (w * 32 + 32 > end) word &= UINT32_MAX >> (w * 32 + 32 - end);
        if (!word) continue;
        const uint64_t low = w * 32 + (unsigned)__builtin_ctz(word),
                       behind = w * 32 + 32 - (unsigned)__builtin_clz(word);
        hull h = {e->cut.begin[k] + (low - first) * DCSR_I_EXCHANGE_BLOCK,
                  e->cut.begin[k] + (behind - first) * DCSR_I_EXCHANGE_BLOCK};
        if (h.end > e->cut.begin[k + 1]) h.end = e->cut.begin[k + 1];
        *blocks += (unsigned)__builtin_popcount(word);
        if (all->begin == all->end) all->begin = h.begin;
        all->end = h.end;
        if (run->begin == run->end) *run = h;
        if ((h.begin - run->end) * e->size > GAP && h.begin > run->end) {
            DCSR_TRY(make_room(p, e, *run));
            *run = h;
        }
        run->end = h.end;
    }
    return DCSR_OK;
}

/* The blocks of all parts: where the list begins with those of the next part, so that all links are in use. */
static dcsr_status look_at_all(device_part *p, const dcsr_i_exchange *e, const uint32_t *bits, uint64_t mine)
{
    hull run = {0};
    p->listed = p->bytes = p->first = 0;
    for (uint64_t k = 0; k < e->cut.parts; k++) {
        const hull *h = &p->looks_at[k];
        uint64_t blocks;
        DCSR_TRY(look_at(&run, p, e, bits, k, &blocks));
        p->listed += blocks;
        if (k == mine) p->first = p->listed;
        if (!e->peers) DCSR_TRY(make_room(p, e, *h)); /* it is copied as a whole */
        if (k == mine || !blocks) continue;
        const uint64_t behind = (h->end - e->cut.begin[k]) % DCSR_I_EXCHANGE_BLOCK,
                       missing = behind ? DCSR_I_EXCHANGE_BLOCK - behind : 0;
        p->bytes += (e->peers ? blocks * DCSR_I_EXCHANGE_BLOCK - missing : h->end - h->begin) * e->size;
    }
    if (p->first == p->listed) p->first = 0;
    return make_room(p, e, run);
}

/* Memory of the pool is there already, most often; to map some takes longer than a small product. */
static dcsr_status take_gathered(device_part *p, const dcsr_i_exchange *e, const uint32_t *bits, uint64_t k)
{
    const uint64_t blocks = e->cut.block[e->cut.parts], cols = e->cut.begin[e->cut.parts];
    uint64_t marked = 0;
    for (uint64_t w = 0; w < (blocks + 31) / 32; w++) marked += (unsigned)__builtin_popcount(bits[w]);
    if (2 * marked < blocks) {
        DCSR_TRY(dcsr_i_mapping_reserve(&p->mapping, dcsr_i_multi_context(e->devices, k), cols * e->size, 1));
        p->gathered = p->mapping.start;
        return DCSR_OK;
    }
    p->gathered = p->block = dcsr_i_cuda_alloc(p->stream, DCSR_I_MATRIX, cols, e->size);
    return p->block ? DCSR_OK : dcsr_i_no_memory();
}

/* The list is made on the device, the rest of the bits here: one wait. */
static dcsr_status make_list(device_part *p, const dcsr_i_exchange *e, const uint32_t *bits, uint64_t mine)
{
    const uint64_t words = (e->cut.block[e->cut.parts] + 31) / 32;
    dcsr_context *context = dcsr_i_multi_context(e->devices, mine);
    uint32_t *here = dcsr_i_alloc(context, DCSR_I_SCRATCH, words, sizeof *here),
             *counts = here ? dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, words, sizeof *counts) : NULL;
    uint64_t *before =
        counts ? dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, words + 1, sizeof *before) : NULL;
    dcsr_status status = before ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_exchange_count_bits(p->stream, bits, words, counts);
        status = dcsr_i_cuda_scan_u32(p->stream, counts, before, words);
    }
    if (status == DCSR_OK) status = dcsr_i_cuda_read_back(p->stream, here, bits, words * sizeof *here, doing);
    if (status == DCSR_OK) status = take_gathered(p, e, here, mine);
    if (status == DCSR_OK) status = look_at_all(p, e, here, mine);
    if (status == DCSR_OK) {
        p->list = dcsr_i_cuda_alloc(p->stream, DCSR_I_MATRIX, p->listed, sizeof *p->list);
        if (!p->list) status = dcsr_i_no_memory();
    }
    if (status == DCSR_OK) dcsr_i_exchange_list_bits(p->stream, bits, words, before, p->list);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, counts, words, sizeof *counts);
    dcsr_i_free(context, DCSR_I_SCRATCH, here, words, sizeof *here);
    return status;
}

/* Puts on the stream what marks the blocks that a range of rows looks at. */
static dcsr_status mark_range(const device_part *p, const dcsr_i_exchange *e,
                              const dcsr_i_cuda_spmv_range *range, uint32_t *bits)
{
    const uint64_t count = range->rows.rows, most = count * range->plan.counts.longest,
                   stored = range->rows.stored; /* by all rows of the part */
    if (!most) return DCSR_OK;
    uint64_t *offsets = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, count + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_sum_lengths(p->stream, &range->rows, NULL, count, offsets);
    if (status == DCSR_OK)
        dcsr_i_exchange_mark_blocks(p->stream, &(dcsr_i_cuda_walk){range->rows, NULL, count, offsets},
                                    most < stored ? most : stored, &e->cut, bits);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, offsets, count + 1, sizeof *offsets);
    return status;
}

/* What the rows before and behind the interior look at. */
static dcsr_status find_blocks(device_part *p, const dcsr_i_exchange *e, uint64_t k)
{
    const uint64_t blocks = e->cut.block[e->cut.parts], words = (blocks + 31) / 32;
    if (!p->range[BEFORE].rows.rows && !p->range[BEHIND].rows.rows) return DCSR_OK;
    uint32_t *bits = dcsr_i_cuda_alloc(p->stream, DCSR_I_SCRATCH, words, sizeof *bits);
    if (!bits) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(p->stream, bits, 0, words * sizeof *bits);
    dcsr_status status = mark_range(p, e, &p->range[BEFORE], bits);
    if (status == DCSR_OK) status = mark_range(p, e, &p->range[BEHIND], bits);
    if (status == DCSR_OK) status = make_list(p, e, bits, k);
    dcsr_i_cuda_free(p->stream, DCSR_I_SCRATCH, bits, words, sizeof *bits);
    return status;
}

static dcsr_status find_all(const building *b, uint64_t k)
{
    dcsr_i_exchange *e = b->exchange;
    device_part *p = &e->part[k];
    uint64_t limit[RANGES + 1];
    DCSR_TRY(cut_rows(limit, b, k));
    for (int r = 0; r < RANGES; r++)
        DCSR_TRY(dcsr_i_cuda_spmv_range_open(&p->range[r], p->stream, b->A->part[k], limit[r], limit[r + 1]));
    DCSR_TRY(find_blocks(p, e, k));
    for (uint64_t owner = 0; owner < e->cut.parts && e->peers; owner++)
        if (p->looks_at[owner].begin < p->looks_at[owner].end)
            DCSR_TRY(dcsr_i_cuda_enable_peer(device_of(e, k), device_of(e, owner)));
    p->ready = dcsr_i_exchange_clock_create(p->stream);
    p->arrived = dcsr_i_exchange_clock_create(p->stream);
    return DCSR_OK;
}

static dcsr_status build_part(void *user, uint64_t k)
{
    const building *b = user;
    device_part *p = &b->exchange->part[k];
    DCSR_TRY(dcsr_i_cuda_stream_create(&p->stream, device_of(b->exchange, k), DCSR_CUDA_TO_READ));
    DCSR_TRY(dcsr_i_cuda_stream_create(&p->fetching, device_of(b->exchange, k), DCSR_CUDA_TO_READ));
    dcsr_i_cuda_enter(p->stream);
    dcsr_status status = find_all(b, k), waited = dcsr_i_cuda_wait(p->stream, doing);
    dcsr_i_cuda_leave(p->stream);
    return status == DCSR_OK ? waited : status;
}

static void drop_part(const dcsr_i_exchange *e, device_part *p)
{
    if (!p->stream) return;
    dcsr_i_cuda_enter(p->stream);
    for (int r = 0; r < RANGES; r++) dcsr_i_cuda_spmv_range_close(p->stream, &p->range[r]);
    dcsr_i_cuda_free(p->stream, DCSR_I_MATRIX, p->list, p->listed, sizeof *p->list);
    dcsr_i_exchange_clock_destroy(p->stream, p->ready);
    dcsr_i_exchange_clock_destroy(p->stream, p->arrived);
    dcsr_i_cuda_free(p->stream, DCSR_I_MATRIX, p->block, e->cut.begin[e->cut.parts], e->size);
    dcsr_i_mapping_release(&p->mapping);
    dcsr_i_cuda_leave(p->stream);
    dcsr_i_cuda_stream_destroy(p->fetching);
    dcsr_i_cuda_stream_destroy(p->stream);
}

/* All that used it is over. */
static void drop(dcsr_i_exchange *exchange)
{
    if (!exchange) return;
    for (uint64_t k = 0; k < exchange->cut.parts; k++) drop_part(exchange, &exchange->part[k]);
    dcsr_i_free(dcsr_i_multi_home(exchange->devices), DCSR_I_MATRIX, exchange, 1, sizeof *exchange);
}

static bool are_peers(const dcsr_i_exchange *e)
{
    for (uint64_t k = 0; k < e->cut.parts; k++)
        for (uint64_t other = 0; other < e->cut.parts; other++)
            if (!dcsr_i_cuda_can_access(device_of(e, k), device_of(e, other))) return false;
    return true;
}

static dcsr_status build(dcsr_i_exchange **exchange, dcsr_multi_view *A)
{
    const dcsr_i_borders *cols = A->cols;
    const dcsr_type type = dcsr_i_view_rows(A->part[0])->type;
    dcsr_i_exchange *e = dcsr_i_calloc(dcsr_i_multi_home(A->devices), DCSR_I_MATRIX, 1, sizeof *e);
    if (!e) return dcsr_i_no_memory();
    e->devices = A->devices;
    e->size = type == DCSR_PATTERN ? sizeof(double) : dcsr_type_size(type);
    e->cut.parts = cols->parts;
    for (uint64_t k = 0; k < cols->parts; k++) {
        e->cut.begin[k + 1] = cols->begin[k + 1];
        e->cut.block[k + 1] =
            e->cut.block[k] +
            (cols->begin[k + 1] - cols->begin[k] + DCSR_I_EXCHANGE_BLOCK - 1) / DCSR_I_EXCHANGE_BLOCK;
    }
    e->peers = are_peers(e);
    dcsr_status status = dcsr_multi_run(A->devices, build_part, &(building){e, A});
    if (status == DCSR_OK)
        *exchange = e;
    else
        drop(e);
    return status;
}

/* That of the view, which is made the first time. */
static dcsr_status exchange_of(dcsr_i_exchange **exchange, dcsr_multi_view *A)
{
    pthread_mutex_lock(&A->lock);
    dcsr_status status = A->exchange ? DCSR_OK : build(&A->exchange, A);
    *exchange = A->exchange;
    pthread_mutex_unlock(&A->lock);
    return status;
}

/* ---- Products ---- */

typedef struct product {
    dcsr_i_exchange *exchange;
    dcsr_i_exchange_parts x;
    void *y[DCSR_MAX_DEVICES];
    bool timed;
    dcsr_i_multi_cost cost;
} product;

/* Puts on `fetching` what brings the elements that part k looks at. */
static void put_fetch(const product *s, uint64_t k)
{
    const dcsr_i_exchange *e = s->exchange;
    const device_part *p = &e->part[k];
    if (!p->listed) return;
    if (e->peers) {
        dcsr_i_exchange_fetch(p->fetching, &e->cut, &s->x, p->list, p->first, p->listed, p->gathered,
                              e->size);
        return;
    }
    for (uint64_t owner = 0; owner < e->cut.parts; owner++) {
        const hull h = p->looks_at[owner];
        dcsr_i_cuda_copy_peer(p->fetching, p->gathered + h.begin * e->size, device_of(e, k),
                              (const char *)s->x.values[owner] + (h.begin - e->cut.begin[owner]) * e->size,
                              device_of(e, owner), (h.end - h.begin) * e->size);
    }
}

/* Where x would begin if all of it lay as the part's own elements do. */
static const void *as_of_all(const void *own, uint64_t begin, size_t size)
{
    return (const void *)((uintptr_t)own - begin * size); // NOLINT(performance-no-int-to-ptr)
}

static dcsr_status multiply_part(void *user, uint64_t k)
{
    product *s = user;
    const dcsr_i_exchange *e = s->exchange;
    const device_part *p = &e->part[k];
    const bool timed = s->timed && p->listed;
    dcsr_i_cuda_enter(p->stream);
    dcsr_i_cuda_enter(p->fetching);
    /* What is short first: blocks of the interior keep the multiprocessors until they have ended. */
    put_fetch(s, k);
    if (timed) dcsr_i_exchange_clock_set(p->fetching, p->arrived);
    dcsr_i_cuda_spmv_range_put(p->stream, &p->range[INTERIOR], s->y[k],
                               as_of_all(s->x.values[k], e->cut.begin[k], e->size));
    if (timed) dcsr_i_exchange_clock_set(p->stream, p->ready);
    dcsr_i_cuda_spmv_range_put(p->fetching, &p->range[BEFORE], s->y[k], p->gathered);
    dcsr_i_cuda_spmv_range_put(p->fetching, &p->range[BEHIND], s->y[k], p->gathered);
    dcsr_status status = dcsr_i_cuda_wait(p->stream, doing), fetched = dcsr_i_cuda_wait(p->fetching, doing);
    dcsr_i_cuda_leave(p->fetching);
    dcsr_i_cuda_leave(p->stream);
    if (status == DCSR_OK) status = fetched;
    s->cost.bytes[k] = p->bytes;
    if (status == DCSR_OK && timed) {
        const double waited = dcsr_i_exchange_clock_between(p->ready, p->arrived);
        if (waited > 0) s->cost.waited[k] = (uint64_t)(waited * 1e6);
    }
    return status;
}

/* Memory for the parts of y: those that it has, where all are dense on their devices alone, and x is another; else new
 * ones, which are to be put in. */
static dcsr_status take_y(product *s, dcsr_vector *parts[DCSR_MAX_DEVICES], dcsr_multi_vector *y,
                          const dcsr_multi_view *A, const dcsr_multi_vector *x)
{
    const uint64_t count = A->rows->parts;
    bool own = y != x && dcsr_i_borders_equal(y->borders, A->rows);
    for (uint64_t k = 0; k < count && own; k++) {
        s->y[k] = dcsr_i_cuda_vector_own_values(y->part[k]);
        own = s->y[k] || !y->part[k]->size;
    }
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < count && !own && status == DCSR_OK; k++) {
        status = dcsr_vector_create(&parts[k], dcsr_i_multi_context(A->devices, k), y->type,
                                    A->rows->begin[k + 1] - A->rows->begin[k]);
        if (status == DCSR_OK) status = dcsr_i_cuda_vector_make_own(parts[k], &s->y[k]);
    }
    if (status != DCSR_OK) dcsr_i_multi_parts_destroy(parts, count);
    return status;
}

static dcsr_status spmv(dcsr_multi_vector *y, dcsr_multi_view *A, const dcsr_multi_vector *x,
                        dcsr_multi_report *report)
{
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_vector *parts[DCSR_MAX_DEVICES] = {NULL};
    product s = {.timed = report != NULL};
    DCSR_TRY(exchange_of(&s.exchange, A));
    for (uint64_t k = 0; k < A->cols->parts; k++)
        DCSR_TRY(dcsr_i_cuda_vector_values(&s.x.values[k], x->part[k]));
    DCSR_TRY(take_y(&s, parts, y, A, x));
    dcsr_status status = dcsr_multi_run(A->devices, multiply_part, &s);
    if (status != DCSR_OK) {
        dcsr_i_multi_parts_destroy(parts, A->rows->parts);
        return status;
    }
    if (parts[0]) dcsr_i_multi_vector_put(y, parts, A->rows);
    s.cost.report[0].direction = DCSR_DIRECTION_PULL;
    dcsr_i_multi_tell(report, &s.cost, A->rows->parts, began);
    return DCSR_OK;
}

/* ---- Arrays of the host ---- */

static dcsr_status load(dcsr_vector **part, dcsr_context *context, dcsr_type type, uint64_t size,
                        const void *values)
{
    void *to;
    DCSR_TRY(dcsr_vector_create(part, context, type, size));
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_status status = stream ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) status = dcsr_i_cuda_vector_make_own(*part, &to);
    if (status == DCSR_OK) {
        dcsr_i_cuda_copy(stream, to, values, size * dcsr_type_size(type));
        status = dcsr_i_cuda_wait(stream, "bringing a vector to its devices");
    }
    dcsr_i_stream_return(context, stream);
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_vector_destroy(*part);
    *part = NULL;
    return status;
}

static dcsr_status store(const dcsr_vector *part, void *values)
{
    const void *from;
    DCSR_TRY(dcsr_i_cuda_vector_values(&from, part));
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(part->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_deliver(stream, values, from, part->size * part->value_size,
                                             part->context, "multi_vector_to_array");
    dcsr_i_stream_return(part->context, stream);
    return status;
}

const dcsr_i_multi_gpu dcsr_i_cuda_multi = {.spmv = spmv, .load = load, .store = store, .drop = drop};
