/* frameworks - the libraries that make a program one of deep learning, known by the names of their
 * files. Its tensors are few and hold most of its memory: each is worth a record of its own.
 */
#ifndef INJECT_FRAMEWORKS_H
#define INJECT_FRAMEWORKS_H

#include <link.h>
#include <stdbool.h>

/* Objects may have come, or a recording has begun. The first framework among those that are loaded
 * lowers the limit from which on blocks are recorded each (whole.h), unless the user has chosen
 * one: true, and event_limit_fell is to be called.
 */
bool frameworks_came(void);

/* An object was seen, however it came: the same, if it is one. Threads see the limit by themselves.
 */
void frameworks_module(const struct link_map *map);

#endif
