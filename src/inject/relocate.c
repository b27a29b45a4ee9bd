/* relocate - see relocate.h. */
#include "inject/relocate.h"

#include "arch/arch.h"
#include "inject/objects.h"
#include "inject/pages.h"
#include "inject/sys.h"

#include <dlfcn.h>
#include <string.h>

#define SLOTS (1u << 16) /* a power of two */

struct slot { /* an address that we have written */
    uintptr_t at, old;
};

static struct slot *slots; /* open addressing; entries stay, their old value may change */
static size_t slots_used;

static struct slot *slot_of(uintptr_t at)
{
    size_t i = (at >> 3) * 0x9e3779b97f4a7c15u >> 32 & (SLOTS - 1);

    if (!slots && !(slots = sys_memory(SLOTS * sizeof(*slots))))
        return NULL;
    for (; slots[i].at && slots[i].at != at; i = (i + 1) & (SLOTS - 1))
        ;
    if (!slots[i].at && slots_used > SLOTS / 2)
        return NULL;
    return &slots[i];
}

/* The value that belongs there instead; false: leave it. */
static bool wanted(const struct space *w, enum relocate_how how, uintptr_t at, uintptr_t is,
                   size_t hook, bool unbound, uintptr_t *value)
{
    uintptr_t ours = w->hooks[hook].ours, theirs = w->reals[hook];
    bool back = how == RELOCATE_BACK;
    struct slot *s;

    if (back ? is != ours : is == ours || (is != theirs && !unbound) || !theirs)
        return false;
    if (unbound && how == RELOCATE_BOUND && !w->alone[hook])
        return false; /* which one it would be bound to is not known */
    s = slot_of(at);
    if (!s || (back && !s->at))
        return false;
    if (back) {
        *value = s->old;
        return true;
    }
    slots_used += !s->at;
    *s = (struct slot){at, is};
    *value = ours;
    return true;
}

static size_t hook_named(const struct space *w, const char *name)
{
    size_t i = 0;

    while (i < w->count && (w->hooks[i].name[0] != name[0] || strcmp(w->hooks[i].name, name) != 0))
        i++;
    return i;
}

/* Not bound yet: it leads back into the object's own linkage table. */
static bool is_unbound(const struct link_map *map, uint32_t type, uintptr_t is)
{
    struct object here, there;

    return type == ARCH_RELOCATION_JUMP && objects_find((const void *)map->l_ld, &here) &&
           objects_find((const void *)is, &there) && here.map == there.map;
}

static void relocate(const struct space *w, enum relocate_how how, const struct elf *e,
                     const struct link_map *map, const Elf64_Rela *r, struct pages *pages)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const Elf64_Sym *symbol = &e->symbols[ELF64_R_SYM(r->r_info)];
    uintptr_t at = e->base + r->r_offset, is, value;
    bool unbound;
    size_t hook;

    if (type != ARCH_RELOCATION_JUMP && type != ARCH_RELOCATION_DATA &&
        (type != ARCH_RELOCATION_WORD || r->r_addend))
        return;
    hook = hook_named(w, e->strings + symbol->st_name);
    if (hook == w->count || !pages_load(e, at, &is))
        return;
    unbound = symbol->st_shndx == SHN_UNDEF && is_unbound(map, type, is);
    if (wanted(w, how, at, is, hook, unbound, &value))
        pages_store(pages, e, at, value);
}

void relocate_all(const struct space *w, enum relocate_how how, const struct elf *e,
                  const struct link_map *map)
{
    struct pages pages = {0};

    for (unsigned int t = 0; t < 2; t++)
        for (size_t i = 0; i < e->counts[t]; i++)
            relocate(w, how, e, map, &e->relocations[t][i], &pages);
    pages_done(&pages);
}
