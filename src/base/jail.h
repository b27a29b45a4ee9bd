/* jail - for a process that reads what strangers wrote: it gives up what reading does not need.
 *
 * Each wall stands where the kernel has it, and the process works without: no new privileges, no
 * capabilities but those that open files, no core, and a filter of system calls (seccomp). Children
 * inherit all of it.
 */
#ifndef BASE_JAIL_H
#define BASE_JAIL_H

#include <stdbool.h>

/* Reads files and answers through descriptors that it has: no new process, no network, no file that
 * is written, no new code. Its memory and CPU time are limited.
 */
void jail_reader(void);

/* A command of the tool: may also write files, but starts nothing, asks nobody and looks into
 * nobody.
 */
void jail_command(void);

/* Only no new privileges and no capabilities: for one that must start others. */
void jail_privileges(void);

#endif
