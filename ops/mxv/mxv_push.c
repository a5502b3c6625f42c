/* mxv_push.c: t = M u, column by column, for the elements that u has.
 *
 *      u's list          j0      j1            j2      j3 ...
 *      columns of M      | a b c | d e f g h i | j | k l m n ... |      rows of M's transpose
 *      shares            |  share 0      |  share 1      | ...          equal in entries, for a thread each
 *
 * A share begins and ends anywhere in a column, so a column that holds most of the entries is no worse than
 * others. Each collects sums of its own in a scatter, and what they have is then added up:
 *
 *      touched   | 1 0 1 1 ...  |      a bit for each word of `found`: whether it is made
 *      found     | word 0 | - | word 2 | word 3 | ...
 *      values    | s . s ...    |      one place for each element
 *
 * Words are made when they are touched first. A unit is the 64 words that one word of `touched` is about.
 * Values without a bit in `found` are not initialised.
 *
 * Where there is so little to do that even the words of a bitmap would be too many, products are put into a list
 * and sorted by place: memory and time follow the work, however long t is.
 *
 *      key      column of the product, and where it is in the list (upper half)
 *      list     | products, in the order of u's elements and of their columns' entries | */
#include "dcsr/base/alloc.h"
#include "dcsr/base/sort.h"
#include "ops/mxv/mxv_internal.h"
#include <string.h>

/* ---- By sorting ---- */

/* Words of a bitmap that are as much work as one product. */
enum { WORDS_PER_PRODUCT = 64 };

/* Whether there is so little work. */
static bool sorts(const dcsr_i_mxv *x, uint64_t work)
{
    return work < x->n / ((uint64_t)64 * WORDS_PER_PRODUCT);
}

typedef struct products {
    const dcsr_i_mxv *x;
    uint64_t n;
    uint64_t *key;
    char *value;
} products;

/* The products of a column's entries at .. at+length-1 that the mask allows. */
static bool append(products *to, uint64_t at, uint64_t length, uint32_t slot)
{
    const dcsr_i_mxv *x = to->x;
    const dcsr_i_rows *rows = x->rows;
    size_t size = dcsr_type_size(rows->type);
    uint64_t values[DCSR_I_BATCH_PART];
    while (length) {
        uint32_t n = length < DCSR_I_BATCH_PART ? (uint32_t)length : DCSR_I_BATCH_PART;
        if (x->reads_matrix)
            dcsr_i_cast(x->atype, values, rows->type, size ? (const char *)rows->values + at * size : NULL,
                        n);
        dcsr_i_mxv_run run = {rows->columns + at, values, n, slot};
        char *z = to->value + to->n * x->size;
        if (!dcsr_i_mxv_products(x, true, &run, z)) return false;
        uint64_t kept = to->n;
        for (uint32_t k = 0; k < n; k++) {
            if (x->mask && !dcsr_i_mask_has(x->mask, run.columns[k])) continue;
            to->key[kept] = kept << 32 | run.columns[k];
            dcsr_i_copy_value(to->value, kept++, z, k, x->size);
        }
        to->n = kept;
        at += n, length -= n;
    }
    return true;
}

static bool collect(products *to)
{
    const dcsr_i_mxv *x = to->x;
    for (uint64_t i = 0; i < x->u_count; i++) {
        uint64_t row = x->u_list ? x->u_list[i] : i;
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(x->rows, row, pieces);
        for (int k = 0; k < count; k++)
            if (!append(to, pieces[k].begin, pieces[k].length, (uint32_t)(x->u_dense ? row : i)))
                return false;
    }
    return true;
}

/* Adds up products of one place, which stand side by side in `key` and in order. */
static bool combine(dcsr_i_body *t, const products *from, const uint64_t *key)
{
    const dcsr_i_mxv *x = from->x;
    for (uint64_t k = 0; k < from->n; k++) {
        uint32_t column = (uint32_t)key[k];
        const char *term = from->value + (key[k] >> 32) * x->size;
        if (!t->nvals || t->indices[t->nvals - 1] != column) {
            t->indices[t->nvals] = column;
            memcpy((char *)t->values + t->nvals++ * x->size, term, x->size);
        } else if (!x->any) {
            char *sum = (char *)t->values + (t->nvals - 1) * x->size;
            dcsr_i_scalar both = {0};
            if (!dcsr_i_apply_binary(x->semiring->add->op, &both, sum, term, 1)) return false;
            memcpy(sum, &both, x->size);
        }
    }
    return true;
}

static uint64_t entries_of_all(const dcsr_i_mxv *x)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < x->u_count; i++)
        sum += dcsr_i_rows_length(x->rows, x->u_list ? x->u_list[i] : i);
    return sum;
}

static dcsr_status push_sorted(dcsr_i_body *t, dcsr_i_mxv *x)
{
    uint64_t most = entries_of_all(x), bits = 64 - (uint64_t)__builtin_clzll(x->n - 1);
    products p = {.x = x};
    p.key = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, 2 * most, sizeof *p.key);
    if (p.key) p.value = dcsr_i_alloc(x->context, DCSR_I_SCRATCH, most, x->size);
    dcsr_status status =
        p.value ? dcsr_i_body_sparse(t, x->context, x->size, most) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        bool good = collect(&p);
        if (good) good = combine(t, &p, dcsr_i_sort(p.key, p.key + most, p.n, 1, 0, (int)bits, 1));
        if (!good) {
            status = dcsr_i_fail_callback(x->call, x->semiring->multiply->text);
            dcsr_i_body_free(t, x->context, x->size);
        }
    }
    x->looked_at = most;
    dcsr_i_free(x->context, DCSR_I_SCRATCH, p.value, most, x->size);
    dcsr_i_free(x->context, DCSR_I_SCRATCH, p.key, 2 * most, sizeof *p.key);
    return status;
}

/* ---- Where products meet ---- */

enum {
    BLOCK = 256,      /* sums that are added at once */
    MOST_PIECES = 64, /* of the units, among threads */
    DENSE_SHARE = 8   /* from 1/8 of the elements on a result is dense */
};

static uint64_t units_of(const dcsr_i_mxv_scatter *s)
{
    return dcsr_i_words(s->words);
}

/* Memory for one; `lazy`: words are made when they are touched. To be closed, also after a failure:
 * OUT_OF_MEMORY. */
static dcsr_status scatter_open(dcsr_i_mxv_scatter *s, const dcsr_i_mxv *x, bool lazy)
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

static void scatter_close(dcsr_i_mxv_scatter *s, dcsr_context *context)
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

/* What n shares found, in parts[0], by so many threads. False when a user's function failed. */
static bool scatter_merge(dcsr_i_mxv_scatter *parts, int n, int threads, const dcsr_i_mxv *x)
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

/* The indices of the bits of words first .. end-1, ascending; returns where the list ends. */
static uint32_t *list_bits(uint32_t *list, const uint64_t *bits, uint64_t first, uint64_t end)
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
            list = list_bits(list, s->found, w, w + 1);
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

/* What was found, as a body; the scatter is left without what became part of it. */
static dcsr_status scatter_take(dcsr_i_body *t, dcsr_i_mxv_scatter *s, const dcsr_i_mxv *x)
{
    uint64_t units = units_of(s), count[MOST_PIECES], sum = 0;
    uint64_t shares = s->touched ? 1 : (uint64_t)dcsr_i_threads(x->context, s->words);
    if (shares > MOST_PIECES) shares = MOST_PIECES;
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
    uint64_t count[MOST_PIECES], sum = 0;
    uint64_t shares = (uint64_t)dcsr_i_threads(context, words);
    if (shares > MOST_PIECES) shares = MOST_PIECES;
    *list = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof **list);
    if (!*list) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < shares; i++) {
        count[i] = sum;
        for (uint64_t w = words * i / shares; shares > 1 && w < words * (i + 1) / shares; w++)
            sum += (uint64_t)__builtin_popcountll(bits[w]);
    }
#pragma omp parallel for num_threads((int)shares) if (shares > 1)
    for (uint64_t i = 0; i < shares; i++)
        list_bits(*list + count[i], bits, words * i / shares, words * (i + 1) / shares);
    return DCSR_OK;
}

enum {
    STRETCHES = 64,  /* of the list, for each share, whose entries are counted to cut it into shares */
    MOST_SHARES = 32 /* each has sums of its own */
};

typedef struct push {
    const dcsr_i_mxv *x;
    uint64_t elements;
    int shares, threads;
    dcsr_i_mxv_place cut[MOST_SHARES + 1];
    dcsr_i_mxv_scatter part[MOST_SHARES];
} push;

static inline uint64_t row_of(const dcsr_i_mxv *x, uint64_t element)
{
    return x->u_list ? x->u_list[element] : element;
}

/* ---- Shares ---- */

static uint64_t entries_of(const push *p, uint64_t first, uint64_t end)
{
    uint64_t sum = 0;
    for (uint64_t i = first; i < end; i++) sum += dcsr_i_rows_length(p->x->rows, row_of(p->x, i));
    return sum;
}

/* Cuts the entries into equal shares. */
static void share_out(push *p)
{
    uint64_t stretches = (uint64_t)p->shares * STRETCHES, work[MOST_SHARES * STRETCHES], sum = 0;
#pragma omp parallel for num_threads(p->threads) if (p->threads > 1)
    for (uint64_t s = 0; s < stretches; s++)
        work[s] = entries_of(p, p->elements * s / stretches, p->elements * (s + 1) / stretches);
    for (uint64_t s = 0; s < stretches; s++) sum += work[s];
    uint64_t s = 0, before = 0; /* entries before stretch s */
    for (int t = 1; t < p->shares; t++) {
        uint64_t goal = sum * (uint64_t)t / (uint64_t)p->shares;
        while (s < stretches && before + work[s] <= goal) before += work[s++];
        dcsr_i_mxv_place cut = {p->elements * s / stretches, goal - before};
        while (cut.element < p->elements) {
            uint64_t length = dcsr_i_rows_length(p->x->rows, row_of(p->x, cut.element));
            if (cut.entry < length) break;
            cut.entry -= length;
            cut.element++;
        }
        p->cut[t] = cut;
    }
}

/* ---- Walking columns ---- */

/* One share. Returns how many entries it has; *failed when a user's function failed. */
static uint64_t push_share(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *to, const dcsr_i_share *share,
                           bool *failed)
{
    dcsr_i_mxv_batch batch;
    *failed = false;
    if (x->any) return dcsr_i_mxv_any_push(x, to, share);
    dcsr_i_batch_init(&batch, x, true);
    batch.scatter = to;
    batch.t = to->values;
    batch.found = to->found;
    const size_t size = dcsr_i_mxv_value_size(x);
    const bool ahead = dcsr_i_mxv_looks_ahead(x);
    for (uint64_t i = share->first.element; i < share->end && !batch.failed; i++) {
        if (ahead) dcsr_i_rows_prefetch(x->rows, x->u_list, i, share->end, size);
        uint64_t row = row_of(x, i);
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_share_pieces(x->rows, row, share, i, pieces);
        for (int k = 0; k < count; k++)
            dcsr_i_batch_add(&batch, pieces[k].begin, pieces[k].length, (uint32_t)(x->u_dense ? row : i));
    }
    dcsr_i_batch_flush(&batch);
    *failed = batch.failed;
    return batch.looked_at;
}

/* ---- All of it ---- */

/* Shares that are large enough to be worth sums of their own. */
static int shares_for(const dcsr_i_mxv *x, uint64_t work)
{
    uint64_t shares = (uint64_t)dcsr_i_shares(x->context, work), most = 1 + 8 * work / (x->n + 1);
    if (x->any && !x->reads_matrix && !x->reads_vector) most *= 8; /* bits alone */
    if (shares > most) shares = most;
    return shares > MOST_SHARES ? MOST_SHARES : (int)shares;
}

static bool walk_all(push *p, uint64_t *looked_at)
{
    uint64_t sum = 0;
    bool failed = false;
#pragma omp parallel for num_threads(p->threads) schedule(static, 1) reduction(+ : sum) reduction(|| : failed) \
    if (p->threads > 1)
    for (int t = 0; t < p->shares; t++) {
        bool one_failed;
        dcsr_i_mxv_place last = p->cut[t + 1];
        dcsr_i_share share = {p->cut[t], last, last.entry ? last.element + 1 : last.element};
        sum += push_share(p->x, &p->part[t], &share, &one_failed);
        failed = failed || one_failed;
    }
    *looked_at = sum;
    return !failed && (p->shares == 1 || scatter_merge(p->part, p->shares, p->threads, p->x));
}

dcsr_status dcsr_i_mxv_push(dcsr_i_body *t, dcsr_i_mxv *x, uint64_t work)
{
    if (sorts(x, work)) return push_sorted(t, x);
    push p;
    p.x = x;
    p.elements = x->u_count;
    p.shares = shares_for(x, work);
    p.threads = dcsr_i_threads(x->context, work);
    if (p.threads > p.shares) p.threads = p.shares;
    p.cut[0] = (dcsr_i_mxv_place){0, 0};
    p.cut[p.shares] = (dcsr_i_mxv_place){p.elements, 0};
    if (p.shares > 1) share_out(&p);
    bool lazy = work < x->n / 64;
    dcsr_status status = DCSR_OK;
    int opened = 0;
    while (opened < p.shares && status == DCSR_OK) status = scatter_open(&p.part[opened++], x, lazy);
    if (status == DCSR_OK && !walk_all(&p, &x->looked_at))
        status = dcsr_i_fail_callback(x->call, x->semiring->multiply->text);
    if (status == DCSR_OK) status = scatter_take(t, &p.part[0], x);
    for (int i = 0; i < opened; i++) scatter_close(&p.part[i], x->context);
    return status;
}
