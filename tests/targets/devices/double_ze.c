/* double_ze - a libze_loader.so.1 for tests: documented functions of Level Zero over host memory.
 */
#include "double.h"

enum { DONE = 0, NO_MEMORY = 0x70000003, INVALID = 0x78000004 };

int zeMemAllocDevice(void *context, const void *d, size_t bytes, size_t align, void *device,
                     void **p)
{
    (void)d, (void)align;
    if (!device)
        return INVALID;
    *p = double_take(bytes, context);
    return *p ? DONE : NO_MEMORY;
}

int zeMemAllocHost(void *context, const void *d, size_t bytes, size_t align, void **p)
{
    return zeMemAllocDevice(context, d, bytes, align, context, p);
}

/* Seven arguments: the last one is on the stack. */
int zeMemAllocShared(void *context, const void *d, const void *h, size_t bytes, size_t align,
                     void *device, void **p)
{
    (void)h, (void)device;
    return zeMemAllocHost(context, d, bytes, align, p);
}

int zeMemFree(void *context, void *p)
{
    (void)context;
    return double_give(p) ? DONE : INVALID;
}

int zeContextDestroy(void *context)
{
    double_end(context);
    return DONE;
}

int zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *event,
                                    unsigned int waits, void **events)
{
    (void)groups, (void)event, (void)waits, (void)events;
    return list && kernel ? DONE : INVALID;
}

int zeKernelGetName(void *kernel, size_t *bytes, char *name)
{
    static const char text[] = "ze_of_tests";

    if (!kernel)
        return INVALID;
    if (*bytes && name)
        memcpy(name, text, *bytes < sizeof(text) ? *bytes : sizeof(text));
    *bytes = sizeof(text);
    return DONE;
}

/* The first that is asked for is at 0000:04:00.0, others nowhere. */
int zeDevicePciGetPropertiesExt(void *device, void *properties)
{
    static void *first;
    struct {
        unsigned int type;
        void *next;
        unsigned int domain, bus, device, function;
    } *p = properties;

    first = first ? first : device;
    if (p->type != 0x10008 || device != first)
        return INVALID;
    p->domain = p->device = p->function = 0;
    p->bus = 4;
    return DONE;
}

int zeImageCreate(void *context, void *device, const void *descriptor, void **image)
{
    *image = descriptor && device ? double_take(16 << 20, context) : NULL;
    return *image ? DONE : INVALID;
}

int zeImageDestroy(void *image)
{
    return double_give(image) ? DONE : INVALID;
}
