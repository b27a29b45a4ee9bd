/* watch_looks - see watch_looks.h. */
#include "model/watch_looks.h"

#include "base/memory.h"

#include <stdlib.h>

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_results(const void *a, const void *b)
{
    const struct watch_hash *x = a, *y = b;

    return x->process != y->process ? by_number(x->process, y->process)
                                    : by_number(x->number, y->number);
}

static int compare_looks(const void *a, const void *b)
{
    const struct watch_look *x = a, *y = b;

    return x->change.block != y->change.block ? by_number(x->change.block, y->change.block)
                                              : by_number(x->number, y->number);
}

static int compare_changes(const void *a, const void *b)
{
    const struct watch_change *x = a, *y = b;

    return by_number(x->time_ns, y->time_ns);
}

/* Threads of the library tell of results, in any order. */
static void find_result(struct watches *w, struct watch_look *k)
{
    const struct watch_hash key = {.process = k->process, .number = k->number};
    const struct watch_hash *r = w->hash_count ? bsearch(&key, w->hashes, w->hash_count,
                                                         sizeof(key), compare_results)
                                               : NULL;

    if (!r)
        return;
    k->hash = r->hash;
    k->until_ns = r->time_ns;
    k->read = true;
}

/* Those before it that had not ended by then may have seen what it did; the last one in any case,
 * which another thread may have been at.
 */
static void mark_beside(struct watch_look *looks, size_t i)
{
    bool last = true;

    if (!(looks[i].flags & TRACE_COMMAND_BESIDE))
        return;
    looks[i].change.beside = true;
    for (size_t j = i; j-- > 0 && looks[j].change.block == looks[i].change.block; last = false) {
        if (!last && looks[j].read && looks[j].until_ns < looks[i].change.time_ns)
            break;
        looks[j].change.beside = true;
    }
}

static void put_change(struct watches *w, struct watch_look *k, bool gap)
{
    k->change.beside |= gap;
    w->blocks[k->change.block].changes++;
    memory_fit(w->changes, w->change_room, w->change_count + 1);
    w->changes[w->change_count++] = k->change;
}

/* Of one block, from its first look on; where it ends. */
static size_t compare(struct watches *w, size_t i)
{
    const struct watch_look *before = NULL;
    size_t block = w->looks[i].change.block;
    bool gap = false;

    for (; i < w->look_count && w->looks[i].change.block == block; i++) {
        struct watch_look *k = &w->looks[i];

        w->blocks[block].unknown += !(k->flags & TRACE_COMMAND_BEFORE) &&
                                    (!before || gap || !k->read);
        if (!k->read) {
            gap = true;
            continue;
        }
        if (before && before->hash != k->hash)
            put_change(w, k, gap || before->change.beside);
        before = k;
        gap = false;
    }
    return i;
}

static void find_firsts(struct watches *w)
{
    for (size_t i = w->change_count; i-- > 0;)
        w->blocks[w->changes[i].block].first = i;
}

void watch_looks_join(struct watches *w)
{
    if (!w->look_count)
        return;
    memory_sort(w->hashes, w->hash_count, sizeof(*w->hashes), compare_results);
    memory_sort(w->looks, w->look_count, sizeof(*w->looks), compare_looks);
    for (size_t i = 0; i < w->look_count; i++)
        find_result(w, &w->looks[i]);
    for (size_t i = 0; i < w->look_count; i++)
        mark_beside(w->looks, i);
    for (size_t i = 0; i < w->look_count;)
        i = compare(w, i);
    memory_sort(w->changes, w->change_count, sizeof(*w->changes), compare_changes);
    find_firsts(w);
}
