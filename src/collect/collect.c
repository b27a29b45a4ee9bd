/* collect - see collect.h.
 *
 * The rings of one process are read in the order of their ticks: always the one that is furthest
 * behind, up to where the next begins. A ring is not read beyond the tick at the pass's start, as
 * another thread may still be writing in that tick.
 */
#include "watch/collect.h"

#include "base/memory.h"
#include "watch/blocked.h"
#include "watch/members.h"
#include "watch/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADED_US 1000 /* the order of what threads do is known to a tick: a short one */
#define TICK_US 4000
#define SAMPLED_US 20000 /* samples carry their own time: no tick is needed */
#define HURRIED_US 500   /* it is not worth to sleep for less */
#define LIVENESS_NS 5000000u
#define FLUSH_NS 1000000000u
#define SAMPLES_PER_SECOND 300u /* of allocations of a process: under 1 MB of trace per minute */
#define WAITS_NS 15000000u      /* between two looks at why threads wait */

struct collect *collect_create(const struct collect_options *options, struct trace_store *store,
                               struct err *err)
{
    struct collect *c = memory_zeroed(sizeof(*c));
    size_t name = strlen(RING_ENV "=");

    if (rings_create(&c->rings, options->mode, options->sample_mean ? options->sample_mean : 524288,
                     options->depth ? options->depth : 256, options->origin_ns, err) < 0) {
        free(c);
        return NULL;
    }
    c->rings.control->sample_rate = options->sample_mean ? 0 : SAMPLES_PER_SECOND;
    c->rings.control->cpu_ns = options->cpu_ns ? options->cpu_ns : 10000000;
    c->rings.control->wants = options->wants;
    c->last = &c->members;
    c->absorb.store = store;
    memcpy(c->environment, RING_ENV "=", name);
    rings_path(&c->rings, c->environment + name, sizeof(c->environment) - name);
    return c;
}

void collect_numbered_by(struct collect *c,
                         uint64_t (*number)(void *context, int pid, const char *file,
                                            const char *name),
                         void *context)
{
    c->number = number;
    c->context = context;
    c->absorb.silent = number != NULL;
}

const char *collect_environment(const struct collect *c)
{
    return c->environment;
}

void collect_mode(struct collect *c, enum ring_mode mode)
{
    atomic_store(&c->rings.control->mode, mode);
}

bool collect_has_heap(const struct collect *c)
{
    return (atomic_load(&c->rings.control->mode) & ~RING_PAUSED) != RING_NO_HEAP;
}

static void put_mark(struct collect *c, enum trace_mark_sort sort, const char *name, uint64_t at)
{
    struct trace_mark fields = {0, sort, 0, 0};

    if (!c->absorb.store)
        return;
    fields.name = trace_store_string(c->absorb.store, name, strlen(name));
    trace_store_put(c->absorb.store, TRACE_MARK, at, (const uint64_t *)&fields, 4, NULL, 0);
}

void collect_pause(struct collect *c, bool paused)
{
    uint32_t was = atomic_load(&c->rings.control->mode);

    if (was == RING_OFF || !(was & RING_PAUSED) == !paused)
        return;
    if (paused)
        put_mark(c, TRACE_MARK_PAUSE, "pause", rings_tick(&c->rings));
    atomic_store(&c->rings.control->mode, was ^ RING_PAUSED);
    if (!paused)
        put_mark(c, TRACE_MARK_RESUME, "resume", rings_tick(&c->rings));
}

uint64_t collect_snapshot(struct collect *c, const char *name)
{
    /* A new tick begins: what happened before has an earlier time, what comes has a later one. */
    uint64_t at = (rings_tick(&c->rings) - 1) / 1000 * 1000;

    put_mark(c, TRACE_MARK_SNAPSHOT, name, at);
    return at;
}

const char *collect_ring(const struct collect *c)
{
    return c->environment + strlen(RING_ENV "=");
}

void collect_each(const struct collect *c, void (*visit)(void *context, int pid), void *context)
{
    for (const struct member *m = c->members; m; m = m->next)
        if (!m->ended && !m->gone)
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

/* Reading */

static bool has_words(const struct absorb_ring *r)
{
    return atomic_load_explicit((_Atomic uint64_t *)&r->words[r->at % RING_WORDS],
                                memory_order_acquire) != 0;
}

static uint64_t read_ring(struct collect *c, uint32_t slot, uint64_t until)
{
    struct absorb_ring *r = c->states[slot];
    uint64_t words, all = 0;

    do {
        words = absorb_ring(&c->absorb, r, until);
        atomic_store_explicit(&c->rings.slots[slot].tail, r->at, memory_order_release);
        all += words;
    } while (words >= RING_WORDS / 4 && all < RING_WORDS);
    return all;
}

/* The least tick of what is still to be read; UINT64_MAX: nothing is. */
static uint64_t next_tick(const struct collect *c, const struct member *m)
{
    uint64_t least = UINT64_MAX;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        const struct absorb_ring *r = c->states[m->slots[i]];

        if (!r->broken && r->tick < least && has_words(r))
            least = r->tick;
    }
    return least;
}

/* Read one tick of those rings of the process whose thread has shown itself, or has not; words. */
static uint64_t read_tick(struct collect *c, const struct member *m, uint64_t tick, bool shown)
{
    uint64_t words = 0, got;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        struct absorb_ring *r = c->states[m->slots[i]];

        if (r->broken || !r->thread == shown || r->tick > tick || !has_words(r))
            continue;
        got = read_ring(c, m->slots[i], tick);
        r->broken = !got; /* scribbled over by the program: nothing after it can be believed */
        words += got;
    }
    return words;
}

/* New threads come last in a tick, after the stack that started them.
 * A program that writes as fast as we read, without a TICK, must not keep us: no more is read at once
 * than what its rings could hold when we began.
 */
static uint64_t read_member(struct collect *c, struct member *m, uint64_t last)
{
    uint64_t tick, words = 0, most = (uint64_t)m->slot_count * RING_WORDS;

    while (words < most && (tick = next_tick(c, m)) <= last && tick != UINT64_MAX) {
        words += read_tick(c, m, tick, true);
        words += read_tick(c, m, tick, false);
        if (next_tick(c, m) > tick)
            absorb_tick_end(&c->absorb, c->states[m->slots[0]]);
    }
    return words;
}

/* Ends */

/* m NULL: of no single process. */
static void put_loss(struct collect *c, const struct member *m, enum trace_lost what,
                     uint64_t count)
{
    static const char *const reasons[] = {
        [TRACE_LOST_FULL] = "allocations while a buffer was full",
        [TRACE_LOST_NESTED] = "allocations of a signal handler that interrupted an allocation",
        [TRACE_LOST_SLOTS] = "threads that found no buffer free",
        [TRACE_LOST_BROKEN] = "buffers that the program has overwritten, from there on",
        [TRACE_LOST_TORN] = "stacks without their Python lines, which were just changing",
    };
    struct trace_loss fields = {m ? m->process.number : 0, what, count, 0};

    if (c->absorb.store && count)
        trace_store_put(c->absorb.store, TRACE_LOSS, m ? m->process.last_ns : c->looked_ns,
                        (const uint64_t *)&fields, 3, reasons[what], strlen(reasons[what]));
}

static void release_slots(struct collect *c, struct member *m)
{
    struct absorb_counts *n = &m->process.counts;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        uint32_t slot = m->slots[i];
        struct ring_slot *s = &c->rings.slots[slot];

        n->lost += atomic_load(&s->lost);
        n->nested += atomic_load(&s->nested);
        n->torn += atomic_load(&s->torn);
        n->broken += c->states[slot]->broken;
        if (c->states[slot]->tick > m->process.last_ns)
            m->process.last_ns = c->states[slot]->tick;
        notes_unmap(&c->absorb, c->states[slot]); /* its last record may be one */
        blocked_end(&c->absorb, c->states[slot], c->looked_ns);
        rings_release(&c->rings, slot, c->states[slot]->at, has_words(c->states[slot]));
        regions_free(&c->states[slot]->regions);
        free(c->states[slot]);
        c->states[slot] = NULL;
    }
    free(m->slots);
    m->slots = NULL;
    m->slot_count = 0;
    put_loss(c, m, TRACE_LOST_FULL, n->lost);
    put_loss(c, m, TRACE_LOST_NESTED, n->nested);
    put_loss(c, m, TRACE_LOST_BROKEN, n->broken);
    put_loss(c, m, TRACE_LOST_TORN, n->torn);
}

static void add_counts(struct absorb_counts *t, const struct absorb_counts *n)
{
    t->allocs += n->allocs;
    t->frees += n->frees;
    t->bytes += n->bytes;
    t->unknown_frees += n->unknown_frees;
    t->samples += n->samples;
    t->maps += n->maps;
    t->stacks += n->stacks;
    t->nested += n->nested;
    t->torn += n->torn;
    t->lost += n->lost;
    t->broken += n->broken;
    t->live_bytes += n->live_bytes;
    t->live_blocks += n->live_blocks;
    t->peak_bytes += n->peak_bytes;
}

static void end_member(struct collect *c, struct member *m, bool outlived)
{
    struct trace_process_end fields = {m->process.number,
                                       outlived ? TRACE_END_OUTLIVED : TRACE_END_UNKNOWN, 0};

    read_member(c, m, UINT64_MAX);
    release_slots(c, m);
    absorb_process_free(&c->absorb, &m->process);
    add_counts(&c->absorb.totals, &m->process.counts);
    if (c->absorb.store && !c->absorb.silent)
        trace_store_put(c->absorb.store, TRACE_PROCESS_END, m->process.last_ns,
                        (const uint64_t *)&fields, 2, NULL, 0);
    if (m->pidfd >= 0)
        close(m->pidfd);
    m->ended = true;
    c->alive--;
}

/* What a child that has gone took over from its parent was told before this tick. */
static void look_who_lives(struct collect *c)
{
    struct member *m, **link;
    uint64_t before;

    for (m = c->members; m; m = m->next)
        m->gone = !m->ended && (members_gone(m) || members_replaced(m));
    members_look(c); /* it may have claimed more before it went */
    before = atomic_load(&c->rings.control->tick);
    rings_tick(&c->rings);
    for (link = &c->members; (m = *link);) {
        if (m->gone && !m->ended)
            end_member(c, m, false);
        else if (!m->ended && m->forked_from)
            read_member(c, m, before);
        if (m->spent && !m->forked_from) {
            *link = m->next;
            members_drop(c, m);
            continue;
        }
        m->spent = m->ended;
        link = &m->next;
    }
    c->last = link;
}

static void look_why_they_wait(struct collect *c, uint64_t now)
{
    if (!(c->rings.control->wants & RING_WANTS_WAITS) || now - c->waits_ns < WAITS_NS)
        return;
    for (struct member *m = c->members; m; m = m->next) {
        for (unsigned int i = 0; !m->ended && i < m->slot_count; i++)
            blocked_look(&c->absorb, c->states[m->slots[i]], now);
    }
    c->waits_ns = now;
}

/* A killed tool shall leave all but the last second: the store is flushed as often by its owner. */
static void flush_members(struct collect *c, uint64_t now)
{
    if (now - c->flushed_ns < FLUSH_NS)
        return;
    for (struct member *m = c->members; m; m = m->next)
        absorb_flush(&c->absorb, &m->process);
    c->flushed_ns = now;
}

void collect_look(struct collect *c)
{
    members_look(c);
}

/* In how many us; the sooner, the faster the rings are filled: an eighth of one by then. */
static unsigned int next_pass(struct collect *c, uint64_t words, uint64_t now, bool threaded)
{
    bool exact = (atomic_load(&c->rings.control->mode) & ~RING_PAUSED) == RING_EXACT;
    uint64_t us = !exact ? SAMPLED_US : words && threaded ? THREADED_US : TICK_US;
    uint64_t since_us = (now - c->passed_ns) / 1000;

    c->passed_ns = now;
    if (words && since_us * (RING_WORDS / 8) / words < us)
        us = since_us * (RING_WORDS / 8) / words;
    return words > RING_WORDS / 4 || us < HURRIED_US ? 0 : (unsigned int)us;
}

unsigned int collect_pass(struct collect *c)
{
    uint64_t before = atomic_load(&c->rings.control->tick), words = 0;
    uint64_t now = rings_tick(&c->rings);
    bool threaded = false;

    members_look(c);
    for (struct member *m = c->members; m; m = m->next) {
        if (m->ended)
            continue;
        words += read_member(c, m, before);
        threaded |= m->process.threaded;
    }
    if (now - c->looked_ns > LIVENESS_NS) {
        look_who_lives(c);
        c->looked_ns = now;
    }
    look_why_they_wait(c, now);
    flush_members(c, now);
    return next_pass(c, words, now, threaded);
}

void collect_finish(struct collect *c, struct absorb_counts *totals)
{
    struct member *m, *next;

    collect_mode(c, RING_OFF);
    look_who_lives(c);
    for (m = c->members; m; m = m->next) {
        if (!m->ended)
            end_member(c, m, !members_gone(m));
    }
    for (m = c->members; m; m = next) {
        next = m->next;
        members_drop(c, m);
    }
    put_loss(c, NULL, TRACE_LOST_SLOTS, atomic_load(&c->rings.control->no_slot));
    *totals = c->absorb.totals;
    stackmap_free(&c->absorb.stackmap);
    intmap_free(&c->by_number);
    rings_close(&c->rings);
    free(c);
}
