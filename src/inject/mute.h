/* mute - what happens below a call that is recorded by itself is not recorded again. */
#ifndef INJECT_MUTE_H
#define INJECT_MUTE_H

#include "inject/sample.h"

/* While an allocator works for a call that is recorded by itself: what it calls of ours on its way
 * is not the program's doing. Returns what mute_end needs.
 */
static inline int64_t mute_begin(void)
{
    int64_t left = local.left;

    local.muted++;
    local.left = SAMPLE_FAR;
    return left;
}

static inline void mute_end(int64_t left)
{
    local.left = left;
    local.muted--;
}

#endif
