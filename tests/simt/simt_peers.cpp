/* simt_peers.cpp: which devices may touch the memory of which. */
#include <atomic>
#include "tests/simt/simt_control.h"
#include "tests/simt/simt_memory.h"
#include "tests/simt/simt_runtime.h"

namespace simt
{
namespace
{
std::atomic<int> peers{-1};               /* -1: as the environment says */
bool enabled[MOST_DEVICES][MOST_DEVICES]; /* by cudaDeviceEnablePeerAccess: of the first on the second */
} // namespace

bool can_be_peers(int device, int other)
{
    return device != other && (peers < 0 ? options().peers : peers.load() != 0);
}

bool may_touch(int device, int other)
{
    return device == other || enabled[device][other] || pools_let_touch(device, other);
}
} // namespace simt

using namespace simt;

extern "C" {
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return serve_anyway([&](held_lock &) {
        if (!can) return cudaErrorInvalidValue;
        if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
        *can = can_be_peers(device, peer);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return serve([&](held_lock &) {
        const int device = current_device();
        if (flags) return cudaErrorInvalidValue;
        if (!is_device(peer) || peer == device) return cudaErrorInvalidDevice;
        if (!can_be_peers(device, peer)) return cudaErrorPeerAccessUnsupported;
        if (enabled[device][peer]) return cudaErrorPeerAccessAlreadyEnabled;
        enabled[device][peer] = true;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return serve([&](held_lock &) {
        if (!is_device(peer)) return cudaErrorInvalidDevice;
        if (!enabled[current_device()][peer]) return cudaErrorPeerAccessNotEnabled;
        enabled[current_device()][peer] = false;
        return cudaSuccess;
    });
}

void simt_set_peers(bool value)
{
    peers = value;
}
}
