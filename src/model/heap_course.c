/* heap_course - see heap_course.h. */
#include "model/heap_course.h"

void heap_course_begin(struct heap_course_taker *t, uint64_t time_ns, uint32_t first, uint64_t live)
{
    *t = (struct heap_course_taker){
        .now = {.time_ns = time_ns, .first = first}, .start = live, .low = UINT64_MAX};
}

static void rise(const struct heap_course_taker *t, struct heap_course_level *to,
                 const struct heap_course_level *from)
{
    if (from->at && (!to->at || from->bytes + t->start > to->bytes + t->start))
        *to = *from;
}

void heap_course_note(struct heap_course_taker *t, uint64_t live)
{
    struct heap_course *c = &t->now;
    const struct heap_course_level level = {c->events, live - t->start};

    if (live >= t->low) {
        c->after = level;
        t->rise = live + 1;
        return;
    }
    rise(t, &c->before, &c->low);
    rise(t, &c->before, &c->after);
    c->low = level;
    c->after.at = 0;
    t->low = live;
    t->rise = 0;
}
