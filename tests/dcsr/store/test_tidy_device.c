/* test_tidy_device.c: emptying the blocks of a device's arena of which little is in use (select_rows_cuda.c,
 * maintenance.c). */
#include "tests/support/support_device.h"
#include "dcsr/base/alloc.h"
#include "dcsr/store/cuda/store_cuda.h"
#include <stdlib.h>

/* A dozen blocks, which are smaller in the emulator. */
enum { HIGH = TEST_EMULATOR ? 200 : 3200, WIDE = 700, EACH = 240, MOST = HIGH * EACH };

typedef struct graph {
    dcsr_matrix *matrix;
    oracle model;
    uint64_t rows[MOST], cols[MOST];
    size_t n;
    test_random random;
} graph;

static void add(graph *g, uint64_t row, uint64_t col)
{
    g->rows[g->n] = row;
    g->cols[g->n++] = col;
}

static void put(graph *g, bool insert)
{
    if (insert) {
        TEST_OK(dcsr_matrix_insert(g->matrix, g->n, g->rows, g->cols, NULL, NULL));
        oracle_insert(&g->model, g->n, g->rows, g->cols, NULL);
    } else {
        TEST_OK(dcsr_matrix_remove(g->matrix, g->n, g->rows, g->cols, NULL));
        oracle_remove(&g->model, g->n, g->rows, g->cols);
    }
    test_settle(g->matrix);
    g->n = 0;
}

/* Rows of EACH entries at most, resolved as they come. */
static graph *make(dcsr_defragmentation defragmentation)
{
    graph *g = test_allocate(1, sizeof *g);
    const dcsr_matrix_options options = {
        .policy = DCSR_POLICY_LAST, .resolve = DCSR_RESOLVE_ON_INSERT, .defragmentation = defragmentation};
    g->n = 0;
    g->random = (test_random){7};
    TEST_OK(dcsr_matrix_create(&g->matrix, context, DCSR_PATTERN, HIGH, WIDE, &options));
    oracle_create(&g->model, DCSR_PATTERN, DCSR_POLICY_LAST, HIGH, WIDE);
    for (uint64_t i = 0; i < MOST; i++) add(g, i / EACH, test_random_below(&g->random, WIDE));
    put(g, true);
    return g;
}

static void destroy(graph *g)
{
    dcsr_matrix_destroy(g->matrix);
    oracle_destroy(&g->model);
    free(g);
}

/* Changes half of the rows, which ones is random, and so moves them. */
static void change_half(graph *g, bool insert)
{
    for (uint64_t row = 0; row < HIGH; row++)
        for (uint64_t i = 0, of_row = test_random_below(&g->random, 2) ? 40 : 0; i < of_row; i++)
            add(g, row, test_random_below(&g->random, WIDE));
    put(g, insert);
}

static uint64_t held(const graph *g)
{
    return dcsr_i_arena_held(&g->matrix->arena);
}

static dcsr_status rewrite(dcsr_i_rewritten *result, graph *g, uint64_t most)
{
    const dcsr_i_table *base = g->matrix->versions.current;
    const dcsr_i_selection selection = {
        .kind = DCSR_I_UNTIDY_ROWS, .column_limit = DCSR_MAX_COLS, .most = most};
    return g->matrix->engine->rewrite(result, g->matrix, base, base->version + 1, &selection);
}

Test(tidying, keeps_the_arena_small)
{
    enum { ROUNDS = 12 };
    open_device();
    NEEDS_GPU();
    graph *tidied = make(DCSR_DEFRAGMENT_AUTO), *left = make(DCSR_DEFRAGMENT_OFF);
    for (int round = 0; round < ROUNDS; round++) {
        change_half(tidied, round % 2 == 0);
        change_half(left, round % 2 == 0);
        cr_assert_leq(held(tidied), 2 * test_info(tidied->matrix).stored);
        TEST_MATCHES(tidied->matrix, &tidied->model);
    }
    cr_assert_gt(held(left), 2 * test_info(left->matrix).stored);
    cr_assert_gt(test_info(tidied->matrix).version, test_info(left->matrix).version);
    cr_assert_eq(test_info(tidied->matrix).defragmentations, 0);
    destroy(tidied);
    destroy(left);
    close_device();
}

Test(tidying, begins_with_the_emptiest_blocks)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    dcsr_i_rewritten result;
    for (int i = 0; i < 4; i++) change_half(g, i % 2 == 0);
    const uint64_t stored = test_info(g->matrix).stored;
    uint64_t most = stored / 8, before = held(g), moved = 0;
    for (;; most *= 2) {
        TEST_OK(rewrite(&result, g, most));
        if (!result.table) break;
        cr_assert_leq(result.entries, most + (uint64_t)2 * WIDE); /* a row may lie in two blocks */
        dcsr_i_publish(g->matrix, result.table, result.limbo);
        moved += result.entries;
        TEST_MATCHES(g->matrix, &g->model);
        if (most > 4 * stored) break;
    }
    cr_assert_gt(moved, 0);
    cr_assert_lt(held(g), before);
    cr_assert_eq(test_info(g->matrix).stored, stored);
    destroy(g);
    close_device();
}

/* What it sees would not be freed. */
Test(tidying, leaves_what_a_version_sees_that_is_held_for_long)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    dcsr_i_rewritten result;
    char why[TEST_WHY];
    oracle then;
    dcsr_view *view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, 0);
    change_half(g, false); /* not in place, which would leave no holes */
    dcsr_view_destroy(view);
    view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, 0);
    oracle_copy(&then, &g->model);
    for (uint64_t i = 0; i < 10; i++) {
        add(g, i, i);
        put(g, i % 2 == 0);
    }
    TEST_OK(rewrite(&result, g, UINT64_MAX));
    cr_assert_null(result.table);
    dcsr_view_destroy(view);
    view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, 0); /* that is not for long yet */
    oracle_destroy(&then);
    oracle_copy(&then, &g->model);
    TEST_OK(rewrite(&result, g, UINT64_MAX));
    cr_assert_not_null(result.table);
    dcsr_i_publish(g->matrix, result.table, result.limbo);
    change_half(g, true);
    cr_assert(test_view_matches(view, &then, 0, why), "%s", why);
    dcsr_view_destroy(view);
    TEST_MATCHES(g->matrix, &g->model);
    oracle_destroy(&then);
    destroy(g);
    close_device();
}

/* Memory goes from the arena's end on, as far as it is not to be kept, and comes again. */
Test(tidying, leaves_memory_that_can_be_given_back)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    dcsr_i_arena *arena = &g->matrix->arena;
    dcsr_i_rewritten result;
    for (int i = 0; i < 4; i++) change_half(g, i % 2 == 0);
    TEST_OK(rewrite(&result, g, UINT64_MAX));
    dcsr_i_publish(g->matrix, result.table, result.limbo);
    const uint64_t more = (uint64_t)512 << dcsr_i_arena_shift(arena); /* some pieces of memory */
    uint64_t begin;
    TEST_OK(dcsr_i_arena_take_blocks(arena, more, 100, false, &begin));
    dcsr_i_arena_give(arena, begin, more);
    /* Memory comes in pieces, which may go on behind the last block. */
    const uint64_t all = arena->space->reserved->columns.bytes,
                   idle = all / sizeof *arena->columns - dcsr_i_arena_held(arena);
    cr_assert_geq(idle, more);
    dcsr_i_arena_trim_to(arena, idle);
    cr_assert_eq(arena->space->reserved->columns.bytes, all);
    dcsr_i_arena_trim_to(arena, 0);
    cr_assert_lt(arena->space->reserved->columns.bytes, all);
    cr_assert_geq(arena->space->reserved->columns.bytes, held(g) * sizeof *arena->columns);
    TEST_MATCHES(g->matrix, &g->model);
    for (int i = 0; i < 2; i++) change_half(g, i % 2 == 0);
    TEST_MATCHES(g->matrix, &g->model);
    destroy(g);
    close_device();
}

Test(tidying, that_fails_changes_nothing)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    dcsr_i_rewritten result;
    change_half(g, false);
    change_half(g, true);
    const uint64_t used = dcsr_i_arena_used(&g->matrix->arena);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int64_t n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = rewrite(&result, g, UINT64_MAX);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert_null(result.table);
        cr_assert_eq(dcsr_i_arena_used(&g->matrix->arena), used);
    }
    dcsr_i_publish(g->matrix, result.table, result.limbo);
    TEST_MATCHES(g->matrix, &g->model);
    destroy(g);
    close_device();
}

/* A batch takes ahead what it is likely to need, as batches of late did for each entry: of few entries in long rows
 * much more than of many. */
Test(tidying, a_large_batch_takes_no_more_than_all_rows_need)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    for (uint64_t i = 0; i < 6; i++) {
        for (uint64_t row = 0; row < 10; row++) add(g, 17 * row + i, WIDE - 1 - i);
        put(g, true);
    }
    for (uint64_t i = 0; i < MOST / 10; i++)
        add(g, test_random_below(&g->random, HIGH), test_random_below(&g->random, WIDE));
    put(g, true);
    dcsr_i_arena *arena = &g->matrix->arena;
    const uint64_t stored = test_info(g->matrix).stored, top = dcsr_i_arena_blocks(arena)
                                                               << dcsr_i_arena_shift(arena);
    cr_assert_leq(top, 3 * stored, "%zu places for %zu entries", (size_t)top, (size_t)stored);
    TEST_MATCHES(g->matrix, &g->model);
    destroy(g);
    close_device();
}

static dcsr_status tighten(graph *g)
{
    dcsr_i_cuda_enter(g->matrix->cuda->stream);
    dcsr_status status = g->matrix->engine->tighten(g->matrix);
    dcsr_i_cuda_leave(g->matrix->cuda->stream);
    return status;
}

/* The old table is given back when the view that holds it goes. */
Test(tidying, whole_defragmentation_that_fails_changes_nothing)
{
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    char why[TEST_WHY];
    change_half(g, false);
    change_half(g, true);
    dcsr_view *view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const uint64_t used = dcsr_i_arena_used(&g->matrix->arena), version = test_info(g->matrix).version;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int64_t n = 0; status != DCSR_OK; n++) {
        cr_assert_eq(dcsr_i_arena_used(&g->matrix->arena), used);
        cr_assert_eq(test_info(g->matrix).version, version);
        dcsr_i_fail_allocations_after(n);
        status = tighten(g);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert(g->matrix->versions.current->contiguous);
    cr_assert(test_view_matches(view, &g->model, 0, why), "%s", why);
    const dcsr_i_cuda_slots *pages = &g->matrix->cuda->row_pages;
    const uint32_t idle = dcsr_i_cuda_slots_idle(pages, g->matrix);
    dcsr_view_destroy(view);
    cr_assert_geq(dcsr_i_cuda_slots_idle(pages, g->matrix), idle + dcsr_i_cuda_page_count(HIGH));
    cr_assert_eq(dcsr_i_arena_used(&g->matrix->arena), test_info(g->matrix).stored);
    TEST_MATCHES(g->matrix, &g->model);
    destroy(g);
    close_device();
}

/* Removes all that a page of rows could have. */
static void empty_page(graph *g, uint64_t page)
{
    const uint64_t first = page * DCSR_CUDA_PAGE_ROWS, end = first + DCSR_CUDA_PAGE_ROWS;
    for (uint64_t row = first; row < end && row < HIGH; row++)
        for (uint64_t col = 0; col < WIDE; col++) add(g, row, col);
    put(g, false);
}

/* The slot of a page in the device's root. */
static uint32_t slot_there(const graph *g, uint64_t page)
{
    uint32_t slot;
    dcsr_i_cuda_enter(stream);
    TEST_OK(dcsr_i_cuda_read_back(stream, &slot, g->matrix->versions.current->root->device + page,
                                  sizeof slot, "reading a root"));
    dcsr_i_cuda_leave(stream);
    return slot;
}

Test(tidying, whole_defragmentation_drops_pages_of_empty_rows)
{
    enum { PAGES = (HIGH + DCSR_CUDA_PAGE_ROWS - 1) / DCSR_CUDA_PAGE_ROWS, EMPTY = 1 };
    open_device();
    NEEDS_GPU();
    graph *g = make(DCSR_DEFRAGMENT_OFF);
    const dcsr_i_cuda_slots *slots[] = {&g->matrix->cuda->row_pages, &g->matrix->cuda->segment_pages};
    change_half(g, true);
    empty_page(g, EMPTY);
    TEST_OK(tighten(g));
    for (uint64_t p = 0; p < PAGES; p++) {
        const uint32_t slot = g->matrix->versions.current->root->host[p];
        cr_assert_eq(slot == DCSR_CUDA_NONE, p == EMPTY);
        cr_assert_eq(slot_there(g, p), slot);
    }
    for (int k = 0; k < 2; k++)
        cr_assert_eq(slots[k]->top - dcsr_i_cuda_slots_idle(slots[k], g->matrix), PAGES - 1);
    TEST_MATCHES(g->matrix, &g->model);
    change_half(g, true); /* the page comes back */
    TEST_MATCHES(g->matrix, &g->model);
    for (uint64_t p = 0; p < PAGES; p++) empty_page(g, p);
    TEST_OK(tighten(g));
    cr_assert_eq(test_info(g->matrix).stored, 0);
    for (uint64_t p = 0; p < PAGES; p++) cr_assert_eq(slot_there(g, p), DCSR_CUDA_NONE);
    TEST_MATCHES(g->matrix, &g->model);
    change_half(g, true);
    TEST_MATCHES(g->matrix, &g->model);
    destroy(g);
    close_device();
}
