/* got_hook - a function of ours that takes the place of others by their name: see got.h. */
#ifndef INJECT_GOT_HOOK_H
#define INJECT_GOT_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct got_hook {
    const char *name;
    uintptr_t ours;
    bool first;   /* it is found before any other of its name */
    bool of_libc; /* a name that others may have for something else: nothing is done then */
};

#endif
