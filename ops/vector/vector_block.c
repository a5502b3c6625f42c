/* vector_block.c: fetching blocks of vectors and masks, and what is done to a block's bits. */
#include "ops/vector/vector_block.h"
#include <string.h>

/* ---- Fetching ---- */

static void set_bit(uint64_t *words, size_t k)
{
    words[k >> 6] |= (uint64_t)1 << (k & 63);
}

static void clear_words(uint64_t *words, size_t n)
{
    memset(words, 0, dcsr_i_words(n) * sizeof *words);
}

static void gather_values(void *z, const void *x, size_t size, const uint32_t *list, size_t n)
{
#define GATHER(ctype)                                         \
    do {                                                      \
        const ctype *from = x;                                \
        ctype *to = z;                                        \
        for (size_t k = 0; k < n; k++) to[k] = from[list[k]]; \
    } while (0)
    DCSR_I_BY_SIZE(size, GATHER)
#undef GATHER
}

static void gather_bits(uint64_t *words, const uint64_t *bits, const uint32_t *list, size_t n)
{
    for (size_t w = 0; w * 64 < n; w++) {
        uint64_t word = 0;
        for (size_t k = w * 64; k < n && k < w * 64 + 64; k++)
            word |= (bits[list[k] >> 6] >> (list[k] & 63) & 1) << (k & 63);
        words[w] = word;
    }
}

/* Entries of a sparse body among consecutive elements. */
static void spread(dcsr_i_elements *block, void *room, const dcsr_i_body *body, size_t size,
                   const dcsr_i_at *at)
{
    uint64_t p = dcsr_i_list_find(body->indices, 0, body->nvals, at->first), last = at->first + at->n;
    clear_words(block->words, at->n);
    if (size == 1) memset(room, 0, at->n); /* bools have to be one or the other */
#define SPREAD(ctype)                                             \
    do {                                                          \
        const ctype *from = body->values;                         \
        ctype *to = room;                                         \
        for (; p < body->nvals && body->indices[p] < last; p++) { \
            size_t k = (size_t)(body->indices[p] - at->first);    \
            to[k] = from[p];                                      \
            set_bit(block->words, k);                             \
        }                                                         \
    } while (0)
    DCSR_I_BY_SIZE(size, SPREAD)
#undef SPREAD
}

enum { MATCH_PARTS = 4 };

/* Entries of a sparse body that are in a list: both ascend. Every place gets a value, so that no branch is
 * taken on whether it is the right one. */
static void match(dcsr_i_elements *block, void *room, const dcsr_i_body *body, size_t size,
                  const dcsr_i_at *at)
{
    const uint32_t *indices = body->indices, *list = at->list;
    uint64_t p = dcsr_i_list_find(indices, 0, body->nvals, list[0]);
    uint64_t end = dcsr_i_list_find(indices, p, body->nvals, (uint64_t)list[at->n - 1] + 1);
    clear_words(block->words, at->n);
    if (p == end) {
        memset(room, 0, at->n * size);
        return;
    }
    /* Each place waits for where the one before was, so the list is gone through in parts at once. */
    uint64_t last = end - 1, at_once[MATCH_PARTS];
    size_t part = at->n / MATCH_PARTS;
    for (size_t t = 0; t < MATCH_PARTS; t++) at_once[t] = dcsr_i_list_find(indices, p, last, list[t * part]);
    /* Far more entries than places: each is searched for. Where the list has all entries, none is skipped. */
    bool search = (end - p) / 16 > at->n;
#define MATCH_PLACE(k, p)                                            \
    do {                                                             \
        if (search) p = dcsr_i_list_find(indices, p, last, list[k]); \
        while (p < last && indices[p] < list[k]) p++;                \
        to[k] = from[p];                                             \
        uint64_t met = indices[p] == list[k];                        \
        block->words[(k) >> 6] |= met << ((k)&63);                   \
        p += met & (p < last);                                       \
    } while (0)
#define MATCH(ctype)                                                                                  \
    do {                                                                                              \
        const ctype *from = body->values;                                                             \
        ctype *to = room;                                                                             \
        for (size_t k = 0; k < part; k++)                                                             \
            for (size_t t = 0; t < MATCH_PARTS; t++) MATCH_PLACE(t *part + k, at_once[t]);            \
        for (size_t k = part * MATCH_PARTS; k < at->n; k++) MATCH_PLACE(k, at_once[MATCH_PARTS - 1]); \
    } while (0)
    DCSR_I_BY_SIZE(size, MATCH)
#undef MATCH
#undef MATCH_PLACE
}

/* Values where they are, or in the block's room; bits. */
static const void *locate(dcsr_i_elements *block, void *room, const dcsr_i_body *body, size_t size,
                          const dcsr_i_at *at)
{
    block->bits = NULL;
    if (body->dense && !at->list) {
        if (body->present) block->bits = body->present + at->first / 64;
        return (const char *)body->values + at->first * size;
    }
    if (body->dense) {
        gather_values(room, body->values, size, at->list, at->n);
        if (body->present) {
            gather_bits(block->words, body->present, at->list, at->n);
            block->bits = block->words;
        }
        return room;
    }
    /* The list is the body's own: its values as they stand. */
    if (at->list >= body->indices && at->list < body->indices + body->nvals)
        return (const char *)body->values + (size_t)(at->list - body->indices) * size;
    block->bits = block->words;
    if (at->list)
        match(block, room, body, size, at);
    else
        spread(block, room, body, size, at);
    return room;
}

void dcsr_i_fetch(dcsr_i_elements *block, const dcsr_i_source *source, const dcsr_i_at *at)
{
    if (source->from == source->to) {
        block->values = locate(block, block->room, source->body, dcsr_type_size(source->from), at);
        return;
    }
    _Alignas(64) char found[DCSR_I_BLOCK * sizeof(uint64_t)];
    const void *values = locate(block, found, source->body, dcsr_type_size(source->from), at);
    dcsr_i_cast(source->to, block->room, source->from, values, at->n);
    block->values = block->room;
}

static void match_list(uint64_t *words, const dcsr_i_mask *mask, const dcsr_i_at *at)
{
    const uint32_t *indices = mask->list;
    clear_words(words, at->n);
    if (!mask->n) return;
    if (!at->list) {
        uint64_t p = dcsr_i_list_find(indices, 0, mask->n, at->first), last = at->first + at->n;
        for (; p < mask->n && indices[p] < last; p++) set_bit(words, (size_t)(indices[p] - at->first));
        return;
    }
    uint64_t p = dcsr_i_list_find(indices, 0, mask->n, at->list[0]), last = mask->n - 1;
    for (size_t k = 0; k < at->n && p < mask->n; k++) {
        if (last - p > 64 && indices[p + 64] < at->list[k])
            p = dcsr_i_list_find(indices, p + 64, mask->n - 1, at->list[k]);
        while (p < last && indices[p] < at->list[k]) p++;
        words[k >> 6] |= (uint64_t)(indices[p] == at->list[k]) << (k & 63);
    }
}

void dcsr_i_fetch_mask(uint64_t *words, const dcsr_i_mask *mask, const dcsr_i_at *at)
{
    size_t count = (size_t)dcsr_i_words(at->n);
    if (mask->listed)
        match_list(words, mask, at);
    else if (!mask->bits)
        memset(words, 0xff, count * sizeof *words);
    else if (at->list)
        gather_bits(words, mask->bits, at->list, at->n);
    else
        memcpy(words, mask->bits + at->first / 64, count * sizeof *words);
    uint64_t flip = mask->complement ? UINT64_MAX : 0;
    for (size_t w = 0; w < count; w++) words[w] = (words[w] ^ flip) & dcsr_i_full_word(at->n, w);
}

/* ---- Values and bits ---- */

/* So many bits of a word are gone through one by one rather than all 64 places. */
enum { FEW = 8 };

void dcsr_i_blend(size_t size, void *z, const uint64_t *bits, const void *a, const void *b, size_t n)
{
    for (size_t w = 0; w * 64 < n; w++) {
        size_t first = w * 64, count = n - first < 64 ? n - first : 64;
        uint64_t word = bits[w], full = dcsr_i_full_word(n, w);
        const char *x = (const char *)a + first * size, *y = (const char *)b + first * size;
        char *to = (char *)z + first * size;
        if (!(word & full) || (word & full) == full) { /* all are of one side */
            const char *from = word & full ? x : y;
            if (from != to) memcpy(to, from, count * size);
            continue;
        }
        if (x != to && __builtin_popcountll(word & full) <= FEW) { /* b, but for some */
            if (y != to) memcpy(to, y, count * size);
#define PICK(ctype)                                                \
    do {                                                           \
        const ctype *x_ = (const void *)x;                         \
        ctype *z_ = (void *)to;                                    \
        for (uint64_t left = word & full; left; left &= left - 1)  \
            z_[__builtin_ctzll(left)] = x_[__builtin_ctzll(left)]; \
    } while (0)
            DCSR_I_BY_SIZE(size, PICK)
#undef PICK
            continue;
        }
#define BLEND(ctype)                                                              \
    do {                                                                          \
        const ctype *x_ = (const void *)x, *y_ = (const void *)y;                 \
        ctype *z_ = (void *)to;                                                   \
        for (size_t k = 0; k < count; k++) z_[k] = word >> k & 1 ? x_[k] : y_[k]; \
    } while (0)
        DCSR_I_BY_SIZE(size, BLEND)
#undef BLEND
    }
}

void dcsr_i_pack(uint64_t *words, const void *bools, size_t n)
{
    const unsigned char *byte = bools;
    for (size_t w = 0; w * 64 < n; w++) {
        uint64_t word = 0;
        size_t count = n - w * 64 < 64 ? n - w * 64 : 64, k = 0;
        /* Eight bytes of 0 or 1 at once: the product moves byte j's bit to bit 56 + j. */
        for (; k + 8 <= count; k += 8) {
            uint64_t eight;
            memcpy(&eight, byte + w * 64 + k, sizeof eight);
            word |= (eight * UINT64_C(0x0102040810204080) >> 56) << k;
        }
        for (; k < count; k++) word |= (uint64_t)byte[w * 64 + k] << k;
        words[w] = word;
    }
}

/* Carries out CALL, an expression that is false on failure, for each k of n whose bit is set. */
#define FOR_EACH_SET(bits, n, CALL)                                   \
    do {                                                              \
        for (size_t w = 0; w * 64 < (n); w++) {                       \
            for (uint64_t word = (bits)[w]; word; word &= word - 1) { \
                size_t k = w * 64 + (unsigned)__builtin_ctzll(word);  \
                if (!(CALL)) return false;                            \
            }                                                         \
        }                                                             \
    } while (0)

bool dcsr_i_apply_unary_where(const dcsr_unary_op *op, void *z, const void *x, const uint64_t *bits, size_t n)
{
    if (!bits || op->loop) return dcsr_i_apply_unary(op, z, x, n);
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype);
    if (zsize == 1) memset(z, 0, n);
    FOR_EACH_SET(bits, n, dcsr_i_apply_unary(op, (char *)z + k * zsize, (const char *)x + k * xsize, 1));
    return true;
}

bool dcsr_i_apply_binary_where(const dcsr_binary_op *op, void *z, const void *x, const void *y,
                               const uint64_t *bits, size_t n)
{
    if (!bits || op->loop) return dcsr_i_apply_binary(op, z, x, y, n);
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype),
           ysize = dcsr_type_size(op->ytype);
    if (zsize == 1) memset(z, 0, n);
    FOR_EACH_SET(bits, n,
                 dcsr_i_apply_binary(op, (char *)z + k * zsize, (const char *)x + k * xsize,
                                     (const char *)y + k * ysize, 1));
    return true;
}

bool dcsr_i_apply_index_where(const dcsr_index_op *op, void *z, const void *x, const dcsr_i_positions *places,
                              const void *thunk, const uint64_t *bits, size_t n)
{
    if (!bits || op->loop) return dcsr_i_apply_index(op, z, x, places, thunk, n);
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype);
    if (zsize == 1) memset(z, 0, n);
    FOR_EACH_SET(bits, n,
                 dcsr_i_apply_index(op, (char *)z + k * zsize, (const char *)x + k * xsize,
                                    &(dcsr_i_positions){.i0 = places->i[k], .j0 = places->j0}, thunk, 1));
    return true;
}
