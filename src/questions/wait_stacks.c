/* wait_stacks - see wait_stacks.h. */
#include "questions/wait_stacks.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

struct work {
    const struct line_sums *sums;
    const uint64_t *keys;
    struct wait_stack *list;
    size_t count, room;
    struct intmap places;
};

/* Of a frame in a stack: its function, whatever the line and the address. Texts are kept once each,
 * so their place stands for them.
 */
static uint64_t key_of(const struct table_frame *f)
{
    uint64_t key = hash_mix(hash_mix(f->flags, (uintptr_t)f->module), (uintptr_t)f->function);

    if (f->flags & TABLE_FRAME_PYTHON)
        key = hash_mix(hash_mix(key, (uintptr_t)f->file), f->line);
    return f->function ? key : hash_mix(key, f->address);
}

static void add(struct work *w, uint64_t stack, const struct cpu_sums *sums)
{
    uint64_t known = stack <= w->sums->frames->stack_count ? stack : 0;
    uint64_t place;

    if (!sums->wait_ns)
        return;
    if (!intmap_get(&w->places, w->keys[known], &place)) {
        memory_fit(w->list, w->room, w->count + 1);
        place = w->count++;
        w->list[place] = (struct wait_stack){.stack = known};
        intmap_put(&w->places, w->keys[known], place);
    }
    cpu_sums_add(&w->list[place].sums, sums);
}

static int by_time(const void *left, const void *right)
{
    const struct wait_stack *l = left, *r = right;

    if (l->sums.wait_ns != r->sums.wait_ns)
        return l->sums.wait_ns < r->sums.wait_ns ? 1 : -1;
    return l->stack < r->stack ? -1 : l->stack > r->stack;
}

struct wait_stack *wait_stacks(const struct line_sums *s, size_t *count)
{
    uint64_t *keys = frames_stack_keys(s->frames, key_of);
    struct work w = {.sums = s, .keys = keys};

    for (size_t i = 0; i < s->time->count; i++) {
        const struct cpu_entry *e = &s->time->entries[i];

        if (!pools_own(&s->pools, threads_find(&s->recorded->threads, e->thread), e->stack))
            add(&w, e->stack, &e->sums);
    }
    for (size_t i = 0; i < s->pools.entry_count; i++)
        if (s->pools.entries[i].line != SCOPE_IDLE ||
            blame_is_foreign(&s->blame, s->pools.entries[i].stack))
            add(&w, s->pools.entries[i].stack, &s->pools.entries[i].sums);
    memory_sort(w.list, w.count, sizeof(*w.list), by_time);
    intmap_free(&w.places);
    free(keys);
    *count = w.count;
    return w.list;
}
