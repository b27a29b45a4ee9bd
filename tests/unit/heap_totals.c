/* dump - what a trace says of its allocations, by reading it from front to back: for tests.
 *   dump [-s|-i] FILE      -s: also the live bytes by stack, as module+address
 *                          -i: also each kind of block, as JSON, one per line
 */
#include "base/intmap.h"
#include "trace/batch.h"
#include "trace/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct totals {
    uint64_t allocs, frees, bytes, freed_bytes, unknown, temporary, samples, sample_frees, maps,
        arenas, unmaps, processes, threads, marks, losses, events, peak;
    double sampled_bytes, sampled_blocks;
};

struct info {
    uint64_t process, origin, bytes, stack, allocs;
    int64_t live;
};

static struct totals n;
static struct intmap infos; /* process << 32 | info -> index */
static struct info *list;
static size_t count, room;
static struct {
    uint64_t parent, frame;
} * stacks;
static struct {
    uint64_t flavour, module, address;
} * frames;
static size_t stack_room, frame_room;

static void *reach(void *p, size_t *have, size_t want, size_t size)
{
    size_t now = *have ? *have : 1024;

    if (want < *have)
        return p;
    while (now <= want)
        now *= 2;
    p = realloc(p, now * size);
    memset((char *)p + *have * size, 0, (now - *have) * size);
    *have = now;
    return p;
}

static size_t index_of(uint64_t process, uint64_t info)
{
    uint64_t at;

    return intmap_get(&infos, process << 32 | info, &at) ? (size_t)at : 0;
}

static void take_infos(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    struct batch_info f = {.info = ev->infos.first - 1};

    while (batch_next_info(&tail, &size, &f)) {
        list = reach(list, &room, ++count, sizeof(*list));
        list[count] = (struct info){ev->infos.process, f.origin, f.bytes, f.stack, 0, 0};
        intmap_put(&infos, ev->infos.process << 32 | f.info, count);
    }
}

static void take_batch(const struct trace_event *ev)
{
    struct batch_reader r;
    struct batch_event e;
    static uint64_t process;
    static size_t *map, map_room;

    if (process != ev->batch.process) {
        process = ev->batch.process;
        if (map)
            memset(map, 0, map_room * sizeof(*map));
    }
    if (batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0) {
        fprintf(stderr, "malformed batch\n");
        exit(1);
    }
    while (batch_next(&r, &e) > 0) {
        struct info *i;

        n.events++;
        map = reach(map, &map_room, e.info, sizeof(*map));
        if (!map[e.info])
            map[e.info] = index_of(process, e.info);
        i = &list[map[e.info]];
        if (e.info == 0) {
            n.unknown++;
        } else if (e.op == BATCH_ALLOC) {
            n.allocs++;
            n.bytes += i->bytes;
            i->allocs++;
            i->live++;
            if (n.bytes - n.freed_bytes > n.peak)
                n.peak = n.bytes - n.freed_bytes;
        } else if (e.op == BATCH_FREE) {
            n.frees++;
            n.freed_bytes += i->bytes;
            i->live--;
            n.temporary += e.later_allocs == 0;
        } else {
            n.frees--;
            n.freed_bytes -= i->bytes;
            i->live++;
        }
    }
}

static void take_stacks(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    uint64_t next = ev->stacks.first;
    struct trace_stack s;

    while (batch_next_stack(&tail, &size, &next, &s)) {
        stacks = reach(stacks, &stack_room, s.stack, sizeof(*stacks));
        stacks[s.stack].parent = s.parent;
        stacks[s.stack].frame = s.frame;
    }
}

static void take(const struct trace_event *ev)
{
    switch (ev->kind) {
    case TRACE_INFOS:
        take_infos(ev);
        break;
    case TRACE_BATCH:
        take_batch(ev);
        break;
    case TRACE_ALLOC:
        n.samples++;
        n.sampled_blocks += (double)ev->alloc.weight / 1000;
        n.sampled_bytes += (double)ev->alloc.weight / 1000 * (double)ev->alloc.bytes;
        break;
    case TRACE_FREE:
        n.sample_frees++;
        break;
    case TRACE_MMAP:
        n.maps++;
        n.arenas += ev->mmap.mmap_kind == TRACE_MMAP_ARENA;
        break;
    case TRACE_MUNMAP:
        n.unmaps++;
        break;
    case TRACE_PROCESS:
        n.processes++;
        break;
    case TRACE_THREAD:
        n.threads++;
        break;
    case TRACE_MARK:
    case TRACE_REGION:
    case TRACE_LABEL:
        n.marks++;
        break;
    case TRACE_LOSS:
        if (ev->loss.what != TRACE_LOST_TICKS &&
            ev->loss.what != TRACE_LOST_TORN) /* no allocations */
            n.losses += ev->loss.count;
        break;
    case TRACE_STACKS:
        take_stacks(ev);
        break;
    case TRACE_FRAME:
        frames = reach(frames, &frame_room, ev->frame.frame, sizeof(*frames));
        frames[ev->frame.frame].flavour = ev->frame.flavour;
        frames[ev->frame.frame].module = ev->frame.process;
        frames[ev->frame.frame].address = ev->frame.address;
        break;
    default:
        break;
    }
}

static void show_stacks(void)
{
    for (size_t i = 1; i <= count; i++) {
        unsigned int depth = 0;

        if (!list[i].live)
            continue;
        printf("live %ld x %lu:", (long)list[i].live, (unsigned long)list[i].bytes);
        for (uint64_t s = list[i].stack; s && depth < 2000; s = stacks[s].parent, depth++)
            printf(" %lu:%lx/%lu", (unsigned long)frames[stacks[s].frame].module,
                   (unsigned long)frames[stacks[s].frame].address,
                   (unsigned long)frames[stacks[s].frame].flavour);
        printf("\n");
    }
}

static void show_infos(void)
{
    for (size_t i = 1; i <= count; i++)
        printf("{\"process\": %lu, \"origin\": %lu, \"bytes\": %lu, \"allocs\": %lu, "
               "\"live\": %ld}\n",
               list[i].process, list[i].origin, list[i].bytes, list[i].allocs, (long)list[i].live);
}

int main(int argc, char **argv)
{
    struct trace_event ev;
    struct err err = {0};
    struct timespec a, b;
    int detail = argc > 2 ? argv[1][1] : 0;
    struct trace *t = trace_open(argv[argc - 1], &err);

    if (!t) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    list = reach(list, &room, 0, sizeof(*list));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    while (trace_next(t, &ev))
        take(&ev);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    printf(
        "{\"allocs\": %lu, \"frees\": %lu, \"bytes\": %lu, \"live_bytes\": %lu, \"unknown\": %lu, "
        "\"temporary\": %lu, \"samples\": %lu, \"sample_frees\": %lu, \"sampled_bytes\": %.0f, "
        "\"sampled_blocks\": %.0f, \"maps\": %lu, \"arenas\": %lu, \"unmaps\": %lu, \"processes\": %lu, "
        "\"threads\": %lu, \"marks\": %lu, \"losses\": %lu, \"peak\": %lu, \"events\": %lu, "
        "\"complete\": %s, \"cpu\": %.4f}\n",
        n.allocs, n.frees, n.bytes, n.bytes - n.freed_bytes, n.unknown, n.temporary, n.samples,
        n.sample_frees, n.sampled_bytes, n.sampled_blocks, n.maps, n.arenas, n.unmaps, n.processes,
        n.threads, n.marks, n.losses, n.peak, n.events,
        trace_health(t).complete && !trace_health(t).damaged ? "true" : "false",
        (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9);
    if (detail == 's')
        show_stacks();
    if (detail == 'i')
        show_infos();
    trace_close(t);
    return 0;
}
