/* mxv_scatter.c: where the products of a push meet: a sum for every element of the result, of each thread,
 * then of all.
 *
 *      touched   | 1 0 1 1 ...  |      a bit for each word of `found`: whether it is made
 *      found     | word 0 | - | word 2 | word 3 | ...
 *      values    | s . s ...    |      one place for each element
 *
 * Words are made when they are touched first. A unit is the 64 words that one word of `touched` is about.
 * Values without a bit in `found` are not initialised. */
#include "dcsr/base/alloc.h"
#include "ops/mxv/mxv_internal.h"
#include <string.h>

enum {
    BLOCK = 256,      /* sums that are added at once */
    MOST_SHARES = 64, /* of the units, among threads */
    DENSE_SHARE = 8   /* from 1/8 of the elements on a result is dense */
};

static uint64_t units_of(const dcsr_i_mxv_scatter *s)
{
    return dcsr_i_words(s->words);
}

dcsr_status dcsr_i_scatter_open(dcsr_i_mxv_scatter *s, const dcsr_i_mxv *x, bool lazy)
{
    bool valued = !x->any || x->reads_matrix || x->reads_vector;
    *s = (dcsr_i_mxv_scatter){.blocked = x->any ? x->mask : NULL,
                              .size = x->n,
                              .words = dcsr_i_words(x->n),
                              .value_size = valued ? x->size : 0};
    s->found = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, s->words, sizeof *s->found);
    if (s->found && lazy)
        s->touched = dcsr_i_calloc(x->context, DCSR_I_SCRATCH, units_of(s), sizeof *s->touched);
    /* Single bytes may become a dense body's, whose bytes are all initialised. */
    if (valued && s->found)
        s->values = s->value_size == 1 && !lazy
                        ? dcsr_i_calloc(x->context, DCSR_I_SCRATCH, s->size, 1)
                        : dcsr_i_alloc(x->context, DCSR_I_SCRATCH, s->size, s->value_size);
    if (!s->found || (lazy && !s->touched) || (valued && !s->values)) return DCSR_ERROR_OUT_OF_MEMORY;
    if (lazy) return DCSR_OK;
    for (uint64_t w = 0; s->blocked && w < s->words; w++) s->found[w] = dcsr_i_scatter_blank(s, w);
    if (!s->blocked) memset(s->found, 0, s->words * sizeof *s->found);
    return DCSR_OK;
}

void dcsr_i_scatter_close(dcsr_i_mxv_scatter *s, dcsr_context *context)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, s->values, s->size, s->value_size);
    dcsr_i_free(context, DCSR_I_SCRATCH, s->touched, units_of(s), sizeof *s->touched);
    dcsr_i_free(context, DCSR_I_SCRATCH, s->found, s->words, sizeof *s->found);
    *s = (dcsr_i_mxv_scatter){0};
}

/* The words of a unit that are made. */
static uint64_t made(const dcsr_i_mxv_scatter *s, uint64_t unit)
{
    if (s->touched) return s->touched[unit];
    uint64_t left = s->words - (unit << 6);
    return left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
}

/* ---- Of all threads ---- */

static void gather(void *to, const void *from, const uint32_t *list, uint64_t n, size_t size)
{
#define GATHER(ctype) \
    for (uint64_t k = 0; k < n; k++) ((ctype *)to)[k] = ((const ctype *)from)[list[k]]
    DCSR_I_BY_SIZE(size, GATHER)
#undef GATHER
}

static void spread(void *to, const void *from, const uint32_t *list, uint64_t n, size_t size)
{
#define SPREAD(ctype) \
    for (uint64_t k = 0; k < n; k++) ((ctype *)to)[list[k]] = ((const ctype *)from)[k]
    DCSR_I_BY_SIZE(size, SPREAD)
#undef SPREAD
}

/* Sums that one thread has and another has too. */
typedef struct meeting {
    const dcsr_i_mxv *x;
    dcsr_i_mxv_scatter *to;
    const dcsr_i_mxv_scatter *from;
    uint32_t list[BLOCK + 64];
    uint64_t n;
} meeting;

static bool add_sums(meeting *m)
{
    uint64_t a[BLOCK + 64], b[BLOCK + 64], sum[BLOCK + 64];
    gather(a, m->to->values, m->list, m->n, m->x->size);
    gather(b, m->from->values, m->list, m->n, m->x->size);
    if (!dcsr_i_apply_binary(m->x->semiring->add->op, sum, a, b, m->n)) return false;
    spread(m->to->values, sum, m->list, m->n, m->x->size);
    m->n = 0;
    return true;
}

static bool merge_word(meeting *m, uint64_t w)
{
    if (m->to->touched) dcsr_i_scatter_touch(m->to, w);
    uint64_t found = m->from->found[w] & ~dcsr_i_scatter_blank(m->from, w), old = m->to->found[w];
    m->to->found[w] = old | found;
    if (!m->to->values) return true;
    for (uint64_t word = found & ~old; word; word &= word - 1) {
        uint64_t i = w << 6 | (unsigned)__builtin_ctzll(word);
        dcsr_i_copy_value(m->to->values, i, m->from->values, i, m->x->size);
    }
    if (m->x->any) return true;
    for (uint64_t word = found & old; word; word &= word - 1)
        m->list[m->n++] = (uint32_t)(w << 6 | (unsigned)__builtin_ctzll(word));
    return m->n < BLOCK || add_sums(m);
}

static bool merge_units(dcsr_i_mxv_scatter *parts, int n, const dcsr_i_mxv *x, uint64_t first, uint64_t end)
{
    for (int t = 1; t < n; t++) {
        meeting m = {.x = x, .to = &parts[0], .from = &parts[t]};
        for (uint64_t unit = first; unit < end; unit++) {
            for (uint64_t words = made(&parts[t], unit); words; words &= words - 1)
                if (!merge_word(&m, unit << 6 | (unsigned)__builtin_ctzll(words))) return false;
        }
        if (m.n && !add_sums(&m)) return false;
    }
    return true;
}

bool dcsr_i_scatter_merge(dcsr_i_mxv_scatter *parts, int n, int threads, const dcsr_i_mxv *x)
{
    uint64_t units = units_of(&parts[0]);
    bool good = true;
#pragma omp parallel for num_threads(threads) reduction(&& : good) if (threads > 1)
    for (int t = 0; t < n; t++)
        good = merge_units(parts, n, x, units * (uint64_t)t / (uint64_t)n,
                           units * (uint64_t)(t + 1) / (uint64_t)n);
    return good;
}

/* ---- As a body ---- */

/* Counts what was found in units first .. end-1, and leaves nothing else in `found`. */
static uint64_t count_units(dcsr_i_mxv_scatter *s, uint64_t first, uint64_t end)
{
    uint64_t count = 0;
    for (uint64_t unit = first; unit < end; unit++) {
        for (uint64_t words = made(s, unit); words; words &= words - 1) {
            uint64_t w = unit << 6 | (unsigned)__builtin_ctzll(words);
            if (s->blocked) s->found[w] &= ~dcsr_i_scatter_blank(s, w);
            count += (uint64_t)__builtin_popcountll(s->found[w]);
        }
    }
    return count;
}

uint32_t *dcsr_i_list_bits(uint32_t *list, const uint64_t *bits, uint64_t first, uint64_t end)
{
    for (uint64_t w = first; w < end; w++)
        for (uint64_t word = bits[w]; word; word &= word - 1)
            *list++ = (uint32_t)(w << 6 | (unsigned)__builtin_ctzll(word));
    return list;
}

/* What was found in units first .. end-1 to places from `at` on of a sparse body. */
static void take_units(dcsr_i_body *t, const dcsr_i_mxv_scatter *s, uint64_t first, uint64_t end, uint64_t at)
{
    uint32_t *list = t->indices + at;
    for (uint64_t unit = first; unit < end; unit++) {
        for (uint64_t words = made(s, unit); words; words &= words - 1) {
            uint64_t w = unit << 6 | (unsigned)__builtin_ctzll(words);
            list = dcsr_i_list_bits(list, s->found, w, w + 1);
        }
    }
    uint64_t n = (uint64_t)(list - (t->indices + at));
    if (s->values && n)
        gather((char *)t->values + at * s->value_size, s->values, t->indices + at, n, s->value_size);
}

/* The scatter's memory becomes the body's. */
static dcsr_status take_whole(dcsr_i_body *t, dcsr_i_mxv_scatter *s, const dcsr_i_mxv *x, uint64_t count)
{
    if (!s->values) {
        s->values = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, s->size, x->size);
        if (!s->values) return DCSR_ERROR_OUT_OF_MEMORY;
        s->value_size = x->size;
    }
    *t = (dcsr_i_body){.dense = true,
                       .nvals = count,
                       .capacity = s->size,
                       .words = s->words,
                       .present = s->found,
                       .values = s->values};
    s->found = NULL;
    s->values = NULL;
    return DCSR_OK;
}

dcsr_status dcsr_i_scatter_take(dcsr_i_body *t, dcsr_i_mxv_scatter *s, const dcsr_i_mxv *x)
{
    uint64_t units = units_of(s), count[MOST_SHARES], sum = 0;
    uint64_t shares = s->touched ? 1 : (uint64_t)dcsr_i_threads(x->context, s->words);
    if (shares > MOST_SHARES) shares = MOST_SHARES;
    bool ones = !s->values;
#pragma omp parallel for num_threads((int)shares) if (shares > 1)
    for (uint64_t i = 0; i < shares; i++)
        count[i] = count_units(s, units * i / shares, units * (i + 1) / shares);
    for (uint64_t i = 0; i < shares; i++) sum += count[i];
    if (!s->touched && sum >= s->size / DENSE_SHARE) {
        DCSR_TRY(take_whole(t, s, x, sum));
    } else {
        DCSR_TRY(dcsr_i_body_sparse(t, x->context, x->size, sum));
        t->nvals = sum;
        for (uint64_t i = shares; i-- > 0; count[i] = sum) sum -= count[i];
#pragma omp parallel for num_threads((int)shares) if (shares > 1)
        for (uint64_t i = 0; i < shares; i++)
            take_units(t, s, units * i / shares, units * (i + 1) / shares, count[i]);
    }
    if (ones) dcsr_i_mxv_ones(x, t);
    return DCSR_OK;
}

dcsr_status dcsr_i_list_of_bits(uint32_t **list, uint64_t n, const uint64_t *bits, uint64_t words,
                                dcsr_context *context)
{
    uint64_t count[MOST_SHARES], sum = 0;
    uint64_t shares = (uint64_t)dcsr_i_threads(context, words);
    if (shares > MOST_SHARES) shares = MOST_SHARES;
    *list = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof **list);
    if (!*list) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < shares; i++) {
        count[i] = sum;
        for (uint64_t w = words * i / shares; shares > 1 && w < words * (i + 1) / shares; w++)
            sum += (uint64_t)__builtin_popcountll(bits[w]);
    }
#pragma omp parallel for num_threads((int)shares) if (shares > 1)
    for (uint64_t i = 0; i < shares; i++)
        dcsr_i_list_bits(*list + count[i], bits, words * i / shares, words * (i + 1) / shares);
    return DCSR_OK;
}
