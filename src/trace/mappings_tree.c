/* mappings_tree - see mappings_inner.h. Mappings in the tree never overlap, so "overlaps" can stand
 * for "equal" in its order, and finding what a new mapping or an unmap touches is a search. What is
 * found is the highest in the tree that overlaps: what is before it and after it lies below, so
 * that recursion is as deep as the tree.
 */
#include "trace/mappings_inner.h"

#include "base/memory.h"

#include <search.h>
#include <stdlib.h>

#define MAPPINGS_MOST ((size_t)1 << 22)
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

struct mapping *mappings_overlapping(const struct mappings *m, uint64_t process, uint64_t start,
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

void mappings_tell(struct mappings *m, const struct mapping *p, uint64_t time_ns, bool ended)
{
    const struct mapping_change c = {p, time_ns, mapping_counted(p), p->milliblocks, ended};

    if (m->change && c.bytes)
        m->change(m->context, &c);
}

void mappings_tell_resident(struct mappings *m, const struct mapping *p, uint64_t time_ns,
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
        mappings_tell(m, heir, time_ns, false);
}

/* ---- the tree ---- */

static void add_up(struct mappings *m, const struct mapping *p, bool more)
{
    uint64_t *bytes = p->closed ? &m->closed_bytes : &m->bytes[p->kind], length = p->end - p->start;

    m->count = more ? m->count + 1 : m->count - 1;
    if (!p->ended)
        *bytes = more ? *bytes + length : *bytes - length;
}

struct mapping *mappings_insert(struct mappings *m, const struct mapping *what)
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

struct mapping mapping_part(const struct mapping *p, uint64_t start, uint64_t end)
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

struct mapping mappings_take_out(struct mappings *m, struct mapping *p, uint64_t start,
                                 uint64_t end, uint64_t time_ns)
{
    struct mapping left, right, part = *p;

    part.start = p->start > start ? p->start : start;
    part.end = p->end < end ? p->end : end;
    left = mapping_part(p, p->start, part.start);
    right = mapping_part(p, part.end, p->end);
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
    mappings_insert(m, &left);
    mappings_insert(m, &right);
    mappings_tell(m, &part, time_ns, true);
    pass_on(m, p, time_ns);
    free(p);
    return part;
}

bool mappings_may_pass(struct mappings *m)
{
    if (++m->met <= MET_MOST + MET_MOST_EACH * m->records)
        return true;
    m->left_out++;
    return false;
}

void mappings_clear(struct mappings *m, uint64_t process, uint64_t start, uint64_t end,
                    uint64_t time_ns, struct mappings_gone *first)
{
    struct mapping *p;

    while ((p = mappings_overlapping(m, process, start, end))) {
        uint64_t from = p->start, to = p->end;
        struct mapping was;

        if (p->born_ns > time_ns) {
            if (!mappings_may_pass(m))
                return;
            mappings_clear(m, process, start, from, time_ns, first);
            start = to;
            continue;
        }
        was = mappings_take_out(m, p, start, end, time_ns);
        if (first && !first->found) {
            first->was = was;
            first->found = true;
        }
    }
}

/* Those that count, or the others. */
static void end_all(struct mappings *m, uint64_t process, uint64_t time_ns, uint64_t start,
                    uint64_t end, bool counting)
{
    struct mapping *p;

    while ((p = mappings_overlapping(m, process, start, end))) {
        if (p->ended && !mappings_may_pass(m))
            return;
        if (!p->ended && p->counts == counting) {
            add_up(m, p, false);
            pass_on(m, p, time_ns);
            p->ended = true;
            m->count++;
        }
        end_all(m, process, time_ns, start, p->start, counting);
        start = p->end;
    }
}

void mappings_end(struct mappings *m, uint64_t process, uint64_t time_ns)
{
    /* The others first: what they share with one that counts ends with it, and is not handed on to
     * them. */
    end_all(m, process, time_ns, 0, UINT64_MAX, false);
    end_all(m, process, time_ns, 0, UINT64_MAX, true);
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t process, uint64_t address)
{
    return address < UINT64_MAX ? mappings_overlapping(m, process, address, address + 1) : NULL;
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
