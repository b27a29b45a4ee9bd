/* uses - see uses.h. */
#include "model/uses.h"

#include "base/memory.h"
#include "model/allowed.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define USES_MOST ((size_t)1 << 24)
#define REGIONS_MOST 4096 /* that are open at one time */

struct use_region {
    uint64_t thread, region, name;
    struct use_point from;
    uint32_t uses; /* 1 + place of the last one that ends with it; 0: none */
    size_t born;   /* how many blocks there were when it began */
};

/* ---- the blocks that live, by address ---- */

static void follow(void *context, uint32_t at, bool died)
{
    struct uses *u = context;
    const struct tensor *x = &u->tensors->list[at];
    struct span span = {x->address, x->address + (x->bytes ? x->bytes : 1), x->place, at};

    if (!span.start || span.end < span.start || x->sample)
        return;
    if (died)
        spans_remove(&u->live, span);
    else
        spans_add(&u->live, span);
}

/* ---- where a process stands ---- */

static struct use_point point_of(struct uses *u, uint32_t place, uint64_t time_ns)
{
    const struct heap_replay *r = u->tensors->heap->replay;

    return (struct use_point){tensors_now(u->tensors, place, time_ns), r->of[place - 1].events};
}

static uint32_t place_of_thread(const struct uses *u, uint64_t thread)
{
    struct heap *h = u->tensors->heap;
    struct heap_process *p = heap_process_of_thread(h, thread);

    return p ? heap_place_of(h, p) : 0;
}

/* ---- regions ---- */

static void begin_region(struct uses *u, const struct trace_event *ev)
{
    uint32_t place = place_of_thread(u, ev->region.thread);

    if (!place || u->region_count == REGIONS_MOST)
        return;
    memory_fit(u->regions, u->region_room, u->region_count + 1);
    u->regions[u->region_count++] = (struct use_region){
        ev->region.thread, ev->region.region, ev->region.name, point_of(u, place, ev->time_ns), 0,
        u->tensors->count};
}

/* Operators tell of their arguments and results, not of what they have for themselves. */
static void note_inner(struct uses *u, const struct use_region *r, uint32_t place)
{
    for (size_t i = r->born; i < u->tensors->count; i++)
        if (u->tensors->list[i].place == place && u->tensors->list[i].died_ns != UINT64_MAX) {
            memory_fit_zeroed(u->of, u->of_room, i + 1);
            u->of[i].inner = true;
        }
}

static void end_region(struct uses *u, const struct trace_event *ev)
{
    uint32_t place = place_of_thread(u, ev->region_end.thread);
    size_t i = u->region_count;
    struct use_region *r;

    while (i && u->regions[i - 1].region != ev->region_end.region)
        i--;
    if (!i)
        return;
    r = &u->regions[i - 1];
    for (uint32_t at = r->uses; at && place; at = u->list[at - 1].open)
        u->list[at - 1].to = point_of(u, place, ev->time_ns);
    if (r->uses)
        note_inner(u, r, place);
    for (; i < u->region_count; i++)
        u->regions[i - 1] = u->regions[i];
    u->region_count--;
}

/* The innermost of the thread that is called so; without a name the innermost. NULL: there is none.
 */
static struct use_region *region_of(struct uses *u, uint64_t thread, uint64_t name)
{
    for (size_t i = u->region_count; i-- > 0;)
        if (u->regions[i].thread == thread && (!name || u->regions[i].name == name))
            return &u->regions[i];
    return NULL;
}

/* ---- accesses ---- */

/* Is it to memory besides the host's own? */
static bool is_spaced(const struct trace_event *ev)
{
    return ev->present >= 6 && ev->access.space;
}

static void add_use(struct uses *u, const struct trace_access *a, uint32_t tensor,
                    struct use_point now)
{
    struct use_region *region = region_of(u, a->thread, a->name);
    struct use x = {now,
                    now,
                    a->name,
                    0,
                    0,
                    a->access_kind & TRACE_ACCESS_READ,
                    a->access_kind & TRACE_ACCESS_WRITE};
    struct use_of *of;

    if (u->count >= USES_MOST ||
        u->count >= ALLOWED_THINGS(u->tensors->heap->frames->names->file_bytes)) {
        u->left_out++;
        return;
    }
    memory_fit_zeroed(u->of, u->of_room, (size_t)tensor + 1);
    of = &u->of[tensor];
    if (a->access_kind & TRACE_ACCESS_SINCE && of->last)
        x.from = u->list[of->last - 1].to;
    if (region) {
        x.from = region->from;
        x.name = region->name;
        x.open = region->uses;
        region->uses = (uint32_t)u->count + 1;
    }
    memory_fit(u->list, u->room, u->count + 1);
    u->list[u->count++] = x;
    *(of->last ? &u->list[of->last - 1].next : &of->first) = (uint32_t)u->count;
    of->last = (uint32_t)u->count;
}

/* Which block it is to, by an address within it. On a device that may be a handle, which has no
 * inside. False: none that is known.
 */
static bool find_block(const struct uses *u, const struct trace_event *ev, uint32_t place,
                       uint32_t *tensor)
{
    const struct trace_access *a = &ev->access;
    const struct tensor *exact = is_spaced(ev) ? tensors_at(u->tensors, place, a->address) : NULL;
    const struct span *known = is_spaced(ev) ? NULL : spans_find(&u->live, place, a->address);

    if (known)
        *tensor = known->block;
    else if (exact)
        *tensor = (uint32_t)(exact - u->tensors->list);
    return known || exact;
}

static void take_access(struct uses *u, const struct trace_event *ev, uint32_t place)
{
    uint32_t tensor;

    u->told++;
    if (find_block(u, ev, place, &tensor))
        add_use(u, &ev->access, tensor, point_of(u, place, ev->time_ns));
    else
        u->missed++;
}

static struct use_window *open_window(const struct uses *u, uint32_t place)
{
    for (size_t i = u->window_count; i-- > 0;)
        if (u->windows[i].place == place && u->windows[i].to.time_ns == UINT64_MAX)
            return &u->windows[i];
    return NULL;
}

static void take_window(struct uses *u, const struct trace_event *ev, uint32_t place)
{
    struct use_window *open = open_window(u, place);
    struct use_point now = point_of(u, place, ev->time_ns);

    if (ev->access.access_kind & TRACE_ACCESS_SOME && open)
        open->to = now;
    if (!(ev->access.access_kind & TRACE_ACCESS_ALL) || open || u->window_count == USES_MOST)
        return;
    memory_fit(u->windows, u->window_room, u->window_count + 1);
    u->windows[u->window_count++] = (struct use_window){
        place, is_spaced(ev), now, {UINT64_MAX, UINT64_MAX}};
}

void uses_take(void *uses, const struct trace_event *ev)
{
    struct uses *u = uses;
    uint32_t place;

    if (ev->kind == TRACE_REGION)
        begin_region(u, ev);
    else if (ev->kind == TRACE_REGION_END)
        end_region(u, ev);
    if (ev->kind != TRACE_ACCESS || !(place = place_of_thread(u, ev->access.thread)))
        return;
    if (ev->access.access_kind & (TRACE_ACCESS_ALL | TRACE_ACCESS_SOME))
        take_window(u, ev, place);
    else if (ev->access.access_kind)
        take_access(u, ev, place);
}

/* ---- the whole ---- */

void uses_want(struct uses *u, struct tensors *t)
{
    *u = (struct uses){.tensors = t};
    t->told = follow;
    t->context = u;
}

const struct use *uses_first(const struct uses *u, size_t tensor)
{
    return tensor < u->of_room && u->of[tensor].first ? &u->list[u->of[tensor].first - 1] : NULL;
}

const struct use *uses_next(const struct uses *u, const struct use *x)
{
    return x->next ? &u->list[x->next - 1] : NULL;
}

bool uses_inner(const struct uses *u, size_t tensor)
{
    return tensor < u->of_room && u->of[tensor].inner;
}

void uses_free(struct uses *u)
{
    spans_free(&u->live);
    free(u->list);
    free(u->of);
    free(u->windows);
    free(u->regions);
    *u = (struct uses){0};
}
