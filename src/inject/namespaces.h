/* namespaces - where a namespace of its own (dlmopen) leads: functions that go to the allocator
 * there. */
#ifndef INJECT_NAMESPACES_H
#define INJECT_NAMESPACES_H

#include "inject/got_hook.h"
#include "inject/objects.h"

#define NAMESPACES OBJECTS_SPACES
#define NAMESPACE_HOOKS 9
extern const struct got_hook namespaces[NAMESPACES][NAMESPACE_HOOKS]
    __attribute__((visibility("hidden")));

/* What the hook of that place stands for. */
void namespaces_real(unsigned int place, unsigned int hook, uintptr_t address);

#endif
