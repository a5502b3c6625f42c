/* mxv_runs.c: runs of entries: brought together for kernels, and what is done to them where there are none.
 *
 * A batch is what kernels read: entries where they lie, or, where a kernel should see only some of them or values of
 * another type, copies. For semirings that have no kernels, a user's operators, and built-in ones in pairs that
 * operators.def does not name, operators are applied to blocks of values.
 *
 * Of the monoid ANY the first entry that meets an element of u decides a row, and values are copied, or not looked
 * at. A search of a graph is made of these. The bits of u (pull), or of what has been found (push), are the
 * cache misses, so long runs are first filtered by 16 columns at once, without a branch. */
#include "ops/rows/column_bits.h"
#include "ops/mxv/mxv_internal.h"
#include <string.h>

/* ---- Picking ---- */

/* Copies those of n <= DCSR_I_BATCH_PART columns whose bit is set, or with `unset` is not, to `picked`, which
 * has room for 16 more, and their places among the n to `places` unless that is NULL; returns how many. */
#ifdef DCSR_I_AVX512
static unsigned pick(const uint64_t *bits, bool unset, const uint32_t *columns, uint64_t n, uint32_t *picked,
                     uint32_t *places)
{
    const __m512i ascending = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    unsigned count = 0;
    for (uint64_t k = 0; k < n; k += 16) {
        dcsr_i_columns16 c = dcsr_i_columns16_load(columns + k, n - k);
        __mmask16 set = dcsr_i_columns16_set(c, bits), take = unset ? c.live & (__mmask16)~set : set;
        if (places) {
            __m512i place = _mm512_maskz_add_epi32(0xffff, ascending, _mm512_set1_epi32((int)k));
            _mm512_storeu_si512(places + count, _mm512_maskz_compress_epi32(take, place));
        }
        count += dcsr_i_columns16_store(picked + count, c, take);
    }
    return count;
}
#else
static unsigned pick(const uint64_t *bits, bool unset, const uint32_t *columns, uint64_t n, uint32_t *picked,
                     uint32_t *places)
{
    unsigned count = 0;
    for (uint64_t k = 0; k < n; k++) {
        picked[count] = columns[k];
        if (places) places[count] = (uint32_t)k;
        count += (bits[columns[k] >> 6] >> (columns[k] & 63) & 1) != unset;
    }
    return count;
}
#endif

/* ---- Blocks ---- */

enum { BLOCK = DCSR_I_BATCH_PART };

/* u's values at the columns, or, in a push, the one at the slot as often. */
static const void *values_of_u(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *run, uint64_t *room)
{
    if (!x->reads_vector) return room;
    if (push) {
        dcsr_i_broadcast(x->utype, room, (const char *)x->u_values + run->slot * x->usize, run->length);
        return room;
    }
#define GATHER(ctype)                          \
    for (uint32_t k = 0; k < run->length; k++) \
    ((ctype *)room)[k] = ((const ctype *)x->u_values)[run->columns[k]]
    DCSR_I_BY_SIZE(x->usize, GATHER)
#undef GATHER
    return room;
}

bool dcsr_i_mxv_products(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *run, void *z)
{
    uint64_t room[BLOCK] = {0};
    const void *u = values_of_u(x, push, run, room), *a = x->reads_matrix ? run->values : room;
    return dcsr_i_apply_binary(x->semiring->multiply, z, x->flipped ? u : a, x->flipped ? a : u, run->length);
}

/* The sum of n > 0 terms, to z[0]: halves are added, which takes few calls. `spare` has room for as many. */
static bool add_up(const dcsr_i_mxv *x, void *z, void *spare, uint32_t n)
{
    for (; n > 1; n -= n / 2) {
        uint32_t half = n / 2;
        if (!dcsr_i_apply_binary(x->semiring->add->op, spare, z, (char *)z + (n - half) * x->size, half))
            return false;
        memcpy(z, spare, half * x->size);
    }
    return true;
}

/* t[at] = t[at] + *term, or *term where nothing is there yet. */
static bool add_to(const dcsr_i_mxv *x, void *t, uint64_t at, bool has, const void *term)
{
    char *place = (char *)t + at * x->size;
    dcsr_i_scalar sum = {0};
    if (has) {
        if (!dcsr_i_apply_binary(x->semiring->add->op, &sum, place, term, 1)) return false;
        term = &sum;
    }
    memcpy(place, term, x->size);
    return true;
}

/* Whether more terms change nothing. */
static bool is_terminal(const dcsr_i_mxv *x, const void *t, uint64_t at)
{
    const dcsr_monoid *add = x->semiring->add;
    return add->terminal_kind == DCSR_I_ANY_TERMINAL ||
           (add->terminal_kind == DCSR_I_TERMINAL &&
            !memcmp((const char *)t + at * x->size, &add->terminal, x->size));
}

static bool block(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *run, void *t, uint64_t *found)
{
    uint64_t z[BLOCK], spare[BLOCK];
    uint64_t bit = (uint64_t)1 << (run->slot & 63);
    if (!push && *found & bit && is_terminal(x, t, run->slot)) return true;
    if (!dcsr_i_mxv_products(x, push, run, z)) return false;
    if (!push) {
        if (!add_up(x, z, spare, run->length) || !add_to(x, t, run->slot, *found & bit, z)) return false;
        *found |= bit;
        return true;
    }
    for (uint32_t k = 0; k < run->length; k++) {
        uint64_t j = run->columns[k], *word = &found[j >> 6];
        bit = (uint64_t)1 << (j & 63);
        if (!add_to(x, t, j, *word & bit, (char *)z + k * x->size)) return false;
        *word |= bit;
    }
    return true;
}

/* What kernels do, by applying the operators to blocks. False when a user's function failed. */
static bool add_blocks(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *runs, size_t n, void *t,
                       uint64_t *found)
{
    for (size_t r = 0; r < n; r++) {
        dcsr_i_mxv_run run = runs[r];
        for (uint32_t left = runs[r].length; left; left -= run.length) {
            run.length = left < BLOCK ? left : BLOCK;
            if (!block(x, push, &run, t, found)) return false;
            run.columns += run.length;
            if (x->reads_matrix) run.values = (const char *)run.values + run.length * x->asize;
        }
    }
    return true;
}

/* ---- Batches ---- */

void dcsr_i_batch_init(dcsr_i_mxv_batch *batch, const dcsr_i_mxv *x, bool push)
{
    batch->x = x;
    batch->push = push;
    batch->kernel = !x->kernels ? NULL : push ? x->kernels->push : x->kernels->pull;
    batch->failed = false;
    batch->casts = x->reads_matrix && x->rows->type != x->atype;
    batch->stored_size = dcsr_type_size(x->rows->type);
    batch->bits = push ? (x->mask ? x->mask->bits : NULL) : x->u_bits;
    batch->unset = push && x->mask && x->mask->complement;
    batch->scatter = NULL;
    batch->looked_at = 0;
    batch->n = batch->copied = 0;
    /* The values of a pattern are the same wherever they are copied to. */
    uint64_t most = x->entries < DCSR_I_BATCH_ENTRIES ? x->entries : DCSR_I_BATCH_ENTRIES;
    if (batch->casts && x->rows->type == DCSR_PATTERN)
        dcsr_i_cast(x->atype, batch->values, DCSR_PATTERN, NULL, most);
}

/* Makes the words of `found` that products will go to, and asks for their places in t, which few have
 * touched. */
static void touch_places(dcsr_i_mxv_batch *batch)
{
    for (size_t r = 0; r < batch->n; r++) {
        const uint32_t *columns = batch->run[r].columns;
        for (uint32_t k = 0; k < batch->run[r].length; k++) {
            dcsr_i_scatter_touch(batch->scatter, columns[k] >> 6);
            __builtin_prefetch((char *)batch->t + columns[k] * batch->x->size, 1);
        }
    }
}

void dcsr_i_batch_flush(dcsr_i_mxv_batch *batch)
{
    if (!batch->n || batch->failed) {
        batch->n = batch->copied = 0;
        return;
    }
    const dcsr_i_mxv *x = batch->x;
    if (batch->push && batch->scatter->touched) touch_places(batch);
    if (batch->kernel)
        batch->kernel(batch->run, batch->n, x->u_values, batch->t, batch->found);
    else if (!add_blocks(x, batch->push, batch->run, batch->n, batch->t, batch->found))
        batch->failed = true;
    batch->n = batch->copied = 0;
}

/* The values at `places` from `from` on, one behind the other. */
static void gather(void *to, const void *from, const uint32_t *places, unsigned n, size_t size)
{
#define GATHER(ctype) \
    for (unsigned k = 0; k < n; k++) ((ctype *)to)[k] = ((const ctype *)from)[places[k]]
    DCSR_I_BY_SIZE(size, GATHER)
#undef GATHER
}

/* At most DCSR_I_BATCH_PART entries. */
static void add_part(dcsr_i_mxv_batch *batch, uint64_t at, unsigned n, uint32_t slot)
{
    const dcsr_i_mxv *x = batch->x;
    const dcsr_i_rows *rows = x->rows;
    size_t size = batch->stored_size;
    uint32_t places[DCSR_I_BATCH_PART + 16];
    uint64_t raw[DCSR_I_BATCH_PART];
    char *values = (char *)batch->values + batch->copied * x->asize;
    const uint32_t *columns = rows->columns + at;
    const void *from = size ? (const char *)rows->values + at * size : NULL;
    bool picks = batch->bits != NULL;
    if (picks) {
        n = pick(batch->bits, batch->unset, columns, n, batch->columns + batch->copied,
                 x->reads_matrix && size ? places : NULL);
        if (!n) return;
        columns = batch->columns + batch->copied;
    }
    if (x->reads_matrix && size) {
        if (picks) {
            void *to = batch->casts ? (void *)raw : values;
            gather(to, from, places, n, size);
            from = to;
        }
        if (batch->casts) dcsr_i_cast(x->atype, values, rows->type, from, n);
    }
    batch->run[batch->n++] = (dcsr_i_mxv_run){columns, values, n, slot};
    batch->copied += n;
}

void dcsr_i_batch_add_copies(dcsr_i_mxv_batch *batch, uint64_t at, uint64_t length, uint32_t slot)
{
    while (length) {
        unsigned take = length < DCSR_I_BATCH_PART ? (unsigned)length : DCSR_I_BATCH_PART;
        add_part(batch, at, take, slot);
        at += take, length -= take;
        if (batch->n == DCSR_I_BATCH_RUNS || batch->copied > DCSR_I_BATCH_ENTRIES - DCSR_I_BATCH_PART)
            dcsr_i_batch_flush(batch);
    }
}

/* ---- The monoid ANY ---- */

enum {
    FEW = 4,  /* entries that are looked at one by one before 16 are at once */
    SHORT = 8 /* runs of at most this many entries are not filtered first */
};

#define INLINE inline __attribute__((always_inline))

static inline bool has(const uint64_t *bits, uint32_t column)
{
    return bits[column >> 6] >> (column & 63) & 1;
}

/* The first of n columns whose bit is set; n when there is none. */
static inline uint64_t find(const uint64_t *bits, const uint32_t *columns, uint64_t n)
{
    uint64_t k = 0;
    for (uint64_t few = n < FEW ? n : FEW; k < few; k++)
        if (has(bits, columns[k])) return k;
#ifdef DCSR_I_AVX512
    for (; k < n; k += 16) {
        __mmask16 set = dcsr_i_columns16_set(dcsr_i_columns16_load(columns + k, n - k), bits);
        if (set) return k + (unsigned)__builtin_ctz(set);
    }
    return n;
#else
    for (; k < n; k++)
        if (has(bits, columns[k])) return k;
    return n;
#endif
}

/* t[slot] = the value of entry `at` of the matrix as one of t. */
static void copy_entry(const dcsr_i_mxv *x, void *t, uint64_t slot, uint64_t at)
{
    const dcsr_i_rows *rows = x->rows;
    size_t size = dcsr_type_size(rows->type);
    if (rows->type == x->type)
        dcsr_i_copy_value(t, slot, rows->values, at, size);
    else
        dcsr_i_cast(x->type, (char *)t + slot * x->size, rows->type,
                    size ? (const char *)rows->values + at * size : NULL, 1);
}

bool dcsr_i_mxv_any_pull(const dcsr_i_mxv *x, uint64_t at, uint64_t length, void *t, uint64_t slot,
                         uint64_t *looked_at)
{
    const uint32_t *columns = x->rows->columns + at;
    uint64_t k = x->u_bits ? find(x->u_bits, columns, length) : 0;
    *looked_at += k < length ? k + 1 : length;
    if (k == length) return false;
    if (x->reads_matrix) copy_entry(x, t, slot, at + k);
    if (x->reads_vector) dcsr_i_copy_value(t, slot, x->u_values, columns[k], x->size);
    return true;
}

bool dcsr_i_mxv_finish_pull(const dcsr_i_mxv *x, uint64_t at, uint64_t length, bool *t, bool has,
                            uint64_t *looked_at)
{
    const uint32_t *columns = x->rows->columns + at;
    const bool *u = x->u_values, end = x->semiring->add->terminal.as_bool;
    uint64_t k = 0;
    if (!has) *t = !end;
    while (*t != end) {
        k += find(x->u_bits, columns + k, length - k);
        if (k == length) break;
        *t = u[columns[k++]];
        has = true;
    }
    *looked_at += k;
    return has;
}

/* Puts the product of entry `at` where nothing is yet. `bits`: there are no values. */
static INLINE void put(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *to, uint32_t column, uint64_t at,
                       uint32_t slot, bool bits)
{
    uint64_t *word = &to->found[column >> 6], bit = (uint64_t)1 << (column & 63);
    if (*word & bit) return;
    *word |= bit;
    if (!bits && x->reads_matrix) copy_entry(x, to->values, column, at);
    if (!bits && x->reads_vector) dcsr_i_copy_value(to->values, column, x->u_values, slot, x->size);
}

/* Puts the products of a run with u's element at `slot`. */
static INLINE void put_run(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *to, const uint32_t *columns, uint64_t at,
                           uint64_t length, uint32_t slot, bool bits, bool lazy)
{
    if (lazy || length <= SHORT) {
        for (uint64_t k = 0; k < length; k++) {
            if (lazy) dcsr_i_scatter_touch(to, columns[k] >> 6);
            put(x, to, columns[k], at + k, slot, bits);
        }
        return;
    }
    uint32_t fresh[DCSR_I_BATCH_PART + 16], places[DCSR_I_BATCH_PART + 16];
    bool placed = !bits && x->reads_matrix;
    while (length) {
        uint64_t n = length < DCSR_I_BATCH_PART ? length : DCSR_I_BATCH_PART;
        unsigned count = pick(to->found, true, columns, n, fresh, placed ? places : NULL);
        for (unsigned k = 0; k < count; k++) put(x, to, fresh[k], placed ? at + places[k] : at, slot, bits);
        columns += n, at += n, length -= n;
    }
}

static INLINE uint64_t push_share(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *into, const dcsr_i_share *share,
                                  bool bits, bool lazy)
{
    /* Copies, which what is written through pointers cannot change. */
    const dcsr_i_rows rows = *x->rows;
    const uint32_t *list = x->u_list;
    const bool ahead = dcsr_i_mxv_looks_ahead(x);
    dcsr_i_mxv_scatter to = *into;
    uint64_t looked_at = 0;
    for (uint64_t i = share->first.element; i < share->end; i++) {
        if (ahead) dcsr_i_rows_prefetch(&rows, list, i, share->end, 0);
        uint64_t row = list ? list[i] : i;
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_share_pieces(&rows, row, share, i, pieces);
        for (int k = 0; k < count; k++) {
            put_run(x, &to, rows.columns + pieces[k].begin, pieces[k].begin, pieces[k].length,
                    (uint32_t)(x->u_dense ? row : i), bits, lazy);
            looked_at += pieces[k].length;
        }
    }
    return looked_at;
}

uint64_t dcsr_i_mxv_any_push(const dcsr_i_mxv *x, dcsr_i_mxv_scatter *to, const dcsr_i_share *share)
{
    if (to->values) return push_share(x, to, share, false, to->touched != NULL);
    return to->touched ? push_share(x, to, share, true, true) : push_share(x, to, share, true, false);
}

void dcsr_i_mxv_ones(const dcsr_i_mxv *x, dcsr_i_body *t)
{
    dcsr_i_scalar one;
    dcsr_i_cast(x->type, &one, DCSR_PATTERN, NULL, 1);
    dcsr_i_broadcast(x->type, t->values, &one, t->dense ? x->n : t->nvals);
}
