/* simt_memory.cpp: the calls that allocate and free device memory and pinned memory of the host. */
#include "tests/simt/simt_memory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include "tests/simt/simt_control.h"
#include "tests/simt/simt_queue.h"
#include "tests/simt/simt_runtime.h"
#include "tests/simt/simt_streams.h"

namespace simt
{
namespace
{
enum { PINNED_PATTERN = 0xCB, PINNED_ALIGNMENT = 256 };

struct memory_state {
    std::map<const char *, size_t> pinned;
    std::set<cudaMemPool_t> pools;
    CUmemPoolHandle_st default_pool[MOST_DEVICES];
};

memory_state &memory()
{
    static memory_state &instance = *new memory_state;
    return instance;
}

struct open_operation final : operation {
    heap_block *block;
    size_t bytes;
    open_operation(heap_block *block_, size_t bytes_)
        : operation("cudaMallocAsync"), block(block_), bytes(bytes_)
    {
    }
    void run() override { heap_open(block, bytes); }
};

struct shut_operation final : operation {
    heap_block *block;
    uint64_t returns;
    explicit shut_operation(heap_block *block_)
        : operation("cudaFreeAsync"), block(block_), returns(block_->returns)
    {
    }
    void run() override
    {
        heap_shut(block);
        held_lock held(state_lock());
        heap_returned(block, returns);
    }
};

cudaMemPool_t default_pool(int device)
{
    cudaMemPool_t pool = &memory().default_pool[device];
    pool->device = device;
    return pool;
}

bool is_pool(cudaMemPool_t pool)
{
    return memory().pools.count(pool) ||
           (pool >= memory().default_pool && pool < memory().default_pool + MOST_DEVICES);
}

/* What pools keep though it is not used. */
size_t kept(const CUmemPoolHandle_st &pool)
{
    const size_t most = std::max<size_t>(pool.used, std::min<uint64_t>(pool.most_used, pool.threshold));
    return most - pool.used;
}

cudaError_t allocate_async(held_lock &held, void **pointer, size_t bytes, cudaMemPool_t pool,
                           CUstream_st *stream)
{
    if (!pointer || !is_pool(pool)) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (!bytes) return cudaSuccess;
    heap_block *const block = request_fails() ? nullptr : heap_take(pool->device, bytes, pool, stream->id);
    if (!block) return cudaErrorMemoryAllocation;
    *pointer = block->address;
    enqueue_operation(held, stream, std::make_shared<open_operation>(block, bytes));
    return cudaSuccess;
}
} // namespace

bool is_pinned(const void *address, size_t bytes)
{
    const auto &pinned = memory().pinned;
    const char *const at = static_cast<const char *>(address);
    auto found = pinned.upper_bound(at);
    if (found == pinned.begin()) return false;
    --found;
    return at + bytes <= found->first + found->second;
}

size_t live_pinned()
{
    return memory().pinned.size();
}

size_t live_pools()
{
    return memory().pools.size();
}

bool pools_let_touch(int device, int other)
{
    const auto lets = [=](const CUmemPoolHandle_st &pool) {
        return pool.device == other && (pool.peers >> device & 1);
    };
    return lets(*default_pool(other)) || std::any_of(memory().pools.begin(), memory().pools.end(),
                                                     [&](cudaMemPool_t p) { return lets(*p); });
}
} // namespace simt

using namespace simt;

extern "C" {
cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return serve([&](held_lock &) {
        if (!pointer) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (!bytes) return cudaSuccess;
        heap_block *const block = request_fails() ? nullptr : heap_take(current_device(), bytes, nullptr, 0);
        if (!block) return cudaErrorMemoryAllocation;
        device_open();
        heap_open(block, bytes);
        *pointer = block->address;
        return cudaSuccess;
    });
}

cudaError_t cudaFree(void *pointer)
{
    return serve([&](held_lock &) {
        if (!pointer) return cudaSuccess;
        heap_block *const block = heap_block_at(pointer);
        if (!block || block->state != TAKEN) return cudaErrorInvalidValue;
        if (!block->open)
            die("cudaFree of memory that its stream has not allocated yet: wait for the stream first");
        device_open();
        heap_shut(block);
        heap_give(block, 0);
        return cudaSuccess;
    });
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return serve_on(stream, [&](held_lock &held, CUstream_st *on) {
        return allocate_async(held, pointer, bytes, pool, on);
    });
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    return serve_on(stream, [&](held_lock &held, CUstream_st *on) {
        return allocate_async(held, pointer, bytes, default_pool(on->device), on);
    });
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t handle)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (!pointer) return cudaSuccess;
        heap_block *const block = heap_block_at(pointer);
        if (!block || block->state != TAKEN) return cudaErrorInvalidValue;
        heap_give(block, stream->id);
        enqueue_operation(held, stream, std::make_shared<shut_operation>(block));
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
    return serve([&](held_lock &) {
        if (!pool || !properties || properties->allocType != cudaMemAllocationTypePinned ||
            properties->location.type != cudaMemLocationTypeDevice || !is_device(properties->location.id))
            return cudaErrorInvalidValue;
        if (request_fails()) return cudaErrorMemoryAllocation;
        *pool = new CUmemPoolHandle_st;
        (*pool)->device = properties->location.id;
        memory().pools.insert(*pool);
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    return serve([&](held_lock &) {
        if (!memory().pools.erase(pool)) return cudaErrorInvalidValue;
        heap_leave_pool(pool);
        delete pool;
        return cudaSuccess;
    });
}

/* Reuse follows what cudaMallocAsync says whatever these attributes are. */
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value)
{
    return serve([&](held_lock &) {
        if (!is_pool(pool) || !value) return cudaErrorInvalidValue;
        if (attribute > cudaMemPoolAttrReleaseThreshold) return cudaErrorInvalidValue;
        if (attribute == cudaMemPoolAttrReleaseThreshold)
            memcpy(&pool->threshold, value, sizeof pool->threshold);
        return cudaSuccess;
    });
}

/* Of a pool's memory, kernels may touch what any pool of the same device lets them. */
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *access, size_t count)
{
    return serve([&](held_lock &) {
        if (!is_pool(pool) || !access) return cudaErrorInvalidValue;
        for (size_t i = 0; i < count; i++) {
            const cudaMemLocation &location = access[i].location;
            if (location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
            if (!is_device(location.id)) return cudaErrorInvalidDevice;
            if (location.id != pool->device && !can_be_peers(location.id, pool->device))
                return cudaErrorInvalidDevice;
        }
        for (size_t i = 0; i < count; i++) {
            const unsigned bit = 1u << access[i].location.id;
            pool->peers =
                access[i].flags == cudaMemAccessFlagsProtReadWrite ? pool->peers | bit : pool->peers & ~bit;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    return serve([&](held_lock &) {
        if (!is_pool(pool)) return cudaErrorInvalidValue;
        pool->most_used = std::max(pool->used, std::min(pool->most_used, keep));
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return serve([&](held_lock &) {
        if (!pool || !is_device(device)) return pool ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
        *pool = default_pool(device);
        return cudaSuccess;
    });
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    return serve([&](held_lock &) {
        const int device = current_device();
        const size_t limit = memory_limit(device);
        size_t used = memory_used(device) + kept(*default_pool(device));
        for (cudaMemPool_t pool : memory().pools) used += pool->device == device ? kept(*pool) : 0;
        if (available) *available = used < limit ? limit - used : 0;
        if (total) *total = limit;
        return cudaSuccess;
    });
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    return serve([&](held_lock &) {
        const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        if (!pointer || flags & ~known) return cudaErrorInvalidValue;
        *pointer = nullptr;
        if (!bytes) return cudaSuccess;
        if (request_fails() || posix_memalign(pointer, PINNED_ALIGNMENT, bytes))
            return cudaErrorMemoryAllocation;
        memset(*pointer, PINNED_PATTERN, bytes);
        memory().pinned[static_cast<const char *>(*pointer)] = bytes;
        return cudaSuccess;
    });
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer)
{
    return serve([&](held_lock &) {
        if (!pointer) return cudaSuccess;
        const auto found = memory().pinned.find(static_cast<const char *>(pointer));
        if (found == memory().pinned.end()) return cudaErrorInvalidValue;
        seen_write(pointer, found->second);
        memory().pinned.erase(found);
        free(pointer);
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    return serve([&](held_lock &) {
        if (!attributes) return cudaErrorInvalidValue;
        const heap_block *const block = heap_block_around(pointer);
        void *const address = const_cast<void *>(pointer);
        if (block && block->state == TAKEN)
            *attributes = {cudaMemoryTypeDevice, block->device, address, nullptr};
        else if (virtual_mapped(pointer, 1))
            *attributes = {cudaMemoryTypeDevice, virtual_device(pointer), address, nullptr};
        else if (is_pinned(pointer, 1))
            *attributes = {cudaMemoryTypeHost, 0, address, address};
        else
            *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
        return cudaSuccess;
    });
}

/* What tests ask for. */
static size_t count(size_t (*counter)())
{
    quiet_begin();
    size_t value;
    {
        held_lock held(state_lock());
        value = counter();
    }
    quiet_end();
    return value;
}

size_t simt_live_allocations(void)
{
    return count([] { return heap_live_blocks() + physical_live_handles(); });
}

size_t simt_live_bytes(void)
{
    return count([] { return heap_live_bytes() + physical_live_bytes(); });
}

size_t simt_live_reservations(void)
{
    return count(virtual_live_reservations);
}

size_t simt_live_pinned(void)
{
    return count(live_pinned);
}

size_t simt_live_pools(void)
{
    return count(live_pools);
}

size_t simt_live_streams(void)
{
    return count(live_streams);
}

size_t simt_live_events(void)
{
    return count(live_events);
}
}
