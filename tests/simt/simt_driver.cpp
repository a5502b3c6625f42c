/* simt_driver.cpp: how a program gets at the driver's functions, and the driver's errors. */
#include "tests/simt/simt_driver.h"
#include <cstring>
#include "tests/simt/simt_internal.h"
#include "tests/simt/simt_runtime.h"

using namespace simt;

extern "C" {
CUresult cuInit(unsigned flags)
{
    return drive([&] { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; });
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    static const struct {
        CUresult error;
        const char *name;
    } NAMES[] = {{CUDA_SUCCESS, "CUDA_SUCCESS"},
                 {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
                 {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                 {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                 {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
                 {CUDA_ERROR_ALREADY_MAPPED, "CUDA_ERROR_ALREADY_MAPPED"},
                 {CUDA_ERROR_NOT_MAPPED, "CUDA_ERROR_NOT_MAPPED"},
                 {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
                 {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
                 {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"}};
    for (const auto &entry : NAMES) {
        *name = entry.name;
        if (entry.error == error) return CUDA_SUCCESS;
    }
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

/* The runtime has the same numbers and texts for those that both have. */
CUresult cuGetErrorString(CUresult error, const char **text)
{
    const char *name;
    if (!text || cuGetErrorName(error, &name)) return CUDA_ERROR_INVALID_VALUE;
    *text = cudaGetErrorString(static_cast<cudaError_t>(error));
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult *result)
{
    static const struct {
        const char *name;
        void *function;
    } FUNCTIONS[] = {
#define ENTRY(NAME) {#NAME, reinterpret_cast<void *>(&NAME)}
        ENTRY(cuInit),           ENTRY(cuGetErrorName),
        ENTRY(cuGetErrorString), ENTRY(cuMemGetAllocationGranularity),
        ENTRY(cuMemCreate),      ENTRY(cuMemAddressReserve),
        ENTRY(cuMemRelease),     ENTRY(cuMemAddressFree),
        ENTRY(cuMemMap),         ENTRY(cuMemUnmap),
        ENTRY(cuMemSetAccess),
#undef ENTRY
    };
    return serve([&](held_lock &) {
        if (!symbol || !function) return cudaErrorInvalidValue;
        *function = nullptr;
        for (const auto &entry : FUNCTIONS) {
            if (strcmp(entry.name, symbol) == 0) *function = entry.function;
        }
        if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        return *function || result ? cudaSuccess : cudaErrorSymbolNotFound;
    });
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
}
