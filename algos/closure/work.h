/* work.h: the memory of one call: counted, limited, and freed all at once (internal). */
#ifndef DCSR_CLOSURE_WORK_H
#define DCSR_CLOSURE_WORK_H

#include <dcsr/closure.h>
#include <dcsr/extend.h>

typedef struct dcsr_i_work {
    dcsr_context *context;
    const char *call;    /* the public function, for messages */
    uint64_t limit;      /* bytes */
    uint64_t used, peak; /* bytes now, and the most there were */
    dcsr_closure_progress progress;
    void *user;                  /* of progress */
    uint64_t done, total, pairs; /* what it was told last */
    struct dcsr_i_work_block {
        void *data;
        uint64_t bytes;
    } * block;
    uint64_t blocks, block_room;
} dcsr_i_work;

/* A limit of 0 is the machine's memory. */
void dcsr_i_work_begin(dcsr_i_work *work, const char *call, dcsr_context *context, uint64_t limit);
void dcsr_i_work_end(dcsr_i_work *work);

/* Counts a step, and the pairs that it has added. One thread at a time. */
static inline void dcsr_i_work_step(dcsr_i_work *work, uint64_t pairs)
{
    work->done++;
    work->pairs += pairs;
    if (work->progress) work->progress(work->user, work->done, work->total, work->pairs);
}

/* Whether so many bytes more are within the limit. */
bool dcsr_i_work_has(const dcsr_i_work *work, uint64_t bytes);
/* Counts bytes that something else takes, or has given back. Refuses: OUT_OF_MEMORY, with `what` in the
 * message. */
dcsr_status dcsr_i_work_charge(dcsr_i_work *work, uint64_t bytes, const char *what);
void dcsr_i_work_uncharge(dcsr_i_work *work, uint64_t bytes);

/* *memory becomes room for count objects of `size` bytes, zeroed, which dcsr_i_work_end() frees, if
 * dcsr_i_work_drop() has not done so before. */
dcsr_status dcsr_i_work_take(dcsr_i_work *work, void *memory, uint64_t count, size_t size, const char *what);
void dcsr_i_work_drop(dcsr_i_work *work, void *memory);
/* Moves *memory, which is NULL or taken here, to room for `count` objects in place of old_count. */
dcsr_status dcsr_i_work_grow(dcsr_i_work *work, void *memory, uint64_t old_count, uint64_t count, size_t size,
                             const char *what);

#define DCSR_I_WORK_TRY(call)                   \
    do {                                        \
        dcsr_status status_ = (call);           \
        if (status_ != DCSR_OK) return status_; \
    } while (0)

#endif
