/* device_files - the libraries of device vendors that a program has loaded. They are known by the
 * names of their files; a program without one costs a look at these names when it starts, and after
 * a dlopen.
 */
#ifndef INJECT_DEVICE_FILES_H
#define INJECT_DEVICE_FILES_H

#include "inject/got_hook.h"

#define DEVICES_HOOKS 192

/* Has one come that was not there at the last look? Then its functions have stubs now. */
bool devices_came(void);
/* Is there any? */
bool devices_there(void);

/* What the program shall get where the loader says `found`: that itself, or what stands for it. */
uintptr_t devices_ours(uintptr_t found);
/* Does a function of this name have a stub? */
bool devices_know(const char *name);

/* The hooks by place, for tables of addresses; false: there are no more. */
bool devices_hook(size_t place, struct got_hook *hook, uintptr_t *real);

#endif
