/* index_list.h: the lists of rows and columns that extraction and assignment take (internal).
 *
 *      given      7 2 2 9          position 0, 1, 2, 3
 *      sorted     2 2 7 9
 *      position   1 2 0 3          NULL where the list ascends as it is
 */
#ifndef DCSR_INDEX_LIST_H
#define DCSR_INDEX_LIST_H

#include "ops/rows/row_reader.h"
#include "ops/matrix/write_matrix.h"

enum { DCSR_I_FEW_INDICES = 16 };

typedef struct dcsr_i_selected {
    dcsr_context *context;
    bool all;         /* no list was given: every index, in order */
    bool range;       /* the list is first, first + 1, ... */
    uint64_t n;       /* indices in the list */
    uint64_t first;   /* of a range */
    uint64_t repeats; /* the most often that an index stands in the list */
    const uint64_t *given;
    uint32_t *sorted;
    uint32_t *position;
    uint32_t *starts; /* by index: where it, or what follows it, is in `sorted`; NULL: to be searched for */
    uint64_t *bits;   /* the same as bits by index; NULL: not made */
    uint64_t size;    /* indices are below that */
    uint32_t few[DCSR_I_FEW_INDICES]; /* `sorted` of a short list, which therefore stays where it was made */
} dcsr_i_selected;

/* A list as a caller gives it. */
typedef struct dcsr_i_given {
    const char *call, *what;     /* the function, and "row" or "column": for messages */
    const dcsr_index_list *list; /* whose array must last; NULL: all */
    uint64_t size;               /* indices are below that */
    bool unique;                 /* none may stand twice */
    uint64_t
        reads; /* how often an index will be looked up in no order or a long one, about; 0: it will not */
} dcsr_i_given;

/* Takes it. To be freed, also after a failure. Errors: INDEX_OUT_OF_RANGE, naming the first offender;
 * INVALID_ARGUMENT (one stands twice, or there is no array), TOO_LARGE, OUT_OF_MEMORY. */
dcsr_status dcsr_i_select_indices(dcsr_i_selected *list, dcsr_context *context, const dcsr_i_given *given);
/* Makes the bits, for a list that will be asked for many indices, unless that costs more than it may save. */
dcsr_status dcsr_i_selected_mark(dcsr_i_selected *list);
void dcsr_i_selected_free(dcsr_i_selected *list);
/* As what an assignment writes to. */
static inline dcsr_i_index_list dcsr_i_selected_list(const dcsr_i_selected *list)
{
    return (dcsr_i_index_list){list->sorted, list->n, list->size, list->bits};
}

/* Index number k of the list. */
static inline uint64_t dcsr_i_selected_at(const dcsr_i_selected *list, uint64_t k)
{
    return list->all ? k : list->given[k];
}
/* The first place in `sorted`, from `from` on, of an index that is not below this one. */
uint64_t dcsr_i_selected_find(const dcsr_i_selected *list, uint64_t from, uint64_t index);
/* The position in the list of place k of `sorted`. */
static inline uint32_t dcsr_i_selected_position(const dcsr_i_selected *list, uint64_t k)
{
    return list->position ? list->position[k] : (uint32_t)k;
}

/* Entries that have new columns, in any order: keys column << 32 | entry number. Sorted, they are written as
 * the row: columns, and the values of the row that they are from. */
typedef struct dcsr_i_moved {
    dcsr_i_scratch keys; /* twice as many as there is room for: half is for sorting */
    uint64_t n;
} dcsr_i_moved;
dcsr_status dcsr_i_moved_room(dcsr_i_moved *moved, dcsr_context *context, uint64_t entries);
static inline void dcsr_i_moved_add(dcsr_i_moved *moved, uint32_t column, uint64_t entry)
{
    ((uint64_t *)moved->keys.bytes)[moved->n++] = (uint64_t)column << 32 | entry;
}
/* `ascend`: they do so already. Empties the list. */
void dcsr_i_moved_write(dcsr_i_moved *moved, bool ascend, const dcsr_i_row *row, size_t value_size,
                        dcsr_i_room room, uint64_t to);

/* What each thread has that reads rows and moves their entries. */
typedef struct dcsr_i_mover {
    _Alignas(64) dcsr_i_row_reader a;
    dcsr_i_moved moved;
} dcsr_i_mover;

/* Extraction and assignment: a matrix, and the places that its rows and columns come from or go to. */
typedef struct dcsr_i_moving {
    dcsr_context *context;
    dcsr_i_input a;
    dcsr_i_selected rows, cols;
    dcsr_i_mover *thread, alone; /* `threads` of them, or the one */
    int threads;
    dcsr_i_few few;
} dcsr_i_moving;
/* For dcsr_i_rowwise: what threads have, of a dcsr_i_moving. */
dcsr_status dcsr_i_moving_begin(void *moving, int threads);
void dcsr_i_moving_end(void *moving);
/* Frees the input and the lists. */
void dcsr_i_moving_free(dcsr_i_moving *moving);

#endif
