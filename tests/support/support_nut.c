/* support_nut.c: whether tiles are what they should be. */
#include "tests/support/support_nut.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One entry of a panel; those of a row and column keep their order by `number`. */
typedef struct found {
    uint64_t row, number;
    uint32_t col;
    uint64_t value;
} found;

typedef struct reading {
    const dcsr_nut *nut;
    const dcsr_nut_panel *panel;
    size_t size; /* of a value */
    found *entries;
    uint64_t count;
    char *why;
} reading;

#define SAY(...)                                 \
    do {                                         \
        snprintf(r->why, TEST_WHY, __VA_ARGS__); \
        return false;                            \
    } while (0)

uint64_t test_panel_elements(const dcsr_nut_panel *panel)
{
    if (!panel->tile_count) return 0;
    const dcsr_nut_tile *last = &panel->tiles[panel->tile_count - 1];
    return last->begin + dcsr_i_nut_room(last->elements);
}

uint64_t test_panel_columns(const dcsr_nut_panel *panel)
{
    if (!panel->tile_count) return 0;
    const dcsr_nut_tile *last = &panel->tiles[panel->tile_count - 1];
    return last->column + last->columns;
}

static bool same(const void *a, const void *b, size_t bytes)
{
    return !bytes || !memcmp(a, b, bytes);
}

bool test_panels_are_equal(const dcsr_nut *nut, const dcsr_nut_panel *a, const dcsr_nut_panel *b)
{
    const uint64_t elements = test_panel_elements(a);
    return a->row == b->row && a->rows == b->rows && a->nnz == b->nnz && a->tile_count == b->tile_count &&
           same(a->tiles, b->tiles, a->tile_count * sizeof *a->tiles) &&
           same(a->col_indices, b->col_indices, test_panel_columns(a) * sizeof *a->col_indices) &&
           same(a->indices, b->indices, elements * sizeof *a->indices) &&
           same(a->values, b->values, elements * dcsr_type_size(nut->type));
}

dcsr_nut test_nut_of(dcsr_view *view)
{
    dcsr_nut nut;
    TEST_OK(dcsr_view_get_nut(view, &nut));
    return nut;
}

/* ---- One tile ---- */

static uint64_t value_at(const reading *r, uint64_t element)
{
    uint64_t value = 0;
    if (r->size) memcpy(&value, (const char *)r->panel->values + element * r->size, r->size);
    return value;
}

static bool read_entry(reading *r, const dcsr_nut_tile *tile, uint64_t element, uint64_t row)
{
    const int16_t index = r->panel->indices[element];
    if ((uint32_t)index >= tile->columns) SAY("index %d of %u columns", index, tile->columns);
    if (r->count == r->panel->nnz) SAY("panel at row %" PRIu64 ": too many entries", r->panel->row);
    r->entries[r->count] = (found){.row = r->panel->row + row,
                                   .number = r->count,
                                   .col = r->panel->col_indices[tile->column + (uint32_t)index],
                                   .value = value_at(r, element)};
    r->count++;
    return true;
}

/* Lane by lane, as the items were dealt out: so that rows ascend, and columns within one. */
static bool read_tile(reading *r, const dcsr_nut_tile *tile)
{
    const uint64_t lanes = r->nut->lanes, items = tile->elements - lanes;
    const int16_t *indices = r->panel->indices + tile->begin;
    uint64_t row = UINT64_MAX, markers = 0, entries = 0;
    for (uint64_t lane = 0; lane < lanes; lane++) {
        uint64_t head = (uint64_t)~indices[lane];
        if (indices[lane] >= 0 || value_at(r, tile->begin + lane)) SAY("lane %" PRIu64 " has no head", lane);
        const uint64_t height = items / lanes + (lane < items % lanes);
        if (!height && head) SAY("an empty lane has a head of row %" PRIu64, head);
        for (uint64_t j = 1; j <= height; j++) {
            const uint64_t element = j * lanes + lane;
            const bool marker = indices[element] < 0;
            if (marker) {
                const uint64_t next = (uint64_t)~indices[element];
                if (value_at(r, tile->begin + element)) SAY("a marker has a value");
                if (next >= r->panel->rows || (row != UINT64_MAX && next <= row))
                    SAY("row %" PRIu64 " follows row %" PRIu64, next, row);
                row = next;
                markers++;
            } else {
                if (!read_entry(r, tile, tile->begin + element, row)) return false;
                entries++;
            }
            if (j == 1 && head != row) SAY("head of row %" PRIu64 " above row %" PRIu64, head, row);
        }
    }
    if (!entries || entries + markers != items)
        SAY("%" PRIu64 " entries in %" PRIu64 " items", entries, items);
    return true;
}

static bool read_columns(reading *r, uint64_t t, uint64_t *begin, uint64_t *column)
{
    const dcsr_nut_panel *panel = r->panel;
    const dcsr_nut_tile *tile = &panel->tiles[t];
    const bool last = t + 1 == panel->tile_count;
    if (tile->begin != *begin || tile->column != *column) SAY("tile %" PRIu64 " begins elsewhere", t);
    if (!tile->columns || tile->columns > r->nut->most_columns ||
        (!last && tile->columns < r->nut->most_columns))
        SAY("tile %" PRIu64 " has %u columns", t, tile->columns);
    for (uint32_t k = tile->column; k < tile->column + tile->columns; k++)
        if (panel->col_indices[k] >= r->nut->cols ||
            (k && panel->col_indices[k] <= panel->col_indices[k - 1]))
            SAY("active column %u", panel->col_indices[k]);
    *begin += dcsr_i_nut_room(tile->elements);
    *column += tile->columns;
    return true;
}

/* ---- Panels ---- */

static int by_place(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static bool read_row(reading *r, dcsr_view *view, uint64_t row, found *entries, uint64_t *count)
{
    uint64_t length;
    TEST_OK(dcsr_view_get_row(view, row, 0, NULL, NULL, &length));
    if (*count + length > r->panel->nnz) SAY("the panel of row %" PRIu64 " lacks entries", row);
    uint32_t *cols = test_allocate(length + 1, sizeof *cols);
    char *values = test_allocate(length + 1, 8);
    TEST_OK(dcsr_view_get_row(view, row, length, cols, values, &length));
    for (uint64_t e = 0; e < length; e++) {
        entries[*count] = (found){.row = row, .number = *count, .col = cols[e]};
        if (r->size) memcpy(&entries[*count].value, values + e * r->size, r->size);
        ++*count;
    }
    free(cols);
    free(values);
    return true;
}

static bool compare(reading *r, dcsr_view *view, found *expected)
{
    uint64_t count = 0;
    for (uint64_t row = r->panel->row; row < r->panel->row + r->panel->rows; row++)
        if (!read_row(r, view, row, expected, &count)) return false;
    if (count != r->panel->nnz || count != r->count)
        SAY("a panel of %" PRIu64 " entries has %" PRIu64 ", and should have %" PRIu64, r->panel->nnz,
            r->count, count);
    qsort(expected, count, sizeof *expected, by_place);
    qsort(r->entries, count, sizeof *r->entries, by_place);
    for (uint64_t k = 0; k < count; k++)
        if (expected[k].row != r->entries[k].row || expected[k].col != r->entries[k].col ||
            expected[k].value != r->entries[k].value)
            SAY("entry (%" PRIu64 ", %u) instead of (%" PRIu64 ", %u), or its value", r->entries[k].row,
                r->entries[k].col, expected[k].row, expected[k].col);
    return true;
}

static bool read_panel(reading *r, dcsr_view *view)
{
    uint64_t begin = 0, column = 0;
    r->count = 0;
    if (!r->panel->rows || r->panel->rows > r->nut->most_rows)
        SAY("a panel of %" PRIu64 " rows", r->panel->rows);
    if (!r->panel->nnz != !r->panel->tile_count) SAY("%" PRIu64 " tiles", r->panel->tile_count);
    for (uint64_t t = 0; t < r->panel->tile_count; t++)
        if (!read_columns(r, t, &begin, &column) || !read_tile(r, &r->panel->tiles[t])) return false;
    found *expected = test_allocate(r->panel->nnz + 1, sizeof *expected);
    const bool equal = compare(r, view, expected);
    free(expected);
    return equal;
}

bool test_nut_matches(const dcsr_nut *nut, dcsr_view *view, char why[TEST_WHY])
{
    reading reader = {.nut = nut, .size = dcsr_type_size(nut->type), .why = why}, *r = &reader;
    uint64_t row = 0, nnz = 0;
    for (uint64_t p = 0; p < nut->panel_count; p++) {
        r->panel = &nut->panels[p];
        if (r->panel->row != row) SAY("panel %" PRIu64 " begins elsewhere", p);
        r->entries = test_allocate(r->panel->nnz + 1, sizeof *r->entries);
        const bool right = read_panel(r, view);
        free(r->entries);
        if (!right) return false;
        row += r->panel->rows;
        nnz += r->panel->nnz;
    }
    if (row != nut->rows || nnz != nut->nnz) SAY("panels of %" PRIu64 " rows, %" PRIu64 " entries", row, nnz);
    return true;
}
