/* extra_hooks - see extra_hooks.h. */
#include "inject/extra_hooks.h"

#include "inject/copies.h"
#include "inject/device_files.h"
#include "inject/guard_calls.h"
#include "inject/operators.h"
#include "inject/real.h"

#define HOOKS (COPIES_HOOKS + OPERATORS + DEVICES_HOOKS + GUARD_CALLS_MOST + 1) /* dlsym */

_Static_assert(HOOKS <= SPACE_HOOKS_MOST, "a namespace has room for all");

static struct got_hook hooks[HOOKS];

static void add(struct space *s, const struct got_hook *hook, uintptr_t function)
{
    if (!function)
        return;
    hooks[s->count] = *hook;
    s->reals[s->count++] = function;
}

bool extra_hooks_find(struct space *s, uintptr_t look_up)
{
    bool copies = copies_start(), operators = operators_start();
    struct got_hook hook;
    uintptr_t function;

    s->count = 0;
    s->hooks = hooks;
    for (size_t i = 0; copies && i < COPIES_HOOKS; i++)
        add(s, &copies_hooks[i], copies_real(i));
    for (size_t i = 0; operators && i < OPERATORS; i++)
        add(s, &operators_hooks[i], operators_real(i));
    devices_came();
    for (size_t i = 0; devices_hook(i, &hook, &function); i++)
        add(s, &hook, function);
    for (size_t i = 0; guard_calls_hook(i, &hook, &function); i++)
        add(s, &hook, function);
    if (s->count)
        add(s, &(struct got_hook){.name = "dlsym", .ours = look_up}, (uintptr_t)real.dlsym);
    return s->count;
}
