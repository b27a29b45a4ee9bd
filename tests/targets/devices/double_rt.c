/* double_rt - a libruntime.so for tests: launches of Ascend's runtime, which refuse a function that
 * is none. */
#include <stddef.h>

enum { DONE = 0, INVALID = 107000 };

int rtKernelLaunch(const void *function, unsigned int blocks, void *args, unsigned int bytes,
                   void *memory, void *stream)
{
    (void)memory, (void)stream;
    return function && blocks && args && bytes ? DONE : INVALID;
}

int rtLaunchKernelByFuncHandleV2(void *function, unsigned int blocks, const void *args,
                                 void *stream, const void *config)
{
    (void)args, (void)stream, (void)config;
    return function && blocks ? DONE : INVALID;
}

int rtAicpuKernelLaunchExWithArgs(unsigned int kind, const char *name, unsigned int blocks,
                                  const void *args, void *memory, void *stream, unsigned int flags)
{
    (void)memory, (void)stream;
    return kind == 6 && name && blocks == 1 && args && flags == 5 ? DONE : INVALID;
}
