/* chrome_event - one event of Chrome's trace format, which Perfetto reads as well. */
#ifndef REPORT_CHROME_EVENT_H
#define REPORT_CHROME_EVENT_H

#include "base/emit.h"

/* An event of a phase, with what all have; to be ended. */
void chrome_begin(struct emit *j, const char *phase, const char *name, uint64_t pid, uint64_t ns);
void chrome_end(struct emit *j);

/* What a process or a thread is called: "process_name", "thread_name". */
void chrome_name(struct emit *j, const char *what, uint64_t pid, uint64_t tid, const char *name);
/* A stretch of time of a thread. */
void chrome_span(struct emit *j, const char *name, uint64_t pid, uint64_t tid, uint64_t from_ns,
                 uint64_t length_ns);

#endif
