/* remote - call functions in another process: one of its threads is borrowed, at a point where it
 * holds no lock of libc or the loader, on a stack of its own, and goes on as if nothing had happened.
 * The other threads run on all the time.
 */
#ifndef WATCH_REMOTE_H
#define WATCH_REMOTE_H

#include "base/err.h"
#include "watch/loaded.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define REMOTE_STATE_MOST 32768

struct remote {
    const struct loaded *process;
    int tid;
    bool entered;                           /* a thread of it could be stopped */
    struct user_regs_struct registers;      /* as they were */
    unsigned char state[REMOTE_STATE_MOST]; /* of the other registers */
    size_t state_bytes;
    uint64_t mask;    /* of signals */
    uint64_t gadget;  /* where a system call can be made */
    uint64_t scratch; /* memory of ours there; 0: none yet */
};

/* Borrow a thread. -1 with *err: nothing has changed. */
int remote_borrow(struct remote *r, const struct loaded *process, struct err *err);

/* Call; -1 with *err when that could not be carried out. */
int remote_call(struct remote *r, uint64_t function, uint64_t first, uint64_t second,
                uint64_t *result, struct err *err);
int remote_system_call(struct remote *r, long number, const uint64_t arguments[6], int64_t *result,
                       struct err *err);

/* Put a text where the process can read it, valid until the next one; 0: that failed. */
uint64_t remote_text(struct remote *r, const char *text);
/* And read one. */
void remote_read_text(const struct remote *r, uint64_t at, char *out, size_t room);

/* Give the thread back. */
void remote_return(struct remote *r);

#endif
