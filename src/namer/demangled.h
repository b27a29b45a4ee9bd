/* demangled - the names of C++ and Rust functions as they are written in the source. */
#ifndef NAMER_DEMANGLED_H
#define NAMER_DEMANGLED_H

#include <stddef.h>

#define DEMANGLED_MOST 8192 /* bytes; what becomes longer stays as it was */

/* The readable form in `out`, or `name` itself where it is none that a compiler mangled. Hashes of
 * Rust are dropped.
 */
const char *demangled(const char *name, char out[DEMANGLED_MOST]);

#endif
