/* simt_cases_memory.cu: cases about device memory, pools, virtual memory, and pinned memory. */
#include "tests/simt/simt_cases.h"

enum { N = 64 };
const size_t BYTES = N * sizeof(unsigned), GRANULE = size_t(128) << 10;

/* -- Correct programs
 * ---------------------------------------------------------------------------------------------- */

/* Memory goes back to the pool and is had again, without waiting, in one stream. */
static void pool_reuse()
{
    const test_stream stream;
    cudaMemPool_t pool;
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&pool, &properties));
    uint64_t threshold = UINT64_MAX;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    size_t before, during, kept, total;
    simt_set_memory(size_t(16) << 20);
    OK(cudaMemGetInfo(&before, &total));
    const size_t big = total / 4;
    for (unsigned round = 0; round < 12; round++) {
        unsigned *data;
        OK(cudaMallocFromPoolAsync(&data, big, pool, stream.handle));
        simt::launch(set_kernel, 1, 32, 0, stream.handle, data, round, N);
        OK(cudaMemGetInfo(&during, &total));
        CHECK(during <= before - big);
        OK(cudaFreeAsync(data, stream.handle));
    }
    stream.wait();
    OK(cudaMemGetInfo(&kept, &total));
    CHECK(kept == during);
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemGetInfo(&kept, &total));
    CHECK(kept == before && simt_live_allocations() == 0 && simt_live_pools() == 1);
    OK(cudaMemPoolDestroy(pool));
    CHECK(simt_live_pools() == 0);
}

static void new_memory_has_a_pattern()
{
    const device_array<unsigned> a(N);
    CHECK(all_are(a.values(), 0xCDCDCDCD));
}

static void pointer_attributes()
{
    const device_array<unsigned> a(N);
    unsigned *pinned, here = 0;
    cudaPointerAttributes attributes;
    OK(cudaMallocHost(&pinned, BYTES));
    OK(cudaPointerGetAttributes(&attributes, a.data + N - 1));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    OK(cudaPointerGetAttributes(&attributes, pinned + 1));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned + 1);
    OK(cudaPointerGetAttributes(&attributes, &here));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    CHECK(simt_live_pinned() == 1);
    OK(cudaFreeHost(pinned));
    CHECK(simt_live_pinned() == 0);
}

static void memory_ends()
{
    simt_set_memory(size_t(8) << 20);
    void *first, *second;
    size_t available, total;
    OK(cudaMalloc(&first, size_t(6) << 20));
    OK(cudaMemGetInfo(&available, &total));
    CHECK(total == size_t(8) << 20 && available == size_t(2) << 20 && simt_live_bytes() == size_t(6) << 20);
    CHECK(cudaMalloc(&second, size_t(3) << 20) == cudaErrorMemoryAllocation && second == nullptr);
    CHECK(cudaMallocAsync(&second, size_t(3) << 20, nullptr) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    OK(cudaFree(first));
    OK(cudaMalloc(&second, size_t(3) << 20));
    OK(cudaFree(second));
}

/* What a program asks of copies that cannot be. */
static void copies_are_checked()
{
    const device_array<unsigned> a(N);
    unsigned host[N];
    CHECK(cudaMemcpy(a.data, host, BYTES + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(a.data, host, BYTES, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyAsync(host, a.data + 1, BYTES, cudaMemcpyDeviceToHost, nullptr) == cudaErrorInvalidValue);
    CHECK(cudaMemset(host, 0, BYTES) == cudaErrorInvalidValue);
    CHECK(cudaMemset(a.data, 0, BYTES + 1) == cudaErrorInvalidValue);
}

/* -- Virtual memory
 * ------------------------------------------------------------------------------------------------ */

template <class F> static F driver(F, const char *name)
{
    void *function = nullptr;
    cudaDriverEntryPointQueryResult result;
    OK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
    CHECK(result == cudaDriverEntryPointSuccess && function);
    return reinterpret_cast<F>(function);
}
#define DRIVER(name) driver(&name, #name)
#define CU(call)     CHECK((call) == CUDA_SUCCESS)

static const CUmemLocation LOCATION = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemAccessDesc ACCESS = {LOCATION, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUmemAllocationProp physical_properties()
{
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = LOCATION;
    return properties;
}

/* A range that grows in place; returns its address. */
static CUmemGenericAllocationHandle map_next(CUdeviceptr range, size_t index)
{
    const CUmemAllocationProp properties = physical_properties();
    CUmemGenericAllocationHandle handle;
    CU(DRIVER(cuMemCreate)(&handle, GRANULE, &properties, 0));
    CU(DRIVER(cuMemMap)(range + index * GRANULE, GRANULE, 0, handle, 0));
    CU(DRIVER(cuMemSetAccess)(range + index * GRANULE, GRANULE, &ACCESS, 1));
    return handle;
}

static void virtual_grows()
{
    CUdeviceptr range, other;
    size_t granularity;
    const CUmemAllocationProp properties = physical_properties();
    CU(DRIVER(cuMemGetAllocationGranularity)(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(granularity == GRANULE);
    CU(DRIVER(cuMemAddressReserve)(&range, 4 * GRANULE, 0, 0, 0));
    const CUmemGenericAllocationHandle first = map_next(range, 0);
    unsigned *const data = reinterpret_cast<unsigned *>(range);
    simt::launch(set_kernel, 1, 32, 0, nullptr, data, 7, N);
    const CUmemGenericAllocationHandle second = map_next(range, 1);
    const size_t n = GRANULE / sizeof(unsigned) - N / 2; /* so that the copy crosses the granules */
    simt::launch(add_kernel, 1, 32, 0, nullptr, data + n, data, 1, N);
    std::vector<unsigned> values(N);
    OK(cudaMemcpy(values.data(), data + n, BYTES, cudaMemcpyDefault));
    CHECK(all_are(values, 8) && simt_live_allocations() == 2 && simt_live_bytes() == 2 * GRANULE);

    /* The same memory elsewhere holds the same. */
    CU(DRIVER(cuMemAddressReserve)(&other, 2 * GRANULE, GRANULE, 0, 0));
    CU(DRIVER(cuMemUnmap)(range, 2 * GRANULE));
    CU(DRIVER(cuMemMap)(other, GRANULE, 0, first, 0));
    CU(DRIVER(cuMemSetAccess)(other, GRANULE, &ACCESS, 1));
    OK(cudaMemcpy(values.data(), reinterpret_cast<void *>(other), BYTES, cudaMemcpyDeviceToHost));
    CHECK(all_are(values, 7));
    CU(DRIVER(cuMemRelease)(first));
    CU(DRIVER(cuMemRelease)(second));
    CHECK(simt_live_allocations() == 1); /* what is mapped stays */
    CU(DRIVER(cuMemUnmap)(other, GRANULE));
    CU(DRIVER(cuMemAddressFree)(other, 2 * GRANULE));
    CU(DRIVER(cuMemAddressFree)(range, 4 * GRANULE));
    CHECK(simt_live_allocations() == 0 && simt_live_reservations() == 0 && simt_live_bytes() == 0);
}

static void virtual_misuse()
{
    CUdeviceptr range;
    const CUmemAllocationProp properties = physical_properties();
    CUmemGenericAllocationHandle handle;
    CHECK(DRIVER(cuMemAddressReserve)(&range, GRANULE + 1, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuMemCreate)(&handle, GRANULE / 2, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    CU(DRIVER(cuMemAddressReserve)(&range, 2 * GRANULE, 0, 0, 0));
    CU(DRIVER(cuMemCreate)(&handle, GRANULE, &properties, 0));
    CHECK(DRIVER(cuMemMap)(range + 1, GRANULE, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuMemMap)(range + 2 * GRANULE, GRANULE, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CU(DRIVER(cuMemMap)(range, GRANULE, 0, handle, 0));
    CHECK(DRIVER(cuMemMap)(range, GRANULE, 0, handle, 0) == CUDA_ERROR_ALREADY_MAPPED);
    CHECK(DRIVER(cuMemSetAccess)(range, 2 * GRANULE, &ACCESS, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuMemAddressFree)(range, 2 * GRANULE) == CUDA_ERROR_INVALID_VALUE);
    CHECK(DRIVER(cuMemUnmap)(range, 2 * GRANULE) == CUDA_ERROR_INVALID_VALUE);
    CU(DRIVER(cuMemUnmap)(range, GRANULE));
    CHECK(DRIVER(cuMemUnmap)(range, GRANULE) == CUDA_ERROR_INVALID_VALUE);
    CU(DRIVER(cuMemRelease)(handle));
    CHECK(DRIVER(cuMemRelease)(handle) == CUDA_ERROR_INVALID_VALUE);
    CU(DRIVER(cuMemAddressFree)(range, 2 * GRANULE));
    simt_set_memory(GRANULE);
    CHECK(DRIVER(cuMemCreate)(&handle, 2 * GRANULE, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    void *function;
    CHECK(cudaGetDriverEntryPoint("cuNoSuchFunction", &function, cudaEnableDefault) ==
          cudaErrorSymbolNotFound);
    const char *name;
    CU(DRIVER(cuGetErrorName)(CUDA_ERROR_OUT_OF_MEMORY, &name));
    CHECK(strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
}

/* -- Planted bugs
 * -------------------------------------------------------------------------------------------------- */

static void beyond_mapping()
{
    CUdeviceptr range;
    CU(DRIVER(cuMemAddressReserve)(&range, 4 * GRANULE, 0, 0, 0));
    map_next(range, 0);
    unsigned *const data = reinterpret_cast<unsigned *>(range);
    simt::launch(set_kernel, 1, 32, 0, nullptr, data + GRANULE / sizeof(unsigned) - N + 1, 7, N);
}

static void unmapped_too_early()
{
    const test_stream stream;
    CUdeviceptr range;
    CU(DRIVER(cuMemAddressReserve)(&range, GRANULE, 0, 0, 0));
    map_next(range, 0);
    simt::launch(set_kernel, 1, 32, 0, stream.handle, reinterpret_cast<unsigned *>(range), 7, N);
    CU(DRIVER(cuMemUnmap)(range, GRANULE));
}

static void use_after_free_async()
{
    const test_stream stream;
    const device_array<unsigned> out(N);
    unsigned *data;
    OK(cudaMallocAsync(&data, BYTES, stream.handle));
    simt::launch(set_kernel, 1, 32, 0, stream.handle, data, 7, N);
    OK(cudaFreeAsync(data, stream.handle));
    simt::launch(add_kernel, 1, 32, 0, stream.handle, out.data, data, 0, N);
    stream.wait();
    CHECK(all_are(out.values(), 7));
}

/* Freed in one stream while another still uses it. */
static void freed_under_other_stream()
{
    const test_stream first, second;
    const device_array<unsigned> out(N);
    unsigned *data;
    OK(cudaMallocAsync(&data, BYTES, first.handle));
    simt::launch(set_kernel, 1, 32, 0, first.handle, data, 7, N);
    first.wait();
    simt::launch(add_kernel, 1, 32, 0, second.handle, out.data, data, 0, N);
    OK(cudaFreeAsync(data, first.handle));
    second.wait();
    CHECK(all_are(out.values(), 7));
}

/* Used by another stream before the one that allocates it has got there. */
static void used_before_allocated()
{
    const test_stream first, second;
    unsigned *data;
    OK(cudaMallocAsync(&data, BYTES, first.handle));
    simt::launch(set_kernel, 1, 32, 0, second.handle, data, 7, N);
    std::vector<unsigned> values(N);
    second.wait();
    first.wait();
    OK(cudaMemcpy(values.data(), data, BYTES, cudaMemcpyDeviceToHost));
    CHECK(all_are(values, 7));
}

static void freed_under_kernel()
{
    const test_stream stream;
    const device_array<unsigned> out(N);
    unsigned *data;
    OK(cudaMalloc(&data, BYTES));
    OK(cudaMemset(data, 0, BYTES));
    simt::launch(add_kernel, 1, 32, 0, stream.handle, out.data, data, 7, N);
    OK(cudaFree(data));
    stream.wait();
    CHECK(all_are(out.values(), 7));
}

static void double_free()
{
    const test_stream stream;
    unsigned *data;
    OK(cudaMallocAsync(&data, BYTES, stream.handle));
    OK(cudaFreeAsync(data, stream.handle));
    OK(cudaFreeAsync(data, stream.handle));
}

static void pinned_freed_under_copy()
{
    const test_stream stream;
    const device_array<unsigned> a(std::vector<unsigned>(N, 7));
    unsigned *host;
    OK(cudaMallocHost(&host, BYTES));
    OK(cudaMemcpyAsync(host, a.data, BYTES, cudaMemcpyDeviceToHost, stream.handle));
    OK(cudaFreeHost(host));
    stream.wait();
}

static void host_reads_device()
{
    const device_array<unsigned> a(std::vector<unsigned>(N, 7));
    CHECK(*static_cast<volatile unsigned *>(a.data) == 7);
}

static void host_writes_virtual()
{
    CUdeviceptr range;
    CU(DRIVER(cuMemAddressReserve)(&range, GRANULE, 0, 0, 0));
    map_next(range, 0);
    *reinterpret_cast<volatile unsigned *>(range) = 7;
}

extern const simt_case MEMORY_CASES[] = {{"clean_pool", pool_reuse},
                                         {"clean_pattern", new_memory_has_a_pattern},
                                         {"clean_attributes", pointer_attributes},
                                         {"clean_limit", memory_ends},
                                         {"clean_copy_checks", copies_are_checked},
                                         {"clean_virtual", virtual_grows},
                                         {"clean_virtual_misuse", virtual_misuse},
                                         {"beyond_mapping", beyond_mapping},
                                         {"unmapped_too_early", unmapped_too_early},
                                         {"use_after_free_async", use_after_free_async},
                                         {"freed_under_other_stream", freed_under_other_stream},
                                         {"used_before_allocated", used_before_allocated},
                                         {"freed_under_kernel", freed_under_kernel},
                                         {"double_free", double_free},
                                         {"pinned_freed_under_copy", pinned_freed_under_copy},
                                         {"host_reads_device", host_reads_device},
                                         {"host_writes_virtual", host_writes_virtual},
                                         {nullptr, nullptr}};
