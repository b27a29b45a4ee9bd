/* device_watch - objects of OpenCL whose content is watched. Around each command that may write to
 * one its content is read back by a command of ours, hashed when that has ended, and forgotten;
 * what the hashes say is for whoever reads the trace.
 *
 * The program's commands stay in their order, and nobody waits for ours: neither the program nor,
 * as a command may wait for what the program does next, we ourselves.
 */
#ifndef INJECT_DEVICE_WATCH_H
#define INJECT_DEVICE_WATCH_H

#include "inject/device_table.h"

#define DEVICE_WATCHES 16

/* Functions of the vendor's that it needs, by their places in its helpers. */
struct device_watch_needs {
    uint8_t read, when_done, let_go, of_queue, marker;
};

/* An object came to be; `of`: a part of which, or itself. Or it died. */
void device_watch_object(uint64_t object, uint64_t bytes, uint64_t of);
void device_watch_gone(uint64_t object);

void device_watch_begin(uint64_t object, const char *name, struct caller c);
/* False: it is none that is watched. */
bool device_watch_end(uint64_t object, struct caller c);

/* Nobody records any more. */
void device_watch_leave(void);

bool device_watch_any(void);

struct device_looks { /* of one command, from before it to after it */
    uint32_t slots;   /* a bit for each object that it may write to */
    uint32_t beside;  /* and for those at which another thread is at work as well */
    uint32_t numbers[DEVICE_WATCHES];
    uint8_t may[DEVICE_WATCHES];
};

/* Before a call that puts a command into a queue, and after it; `done`: it is there. */
void device_watch_before(const struct device_call *call, struct device_library *l,
                         const uintptr_t *a, struct device_looks *k, struct caller c);
void device_watch_after(const struct device_call *call, struct device_library *l,
                        const uintptr_t *a, struct device_looks *k, bool done, struct caller c);

#endif
