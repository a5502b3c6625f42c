/* vector_merge.c: sparse bodies filtered, and united with others. */
#include "dcsr/base/threads.h"
#include "dcsr/base/runtime.h"
#include "ops/vector/vector_run.h"
#include <string.h>

/* Pieces into which a list is cut for threads. */
enum { MOST_PIECES = 256 };
/* Of a block's elements at most 1 in so many are few. */
enum { FEW_SHARE = 4 };

/* ---- Filtering ---- */

/* Moves the entries of words first .. end-1 whose bit is set to the beginning of that range. */
static uint64_t compact_piece(dcsr_i_body *body, size_t size, const uint64_t *bits, uint64_t first,
                              uint64_t end)
{
    uint64_t to = first * 64;
#define COMPACT(ctype)                                                    \
    do {                                                                  \
        ctype *value = body->values;                                      \
        for (uint64_t w = first; w < end; w++) {                          \
            if (bits[w] == UINT64_MAX && to == w * 64) { /* they stay */  \
                to += 64;                                                 \
                continue;                                                 \
            }                                                             \
            for (uint64_t word = bits[w]; word; word &= word - 1, to++) { \
                uint64_t k = w * 64 + (unsigned)__builtin_ctzll(word);    \
                body->indices[to] = body->indices[k];                     \
                value[to] = value[k];                                     \
            }                                                             \
        }                                                                 \
    } while (0)
    DCSR_I_BY_SIZE(size, COMPACT)
#undef COMPACT
    return to - first * 64;
}

void dcsr_i_body_compact(dcsr_i_body *body, const dcsr_context *context, size_t value_size,
                         const uint64_t *bits)
{
    uint64_t words = dcsr_i_words(body->nvals), count[MOST_PIECES], kept = 0;
    uint64_t pieces = (uint64_t)dcsr_i_threads(context, body->nvals);
    if (pieces > MOST_PIECES) pieces = MOST_PIECES;
    if (pieces <= 1) {
        body->nvals = compact_piece(body, value_size, bits, 0, words);
        return;
    }
#pragma omp parallel for num_threads((int)pieces)
    for (uint64_t t = 0; t < pieces; t++)
        count[t] = compact_piece(body, value_size, bits, words * t / pieces, words * (t + 1) / pieces);
    for (uint64_t t = 0; t < pieces; t++) {
        uint64_t from = words * t / pieces * 64;
        char *values = body->values;
        if (kept != from) {
            memmove(body->indices + kept, body->indices + from, count[t] * sizeof *body->indices);
            memmove(values + kept * value_size, values + from * value_size, count[t] * value_size);
        }
        kept += count[t];
    }
    body->nvals = kept;
}

dcsr_status dcsr_i_body_filter(dcsr_i_body *body, dcsr_context *context, size_t value_size,
                               const dcsr_i_mask *mask)
{
    if (dcsr_i_mask_is_all(mask) || !body->nvals) return DCSR_OK;
    uint64_t some[DCSR_I_BLOCK_WORDS], *bits = some, n = body->nvals;
    if (n > DCSR_I_BLOCK) bits = dcsr_i_alloc(context, DCSR_I_SCRATCH, dcsr_i_words(n), sizeof *bits);
    if (!bits) return DCSR_ERROR_OUT_OF_MEMORY;
    int threads = dcsr_i_threads(context, n);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t first = 0; first < n; first += DCSR_I_BLOCK) {
        uint64_t length = n - first < DCSR_I_BLOCK ? n - first : DCSR_I_BLOCK;
        dcsr_i_at at = {.list = body->indices + first, .n = (size_t)length};
        dcsr_i_fetch_mask(bits + first / 64, mask, &at);
    }
    dcsr_i_body_compact(body, context, value_size, bits);
    if (bits != some) dcsr_i_free(context, DCSR_I_SCRATCH, bits, dcsr_i_words(n), sizeof *bits);
    return DCSR_OK;
}

/* ---- Lists ---- */

static uint64_t unite_piece(uint32_t *list, const uint32_t *a, uint64_t na, const uint32_t *b, uint64_t nb)
{
    uint64_t i = 0, j = 0, n = 0;
    while (i < na && j < nb) {
        uint32_t x = a[i], y = b[j];
        list[n++] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
    }
    if (i < na) memcpy(list + n, a + i, (na - i) * sizeof *a);
    if (j < nb) memcpy(list + n, b + j, (nb - j) * sizeof *b);
    return n + (na - i) + (nb - j);
}

static uint64_t intersect_piece(uint32_t *list, const uint32_t *a, uint64_t na, const uint32_t *b,
                                uint64_t nb)
{
    uint64_t j = 0, n = 0;
    bool far = nb / 64 > na;
    for (uint64_t i = 0; i < na; i++) {
        j = far ? dcsr_i_list_find_near(b, j, nb, a[i]) : dcsr_i_list_skip(b, j, nb, a[i]);
        if (j == nb) break;
        list[n] = a[i];
        n += b[j] == a[i];
    }
    return n;
}

/* What either list has, or, with `both`, what both have, where a is the shorter one. */
static dcsr_status combine(uint32_t **list, uint64_t *n, dcsr_context *context, const uint32_t *a,
                           uint64_t na, const uint32_t *b, uint64_t nb, bool both)
{
    uint64_t (*piece)(uint32_t *, const uint32_t *, uint64_t, const uint32_t *, uint64_t) =
        both ? intersect_piece : unite_piece;
    *list = dcsr_i_alloc(context, DCSR_I_SCRATCH, both ? na : na + nb, sizeof **list);
    if (!*list) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t pieces = (uint64_t)dcsr_i_threads(context, na + nb), i[MOST_PIECES + 1], j[MOST_PIECES + 1];
    if (pieces > MOST_PIECES) pieces = MOST_PIECES;
    if (pieces <= 1) {
        *n = piece(*list, a, na, b, nb);
        return DCSR_OK;
    }
    /* Cut where the longer list has its pieces' first indices. */
    bool by_a = na >= nb;
    for (uint64_t t = 1; t < pieces; t++) {
        uint64_t cut = by_a ? a[na * t / pieces] : b[nb * t / pieces];
        i[t] = dcsr_i_list_find(a, 0, na, cut);
        j[t] = dcsr_i_list_find(b, 0, nb, cut);
    }
    i[0] = j[0] = 0;
    i[pieces] = na, j[pieces] = nb;
    uint64_t count[MOST_PIECES];
#pragma omp parallel for num_threads((int)pieces)
    for (uint64_t t = 0; t < pieces; t++)
        count[t] =
            piece(*list + i[t] + (both ? 0 : j[t]), a + i[t], i[t + 1] - i[t], b + j[t], j[t + 1] - j[t]);
    *n = count[0];
    for (uint64_t t = 1; t < pieces; t++) {
        memmove(*list + *n, *list + i[t] + (both ? 0 : j[t]), count[t] * sizeof **list);
        *n += count[t];
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_list_unite(uint32_t **list, uint64_t *n, dcsr_context *context, const uint32_t *a,
                              uint64_t na, const uint32_t *b, uint64_t nb)
{
    return combine(list, n, context, a, na, b, nb, false);
}

dcsr_status dcsr_i_list_intersect(uint32_t **list, uint64_t *n, dcsr_context *context, const uint32_t *a,
                                  uint64_t na, const uint32_t *b, uint64_t nb)
{
    return na <= nb ? combine(list, n, context, a, na, b, nb, true)
                    : combine(list, n, context, b, nb, a, na, true);
}

/* ---- Producing ---- */

bool dcsr_i_produce_source(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    (void)room;
    dcsr_i_fetch(T, operands, at);
    return true;
}

/* op(u, v) in `to`, as a value of the union's type. */
static bool apply_union(const dcsr_i_union *op, void *to, const dcsr_i_elements *U, const dcsr_i_elements *V,
                        const uint64_t *both, const dcsr_i_at *at)
{
    dcsr_i_elements x, y;
    const void *xvalues = U->values, *yvalues = V->values;
    if (op->op->xtype != op->type) {
        dcsr_i_fetch(&x, &(dcsr_i_source){op->u, op->utype, op->op->xtype}, at);
        xvalues = x.values;
    }
    if (op->op->ytype != op->type) {
        dcsr_i_fetch(&y, &(dcsr_i_source){op->v, op->vtype, op->op->ytype}, at);
        yvalues = y.values;
    }
    if (op->op->ztype == op->type)
        return dcsr_i_apply_binary_where(op->op, to, xvalues, yvalues, both, at->n);
    _Alignas(64) char z[DCSR_I_BLOCK * sizeof(uint64_t)];
    if (!dcsr_i_apply_binary_where(op->op, z, xvalues, yvalues, both, at->n)) return false;
    dcsr_i_cast(op->type, to, op->op->ztype, z, at->n);
    return true;
}

/* Consecutive elements of a dense body, with a few of a sparse one among them: the union is computed at the
 * few's places, which `list` has, and put where the others are. */
static bool produce_few(const dcsr_i_union *op, const dcsr_i_at *at, dcsr_i_elements *T, void *room,
                        const uint32_t *list, size_t n)
{
    dcsr_i_elements few;
    _Alignas(64) char z[DCSR_I_BLOCK * sizeof(uint64_t)];
    if (n && !dcsr_i_produce_union(op, &(dcsr_i_at){.list = list, .n = n}, &few, z)) return false;
    const dcsr_i_source u = {op->u, op->utype, op->type}, v = {op->v, op->vtype, op->type};
    dcsr_i_fetch(T, op->u->dense ? &u : &v, at);
    if (!n) return true;
    if (T->values != room) memcpy(room, T->values, at->n * dcsr_type_size(op->type));
    T->values = room;
#define PUT(ctype) \
    for (size_t k = 0; k < n; k++) ((ctype *)room)[list[k] - at->first] = ((const ctype *)few.values)[k]
    DCSR_I_BY_SIZE(dcsr_type_size(op->type), PUT)
#undef PUT
    if (!T->bits) return true;
    if (T->bits != T->words) memcpy(T->words, T->bits, dcsr_i_words(at->n) * sizeof *T->words);
    T->bits = T->words;
    for (size_t k = 0; k < n; k++) {
        uint64_t place = list[k] - at->first;
        T->words[place >> 6] |= (uint64_t)1 << (place & 63);
    }
    return true;
}

bool dcsr_i_produce_union(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room)
{
    const dcsr_i_union *op = operands;
    if (!at->list && op->u->dense != op->v->dense) {
        const dcsr_i_body *sparse = op->u->dense ? op->v : op->u;
        uint64_t first = dcsr_i_list_find(sparse->indices, 0, sparse->nvals, at->first);
        uint64_t end = dcsr_i_list_find_near(sparse->indices, first, sparse->nvals, at->first + at->n);
        if (end - first <= at->n / FEW_SHARE)
            return produce_few(op, at, T, room, sparse->indices + first, (size_t)(end - first));
    }
    dcsr_i_elements U, V;
    dcsr_i_fetch(&U, &(dcsr_i_source){op->u, op->utype, op->type}, at);
    dcsr_i_fetch(&V, &(dcsr_i_source){op->v, op->vtype, op->type}, at);
    T->values = room;
    T->bits = NULL;
    if (!U.bits && !V.bits && op->op) return apply_union(op, room, &U, &V, NULL, at);

    /* `room` may be where U or V is, so it is written last, each place after it has been read. */
    size_t size = dcsr_type_size(op->type);
    uint64_t both[DCSR_I_BLOCK_WORDS], either[DCSR_I_BLOCK_WORDS], only_v[DCSR_I_BLOCK_WORDS];
    for (size_t w = 0; w * 64 < at->n; w++) {
        uint64_t has_u = dcsr_i_word_of(U.bits, at->n, w), has_v = dcsr_i_word_of(V.bits, at->n, w);
        both[w] = has_u & has_v;
        either[w] = has_u | has_v;
        only_v[w] = op->op ? has_v & ~has_u : has_v;
    }
    const void *left = U.values;
    _Alignas(64) char z[DCSR_I_BLOCK * sizeof(uint64_t)];
    if (op->op) {
        if (!apply_union(op, z, &U, &V, both, at)) return false;
        dcsr_i_blend(size, z, both, z, U.values, at->n);
        left = z;
    }
    dcsr_i_blend(size, room, only_v, V.values, left, at->n);
    memcpy(T->words, either, sizeof either);
    T->bits = T->words;
    return true;
}
