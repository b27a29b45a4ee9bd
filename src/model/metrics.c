/* metrics - everything here is read off the table of metrics in trace/format.h. */
#include "analyze/metrics.h"

#include <stddef.h>

unsigned int metrics_place(uint64_t metric)
{
    static const struct {
        unsigned int first, count, at;
    } ranges[] = {{0, METRICS_OF_PROCESS, 0},
                  {64, 32, 0},
                  {128, 32, 0},
                  {160, 32, 0},
                  {192, 16, METRICS_OF_PROCESS}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (metric >= ranges[i].first && metric - ranges[i].first < ranges[i].count)
            return (unsigned int)(metric - ranges[i].first) + ranges[i].at;
    return METRICS_ROOM;
}

bool metrics_belong(uint64_t subject, uint64_t metric)
{
    switch (subject) {
    case TRACE_OF_RUN:
        return metric < METRICS_OF_PROCESS || (metric >= 192 && metric < 208);
    case TRACE_OF_PROCESS:
        return metric < METRICS_OF_PROCESS;
    case TRACE_OF_MACHINE:
        return metric >= 64 && metric < 96;
    case TRACE_OF_CGROUP:
        return metric >= 128 && metric < 160;
    case TRACE_OF_DEVICE:
        return metric >= 160 && metric < 192;
    default:
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
