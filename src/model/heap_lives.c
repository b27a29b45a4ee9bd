/* heap_lives - what few questions ask of stacks, taken from infos and sampled entries when they do:
 * what Python's own allocators gave them, and how long freed blocks lived.
 */
#include "model/heap_pass.h"

#include "base/memory.h"

#include <string.h>

static void add_python(const struct heap *h, uint64_t stack, const struct heap_amount *more)
{
    uint32_t place = heap_stack_place(h, stack);

    if (place)
        heap_count_add(&h->pass->python[place - 1], more);
}

static void find_python(const struct heap *h)
{
    h->pass->python_count = h->stack_count;
    h->pass->python = memory_zeroed((h->stack_count + 1) * sizeof(struct heap_count));
    for (size_t n = 0; n < h->process_count; n++) {
        const struct heap_state *s = h->processes[n]->state;

        for (size_t number = 1; number <= s->info_count; number++) {
            const struct heap_info *i = &s->infos[number];
            struct heap_amount allocated = heap_whole_blocks(i->allocs, i->bytes);

            if (i->python && heap_info_is_used(i))
                add_python(h, i->stack, &allocated);
        }
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        add_python(h, h->pass->sampled[i].stack, &h->pass->sampled[i].python);
}

struct heap_count heap_stack_python(const struct heap *h, const struct heap_stack *s)
{
    size_t place = (size_t)(s - h->stacks);

    if (!h->pass->python)
        find_python(h);
    memory_is_there(h->pass->python);
    return place < h->pass->python_count ? h->pass->python[place] : (struct heap_count){0};
}

void heap_life_add(struct heap_life *to, const struct heap_life *from)
{
    heap_add(&to->freed, &from->freed);
    for (int c = 0; c < HEAP_LIVED_CLASSES; c++)
        to->lived[c] += from->lived[c];
}

static struct heap_life life_of_info(const struct heap_state *s, size_t place)
{
    const struct heap_info *i = &s->infos[place];
    struct heap_life life = {.freed = heap_whole_blocks(i->frees, i->bytes)};

    for (int c = 0; place < s->lives_count && c < HEAP_LIVED_CLASSES; c++)
        life.lived[c] = s->lives[place].of[c] * 1000ull;
    return life;
}

void heap_each_life(const struct heap *h, heap_take_life *take, void *context)
{
    struct heap_life life;

    for (size_t n = 0; n < h->process_count; n++) {
        const struct heap_state *s = h->processes[n]->state;

        for (size_t i = 1; i <= s->info_count; i++) {
            if (!heap_info_is_used(&s->infos[i]))
                continue;
            life = life_of_info(s, i);
            take(context, s->infos[i].stack, &life);
        }
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        life.freed = h->pass->sampled[i].sums.freed;
        memcpy(life.lived, h->pass->sampled[i].lived, sizeof(life.lived));
        take(context, h->pass->sampled[i].stack, &life);
    }
}
