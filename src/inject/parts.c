/* parts - see parts.h. Instructions are not decoded: bytes that look like a jump but are none lead
 * to places that have nothing in common, so several that agree are none of these.
 */
#include "inject/parts.h"
#include "inject/objects.h"

#include "arch/arch.h"
#include "inject/cfi.h"

#include <dlfcn.h>
#include <stdbool.h>

#define CANDIDATES 16u /* functions that something was seen to lead to */
#define AGREE 4u       /* jumps that make one of them a part */

struct candidate {
    struct part part;
    unsigned int jumps;
};

static bool within(struct part p, uintptr_t at)
{
    return at - p.low < p.high - p.low;
}

/* A jump to the start of a function may be a call of it that does not return here. */
static void count_jump(struct candidate *c, uintptr_t target)
{
    struct part p;
    unsigned int i = 0;

    while (i < CANDIDATES && c[i].part.high && !within(c[i].part, target))
        i++;
    if (i == CANDIDATES)
        return;
    if (!c[i].part.high) {
        if (!cfi_extent(target, &p.low, &p.high))
            return;
        c[i].part = p;
    }
    c[i].jumps += target != c[i].part.low;
}

static unsigned int choose(struct candidate *c, struct part *parts, unsigned int most)
{
    unsigned int count = 0;

    while (count < most) {
        struct candidate *best = c;

        for (unsigned int i = 1; i < CANDIDATES; i++)
            if (c[i].jumps > best->jumps)
                best = &c[i];
        if (best->jumps < AGREE)
            break;
        parts[count++] = best->part;
        best->jumps = 0;
    }
    return count;
}

unsigned int parts_find(uintptr_t pc, struct part *parts, unsigned int most)
{
    struct candidate candidates[CANDIDATES] = {0};
    struct object o;
    struct part module, function;

    if (!cfi_extent(pc, &function.low, &function.high) || !objects_find((const void *)pc, &o))
        return 0;
    module = (struct part){(uintptr_t)o.start, (uintptr_t)o.end};
    for (uintptr_t at = function.low; at + ARCH_JUMP_BYTES <= function.high; at++) {
        uintptr_t target = arch_jump_target(at);

        if (target && !within(function, target) && within(module, target))
            count_jump(candidates, target);
    }
    return choose(candidates, parts, most);
}
