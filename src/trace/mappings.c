/* mappings - see mappings.h: what each record does to the mappings that there are (mappings_tree).
 */
#include "trace/mappings_inner.h"

#define BLOCK 1000u /* thousandths */

/* Where nothing younger is. */
static void fill(struct mappings *m, const struct mapping *what, uint64_t start, uint64_t end)
{
    const struct mapping *p;
    struct mapping part;

    while ((p = mappings_overlapping(m, what->process, start, end))) {
        if (!mappings_may_pass(m))
            return;
        fill(m, what, start, p->start);
        start = p->end;
    }
    if (start >= end)
        return;
    part = mapping_part(what, start, end);
    p = mappings_insert(m, &part);
    if (p)
        mappings_tell(m, p, p->born_ns, false);
}

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

/* What mremap moved is what it was, but for who asked for it now. */
static void move(const struct mappings *m, struct mapping *p)
{
    const struct mappings_gone *g = &m->gone[p->thread % MAPPINGS_THREADS];

    p->kind = TRACE_MMAP_ANONYMOUS;
    p->closed = false;
    if (g->thread != p->thread || !g->found)
        return;
    p->kind = g->was.kind;
    p->closed = g->was.closed;
    p->object = g->was.object;
    p->resident = g->was.resident < p->whole ? g->was.resident : p->whole;
    if (!p->stack)
        p->stack = g->was.stack;
}

/* Those that were read before it, but came after it. */
static void meet_recent(struct mappings *m, const struct mapping *p)
{
    for (size_t i = 0; i < m->recent_count && i < MAPPINGS_RECENT; i++) {
        const struct mappings_cut *c = &m->recent[i];

        if (c->process == p->process && c->thread != p->thread && c->time_ns > p->born_ns)
            mappings_clear(m, p->process, c->start > p->start ? c->start : p->start,
                           c->end < p->end ? c->end : p->end, c->time_ns, NULL);
    }
}

/* Who opens it has taken it, as a block of its own. */
static void open_part(struct mapping *part, const struct mapping *now)
{
    part->stack = now->stack;
    part->thread = now->thread;
    part->context = now->context;
    part->whole = part->end - part->start;
    part->milliblocks = BLOCK;
    if (part->kind == TRACE_MMAP_RESERVED)
        part->kind = TRACE_MMAP_ANONYMOUS;
}

/* Who may touch it now? */
static void protect(struct mappings *m, const struct mapping *now, uint64_t start, uint64_t end)
{
    struct mapping *p;

    while ((p = mappings_overlapping(m, now->process, start, end))) {
        uint64_t from = p->start > start ? p->start : start, to = p->end < end ? p->end : end;

        if (p->closed != now->closed && p->born_ns <= now->born_ns) {
            struct mapping part = mappings_take_out(m, p, start, end, now->born_ns);

            part.closed = now->closed;
            part.counts = sharing_may_count(&m->objects, &part);
            if (!now->closed)
                open_part(&part, now);
            p = mappings_insert(m, &part);
            if (p)
                mappings_tell(m, p, now->born_ns, false);
        } else if (!mappings_may_pass(m)) {
            return;
        }
        protect(m, now, start, from);
        start = to;
    }
}

void mappings_map(struct mappings *m, uint64_t process, uint64_t time_ns,
                  const struct trace_mmap *r)
{
    struct mapping p = {.process = process,
                        .start = r->address,
                        .end = end_of(r->address, r->bytes),
                        .kind = (enum trace_mmap_kind)r->mmap_kind,
                        .closed = !(r->protection & 7),
                        .thread = r->thread,
                        .stack = r->stack,
                        .context = r->context,
                        .object = r->object,
                        .born_ns = time_ns,
                        .whole = r->bytes,
                        .milliblocks = BLOCK};

    m->records++;
    if (r->mmap_kind >= TRACE_MMAP_KINDS || r->mmap_kind == TRACE_MMAP_BREAK)
        return;
    if (r->mmap_kind == TRACE_MMAP_PROTECTED) {
        protect(m, &p, p.start, p.end);
        return;
    }
    if (r->mmap_kind == TRACE_MMAP_MOVED)
        move(m, &p);
    mappings_clear(m, process, p.start, p.end, time_ns, NULL);
    p.counts = sharing_may_count(&m->objects, &p);
    fill(m, &p, p.start, p.end);
    meet_recent(m, &p);
}

void mappings_unmap(struct mappings *m, uint64_t process, uint64_t time_ns,
                    const struct trace_munmap *r)
{
    struct mappings_gone *g = &m->gone[r->thread % MAPPINGS_THREADS];
    uint64_t end = end_of(r->address, r->bytes);

    m->records++;
    *g = (struct mappings_gone){.thread = r->thread};
    mappings_clear(m, process, r->address, end, time_ns, g);
    m->recent[m->recent_count++ % MAPPINGS_RECENT] = (struct mappings_cut){
        process, r->thread, r->address, end, time_ns};
}

void mappings_looked(struct mappings *m, uint64_t time_ns, const struct trace_resident *r)
{
    uint64_t end = end_of(r->address, r->bytes);
    struct mapping *p = mappings_overlapping(m, r->process, r->address, end);
    uint64_t was;

    if (!p || p->kind != TRACE_MMAP_RESERVED || p->start != r->address || p->end != end)
        return;
    was = p->resident;
    p->resident = r->resident < r->bytes ? r->resident : r->bytes;
    mappings_tell_resident(m, p, time_ns, was);
}
