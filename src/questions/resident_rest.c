/* resident_rest - see resident_rest.h. */
#include "questions/resident_rest.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"

#define PART_LEAST 20 /* one part in so many of all is worth a word */

bool resident_places(const struct run *r, uint64_t places[RESIDENT_PLACES], uint64_t *sum)
{
    static const enum trace_metric metrics[RESIDENT_PLACES] = {
        METRIC_RESIDENT_HEAP, METRIC_RESIDENT_STACK,  METRIC_RESIDENT_DATA,
        METRIC_RESIDENT_FILE, METRIC_RESIDENT_SHARED, METRIC_RESIDENT_ANON};

    *sum = 0;
    for (int i = 0; i < RESIDENT_PLACES; i++) {
        if (!metrics_get(&r->tree, metrics[i], &places[i]))
            return false;
        *sum += places[i];
    }
    return true;
}

void resident_rest_hear(struct resident_rest *r, const struct run *run, uint64_t time_ns)
{
    struct resident_rest now = {.known = true, .from_ns = r->before_ns, .to_ns = time_ns};

    if (resident_places(run, now.places, &now.rss) && now.rss > r->rss)
        *r = now;
    r->before_ns = time_ns;
}

struct part {
    uint64_t bytes;
    const char *what;
};

static int by_size(const void *left, const void *right)
{
    const struct part *l = left, *r = right;

    return l->bytes < r->bytes ? 1 : -(l->bytes > r->bytes);
}

const char *resident_rest_text(const struct resident_rest *r, const struct heap *h, struct arena *a)
{
    uint64_t live = 0, held = r->places[RESIDENT_AT_HEAP] + r->places[RESIDENT_AT_ANON];
    struct part parts[] = {
        {0, "free in the allocator, or of no allocation that was seen"},
        {r->places[RESIDENT_AT_FILE], "of files: programs, libraries and what is mapped"},
        {r->places[RESIDENT_AT_SHARED], "shared memory"},
        {r->places[RESIDENT_AT_DATA], "data of programs and libraries"},
        {r->places[RESIDENT_AT_STACK], "stacks"},
    };
    const char *text = NULL;
    char size[TEXT_SIZE];

    if (!r->known || !heap_live_between(h, r->from_ns, r->to_ns, &live))
        return NULL;
    parts[0].bytes = held > live ? held - live : 0;
    memory_sort(parts, COUNT(parts), sizeof(*parts), by_size);
    for (int i = 0; i < COUNT(parts); i++)
        if (parts[i].bytes && parts[i].bytes >= r->rss / PART_LEAST)
            text = arena_printf(a, "%s%s%s %s", text ? text : "", text ? ", " : "",
                                text_size(size, parts[i].bytes), parts[i].what);
    return text;
}
