/* watch_join - see watch_join.h. */
#include "model/watch_join.h"

#define WITHIN                                                                                     \
    64 /* rows before the last one that a write may belong to: of so many threads at once */

static const struct frames_name *name_of(const struct frames *f, uint64_t stack)
{
    const struct frames_name *n = f->frames[f->stacks[stack].frame].names;

    while (n && n->next)
        n = n->next; /* what is inlined there is of no interest */
    return n;
}

/* Texts are kept once each. */
static bool is_same_code(const struct frames *f, uint64_t a, uint64_t b)
{
    const struct frames_name *x, *y;

    if (a == b)
        return true;
    if (!a || !b || a > f->stack_count || b > f->stack_count ||
        f->stacks[a].parent != f->stacks[b].parent || f->stacks[a].cut || f->stacks[b].cut)
        return false;
    x = name_of(f, a);
    y = name_of(f, b);
    return x && y && x->function && x->function == y->function && x->line == y->line;
}

static struct watch_write *row_of(const struct watches *w, const struct frames *f, size_t count,
                                  const struct watch_write *x)
{
    size_t until = count > WITHIN ? count - WITHIN : 0;

    for (size_t i = count; i-- > until;)
        if (w->writes[i].thread == x->thread)
            return watches_goes_on(&w->writes[i], x) &&
                           is_same_code(f, w->writes[i].stack, x->stack)
                     ? &w->writes[i]
                     : NULL;
    return NULL;
}

void watch_join(struct watches *w, const struct frames *f)
{
    size_t count = 0;

    for (size_t i = 0; i < w->write_count; i++) {
        const struct watch_write x = w->writes[i];
        struct watch_write *to = row_of(w, f, count, &x);

        if (!to) {
            if (w->blocks[x.block].first_write == i)
                w->blocks[x.block].first_write = count;
            w->writes[count++] = x;
            continue;
        }
        watches_extend(to, &x);
    }
    w->write_count = count;
}
