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

/* Create the file and write its header; the clock origin is now. NULL with *err, whose code is a
 * kind of failure (storefile.h).
 */
struct trace_store *trace_store_create(const char *path, struct err *err);
/* The same for a name that nobody chose: a file that is there, of whatever kind, is left alone. */
struct trace_store *trace_store_create_new(const char *path, struct err *err);

/* What is written into it began at another time: its clock origin, in ns since 1970. A pipe has no
 * such origin. */
void trace_store_began(struct trace_store *s, uint64_t real_ns);

/* Its descriptor, which stays its own; -1: what is written there cannot be read back. */
int trace_store_descriptor(const struct trace_store *s);

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

/* Bytes of all texts that have a number: they are kept in memory. */
uint64_t trace_store_texts(const struct trace_store *s);

/* A FACT with text. */
void trace_store_fact(struct trace_store *s, enum trace_subject subject, uint64_t id,
                      const char *key, const char *text, size_t len);

/* Write out what is buffered; call it about once a second. */
void trace_store_flush(struct trace_store *s);

/* Write out what is buffered, and look whether the path still leads to all of it; -1 with *err. */
int trace_store_check(struct trace_store *s, struct err *err);

/* END, flush, close, free. -1 with *err when any byte was lost (a full disk): the trace then holds
 * everything up to the loss; and when the path leads to it no longer. NULL is fine.
 */
int trace_store_close(struct trace_store *s, struct err *err);

/* Close and free a trace of nothing, and remove its file; a pipe or a device stays. NULL is fine.
 */
void trace_store_discard(struct trace_store *s);

#endif
