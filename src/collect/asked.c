/* asked - what others want to know of the processes that record themselves: see collect.h. */
#include "collect/collect.h"
#include "collect/members.h"
#include "collect/reach.h"
#include "collect/residing.h"

#include <string.h>

bool collect_wants_reach(const struct collect *c)
{
    return c->wants & RING_WANTS_REACH;
}

bool collect_reach(struct collect *c, int pid, const struct collect_still *still, uint64_t at_ns)
{
    for (struct member *m = c->members; m; m = m->next)
        if (!m->ended && !m->gone && (int)m->process.pid == pid)
            return reach_still(c, m, still, at_ns);
    return false;
}

const char *collect_ring(const struct collect *c)
{
    return c->environment + strlen(RING_ENV "=");
}

void collect_expect(struct collect *c, int pid)
{
    presented_reach(&c->presented, pid);
}

void collect_each(const struct collect *c, void (*visit)(void *context, int pid), void *context)
{
    for (const struct member *m = c->members; m; m = m->next)
        if (!m->ended && !m->gone && m->process.pid)
            visit(context, (int)m->process.pid);
}

static size_t stacks_of(const struct collect *c, const struct member *m,
                        struct residence_stack *out, size_t most)
{
    size_t count = 0;

    for (unsigned int i = 0; i < m->slot_count && count < most; i++) {
        const struct absorb_ring *r = c->states[m->slots[i]];

        if (r->stack_bytes && r->tid != m->process.pid)
            out[count++] = (struct residence_stack){r->stack_low, r->stack_bytes};
    }
    return count;
}

bool collect_resident(struct collect *c, int pid, uint64_t mono_ns)
{
    for (struct member *m = c->members; m; m = m->next)
        if (!m->ended && !m->gone && m->process.pid == (uint32_t)pid && c->absorb.store)
            return residing_look(&c->absorb, &m->process,
                                 trace_store_time(c->absorb.store, mono_ns));
    return true;
}

size_t collect_stacks(const struct collect *c, int pid, struct residence_stack *out, size_t most)
{
    for (const struct member *m = c->members; m; m = m->next) {
        if (!m->ended && !m->gone && m->process.pid == (uint32_t)pid)
            return stacks_of(c, m, out, most);
    }
    return 0;
}

unsigned int collect_processes(const struct collect *c)
{
    return c->alive;
}

uint64_t collect_ended_ns(const struct collect *c, uint64_t number, uint64_t now)
{
    uint64_t at_ns;

    return intmap_get(&c->ends, number, &at_ns) && at_ns < now ? at_ns : now;
}
