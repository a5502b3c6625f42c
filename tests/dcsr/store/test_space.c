/* test_space.c: how much memory matrices on the cpu take as entries come and go, and that what they no longer need goes
 * back to the system. */
#include "tests/support/support.h"

#include "dcsr/store/store.h"
#include <stdlib.h>

/* Wherever the other suites run. */
static dcsr_context *on_cpu(int threads)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context,
                                &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = threads}));
    return context;
}

typedef struct pairs {
    size_t n;
    uint64_t *rows, *cols;
} pairs;

static pairs pairs_of(size_t most)
{
    return (pairs){0, test_allocate(most, sizeof(uint64_t)), test_allocate(most, sizeof(uint64_t))};
}

static void pairs_free(pairs *p)
{
    free(p->rows);
    free(p->cols);
}

static void add(pairs *p, uint64_t row, uint64_t col)
{
    p->rows[p->n] = row;
    p->cols[p->n++] = col;
}

/* Entries first to end - 1, as one batch, and all that this makes the matrix tidy. */
static void change(dcsr_matrix *matrix, const pairs *p, size_t first, size_t end, bool removes)
{
    if (removes)
        TEST_OK(dcsr_matrix_remove(matrix, end - first, p->rows + first, p->cols + first, NULL));
    else
        TEST_OK(dcsr_matrix_insert(matrix, end - first, p->rows + first, p->cols + first, NULL, NULL));
    test_settle(matrix);
}

static dcsr_matrix *pattern(dcsr_context *context, uint64_t side, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, side, side, options));
    return matrix;
}

/* Heavy pages by turns with light ones, all of which get some entries. A light one that stayed where it is would keep a
 * block that is mostly empty. */
Test(space, light_pages_move_with_heavy_ones)
{
    enum {
        PAGES = 128,
        HEAVY = 100,
        LIGHT = TEST_EMULATOR ? 1 : 8,
        MANY = 150,
        FEW = TEST_EMULATOR ? 30 : 12
    };
    dcsr_context *context = on_cpu(2);
    dcsr_matrix *matrix = pattern(
        context, 64 * PAGES,
        &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_INSERT, .defragmentation = DCSR_DEFRAGMENT_OFF});
    pairs p = pairs_of(64 * PAGES * HEAVY);
    test_random random = {5};
    for (uint64_t r = 0; r < 64 * PAGES; r++)
        for (uint64_t c = 0; c < (r / 64 % 2 ? HEAVY : LIGHT); c++) add(&p, r, 2 * c + 2);
    change(matrix, &p, 0, p.n, false);
    const uint64_t before = p.n;
    p.n = 0;
    for (uint64_t page = 0; page < PAGES; page++)
        for (int i = 0; i < (page % 2 ? MANY : FEW); i++)
            add(&p, 64 * page + (uint64_t)i % 64, 2 * test_random_below(&random, LIGHT) + 1);
    change(matrix, &p, 0, p.n, false);
    uint64_t nnz;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz > before && nnz <= before + p.n);
    const uint64_t used = dcsr_i_arena_used(&matrix->arena), held = dcsr_i_arena_held(&matrix->arena);
    cr_assert(held < used + used / 4, "%lu places for %lu entries", (unsigned long)held, (unsigned long)used);
    pairs_free(&p);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* As many entries go with each batch as come with the one before: appended, with tombstones and slack. */
Test(space, of_what_comes_and_goes_is_bounded)
{
    enum {
        SIDE = TEST_EMULATOR ? 1 << 12 : 1 << 16,
        LENGTH = 10,
        LIVE = SIDE * LENGTH,
        BATCH = LIVE / 100,
        ROUNDS = 60
    };
    dcsr_context *context = on_cpu(2);
    dcsr_matrix *matrix = pattern(context, SIDE, &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_READ});
    pairs p = pairs_of(LIVE + ROUNDS * BATCH);
    test_random random = {9};
    uint64_t most = 0;
    for (int i = 0; i < LIVE + ROUNDS * BATCH; i++)
        add(&p, test_random_below(&random, SIDE), test_random_below(&random, SIDE));
    for (size_t i = 0; i < LIVE; i += BATCH) change(matrix, &p, i, i + BATCH, false);
    for (size_t round = 0; round < ROUNDS; round++) {
        change(matrix, &p, LIVE + round * BATCH, LIVE + (round + 1) * BATCH, false);
        change(matrix, &p, round * BATCH, (round + 1) * BATCH, true);
        const uint64_t held = dcsr_i_arena_held(&matrix->arena) + dcsr_i_arena_idle_memory(&matrix->arena);
        if (held > most) most = held;
    }
    /* With slack 1.45 places an entry; a fifth of the entries tombstones and what they delete; and a small matrix's
     * worth. Where rows moved without their pages it was 3 million. */
    cr_assert(TEST_EMULATOR || most < 4 * LIVE, "%lu places for %d entries", (unsigned long)most, LIVE);
    pairs_free(&p);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A clone that has parted from its origin has blocks in the same space. When it becomes small their memory goes back to
 * the system, by the worker, behind the next batch; the origin stays as it is. */
Test(space, of_clones_is_given_back)
{
    enum { SIDE = TEST_EMULATOR ? 1 << 10 : 1 << 13, LENGTH = TEST_EMULATOR ? 300 : 50 };
    dcsr_context *context = on_cpu(2);
    dcsr_matrix *matrix = pattern(context, SIDE, NULL), *clone;
    pairs p = pairs_of(SIDE * LENGTH);
    /* Two batches, so that the rows are not one behind the other. */
    for (uint64_t c = 0; c < LENGTH; c++)
        for (uint64_t r = 0; r < SIDE; r++) add(&p, r, c);
    change(matrix, &p, 0, p.n / 2, false);
    change(matrix, &p, p.n / 2, p.n, false);
    const uint64_t alone = test_context_info(context).matrix_bytes, entries = sizeof(uint32_t) * p.n;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    TEST_OK(dcsr_matrix_defragment(clone, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(clone));
    cr_assert(clone->arena.space == matrix->arena.space && !clone->origin.hold);
    cr_assert_geq(test_context_info(context).matrix_bytes, alone + entries);
    TEST_OK(dcsr_matrix_resize(clone, 100, SIDE, NULL));
    change(clone, &p, 0, 100, true);
    cr_assert_lt(test_context_info(context).matrix_bytes, alone + entries / 4);
    uint64_t nnz;
    TEST_OK(dcsr_matrix_get_nnz(clone, &nnz));
    cr_assert_eq(nnz, 100 * LENGTH - 100);
    dcsr_matrix_destroy(clone);
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert_eq(nnz, p.n);
    pairs_free(&p);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* What a view has kept goes with it, not only when the worker has been idle for a while or when the next change comes.
 */
Test(space, of_a_version_goes_with_its_last_view)
{
    enum { ENTRIES = 1 << 19 };
    dcsr_context *context = on_cpu(1);
    dcsr_matrix *matrix = pattern(context, ENTRIES, NULL);
    pairs p = pairs_of(ENTRIES);
    for (uint64_t r = 0; r < ENTRIES; r++) add(&p, r, r);
    change(matrix, &p, 0, p.n, false);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, 0, ENTRIES, NULL));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    test_settle(matrix);
    cr_assert_geq(test_info(matrix).bytes, ENTRIES * sizeof(uint32_t));
    dcsr_view_destroy(view);
    test_settle(matrix);
    cr_assert_lt(test_info(matrix).bytes, ENTRIES * sizeof(uint32_t));
    pairs_free(&p);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
