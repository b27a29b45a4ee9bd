/* watching - memory that is watched, as records: see watched.h for what is. */
#ifndef INJECT_WATCHING_H
#define INJECT_WATCHING_H

#include "inject/state.h"
#include "inject/watched.h"

void watching_begin(const void *block, size_t bytes, const char *name, unsigned int how,
                    struct caller c);
void watching_end(const void *block, struct caller c);

/* Before what the program says is told: what has changed belongs to what it was in until now. */
void watching_look_now(struct caller c);
static inline void watching_look(struct caller c)
{
    if (unlikely(watched_any()))
        watching_look_now(c);
}

/* The program gives memory back: of an allocator (it has so many bytes at least), or pages. */
void watching_freed_now(const void *block, size_t bytes, struct caller c);
static inline void watching_freed(const void *block, size_t bytes, struct caller c)
{
    if (unlikely(watched_any()))
        watching_freed_now(block, bytes, c);
}

/* Nobody records any more: pages and signals are the program's. */
void watching_leave(void);

#endif
