/* control - a recording that is told what to do while it runs.
 *
 * The collector listens on a socket without a file, named by its pid; only its own user and root
 * are heard. A process of a recording maps the collector's memory, whose name holds that pid. Any
 * user can take such a name, so who asks looks at who answers, and waits for nobody without end.
 */
#ifndef ATTACH_CONTROL_H
#define ATTACH_CONTROL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_TEXT 512

/* The collector's side: a descriptor to wait for; -1 with errno: nobody can tell us anything;
 * EADDRINUSE: because another process has our name.
 */
int control_listen(void);
/* Somebody has come: a descriptor and what was said; -1: nobody who may. */
int control_accept(int listener, char said[CONTROL_TEXT]);
/* Answer; the descriptor stays open where the asker shall wait for our end. */
void control_answer(int fd, const char *text);

/* The other side: tell the collector that records this process. Its answer, in one line; with
 * `to_the_end` it is waited for until it has ended. -1 with *err.
 */
int control_tell(int pid, const char *text, bool to_the_end, char answer[CONTROL_TEXT],
                 struct err *err);

/* Is there a collector that records this process? */
bool control_find(int pid);

/* Was this process recorded by a collector that is not there any more? */
bool control_orphaned(int pid);

#endif
