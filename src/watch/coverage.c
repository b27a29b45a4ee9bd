/* coverage - see coverage.h. */
#include "watch/coverage.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NOT_LOADED                                                                                    \
    "the library was not loaded into it: what started it was not recorded itself, was only attached " \
    "to, or was confined"

struct coverage_process {
    const struct obstacle *obstacle; /* NULL: none could be seen */
    bool image, claimed;
};

static struct coverage_process *process_of(struct coverage *c, uint64_t number)
{
    size_t room = c->room ? c->room : 64;

    while (room <= number)
        room *= 2;
    if (room > c->room) {
        c->of = memory_resize(c->of, room * sizeof(*c->of));
        memset(c->of + c->room, 0, (room - c->room) * sizeof(*c->of));
        c->room = room;
    }
    return &c->of[number];
}

void coverage_born(struct coverage *c, uint64_t number, int pid, bool image)
{
    struct coverage_process *p = process_of(c, number);

    p->obstacle = obstacle_of(pid);
    p->image = image;
}

void coverage_claimed(struct coverage *c, uint64_t number, const char *file)
{
    struct coverage_process *p = process_of(c, number);

    p->claimed = true;
    p->obstacle = obstacle_in_file(file); /* what it was then, not what it has become by exec */
}

static const char *reason(const struct coverage_process *p)
{
    if (p->claimed)
        return p->obstacle && p->obstacle->partly ? p->obstacle->text : NULL;
    if (p->obstacle && !p->obstacle->partly)
        return p->obstacle->text;
    return p->image ? NOT_LOADED : NULL;
}

void coverage_end(struct coverage *c, struct trace_store *store, uint64_t processes)
{
    for (uint64_t i = 1; i <= processes && i < c->room; i++) {
        const char *text = reason(&c->of[i]);

        if (text)
            trace_store_fact(store, TRACE_OF_PROCESS, i, "unrecorded", text, strlen(text));
    }
    coverage_free(c);
}

void coverage_free(struct coverage *c)
{
    free(c->of);
    *c = (struct coverage){0};
}
