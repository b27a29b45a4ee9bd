/* space_lens - see space_lens.h. */
#include "model/space_lens.h"

#include <string.h>

void space_list_take(struct space_list *l, const struct names *n, const struct trace_event *ev)
{
    const char *name;

    if (ev->kind != TRACE_SPACE || l->count == SPACES_MOST || ev->space.space == SPACE_HOST)
        return;
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].number == ev->space.space)
            return;
    name = names_get(n, ev->space.name);
    l->list[l->count++] = (struct space_entry){ev->space.space, name ? name : "?",
                                               ev->space.space_kind < TRACE_SPACE_KINDS
                                                   ? (enum trace_space_kind)ev->space.space_kind
                                                   : TRACE_SPACE_DEVICE};
}

void space_list_read(struct space_list *l, struct trace *t, struct arena *a)
{
    struct names names = {.arena = a, .file_bytes = trace_size(t)};
    struct trace_event ev;

    trace_rewind(t, 0, 0);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_STRING)
            names_string(&names, &ev);
        space_list_take(l, &names, &ev);
    }
    trace_rewind(t, 0, UINT64_MAX);
    names_free(&names);
}

const struct space_entry *space_find(const struct space_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->list[i].name, name) == 0)
            return &l->list[i];
    return NULL;
}

/* Every one is recorded, so it stands for itself: weight 0. */
static void show_alloc(struct trace_event *ev)
{
    const struct trace_space_alloc from = ev->space_alloc;

    ev->kind = TRACE_ALLOC;
    ev->present = 7;
    ev->alloc = (struct trace_alloc){from.thread,  from.block, from.bytes,  from.stack,
                                     SPACE_ORIGIN, 0,          from.context};
    ev->fields[SPACE_ADDRESS_FIELD] = from.address;
}

static void show_free(struct trace_event *ev)
{
    const struct trace_space_free from = ev->space_free;

    ev->kind = TRACE_FREE;
    ev->present = ev->present >= 4 ? 4 : 3;
    ev->free = (struct trace_free){from.thread, from.block, SPACE_ORIGIN, from.later};
}

#define ACCESS_SPACE 5 /* the field of an ACCESS */

bool space_show(uint64_t space, struct trace_event *ev)
{
    if (ev->kind == TRACE_ACCESS)
        return (ev->present > ACCESS_SPACE ? ev->access.space : SPACE_HOST) == space;
    if (space == SPACE_HOST)
        return true;
    switch (ev->kind) {
    case TRACE_SPACE_ALLOC:
        if (ev->space_alloc.space == space)
            show_alloc(ev);
        return true;
    case TRACE_SPACE_FREE:
        if (ev->space_free.space == space)
            show_free(ev);
        return true;
    case TRACE_ALLOC:
    case TRACE_FREE:
    case TRACE_INFOS:
    case TRACE_INFO_CONTEXT:
    case TRACE_BATCH:
    case TRACE_MMAP:
    case TRACE_MUNMAP:
    case TRACE_RESIDENT:
    case TRACE_UNREACHED:
        return false;
    default:
        return true;
    }
}
