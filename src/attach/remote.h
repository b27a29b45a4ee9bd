/* remote - call functions in another process: one of its threads is borrowed, at a point where it
 * holds no lock of libc or the loader, on a stack of its own, and goes on as if nothing had
 * happened. The other threads run on all the time.
 */
#ifndef ATTACH_REMOTE_H
#define ATTACH_REMOTE_H

#include "attach/borrowed.h"
#include "base/err.h"

/* Borrow a thread, where the process may do what we need. -1 with *err: nothing has changed. */
int remote_borrow(struct remote *r, const struct loaded *process, struct err *err);

/* Call; -1 with *err when that could not be carried out. Without a `result` it is surely harmless
 * to the process that we may be killed meanwhile; with one, if it is no number of a system call.
 */
int remote_call(struct remote *r, uint64_t function, uint64_t first, uint64_t second,
                uint64_t *result, struct err *err);
/* One that it must never make fails with ENOSYS. */
int remote_system_call(struct remote *r, long number, const uint64_t arguments[6], int64_t *result,
                       struct err *err);

/* Put something where the process can read it, valid until the next one; 0: that failed. */
uint64_t remote_bytes(struct remote *r, const void *bytes, size_t count);
uint64_t remote_text(struct remote *r, const char *text);
/* And read one. */
void remote_read_text(const struct remote *r, uint64_t at, char *out, size_t room);

/* Give the thread back, unless it is gone. */
void remote_return(struct remote *r);

#endif
