/* looks - which blocks nothing points to, of processes that stand still meanwhile (--reachable):
 * when a snapshot is taken, and before those that were attached to are left. All of them stand
 * still at once: what one allocates another may point to, in memory that they share, and the moment
 * is the same for all.
 */
#include "attach/halt.h"
#include "base/memory.h"
#include "watch/watcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct looks {
    struct watcher *watcher;
    struct halt *halted;
    size_t count, room;
};

static void tell(struct watcher *w, int pid, uint64_t stood_ns, const char *why)
{
    if (w->o->on_looked)
        w->o->on_looked(w->o->context, pid, stood_ns, why);
}

static void halt_one(void *context, int pid)
{
    struct looks *l = context;
    struct err err = {0};

    memory_fit(l->halted, l->room, l->count + 1);
    if (halt_all(&l->halted[l->count], pid, &err) == 0)
        l->count++;
    else
        tell(l->watcher, pid, 0, err.text);
}

static bool look_at(struct watcher *w, const struct halt *h, uint64_t at_ns)
{
    struct collect_still still = {.threads = memory_zeroed(h->count * sizeof(*still.threads)),
                                  .count = h->count,
                                  .words = h->words,
                                  .word_count = h->word_count};
    bool seen;

    for (size_t i = 0; i < h->count; i++)
        still.threads[i] = (struct collect_thread){(uint32_t)h->threads[i].tid, h->threads[i].stack,
                                                   h->threads[i].data};
    seen = collect_reach(w->o->collect, h->pid, &still, at_ns);
    free(still.threads);
    return seen;
}

static void put_fact(struct watcher *w, int pid, uint64_t stood_ns)
{
    char text[24];
    int bytes = snprintf(text, sizeof(text), "%" PRIu64, stood_ns);

    for (size_t i = w->tree.all_count; i-- > 0 && w->o->store;) {
        if (w->tree.all[i].pid != pid)
            continue;
        trace_store_fact(w->o->store, TRACE_OF_PROCESS, (uint64_t)w->tree.all[i].process,
                         FACT_STOOD_STILL, text, (size_t)bytes);
        break;
    }
}

static void go_on(struct watcher *w, struct halt *h, bool seen)
{
    int pid = h->pid;
    uint64_t stood_ns = halt_release(h);

    put_fact(w, pid, stood_ns);
    tell(w, pid, stood_ns, seen ? NULL : "its memory could not be read");
}

uint64_t looks_take(struct watcher *w, const char *name)
{
    struct looks l = {.watcher = w};
    uint64_t at_ns;
    bool *seen;

    if (collect_wants_reach(w->o->collect)) {
        collect_pass(w->o->collect); /* who has just come is seen */
        collect_each(w->o->collect, halt_one, &l);
        collect_pass(w->o->collect);
        collect_pass(w->o->collect); /* what was put off for a tick */
    }
    at_ns = collect_snapshot(w->o->collect, name);
    seen = memory_zeroed(l.count + 1);
    for (size_t i = 0; i < l.count; i++)
        seen[i] = look_at(w, &l.halted[i], at_ns);
    for (size_t i = 0; i < l.count; i++)
        go_on(w, &l.halted[i], seen[i]);
    free(seen);
    free(l.halted);
    return at_ns;
}
