/* heap_births - see heap_births.h. */
#include "model/heap_births.h"

#include "base/text.h"

#define LAST (HEAP_BIRTHS_WINDOWS - 1)
#define PARTS 65536

static uint64_t past(const struct heap_span *s, uint64_t time_ns)
{
    uint64_t to = time_ns < s->to_ns ? time_ns : s->to_ns;

    return to > s->from_ns ? to - s->from_ns : 0;
}

static unsigned int window_of(const struct heap_span *s, uint64_t time_ns)
{
    uint64_t window = past(s, time_ns) / s->step_ns;

    return window < LAST ? (unsigned int)window : LAST;
}

static uint16_t part_of(const struct heap_span *s, uint64_t time_ns, unsigned int window)
{
    double part = (double)(past(s, time_ns) - window * s->step_ns) / (double)s->step_ns * PARTS;

    return part < PARTS - 1 ? (uint16_t)part : PARTS - 1;
}

void heap_births_add(struct heap_births *b, const struct heap_span *span, uint64_t time_ns,
                     uint64_t bytes)
{
    unsigned int w = window_of(span, time_ns);
    uint16_t part = part_of(span, time_ns, w);

    if (!b->bytes[w] || part < b->first[w])
        b->first[w] = part;
    if (!b->bytes[w] || part > b->last[w])
        b->last[w] = part;
    b->bytes[w] += bytes;
}

/* What is left of `bytes` after the windows from .. to. */
static uint64_t take(struct heap_births *b, unsigned int from, unsigned int to, uint64_t bytes)
{
    for (unsigned int w = from; w <= to && bytes; w++) {
        uint64_t here = b->bytes[w] < bytes ? b->bytes[w] : bytes;

        b->freed = here ? w : b->freed;
        b->bytes[w] -= here;
        bytes -= here;
    }
    return bytes;
}

void heap_births_remove(struct heap_births *b, const struct heap_span *span, uint64_t from_ns,
                        uint64_t to_ns, uint64_t bytes)
{
    unsigned int from = window_of(span, from_ns), to = window_of(span, to_ns);

    bytes = take(b, from, to, bytes);
    bytes = take(b, to, LAST, bytes); /* others were taken for it */
    take(b, 0, from, bytes);
}

void heap_births_restore(struct heap_births *b, uint64_t bytes)
{
    b->bytes[b->freed] += bytes;
}

static uint64_t age_of(const struct heap_span *s, unsigned int window, double part)
{
    double born = ((double)window + part / PARTS) * (double)s->step_ns;
    double all = (double)(s->to_ns - s->from_ns);

    return text_rounded(all - born);
}

size_t heap_births_ages(const struct heap_births *b, const struct heap_span *span,
                        struct heap_age *ages)
{
    size_t n = 0;

    for (unsigned int w = 0; w < HEAP_BIRTHS_WINDOWS; w++)
        if (b->bytes[w])
            ages[n++] = (struct heap_age){
                age_of(span, w, b->first[w]),
                age_of(span, w, ((double)b->first[w] + (double)b->last[w]) / 2),
                b->bytes[w],
            };
    return n;
}
