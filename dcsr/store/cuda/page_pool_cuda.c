/* page_pool_cuda.c: slots for pages on a device: an array that grows in place, and a list of those that are free.
 *
 * The host gives them out, since it decides what a version shares; what is in them it never sees. */
#include "dcsr/store/cuda/store_cuda.h"
#include <assert.h>

/* Of a free slot, in place of the version that its page was made for. */
#define NOT_IN_USE UINT64_MAX

dcsr_status dcsr_i_cuda_slots_init(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix, size_t page_size, bool rows)
{
    *slots = (dcsr_i_cuda_slots){.page_size = page_size, .of_rows = rows};
    dcsr_context *context = matrix->context;
    /* All pages together take no more than half of what the arena may, which is the device's memory by default. As
     * there, less rather than none. */
    enum { FEW = 1 << 26 }; /* bytes */
    const size_t length = dcsr_i_mapping_share_of(context) / 2;
    return dcsr_i_mapping_reserve_some(&slots->memory, context, false,
                                       length > page_size ? length : page_size, FEW, page_size);
}

void dcsr_i_cuda_slots_destroy(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix)
{
    dcsr_context *context = matrix->context;
    atomic_fetch_sub(&matrix->table_bytes, slots->memory.bytes);
    dcsr_i_mapping_release(&slots->memory);
    dcsr_i_free(context, DCSR_I_MATRIX, slots->free, slots->capacity, sizeof *slots->free);
    dcsr_i_free(context, DCSR_I_MATRIX, slots->born, slots->capacity, sizeof *slots->born);
    dcsr_i_free(context, DCSR_I_MATRIX, slots->segment, slots->capacity, sizeof *slots->segment);
    *slots = (dcsr_i_cuda_slots){0};
}

/* Room for `capacity` slots in the host's arrays: in all of them, or as before. */
static dcsr_status grow_arrays(dcsr_i_cuda_slots *slots, dcsr_context *context, uint32_t capacity)
{
    void **array[] = {(void **)&slots->free, (void **)&slots->born, (void **)&slots->segment};
    const size_t size[] = {sizeof *slots->free, sizeof *slots->born, sizeof *slots->segment};
    void *larger[3];
    int arrays = slots->of_rows ? 3 : 2, made = 0;
    while (made < arrays && (larger[made] = dcsr_i_alloc(context, DCSR_I_MATRIX, capacity, size[made])))
        made++;
    if (made < arrays) {
        while (made--) dcsr_i_free(context, DCSR_I_MATRIX, larger[made], capacity, size[made]);
        return dcsr_i_no_memory();
    }
    for (int i = 0; i < arrays; i++) {
        if (slots->capacity) memcpy(larger[i], *array[i], slots->capacity * size[i]);
        dcsr_i_free(context, DCSR_I_MATRIX, *array[i], slots->capacity, size[i]);
        *array[i] = larger[i];
    }
    slots->capacity = capacity;
    return DCSR_OK;
}

static dcsr_status grow(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix, uint64_t top)
{
    /* A quarter more than is needed, so that growing is rare. */
    uint64_t capacity = top + top / 4 + 64;
    if (capacity > DCSR_CUDA_NONE - 1) capacity = DCSR_CUDA_NONE - 1;
    if (top > capacity)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "growing a matrix: its versions have more than 2^32 pages; destroy views of old ones");
    if (top * slots->page_size > slots->memory.length)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "growing a matrix: the address space of %zu bytes for its row table is used up; create the "
            "context with a larger reserve_bytes",
            slots->memory.length);
    if (top > slots->capacity) DCSR_TRY(grow_arrays(slots, matrix->context, (uint32_t)capacity));
    const uint64_t before = slots->memory.bytes;
    DCSR_TRY(dcsr_i_mapping_populate(&slots->memory, slots->top * slots->page_size,
                                     (top - slots->top) * slots->page_size));
    atomic_fetch_add(&matrix->table_bytes, slots->memory.bytes - before);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_slots_take(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix, uint32_t n,
                                   uint64_t version, uint32_t *taken)
{
    pthread_mutex_lock(&matrix->spare.lock);
    uint32_t reused = n < slots->free_count ? n : slots->free_count;
    uint64_t top = (uint64_t)slots->top + n - reused;
    dcsr_status status = top > slots->top ? grow(slots, matrix, top) : DCSR_OK;
    if (status == DCSR_OK) {
        for (uint32_t i = 0; i < n; i++) {
            taken[i] = i < reused ? slots->free[--slots->free_count] : slots->top++;
            slots->born[taken[i]] = version;
        }
    }
    pthread_mutex_unlock(&matrix->spare.lock);
    return status;
}

uint32_t dcsr_i_cuda_slots_idle(const dcsr_i_cuda_slots *slots, dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->spare.lock);
    const uint32_t idle = slots->free_count;
    pthread_mutex_unlock(&matrix->spare.lock);
    return idle;
}

void dcsr_i_cuda_slot_give(dcsr_i_cuda_slots *slots, uint32_t slot)
{
    assert(slots->free_count < slots->top);
    slots->free[slots->free_count++] = slot;
    slots->born[slot] = NOT_IN_USE;
}

void dcsr_i_cuda_slots_trim(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix)
{
    uint32_t kept = 0;
    pthread_mutex_lock(&matrix->spare.lock);
    const uint64_t before = slots->memory.bytes;
    while (slots->top && slots->born[slots->top - 1] == NOT_IN_USE) slots->top--;
    for (uint32_t i = 0; i < slots->free_count; i++)
        if (slots->free[i] < slots->top) slots->free[kept++] = slots->free[i];
    slots->free_count = kept;
    const uint64_t used = slots->top * slots->page_size;
    dcsr_i_mapping_discard(&slots->memory, used, slots->memory.length - used);
    atomic_fetch_sub(&matrix->table_bytes, before - slots->memory.bytes);
    pthread_mutex_unlock(&matrix->spare.lock);
}
