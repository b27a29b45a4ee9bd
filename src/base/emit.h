/* emit - write JSON, indented by two, one call per value. Strings that are not UTF-8 are made so
 * (each bad byte becomes U+FFFD), so that every reader accepts what we write. A document does not
 * end its line: the caller does.
 */
#ifndef BASE_EMIT_H
#define BASE_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct emit {
    FILE *out;
    int depth;
    bool first; /* nothing was written yet in the innermost object or array */
    bool keyed; /* a key waits for its value */
    bool flat;  /* everything on one line */
};

void emit_open(struct emit *j, char bracket);  /* '{' or '[' */
void emit_close(struct emit *j, char bracket); /* '}' or ']' */
void emit_key(struct emit *j, const char *key);
void emit_text(struct emit *j, const char *text); /* NULL: null */
size_t emit_text_size(const char *text);          /* at most so many bytes */
void emit_number(struct emit *j, uint64_t number);
void emit_signed(struct emit *j, int64_t number);
void emit_real(struct emit *j,
               double real); /* shortest text that reads back equal; not finite: null */
void emit_bool(struct emit *j, bool value);
void emit_null(struct emit *j);

#endif
