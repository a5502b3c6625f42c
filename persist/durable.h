/* durable.h: durable matrices and their log (internal).
 *
 *      matrix's worker                 waiting, per matrix           the log's thread, with `writing`
 *      ---------------                 -------------------           --------------------------------------
 *      record, apply, applied ------>  [v8] [v9] [v10]  ---------->  all of all matrices in one transaction
 *      the next batch                                                commit: LMDB syncs
 *                                                                    dcsr_i_queue_report(): tickets
 *
 * An operation waits with the version of the matrix that it has published, and gets its position in the log
 * when it is written. So a snapshot, which takes its view of version v with `writing`, has in it: all that is
 * in the log, and of what waits that up to v, which is safe with the snapshot and not written after it.
 *
 * Between the transactions of a large snapshot the log is written as ever, in order. What is written then of
 * changes up to v is in the snapshot too: it notes the position of the last such record, up to which the
 * version holds the log. Records behind that stay.
 *
 * A change that cannot be written would leave a gap, over which nothing may be replayed. From there on the
 * matrix is `broken`: nothing more is written until a snapshot has what is missing. Only the log's threads
 * decide that, with `writing`, so what they tell to be lost is in every snapshot that is begun later. */
#ifndef DCSR_DURABLE_H
#define DCSR_DURABLE_H

#include "persist/store_data.h"
#include "dcsr/store/journal.h"

/* The threads of a store that see to durable matrices: one writes the log; the other makes the snapshots of
 * those whose content an operation has replaced, for which it may have to wait for the end of another one. */
typedef struct dcsr_i_log_writer {
    pthread_mutex_t lock; /* innermost */
    pthread_cond_t changed;
    dcsr_store *store; /* NULL: it is closed, and takes nothing any more */
    uint64_t holders;  /* the store, and each durable matrix */
    bool news;         /* for the log: something waits, or need not wait any more */
    bool replaced;     /* for the other: snapshots are needed */
    bool ending;
    pthread_t log_thread, snapshot_thread;
} dcsr_i_log_writer;

/* A matrix that is open for durable work, or about to be. The matrix frees it, by way of the journal. */
typedef struct dcsr_i_durable {
    dcsr_i_journal journal;
    dcsr_i_log_writer *log;
    dcsr_i_operation *first, *last; /* that wait; under the log's lock */

    /* The rest is under the store's `writing`. */
    struct dcsr_i_durable *next;
    dcsr_matrix *matrix; /* NULL while it is being opened */
    uint64_t covered;    /* the version that the last snapshot shows */
    bool broken;
    uint64_t lost;                        /* the version of the last change that was told not to be durable */
    char reason[400];                     /* why it is */
    dcsr_i_operation *group, *group_last; /* taken for the transaction */
    uint64_t group_seen; /* position of the last of these that the snapshot on its way shows; 0: none */
    char name[DCSR_STORE_MAX_NAME + 1];
} dcsr_i_durable;

/* ---- journal.c ---- */

/* Reserves the name, and starts the log's threads where it is the first. Errors: BUSY (it is open already),
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_durable_open(dcsr_i_durable **durable, dcsr_store *store, const char *name);
/* Changes of the matrix, which nobody else knows yet and which has no work left, are kept from now on. It
 * shows what the store holds where its record is this one. Errors: BUSY (it is another by now), those of
 * reading it. */
dcsr_status dcsr_i_durable_attach(dcsr_i_durable *durable, dcsr_store *store, dcsr_matrix *matrix,
                                  const dcsr_i_matrix_record *record);
/* Gives the name free, where it was not attached. */
void dcsr_i_durable_close(dcsr_i_durable *durable);

/* For the log's thread, with `writing`: the operation that waits first, or NULL; takes it out and tells what
 * has become of it; gives the log up until a snapshot is made, for this reason. */
dcsr_i_operation *dcsr_i_durable_first(dcsr_i_durable *durable);
dcsr_i_operation *dcsr_i_durable_take(dcsr_i_durable *durable);
void dcsr_i_durable_break(dcsr_i_durable *durable, const dcsr_store *store, const char *reason);

/* ---- log_write.c ---- */

/* Writes what waits, as far as it goes into one transaction; with `writing`. Says whether something is left
 * that can be written, and whether something waits for a snapshot. */
typedef struct dcsr_i_log_left {
    bool more, replaced;
} dcsr_i_log_left;
dcsr_i_log_left dcsr_i_log_write(dcsr_store *store);
/* Where an operation has replaced all that a matrix holds, a snapshot keeps that, and what waits up to it.
 * With the store's lock, which it gives up in between as snapshots do. Returns whether there was one. */
bool dcsr_i_log_make_snapshots(dcsr_store *store);

/* ---- log_record.c ---- */

/* Records are cut to about so many bytes, for LMDB has to find room for each in one piece. */
enum { DCSR_I_LOG_RECORD_BYTES = 1 << 20 };

/* Packs the records of an insertion, deletion or resize into operation->record, one behind the other, without
 * positions and checksums; NULL where there is no memory. */
void dcsr_i_log_pack(dcsr_i_operation *operation, const dcsr_matrix *matrix);
/* Bytes of a record, its checksum included, of a batch with such values. */
size_t dcsr_i_log_record_size(const dcsr_i_log_record *record);
/* Whether the record at `data` says what cannot be; *why says it then, else *record is its beginning. */
bool dcsr_i_log_record_is_wrong(dcsr_i_log_record *record, const void *data, size_t size, uint32_t matrix,
                                uint64_t position, const char **why);
/* Appends the entries of a record that is in order to an operation that has room. False when one lies outside
 * the record's dimensions. */
bool dcsr_i_log_unpack(dcsr_i_operation *operation, const dcsr_i_log_record *record, const void *data);

#endif
