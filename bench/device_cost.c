/* device_cost - what a call to a device's library costs its caller: device_cost LIBRARY ROUNDS. Prints the least of
 * the rounds, in ns, of an allocation with its free, and of a launch. The library is made of this file as well,
 * with -DLIBRARY: its functions do next to nothing, so that what is added shows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LIBRARY
static uint64_t next = 1ull << 40;

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cuCtxGetCurrent(void **c)
{
    *c = &next;
    return 0;
}

int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
    *p = next += bytes;
    return 0;
}

int cuMemFree_v2(uint64_t p)
{
    return p == 0;
}

int cuLaunchKernel(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    return !(f && a && b && c && d && e && g && !shared && !stream && !parameters && !extra);
}
#else
#define CALLS 2000 /* fewer than fill a buffer, with a pause after each round */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* As deep as programs are. */
__attribute__((noinline)) static double down(int depth, double (*work)(void))
{
    double result = depth ? down(depth - 1, work) : work();

    __asm__ volatile("" ::: "memory");
    return result;
}

static int (*alloc)(uint64_t *, size_t), (*give)(uint64_t), (*launch)(void *, ...);

static double pairs(void)
{
    double began = now();
    uint64_t p;

    for (int i = 0; i < CALLS; i++) {
        alloc(&p, 4096);
        give(p);
    }
    return (now() - began) / CALLS;
}

static double launches(void)
{
    double began = now();

    for (int i = 0; i < CALLS; i++)
        launch(&began, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return (now() - began) / CALLS;
}

int main(int argc, char **argv)
{
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    double pair = 1e9, one = 1e9, is;

    if (!library)
        return 1;
    *(void **)&alloc = dlsym(library, "cuMemAlloc_v2");
    *(void **)&give = dlsym(library, "cuMemFree_v2");
    *(void **)&launch = dlsym(library, "cuLaunchKernel");
    for (int i = atoi(argv[2]); i > 0; i--) {
        pair = (is = down(16, pairs)) < pair ? is : pair;
        one = (is = down(16, launches)) < one ? is : one;
        nanosleep(&(struct timespec){0, 60000000}, NULL);
    }
    printf("%.1f %.1f\n", pair, one);
    return 0;
}
#endif
