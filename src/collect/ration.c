/* ration - see ration.h. The clock is asked once for several looks: it takes as long as one. */
#include "collect/ration.h"

#include "base/clock.h"

#define SHARE 100          /* one part of so many of a CPU */
#define SAVED_MOST 5000000 /* ns that may be left for later */
#define LEAST 16u          /* looks of a pass, at any price */
#define ASKED_EACH 8u      /* looks */

static void pay(struct ration *r)
{
    uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    r->allowed_ns -= (int64_t)(now - r->used_ns);
    r->used_ns = now;
    r->spent = r->allowed_ns <= 0;
}

void ration_begin(struct ration *r, uint64_t now_ns)
{
    r->allowed_ns += (int64_t)((r->begun_ns ? now_ns - r->begun_ns : 0) / SHARE);
    if (r->allowed_ns > SAVED_MOST)
        r->allowed_ns = SAVED_MOST;
    if (r->allowed_ns < -SAVED_MOST)
        r->allowed_ns = -SAVED_MOST;
    r->begun_ns = now_ns;
    r->used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    r->spent = r->allowed_ns <= 0;
    r->place = r->taken = 0;
}

bool ration_takes(struct ration *r)
{
    if (r->place++ < r->next || (r->spent && r->taken >= LEAST))
        return false;
    r->next++;
    if (++r->taken % ASKED_EACH == 0)
        pay(r);
    return true;
}

void ration_end(struct ration *r)
{
    if (r->place <= r->next)
        r->next = 0;
    pay(r);
}
