/* names - the texts of a trace: strings by number, and facts by key. What one trace may hold in all
 * has a limit; what is above it reads as absent.
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "base/arena.h"
#include "base/intmap.h"
#include "trace/read.h"

struct names_fact;

struct names { /* zeroed but for its arena: empty */
    struct arena *arena;
    const struct names *texts; /* whose strings are used; NULL: its own */
    struct intmap strings;
    struct intmap known; /* hash of a string's bytes -> its text */
    struct names_fact *facts;
    size_t fact_count, used; /* bytes of text */
    uint64_t file_bytes;     /* of the trace: allowed.h measures by it */
};

/* A copy; words that NUL separates are joined by spaces. NULL: too much text. */
const char *names_keep(struct names *n, const void *bytes, size_t len);
/* The same, but a text that was kept in this way before is that one. */
const char *names_once(struct names *n, const void *bytes, size_t len);

/* Take a STRING or a FACT. Equal strings are one text: its place stands for it. */
void names_string(struct names *n, const struct trace_event *ev);
void names_fact(struct names *n, const struct trace_event *ev);

/* Forget the numbers of strings; their texts stay. */
void names_free(struct names *n);

/* NULL where it is absent. */
const char *names_get(const struct names *n, uint64_t string);
const char *names_find(const struct names *n, enum trace_subject subject, const char *key);
/* False where it is absent or no whole number. */
bool names_number(const struct names *n, enum trace_subject subject, const char *key,
                  uint64_t *number);

#endif
