/* tensors - see tensors.h. */
#include "model/tensors.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/allowed.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define TENSORS_MOST ((size_t)1 << 24)
#define SHADOW_LEAST 1024 /* bytes: attach() tells of no smaller ones */
#define LOOK_MOST 4096    /* blocks that are looked at for the one whose age fits */

/* Blocks of an exact recording have no addresses: those of one info cannot be told apart. Mappings
 * are known by when they were born.
 */
static uint64_t key_of(const struct heap_change *c, uint64_t born_ns)
{
    if (c->info)
        return hash_mix(hash_mix(1, c->place), c->info);
    if (c->block)
        return hash_mix(hash_mix(3, c->place), c->block);
    return hash_mix(hash_mix(hash_mix(hash_mix(2, c->place), c->stack), born_ns), c->bytes);
}

static void link_in(struct tensors *t, uint64_t key, uint32_t place)
{
    uint64_t first = 0;

    intmap_get(&t->live, key, &first);
    t->list[place - 1].next = (uint32_t)first;
    intmap_put(&t->live, key, place);
}

static uint64_t at_key(uint32_t place, uint64_t address)
{
    return hash_mix(hash_mix(3, place), address);
}

/* It may be described: each of its size is recorded. */
static bool is_shadow(const struct heap_change *c)
{
    return c->bytes >= SHADOW_LEAST && !c->sample;
}

static void take_birth(struct tensors *t, const struct heap_change *c)
{
    const struct op_stack *from = op_stacks_common(t->stacks, c->stack);

    if (!from->tensor && !t->all && !(t->shadows && from->outside && is_shadow(c)))
        return;
    from = op_stacks_get(t->stacks, c->stack);
    if (t->count >= TENSORS_MOST ||
        t->count >= ALLOWED_THINGS(t->heap->frames->names->file_bytes)) {
        t->left_out++;
        return;
    }
    memory_fit(t->list, t->room, t->count + 1);
    t->list[t->count++] = (struct tensor){.from = from,
                                          .bytes = c->bytes,
                                          .born_ns = t->clock[c->place - 1],
                                          .died_ns = UINT64_MAX,
                                          .from_ns = c->time_ns,
                                          .to_ns = UINT64_MAX,
                                          .born_no = c->number,
                                          .died_no = UINT64_MAX,
                                          .stack = (uint32_t)c->stack,
                                          .place = c->place,
                                          .number = from->tensor ? t->born[c->place - 1]++
                                                                 : TENSOR_NEVER,
                                          .until = TENSOR_NEVER,
                                          .address = c->address,
                                          .context = c->context,
                                          .sample = c->sample};
    link_in(t, key_of(c, c->time_ns), (uint32_t)t->count);
    if (c->block)
        intmap_put(&t->at, at_key(c->place, c->address ? c->address : c->block), t->count);
    if (t->told)
        t->told(t->context, (uint32_t)t->count - 1, false);
}

/* The one that was born last of those whose age fits; where none does, the last of all. */
static uint32_t *find_dead(struct tensors *t, const struct heap_change *c, uint32_t *first)
{
    uint64_t from_ns, to_ns;
    uint32_t *at = first;

    heap_replay_born(c, &from_ns, &to_ns);
    for (int i = 0; *at && i < LOOK_MOST; i++, at = &t->list[*at - 1].next)
        if (t->list[*at - 1].born_ns >= from_ns && t->list[*at - 1].born_ns <= to_ns)
            return at;
    return first;
}

static void take_death(struct tensors *t, const struct heap_change *c)
{
    uint64_t key = key_of(c, c->born_ns), first;
    uint32_t head, *at, place;

    if (!intmap_get(&t->live, key, &first) || !first)
        return;
    head = (uint32_t)first;
    at = find_dead(t, c, &head);
    place = *at;
    *at = t->list[place - 1].next;
    intmap_put(&t->live, key, head);
    t->list[place - 1].died_ns = t->clock[c->place - 1];
    t->list[place - 1].to_ns = c->time_ns;
    t->list[place - 1].died_no = c->number;
    t->list[place - 1].until = t->born[c->place - 1];
    t->last = place;
    t->last_key = key;
    if (t->told)
        t->told(t->context, place - 1, true);
}

static void take_back(struct tensors *t, const struct heap_change *c)
{
    struct tensor *last = t->last ? &t->list[t->last - 1] : NULL;

    if (!last || t->last_key != key_of(c, c->born_ns))
        return;
    last->died_ns = last->died_no = last->to_ns = UINT64_MAX;
    last->until = TENSOR_NEVER;
    link_in(t, t->last_key, t->last);
    t->last = 0;
}

uint64_t tensors_now(struct tensors *t, uint32_t place, uint64_t time_ns)
{
    uint64_t *now = &t->clock[place - 1];

    *now = time_ns > *now ? time_ns : *now;
    return *now;
}

static void change(void *context, const struct heap_change *c)
{
    struct tensors *t = context;

    tensors_now(t, c->place, c->time_ns);
    if (c->revived)
        take_back(t, c);
    else if (c->freed)
        take_death(t, c);
    else
        take_birth(t, c);
}

void tensors_want(struct tensors *t, struct heap *h, struct op_stacks *s)
{
    *t = (struct tensors){.heap = h, .stacks = s};
    t->born = memory_zeroed((h->process_count + 1) * sizeof(*t->born));
    t->clock = memory_zeroed((h->process_count + 1) * sizeof(*t->clock));
    heap_replay_add(h->replay, change, t, UINT64_MAX);
}

struct tensor *tensors_at(const struct tensors *t, uint32_t place, uint64_t address)
{
    uint64_t found;

    if (!intmap_get(&t->at, at_key(place, address), &found))
        return NULL;
    return t->list[found - 1].until == TENSOR_NEVER ? &t->list[found - 1] : NULL;
}

/* They cannot be told apart: one of which nothing was told, if there is one. */
struct tensor *tensors_of_info(const struct tensors *t, uint32_t place, uint64_t info)
{
    const struct heap_state *s = t->heap->processes[place - 1]->state;
    const struct heap_change c = {.place = place, .info = heap_info_place(s, info)};
    uint64_t first;

    if (!c.info || !intmap_get(&t->live, key_of(&c, 0), &first) || !first)
        return NULL;
    for (uint32_t i = 0, at = (uint32_t)first; at && i < LOOK_MOST; i++, at = t->list[at - 1].next)
        if (!t->list[at - 1].told && !t->list[at - 1].kept)
            return &t->list[at - 1];
    return &t->list[first - 1];
}

struct tensor ***tensors_by_process(const struct tensors *t, struct arena *a)
{
    size_t processes = t->heap->process_count;
    struct tensor ***of = arena_alloc(a, (processes + 1) * sizeof(struct tensor **));

    for (size_t i = 0; i < processes; i++)
        if (t->born[i])
            of[i] = arena_alloc(a, t->born[i] * sizeof(struct tensor *));
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].number != TENSOR_NEVER)
            of[t->list[i].place - 1][t->list[i].number] = &t->list[i];
    return of;
}

static uint64_t events_before(const struct tensors_moment *m, const struct tensor *t)
{
    const struct heap_process *p = m->heap->processes[t->place - 1];

    if (m->moment == HEAP_AT_PEAK)
        return heap_together_events(m->heap, p);
    return m->moment == HEAP_AT_TIME && p->end_ns < m->time_ns ? 0 : UINT64_MAX;
}

bool tensors_alive(const struct tensors_moment *m, const struct tensor *t)
{
    uint64_t events = events_before(m, t);

    if (events != UINT64_MAX)
        return t->born_no < events && t->died_no >= events;
    if (m->moment != HEAP_AT_TIME)
        return t->died_ns == UINT64_MAX;
    return t->from_ns <= m->time_ns && t->to_ns > m->time_ns;
}

void tensors_free(struct tensors *t)
{
    intmap_free(&t->live);
    intmap_free(&t->at);
    free(t->list);
    free(t->born);
    free(t->clock);
    *t = (struct tensors){0};
}

const char *tensor_kind_text(enum tensor_kind kind)
{
    static const char *const texts[] = {
        [TENSOR_UNKNOWN] = "other tensors",  [TENSOR_PARAMETER] = "parameters",
        [TENSOR_GRADIENT] = "gradients",     [TENSOR_OPTIMIZER] = "optimizer state",
        [TENSOR_ACTIVATION] = "activations", [TENSOR_INPUT] = "inputs",
        [TENSOR_BUFFER] = "buffers",         [TENSOR_CACHE] = "kv cache",
        [TENSOR_TEMPORARY] = "temporaries"};

    return texts[kind];
}
