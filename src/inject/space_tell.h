/* space_tell - what happened to memory besides the host's own becomes a record. */
#ifndef INJECT_SPACE_TELL_H
#define INJECT_SPACE_TELL_H

#include "inject/state.h"

#define SPACE_TEXT_MOST 160

struct space_told {
    enum ring_space what;
    unsigned int class; /* of its handle, with its vendor's number above */
    uint64_t handle, bytes, owner;
    uint64_t when; /* 0: now */
    uint8_t kind;  /* of its space, or of an access */
    /* Of an allocation, or one that failed, and of an access: write the name of the space, then of
     * the call, to where there is room for SPACE_TEXT_MOST; how many bytes the first has, and both.
     * Called only if it is told.
     */
    size_t (*name)(char *to, const void *context, size_t *all);
    const void *context;
};

/* errno stays as it is. */
void space_tell(const struct space_told *e, struct caller c);

/* As `when` is counted. */
uint64_t space_now(void);

#endif
