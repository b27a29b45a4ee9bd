/* rings - the collector's end of the shared memory: see trace/ring.h. */
#ifndef COLLECT_RINGS_H
#define COLLECT_RINGS_H

#include "base/err.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stddef.h>

/* What recorded programs could have written over is kept here as well, and only this is believed.
 */
struct rings {
    struct ring_control *control;
    struct ring_slot *slots;
    uint64_t *maps[RING_SLOTS]; /* of the rings in use or used before; NULL: never looked at */
    uint32_t mapped;            /* all of those are below it */
    uint32_t slot_count;        /* that the file has room for: fewer where files may not be large */
    uint64_t origin_ns, tick;
    uint32_t mode;
    uint64_t inode; /* of the memory, as in /proc/PID/maps */
    int fd;
};

struct rings_options {
    enum ring_mode mode;
    uint32_t depth;       /* frames */
    uint64_t sample_mean; /* bytes */
    uint64_t origin_ns;   /* CLOCK_MONOTONIC: where its clock starts */
};

/* Make the shared memory, of rings that are zeroed. -1 with *err. */
int rings_create(struct rings *r, const struct rings_options *o, struct err *err);
void rings_close(struct rings *r);

/* What RING_ENV must be in the environment of the command. */
void rings_path(const struct rings *r, char *path, size_t room);

/* Move the clock that recorded programs see to now; returns it. */
uint64_t rings_tick(struct rings *r);

/* What recorded programs do from now on. */
void rings_mode(struct rings *r, uint32_t mode);
/* Processes that say nothing of windows are in one, or outside. */
void rings_window(struct rings *r, bool inside);
/* A program may have ended a pause. */
bool rings_paused(const struct rings *r);

/* Where the ring of a slot begins in the file. */
uint64_t rings_offset(uint32_t slot);

/* The ring of a slot, mapped on first use; NULL when that fails. */
uint64_t *rings_map(struct rings *r, uint32_t slot);

/* Call `seen` for each claimed slot. */
void rings_claimed(struct rings *r, void (*seen)(void *context, uint32_t slot), void *context);

/* Nobody writes to it any more and all was read up to `at`, or, of one that was scribbled over
 * (`unread`), all that will be: give it back, with zeros alone.
 */
void rings_release(struct rings *r, uint32_t slot, uint64_t at, bool unread);

#endif
