/* mapping_read - what programs have mapped themselves, from the records of a trace. */
#ifndef MODEL_MAPPING_READ_H
#define MODEL_MAPPING_READ_H

#include "model/threads.h"
#include "trace/mappings.h"
#include "trace/read.h"

/* Take an MMAP, MUNMAP, RESIDENT or PROCESS_END; others are left alone, and so is what a thread did
 * that is not known.
 */
void mapping_read(struct mappings *m, struct threads *threads, const struct trace_event *ev);

#endif
