/* terminal - what the place that is written to can show. */
#ifndef REPORT_TERMINAL_H
#define REPORT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

struct terminal {
    int width;   /* columns: COLUMNS, else the terminal's own, else 80 */
    bool utf8;   /* the locale variables say so */
    bool colour; /* it is a terminal, and NO_COLOR is not set */
};

struct terminal terminal_of(FILE *out);

/* Write text without the control characters that could steer a terminal. */
void terminal_put(FILE *out, const char *text);

#endif
