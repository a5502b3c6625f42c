/* device_mapping.cu: address space of the device that is reserved once and gets memory piece by piece.
 *
 * These are functions of the driver. It is not linked, so that programs also start where there is none: the
 * runtime finds them by name. */
#include "dcsr/device/device_state.cuh"

namespace
{
struct driver {
    decltype(&cuMemGetAllocationGranularity) granularity;
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemAddressFree) unreserve;
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) set_access;
    cudaError_t error; /* of looking them up */
};
} // namespace

template <class F> static void look_up(driver *functions, F *function, const char *name)
{
    void *address = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    enum { SINCE = 12000 }; /* as they were in this version, whatever the driver's */
    cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, SINCE, cudaEnableDefault, &result);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &result);
#endif
    if (error == cudaSuccess && (result != cudaDriverEntryPointSuccess || !address))
        error = cudaErrorNotSupported;
    if (functions->error == cudaSuccess) functions->error = error;
    *function = reinterpret_cast<F>(address);
}

static driver look_up_all(void)
{
    driver f = {};
    look_up(&f, &f.granularity, "cuMemGetAllocationGranularity");
    look_up(&f, &f.reserve, "cuMemAddressReserve");
    look_up(&f, &f.unreserve, "cuMemAddressFree");
    look_up(&f, &f.create, "cuMemCreate");
    look_up(&f, &f.release, "cuMemRelease");
    look_up(&f, &f.map, "cuMemMap");
    look_up(&f, &f.unmap, "cuMemUnmap");
    look_up(&f, &f.set_access, "cuMemSetAccess");
    return f;
}

static const driver *functions(void)
{
    static const driver all = look_up_all();
    return &all;
}

static CUmemAllocationProp kind_of_memory(int number)
{
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = number;
    return kind;
}

cudaError_t dcsr_i_cuda_open_mapping(size_t *granularity, int number)
{
    const driver *f = functions();
    if (f->error != cudaSuccess) return f->error;
    CUmemAllocationProp kind = kind_of_memory(number);
    return (cudaError_t)f->granularity(granularity, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

size_t dcsr_i_cuda_granularity(dcsr_i_cuda_device *device)
{
    return device->granularity;
}

char *dcsr_i_cuda_reserve(dcsr_i_cuda_device *device, size_t bytes)
{
    if (dcsr_i_cuda_check(device) != DCSR_OK) return nullptr;
    dcsr_i_cuda_current current(device->number);
    CUdeviceptr address = 0;
    CUresult error = functions()->reserve(&address, bytes, 0, 0, 0);
    if (error == CUDA_SUCCESS) return reinterpret_cast<char *>(address);
    if (error == CUDA_ERROR_OUT_OF_MEMORY)
        dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "creating a matrix: cannot reserve %zu bytes of the GPU's address space; create the context with "
            "a smaller reserve_bytes, or destroy matrices that are not needed",
            bytes);
    else
        dcsr_i_cuda_result(device, error, "reserving address space");
    return nullptr;
}

/* Giving back is not refused for a reason that the caller could do anything about; what a failed device holds
 * is lost with the process. */
static void expect(dcsr_i_cuda_device *device, CUresult error, const char *operation)
{
    if (error != CUDA_SUCCESS && !device->failure) dcsr_i_cuda_result(device, error, operation);
}

void dcsr_i_cuda_unreserve(dcsr_i_cuda_device *device, char *base, size_t bytes)
{
    if (dcsr_i_cuda_forked()) return;
    dcsr_i_cuda_current current(device->number);
    expect(device, functions()->unreserve(reinterpret_cast<CUdeviceptr>(base), bytes),
           "giving address space back");
}

/* Other devices have no access: the driver would map each piece on all of them, which takes as many times as long, and
 * what they copy is gathered in temporary memory before. */
static CUresult let_touch(dcsr_i_cuda_device *device, CUdeviceptr place, size_t bytes)
{
    CUmemAccessDesc access = {};
    access.location = kind_of_memory(device->number).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return functions()->set_access(place, bytes, &access, 1);
}

/* The handle is not needed to unmap: the memory goes when it is mapped nowhere any more. */
static CUresult map_new(dcsr_i_cuda_device *device, CUdeviceptr place, size_t bytes)
{
    const driver *f = functions();
    CUmemAllocationProp kind = kind_of_memory(device->number);
    CUmemGenericAllocationHandle handle;
    CUresult error = f->create(&handle, bytes, &kind, 0);
    if (error != CUDA_SUCCESS) return error;
    error = f->map(place, bytes, 0, handle, 0);
    CUresult released = f->release(handle);
    if (error != CUDA_SUCCESS) return error;
    error = released == CUDA_SUCCESS ? let_touch(device, place, bytes) : released;
    if (error != CUDA_SUCCESS) f->unmap(place, bytes);
    return error;
}

dcsr_status dcsr_i_cuda_map(dcsr_i_cuda_device *device, char *begin, size_t bytes)
{
    if (!bytes) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_check(device));
    const CUdeviceptr place = reinterpret_cast<CUdeviceptr>(begin);
    dcsr_i_cuda_current current(device->number);
    CUresult error = map_new(device, place, bytes);
    if (error == CUDA_ERROR_OUT_OF_MEMORY) {
        dcsr_i_cuda_trim_alike(device); /* what is kept for temporary work makes room */
        error = map_new(device, place, bytes);
    }
    return dcsr_i_cuda_result(device, error, "growing a matrix");
}

void dcsr_i_cuda_unmap(dcsr_i_cuda_device *device, char *begin, size_t bytes)
{
    if (!bytes || dcsr_i_cuda_forked()) return;
    dcsr_i_cuda_current current(device->number);
    expect(device, functions()->unmap(reinterpret_cast<CUdeviceptr>(begin), bytes), "giving memory back");
}
