/* gauged - see gauged.h. */
#include "watch/gauged.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS 5000000000u
#define FIELDS(s) (const uint64_t *)&(s), sizeof(s) / sizeof(uint64_t)
#define PAIRS_MOST 8

struct pairs {
    struct trace_pair pair[PAIRS_MOST];
    size_t count;
};

static void add(struct pairs *p, enum trace_metric metric, uint64_t value)
{
    if (value != ABSENT)
        p->pair[p->count++] = (struct trace_pair){metric, value};
}

static void put(struct gauged *g, enum trace_subject subject, uint64_t id, const struct pairs *p)
{
    struct trace_sample s = {subject, id};

    if (g->store && p->count)
        trace_store_put(g->store, TRACE_SAMPLE, trace_store_now(g->store), FIELDS(s), p->pair,
                        p->count);
}

static void range(struct watch_range *r, uint64_t value)
{
    if (value != ABSENT)
        watch_range_add(r, value);
}

/* ---- what is told ---- */

static uint64_t string_of(struct gauged *g, const char *text)
{
    return text[0] ? trace_store_string(g->store, text, strlen(text)) : 0;
}

static void put_fact(struct gauged *g, uint64_t device, const char *key, const char *text)
{
    if (text[0])
        trace_store_fact(g->store, device ? TRACE_OF_DEVICE : TRACE_OF_RUN, device, key, text,
                         strlen(text));
}

/* Under which name programs allocate on it: CUDA's numbers are its own, Ascend's those of its
 * driver. */
static void record_space(struct gauged *g, const struct device *d)
{
    char space[sizeof(d->label)] = "";

    if (d->cuda >= 0)
        snprintf(space, sizeof(space), "cuda:%d", d->cuda);
    else if (strncmp(d->label, "ascend:", 7) == 0)
        snprintf(space, sizeof(space), "%s", d->label);
    put_fact(g, d->number, FACT_DEVICE_SPACE, space);
}

static void record_device(struct gauged *g, const struct device *d)
{
    struct trace_device record = {d->number, string_of(g, d->vendor), string_of(g, d->told.name),
                                  string_of(g, d->told.id)};

    trace_store_put(g->store, TRACE_DEVICE, 0, FIELDS(record), NULL, 0);
    put_fact(g, d->number, FACT_DEVICE_LABEL, d->label);
    put_fact(g, d->number, FACT_DEVICE_BUS, d->told.bus);
    put_fact(g, d->number, FACT_DEVICE_WAY, d->told.way);
    put_fact(g, d->number, FACT_DEVICE_NOTE, d->told.note);
    record_space(g, d);
}

/* Devices are numbered from 1 in the order in which they are found. */
static void found(void *context, const struct device *d)
{
    struct watch_device w = {.vendor = d->vendor,
                             .cuda = d->cuda,
                             .hidden = d->cuda == DEVICE_CUDA_HIDDEN,
                             .named = d->named,
                             .total = ABSENT};
    struct gauged *g = context;

    snprintf(w.label, sizeof(w.label), "%s", d->label);
    memcpy(w.name, d->told.name, sizeof(w.name));
    memcpy(w.id, d->told.id, sizeof(w.id));
    memcpy(w.bus, d->told.bus, sizeof(w.bus));
    memcpy(w.way, d->told.way, sizeof(w.way));
    memcpy(w.note, d->told.note, sizeof(w.note));
    memory_fit(g->list, g->room, g->count + 1);
    g->list[g->count++] = w;
    if (g->store)
        record_device(g, d);
}

static void read_device(void *context, const struct device *d, const struct wire_reading *r)
{
    struct gauged *g = context;
    struct watch_device *w = &g->list[d->number - 1];
    struct pairs p = {.count = 0};

    g->read = true;
    if (r->total != ABSENT)
        w->total = r->total;
    range(&w->used, r->used);
    range(&w->reserved, r->reserved);
    range(&w->busy, r->busy);
    range(&w->ours, r->ours);
    if (r->used != ABSENT && r->ours != ABSENT)
        range(&w->rest, r->used > r->ours ? r->used - r->ours : 0);
    add(&p, METRIC_DEVICE_USED, r->used);
    add(&p, METRIC_DEVICE_TOTAL, r->total);
    add(&p, METRIC_DEVICE_BUSY, r->busy);
    add(&p, METRIC_DEVICE_RESERVED, r->reserved);
    add(&p, METRIC_DEVICE_OURS, r->ours);
    put(g, TRACE_OF_DEVICE, d->number, &p);
}

static struct watch_device_use *use_of(struct gauged *g, size_t device,
                                       const struct watch_process *p)
{
    uint64_t key = (uint64_t)device << 32 | (uint32_t)p->pid, at;
    struct watch_device_use u = {.device = device, .pid = p->pid, .shared = ABSENT};

    if (!intmap_get(&g->use_of, key, &at)) {
        at = g->use_count;
        memory_fit(g->uses, g->use_room, g->use_count + 1);
        g->uses[g->use_count++] = u;
        intmap_put(&g->use_of, key, at);
    }
    memcpy(g->uses[at].name, p->name, sizeof(g->uses[at].name)); /* as it is called by now */
    return &g->uses[at];
}

static void read_use(void *context, const struct device *d, const struct wire_use *u)
{
    struct gauged *g = context;
    struct pairs p = {.count = 0};
    struct watch_device_use *w;
    uint64_t index;

    if (!intmap_get(&g->tree->by_pid, (uint64_t)u->pid, &index))
        return;
    w = use_of(g, d->number - 1, &g->tree->all[index]);
    range(&w->used, u->used);
    range(&w->busy, u->busy);
    if (u->shared != ABSENT && (w->shared == ABSENT || u->shared > w->shared))
        w->shared = u->shared;
    add(&p, METRIC_DEVICE_USED, u->used);
    add(&p, METRIC_DEVICE_BUSY, u->busy);
    add(&p, METRIC_DEVICE_SHARED, u->shared);
    put(g, TRACE_OF_DEVICE_USE, (uint64_t)d->number << 32 | (uint32_t)g->tree->all[index].process,
        &p);
}

/* ---- the run ---- */

static bool is_helper(const void *gauged, int pid)
{
    return devices_has(((const struct gauged *)gauged)->devices, pid);
}

void gauged_prepare(struct gauged *g, const struct device_choice *choice, struct tree *tree,
                    struct trace_store *store)
{
    g->choice = choice;
    g->tree = tree;
    g->store = store;
    tree->is_helper = is_helper;
    tree->helpers = g;
}

void gauged_begin(struct gauged *g)
{
    const struct devices_sink sink = {g, found, read_device, read_use};
    int unused[DEVICE_KIND_COUNT];

    if (!g->choice || g->begun)
        return;
    g->begun = true;
    g->devices = devices_begin(g->choice, &sink, clock_ns(CLOCK_MONOTONIC));
    g->tree->newborn += (uint64_t)devices_descriptors(g->devices, unused); /* not the command's */
}

void gauged_wait(struct gauged *g, int woken)
{
    if (!g->choice || !device_choice_asked(g->choice))
        return;
    gauged_begin(g);
    devices_wait(g->devices, PATIENCE_NS, woken);
}

int gauged_descriptors(const struct gauged *g, struct pollfd *out)
{
    int sockets[DEVICE_KIND_COUNT], count = devices_descriptors(g->devices, sockets);

    for (int i = 0; i < count; i++)
        out[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    return count;
}

void gauged_hear(struct gauged *g, uint64_t now_ns)
{
    devices_hear(g->devices, now_ns);
}

void gauged_tick(struct gauged *g)
{
    size_t count = 0;

    if (!g->devices)
        return;
    memory_fit(g->pids, g->pid_room, (size_t)g->tree->live_count + 1);
    for (int i = 0; i < g->tree->live_count; i++)
        if (!g->tree->live[i].zombie)
            g->pids[count++] = g->tree->live[i].proc.pid;
    devices_hear(g->devices, clock_ns(CLOCK_MONOTONIC));
    devices_ask(g->devices, g->pids, count, clock_ns(CLOCK_MONOTONIC));
}

bool gauged_ended(struct gauged *g, int pid)
{
    return devices_ended(g->devices, pid);
}

/* ---- the end ---- */

/* All in one line. */
static void record_missing(struct gauged *g)
{
    char text[2048] = "";
    const char *note;
    size_t used = 0;

    for (size_t i = 0; (note = devices_note(g->devices, i)) && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 i ? "; " : "Not read: ", note);
    put_fact(g, 0, FACT_DEVICES_MISSING, text);
}

void gauged_stop(struct gauged *g, uint64_t now_ns)
{
    devices_hear(g->devices, now_ns);
    devices_stop(g->devices, now_ns);
    if (g->store)
        record_missing(g);
}

static void *keep(struct arena *a, const void *from, size_t bytes)
{
    return bytes ? memcpy(arena_alloc(a, bytes), from, bytes) : NULL;
}

void gauged_result(const struct gauged *g, struct watch_result *r, struct arena *arena)
{
    const char *note, **notes;
    size_t count = 0;

    while (devices_note(g->devices, count))
        count++;
    notes = arena_alloc(arena, (count + 1) * sizeof(*notes));
    for (size_t i = 0; i < count && (note = devices_note(g->devices, i)); i++)
        notes[i] = arena_strndup(arena, note, strlen(note));
    r->device_notes = notes;
    r->device_note_count = count;
    r->devices = keep(arena, g->list, g->count * sizeof(*g->list));
    r->device_count = g->count;
    r->device_uses = keep(arena, g->uses, g->use_count * sizeof(*g->uses));
    r->device_use_count = g->use_count;
    r->devices_asked = g->choice && device_choice_asked(g->choice);
    r->devices_read = g->read;
}

void gauged_free(struct gauged *g)
{
    devices_stop(g->devices, clock_ns(CLOCK_MONOTONIC)); /* where nothing was ever run */
    devices_free(g->devices);
    intmap_free(&g->use_of);
    free(g->list);
    free(g->uses);
    free(g->pids);
}
