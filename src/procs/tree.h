/* tree - the processes of a run: found, read at every tick, and remembered when they end.
 *
 * A tick is tree_read (every living process), then tree_ended for whatever is known to have ended,
 * then tree_settle, which accounts the interval in the bounds. Between ticks tree_ended may come at
 * any time.
 */
#ifndef PROCS_TREE_H
#define PROCS_TREE_H

#include "base/intmap.h"
#include "platform/platform.h"
#include "procs/bound.h"
#include "procs/claimant.h"
#include "procs/result.h"
#include "trace/format.h"

#define TREE_FILE 32 /* enough of a file's name to tell it from another */

struct tree_live {
    int index; /* in tree.all */
    struct proc proc;
    struct proc_reading now;
    bool zombie;
    bool older;               /* what it was and used before it was found does not count */
    struct proc_reading then; /* as it was found; its marks are ABSENT once they are passed */
    char file[TREE_FILE],
        ran[TREE_FILE]; /* what it runs and ran before its last exec, for claims */
};

struct tree;

/* What the recorder wants to hear of. */
struct tree_events {
    void (*born)(void *context, const struct tree *t, struct watch_process *p, enum trace_born how);
    /* Before `ended`: what it has used by then; NULL: nobody asks. */
    void (*used)(void *context, const struct watch_process *p, const struct proc_usage *used);
    void (*ended)(void *context, const struct watch_process *p, enum trace_end how, int status);
    /* `renamed`: its name, if it was born under that of what it has become since, by exec; or NULL.
     */
    void (*claimed)(void *context, const struct watch_process *p, const char *file,
                    const char *renamed);
};

struct tree {
    /* set by the caller */
    bool children;  /* follow descendants */
    bool details;   /* read everything at every tick, for a time series */
    bool records;   /* every process's end is told by tree_ended: nothing lives unseen */
    bool since;     /* of those that are found, only what comes then counts */
    int self;       /* our own pid, when we adopt orphans; 0: we don't */
    uint64_t floor; /* our own mark at the launch: exec hands it on, so maxrss says nothing below */
    const struct tree_events *events;
    void *context;
    bool (*is_helper)(const void *helpers,
                      int pid); /* a child of ours that is none of these; or NULL */
    const void *helpers;

    /* results */
    struct watch_process *all; /* every process that was seen */
    size_t all_count, all_room, live_of_room, source_room;
    struct tree_live *live;
    int live_count, live_room;
    struct bound bound;
    uint64_t rss, vsz, pss; /* sums at the last tick */
    bool resided;           /* the next was read at the last tick */
    struct residence residence;
    int alive; /* processes in those sums */
    uint64_t peak_vsz, peak_pss;
    struct proc_usage told; /* what those that ended have used, as far as it was told or read */
    uint64_t hidden; /* processes that may have come and gone unseen in one interval, at most */
    bool floored;    /* the main process left no mark above our own: its peak is at most that, */
    bool shadowed;   /* and at least what was read of it while it lived */

    /* inside */
    struct intmap by_pid;   /* pid -> index in all, the latest of that pid */
    int *live_of;           /* per index in all: its place in live, -1: ended */
    unsigned char *sources; /* per index in all: who told of its end */
    struct proc self_proc;
    uint64_t ended_known, ended_unknown; /* of the interval that runs */
    uint64_t reaped_faults;              /* of children that were waited for in it */
    uint64_t newest;                     /* pid of the machine when last asked */
    uint64_t newborn;                    /* processes seen that were made since */
    uint64_t unexplained;                /* made before that, and not seen */
    uint64_t last_marks, last_unknown;   /* of the interval before this one */
    unsigned int still;                  /* readings that found nothing moved */
    int vanished[64], vanished_count;    /* ended in this reading, nobody has said how */
    uint64_t now_ns, real_ns;
    bool scan;     /* no lists of children in this kernel: look at every process */
    bool claiming; /* who is born now is told of by `claimed` next */
};

/* Start with nothing. */
void tree_init(struct tree *t);

/* Add a process that is known to be there; parent -1: as the kernel says. Its index, -1: gone. */
int tree_add(struct tree *t, int pid, int parent, enum trace_born how);

void tree_read(struct tree *t, uint64_t mono_ns, uint64_t real_ns);
void tree_settle(struct tree *t);
void tree_ended(struct tree *t, const struct proc_end *end);
/* All of them, those that live as they were read last: at least that, and waited for or not. */
struct proc_usage tree_used(const struct tree *t);

/* The number in the trace of a process that has begun to record itself: of an incarnation that has
 * not done so before. It may be gone already.
 */
uint64_t tree_claim(struct tree *t, const struct claimant *who);

/* Whether a living process has become another program than the one that forked it, for sure. */
bool tree_is_image(const struct tree *t, const struct watch_process *p);
/* Whether it still is a copy of the living process that forked it, for sure. */
bool tree_is_copy(const struct tree *t, const struct watch_process *p);

/* The marks of a living process, read outside a tick. */
void tree_marks(struct tree *t, int pid, uint64_t rss, uint64_t vsz);

/* A round of proportional sizes; fills t->pss. Returns what it cost in ns. */
uint64_t tree_read_pss(struct tree *t);

/* The process that is largest now; NULL: none lives. */
const struct tree_live *tree_largest(const struct tree *t);
/* Is it a process of our own making, which is not watched? */
bool tree_is_helper(const struct tree *t, int pid);
/* Is this the pid of a living process of the tree? */
bool tree_has(const struct tree *t, int pid);
/* Send a signal to every process; how many got it. */
int tree_kill(struct tree *t, int signal);

void tree_free(struct tree *t);

#endif
