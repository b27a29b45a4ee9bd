/* covered - see covered.h. A process is one from its fork to its end, whatever it runs by exec(2):
 * it was recorded where each of its programs was that could be.
 */
#include "analyze/covered.h"

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
    size_t *heads = arena_alloc(r->names.arena, (r->process_count + 1) * sizeof(*heads));
    unsigned char *seen = arena_alloc(r->names.arena, r->process_count + 1);

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

static const char *how(const struct run *r)
{
    const char *asked = names_find(&r->names, TRACE_OF_RUN, "recorded");

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
    if (r->exact == r->sampled || !names_find(&r->names, TRACE_OF_RUN, "cpu"))
        return allocations;
    return r->sampled ? "allocations and CPU time sampled"
                      : "allocations exactly, CPU time sampled";
}

static const char *line_of(const struct run *r, const struct table_coverage *c)
{
    struct arena *a = r->names.arena;
    const char *line = arena_printf(a, "recorded: %" PRIu64 " of %" PRIu64 " process%s, %s",
                                    c->recorded, c->processes, c->processes == 1 ? "" : "es",
                                    how_all(r, c->how));

    if (c->partly)
        line = arena_printf(a, "%s; %" PRIu64 " more in part", line, c->partly);
    if (c->silent)
        line = arena_printf(a, "%s; %" PRIu64 " left no record, as one that ends or execs at once",
                            line, c->silent);
    return arena_printf(a, "%s; %s", line,
                        r->health ? "the first line says what is missing" : "nothing was lost");
}

const struct table_coverage *covered(const struct run *r)
{
    struct table_coverage *c;

    if (!names_find(&r->names, TRACE_OF_RUN, "recorded") && !r->exact && !r->sampled)
        return NULL;
    c = arena_alloc(r->names.arena, sizeof(*c));
    count(r, c);
    c->how = how(r);
    for (size_t i = 0; i < r->unrecorded.reason_count; i++)
        c->missing[i] = (struct table_missing){r->unrecorded.reasons[i].text,
                                               r->unrecorded.reasons[i].count};
    c->missing_count = (int)r->unrecorded.reason_count;
    c->losses = r->loss_count;
    c->pauses = r->pauses;
    c->line = line_of(r, c);
    return c;
}

void covered_answer(struct answer *a, const struct run *r)
{
    a->health = r->health;
    a->coverage = covered(r);
}
