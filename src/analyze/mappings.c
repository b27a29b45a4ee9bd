/* mappings - see mappings.h. Mappings in the tree never overlap, so "overlaps" can stand for "equal"
 * in its order, and finding what a new mapping or an unmap touches is a search.
 */
#include "analyze/mappings.h"

#include "base/memory.h"

#include <search.h>
#include <stdlib.h>

#define MAPPINGS_MOST ((size_t)1 << 22)

struct mapping {
    uint64_t process, start, end;
    enum trace_mmap_sort sort;
};

static int compare(const void *x, const void *y)
{
    const struct mapping *a = x, *b = y;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->end <= b->start ? -1 : a->start >= b->end;
}

static void count(struct mappings *m, const struct mapping *p, bool more)
{
    uint64_t *bytes = p->sort == TRACE_MMAP_FILE  ? &m->file_bytes
                    : p->sort == TRACE_MMAP_ARENA ? &m->arena_bytes
                                                  : &m->anonymous_bytes;

    *bytes = more ? *bytes + (p->end - p->start) : *bytes - (p->end - p->start);
    m->count = more ? m->count + 1 : m->count - 1;
}

static void insert(struct mappings *m, struct mapping what)
{
    struct mapping *p;

    if (what.start >= what.end)
        return;
    if (m->count == MAPPINGS_MOST) {
        m->left_out++;
        return;
    }
    p = memory_zeroed(sizeof(*p));
    *p = what;
    if (!tsearch(p, &m->tree, compare)) {
        free(p);
        m->left_out++;
        return;
    }
    count(m, p, true);
}

/* Take this range out, whatever is there; what sticks out of it stays. */
static void cut(struct mappings *m, uint64_t process, uint64_t start, uint64_t end)
{
    const struct mapping range = {process, start, end, TRACE_MMAP_ANONYMOUS};
    void *found;

    while (start < end && (found = tfind(&range, &m->tree, compare))) {
        struct mapping *p = *(struct mapping **)found, left = *p, right = *p;

        tdelete(p, &m->tree, compare);
        count(m, p, false);
        free(p);
        left.end = left.end < start ? left.end : start;
        right.start = right.start > end ? right.start : end;
        insert(m, left);
        insert(m, right);
    }
}

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    return bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
}

static void map(struct mappings *m, const struct trace_mmap *r)
{
    uint64_t end = end_of(r->address, r->bytes), process;

    if (r->sort == TRACE_MMAP_BREAK || !intmap_get(&m->threads, r->thread, &process))
        return;
    cut(m, process, r->address, end);
    insert(m, (struct mapping){process, r->address, end, (enum trace_mmap_sort)r->sort});
}

void mappings_take(struct mappings *m, const struct trace_event *ev)
{
    uint64_t process;

    switch (ev->kind) {
    case TRACE_THREAD:
        intmap_put(&m->threads, ev->thread.thread, ev->thread.process);
        break;
    case TRACE_MMAP:
        map(m, &ev->mmap);
        break;
    case TRACE_MUNMAP:
        if (intmap_get(&m->threads, ev->munmap.thread, &process))
            cut(m, process, ev->munmap.address, end_of(ev->munmap.address, ev->munmap.bytes));
        break;
    case TRACE_PROCESS_END:
        cut(m, ev->process_end.process, 0, UINT64_MAX);
        break;
    default:
        break;
    }
}

void mappings_free(struct mappings *m)
{
    tdestroy(m->tree, free);
    m->tree = NULL;
    intmap_free(&m->threads);
}
