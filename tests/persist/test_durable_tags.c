/* test_durable_tags.c: tags of batches: with what they are kept, and where they come back. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>
#include <stdlib.h>

static void expect_tag(const durable_place *p, uint64_t position, uint64_t mark)
{
    dcsr_tag tag;
    bool known;
    TEST_OK(dcsr_store_get_tag(p->store, "a", &tag, &known));
    cr_assert(known && tag.position == position && tag.mark == mark, "%llu, %llu",
              (unsigned long long)tag.position, (unsigned long long)tag.mark);
}

static void insert_tagged(dcsr_matrix *matrix, uint64_t n, uint64_t position)
{
    static const uint64_t rows[] = {1, 2, 3}, cols[] = {4, 5, 6};
    static const double values[] = {1, 1, 1};
    TEST_OK(
        dcsr_matrix_insert_tagged(matrix, n, rows, cols, values, &(dcsr_tag){position, 2 * position}, NULL));
}

Test(durable_tags, tag_is_that_of_the_last_batch)
{
    durable_place p = durable_open_place();
    dcsr_tag tag;
    bool known;
    dcsr_store_info info;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 2, 3});
    TEST_OK(dcsr_store_get_tag(p.store, "a", &tag, &known));
    cr_assert(!known && !tag.position);
    TEST_OK(dcsr_store_get_info(p.store, &info));
    cr_assert_eq(info.format, 1);
    insert_tagged(matrix, 3, 10);
    insert_tagged(matrix, 2, 20);
    TEST_OK(dcsr_matrix_wait(matrix));
    expect_tag(&p, 20, 40);
    TEST_OK(dcsr_store_get_info(p.store, &info));
    cr_assert_eq(info.format, 2);
    insert_tagged(matrix, 0, 30);
    TEST_OK(dcsr_matrix_wait(matrix));
    expect_tag(&p, 30, 60);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, 30, 60);
    TEST_INSERT(matrix, {1, 2, 3});
    expect_tag(&p, 30, 60);
    static const uint64_t row = 1, col = 4;
    TEST_OK(dcsr_matrix_remove_tagged(matrix, 1, &row, &col, &(dcsr_tag){40, 80}, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    durable_reopen(&p);
    expect_tag(&p, 40, 80);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS(matrix, {1, 2, 6}, {2, 5, 2}, {3, 6, 1});
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    dcsr_matrix_destroy(matrix);
    expect_tag(&p, 40, 80);
    durable_close_place(&p);
}

static void expect_none(const durable_place *p)
{
    dcsr_tag tag;
    bool known;
    TEST_OK(dcsr_store_get_tag(p->store, "a", &tag, &known));
    cr_assert(!known && !tag.position && !tag.mark);
}

/* Into a row that is there, where one entry without a tag would be written in place. */
Test(durable_tags, one_entry_carries_a_tag_too)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = test_matrix(p.context, DCSR_FP64, 10, 10, DCSR_POLICY_SUM);
    insert_tagged(matrix, 3, 5);
    insert_tagged(matrix, 1, 6);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, 6, 12);
    static const uint64_t row = 1, col = 4;
    TEST_OK(dcsr_matrix_remove_tagged(matrix, 1, &row, &col, &(dcsr_tag){7, 14}, NULL));
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, 7, 14);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable_tags, each_version_has_its_own)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = test_matrix(p.context, DCSR_FP64, 10, 10, DCSR_POLICY_SUM), *restored;
    dcsr_version_info info;
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_none(&p);
    insert_tagged(matrix, 1, 5);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, 5, 10);
    insert_tagged(matrix, 0, 6); /* the tag alone */
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &info));
    cr_assert(info.version == 3 && !info.written_bytes);
    expect_tag(&p, 6, 12);
    static const uint64_t tags[] = {0, 5, 6};
    for (uint64_t version = 1; version <= 3; version++) {
        TEST_OK(dcsr_store_restore(&restored, p.context, p.store, "a", version, NULL));
        TEST_INSERT(restored, {1, 1, (double)version});
        TEST_OK(dcsr_store_snapshot(p.store, "a", restored, NULL));
        if (tags[version - 1])
            expect_tag(&p, tags[version - 1], 2 * tags[version - 1]);
        else
            expect_none(&p);
        dcsr_matrix_destroy(restored);
    }
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* One that is looked at, too, has the tag, and its snapshot under another name. */
Test(durable_tags, goes_with_what_is_recovered)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "b", NULL), *seen;
    insert_tagged(matrix, 2, 7);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_recover(&seen, p.context, p.store, "b", NULL, NULL));
    TEST_OK(dcsr_store_snapshot(p.store, "a", seen, NULL));
    expect_tag(&p, 7, 14);
    dcsr_matrix_destroy(seen);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable_tags, stays_where_an_operation_replaces_what_is_there)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL),
                *one = test_matrix(p.context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    TEST_INSERT(one, {0, 0, 1});
    insert_tagged(matrix, 3, 8);
    dcsr_view *view = test_view(one, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_apply(matrix, NULL, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64),
                              dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view, NULL));
    dcsr_view_destroy(view);
    expect_tag(&p, 8, 16);
    TEST_OK(dcsr_matrix_resize(matrix, 20, 20, NULL));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, 8, 16);
    dcsr_matrix_destroy(one);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* What the log could not be told of is in the next snapshot, with its tag. */
Test(durable_tags, comes_with_a_snapshot_after_a_full_log)
{
    enum { LARGE = 30000 };
    durable_place p = durable_open_place();
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.max_bytes = 1 << 20}));
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    uint64_t *places = calloc(LARGE, sizeof *places), kept = 0, given = 0;
    double *values = calloc(LARGE, sizeof *values);
    for (dcsr_status status = DCSR_OK; status == DCSR_OK && given < 100;) {
        dcsr_ticket *ticket;
        given++;
        TEST_OK(dcsr_matrix_insert_tagged(matrix, LARGE, places, places, values,
                                          &(dcsr_tag){given, 2 * given}, &ticket));
        status = dcsr_ticket_wait(ticket);
        dcsr_ticket_destroy(ticket);
        kept += status == DCSR_OK;
    }
    cr_assert(kept && kept + 1 == given, "%llu", (unsigned long long)kept);
    expect_tag(&p, kept, 2 * kept);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    expect_tag(&p, given, 2 * given);
    insert_tagged(matrix, 1, given + 1);
    TEST_OK(dcsr_matrix_wait(matrix));
    expect_tag(&p, given + 1, 2 * given + 2);
    dcsr_matrix_destroy(matrix);
    free(places);
    free(values);
    durable_close_place(&p);
}

Test(durable_tags, a_batch_that_fails_moves_none)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    const uint64_t inside = 1, outside = 10;
    const double value = 1;
    insert_tagged(matrix, 1, 3);
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                dcsr_matrix_insert_tagged(matrix, 1, &outside, &inside, &value, &(dcsr_tag){4, 8}, NULL));
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                dcsr_matrix_remove_tagged(matrix, 1, &inside, &outside, &(dcsr_tag){4, 8}, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    expect_tag(&p, 3, 6);
    uint64_t safe = 3;
    for (long n = 0, calm = 0; calm < 3; n++) {
        dcsr_ticket *ticket;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_matrix_insert_tagged(matrix, 1, &inside, &inside, &value,
                                                       &(dcsr_tag){safe + 1, 2 * safe + 2}, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        dcsr_ticket_destroy(ticket);
        safe += status == DCSR_OK;
        calm = status == DCSR_OK ? calm + 1 : 0;
        if (status != DCSR_ERROR_NOT_DURABLE) expect_tag(&p, safe, 2 * safe);
    }
    TEST_OK(dcsr_matrix_insert_tagged(matrix, 1, &inside, &inside, &value, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    expect_tag(&p, safe, 2 * safe);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}
