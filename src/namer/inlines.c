/* inlines - see inlines.h. The scopes of a function are kept in the order of the walk, so an inner
 * one comes after the one that it lies in.
 */
#include "namer/inlines.h"

#include <dwarf.h>

#define DEPTH_MOST 512 /* of blocks and inlined functions in each other */

struct walk {
    struct units *units;
    struct function *function;
    uint32_t room;
    Dwarf_Off last; /* of the DIE that was seen last: the next lies behind it */
    int depth;
};

struct growing {
    struct walk *walk;
    struct scope *scope;
    uint32_t room;
};

static void add_range(void *to, uint64_t low, uint64_t high)
{
    struct growing *g = to;
    struct scope *s = g->scope;

    uint32_t before = g->room;

    arena_fit(g->walk->units->arena, s->ranges, g->room, s->range_count + 1);
    g->walk->units->bytes += (g->room - before) * sizeof(*s->ranges);
    s->low = low < s->low ? low : s->low;
    s->high = high > s->high ? high : s->high;
    s->ranges[s->range_count++] = (struct inlines_range){low, high};
}

/* The index of the new scope. */
static uint32_t add_scope(struct walk *w, Dwarf_Die *die)
{
    struct function *f = w->function;
    struct scope scope = {.die = *die, .low = UINT64_MAX};
    struct growing growing = {w, &scope, 0};
    uint32_t before = w->room;

    units_ranges(die, add_range, &growing);
    arena_fit(w->units->arena, f->scopes, w->room, f->scope_count + 1);
    w->units->bytes += (w->room - before) * sizeof(scope);
    f->scopes[f->scope_count] = scope;
    return f->scope_count++;
}

static void walk_scopes(void *to, Dwarf_Die *die);

static void walk_below(struct walk *w, Dwarf_Die *die)
{
    if (w->depth == DEPTH_MOST)
        return;
    w->depth++;
    units_below(die, &w->last, walk_scopes, w);
    w->depth--;
}

static void walk_scopes(void *to, Dwarf_Die *die)
{
    struct walk *w = to;
    int tag = dwarf_tag(die);

    if (tag == DW_TAG_inlined_subroutine) {
        uint32_t index = add_scope(w, die);

        if (dwarf_haschildren(die) > 0)
            walk_below(w, die);
        w->function->scopes[index].next = w->function->scope_count;
    } else if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
               tag == DW_TAG_catch_block) {
        walk_below(w, die);
    }
}

static bool holds(const struct scope *s, uint64_t address)
{
    if (address < s->low || address >= s->high)
        return false;
    for (uint32_t i = 0; i < s->range_count; i++) {
        if (address >= s->ranges[i].low && address < s->ranges[i].high)
            return true;
    }
    return false;
}

int inlines_at(struct units *u, struct function *f, uint64_t address,
               struct scope *path[INLINES_DEEPEST])
{
    int depth = 0;

    if (!f->walked) {
        struct walk w = {.units = u, .function = f, .last = dwarf_dieoffset(&f->die)};

        f->walked = true;
        if (dwarf_haschildren(&f->die) > 0)
            walk_below(&w, &f->die);
    }
    for (uint32_t i = 0, end = f->scope_count; i < end && depth < INLINES_DEEPEST;) {
        struct scope *s = &f->scopes[i];

        if (holds(s, address)) {
            path[depth++] = s;
            end = s->next;
            i++;
        } else {
            i = s->next;
        }
    }
    return depth;
}
