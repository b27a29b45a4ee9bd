/* borrow - take a thread of a process, at a point where it holds no lock of libc or the loader. */
#ifndef ATTACH_BORROW_H
#define ATTACH_BORROW_H

#include "attach/borrowed.h"
#include "base/err.h"

/* Who may enter a process that we may not. */
const char *borrow_advice(void);

/* Find out what all threads of a process may ask the kernel for: r->confined. -1 with *err: not
 * what we need, or that is not to be known.
 */
int borrow_ask(struct remote *r, struct err *err);

/* Stop a thread whose filters let us, which are known then, and let it go on as it was. 1: stopped,
 * and what it was is in r->was and r->repeat; 0: not now; -1 with *err.
 */
int borrow_stop(struct remote *r, int tid, struct err *err);
void borrow_go_on(struct remote *r);

/* It is stopped then, and what it was is known. -1 with *err: nothing has changed. */
int borrow_thread(struct remote *r, struct err *err);

/* A call that has failed because of us is to be made again; not so if there is a signal that would
 * have ended it, too. So is one that the kernel would go on with by a call that is never to be
 * made. False: there is none.
 */
bool borrow_repeat(struct remote *r);

#endif
