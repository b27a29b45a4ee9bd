/* live - the memory of a running tree on the last two lines of the terminal.
 *
 * The lines above are left to the command: they are made the terminal's scrolling region, so that
 * nothing it writes is ever overwritten. Without a terminal: one plain line a second.
 */
#ifndef REPORT_LIVE_H
#define REPORT_LIVE_H

#include "procs/result.h"
#include "report/terminal.h"

#define LIVE_HISTORY 256

struct live {
    FILE *out;
    const char *unit; /* NULL: whatever fits */
    struct terminal terminal;
    int rows, columns; /* of the terminal now; rows 0: none, or too small */
    bool drawn;
    uint64_t drawn_ns;
    uint64_t history[LIVE_HISTORY]; /* of the tree's memory */
    size_t count;
};

void live_begin(struct live *l, FILE *out, const char *unit);
void live_draw(struct live *l, const struct watch_view *v);
/* Give the terminal back: at the end, and while the job is stopped. */
void live_clear(struct live *l);

#endif
