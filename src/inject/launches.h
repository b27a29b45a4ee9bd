/* launches - work that is handed to a device, counted by the stack that it comes from and by what
 * is launched. Only where that is asked for.
 */
#ifndef INJECT_LAUNCHES_H
#define INJECT_LAUNCHES_H

#include "inject/device_table.h"

/* Is it asked for? */
bool launches_wanted(void);

/* One more, of this call. */
void launches_count(const struct device_call *call, struct device_library *l, const uintptr_t *a,
                    struct caller c);

#endif
