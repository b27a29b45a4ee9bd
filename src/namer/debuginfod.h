/* debuginfod - ask the user's debuginfod servers, through elfutils' own program. */
#ifndef NAMER_DEBUGINFOD_H
#define NAMER_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

/* From now on ask from a process of its own, which may start programs and use the network: this one
 * is about to give that up.
 */
void debuginfod_begin(void);

/* The path of the debug file with this build-id (hex), after it was fetched. False when there is
 * no such program, no server knows it, or none answers in time.
 */
bool debuginfod_find(const char *id, char *path, size_t room);

#endif
