/* error.h: how the library's code reports a failure (internal). */
#ifndef DCSR_ERROR_H
#define DCSR_ERROR_H

#include <dcsr/status.h>
#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the sentence for dcsr_thread_error() of this thread and returns the status, so that a check reads
 * `return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "...", ...)`. The sentence says what failed, where, and what to
 * do. Of one that is longer than a kilobyte the middle is left out: a path comes first, the reason last. */
__attribute__((format(printf, 2, 3))) dcsr_status dcsr_i_fail(dcsr_status status, const char *format, ...);
/* The same with the arguments of a caller that has them as a list. */
__attribute__((format(printf, 2, 0))) void dcsr_i_fail_list(dcsr_status status, const char *format,
                                                            va_list arguments);

/* What memory that this thread was just refused comes to: OUT_OF_MEMORY, or DEVICE where the device has failed. */
static inline dcsr_status dcsr_i_no_memory(void)
{
    return dcsr_thread_status() == DCSR_ERROR_DEVICE ? DCSR_ERROR_DEVICE : DCSR_ERROR_OUT_OF_MEMORY;
}

/* The sentence of this thread's last failure, and the most that it takes up. */
enum { DCSR_I_ERROR_BYTES = 1024 };
const char *dcsr_i_error_text(void);

/* Formats a sentence into `to`, which has room for `bytes` (at least 64); one that does not fit loses its middle. */
__attribute__((format(printf, 3, 4))) void dcsr_i_error_format(char *to, size_t bytes, const char *format,
                                                               ...);

/* Returns from the calling function when the expression is not DCSR_OK. */
#define DCSR_TRY(expression)                                      \
    do {                                                          \
        dcsr_status dcsr_try_status_ = (expression);              \
        if (dcsr_try_status_ != DCSR_OK) return dcsr_try_status_; \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
