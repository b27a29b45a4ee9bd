/* run_tree - see run_tree.h: children as linked lists by index, so that no process is copied. */
#include "report/run_tree.h"

#include "base/memory.h"

#include <stdlib.h>

static int larger_first(const void *a, const void *b, const void *context)
{
    const struct watch_process *all = context;
    int x = *(const int *)a, y = *(const int *)b;
    uint64_t p = all[x].peak_rss + 1, q = all[y].peak_rss + 1; /* ABSENT becomes 0 */

    if (p != q)
        return p < q ? 1 : -1;
    return x < y ? -1 : x > y;
}

void run_tree_make(struct run_tree *t, const struct watch_result *r)
{
    int count = (int)r->process_count, *order = memory_resize(NULL, r->process_count * sizeof(int));

    t->first = memory_resize(NULL, (r->process_count + 1) * sizeof(int));
    t->next = memory_resize(NULL, r->process_count * sizeof(int));
    for (int i = 0; i <= count; i++)
        t->first[i] = -1;
    for (int i = 0; i < count; i++)
        order[i] = i;
    memory_sort_with(order, (size_t)count, sizeof(int), larger_first, r->processes);
    for (int i = count - 1; i >= 0; i--) { /* the smallest first, each put before the others */
        int *at = &t->first[r->processes[order[i]].parent + 1];

        t->next[order[i]] = *at;
        *at = order[i];
    }
    free(order);
}

void run_tree_free(struct run_tree *t)
{
    free(t->first);
    free(t->next);
}
