/* heap_curve - see heap_curve.h. */
#include "model/heap_curve.h"

#define STEP_FIRST ((uint64_t)1 << 16) /* ns */

static void halve(struct heap_curve *c)
{
    for (uint32_t i = 0; i < HEAP_CURVE_STEPS / 2; i++)
        c->bytes[i] = c->bytes[2 * i + 1 < c->at ? 2 * i + 1 : c->at];
    c->at /= 2;
    c->step_ns *= 2;
}

static uint64_t step_of(const struct heap_curve *c, uint64_t time_ns)
{
    return time_ns > c->from_ns ? (time_ns - c->from_ns) / c->step_ns : 0;
}

static void move_to(struct heap_curve *c, uint64_t time_ns)
{
    uint64_t step;

    if (!c->step_ns) {
        c->from_ns = time_ns;
        c->step_ns = STEP_FIRST;
    }
    while (step_of(c, time_ns) >= HEAP_CURVE_STEPS)
        halve(c);
    for (step = step_of(c, time_ns); c->at < step; c->at++)
        c->bytes[c->at + 1] = c->bytes[c->at];
}

void heap_curve_add(struct heap_curve *c, uint64_t time_ns, uint64_t bytes)
{
    move_to(c, time_ns);
    c->bytes[c->at] += bytes;
}

void heap_curve_remove(struct heap_curve *c, uint64_t time_ns, uint64_t bytes)
{
    uint64_t *now;

    move_to(c, time_ns);
    now = &c->bytes[c->at];
    *now -= bytes < *now ? bytes : *now;
}

uint64_t heap_curve_at(const struct heap_curve *c, uint64_t time_ns)
{
    uint64_t step;

    if (!c->step_ns || time_ns < c->from_ns)
        return 0;
    step = step_of(c, time_ns);
    return c->bytes[step < c->at ? step : c->at];
}
