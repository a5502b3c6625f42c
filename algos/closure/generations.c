/* generations.c: the same generation as matrices of bits, 64 pairs at a time. Where E has the edges and P = E^T the
 * parents, what a round finds is P D E, of which D, what the last one found, is symmetric:
 *
 *      H = P D               row x: the rows of D of x's parents, united
 *      P D E = (P H^T)^T = P H^T       as it is symmetric again
 *
 * So both products unite rows, and one transposition, by tiles of 64 x 64, is between them. */
#include "algos/closure/generations.h"
#include <dcsr/convert.h>
#include <string.h>

enum { TILE = 64 };

typedef struct bits {
    uint64_t n, words; /* words of a row */
    uint64_t *found;   /* all pairs */
    uint64_t *fresh;   /* those of the last round */
    uint64_t *half, *turned;
    uint64_t *parent_begin; /* n + 1 */
    uint32_t *parent;
    bool *any; /* whether a row of `fresh` has any */
    int threads;
} bits;

static uint64_t words_of(uint64_t vertices)
{
    return (vertices + TILE - 1) / TILE;
}

uint64_t dcsr_i_generations_bytes(uint64_t vertices)
{
    return (4 * words_of(vertices) + 8) * vertices * sizeof(uint64_t);
}

static dcsr_status take(bits *b, dcsr_i_work *work, const dcsr_i_edge_rows *children)
{
    const uint64_t size = b->n * b->words;
    uint64_t **const matrices[] = {&b->found, &b->fresh, &b->half, &b->turned};
    for (int k = 0; k < 4; k++)
        DCSR_I_WORK_TRY(dcsr_i_work_take(work, matrices[k], size, sizeof(uint64_t), "all pairs as bits"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &b->any, b->n, sizeof *b->any, "the rows"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &b->parent_begin, b->n + 2, sizeof(uint64_t), "the parents"));
    const uint64_t edges = children->offsets[b->n];
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &b->parent, edges, sizeof *b->parent, "the parents"));
    for (uint64_t e = 0; e < edges; e++) b->parent_begin[children->cols[e] + 2]++;
    for (uint64_t v = 0; v < b->n; v++) b->parent_begin[v + 2] += b->parent_begin[v + 1];
    for (uint64_t p = 0; p < b->n; p++)
        for (uint64_t e = children->offsets[p]; e < children->offsets[p + 1]; e++)
            b->parent[b->parent_begin[children->cols[e] + 1]++] = (uint32_t)p;
    return DCSR_OK;
}

/* Exchanges rows and columns of a tile: of halves, of quarters, and so on. */
static void turn(uint64_t tile[TILE])
{
    uint64_t mask = 0x00000000ffffffffu;
    for (int step = TILE / 2; step; step /= 2, mask ^= mask << step)
        for (int k = 0; k < TILE; k = (k + step + 1) & ~step) {
            const uint64_t moved = (tile[k] >> step ^ tile[k + step]) & mask;
            tile[k] ^= moved << step;
            tile[k + step] ^= moved;
        }
}

static void transpose(const bits *b)
{
#pragma omp parallel for schedule(static) num_threads(b->threads) if (b->threads > 1)
    for (uint64_t i = 0; i < b->words; i++)
        for (uint64_t j = 0; j < b->words; j++) {
            uint64_t tile[TILE] = {0};
            const uint64_t rows = b->n - i * TILE < TILE ? b->n - i * TILE : TILE;
            const uint64_t cols = b->n - j * TILE < TILE ? b->n - j * TILE : TILE;
            for (uint64_t k = 0; k < rows; k++) tile[k] = b->half[(i * TILE + k) * b->words + j];
            turn(tile);
            for (uint64_t k = 0; k < cols; k++) b->turned[(j * TILE + k) * b->words + i] = tile[k];
        }
}

/* Row x of P M: the rows of M of its parents; `any` says which have bits, unless it is NULL. */
static void unite_parents(const bits *b, uint64_t *row, const uint64_t *M, const bool *any, uint64_t x)
{
    memset(row, 0, b->words * sizeof *row);
    for (uint64_t e = b->parent_begin[x]; e < b->parent_begin[x + 1]; e++) {
        const uint64_t *from = M + b->parent[e] * b->words;
        if (any && !any[b->parent[e]]) continue;
        for (uint64_t w = 0; w < b->words; w++) row[w] |= from[w];
    }
}

/* Whether anything was new. */
static bool round_of(const bits *b)
{
    bool more = false;
#pragma omp parallel for schedule(dynamic, 64) num_threads(b->threads) if (b->threads > 1)
    for (uint64_t x = 0; x < b->n; x++) unite_parents(b, b->half + x * b->words, b->fresh, b->any, x);
    transpose(b);
#pragma omp parallel for schedule(dynamic, 64) num_threads(b->threads) reduction(|| \
                                                                                 : more) if (b->threads > 1)
    for (uint64_t y = 0; y < b->n; y++) {
        uint64_t *fresh = b->fresh + y * b->words, *found = b->found + y * b->words, some = 0;
        unite_parents(b, fresh, b->turned, NULL, y);
        for (uint64_t w = 0; w < b->words; w++) {
            fresh[w] &= ~found[w];
            found[w] |= fresh[w];
            some |= fresh[w];
        }
        b->any[y] = some != 0;
        more = more || some;
    }
    return more;
}

static dcsr_status make_matrix(dcsr_matrix **pairs, const bits *b, dcsr_i_work *work, const uint64_t *offsets)
{
    uint32_t *cols;
    const uint64_t count = offsets[b->n];
    DCSR_I_WORK_TRY(dcsr_i_work_charge(work, count * sizeof *cols, "the result"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &cols, count, sizeof *cols, "the result"));
#pragma omp parallel for schedule(dynamic, 64) num_threads(b->threads) if (b->threads > 1)
    for (uint64_t x = 0; x < b->n; x++) {
        uint64_t at = offsets[x];
        for (uint64_t w = 0; w < b->words; w++)
            for (uint64_t left = b->found[x * b->words + w]; left; left &= left - 1)
                cols[at++] = (uint32_t)(w * TILE + (uint64_t)__builtin_ctzll(left));
    }
    const dcsr_csr csr = {b->n, b->n, count, DCSR_PATTERN, offsets, cols, NULL};
    return dcsr_matrix_from_csr(pairs, work->context, &csr, NULL);
}

/* The offsets of rows, and all pairs. */
static uint64_t count_found(const bits *b, uint64_t *offsets)
{
    for (uint64_t x = 0; x < b->n; x++) {
        uint64_t count = 0;
        for (uint64_t w = 0; w < b->words; w++)
            count += (uint64_t)__builtin_popcountll(b->found[x * b->words + w]);
        offsets[x + 1] = offsets[x] + count;
    }
    return offsets[b->n];
}

dcsr_status dcsr_i_generations_dense(dcsr_matrix **pairs, dcsr_closure_result *made,
                                     const dcsr_i_edge_rows *children, const dcsr_i_relations *r,
                                     uint32_t symbol)
{
    dcsr_i_work *work = r->work;
    bits b = {.n = r->vertices, .words = words_of(r->vertices)};
    uint64_t *offsets;
    b.threads = dcsr_context_threads(work->context, b.n * b.words);
    DCSR_I_WORK_TRY(take(&b, work, children));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &offsets, b.n + 1, sizeof *offsets, "the result"));
    for (uint64_t k = 0; k < r->rows; k++) {
        const dcsr_i_relation_row *row = &r->row[k];
        if (row->symbol != symbol) continue;
        for (uint32_t e = 0; e < row->list.count; e++) {
            /* The other way round it may not have been found yet. */
            const uint64_t x = row->vertex, y = row->list.item[e];
            b.found[x * b.words + y / TILE] |= (uint64_t)1 << y % TILE;
            b.found[y * b.words + x / TILE] |= (uint64_t)1 << x % TILE;
            b.any[x] = b.any[y] = true;
        }
    }
    /* As if all of it were new. */
    memcpy(b.fresh, b.found, b.n * b.words * sizeof *b.fresh);
    do {
        made->iterations++;
        if (work->progress) work->progress(work->user, made->iterations, 0, count_found(&b, offsets));
    } while (round_of(&b));
    made->pairs = count_found(&b, offsets);
    if (work->progress) work->progress(work->user, made->iterations, 0, made->pairs);
    return pairs ? make_matrix(pairs, &b, work, offsets) : DCSR_OK;
}
