/* watched - memory whose content is watched: it is looked at whenever the program says something (a region begins or
 * ends, a step, a mark), and what has changed since the look before is told. Its bytes are never kept, only a hash.
 */
#ifndef INJECT_WATCHED_H
#define INJECT_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCHED_MOST 64u
#define WATCHED_NAME_MOST 64u

enum watched_kind { WATCHED_BEGAN = 1, WATCHED_CHANGED, WATCHED_ENDED, WATCHED_GONE };

struct watched {
    uintptr_t address; /* 0: free */
    size_t bytes;
    uint64_t hash;
    char name[WATCHED_NAME_MOST];
};

/* Tells what happened to one. */
typedef void watched_tell(void *context, enum watched_kind kind, const struct watched *w);

/* Is there any? */
bool watched_any(void);
/* False: there is no room, or it cannot be read. */
bool watched_add(const void *block, size_t bytes, const char *name, watched_tell *tell,
                 void *context);
void watched_remove(const void *block, watched_tell *tell, void *context);
/* Look at all of them; a thread that meets another at it leaves it to that. */
void watched_look(watched_tell *tell, void *context);

#endif
