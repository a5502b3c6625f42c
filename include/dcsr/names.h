/* names.h: a dictionary that numbers texts: the first one added is 0, the next 1, and so on.
 *
 * With it, rows and columns can be called by names: dcsr_names_add() makes ids of texts, which are given to
 * dcsr_matrix_insert(), and dcsr_names_get() gives the texts back. A name keeps its id for good, and is never
 * removed. Ids are below DCSR_NAMES_MOST, so any of them can be a row or a column.
 *
 *      "ann" "bob"  --dcsr_names_add()-->   0 1   --dcsr_matrix_insert()-->  matrix
 *      "ann" "bob"  <--dcsr_names_get()--   0 1   <--dcsr_view_get_row()---
 *
 * dcsr_store_open_names() (dcsr/persist.h) gives a dictionary that is kept beside a stored matrix.
 *
 * Threads: any number may find, get and add at once. Those that find and get do not wait for one that adds,
 * but for a moment when it makes the table larger; those that add take turns. dcsr_names_destroy() is the
 * last call.
 *
 * Memory: the bytes of the texts, and 19 to 29 bytes a name; half as much more for the moment in which the
 * table grows. It is counted by the context, and on a device is memory of the host. */
#ifndef DCSR_NAMES_H
#define DCSR_NAMES_H

#include <dcsr/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_names dcsr_names;

/* The bytes of a name: any, 1 to DCSR_NAMES_LONGEST of them. They need not be text, and no zero ends them. */
#define DCSR_NAMES_LONGEST 65535
/* The most names of a dictionary: as many as a matrix has columns at most. */
#define DCSR_NAMES_MOST ((uint64_t)1 << 31)
/* What dcsr_names_find() gives for a text that is no name. */
#define DCSR_NAMES_NONE UINT64_MAX

typedef struct dcsr_text {
    const char *bytes;
    size_t length;
} dcsr_text;

/* Creates an empty dictionary. *names is NULL on failure. Errors: OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_names_create(dcsr_names **names, dcsr_context *context);

/* Destroys a dictionary, and with it the texts that it has lent. NULL does nothing. What has not been written
 * of one that dcsr_store_open_names() gave, and is needed by a change of its matrix, is written still. */
DCSR_API void dcsr_names_destroy(dcsr_names *names);

/* Sets ids[i] to the id of texts[i], which is added behind the others if it is new; a text may be given more
 * than once. The bytes are copied. n texts and ids; ids are undefined on failure, and nothing is added then.
 * Errors: INVALID_ARGUMENT (an empty text, or one longer than DCSR_NAMES_LONGEST: the message says which; a
 * dictionary of a store that is open read_only), TOO_LARGE (more than DCSR_NAMES_MOST names), OUT_OF_MEMORY.
 * Cost: O(bytes); texts are looked up many at a time, which is several times faster than one by one. */
DCSR_API dcsr_status dcsr_names_add(dcsr_names *names, uint64_t n, const dcsr_text *texts, uint64_t *ids);

/* Sets ids[i] to the id of texts[i], or to DCSR_NAMES_NONE if it is no name. Takes no memory. Errors:
 * INVALID_ARGUMENT (NULL). */
DCSR_API dcsr_status dcsr_names_find(dcsr_names *names, uint64_t n, const dcsr_text *texts, uint64_t *ids);

/* Sets texts[i] to the name whose id is ids[i]; its bytes are lent, until the dictionary is destroyed. Takes
 * no memory. Errors: INDEX_OUT_OF_RANGE (the message says which id; the texts are then undefined). */
DCSR_API dcsr_status dcsr_names_get(dcsr_names *names, uint64_t n, const uint64_t *ids, dcsr_text *texts);

/* The number of names: ids are below it. */
DCSR_API dcsr_status dcsr_names_get_count(dcsr_names *names, uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
