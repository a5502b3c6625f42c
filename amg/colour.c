/* colour.c: colours of the blocks of rows of a level: blocks of one colour have no entry in each other's columns, so
 * that Gauss-Seidel can go through the rows of each at the same time. Blocks are of rows that follow one another:
 * what is in a cache line is used together, and errors go through a block at once (Iwashita, Nakashima, Takahashi:
 * Algebraic block multi-color ordering, 2012).
 *
 * Jones, Plassmann: A parallel graph coloring heuristic (1993). Each block has a random key. Round by round, the
 * blocks whose key is larger than those of all neighbours without a colour take the least colour that no neighbour
 * has. The outcome is that of going through the blocks by their keys, and no thread can change it. Neighbours are
 * those of A + A^T: what a block tells its columns stands for the transpose. Colours come in windows of 64, the bits
 * of a word; a block that finds none there waits for the next window. */
#include "amg/hierarchy.h"

#define NO_COLOUR UINT32_MAX
#define LATER     (UINT32_MAX - 1) /* not in this window, which is full for the block */
enum { WINDOW = 64 };

typedef struct work {
    const dcsr_i_amg_rows *A;
    uint32_t *colour, *key, *list; /* list: the blocks that are still without a colour, in this window */
    uint64_t *taken;               /* the window's colours that neighbours have */
    unsigned char *waits;          /* for the key of a neighbour */
    uint64_t blocks, count;        /* all, and those of the list */
    uint32_t base;                 /* the window's first colour */
    int threads;
} work;

/* Whether i is after j. */
static bool is_after(const work *w, uint32_t i, uint32_t j)
{
    return w->key[i] != w->key[j] ? w->key[i] < w->key[j] : i < j;
}

/* For each entry of a block, with the block `other` that its column is in; not for columns of other devices: */
#define EACH_NEIGHBOUR(w, block, other)                                                                     \
    for (uint64_t i_ = (uint64_t)(block)*DCSR_I_AMG_TOGETHER, end_ = i_ + DCSR_I_AMG_TOGETHER;              \
         i_ < end_ && i_ < (w)->A->rows; i_++)                                                              \
        for (dcsr_i_amg_span row_ = dcsr_i_amg_span_of((w)->A, i_); row_.count;                             \
             row_.columns++, row_.count--)                                                                  \
            for (uint32_t own_ = dcsr_i_amg_own((w)->A, *row_.columns), other = own_ / DCSR_I_AMG_TOGETHER, \
                          once_ = own_ < (w)->A->rows;                                                      \
                 once_; once_ = 0)

/* Of each pair of neighbours one has to wait. Several threads may write the same 1. */
static void compare(const work *w)
{
#pragma omp parallel for schedule(static) num_threads(w->threads) if (w->threads > 1)
    for (uint64_t k = 0; k < w->count; k++) {
        const uint32_t block = w->list[k];
        EACH_NEIGHBOUR(w, block, other)
        {
            if (other == block || w->colour[other] != NO_COLOUR) continue;
            __atomic_store_n(&w->waits[is_after(w, block, other) ? block : other], 1, __ATOMIC_RELAXED);
        }
    }
}

/* No neighbour of a block that does not wait gets a colour in the same round. */
static void choose(const work *w)
{
#pragma omp parallel for schedule(static) num_threads(w->threads) if (w->threads > 1)
    for (uint64_t k = 0; k < w->count; k++) {
        const uint32_t block = w->list[k];
        if (w->waits[block]) continue;
        uint64_t taken = w->taken[block];
        EACH_NEIGHBOUR(w, block, other)
        {
            const uint32_t colour = w->colour[other];
            if (colour < LATER && colour >= w->base) taken |= UINT64_C(1) << (colour - w->base);
        }
        if (taken == UINT64_MAX) {
            w->colour[block] = LATER;
            continue;
        }
        const int bit = __builtin_ctzll(~taken);
        w->colour[block] = w->base + (uint32_t)bit;
        EACH_NEIGHBOUR(w, block, other)
        {
            if (!(__atomic_load_n(&w->taken[other], __ATOMIC_RELAXED) >> bit & 1))
                __atomic_fetch_or(&w->taken[other], UINT64_C(1) << bit, __ATOMIC_RELAXED);
        }
    }
}

/* The others have another round. */
static void forget_done(work *w)
{
    uint64_t kept = 0;
    for (uint64_t k = 0; k < w->count; k++) {
        const uint32_t i = w->list[k];
        if (w->colour[i] == NO_COLOUR) w->list[kept++] = i;
        w->waits[i] = 0;
    }
    w->count = kept;
}

static void colour_all(work *w)
{
    const uint64_t n = w->blocks;
    for (;; w->base += WINDOW) {
        w->count = 0;
        for (uint64_t i = 0; i < n; i++) {
            w->taken[i] = 0;
            if (w->colour[i] < LATER) continue;
            w->colour[i] = NO_COLOUR;
            w->list[w->count++] = (uint32_t)i;
        }
        if (!w->count) return;
        while (w->count) {
            compare(w);
            choose(w);
            forget_done(w);
        }
    }
}

/* The blocks by colour, in ascending order, and where each colour begins. */
static dcsr_status sort(dcsr_i_amg_array *by_colour, dcsr_i_amg_array *colours, dcsr_context *context,
                        const work *w)
{
    uint64_t most = 0, n = w->blocks;
    for (uint64_t i = 0; i < n; i++)
        if (w->colour[i] >= most) most = w->colour[i] + 1;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(by_colour, context, n, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(colours, context, most + 1, sizeof(uint64_t)));
    uint64_t *end =
        colours->data; /* the place of each colour's next block: at last, where the next colour begins */
    for (uint64_t i = 0; i < n; i++) end[w->colour[i] + 1]++;
    for (uint64_t c = 0; c < most; c++) end[c + 1] += end[c];
    for (uint64_t i = 0; i < n; i++) ((uint32_t *)by_colour->data)[end[w->colour[i]]++] = (uint32_t)i;
    for (uint64_t c = most; c > 0; c--) end[c] = end[c - 1];
    end[0] = 0;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_colour(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    dcsr_i_amg_array colour = {0}, key = {0}, list = {0}, taken = {0}, waits = {0}, by_colour = {0},
                     colours = {0};
    const uint64_t n = (level->rows + DCSR_I_AMG_TOGETHER - 1) / DCSR_I_AMG_TOGETHER;
    dcsr_status status = dcsr_i_amg_take(&colour, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&key, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&list, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&taken, h->context, n, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_take(&waits, h->context, n, 1);
    if (!status) {
        work w = {&level->A.rows, colour.data, key.data, list.data, taken.data, waits.data, n, 0, 0, 1};
        w.threads = dcsr_context_threads(h->context, level->A.rows.nnz);
        for (uint64_t i = 0; i < n; i++) {
            w.colour[i] = NO_COLOUR;
            w.key[i] = (uint32_t)(dcsr_i_amg_random((uint64_t)h->options.seed, i) >> 32);
        }
        colour_all(&w);
        status = sort(&by_colour, &colours, h->context, &w);
    }
    if (!status) {
        dcsr_i_amg_drop(&level->by_colour, h->context);
        dcsr_i_amg_drop(&level->colours, h->context);
        level->by_colour = by_colour;
        level->colours = colours;
    } else {
        dcsr_i_amg_drop(&by_colour, h->context);
    }
    dcsr_i_amg_array *const arrays[] = {&colour, &key, &list, &taken, &waits};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) dcsr_i_amg_drop(arrays[a], h->context);
    return status;
}
