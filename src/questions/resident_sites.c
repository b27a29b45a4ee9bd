/* resident_sites - see resident_sites.h. */
#include "questions/resident_sites.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

static uint64_t key_of(const struct table_frame *site, enum trace_memory memory)
{
    return hash_mix(frames_key(site), (uint64_t)memory);
}

static struct resident_site *place_of(struct resident_sites *s, const struct table_frame *site,
                                      enum trace_memory memory)
{
    uint64_t key = key_of(site, memory), place;

    if (intmap_get(&s->places, key, &place))
        return &s->list[place];
    memory_fit(s->list, s->room, s->count + 1);
    intmap_put(&s->places, key, s->count);
    s->list[s->count] = (struct resident_site){.site = *site, .memory = memory};
    return &s->list[s->count++];
}

static void add(struct resident_sites *s, const struct frames *f, const struct residence_entry *e)
{
    uint64_t stack = e->stack <= f->stack_count ? e->stack : 0;
    struct table_frame site = frames_site(f, stack);
    struct resident_site *to = place_of(s, &site, e->memory);

    if (e->bytes > to->most) {
        to->most = e->bytes;
        to->stack = stack;
    }
    to->bytes += e->bytes;
    to->resident += e->resident;
    s->sums[e->memory].bytes += e->bytes;
    s->sums[e->memory].resident += e->resident;
}

void resident_sites_read(struct resident_sites *s, const struct frames *f,
                         const struct residence_looks *l)
{
    for (size_t i = 0; i < l->count; i++)
        for (size_t j = 0; j < l->processes[i].count; j++)
            add(s, f, &l->processes[i].entries[j]);
}

struct resident_site resident_sites_find(const struct resident_sites *s,
                                         const struct table_frame *site, enum trace_memory memory)
{
    uint64_t place;

    return intmap_get(&s->places, key_of(site, memory), &place) ? s->list[place]
                                                                : (struct resident_site){0};
}

void resident_sites_free(struct resident_sites *s)
{
    free(s->list);
    intmap_free(&s->places);
    *s = (struct resident_sites){0};
}
