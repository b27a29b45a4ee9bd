/* exact_since - see exact_since.h. The limit of a process is told by marks: one that names a
 * library begins it, others change it for a time where there were too many such blocks.
 */
#include "model/exact_since.h"

#include "base/text.h"

#include <inttypes.h>

static struct exact_since *found_of(const struct exact_since_pass *p, uint64_t process)
{
    uint64_t value;

    return intmap_get(&p->found, process, &value) ? (struct exact_since *)(uintptr_t)value : NULL;
}

/* One without a name moves the limit that any sampled recording has. */
static void begin(struct exact_since_pass *p, struct names *n, uint64_t process,
                  const struct trace_event *ev)
{
    const char *library = names_get(n, ev->mark.name);
    struct exact_since *s;

    if (library && !*library)
        return;
    s = arena_alloc(n->arena, sizeof(*s));
    *s = (struct exact_since){.from = ev->mark.value,
                              .most = ev->mark.value,
                              .time_ns = ev->time_ns,
                              .library = library ? library : "a framework",
                              .processes = 1};
    intmap_put(&p->found, process, (uint64_t)(uintptr_t)s);
}

void exact_since_take(struct exact_since_pass *p, struct names *n, const struct trace_event *ev)
{
    struct exact_since *s;
    uint64_t process;

    if (ev->kind == TRACE_THREAD)
        intmap_put(&p->threads, ev->thread.thread, ev->thread.process);
    if (ev->kind != TRACE_MARK || ev->mark.mark_kind != TRACE_MARK_WHOLE || !ev->mark.value ||
        !intmap_get(&p->threads, ev->mark.thread, &process))
        return;
    s = found_of(p, process);
    if (!s && ev->mark.name)
        begin(p, n, process, ev);
    else if (s && ev->mark.value > s->most)
        s->most = ev->mark.value;
}

const struct exact_since *exact_since_of(const struct exact_since_pass *p, uint64_t process,
                                         struct exact_since *all)
{
    const struct exact_since *s = found_of(p, process);

    if (!s)
        return NULL;
    if (!all->from || s->time_ns < all->time_ns) {
        all->time_ns = s->time_ns;
        all->library = s->library;
    }
    all->from = s->from > all->from ? s->from : all->from;
    all->most = s->most > all->most ? s->most : all->most;
    all->processes++;
    return s;
}

void exact_since_free(struct exact_since_pass *p)
{
    intmap_free(&p->threads);
    intmap_free(&p->found);
}

const char *exact_since_said(const struct exact_since *s, bool some, struct arena *a)
{
    char from[TEXT_SIZE], most[TEXT_SIZE];
    const char *where = "", *at_times = "";

    if (some)
        where = arena_printf(a, " in %" PRIu64 " process%s", s->processes,
                             s->processes == 1 ? "" : "es");
    if (s->most > s->from)
        at_times = arena_printf(a, " (at times only of %s and more: there were too many)",
                                text_size(most, s->most));
    return arena_printf(a, "blocks of %s and more exactly%s since %s was loaded%s, others sampled",
                        text_size(from, s->from), where, s->library, at_times);
}
