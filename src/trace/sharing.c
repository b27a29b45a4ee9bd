/* sharing - see sharing.h. */
#include "trace/sharing.h"

#include "base/memory.h"

#include <stdlib.h>

static struct sharing_object *object_of(struct sharing *o, uint64_t number)
{
    uint64_t place;

    if (intmap_get(&o->places, number, &place))
        return &o->list[place];
    memory_fit(o->list, o->room, o->count + 1);
    o->list[o->count] = (struct sharing_object){0};
    intmap_put(&o->places, number, o->count);
    return &o->list[o->count++];
}

static bool is_object(const struct mapping *p)
{
    return p->kind == TRACE_MMAP_SHARED && p->object && !p->ended;
}

void sharing_link(struct sharing *o, struct mapping *p)
{
    struct sharing_object *of;

    if (!is_object(p))
        return;
    of = object_of(o, p->object);
    p->next = of->first;
    p->link = NULL;
    if (of->first)
        of->first->link = &p->next;
    of->first = p;
    of->counting += p->counts;
}

bool sharing_may_count(struct sharing *o, const struct mapping *p)
{
    return !is_object(p) || !object_of(o, p->object)->counting;
}

const struct mapping *sharing_unlink(struct sharing *o, const struct mapping *p)
{
    struct sharing_object *of;

    if (!is_object(p))
        return NULL;
    of = object_of(o, p->object);
    if (of->first == p)
        of->first = p->next;
    else
        *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    of->counting -= p->counts;
    if (of->counting || !of->first || !p->counts)
        return NULL;
    of->first->counts = true;
    of->counting = 1;
    return of->first;
}

void sharing_free(struct sharing *o)
{
    intmap_free(&o->places);
    free(o->list);
    *o = (struct sharing){0};
}
