/* test_fresh.c: batches that are merged into rows kept resolved, and views that keep what they resolve: long rows
 * with tails, whole pages, rows that grow at their end; failures of memory; when a matrix begins to do so, and
 * when it stops. (Random changes in all modes: test_model.c, test_twin_model.c.) */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include "dcsr/store/rowtable.h"
#include <stdlib.h>

enum { ROWS = 200, COLS = 20000, MOST = 40000 };

static dcsr_matrix *matrix_of(dcsr_context *context, dcsr_type type, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix = NULL;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, options));
    return matrix;
}

static uint64_t unresolved(dcsr_matrix *matrix)
{
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    return info.unresolved_rows;
}

/* ---- Batches ---- */

typedef struct batch {
    size_t n;
    uint64_t rows[MOST], cols[MOST];
    double numbers[MOST]; /* of type fp64; others are made of them */
    uint64_t room[MOST];
} batch;

static const void *values_of(batch *b, dcsr_type type)
{
    const size_t size = dcsr_type_size(type);
    for (size_t i = 0; i < b->n && size; i++) test_encode(type, b->numbers[i], (char *)b->room + i * size);
    return size ? b->room : NULL;
}

static void add(batch *b, uint64_t row, uint64_t col, double number)
{
    cr_assert(b->n < MOST);
    b->rows[b->n] = row, b->cols[b->n] = col, b->numbers[b->n++] = number;
}

/* Inserts or removes, in the matrix and its oracle. */
static void apply(dcsr_matrix *matrix, oracle *model, batch *b, bool removes)
{
    dcsr_ticket *ticket;
    const void *values = values_of(b, model->type);
    if (removes) {
        TEST_OK(dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, &ticket));
        oracle_remove(model, b->n, b->rows, b->cols);
    } else {
        TEST_OK(dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, values, &ticket));
        oracle_insert(model, b->n, b->rows, b->cols, values);
    }
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    b->n = 0;
}

/* Two long rows, a page of short ones, and some in another page. */
static void load(dcsr_matrix *matrix, oracle *model, batch *b)
{
    for (uint64_t c = 0; c < 12000; c += 2) add(b, 3, c, 1);
    for (uint64_t c = 0; c < 9000; c += 3) add(b, 70, c, 2);
    for (uint64_t r = 0; r < 64; r++)
        for (uint64_t c = 0; c < 20; c++) add(b, r, 7 * c + r, 3);
    apply(matrix, model, b, false);
}

/* ---- All policies ---- */

static void a_few_everywhere(batch *b, test_random *random)
{
    for (int i = 0; i < 25; i++)
        add(b, 3, test_random_below(random, COLS), (double)test_random_below(random, 5));
    for (int i = 0; i < 5; i++) add(b, 70, test_random_below(random, 9000), 2);
    for (int i = 0; i < 3; i++) add(b, test_random_below(random, ROWS), test_random_below(random, COLS), 1);
}

static void many_in_a_page(batch *b, test_random *random)
{
    for (int i = 0; i < 900; i++) add(b, test_random_below(random, 70), test_random_below(random, 300), 4);
}

/* `appends`: batches stay as they come. `holds`: versions are held for some steps; else rows are changed in place. */
static void live_on(dcsr_matrix *matrix, oracle *model, batch *b, uint64_t seed, bool appends, bool holds)
{
    enum { STEPS = 24, HELD = 3 };
    dcsr_view *held[HELD] = {0};
    oracle then[HELD];
    char why[TEST_WHY];
    test_random random = {seed};
    load(matrix, model, b);
    for (int step = 0; step < STEPS; step++) {
        (step % 6 == 5 ? many_in_a_page : a_few_everywhere)(b, &random);
        apply(matrix, model, b, step % 4 == 3);
        cr_assert(appends || unresolved(matrix) == 0, "step %d: rows are left unresolved", step);
        const int h = step % HELD;
        if (held[h]) {
            cr_assert(test_view_matches(held[h], &then[h], 0, why), "held until step %d: %s", step, why);
            dcsr_view_destroy(held[h]);
            oracle_destroy(&then[h]);
        }
        TEST_OK(dcsr_view_create(&held[h], matrix, DCSR_LAYOUT_SEGMENTS, 0));
        oracle_copy(&then[h], model);
        cr_assert(test_view_matches(held[h], model, 0, why), "step %d: %s", step, why);
        if (holds) continue;
        dcsr_view_destroy(held[h]);
        oracle_destroy(&then[h]);
        held[h] = NULL;
    }
    TEST_MATCHES(matrix, model);
    for (int h = 0; h < HELD; h++) {
        if (!held[h]) continue;
        dcsr_view_destroy(held[h]);
        oracle_destroy(&then[h]);
    }
}

Test(fresh, all_policies_and_types)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_UINT8, DCSR_INT16, DCSR_FP32};
    static batch b;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int way = 0; way < 2 * DCSR_POLICY_COUNT; way++) {
            const int policy = way / 2;
            if (types[t] == DCSR_PATTERN && policy != DCSR_POLICY_KEEP && policy != DCSR_POLICY_ANY) continue;
            if (test_on_emulator() && (t + (size_t)way + (size_t)policy) % 2) continue;
            const dcsr_matrix_options options = {.policy = (dcsr_policy)policy,
                                                 .resolve = DCSR_RESOLVE_ON_INSERT,
                                                 .maintain_transpose = way == 2 * DCSR_POLICY_SUM};
            dcsr_context *context = test_context(1 + policy % 2);
            dcsr_matrix *matrix = matrix_of(context, types[t], &options);
            oracle model;
            oracle_create(&model, types[t], options.policy, ROWS, COLS);
            live_on(matrix, &model, &b, t, policy == DCSR_POLICY_KEEP && test_on_device(context),
                    way % 2 == 0);
            dcsr_matrix_destroy(matrix);
            oracle_destroy(&model);
            test_close(context);
        }
}

/* ---- What stays where it is ---- */

/* With the emulator short rows count as long ones on the cpu, so that less is known there of how often they move. */
static const dcsr_matrix_options on_insert = {.policy = DCSR_POLICY_LAST, .resolve = DCSR_RESOLVE_ON_INSERT};

Test(fresh, what_changes_nothing_moves_nothing)
{
    static batch b;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &on_insert);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    load(matrix, &model, &b);
    dcsr_view *before, *after;
    const uint32_t *was, *is;
    TEST_OK(dcsr_view_create(&before, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t r = 0; r < 64; r++) add(&b, r, 7 + r, 3); /* stored, with this value */
    for (uint64_t c = 0; c < 6000; c += 2)
        if (2 * c % 7 != 3) add(&b, 3, 2 * c, 1);
    apply(matrix, &model, &b, false);
    for (uint64_t r = 100; r < 164; r++) add(&b, r, 1, 0); /* not stored */
    add(&b, 3, 11999, 0);
    apply(matrix, &model, &b, true);
    TEST_OK(dcsr_view_create(&after, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t r = 4; r < 64; r++) {
        test_pieces(before, r, &was);
        test_pieces(after, r, &is);
        cr_assert(was == is, "row %d has moved", (int)r);
    }
    dcsr_view_destroy(before);
    dcsr_view_destroy(after);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Where nobody holds a version a row that has room is changed where it is; else another version has it elsewhere. */
Test(fresh, a_row_with_room_is_changed_where_it_is)
{
    static batch b;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &on_insert);
    oracle model;
    dcsr_view *view;
    char why[TEST_WHY];
    const uint32_t *was = NULL, *is = NULL;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    load(matrix, &model, &b);
    for (uint64_t i = 0; i < 2; i++) add(&b, 9, 4 + i, 1);
    apply(matrix, &model, &b, false);
    for (int step = 0; step < 12; step++) {
        const bool removes = step % 3 == 2, held = step == 11;
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
        test_pieces(view, 9, &was);
        oracle then;
        oracle_copy(&then, &model);
        if (!held) dcsr_view_destroy(view);
        /* One in the middle, one in front, one that gets another value; or the first and the last one go. */
        add(&b, 9, removes ? 4 : 80, step);
        add(&b, 9, removes ? 19 * 7 + 9 : 9, step);
        if (!removes) add(&b, 9, 4, step), add(&b, 9, 19 * 7 + 9, step);
        apply(matrix, &model, &b, removes);
        if (held) cr_assert(test_view_matches(view, &then, 0, why), "held: %s", why);
        if (held) dcsr_view_destroy(view);
        oracle_destroy(&then);
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
        test_pieces(view, 9, &is);
        dcsr_view_destroy(view);
        if (!TEST_EMULATOR) cr_assert(test_on_device(context) || (was == is) != held, "step %d", step);
        TEST_MATCHES(matrix, &model);
    }
    cr_assert(unresolved(matrix) == 0);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Few new columns of a long row go behind it; only now and then is it moved. */
Test(fresh, a_long_row_has_a_tail)
{
    static batch b;
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &on_insert);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    load(matrix, &model, &b);
    const uint32_t *first = NULL, *before = NULL;
    int moved = 0, in_pieces = 0;
    for (uint64_t i = 0; i < 100; i++) {
        for (uint64_t k = 0; k < 10; k++) add(&b, 3, 2 * (997 * (10 * i + k) % 6000) + 1, 5);
        apply(matrix, &model, &b, false);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        in_pieces += test_pieces(view, 3, &first) > 1;
        moved += i && first != before;
        before = first;
        dcsr_view_destroy(view);
    }
    const bool device = test_on_device(context); /* whose tails are short, and in the same piece */
    cr_assert((device || in_pieces > (TEST_EMULATOR ? 50 : 80)) && moved < (device || TEST_EMULATOR ? 50 : 5),
              "%d times in pieces, moved %d times", in_pieces, moved);
    cr_assert(unresolved(matrix) == 0);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Rows that grow at their end have slack: they move a few times while they grow many times over. */
Test(fresh, rows_that_grow_at_their_end)
{
    static batch b;
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &on_insert);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    for (uint64_t i = 0; i < 200; i++) {
        for (uint64_t r = 0; r < 64; r++) add(&b, r, 3 * i + r % 3, 1);
        apply(matrix, &model, &b, false);
    }
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert(info.row_rewrites < 64 * 16, "%d rows have moved", (int)info.row_rewrites);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Rows of 1 to PAGES entries, each in a page of its own beside a longer one: entries are looked for in many at once. */
enum { PAGES = 150 };

static uint64_t row_of(uint64_t p)
{
    return 64 * p + p % 63;
}

static uint64_t stored_column(uint64_t p)
{
    return 10 * (p * 7919 % (p + 1)) + 5;
}

static uint64_t new_column(uint64_t p)
{
    return p % 3 == 0   ? 0
           : p % 3 == 1 ? 10 * (p / 2) + 7
                        : 10 * p + 9; /* before, among and behind the others */
}

static double same(uint64_t p)
{
    return (double)(stored_column(p) % 5);
}

static double every_other_differs(uint64_t p)
{
    return p % 2 ? same(p) : 9;
}

static void one_in_each(batch *b, uint64_t (*column)(uint64_t p), double (*value)(uint64_t p))
{
    for (uint64_t p = 0; p < PAGES; p++) add(b, row_of(p), column(p), value(p));
}

/* How many of the rows the batch moves, or changes. */
static int moved_by(dcsr_matrix *matrix, oracle *model, batch *b, bool removes)
{
    dcsr_view *before, *after;
    const uint32_t *was, *is;
    int moved = 0;
    TEST_OK(dcsr_view_create(&before, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    apply(matrix, model, b, removes);
    TEST_OK(dcsr_view_create(&after, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t p = 0; p < PAGES; p++) {
        test_pieces(before, row_of(p), &was);
        test_pieces(after, row_of(p), &is);
        moved += was != is;
    }
    dcsr_view_destroy(before);
    dcsr_view_destroy(after);
    TEST_MATCHES(matrix, model);
    return moved;
}

static void look_for_many(dcsr_context *context, dcsr_type type, batch *b)
{
    dcsr_matrix *matrix;
    oracle model;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, 64 * PAGES, COLS,
                               &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_INSERT}));
    oracle_create(&model, type, type ? DCSR_POLICY_LAST : DCSR_POLICY_ANY, 64 * PAGES, COLS);
    for (uint64_t p = 0; p < PAGES; p++) {
        for (uint64_t c = 5; c <= 10 * p + 5; c += 10) add(b, row_of(p), c, (double)(c % 5));
        for (uint64_t c = 0; c < 2 * PAGES; c++) add(b, 64 * p + 63, 3 * c, 1);
        if (p % 75 == 74) apply(matrix, &model, b, false);
    }
    one_in_each(b, stored_column, same);
    cr_assert(moved_by(matrix, &model, b, false) == 0);
    one_in_each(b, new_column, same);
    cr_assert(moved_by(matrix, &model, b, true) == 0);
    one_in_each(b, stored_column, every_other_differs);
    cr_assert(moved_by(matrix, &model, b, false) == (type ? PAGES / 2 : 0));
    one_in_each(b, new_column, same);
    one_in_each(b, stored_column, same);
    cr_assert(moved_by(matrix, &model, b, false) >= (TEST_EMULATOR ? 1 : PAGES / 2));
    one_in_each(b, stored_column, same);
    cr_assert(moved_by(matrix, &model, b, true) == PAGES);
    cr_assert(unresolved(matrix) == 0);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
}

Test(fresh, entries_of_many_pages_are_looked_for_together)
{
    static batch b;
    dcsr_context *context = test_context(2);
    if (!test_on_device(context)) {
        look_for_many(context, DCSR_PATTERN, &b);
        look_for_many(context, DCSR_FP64, &b);
    }
    test_close(context);
}

/* Rows that move one by one leave holes behind, which are tidied between the batches. */
Test(fresh, holes_are_tidied)
{
    enum { SIDE = 8192, LENGTH = 50, ROUNDS = 40, A_ROUND = 2500 };
    static batch b;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix;
    oracle model;
    test_random random = {11};
    uint64_t most = 0;
    if (test_on_device(context)) {
        test_close(context);
        return;
    }
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, SIDE, SIDE,
                               &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_INSERT}));
    oracle_create(&model, DCSR_PATTERN, DCSR_POLICY_ANY, SIDE, SIDE);
    for (uint64_t r = 0; r < SIDE; r++) {
        for (uint64_t c = 0; c < LENGTH; c++) add(&b, r, c * 31 + r % 17, 1);
        if (r % 512 == 511) apply(matrix, &model, &b, false);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < A_ROUND; i++)
            add(&b, test_random_below(&random, SIDE), test_random_below(&random, SIDE), 1);
        apply(matrix, &model, &b, round % 2);
        test_settle(matrix);
        const dcsr_matrix_info info = test_info(matrix);
        if (info.bytes > most) most = info.bytes;
    }
    cr_assert(most < (uint64_t)8 << 20, "%lu bytes", (unsigned long)most); /* untidied 10 million */
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* So many entries that all rows, once readers have paid for it, are resolved in several parts, while a view of an
 * earlier version is held. */
Test(fresh, many_rows_are_resolved_in_parts)
{
    enum { TIMES = 3, N = 30000 };
    static batch b;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix =
        matrix_of(context, DCSR_FP64,
                  &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM, .resolve = DCSR_RESOLVE_ON_READ});
    oracle model, then;
    dcsr_view *before, *read;
    dcsr_matrix_info info;
    test_random random = {5};
    char why[TEST_WHY];
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < N; i++)
            add(&b, test_random_below(&random, ROWS), test_random_below(&random, 2000), 1);
        apply(matrix, &model, &b, false);
    }
    oracle_copy(&then, &model);
    TEST_OK(dcsr_view_create(&before, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    for (uint64_t r = 0; r < ROWS; r++) add(&b, r, 5, 1);
    apply(matrix, &model, &b, false);
    TEST_OK(dcsr_view_create(&read, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    for (int i = 0; i < 100000; i++) dcsr_i_view_was_read(read);
    dcsr_view_destroy(read);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert(test_on_device(context) || (info.defragmentations && !info.unresolved_rows));
    TEST_MATCHES(matrix, &model);
    cr_assert(test_view_matches(before, &then, DCSR_VIEW_DUPLICATES, why), "%s", why);
    dcsr_view_destroy(before);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    oracle_destroy(&then);
    test_close(context);
}

/* ---- Without memory ---- */

/* One batch while every allocation from the n-th on fails; returns whether it was too late to fail. */
static bool try_without_memory(dcsr_context *context, batch *b, long n, bool removes)
{
    oracle model;
    test_random random = {7};
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &on_insert);
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    load(matrix, &model, b);
    for (int time = 0; time < 2; time++) { /* rows that move get room */
        time ? many_in_a_page(b, &random) : a_few_everywhere(b, &random);
        apply(matrix, &model, b, false);
    }
    dcsr_ticket *ticket = NULL;
    a_few_everywhere(b, &random);
    if (n % 2) many_in_a_page(b, &random);
    const void *values = values_of(b, DCSR_FP64);
    const uint64_t begin = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(n);
    dcsr_status status = removes ? dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, &ticket)
                                 : dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, values, &ticket);
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_i_fail_allocations_after(-1);
    const bool enough = dcsr_i_allocations() - begin <= (uint64_t)n;
    dcsr_ticket_destroy(ticket);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%ld: %s", n, dcsr_thread_error());
    if (status == DCSR_OK && removes) oracle_remove(&model, b->n, b->rows, b->cols);
    if (status == DCSR_OK && !removes) oracle_insert(&model, b->n, b->rows, b->cols, values);
    b->n = 0;
    TEST_MATCHES(matrix, &model);
    many_in_a_page(b, &random);
    apply(matrix, &model, b, false);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    return enough;
}

Test(fresh, a_batch_without_memory_leaves_no_trace)
{
    static batch b;
    dcsr_context *context = test_context(1);
    /* On a GPU the arrays of a batch are parts of few blocks. */
    const long least = test_on_device(context) && !TEST_EMULATOR ? 3 : 10;
    for (int removes = 0; removes < 2; removes++) {
        long n = 0;
        while (!try_without_memory(context, &b, n, removes)) n += test_on_emulator() ? 7 : 1;
        cr_assert(n > least, "only %ld allocations", n);
    }
    test_close(context);
}

/* A view that finds no memory to resolve the store resolves for itself, or fails and changes nothing. */
Test(fresh, a_view_without_memory)
{
    static batch b;
    dcsr_context *context = test_context(1);
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST, .resolve = DCSR_RESOLVE_ON_READ};
    bool enough = false;
    for (long n = 0; !enough; n++) {
        test_random random = {n};
        char why[TEST_WHY];
        oracle model;
        dcsr_view *view = NULL;
        dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &options);
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
        load(matrix, &model, &b);
        a_few_everywhere(&b, &random);
        apply(matrix, &model, &b, false);
        const uint64_t begin = dcsr_i_allocations();
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_i_fail_allocations_after(-1);
        enough = dcsr_i_allocations() - begin <= (uint64_t)n;
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%ld: %s", n, dcsr_thread_error());
        if (view) cr_assert(test_view_matches(view, &model, 0, why), "%ld: %s", n, why);
        TEST_MATCHES(matrix, &model);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* ---- When ---- */

static void insert_again(dcsr_matrix *matrix)
{
    TEST_INSERT(matrix, {5, 1, 1}, {5, 2, 1}, {9, 1, 1});
}

static void read_fresh(dcsr_matrix *matrix)
{
    dcsr_view *view;
    TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_view_destroy(view);
}

/* Readers after each batch have the next ones resolved; when none comes any more, batches are appended again. */
Test(fresh, follows_what_readers_ask_for)
{
    dcsr_context *context = test_context(1);
    if (test_on_device(context)) {
        test_close(context);
        return;
    }
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST};
    dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &options);
    for (int i = 0; i < 3; i++) insert_again(matrix);
    cr_assert(unresolved(matrix) == 2, "nobody has asked yet");
    read_fresh(matrix);
    cr_assert(unresolved(matrix) == 0, "the view has not kept its work");
    for (int i = 0; i < 10; i++) {
        insert_again(matrix);
        cr_assert(unresolved(matrix) == 0, "batch %d is not resolved", i);
        read_fresh(matrix);
    }
    for (int i = 0; i < 20; i++) insert_again(matrix);
    cr_assert(unresolved(matrix) == 2, "nobody asks any more");
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A view leaves its work to the next version; where defragmentation is off, nothing moves. */
Test(fresh, a_view_keeps_its_work)
{
    dcsr_context *context = test_context(1);
    if (test_on_device(context)) {
        test_close(context);
        return;
    }
    for (int off = 0; off < 2; off++) {
        const dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM,
                                             .defragmentation = (dcsr_defragmentation)off,
                                             .resolve = DCSR_RESOLVE_ON_READ,
                                             .maintain_transpose = true};
        dcsr_matrix *matrix = matrix_of(context, DCSR_FP64, &options);
        insert_again(matrix);
        insert_again(matrix);
        dcsr_view *held;
        TEST_OK(dcsr_view_create(&held, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        read_fresh(matrix);
        cr_assert(unresolved(matrix) == (off ? 2 : 0));
        TEST_SHOWS(matrix, {5, 1, 2}, {5, 2, 2}, {9, 1, 2});
        dcsr_view_info info;
        TEST_OK(dcsr_view_get_info(held, &info));
        cr_assert(info.nnz == 6, "what a held view shows has changed");
        dcsr_view_destroy(held);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}
