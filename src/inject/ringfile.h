/* ringfile - the collector's memory: how a process gets windows of it. */
#ifndef INJECT_RINGFILE_H
#define INJECT_RINGFILE_H

#include "trace/ring.h"

#include <stdbool.h>

/* Remember where it is said to be; false: that cannot be. */
bool ringfile_name(const char *path);
const char *ringfile_path(void);

/* Its first part, with all slots; NULL: it cannot be opened, or is something else. */
struct ring_control *ringfile_open(void);

/* The same by a descriptor, which is not needed any more then: where the path is not seen. */
struct ring_control *ringfile_take(int fd);

/* The path of our library by the collector, which has it open: for where its own path leads
 * nowhere; NULL: there is none.
 */
const char *ringfile_library(void);

/* The ring of a slot; NULL: it cannot be had. */
uint64_t *ringfile_ring(const struct ring_control *c, unsigned int slot);

#endif
