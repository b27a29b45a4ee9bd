/* rings - the collector's end of the shared memory: see trace/ring.h. */
#ifndef WATCH_RINGS_H
#define WATCH_RINGS_H

#include "base/err.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stddef.h>

struct rings {
    struct ring_control *control;
    struct ring_slot *slots;
    uint64_t *maps[RING_SLOTS]; /* of the rings in use or used before; NULL: never looked at */
    int fd;
};

/* Make the shared memory; its clock starts at origin_ns (CLOCK_MONOTONIC). -1 with *err. */
int rings_create(struct rings *r, enum ring_mode mode, uint64_t sample_mean, uint32_t depth,
                 uint64_t origin_ns, struct err *err);
void rings_close(struct rings *r);

/* What RING_ENV must be in the environment of the command. */
void rings_path(const struct rings *r, char *path, size_t room);

/* Move the clock that recorded programs see to now; returns it. */
uint64_t rings_tick(struct rings *r);

/* The ring of a slot, mapped on first use; NULL when that fails. */
uint64_t *rings_map(struct rings *r, uint32_t slot);

/* Call `seen` for each claimed slot. */
void rings_claimed(struct rings *r, void (*seen)(void *context, uint32_t slot), void *context);

/* Nobody writes to it any more and all was read up to `at`, or, of one that was scribbled over
 * (`unread`), all that will be: give it back, with zeros alone.
 */
void rings_release(struct rings *r, uint32_t slot, uint64_t at, bool unread);

#endif
