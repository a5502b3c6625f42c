/* late_library.h: libraries that are looked for while the program runs, and that it does without (internal). */
#ifndef DCSR_LATE_LIBRARY_H
#define DCSR_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function, and where its address goes in a table. */
typedef struct dcsr_i_late_function {
    const char *name;
    size_t at;
} dcsr_i_late_function;

/* Opens the file that the variable of the environment names; where there is none, the first of `names`, up to NULL,
 * that can be opened. Whether it has the functions, of which the last `optional` may be missing (NULL). */
bool dcsr_i_late_library(void *table, const dcsr_i_late_function *functions, size_t count, size_t optional,
                         const char *variable, const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
