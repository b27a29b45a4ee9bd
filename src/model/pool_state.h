/* pool_state - what pools know while they read a trace: the threads, what waits for an answer, the
 * answers. */
#ifndef MODEL_POOL_STATE_H
#define MODEL_POOL_STATE_H

#include "model/cpu_time.h"
#include "model/pool_blocks.h"
#include "model/pool_code.h"
#include "model/pool_groups.h"
#include "model/pool_times.h"

/* A sample, a wait, a copy or a block of a thread that has no line; or a process begins. */
struct pool_work {
    uint64_t time_ns;
    uint64_t child; /* that process, or 0 */
    size_t place;   /* of its thread */
    size_t block;   /* 1 + its place, or 0 */
    size_t group;   /* of exact blocks: the same */
    uint32_t stack, cause;
    struct cpu_sums sums;
};

struct pool_entry {
    uint32_t stack, line;
    uint32_t owner; /* the stack of the line; 0: none */
    struct cpu_sums sums;
};

struct pool_start { /* a program, by a stack of Python */
    uint64_t time_ns;
    size_t before; /* 1 + the place of an earlier one of the same pid; 0: there is none */
    uint32_t stack;
};

#define POOL_SURE (1ull << 32) /* of a starter: who started it has said so */

struct pools {
    const struct blame *blame;
    const struct cpu_time *time; /* which stretch is asked about */
    struct threads *threads;
    struct arena *arena;
    struct pool_code code;
    struct pool_thread *each; /* by place in the threads */
    bool *main;               /* by place: it is the first of its process */
    struct intmap parents;    /* process -> the one that it descends from */
    struct intmap starters;   /* process -> the stack of the line that started it, and how that is
                                 known */
    struct intmap pids;       /* process -> its pid */
    struct intmap last_start; /* pid -> 1 + the place of the last one */
    struct pool_start *starts;
    size_t start_count, start_room;
    struct intmap processes; /* process -> 1 + the place of its first thread with Python */
    struct pool_work *works; /* that wait for what comes after them */
    size_t first, count, room;
    struct intmap places; /* of entries */
    struct pool_entry *entries;
    size_t entry_count, entry_room;
    struct pool_blocks blocks;
    struct pool_groups groups;
    const struct heap *heap;
    const char *libraries; /* of workers that nobody was found for; NULL: there are none */
};

#endif
