/* real - the functions behind our hooks: the next ones of the same name after this library.
 *
 * Found at the first call of any of them, whichever comes first, so that a block is never freed by
 * another allocator than the one that made it.
 */
#ifndef INJECT_REAL_H
#define INJECT_REAL_H

#include "inject/real_type.h"

extern struct real real __attribute__((visibility("hidden")));

void real_find(void);
uintptr_t *real_field(const char *name); /* NULL: none of that name */

/* For the functions that are called rarely: found before their first call. */
static inline const struct real *real_now(void)
{
    if (!real.mmap)
        real_find();
    return &real;
}

#endif
