/* color.c: colors of the blocks of rows of a level: blocks of one color have no entry in each other's columns, so
 * that Gauss-Seidel can go through the rows of each at the same time. Blocks are of rows that follow one another:
 * what is in a cache line is used together, and errors go through a block at once (Iwashita, Nakashima, Takahashi:
 * Algebraic block multi-color ordering, 2012).
 *
 * Jones, Plassmann: A parallel graph coloring heuristic (1993). Each block has a random key. Round by round, the
 * blocks whose key is larger than those of all neighbours without a color take the least color that no neighbour
 * has. The outcome is that of going through the blocks by their keys, and no thread can change it. Neighbours are
 * those of A + A^T: what a block tells its columns stands for the transpose. Colors come in windows of 64, the bits
 * of a word; a block that finds none there waits for the next window. */
#include "amg/hierarchy.h"

#define NO_COLOR UINT32_MAX
#define LATER    (UINT32_MAX - 1) /* not in this window, which is full for the block */
enum { WINDOW = 64 };

typedef struct work {
    const dcsr_i_amg_rows *A;
    uint32_t *color, *key, *list; /* list: the blocks that are still without a color, in this window */
    uint64_t *taken;              /* the window's colors that neighbours have */
    unsigned char *waits;         /* for the key of a neighbour */
    uint64_t blocks, count;       /* all, and those of the list */
    uint32_t base;                /* the window's first color */
    int threads;
} work;

/* Whether i is after j. */
static bool is_after(const work *w, uint32_t i, uint32_t j)
{
    return w->key[i] != w->key[j] ? w->key[i] < w->key[j] : i < j;
}

/* For each entry of a block, with the block `other` that its column is in: */
#define EACH_NEIGHBOUR(w, block, other)                                                        \
    for (uint64_t i_ = (uint64_t)(block)*DCSR_I_AMG_TOGETHER, end_ = i_ + DCSR_I_AMG_TOGETHER; \
         i_ < end_ && i_ < (w)->A->rows; i_++)                                                 \
        for (dcsr_i_amg_span row_ = dcsr_i_amg_span_of((w)->A, i_); row_.count;                \
             row_.columns++, row_.count--)                                                     \
            for (uint32_t other = *row_.columns / DCSR_I_AMG_TOGETHER, once_ = 1; once_; once_ = 0)

/* Of each pair of neighbours one has to wait. Several threads may write the same 1. */
static void compare(const work *w)
{
#pragma omp parallel for schedule(static) num_threads(w->threads) if (w->threads > 1)
    for (uint64_t k = 0; k < w->count; k++) {
        const uint32_t block = w->list[k];
        EACH_NEIGHBOUR(w, block, other)
        {
            if (other == block || w->color[other] != NO_COLOR) continue;
            __atomic_store_n(&w->waits[is_after(w, block, other) ? block : other], 1, __ATOMIC_RELAXED);
        }
    }
}

/* No neighbour of a block that does not wait gets a color in the same round. */
static void choose(const work *w)
{
#pragma omp parallel for schedule(static) num_threads(w->threads) if (w->threads > 1)
    for (uint64_t k = 0; k < w->count; k++) {
        const uint32_t block = w->list[k];
        if (w->waits[block]) continue;
        uint64_t taken = w->taken[block];
        EACH_NEIGHBOUR(w, block, other)
        {
            const uint32_t color = w->color[other];
            if (color < LATER && color >= w->base) taken |= UINT64_C(1) << (color - w->base);
        }
        if (taken == UINT64_MAX) {
            w->color[block] = LATER;
            continue;
        }
        const int bit = __builtin_ctzll(~taken);
        w->color[block] = w->base + (uint32_t)bit;
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
        if (w->color[i] == NO_COLOR) w->list[kept++] = i;
        w->waits[i] = 0;
    }
    w->count = kept;
}

static void color_all(work *w)
{
    const uint64_t n = w->blocks;
    for (;; w->base += WINDOW) {
        w->count = 0;
        for (uint64_t i = 0; i < n; i++) {
            w->taken[i] = 0;
            if (w->color[i] < LATER) continue;
            w->color[i] = NO_COLOR;
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

/* The blocks by color, in ascending order, and where each color begins. */
static dcsr_status sort(dcsr_i_amg_array *by_color, dcsr_i_amg_array *colors, dcsr_context *context,
                        const work *w)
{
    uint64_t most = 0, n = w->blocks;
    for (uint64_t i = 0; i < n; i++)
        if (w->color[i] >= most) most = w->color[i] + 1;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(by_color, context, n, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(colors, context, most + 1, sizeof(uint64_t)));
    uint64_t *end =
        colors->data; /* the place of each color's next block: at last, where the next color begins */
    for (uint64_t i = 0; i < n; i++) end[w->color[i] + 1]++;
    for (uint64_t c = 0; c < most; c++) end[c + 1] += end[c];
    for (uint64_t i = 0; i < n; i++) ((uint32_t *)by_color->data)[end[w->color[i]]++] = (uint32_t)i;
    for (uint64_t c = most; c > 0; c--) end[c] = end[c - 1];
    end[0] = 0;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_color(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    dcsr_i_amg_array color = {0}, key = {0}, list = {0}, taken = {0}, waits = {0}, by_color = {0},
                     colors = {0};
    const uint64_t n = (level->rows + DCSR_I_AMG_TOGETHER - 1) / DCSR_I_AMG_TOGETHER;
    dcsr_status status = dcsr_i_amg_take(&color, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&key, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&list, h->context, n, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&taken, h->context, n, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_take(&waits, h->context, n, 1);
    if (!status) {
        work w = {&level->A.rows, color.data, key.data, list.data, taken.data, waits.data, n, 0, 0, 1};
        w.threads = dcsr_context_threads(h->context, level->A.rows.nnz);
        for (uint64_t i = 0; i < n; i++) {
            w.color[i] = NO_COLOR;
            w.key[i] = (uint32_t)(dcsr_i_amg_random((uint64_t)h->options.seed, i) >> 32);
        }
        color_all(&w);
        status = sort(&by_color, &colors, h->context, &w);
    }
    if (!status) {
        dcsr_i_amg_drop(&level->by_color, h->context);
        dcsr_i_amg_drop(&level->colors, h->context);
        level->by_color = by_color;
        level->colors = colors;
    } else {
        dcsr_i_amg_drop(&by_color, h->context);
    }
    dcsr_i_amg_array *const arrays[] = {&color, &key, &list, &taken, &waits};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) dcsr_i_amg_drop(arrays[a], h->context);
    return status;
}
