/* heap_course - what the events of one record and time did to the live heap of their process: its
 * lowest level, and the highest before and after that. All that stands out among levels is there,
 * so that who looks for it need not see each event.
 */
#ifndef MODEL_HEAP_COURSE_H
#define MODEL_HEAP_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_course_level {
    uint32_t at;    /* after so many of the events; 0: there is none */
    uint64_t bytes; /* more than when the course began, modulo 2^64 */
};

struct heap_course {
    uint64_t time_ns;
    uint32_t first, events;                      /* in the record: those before it, and its own */
    struct heap_course_level before, low, after; /* the first of equal ones */
    uint64_t end;
};

struct heap_course_taker { /* zeroed: nobody asks */
    struct heap_course now;
    uint64_t start; /* what lived */
    uint64_t low;   /* a level below it, */
    uint64_t rise;  /* or not below this, is to be noted */
};

/* Levels from here on are of a course that begins with what lives. */
void heap_course_begin(struct heap_course_taker *t, uint64_t time_ns, uint32_t first,
                       uint64_t live);
void heap_course_note(struct heap_course_taker *t, uint64_t live);

/* Is what lives after one of its events to be noted? When that has counted. */
static inline bool heap_course_notes(const struct heap_course_taker *t, uint64_t live)
{
    return live < t->low || live >= t->rise;
}

static inline void heap_course_level(struct heap_course_taker *t, uint64_t live)
{
    if (heap_course_notes(t, live))
        heap_course_note(t, live);
}

struct heap_courses { /* of the record that was read last; zeroed: none */
    bool wanted;
    struct heap_course *list;
    size_t count, room;
};

/* The course ends, with what lives, and is one of them if it is wanted; the next one begins. */
void heap_courses_end(struct heap_courses *c, struct heap_course_taker *t, uint64_t live);
void heap_courses_next(struct heap_courses *c, struct heap_course_taker *t, uint64_t time_ns,
                       uint64_t live);

#endif
