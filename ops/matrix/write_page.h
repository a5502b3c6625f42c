/* write_page.h: how the rows of one page come to be written (internal to write_matrix.c). */
#ifndef DCSR_WRITE_PAGE_H
#define DCSR_WRITE_PAGE_H

#include "ops/matrix/merge_row.h"
#include "ops/matrix/prior_rows.h"
#include <stdatomic.h>

/* Memory of one thread. */
typedef struct dcsr_i_writer {
    _Alignas(64) int number;
    dcsr_i_old_reader old;
    dcsr_i_row_reader mask;
    dcsr_i_merger merger;
    dcsr_i_scratch columns, values;          /* of a block of T */
    dcsr_i_scratch mask_columns, mask_truth; /* of a row of the mask */
    bool duplicates;                         /* a row was written that has some */
} dcsr_i_writer;

typedef struct dcsr_i_writing {
    const dcsr_i_rowwise *op;
    dcsr_matrix *C;
    bool nowhere;            /* the complement of no mask: nothing of T is written */
    bool plain;              /* C = T: no mask, no accumulator, nothing kept */
    bool complement, values; /* whether values of T are wanted */
    const dcsr_i_rows *mask; /* NULL: none */
    bool mask_is_pattern;    /* it is true where it has an entry */
    bool fills;              /* T is one value wherever the mask, a pattern, lets it be written */
    dcsr_i_scalar value;     /* that value, in C's type */
    const dcsr_i_rows *old;  /* what C holds; NULL where that does not matter */
    dcsr_i_old holds;
    bool keep; /* rows of C that cannot change are not written */
    dcsr_i_merging merging;
    dcsr_i_result result;
    uint64_t pages, portion; /* that a thread takes at once */
    _Atomic uint64_t next;
    const struct dcsr_i_turn *turn; /* C's, which all threads work in */
    /* The first failure. */
    pthread_mutex_t lock;
    atomic_bool failed;
    dcsr_status status;
    char message[400];
} dcsr_i_writing;

/* The first page from p on in which there may be something to write; at least the number of pages if there is
 * none. What neither T nor the mask nor, where it counts, C has is skipped, at little cost. */
uint64_t dcsr_i_next_page_to_write(const dcsr_i_writing *j, uint64_t p);
/* Writes the rows of page p. */
dcsr_status dcsr_i_write_page(dcsr_i_writing *j, dcsr_i_writer *t, uint64_t p);

#endif
