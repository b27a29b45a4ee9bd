/* heap_course - see heap_course.h. */
#include "model/heap_course.h"

#include "base/memory.h"

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

void heap_courses_end(struct heap_courses *c, struct heap_course_taker *t, uint64_t live)
{
    if (!c->wanted || !t->now.events)
        return;
    t->now.end = live - t->start;
    memory_fit(c->list, c->room, c->count + 1);
    c->list[c->count++] = t->now;
}

void heap_courses_next(struct heap_courses *c, struct heap_course_taker *t, uint64_t time_ns,
                       uint64_t live)
{
    if (!c->wanted)
        return;
    heap_courses_end(c, t, live);
    heap_course_begin(t, time_ns, t->now.first + t->now.events, live);
}
