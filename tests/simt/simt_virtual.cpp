/* simt_virtual.cpp: virtual memory: reserved ranges, physical memory, and what is mapped where.
 *
 * Physical memory is one file in memory; a handle is a range of it, so that what it holds stays when it is
 * unmapped and mapped elsewhere. Whatever of a reservation is not mapped and made accessible faults. */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include "tests/simt/simt_driver.h"
#include "tests/simt/simt_memory.h"

namespace simt
{
namespace
{
/* A GPU's granule is of 2 MiB; each is filled with a pattern before it is used, which takes as long as what tests do in
 * so much memory. */
const size_t GRANULE = size_t(128) << 10, FILE_BYTES = size_t(1) << 40;
enum { PATTERN = 0xCD };

struct physical {
    int device;
    std::vector<off_t> granules; /* where in the file */
    size_t mappings;
    bool released;
};
struct mapping {
    size_t bytes;
    CUmemGenericAllocationHandle handle;
    unsigned devices; /* that may touch it, a bit each */
    bool open;
};
struct virtual_state {
    std::map<uint64_t, size_t> reservations;
    std::map<uint64_t, mapping> mappings;
    std::map<CUmemGenericAllocationHandle, physical> handles;
    bool all_open = false;
    uint64_t handles_created = 0;
    int file = -1;
    off_t file_end = 0;
    std::vector<off_t> free_granules;
    size_t used[MOST_DEVICES] = {};
};

virtual_state &virtual_memory()
{
    static virtual_state &instance = *new virtual_state;
    return instance;
}

void *to_pointer(uint64_t address)
{
    return reinterpret_cast<void *>(address);
}

bool aligned(uint64_t value)
{
    return value % GRANULE == 0;
}

/* The entry that an address lies in. */
template <class M> auto entry_around(M &map, uint64_t address) -> decltype(map.begin())
{
    auto found = map.upper_bound(address);
    return found == map.begin() ? map.end() : --found;
}

bool in_one_reservation(uint64_t address, size_t bytes)
{
    auto &reservations = virtual_memory().reservations;
    const auto found = entry_around(reservations, address);
    return found != reservations.end() && bytes <= found->second &&
           address - found->first <= found->second - bytes;
}

/* The mappings that make up a range exactly; false when there are none that do. */
bool exact_mappings(uint64_t address, size_t bytes, std::vector<uint64_t> *result)
{
    const uint64_t end = address + bytes;
    while (address < end) {
        const auto found = virtual_memory().mappings.find(address);
        if (found == virtual_memory().mappings.end()) return false;
        result->push_back(address);
        address += found->second.bytes;
    }
    return address == end && !result->empty();
}

off_t take_granule()
{
    static const std::vector<char> pattern(GRANULE, static_cast<char>(PATTERN));
    virtual_state &self = virtual_memory();
    off_t at = self.file_end;
    if (self.free_granules.empty()) {
        self.file_end += static_cast<off_t>(GRANULE);
    } else {
        at = self.free_granules.back();
        self.free_granules.pop_back();
    }
    if (pwrite(self.file, pattern.data(), GRANULE, at) != static_cast<ssize_t>(GRANULE))
        die("no physical memory left");
    return at;
}

void set_open(uint64_t address, mapping *mapped, bool open)
{
    if (mapped->open == open) return;
    mapped->open = open;
    mprotect(to_pointer(address), mapped->bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void drop_if_unused(std::map<CUmemGenericAllocationHandle, physical>::iterator handle)
{
    virtual_state &self = virtual_memory();
    const physical &memory = handle->second;
    if (!memory.released || memory.mappings) return;
    self.used[memory.device] -= memory.granules.size() * GRANULE;
    self.free_granules.insert(self.free_granules.end(), memory.granules.rbegin(), memory.granules.rend());
    self.handles.erase(handle);
}
} // namespace

size_t physical_live_handles()
{
    return virtual_memory().handles.size();
}

size_t physical_live_bytes()
{
    size_t bytes = 0;
    for (const size_t used : virtual_memory().used) bytes += used;
    return bytes;
}

size_t physical_used(int device)
{
    return virtual_memory().used[device];
}

int virtual_device(const void *address)
{
    auto &mappings = virtual_memory().mappings;
    const uint64_t at = reinterpret_cast<uint64_t>(address);
    const auto found = entry_around(mappings, at);
    if (found == mappings.end() || at >= found->first + found->second.bytes) return -1;
    return virtual_memory().handles[found->second.handle].device;
}

size_t virtual_live_reservations()
{
    return virtual_memory().reservations.size();
}

size_t virtual_mappings()
{
    return virtual_memory().mappings.size();
}

bool virtual_reserved(const void *address)
{
    return in_one_reservation(reinterpret_cast<uint64_t>(address), 1);
}

bool virtual_mapped(const void *address, size_t bytes)
{
    auto &mappings = virtual_memory().mappings;
    uint64_t at = reinterpret_cast<uint64_t>(address);
    const uint64_t end = at + bytes;
    while (at < end) {
        const auto found = entry_around(mappings, at);
        if (found == mappings.end() || at >= found->first + found->second.bytes || !found->second.devices)
            return false;
        at = found->first + found->second.bytes;
    }
    return true;
}

void virtual_open_for(int device)
{
    const unsigned wanted = device == ALL_DEVICES ? ~0u : 1u << device;
    if (device == ALL_DEVICES && virtual_memory().all_open) return;
    virtual_memory().all_open = device == ALL_DEVICES;
    for (auto &entry : virtual_memory().mappings)
        set_open(entry.first, &entry.second, entry.second.devices & wanted);
}

void virtual_close()
{
    virtual_memory().all_open = false;
    for (auto &entry : virtual_memory().mappings) set_open(entry.first, &entry.second, false);
}
} // namespace simt

using namespace simt;

extern "C" {
CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags)
{
    return drive([&] {
        if (!granularity || !properties) return CUDA_ERROR_INVALID_VALUE;
        *granularity = GRANULE;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr,
                             unsigned long long flags)
{
    return drive([&] {
        if (!address || !bytes || !aligned(bytes) || flags || (alignment & (alignment - 1)))
            return CUDA_ERROR_INVALID_VALUE;
        if (request_fails()) return CUDA_ERROR_OUT_OF_MEMORY;
        const size_t unit = std::max(alignment, GRANULE);
        void *const range =
            mmap(nullptr, bytes + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
        const uint64_t begin = reinterpret_cast<uint64_t>(range), first = (begin + unit - 1) / unit * unit;
        if (first > begin) munmap(range, first - begin);
        munmap(to_pointer(first + bytes), begin + unit - first);
        virtual_memory().reservations[first] = bytes;
        *address = first;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    return drive([&] {
        virtual_state &self = virtual_memory();
        const auto found = self.reservations.find(address);
        if (found == self.reservations.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
        const auto mapped = self.mappings.lower_bound(address);
        if (mapped != self.mappings.end() && mapped->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
        munmap(to_pointer(address), bytes);
        self.reservations.erase(found);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    return drive([&] {
        virtual_state &self = virtual_memory();
        if (!handle || !properties || !bytes || !aligned(bytes) || flags) return CUDA_ERROR_INVALID_VALUE;
        if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
            properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(properties->location.id))
            return CUDA_ERROR_INVALID_VALUE;
        const int device = properties->location.id;
        const size_t limit = memory_limit(device);
        if (request_fails() || bytes > limit || memory_used(device) + bytes > limit)
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (self.file < 0) {
            self.file = memfd_create("device memory", MFD_CLOEXEC);
            if (self.file < 0 || ftruncate(self.file, static_cast<off_t>(FILE_BYTES)))
                die("no physical memory");
        }
        physical memory = {device, {}, 0, false};
        for (size_t at = 0; at < bytes; at += GRANULE) memory.granules.push_back(take_granule());
        self.used[device] += bytes;
        *handle = ++self.handles_created;
        self.handles[*handle] = memory;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return drive([&] {
        const auto found = virtual_memory().handles.find(handle);
        if (found == virtual_memory().handles.end() || found->second.released)
            return CUDA_ERROR_INVALID_VALUE;
        found->second.released = true;
        drop_if_unused(found);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    return drive([&] {
        virtual_state &self = virtual_memory();
        const auto found = self.handles.find(handle);
        if (found == self.handles.end() || found->second.released || flags || !bytes)
            return CUDA_ERROR_INVALID_VALUE;
        if (!aligned(address) || !aligned(bytes) || offset) return CUDA_ERROR_INVALID_VALUE;
        if (bytes != found->second.granules.size() * GRANULE || !in_one_reservation(address, bytes))
            return CUDA_ERROR_INVALID_VALUE;
        const auto before = entry_around(self.mappings, address + bytes - 1);
        if (before != self.mappings.end() && before->first + before->second.bytes > address)
            return CUDA_ERROR_ALREADY_MAPPED;
        for (size_t i = 0; i < found->second.granules.size(); i++) {
            if (mmap(to_pointer(address + i * GRANULE), GRANULE, PROT_NONE, MAP_SHARED | MAP_FIXED, self.file,
                     found->second.granules[i]) == MAP_FAILED)
                die("device memory cannot be mapped; vm.max_map_count may be too small");
        }
        self.mappings[address] = {bytes, handle, 0, false};
        found->second.mappings++;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    return drive([&] {
        virtual_state &self = virtual_memory();
        std::vector<uint64_t> parts;
        if (!exact_mappings(address, bytes, &parts)) return CUDA_ERROR_INVALID_VALUE;
        for (uint64_t part : parts) {
            const mapping &mapped = self.mappings[part];
            if (mmap(to_pointer(part), mapped.bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
                die("device memory cannot be unmapped");
            const auto handle = self.handles.find(mapped.handle);
            handle->second.mappings--;
            drop_if_unused(handle);
            self.mappings.erase(part);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    return drive([&] {
        std::vector<uint64_t> parts;
        if (!access || !count || !exact_mappings(address, bytes, &parts)) return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < count; i++) {
            const CUmemLocation &location = access[i].location;
            if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
            if (!is_device(location.id)) return CUDA_ERROR_INVALID_DEVICE;
            const int owner = virtual_device(to_pointer(address));
            if (location.id != owner && !can_be_peers(location.id, owner)) return CUDA_ERROR_INVALID_DEVICE;
        }
        for (uint64_t part : parts) {
            unsigned &devices = virtual_memory().mappings[part].devices;
            for (size_t i = 0; i < count; i++) {
                const unsigned bit = 1u << access[i].location.id;
                devices =
                    access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? devices | bit : devices & ~bit;
            }
        }
        virtual_memory().all_open = false;
        device_open();
        return CUDA_SUCCESS;
    });
}
}
