/* leak_trend - does what a stack holds still grow? Judged is the time since its first allocation,
 * so that nothing before it thins it out, in the process that holds most of it. A stack is
 *
 *   growing     it held more and more, up to the end: over the last two thirds of that time, over
 *               all of it (equal bursts, say), over its last half, quarter or eighth, or from each
 *               step or end of a region to the next. Each look is wrong in at most one of a hundred
 *               series without a trend, all of them together in about two
 *   unclear     it held more at the end than a sixth of the time before, but that may be chance; or
 *               so few samples speak that more may have come unseen
 *   grew once   what it held it kept, but no more came: a cache that was filled, say
 *   steady      most of its blocks were freed again, and others took their place; not so a
 *               container that moves to a larger block each time that it is full
 */
#ifndef MODEL_LEAK_TREND_H
#define MODEL_LEAK_TREND_H

#include "model/heap_growth.h"

enum leak_trend { LEAK_STEADY, LEAK_GREW_ONCE, LEAK_UNCLEAR, LEAK_GROWING };

enum leak_within { LEAK_IN_RUN, LEAK_IN_LAST_PART, LEAK_IN_STEPS, LEAK_IN_REGION };

struct leak_verdict {
    enum leak_trend trend;
    enum leak_within within; /* where it grows */
    const char *name;        /* of the steps or the region; may be NULL */
    double chance, slope;    /* slope: bytes per second */
    uint64_t quarter;        /* bytes that it held a quarter of the time before the end */
};

void leak_trend(struct leak_verdict *v, const struct heap_growth *g, const struct heap_row *row,
                const struct heap_grown *where, double freed_percent);

#endif
