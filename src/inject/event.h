/* event - one allocation or free becomes a record, if the mode asks for it. errno is kept. */
#ifndef INJECT_EVENT_H
#define INJECT_EVENT_H

#include "inject/sample.h"

/* May the hook go straight to the real function? For an allocation of `size` bytes ... */
static inline bool event_skip_alloc(size_t size)
{
    local.left = (int64_t)((uint64_t)local.left - size - 1);
    return likely(local.left >= 0 && process_mode() == local.pass);
}

/* ... and for a free. */
static inline bool event_skip_free(const void *p)
{
    return likely(process_mode() == local.pass && !sample_marked(p));
}

/* An allocation failed that event_skip_alloc was asked for. */
void event_failed(void);

/* Call this from time to time, from within any allocation, where a thread is in no record. */
void event_now_and_then(void (*function)(void));

/* The limit of whole.h is a lower one: this thread counts by it, and the trace is told. */
void event_limit_fell(void);

/* The library is loaded: the process shows itself, even if it never allocates. */
void event_start(void);

/* Registers are passed one by one: a struct of three would go through memory. */
void event_record(const void *p, size_t size, enum ring_origin origin, uintptr_t pc, uintptr_t sp,
                  uintptr_t fp);

static inline void event_alloc(const void *p, size_t size, enum ring_origin origin, struct caller c)
{
    event_record(p, size, origin, c.pc, c.sp, c.fp);
}

/* Before the block is given back. True: a record was written, so a failure must undo it. */
bool event_free(const void *p, enum ring_origin origin, uintptr_t frame);
/* The same before a realloc to `size`, for which event_skip_alloc was asked already. */
bool event_move(const void *p, size_t size, enum ring_origin origin, uintptr_t frame);
void event_unfree(const void *p, uintptr_t frame);

#endif
