/* relations.h: relations between vertices that grow by rules until nothing is new (internal).
 *
 *      A <- B          (x, y) of B is in A
 *      A <- B C        (x, z) of B and (z, y) of C give (x, y) of A
 *
 * A symbol names a relation, or a family of relations, one for each index 0 .. indices - 1; in a rule the index
 * is the same for all families.
 *
 * Evaluation is semi-naive: a row keeps its columns in the order in which they came, so what is new since it was
 * last looked at is the end of it. A round takes each row that has grown and joins what is new there, and nothing
 * else, with the relations of the rules that it takes part in. A relation that is found on the left of such a
 * join is also kept by columns. A symbol that no rule makes is complete from the start, and never joined with what
 * it meets again.
 *
 * Rows are of two kinds: a list with a hash table of its columns, or, from one column of 64 on, with a bitmap. */
#ifndef DCSR_CLOSURE_RELATIONS_H
#define DCSR_CLOSURE_RELATIONS_H

#include "algos/closure/pool.h"
#include <dcsr/matrix.h>

#define DCSR_I_NO_SYMBOL UINT32_MAX

typedef struct dcsr_i_rule {
    uint32_t made, first, second; /* symbols; second may be NO_SYMBOL */
    bool by_first, by_second;     /* whether what is new of `first`, of `second`, has to be joined */
} dcsr_i_rule;

/* From keys to numbers: an array where there are few keys, else a hash table. */
typedef struct dcsr_i_relation_directory {
    uint32_t *array; /* number + 1; 0: none */
    uint64_t *key;   /* of the table; UINT64_MAX: empty */
    uint32_t *value;
    uint64_t slots, used;
} dcsr_i_relation_directory;

typedef struct dcsr_i_symbol {
    bool family;
    bool made;      /* by some rule */
    bool by_column; /* kept by columns, too */
    uint64_t pairs;
    dcsr_i_relation_directory rows, columns; /* by vertex and index */
} dcsr_i_symbol;

/* Numbers, in the order in which they came. */
typedef struct dcsr_i_list {
    uint32_t *item;
    uint32_t count;
    int k; /* room for 2^k; 0: none yet */
} dcsr_i_list;

typedef struct dcsr_i_relation_row {
    dcsr_i_list list;
    uint32_t done;     /* of it, what has been joined */
    uint32_t *members; /* hash table or bitmap; NULL in short lists */
    int members_k;
    bool bitmap, queued;
    uint32_t symbol, vertex, index;
} dcsr_i_relation_row;

typedef struct dcsr_i_relations {
    dcsr_i_work *work;
    dcsr_i_words pool;
    uint64_t vertices, indices; /* below 2^32 */
    dcsr_i_symbol *symbol;
    uint32_t symbols;
    dcsr_i_rule *rule;
    uint32_t rules;
    dcsr_i_relation_row *row;
    uint64_t rows, row_room;
    dcsr_i_list *column;
    uint64_t columns, column_room;
    uint32_t *queue, *later; /* rows that have grown: of this round, and of the next */
    uint64_t queued, queue_room;
    uint64_t rounds;
    uint64_t pairs;  /* of all symbols */
    uint32_t told;   /* the symbol whose pairs are told of (work's progress) */
    uint64_t enough; /* pairs with which growing ends before nothing is new; 0: never */
} dcsr_i_relations;

/* Symbols and rules are those of the caller, with their names, families, and rules' symbols filled in; the rest
 * of both is filled in here. All memory is `work`'s. */
dcsr_status dcsr_i_relations_begin(dcsr_i_relations *r, dcsr_i_work *work, uint64_t vertices,
                                   uint64_t indices);
/* Adds a pair; index is 0 where the symbol is no family. */
dcsr_status dcsr_i_relations_add(dcsr_i_relations *r, uint32_t symbol, uint64_t index, uint64_t from,
                                 uint64_t to);
/* Grows all relations until nothing is new, or there are `enough` pairs: then some are still queued. */
dcsr_status dcsr_i_relations_grow(dcsr_i_relations *r);
/* Makes a matrix of a symbol's pairs, of all indices together, with rows in order. */
dcsr_status dcsr_i_relations_to_matrix(dcsr_matrix **matrix, dcsr_i_relations *r, uint32_t symbol);

#endif
