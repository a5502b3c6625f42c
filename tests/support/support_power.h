/* support_power.h: what a program did to its files (tests/preload/powerloss.c), and what a power cut may
 * leave of it.
 *
 * A disk keeps what was synced. Of what was written since, each sector of 512 bytes may have reached it or
 * not, in any order and any of its contents since the last sync; so may the length of a file, a new name, and
 * that a name is gone. What is taken for granted is what file systems with a journal do: that a file whose
 * content was synced is there under the name that it was made with. */
#ifndef DCSR_TESTS_SUPPORT_POWER_H
#define DCSR_TESTS_SUPPORT_POWER_H

#include "tests/support/support.h"

typedef enum power_kind {
    POWER_NOTHING,
    POWER_WRITE,
    POWER_SYNCED_WRITE, /* on the disk when it returned (O_DSYNC) */
    POWER_SYNC,         /* of a file; with an empty name, of the folder */
    POWER_LENGTH,       /* `offset` bytes from now on */
    POWER_RENAME,       /* the name is two, with a newline between */
    POWER_REMOVE
} power_kind;

/* In the log, then the name, then the data. */
typedef struct power_event {
    uint32_t kind, name_length;
    uint64_t offset, bytes;
} power_event;

typedef struct power_log {
    char *data;
    size_t bytes, events;
    size_t *event; /* where each begins */
} power_log;

void power_read_log(power_log *log, const char *path);
void power_free_log(power_log *log);
/* Makes of it what a program would have left that syncs nothing. */
void power_forget_syncs(power_log *log);

/* Fills the folder `to` with what a cut before event number `upto` may leave; `chance` of 256 is how likely a
 * sector has reached the disk before the sync. Files called `lock.mdb` become noise: nobody may rely on them.
 */
void power_cut(const power_log *log, size_t upto, test_random *random, unsigned chance, const char *to);

/* What the program had written last to the file `name` at its beginning before event `upto`: acknowledgements
 * are taken as they were made, whatever the disk has of them. False where nothing was. */
bool power_last_written(const power_log *log, size_t upto, const char *name, void *data, size_t bytes);

#endif
