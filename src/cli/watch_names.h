/* watch_names - which tensors are watched by their names: --watch of `record`. */
#ifndef CLI_WATCH_NAMES_H
#define CLI_WATCH_NAMES_H

#include "base/err.h"
#include "procs/result.h"
#include "trace/ring.h"
#include "trace/store.h"

struct watch_names {
    char text[RING_WATCH_BYTES]; /* one a line; empty: none */
};

/* For a table of options; `to` is a struct watch_names, to which one is added. */
int watch_names_parse(const char *text, void *to, struct err *err);

/* The trace says what was asked for. */
void watch_names_put(struct trace_store *s, const struct watch_names *n);

/* Say on standard error which were never met. */
void watch_names_say(const struct watch_names *n, const struct watch_result *r);

#endif
