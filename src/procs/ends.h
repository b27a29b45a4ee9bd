/* ends - how processes of a tree ended, where the system tells that exactly: by its own records of
 * all that end on the machine, or by stopping each for a moment.
 */
#ifndef PROCS_ENDS_H
#define PROCS_ENDS_H

#include "base/err.h"
#include "procs/tree.h"

struct ends_pending;

struct ends {
    struct records records;
    struct ends_pending *pending; /* records of processes whose parent is not known yet */
    size_t pending_count, pending_room;
    /* Called before one of the tree has ended, while it is known who it is: what it has said of
     * itself was said before its record came. NULL: nobody listens.
     */
    void (*on_end)(void *context);
    void *context;
};

/* Take what has arrived; processes of the tree are given to tree_ended. Was there one? Others of
 * the machine end as well.
 */
bool ends_drain(struct ends *e, struct tree *t);
void ends_close(struct ends *e);

/* What a process that is stopped shows of itself and of others. */
void ends_stopped(struct tree *t, const struct stop *s);

#endif
