/* outside - allocators that are not libc's: one call of the program is one event.
 *
 * libc's functions never call each other by their public names. Those of others may: a calloc that
 * calls malloc comes back to our hook, and would be told twice. So they are called through guards,
 * which mute what happens below them. With libc's own allocator there are none, and nothing costs
 * more.
 */
#ifndef INJECT_OUTSIDE_H
#define INJECT_OUTSIDE_H

#include "inject/real_type.h"

/* Put guards in the place of functions that need one; again when they have been replaced. */
void outside_guard(struct real *of);

/* The function behind a guard; any other as it is. */
uintptr_t outside_behind(uintptr_t function);

/* The object that a guarded function is of; NULL: it has no guard, so it is libc's. */
const void *outside_object(uintptr_t guarded);

#endif
