/* stretches - see stretches.h. */
#include "namer/stretches.h"

#include "base/search.h"

/* An end of a span bounds the addresses on both sides of it. */
static void bound(struct stretch *list, size_t count, uint64_t edge)
{
    size_t i = 0;

    SEARCH(i, count, k, list[k].at < edge);
    if (i < count && edge > list[i].low)
        list[i].low = edge;
    if (i > 0 && edge < list[i - 1].high)
        list[i - 1].high = edge;
}

void stretches_find(const struct spans *s, struct stretch *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].low = 0;
        list[i].high = UINT64_MAX;
    }
    for (size_t i = 0; i < s->count; i++) {
        bound(list, count, s->list[i].low);
        bound(list, count, s->list[i].high);
    }
    for (size_t i = 1; i < count; i++) /* no end between two addresses: they share one */
        if (list[i - 1].low > list[i].low)
            list[i].low = list[i - 1].low;
    for (size_t i = count; i-- > 1;)
        if (list[i].high < list[i - 1].high)
            list[i - 1].high = list[i].high;
}
