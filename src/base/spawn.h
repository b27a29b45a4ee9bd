/* spawn - start a helper process: it hears us through a socket that is its standard input, and its
 * words go nowhere.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <sys/types.h>

/* `passed`: one more descriptor, which becomes number 3; 0: none. 0, or the error. */
int spawn_helper(const char *path, const char *const *argv, int socket, int passed, pid_t *pid);

#endif
