/* heap_births - when the living blocks of one stack of one process were allocated: bytes by equal
 * windows of its time, whatever their number.
 *
 * Of an exact recording it is known of a free how long its block had lived, but only roughly: then
 * the oldest block that it may have been counts as freed, so that those which live are at least as
 * old as is said.
 */
#ifndef MODEL_HEAP_BIRTHS_H
#define MODEL_HEAP_BIRTHS_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_BIRTHS_WINDOWS 36

struct heap_births { /* zeroed: none */
    uint64_t bytes[HEAP_BIRTHS_WINDOWS];
    /* The first and the last in each window, as a part of it. */
    uint16_t first[HEAP_BIRTHS_WINDOWS], last[HEAP_BIRTHS_WINDOWS];
    unsigned int freed; /* the window of the last that was freed */
};

struct heap_span { /* the time of a process */
    uint64_t from_ns, to_ns;
    uint64_t step_ns; /* of a window */
};

/* Times outside of the span count as its ends. */
void heap_births_add(struct heap_births *b, const struct heap_span *span, uint64_t time_ns,
                     uint64_t bytes);
/* One that was born in [from_ns, to_ns] is freed. */
void heap_births_remove(struct heap_births *b, const struct heap_span *span, uint64_t from_ns,
                        uint64_t to_ns, uint64_t bytes);
/* The last that was freed was not. */
void heap_births_restore(struct heap_births *b, uint64_t bytes);

struct heap_age {
    uint64_t oldest_ns, middle_ns, bytes; /* of one window, at the end of the span */
};

/* Those of its windows that have any, at most HEAP_BIRTHS_WINDOWS; how many. */
size_t heap_births_ages(const struct heap_births *b, const struct heap_span *span,
                        struct heap_age *ages);

#endif
