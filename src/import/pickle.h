/* pickle - a Python pickle that is nothing but data. Nothing in it is ever called: an opcode that
 * would make or call an object is refused, by name. What a file takes in memory is a small multiple
 * of its size, whatever it says.
 */
#ifndef IMPORT_PICKLE_H
#define IMPORT_PICKLE_H

#include "base/err.h"
#include "import/pickle_values.h"

/* Read it into an empty one; the value that it is, or 0 with *err. `bytes` outlive it. */
pickle_value pickle_read(struct pickle *p, const void *bytes, size_t size, struct err *err);

#endif
