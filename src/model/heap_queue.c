/* heap_queue - see heap_queue.h. */
#include "model/heap_queue.h"

#include "base/memory.h"

#include <stdlib.h>

bool heap_source_is_before(const struct heap_source *a, const struct heap_source *b)
{
    return heap_turn_is_before(&a->turn, &b->turn);
}

static void swap(struct heap_queue *q, size_t i, size_t j)
{
    struct heap_source *s = q->list[i];

    q->list[i] = q->list[j];
    q->list[j] = s;
}

void heap_queue_settle(struct heap_queue *q)
{
    size_t i = 0;

    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < q->count; child++)
            if (heap_source_is_before(q->list[child], q->list[least]))
                least = child;
        if (least == i)
            return;
        swap(q, i, least);
        i = least;
    }
}

void heap_queue_add(struct heap_queue *q, struct heap_source *s)
{
    size_t i = q->count;

    memory_fit(q->list, q->room, q->count + 1);
    q->list[q->count++] = s;
    for (; i && heap_source_is_before(q->list[i], q->list[(i - 1) / 2]); i = (i - 1) / 2)
        swap(q, i, (i - 1) / 2);
}

void heap_queue_drop(struct heap_queue *q)
{
    struct heap_source *s = q->list[0];

    swap(q, 0, --q->count);
    heap_queue_settle(q);
    free(s->portion);
    s->portion = NULL;
    s->count = s->at = 0;
    if (s->once)
        free(s);
}

const struct heap_source *heap_queue_second(const struct heap_queue *q)
{
    size_t second = q->count > 2 && heap_source_is_before(q->list[2], q->list[1]) ? 2 : 1;

    return q->count > 1 ? q->list[second] : NULL;
}
