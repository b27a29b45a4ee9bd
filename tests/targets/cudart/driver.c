/* driver - a libcuda.so.1 that gives CUDA's runtime every function that it looks up and does
 * nothing, and writes down the names in the file that LOOKED_UP names. The runtime then gives up,
 * as it asks for tables that are not documented: what it looks up before is the test.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_SUPPORTED 801

int cuInit(unsigned int flags)
{
    (void)flags;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

static int nothing(void)
{
    return NOT_SUPPORTED;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    FILE *log = fopen(getenv("LOOKED_UP"), "ae");
    Dl_info self;
    void *here = dladdr((void *)nothing, &self) ? dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                                                : NULL;

    (void)version;
    (void)flags;
    fprintf(log, "%s\n", name);
    fclose(log);
    *function = here ? dlsym(here, name) : NULL;
    if (!*function)
        *function = (void *)nothing;
    if (status)
        *status = 0;
    return 0;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}
