/* test_store_names.c: dictionaries beside matrices, and tags, after a store was closed and opened again. */
#include "persist/store_data.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

/* The text of number i: short ones, and now and then a long one. */
enum { LONGEST_TEXT = 9000 };
static dcsr_text text_of(uint64_t i, char room[LONGEST_TEXT])
{
    size_t length = (size_t)snprintf(room, 32, "name %llu", (unsigned long long)i);
    size_t more = i % 97 == 5 ? i * 37 % (LONGEST_TEXT - 32) : 0;
    memset(room + length, (int)(i % 251), more);
    return (dcsr_text){room, length + more};
}

static dcsr_names *open_names(const durable_place *p, const char *name)
{
    dcsr_names *names;
    TEST_OK(dcsr_store_open_names(&names, p->context, p->store, name));
    return names;
}

static uint64_t count_of(dcsr_names *names)
{
    uint64_t count;
    TEST_OK(dcsr_names_get_count(names, &count));
    return count;
}

static void add_names(dcsr_names *names, uint64_t first, uint64_t end)
{
    char room[LONGEST_TEXT];
    for (uint64_t i = first, id; i < end; i++) {
        dcsr_text text = text_of(i, room);
        TEST_OK(dcsr_names_add(names, 1, &text, &id));
        cr_assert_eq(id, i);
    }
}

/* That names 0 to count - 1 are those of text_of(). */
static void expect_names(dcsr_names *names, uint64_t count)
{
    char room[LONGEST_TEXT];
    cr_assert_eq(count_of(names), count);
    for (uint64_t i = 0, id; i < count; i++) {
        dcsr_text text = text_of(i, room), got;
        TEST_OK(dcsr_names_get(names, 1, &i, &got));
        cr_assert(got.length == text.length && !memcmp(got.bytes, text.bytes, text.length));
        TEST_OK(dcsr_names_find(names, 1, &text, &id));
        cr_assert_eq(id, i);
    }
}

static uint64_t stored_names(const durable_place *p, const char *name)
{
    uint64_t names;
    TEST_OK(dcsr_store_get_name_count(p->store, name, &names));
    return names;
}

static dcsr_store_check verify(const durable_place *p)
{
    dcsr_store_check check;
    TEST_OK(dcsr_store_verify(p->store, NULL, NULL, &check));
    cr_assert_eq(check.corrupt, 0);
    return check;
}

Test(store_names, are_written_with_the_next_batch)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    cr_assert_eq(count_of(names), 0);
    for (uint64_t i = 0; i < 300; i += 100) {
        add_names(names, i, i + 100);
        cr_assert_eq(stored_names(&p, "a"), i);
        TEST_INSERT(matrix, {1, 2, 3});
        cr_assert_eq(stored_names(&p, "a"), i + 100);
    }
    cr_assert_eq(verify(&p).names, 300);
    add_names(names, 300, 310);
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    durable_reopen(&p);
    names = open_names(&p, "a");
    expect_names(names, 300);
    add_names(names, 300, 301);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 2, 3});
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    durable_reopen(&p);
    names = open_names(&p, "a");
    expect_names(names, 301);
    dcsr_names_destroy(names);
    verify(&p);
    durable_close_place(&p);
}

/* ---- Tags ---- */

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

Test(store_names, tag_is_that_of_the_last_batch)
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
    verify(&p);
    durable_close_place(&p);
}
