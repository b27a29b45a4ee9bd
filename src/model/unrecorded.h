/* unrecorded - which processes could not be recorded from inside, or their Python not, and why. */
#ifndef MODEL_UNRECORDED_H
#define MODEL_UNRECORDED_H

#include "model/names.h"

#define UNRECORDED_REASONS_MOST 16 /* different ones; others are counted with the last */

struct unrecorded { /* zeroed: empty */
    struct {
        const char *text;
        size_t length;
        uint64_t count;
    } reasons[UNRECORDED_REASONS_MOST];
    size_t reason_count;
    uint64_t count;          /* of processes, and of programs that nobody has seen */
    uint64_t unseen;         /* the latter alone */
    struct intmap processes; /* number -> place of its reason */
};

/* Take a FACT of a process. Other keys than FACT_UNRECORDED are left alone. */
void unrecorded_fact(struct unrecorded *c, struct names *n, const struct trace_event *ev);

/* The same of FACT_PYTHON_UNREAD: lines and time of Python are not read. */
void unrecorded_python(struct unrecorded *c, struct names *n, const struct trace_event *ev);

/* Take a LOSS of programs that were started, but neither recorded nor seen. */
void unrecorded_unseen(struct unrecorded *c, struct names *n, const struct trace_event *ev);

/* Why a process was not recorded; NULL: it was, or nothing is known. */
const char *unrecorded_reason(const struct unrecorded *c, uint64_t process);

/* "2 processes could not be recorded: statically linked (2)"; NULL: all were. In the arena. */
const char *unrecorded_line(const struct unrecorded *c, struct arena *a);

/* "Python is not read in 1 process, ...: 3.13.0, a free-threaded build (1)"; NULL: in all. */
const char *unrecorded_python_line(const struct unrecorded *c, struct arena *a);

#endif
