/* mxv_blocks.c: products over semirings that have no kernels: a user's operators, and built-in ones in pairs
 * that operators.def does not name. Operators are applied to blocks of values. */
#include "ops/mxv/mxv_internal.h"
#include <string.h>

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

bool dcsr_i_mxv_blocks(const dcsr_i_mxv *x, bool push, const dcsr_i_mxv_run *runs, size_t n, void *t,
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
