/* unrecorded - see unrecorded.h. */
#include "analyze/unrecorded.h"

#include <inttypes.h>
#include <string.h>

#define PROCESSES_MOST (1u << 20)

static size_t place_of(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    const char *text;

    for (size_t i = 0; i < c->reason_count; i++)
        if (strlen(c->reasons[i].text) == ev->tail_bytes &&
            memcmp(c->reasons[i].text, ev->tail, ev->tail_bytes) == 0)
            return i;
    if (c->reason_count == UNRECORDED_REASONS_MOST)
        return UNRECORDED_REASONS_MOST - 1;
    text = c->reason_count == UNRECORDED_REASONS_MOST - 1 ? "other reasons"
                                                          : names_keep(n, ev->tail, ev->tail_bytes);
    c->reasons[c->reason_count].text = text ? text : "no reason given";
    return c->reason_count++;
}

void unrecorded_fact(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    const char *key = names_get(n, ev->fact.key);
    uint64_t known;
    size_t place;

    if (!key || strcmp(key, "unrecorded") != 0 || c->count == PROCESSES_MOST ||
        intmap_get(&c->processes, ev->fact.id, &known))
        return;
    place = place_of(c, n, ev);
    c->reasons[place].count++;
    c->count++;
    intmap_put(&c->processes, ev->fact.id, place);
}

const char *unrecorded_reason(const struct unrecorded *c, uint64_t process)
{
    uint64_t place;

    return intmap_get(&c->processes, process, &place) ? c->reasons[place].text : NULL;
}

const char *unrecorded_line(const struct unrecorded *c, struct arena *a)
{
    const char *line;

    if (!c->count)
        return NULL;
    line = arena_printf(a, "%" PRIu64 " process%s could not be recorded", c->count,
                        c->count == 1 ? "" : "es");
    for (size_t i = 0; i < c->reason_count; i++)
        line = arena_printf(a, "%s%s%s (%" PRIu64 ")", line, i ? ", " : ": ", c->reasons[i].text,
                            c->reasons[i].count);
    return line;
}
