/* process - this process as the collector sees it: begun at the first record, anew after a fork. */
#ifndef INJECT_PROCESS_H
#define INJECT_PROCESS_H

#include "inject/state.h"
#include "trace/preload.h"

/* Find the collector; false: it is too early. Without a collector, the mode is off for ever. */
bool process_ready(void);

/* Does a collector want anything of us, paused or not? */
bool process_recorded(void);

/* Has the collector died? Then the mode is off. */
void process_check(void);

/* Be recorded by the collector with this ring from now on; 0, or a TIDEMARK_JOIN_... number. */
int process_join(const char *path);
void process_leave(void);

/* Record no new allocations, or record them again, whatever the collector does with others. */
void process_pause(bool paused);

/* We are a forked child: leave all of the parent's buffers. */
void process_forked(void);

/* Write this process's record if none has; `t` has a fresh ring. */
void process_announce(struct thread *t);

/* What brings our library into a child; false: this process is not recorded itself. */
bool process_preload(struct preload *out);

uint32_t process_number(void); /* of this incarnation, given on first use */

#endif
