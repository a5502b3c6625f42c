/* mxv_sorted.c: t = M u for a u of so few elements that products are put into a list and sorted by place:
 * memory and time follow the work, however long t is.
 *
 *      key      column of the product, and where it is in the list (upper half)
 *      list     | products, in the order of u's elements and of their columns' entries | */
#include "dcsr/base/alloc.h"
#include "dcsr/base/sort.h"
#include "ops/mxv/mxv_internal.h"
#include <string.h>

/* Words of a bitmap that are as much work as one product. */
enum { WORDS_PER_PRODUCT = 64 };

bool dcsr_i_mxv_sorts(const dcsr_i_mxv *x, uint64_t work)
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

static uint64_t entries_of(const dcsr_i_mxv *x)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < x->u_count; i++)
        sum += dcsr_i_rows_length(x->rows, x->u_list ? x->u_list[i] : i);
    return sum;
}

dcsr_status dcsr_i_mxv_sorted(dcsr_i_body *t, dcsr_i_mxv *x)
{
    uint64_t most = entries_of(x), bits = 64 - (uint64_t)__builtin_clzll(x->n - 1);
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
