/* holders - see holders.h. */
#include "model/holders.h"

#include "base/memory.h"
#include "model/asker.h"

#include <stdlib.h>
#include <string.h>

#define OWN_LINE 1u /* the stack's own line pays */
#define NO_LINE 2u  /* nobody's does */
#define LINES 3u    /* and from here on that line does */

struct owner {
    uint32_t line;    /* 0: not seen yet; or one of the above */
    uint32_t creator; /* a stack that started such a thread */
};

/* What an import starts works for whoever needs it later. */
static uint32_t line_of(const struct pool_code *code, uint32_t creator)
{
    uint32_t line = creator ? blame_creator(code->blame, creator) : UINT32_MAX;

    if (line == UINT32_MAX)
        return OWN_LINE;
    return pool_code_flags(code, creator) & POOL_IMPORTS ? NO_LINE : LINES + line;
}

static void own(const struct pool_code *code, struct owner *owner, uint32_t creator)
{
    uint32_t line = line_of(code, creator);

    if (!owner->line) {
        owner->line = line;
        owner->creator = line >= LINES ? creator : 0;
    } else if (owner->line != line) {
        *owner = (struct owner){NO_LINE, 0};
    }
}

static bool has_line(const struct blame *b, uint32_t stack)
{
    uint32_t line = blame_stack(b, stack);

    return !blame_is_foreign(b, stack) && (line >= SCOPE_KINDS || line == SCOPE_LEFT_OUT);
}

/* Another line than blame's own: that of all stacks is copied for the first of them. */
static void give(struct holders *h, const struct blame *b, size_t stack, uint32_t line,
                 struct arena *a)
{
    size_t bytes = (b->frames->stack_count + 1) * sizeof(*h->lines);

    if (!h->others)
        h->lines = h->others = memcpy(arena_alloc(a, bytes), b->of_stack, bytes);
    h->others[stack] = line;
}

static void settle(struct holders *h, const struct blame *b, const struct owner *owner,
                   size_t stack, struct arena *a)
{
    if (owner->line >= LINES)
        give(h, b, stack, owner->line - LINES, a);
    else if (owner->line == NO_LINE && blame_is_foreign(b, stack))
        give(h, b, stack, SCOPE_WORKERS, a);
    if (owner->creator)
        h->started[stack] = owner->creator;
}

/* What an allocator of the program's own has got is of the line that called it. */
static void ask(struct holders *h, struct asker *asker, uint64_t stack, struct arena *a)
{
    struct blame_name name;

    if (!asker_find(asker, stack, &name))
        return;
    give(h, asker->blame, stack, name.line, a);
    intmap_put(&h->functions, stack, name.function);
}

/* What a library has reserved for all is of no line. */
static void take_arena(struct holders *h, const struct blame *b, uint64_t stack, struct arena *a)
{
    const char *arena = stack <= b->frames->stack_count ? frames_arena(b->frames, stack) : NULL;

    if (!arena)
        return;
    give(h, b, stack, SCOPE_ARENAS, a);
    h->started[stack] = 0;
    h->arenas = h->arenas && h->arenas != arena ? scope_text(SCOPE_ARENAS) : arena;
}

void holders_find(struct holders *h, const struct pool_code *code, const struct creators *c,
                  const struct heap *heap, struct arena *a)
{
    const struct blame *b = code->blame;
    size_t stacks = b->frames->stack_count;
    struct owner *owners = memory_zeroed((stacks + 1) * sizeof(*owners));
    struct asker asker = {.blame = b};

    h->lines = b->of_stack;
    h->others = NULL;
    h->arenas = NULL;
    h->started = arena_alloc(a, (stacks + 1) * sizeof(*h->started));
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].stack <= stacks && !has_line(b, c->pairs[i].stack))
            own(code, &owners[c->pairs[i].stack], c->pairs[i].creator);
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].stack && c->pairs[i].stack <= stacks)
            settle(h, b, &owners[c->pairs[i].stack], c->pairs[i].stack, a);
    for (size_t i = 0; i < heap->stack_count; i++) {
        ask(h, &asker, heap->stacks[i].number, a);
        take_arena(h, b, heap->stacks[i].number, a);
    }
    asker_free(&asker);
    free(owners);
}

uint32_t holders_function(const struct holders *h, const struct blame *b, uint64_t stack)
{
    uint64_t function;

    if (h->started[stack])
        return blame_function(b, h->started[stack]);
    return intmap_get(&h->functions, stack, &function) ? (uint32_t)function
                                                       : blame_function(b, stack);
}

void holders_free(struct holders *h)
{
    intmap_free(&h->functions);
}
