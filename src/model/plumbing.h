/* plumbing - functions that allocate on behalf of their callers: allocators, the insides of
 * containers, the C library, an interpreter. Nobody looks for them as the place that allocated.
 */
#ifndef MODEL_PLUMBING_H
#define MODEL_PLUMBING_H

#include "model/values.h"

/* malloc, operator new, or a wrapper such as xmalloc, zmalloc_usable, Pool::allocate? */
bool plumbing_is_allocator(const char *function);
/* Does an allocator reserve memory there for whatever it will be asked for? */
bool plumbing_reserves(const char *function);
/* A file of CPython itself: libpython3.11.so.1.0, python3.11. */
bool plumbing_is_interpreter(const char *module);
/* A source that comes with a compiler: headers of C++, the libraries of Rust. NULL is none. */
bool plumbing_is_compilers(const char *file);
/* What that has memory by: where all of a stack is its own, that is not the place either. */
bool plumbing_is_interpreters_allocator(const struct table_frame *f);
/* Any of the above, or a frame of native code without a name. */
bool plumbing_is(const struct table_frame *f);

/* Code that has no name and belongs to no interpreter, C library or the like: of a stripped
 * program, most often. */
bool plumbing_is_nameless(const struct table_frame *f);

/* What is machinery in a stack: where there are lines of Python, all native code; else what is
 * plumbing; where that is all of it, plumbing but for code without a name.
 */
enum plumbing_view { PLUMBING_NATIVE, PLUMBING_PYTHON, PLUMBING_NAMELESS };

bool plumbing_is_machinery(const struct table_frame *f, enum plumbing_view view);
/* Mark the machinery of a stack, TABLE_FRAME_MACHINERY. Where that is all of it in any view,
 * nothing. */
void plumbing_mark(struct table_frame *frames, int count);

#endif
