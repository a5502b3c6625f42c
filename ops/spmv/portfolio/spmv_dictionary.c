/* spmv_dictionary.c: the kernel `dictionary`: fewer bytes an entry.
 *
 * In a chunk of rows whose columns span no more than 65536, a column is kept as its difference to the least of them, in
 * 16 bits. Values of which a chunk has few are kept once, in the chunk's dictionary, and entries have **codes**: of 8
 * bits for up to 256 values, of 16 for up to 65536, none at all for a single one. Values of which there are too many to
 * gain by it stay as they are. */
#include "ops/spmv/portfolio/row_chunks.h"
#include "ops/spmv/portfolio/arithmetics.h"
#include <string.h>

enum { CHUNK_ROWS = 4096, MOST_VALUES = 1 << 16, SLOTS = 2 * MOST_VALUES };

/* How an entry says its value. */
typedef enum coding { NO_CODES, CODES_8, CODES_16, PLAIN, CODINGS } coding;
static const size_t code_bytes[] = {[NO_CODES] = 0, [CODES_8] = 1, [CODES_16] = 2, [PLAIN] = 0};

/* What the memory of a chunk begins with; lengths of rows, its dictionary or plain values, columns and codes follow,
 * each aligned to 8 bytes. */
typedef struct coded_chunk {
    uint64_t rows, entries, values; /* values: in the dictionary, or one an entry */
    uint32_t base;                  /* which columns are differences to, if they are narrow */
    bool narrow;
    coding coding;
} coded_chunk;

typedef struct coded_arrays {
    uint32_t *lengths;
    void *values, *columns, *codes;
    char *end;
} coded_arrays;

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static coded_arrays arrays_of(const coded_chunk *c, size_t size)
{
    coded_arrays a = {.lengths = (uint32_t *)(c + 1)};
    a.values = (char *)a.lengths + aligned(c->rows * sizeof *a.lengths);
    a.columns = (char *)a.values + aligned(c->values * size);
    a.codes = (char *)a.columns + aligned(c->entries * (c->narrow ? sizeof(uint16_t) : sizeof(uint32_t)));
    a.end = (char *)a.codes + aligned(c->entries * code_bytes[c->coding]);
    return a;
}

/* ---- Products ---- */

typedef void coded_function(void *y, const coded_chunk *chunk, const void *x);
#define SPMV_PORTABLE_ONLY
#define SPMV_BODY "ops/spmv/portfolio/dictionary.inc"
#include "ops/spmv/portfolio/arithmetics.inc"
static coded_function *const functions[DCSR_I_SPMV_LEVELS][DCSR_TYPE_COUNT] =
    SPMV_INSTANCES_PORTABLE(run_coded);

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const dcsr_i_spmv_chunks *f = format;
    coded_function *function = functions[DCSR_I_SPMV_PORTABLE][A->info.type];
    const uint64_t bytes = CHUNK_ROWS * dcsr_type_size(A->vector_type);
#pragma omp parallel for schedule(dynamic, 1) num_threads(product->threads) if (product->threads > 1)
    for (uint64_t c = 0; c < f->count; c++) function((char *)product->y + c * bytes, f->chunk[c], product->x);
    return DCSR_OK;
}

/* ---- Making chunks ---- */

/* The work memory of a chunk: its values as they are found, by open addressing. */
typedef struct coded_work {
    coded_chunk head;
    uint64_t values[MOST_VALUES];
    uint32_t slots[SLOTS]; /* a code + 1, or 0 */
    uint16_t codes[];      /* of each entry */
} coded_work;

/* False when there are too many. */
static bool give_code(coded_work *w, uint64_t entry, uint64_t value)
{
    uint64_t at = (value * 0x9e3779b97f4a7c15u) >> 32, code;
    for (at %= SLOTS; (code = w->slots[at]) && w->values[code - 1] != value;) at = (at + 1) % SLOTS;
    if (!code) {
        if (w->head.values == MOST_VALUES) return false;
        w->values[w->head.values++] = value;
        code = w->head.values;
        w->slots[at] = (uint32_t)code;
    }
    w->codes[entry] = (uint16_t)(code - 1);
    return true;
}

/* Codes, if dictionary and codes take fewer bytes than values. */
static void code_values(coded_work *w, const dcsr_i_spmv_chunk *c)
{
    bool few = true;
    memset(w->slots, 0, sizeof w->slots);
    for (uint64_t e = 0; few && c->size && e < w->head.entries; e++) {
        uint64_t value = 0;
        memcpy(&value, c->values + e * c->size, c->size);
        few = give_code(w, e, value);
    }
    w->head.coding = w->head.values <= 1 ? NO_CODES : w->head.values <= UINT8_MAX + 1 ? CODES_8 : CODES_16;
    if (few &&
        w->head.values * c->size + w->head.entries * code_bytes[w->head.coding] <= w->head.entries * c->size)
        return;
    w->head.coding = PLAIN;
    w->head.values = w->head.entries;
}

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    coded_work *w = c->work;
    const uint64_t entries = c->begin[c->rows];
    uint32_t least = UINT32_MAX, greatest = 0;
    for (uint64_t e = 0; e < entries; e++) {
        if (c->columns[e] < least) least = c->columns[e];
        if (c->columns[e] > greatest) greatest = c->columns[e];
    }
    w->head = (coded_chunk){.rows = c->rows, .entries = entries};
    w->head.narrow = !entries || greatest - least <= UINT16_MAX;
    w->head.base = w->head.narrow && entries ? least : 0;
    code_values(w, c);
    return (uint64_t)(arrays_of(&w->head, c->size).end - (char *)&w->head);
}

static void fill_chunk(void *memory, const dcsr_i_spmv_chunk *c)
{
    const coded_work *w = c->work;
    memcpy(memory, &w->head, sizeof w->head);
    const coded_arrays a = arrays_of(memory, c->size);
    for (uint64_t r = 0; r < c->rows; r++) a.lengths[r] = (uint32_t)(c->begin[r + 1] - c->begin[r]);
    for (uint64_t e = 0; e < w->head.entries; e++) {
        if (w->head.narrow)
            ((uint16_t *)a.columns)[e] = (uint16_t)(c->columns[e] - w->head.base);
        else
            ((uint32_t *)a.columns)[e] = c->columns[e];
        if (w->head.coding == CODES_8)
            ((uint8_t *)a.codes)[e] = (uint8_t)w->codes[e];
        else if (w->head.coding == CODES_16)
            ((uint16_t *)a.codes)[e] = w->codes[e];
    }
    if (w->head.coding == PLAIN) {
        memcpy(a.values, c->values, w->head.entries * c->size);
        return;
    }
    for (uint64_t v = 0; v < w->head.values; v++)
        memcpy((char *)a.values + v * c->size, &w->values[v], c->size);
}

static const dcsr_i_spmv_chunked chunked = {.rows = CHUNK_ROWS,
                                            .work_row = sizeof(coded_work) / CHUNK_ROWS + 1,
                                            .work_entry = sizeof(uint16_t),
                                            .measure = measure_chunk,
                                            .fill = fill_chunk};
DCSR_I_SPMV_CHUNKED_CALLS(dictionary, &chunked, NULL)
DCSR_I_SPMV_CHUNKED_REFRESH(dictionary, &chunked, NULL)

const dcsr_i_spmv_kernel dcsr_i_spmv_dictionary = {
    .told = {.name = "dictionary",
             .summary = "columns as differences of 16 bits, and codes for values that repeat"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure_dictionary,
    .build = build_dictionary,
    .refresh = refresh_dictionary,
    .run = run,
    .discard = discard_dictionary,
};
