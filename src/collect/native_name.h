/* native_name - what the loader of a process calls a file of code that it has loaded: its link_map,
 * read from outside, so that the file has one name whoever tells of it.
 */
#ifndef COLLECT_NATIVE_NAME_H
#define COLLECT_NATIVE_NAME_H

#include "cfi/far_image.h"

#define NATIVE_NAME_MOST 4096u

/* How long the name in `name` is, 0 of the program itself; -1: the loader does not know it. */
int native_name(const struct far *memory, uint32_t pid, const struct far_image *image,
                char name[NATIVE_NAME_MOST]);

#endif
