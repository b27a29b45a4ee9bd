/* store - a trace file being written: chunks, compression, string numbers. Tool side only.
 *
 * Definitions and events fill a buffer each; definitions always reach the file first. Everything is
 * flushed at least once a second, so that a killed tool leaves all but the last second.
 */
#ifndef TRACE_STORE_H
#define TRACE_STORE_H

#include "base/err.h"
#include "trace/write.h"

struct trace_store;

/* Create the file and write its header; the clock origin is now. NULL with *err. */
struct trace_store *trace_store_create(const char *path, struct err *err);

/* Nanoseconds since the clock origin. */
uint64_t trace_store_now(const struct trace_store *s);
/* The same for an instant of CLOCK_MONOTONIC; 0 for one before the origin. */
uint64_t trace_store_time(const struct trace_store *s, uint64_t mono_ns);

/* Append one record (as trace_put). It never fails: what cannot be written is counted, and
 * trace_store_close says so.
 */
void trace_store_put(struct trace_store *s, enum trace_kind kind, uint64_t time_ns,
                     const uint64_t *fields, size_t count, const void *tail, size_t tail_count);

/* The number of a text, defining it on first sight; 0 for NULL. */
uint64_t trace_store_string(struct trace_store *s, const char *text, size_t len);

/* A FACT with text. */
void trace_store_fact(struct trace_store *s, enum trace_subject subject, uint64_t id,
                      const char *key, const char *text, size_t len);

/* Write out what is buffered; call it about once a second. */
void trace_store_flush(struct trace_store *s);

/* END, flush, close, free. -1 with *err when any byte was lost (a full disk): the trace then holds
 * everything up to the loss. NULL is fine.
 */
int trace_store_close(struct trace_store *s, struct err *err);

#endif
