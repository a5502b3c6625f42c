/* mxv_internal.h: the parts of a product with a vector (internal).
 *
 * Every call is brought into one form, t = M u, where M is the matrix or its transpose, and multiply's
 * operands are an element of M and one of u. There are two ways of computing it:
 *
 *      pull    row i of M, for each i that the mask allows     t[i] = sum of M(i, j) u[j]          u dense
 *      push    column j of M, for each j that u has            t[i] = t[i] + M(i, j) u[j]          u a list
 *
 *      mxv.c             checks, brings the call into that form, writes the result
 *      mxv_choose.c      decides which way
 *      mxv_tiles.c       rows by the tiles of a view, which are a further way of pulling
 *      mxv_pull.c        rows shared out among threads; or of the rows in use alone
 *      mxv_push.c        columns shared out, and where their products meet; or, where they are few, sorted
 *      mxv_runs.c        what kernels read: runs of entries, filtered by bits and cast where need be; other semirings,
 *                        by operators on blocks; and those whose sum is any of its terms
 *      mxv_kernels.inc   kernels of built-in semirings
 *      row_prefetch.h    rows asked for before they are walked
 *      column_bits.h     16 columns looked up at once */
#ifndef DCSR_MXV_INTERNAL_H
#define DCSR_MXV_INTERNAL_H

#include "dcsr/store/rowtable.h"
#include "dcsr/vector/vector_data.h"
#include <dcsr/desc.h>
#include "ops/algebra/operator.h"
#include <dcsr/nut.h>
#include "ops/rows/row_prefetch.h"
#include "ops/vector/write_vector.h"

/* What a product is asked for, wherever it runs: w<mask> = accum(w, M u), of dcsr_mxv() or dcsr_vxm(). */
typedef struct dcsr_i_mxv_call {
    const char *name;
    dcsr_vector *w;
    const dcsr_vector *mask, *u;
    const dcsr_binary_op *accum;
    const dcsr_semiring *semiring;
    dcsr_view *A;
    const dcsr_desc *desc;
    bool transposed;   /* rows of M are columns of A */
    bool vector_first; /* multiply's first operand is the vector's element */
} dcsr_i_mxv_call;

/* Entries that lie one behind the other, of one row. */
typedef struct dcsr_i_mxv_run {
    const uint32_t *columns;
    const void *values; /* of the type that multiply takes; not to be read where it does not look at them */
    uint32_t length;    /* not 0 */
    uint32_t slot;      /* pull: of the sum in t; push: of the element in u */
} dcsr_i_mxv_run;

/* Adds the products of n runs to t, where `found` has a bit for what is in t already.
 *      pull    t[slot] += values[k] u[columns[k]]          slots are 0 .. 63; `found` is one word
 *      push    t[columns[k]] += values[k] u[slot] */
typedef void dcsr_i_mxv_kernel(const dcsr_i_mxv_run *runs, size_t n, const void *u, void *t, uint64_t *found);
typedef struct dcsr_i_mxv_kernels {
    dcsr_i_mxv_kernel *pull, *push;
} dcsr_i_mxv_kernels;

/* By dcsr_semiring_name. */
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    extern const dcsr_i_mxv_kernels dcsr_i_mxv_##name[DCSR_SEMIRING_NAMES];
#include <dcsr/types.def>
#undef DCSR_X

/* What one call computes. */
typedef struct dcsr_i_mxv {
    const char *call;
    dcsr_context *context;
    const dcsr_semiring *semiring; /* for a matrix as the first operand, where it is built in */
    bool flipped;                  /* it is not, and multiply's first operand is the vector's */
    bool any;                      /* the sum is any of its terms, which are what multiply() copies, or 1 */
    bool decided_early;            /* on bool: products are u's elements, and one value decides a sum */
    const dcsr_i_mxv_kernels *kernels; /* NULL: operators on blocks serve */
    dcsr_type type;                    /* of t */
    dcsr_type atype, utype;            /* that multiply takes the matrix's and the vector's values as */
    size_t size, asize, usize;         /* of one value */
    bool reads_matrix, reads_vector;   /* whether multiply looks at their values */

    const dcsr_i_rows *rows;   /* of M to pull, of its transpose to push */
    const dcsr_nut *tiles;     /* of M; NULL: there are none, or they do not serve */
    const dcsr_vector *pulled; /* what a pull reads: u, or the mask's vector in its place */
    uint64_t entries;          /* of the matrix */
    uint64_t n, length;        /* elements of t and of u */

    /* u: dense to pull, where u_bits are NULL when every element is there; else a list, or NULL: every
     * element. Values are of utype, at an element's index where u_dense. */
    bool u_dense;
    const uint64_t *u_bits;
    const uint32_t *u_list;
    uint64_t u_count;
    const void *u_values;

    const dcsr_i_mask *mask; /* which elements of t are wanted; NULL: all. Bits, or to pull a list */
    bool compacts;           /* a pull, of the rows and columns in use alone */
    int threads, shares;     /* to pull: of the work, on which sums of long rows depend */
    uint64_t looked_at;      /* entries, for the report */
} dcsr_i_mxv;

/* ---- The two ways ---- */

/* t = M u, a body of x->type, to be freed by the caller; empty after a failure: OUT_OF_MEMORY, CALLBACK. */
dcsr_status dcsr_i_mxv_pull(dcsr_i_body *t, dcsr_i_mxv *x);
/* Whether t or u are so long for what they and the matrix hold, and the mask leaves it so, that a pull should
 * be brought down to the rows and columns in use. Then u need not be dense, and the mask is a
 * list, or applied to the result. */
bool dcsr_i_mxv_compacts(const dcsr_i_mxv *x, const dcsr_i_mask *mask, const dcsr_i_body *u);
dcsr_status dcsr_i_mxv_compact(dcsr_i_body *t, dcsr_i_mxv *x, const dcsr_i_body *u);
dcsr_status dcsr_i_mxv_push(dcsr_i_body *t, dcsr_i_mxv *x, uint64_t work);

/* The same by x->tiles, with u as for a pull and the mask as bits. OUT_OF_MEMORY. */
dcsr_status dcsr_i_mxv_tiles(dcsr_i_body *t, dcsr_i_mxv *x);
/* Sets x->tiles; returns whether there are any. */
bool dcsr_i_mxv_find_tiles(dcsr_i_mxv *x, const dcsr_i_mxv_call *c);
/* INVALID_ARGUMENT: tiles were asked for, but do not serve. */
dcsr_status dcsr_i_mxv_refuse_tiles(const dcsr_i_mxv_call *c);
/* Whether it is over plus-times as dcsr_spmv() has it, of a matrix of a type. */
bool dcsr_i_mxv_is_plus_times(const dcsr_i_mxv *x, dcsr_type matrix_type);
/* Whether a product with a dense u is that of dcsr_spmv(): plus-times, the whole vector, the whole result. */
bool dcsr_i_mxv_is_spmv(const dcsr_i_mxv *x);
/* Drops the bits of a dense t of which every element is there. */
void dcsr_i_mxv_drop_bits_if_full(dcsr_i_body *t, const dcsr_i_mxv *x);

/* ---- Which way (mxv_choose.c) ---- */

/* All that is known when the way is chosen, so that whoever decides - the estimate of costs, or what was learnt from
 * measured ones - looks at nothing else. */
typedef struct dcsr_i_mxv_situation {
    uint64_t n, length, entries; /* of t, u and M */
    uint64_t nvals;              /* elements of u */
    bool dense;                  /* its form */
    uint64_t pulled_nvals;       /* the same of what a pull reads */
    bool pulled_dense;
    uint64_t wanted; /* elements of t that the mask allows, at most */
    double mean;     /* length of their rows, about; if it can pull */
    uint64_t work;   /* entries in the columns of u's elements, about; if it can push */
    bool any, bits;  /* the sum is any term; and values are not looked at */
    bool plus_times; /* over the matrix's type, for which tiles have faster kernels */
    bool cached;     /* u fits the cache */
    bool can_push, can_pull, can_tile;
    double crossover; /* the density of u up to which a product by columns is faster; 0: not known */
} dcsr_i_mxv_situation;
/* pull_rows NULL: it cannot pull; work UINT64_MAX: it cannot push. */
dcsr_i_mxv_situation dcsr_i_mxv_situation_of(const dcsr_i_mxv *x, const dcsr_i_rows *pull_rows, uint64_t work,
                                             const dcsr_i_body *u, const dcsr_i_mask *mask, uint64_t wanted);
/* Whether push and pull are estimated to cost about the same, in a product such as those by which the crossover was
 * learnt, so that it should be asked. */
bool dcsr_i_mxv_asks_crossover(const dcsr_i_mxv_situation *situation);
/* Adds what is known of the matrix, where somebody has asked for its features. */
dcsr_status dcsr_i_mxv_look_up(dcsr_i_mxv_situation *situation, const dcsr_i_mxv *x, dcsr_view *A);
/* The one place where it is decided: PUSH, PULL or TILES, of those that it can. */
dcsr_direction dcsr_i_mxv_decide(const dcsr_i_mxv_situation *situation);
/* Entries in the rows of `rows` that u has an element for, about. */
uint64_t dcsr_i_mxv_work_of_push(const dcsr_i_rows *rows, uint64_t entries, const dcsr_i_body *u);
/* Whether a pull is cheaper by far, whatever the rows are like; that takes no looking at them. */
bool dcsr_i_mxv_pulls_clearly(const dcsr_i_mxv *x, const dcsr_i_body *u, uint64_t wanted);

/* ---- Runs for kernels (mxv_runs.c) ---- */

enum { DCSR_I_BATCH_RUNS = 64, DCSR_I_BATCH_ENTRIES = 1024, DCSR_I_BATCH_PART = 256 };

/* Runs that wait for a kernel, with room for entries that had to be copied. One per thread. */
typedef struct dcsr_i_mxv_batch {
    const dcsr_i_mxv *x;
    dcsr_i_mxv_kernel *kernel; /* NULL: blocks */
    bool push, failed;         /* a user's function has failed: what follows is not computed */
    const uint64_t *bits; /* only entries in columns whose bit is set, or, with `unset`, is not; NULL: all */
    bool unset, casts;
    size_t stored_size; /* of one of the matrix's values */
    void *t;
    uint64_t *found;
    struct dcsr_i_mxv_scatter *scatter; /* of a push */
    uint64_t looked_at;
    size_t n, copied; /* runs, entries that were copied */
    dcsr_i_mxv_run run[DCSR_I_BATCH_RUNS];
    uint32_t columns[DCSR_I_BATCH_ENTRIES + 16];
    _Alignas(64) uint64_t values[DCSR_I_BATCH_ENTRIES];
} dcsr_i_mxv_batch;

void dcsr_i_batch_init(dcsr_i_mxv_batch *batch, const dcsr_i_mxv *x, bool push);
/* Calls the kernel with what is there. */
void dcsr_i_batch_flush(dcsr_i_mxv_batch *batch);
/* Adds entries as copies: those whose bit is set, their values cast. */
void dcsr_i_batch_add_copies(dcsr_i_mxv_batch *batch, uint64_t at, uint64_t length, uint32_t slot);
/* Adds entries at .. at+length-1 of x->rows; calls the kernel when the batch is full. */
static inline void dcsr_i_batch_add(dcsr_i_mxv_batch *batch, uint64_t at, uint64_t length, uint32_t slot)
{
    const dcsr_i_rows *rows = batch->x->rows;
    batch->looked_at += length;
    if (batch->bits || batch->casts) {
        dcsr_i_batch_add_copies(batch, at, length, slot);
        return;
    }
    while (length) {
        uint32_t take = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
        batch->run[batch->n++] = (dcsr_i_mxv_run){
            rows->columns + at, rows->values ? (const char *)rows->values + at * batch->stored_size : NULL,
            take, slot};
        if (batch->n == DCSR_I_BATCH_RUNS) dcsr_i_batch_flush(batch);
        at += take, length -= take;
    }
}
/* z[k] = the product of entry k of the run, which is no longer than DCSR_I_BATCH_PART. */
bool dcsr_i_mxv_products(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *run, void *z);

/* ---- The monoid ANY (mxv_runs.c) ---- */

/* Looks for the first entry of at .. at+length-1 in a column that u has, puts its product into t[slot] and
 * returns true. */
bool dcsr_i_mxv_any_pull(const dcsr_i_mxv *x, uint64_t at, uint64_t length, void *t, uint64_t slot,
                         uint64_t *looked_at);
/* The same where x->decided_early, for a sum *t that may `has` been added to already: looks for what decides it.
 * Returns whether there is a sum now. */
bool dcsr_i_mxv_finish_pull(const dcsr_i_mxv *x, uint64_t at, uint64_t length, bool *t, bool has,
                            uint64_t *looked_at);
struct dcsr_i_mxv_scatter;
struct dcsr_i_share;
/* Puts the products of a share's entries where nothing is yet; returns how many they are. */
uint64_t dcsr_i_mxv_any_push(const dcsr_i_mxv *x, struct dcsr_i_mxv_scatter *to,
                             const struct dcsr_i_share *share);
/* All values of a body are 1. */
void dcsr_i_mxv_ones(const dcsr_i_mxv *x, dcsr_i_body *t);

/* ---- Where pushes meet (mxv_push.c) ---- */

/* A sum for every element of t that has one so far. Words of `found` are made when they are touched first,
 * where few will be; so that the cost follows the work. */
typedef struct dcsr_i_mxv_scatter {
    const dcsr_i_mask *blocked; /* of ANY: elements that the mask does not allow count as found; else NULL */
    uint64_t size, words;
    uint64_t *touched; /* a bit for each word of `found` that is made; NULL: all are */
    uint64_t *found;
    void *values; /* NULL where all are 1 */
    size_t value_size;
} dcsr_i_mxv_scatter;

/* Word w of `found` before anything is. */
static inline uint64_t dcsr_i_scatter_blank(const dcsr_i_mxv_scatter *s, uint64_t w)
{
    return s->blocked ? ~dcsr_i_mask_word(s->blocked, w) : 0;
}

/* Makes word w of `found`, unless it is. */
static inline void dcsr_i_scatter_touch(dcsr_i_mxv_scatter *s, uint64_t w)
{
    uint64_t bit = (uint64_t)1 << (w & 63);
    if (s->touched[w >> 6] & bit) return;
    s->touched[w >> 6] |= bit;
    s->found[w] = dcsr_i_scatter_blank(s, w);
}

/* The indices of the bits of words, ascending, by several threads, in memory of the context's for n of them, of
 * which as many bits are set. */
dcsr_status dcsr_i_list_of_bits(uint32_t **list, uint64_t n, const uint64_t *bits, uint64_t words,
                                dcsr_context *context);

/* Copies a value of `size` bytes. */
static inline void dcsr_i_copy_value(void *to, uint64_t i, const void *from, uint64_t j, size_t size)
{
#define DCSR_I_COPY(ctype) ((ctype *)to)[i] = ((const ctype *)from)[j]
    DCSR_I_BY_SIZE(size, DCSR_I_COPY)
#undef DCSR_I_COPY
}

/* ---- Walking rows ---- */

/* Whether a push should ask for rows ahead: not where those of u's list are neighbours, most of which the
 * processor fetches by itself. */
static inline bool dcsr_i_mxv_looks_ahead(const dcsr_i_mxv *x)
{
    return x->u_list && x->u_count < x->rows->rows / 8;
}

/* Bytes of one of the matrix's values that are read. */
static inline size_t dcsr_i_mxv_value_size(const dcsr_i_mxv *x)
{
    return x->reads_matrix ? dcsr_type_size(x->rows->type) : 0;
}

/* The pieces of entries first .. end-1 of a row; returns how many. */
static inline int dcsr_i_row_part(const dcsr_i_rows *rows, uint64_t row, uint64_t first, uint64_t end,
                                  dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    int count = dcsr_i_rows_pieces(rows, row, pieces), kept = 0;
    if (!first && end == UINT64_MAX) return count;
    uint64_t before = 0; /* entries of the row before this piece */
    for (int k = 0; k < count && before < end; k++) {
        uint64_t begin = pieces[k].begin, length = pieces[k].length;
        uint64_t from = first > before ? first - before : 0,
                 to = end - before < length ? end - before : length;
        if (from < to) pieces[kept++] = (dcsr_i_piece){begin + from, to - from};
        before += length;
    }
    return kept;
}

/* A place in the work of a push: an element of u's list, and an entry of its row. */
typedef struct dcsr_i_mxv_place {
    uint64_t element, entry;
} dcsr_i_mxv_place;

/* What one thread does of it: from one place to another; `end` is the element after the last of which it has
 * entries. */
typedef struct dcsr_i_share {
    dcsr_i_mxv_place first, last;
    uint64_t end;
} dcsr_i_share;

/* The pieces of element i's row that are in the share. */
static inline int dcsr_i_share_pieces(const dcsr_i_rows *rows, uint64_t row, const dcsr_i_share *share,
                                      uint64_t i, dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    return dcsr_i_row_part(rows, row, i == share->first.element ? share->first.entry : 0,
                           i == share->last.element ? share->last.entry : UINT64_MAX, pieces);
}

#endif
