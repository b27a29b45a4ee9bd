/* notes - see notes.h. Records are copies of what stands in the ring, of a length that was checked.
 */
#include "collect/notes.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "collect/op_records.h"
#include "collect/put.h"
#include "collect/pystack.h"
#include "collect/ringcopy.h"
#include "collect/said.h"
#include "collect/spaces.h"
#include "collect/typed_name.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These pass from a ring into the trace as they are. */
static bool take_stack(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct stackmap_told told = {.number = (uint32_t)(first >> 32),
                                 .from = (uint32_t)(w[1] >> 32),
                                 .without = (uint32_t)w[1],
                                 .frames = w + 2,
                                 .count = first >> 5 & 0x7ffffff};

    stackmap_define(&a->stackmap, &r->process->stacks, a->store, &told);
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
    struct trace_process fields = {p->number, (uint32_t)w[2], w[1] >> 32, 0, 0, 0, 0};
    uint64_t text = w[3];
    const char *name;

    fields.born = fields.parent ? TRACE_BORN_FORKED : TRACE_BORN_EXECED;
    free(p->file);
    p->file = memory_zeroed(text + 1);
    memcpy(p->file, w + 5, text);
    p->first_ns = r->tick;
    p->renumbered = w[1] >> 32 != p->pid;
    if (a->silent)
        return true;
    if (a->store) {
        name = absorb_name(p->file, text);
        fields.name = trace_store_string(a->store, name, strlen(name));
        fields.command = trace_store_string(a->store, p->file, strlen(p->file));
    }
    put_record(a, TRACE_PROCESS, r->tick, &fields, 7);
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
    r->labels = (struct contexts_labels){0};
    put_record(a, TRACE_THREAD, r->tick, &fields, 7);
    return true;
}

static uint64_t whole(double number)
{
    return number < 0x1p63 ? (uint64_t)number : UINT64_MAX;
}

#define CHANCES 512u /* that are at hand: programs ask for few sizes, and the mean rarely moves */

/* The chance that a block of so many bytes is sampled. */
static double chance_of(uint64_t bytes, uint64_t mean)
{
    static struct {
        uint64_t bytes, mean;
        double chance;
    } near[CHANCES];
    size_t at = (size_t)(hash_mix(mean, bytes) % CHANCES);

    if (!mean)
        return 1;
    if (near[at].bytes != bytes || near[at].mean != mean) {
        near[at].bytes = bytes;
        near[at].mean = mean;
        near[at].chance = -expm1(-((double)bytes + 1) / (double)mean);
    }
    return near[at].chance;
}

/* How many such blocks a sampled one stands for, in thousandths; 0: itself, as all of its size are
 * told. */
static uint64_t weight_of(uint64_t bytes, uint64_t mean)
{
    return mean ? whole(1000 / chance_of(bytes, mean) + 0.5) : 0;
}

static uint64_t context_of(struct absorb *a, struct absorb_ring *r)
{
    return contexts_of(&r->process->contexts, &r->labels, &a->contexts, a->store);
}

static bool take_sample(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_alloc fields = {r->thread,
                                 first >> 16,
                                 w[2],
                                 stackmap_stack(&r->process->stacks, (uint32_t)w[1]),
                                 first >> 5 & 0x7ff,
                                 weight_of(w[2], w[3]),
                                 context_of(a, r)};
    struct block *block;

    if (!(first >> 16))
        return false;
    block = blocks_add(&r->process->blocks, first >> 16);
    block->info = ABSORB_SAMPLED;
    block->thread = r->thread & 0xffff;
    block->order = (uint32_t)r->process->counts.samples;
    block->birth = (uint32_t)(w[2] < UINT32_MAX ? w[2] : UINT32_MAX);
    if (w[2] >= LARGE_BYTES)
        large_add(&r->process->large, &r->process->blocks,
                  (struct large_block){first >> 16, w[2], (uint32_t)fields.stack, block->order,
                                       block->birth});
    if (fields.origin == TRACE_BY_POOL)
        notes_pool(a, r, first >> 16);
    r->process->counts.samples++;
    r->process->counts.bytes += whole((double)w[2] / chance_of(w[2], w[3]));
    put_record(a, TRACE_ALLOC, r->tick, &fields, fields.context ? 7 : 6);
    return true;
}

void notes_unmap(struct absorb *a, struct absorb_ring *r)
{
    struct trace_munmap fields = {r->thread, r->unmapped, r->unmapped_bytes};

    if (r->unmapped) {
        mappings_unmap(&r->process->mappings, r->process->number, r->unmapped_ns, &fields);
        put_record(a, TRACE_MUNMAP, r->unmapped_ns, &fields, 3);
    }
    r->unmapped = 0;
}

static void put_mapping(struct absorb *a, struct absorb_ring *r, uint64_t time_ns,
                        const struct trace_mmap *fields)
{
    mappings_map(&r->process->mappings, r->process->number, time_ns, fields);
    put_record(a, TRACE_MMAP, time_ns, fields, fields->context ? 8 : fields->object ? 7 : 6);
}

void notes_pool(struct absorb *a, struct absorb_ring *r, uint64_t address)
{
    struct absorb_process *p = r->process;
    const struct mapping *m = mappings_find(&p->mappings, p->number, address);
    struct trace_mmap fields = {
        .thread = r->thread, .protection = 3, .mmap_kind = TRACE_MMAP_ARENA};

    if (!m || m->kind == TRACE_MMAP_ARENA || m->kind == TRACE_MMAP_FILE)
        return;
    fields.address = m->start;
    fields.bytes = m->end - m->start;
    fields.stack = m->stack;
    put_mapping(a, r, m->born_ns > r->tick ? m->born_ns : r->tick, &fields);
}

static bool take_map(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    unsigned int aux = (unsigned int)(first >> 5) & 0x7ff;
    struct trace_mmap fields = {
        r->thread,   first >> 16, w[1], stackmap_stack(&r->process->stacks, (uint32_t)(w[2] >> 32)),
        w[2] & 0xff, aux,         w[3], context_of(a, r)};

    if (aux >= RING_MAP_END || aux == TRACE_MMAP_BREAK)
        return false;
    r->process->counts.maps++;
    put_mapping(a, r, absorb_time(a, r, w[4]), &fields);
    return true;
}

static bool take_code(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t bytes = w[3] >> 32, file = w[3] & UINT32_MAX, before;

    if (file > bytes)
        return false;
    before = a->store ? trace_store_texts(a->store) : 0;
    stackmap_code(&r->process->stacks, a->store, (uint32_t)(first >> 32), w[2],
                  (const char *)(w + 4), file, bytes);
    r->process->text_bytes += a->store ? trace_store_texts(a->store) - before : 0;
    return true;
}

/* Whose lines are read, or why they are not: facts of the process. */
static bool take_python(struct absorb *a, struct absorb_ring *r, const uint64_t *w)
{
    static const char *const reasons[] = {
        [RING_PYTHON_UNKNOWN] = "unknown version",
        [RING_PYTHON_MISMATCH] = "the check against its C API failed",
        [RING_PYTHON_FREE] = "a free-threaded build, whose own blocks are not recorded",
        [RING_PYTHON_DEBUG] = "a debug build that links its objects"};
    uint64_t state = w[2] <= RING_PYTHON_DEBUG ? w[2] : RING_PYTHON_UNKNOWN;
    char text[96];
    int version = snprintf(text, sizeof(text), "%u.%u.%u", (unsigned int)(w[1] >> 24 & 255),
                           (unsigned int)(w[1] >> 16 & 255), (unsigned int)(w[1] >> 8 & 255));

    if (a->store)
        trace_store_fact(a->store, TRACE_OF_PROCESS, r->process->number, FACT_PYTHON, text,
                         (size_t)version);
    if (a->store && state != RING_PYTHON_READ) {
        snprintf(text + version, sizeof(text) - (size_t)version, " (not read: %s)", reasons[state]);
        trace_store_fact(a->store, TRACE_OF_PROCESS, r->process->number, FACT_PYTHON_UNREAD, text,
                         strlen(text));
    }
    r->process->stacks.typed = typed_name_of(&a->stackmap.typed, r->process->pid);
    if (w[2] == RING_PYTHON_READ)
        pystack_python(r->process, (uint32_t)w[1], w[3], w[4], w[5]);
    return true;
}

static bool take_cpu(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_cpu fields = {r->thread, stackmap_stack(&r->process->stacks, (uint32_t)w[1]), w[2],
                               first >> 5 & 0x7ff};

    r->cpu_stack = fields.stack;
    put_record(a, TRACE_CPU, r->tick, &fields, 4);
    return true;
}

static bool take_copy(struct absorb *a, struct absorb_ring *r, const uint64_t *w)
{
    struct trace_copy fields = {r->thread, stackmap_stack(&r->process->stacks, (uint32_t)w[1]),
                                w[2], weight_of(w[2], w[3])};

    put_record(a, TRACE_COPY, r->tick, &fields, 4);
    return true;
}

static bool take_unmap(const struct absorb *a, struct absorb_ring *r, const uint64_t *w,
                       uint64_t first)
{
    r->unmapped = first >> 16;
    r->unmapped_bytes = w[1];
    r->unmapped_ns = absorb_time(a, r, w[2]);
    return true;
}

/* It failed: forget it, or undo what was already said. */
static bool take_ununmap(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_mmap fields = {r->thread, first >> 16, w[1], 0, 0, TRACE_MMAP_MOVED, 0, 0};

    if (r->unmapped != fields.address)
        put_mapping(a, r, absorb_time(a, r, w[2]), &fields);
    r->unmapped = 0;
    return true;
}

static bool take_thread_end(struct absorb *a, struct absorb_ring *r)
{
    struct trace_thread_end fields = {r->thread};

    said_thread_end(a, r);
    r->stack_bytes = 0;
    put_record(a, TRACE_THREAD_END, r->tick, &fields, 1);
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
        return take_unmap(a, r, w, first);
    case RING_UNUNMAP:
        return take_ununmap(a, r, w, first);
    case RING_MARK:
        return said_take(a, r, w, first);
    case RING_CODE:
        return take_code(a, r, w, first);
    case RING_PYTHON:
        return take_python(a, r, w);
    case RING_CPU:
        return take_cpu(a, r, w, first);
    case RING_COPY:
        return take_copy(a, r, w);
    case RING_SPACE:
        return spaces_take(a, r, w, first);
    case RING_OP:
        return ops_take(a, r, first);
    case RING_OP_NAME:
        return ops_take_name(a, r, w, first);
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
