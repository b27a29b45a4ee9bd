/* hand - give a process what it does not see as we do: a descriptor of ours, a copy of a file. */
#ifndef ATTACH_HAND_H
#define ATTACH_HAND_H

#include "attach/remote.h"

#define HAND_PATH 64

/* Its number for our descriptor; -1 with *err. Whoever wants it there no more closes it. */
int hand_descriptor(struct remote *r, int fd, struct err *err);
int hand_close(struct remote *r, int fd, struct err *err);

/* A copy of the file, and the path by which the process can open it: first (0) without a name, then
 * in one of its own folders. Gives its number for the copy; -1: there is none, -2 with *err: it is
 * gone.
 */
int hand_copy(struct remote *r, const char *file, unsigned int way, char path[HAND_PATH],
              struct err *err);
#define HAND_WAYS 5u
/* Take the name of the copy away and close it. */
int hand_take_back(struct remote *r, int copy, const char *path, struct err *err);

#endif
