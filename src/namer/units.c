/* units - see units.h. */
#include "namer/units.h"

#include <dwarf.h>

#define RANGES_MOST 65536 /* of one DIE */
#define DEPTH_MOST 256    /* of trees of DIEs */

void units_ranges(Dwarf_Die *die, void (*each)(void *to, uint64_t low, uint64_t high), void *to)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;

    for (int n = 0; n < RANGES_MOST && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0; n++) {
        /* At 0 is what the linker threw away. */
        if (low != 0 && low < high)
            each(to, low, high);
    }
}

struct adding {
    struct spans *spans;
    struct arena *arena;
    uint32_t what;
};

static void add_span(void *to, uint64_t low, uint64_t high)
{
    struct adding *a = to;

    spans_add(a->spans, a->arena, (struct span){.low = low, .high = high, .what = a->what});
}

static bool is_plain(Dwarf_Die *die)
{
    switch (dwarf_srclang(die)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
        return true;
    default:
        return false;
    }
}

static void add_unit(struct units *u, Dwarf_Die *skeleton, Dwarf_Die *split)
{
    Dwarf_Die *die = split->addr ? split : skeleton;
    struct adding adding = {&u->spans, u->arena, u->count};
    size_t before = u->spans.count;

    units_ranges(skeleton, add_span, &adding);
    if (u->spans.count == before && split->addr)
        units_ranges(split, add_span, &adding);
    if (u->spans.count == before)
        return;
    arena_fit(u->arena, u->list, u->room, u->count + 1);
    u->list[u->count++] = (struct unit){
        .die = *die, .lines_die = *skeleton, .plain = is_plain(die)};
    u->bytes += sizeof(struct unit);
}

void units_read(struct units *u)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint8_t type;

    while (dwarf_get_units(u->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
        u->split |= type == DW_UT_skeleton;
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            add_unit(u, &die, &split);
    }
    spans_sort(&u->spans);
    u->bytes += u->spans.room * sizeof(struct span);
}

struct unit *units_at(struct units *u, uint64_t address)
{
    uint32_t index;

    return spans_find(&u->spans, address, &index) ? &u->list[index] : NULL;
}

struct walk {
    struct units *units;
    struct unit *unit;
    Dwarf_Off last; /* of the DIE that was seen last: the next lies behind it */
    int depth;
};

static void add_function(struct walk *w, Dwarf_Die *die)
{
    struct unit *unit = w->unit;
    struct arena *arena = w->units->arena;
    struct adding adding = {&unit->spans, arena, unit->function_count};
    size_t before = unit->spans.count;

    units_ranges(die, add_span, &adding);
    if (unit->spans.count == before)
        return;
    arena_fit(arena, unit->functions, unit->function_room, unit->function_count + 1);
    unit->functions[unit->function_count++] = (struct function){
        .die = *die, .entry = unit->spans.list[before].low};
    w->units->bytes += 2 * (sizeof(struct function) + sizeof(struct span));
}

/* Whether functions may be below a DIE with this tag. In C++ definitions are next to their classes
 * and not in them, and most of a unit is classes: only a deep search goes there.
 */
static bool may_hold_functions(const struct unit *unit, int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return unit->deep;
    default:
        return false;
    }
}

void units_below(Dwarf_Die *parent, Dwarf_Off *last, void (*each)(void *to, Dwarf_Die *die),
                 void *to)
{
    Dwarf_Die die;

    if (dwarf_child(parent, &die) != 0)
        return;
    do {
        if (dwarf_dieoffset(&die) <= *last)
            return;
        *last = dwarf_dieoffset(&die);
        each(to, &die);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void walk_functions(void *to, Dwarf_Die *die)
{
    struct walk *w = to;
    int tag = dwarf_tag(die);

    if (tag == DW_TAG_subprogram)
        add_function(w, die);
    if (w->depth == DEPTH_MOST || !may_hold_functions(w->unit, tag) || dwarf_haschildren(die) <= 0)
        return;
    w->depth++;
    units_below(die, &w->last, walk_functions, w);
    w->depth--;
}

static void index_functions(struct units *u, struct unit *unit, bool deep)
{
    struct walk w = {.units = u, .unit = unit, .last = dwarf_dieoffset(&unit->die)};

    unit->indexed = true;
    unit->deep = deep;
    unit->spans = (struct spans){0};
    unit->functions = NULL;
    unit->function_count = unit->function_room = 0;
    units_below(&unit->die, &w.last, walk_functions, &w);
    spans_sort(&unit->spans);
}

void units_functions(struct units *u, struct unit *unit)
{
    if (!unit->deep)
        index_functions(u, unit, true);
}

struct function *units_function(struct units *u, struct unit *unit, uint64_t address)
{
    uint32_t index;

    if (!unit->indexed)
        index_functions(u, unit, false);
    if (spans_find(&unit->spans, address, &index))
        return &unit->functions[index];
    if (unit->deep)
        return NULL;
    index_functions(u, unit, true);
    return spans_find(&unit->spans, address, &index) ? &unit->functions[index] : NULL;
}
