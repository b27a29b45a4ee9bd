/* guard_check - may the pages of watched memory be kept from being written to, without harm to the
 * program? The kernel's own files say what they are and what its threads do.
 */
#ifndef INJECT_GUARD_CHECK_H
#define INJECT_GUARD_CHECK_H

#include "trace/ring.h"

#include <stdbool.h>
#include <stdint.h>

/* `rights`: what the pages have now. */
enum ring_why guard_check(uintptr_t low, uintptr_t high, int *rights);

/* At the last check: may a thread be made to trap after one instruction? Not under a debugger. */
bool guard_check_steps(void);

#endif
