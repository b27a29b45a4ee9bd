/* linux_procfs - processes of platform.h through /proc, by descriptors that stay open.
 *
 * A kept descriptor costs a third of opening the file anew, survives exec, and fails with ESRCH
 * once its process is gone, so that a reused pid is never mistaken for it.
 */
#ifndef PLATFORM_LINUX_PROCFS_H
#define PLATFORM_LINUX_PROCFS_H

#include "platform/platform.h"

/* The next number of a line of numbers; a sign is stepped over. */
uint64_t proc_parse_number(const char **at);
/* What proc_read_stat and proc_read_status read, from their text: /proc/PID/stat and status. */
int proc_parse_stat(const char *text, struct proc_reading *r);
void proc_parse_status(const char *text, struct proc_reading *r);

/* The text of /proc/PID/io; false: it is gone, or not ours to read. */
bool proc_read_io(const struct proc *p, char *out, size_t room);

/* Read a whole small file relative to /proc; its length, or -1. The text ends with a NUL. */
long proc_slurp(const char *name, char *out, size_t room);

#endif
