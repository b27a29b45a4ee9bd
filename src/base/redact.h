/* redact - command lines without what may be secret in them. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include "base/err.h"

#include <stddef.h>

enum redact {
    REDACT_NOTHING,
    REDACT_KNOWN, /* values of options and variables that are called as secrets are, passwords in
                     URLs */
    REDACT_ALL,   /* every argument */
};

/* For a row of options "[all]": to an enum redact. */
int redact_parse(const char *text, void *to, struct err *err);

/* Copy `len` bytes of words with NULs between them; what is left out is "***". Returns the length,
 * at most `room`; the words keep their places. The first word is never left out.
 */
size_t redact_words(char *out, size_t room, const char *words, size_t len, enum redact how);

#endif
