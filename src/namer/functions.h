/* functions - where functions begin that no symbol table names: every file of code says in the
 * table of .eh_frame_hdr for which addresses it has rules for unwinding, which are functions.
 */
#ifndef NAMER_FUNCTIONS_H
#define NAMER_FUNCTIONS_H

#include "namer/image.h"
#include "namer/spans.h"

/* Adds a span for each that none of `spans` (sorted) holds, and sorts them again. Their `what` is
 * SPANS_START.
 */
#define SPANS_START (SPANS_NOTHING - 1)
void functions_read(struct spans *spans, struct arena *arena, struct image *code);

#endif
