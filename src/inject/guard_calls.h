/* guard_calls - calls by which the kernel writes into the program's memory, while any of that is
 * guarded: it would meet a closed page and the call would fail. So what they write into is opened
 * before, and told as written.
 *
 * Nothing is exported for them and nothing is looked up before the first guard: got.c writes the
 * addresses of these functions into the tables of the program's objects then. What makes a system
 * call by an instruction of its own is not seen; io_uring, which needs none, is a reason for no
 * guard at all.
 */
#ifndef INJECT_GUARD_CALLS_H
#define INJECT_GUARD_CALLS_H

#include "inject/got_hook.h"
#include "inject/state.h"

#define GUARD_CALLS_MOST 160

/* Who is told: `name` has written so many bytes; 0: it may have written some. */
typedef void guard_calls_written(uintptr_t address, size_t bytes, const char *name,
                                 struct caller c);

/* Find the real functions, once. */
void guard_calls_start(guard_calls_written *written);

/* The hooks by place, for tables of addresses, once they are wanted; false: there are no more. */
bool guard_calls_hook(size_t place, struct got_hook *hook, uintptr_t *real);
/* What the program shall get where the loader says `found`. */
uintptr_t guard_calls_ours(uintptr_t found);

#endif
