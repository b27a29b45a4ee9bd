/* turns - memory past the recorder, in turns: preloaded before it, for bench/turns_cost.py.
 *
 * While turns_past(1) holds, the program's calls of the malloc family go to libc at once, as in a process with no recorder;
 * else they go on to the next library, the recorder's. One process with one layout of memory has both then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int past;

static struct {
    void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
} next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_free, NULL};

static int aligned(void **out, size_t alignment, size_t size)
{
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

void turns_past(int yes)
{
    if (!next.posix_memalign) {
        next.posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
        next.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        next.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
        next.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
        next.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    }
    past = yes;
}

__attribute__((constructor)) static void begin(void)
{
    turns_past(0);
}

void *malloc(size_t size)
{
    return past ? __libc_malloc(size) : next.malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return past ? __libc_calloc(n, size) : next.calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return past ? __libc_realloc(p, size) : next.realloc(p, size);
}

void free(void *p)
{
    if (past)
        __libc_free(p);
    else
        next.free(p);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return past || !next.posix_memalign ? aligned(out, alignment, size) : next.posix_memalign(out, alignment, size);
}
