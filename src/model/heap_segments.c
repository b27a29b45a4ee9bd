/* heap_segments - see heap_segments.h. */
#include "model/heap_segments.h"

#include "base/memory.h"

bool heap_edge_is_quiet(const struct heap_edge *e)
{
    return e->kind >= HEAP_EDGE_LOW;
}

/* ---- segments ---- */

void heap_segments_add(struct heap_segments *c, const struct heap_edge *e)
{
    memory_fit(c->list, c->room, c->count + 1);
    c->list[c->count++] = *e;
}

static void put_edge(struct heap_segments *c, struct heap_edge e, enum heap_edge_kind kind)
{
    struct heap_edge *last = c->count ? &c->list[c->count - 1] : NULL;

    e.kind = kind;
    if (last && last->after == e.after && (kind == HEAP_EDGE_HIGH || last->time_ns == e.time_ns))
        last->kind = kind > last->kind ? kind : last->kind;
    else
        heap_segments_add(c, &e);
}

static void rise(struct heap_level *to, const struct heap_level *from)
{
    if (from->any && (!to->any || from->edge.bytes > to->edge.bytes))
        *to = *from;
}

static void put_quiet(struct heap_segments *c, const struct heap_edge *e, enum heap_edge_kind kind)
{
    if (c->highest.any)
        put_edge(c, c->highest.edge, HEAP_EDGE_HIGH);
    put_edge(c, *e, kind);
    c->highest.any = false;
}

void heap_segments_level(struct heap_segments *c, const struct heap_edge *now)
{
    if (!c->low.any || now->bytes < c->low.edge.bytes) {
        rise(&c->before, &c->low);
        rise(&c->before, &c->after);
        c->after.any = false;
        c->low = (struct heap_level){true, *now};
    } else if (!c->after.any || now->bytes > c->after.edge.bytes) {
        c->after = (struct heap_level){true, *now};
    }
}

void heap_segments_end(struct heap_segments *c, const struct heap_edge *empty)
{
    rise(&c->highest, &c->before);
    if (c->low.any)
        put_quiet(c, &c->low.edge, HEAP_EDGE_LOW);
    else if (empty)
        put_quiet(c, empty, HEAP_EDGE_LOW);
    rise(&c->highest, &c->after);
    c->before.any = c->low.any = c->after.any = false;
}

void heap_segments_named(struct heap_segments *c, const struct heap_edge *now)
{
    heap_segments_end(c, NULL);
    put_quiet(c, now, HEAP_EDGE_NAMED);
}

/* ---- all of them ---- */

static int by_place(const void *left, const void *right)
{
    const struct heap_edge *a = left, *b = right;

    if (a->after != b->after)
        return a->after < b->after ? -1 : 1;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Two of one place are one, but for a quiet moment at another time: what was highest was earlier.
 */
static bool are_one(const struct heap_edge *last, const struct heap_edge *e)
{
    return last->after == e->after && (!heap_edge_is_quiet(e) || last->time_ns == e->time_ns);
}

static void join(struct heap_edge *last, const struct heap_edge *e)
{
    bool own = last->kind == HEAP_EDGE_OWN || e->kind == HEAP_EDGE_OWN;

    if (e->kind > last->kind && (heap_edge_is_quiet(e) || !own))
        last->kind = e->kind;
    last->time_ns = e->time_ns;
}

int heap_segments_settle(struct heap_edge *list, size_t count, struct heap_edge *to, int room)
{
    int n = 0;

    memory_sort(list, count, sizeof(*list), by_place);
    for (size_t i = 0; i < count && n < room; i++)
        if (n && are_one(&to[n - 1], &list[i]))
            join(&to[n - 1], &list[i]);
        else
            to[n++] = list[i];
    for (int i = 1; i < n; i++) /* as what has a name may come late */
        if (to[i].time_ns < to[i - 1].time_ns)
            to[i].time_ns = to[i - 1].time_ns;
    return n;
}
