/* cut - a sample may have cut a wait short: local.cut says so to those who make it again
 * (restart.c).
 */
#ifndef INJECT_CUT_H
#define INJECT_CUT_H

#include <ucontext.h>

/* In the handler of a sample. */
void cut_note(const ucontext_t *at);

#endif
