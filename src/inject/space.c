/* space - see space.h. */
#include "inject/space.h"

#include "inject/elf.h"
#include "inject/objects.h"

#include <dlfcn.h>
#include <string.h>

bool space_is_ours(const struct link_map *map)
{
    return map->l_ld == _DYNAMIC;
}

/* Before 2.34, libpthread has some of its functions once more. */
static bool is_libc(const struct elf *e)
{
    return elf_find(e, "gnu_get_libc_version") || elf_find(e, "__pthread_unwind");
}

/* The first object in the order of loading that defines a function is the one that all use. What
 * has the name of a function of libc only may be something else altogether, if it is not libc's.
 */
void space_find_reals(struct space *s, const struct link_map *first)
{
    bool foreign[SPACE_HOOKS_MOST] = {false}, libc;
    struct elf e;

    memset(s->reals, 0, sizeof(s->reals));
    for (const struct link_map *map = first; map; map = map->l_next) {
        if (space_is_ours(map) || !elf_open(&e, map))
            continue;
        libc = is_libc(&e);
        for (size_t i = 0; i < s->count; i++) {
            uintptr_t found = elf_find(&e, s->hooks[i].name);

            s->alone[i] = found ? !s->reals[i] : s->alone[i];
            s->reals[i] = s->reals[i] ? s->reals[i] : found;
            foreign[i] |= found && !libc && s->hooks[i].of_libc;
        }
    }
    for (size_t i = 0; i < s->count; i++)
        s->reals[i] = foreign[i] ? 0 : s->reals[i];
}

static bool is_home(const struct link_map *map, uintptr_t function)
{
    struct object o;

    return objects_find((const void *)function, &o) && o.map == map;
}

void space_find_others(struct space *s, const struct link_map *first)
{
    struct elf e;

    for (size_t i = 0; i < s->count; i++)
        s->alone[i] = true;
    for (const struct link_map *map = first; map && s->count; map = map->l_next) {
        if (space_is_ours(map) || !elf_open(&e, map))
            continue;
        for (size_t i = 0; i < s->count; i++)
            if (!s->hooks[i].first && elf_find(&e, s->hooks[i].name) && !is_home(map, s->reals[i]))
                s->alone[i] = false;
    }
}
