/* ends - see ends.h. */
#include "procs/ends.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_MOST 4096
#define PENDING_NS 2000000000u /* a parent that lives this long has been sampled */

struct ends_pending {
    struct proc_end end;
    char name[32];
    uint64_t since_ns;
};

static bool in_tree(const struct tree *t, const struct proc_end *end)
{
    uint64_t parent;

    if (tree_has(t, end->pid) || (end->ppid == t->self && !tree_is_helper(t, end->pid)) ||
        tree_has(t, end->ppid))
        return true;
    /* Its parent has just ended as well; after that it would be our own child. */
    return intmap_get(&t->by_pid, (uint64_t)end->ppid, &parent) &&
           t->all[parent].died_ns != ABSENT && t->all[parent].died_ns + PENDING_NS > t->now_ns;
}

static void end_one(const struct ends *e, struct tree *t, const struct proc_end *end)
{
    if (e->on_end)
        e->on_end(e->context);
    tree_ended(t, end);
}

static void keep_pending(struct ends *e, const struct proc_end *end, uint64_t now_ns)
{
    struct ends_pending *p;

    if (e->pending_count == PENDING_MOST)
        memmove(e->pending, e->pending + 1, --e->pending_count * sizeof(*e->pending));
    memory_fit(e->pending, e->pending_room, e->pending_count + 1);
    p = &e->pending[e->pending_count++];
    p->end = *end;
    p->since_ns = now_ns;
    snprintf(p->name, sizeof(p->name), "%s", end->name);
}

/* Records of children come before their parent's: look again whenever the tree has grown. */
static bool retry_pending(struct ends *e, struct tree *t)
{
    bool again = true, found = false;

    while (again) {
        size_t kept = 0;

        again = false;
        for (size_t i = 0; i < e->pending_count; i++) {
            struct ends_pending *p = &e->pending[i];

            p->end.name = p->name;
            if (in_tree(t, &p->end)) {
                end_one(e, t, &p->end);
                again = found = true;
            } else if (p->since_ns + PENDING_NS > t->now_ns) {
                e->pending[kept++] = *p;
            }
        }
        e->pending_count = kept;
    }
    return found;
}

struct taking {
    struct ends *ends;
    struct tree *tree;
    bool found;
};

static void take(const struct proc_end *end, void *context)
{
    struct taking *to = context;

    if (in_tree(to->tree, end)) {
        end_one(to->ends, to->tree, end);
        to->found = true;
    } else {
        keep_pending(to->ends, end, to->tree->now_ns);
    }
}

bool ends_drain(struct ends *e, struct tree *t)
{
    struct taking to = {e, t, false};

    if (!records_drain(&e->records, take, &to))
        bound_open(&t->bound, "the kernel had to drop exit records");
    return retry_pending(e, t) || to.found;
}

void ends_close(struct ends *e)
{
    records_close(&e->records);
    free(e->pending);
    *e = (struct ends){.records.fd = -1};
}

/* The marks that the last thread of a process shows are final; its end itself comes with its wait
 * status.
 */
void ends_stopped(struct tree *t, const struct stop *s)
{
    if (s->at_exit && s->process)
        tree_marks(t, s->process, s->rss_peak, s->vsz_peak);
    if (s->child && !tree_has(t, s->child))
        tree_add(t, s->child, -1, TRACE_BORN_FORKED);
}
