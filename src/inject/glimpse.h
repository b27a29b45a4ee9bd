/* glimpse - memory that may be gone, read without a fault: the kernel is asked first.
 *
 * For the frames of a thread that was interrupted anywhere, where one pointer in ten thousand leads
 * nowhere. Each page is asked for once in a look: a system call that reads a word of it and refuses
 * to do anything else. That another thread gives a page back between the question and the read is
 * left out of account: what is alive stays, and what is not is met so rarely.
 */
#ifndef INJECT_GLIMPSE_H
#define INJECT_GLIMPSE_H

#include "python/pymemory.h"

#define GLIMPSE_PAGES 128u

struct glimpse {                    /* of one look */
    uintptr_t pages[GLIMPSE_PAGES]; /* known to be there; by number */
};

/* Forget what was asked before, and read through `g` from now on. */
struct py_memory glimpse_begin(struct glimpse *g);

/* What glimpse_begin gives as a function; `context` is the glimpse. */
bool glimpse_read(void *context, uintptr_t at, void *to, size_t bytes);

/* Does the kernel answer as we expect it to? Asked once. */
bool glimpse_allowed(void);

#endif
