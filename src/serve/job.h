/* job - data that is being made, by a process of its own: what a strange trace does to it, and what
 * it needs, is gone when it ends; and it can be ended.
 */
#ifndef SERVE_JOB_H
#define SERVE_JOB_H

#include "base/err.h"
#include "serve/reply.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct job { /* zeroed: none runs */
    pid_t pid;
    int fd; /* what it says comes from here */
    char *bytes;
    size_t count, room;
};

/* Writes the data, in the process; 0, or -1 with *err. */
typedef int job_work(void *context, FILE *out, struct err *err);

/* `gently`: after everybody else. False: it cannot be started. */
bool job_start(struct job *j, job_work *work, void *context, bool gently);
/* Take what it said. True: that was all. */
bool job_read(struct job *j);
/* It said all: the data; or NULL with *err. */
struct body *job_end(struct job *j, struct err *err);
/* Nobody wants it any more. */
void job_cancel(struct job *j);

#endif
