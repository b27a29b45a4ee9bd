/* debuginfod - ask the user's debuginfod servers, through elfutils' own program. */
#ifndef RESOLVE_DEBUGINFOD_H
#define RESOLVE_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the debug file with this build-id (hex), after it was fetched. False when there is
 * no such program, no server knows it, or none answers in time.
 */
bool debuginfod_find(const char *id, char *path, size_t room);

#endif
