/* mappings - see mappings.h. Mappings in the tree never overlap, so "overlaps" can stand for
 * "equal" in its order, and finding what a new mapping or an unmap touches is a search. What is
 * found is the highest in the tree that overlaps: what is before it and after it lies below, so
 * that recursion is as deep as the tree.
 */
#include "trace/mappings.h"

#include "base/memory.h"

#include <search.h>
#include <stdlib.h>

#define MAPPINGS_MOST ((size_t)1 << 22)
#define BLOCK 1000u /* thousandths */
/* Mappings that records meet and leave as they are: so many of all, and of each record. */
#define MET_MOST ((uint64_t)1 << 20)
#define MET_MOST_EACH 8

static int compare(const void *x, const void *y)
{
    const struct mapping *a = x, *b = y;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->end <= b->start ? -1 : a->start >= b->end;
}

static struct mapping *find(const struct mappings *m, uint64_t process, uint64_t start,
                            uint64_t end)
{
    const struct mapping range = {.process = process, .start = start, .end = end};
    void *found = start < end ? tfind(&range, &m->tree, compare) : NULL;

    return found ? *(struct mapping **)found : NULL;
}

/* ---- what counts ---- */

uint64_t mapping_counted(const struct mapping *p)
{
    if (p->closed)
        return 0;
    if (p->kind == TRACE_MMAP_RESERVED)
        return p->resident;
    return p->kind == TRACE_MMAP_ANONYMOUS || (p->kind == TRACE_MMAP_SHARED && p->counts)
             ? p->end - p->start
             : 0;
}

static void tell(struct mappings *m, const struct mapping *p, uint64_t time_ns, bool ended)
{
    const struct mapping_change c = {p, time_ns, mapping_counted(p), p->milliblocks, ended};

    if (m->change && c.bytes)
        m->change(m->context, &c);
}

/* What is resident of a reservation has become another amount: the difference alone is a change. */
static void tell_resident(struct mappings *m, const struct mapping *p, uint64_t time_ns,
                          uint64_t was)
{
    uint64_t now = p->resident;
    const struct mapping_change c = {p, time_ns, now > was ? now - was : was - now,
                                     now && was ? 0 : p->milliblocks, now < was};

    if (m->change && c.bytes && !p->closed)
        m->change(m->context, &c);
}

/* A mapping has gone, and what is left of it is linked by now: who shared its object may have it
 * now. */
static void pass_on(struct mappings *m, const struct mapping *p, uint64_t time_ns)
{
    const struct mapping *heir = sharing_unlink(&m->objects, p);

    if (heir)
        tell(m, heir, time_ns, false);
}

/* ---- the tree ---- */

static void add_up(struct mappings *m, const struct mapping *p, bool more)
{
    uint64_t *bytes = p->closed ? &m->closed_bytes : &m->bytes[p->kind], length = p->end - p->start;

    m->count = more ? m->count + 1 : m->count - 1;
    if (!p->ended)
        *bytes = more ? *bytes + length : *bytes - length;
}

static struct mapping *insert(struct mappings *m, const struct mapping *what)
{
    struct mapping *p;

    if (what->start >= what->end)
        return NULL;
    if (m->count == MAPPINGS_MOST) {
        m->left_out++;
        return NULL;
    }
    p = memory_zeroed(sizeof(*p));
    *p = *what;
    if (!tsearch(p, &m->tree, compare)) {
        free(p);
        m->left_out++;
        return NULL;
    }
    add_up(m, p, true);
    sharing_link(&m->objects, p);
    return p;
}

static uint64_t share(uint64_t of, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)of * part / whole);
}

/* The part of a mapping from start to end, with its share of what it stands for. */
static struct mapping part_of(const struct mapping *p, uint64_t start, uint64_t end)
{
    struct mapping part = *p;

    part.start = start;
    part.end = end;
    if (start < end) {
        part.milliblocks = share(p->milliblocks, end - start, p->end - p->start);
        part.resident = share(p->resident, end - start, p->end - p->start);
    }
    return part;
}

/* Take a part out of a mapping; what is before and after it stays, and the part has all else of it.
 */
static struct mapping take_out(struct mappings *m, struct mapping *p, uint64_t start, uint64_t end,
                               uint64_t time_ns)
{
    struct mapping left, right, part = *p;

    part.start = p->start > start ? p->start : start;
    part.end = p->end < end ? p->end : end;
    left = part_of(p, p->start, part.start);
    right = part_of(p, part.end, p->end);
    if (left.start < left.end) {
        part.milliblocks -= left.milliblocks;
        part.resident -= left.resident;
    }
    if (right.start < right.end) {
        part.milliblocks -= right.milliblocks;
        part.resident -= right.resident;
    }
    tdelete(p, &m->tree, compare);
    add_up(m, p, false);
    insert(m, &left);
    insert(m, &right);
    tell(m, &part, time_ns, true);
    pass_on(m, p, time_ns);
    free(p);
    return part;
}

/* A record meets a mapping that it does not change; false: there were too many of these. */
static bool may_pass(struct mappings *m)
{
    if (++m->met <= MET_MOST + MET_MOST_EACH * m->records)
        return true;
    m->left_out++;
    return false;
}

/* Take this range out, but for what is younger. *first: one of those that were there. */
static void cut(struct mappings *m, uint64_t process, uint64_t start, uint64_t end,
                uint64_t time_ns, struct mappings_gone *first)
{
    struct mapping *p;

    while ((p = find(m, process, start, end))) {
        uint64_t from = p->start, to = p->end;
        struct mapping was;

        if (p->born_ns > time_ns) {
            if (!may_pass(m))
                return;
            cut(m, process, start, from, time_ns, first);
            start = to;
            continue;
        }
        was = take_out(m, p, start, end, time_ns);
        if (first && !first->found) {
            first->was = was;
            first->found = true;
        }
    }
}

/* ---- maps ---- */

/* Where nothing younger is. */
static void fill(struct mappings *m, const struct mapping *what, uint64_t start, uint64_t end)
{
    const struct mapping *p;
    struct mapping part;

    while ((p = find(m, what->process, start, end))) {
        if (!may_pass(m))
            return;
        fill(m, what, start, p->start);
        start = p->end;
    }
    if (start >= end)
        return;
    part = part_of(what, start, end);
    p = insert(m, &part);
    if (p)
        tell(m, p, p->born_ns, false);
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
            cut(m, p->process, c->start > p->start ? c->start : p->start,
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

    while ((p = find(m, now->process, start, end))) {
        uint64_t from = p->start > start ? p->start : start, to = p->end < end ? p->end : end;

        if (p->closed != now->closed && p->born_ns <= now->born_ns) {
            struct mapping part = take_out(m, p, start, end, now->born_ns);

            part.closed = now->closed;
            part.counts = sharing_may_count(&m->objects, &part);
            if (!now->closed)
                open_part(&part, now);
            p = insert(m, &part);
            if (p)
                tell(m, p, now->born_ns, false);
        } else if (!may_pass(m)) {
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
    cut(m, process, p.start, p.end, time_ns, NULL);
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
    cut(m, process, r->address, end, time_ns, g);
    m->recent[m->recent_count++ % MAPPINGS_RECENT] = (struct mappings_cut){
        process, r->thread, r->address, end, time_ns};
}

void mappings_looked(struct mappings *m, uint64_t time_ns, const struct trace_resident *r)
{
    uint64_t end = end_of(r->address, r->bytes);
    struct mapping *p = find(m, r->process, r->address, end);
    uint64_t was;

    if (!p || p->kind != TRACE_MMAP_RESERVED || p->start != r->address || p->end != end)
        return;
    was = p->resident;
    p->resident = r->resident < r->bytes ? r->resident : r->bytes;
    tell_resident(m, p, time_ns, was);
}

static void end_all(struct mappings *m, uint64_t process, uint64_t time_ns, uint64_t start,
                    uint64_t end)
{
    struct mapping *p;

    while ((p = find(m, process, start, end))) {
        if (p->ended && !may_pass(m))
            return;
        if (!p->ended) {
            add_up(m, p, false);
            pass_on(m, p, time_ns);
            p->ended = true;
            m->count++;
        }
        end_all(m, process, time_ns, start, p->start);
        start = p->end;
    }
}

void mappings_end(struct mappings *m, uint64_t process, uint64_t time_ns)
{
    end_all(m, process, time_ns, 0, UINT64_MAX);
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t process, uint64_t address)
{
    return address < UINT64_MAX ? find(m, process, address, address + 1) : NULL;
}

struct walk {
    mappings_visit *visit;
    void *context;
};

static void visit_node(const void *node, VISIT which, void *context)
{
    const struct walk *w = context;

    if (which == postorder || which == leaf)
        w->visit(w->context, *(struct mapping *const *)node);
}

void mappings_each(const struct mappings *m, mappings_visit *visit, void *context)
{
    struct walk w = {visit, context};

    twalk_r(m->tree, visit_node, &w);
}

void mappings_free(struct mappings *m)
{
    tdestroy(m->tree, free);
    sharing_free(&m->objects);
    m->tree = NULL;
    m->count = 0;
}
