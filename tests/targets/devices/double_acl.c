/* double_acl - a libascendcl.so for tests: launches by ACL, which come to the runtime. */
#include <stddef.h>
#include <string.h>

enum { DONE = 0, INVALID = 107000 };

int rtLaunchKernelByFuncHandleV2(void *function, unsigned int blocks, const void *args,
                                 void *stream, const void *config);

int aclrtLaunchKernel(void *function, unsigned int blocks, const void *args, size_t bytes,
                      void *stream)
{
    return bytes ? rtLaunchKernelByFuncHandleV2(function, blocks, args, stream, NULL) : INVALID;
}

int aclrtGetFunctionName(void *function, unsigned int room, char *name)
{
    static const char called[] = "add_custom";

    if (!function || room < sizeof(called))
        return INVALID;
    memcpy(name, called, sizeof(called));
    return DONE;
}
