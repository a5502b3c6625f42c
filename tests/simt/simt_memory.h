/* simt_memory.h: device memory as the emulator keeps it (internal).
 *
 *      heap        blocks, a range of addresses for each device     | data | slack, a red zone | data | ...
 *      virtual     ranges that the program reserves and maps itself
 *      pinned      memory of the host that CUDA allocated
 *
 * A block of the heap has two lives. For the host it is taken and given back when the calls are made; on the
 * device it opens and shuts when the streams get there. While it is shut, AddressSanitizer refuses it. */
#ifndef DCSR_TESTS_SIMT_MEMORY_H
#define DCSR_TESTS_SIMT_MEMORY_H

#include <cstddef>
#include <cstdint>
#include "tests/simt/simt_internal.h"

struct CUmemPoolHandle_st {
    int device = 0;
    size_t used = 0, most_used = 0; /* most since the last trim */
    uint64_t threshold = 0;         /* so much is not given back to the device when it is not used */
    unsigned peers = 0;             /* the devices that may touch what it gives, a bit each */
};

namespace simt
{
enum block_state_of_host { TAKEN, RETURNING, FREE };
struct heap_block {
    char *address;
    size_t capacity; /* data and slack */
    int device;
    /* The host's view. */
    block_state_of_host state;
    size_t bytes;
    cudaMemPool_t pool;   /* NULL: of cudaMalloc */
    uint64_t returned_on; /* RETURNING: the stream that frees it when it gets there */
    uint64_t returns;     /* how often it was given back */
    /* The device's view. */
    bool open;
    size_t open_bytes;
    char order; /* its address stands for the order of one life after the other */
};

/* Takes a block of a device for the host; NULL when memory is short. The stream (0: none) may have one again that it is
 * about to free. */
heap_block *heap_take(int device, size_t bytes, cudaMemPool_t pool, uint64_t stream);
/* The block whose data begins at an address, or that an address lies in; NULL when there is none. */
heap_block *heap_block_at(const void *address);
heap_block *heap_block_around(const void *address);
/* Gives it back for the host: at once, or when a stream gets to it; in this case heap_returned() follows. */
void heap_give(heap_block *block, uint64_t stream);
void heap_returned(heap_block *block, uint64_t returns);
/* Makes the data accessible and fills it; checks the red zone, spoils the data, and makes it inaccessible. */
void heap_open(heap_block *block, size_t bytes);
void heap_shut(heap_block *block);
/* Of a pool that is destroyed: what is still taken does not count for it any longer. */
void heap_leave_pool(cudaMemPool_t pool);

size_t memory_limit(int device);
size_t memory_used(int device);
size_t heap_live_blocks();
size_t heap_live_bytes();

/* Virtual memory. */
size_t physical_live_handles();
size_t physical_live_bytes();
size_t physical_used(int device);
size_t virtual_live_reservations();
bool virtual_mapped(const void *address, size_t bytes);
bool virtual_reserved(const void *address);
/* The device of what is mapped at an address; -1: nothing is. */
int virtual_device(const void *address);
/* Opens what a device may touch, and closes all else; ALL_DEVICES: opens all that one of them may. */
void virtual_open_for(int device);
void virtual_close();
size_t virtual_mappings();

/* Peers: whether kernels of a device may touch what cudaMalloc and pools have of another. */
bool may_touch(int device, int other);
bool can_be_peers(int device, int other);
bool pools_let_touch(int device, int other);

/* Pinned memory. */
bool is_pinned(const void *address, size_t bytes);
size_t live_pinned();
size_t live_pools();

/* Whether an address is the device's, mapped or not; callable when something has crashed. */
bool is_device_range(const void *address);
} // namespace simt

#endif
