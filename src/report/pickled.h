/* pickled - plain data as a Python pickle (protocol 2): texts, numbers, lists and dictionaries.
 * What is named again is referred to. Texts that are not UTF-8 are made so.
 */
#ifndef REPORT_PICKLED_H
#define REPORT_PICKLED_H

#include "base/intmap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pickled { /* zeroed but for its file */
    FILE *out;
    struct intmap known; /* by place of what was written: 1 + number */
    uint32_t count;
};

void pickled_begin(struct pickled *p);
void pickled_end(struct pickled *p);

void pickled_number(struct pickled *p, uint64_t number);
void pickled_signed(struct pickled *p, int64_t number);
void pickled_bool(struct pickled *p, bool value);
/* A text by its place: as long as it is the same one, it stays there. NULL: "". */
void pickled_text(struct pickled *p, const char *text);
void pickled_open(struct pickled *p, char bracket); /* '{' or '[' */
void pickled_close(struct pickled *p, char bracket);
/* A key and a number, of a dictionary. */
void pickled_pair(struct pickled *p, const char *key, uint64_t number);

/* A tuple of two. */
void pickled_both(struct pickled *p, uint64_t one, uint64_t two);

/* Was what has this place written? Then it is referred to; else it is to be written, and
 * pickled_keep called.
 */
bool pickled_again(struct pickled *p, const void *place);
void pickled_keep(struct pickled *p, const void *place);

#endif
