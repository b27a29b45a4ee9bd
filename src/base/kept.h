/* kept - the folder in which what was found out about files is kept from one run of the tool to the
 * next: $XDG_CACHE_HOME/tidemark, else ~/.cache/tidemark.
 *
 * It is ours alone: a folder that belongs to somebody else, that others may enter or that is a link
 * is not used, nor is such a file. What cannot be read or written is as if it were not there, and
 * nothing is said. It stays small: what was not used for long goes, and the longest unused when
 * there is too much. What is in it proves nothing: whoever reads it checks every byte.
 */
#ifndef BASE_KEPT_H
#define BASE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* From now on nothing is found and nothing kept. */
void kept_off(void);

/* Is there a folder? It is made where it is missing. */
bool kept_any(void);

/* Opens what is kept under a name (without a slash); -1 when there is nothing. */
int kept_open(const char *name);

/* Keeps what `write` writes into the file that it is given, whole or not at all; in the place of
 * what was kept under that name.
 */
void kept_put(const char *name, bool (*write)(int fd, const void *from, size_t size),
              const void *from, size_t size);

#endif
