/* metrics - everything here is read off the table of metrics in trace/metric_list.h. */
#include "model/metrics.h"
#include "base/count.h"

#include <stddef.h>

static const struct range {
    unsigned int first, count, place;
} ranges[] = {
#define X(whose, begin, end)                                                                       \
    [TRACE_OF_##whose] = {begin, METRICS_OF_##whose,                                               \
                          TRACE_OF_##whose == TRACE_OF_RUN ? METRICS_OF_PROCESS : 0},
    TRACE_METRIC_RANGES(X)
#undef X
};

/* A metric that no range has, or has with a gap before it, would be dropped without a word. */
#define HAS(whose, metric)                                                                         \
    (METRICS_IN(whose, metric) && (metric)-TRACE_FIRST_OF_##whose < METRICS_OF_##whose)
#define X(name, number, text, unit, cumulative)                                                    \
    _Static_assert(HAS(PROCESS, number) || HAS(MACHINE, number) || HAS(CGROUP, number) ||          \
                       HAS(DEVICE, number) || HAS(RUN, number),                                    \
                   text " has no place");
TRACE_METRICS(X)
#undef X
#define X(whose, begin, end)                                                                       \
    _Static_assert(METRICS_OF_##whose <= METRICS_ROOM, "a set has no room for " #whose);
TRACE_METRIC_RANGES(X)
#undef X
_Static_assert(METRICS_ROOM <= 64, "`present` has a bit for each place");

static bool is_in(const struct range *r, uint64_t metric)
{
    return metric >= r->first && metric - r->first < r->count;
}

unsigned int metrics_place(uint64_t metric)
{
    for (int i = 0; i < COUNT(ranges); i++)
        if (is_in(&ranges[i], metric))
            return (unsigned int)metric - ranges[i].first + ranges[i].place;
    return METRICS_ROOM;
}

bool metrics_belong(uint64_t subject, uint64_t metric)
{
    switch (subject) {
    case TRACE_OF_RUN:
        return is_in(&ranges[TRACE_OF_RUN], metric) || is_in(&ranges[TRACE_OF_PROCESS], metric);
    case TRACE_OF_PROCESS:
    case TRACE_OF_MACHINE:
    case TRACE_OF_CGROUP:
    case TRACE_OF_DEVICE:
        return is_in(&ranges[subject], metric);
    case TRACE_OF_DEVICE_USE:
        return is_in(&ranges[TRACE_OF_DEVICE], metric);
    default: /* a thread has no metrics yet; others are of a later version */
        return false;
    }
}

bool metrics_counter(unsigned int place)
{
    static const bool cumulative[METRIC_END] = {
#define X(name, number, text, unit, grows) [number] = grows,
        TRACE_METRICS(X)
#undef X
    };

    return place < METRICS_OF_PROCESS && cumulative[place] && place != METRIC_RSS_PEAK &&
           place != METRIC_VSZ_PEAK;
}

bool metrics_has(const struct metrics *m, unsigned int place)
{
    return place < METRICS_ROOM && m->present >> place & 1;
}

bool metrics_get(const struct metrics *m, enum trace_metric metric, uint64_t *value)
{
    unsigned int place = metrics_place(metric);

    if (!metrics_has(m, place))
        return false;
    *value = m->value[place];
    return true;
}

void metrics_set(struct metrics *m, unsigned int place, uint64_t value)
{
    m->value[place] = value;
    m->present |= 1ull << place;
}

void metrics_raise(struct metrics *m, unsigned int place, uint64_t value)
{
    if (!metrics_has(m, place) || m->value[place] < value)
        metrics_set(m, place, value);
}

const char *metrics_name(uint64_t metric, enum trace_unit *unit)
{
    switch (metric) {
#define X(name, number, text, its_unit, grows)                                                     \
    case number:                                                                                   \
        *unit = TRACE_UNIT_##its_unit;                                                             \
        return text;
        TRACE_METRICS(X)
#undef X
    default:
        return NULL;
    }
}

struct metrics metrics_of(const struct trace_event *sample)
{
    struct trace_event rest = *sample; /* others read its tail, too */
    struct metrics m = {0};
    struct trace_pair pair;

    while (trace_next_pair(&rest, &pair))
        if (metrics_belong(sample->sample.subject, pair.metric))
            metrics_set(&m, metrics_place(pair.metric), pair.value);
    return m;
}

void metrics_overlay(struct metrics *to, const struct metrics *from)
{
    for (unsigned int i = 0; i < METRICS_ROOM; i++)
        if (metrics_has(from, i))
            metrics_set(to, i, from->value[i]);
}
