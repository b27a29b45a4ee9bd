/* storefile - the file that a trace is written to, opened so that nobody is harmed by it: not
 * another recording that writes it, not a file that somebody else's link leads to, not whoever
 * waits for us.
 */
#ifndef TRACE_STOREFILE_H
#define TRACE_STOREFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct storefile {
    int fd;
    bool created; /* it was not there before */
    bool regular;
    bool shortened; /* by somebody else */
};

/* What err->code says of a failure to open; the caller turns it into an exit code. */
enum storefile_failure {
    STOREFILE_WRONG = 1, /* the name: there is no such folder, it may not be written, ... */
    STOREFILE_TAKEN,     /* another recording writes it, or (anew) it is there */
    STOREFILE_STATE,     /* the machine: no space, no memory, no descriptors */
};

/* Open for writing, only for our user to read; `anew`: it must not be there yet. What it held stays
 * until storefile_cut. -1 with *err.
 */
int storefile_open(struct storefile *f, const char *path, bool anew, struct err *err);

/* Drop what it held behind `size` bytes; -1 with errno. */
int storefile_cut(const struct storefile *f, unsigned long long size);

/* After a failure: nothing was ever in it. */
void storefile_discard(const struct storefile *f, const char *path);

/* All of it, or an errno. No signal comes of it that would end the tool. */
int storefile_write(const struct storefile *f, const unsigned char *data, size_t size);

/* To be called before `size` grows: has somebody made it shorter? What is written next hides that.
 */
void storefile_look(struct storefile *f, unsigned long long size);

/* Is it still what `path` names? -1 with *err when it was removed, replaced or made shorter. */
int storefile_check(const struct storefile *f, const char *path, struct err *err);

/* The kind of failure that an errno of open or write is. */
enum storefile_failure storefile_kind(int error);

#endif
