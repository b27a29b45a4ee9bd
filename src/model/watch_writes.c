/* watch_writes - which writes to watched memory are one row: see watches.h. */
#include "base/memory.h"
#include "model/watches.h"

#define AT_ONCE_NS 100000u
#define ALIKE_WITHIN 64 /* rows before the last one that a write may go on with */

bool watches_goes_on(const struct watch_write *row, const struct watch_write *next)
{
    return row->block == next->block && row->said == next->said && row->call == next->call &&
           (next->from >= row->last || next->time_ns - row->until_ns < AT_ONCE_NS);
}

void watches_extend(struct watch_write *row, const struct watch_write *by)
{
    row->times += by->times;
    row->from = row->from < by->from ? row->from : by->from;
    row->to = row->to > by->to ? row->to : by->to;
    row->last = by->last;
    row->until_ns = by->until_ns;
}

/* The last one of the thread, if it is not long ago. */
static struct watch_write *row_before(struct watches *w, uint64_t thread)
{
    size_t until = w->write_count > ALIKE_WITHIN ? w->write_count - ALIKE_WITHIN : 0;

    for (size_t i = w->write_count; i-- > until;)
        if (w->writes[i].thread == thread)
            return &w->writes[i];
    return NULL;
}

void watches_put(struct watches *w, struct watch_block *b, struct watch_write *next)
{
    struct watch_write *before = row_before(w, next->thread);

    b->writes++;
    if (before && !next->stack)
        next->stack = before->stack;
    if (before && before->stack == next->stack && watches_goes_on(before, next)) {
        watches_extend(before, next);
        return;
    }
    if (w->write_count == WATCHES_MOST) {
        w->left_out++;
        return;
    }
    if (b->writes == 1)
        b->first_write = w->write_count;
    memory_fit(w->writes, w->write_room, w->write_count + 1);
    w->writes[w->write_count++] = *next;
}
