/* page_scan.c: follows the trees in LMDB's file, with every number checked before it is used. */
#include "persist/page_scan.h"
#include "dcsr/base/alloc.h"
#include <lmdb.h>
#include <string.h>

/* Flags of a leaf's node; of the free tree, where other trees have none. */
enum { VALUE_IN_RUN = 1, VALUE_IS_TREE = 2 };
enum { FIXED_ADDRESS = 1, BY_NUMBER = 8, NO_FOLDER = 0x4000 };
enum { NODE = 8, LONGEST_KEY = 511, MOST_LEVELS = 32 };
enum { FIRST_FREEING = 2 }; /* the first transaction that finds something to replace */
static const uint64_t no_page = UINT64_MAX;

typedef enum tree_kind { FREE_TREE, MAIN_TREE, DATABASE } tree_kind;

typedef struct tree {
    tree_kind kind;
    dcsr_i_tree_record seen; /* what has been counted */
} tree;

typedef struct node {
    MDB_val key, value;
    uint64_t child; /* of a branch */
    unsigned flags; /* of a leaf's */
    size_t bytes;   /* in the page */
} node;

dcsr_status dcsr_i_page_damaged(const dcsr_i_page_scan *w, uint64_t page, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_CORRUPT,
                       "%s/data.mdb: page %llu is damaged: %s; restore the store from a backup", w->path,
                       (unsigned long long)page, what);
}

static dcsr_i_page_head head_of(const unsigned char *page)
{
    dcsr_i_page_head result;
    memcpy(&result, page, sizeof result);
    return result;
}

static uint64_t number_at(const void *place)
{
    uint64_t number;
    memcpy(&number, place, sizeof number);
    return number;
}

/* Sets bits from begin to before end; false when one is set already. */
static bool mark(uint64_t *bits, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        uint64_t stop = (begin / 64 + 1) * 64, *word = &bits[begin / 64];
        if (stop > end) stop = end;
        uint64_t mask = UINT64_MAX >> (64 - (stop - begin)) << begin % 64;
        if (*word & mask) return false;
        *word |= mask;
        begin = stop;
    }
    return true;
}

/* Marks pages that the page `by` names; nothing else may have named them. */
static dcsr_status reach(dcsr_i_page_scan *w, uint64_t by, uint64_t first, uint64_t count)
{
    if (first < DCSR_I_METAS || first >= w->pages || count > w->pages - first)
        return dcsr_i_page_damaged(w, by, "it names a page that is not in use");
    return mark(w->reached, first, first + count)
               ? DCSR_OK
               : dcsr_i_page_damaged(w, by, "it names a page that something else has");
}

/* The node at a place where there is room for its first 8 bytes; the others may not be there yet. */
static node node_at(const unsigned char *place, bool leaf)
{
    uint16_t field[4];
    memcpy(field, place, sizeof field);
    uint64_t number = field[0] | (uint64_t)field[1] << 16;
    node result = {.key = {field[3], (void *)(place + NODE)}};
    size_t inside = 0;
    if (leaf) {
        result.flags = field[2];
        result.value = (MDB_val){number, (void *)(place + NODE + field[3])};
        inside = field[2] & VALUE_IN_RUN ? sizeof number : number;
    } else {
        result.child = number | (uint64_t)field[2] << 32;
    }
    result.bytes = (NODE + field[3] + inside + 1) & ~(size_t)1;
    return result;
}

static node node_of(const unsigned char *page, unsigned i, bool leaf)
{
    uint16_t place;
    memcpy(&place, page + sizeof(dcsr_i_page_head) + i * sizeof place, sizeof place);
    return node_at(page + place, leaf);
}

/* Nodes fill the page from `upper` to its end, each byte in one of them. */
static dcsr_status check_nodes(const dcsr_i_page_scan *w, uint64_t number, unsigned count, size_t upper,
                               bool leaf)
{
    /* A bit for two bytes, as nodes begin at even places. */
    uint64_t taken[DCSR_I_LONGEST_PAGE / 2 / 64] = {0};
    const unsigned char *page = dcsr_i_page_at(w, number);
    size_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        uint16_t place;
        memcpy(&place, page + sizeof(dcsr_i_page_head) + i * sizeof place, sizeof place);
        if (place % 2 || place < upper || w->page_bytes - NODE < place)
            return dcsr_i_page_damaged(w, number, "a node is outside of it");
        node n = node_at(page + place, leaf);
        if (n.bytes > w->page_bytes - place)
            return dcsr_i_page_damaged(w, number, "a node is longer than it");
        if (!mark(taken, place / 2u, (place + n.bytes) / 2))
            return dcsr_i_page_damaged(w, number, "nodes overlap");
        sum += n.bytes;
        if (n.key.mv_size > LONGEST_KEY) return dcsr_i_page_damaged(w, number, "a key is too long");
    }
    return sum == w->page_bytes - upper ? DCSR_OK
                                        : dcsr_i_page_damaged(w, number, "there are gaps between its nodes");
}

/* Head and nodes of a page of a tree; *count of these. Keys of the free tree are numbers. */
static dcsr_status check_page(const dcsr_i_page_scan *w, tree *t, uint64_t number, bool leaf, unsigned *count)
{
    dcsr_i_page_head h = head_of(dcsr_i_page_at(w, number));
    if (h.number != number) return dcsr_i_page_damaged(w, number, "it has another page's number");
    if (h.kind != (leaf ? DCSR_I_LEAF_PAGE : DCSR_I_BRANCH_PAGE))
        return dcsr_i_page_damaged(w, number, "it is of another kind");
    if (h.lower % 2 || h.upper % 2 || h.lower <= sizeof h || h.lower > h.upper || h.upper > w->page_bytes)
        return dcsr_i_page_damaged(w, number, "its bounds are wrong");
    *count = (unsigned)(h.lower - sizeof h) / 2;
    if (!leaf && *count < 2 && t->kind != FREE_TREE)
        return dcsr_i_page_damaged(w, number, "it has fewer than two pages below it");
    DCSR_TRY(check_nodes(w, number, *count, h.upper, leaf));
    for (unsigned i = leaf ? 0 : 1; i < *count; i++) {
        size_t size = node_of(dcsr_i_page_at(w, number), i, leaf).key.mv_size;
        if (!size || (t->kind == FREE_TREE && size != sizeof(uint64_t)))
            return dcsr_i_page_damaged(w, number, "a key has a wrong length");
    }
    if (leaf)
        t->seen.leaves++, t->seen.entries += *count;
    else
        t->seen.branches++;
    return DCSR_OK;
}

static int compare(const tree *t, const MDB_val *a, const MDB_val *b)
{
    if (t->kind == FREE_TREE) {
        uint64_t x = number_at(a->mv_data), y = number_at(b->mv_data);
        return (x > y) - (x < y);
    }
    size_t shorter = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int order = memcmp(a->mv_data, b->mv_data, shorter);
    return order ? order : (a->mv_size > b->mv_size) - (a->mv_size < b->mv_size);
}

/* A value in a run; *data is where it begins, behind the run's head. A run is longer than need be where its
 * value was replaced by a shorter one in the transaction that made it; only the head knows. */
static dcsr_status check_run(dcsr_i_page_scan *w, tree *t, uint64_t number, const node *n,
                             const unsigned char **data)
{
    uint64_t first = number_at(n->value.mv_data);
    uint64_t count = (sizeof(dcsr_i_page_head) - 1 + n->value.mv_size) / w->page_bytes + 1;
    size_t longest = (((w->page_bytes - sizeof(dcsr_i_page_head)) / 2) & ~(size_t)1) - sizeof(uint16_t);
    bool fits = NODE + n->key.mv_size + n->value.mv_size <= longest;
    if (first >= w->pages) return dcsr_i_page_damaged(w, number, "it names a page that is not in use");
    if (w->heads || t->kind == FREE_TREE || fits) {
        dcsr_i_page_head h = head_of(dcsr_i_page_at(w, first));
        if (h.number != first || h.kind != DCSR_I_RUN_PAGE || h.run < count)
            return dcsr_i_page_damaged(w, first, "it is not the head of the run that it should be");
        count = h.run;
    }
    DCSR_TRY(reach(w, number, first, count));
    t->seen.run_pages += count;
    *data = dcsr_i_page_at(w, first) + sizeof(dcsr_i_page_head);
    return DCSR_OK;
}

/* A list of free pages: how many, then their numbers, the highest first. */
static dcsr_status check_free_pages(dcsr_i_page_scan *w, uint64_t number, const unsigned char *list,
                                    size_t size)
{
    uint64_t count = size < sizeof count ? UINT64_MAX : number_at(list), before = UINT64_MAX;
    if (size % sizeof count || count >= size / sizeof count)
        return dcsr_i_page_damaged(w, number, "a list of free pages is longer than its place");
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = number_at(list + i * sizeof page);
        if (page >= before) return dcsr_i_page_damaged(w, number, "a list of free pages is not in order");
        before = page;
        if (page >= w->pages && page <= w->last)
            w->beyond++;
        else
            DCSR_TRY(reach(w, number, page, 1));
    }
    return DCSR_OK;
}

static dcsr_status walk_tree(dcsr_i_page_scan *w, tree_kind kind, const dcsr_i_tree_record *record,
                             uint64_t by);

static dcsr_status walk_value(dcsr_i_page_scan *w, tree *t, uint64_t number, const node *n)
{
    const unsigned char *data = n->value.mv_data;
    if (t->kind == MAIN_TREE) {
        dcsr_i_tree_record record;
        if (n->flags != VALUE_IS_TREE || n->value.mv_size != sizeof record)
            return dcsr_i_page_damaged(w, number, "there is something else among the databases");
        memcpy(&record, data, sizeof record);
        return walk_tree(w, DATABASE, &record, number);
    }
    if (n->flags & ~(unsigned)VALUE_IN_RUN)
        return dcsr_i_page_damaged(w, number, "a value is of an unknown kind");
    if (n->flags) DCSR_TRY(check_run(w, t, number, n, &data));
    if (t->kind != FREE_TREE) return DCSR_OK;
    /* LMDB takes 0 for none yet, and would hand out the same pages twice. */
    if (!number_at(n->key.mv_data))
        return dcsr_i_page_damaged(w, number, "a list of free pages is of no transaction");
    return check_free_pages(w, number, data, n->value.mv_size);
}

/* A page and what is below it. Its keys ascend from `low` (NULL: from the first) to below `high`; that of a
 * branch's first node means nothing. */
static dcsr_status walk_page(dcsr_i_page_scan *w, tree *t, uint64_t number, unsigned levels,
                             const MDB_val *low, const MDB_val *high)
{
    bool leaf = levels == 1;
    unsigned count = 0;
    DCSR_TRY(check_page(w, t, number, leaf, &count));
    const unsigned char *page = dcsr_i_page_at(w, number);
    node here = node_of(page, 0, leaf), next;
    if (leaf && low && compare(t, low, &here.key) > 0)
        return dcsr_i_page_damaged(w, number, "its first key is too small");
    for (unsigned i = 0; i < count; i++, here = next) {
        const MDB_val *begin = leaf || i ? &here.key : low, *end = high;
        if (i + 1 < count) {
            next = node_of(page, i + 1, leaf);
            end = &next.key;
        }
        if (begin && end && compare(t, begin, end) >= 0)
            return dcsr_i_page_damaged(w, number, "its keys are not in order");
        if (leaf) {
            DCSR_TRY(walk_value(w, t, number, &here));
        } else {
            DCSR_TRY(reach(w, number, here.child, 1));
            DCSR_TRY(walk_page(w, t, here.child, levels - 1, begin, end));
        }
    }
    return DCSR_OK;
}

/* The tree of a record that stands in page `by`. */
static dcsr_status walk_tree(dcsr_i_page_scan *w, tree_kind kind, const dcsr_i_tree_record *record,
                             uint64_t by)
{
    tree t = {.kind = kind, .seen = *record};
    t.seen.branches = t.seen.leaves = t.seen.run_pages = t.seen.entries = 0;
    unsigned flags = record->flags;
    if (kind == FREE_TREE) flags = (flags & ~(unsigned)(FIXED_ADDRESS | NO_FOLDER)) ^ BY_NUMBER;
    if (flags) return dcsr_i_page_damaged(w, by, "a tree is of an unknown kind");
    if ((record->root == no_page) != !record->depth || record->depth > MOST_LEVELS)
        return dcsr_i_page_damaged(w, by, "a tree has a wrong depth");
    if (record->depth) {
        DCSR_TRY(reach(w, by, record->root, 1));
        DCSR_TRY(walk_page(w, &t, record->root, record->depth, NULL, NULL));
    }
    if (!w->heads && t.seen.run_pages < record->run_pages) t.seen.run_pages = record->run_pages;
    return memcmp(&t.seen, record, sizeof t.seen)
               ? dcsr_i_page_damaged(w, by, "a tree has more or less than its record says")
               : DCSR_OK;
}

/* The last key of a free tree: the transaction that has written it, as each frees pages of the one before; 0
 * where there is none. Only the way there is looked at. */
static dcsr_status find_last_txn(const dcsr_i_page_scan *w, const dcsr_i_tree_record *record, uint64_t by,
                                 uint64_t *txn)
{
    uint64_t number = record->root;
    tree t = {.kind = FREE_TREE};
    *txn = 0;
    if (record->depth > MOST_LEVELS) return dcsr_i_page_damaged(w, by, "a tree has a wrong depth");
    for (unsigned level = record->depth; level; level--) {
        unsigned count = 0;
        if (number < DCSR_I_METAS || number >= w->bytes / w->page_bytes)
            return dcsr_i_page_damaged(w, by, "it names a page that is not in use");
        DCSR_TRY(check_page(w, &t, number, level == 1, &count));
        node last = node_of(dcsr_i_page_at(w, number), count - 1, level == 1);
        if (level == 1) *txn = number_at(last.key.mv_data);
        by = number;
        number = last.child;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_page_check_txn(const dcsr_i_page_scan *w, const dcsr_i_meta *m)
{
    uint64_t txn, by = m->txn % DCSR_I_METAS;
    DCSR_TRY(find_last_txn(w, &m->free_tree, by, &txn));
    if (txn == m->txn || (!txn && m->txn < FIRST_FREEING)) return DCSR_OK;
    return dcsr_i_page_damaged(w, by, "it has the number of another transaction than that which wrote it");
}

dcsr_status dcsr_i_page_scan_trees(dcsr_i_page_scan *w, const dcsr_i_meta *m)
{
    uint64_t in_file = w->bytes / w->page_bytes, by = m->txn % DCSR_I_METAS;
    DCSR_TRY(dcsr_i_page_check_txn(w, m));
    w->last = m->last_page;
    w->pages = m->last_page < in_file ? m->last_page + 1 : in_file;
    size_t words = w->pages / 64 + 1;
    w->reached = dcsr_i_calloc(NULL, DCSR_I_SCRATCH, words, sizeof *w->reached);
    if (!w->reached) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = walk_tree(w, MAIN_TREE, &m->main_tree, by);
    if (status == DCSR_OK) status = walk_tree(w, FREE_TREE, &m->free_tree, by);
    /* A page that was never written can only be one that was freed again at once. */
    if (status == DCSR_OK && w->beyond != m->last_page + 1 - w->pages)
        status = dcsr_i_page_damaged(w, by, "the file is shorter than it says");
    dcsr_i_free(NULL, DCSR_I_SCRATCH, w->reached, words, sizeof *w->reached);
    return status;
}
