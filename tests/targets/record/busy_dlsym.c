/* A dlsym that allocates, as those of other tools that stand before libc's do; to be loaded. */
#include <dlfcn.h>
#include <stdlib.h>

void *dlsym(void *handle, const char *name)
{
    static void *(*next)(void *, const char *);
    void *volatile block = malloc(100), *found;

    if (!next)
        next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    found = next(handle, name);
    free(block);
    return found;
}
