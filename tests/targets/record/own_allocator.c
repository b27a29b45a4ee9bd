/* An allocator whose functions call each other by their public names, as a library to be loaded. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *p);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return __libc_malloc(size);
}

void free(void *p)
{
    __libc_free(p);
}

void *calloc(size_t n, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : malloc(bytes);

    return p ? memset(p, 0, bytes) : NULL;
}

void *realloc(void *old, size_t size)
{
    void *p = malloc(size);
    size_t held = old ? malloc_usable_size(old) : 0;

    if (p && old) {
        memcpy(p, old, held < size ? held : size);
        free(old);
    }
    return p;
}

void *memalign(size_t alignment, size_t size)
{
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

void *valloc(size_t size)
{
    return memalign(4096, size);
}

void *pvalloc(size_t size)
{
    return valloc((size + 4095) & ~(size_t)4095);
}
