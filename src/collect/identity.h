/* identity - which process a claim of a ring is of, by what the kernel says. What a recorded
 * program says of itself (its pid, as its own pid namespace numbers it) is a claim, not more.
 */
#ifndef COLLECT_IDENTITY_H
#define COLLECT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

enum identity_answer { IDENTITY_NO, IDENTITY_YES, IDENTITY_UNKNOWN };

struct identity_claim {
    int pid;            /* as it says */
    uint64_t namespace; /* whose numbers that is of; 0: it does not say */
    uint64_t inode;     /* of the memory that we share */
    uint64_t offset;    /* of the ring in there */
    int parent;         /* the process that forked it, by our numbers; 0: not known */
    int presented;      /* who has presented itself as it, by our numbers; 0: nobody has */
};

/* Our own pid namespace; 0: not known. */
uint64_t identity_namespace(void);

/* Does the process have this part of the memory mapped? */
enum identity_answer identity_maps(int pid, uint64_t inode, uint64_t offset);

/* The process's pid by our own numbers; 0: nobody can tell. A process that is not one of ours is
 * never taken for it: `ours` says of a pid whether it is known to be one.
 */
int identity_find(const struct identity_claim *c, bool (*ours)(void *context, int pid),
                  void *context);

/* Is one of its forebears known to be ours, or are we that ourselves? */
bool identity_descends(int pid, bool (*ours)(void *context, int pid), void *context);

/* A process is still the same if it began at that time: a pid may be used again. 0: it is gone. */
uint64_t identity_birth(int pid);

/* Whether a process that began then has ended with all its threads; as long as we cannot know, no.
 */
bool identity_gone(int pid, uint64_t birth);

#endif
