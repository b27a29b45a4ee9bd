/* pymemory - how an interpreter's memory is read: by plain loads, or by a function that may fail.
 */
#ifndef PYTHON_PYMEMORY_H
#define PYTHON_PYMEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct py_memory {
    bool (*read)(void *context, uintptr_t at, void *to, size_t bytes); /* NULL: plain loads */
    void *context;
};

static inline bool py_read(const struct py_memory *m, uintptr_t at, void *to, size_t bytes)
{
    if (m->read)
        return m->read(m->context, at, to, bytes);
    memcpy(to, (const void *)at, bytes);
    return true;
}

static inline bool py_read_word(const struct py_memory *m, uintptr_t at, uintptr_t *to)
{
    return py_read(m, at, to, sizeof(*to));
}

#endif
