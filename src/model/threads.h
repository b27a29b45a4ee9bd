/* threads - the threads of recorded processes, by number. */
#ifndef MODEL_THREADS_H
#define MODEL_THREADS_H

#include "model/names.h"

struct threads_thread {
    uint64_t number, process, tid;
    uint64_t creator; /* the stack that started it; 0: not known */
    const char *name; /* may be NULL */
    uint64_t from_ns, to_ns;
    bool ended;
    size_t place; /* in the list */
};

struct threads { /* zeroed but for its names: empty */
    struct names *names;
    struct threads_thread **list; /* in the order of first sight, in the names' arena */
    size_t count, room;
    struct intmap places;        /* number -> place */
    struct threads_thread *last; /* that was asked for */
};

/* Take a THREAD or THREAD_END; others are left alone. */
void threads_take(struct threads *t, const struct trace_event *ev);
void threads_free(struct threads *t);

/* NULL: it is not there. */
struct threads_thread *threads_find(struct threads *t, uint64_t number);
/* Made on first sight; NULL: there are too many. */
struct threads_thread *threads_make(struct threads *t, uint64_t number);

#endif
