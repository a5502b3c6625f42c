/* simt_sanitizer.h: how the emulator tells the sanitizers what it does (internal).
 *
 * AddressSanitizer is told about stacks and about memory that may not be touched. ThreadSanitizer must see
 * what kernels, copies and the host's code do, ordered by CUDA's rules alone. So each stream and each CUDA
 * thread is a fiber of its own to it, switching is no order, and the emulator's own state and locks are
 * hidden: code of the emulator runs between quiet_begin() and quiet_end(); what is to be seen is called by
 * seen(), or named by seen_read() and seen_write(). */
#ifndef DCSR_TESTS_SIMT_SANITIZER_H
#define DCSR_TESTS_SIMT_SANITIZER_H

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#endif
#ifndef SIMT_ASAN
#define SIMT_ASAN 0
#endif
#ifndef SIMT_TSAN
#define SIMT_TSAN 0
#endif

/* Of functions that switch from one fiber to another, or that bracket what is seen. */
#if defined(__clang__)
#define SIMT_RAW __attribute__((no_sanitize("thread"), no_sanitize("coverage"), noinline))
#else
#define SIMT_RAW __attribute__((no_sanitize("thread"), no_sanitize_coverage, noinline))
#endif

#if SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if SIMT_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void __tsan_read_range(void *address, unsigned long bytes);
void __tsan_write_range(void *address, unsigned long bytes);
}
#endif

namespace simt
{
#if SIMT_TSAN
SIMT_RAW inline void quiet_begin()
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}
SIMT_RAW inline void quiet_end()
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
/* What has happened so far in this fiber comes before what others do after order_acquire() of the same
 * address. Both are called between quiet_begin() and quiet_end(). */
SIMT_RAW inline void order_release(void *address)
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_release(address);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}
SIMT_RAW inline void order_acquire(void *address)
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_acquire(address);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}
#else
inline void quiet_begin() {}
inline void quiet_end() {}
inline void order_release(void *) {}
inline void order_acquire(void *) {}
#endif

/* Calls work, which is code of the program, as its own. */
template <class F> inline void seen(F work)
{
    quiet_end();
    work();
    quiet_begin();
}

/* Lets a range count as read or written here. memcpy and memset themselves are not looked at where
 * ThreadSanitizer is told to ignore what is not compiled for it. */
inline void seen_read(const void *address, size_t bytes)
{
#if SIMT_TSAN
    seen([=] { __tsan_read_range(const_cast<void *>(address), bytes); });
#else
    (void)address, (void)bytes;
#endif
}
inline void seen_write(void *address, size_t bytes)
{
#if SIMT_TSAN
    seen([=] { __tsan_write_range(address, bytes); });
#else
    (void)address, (void)bytes;
#endif
}

inline void poison(void *address, size_t bytes)
{
#if SIMT_ASAN
    __asan_poison_memory_region(address, bytes);
#else
    (void)address, (void)bytes;
#endif
}
inline void unpoison(void *address, size_t bytes)
{
#if SIMT_ASAN
    __asan_unpoison_memory_region(address, bytes);
#else
    (void)address, (void)bytes;
#endif
}
} // namespace simt

#endif
