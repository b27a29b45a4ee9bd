/* unrecorded - see unrecorded.h. */
#include "analyze/unrecorded.h"

#include <inttypes.h>
#include <string.h>

#define PROCESSES_MOST (1u << 20)

#define NOT_READ " (not read: "

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

static void count(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    uint64_t known;
    size_t place;

    if (c->count == PROCESSES_MOST || intmap_get(&c->processes, ev->fact.id, &known))
        return;
    place = place_of(c, n, ev);
    c->reasons[place].count++;
    c->count++;
    intmap_put(&c->processes, ev->fact.id, place);
}

static bool has_key(struct names *n, const struct trace_event *ev, const char *wanted)
{
    const char *key = names_get(n, ev->fact.key);

    return key && strcmp(key, wanted) == 0;
}

void unrecorded_fact(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    if (has_key(n, ev, "unrecorded"))
        count(c, n, ev);
}

void unrecorded_python(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    if (has_key(n, ev, "python") && memmem(ev->tail, ev->tail_bytes, NOT_READ, strlen(NOT_READ)))
        count(c, n, ev);
}

const char *unrecorded_reason(const struct unrecorded *c, uint64_t process)
{
    uint64_t place;

    return intmap_get(&c->processes, process, &place) ? c->reasons[place].text : NULL;
}

/* "a reason (2), another (1)" */
static const char *reasons(const struct unrecorded *c, struct arena *a)
{
    const char *line = "";

    for (size_t i = 0; i < c->reason_count; i++)
        line = arena_printf(a, "%s%s%s (%" PRIu64 ")", line, i ? ", " : "", c->reasons[i].text,
                            c->reasons[i].count);
    return line;
}

const char *unrecorded_line(const struct unrecorded *c, struct arena *a)
{
    if (!c->count)
        return NULL;
    return arena_printf(a, "%" PRIu64 " process%s could not be recorded: %s", c->count,
                        c->count == 1 ? "" : "es", reasons(c, a));
}

const char *unrecorded_python_line(const struct unrecorded *c, struct arena *a)
{
    if (!c->count)
        return NULL;
    return arena_printf(a,
                        "Python's lines are not read in %" PRIu64 " process%s, what it did counts "
                        "as native code: %s",
                        c->count, c->count == 1 ? "" : "es", reasons(c, a));
}
