/* space - which functions the names that we stand for lead to, in one namespace of the loader. Its
 * list of objects stands still meanwhile.
 */
#ifndef INJECT_SPACE_H
#define INJECT_SPACE_H

#include "inject/got_hook.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACE_HOOKS_MOST 512

struct space { /* a namespace while it is looked at */
    const struct got_hook *hooks;
    size_t count;
    uintptr_t reals[SPACE_HOOKS_MOST];
    bool alone[SPACE_HOOKS_MOST]; /* no other object defines one of that name */
};

/* Is this object our library? */
bool space_is_ours(const struct link_map *map);

/* Find the real functions of `hooks`, from the first object of the namespace on. */
void space_find_reals(struct space *s, const struct link_map *first);
/* They are known already, as libc says at run time which it uses for copies: does anybody else
 * define one of that name?
 */
void space_find_others(struct space *s, const struct link_map *first);

#endif
