/* heap_entry - see heap_entry.h. */
#include "model/heap_entry.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MERGE_LEAST ((size_t)1 << 18)

static int by_key(const void *left, const void *right)
{
    const struct heap_entry *a = left, *b = right;

    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->birth != b->birth)
        return a->birth < b->birth ? -1 : 1;
    return a->death < b->death ? -1 : a->death > b->death;
}

/* Of a trace that was tampered with it may be anything, but not undefined. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

size_t heap_entry_merge(struct heap_entry *list, size_t count)
{
    size_t left = 0;

    memory_sort(list, count, sizeof(*list), by_key);
    for (size_t i = 0; i < count; i++) {
        if (left && by_key(&list[left - 1], &list[i]) == 0) {
            list[left - 1].count = sum(list[left - 1].count, list[i].count);
            list[left - 1].bytes = sum(list[left - 1].bytes, list[i].bytes);
        } else {
            left += !left || list[left - 1].count || list[left - 1].bytes;
            list[left - 1] = list[i];
        }
    }
    return left && !list[left - 1].count && !list[left - 1].bytes ? left - 1 : left;
}

/* What was put of late is found again: most of what is put is like it. NULL: it is not there. */
static struct heap_entry *find_recent(struct heap_entry_log *l, const struct heap_entry *e)
{
    uint64_t key = (uint64_t)e->owner << 32 | (uint32_t)e->birth << 16 | e->death;
    uint32_t *known = &l->recent[hash_number(key) % HEAP_ENTRY_RECENT];
    struct heap_entry *like = *known ? &l->list[*known - 1] : NULL;

    if (like && by_key(like, e) == 0)
        return like;
    *known = (uint32_t)l->count + 1; /* where it will be */
    return NULL;
}

/* It may be what memory there is. */
static void merge_log(struct heap_entry_log *l)
{
    l->count = heap_entry_merge(l->list, l->count);
    l->merged = l->count > MERGE_LEAST ? l->count : MERGE_LEAST;
    memset(l->recent, 0, sizeof(l->recent));
}

/* Merged when it is half as long again as it was then. */
void heap_entry_put(struct heap_entry_log *l, const struct heap_entry *e)
{
    struct heap_entry *like;

    if (l->count >= MERGE_LEAST && l->count >= l->merged + l->merged / 2)
        merge_log(l);
    like = find_recent(l, e);
    if (like) {
        like->count = sum(like->count, e->count);
        like->bytes = sum(like->bytes, e->bytes);
        return;
    }
    if (l->count == l->room) {
        l->room = l->room ? l->room + l->room / 2 : 1024;
        l->list = memory_resize(l->list, l->room * sizeof(*l->list));
    }
    l->list[l->count++] = *e;
}

void heap_entry_live(const struct heap_entry_log *l, int edges, uint64_t *live)
{
    int64_t *change = memory_zeroed(((size_t)edges + 1) * sizeof(*change)), all = 0;

    for (size_t i = 0; i < l->count; i++) {
        const struct heap_entry *e = &l->list[i];
        int death = HEAP_ENTRY_DEATH(e->death);

        change[e->birth] = sum(change[e->birth], e->bytes);
        change[death < edges ? death : edges] = sum(change[death < edges ? death : edges],
                                                    -e->bytes);
    }
    for (int i = 0; i < edges; i++) {
        all = sum(all, change[i]);
        live[i] = all > 0 ? (uint64_t)all : 0;
    }
    free(change);
}
