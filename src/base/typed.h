/* typed - a program of Python that was given as text (-c), found in the words of its command. */
#ifndef BASE_TYPED_H
#define BASE_TYPED_H

#include <stdbool.h>
#include <stddef.h>

/* The text, of words with NULs between them; NULL: it was given none. It ends where its word does,
 * or where `words` do: `left` says after how many bytes at most.
 */
const char *typed_text(const char *words, size_t bytes, size_t *left);

/* Whether it is what multiprocessing and loky start their processes with: nobody has typed it. */
bool typed_is_boot(const char *text);

#endif
