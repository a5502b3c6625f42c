/* simt_cases_peers.cu: cases about several devices: what belongs to each, copies between them, peers, a lost one. */
#include "tests/simt/simt_cases.h"

enum { N = 64, DEVICES = 3, FEW = 1 << 20 };

static void begin()
{
    simt_set_devices(DEVICES);
    OK(cudaSetDevice(0));
}

/* Waits for all devices, so that each has run what it was given. */
static void finish()
{
    for (int device = 0; device < DEVICES; device++) {
        OK(cudaSetDevice(device));
        OK(cudaDeviceSynchronize());
    }
    OK(cudaSetDevice(0));
}

/* Memory of a device, and a stream and an event of it; leaves it the current one. */
struct on_device {
    bool current;
    device_array<unsigned> data;
    test_stream stream;
    test_event event;
    on_device(int device, unsigned value)
        : current(cudaSetDevice(device) == cudaSuccess), data(std::vector<unsigned>(N, value))
    {
        CHECK(current);
    }
    /* Later work of `other` follows what this stream holds. */
    void before(const on_device &other) const
    {
        OK(cudaEventRecord(event.handle, stream.handle));
        OK(cudaStreamWaitEvent(other.stream.handle, event.handle));
    }
};

static int device_of(const void *pointer)
{
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.device;
}

/* -- Correct programs
 * ---------------------------------------------------------------------------------------------- */

static void belonging()
{
    begin();
    int count, current;
    char place[2][32];
    OK(cudaGetDeviceCount(&count));
    CHECK(count == DEVICES && cudaSetDevice(DEVICES) == cudaErrorInvalidDevice);
    OK(cudaDeviceGetPCIBusId(place[0], sizeof place[0], 0));
    OK(cudaDeviceGetPCIBusId(place[1], sizeof place[1], 1));
    CHECK(strcmp(place[0], place[1]) != 0);
    const on_device a(0, 7), b(1, 8);
    OK(cudaGetDevice(&current));
    CHECK(current == 1 && device_of(a.data.data) == 0 && device_of(b.data.data) == 1);
    simt::launch(set_kernel, 1, 32, 0, a.stream.handle, a.data.data, 1, N);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle); /* device 1 is the current one */
    CHECK(cudaEventRecord(a.event.handle, b.stream.handle) == cudaErrorInvalidResourceHandle);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    OK(cudaStreamSynchronize(a.stream.handle)); /* whichever is the current one */
    OK(cudaFuncSetAttribute(set_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    simt::launch(set_kernel, 1, 32, 64 << 10, b.stream.handle, b.data.data, 9, N);
    b.stream.wait();
    CHECK(cudaGetLastError() == cudaSuccess && all_are(b.data.values(), 9));
    OK(cudaSetDevice(0));
    simt::launch(set_kernel, 1, 32, 64 << 10, a.stream.handle, a.data.data, 9, N);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue && all_are(a.data.values(), 7));
}

static void sizes()
{
    begin();
    size_t available, total;
    void *block;
    simt_set_device_memory(1, FEW);
    OK(cudaMemGetInfo(&available, &total));
    CHECK(total > FEW);
    OK(cudaSetDevice(1));
    OK(cudaMemGetInfo(&available, &total));
    CHECK(total == FEW && cudaMalloc(&block, 2 * FEW) == cudaErrorMemoryAllocation);
    OK(cudaSetDevice(2));
    OK(cudaMalloc(&block, 2 * FEW));
    OK(cudaFree(block));
}

/* From one device to the next and on, without peers; the source changes when its copy has arrived. */
template <bool ORDERED> static void copy_round()
{
    begin();
    const on_device a(0, 1), b(1, 0);
    OK(cudaSetDevice(0));
    simt::launch(set_kernel, 1, 32, 0, a.stream.handle, a.data.data, 7, N);
    OK(cudaMemcpyPeerAsync(b.data.data, 1, a.data.data, 0, N * sizeof(unsigned), a.stream.handle));
    if (ORDERED) a.before(b);
    OK(cudaSetDevice(1));
    simt::launch(add_kernel, 1, 32, 0, b.stream.handle, b.data.data, b.data.data, 1, N);
    finish();
    CHECK(all_are(b.data.values(), 8));
}

template <bool ORDERED> static void change_source()
{
    begin();
    const on_device a(0, 7), b(1, 0);
    OK(cudaMemcpyAsync(b.data.data, a.data.data, N * sizeof(unsigned), cudaMemcpyDefault, b.stream.handle));
    if (ORDERED) b.before(a);
    OK(cudaSetDevice(0));
    simt::launch(set_kernel, 1, 32, 0, a.stream.handle, a.data.data, 9, N);
    finish();
    CHECK(all_are(b.data.values(), 7));
}

static void copy_checks()
{
    begin();
    const on_device a(0, 7), b(1, 0);
    const size_t bytes = N * sizeof(unsigned);
    CHECK(cudaMemcpyPeerAsync(b.data.data, 0, a.data.data, 0, bytes) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyPeerAsync(b.data.data, 1, a.data.data, 2, bytes) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyPeerAsync(b.data.data, DEVICES, a.data.data, 0, bytes) == cudaErrorInvalidDevice);
    CHECK(cudaMemcpyPeerAsync(b.data.data, 1, a.data.data, 0, bytes + 1) == cudaErrorInvalidValue);
    OK(cudaMemcpyPeerAsync(b.data.data, 1, a.data.data, 0, 0));
    unsigned value = 0;
    OK(cudaSetDevice(0)); /* which may not touch what device 1 has */
    CHECK(cudaMemcpyAsync(b.data.data, &value, sizeof value, cudaMemcpyDefault, b.stream.handle) ==
          cudaErrorInvalidValue);
    CHECK(cudaMemsetAsync(b.data.data, 0, bytes, b.stream.handle) == cudaErrorInvalidValue);
    CHECK(cudaMemsetAsync(b.data.data, 0, bytes, a.stream.handle) == cudaErrorInvalidValue);
    OK(cudaSetDevice(1));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

static void enabling()
{
    begin();
    int can = 0;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1 && cudaDeviceCanAccessPeer(&can, 0, DEVICES) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    CHECK(cudaDeviceDisablePeerAccess(2) == cudaErrorPeerAccessNotEnabled);
    OK(cudaDeviceDisablePeerAccess(1));
    simt_set_peers(false);
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 0 && cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
    CHECK(cudaGetLastError() == cudaErrorPeerAccessUnsupported);
}

/* -- Memory that a kernel of another device touches; without access that is a bug
 * ------------------------------------------------- */

enum access { NONE, GIVEN };

/* A kernel of device 0 adds 1 to what device 1 has. */
static void add_from_afar(unsigned *data)
{
    OK(cudaSetDevice(0));
    simt::launch(add_kernel, 1, 32, 0, nullptr, data, data, 1, N);
    finish();
    std::vector<unsigned> values(N);
    OK(cudaMemcpy(values.data(), data, N * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(all_are(values, 8));
}

template <access ACCESS> static void touch_block()
{
    begin();
    if (ACCESS == GIVEN) OK(cudaDeviceEnablePeerAccess(1, 0));
    const on_device b(1, 7);
    add_from_afar(b.data.data);
}

template <access ACCESS> static void touch_pool()
{
    begin();
    const on_device b(1, 7);
    cudaMemPool_t pool;
    unsigned *data;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = 0;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    if (ACCESS == GIVEN) OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMallocAsync(&data, N * sizeof *data, b.stream.handle));
    OK(cudaMemcpyAsync(data, b.data.data, N * sizeof *data, cudaMemcpyDefault, b.stream.handle));
    b.stream.wait();
    add_from_afar(data);
    OK(cudaFreeAsync(data, b.stream.handle));
}

template <access ACCESS> static void touch_mapping()
{
    begin();
    const on_device b(1, 7);
    const size_t bytes = size_t(2) << 20;
    CUdeviceptr place;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp kind = {};
    CUmemAccessDesc access[2] = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = 1;
    access[0].location = access[1].location = kind.location;
    access[1].location.id = 0;
    access[0].flags = access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemAddressReserve(&place, bytes, 0, 0, 0) == CUDA_SUCCESS);
    CHECK(cuMemCreate(&handle, bytes, &kind, 0) == CUDA_SUCCESS);
    CHECK(cuMemMap(place, bytes, 0, handle, 0) == CUDA_SUCCESS);
    CHECK(cuMemSetAccess(place, bytes, access, ACCESS == GIVEN ? 2 : 1) == CUDA_SUCCESS);
    unsigned *const data = reinterpret_cast<unsigned *>(place);
    CHECK(device_of(data) == 1);
    OK(cudaMemcpy(data, b.data.data, N * sizeof *data, cudaMemcpyDefault));
    add_from_afar(data);
}

/* -- One that is lost
 * ---------------------------------------------------------------------------------------------- */

static void lost()
{
    begin();
    static const on_device *const a = new on_device(0, 7), *const b = new on_device(1, 0);
    simt_fail_device_after(1, 1);
    for (unsigned i = 0; i < 3; i++) simt::launch(set_kernel, 1, 32, 0, b->stream.handle, b->data.data, i, N);
    CHECK(cudaStreamSynchronize(b->stream.handle) == cudaErrorECCUncorrectable);
    CHECK(cudaGetLastError() == cudaErrorECCUncorrectable && cudaGetLastError() == cudaErrorECCUncorrectable);
    OK(cudaSetDevice(0));
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaEventRecord(b->event.handle, b->stream.handle) == cudaErrorECCUncorrectable);
    CHECK(cudaEventQuery(b->event.handle) == cudaErrorECCUncorrectable);
    cudaGetLastError();
    simt::launch(add_kernel, 1, 32, 0, a->stream.handle, a->data.data, a->data.data, 1, N);
    a->stream.wait();
    CHECK(all_are(a->data.values(), 8));
    exit(
        0); /* what device 1 has cannot be given back, and is held by something static, so that it is no leak */
}

/* Device 1 is lost before it has given memory that device 0 copies from: what arrives may be anything, and device 0
 * goes on. */
static void lost_with_a_source()
{
    begin();
    static const on_device *const a = new on_device(0, 7), *const b = new on_device(1, 0);
    unsigned *late;
    simt_fail_device_after(1, 0);
    /* By the seed it is lost in any of these calls, or behind them. */
    cudaError_t error = cudaMallocAsync(&late, N * sizeof *late, b->stream.handle);
    if (!error) error = cudaEventRecord(b->event.handle, b->stream.handle);
    if (!error) error = cudaStreamWaitEvent(a->stream.handle, b->event.handle);
    if (!error) error = cudaMemcpyPeerAsync(a->data.data, 0, late, 1, N * sizeof *late, a->stream.handle);
    CHECK(error == cudaSuccess || error == cudaErrorECCUncorrectable);
    CHECK(cudaStreamSynchronize(b->stream.handle) == cudaErrorECCUncorrectable);
    OK(cudaSetDevice(0));
    simt::launch(set_kernel, 1, 32, 0, a->stream.handle, a->data.data, 8, N);
    a->stream.wait();
    CHECK(all_are(a->data.values(), 8));
    exit(0);
}

extern const simt_case PEER_CASES[] = {{"clean_belonging", belonging},
                                       {"clean_sizes", sizes},
                                       {"clean_copy_between_devices", copy_round<true>},
                                       {"clean_source_of_other_device", change_source<true>},
                                       {"clean_peer_copy_checks", copy_checks},
                                       {"clean_enabling", enabling},
                                       {"clean_peers_block", touch_block<GIVEN>},
                                       {"clean_peers_pool", touch_pool<GIVEN>},
                                       {"clean_peers_mapping", touch_mapping<GIVEN>},
                                       {"clean_lost_device", lost},
                                       {"clean_lost_source", lost_with_a_source},
                                       {"peer_copy_not_waited_for", copy_round<false>},
                                       {"source_of_other_device_changed", change_source<false>},
                                       {"block_of_no_peer", touch_block<NONE>},
                                       {"pool_of_no_peer", touch_pool<NONE>},
                                       {"mapping_of_no_peer", touch_mapping<NONE>},
                                       {nullptr, nullptr}};
