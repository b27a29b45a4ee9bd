/* bound - see bound.h, where the proof is. */
#include "procs/bound.h"

void bound_sum(struct bound *b, uint64_t bytes)
{
    if (bytes > b->lower)
        b->lower = bytes;
}

void bound_single(struct bound *b, uint64_t bytes)
{
    if (bytes > b->single)
        b->single = bytes;
    bound_sum(b, bytes);
    bound_largest(b, bytes);
}

void bound_largest(struct bound *b, uint64_t bytes)
{
    if (bytes > b->largest)
        b->largest = bytes;
}

void bound_interval(struct bound *b, uint64_t known, uint64_t unknown)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->count; i++)
        if (b->corners[i].known >= known && b->corners[i].unknown >= unknown)
            return;
    for (size_t i = 0; i < b->count; i++)
        if (b->corners[i].known > known || b->corners[i].unknown > unknown)
            b->corners[kept++] = b->corners[i];
    if (kept == BOUND_CORNERS) { /* fold into the last one: larger, so still a bound */
        kept--;
        if (b->corners[kept].known > known)
            known = b->corners[kept].known;
        if (b->corners[kept].unknown > unknown)
            unknown = b->corners[kept].unknown;
    }
    b->corners[kept].known = known;
    b->corners[kept].unknown = unknown;
    b->count = kept + 1;
}

void bound_open(struct bound *b, const char *why)
{
    if (!b->open)
        b->open = why;
}

void bound_unknown(struct bound *b, const char *why)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->corners[i].unknown)
            bound_open(b, why);
}

uint64_t bound_upper(const struct bound *b)
{
    uint64_t upper = b->lower;

    if (b->open)
        return UINT64_MAX;
    for (size_t i = 0; i < b->count; i++) {
        uint64_t u = b->corners[i].known + b->corners[i].unknown * b->largest;

        if (u > upper)
            upper = u;
    }
    return upper;
}
