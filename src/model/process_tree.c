/* process_tree - no recursion: a hostile trace can nest processes as deep as it likes. */
#include "model/process_tree.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct run_process *process_tree_next(const struct run_process *p)
{
    if (p->first_child)
        return p->first_child;
    while (p && !p->sibling)
        p = p->parent;
    return p ? p->sibling : NULL;
}

bool process_tree_peak(const struct run_process *p, uint64_t *bytes)
{
    uint64_t sampled;
    bool marked = metrics_get(&p->most, METRIC_RSS_PEAK, bytes);

    if (metrics_get(&p->most, METRIC_RSS, &sampled) && (!marked || sampled > *bytes)) {
        *bytes = sampled;
        return true;
    }
    return marked;
}

static int by_peak(const void *left, const void *right)
{
    const struct run_process *l = *(struct run_process *const *)left;
    const struct run_process *r = *(struct run_process *const *)right;
    uint64_t l_bytes = 0, r_bytes = 0;

    process_tree_peak(l, &l_bytes);
    process_tree_peak(r, &r_bytes);
    if (l_bytes != r_bytes)
        return l_bytes < r_bytes ? 1 : -1;
    return l->number < r->number ? -1 : l->number > r->number;
}

/* How many of p and its ancestors are not shown yet; counts no further than `most` + 1. */
static size_t missing(const struct run_process *p, size_t most)
{
    size_t n = 0;

    for (; p && !p->shown && n <= most; p = p->parent)
        n++;
    return n;
}

void process_tree_choose(struct run *r, size_t most)
{
    struct arena scratch = {0};
    size_t bytes = r->process_count * sizeof(*r->processes);
    struct run_process **order = arena_alloc(&scratch, bytes);

    if (bytes)
        memcpy(order, r->processes, bytes);
    for (size_t i = 0; i < r->process_count; i++)
        order[i]->shown = false;
    memory_sort(order, r->process_count, sizeof(*order), by_peak);
    for (size_t i = 0; i < r->process_count && most; i++) {
        size_t n = missing(order[i], most);

        if (n > most)
            continue;
        most -= n;
        for (struct run_process *p = order[i]; p && !p->shown; p = p->parent)
            p->shown = true;
    }
    arena_free(&scratch);
}

static const char *signaled(struct arena *a, uint64_t signal)
{
    const char *name = signal < 65 ? sigabbrev_np((int)signal) : NULL;

    return name ? arena_printf(a, "killed by signal %" PRIu64 " (SIG%s)", signal, name)
                : arena_printf(a, "killed by signal %" PRIu64, signal);
}

const char *process_tree_end(struct arena *a, const struct run_process *p)
{
    if (!p->ended)
        return "still running";
    switch (p->end) {
    case TRACE_END_EXITED:
        return arena_printf(a, "exited with %" PRIu64, p->status);
    case TRACE_END_SIGNALED:
        return signaled(a, p->status);
    case TRACE_END_EXECED:
        return "became another program (exec)";
    case TRACE_END_OUTLIVED:
        return "outlived the recording";
    case TRACE_END_OOM:
        return "killed, out of memory";
    default:
        return "ended unseen";
    }
}
