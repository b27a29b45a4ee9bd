/* typed_name - which "<string>" is meant: each text that was given to Python (-c) has lines of its
 * own, and what starts the processes of multiprocessing is nobody's text.
 */
#ifndef COLLECT_TYPED_NAME_H
#define COLLECT_TYPED_NAME_H

#include "base/intmap.h"
#include "trace/store.h"

/* Which text a process runs, by its command; 0: none, or not known. `texts`: those of the
 * recording, with their numbers.
 */
uint32_t typed_name_of(struct intmap *texts, unsigned int pid);

/* The string of the name of a file of Python, in a process that runs such a text. */
uint64_t typed_name_file(uint32_t typed, struct trace_store *s, const char *file, size_t bytes);

#endif
