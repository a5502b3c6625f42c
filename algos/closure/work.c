/* work.c: the memory of one call. */
#include "algos/closure/work.h"
#include <string.h>

void dcsr_i_work_begin(dcsr_i_work *work, const char *call, dcsr_context *context, uint64_t limit)
{
    *work = (dcsr_i_work){.context = context, .call = call, .limit = limit ? limit : dcsr_machine_memory()};
}

void dcsr_i_work_end(dcsr_i_work *work)
{
    for (uint64_t b = 0; b < work->blocks; b++)
        dcsr_context_free(work->context, work->block[b].data, work->block[b].bytes, 1);
    dcsr_context_free(work->context, work->block, work->block_room, sizeof *work->block);
    work->block = NULL;
    work->blocks = work->block_room = 0;
}

/* Room in the list for one block more. */
static dcsr_status lengthen(dcsr_i_work *work)
{
    if (work->blocks < work->block_room) return DCSR_OK;
    const uint64_t room = 2 * work->block_room + 32;
    struct dcsr_i_work_block *block = dcsr_context_allocate(work->context, room, sizeof *block);
    if (!block) return dcsr_thread_status();
    if (work->blocks) memcpy(block, work->block, work->blocks * sizeof *block);
    dcsr_context_free(work->context, work->block, work->block_room, sizeof *block);
    work->block = block;
    work->block_room = room;
    return DCSR_OK;
}

bool dcsr_i_work_has(const dcsr_i_work *work, uint64_t bytes)
{
    return work->used <= work->limit && bytes <= work->limit - work->used;
}

dcsr_status dcsr_i_work_charge(dcsr_i_work *work, uint64_t bytes, const char *what)
{
    if (!dcsr_i_work_has(work, bytes))
        return dcsr_thread_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "%s: %llu bytes for %s, beside the %llu in use, are beyond the limit of %llu; "
            "raise memory_limit, or ask for less",
            work->call, (unsigned long long)bytes, what, (unsigned long long)work->used,
            (unsigned long long)work->limit);
    work->used += bytes;
    if (work->used > work->peak) work->peak = work->used;
    return DCSR_OK;
}

void dcsr_i_work_uncharge(dcsr_i_work *work, uint64_t bytes)
{
    work->used -= bytes;
}

dcsr_status dcsr_i_work_take(dcsr_i_work *work, void *memory, uint64_t count, size_t size, const char *what)
{
    const uint64_t bytes = count * size;
    DCSR_I_WORK_TRY(lengthen(work));
    DCSR_I_WORK_TRY(dcsr_i_work_charge(work, bytes, what));
    void *data = dcsr_context_allocate(work->context, bytes, 1);
    if (!data) {
        work->used -= bytes;
        return dcsr_thread_status();
    }
    work->block[work->blocks++] = (struct dcsr_i_work_block){data, bytes};
    memcpy(memory, &data, sizeof data);
    return DCSR_OK;
}

void dcsr_i_work_drop(dcsr_i_work *work, void *memory)
{
    for (uint64_t b = work->blocks; b-- > 0;) {
        if (work->block[b].data != memory) continue;
        dcsr_context_free(work->context, memory, work->block[b].bytes, 1);
        work->used -= work->block[b].bytes;
        work->block[b] = work->block[--work->blocks];
        return;
    }
}

dcsr_status dcsr_i_work_grow(dcsr_i_work *work, void *memory, uint64_t old_count, uint64_t count, size_t size,
                             const char *what)
{
    void *old, *grown = NULL;
    memcpy(&old, memory, sizeof old);
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &grown, count, size, what));
    if (old) memcpy(grown, old, old_count * size);
    if (old) dcsr_i_work_drop(work, old);
    memcpy(memory, &grown, sizeof grown);
    return DCSR_OK;
}
