/* process - this process and its collector: whether there is one, and what it wants of us. */
#ifndef INJECT_PROCESS_H
#define INJECT_PROCESS_H

#include "inject/state.h"

/* Find the collector; false: it is too early. Without a collector, the mode is off for ever.
 * `settle` makes ready what a process needs once, whoever records it.
 */
bool process_ready(bool (*settle)(void));

/* Does a collector want anything of us, paused or not? */
bool process_recorded(void);

/* The same of one that has not died. */
bool process_collected(void);

/* Does it have a collector, whatever that wants now? */
bool process_has_collector(void);

/* Has the collector died? Then the mode is off. */
void process_check(void);

/* From now on the collector is the one of this ring, or of the path that ringfile_name was given
 * (-1); false: it cannot be had. Or there is none.
 */
bool process_follow(int fd);
void process_leave(void);

/* Record no new allocations, or record them again, whatever the collector does with others. */
void process_pause(bool paused);
bool process_paused(void);

/* This process is in a window, or outside of all, and so are others that have said nothing of their
 * own; until it says something, it follows as well. A forked child begins so.
 */
void process_window(bool inside);
bool process_follows(void);
void process_forked(void);

/* The path that this library was loaded by; NULL: it has none. */
const char *process_library(void);

uint32_t process_number(void); /* of this incarnation, given on first use */

#endif
