/* oom_pools - the pools of all spaces at the moment at which memory ran out: what a device's
 * library refuses may be free in a pool, in pieces.
 */
#ifndef QUESTIONS_OOM_POOLS_H
#define QUESTIONS_OOM_POOLS_H

#include "model/pools_then.h"
#include "questions/question.h"

struct oom_pools { /* zeroed: none */
    struct pools_then told;
    struct reserves imported; /* as an imported file has them */
};

/* In `again`: up to this moment. `told.spaces` is complete. */
void oom_pools_want(struct asked *q, struct oom_pools *p, uint64_t time_ns);
/* The table `pools`, if there are any. */
void oom_pools_put(struct asked *q, struct oom_pools *p);
void oom_pools_free(struct oom_pools *p);

#endif
