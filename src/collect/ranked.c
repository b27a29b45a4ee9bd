/* ranked - see ranked.h. Of several variables the strongest counts, and of that its last value. */
#include "collect/ranked.h"

#include "base/count.h"

#include <string.h>

static const struct {
    enum ring_rank_kind kind;
    const char *name;
} known[] = {
#define X(kind, name) {RING_RANK_##kind, name},
    RING_RANKS(X)
#undef X
};

#define KNOWN ((uint64_t)COUNT(known))

static const char *const keys[RING_RANK_KINDS] = {[RING_RANK_RANK] = FACT_RANK,
                                                  [RING_RANK_LOCAL] = FACT_LOCAL_RANK,
                                                  [RING_RANK_WORLD] = FACT_WORLD_SIZE};

bool ranked_take(struct absorb *a, struct absorb_process *p, uint64_t which, const char *digits,
                 uint64_t count)
{
    enum ring_rank_kind kind;

    if (which >= KNOWN || !count || count > RING_RANK_DIGITS)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (digits[i] < '0' || digits[i] > '9')
            return false;
    kind = known[which].kind;
    if (!a->store || (p->ranked[kind] && p->ranked[kind] < which + 1))
        return true;
    p->ranked[kind] = (uint8_t)(which + 1);
    trace_store_fact(a->store, TRACE_OF_PROCESS, p->number, keys[kind], digits, count);
    if (kind == RING_RANK_RANK)
        trace_store_fact(a->store, TRACE_OF_PROCESS, p->number, FACT_RANK_BY, known[which].name,
                         strlen(known[which].name));
    return true;
}
