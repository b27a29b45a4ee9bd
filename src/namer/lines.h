/* lines - files and lines of a compilation unit. */
#ifndef NAMER_LINES_H
#define NAMER_LINES_H

#include "namer/units.h"

/* The line that the code at the address came from. False when it is unknown. */
bool lines_at(struct units *u, struct unit *unit, uint64_t address, const char **file,
              uint32_t *line);

/* Its rows, by address. */
size_t lines_count(struct units *u, struct unit *unit);
uint64_t lines_address(const struct unit *unit, size_t index);

/* The name of the unit's file with this number, or NULL. */
const char *lines_file(struct unit *unit, uint64_t number);

#endif
