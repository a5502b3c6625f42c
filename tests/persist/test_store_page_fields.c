/* test_store_page_fields.c: each kind of damage in a page of LMDB's is found and called by its name. */
#include "persist/page_scan.h"
#include "persist/pages.h"
#include "tests/support/support_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, KEYS = 300, LONG_VALUE = 9000, NODE = 8 };

/* The file of an environment with one database: a branch page with leaves below, a value in a run, and a list
 * of free pages; and pointers to what the cases change. */
typedef struct layout {
    char *data;
    size_t bytes;
    dcsr_i_meta *newest, *older;
    dcsr_i_page_head *main, *branch, *leaf, *run, *free;
    dcsr_i_tree_record *record; /* of the database */
    char *run_page;             /* in the node of the value */
    uint64_t *free_list;
} layout;

static void *page(const layout *l, uint64_t number)
{
    return l->data + number * PAGE;
}

/* A node of a page: where its place is, and itself: four numbers, the key, the value. */
static uint16_t *place_of(dcsr_i_page_head *head, unsigned i)
{
    return (uint16_t *)(head + 1) + i;
}
static uint16_t *node_of(dcsr_i_page_head *head, unsigned i)
{
    return (uint16_t *)((char *)head + *place_of(head, i));
}
static char *key_of(dcsr_i_page_head *head, unsigned i)
{
    return (char *)node_of(head, i) + NODE;
}
static void *value_of(dcsr_i_page_head *head, unsigned i)
{
    return key_of(head, i) + node_of(head, i)[3];
}

static void make_environment(const char *path)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi database;
    static char zeros[LONG_VALUE];
    cr_assert(!mdb_env_create(&env) && !mdb_env_set_maxdbs(env, 1) && !mdb_env_open(env, path, 0, 0666));
    for (int t = 0; t < 4; t++) { /* each transaction frees what the one before had written */
        cr_assert(!mdb_txn_begin(env, NULL, 0, &txn) &&
                  !mdb_dbi_open(txn, "database", MDB_CREATE, &database));
        for (int k = 0; k < KEYS; k++) {
            char name[16];
            snprintf(name, sizeof name, "key %06d", 2 * k);
            MDB_val key = {strlen(name), name}, value = {k ? 20 : LONG_VALUE, zeros};
            cr_assert(!mdb_put(txn, database, &key, &value, 0));
        }
        cr_assert(!mdb_txn_commit(txn));
    }
    mdb_env_close(env);
}

static void find_layout(layout *l)
{
    dcsr_i_meta *metas[2] = {(dcsr_i_meta *)(l->data + 16), (dcsr_i_meta *)(l->data + PAGE + 16)};
    int newer = metas[0]->txn < metas[1]->txn;
    l->newest = metas[newer];
    l->older = metas[!newer];
    l->main = page(l, l->newest->main_tree.root);
    l->free = page(l, l->newest->free_tree.root);
    l->record = value_of(l->main, 0);
    l->branch = page(l, l->record->root);
    l->leaf = page(l, node_of(l->branch, 0)[0]);
    l->run_page = value_of(l->leaf, 0);
    uint64_t first;
    memcpy(&first, l->run_page, sizeof first);
    l->run = page(l, first);
    l->free_list = value_of(l->free, 0);
    cr_assert(l->branch->kind == DCSR_I_BRANCH_PAGE && l->leaf->kind == DCSR_I_LEAF_PAGE &&
              l->run->kind == DCSR_I_RUN_PAGE && l->free_list[0] > 2);
}

/* ---- The cases ---- */

static void number(layout *l)
{
    l->leaf->number++;
}
static void kind(layout *l)
{
    l->leaf->kind = DCSR_I_BRANCH_PAGE;
}
static void no_nodes(layout *l)
{
    l->leaf->lower = sizeof *l->leaf;
}
static void bounds(layout *l)
{
    l->leaf->upper = l->leaf->lower - 2;
}
static void beyond_page(layout *l)
{
    l->leaf->upper = PAGE + 2;
}
static void place(layout *l)
{
    *place_of(l->leaf, 3) = PAGE - 4;
}
static void odd_place(layout *l)
{
    (*place_of(l->leaf, 3))++;
}
static void same_place(layout *l)
{
    *place_of(l->leaf, 3) = *place_of(l->leaf, 2);
}
static void long_node(layout *l)
{
    node_of(l->leaf, 3)[1] = 1;
}
static void long_key(layout *l)
{
    node_of(l->leaf, 0)[3] = 512;
}
static void no_key(layout *l)
{
    node_of(l->branch, 1)[3] = 0;
}
static void gap(layout *l)
{
    l->leaf->upper -= 2;
}
static void node_kind(layout *l)
{
    node_of(l->leaf, 3)[2] = 4;
}
static void order(layout *l)
{
    key_of(l->leaf, 3)[4] = '9';
}
static void below_separator(layout *l)
{
    key_of(page(l, node_of(l->branch, 1)[0]), 0)[0] = 'a';
}
static void separator(layout *l)
{
    key_of(l->branch, 2)[0] = 'z';
}
static void child(layout *l)
{
    node_of(l->branch, 1)[1] = 1;
}
static void child_twice(layout *l)
{
    node_of(l->branch, 1)[0] = node_of(l->branch, 2)[0];
}
static void run_outside(layout *l)
{
    l->run_page[4] = 1;
}
static void run_number(layout *l)
{
    l->run->number++;
}
static void run_kind(layout *l)
{
    l->run->kind = DCSR_I_LEAF_PAGE;
}
static void run_short(layout *l)
{
    l->run->run--;
}
static void run_long(layout *l)
{
    l->run->run++;
}
static void entries(layout *l)
{
    l->record->entries++;
}
static void depth(layout *l)
{
    l->record->depth--;
}
static void no_depth(layout *l)
{
    l->record->depth = 0;
}
static void deep(layout *l)
{
    l->record->depth = 40000;
}
static void leaves(layout *l)
{
    l->record->leaves--;
}
static void branches(layout *l)
{
    l->record->branches++;
}
static void run_pages(layout *l)
{
    l->record->run_pages++;
}
static void sorted_other(layout *l)
{
    l->record->flags = 4;
}
static void stranger(layout *l)
{
    node_of(l->main, 0)[2] = 0;
}
static void free_count(layout *l)
{
    l->free_list[0] += 600;
}
static void free_order(layout *l)
{
    l->free_list[1] = l->free_list[2];
}
static void free_used(layout *l)
{
    l->free_list[1] = l->record->root;
}
static void free_meta(layout *l)
{
    l->free_list[l->free_list[0]] = 1;
}
static void free_later(layout *l)
{
    *key_of(l->free, (l->free->lower - sizeof *l->free) / 2u - 1) = 99;
}
static void magic(layout *l)
{
    l->older->magic++;
}
static void format(layout *l)
{
    l->older->version = 2;
}
static void page_size(layout *l)
{
    ((dcsr_i_meta *)(l->data + 16))->free_tree.unused = 0;
}
static void other_page_size(layout *l)
{
    ((dcsr_i_meta *)(l->data + PAGE + 16))->free_tree.unused = 512;
}
static void last_page(layout *l)
{
    l->newest->last_page = (uint64_t)1 << 50;
}
static void no_last_page(layout *l)
{
    l->newest->last_page = l->record->root - 1;
}
static void later_last_page(layout *l)
{
    l->newest->last_page += 1000;
}
static void newest_lost(layout *l)
{
    l->newest->txn = 0;
}
static void older_wins(layout *l)
{
    l->older->txn += 256;
}
/* One flipped bit, and both numbers still follow one another. */
static void newest_is_older(layout *l)
{
    l->newest->txn -= 2;
}
static void older_is_newest(layout *l)
{
    l->older->txn += 2;
}
static void root(layout *l)
{
    l->newest->main_tree.root = 1;
}

typedef struct damage_case {
    const char *name;
    void (*change)(layout *);
    const char *words;
} damage_case;
#define CASE(function, words)      \
    {                              \
#function, function, words \
    }

static const damage_case cases[] = {
    CASE(number, "another page's number"),
    CASE(kind, "another kind"),
    CASE(no_nodes, "bounds"),
    CASE(bounds, "bounds"),
    CASE(beyond_page, "bounds"),
    CASE(place, "outside of it"),
    CASE(odd_place, "outside of it"),
    CASE(same_place, "overlap"),
    CASE(long_node, "longer than it"),
    CASE(long_key, "too long"),
    CASE(no_key, "gaps"),
    CASE(gap, "gaps"),
    CASE(node_kind, "unknown kind"),
    CASE(order, "not in order"),
    CASE(below_separator, "too small"),
    CASE(separator, "too small"),
    CASE(child, "not in use"),
    CASE(child_twice, "not in order"),
    CASE(run_outside, "not in use"),
    CASE(run_number, "head of the run"),
    CASE(run_kind, "head of the run"),
    CASE(run_short, "head of the run"),
    CASE(run_long, "something else has"),
    CASE(entries, "more or less"),
    CASE(depth, "another kind"),
    CASE(no_depth, "wrong depth"),
    CASE(deep, "wrong depth"),
    CASE(leaves, "more or less"),
    CASE(branches, "more or less"),
    CASE(run_pages, "more or less"),
    CASE(sorted_other, "unknown kind"),
    CASE(stranger, "among the databases"),
    CASE(free_count, "longer than its place"),
    CASE(free_order, "not in order"),
    CASE(free_used, "something else has"),
    CASE(free_meta, "not in use"),
    CASE(free_later, "another transaction"),
    CASE(magic, ""), /* which of the two it is decides about the words */
    CASE(format, ""),
    CASE(page_size, "a size that they cannot have"),
    CASE(other_page_size, "the other of the first two"),
    CASE(last_page, "more pages than there can be"),
    CASE(no_last_page, "not in use"),
    CASE(later_last_page, "shorter than it says"),
    CASE(newest_lost, "transaction"),
    CASE(older_wins, "transaction"),
    CASE(newest_is_older, "another transaction"),
    CASE(older_is_newest, "another transaction"),
    CASE(root, "not in use"),
};

/* The check of the file, then, as LMDB would open it, of its trees. */
static dcsr_status check(const char *path)
{
    dcsr_store store = {.path = (char *)path};
    MDB_txn *txn;
    dcsr_status status = dcsr_i_pages_check_file(path);
    if (status != DCSR_OK) return status;
    cr_assert(!mdb_env_create(&store.env) && !mdb_env_open(store.env, path, MDB_RDONLY, 0666) &&
              !mdb_txn_begin(store.env, NULL, MDB_RDONLY, &txn));
    status = dcsr_i_pages_check_all(&store, txn);
    mdb_txn_abort(txn);
    mdb_env_close(store.env);
    return status;
}

Test(store_page_fields, each_kind_of_damage_is_found_and_named)
{
    char *path = store_new_folder();
    layout l;
    make_environment(path);
    char *whole = store_read_file(path, "data.mdb", &l.bytes);
    TEST_OK(check(path));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        l.data = test_copy(whole, l.bytes);
        find_layout(&l);
        cases[c].change(&l);
        cr_assert(memcmp(l.data, whole, l.bytes), "%s changes nothing", cases[c].name);
        store_write_file(path, "data.mdb", l.data, l.bytes);
        dcsr_status status = check(path);
        cr_assert(status == DCSR_ERROR_CORRUPT || (!*cases[c].words && status == DCSR_ERROR_FORMAT), "%s: %s",
                  cases[c].name, dcsr_status_name(status));
        cr_assert(test_says(cases[c].words) && test_says("data.mdb"), "%s: \"%s\" lacks \"%s\"",
                  cases[c].name, dcsr_thread_error(), cases[c].words);
        free(l.data);
    }
    free(whole);
    store_remove_folder(path);
}
