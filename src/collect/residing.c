/* residing - see residing.h. The cost is bounded: so many ranges, the largest, and so many pages
 * (see residence_ranges); who looks keeps to a share of the time.
 */
#include "collect/residing.h"

#include "base/memory.h"
#include "collect/put.h"
#include "platform/platform.h"

#include <stdlib.h>

#define RANGES_MOST 1024
#define MAPPED_LEAST ((uint64_t)1 << 16) /* smaller mappings are not worth a look */

struct looked { /* one range, and what it is */
    struct residence_range range;
    uint32_t stack;
    enum trace_memory memory;
};

struct looks {
    struct looked *list;
    size_t count, room;
};

static void add(struct looks *l, uint64_t address, uint64_t bytes, uint64_t stack,
                enum trace_memory memory)
{
    memory_fit(l->list, l->room, l->count + 1);
    l->list[l->count++] = (struct looked){{address, bytes, 0, false}, (uint32_t)stack, memory};
}

static void add_mapping(void *context, const struct mapping *p)
{
    static const enum trace_memory kinds[TRACE_MMAP_KINDS] = {
        [TRACE_MMAP_ANONYMOUS] = TRACE_MEMORY_MAPPED,
        [TRACE_MMAP_FILE] = TRACE_MEMORY_FILE,
        [TRACE_MMAP_SHARED] = TRACE_MEMORY_SHARED,
        [TRACE_MMAP_RESERVED] = TRACE_MEMORY_RESERVED};

    if (p->kind != TRACE_MMAP_ARENA && !p->closed && p->end - p->start >= MAPPED_LEAST)
        add(context, p->start, p->end - p->start, p->stack, kinds[p->kind]);
}

static int by_size(const void *left, const void *right)
{
    const struct looked *l = left, *r = right;

    if (l->range.bytes != r->range.bytes)
        return l->range.bytes < r->range.bytes ? 1 : -1;
    return l->range.start < r->range.start ? -1 : l->range.start > r->range.start;
}

static bool look(struct looks *l, int pid)
{
    struct residence_range *ranges = memory_zeroed((l->count + 1) * sizeof(*ranges));
    bool seen;

    for (size_t i = 0; i < l->count; i++)
        ranges[i] = l->list[i].range;
    seen = residence_ranges(pid, ranges, l->count);
    for (size_t i = 0; i < l->count; i++)
        l->list[i].range = ranges[i];
    free(ranges);
    return seen;
}

static void put(struct absorb *a, const struct absorb_process *p, const struct looks *l,
                uint64_t time_ns)
{
    struct trace_resident head = {.process = p->number, .bytes = l->count};

    put_record(a, TRACE_RESIDENT, time_ns, &head, 3);
    for (size_t i = 0; i < l->count; i++) {
        const struct looked *o = &l->list[i];
        struct trace_resident fields = {p->number,         o->range.start, o->range.bytes,
                                        o->range.resident, o->stack,       o->memory};

        if (o->range.known)
            put_record(a, TRACE_RESIDENT, time_ns, &fields, 6);
    }
}

bool residing_look(struct absorb *a, struct absorb_process *p, uint64_t time_ns)
{
    struct looks l = {0};
    bool seen;

    large_drop(&p->large, &p->blocks);
    for (size_t i = 0; i < p->large.count; i++)
        add(&l, p->large.list[i].address, p->large.list[i].bytes, p->large.list[i].stack,
            TRACE_MEMORY_HEAP);
    mappings_each(&p->mappings, add_mapping, &l);
    memory_sort(l.list, l.count, sizeof(*l.list), by_size);
    l.count = l.count < RANGES_MOST ? l.count : RANGES_MOST;
    seen = look(&l, (int)p->pid);
    if (seen)
        put(a, p, &l, time_ns);
    free(l.list);
    return seen;
}
