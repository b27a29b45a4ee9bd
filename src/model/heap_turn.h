/* heap_turn - the order of what several processes did: by time; of one time, which is a tick of the
 * recorder, first what is noted, then events in the order of the trace, and the ends of processes
 * last. What a process was before exec(2) ends when it begins, and does nothing after that.
 *
 * Two merges follow it, and have no order of their own: heap_together puts runs of events in order
 * whose change is known, in the first pass and for every question; heap_order the events, for those
 * who follow blocks. What is the peak of the one is that of the other.
 */
#ifndef MODEL_HEAP_TURN_H
#define MODEL_HEAP_TURN_H

#include <stdbool.h>
#include <stdint.h>

enum heap_rank { HEAP_RANK_NOTED, HEAP_RANK_EVENT, HEAP_RANK_ENDED };

struct heap_turn {
    uint64_t time_ns;
    uint64_t within; /* that time: the rank, and the place of its record in the trace */
};

static inline struct heap_turn heap_turn(uint64_t time_ns, enum heap_rank rank, uint64_t order)
{
    return (struct heap_turn){time_ns, (uint64_t)rank << 62 | (order & (UINT64_MAX >> 2))};
}

static inline bool heap_turn_is_before(const struct heap_turn *a, const struct heap_turn *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->within < b->within;
}

static inline bool heap_turn_is_end(const struct heap_turn *t)
{
    return t->within >> 62 == HEAP_RANK_ENDED;
}

#endif
