/* library - a vendor's library, loaded by name: which of its functions it has. */
#ifndef GAUGES_LIBRARY_H
#define GAUGES_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
    const char *names; /* the newest first, separated by spaces */
    void *to;          /* where its address goes: the place of a pointer to a function */
    bool needed;
};

/* Load the first of `names` (up to a NULL) that there is and look up its functions. On failure a
 * sentence why in `why`.
 */
bool library_load(const char *const *names, const struct library_function *functions, size_t count,
                  char *why, size_t room);

/* The address of one function, for where the table is not enough; NULL: it has none. */
void *library_find(const char *name);

#endif
