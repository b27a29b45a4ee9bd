/* step_calls - see step_calls.h. */
#include "model/step_calls.h"

#include "model/step_lines.h"

struct calls {
    uint64_t first_line; /* of the optimizer's `step` that makes anything: once in each call */
    size_t begin;        /* the first birth in one */
    size_t within;       /* births in calls */
};

/* False: there is none, or calls of several threads or lines, which may lie in each other. */
static bool look(const struct step_birth *births, size_t count, struct calls *c)
{
    *c = (struct calls){.first_line = UINT64_MAX, .begin = count};
    for (size_t i = 0; i < count; i++) {
        uint64_t line = births[i].from->step_line;

        if (!line)
            continue;
        if (!c->within++)
            c->begin = i;
        if (births[i].line != births[c->begin].line || births[i].thread != births[c->begin].thread)
            return false;
        c->first_line = line < c->first_line ? line : c->first_line;
    }
    return c->within && c->within * 2 >= count - c->begin;
}

struct firsts { /* births of the first closure of each call but the first, in which it warms up */
    size_t calls, now, least, most;
};

static void count_first(struct firsts *f)
{
    if (f->calls > 1) {
        f->least = f->now < f->least ? f->now : f->least;
        f->most = f->now > f->most ? f->now : f->most;
    }
    f->now = 0;
}

/* When each call begins, and for each the last birth in it. */
static struct firsts list_calls(const struct step_birth *births, size_t count,
                                const struct calls *c, uint64_t *begins)
{
    struct firsts f = {.least = SIZE_MAX};
    uint64_t before = 0;

    for (size_t i = c->begin; i < count; i++) {
        uint64_t line = births[i].from->step_line;

        if (!line)
            continue;
        if (line == c->first_line && before != line)
            begins[f.calls++] = births[i].time_ns;
        if (line == c->first_line)
            f.now++;
        else if (before == c->first_line)
            count_first(&f);
        before = line;
    }
    if (f.now)
        count_first(&f);
    return f;
}

size_t step_calls_ends(const struct step_birth *births, size_t count, uint64_t *ends)
{
    struct calls c;
    struct firsts f;

    if (!look(births, count, &c))
        return 0;
    f = list_calls(births, count, &c, ends);
    if (f.calls < STEPS_LEAST || f.most != f.least)
        return 0;
    for (size_t i = 0; i + 1 < f.calls; i++) /* one ends where the next begins */
        ends[i] = ends[i + 1];
    ends[f.calls - 1] = step_lines_after(births[count - 1].time_ns, 0);
    return f.calls;
}
