/* vector_reduce.c: all elements of a vector added up.
 *
 * Blocks are added to a block of running sums, place by place, with the operator's own loop, and the sums to
 * one another at the end, by halves. So every monoid has as many independent sums as the processor wants, and
 * none needs code of its own. */
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include "ops/algebra/dispatch.h"
#include "ops/vector/vector_block.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_ops_cuda.h"
#include <stdatomic.h>
#include <string.h>

/* Blocks between looking whether the terminal value has been reached; shares of the work. */
enum { BLOCKS_PER_LOOK = 16, MOST_SHARES = 256 };

typedef struct sums {
    const dcsr_monoid *monoid;
    size_t size; /* of a value */
    size_t n;    /* sums in use */
    bool done;   /* no more elements are needed */
    _Alignas(64) char values[DCSR_I_BLOCK * sizeof(uint64_t)];
} sums;

static bool add(sums *s, const void *values, size_t n)
{
    size_t shared = n < s->n ? n : s->n;
    if (shared && !dcsr_i_apply_binary(s->monoid->op, s->values, s->values, values, shared)) return false;
    if (n > shared) {
        memcpy(s->values + shared * s->size, (const char *)values + shared * s->size, (n - shared) * s->size);
        s->n = n;
    }
    return true;
}

/* Adds the sums to one another until one is left, and looks whether it is all that can come. */
static bool fold(sums *s)
{
    while (s->n > 1) {
        size_t half = s->n / 2, rest = s->n - half;
        if (!dcsr_i_apply_binary(s->monoid->op, s->values, s->values, s->values + rest * s->size, half))
            return false;
        s->n = rest;
    }
    dcsr_i_terminal kind = s->monoid->terminal_kind;
    if (s->n && kind != DCSR_I_NO_TERMINAL)
        s->done = kind == DCSR_I_ANY_TERMINAL || !memcmp(s->values, &s->monoid->terminal, s->size);
    return true;
}

/* The values whose bits are set, one behind the other. */
static size_t squeeze(void *to, const void *from, const uint64_t *bits, size_t size, size_t n)
{
    size_t count = 0;
#define SQUEEZE(ctype)                                                    \
    do {                                                                  \
        const ctype *x = from;                                            \
        ctype *z = to;                                                    \
        for (size_t w = 0; w * 64 < n; w++)                               \
            for (uint64_t word = bits[w]; word; word &= word - 1)         \
                z[count++] = x[w * 64 + (unsigned)__builtin_ctzll(word)]; \
    } while (0)
    DCSR_I_BY_SIZE(size, SQUEEZE)
#undef SQUEEZE
    return count;
}

/* Adds up blocks first .. end-1 of u's places (of a sparse u, its entries). */
static bool add_blocks(sums *s, const dcsr_vector *u, uint64_t places, uint64_t first, uint64_t end,
                       atomic_bool *stop)
{
    const dcsr_i_source source = {&u->body, u->type, dcsr_i_monoid_type(s->monoid)};
    for (uint64_t b = first; b < end && !s->done; b++) {
        if (atomic_load_explicit(stop, memory_order_relaxed)) return true;
        uint64_t begin = b * DCSR_I_BLOCK;
        dcsr_i_elements block;
        dcsr_i_at at = {.first = begin, .list = u->body.dense ? NULL : u->body.indices + begin};
        at.n = places - begin < DCSR_I_BLOCK ? (size_t)(places - begin) : DCSR_I_BLOCK;
        dcsr_i_fetch(&block, &source, &at);
        const void *values = block.values;
        size_t n = at.n;
        _Alignas(64) char some[DCSR_I_BLOCK * sizeof(uint64_t)];
        if (block.bits) {
            n = squeeze(some, values, block.bits, s->size, n);
            values = some;
        }
        bool look = s->monoid->terminal_kind == DCSR_I_ANY_TERMINAL || (b - first) % BLOCKS_PER_LOOK == 0;
        if (!add(s, values, n) || (look && !fold(s))) return false;
    }
    if (!fold(s)) return false;
    if (s->done) *stop = true;
    return true;
}

/* The sum of each share's blocks, in the order of the shares, added to one another. */
static bool add_shared(sums *s, const dcsr_vector *u, uint64_t places, uint64_t blocks, uint64_t shares)
{
    dcsr_i_scalar sum[MOST_SHARES];
    bool has[MOST_SHARES] = {false};
    atomic_bool stop = false, failed = false;
    const int threads = dcsr_i_threads(u->context, places);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (uint64_t t = 0; t < shares; t++) {
        sums own; /* too large to be initialised */
        own.monoid = s->monoid, own.size = s->size, own.n = 0, own.done = false;
        if (!add_blocks(&own, u, places, blocks * t / shares, blocks * (t + 1) / shares, &stop))
            failed = stop = true;
        has[t] = own.n > 0;
        memcpy(&sum[t], own.values, sizeof sum[t]);
    }
    for (uint64_t t = 0; t < shares && !failed; t++) {
        if (!has[t]) continue;
        memcpy(s->values + s->n * s->size, &sum[t], s->size);
        s->n++;
    }
    return !failed && fold(s);
}

static dcsr_status check(const void *total, const dcsr_monoid *monoid, const dcsr_vector *u)
{
    DCSR_TRY(dcsr_i_vector_admit_input("vector_reduce", "u", u, NULL));
    if (!total)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "vector_reduce: total is NULL; give it a place");
    if (!monoid) return dcsr_i_fail_no_operator("vector_reduce");
    return DCSR_OK;
}

/* *total = accum(*total, *sum), through the operator's types. */
static bool accumulate(void *total, const dcsr_binary_op *accum, dcsr_type type, const void *sum)
{
    dcsr_i_scalar x = {0}, y = {0}, z = {0};
    dcsr_i_cast(accum->xtype, &x, type, total, 1);
    dcsr_i_cast(accum->ytype, &y, type, sum, 1);
    if (!dcsr_i_apply_binary(accum, &z, &x, &y, 1)) return false;
    dcsr_i_cast(type, total, accum->ztype, &z, 1);
    return true;
}

static dcsr_status finish(void *total, const dcsr_binary_op *accum, dcsr_type type, const void *sum)
{
    if (!accum)
        memcpy(total, sum, dcsr_type_size(type));
    else if (!accumulate(total, accum, type, sum))
        return dcsr_i_fail_callback("vector_reduce", accum->text);
    return DCSR_OK;
}

dcsr_status dcsr_vector_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                               const dcsr_vector *u)
{
    DCSR_TRY(check(total, monoid, u));
    dcsr_type type = dcsr_i_monoid_type(monoid);
    if (!u->body.nvals) return finish(total, accum, type, &monoid->identity);
    bool on_device;
    DCSR_TRY(dcsr_i_dispatch(&on_device, u->context, NULL, dcsr_i_monoid_is_users(monoid),
                             dcsr_i_vector_work(u), &u, 1));
    if (on_device) {
        dcsr_i_scalar sum;
        DCSR_TRY(dcsr_i_device_vector_ops->sum(&sum, monoid, u));
        return finish(total, accum, type, &sum);
    }
    sums s; /* too large to be initialised */
    s.monoid = monoid, s.size = dcsr_type_size(type), s.n = 0, s.done = false;
    uint64_t places = u->body.dense ? u->size : u->body.nvals,
             blocks = (places + DCSR_I_BLOCK - 1) / DCSR_I_BLOCK;
    uint64_t shares = (uint64_t)dcsr_i_shares(u->context, places);
    if (shares > MOST_SHARES) shares = MOST_SHARES;
    atomic_bool stop = false;
    bool ok =
        shares <= 1 ? add_blocks(&s, u, places, 0, blocks, &stop) : add_shared(&s, u, places, blocks, shares);
    if (!ok) return dcsr_i_fail_callback("vector_reduce", monoid->op->text);
    return finish(total, accum, type, s.values);
}
