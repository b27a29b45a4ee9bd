/* health - one clause for each thing that is missing, the gravest first. */
#include "model/health.h"

#include "base/text.h"

#include <inttypes.h>

#define REASONS_MOST 3 /* of losses, in that line; the others are counted */

static const char *join(struct arena *a, const char *line, const char *clause)
{
    return line ? arena_printf(a, "%s; %s", line, clause) : clause;
}

static const char *damage(struct arena *a, const struct trace_health *h)
{
    char bytes[TEXT_SIZE];

    return arena_printf(a, "%" PRIu64 " damaged chunk%s (%s) stepped over", h->damaged,
                        h->damaged == 1 ? "" : "s", text_size(bytes, h->damaged_bytes));
}

/* "3 losses: the reason (12 times), ..." */
static const char *losses(const struct run *r)
{
    struct arena *a = r->names->arena;
    const char *line = arena_printf(a, "%" PRIu64 " loss%s recorded", r->loss_count,
                                    r->loss_count == 1 ? "" : "es");

    for (uint64_t i = 0; i < r->loss_count && i < REASONS_MOST; i++) {
        const struct run_loss *l = &r->losses[i];
        const char *reason = l->reason ? l->reason : "no reason given";

        line = arena_printf(a, "%s%s%s", line, i ? ", " : ": ", reason);
        if (l->has_count && l->count > 1)
            line = arena_printf(a, "%s (%" PRIu64 ")", line, l->count);
    }
    return r->loss_count > REASONS_MOST ? arena_printf(a, "%s, ...", line) : line;
}

static const char *pauses(const struct run *r)
{
    char time[TEXT_SIZE];

    text_duration(time, r->paused_ns);
    if (r->pauses == 1)
        return arena_printf(r->names->arena, "the recording was paused for %s", time);
    return arena_printf(r->names->arena,
                        "the recording was paused %" PRIu64 " times, for %s in all", r->pauses,
                        time);
}

const char *health_line(const struct run *r, struct trace_health h)
{
    struct arena *a = r->names->arena;
    const char *line = NULL;

    if (h.damaged)
        line = join(a, line, damage(a, &h));
    if (h.cut)
        line = join(a, line, "its last chunk is cut off");
    if (!h.complete)
        line = join(a, line, "it has no end: still being recorded, or the recorder was killed");
    if (r->left_out)
        line = join(a, line,
                    arena_printf(a,
                                 "%" PRIu64 " processes above the limit of this reader "
                                 "left out",
                                 r->left_out));
    if (r->loss_count)
        line = join(a, line, losses(r));
    if (r->pauses)
        line = join(a, line, pauses(r));
    if (r->unrecorded.count)
        line = join(a, line, unrecorded_line(&r->unrecorded, a));
    if (r->unread.count)
        line = join(a, line, unrecorded_python_line(&r->unread, a));
    return line ? arena_printf(a, "This trace is not whole: %s.", line) : NULL;
}
