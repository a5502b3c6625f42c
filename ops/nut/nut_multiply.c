/* nut_multiply.c: products with vectors by tiles: panels shared among threads, what of u a tile reads. */
#include "ops/nut/nut_multiply.h"
#include "dcsr/base/alloc.h"
#include "dcsr/vector/vector_data.h"
#include "ops/algebra/avx512.h"
#include <stdatomic.h>
#include <string.h>

#ifdef DCSR_I_AVX512
#include "ops/nut/nut_avx512.h"
#endif

/* What one thread works with: elements of u in a tile's columns, whether they are there, and whether a panel's rows
 * have sums. */
typedef struct room {
    char *u;
    bool *present, *found;
} room;

typedef struct job {
    const dcsr_i_nut_product *product;
    bool adds_to_zeros; /* the kernel adds to what t has, and does not look at `found` */
    _Atomic uint64_t next;
    atomic_bool failed;
} job;

static bool open_room(room *r, const dcsr_i_nut_product *p)
{
    r->u = dcsr_i_alloc(p->context, DCSR_I_SCRATCH, p->nut->most_columns, p->usize);
    r->present = dcsr_i_alloc(p->context, DCSR_I_SCRATCH, p->nut->most_columns, sizeof *r->present);
    r->found = dcsr_i_alloc(p->context, DCSR_I_SCRATCH, p->nut->most_rows, sizeof *r->found);
    return r->u && r->present && r->found;
}

static void close_room(room *r, const dcsr_i_nut_product *p)
{
    dcsr_i_free(p->context, DCSR_I_SCRATCH, r->found, p->nut->most_rows, sizeof *r->found);
    dcsr_i_free(p->context, DCSR_I_SCRATCH, r->present, p->nut->most_columns, sizeof *r->present);
    dcsr_i_free(p->context, DCSR_I_SCRATCH, r->u, p->nut->most_columns, p->usize);
}

/* Brings what the tile reads of u together. */
static void gather(const room *r, const dcsr_i_nut_product *p, const uint32_t *columns, uint32_t n)
{
    for (uint32_t k = 0; p->u_bits && k < n; k++)
        r->present[k] = p->u_bits[columns[k] >> 6] >> (columns[k] & 63) & 1;
    if (!p->usize) return;
#define GATHER(ctype) \
    for (uint32_t k = 0; k < n; k++) ((ctype *)r->u)[k] = ((const ctype *)p->u)[columns[k]]
    DCSR_I_BY_SIZE(p->usize, GATHER)
#undef GATHER
}

/* Rows without a sum: no bit, or 0. Panels may share a word of bits. */
static void finish(const room *r, const dcsr_i_nut_product *p, const dcsr_nut_panel *panel)
{
    uint64_t word = 0;
    for (uint64_t i = 0; i < panel->rows; i++) {
        const uint64_t row = panel->row + i;
        if (!p->found) {
            if (!r->found[i]) memset((char *)p->t + row * p->size, 0, p->size);
            continue;
        }
        word |= (uint64_t)r->found[i] << (row & 63);
        if ((row & 63) < 63 && i + 1 < panel->rows) continue;
        if (word) __atomic_fetch_or(&p->found[row >> 6], word, __ATOMIC_RELAXED);
        word = 0;
    }
}

static void multiply_panel(const job *j, const room *r, const dcsr_nut_panel *panel)
{
    const dcsr_i_nut_product *p = j->product;
    char *t = (char *)p->t + panel->row * p->size;
    if (j->adds_to_zeros)
        memset(t, 0, panel->rows * p->size);
    else
        memset(r->found, 0, panel->rows * sizeof *r->found);
    const size_t value_size = dcsr_type_size(p->nut->type);
    for (uint64_t i = 0; i < panel->tile_count; i++) {
        const dcsr_nut_tile *tile = &panel->tiles[i];
        const dcsr_i_nut_work work = {
            .elements = tile->elements,
            .indices = panel->indices + tile->begin,
            .values = value_size ? (const char *)panel->values + tile->begin * value_size : NULL,
            .u = r->u,
            .present = p->u_bits ? r->present : NULL,
            .t = t,
            .found = r->found};
        gather(r, p, panel->col_indices + tile->column, tile->columns);
        p->kernel(&work);
    }
    if (!j->adds_to_zeros) finish(r, p, panel);
}

static void multiply_panels(job *j)
{
    room r = {0};
    if (!open_room(&r, j->product)) atomic_store(&j->failed, true);
    while (!atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        const uint64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (i >= j->product->nut->panel_count) break;
        multiply_panel(j, &r, &j->product->nut->panels[i]);
    }
    close_room(&r, j->product);
}

static dcsr_status run(job *j)
{
    const int threads = j->product->threads;
    if (threads <= 1) {
        multiply_panels(j);
    } else {
#pragma omp parallel num_threads(threads)
        multiply_panels(j);
    }
    if (!j->failed) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                       "multiplying by tiles: no memory for what %d threads work with", threads);
}

dcsr_status dcsr_i_nut_multiply(const dcsr_i_nut_product *product)
{
    return run(&(job){.product = product});
}

/* ---- Plus-times ---- */

static dcsr_i_nut_kernel *const *const kernels[DCSR_TYPE_COUNT] = {
    [DCSR_PATTERN] = dcsr_i_nut_fp64,
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = dcsr_i_nut_##name,
#include <dcsr/types.def>
#undef DCSR_X
};

/* Kernels that add to zeros. */
static dcsr_i_nut_kernel *const adding[DCSR_TYPE_COUNT] = {
#ifdef DCSR_I_AVX512
    [DCSR_FP64] = nut_fp64,
    [DCSR_FP32] = nut_fp32,
    [DCSR_PATTERN] = nut_pattern,
#else
    NULL,
#endif
};

dcsr_status dcsr_i_nut_spmv(void *y, dcsr_context *context, const dcsr_nut *nut, const void *x, int threads)
{
    const dcsr_type type = nut->type;
    const size_t size = type == DCSR_PATTERN ? sizeof(double) : dcsr_type_size(type);
    const int ring = type == DCSR_PATTERN ? DCSR_PLUS_SECOND : DCSR_PLUS_TIMES;
    const dcsr_i_nut_product product = {.context = context,
                                        .nut = nut,
                                        .kernel = adding[type] ? adding[type] : kernels[type][ring],
                                        .size = size,
                                        .usize = size,
                                        .u = x,
                                        .t = y,
                                        .threads = threads};
    return run(&(job){.product = &product, .adds_to_zeros = adding[type]});
}
