/* parts - see parts.h. Instructions are not decoded: bytes that look like a jump but are none lead to
 * places that have nothing in common, so several that agree are none of these.
 */
#include "inject/parts.h"

#include "inject/cfi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define JUMP_BYTES 6u /* 0f 80 to 0f 8f, and a distance in four bytes: a condition and a far jump */
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

/* Where a jump at this place leads to; 0: there is none. */
static uintptr_t target_of(uintptr_t at)
{
    const uint8_t *code = (const uint8_t *)at;
    int32_t distance;

    if (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)
        return 0;
    memcpy(&distance, code + 2, sizeof(distance));
    return at + JUMP_BYTES + (uintptr_t)(intptr_t)distance;
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
    struct dl_find_object o;
    struct part module, function;

    if (!cfi_extent(pc, &function.low, &function.high) || _dl_find_object((void *)pc, &o) != 0)
        return 0;
    module = (struct part){(uintptr_t)o.dlfo_map_start, (uintptr_t)o.dlfo_map_end};
    for (uintptr_t at = function.low; at + JUMP_BYTES <= function.high; at++) {
        uintptr_t target = target_of(at);

        if (target && !within(function, target) && within(module, target))
            count_jump(candidates, target);
    }
    return choose(candidates, parts, most);
}
