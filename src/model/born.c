/* born - see born.h. */
#include "model/born.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXTS_MOST ((uint64_t)1 << 24)

static bool in_steps(const struct born *b, uint64_t process, uint64_t step)
{
    for (size_t i = 0; i < b->range_count; i++)
        if (b->ranges[i].process == process && step >= b->ranges[i].from && step <= b->ranges[i].to)
            return true;
    return !b->in_steps;
}

static bool is_label(const struct born_label *wanted, const char *key, const char *value)
{
    return key && value && !strcmp(key, wanted->key) &&
           (!wanted->value || !strcmp(value, wanted->value));
}

static bool has_label(const struct born_label *wanted, const struct names *names,
                      struct trace_event ev)
{
    struct trace_pair pair;

    while (trace_next_pair(&ev, &pair))
        if (is_label(wanted, names_get(names, pair.metric), names_get(names, pair.value)))
            return true;
    return false;
}

static enum born_answer judge(const struct born *b, const struct names *names,
                              const struct trace_event *ev)
{
    if (ev->present < 3)
        return BORN_UNKNOWN;
    for (unsigned int i = 0; i < b->label_count; i++)
        if (!has_label(&b->labels[i], names, *ev))
            return BORN_ELSEWHERE;
    return in_steps(b, ev->context.process, ev->context.step) ? BORN_THERE : BORN_ELSEWHERE;
}

void born_take(struct born_known *k, const struct born *b, const struct names *names,
               const struct trace_event *ev)
{
    uint64_t number = ev->context.context;

    if (!number || number >= CONTEXTS_MOST)
        return;
    memory_fit_zeroed(k->of, k->room, (size_t)number + 1);
    k->of[number] = (unsigned char)judge(b, names, ev);
}

enum born_answer born_in(const struct born_known *k, const struct born *b, uint64_t context,
                         uint64_t process)
{
    if (!context) /* before its first step, and without labels */
        return !b->label_count && in_steps(b, process, 0) ? BORN_THERE : BORN_ELSEWHERE;
    return context < k->room ? (enum born_answer)k->of[context] : BORN_UNKNOWN;
}

void born_free(struct born_known *k)
{
    free(k->of);
    *k = (struct born_known){0};
}
