/* dotted - names such as Net.blocks.3.weight, and lists of patterns for them: one a line. */
#ifndef BASE_DOTTED_H
#define BASE_DOTTED_H

#include <stdint.h>

#define DOTTED_MOST 32 /* patterns of a list */

/* Which patterns of a list the name fits, as it is or without its first word: a bit for each, the
 * first is 1. `*` and `?` stand for what they do in file names.
 */
uint32_t dotted_fits(const char *patterns, const char *name);

/* How many patterns a list has. */
unsigned int dotted_count(const char *patterns);

/* The pattern at a place of a list, which is one of it; its bytes go to *length. */
const char *dotted_get(const char *patterns, unsigned int place, int *length);

#endif
