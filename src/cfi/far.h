/* far - memory that is not ours, read through a function: of another process, or a copy. */
#ifndef CFI_FAR_H
#define CFI_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct far {
    /* How many bytes were read, from the first on. */
    size_t (*read)(void *context, uintptr_t at, void *to, size_t bytes);
    void *context;
};

static inline size_t far_read_some(const struct far *f, uintptr_t at, void *to, size_t bytes)
{
    return f->read(f->context, at, to, bytes);
}

static inline bool far_read(const struct far *f, uintptr_t at, void *to, size_t bytes)
{
    return f->read(f->context, at, to, bytes) == bytes;
}

#endif
