/* simt.h: CUDA for a machine without a GPU: what a .cu file sees when g++ or clang++ compiles it.
 *
 *      kernel    every CUDA thread is a fiber; threads and blocks take turns in an order drawn from a seed
 *      stream    a queue of operations that run late, when a host thread waits, as the seed has it
 *      memory    limited, filled with a pattern, with red zones; the sanitizers see each access
 *
 * A file compiled with -DDCSR_SIMT -Itests/simt -I. gets all of it through dcsr/device/device.cuh and is linked with
 * the .cpp files of this folder. Where the emulator keeps state, it is in those; the headers hold what
 * kernels must inline.
 *
 *      SIMT_SEED=n         0: everything in program order; each other number another schedule
 *      SIMT_YIELD=n        a thread is preempted at one in n atomics (8)
 *      SIMT_RESIDENT=n     blocks in flight (by default 1 to 4, from the seed)
 *      SIMT_STACK=bytes    of a CUDA thread
 *      SIMT_MEMORY=bytes   of each device (2 GiB)
 *      SIMT_DEVICES=n      so many devices (1); up to 16
 *      SIMT_DEVICE_BYTES=a,b,c     of devices 0, 1, and 2
 *      SIMT_PEERS=0        no device can touch another's memory
 *      SIMT_FAIL_DEVICE=k:n        device k is lost after n of its operations
 *      SIMT_GUARD=0        the host's accesses to device memory are not caught
 *
 * Kernels compiled with -fsanitize-coverage=trace-pc can be preempted at each basic block too. */
#ifndef DCSR_TESTS_SIMT_H
#define DCSR_TESTS_SIMT_H

#include "tests/simt/simt_runtime.h"
#include "tests/simt/simt_driver.h"
#include "tests/simt/simt_kernel.h"
#include "tests/simt/simt_warp.h"
#include "tests/simt/simt_atomics.h"
#include "tests/simt/simt_launch.h"

#endif
