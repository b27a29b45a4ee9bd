/* pool_owner - who a thread without a line works for, at one time: the part of pools that asks. */
#ifndef MODEL_POOL_OWNER_H
#define MODEL_POOL_OWNER_H

#include "model/pool_state.h"

#define POOL_NO_LINE UINT32_MAX

struct pool_owner {
    uint32_t stack, line; /* POOL_NO_LINE: there is none, or it is not known yet */
    unsigned int score;
    uint64_t away_ns;
    struct pool_thread *thread;
};

/* The threads of a process that have run Python; each has the next. NULL: there are none. */
struct pool_thread *pool_owner_first(const struct pools *p, uint64_t process);

/* Has a stack a line of the program, or one that was not asked for? */
bool pool_owner_has_line(const struct pools *p, uint64_t stack);

/* Of a stack with Python, of one without, and of a process that has begun, which is kept. */
struct pool_owner pool_owner_of_python(const struct pools *p, struct pool_thread *worker,
                                       uint64_t time_ns);
struct pool_owner pool_owner_of_native(struct pools *p, const struct pool_work *w);
void pool_owner_of_process(struct pools *p, uint64_t child, uint64_t time_ns);

#endif
