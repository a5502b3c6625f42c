/* color_cuda.c: colors of rows, on a device: memory, and the order of kernels. */
#include "amg/cuda/amg_stages.h"
#include "dcsr/device/prim_cuda.h"

/* ROUNDS: until the host asks how many rows wait; it takes some twenty of them. WINDOW: the bits of a word. */
enum { ROUNDS = 4, WINDOW = 64 };

typedef struct room {
    uint64_t *words; /* of rows, and how many are left */
    uint32_t *lists; /* colors, numbers, rounds, and as many for sorting */
} room;

/* All rows get a color; *bound is more than any. */
static dcsr_status color_all(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_cuda_coloring *c, uint32_t *bound)
{
    uint32_t round = 0;
    dcsr_i_amg_cuda_begin_coloring(h->stream, c);
    for (uint32_t base = 0;; base += WINDOW) {
        const dcsr_i_amg_cuda_uncolored *left;
        dcsr_i_amg_cuda_begin_window(h->stream, c);
        do {
            for (int r = 0; r < ROUNDS; r++) dcsr_i_amg_cuda_color_round(h->stream, c, base, ++round);
            left = dcsr_i_amg_cuda_read(h, c->left, sizeof *left);
            if (!left) return h->failed;
        } while (left->waiting);
        *bound = base + WINDOW;
        if (!left->later) return DCSR_OK;
    }
}

/* The rows by color, in ascending order, and where each color begins. */
static dcsr_status sort(dcsr_i_amg_array *by_color, dcsr_i_amg_array *begins, dcsr_i_amg_hierarchy *h,
                        const dcsr_i_amg_cuda_coloring *c, uint32_t bound)
{
    const uint64_t n = c->A.rows;
    uint32_t *color = c->color, *spare_color = c->waited, *number = c->number, *spare = number + n;
    DCSR_I_AMG_TRY(h->engine->take(by_color, h, n, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_cuda_sort_u32(h->stream, &color, &spare_color, &number, &spare, n,
                                        dcsr_i_amg_cuda_bits(bound)));
    dcsr_i_cuda_copy(h->stream, by_color->data, number, n * sizeof *number);
    const uint32_t *last = dcsr_i_amg_cuda_read(h, color + n - 1, sizeof *last);
    if (!last) return h->failed;
    const uint64_t colors = *last + 1;
    DCSR_I_AMG_TRY(h->engine->take(begins, h, colors + 1, sizeof(uint64_t)));
    dcsr_i_cuda_find_begins_u32(h->stream, color, n, colors, begins->data);
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_cuda_color(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    const uint64_t n = level->rows;
    dcsr_i_amg_array by_color = {0}, begins = {0};
    uint32_t bound = 0;
    room m = {.words = dcsr_i_amg_cuda_take(h, n + 2, sizeof *m.words)};
    if (m.words) m.lists = dcsr_i_amg_cuda_take(h, 4 * n, sizeof *m.lists);
    dcsr_status status = m.lists ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (!status) {
        const dcsr_i_amg_cuda_coloring c = {.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                                            .seed = (uint64_t)h->options.seed,
                                            .color = m.lists,
                                            .waited = m.lists + n,
                                            .number = m.lists + 2 * n,
                                            .taken = m.words,
                                            .left = (dcsr_i_amg_cuda_uncolored *)(m.words + n)};
        status = color_all(h, &c, &bound);
        if (!status) status = sort(&by_color, &begins, h, &c, bound);
    }
    dcsr_i_amg_cuda_drop(h, m.words, n + 2, sizeof *m.words);
    dcsr_i_amg_cuda_drop(h, m.lists, 4 * n, sizeof *m.lists);
    if (status) {
        h->engine->drop(&by_color, h);
        return status;
    }
    h->engine->drop(&level->by_color, h);
    h->engine->drop(&level->colors, h);
    level->by_color = by_color;
    level->colors = begins;
    return DCSR_OK;
}
