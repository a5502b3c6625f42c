/* simt_copy.cpp: copies and fills, which check that the memory is what the call says it is, when they are
 * called and again when they run. */
#include <algorithm>
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
    int device; /* -1: of the host */
};

enum { MOST_PIECES = 4 }; /* of a copy from one device to another */

/* False when the range lies in device memory, but not in one piece of it that the host has. */
bool find_range(const void *address, size_t bytes, range *result)
{
    *result = {static_cast<char *>(const_cast<void *>(address)), bytes, HOST, false, -1};
    const heap_block *const block = heap_block_around(address);
    if (!block && !is_device_range(address)) {
        result->pinned = is_pinned(address, bytes);
        return true;
    }
    result->where = DEVICE;
    result->device = block ? block->device : virtual_device(address);
    if (!block) return virtual_mapped(address, bytes);
    return block->state == TAKEN && result->address + bytes <= block->address + block->bytes;
}

/* When the operation runs. False for what a device that is lost has not come to allocate: that is nothing to others. */
bool check_range(const range &at, const char *what)
{
    if (!at.bytes) return true;
    held_lock held(state_lock());
    if (at.where == HOST) {
        if (at.pinned && !is_pinned(at.address, at.bytes))
            die("%s: the pinned memory has been freed meanwhile", what);
        return true;
    }
    const heap_block *const block = heap_block_around(at.address);
    const bool valid = block ? block->open && at.address + at.bytes <= block->address + block->open_bytes
                             : virtual_mapped(at.address, at.bytes);
    if (!valid && !device_fault(at.device))
        die("%s: the device memory at %p is not allocated at this point of the stream", what,
            static_cast<void *>(at.address));
    return valid;
}

struct copy_operation final : operation {
    range to, from;
    std::vector<char> staged; /* what the source held at the call, if it was read then */
    copy_operation(const range &to_, const range &from_) : operation("cudaMemcpyAsync"), to(to_), from(from_)
    {
    }
    void run() override
    {
        if (!check_range(to, what) || (staged.empty() && !check_range(from, what))) return;
        const char *const source = staged.empty() ? from.address : staged.data();
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
        if (!check_range(to, what)) return;
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

range part_of(const range &whole, size_t begin, size_t end)
{
    range part = whole;
    part.address += begin;
    part.bytes = end - begin;
    return part;
}

/* What goes over a link arrives in pieces, by the seed in this order or another, with other streams' work between. */
operation_ref copy_over(held_lock &held, CUstream_st *stream, const range &to, const range &from)
{
    const size_t most = std::min<size_t>(to.bytes, MOST_PIECES);
    const size_t pieces = options().seed ? 1 + host_random().below(most) : 1;
    const size_t first = host_random().below(pieces);
    operation_ref last;
    for (size_t i = 0; i < pieces; i++) {
        const size_t piece = (first + i) % pieces, begin = to.bytes * piece / pieces,
                     end = to.bytes * (piece + 1) / pieces;
        last = std::make_shared<copy_operation>(part_of(to, begin, end), part_of(from, begin, end));
        enqueue_operation(held, stream, last);
    }
    return last;
}

/* What is of a pool or of a mapping, as all is in the library, is nothing to a device that may not touch it: whoever
 * copies or fills has one for which it is. */
bool is_nothing_to(int device, const range &r)
{
    return r.where == DEVICE && !may_touch(device, r.device);
}

cudaError_t copy(held_lock &held, void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                 CUstream_st *stream, operation_ref *result)
{
    range target, source;
    if (!bytes) return cudaSuccess;
    if (!to || !from || !find_range(to, bytes, &target) || !find_range(from, bytes, &source))
        return cudaErrorInvalidValue;
    if (!agrees(kind, target.where, source.where)) return cudaErrorInvalidValue;
    if (target.where == DEVICE && source.where == DEVICE && target.device != source.device) {
        *result = copy_over(held, stream, target, source);
        return cudaSuccess;
    }
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

cudaError_t fill(held_lock &held, void *to, int value, size_t bytes, CUstream_st *stream,
                 operation_ref *result)
{
    range target;
    if (!bytes) return cudaSuccess;
    if (!to || !find_range(to, bytes, &target) || (target.where == HOST && !target.pinned))
        return cudaErrorInvalidValue;
    if (is_nothing_to(current_device(), target) || (stream && is_nothing_to(stream->device, target)))
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
    return serve_on(stream, [&](held_lock &held, CUstream_st *on) {
        operation_ref op;
        range target, source;
        if (bytes && find_range(to, bytes, &target) && find_range(from, bytes, &source) &&
            (target.where == HOST || source.where == HOST) &&
            (is_nothing_to(current_device(), target) || is_nothing_to(current_device(), source)))
            return cudaErrorInvalidValue;
        return copy(held, to, from, bytes, kind, on, &op);
    });
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    return serve_on(stream, [&](held_lock &held, CUstream_st *on) {
        operation_ref op;
        range target, source;
        if (!is_device(to_device) || !is_device(from_device)) return cudaErrorInvalidDevice;
        if (!bytes) return cudaSuccess;
        if (!find_range(to, bytes, &target) || !find_range(from, bytes, &source))
            return cudaErrorInvalidValue;
        if (target.device != to_device || source.device != from_device) return cudaErrorInvalidValue;
        return copy(held, to, from, bytes, cudaMemcpyDeviceToDevice, on, &op);
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return serve_on(nullptr, [&](held_lock &held, CUstream_st *on) {
        operation_ref op;
        const cudaError_t error = copy(held, to, from, bytes, kind, on, &op);
        if (op) wait_for(held, op);
        return error;
    });
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return serve_on(stream, [&](held_lock &held, CUstream_st *on) {
        operation_ref op;
        return fill(held, to, value, bytes, on, &op);
    });
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return serve_on(nullptr, [&](held_lock &held, CUstream_st *on) {
        operation_ref op;
        const cudaError_t error = fill(held, to, value, bytes, on, &op);
        if (op) wait_for(held, op);
        return error;
    });
}
}
