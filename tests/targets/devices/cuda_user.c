/* cuda_user - a program of the CUDA driver API: cuda_user WHAT. What it allocates is known by line.
 *
 * ways       1 MiB by link, 2 MiB by dlsym, 3 MiB by cuGetProcAddress, together; one each is freed
 * by another way kinds      each kind of memory once, all freed but a leak of 5 MiB pools      2
 * MiB of a pool of device 1 and 1 MiB of that of device 0, which is current; 64 GiB of the first in
 * vain physical   8 MiB that are mapped twice, released and unmapped; never counted twice contexts
 * what ends with a context, with a reset and with the last release refused    64 GiB, which the
 * device does not have threads    four threads hand blocks to each other launches   1000 of a
 * kernel plugged    blocks as PyTorch takes them from an allocator that it was given: 2 MiB, freed,
 * and 1 MiB that is not talks      1 MiB for each line that it reads, and none of it freed fork a
 * child that frees nothing, and allocates 1 MiB of its own seen       100 MiB until the device was
 * read from outside (tests/doubles/virtual.h), then freed
 */
#include "../../doubles/virtual.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long pointer;

#ifdef LINKED
int cuInit(unsigned int flags);
int cuDevicePrimaryCtxRetain(void **c, int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxCreate_v2(void **c, unsigned int flags, int device);
int cuCtxDestroy_v2(void *c);
int cuCtxSetCurrent(void *c);
int cuMemAlloc_v2(pointer *p, size_t bytes);
int cuMemAllocPitch_v2(pointer *p, size_t *pitch, size_t width, size_t height, unsigned int size);
int cuMemAllocManaged(pointer *p, size_t bytes, unsigned int flags);
int cuMemAllocAsync(pointer *p, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(pointer *p, size_t bytes, void *pool, void *stream);
int cuMemFree_v2(pointer p);
int cuMemFreeAsync(pointer p, void *stream);
int cuMemHostAlloc(void **p, size_t bytes, unsigned int flags);
int cuMemFreeHost(void *p);
int cuMemCreate(void **h, size_t bytes, const void *prop, unsigned long long flags);
int cuMemRelease(void *h);
int cuMemAddressReserve(pointer *p, size_t bytes, size_t align, pointer at,
                        unsigned long long flags);
int cuMemMap(pointer at, size_t bytes, size_t offset, void *h, unsigned long long flags);
int cuMemUnmap(pointer at, size_t bytes);
int cuArrayCreate_v2(void **a, const void *descriptor);
int cuArrayDestroy(void *a);
int cuLaunchKernel(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
                   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                   void *stream, void **parameters, void **extra);
#else
// clang-format off
#define FUNCTIONS(X) \
    X(cuInit) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset_v2) \
    X(cuDevicePrimaryCtxRelease_v2) X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) \
    X(cuMemAlloc_v2) X(cuMemAllocPitch_v2) X(cuMemAllocManaged) X(cuMemAllocAsync) \
    X(cuMemAllocFromPoolAsync) X(cuMemFree_v2) X(cuMemFreeAsync) X(cuMemHostAlloc) \
    X(cuMemFreeHost) X(cuMemCreate) X(cuMemRelease) X(cuMemAddressReserve) X(cuMemMap) \
    X(cuMemUnmap) X(cuArrayCreate_v2) X(cuArrayDestroy) X(cuLaunchKernel)
// clang-format on
#define X(name) static int (*name)();
FUNCTIONS(X)
#undef X
#endif

#define MIB (1ull << 20)
#define DO(call)                                                                                   \
    do {                                                                                           \
        int status = (call);                                                                       \
        if (status) {                                                                              \
            fprintf(stderr, "%s: %d\n", #call, status);                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *library;

static void *open_library(void)
{
    void *l = dlopen("libcuda.so.1", RTLD_NOW);

    if (!l) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return l;
}

static void ways(void)
{
    int (*alloc)(pointer *, size_t) = dlsym(library, "cuMemAlloc_v2");
    int (*find)(const char *, void **, int, unsigned long long,
                int *) = dlsym(library, "cuGetProcAddress_v2");
    int (*found)(pointer *, size_t), (*found_free)(pointer);
    pointer linked, looked_up, asked;
    void *p;

    DO(find("cuMemAlloc", &p, 12000, 0, NULL));
    found = p;
    DO(find("cuMemFree", &p, 12000, 0, NULL));
    found_free = p;
    DO(cuMemAlloc_v2(&linked, 1 * MIB));
    DO(alloc(&looked_up, 2 * MIB));
    DO(found(&asked, 3 * MIB));
    DO(found_free(linked));
    DO(cuMemFree_v2(looked_up));
    DO(cuMemFree_v2(asked));
}

__attribute__((noinline)) static void leak(void)
{
    pointer p;

    DO(cuMemAlloc_v2(&p, 5 * MIB));
}

static void kinds(void)
{
    const struct {
        size_t width, height;
        unsigned int format, channels;
    } array = {256, 256, 0x20, 4};
    pointer pitched, managed, later, pooled;
    size_t pitch;
    void *host, *a;

    DO(cuMemAllocPitch_v2(&pitched, &pitch, 1000, 1024, 4));
    DO(cuMemAllocManaged(&managed, 2 * MIB, 1));
    DO(cuMemAllocAsync(&later, 3 * MIB, NULL));
    DO(cuMemAllocFromPoolAsync(&pooled, 4 * MIB, NULL, NULL));
    DO(cuMemHostAlloc(&host, 6 * MIB, 0));
    DO(cuArrayCreate_v2(&a, &array));
    leak();
    DO(cuArrayDestroy(a));
    DO(cuMemFreeHost(host));
    DO(cuMemFreeAsync(pooled, NULL));
    DO(cuMemFreeAsync(later, NULL));
    DO(cuMemFree_v2(managed));
    DO(cuMemFree_v2(pitched));
}

static void pools(void)
{
    pointer there, here, never;

    DO(cuMemAllocFromPoolAsync(&there, 2 * MIB, (void *)2, NULL));
    DO(cuMemAllocFromPoolAsync(&here, 1 * MIB, NULL, NULL));
    if (cuMemAllocFromPoolAsync(&never, 65536 * MIB, (void *)2, NULL) != 2)
        exit(4);
    DO(cuMemFreeAsync(there, NULL));
    DO(cuMemFreeAsync(here, NULL));
}

/* As frameworks do: created, mapped in two halves' place, released at once, and gone when unmapped.
 */
static void physical(void)
{
    const struct {
        unsigned int type, handles, location, number;
        void *more[2];
    } prop = {1, 0, 1, 1, {NULL, NULL}}; /* on device 1 */
    pointer at;
    void *h;

    DO(cuMemAddressReserve(&at, 32 * MIB, 0, 0, 0));
    DO(cuMemCreate(&h, 8 * MIB, &prop, 0));
    DO(cuMemMap(at, 8 * MIB, 0, h, 0));
    DO(cuMemMap(at + 8 * MIB, 8 * MIB, 0, h, 0));
    DO(cuMemRelease(h));
    DO(cuMemUnmap(at, 8 * MIB));
    DO(cuMemCreate(&h, 2 * MIB, &prop, 0)); /* while the first lives by its second mapping */
    DO(cuMemUnmap(at + 8 * MIB, 8 * MIB));
    DO(cuMemRelease(h));
}

static void contexts(void *first)
{
    pointer p;
    void *c;

    DO(cuCtxCreate_v2(&c, 0, 1));
    DO(cuMemAlloc_v2(&p, 4 * MIB)); /* on device 1, ends with its context */
    DO(cuCtxDestroy_v2(c));
    DO(cuCtxSetCurrent(first));
    DO(cuMemAlloc_v2(&p, 2 * MIB));
    DO(cuDevicePrimaryCtxReset_v2(0));
    DO(cuDevicePrimaryCtxRetain(&first, 0));
    DO(cuDevicePrimaryCtxRetain(&first, 0));
    DO(cuMemAlloc_v2(&p, 1 * MIB));
    DO(cuDevicePrimaryCtxRelease_v2(0)); /* one is left */
    DO(cuDevicePrimaryCtxRelease_v2(0));
}

__attribute__((noinline)) static void refused(void)
{
    pointer p;

    if (cuMemAlloc_v2(&p, 65536 * MIB) != 2)
        exit(3);
}

#define BLOCKS 400

static pointer handed[BLOCKS];

static void *hand_on(void *context)
{
    void *first = context;

    DO(cuCtxSetCurrent(first));
    for (int i = 0; i < 4 * BLOCKS; i++) {
        pointer *place = &handed[(i * 7) % BLOCKS], mine, theirs;

        DO(cuMemAlloc_v2(&mine, 64 << 10));
        theirs = __atomic_exchange_n(place, mine, __ATOMIC_SEQ_CST);
        if (theirs)
            DO(cuMemFree_v2(theirs));
    }
    return NULL;
}

static void threads(void *first)
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, hand_on, first);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        if (handed[i])
            DO(cuMemFree_v2(handed[i]));
}

static void launches(void)
{
    void *parameters[1] = {NULL};

    for (int i = 0; i < 1000; i++)
        DO(cuLaunchKernel(NULL, 1, 2, 3, 4, 1, 1, 8, NULL, parameters, NULL));
}

static void talks(void)
{
    char line[64];
    pointer p;

    while (printf("ready\n"), fflush(stdout), fgets(line, sizeof(line), stdin))
        DO(cuMemAlloc_v2(&p, 1 * MIB));
}

static void plugged(void)
{
    void *(*take)(ssize_t, int, void *) = dlsym(RTLD_DEFAULT, "tidemark_cuda_malloc");
    void (*give)(void *, ssize_t, int, void *) = dlsym(RTLD_DEFAULT, "tidemark_cuda_free");
    void *p;

    if (!take || !give)
        return; /* nobody records */
    p = take(2 * MIB, 0, NULL);
    if (!p || !take(1 * MIB, 0, NULL) || take(65536 * (ssize_t)MIB, 0, NULL))
        exit(5);
    give(p, 2 * MIB, 0, NULL);
}

static void forked(void)
{
    pointer mine, childs;
    int status;

    DO(cuMemAlloc_v2(&mine, 2 * MIB));
    if (fork() == 0) {
        DO(cuMemAlloc_v2(&childs, 1 * MIB));
        exit(0);
    }
    if (wait(&status) < 0 || status)
        exit(4);
    DO(cuMemFree_v2(mine));
}

static int seen(void)
{
    struct virtual_machine *m = virtual_machine();
    pointer p;

    if (!m)
        return 3;
    DO(cuMemAlloc_v2(&p, 100 << 20));
    virtual_wait_until_seen(m);
    DO(cuMemFree_v2(p));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ways";
    void *first;

    library = open_library();
#ifndef LINKED
#define X(name) *(void **)&name = dlsym(library, #name);
    FUNCTIONS(X)
#undef X
#endif
    DO(cuInit(0));
    DO(cuDevicePrimaryCtxRetain(&first, 0));
    DO(cuCtxSetCurrent(first));
    if (strcmp(what, "ways") == 0)
        ways();
    else if (strcmp(what, "kinds") == 0)
        kinds();
    else if (strcmp(what, "pools") == 0)
        pools();
    else if (strcmp(what, "physical") == 0)
        physical();
    else if (strcmp(what, "contexts") == 0)
        contexts(first);
    else if (strcmp(what, "refused") == 0)
        refused();
    else if (strcmp(what, "threads") == 0)
        threads(first);
    else if (strcmp(what, "launches") == 0)
        launches();
    else if (strcmp(what, "talks") == 0)
        talks();
    else if (strcmp(what, "plugged") == 0)
        plugged();
    else if (strcmp(what, "fork") == 0)
        forked();
    else if (strcmp(what, "seen") == 0)
        return seen();
    else
        return 2;
    return 0;
}
