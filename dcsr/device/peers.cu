/* peers.cu: devices that touch each other's memory, and copies from one to another.
 *
 * Access is granted to the memory pools of contexts, not to mapped address space, where matrices are: what is copied
 * of these is gathered in memory of the pool. So nothing changes for memory that the program itself takes from CUDA. */
#include "dcsr/device/device_state.cuh"
#include <assert.h>

bool dcsr_i_cuda_can_access(const dcsr_i_cuda_device *device, const dcsr_i_cuda_device *peer)
{
    int can = 1;
    if (device->number == peer->number) return true;
    if (dcsr_i_cuda_forked()) return false;
    dcsr_i_cuda_current current(device->number);
    if (cudaDeviceCanAccessPeer(&can, device->number, peer->number) == cudaSuccess) return can;
    cudaGetLastError();
    return false;
}

static cudaError_t admit_to_pool(dcsr_i_cuda_device *peer, int guest)
{
    dcsr_i_cuda_current current(peer->number);
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = guest;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    return cudaMemPoolSetAccess(peer->pool, &access, 1);
}

dcsr_status dcsr_i_cuda_enable_peer(dcsr_i_cuda_device *device, dcsr_i_cuda_device *peer)
{
    static const char doing[] = "opening its memory to another GPU";
    DCSR_TRY(dcsr_i_cuda_check(device));
    DCSR_TRY(dcsr_i_cuda_check(peer));
    const uint64_t bit = (uint64_t)1 << device->number;
    if (device->number == peer->number || peer->guests.load() & bit) return DCSR_OK;
    if (!dcsr_i_cuda_can_access(device, peer))
        return dcsr_i_fail(
            DCSR_ERROR_NO_DEVICE,
            "GPU number %d cannot touch the memory of number %d: they are no peers (nvidia-smi topo -p2p "
            "r lists those that are); what it needs of it has to be copied",
            device->number, peer->number);
    DCSR_TRY(dcsr_i_cuda_result(peer, admit_to_pool(peer, device->number), doing));
    peer->guests.fetch_or(bit);
    return DCSR_OK;
}

/* CUDA goes through pinned memory of the host by itself, in pieces that overlap, where the two are no peers. */
void dcsr_i_cuda_copy_peer(dcsr_i_cuda_stream *stream, void *to, const dcsr_i_cuda_device *to_device,
                           const void *from, const dcsr_i_cuda_device *from_device, size_t bytes)
{
    assert(stream->device->number == to_device->number || stream->device->number == from_device->number);
    if (!bytes) return;
    dcsr_i_cuda_current current(stream->device->number);
    dcsr_i_cuda_note(
        stream, cudaMemcpyPeerAsync(to, to_device->number, from, from_device->number, bytes, stream->raw));
}
