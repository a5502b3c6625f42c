/* device.cu: finding the device, opening it for a context, and what became of it. */
#include "dcsr/device/device_state.cuh"
#include <new>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef DCSR_SIMT
#define DCSR_CUDA_ARCHITECTURES "emulator"
#elif !defined(DCSR_CUDA_ARCHITECTURES)
#error "DCSR_CUDA_ARCHITECTURES must list what is compiled for, as in \"75 80 90\""
#endif

const char *dcsr_i_cuda_architectures(void)
{
    return DCSR_CUDA_ARCHITECTURES;
}

/* ---- Finding it ---- */

static __global__ void probe() {}

namespace
{
struct finding {
    std::atomic<bool> made;
    bool usable;
    char why_not[512];
    dcsr_i_cuda_properties properties;
};

pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
finding findings[DCSR_CUDA_MOST_DEVICES];
std::atomic<bool> forked;
} // namespace

dcsr_i_cuda_current::dcsr_i_cuda_current(int number) : own(number), callers(number)
{
    if (cudaGetDevice(&callers) != cudaSuccess) cudaGetLastError();
    if (callers != own && cudaSetDevice(own) != cudaSuccess) cudaGetLastError(); /* what follows will tell */
}

dcsr_i_cuda_current::~dcsr_i_cuda_current()
{
    if (callers != own && cudaSetDevice(callers) != cudaSuccess) cudaGetLastError();
}

/* What is wrong and what to do. Without any driver CUDA says that the driver is too old. */
static void explain(finding *result, cudaError_t error)
{
    const dcsr_i_cuda_properties *p = &result->properties;
    char *text = result->why_not;
    const size_t size = sizeof result->why_not;
    if (error == cudaErrorInsufficientDriver && !p->driver)
        snprintf(text, size, "no driver of NVIDIA's is installed; install one for CUDA %d or newer",
                 p->runtime / 1000);
    else if (error == cudaErrorInsufficientDriver)
        snprintf(text, size,
                 "the driver is for CUDA %d.%d, and this library needs one for CUDA %d or newer; update it",
                 p->driver / 1000, p->driver % 1000 / 10, p->runtime / 1000);
    else if (error == cudaErrorNoDevice)
        snprintf(text, size,
                 "the driver sees none; look whether nvidia-smi lists one and CUDA_VISIBLE_DEVICES hides it");
    else if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction)
        snprintf(
            text, size,
            "this library has code for the architectures %s, not for %d, which the %s has; build it with "
            "CUDA_ARCH=%d",
            DCSR_CUDA_ARCHITECTURES, p->capability, p->name, p->capability);
    else if (error == cudaErrorNotSupported)
        snprintf(text, size,
                 "the %s or its driver cannot map memory into reserved address space; update the driver",
                 p->name);
    else
        snprintf(text, size, "CUDA says \"%s\" (%s); look at what nvidia-smi says", cudaGetErrorString(error),
                 cudaGetErrorName(error));
}

static cudaError_t look_at_device(dcsr_i_cuda_properties *p, int number)
{
    int devices = 0, pools = 0;
    size_t granularity;
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && !devices) error = cudaErrorNoDevice;
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, number);
    if (error != cudaSuccess) return error;
    snprintf(p->name, sizeof p->name, "%s", properties.name);
    if (cudaDeviceGetPCIBusId(p->place, sizeof p->place, number) != cudaSuccess) {
        cudaGetLastError();
        p->place[0] = '\0';
    }
    p->memory = properties.totalGlobalMem;
    p->multiprocessors = properties.multiProcessorCount;
    p->shared_bytes = properties.sharedMemPerBlockOptin;
    p->capability = properties.major * 10 + properties.minor;
    error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, number);
    if (error == cudaSuccess && !pools) error = cudaErrorNotSupported;
    if (error == cudaSuccess) error = dcsr_i_cuda_open_mapping(&granularity, number);
    return error;
}

/* Whether the library has code for it shows when a kernel is launched. */
static cudaError_t launch_probe(void)
{
    simt::launch(probe, dim3(1), dim3(1), 0, nullptr);
    return cudaGetLastError();
}

/* Devices of 9.0 and later can, if the library's code is for these: else it does not wait (dcsr_i_cuda_await()). */
static bool can_chain(int capability)
{
#ifdef DCSR_SIMT
    return capability >= 90;
#else
    cudaFuncAttributes code;
    return capability >= 90 && cudaFuncGetAttributes(&code, probe) == cudaSuccess && code.ptxVersion >= 90;
#endif
}

static void note_fork(void)
{
    forked = true;
}

static void look(finding *result, int number)
{
    dcsr_i_cuda_properties *p = &result->properties;
    if (cudaDriverGetVersion(&p->driver) != cudaSuccess) p->driver = 0;
    cudaRuntimeGetVersion(&p->runtime);
    cudaError_t error = look_at_device(p, number);
    if (error == cudaSuccess) {
        dcsr_i_cuda_current current(number);
        error = launch_probe();
        p->chains = can_chain(p->capability);
    }
    cudaGetLastError(); /* else the caller's next call would return it */
    result->usable = error == cudaSuccess;
    if (!result->usable) explain(result, error);
}

/* With the lock. */
static void watch_for_forks(void)
{
    static bool watching;
    if (!watching) pthread_atfork(nullptr, nullptr, note_fork);
    watching = true;
}

/* `number` is less than DCSR_CUDA_MOST_DEVICES. */
static const finding *found(int number)
{
    finding *result = &findings[number];
    if (result->made.load(std::memory_order_acquire)) return result;
    pthread_mutex_lock(&find_lock);
    if (!result->made.load(std::memory_order_relaxed)) {
        look(result, number);
        if (result->usable) watch_for_forks();
        result->made.store(true, std::memory_order_release);
    }
    pthread_mutex_unlock(&find_lock);
    return result;
}

static int count_devices(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return devices < DCSR_CUDA_MOST_DEVICES ? devices : (int)DCSR_CUDA_MOST_DEVICES;
}

int dcsr_i_cuda_count(void)
{
    static const int count = count_devices();
    return count;
}

bool dcsr_i_cuda_forked(void)
{
    return forked.load(std::memory_order_relaxed);
}

bool dcsr_i_cuda_usable(int number)
{
    return !dcsr_i_cuda_forked() && number < DCSR_CUDA_MOST_DEVICES && found(number)->usable;
}

dcsr_status dcsr_i_cuda_find(int number)
{
    if (dcsr_i_cuda_forked())
        return dcsr_i_fail(
            DCSR_ERROR_NO_DEVICE,
            "no GPU can be used: this process is a child of one that has used the GPU, which CUDA does "
            "not support; fork before the first context is created, start the child's program anew "
            "(exec), or ask for the device cpu");
    const finding *result = found(number);
    if (result->usable) return DCSR_OK;
    if (dcsr_i_cuda_count() > 1)
        return dcsr_i_fail(DCSR_ERROR_NO_DEVICE,
                           "GPU number %d of %d cannot be used: %s, or ask for another or for the device cpu",
                           number, dcsr_i_cuda_count(), result->why_not);
    return dcsr_i_fail(DCSR_ERROR_NO_DEVICE, "no GPU can be used: %s, or ask for the device cpu",
                       result->why_not);
}

/* ---- Opening it ---- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static dcsr_i_cuda_device *open_devices;

/* Temporary memory that is freed serves again, and is not given back to the driver before dcsr_i_cuda_trim().
 */
static cudaError_t create_pool(dcsr_i_cuda_device *device)
{
    dcsr_i_cuda_current current(device->number);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device->number;
    cudaError_t error = cudaMemPoolCreate(&device->pool, &properties);
    if (error != cudaSuccess) return error;
    uint64_t keep_all = UINT64_MAX;
    error = cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep_all);
    /* Else a reader's memory might be what a writer has just freed, and its work wait for all of the writer's. */
    int no = 0;
    if (error == cudaSuccess)
        error = cudaMemPoolSetAttribute(device->pool, cudaMemPoolReuseAllowInternalDependencies, &no);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&device->frees, cudaStreamNonBlocking);
    if (error != cudaSuccess) cudaMemPoolDestroy(device->pool);
    return error;
}

static void drop(dcsr_i_cuda_device *device)
{
    pthread_mutex_destroy(&device->lock);
    dcsr_i_free(nullptr, DCSR_I_MATRIX, device, 1, sizeof *device);
}

dcsr_status dcsr_i_cuda_open(dcsr_i_cuda_device **device, dcsr_context *context, int number)
{
    *device = nullptr;
    DCSR_TRY(dcsr_i_cuda_find(number));
    void *memory = dcsr_i_alloc(nullptr, DCSR_I_MATRIX, 1, sizeof **device);
    if (!memory) return dcsr_i_no_memory();
    dcsr_i_cuda_device *opened = new (memory) dcsr_i_cuda_device();
    opened->context = context;
    opened->properties = found(number)->properties;
    opened->number = number;
    pthread_mutex_init(&opened->lock, nullptr);
    cudaError_t error = dcsr_i_cuda_open_mapping(&opened->granularity, number);
    if (error == cudaSuccess) error = create_pool(opened);
    if (error != cudaSuccess) {
        dcsr_status status = dcsr_i_cuda_result(opened, error, "opening the device");
        drop(opened);
        return status;
    }
    pthread_mutex_lock(&list_lock);
    opened->next = open_devices;
    open_devices = opened;
    pthread_mutex_unlock(&list_lock);
    *device = opened;
    return DCSR_OK;
}

void dcsr_i_cuda_close(dcsr_i_cuda_device *device)
{
    if (!device) return;
    pthread_mutex_lock(&list_lock);
    dcsr_i_cuda_device **link = &open_devices;
    while (*link != device) link = &(*link)->next;
    *link = device->next;
    pthread_mutex_unlock(&list_lock);
    if (!dcsr_i_cuda_forked()) {
        dcsr_i_cuda_current current(device->number);
        cudaStreamSynchronize(device->frees);
        cudaStreamDestroy(device->frees);
        cudaMemPoolDestroy(device->pool);
        cudaGetLastError(); /* of a device that has failed */
    }
    drop(device);
}

static void trim(int number, bool others)
{
    if (dcsr_i_cuda_forked()) return;
    pthread_mutex_lock(&list_lock);
    for (dcsr_i_cuda_device *device = open_devices; device; device = device->next) {
        if (device->failure || (device->number != number && !others)) continue;
        dcsr_i_cuda_current current(device->number);
        dcsr_i_cuda_remember(device, cudaMemPoolTrimTo(device->pool, 0), "giving memory back");
    }
    pthread_mutex_unlock(&list_lock);
}

void dcsr_i_cuda_trim(void)
{
    trim(0, true);
}

void dcsr_i_cuda_trim_alike(const dcsr_i_cuda_device *device)
{
    trim(device->number, false);
}

int dcsr_i_cuda_any_number(void)
{
    pthread_mutex_lock(&list_lock);
    const dcsr_i_cuda_device *device = open_devices;
    while (device && device->failure) device = device->next;
    const int number = device ? device->number : 0;
    pthread_mutex_unlock(&list_lock);
    return number;
}

const dcsr_i_cuda_properties *dcsr_i_cuda_describe(const dcsr_i_cuda_device *device)
{
    return &device->properties;
}

uint64_t dcsr_i_cuda_free_memory(dcsr_i_cuda_device *device)
{
    size_t available = 0, total;
    if (dcsr_i_cuda_forked() || device->failure) return 0;
    dcsr_i_cuda_current current(device->number);
    if (cudaMemGetInfo(&available, &total) == cudaSuccess) return available;
    cudaGetLastError();
    return 0;
}

/* ---- What became of it ---- */

static dcsr_status tell_failure(dcsr_i_cuda_device *device)
{
    pthread_mutex_lock(&device->lock);
    char operation[sizeof device->failed_while];
    memcpy(operation, device->failed_while, sizeof operation);
    pthread_mutex_unlock(&device->lock);
    return dcsr_i_fail(
        DCSR_ERROR_DEVICE,
        "cuda:%d, the device of this context, has failed while %s (%s); destroy the context, and start the "
        "program anew to use the device again",
        device->number, operation, cudaGetErrorString((cudaError_t)device->failure.load()));
}

dcsr_status dcsr_i_cuda_check(dcsr_i_cuda_device *device)
{
    if (dcsr_i_cuda_forked())
        return dcsr_i_fail(
            DCSR_ERROR_DEVICE,
            "this process is a child of the one that created the context, and CUDA does not support "
            "its use here; all that is left is to destroy the context");
    return device->failure.load(std::memory_order_relaxed) ? tell_failure(device) : DCSR_OK;
}

void dcsr_i_cuda_remember(dcsr_i_cuda_device *device, int error, const char *operation)
{
    if (error == cudaSuccess) return;
    cudaGetLastError(); /* else the next launch would be blamed for it */
    if (error == cudaErrorMemoryAllocation) return;
    pthread_mutex_lock(&device->lock);
    if (!device->failure) {
        snprintf(device->failed_while, sizeof device->failed_while, "%s", operation);
        device->failure = error;
    }
    pthread_mutex_unlock(&device->lock);
}

dcsr_status dcsr_i_cuda_result(dcsr_i_cuda_device *device, int error, const char *operation)
{
    if (error == cudaSuccess) return DCSR_OK;
    dcsr_i_cuda_remember(device, error, operation);
    if (error == cudaErrorMemoryAllocation)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "out of memory while %s: cuda:%d, or what the host can pin for it, is used up (%llu of the "
            "GPU's %llu bytes are free); destroy matrices and views, or run less on it at a time",
            operation, device->number, (unsigned long long)dcsr_i_cuda_free_memory(device),
            (unsigned long long)device->properties.memory);
    return tell_failure(device);
}
