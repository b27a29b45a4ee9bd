/* glimpse - memory that may be gone, read without a fault: the kernel copies it for us.
 *
 * For the frames of a thread that was interrupted anywhere. Whole pages are copied and kept for the
 * length of one look, and the code objects of a stack are fetched all at once: a look at a stack of
 * twenty frames takes three system calls.
 */
#ifndef INJECT_GLIMPSE_H
#define INJECT_GLIMPSE_H

#include "python/pymemory.h"

#define GLIMPSE_PAGES 8u
#define GLIMPSE_PIECES 64u
#define GLIMPSE_PIECE 256u /* bytes of one, at most */

struct glimpse {                    /* in the thread's memory, not on a stack that may be small */
    uintptr_t pages[GLIMPSE_PAGES]; /* 0: none */
    unsigned int next;              /* to be replaced */
    uintptr_t pieces[GLIMPSE_PIECES];
    unsigned int fetched, near; /* pieces; the one used last */
    size_t piece_bytes;
    uint8_t page[GLIMPSE_PAGES][4096];
    uint8_t piece[GLIMPSE_PIECES * GLIMPSE_PIECE]; /* one after the other */
};

/* Forget what was copied before, and read through `g` from now on. */
struct py_memory glimpse_begin(struct glimpse *g);

/* Fetch `bytes` at each of g->pieces[0 .. count). What cannot be read is left out. */
void glimpse_fetch(struct glimpse *g, unsigned int count, size_t bytes);

/* What glimpse_begin gives as a function; `context` is the glimpse. */
bool glimpse_read_kept(void *context, uintptr_t at, void *to, size_t bytes);

/* One read alone. */
bool glimpse_read_once(void *context, uintptr_t at, void *to, size_t bytes);

/* Does the kernel let us? Asked once. */
bool glimpse_allowed(void);

#endif
