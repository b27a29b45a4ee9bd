/* show - a cell as text, for people and for machines. */
#ifndef REPORT_SHOW_H
#define REPORT_SHOW_H

#include "questions/table.h"

/* For any cell but a text, which is returned as it is; a stack and a series are "". */
#define SHOW_ROOM 64

/* "1.5 MiB", "12 ms", "1,234", "99.5 %"; absent: "n/a". */
const char *show_cell(char out[SHOW_ROOM], const struct table_cell *c);

/* A plain number: bytes and nanoseconds as they are, reals as short as reads back equal (percent:
 * three decimals). Absent: "".
 */
const char *show_plain(char out[SHOW_ROOM], const struct table_cell *c);

/* In at most six columns: "999", "1.2Ki", "340Mi"; "12us", "1.2ms", "34s", "5.1m". */
const char *show_short_size(char out[SHOW_ROOM], double bytes);
const char *show_short_time(char out[SHOW_ROOM], double ns);

bool show_is_text(enum table_unit unit);

#endif
