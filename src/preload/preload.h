/* preload - the environment that brings our library into a program, or keeps it out.
 *
 * Libc alone, and nothing is allocated: the recorder makes such an environment for the command, and
 * the library does for its children that were given another one, perhaps between vfork and exec.
 */
#ifndef PRELOAD_PRELOAD_H
#define PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

struct preload {
    const char *library; /* its path */
    const char *ring;    /* what RING_ENV is to say */
    const char *instead; /* the path that leads to the library now, and its own does not; or NULL */
    bool out;            /* take the library out of the environment instead */
    bool marked;         /* say that this start was counted, see RING_COUNTED */
};

/* The bytes that preload_make needs for this environment; 0: it is right as it is. */
size_t preload_bytes(const struct preload *p, char *const *environment);

/* The environment with our library as the first to be loaded, and a RING_ENV if there is none; or,
 * with p->out, without both. `room` holds all that is new and is aligned for pointers.
 */
char **preload_make(const struct preload *p, char *const *environment, void *room);

/* Take the library out of the texts of an environment, in place. */
void preload_forget(const char *library, char **environment);

/* The value of LD_PRELOAD in an environment, as the loader takes it; NULL: none. */
const char *preload_value(char *const *environment);

#endif
