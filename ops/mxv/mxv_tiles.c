/* mxv_tiles.c: t = M u by the tiles of a view: every entry, whatever u has and the mask allows. */
#include "ops/mxv/mxv_internal.h"
#include "dcsr/nut/nut_tiles.h"
#include "ops/nut/nut_multiply.h"
#include "ops/spmv/spmv_internal.h"

static dcsr_i_nut_kernel *const *const kernels[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = dcsr_i_nut_##name,
#include <dcsr/types.def>
#undef DCSR_X
};

bool dcsr_i_mxv_find_tiles(dcsr_i_mxv *x, const dcsr_i_mxv_call *c)
{
    const dcsr_i_nut *nut = dcsr_i_view_nut(c->A, c->transposed);
    const bool serves = nut && !nut->on_device && x->semiring->name >= 0 && !x->flipped &&
                        (!x->reads_matrix || (nut->shown.type == x->atype && x->atype == x->type)) &&
                        (!x->reads_vector || x->utype == x->type);
    x->tiles = serves ? &nut->shown : NULL;
    return serves;
}

dcsr_status dcsr_i_mxv_refuse_tiles(const dcsr_i_mxv_call *c)
{
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "%s: desc.direction is DCSR_DIRECTION_TILES, which takes a view of DCSR_LAYOUT_NUT in the "
        "memory in which the product runs, and a built-in semiring of the matrix's type, in vxm with a "
        "multiplication that commutes; use DCSR_DIRECTION_AUTO",
        c->name);
}

/* The sums that the mask allows. */
static uint64_t apply_mask(dcsr_i_body *t, const dcsr_i_mxv *x)
{
    uint64_t count = 0;
    for (uint64_t w = 0; w < t->words; w++) {
        if (x->mask) t->present[w] &= dcsr_i_mask_word(x->mask, w);
        count += (uint64_t)__builtin_popcountll(t->present[w]);
    }
    return count;
}

dcsr_status dcsr_i_mxv_tiles(dcsr_i_body *t, dcsr_i_mxv *x)
{
    DCSR_TRY(dcsr_i_body_dense(t, x->context, x->size, x->n, true));
    const int threads = dcsr_i_threads(x->context, x->entries);
    dcsr_status status;
    if (dcsr_i_mxv_is_spmv(x)) {
        status = dcsr_i_nut_spmv(t->values, x->context, x->tiles, x->u_values, threads);
        for (uint64_t w = 0; status == DCSR_OK && w < t->words; w++)
            t->present[w] = dcsr_i_rows_in_use(x->rows, w);
    } else {
        const dcsr_i_nut_product product = {.context = x->context,
                                            .nut = x->tiles,
                                            .kernel = kernels[x->type][x->semiring->name],
                                            .size = x->size,
                                            .usize = x->reads_vector ? x->usize : 0,
                                            .u = x->u_values,
                                            .u_bits = x->u_bits,
                                            .t = t->values,
                                            .found = t->present,
                                            .threads = threads};
        status = dcsr_i_nut_multiply(&product);
    }
    if (status != DCSR_OK) {
        dcsr_i_body_free(t, x->context, x->size);
        return status;
    }
    x->looked_at = x->entries;
    t->nvals = apply_mask(t, x);
    dcsr_i_mxv_drop_bits_if_full(t, x);
    return DCSR_OK;
}
