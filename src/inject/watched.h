/* watched - memory whose content is watched. Its whole pages are guarded (guard.h), so that each
 * write to them is told with who made it; and it is looked at whenever the program says something
 * (a region begins or ends, a step, a mark), and what has changed since the look before is told.
 * Its bytes are never kept, only hashes: one of what is guarded, which need not be read while
 * nobody has written there, and one of the rest.
 */
#ifndef INJECT_WATCHED_H
#define INJECT_WATCHED_H

#include "inject/guard.h"
#include "trace/ring.h"

#define WATCHED_MOST GUARDS
#define WATCHED_NAME_MOST RING_WATCH_NAME
#define WATCHED_COMMANDS (1u << 24) /* of devices, that have a number */
#define WATCHED_WRITES 10000u       /* of one block, that are told one by one */

struct watched {
    uintptr_t address; /* 0: free */
    size_t bytes;
    uintptr_t low, high;   /* pages that are guarded, or were at first */
    uint64_t inner, outer; /* hashes of these and of the rest */
    char name[WATCHED_NAME_MOST];
};

/* Tells what happened to one. */
typedef void watched_tell(void *context, enum ring_watch kind, uint64_t number,
                          const struct watched *w);

/* Of these bytes, from one to begin with. */
uint64_t watched_hash(uint64_t hash, const unsigned char *data, size_t bytes);

/* Is there any? */
bool watched_any(void);
/* False: there is no room, or it cannot be read, which is told. */
bool watched_add(const void *block, size_t bytes, const char *name, bool guarded,
                 watched_tell *tell, void *context);
void watched_remove(const void *block, watched_tell *tell, void *context);
/* Look at all of them; a thread that meets another at it leaves it to that. */
void watched_look(watched_tell *tell, void *context);
/* The program is about to give this memory back. */
void watched_freed(const void *block, size_t bytes, watched_tell *tell, void *context);

/* What is watched of this memory: the part from *address on, its bytes. 0: nothing. */
size_t watched_part(uintptr_t *address, size_t bytes);
/* One more write to it: shall it be told? */
bool watched_count(unsigned int place);
/* The place of what is watched there; WATCHED_MOST: nothing is. */
unsigned int watched_place(uintptr_t address);

#endif
