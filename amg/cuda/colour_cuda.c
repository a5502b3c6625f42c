/* colour_cuda.c: colours of rows, on a device: memory, and the order of kernels. */
#include "amg/cuda/amg_stages.h"
#include "dcsr/device/prim_cuda.h"

/* ROUNDS: until the host asks how many rows wait; it takes some twenty of them. WINDOW: the bits of a word. */
enum { ROUNDS = 4, WINDOW = 64 };

typedef struct room {
    uint64_t *words; /* of rows, and how many are left */
    uint32_t *lists; /* colours, numbers, rounds, and as many for sorting */
} room;

/* All rows get a colour; *bound is more than any. */
static dcsr_status colour_all(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_cuda_colouring *c, uint32_t *bound)
{
    uint32_t round = 0;
    dcsr_i_amg_cuda_begin_colouring(h->stream, c);
    for (uint32_t base = 0;; base += WINDOW) {
        const dcsr_i_amg_cuda_uncoloured *left;
        dcsr_i_amg_cuda_begin_window(h->stream, c);
        do {
            for (int r = 0; r < ROUNDS; r++) dcsr_i_amg_cuda_colour_round(h->stream, c, base, ++round);
            left = dcsr_i_amg_cuda_read(h, c->left, sizeof *left);
            if (!left) return h->failed;
        } while (left->waiting);
        *bound = base + WINDOW;
        if (!left->later) return DCSR_OK;
    }
}

/* The rows by colour, in ascending order, and where each colour begins. */
static dcsr_status sort(dcsr_i_amg_array *by_colour, dcsr_i_amg_array *begins, dcsr_i_amg_hierarchy *h,
                        const dcsr_i_amg_cuda_colouring *c, uint32_t bound)
{
    const uint64_t n = c->A.rows;
    uint32_t *colour = c->colour, *spare_colour = c->waited, *number = c->number, *spare = number + n;
    DCSR_I_AMG_TRY(h->engine->take(by_colour, h, n, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_cuda_sort_u32(h->stream, &colour, &spare_colour, &number, &spare, n,
                                        dcsr_i_amg_cuda_bits(bound)));
    dcsr_i_cuda_copy(h->stream, by_colour->data, number, n * sizeof *number);
    const uint32_t *last = dcsr_i_amg_cuda_read(h, colour + n - 1, sizeof *last);
    if (!last) return h->failed;
    const uint64_t colours = *last + 1;
    DCSR_I_AMG_TRY(h->engine->take(begins, h, colours + 1, sizeof(uint64_t)));
    dcsr_i_cuda_find_begins_u32(h->stream, colour, n, colours, begins->data);
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_cuda_colour(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    const uint64_t n = level->rows;
    dcsr_i_amg_array by_colour = {0}, begins = {0};
    uint32_t bound = 0;
    room m = {.words = dcsr_i_amg_cuda_take(h, n + 2, sizeof *m.words)};
    if (m.words) m.lists = dcsr_i_amg_cuda_take(h, 4 * n, sizeof *m.lists);
    dcsr_status status = m.lists ? DCSR_OK : dcsr_i_no_memory();
    if (!status) {
        const dcsr_i_amg_cuda_colouring c = {.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                                             .seed = (uint64_t)h->options.seed,
                                             .colour = m.lists,
                                             .waited = m.lists + n,
                                             .number = m.lists + 2 * n,
                                             .taken = m.words,
                                             .left = (dcsr_i_amg_cuda_uncoloured *)(m.words + n)};
        status = colour_all(h, &c, &bound);
        if (!status) status = sort(&by_colour, &begins, h, &c, bound);
    }
    dcsr_i_amg_cuda_drop(h, m.words, n + 2, sizeof *m.words);
    dcsr_i_amg_cuda_drop(h, m.lists, 4 * n, sizeof *m.lists);
    if (status) {
        h->engine->drop(&by_colour, h);
        return status;
    }
    h->engine->drop(&level->by_colour, h);
    h->engine->drop(&level->colours, h);
    level->by_colour = by_colour;
    level->colours = begins;
    return DCSR_OK;
}
