/* gpu_none.c: the functions of gpu.h in builds without CUDA, where no context is on a GPU. */
#include "bench/gpu/gpu.h"
#include "bench/harness.h"

static void __attribute__((noreturn)) die(void)
{
    bench_die("this program was built without CUDA");
}

void bench_gpu_start(bench_gpu_rates *rates, bool quick)
{
    (void)rates, (void)quick;
    die();
}

void bench_gpu_stop(void)
{
    die();
}

void *bench_gpu_stream(void)
{
    die();
}

void *bench_gpu_alloc(size_t bytes)
{
    (void)bytes;
    die();
}

void bench_gpu_free(void *block)
{
    (void)block;
    die();
}

void bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    (void)to, (void)from, (void)bytes;
    die();
}

double bench_gpu_seconds(void (*work)(void *), void *argument, size_t times)
{
    (void)work, (void)argument, (void)times;
    die();
}

double bench_gpu_cold_seconds(void (*work)(void *), void *argument)
{
    (void)work, (void)argument;
    die();
}

double bench_gpu_upload_seconds(size_t bytes)
{
    (void)bytes;
    die();
}
