/* notes - see notes.h. Records are copies of what stands in the ring, of a length that was checked. */
#include "watch/notes.h"

#include "base/memory.h"
#include "watch/pystack.h"
#include "watch/ringcopy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct absorb *a, enum trace_kind kind, uint64_t time_ns, const void *fields,
                size_t count)
{
    stackmap_flush(&a->stackmap, a->store);
    if (a->store)
        trace_store_put(a->store, kind, time_ns, fields, count, NULL, 0);
}

static bool take_stack(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t count = first >> 5 & 0x7ffffff;

    stackmap_define(&a->stackmap, &r->process->stacks, a->store, (uint32_t)(first >> 32), w + 1,
                    count);
    r->process->counts.stacks++;
    return true;
}

static bool take_module(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct stackmap_module m = {first >> 16, w[1], w[2], 0};
    uint64_t text = w[3] >> 32, id = w[3] & UINT32_MAX;
    const char *path = (const char *)(w + 8);

    if (id > 32)
        return false;
    if (text)
        stackmap_module(&a->stackmap, &r->process->stacks, a->store, &m, path, text,
                        (const unsigned char *)(w + 4), id);
    else
        stackmap_module(&a->stackmap, &r->process->stacks, a->store, &m, r->process->file,
                        strlen(r->process->file), (const unsigned char *)(w + 4), id);
    return true;
}

static bool take_process(struct absorb *a, struct absorb_ring *r, const uint64_t *w)
{
    struct absorb_process *p = r->process;
    struct trace_process fields = {p->number, w[2], w[1] >> 32, 0, 0, 0, 0};
    uint64_t text = w[3];
    const char *name;

    fields.born = w[2] ? TRACE_BORN_FORKED : TRACE_BORN_EXECED;
    free(p->file);
    p->file = memory_zeroed(text + 1);
    memcpy(p->file, w + 4, text);
    p->first_ns = r->tick;
    if (a->silent)
        return true;
    if (a->store) {
        name = absorb_name(p->file, text);
        fields.name = trace_store_string(a->store, name, strlen(name));
        fields.command = trace_store_string(a->store, p->file, strlen(p->file));
    }
    put(a, TRACE_PROCESS, r->tick, &fields, 7);
    return true;
}

static bool take_thread(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_thread fields = {++a->thread_count,
                                  r->process->number,
                                  first >> 16,
                                  0,
                                  w[1],
                                  w[2],
                                  stackmap_stack(&r->process->stacks, (uint32_t)w[3])};

    r->thread = (uint32_t)fields.thread;
    r->tid = (uint32_t)fields.tid;
    r->born_ns = r->tick;
    r->stack_low = w[1];
    r->stack_bytes = w[2];
    r->order = 0;
    put(a, TRACE_THREAD, r->tick, &fields, 7);
    return true;
}

static uint64_t whole(double number)
{
    return number < 0x1p63 ? (uint64_t)number : UINT64_MAX;
}

static double chance_of(uint64_t bytes, uint64_t mean)
{
    return -expm1(-((double)bytes + 1) / (mean ? (double)mean : 1));
}

/* How many such blocks a sampled one stands for, in thousandths. */
static uint64_t weight_of(uint64_t bytes, uint64_t mean)
{
    return whole(1000 / chance_of(bytes, mean) + 0.5);
}

static bool take_sample(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_alloc fields = {r->thread,
                                 first >> 16,
                                 w[2],
                                 stackmap_stack(&r->process->stacks, (uint32_t)w[1]),
                                 first >> 5 & 0x7ff,
                                 weight_of(w[2], w[3])};

    struct block *block;

    if (!(first >> 16))
        return false;
    block = blocks_add(&r->process->blocks, first >> 16);
    block->info = ABSORB_SAMPLED;
    block->thread = r->thread & 0xffff;
    r->process->counts.samples++;
    r->process->counts.bytes += whole((double)w[2] / chance_of(w[2], w[3]));
    put(a, TRACE_ALLOC, r->tick, &fields, 6);
    return true;
}

void notes_unmap(struct absorb *a, struct absorb_ring *r)
{
    struct trace_munmap fields = {r->thread, r->unmapped, r->unmapped_bytes};

    if (r->unmapped)
        put(a, TRACE_MUNMAP, r->unmapped_ns, &fields, 3);
    r->unmapped = 0;
}

static bool take_map(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    unsigned int aux = (unsigned int)(first >> 5) & 0x7ff;
    struct trace_mmap fields = {r->thread,
                                first >> 16,
                                w[1],
                                stackmap_stack(&r->process->stacks, (uint32_t)(w[2] >> 32)),
                                w[2] & 0xff,
                                aux == RING_MAP_ANONYMOUS ? TRACE_MMAP_ANONYMOUS
                                : aux == RING_MAP_FILE    ? TRACE_MMAP_FILE
                                : aux == RING_MAP_ARENA   ? TRACE_MMAP_ARENA
                                                          : TRACE_MMAP_MOVED};

    r->process->counts.maps++;
    put(a, TRACE_MMAP, r->tick, &fields, 6);
    return true;
}

static bool take_break(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_mmap fields = {r->thread, first >> 16,
                                0,         stackmap_stack(&r->process->stacks, (uint32_t)w[1]),
                                3,         TRACE_MMAP_BREAK};

    put(a, TRACE_MMAP, r->tick, &fields, 6);
    return true;
}

static void begin_region(struct absorb *a, struct absorb_ring *r, uint64_t number, uint64_t name)
{
    struct trace_region fields = {r->thread, ++a->region_count, name, 0};

    fields.parent = regions_begin(&r->process->regions, &r->regions, fields.region, number);
    put(a, TRACE_REGION, r->tick, &fields, 4);
}

static void end_region(struct absorb *a, struct absorb_ring *r, uint64_t region)
{
    struct trace_region_end fields = {r->thread, region};

    if (region)
        put(a, TRACE_REGION_END, r->tick, &fields, 2);
}

static uint64_t profiled_name(struct absorb *a, uint64_t line, const char *text,
                              uint64_t file_bytes, uint64_t bytes)
{
    char name[RING_TEXT_MOST + 32];
    int length = snprintf(name, sizeof(name), "%.*s:%" PRIu64 ":%.*s", (int)file_bytes, text, line,
                          (int)(bytes - file_bytes), text + file_bytes);

    return trace_store_string(a->store, name, (size_t)length);
}

static void put_mark(struct absorb *a, struct absorb_ring *r, unsigned int sort, uint64_t value,
                     const char *text, uint64_t first_part, uint64_t bytes)
{
    uint64_t name = trace_store_string(a->store, text, first_part);
    struct trace_mark mark = {r->thread, sort, name, value};
    struct trace_label label = {r->thread, name, 0};

    switch (sort) {
    case RING_MARK_BEGIN:
        begin_region(a, r, value, name);
        break;
    case RING_MARK_FINISH:
        end_region(a, r, regions_end(&r->process->regions, &r->regions, value));
        break;
    case RING_MARK_LABEL:
        if (value)
            label.value = trace_store_string(a->store, text + first_part, bytes - first_part);
        put(a, TRACE_LABEL, r->tick, &label, 3);
        break;
    case RING_MARK_PROFILED:
        mark = (struct trace_mark){r->thread, TRACE_MARK_PROFILED,
                                   profiled_name(a, value, text, first_part, bytes), 0};
        put(a, TRACE_MARK, r->tick, &mark, 4);
        break;
    case RING_MARK_PAUSE:
    case RING_MARK_RESUME:
    case RING_MARK_SNAPSHOT:
        mark.sort = sort - RING_MARK_PAUSE + TRACE_MARK_PAUSE;
        put(a, TRACE_MARK, r->tick, &mark, 4);
        break;
    default:
        put(a, TRACE_MARK, r->tick, &mark, 4);
    }
}

static bool take_mark(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t bytes = w[2] >> 32, part = w[2] & UINT32_MAX;

    if (part > bytes)
        return false;
    if (a->store)
        put_mark(a, r, (unsigned int)(first >> 5) & 0x7ff, w[1], (const char *)(w + 3), part,
                 bytes);
    return true;
}

static bool take_code(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t bytes = w[3] >> 32, file = w[3] & UINT32_MAX;

    if (file > bytes)
        return false;
    stackmap_code(&r->process->stacks, a->store, (uint32_t)(first >> 32), w[2],
                  (const char *)(w + 4), file, bytes);
    return true;
}

/* Whose lines are read, or why they are not: a fact of the process. */
static bool take_python(struct absorb *a, struct absorb_ring *r, const uint64_t *w)
{
    static const char *const states[] = {
        "", " (not read: unknown version)", " (not read: the check against its C API failed)",
        " (not read: a free-threaded build, whose own blocks are not recorded)",
        " (not read: a debug build that links its objects)"};
    char text[96];
    int bytes = snprintf(text, sizeof(text), "%u.%u.%u%s", (unsigned int)(w[1] >> 24 & 255),
                         (unsigned int)(w[1] >> 16 & 255), (unsigned int)(w[1] >> 8 & 255),
                         states[w[2] <= RING_PYTHON_DEBUG ? w[2] : RING_PYTHON_UNKNOWN]);

    if (a->store) {
        struct trace_fact fields = {TRACE_OF_PROCESS, r->process->number,
                                    trace_store_string(a->store, "python", 6)};

        trace_store_put(a->store, TRACE_FACT, 0, (const uint64_t *)&fields, 3, text, (size_t)bytes);
    }
    if (w[2] == RING_PYTHON_READ)
        pystack_python(r->process, (uint32_t)w[1], w[3], w[4], w[5]);
    return true;
}

static bool take_cpu(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_cpu fields = {r->thread, stackmap_stack(&r->process->stacks, (uint32_t)w[1]), w[2],
                               first >> 5 & 0x7ff};

    r->cpu_stack = fields.stack;
    put(a, TRACE_CPU, r->tick, &fields, 4);
    return true;
}

static bool take_copy(struct absorb *a, struct absorb_ring *r, const uint64_t *w)
{
    struct trace_copy fields = {r->thread, stackmap_stack(&r->process->stacks, (uint32_t)w[1]),
                                w[2], weight_of(w[2], w[3])};

    put(a, TRACE_COPY, r->tick, &fields, 4);
    return true;
}

static bool take_unmap(struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    r->unmapped = first >> 16;
    r->unmapped_bytes = w[1];
    r->unmapped_ns = r->tick;
    return true;
}

/* It failed: forget it, or undo what was already said. */
static bool take_ununmap(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_mmap fields = {r->thread, first >> 16, w[1], 0, 0, TRACE_MMAP_MOVED};

    if (r->unmapped != fields.address)
        put(a, TRACE_MMAP, r->tick, &fields, 6);
    r->unmapped = 0;
    return true;
}

static bool take_thread_end(struct absorb *a, struct absorb_ring *r)
{
    struct trace_thread_end fields = {r->thread};
    uint64_t region;

    while ((region = regions_left(&r->regions)))
        end_region(a, r, region);
    r->stack_bytes = 0;
    put(a, TRACE_THREAD_END, r->tick, &fields, 1);
    return true;
}

/* False: it contradicts itself. */
static bool take_note(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    if ((first & 31) != RING_UNUNMAP)
        notes_unmap(a, r);
    switch (first & 31) {
    case RING_STACK:
        return take_stack(a, r, w, first);
    case RING_MODULE:
        return take_module(a, r, w, first);
    case RING_PROCESS:
        return take_process(a, r, w);
    case RING_THREAD:
        return take_thread(a, r, w, first);
    case RING_THREAD_END:
        return take_thread_end(a, r);
    case RING_SAMPLE:
        return take_sample(a, r, w, first);
    case RING_MAP:
        return take_map(a, r, w, first);
    case RING_UNMAP:
        return take_unmap(r, w, first);
    case RING_UNUNMAP:
        return take_ununmap(a, r, w, first);
    case RING_BREAK:
        return take_break(a, r, w, first);
    case RING_MARK:
        return take_mark(a, r, w, first);
    case RING_CODE:
        return take_code(a, r, w, first);
    case RING_PYTHON:
        return take_python(a, r, w);
    case RING_CPU:
        return take_cpu(a, r, w, first);
    case RING_COPY:
        return take_copy(a, r, w);
    case RING_UNLOADED:
        stackmap_unloaded(&r->process->stacks);
        return true;
    default:
        return false;
    }
}

uint64_t notes_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first,
                    uint64_t left)
{
    uint64_t copy[RING_RECORD_MOST], words = ringcopy(copy, w, first, left);

    return words && take_note(a, r, copy, first) ? words : 0;
}
