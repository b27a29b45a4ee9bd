/* said - see said.h. */
#include "collect/said.h"

#include "base/dotted.h"
#include "collect/put.h"
#include "collect/ranked.h"
#include "collect/was_freed.h"

#include <inttypes.h>
#include <stdio.h>

static void begin_region(struct absorb *a, struct absorb_ring *r, uint64_t number, uint64_t name)
{
    struct trace_region fields = {r->thread, ++a->region_count, name, 0};

    fields.parent = regions_begin(&r->process->regions, &r->regions, fields.region, number);
    put_record(a, TRACE_REGION, r->tick, &fields, 4);
}

static void end_region(struct absorb *a, struct absorb_ring *r, uint64_t region)
{
    struct trace_region_end fields = {r->thread, region};

    if (region)
        put_record(a, TRACE_REGION_END, r->tick, &fields, 2);
}

static uint64_t profiled_name(struct absorb *a, struct absorb_process *p, uint64_t line,
                              const char *text, uint64_t file_bytes, uint64_t bytes)
{
    char name[RING_TEXT_MOST + 32];
    int length = snprintf(name, sizeof(name), "%.*s:%" PRIu64 ":%.*s", (int)file_bytes, text, line,
                          (int)(bytes - file_bytes), text + file_bytes);

    return absorb_string(a, p, name, (size_t)length);
}

/* What a mark of a ring is in the trace; begin, finish and label are records of their own. */
static uint64_t mark_kind(unsigned int kind)
{
    static const uint8_t kinds[] = {
        [RING_MARK_MOMENT] = TRACE_MARK_MOMENT,
        [RING_MARK_STEP] = TRACE_MARK_STEP,
        [RING_MARK_PROFILED] = TRACE_MARK_PROFILED,
        [RING_MARK_PAUSE] = TRACE_MARK_PAUSE,
        [RING_MARK_RESUME] = TRACE_MARK_RESUME,
        [RING_MARK_SNAPSHOT] = TRACE_MARK_SNAPSHOT,
        [RING_MARK_FINALIZING] = TRACE_MARK_FINALIZING,
        [RING_MARK_WHOLE] = TRACE_MARK_WHOLE,
        [RING_MARK_WINDOW] = TRACE_MARK_WINDOW,
        [RING_MARK_WINDOW_END] = TRACE_MARK_WINDOW_END,
    };

    return kind < sizeof(kinds) ? kinds[kind] : TRACE_MARK_MOMENT;
}

static void put_label(struct absorb *a, struct absorb_ring *r, uint64_t key, uint64_t value)
{
    struct trace_label fields = {r->thread, key, value};

    if (key)
        contexts_label(&r->labels, &r->process->contexts, key, value);
    else
        contexts_unlabel(&r->labels, &r->process->contexts);
    put_record(a, TRACE_LABEL, r->tick, &fields, 3);
}

static void put_step(struct absorb *a, struct absorb_ring *r, struct trace_mark *mark)
{
    put_record(a, TRACE_MARK, r->tick, mark, 5);
    contexts_step(&r->process->contexts, mark->step);
}

/* Blocks of an exact recording have no addresses in the trace: their infos stand for them. */
static void put_described(struct absorb *a, struct absorb_ring *r, uint64_t address, uint64_t what,
                          uint64_t name)
{
    const struct block *block = blocks_find(&r->process->blocks, address);
    bool known = block && block->info != ABSORB_SAMPLED;
    struct trace_described fields = {r->thread, address, what, name, known ? block->info : 0};

    absorb_flush(a, r->process); /* what came before it shall stand before it */
    put_record(a, TRACE_DESCRIBED, r->tick, &fields, 5);
}

static void put_mark(struct absorb *a, struct absorb_ring *r, unsigned int kind, uint64_t value,
                     const char *text, uint64_t first_part, uint64_t bytes, uint64_t step)
{
    uint64_t name = absorb_string(a, r->process, text, first_part);
    struct trace_mark mark = {r->thread, mark_kind(kind), name, value, step};

    switch (kind) {
    case RING_MARK_BEGIN:
        begin_region(a, r, value, name);
        break;
    case RING_MARK_FINISH:
        end_region(a, r, regions_end(&r->process->regions, &r->regions, value));
        break;
    case RING_MARK_LABEL:
        put_label(a, r, first_part || value ? name : 0,
                  value ? absorb_string(a, r->process, text + first_part, bytes - first_part) : 0);
        break;
    case RING_MARK_STEP:
        put_step(a, r, &mark);
        break;
    case RING_MARK_DESCRIBED:
        put_described(a, r, step, name,
                      absorb_string(a, r->process, text + first_part, bytes - first_part));
        break;
    case RING_MARK_HEIR:
        contexts_heir(&r->process->contexts, value >> 1, value & 1);
        break;
    case RING_MARK_PROFILED:
        mark.name = profiled_name(a, r->process, value, text, first_part, bytes);
        mark.value = 0;
        put_record(a, TRACE_MARK, r->tick, &mark, 4);
        break;
    case RING_MARK_FINALIZING:
        absorb_flush(a, r->process); /* what came before it shall stand before it */
        put_record(a, TRACE_MARK, r->tick, &mark, 4);
        break;
    default:
        put_record(a, TRACE_MARK, r->tick, &mark, 4);
    }
}

static void note_framework(struct absorb_counts *c, uint64_t from, const char *text, uint64_t bytes)
{
    if (c->tensors_from || !bytes)
        return;
    c->tensors_from = from;
    snprintf(c->framework, sizeof(c->framework), "%.*s", (int)bytes, text);
}

static bool is_gap(unsigned int kind)
{
    return kind == RING_MARK_PAUSE || kind == RING_MARK_RESUME || kind == RING_MARK_WINDOW ||
           kind == RING_MARK_WINDOW_END;
}

static void note_said(struct absorb_counts *c, unsigned int kind, uint64_t step)
{
    if (kind == RING_MARK_WINDOW)
        c->windows++;
    c->snapshots += kind == RING_MARK_SNAPSHOT;
    if (kind == RING_MARK_STEP && step > c->steps)
        c->steps = step;
}

static bool take_access(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_access fields = {r->thread, first >> 16, w[1] >> 4, w[1] & 15, 0};

    if (!a->store)
        return true;
    if (w[2] >> 32)
        fields.name = absorb_string(a, r->process, (const char *)(w + 3), w[2] >> 32);
    put_record(a, TRACE_ACCESS, r->tick, &fields, 5);
    return true;
}

/* A name that ends with a NUL is needed for it. */
static void note_watched(struct absorb *a, const char *text, uint64_t bytes)
{
    char name[RING_WATCH_NAME];

    snprintf(name, sizeof(name), "%.*s", (int)(bytes < sizeof(name) ? bytes : sizeof(name)), text);
    a->totals.watched |= dotted_fits(a->watch, name);
}

static bool take_watch(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_watch fields = {r->thread, first >> 16, w[1] & 15, 0, w[1] >> 4, 0};

    if (a->watch && *a->watch && fields.watch_kind == TRACE_WATCH_BEGAN)
        note_watched(a, (const char *)(w + 3), w[2] >> 32);
    if (!a->store)
        return true;
    if (w[2] >> 32)
        fields.name = absorb_string(a, r->process, (const char *)(w + 3), w[2] >> 32);
    if (fields.watch_kind == TRACE_WATCH_CHANGED) {
        fields.stack = stackmap_stack(&r->process->stacks, (uint32_t)fields.bytes);
        fields.bytes = 0;
    } else if (fields.watch_kind == TRACE_WATCH_WRITTEN ||
               fields.watch_kind == TRACE_WATCH_COMMAND) {
        fields.stack = stackmap_stack(&r->process->stacks, (uint32_t)fields.bytes);
        fields.bytes >>= 32;
    }
    put_record(a, TRACE_WATCH, r->tick, &fields, 6);
    if (fields.watch_kind == TRACE_WATCH_BEGAN)
        was_freed_ask(a, r, fields.address, w[1] >> 4);
    return true;
}

static bool take_reach(struct absorb_ring *r, const uint64_t *where, uint64_t bytes)
{
    if (bytes != 2 * sizeof(*where))
        return false;
    r->process->reach = (struct absorb_reach){true, r->slot, r->tid, r->tick, where[0], where[1]};
    return true;
}

static bool take_started(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct trace_started fields = {r->thread, first >> 16,
                                   stackmap_stack(&r->process->stacks, (uint32_t)w[1])};

    if (!r->process->renumbered && fields.stack)
        put_record(a, TRACE_STARTED, r->tick, &fields, 3);
    return true;
}

bool said_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t bytes = w[2] >> 32, part = w[2] & UINT32_MAX;

    if (part > bytes)
        return false;
    if ((first >> 5 & 0x7ff) == RING_MARK_REACH)
        return take_reach(r, w + 3, bytes);
    if ((first >> 5 & 0x7ff) == RING_MARK_WHOLE) {
        note_framework(&a->totals, w[1], (const char *)(w + 3), bytes);
        was_freed_limit(a, r->process, w[1], bytes);
    }
    note_said(&a->totals, (unsigned int)(first >> 5) & 0x7ff, first >> 16);
    r->process->gaps |= is_gap((unsigned int)(first >> 5) & 0x7ff);
    if ((first >> 5 & 0x7ff) == RING_MARK_ACCESS)
        return take_access(a, r, w, first);
    if ((first >> 5 & 0x7ff) == RING_MARK_WATCH)
        return take_watch(a, r, w, first);
    if ((first >> 5 & 0x7ff) == RING_MARK_STARTED)
        return take_started(a, r, w, first);
    if ((first >> 5 & 0x7ff) == RING_MARK_RANK)
        return ranked_take(a, r->process, w[1], (const char *)(w + 3), bytes);
    if (a->store)
        put_mark(a, r, (unsigned int)(first >> 5) & 0x7ff, w[1], (const char *)(w + 3), part, bytes,
                 first >> 16);
    return true;
}

void said_thread_end(struct absorb *a, struct absorb_ring *r)
{
    uint64_t region;

    while ((region = regions_left(&r->regions)))
        end_region(a, r, region);
}
