/* watch_tell - what happens to memory that is watched becomes a record. */
#ifndef INJECT_WATCH_TELL_H
#define INJECT_WATCH_TELL_H

#include "inject/state.h"
#include "inject/watched.h"

struct watch_told { /* one record */
    enum ring_watch kind;
    uint64_t number;
    uintptr_t address;
    const char *text;
    bool stacked, interrupted;
};

/* Also from a handler that has interrupted the program anywhere; false: nobody records. */
bool watch_put(const struct watch_told *w, struct caller c);

/* The same in short; a command of a device has the stack of its caller. */
void watch_tell(enum ring_watch kind, uint64_t number, uintptr_t address, const char *text,
                struct caller c);

#endif
