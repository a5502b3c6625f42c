/* test_durable_tags.c: tags of batches: with what they are kept, and where they come back. */
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>

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
