/* collect - see collect.h. A ring is not read beyond the tick at the pass's start, as another
 * thread may still be writing in that tick.
 */
#include "collect/collect.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "collect/blocked.h"
#include "collect/giver.h"
#include "collect/identity.h"
#include "collect/member_end.h"
#include "collect/member_read.h"
#include "collect/members.h"
#include "collect/reach.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADED_US 1000 /* the order of what threads do is known to a tick: a short one */
#define TICK_US 4000
#define SAMPLED_US 20000 /* samples carry their own time: no tick is needed */
#define HURRIED_US 500   /* it is not worth sleeping for less */
#define LIVENESS_NS 5000000u
#define SAMPLES_PER_SECOND 300u   /* of allocations of a process: under 1 MB of trace per minute */
#define COMERS_MOST 64            /* at the door, before other things are seen to */
#define WHOLE_FROM 65536u         /* bytes: blocks of a process that are recorded each */
#define WHOLE_PER_SECOND 1000u    /* if there are no more than these */
#define WHOLE_ASKED 50000u        /* or, where a limit was asked for, these */
#define TENSORS_FROM 4096u        /* bytes: the same of one with a framework of deep learning, */
#define TENSORS_PER_SECOND 20000u /* several times what loops of training and of inference make */
#define WAITS_NS 15000000u        /* between two looks at why threads wait */

static void put_mark(struct collect *c, enum trace_mark_kind kind, const char *name, uint64_t at)
{
    struct trace_mark fields = {0, kind, 0, 0};

    if (!c->absorb.store)
        return;
    fields.name = trace_store_string(c->absorb.store, name, strlen(name));
    trace_store_put(c->absorb.store, TRACE_MARK, at, (const uint64_t *)&fields, 4, NULL, 0);
}

/* Before its first step a process is in that step. */
static bool begins_inside(const struct collect_options *o)
{
    for (uint32_t i = 0; i < o->window_count; i++)
        if (o->windows[i].first <= 1)
            return true;
    return !o->window_count && !o->deferred;
}

static void set_windows(struct collect *c, const struct collect_options *o)
{
    struct ring_control *control = c->rings.control;

    if (!o->window_count && !o->deferred)
        return;
    control->window_count = o->window_count;
    for (uint32_t i = 0; i < o->window_count; i++)
        control->windows[i] = o->windows[i];
    rings_window(&c->rings, begins_inside(o));
    if (!begins_inside(o))
        return;
    c->absorb.totals.windows++;
    put_mark(c, TRACE_MARK_WINDOW, "window", rings_tick(&c->rings));
}

static void set_watch(struct collect *c, const char *patterns)
{
    c->absorb.watch = patterns ? patterns : "";
    snprintf(c->rings.control->watch, RING_WATCH_BYTES, "%s", c->absorb.watch);
}

struct collect *collect_create(const struct collect_options *options, struct trace_store *store,
                               struct err *err)
{
    struct collect *c = memory_zeroed(sizeof(*c));
    size_t name = strlen(RING_ENV "=");

    struct rings_options how = {.mode = options->mode,
                                .depth = options->depth ? options->depth : 256,
                                .sample_mean = options->sample_mean ? options->sample_mean
                                                                    : COLLECT_SAMPLE_MEAN,
                                .origin_ns = options->origin_ns};

    if (rings_create(&c->rings, &how, err) < 0) {
        free(c);
        return NULL;
    }
    c->rings.control->sample_rate = options->sample_mean ? 0 : SAMPLES_PER_SECOND;
    c->rings.control->whole_from = options->whole_from ? options->whole_from : WHOLE_FROM;
    c->rings.control->whole_rate = options->whole_from ? WHOLE_ASKED : WHOLE_PER_SECOND;
    if (!options->whole_from && !options->sample_mean) {
        c->rings.control->framework_from = TENSORS_FROM;
        c->rings.control->framework_rate = TENSORS_PER_SECOND;
    }
    c->rings.control->cpu_ns = options->cpu_ns ? options->cpu_ns : 10000000;
    c->rings.control->wants = c->wants = options->wants;
    c->last = &c->members;
    c->door = giver_listen(RING_GIVEN);
    c->rings.control->secret = presented_open(&c->presented, giver_listen(RING_WHO));
    c->absorb.store = store;
    c->absorb.whole_from = c->rings.control->whole_from;
    memcpy(c->environment, RING_ENV "=", name);
    rings_path(&c->rings, c->environment + name, sizeof(c->environment) - name);
    set_windows(c, options);
    set_watch(c, options->watch);
    return c;
}

void collect_numbered_by(struct collect *c,
                         uint64_t (*number)(void *context, const struct claimant *who),
                         void *context)
{
    c->number = number;
    c->context = context;
    c->absorb.silent = number != NULL;
}

void collect_library(struct collect *c, const char *path)
{
    c->library = open(path, O_RDONLY | O_CLOEXEC);
    c->rings.control->library = c->library > 0 ? (uint32_t)c->library : 0;
}

const char *collect_environment(const struct collect *c)
{
    return c->environment;
}

void collect_mode(struct collect *c, enum ring_mode mode)
{
    rings_mode(&c->rings, mode);
}

void collect_launched(struct collect *c)
{
    c->launched++;
}

int collect_door(const struct collect *c)
{
    return c->door;
}

void collect_answer_door(struct collect *c)
{
    int pid, fd;

    for (int i = 0; i < COMERS_MOST && (pid = giver_accept(c->door, &fd)) > 0; i++) {
        if (members_may_ask(c, pid))
            descriptor_send(fd, c->rings.fd);
        close(fd);
    }
}

void collect_unmarked(struct collect *c)
{
    atomic_fetch_add(&c->rings.control->unmarked, 1);
}

bool collect_has_heap(const struct collect *c)
{
    return (c->rings.mode & RING_MODES) != RING_NO_HEAP;
}

void collect_pause(struct collect *c, bool paused)
{
    uint32_t was = c->rings.mode & RING_MODES;

    if (was == RING_OFF || rings_paused(&c->rings) == paused)
        return;
    if (paused)
        put_mark(c, TRACE_MARK_PAUSE, "pause", rings_tick(&c->rings));
    rings_mode(&c->rings, paused ? was | RING_PAUSED : was);
    if (!paused)
        put_mark(c, TRACE_MARK_RESUME, "resume", rings_tick(&c->rings));
}

uint64_t collect_snapshots(const struct collect *c)
{
    return c->absorb.totals.snapshots;
}

uint64_t collect_snapshot(struct collect *c, const char *name)
{
    /* A new tick begins: what happened before has an earlier time, what comes has a later one. */
    uint64_t at = (rings_tick(&c->rings) - 1) / 1000 * 1000;

    if (name)
        put_mark(c, TRACE_MARK_SNAPSHOT, name, at);
    return at;
}

/* What a child that has gone took over from its parent was told before this tick. */
static void look_who_lives(struct collect *c)
{
    struct member *m, **link;
    uint64_t before;

    presented_take(&c->presented);
    for (m = c->members; m; m = m->next)
        m->gone = !m->ended && (members_gone(m) || members_replaced(c, m));
    members_look(c); /* it may have claimed more before it went */
    before = c->rings.tick;
    c->absorb.now_ns = rings_tick(&c->rings);
    for (link = &c->members; (m = *link);) {
        if (m->gone && !m->ended)
            member_end(c, m, false);
        else if (!m->ended && m->forked_from)
            member_read(c, m, before);
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
    if (!(c->wants & RING_WANTS_WAITS) || now - c->waits_ns < WAITS_NS)
        return;
    ration_begin(&c->waits, now);
    for (struct member *m = c->members; m; m = m->next) {
        for (unsigned int i = 0; !m->ended && i < m->slot_count; i++) {
            struct absorb_ring *r = c->states[m->slots[i]];

            if (ration_takes(&c->waits) || blocked_is_due(r, now))
                blocked_look(&c->absorb, r, now);
        }
    }
    ration_end(&c->waits);
    c->waits_ns = now;
}

void collect_flush(struct collect *c)
{
    for (struct member *m = c->members; m; m = m->next)
        if (!m->ended)
            absorb_flush(&c->absorb, &m->process);
}

void collect_look(struct collect *c)
{
    members_look(c);
}

static bool is_exact(const struct collect *c)
{
    return (c->rings.mode & RING_MODES) == RING_EXACT;
}

/* In how many us; the sooner, the faster the rings are filled: an eighth of one by then. */
static unsigned int next_pass(struct collect *c, uint64_t words, uint64_t now, bool threaded)
{
    uint64_t us = !is_exact(c) ? SAMPLED_US : words && threaded ? THREADED_US : TICK_US;
    uint64_t since_us = (now - c->passed_ns) / 1000;

    c->passed_ns = now;
    if (words && since_us * (RING_WORDS / 8) / words < us)
        us = since_us * (RING_WORDS / 8) / words;
    return words > RING_WORDS / 4 || us < HURRIED_US ? 0 : (unsigned int)us;
}

/* The order of what happened in one tick is not known, nor how long a block lived in it. */
static void note_tick(struct collect *c, uint64_t words, uint64_t tick_ns)
{
    if (words && is_exact(c) && tick_ns > c->longest_tick_ns)
        c->longest_tick_ns = tick_ns;
}

static void put_longest_tick(const struct collect *c)
{
    char text[32];
    int bytes = snprintf(text, sizeof(text), "%" PRIu64, c->longest_tick_ns);

    if (c->absorb.store && c->longest_tick_ns)
        trace_store_fact(c->absorb.store, TRACE_OF_RUN, 0, FACT_LONGEST_TICK, text, (size_t)bytes);
}

unsigned int collect_pass(struct collect *c)
{
    uint64_t before = c->rings.tick, words = 0;
    uint64_t now = rings_tick(&c->rings);
    bool threaded = false;

    c->absorb.now_ns = now;
    members_look(c);
    for (struct member *m = c->members; m; m = m->next) {
        if (m->ended)
            continue;
        words += member_read(c, m, before);
        reach_look(c, m);
        threaded |= m->process.threaded;
    }
    if (now - c->looked_ns > LIVENESS_NS) {
        look_who_lives(c);
        c->looked_ns = now;
    }
    atomic_fetch_add(&c->rings.control->passes, 1);
    note_tick(c, words, now - before);
    look_why_they_wait(c, now);
    return next_pass(c, words, now, threaded);
}

/* Those that were claimed, but by nobody whom we have found. */
static void count_unread(void *context, uint32_t slot)
{
    struct collect *c = context;

    if (!c->states[slot] && (!c->rings.maps[slot] || c->rings.maps[slot][0]))
        c->unread++;
}

void collect_account(const struct collect *c, struct collect_account *out)
{
    const struct ring_control *control = c->rings.control;
    uint64_t bare = atomic_load(&control->came_unmarked), most = atomic_load(&control->unmarked);

    *out = (struct collect_account){
        .started = c->launched, .whole = c->launched > 0, .untold = bare > most};
    for (unsigned int i = 0; i < RING_START_END; i++) {
        out->prospects[i] = atomic_load(&control->started[i]);
        out->started += out->prospects[i];
    }
    out->came = atomic_load(&control->came) + (bare < most ? bare : most);
}

void collect_finish(struct collect *c, struct absorb_counts *totals)
{
    struct member *m, *next;
    uint64_t before = atomic_load(&c->rings.control->tick);

    note_tick(c, 1, rings_tick(&c->rings) - before);
    collect_mode(c, RING_OFF);
    look_who_lives(c);
    for (m = c->members; m; m = m->next) {
        if (!m->ended)
            member_end(c, m, !members_gone(m));
    }
    rings_claimed(&c->rings, count_unread, c);
    for (m = c->members; m; m = next) {
        next = m->next;
        members_drop(c, m);
    }
    member_loss(c, NULL, TRACE_LOST_UNREAD, c->unread);
    member_loss(c, NULL, TRACE_LOST_SLOTS, atomic_load(&c->rings.control->no_slot));
    put_longest_tick(c);
    *totals = c->absorb.totals;
    stackmap_free(&c->absorb.stackmap);
    intmap_free(&c->absorb.spaces.spaces);
    intmap_free(&c->absorb.spaces.buses);
    intmap_free(&c->by_number);
    intmap_free(&c->by_pid);
    intmap_free(&c->ends);
    presented_close(&c->presented);
    rings_close(&c->rings);
    if (c->library > 0)
        close(c->library);
    if (c->door >= 0)
        close(c->door);
    free(c);
}
