/* heap_segments - from the levels of the heap, one after the other, the moments that stand out
 * between cuts: of each segment the lowest, and between each two of these the highest. Where
 * nothing happened in a segment, what the caller names instead.
 */
#ifndef MODEL_HEAP_SEGMENTS_H
#define MODEL_HEAP_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heap_edge_kind { HEAP_EDGE_HIGH, HEAP_EDGE_OWN, HEAP_EDGE_LOW, HEAP_EDGE_NAMED };

struct heap_edge {
    uint64_t after; /* so many events are before it */
    uint64_t time_ns, bytes;
    enum heap_edge_kind kind; /* quiet from HEAP_EDGE_LOW on */
};

struct heap_level {
    bool any;
    struct heap_edge edge;
};

struct heap_segments { /* zeroed: none */
    struct heap_edge *list;
    size_t count, room;
    struct heap_level highest; /* since the last quiet edge */
    struct heap_level before, low,
        after; /* of the segment: its lowest, and the highest around it */
};

/* The level at a moment. */
void heap_segments_level(struct heap_segments *c, const struct heap_edge *now);
/* A segment ends. `empty`: the moment of one in which nothing happened; NULL: it has none. */
void heap_segments_end(struct heap_segments *c, const struct heap_edge *empty);
/* A segment ends with a moment that has a name. */
void heap_segments_named(struct heap_segments *c, const struct heap_edge *now);
/* One more, which the others do not depend on. */
void heap_segments_add(struct heap_segments *c, const struct heap_edge *e);

/* In their order, each place once, as many as there is room for; how many. */
int heap_segments_settle(struct heap_edge *list, size_t count, struct heap_edge *to, int room);

bool heap_edge_is_quiet(const struct heap_edge *e);

#endif
