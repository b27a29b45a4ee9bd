/* covered - see covered.h. A process is one from its fork to its end, whatever it runs by exec(2):
 * it was recorded where each of its programs was that could be.
 */
#include "model/covered.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define HEAD_RECORDED 1
#define HEAD_MISSED 2

_Static_assert(TABLE_MISSING_MOST == UNRECORDED_REASONS_MOST, "every reason has its place");

/* The first incarnation of each process, by place; a parent comes before its children. */
static size_t head_of(const struct run *r, const size_t *heads, size_t i)
{
    const struct run_process *p = r->processes[i], *parent = p->parent;

    if (p->born != TRACE_BORN_EXECED || !parent || parent->pid != p->pid)
        return i;
    return heads[parent->place];
}

static void count(const struct run *r, struct table_coverage *c)
{
    size_t *heads = arena_alloc(r->names->arena, (r->process_count + 1) * sizeof(*heads));
    unsigned char *seen = arena_alloc(r->names->arena, r->process_count + 1);

    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *p = r->processes[i];

        heads[i] = head_of(r, heads, i);
        seen[heads[i]] |= (unsigned char)((p->recorded ? HEAD_RECORDED : 0) |
                                          (p->unrecorded ? HEAD_MISSED : 0));
    }
    for (size_t i = 0; i < r->process_count; i++) {
        if (heads[i] != i)
            continue;
        c->processes++;
        c->recorded += seen[i] == HEAD_RECORDED;
        c->partly += seen[i] == (HEAD_RECORDED | HEAD_MISSED);
        c->silent += seen[i] == 0;
    }
}

const char *covered_whole(const struct run *r)
{
    char from[TEXT_SIZE], most[TEXT_SIZE];

    if (!r->whole_from && r->since.from)
        return exact_since_said(&r->since, r->process_count > 1, r->names->arena);
    if (!r->whole_from)
        return NULL;
    text_size(from, r->whole_from);
    if (r->whole_most <= r->whole_from)
        return arena_printf(r->names->arena, "blocks of %s and more exactly, smaller ones sampled",
                            from);
    return arena_printf(r->names->arena,
                        "blocks of %s and more exactly (at times only of %s and more: there were "
                        "too many), smaller ones sampled",
                        from, text_size(most, r->whole_most));
}

static const char *how(const struct run *r)
{
    const char *asked = names_find(r->names, TRACE_OF_RUN, FACT_RECORDED);

    if (r->of_space)
        return "exactly";
    if (r->whole_from || r->since.from)
        return covered_whole(r);
    if (r->exact && r->sampled)
        return "exactly and sampled";
    if (r->exact || r->sampled)
        return r->exact ? "exactly" : "sampled";
    if (asked && strcmp(asked, "no") == 0)
        return "CPU time alone";
    return asked && strcmp(asked, "exact") == 0 ? "exactly" : "sampled";
}

/* CPU time is always sampled, whatever allocations are. */
static const char *how_all(const struct run *r, const char *allocations)
{
    if (((r->whole_from || r->since.from) && !r->of_space) || r->exact == r->sampled ||
        !names_find(r->names, TRACE_OF_RUN, FACT_CPU))
        return allocations;
    return r->sampled ? "allocations and CPU time sampled"
                      : "allocations exactly, CPU time sampled";
}

/* That nothing was lost is said where it is proved: every program that was started is accounted
 * for, and none of the losses that are counted has happened.
 */
static const char *verdict(const struct run *r, const struct table_coverage *c)
{
    const char *untold = names_find(r->names, TRACE_OF_RUN, FACT_PROGRAMS_UNTOLD);
    const char *imported = names_find(r->names, TRACE_OF_RUN, FACT_IMPORTED);

    if (r->health)
        return "the first line says what is missing";
    if (imported)
        return arena_printf(r->names->arena, "imported from %s, which tells no more", imported);
    if (untold)
        return arena_printf(r->names->arena,
                            "no loss was counted; whether programs were started unseen is not "
                            "known: %s",
                            untold);
    return c->accounted && c->reached >= c->started
             ? r->torn ? "nothing else was lost" : "nothing was lost"
             : "no loss was counted; whether programs were started unseen is not known";
}

const char *covered_since(const struct run *r)
{
    if (!names_find(r->names, TRACE_OF_RUN, FACT_ATTACHED))
        return NULL;
    return "the attach; nothing from before it is counted";
}

/* Where blocks have stacks, if that is not everywhere: ", ..." or nothing. */
static const char *in_windows(const struct run *r)
{
    const char *asked = names_find(r->names, TRACE_OF_RUN, FACT_WINDOWS);

    if (!asked)
        return "";
    if (strcmp(asked, "deferred") == 0)
        return r->windows ? ", with stacks only between tidemark.start() and stop()"
                          : ", without any stacks, as tidemark.start() was never called";
    return arena_printf(r->names->arena,
                        r->windows ? ", with stacks only in steps %s"
                                   : ", without any stacks, as none of the steps %s was reached",
                        asked);
}

static const char *line_of(const struct run *r, const struct table_coverage *c)
{
    struct arena *a = r->names->arena;
    const char *line = arena_printf(a, "recorded: %" PRIu64 " of %" PRIu64 " process%s, %s%s%s%s",
                                    c->recorded, c->processes, c->processes == 1 ? "" : "es",
                                    how_all(r, c->how), in_windows(r), lacking_but(&r->lacking, a),
                                    covered_since(r) ? ", since the attach" : "");

    if (c->partly)
        line = arena_printf(a, "%s; %" PRIu64 " more in part", line, c->partly);
    if (c->silent)
        line = arena_printf(
            a, "%s; %" PRIu64 " left no record, as happens when one ends or execs at once", line,
            c->silent);
    if (r->unrecorded.unseen)
        line = arena_printf(a, "%s; %" PRIu64 " more program%s too short to be seen", line,
                            r->unrecorded.unseen, r->unrecorded.unseen == 1 ? "" : "s");
    if (r->torn)
        line = arena_printf(a,
                            "%s; %" PRIu64
                            " stack%s without %s Python lines, which were changing at that moment",
                            line, r->torn, r->torn == 1 ? "" : "s", r->torn == 1 ? "its" : "their");
    if (c->late) /* no allocation is lost by that, and what processes used is in the next look */
        line = arena_printf(a, "%s; %" PRIu64 " sample%s of the processes came too late", line,
                            c->late, c->late == 1 ? "" : "s");
    return arena_printf(a, "%s; %s", line, verdict(r, c));
}

const struct table_coverage *covered(const struct run *r)
{
    struct table_coverage *c;

    if (!names_find(r->names, TRACE_OF_RUN, FACT_RECORDED) && !r->exact && !r->sampled)
        return NULL;
    c = arena_alloc(r->names->arena, sizeof(*c));
    count(r, c);
    c->how = how(r);
    for (size_t i = 0; i < r->unrecorded.reason_count; i++)
        c->missing[i] = (struct table_missing){r->unrecorded.reasons[i].text,
                                               r->unrecorded.reasons[i].count};
    c->missing_count = (int)r->unrecorded.reason_count;
    c->losses = r->loss_count;
    c->pauses = r->pauses;
    c->late = r->late;
    c->whole_from = r->whole_from;
    c->since = (struct table_exact_since){r->since.from, r->since.time_ns, r->since.processes,
                                          r->since.library};
    c->lost_events = r->lacking.events;
    c->lost_parts = r->lacking.parts;
    c->at_least = r->lacking.more;
    c->accounted = names_number(r->names, TRACE_OF_RUN, FACT_PROGRAMS_STARTED, &c->started) &&
                   names_number(r->names, TRACE_OF_RUN, FACT_PROGRAMS_REACHED, &c->reached);
    c->line = line_of(r, c);
    return c;
}
