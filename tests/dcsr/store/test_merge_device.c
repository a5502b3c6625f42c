/* test_merge_device.c: batches that a device merges into the rows that they touch, which stay resolved (merge.cuh). */
#include "tests/support/support_batches.h"
#include "tests/support/support_transposed.h"
#include "dcsr/store/rowtable_cuda.h"
#include <dcsr/convert.h>
#include <pthread.h>
#include <string.h>

static dcsr_matrix *matrix_of(dcsr_type type, dcsr_matrix_options options)
{
    dcsr_matrix *matrix;
    options.defragmentation = DCSR_DEFRAGMENT_OFF;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    return matrix;
}

static dcsr_matrix *merging(dcsr_type type, dcsr_policy policy)
{
    return matrix_of(type, (dcsr_matrix_options){.policy = policy, .resolve = DCSR_RESOLVE_ON_INSERT});
}

/* ---- What they do ---- */

/* A view that is held while the matrix changes, and what it shows. */
typedef struct held {
    dcsr_view *view;
    oracle model;
} held;

static void hold(held *h, dcsr_matrix *matrix, const oracle *model, unsigned flags)
{
    h->view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, flags);
    oracle_copy(&h->model, model);
}

static void let_go(held *h, unsigned flags)
{
    char why[TEST_WHY];
    cr_assert(test_view_matches(h->view, &h->model, flags, why), "%s", why);
    dcsr_view_destroy(h->view);
    oracle_destroy(&h->model);
}

/* Batches of many sizes; of three, one deletes. A version is held over each change, if it `holds`. */
static void change_and_compare_with(dcsr_type type, dcsr_matrix_options options, bool holds, uint64_t seed)
{
    static const size_t sizes[] = {700, 1, 31, 300, 33, 200, 1, 1, 900, 1500, 2, 40};
    enum { ALL = sizeof sizes / sizeof *sizes };
    const size_t batches = TEST_VARIANT(ALL, ALL / 2, ALL / 4);
    oracle model;
    held h = {0};
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {seed};
    dcsr_matrix *matrix = matrix_of(type, options);
    const bool merged = options.resolve == DCSR_RESOLVE_ON_INSERT && options.policy != DCSR_POLICY_KEEP;
    oracle_create(&model, type, options.policy, ROWS, COLS);
    for (size_t i = 0; i < batches; i++) {
        const bool insert = i % 3 != 2;
        fill(b, &random, type, sizes[i]);
        TEST_OK(change(matrix, b, type, insert));
        follow(&model, b, insert);
        if (merged) {
            cr_assert_eq(test_info(matrix).unresolved_rows, 0);
            cr_assert_eq(test_info(matrix).stored, oracle_nnz(&model));
        }
        if (h.view && i % 2) let_go(&h, 0), h.view = NULL;
        if (options.resolve == DCSR_RESOLVE_AUTO || i % 4 == 3) TEST_MATCHES(matrix, &model);
        if (holds && !h.view) hold(&h, matrix, &model, 0);
        if (options.maintain_transpose) TEST_TRANSPOSES(matrix, &model);
    }
    if (h.view) let_go(&h, 0);
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

static void change_and_compare(dcsr_type type, dcsr_matrix_options options, uint64_t seed)
{
    change_and_compare_with(type, options, true, seed);
}

static void change_all_types(bool holds)
{
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        /* All policies with one type, each type with one at least. */
        if (TEST_VARIANT(false, type % 3 != 0, type % 3 != 0) && type != DCSR_INT32) continue;
        int first = type == DCSR_INT32 ? DCSR_POLICY_KEEP : DCSR_POLICY_KEEP + 1 + type % 5;
        int last = type == DCSR_INT32 ? DCSR_POLICY_ANY : first;
        for (int policy = first; policy <= last; policy++)
            change_and_compare_with(
                (dcsr_type)type,
                (dcsr_matrix_options){.policy = (dcsr_policy)policy, .resolve = DCSR_RESOLVE_ON_INSERT},
                holds, 1 + (uint64_t)type);
    }
}

Test(merging, gives_what_all_policies_and_types_ask_for)
{
    open_device();
    NEEDS_GPU();
    change_all_types(true);
    close_device();
}

Test(merging, gives_the_same_where_nobody_holds_a_version)
{
    open_device();
    NEEDS_GPU();
    change_all_types(false);
    close_device();
}

Test(merging, is_one_of_three_ways_to_the_same)
{
    open_device();
    NEEDS_GPU();
    for (int resolve = DCSR_RESOLVE_AUTO; resolve <= DCSR_RESOLVE_ON_READ; resolve++)
        for (int segments = 2; segments <= 4; segments += 2) {
            dcsr_matrix_options options = {
                .policy = DCSR_POLICY_SUM, .resolve = (dcsr_resolution)resolve, .segments = segments};
            change_and_compare(DCSR_INT64, options, 50);
            change_and_compare(DCSR_PATTERN, options, 51);
        }
    close_device();
}

Test(merging, keeps_the_transpose_resolved_too)
{
    open_device();
    NEEDS_GPU();
    change_and_compare(DCSR_UINT16,
                       (dcsr_matrix_options){.policy = DCSR_POLICY_MAX,
                                             .resolve = DCSR_RESOLVE_ON_INSERT,
                                             .maintain_transpose = true},
                       60);
    close_device();
}

/* ---- What they cost ---- */

static void put(dcsr_matrix *matrix, oracle *model, batch *b, bool insert)
{
    TEST_OK(change(matrix, b, model->type, insert));
    follow(model, b, insert);
}

/* n entries of row 7: columns from `from` on, in steps. */
static void fill_row(batch *b, size_t n, uint64_t from, uint64_t step)
{
    b->n = n;
    for (size_t i = 0; i < n; i++) {
        b->rows[i] = 7;
        b->cols[i] = from + i * step;
        b->values[i] = 5;
    }
}

static const uint32_t *place_of_row(dcsr_matrix *matrix)
{
    const uint32_t *first;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert_eq(test_pieces(view, 7, &first), 1);
    dcsr_view_destroy(view);
    return first;
}

Test(cost, of_what_is_stored_already_is_nothing)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {70};
    oracle model;
    dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_LAST);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    fill(b, &random, DCSR_INT64, 600);
    put(matrix, &model, b, true);
    const uint32_t *place = place_of_row(matrix);
    const dcsr_matrix_info before = test_info(matrix);
    put(matrix, &model, b, true);
    for (size_t i = 0; i < b->n; i++) b->cols[i] = (b->cols[i] + 1) % COLS;
    batch *others = test_allocate(1, sizeof *others);
    others->n = 0;
    for (size_t i = 0; i < b->n; i++) {
        uint64_t value;
        if (oracle_get(&model, b->rows[i], b->cols[i], &value)) continue;
        others->rows[others->n] = b->rows[i];
        others->cols[others->n++] = b->cols[i];
    }
    put(matrix, &model, others, false); /* nothing of it is there */
    cr_assert_gt(others->n, 0);
    cr_assert_eq(place_of_row(matrix), place);
    cr_assert_eq(test_info(matrix).row_rewrites, before.row_rewrites);
    cr_assert_eq(test_info(matrix).stored, before.stored);
    TEST_MATCHES(matrix, &model);
    free(b);
    free(others);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(cost, of_a_few_new_entries_is_a_tail_until_that_is_long)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    oracle model;
    dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_LAST);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    fill_row(b, 1, 0, 1);
    b->rows[0] = 3;
    put(matrix, &model, b, true); /* the first batch would leave no room */
    fill_row(b, 120, 0, 2);
    put(matrix, &model, b, true);
    const uint32_t *place = place_of_row(matrix);
    for (uint64_t i = 0; i < DCSR_CUDA_LONGEST_TAIL / 4; i++) {
        fill_row(b, 4, 239 - 2 * (4 * i + 3), 2); /* from behind, so that the tail does not ascend */
        put(matrix, &model, b, true);
        cr_assert_eq(place_of_row(matrix), place);
        cr_assert_eq(test_info(matrix).row_rewrites, 0);
    }
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    fill_row(b, 1, 1, 2);
    put(matrix, &model, b, true);
    cr_assert_neq(place_of_row(matrix), place);
    cr_assert_eq(test_info(matrix).row_rewrites, 1);
    TEST_MATCHES(matrix, &model);
    dcsr_view_destroy(before);

    place = place_of_row(matrix); /* room for one tail */
    fill_row(b, DCSR_CUDA_LONGEST_TAIL, 240, 1);
    put(matrix, &model, b, true);
    cr_assert_eq(place_of_row(matrix), place);
    b->values[3] = 6; /* one value changes, in the tail: where it is, as nobody sees the old one */
    put(matrix, &model, b, true);
    cr_assert_eq(place_of_row(matrix), place);
    TEST_MATCHES(matrix, &model);
    b->values[3] = 7; /* for those who see it the row moves */
    before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    put(matrix, &model, b, true);
    cr_assert_neq(place_of_row(matrix), place);
    TEST_MATCHES(matrix, &model);
    dcsr_view_destroy(before);
    fill_row(b, COLS, 0, 1);
    put(matrix, &model, b, false);
    cr_assert_eq(test_info(matrix).stored, 1);
    cr_assert_eq(test_info(matrix).segments, 1);
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Whole defragmentation keeps the order of rows, and so do rows of CSR; those of a resized matrix stay. */
Test(cost, is_the_same_after_all_rows_have_moved)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    oracle model;
    dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_LAST);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    for (int i = 0; i < 2; i++) {
        fill_row(b, 60, 2 * (uint64_t)i, 4);
        put(matrix, &model, b, true);
    }
    cr_assert_eq(test_info(matrix).row_rewrites, 1);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, ROWS - 1, COLS, NULL));
    oracle_resize(&model, ROWS - 1, COLS);
    fill_row(b, 1, 1, 1);
    put(matrix, &model, b, true); /* no room */
    const uint32_t *place = place_of_row(matrix);
    fill_row(b, 3, 3, 2);
    put(matrix, &model, b, true);
    cr_assert_eq(place_of_row(matrix), place);
    cr_assert_eq(test_info(matrix).row_rewrites, 2);
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* ---- In place ---- */

Test(in_place, a_row_closes_up_unless_it_is_seen_or_has_too_much_room)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    oracle model;
    held h = {0};
    dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_LAST);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    fill_row(b, 1, 0, 1);
    b->rows[0] = 3;
    put(matrix, &model, b, true); /* the first batch would leave no room */
    fill_row(b, 50, 0, 2);
    put(matrix, &model, b, true);
    fill_row(b, 5, 1, 20);
    put(matrix, &model, b, true); /* a tail */
    const uint32_t *place = place_of_row(matrix);
    for (uint64_t i = 0; i < 3; i++) { /* the first and the last one, one of the tail, some in between */
        fill_row(b, 4, i * 10, 33 - i);
        put(matrix, &model, b, false);
        cr_assert_eq(place_of_row(matrix), place);
        cr_assert_eq(test_info(matrix).row_rewrites, 0);
        cr_assert_eq(test_info(matrix).stored, oracle_nnz(&model));
        TEST_MATCHES(matrix, &model);
    }
    hold(&h, matrix, &model, 0);
    fill_row(b, 1, 98, 1);
    put(matrix, &model, b, false);
    cr_assert_eq(test_info(matrix).row_rewrites, 1);
    TEST_MATCHES(matrix, &model);
    let_go(&h, 0);

    fill_row(b, 44, 0, 2); /* few are left */
    put(matrix, &model, b, false);
    cr_assert_eq(test_info(matrix).row_rewrites, 2);
    TEST_MATCHES(matrix, &model);
    fill_row(b, COLS, 0, 1);
    put(matrix, &model, b, false);
    cr_assert_eq(test_info(matrix).stored, 1);
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Puts one entry of a row in or takes it out; returns how many rows that has moved. */
static uint64_t change_one(dcsr_matrix *matrix, oracle *model, uint64_t row, uint64_t col, bool insert)
{
    static batch one;
    const uint64_t before = test_info(matrix).row_rewrites;
    one.n = 1;
    one.rows[0] = row;
    one.cols[0] = col;
    one.values[0] = 1000 + before;
    put(matrix, model, &one, insert);
    TEST_MATCHES(matrix, model);
    return test_info(matrix).row_rewrites - before;
}

/* What a held version sees moves once, and from then on is changed where it is; until a later version is held. */
Test(in_place, what_no_held_version_sees_is_changed)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    oracle model;
    held old = {0}, later = {0};
    dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_LAST);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    fill_row(b, 1, 0, 1);
    b->rows[0] = 3;
    put(matrix, &model, b, true); /* the first batch would leave no room */
    fill_row(b, 60, 0, 2);
    put(matrix, &model, b, true);
    for (size_t i = 0; i < b->n; i++) b->rows[i] = 9;
    put(matrix, &model, b, true);
    hold(&old, matrix, &model, 0);
    cr_assert_eq(change_one(matrix, &model, 7, 0, true), 1);  /* beside the version that is held */
    cr_assert_eq(change_one(matrix, &model, 7, 2, true), 0);  /* in place: a value, */
    cr_assert_eq(change_one(matrix, &model, 7, 4, false), 0); /* one that goes, */
    cr_assert_eq(change_one(matrix, &model, 7, 5, true), 0);  /* and one that comes */
    cr_assert_eq(change_one(matrix, &model, 9, 1, true), 0);  /* behind what is seen there is room */
    cr_assert_eq(change_one(matrix, &model, 9, 4, false), 1);
    cr_assert_eq(change_one(matrix, &model, 9, 1, false), 0);
    hold(&later, matrix, &model, 0);
    cr_assert_eq(change_one(matrix, &model, 7, 6, true), 1);
    cr_assert_eq(change_one(matrix, &model, 9, 6, true), 1);
    cr_assert_eq(change_one(matrix, &model, 9, 8, false), 0);
    let_go(&old, 0); /* what the later one sees is still seen */
    cr_assert_eq(change_one(matrix, &model, 7, 8, true), 0);
    let_go(&later, 0);
    cr_assert_eq(change_one(matrix, &model, 7, 10, true), 0);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Pages that are not there yet cannot be changed: a batch of few, and one of many, makes them; the next one changes
 * them. */
Test(in_place, pages_that_are_missing_are_made)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    for (int many = 0; many < 2; many++) {
        oracle model;
        dcsr_matrix *matrix = merging(DCSR_INT64, DCSR_POLICY_SUM);
        oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
        fill_row(b, 20, 0, 2);
        for (int i = 0; i < 2; i++) {
            put(matrix, &model, b, true); /* again: in place */
            TEST_MATCHES(matrix, &model);
        }
        fill_row(b, many ? COLS : 3, 0, 1);
        for (size_t i = 0; i < b->n; i++) b->rows[i] = i % 2 ? ROWS - 1 : 7;
        put(matrix, &model, b, true);
        TEST_MATCHES(matrix, &model);
        put(matrix, &model, b, false);
        TEST_MATCHES(matrix, &model);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    free(b);
    close_device();
}

typedef struct reader {
    dcsr_matrix *matrix;
    atomic_bool stops;
    bool differs; /* rows have been seen that are not alike */
} reader;

/* Looks at version after version, in each of which all rows are alike. */
static void *compare_rows(void *argument)
{
    reader *r = argument;
    while (!atomic_load(&r->stops)) {
        uint32_t first[COLS], other[COLS];
        uint64_t length, n;
        dcsr_view *view = test_view(r->matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_view_get_row(view, 0, COLS, first, NULL, &length));
        for (uint64_t row = 1; row < ROWS; row += 23) {
            TEST_OK(dcsr_view_get_row(view, row, COLS, other, NULL, &n));
            r->differs |= n != length || memcmp(first, other, n * sizeof *first);
        }
        dcsr_view_destroy(view);
    }
    return NULL;
}

Test(in_place, readers_see_all_of_a_batch_or_nothing)
{
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    pthread_t thread;
    reader r = {.matrix = merging(DCSR_PATTERN, DCSR_POLICY_LAST)};
    oracle model;
    held old = {0}; /* over some batches */
    oracle_create(&model, DCSR_PATTERN, DCSR_POLICY_LAST, ROWS, COLS);
    cr_assert(!pthread_create(&thread, NULL, compare_rows, &r));
    for (uint64_t i = 0; i < TEST_VARIANT(60, 20, 10); i++) {
        if (i % 8 == 3) hold(&old, r.matrix, &model, 0);
        if (i % 8 == 1 && old.view) let_go(&old, 0), old.view = NULL;
        b->n = (i % 2 ? 1 : 4) * ROWS; /* four columns come, and one of them goes */
        for (size_t k = 0; k < b->n; k++)
            b->rows[k] = k % ROWS, b->cols[k] = (i / 2 * 7 + k / ROWS * 5) % COLS;
        put(r.matrix, &model, b, i % 2 == 0);
    }
    atomic_store(&r.stops, true);
    pthread_join(thread, NULL);
    cr_assert(!r.differs);
    if (old.view) let_go(&old, 0);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(r.matrix);
    close_device();
}

/* ---- Long rows ---- */

/* A row of many tiles and some blocks of threads, beside short ones; what it gets is spread over it. */
Test(hub, takes_what_any_row_takes)
{
    enum { LONG = 6000 };
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM, .resolve = DCSR_RESOLVE_ON_INSERT};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_INT32, 3, 2 * LONG, &options));
    uint64_t *rows = test_allocate(LONG, sizeof *rows), *cols = test_allocate(LONG, sizeof *cols);
    int32_t *values = test_allocate(LONG, sizeof *values);
    oracle model;
    oracle_create(&model, DCSR_INT32, DCSR_POLICY_SUM, 3, 2 * LONG);
    test_random random = {80};
    for (int round = 0; round < 6; round++) {
        static const size_t sizes[] = {LONG, 3, 1000, 1500, 1, 300};
        for (size_t i = 0; i < sizes[round]; i++) {
            rows[i] = test_random_below(&random, 50) ? 1 : 2;
            cols[i] = test_random_below(&random, 2 * LONG);
            values[i] = (int32_t)test_random_below(&random, 9);
        }
        if (round == 3) {
            TEST_OK(dcsr_matrix_remove(matrix, sizes[round], rows, cols, NULL));
            oracle_remove(&model, sizes[round], rows, cols);
        } else {
            TEST_OK(dcsr_matrix_insert(matrix, sizes[round], rows, cols, values, NULL));
            oracle_insert(&model, sizes[round], rows, cols, values);
        }
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_MATCHES(matrix, &model);
        cr_assert_eq(test_info(matrix).unresolved_rows, 0);
    }
    free(rows);
    free(cols);
    free(values);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* ---- Failures ---- */

/* Lets the n-th allocation and all later ones fail, for n = 0, 1, ..., until the batch is applied. Whatever
 * happens, the version before is shown as it was, and resolved; so is an older one that is held, with or without it. */
static void run_short(void (*fail_after)(long n), dcsr_resolution before, bool insert, bool older)
{
    oracle model;
    held h;
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {90};
    dcsr_matrix *matrix =
        matrix_of(DCSR_INT64, (dcsr_matrix_options){.policy = DCSR_POLICY_SUM, .resolve = before});
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    for (int i = 0; i < 3; i++) {
        fill(b, &random, DCSR_INT64, 400);
        put(matrix, &model, b, true);
    }
    hold(&h, matrix, &model, before == DCSR_RESOLVE_ON_INSERT ? 0 : DCSR_VIEW_DUPLICATES);
    for (size_t row = 0; older && row < 2; row++) { /* one of two pages is copied */
        fill_row(b, 3, row, 9);
        put(matrix, &model, b, row == 0);
    }
    if (before == DCSR_RESOLVE_AUTO) dcsr_view_destroy(test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_ticket *ticket = NULL;
        cr_assert(n < 1000, "it never succeeds");
        fill(b, &random, DCSR_INT64, 300);
        send(b, DCSR_INT64, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        fail_after(n);
        status = give(matrix, b, DCSR_INT64, insert, dcsr_i_cuda_handle(stream), &ticket);
        status = waited(status, ticket);
        fail_after(-1);
        spoil(b, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_OK(dcsr_matrix_wait(matrix));
        if (status == DCSR_OK)
            follow(&model, b, insert);
        else
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
        held now;
        hold(&now, matrix, &model, 0);
        let_go(&now, 0);
    }
    let_go(&h, before == DCSR_RESOLVE_ON_INSERT ? 0 : DCSR_VIEW_DUPLICATES);
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

Test(memory, may_be_lacking_at_every_step_of_merging)
{
    open_device();
    NEEDS_GPU();
    run_short(dcsr_i_fail_allocations_after, DCSR_RESOLVE_ON_INSERT, true, false);
    run_short(dcsr_i_fail_allocations_after, DCSR_RESOLVE_ON_INSERT, false, true);
    if (!TEST_THREAD_SANITIZER) {
        run_short(dcsr_i_fail_allocations_after, DCSR_RESOLVE_ON_INSERT, true, true);
        run_short(dcsr_i_fail_allocations_after, DCSR_RESOLVE_ON_INSERT, false, false);
        run_short(dcsr_i_fail_allocations_after, DCSR_RESOLVE_AUTO, true, false);
    }
    close_device();
}
