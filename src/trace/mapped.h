/* mapped - a file in memory that its owner may cut while it is read.
 *
 * What is cut off cannot be read any more, and touching it is a signal (SIGBUS) that ends a
 * program. Here zeros take the place of what is gone, so that the reader goes on, and finds damage.
 */
#ifndef TRACE_MAPPED_H
#define TRACE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

struct mapped; /* in use; NULL: none */

/* Map `size` bytes, more than 0, of the file; NULL with errno. At most a few files at a time. */
struct mapped *mapped_open(int fd, size_t size);
const void *mapped_bytes(const struct mapped *m);
/* Was something cut off that was read? */
bool mapped_is_cut(const struct mapped *m);
void mapped_close(struct mapped *m); /* NULL is fine */

#endif
