/* simt_copy.cpp: copies and fills, which check that the memory is what the call says it is, when they are
 * called and again when they run. */
#include <cstring>
#include <vector>
#include "tests/simt/simt_memory.h"
#include "tests/simt/simt_queue.h"
#include "tests/simt/simt_runtime.h"

namespace simt
{
namespace
{
enum side { HOST, DEVICE };

/* One end of a copy. */
struct range {
    char *address;
    size_t bytes;
    side where;
    bool pinned;
};

/* False when the range lies in device memory, but not in one piece of it that the host has. */
bool find_range(const void *address, size_t bytes, range *result)
{
    *result = {static_cast<char *>(const_cast<void *>(address)), bytes, HOST, false};
    const heap_block *const block = heap_block_around(address);
    if (!block && !is_device_range(address)) {
        result->pinned = is_pinned(address, bytes);
        return true;
    }
    result->where = DEVICE;
    if (!block) return virtual_mapped(address, bytes);
    return block->state == TAKEN && result->address + bytes <= block->address + block->bytes;
}

/* When the operation runs. */
void check_range(const range &at, const char *what)
{
    if (!at.bytes) return;
    held_lock held(state_lock());
    if (at.where == HOST) {
        if (at.pinned && !is_pinned(at.address, at.bytes))
            die("%s: the pinned memory has been freed meanwhile", what);
        return;
    }
    const heap_block *const block = heap_block_around(at.address);
    const bool valid = block ? block->open && at.address + at.bytes <= block->address + block->open_bytes
                             : virtual_mapped(at.address, at.bytes);
    if (!valid)
        die("%s: the device memory at %p is not allocated at this point of the stream", what,
            static_cast<void *>(at.address));
}

struct copy_operation final : operation {
    range to, from;
    std::vector<char> staged; /* what the source held at the call, if it was read then */
    copy_operation(const range &to_, const range &from_) : operation("cudaMemcpyAsync"), to(to_), from(from_)
    {
    }
    void run() override
    {
        check_range(to, what);
        const char *source = from.address;
        if (staged.empty())
            check_range(from, what);
        else
            source = staged.data();
        seen_read(source, to.bytes);
        seen_write(to.address, to.bytes);
        memmove(to.address, source, to.bytes);
        staged = std::vector<char>();
    }
};

struct fill_operation final : operation {
    range to;
    int value;
    fill_operation(const range &to_, int value_) : operation("cudaMemsetAsync"), to(to_), value(value_) {}
    void run() override
    {
        check_range(to, what);
        seen_write(to.address, to.bytes);
        memset(to.address, value, to.bytes);
    }
};

bool agrees(cudaMemcpyKind kind, side to, side from)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return to == HOST && from == HOST;
    case cudaMemcpyHostToDevice:
        return to == DEVICE && from == HOST;
    case cudaMemcpyDeviceToHost:
        return to == HOST && from == DEVICE;
    case cudaMemcpyDeviceToDevice:
        return to == DEVICE && from == DEVICE;
    case cudaMemcpyDefault:
        return true;
    }
    return false;
}

cudaError_t copy(held_lock &held, void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t handle, operation_ref *result)
{
    CUstream_st *const stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    range target, source;
    if (!bytes) return cudaSuccess;
    if (!to || !from || !find_range(to, bytes, &target) || !find_range(from, bytes, &source))
        return cudaErrorInvalidValue;
    if (!agrees(kind, target.where, source.where)) return cudaErrorInvalidValue;
    const auto op = std::make_shared<copy_operation>(target, source);
    if (source.where == HOST && !source.pinned && options().seed && !host_random().below(4)) {
        op->staged.resize(bytes);
        seen_read(source.address, bytes);
        memcpy(op->staged.data(), source.address, bytes);
    }
    enqueue_operation(held, stream, op);
    *result = op;
    return cudaSuccess;
}

cudaError_t fill(held_lock &held, void *to, int value, size_t bytes, cudaStream_t handle,
                 operation_ref *result)
{
    CUstream_st *const stream = stream_of(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    range target;
    if (!bytes) return cudaSuccess;
    if (!to || !find_range(to, bytes, &target) || (target.where == HOST && !target.pinned))
        return cudaErrorInvalidValue;
    const auto op = std::make_shared<fill_operation>(target, value);
    enqueue_operation(held, stream, op);
    *result = op;
    return cudaSuccess;
}
} // namespace
} // namespace simt

using namespace simt;

extern "C" {
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return serve([&](held_lock &held) {
        operation_ref op;
        return copy(held, to, from, bytes, kind, stream, &op);
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return serve([&](held_lock &held) {
        operation_ref op;
        const cudaError_t error = copy(held, to, from, bytes, kind, nullptr, &op);
        if (op) wait_for(held, op);
        return error;
    });
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return serve([&](held_lock &held) {
        operation_ref op;
        return fill(held, to, value, bytes, stream, &op);
    });
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return serve([&](held_lock &held) {
        operation_ref op;
        const cudaError_t error = fill(held, to, value, bytes, nullptr, &op);
        if (op) wait_for(held, op);
        return error;
    });
}
}
