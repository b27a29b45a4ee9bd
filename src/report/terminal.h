/* terminal - what the place that is written to can show. */
#ifndef REPORT_TERMINAL_H
#define REPORT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#define TERMINAL_GAP 2 /* between columns */

struct terminal {
    int width;   /* columns: COLUMNS, else the terminal's own, else 80 */
    bool utf8;   /* the locale variables say so */
    bool colour; /* it is a terminal, and NO_COLOR is not set */
};

struct terminal terminal_of(FILE *out);

/* In as many lines as it needs, which begin at `column`; the first does already. */
void terminal_put_wrapped(FILE *out, const char *text, int column, const struct terminal *terminal);

/* Write text without what could steer a terminal or mislead its reader; see base/utf8.h. */
void terminal_put(FILE *out, const char *text);
/* The same in `width` columns at most: what is longer loses its middle, as both ends of a name say
 * more.
 */
void terminal_put_within(FILE *out, const char *text, int width, const struct terminal *terminal);

/* A name with spaces for its underscores, up to `len` bytes of it. */
void terminal_put_name(FILE *out, const char *name, size_t len);
/* `n` spaces; of less than none: none. */
void terminal_put_padding(FILE *out, int n);

#endif
