/* members - the processes that record themselves: found by the rings that they claim, in the order
 * in which they came, and kept until nobody goes on with what they told. Inside of collect.c.
 */
#ifndef COLLECT_MEMBERS_H
#define COLLECT_MEMBERS_H

#include "base/intmap.h"
#include "collect/absorb.h"
#include "collect/presented.h"
#include "collect/ration.h"
#include "collect/rings.h"
#include "procs/claimant.h"

struct member { /* a recorded process */
    struct absorb_process process;
    struct member *next;
    int pidfd;          /* -1: none, it is asked for by pid and birth */
    uint64_t birth;     /* as the kernel counts; 0: not known */
    uint32_t said;      /* its number, as it numbers itself */
    uint64_t namespace; /* whose numbers the next is of; 0: not known */
    uint32_t called;    /* its pid, as it numbers itself; process.pid: as we do, 0: not known */
    bool gone, ended;   /* it will write no more; all was read */
    bool forked_from;   /* a child goes on with its stacks: they must stay */
    bool spent;         /* it had ended at the last look, and no child has come since */
    uint32_t *slots;
    unsigned int slot_count, slot_room;
};

struct collect {
    struct rings rings;
    struct absorb absorb;
    struct absorb_ring *states[RING_SLOTS];
    struct member *members, **last; /* oldest first: a child reads what its parent wrote */
    struct intmap by_number;
    struct intmap by_pid; /* the newest of that pid */
    struct intmap ends;   /* number -> when we noticed that it had ended */
    uint32_t wants;       /* enum ring_wants */
    uint64_t unread;      /* rings of nobody */
    uint32_t launched;    /* programs that we have started */
    int door;             /* see giver.h; -1: there is none */
    struct presented presented;
    unsigned int alive;
    uint64_t claims[RING_SLOTS]; /* process << 32 | slot, of those that are new */
    size_t claim_count;
    uint32_t unnumbered;      /* the number of the next process, when we began to look for claims */
    bool put_off[RING_SLOTS]; /* who came after that, to the next look */
    uint64_t passed_ns;       /* when the last pass began */
    uint64_t longest_tick_ns; /* with events, where they are exact */
    uint64_t looked_ns;       /* when we last asked who is alive */
    uint64_t waits_ns;        /* and why they wait, */
    struct ration waits;      /* of so many at a time */
    int library;              /* a descriptor of its file; 0 or below: none */
    char environment[96];
    /* NULL: as the programs number themselves */
    uint64_t (*number)(void *context, const struct claimant *who);
    void *context;
};

/* A child comes after its parent, what was exec'ed after what it was. Who comes while we look is
 * left for the next time: one that it comes after may have been missed.
 */
void members_look(struct collect *c);

/* Is this process one that our memory may be given to: does it descend from us, or from a member?
 */
bool members_may_ask(struct collect *c, int pid);
bool members_gone(const struct member *m);
/* It has gone on by exec: there is a newer incarnation of the same pid. */
bool members_replaced(const struct collect *c, const struct member *m);
void members_drop(struct collect *c, struct member *m);

#endif
