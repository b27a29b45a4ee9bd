/* standin - functions that a libc may not have, or not yet: what stands in `real` for them. */
#ifndef INJECT_STANDIN_H
#define INJECT_STANDIN_H

#include "inject/real_type.h"

#include <stdbool.h>

/* Fill the fields of `r` that nothing was found for, with functions that look again when they are
 * called: `again` says whether one is in `later` by now.
 */
void standin_fill(struct real *r, const struct real *later, bool (*again)(const char *name));

#endif
