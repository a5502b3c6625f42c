/* simt_heap.cpp: blocks of device memory, in one range of addresses for each device.
 *
 * Sizes are rounded up to four classes for each power of two, with at least RED_ZONE bytes between one
 * block's data and the next. A block that was given back is used again for its class, the last one first, so
 * that who keeps using it meets another's data; under AddressSanitizer the first one first and only after
 * some time. With seeds, one request in four gets new addresses. */
#include "tests/simt/simt_memory.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>
#include "tests/simt/simt_control.h"
#include "tests/simt/simt_queue.h"

namespace simt
{
namespace
{
enum {
    ALIGNMENT = 256,
    RED_ZONE = 64,
    HUGE_PAGE = 2 << 20,
    COMMIT_BYTES = 2 * HUGE_PAGE,
    NEW_MEMORY = 0xCD,
    OLD_MEMORY = 0xDD,
    RED_ZONE_PATTERN = 0xFB,
    QUARANTINE_BYTES = 32 << 20,
    MOST_TRIES = 16,
    MOST_FRESH_BYTES = 8 << 20,
    MOST_GUARDED_BYTES = 16 << 20,
    MOST_GUARDED_MAPPINGS = 32
};
const size_t ADDRESS_BYTES = size_t(64) << 30;

typedef std::pair<cudaMemPool_t, size_t> list_key; /* pool and capacity */

struct heap_state {
    char *base = nullptr, *next = nullptr, *committed = nullptr;
    std::map<const char *, heap_block *> blocks;        /* by address, in whatever state */
    std::map<list_key, std::deque<heap_block *>> lists; /* not TAKEN */
    size_t used = 0, taken = 0, waiting = 0;            /* bytes, blocks, bytes in lists */
    std::atomic<size_t> limit{0};                       /* 0: as the settings say */
    bool closed = false;                                /* to whoever runs now */
};

heap_state &heap(int device)
{
    static heap_state *const instances = new heap_state[MOST_DEVICES];
    return instances[device];
}

bool in_range(const heap_state &self, const char *at)
{
    return self.base && at >= self.base && at < self.base + ADDRESS_BYTES;
}

template <class F> size_t add_up(F of_device)
{
    size_t sum = 0;
    for (int device = 0; device < MOST_DEVICES; device++) sum += of_device(device);
    return sum;
}

size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

size_t capacity_for(size_t bytes)
{
    const size_t least = bytes + RED_ZONE;
    size_t power = ALIGNMENT * 4;
    while (power * 2 <= least) power *= 2;
    return round_up(least, power / 4);
}

size_t accounted(size_t bytes)
{
    return round_up(std::max<size_t>(bytes, 1), ALIGNMENT);
}

heap_block *new_block(int device, size_t capacity)
{
    heap_state &self = heap(device);
    if (!self.base) {
        void *const range = mmap(nullptr, ADDRESS_BYTES + HUGE_PAGE, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) die("no address space for device memory");
        const uintptr_t begin = round_up(reinterpret_cast<uintptr_t>(range), HUGE_PAGE);
        self.base = self.next = self.committed = reinterpret_cast<char *>(begin);
        /* What opens and closes the memory then changes a few pages, not thousands. */
        madvise(self.base, ADDRESS_BYTES, MADV_HUGEPAGE);
    }
    if (capacity > static_cast<size_t>(self.base + ADDRESS_BYTES - self.next)) return nullptr;
    char *const address = self.next;
    self.next += capacity;
    if (self.next > self.committed) {
        const size_t more = round_up(static_cast<size_t>(self.next - self.committed), COMMIT_BYTES);
        if (mprotect(self.committed, more, PROT_READ | PROT_WRITE)) return nullptr;
        self.committed += more;
    }
    heap_block *const block = new heap_block{address, capacity, device, FREE, 0, nullptr, 0, 0, false, 0, 0};
    self.blocks[address] = block;
    poison(address, capacity);
    return block;
}

/* A block that was given back and may be had now. */
heap_block *find_block(int device, size_t capacity, cudaMemPool_t pool, uint64_t stream)
{
    heap_state &self = heap(device);
    if (options().seed && self.waiting < MOST_FRESH_BYTES && !host_random().below(4)) return nullptr;
    if (SIMT_ASAN && self.waiting < QUARANTINE_BYTES) return nullptr;
    const auto list = self.lists.find({pool, capacity});
    if (list == self.lists.end()) return nullptr;
    std::deque<heap_block *> &blocks = list->second;
    for (size_t tries = 0; tries < blocks.size() && tries < MOST_TRIES; tries++) {
        const size_t at = SIMT_ASAN ? tries : blocks.size() - 1 - tries;
        heap_block *const block = blocks[at];
        if (block->state == RETURNING && block->returned_on != stream) continue;
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
        self.waiting -= capacity;
        return block;
    }
    return nullptr;
}
} // namespace

heap_block *heap_take(int device, size_t bytes, cudaMemPool_t pool, uint64_t stream)
{
    heap_state &self = heap(device);
    const size_t limit = memory_limit(device);
    if (bytes > limit || memory_used(device) + accounted(bytes) > limit) return nullptr;
    const size_t capacity = capacity_for(bytes);
    heap_block *block = find_block(device, capacity, pool, stream);
    if (!block) block = new_block(device, capacity);
    if (!block) return nullptr;
    block->state = TAKEN;
    block->bytes = bytes;
    block->pool = pool;
    self.used += accounted(bytes);
    self.taken++;
    if (pool) {
        pool->used += accounted(bytes);
        pool->most_used = std::max(pool->most_used, pool->used);
    }
    return block;
}

void heap_give(heap_block *block, uint64_t stream)
{
    heap_state &self = heap(block->device);
    self.used -= accounted(block->bytes);
    self.taken--;
    if (block->pool) block->pool->used -= accounted(block->bytes);
    block->state = stream ? RETURNING : FREE;
    block->returned_on = stream;
    block->returns++;
    self.lists[{block->pool, block->capacity}].push_back(block);
    self.waiting += block->capacity;
}

void heap_returned(heap_block *block, uint64_t returns)
{
    if (block->state == RETURNING && block->returns == returns) block->state = FREE;
}

heap_block *heap_block_around(const void *address)
{
    const char *const at = static_cast<const char *>(address);
    for (int device = 0; device < MOST_DEVICES; device++) {
        const heap_state &self = heap(device);
        if (!in_range(self, at)) continue;
        auto found = self.blocks.upper_bound(at);
        if (found == self.blocks.begin()) return nullptr;
        heap_block *const block = (--found)->second;
        return at < block->address + block->capacity ? block : nullptr;
    }
    return nullptr;
}

heap_block *heap_block_at(const void *address)
{
    heap_block *const block = heap_block_around(address);
    return block && block->address == address ? block : nullptr;
}

void heap_open(heap_block *block, size_t bytes)
{
    order_acquire(&block->order);
    unpoison(block->address, bytes);
    if (!SIMT_ASAN) memset(block->address + bytes, RED_ZONE_PATTERN, block->capacity - bytes);
    seen_write(block->address, bytes);
    memset(block->address, NEW_MEMORY, bytes);
    block->open = true;
    block->open_bytes = bytes;
}

void heap_shut(heap_block *block)
{
    const size_t bytes = block->open_bytes;
    if (!SIMT_ASAN) {
        for (size_t i = bytes; i < block->capacity; i++) {
            if (static_cast<unsigned char>(block->address[i]) == RED_ZONE_PATTERN) continue;
            die("a block of %zu bytes of device memory at %p was written to beyond its end, at byte %zu",
                bytes, static_cast<void *>(block->address), i);
        }
    }
    seen_write(block->address, bytes);
    memset(block->address, OLD_MEMORY, bytes);
    poison(block->address, block->capacity);
    block->open = false;
    order_release(&block->order);
}

void heap_leave_pool(cudaMemPool_t pool)
{
    heap_state &self = heap(pool->device);
    for (const auto &entry : self.blocks) {
        if (entry.second->pool == pool) entry.second->pool = nullptr;
    }
    for (auto list = self.lists.begin(); list != self.lists.end();) {
        if (list->first.first != pool) {
            ++list;
            continue;
        }
        std::deque<heap_block *> &into = self.lists[{nullptr, list->first.second}];
        into.insert(into.end(), list->second.begin(), list->second.end());
        list = self.lists.erase(list);
    }
}

size_t memory_limit(int device)
{
    const size_t set = heap(device).limit;
    return set ? set : options().memory_bytes[device];
}

size_t memory_used(int device)
{
    return heap(device).used + physical_used(device);
}

size_t heap_live_blocks()
{
    return add_up([](int device) { return heap(device).taken; });
}

size_t heap_live_bytes()
{
    return add_up([](int device) { return heap(device).used; });
}

bool is_device_range(const void *address)
{
    const char *const at = static_cast<const char *>(address);
    for (int device = 0; device < MOST_DEVICES; device++) {
        if (in_range(heap(device), at)) return true;
    }
    return virtual_reserved(address);
}

namespace
{
/* Large memories are left open: changing the protection of many pages at each wait would take too long. */
bool is_small()
{
    const size_t bytes = add_up([](int device) {
        const heap_state &self = heap(device);
        return static_cast<size_t>(self.committed - self.base);
    });
    return bytes <= MOST_GUARDED_BYTES && virtual_mappings() <= MOST_GUARDED_MAPPINGS;
}

void set_closed(int device, bool closed)
{
    heap_state &self = heap(device);
    if (self.closed == closed) return;
    self.closed = closed;
    const size_t bytes = static_cast<size_t>(self.committed - self.base);
    if (bytes) mprotect(self.base, bytes, closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}
} // namespace

void device_close_if_idle()
{
    if (device_busy() || !options().guard || !is_small()) return;
    for (int device = 0; device < device_count(); device++) set_closed(device, true);
    virtual_close();
}

void device_open()
{
    for (int device = 0; device < device_count(); device++) set_closed(device, false);
    virtual_open_for(ALL_DEVICES);
}

/* What is not a peer's is closed also where the host's accesses are not caught. */
void device_open_for(int device)
{
    if (device == ALL_DEVICES || device_count() < 2 || !is_small()) {
        device_open();
        return;
    }
    for (int other = 0; other < device_count(); other++)
        set_closed(other, other != device && !may_touch(device, other));
    virtual_open_for(device);
}
} // namespace simt

extern "C" {
void simt_set_memory(size_t bytes)
{
    for (int device = 0; device < simt::MOST_DEVICES; device++) simt_set_device_memory(device, bytes);
}

void simt_set_device_memory(int device, size_t bytes)
{
    simt::heap(device).limit = bytes;
}
}
