/* asan.h: telling AddressSanitizer which memory may be touched; without it these do nothing (internal). */
#ifndef DCSR_ASAN_H
#define DCSR_ASAN_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes)   ((void)(begin), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#endif

#endif
