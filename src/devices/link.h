/* link - the process that reads one kind of device: started, asked, heard without ever being waited
 * for, and replaced or given up when it hangs or dies.
 */
#ifndef DEVICES_LINK_H
#define DEVICES_LINK_H

#include "devices/gauge_wire.h"
#include "devices/kinds.h"

#include <sys/types.h>

#define LINK_START_NS 10000000000u /* the longest that a driver's library takes to begin */
#define LINK_ANSWER_NS 2000000000u /* and to answer */

enum link_state {
    LINK_OFF,      /* not there, or given up */
    LINK_STARTING, /* its devices are not known yet */
    LINK_IDLE,
    LINK_ASKED,
    LINK_RESTING /* it broke down, and is started again at next_ns */
};

struct link {
    const struct device_kind *kind;
    enum link_state state;
    int socket;
    pid_t pid;         /* 0: none, or waited for already */
    uint64_t since_ns; /* it has been in this state, */
    uint64_t next_ns;  /* and is not asked, or started again, before this */
    uint32_t sequence;
    int failures;
    bool found;           /* it has told of its devices */
    char note[WIRE_NOTE]; /* why there is nothing, or no longer; "": nothing is amiss */
};

void link_start(struct link *l, uint64_t now_ns);
/* Ask, if it is idle and not to be spared. */
void link_ask(struct link *l, const int32_t *pids, size_t count, uint64_t now_ns);
/* An answer, if one has come; `room` is WIRE_ANSWER_MOST bytes, aligned. */
bool link_hear(struct link *l, void *room, struct wire_answer *a, uint64_t now_ns);
/* Lose patience, where it is time to; start again, likewise. */
void link_check(struct link *l, uint64_t now_ns);
/* No longer; `note` (or NULL) says why. */
void link_off(struct link *l, const char *note);
/* End it. One that hangs in the kernel is left to its fate, not waited for. */
void link_stop(struct link *l, uint64_t now_ns);

#endif
