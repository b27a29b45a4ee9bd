/* ranges - what a program says of itself to somebody else: ranges and marks of NVTX, ROCTX, MSTX
 * and ITT become regions and marks, and ranges that are steps end as steps.
 */
#ifndef INJECT_RANGES_H
#define INJECT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Ranges that nest in their thread. A name may be NULL. */
void ranges_push(const char *name);
void ranges_pop(void);

/* Ranges by number, of whichever thread. Numbers of different libraries must differ. */
void ranges_start(uint64_t number, const char *name);
void ranges_stop(uint64_t number);

void ranges_mark(const char *name, uint64_t value);

/* memscope_said.c: is it a mark that tells of operators and their accesses? Then it was taken as
 * that. */
bool memscope_said(const char *text);

/* A name that lasts, once for all that are the same; NULL: there is no more room. Laid out as ITT's
 * handles. */
struct ranges_name {
    const char *text;
    const void *wide;
    int extra;
    void *more[2];
};
const struct ranges_name *ranges_name(const char *text);

/* Would a range of this name be a step? */
bool ranges_is_step(const char *name);

/* marks.c: a region with a number of somebody else's, above those of tidemark_open. */
void marks_open(uint64_t region, const char *name);

/* The number of the first kind of numbers of a library. */
#define RANGES_OF(library) ((uint64_t)(library) << 56)
enum { RANGES_NVTX = 1, RANGES_ROCTX, RANGES_MSTX, RANGES_ITT, RANGES_NVTX2 };

#endif
