/* utf8 - texts that others wrote: which of their bytes are letters, and which may be shown.
 *
 * What must not be shown: bytes that are not UTF-8; controls, which steer a terminal; and what
 * turns the direction of writing or has no width, with which a text looks like another one.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed sequence at s, with its code point; 0: there is none, or the text ends.
 * Never looks past the NUL.
 */
int utf8_sequence(const char *s, uint32_t *point);

/* May it be shown to a person? */
bool utf8_is_plain(uint32_t point);

/* What to show for the sequence or the bad byte at *s, which moves behind it: itself, a space for
 * the end of a line and a tab, '?' for what must not be shown. How many bytes of *shown that are.
 */
int utf8_show(const char **s, const char **shown);

/* The whole text so, as much of it as there is room for. Returns `out`. */
char *utf8_clean(char *out, size_t room, const char *text);

#endif
