/* contexts - see contexts.h. */
#include "collect/contexts.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define SETS_MOST ((size_t)1 << 16) /* different labels within one step */

static void forget_step(struct contexts *c)
{
    c->version++;
    c->made_count = 0;
    intmap_free(&c->places);
}

void contexts_step(struct contexts *c, uint64_t step)
{
    if (c->owner == c->process && step <= c->step)
        return; /* two threads told at once, and the later one was read first */
    c->owner = c->process;
    c->step = step;
    forget_step(c);
}

void contexts_heir(struct contexts *c, uint64_t steps, bool own)
{
    if (!c->parent || c->owner)
        return;
    c->owner = c->inherited = own ? c->parent->process : c->parent->inherited;
    c->step = c->owner ? steps : 0;
    forget_step(c);
}

static unsigned int place_of(const struct contexts_labels *l, uint64_t key)
{
    unsigned int i = 0;

    while (i < l->count && l->of[i].key != key)
        i++;
    return i;
}

void contexts_label(struct contexts_labels *l, struct contexts *c, uint64_t key, uint64_t value)
{
    unsigned int i = place_of(l, key);

    l->version = c->version - 1; /* to be looked up */
    if (value && i < CONTEXTS_DEPTH) {
        l->of[i].key = key;
        l->of[i].value = value;
        l->count += i == l->count;
    } else if (value) {
        c->refused++;
    } else if (i < l->count) {
        memmove(&l->of[i], &l->of[i + 1], (l->count - i - 1) * sizeof(l->of[0]));
        l->count--;
    }
}

void contexts_unlabel(struct contexts_labels *l, const struct contexts *c)
{
    l->count = 0;
    l->version = c->version - 1;
}

static void define(const struct contexts *c, const struct contexts_labels *l, uint32_t number,
                   struct trace_store *s)
{
    struct trace_context fields = {number, c->owner ? c->owner : c->process, c->step};
    struct trace_pair pairs[CONTEXTS_DEPTH] = {{0}};

    for (unsigned int i = 0; l && i < l->count; i++)
        pairs[i] = (struct trace_pair){l->of[i].key, l->of[i].value};
    if (s) /* of an unknown one the step is absent */
        trace_store_put(s, TRACE_CONTEXT, 0, (const uint64_t *)&fields, l ? 3 : 2, pairs,
                        l ? l->count : 0);
}

static uint32_t unknown(struct contexts *c, struct contexts_numbers *n, struct trace_store *s)
{
    c->refused++;
    if (c->unknown)
        return c->unknown;
    c->unknown = ++n->count;
    define(c, NULL, c->unknown, s);
    return c->unknown;
}

static bool same(const struct contexts_labels *a, const struct contexts_labels *b)
{
    return a->count == b->count && !memcmp(a->of, b->of, a->count * sizeof(a->of[0]));
}

/* Those labels in this step: its number, or 0 and the key under which it is to be found. */
static uint32_t look_up(const struct contexts *c, const struct contexts_labels *l, uint64_t *key)
{
    uint64_t place;

    *key = hash_mix(HASH_START, l->count);
    for (unsigned int i = 0; i < l->count; i++)
        *key = hash_mix(hash_mix(*key, l->of[i].key), l->of[i].value);
    for (; intmap_get(&c->places, *key, &place); ++*key)
        if (same(&c->made[place - 1].labels, l))
            return c->made[place - 1].number;
    return 0;
}

static uint32_t make(struct contexts *c, const struct contexts_labels *l, uint64_t key,
                     struct contexts_numbers *n, struct trace_store *s)
{
    if (c->full || c->made_count == SETS_MOST || n->count == UINT32_MAX - 1)
        return unknown(c, n, s);
    memory_fit(c->made, c->made_room, c->made_count + 1);
    c->made[c->made_count++] = (struct contexts_made){*l, ++n->count};
    if (c->made_count == 1)
        c->current = n->count;
    intmap_put(&c->places, key, c->made_count);
    define(c, l, n->count, s);
    return n->count;
}

uint32_t contexts_find(struct contexts *c, struct contexts_labels *l, struct contexts_numbers *n,
                       struct trace_store *s)
{
    uint64_t key;
    uint32_t found = 0;

    if (c->step || l->count) {
        found = look_up(c, l, &key);
        found = found ? found : make(c, l, key, n, s);
    }
    l->version = c->version;
    return l->number = found;
}

void contexts_free(struct contexts *c)
{
    free(c->made);
    intmap_free(&c->places);
    c->made = NULL;
    c->made_count = c->made_room = 0;
}
