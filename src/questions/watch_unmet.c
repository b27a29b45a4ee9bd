/* watch_unmet - see watch_unmet.h. */
#include "questions/watch_unmet.h"

#include "base/dotted.h"
#include "trace/format.h"

#include <string.h>

#define WHY "tidemark: --watch: " /* how a mark begins that says why (inject/torch_start.py) */

void watch_unmet_take(void *unmet, const struct trace_event *ev)
{
    struct watch_unmet *u = unmet;
    const char *name;

    if (ev->kind != TRACE_MARK || ev->mark.mark_kind != TRACE_MARK_MOMENT)
        return;
    name = names_get(u->names, ev->mark.name);
    if (name && strncmp(name, WHY, strlen(WHY)) == 0)
        u->why = name + strlen(WHY);
}

static uint32_t met(const struct watch_unmet *u, const struct watches *w, const char *asked)
{
    uint32_t found = 0;

    for (size_t i = 0; i < w->block_count; i++) {
        const char *name = names_get(u->names, w->blocks[i].name);

        found |= name ? dotted_fits(asked, name) : 0;
    }
    return found;
}

const char *watch_unmet_note(struct asked *q, const struct watch_unmet *u, const struct watches *w)
{
    const char *asked = names_find(q->recorded->run.names, TRACE_OF_RUN, FACT_WATCH), *list = NULL;
    uint32_t found = asked ? met(u, w, asked) : 0;

    for (unsigned int i = 0; asked && i < dotted_count(asked) && i < DOTTED_MOST; i++) {
        int length;
        const char *name = dotted_get(asked, i, &length);

        if (!(found >> i & 1))
            list = arena_printf(q->answer->arena, "%s%s%.*s", list ? list : "", list ? ", " : "",
                                length, name);
    }
    if (!list)
        return NULL;
    return arena_printf(q->answer->arena, "Asked for with --watch, but not found: %s; %s.", list,
                        u->why ? u->why : "no model of PyTorch was called");
}
