/* late_library.c: libraries that are looked for while the program runs. */
#include "dcsr/base/late_library.h"
#include <dlfcn.h>
#include <stdlib.h>

static void *open_one(const char *variable, const char *const *names)
{
    const char *chosen = getenv(variable);
    void *library = NULL;
    if (chosen) return dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    for (; !library && *names; names++) library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

bool dcsr_i_late_library(void *table, const dcsr_i_late_function *functions, size_t count, size_t optional,
                         const char *variable, const char *const *names)
{
    void *library = open_one(variable, names);
    if (!library) return false;
    for (size_t i = 0; i < count; i++) {
        /* ISO C does not convert what dlsym() gives; POSIX says that this works. */
        void **to = (void **)((char *)table + functions[i].at);
        *to = dlsym(library, functions[i].name);
        if (!*to && i + optional < count) return false;
    }
    return true;
}
