/* test_merged_room.c: rows that are merged where they are, and get fewer entries than they might have got. */
#include "tests/support/support.h"
#include <string.h>

/* Long rows first, in one page; the others make the matrix so large that the batch changes it in place. */
enum { ROWS = 4096, COLS = 4096, LONG = 8, MOST = 80 * ROWS };

typedef struct graph {
    dcsr_context *context;
    dcsr_matrix *matrix;
    bool *has;                   /* of each position */
    uint64_t n, *rows, *columns; /* the next batch */
} graph;

static void put(graph *g, uint64_t row, uint64_t column)
{
    g->rows[g->n] = row;
    g->columns[g->n++] = column;
    g->has[row * COLS + column] = true;
}

static void insert(graph *g)
{
    TEST_OK(dcsr_matrix_insert(g->matrix, g->n, g->rows, g->columns, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(g->matrix));
    g->n = 0;
}

static void expect(const graph *g)
{
    dcsr_csr csr;
    dcsr_view *view = test_view(g->matrix, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_view_get_csr(view, &csr));
    for (uint64_t i = 0; i < ROWS; i++) {
        const bool *has = g->has + i * COLS;
        uint64_t count = 0;
        for (uint64_t j = 0; j < COLS; j++) count += has[j];
        cr_assert_eq(csr.offsets[i + 1] - csr.offsets[i], count, "row %d", (int)i);
        for (uint64_t e = csr.offsets[i]; e < csr.offsets[i + 1]; e++)
            cr_assert(csr.col_indices[e] < COLS && has[csr.col_indices[e]], "row %d", (int)i);
    }
    dcsr_view_destroy(view);
}

/* A batch that may make rows longer than those that get room, and does not, as some of it is there already. */
static void fill_up(uint64_t before, uint64_t fresh, uint64_t known)
{
    graph g = {.has = test_allocate(ROWS * COLS, sizeof *g.has),
               .rows = test_allocate(MOST, sizeof *g.rows),
               .columns = test_allocate(MOST, sizeof *g.columns)};
    TEST_OK(
        dcsr_context_create(&g.context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 2}));
    TEST_OK(dcsr_matrix_create(&g.matrix, g.context, DCSR_PATTERN, ROWS, COLS,
                               &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_INSERT}));
    memset(g.has, 0, ROWS * COLS * sizeof *g.has);
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t k = 0; k < (i < LONG ? before : 70); k++) put(&g, i, 2 * k);
    insert(&g);
    for (uint64_t i = 0; i < LONG; i++) {
        for (uint64_t k = 0; k < fresh; k++) put(&g, i, 2 * k + 1);
        for (uint64_t k = 0; k < known; k++) put(&g, i, 2 * k);
    }
    insert(&g);
    expect(&g);
    /* What the rows have room for by now is theirs alone. */
    for (uint64_t step = 0; step < 4; step++) {
        for (uint64_t i = 0; i < LONG; i++)
            for (uint64_t k = 0; k < 1 + before / 20; k++)
                put(&g, i, 2 * (before + fresh) + 30 * step + k + 300 * (k & 1));
        insert(&g);
        expect(&g);
    }
    dcsr_matrix_destroy(g.matrix);
    test_close(g.context);
    free(g.has), free(g.rows), free(g.columns);
}

Test(merged_room, is_never_less_than_was_planned)
{
    fill_up(520, 500, 25);
    fill_up(1000, 20, 1100); /* those that are known come last */
    fill_up(8, 7, 2);        /* on the emulator rows from 16 on are long */
}
