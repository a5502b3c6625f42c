/* page_scan.h: what is in the pages of LMDB's file, and following its trees (internal to pages.c).
 *
 *      page 0, 1     metas: of the last two transactions, each with the roots of two trees
 *      main tree     name -> root of a tree, for each of the databases
 *      a tree        branch pages, leaf pages; a value that is too long for a leaf is in a run of pages
 *      free tree     transaction -> pages that it has freed
 *
 *      a page        | head 16 | places of nodes, 2 each -> |   free   | <- nodes, without gaps |
 *                                                         lower      upper
 *      a node        | low 16 bits, next 16, flags or high 16, length of key | key | value or page number |
 *
 * The number at the head of a node is the length of its value, or in a branch the page below it. */
#ifndef DCSR_PAGE_SCAN_H
#define DCSR_PAGE_SCAN_H

#include "dcsr/base/error.h"
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dcsr_i_page_head {
    uint64_t number; /* of the page itself */
    uint16_t unused, kind;
    union {
        struct {
            uint16_t lower, upper;
        };
        uint32_t run; /* pages, in the head of a run */
    };
} dcsr_i_page_head;

typedef struct dcsr_i_tree_record {
    uint32_t unused; /* in that of the free tree: bytes of a page */
    uint16_t flags, depth;
    uint64_t branches, leaves, run_pages, entries, root;
} dcsr_i_tree_record;

typedef struct dcsr_i_meta {
    uint32_t magic, version;
    uint64_t address, map_bytes;
    dcsr_i_tree_record free_tree, main_tree;
    uint64_t last_page, txn;
} dcsr_i_meta;

static_assert(sizeof(dcsr_i_page_head) == 16 && sizeof(dcsr_i_tree_record) == 48 &&
                  sizeof(dcsr_i_meta) == 136,
              "as LMDB has them");
enum { DCSR_I_BRANCH_PAGE = 1, DCSR_I_LEAF_PAGE = 2, DCSR_I_RUN_PAGE = 4, DCSR_I_META_PAGE = 8 };
enum { DCSR_I_METAS = 2, DCSR_I_SHORTEST_PAGE = 512, DCSR_I_LONGEST_PAGE = 32768 };

typedef struct dcsr_i_page_scan {
    const char *path;
    const unsigned char *map;
    size_t bytes; /* of the file, all mapped */
    uint64_t page_bytes;
    uint64_t last;     /* page that has ever been in use */
    uint64_t pages;    /* in use and in the file */
    uint64_t beyond;   /* free pages behind the end of the file, where none was ever written */
    uint64_t *reached; /* a bit for each of `pages` */
    bool heads;        /* of runs are looked at */
} dcsr_i_page_scan;

/* Follows both trees of a meta, of which path, map, bytes, page_bytes and heads say where it is; the others
 * are set. Errors: CORRUPT, OUT_OF_MEMORY. */
dcsr_status dcsr_i_page_scan_trees(dcsr_i_page_scan *walk, const dcsr_i_meta *meta);

/* Whether a meta is of the transaction that it says, which its free tree tells. A reader may ask that of its
 * own meta, and of that before. Errors: CORRUPT. */
dcsr_status dcsr_i_page_check_txn(const dcsr_i_page_scan *walk, const dcsr_i_meta *meta);

/* CORRUPT, with a sentence about that page. */
dcsr_status dcsr_i_page_damaged(const dcsr_i_page_scan *walk, uint64_t page, const char *what);

static inline const unsigned char *dcsr_i_page_at(const dcsr_i_page_scan *walk, uint64_t number)
{
    return walk->map + number * walk->page_bytes;
}

#endif
