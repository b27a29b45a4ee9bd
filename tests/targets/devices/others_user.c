/* others_user - a program of one vendor besides NVIDIA: others_user hip|shapes|ze|images|hal|acl.
 * hip, ze and hal have a leak of 5 MiB, and ask for 64 GiB in vain.
 *
 * hip   3 MiB on device 1 that end with its reset; 2 MiB managed, 4 MiB pinned, both freed; the
 * leak on device 0 shapes  of HIP: 2 MiB as rows of 512 bytes of which 500 were asked for, 4 MiB as
 * an array in three dimensions, 9 MiB as one of two levels and 1 MiB as one of the driver's kind; 3
 * MiB of a stream of device 1, though 0 is current, that end with its reset; 64 GiB of rows in
 * vain; a kernel 20 times ze    3 MiB that end with their context, 2 MiB shared, 4 MiB of the host,
 * both freed; the leak on the second device; a kernel 30 times images  of Level Zero, one after the
 * other: 1 MiB of one dimension, 4 MiB of two, 3 MiB as three of those, 2 MiB of three; the last is
 * not destroyed hal   3 MiB in huge pages of module 7 on device 2, freed; 4 MiB of the host, 2 MiB
 * shared; 1 MiB by a handle, in giant pages; the leak on device 0 of module 3 acl   launches
 * add_custom 40 times by ACL, which comes to the runtime, and a function 2 times by the runtime
 * itself, as well as Cast on the device's CPUs, 3 times; one launch is refused
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)

static void *library;

static void *find(const char *name)
{
    void *p = dlsym(library, name);

    if (!p)
        exit(3);
    return p;
}

static void open_library(const char *name)
{
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
}

static void expect(int is, int status)
{
    if (is != status)
        exit(4);
}

static void hip(void)
{
    int (*malloc_)(void **, size_t) = find("hipMalloc"), (*set)(int) = find("hipSetDevice");
    int (*managed)(void **, size_t, unsigned) = find("hipMallocManaged");
    int (*host)(void **, size_t, unsigned) = find("hipHostMalloc"),
                                 (*free_)(void *) = find("hipFree");
    int (*host_free)(void *) = find("hipHostFree"), (*reset)(void) = find("hipDeviceReset");
    void *p, *q, *r;

    expect(set(1), 0);
    expect(malloc_(&p, 3 * MIB), 0);
    expect(managed(&q, 2 * MIB, 1), 0);
    expect(host(&r, 4 * MIB, 0), 0);
    expect(free_(q), 0);
    expect(host_free(r), 0);
    expect(reset(), 0);
    expect(set(0), 0);
    expect(malloc_(&p, 5 * MIB), 0);
    expect(malloc_(&q, 65536 * MIB), 2);
}

struct extent {
    size_t width, height, depth;
};

static void shapes(void)
{
    int (*rows)(void *, struct extent) = find("hipMalloc3D"), (*set)(int) = find("hipSetDevice");
    int (*cube)(void **, const int *, struct extent, unsigned) = find("hipMalloc3DArray");
    int (*levels)(void **, const int *, struct extent, unsigned,
                  unsigned) = find("hipMallocMipmappedArray");
    int (*drivers)(void **, const void *) = find("hipArrayCreate");
    int (*later)(void **, size_t, void *) = find("hipMallocAsync");
    int (*free_)(void *) = find("hipFree"), (*free_array)(void *) = find("hipFreeArray");
    int (*free_levels)(void *) = find("hipFreeMipmappedArray"),
                            (*reset)(void) = find("hipDeviceReset");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **) = find("hipModuleLaunchKernel");
    const int channels[5] = {32, 0, 0, 0, 2};
    const struct {
        size_t width, height;
        unsigned int format, channels;
    } flat = {256, 256, 0x20, 4};
    void *pitched[4], *a, *b, *c, *d, *parameters[1];

    expect(rows(pitched, (struct extent){500, 64, 64}), 0);
    expect(cube(&a, channels, (struct extent){128, 128, 64}, 7), 0);
    expect(levels(&b, channels, (struct extent){128, 128, 128}, 2, 7), 0);
    expect(drivers(&c, &flat), 0);
    expect(later(&d, 3 * MIB, (void *)2), 0);
    expect(free_(pitched[0]), 0);
    expect(rows(pitched, (struct extent){512, 1 << 17, 1 << 10}), 2);
    for (int i = 0; i < 20; i++)
        expect(launch(&d, 1, 2, 3, 4, 5, 6, 8, NULL, parameters, NULL), 0);
    expect(free_array(a), 0);
    expect(free_levels(b), 0);
    expect(free_array(c), 0);
    expect(set(1), 0);
    expect(reset(), 0);
}

static void ze(void)
{
    int (*device)(void *, void *, size_t, size_t, void *, void **) = find("zeMemAllocDevice");
    int (*host)(void *, void *, size_t, size_t, void **) = find("zeMemAllocHost");
    int (*shared)(void *, void *, void *, size_t, size_t, void *,
                  void **) = find("zeMemAllocShared");
    int (*free_)(void *, void *) = find("zeMemFree"), (*end)(void *) = find("zeContextDestroy");
    int (*launch)(void *, void *, const void *, void *, unsigned,
                  void **) = find("zeCommandListAppendLaunchKernel");
    char contexts[2], devices[2];
    void *p, *q, *r;

    expect(device(&contexts[0], NULL, 3 * MIB, 0, &devices[0], &p), 0);
    expect(shared(&contexts[0], NULL, NULL, 2 * MIB, 0, &devices[0], &q), 0);
    expect(host(&contexts[0], NULL, 4 * MIB, 0, &r), 0);
    expect(free_(&contexts[0], q), 0);
    expect(free_(&contexts[0], r), 0);
    expect(end(&contexts[0]), 0);
    expect(device(&contexts[1], NULL, 5 * MIB, 0, &devices[1], &p), 0);
    expect(device(&contexts[1], NULL, 65536 * MIB, 0, &devices[1], &q), 0x70000003);
    for (int i = 0; i < 30; i++)
        expect(launch(&contexts[1], &devices[1], NULL, NULL, 0, NULL), 0);
}

struct image {
    unsigned int stype;
    const void *next;
    unsigned int flags, type, layout, channels[5];
    unsigned long long width;
    unsigned int height, depth, levels, mips;
};

static void images(void)
{
    int (*create)(void *, void *, const struct image *, void **) = find("zeImageCreate");
    int (*destroy)(void *) = find("zeImageDestroy");
    const struct image all[] = {
        {.type = 0, .layout = 8, .width = 65536, .height = 7, .depth = 7, .levels = 7},
        {.type = 2, .layout = 4, .width = 1024, .height = 1024, .depth = 7, .levels = 7},
        {.type = 3, .layout = 0, .width = 1024, .height = 1024, .depth = 7, .levels = 3},
        {.type = 4, .layout = 1, .width = 128, .height = 128, .depth = 64, .levels = 7},
    };
    char context, device;
    void *p;

    for (int i = 0; i < 4; i++) {
        expect(create(&context, &device, &all[i], &p), 0);
        if (i < 3)
            expect(destroy(p), 0);
    }
}

static void hal(void)
{
    int (*alloc)(void **, unsigned long long, unsigned long long) = find("halMemAlloc");
    int (*free_)(void *) = find("halMemFree"), (*release)(void *) = find("halMemRelease");
    int (*create)(void **, size_t, const void *, unsigned long long) = find("halMemCreate");
    const unsigned int prop[8] = {1, 2, 9, 2, 0}; /* the device's side, device 2, module 9, giant */
    void *p, *q, *r, *h;

    expect(alloc(&p, 3 * MIB, 7ull << 56 | 1 << 17 | 1 << 10 | 2), 0);
    expect(alloc(&q, 4 * MIB, 3ull << 56 | 2 << 10), 0);
    expect(alloc(&r, 2 * MIB, 3ull << 56), 0);
    expect(create(&h, 1 * MIB, prop, 0), 0);
    expect(release(h), 0);
    expect(free_(p), 0);
    expect(free_(q), 0);
    expect(free_(r), 0);
    expect(alloc(&p, 5 * MIB, 3ull << 56 | 1 << 10), 0);
    expect(alloc(&q, 65536 * MIB, 3ull << 56 | 1 << 10), 6);
}

static void acl(void)
{
    int (*launch)(void *, unsigned, const void *, size_t, void *) = find("aclrtLaunchKernel");
    int (*plain)(const void *, unsigned, void *, unsigned, void *, void *);
    int (*cpu)(unsigned, const char *, unsigned, const void *, void *, void *, unsigned);
    char function, args[16];

    for (int i = 0; i < 40; i++)
        expect(launch(&function, 8, args, sizeof(args), NULL), 0);
    expect(launch(NULL, 8, args, sizeof(args), NULL), 107000);
    library = dlopen("libruntime.so", RTLD_NOW | RTLD_LOCAL);
    *(void **)&plain = find("rtKernelLaunch");
    *(void **)&cpu = find("rtAicpuKernelLaunchExWithArgs");
    for (int i = 0; i < 2; i++)
        expect(plain(&function, 8, args, sizeof(args), NULL, NULL), 0);
    for (int i = 0; i < 3; i++)
        expect(cpu(6, "Cast", 1, args, NULL, NULL, 5), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "hip") == 0) {
        open_library("libamdhip64.so.6");
        hip();
    } else if (argc > 1 && strcmp(argv[1], "shapes") == 0) {
        open_library("libamdhip64.so.6");
        shapes();
    } else if (argc > 1 && strcmp(argv[1], "ze") == 0) {
        open_library("libze_loader.so.1");
        ze();
    } else if (argc > 1 && strcmp(argv[1], "images") == 0) {
        open_library("libze_loader.so.1");
        images();
    } else if (argc > 1 && strcmp(argv[1], "acl") == 0) {
        open_library("libascendcl.so");
        acl();
    } else {
        open_library("libascend_hal.so");
        hal();
    }
    return 0;
}
