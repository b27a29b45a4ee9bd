/* unrecorded - see unrecorded.h. */
#include "model/unrecorded.h"

#include <inttypes.h>
#include <string.h>

#define PROCESSES_MOST (1u << 20)
#define REASON_MOST 1024 /* bytes of one */

static size_t place_of(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    size_t length = ev->tail_bytes < REASON_MOST ? ev->tail_bytes : REASON_MOST;
    const char *text;

    for (size_t i = 0; i < c->reason_count; i++)
        if (c->reasons[i].length == length && memcmp(c->reasons[i].text, ev->tail, length) == 0)
            return i;
    if (c->reason_count == UNRECORDED_REASONS_MOST)
        return UNRECORDED_REASONS_MOST - 1;
    text = c->reason_count == UNRECORDED_REASONS_MOST - 1 ? "other reasons"
                                                          : names_keep(n, ev->tail, length);
    c->reasons[c->reason_count].text = text ? text : "no reason given";
    c->reasons[c->reason_count].length = strlen(c->reasons[c->reason_count].text);
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
    if (has_key(n, ev, FACT_UNRECORDED))
        count(c, n, ev);
}

void unrecorded_python(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    if (has_key(n, ev, FACT_PYTHON_UNREAD))
        count(c, n, ev);
}

void unrecorded_unseen(struct unrecorded *c, struct names *n, const struct trace_event *ev)
{
    uint64_t count = ev->loss.count < PROCESSES_MOST ? ev->loss.count : PROCESSES_MOST;

    c->reasons[place_of(c, n, ev)].count += count;
    c->count += count;
    c->unseen += count;
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
    const char *unseen = "";

    if (!c->count)
        return NULL;
    if (c->unseen && c->unseen == c->count)
        unseen = ", too short to be seen";
    else if (c->unseen)
        unseen = arena_printf(a, ", %" PRIu64 " of them too short to be seen", c->unseen);
    return arena_printf(a, "%" PRIu64 " process%s could not be recorded%s: %s", c->count,
                        c->count == 1 ? "" : "es", unseen, reasons(c, a));
}

const char *unrecorded_python_line(const struct unrecorded *c, struct arena *a)
{
    if (!c->count)
        return NULL;
    return arena_printf(a,
                        "Python's lines are not read in %" PRIu64
                        " process%s; what it did counts as native code: %s",
                        c->count, c->count == 1 ? "" : "es", reasons(c, a));
}
