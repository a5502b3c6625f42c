/* mxv_any_monoid.c: products whose sum is any of its terms: the first entry that meets an element of u settles a
 * row, and values are copied, or not looked at. A search of a graph is made of these.
 *
 * The bits of u (pull), or of what has been found (push), are the cache misses, so long runs are first
 * filtered by 16 columns at once, without a branch. */
#include "ops/rows/column_bits.h"
#include "ops/mxv/mxv_internal.h"

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

bool dcsr_i_mxv_settle_pull(const dcsr_i_mxv *x, uint64_t at, uint64_t length, bool *t, bool has,
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
        unsigned count = dcsr_i_pick(to->found, true, columns, n, fresh, placed ? places : NULL);
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
