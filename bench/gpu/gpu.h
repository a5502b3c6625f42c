/* gpu.h: the GPU for the benchmark programs: memory, a stream and its clock, and what its memory gives.
 *
 * Programs call these only where their context is on a GPU (bench.gpu). Builds without CUDA have them all the
 * same, so that the programs are written once; there they end the program (gpu_none.c). Everything that
 * fails does. */
#ifndef DCSR_BENCH_GPU_H
#define DCSR_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes a second. */
typedef struct bench_gpu_rates {
    double copy; /* within its memory, over more than any cache holds; bytes read and written counted */
    double read; /* by a kernel that only reads */
    double upload, fetch; /* from and to pinned host memory */
    size_t cache;         /* bytes of its last-level cache */
} bench_gpu_rates;

/* Also measures the rates; `quick` over less memory. */
void bench_gpu_start(bench_gpu_rates *rates, bool quick);
void bench_gpu_stop(void);

/* The cudaStream_t on which the programs put their work. */
void *bench_gpu_stream(void);

/* Memory of the GPU, and copies between any two places, which have arrived on return. */
void *bench_gpu_alloc(size_t bytes);
void bench_gpu_free(void *block);
void bench_gpu_copy(void *to, const void *from, size_t bytes);

/* Seconds by the GPU's clock of what `work` puts on the stream: of one of `times` calls back to back, or of
 * one call after so much else was read that the cache holds nothing of use. */
double bench_gpu_seconds(void (*work)(void *), void *argument, size_t times);
double bench_gpu_cold_seconds(void (*work)(void *), void *argument);
/* Seconds by the GPU's clock of copying `bytes` from pinned memory with cudaMemcpyAsync(): the median of
 * several. */
double bench_gpu_upload_seconds(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
