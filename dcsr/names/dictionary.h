/* dictionary.h: texts become ids, by a hash table, and ids texts (internal).
 *
 *      table, of slots                      offsets              bytes
 *      +-----------------------+            +----+               +-------------------
 *      | hash 32 | id + 1   32 | ---------> | 0  | ------------> | annbobcarol...
 *      | hash 32 | id + 1   32 |            | 3  | where a text  |
 *      | 0: free               |            | 6  | begins        |
 *
 * Open addressing with linear probing, at most three quarters full. A slot's place is given by the upper bits
 * of its hash: so the table can be made larger from its slots alone, in the order of both tables. A slot of a
 * new name may be seen before the name is: an id is valid below `count`, which is published last. So a call
 * that fails just does not publish. What it has put into the table stays, is ignored as long as its ids are
 * not given out again, and then is compared with another text, as every slot with the hash that is looked for.
 *
 * Offsets and bytes are in address space that is reserved at once, so that neither ever moves. Only the table
 * is replaced, under the lock `replacing`, which those that find share. */
#ifndef DCSR_DICTIONARY_H
#define DCSR_DICTIONARY_H

#include "dcsr/base/mapping.h"
#include "dcsr/base/runtime.h"
#include <dcsr/names.h>

typedef struct dcsr_i_slots {
    _Atomic uint64_t *slot;
    uint64_t count; /* a power of two */
    uint64_t used;
} dcsr_i_slots;

struct dcsr_names {
    dcsr_context *context;
    uint64_t seed; /* of the hashes, so that nobody can choose texts that are alike to it */
    pthread_mutex_t adding;
    pthread_rwlock_t replacing;
    dcsr_i_slots table;
    dcsr_i_mapping offset_memory, byte_memory;
    uint64_t *offset;
    char *bytes;
    uint64_t offset_room, byte_room; /* bytes of each that have memory */
    _Atomic uint64_t count;

    /* Who has it: callers, and whoever keeps it in a store, who is told when the last caller has let go of it.
     * The last of both frees it. */
    _Atomic uint64_t callers, references;
    void (*abandoned)(void *keeper, dcsr_names *names);
    void *keeper;
    uint32_t kept_as;    /* the keeper's number for it */
    const char *refusal; /* why nothing may be added; NULL: it may */
};

/* Texts that are known to be in order, one behind the other; added as by dcsr_names_add(). *known is how many
 * of them were there before. */
dcsr_status dcsr_i_names_append(dcsr_names *names, uint64_t n, const uint16_t *lengths, const char *bytes,
                                uint64_t *known);
/* Makes room for so many names and bytes in total, where that is not sure to be needed: a hint. */
dcsr_status dcsr_i_names_expect(dcsr_names *names, uint64_t count);
/* Another caller gets it. */
void dcsr_i_names_retain(dcsr_names *names);
/* Its keeper lets go of it. */
void dcsr_i_names_release(dcsr_names *names);

#endif
