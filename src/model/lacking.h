/* lacking - what numbers of a trace may lack, and in which direction: from here every question
 * takes how it says so. That Python lines or samples of processes are missing is no matter of these
 * numbers.
 */
#ifndef MODEL_LACKING_H
#define MODEL_LACKING_H

#include "base/arena.h"
#include "trace/read.h"

#include <stdbool.h>
#include <stdint.h>

struct lacking {     /* zeroed: nothing */
    uint64_t events; /* allocations and frees that were lost, by count */
    bool parts;      /* and some that nobody has counted: a number may be too small or too large */
    bool more;       /* processes or times were not recorded at all: what they did would be added */
};

/* Take a LOSS. */
void lacking_loss(struct lacking *l, const struct trace_event *ev);

/* A basis ("exact", "sampled, ±3.1 %") as it is with what is lacking. In the arena, or the same. */
const char *lacking_said(const struct lacking *l, struct arena *a, const char *basis);

/* " but for 12 lost events", or nothing: after a word that claims to be whole. */
const char *lacking_but(const struct lacking *l, struct arena *a);

#endif
